"""What a user of scikit-learn would train instead: one tuned SVC, or a linear SVM on approximate Gaussian kernels."""

import dataclasses
import time

from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from splits import accuracy

SEARCHED_ROWS = 2500
# Features of a Gaussian kernel: landmarks, or random directions.
FEATURES = {"nystroem": Nystroem, "fourier": RBFSampler}


@dataclasses.dataclass(frozen=True)
class LinearSearch:
    """How the width of the kernel and the cost of a linear SVM are searched for.

    Attributes
    ----------
    gammas, costs : tuple of float
        All pairs of these.
    rows : int
        At most so many training rows; those of a split are in random order, so that the first ones are a sample.
    held_out : float
        Share of them that is tested on.
    """

    gammas: tuple
    costs: tuple = (0.1, 1.0, 10.0, 100.0)
    rows: int = 12_000
    held_out: float = 0.25


def _svc(gamma, cost):
    return make_pipeline(StandardScaler(), SVC(C=cost, gamma=gamma, cache_size=1000))


def search_svc(split, costs, multiples, threads):
    """The best cost, and gamma among `multiples` of one over the number of features, by three folds of 2500 rows."""
    gammas = [multiple / split.train.shape[1] for multiple in multiples]
    grid = {"svc__C": list(costs), "svc__gamma": gammas}
    search = GridSearchCV(_svc(gammas[0], costs[0]), grid, cv=3, n_jobs=threads)
    search.fit(split.train[:SEARCHED_ROWS], split.train_labels[:SEARCHED_ROWS])
    return {"C": search.best_params_["svc__C"], "gamma": search.best_params_["svc__gamma"]}


def fit_svc(split, best, rows, test_rows):
    """Accuracy of an SVC with these C and gamma on the first rows, tested on the first test rows."""
    model = _svc(best["gamma"], best["C"])
    begin = time.perf_counter()
    model.fit(split.train[:rows], split.train_labels[:rows])
    seconds = time.perf_counter() - begin
    predicted = model.predict(split.test[:test_rows])
    return {
        **best,
        "seconds": seconds,
        "accuracy": accuracy(predicted, split.test_labels[:test_rows]),
        "support_vectors": int(model[-1].n_support_.sum()),
    }


def _linear(kind, gamma, components, cost, seed):
    features = FEATURES[kind](gamma=gamma, n_components=components, random_state=seed)
    # More rows than features: the primal problem is the faster one.
    return make_pipeline(StandardScaler(), features, LinearSVC(C=cost, dual=False, max_iter=2000))


def search_linear(kind, split, components, search):
    """The best gamma and cost of a LinearSVC on so many features of FEATURES, by held-out training rows."""
    known = min(len(split.train), search.rows)
    end = round((1 - search.held_out) * known)
    begin = time.perf_counter()
    scores = {}
    for gamma in search.gammas:
        for cost in search.costs:
            model = _linear(kind, gamma, components, cost, split.number)
            model.fit(split.train[:end], split.train_labels[:end])
            scores[gamma, cost] = model.score(split.train[end:known], split.train_labels[end:known])
    gamma, cost = max(scores, key=scores.get)
    return {"gamma": gamma, "C": cost, "seconds": time.perf_counter() - begin}


def fit_linear(kind, split, components, best):
    """Accuracy of a LinearSVC on features of FEATURES and all training rows, and the seconds of that one fit."""
    begin = time.perf_counter()
    model = _linear(kind, best["gamma"], components, best["C"], split.number).fit(split.train, split.train_labels)
    seconds = time.perf_counter() - begin
    predicted = model.predict(split.test)
    return {**best, "seconds": seconds, "accuracy": accuracy(predicted, split.test_labels)}
