"""What a user of scikit-learn would train instead: one tuned SVC, or a linear SVM on Nystroem features."""

import time

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from splits import accuracy

SEARCHED_ROWS = 2500
# Rows of a split are in random order, so the first ones are a sample.
HELD_OUT_SHARE = 0.25
HOLD_OUT_ROWS = 12_000
LINEAR_COSTS = (0.1, 1.0, 10.0, 100.0)


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
    return {**best, "seconds": seconds, "accuracy": accuracy(predicted, split.test_labels[:test_rows])}


def _linear(gamma, landmarks, cost, seed):
    features = Nystroem(gamma=gamma, n_components=landmarks, random_state=seed)
    # More rows than features: the primal problem is the faster one.
    return make_pipeline(StandardScaler(), features, LinearSVC(C=cost, dual=False, max_iter=2000))


def search_linear_cost(split, gamma, landmarks):
    """The best cost of a LinearSVC on Nystroem features of one Gaussian kernel, by held-out training rows."""
    known = min(len(split.train), HOLD_OUT_ROWS)
    end = round((1 - HELD_OUT_SHARE) * known)
    begin = time.perf_counter()
    scores = []
    for cost in LINEAR_COSTS:
        model = _linear(gamma, landmarks, cost, split.number).fit(split.train[:end], split.train_labels[:end])
        scores.append(model.score(split.train[end:known], split.train_labels[end:known]))
    return {"C": LINEAR_COSTS[int(np.argmax(scores))], "seconds": time.perf_counter() - begin}


def fit_nystroem(split, gamma, landmarks, cost):
    """Accuracy of Nystroem features and a LinearSVC on all training rows, and the seconds of that one fit."""
    begin = time.perf_counter()
    model = _linear(gamma, landmarks, cost, split.number).fit(split.train, split.train_labels)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "accuracy": accuracy(model.predict(split.test), split.test_labels)}
