"""Rankings of genes by the gradients of learned functions, and those that a user would take instead."""

import time
import warnings

import gene_data
import numpy as np
import pandas as pd
from measurements import markdown, mean
from mercer.estimators import SVMRFE, CoordinateGradients, KernelSVC
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE, f_classif
from sklearn.svm import SVC, LinearSVC

OPTIMUM = {"method": "newton", "tol": 1e-6}
STEPS = {"method": "alternation", "max_steps": 20}
# The costs of the support vector machines that test a ranking: nearly hard margins, less so up to so many genes, which
# hardly ever separate the classes.
FEW, COST_OF_FEW, COST = {"leukemia": 2, "prostate": 6}, 100.0, 1e4
# Errors of 34 that the paper prints, in the order of its rows.
PAPER = {
    ("leukemia", "GradKL-LS, 20 steps"): "3 2 0 0 0 0 6 3 3 3 5 2 1 2 2 3 3",
    ("leukemia", "GradKL-SVM, 20 steps"): "3 2 0 0 0 0 0 2 3 2 2 1 2 3 2 3 3",
    ("leukemia", "Grad-LS"): "8 8 9 10 6 6 4 3 2 3 1 1 3 3 3 3 3",
    ("leukemia", "Grad-SVM"): "8 7 7 8 6 6 7 3 2 3 1 1 3 3 3 3 3",
    ("leukemia", "SVM-RFE"): "7 4 - 3 - - 0 0 1 2 1 2 4 3 5 10 5",
    ("prostate", "GradKL-LS, 20 steps"): "1 1 3 2 2 1 5 9 12 12 8 8 6 6 6 5 2",
    ("prostate", "GradKL-SVM, 20 steps"): "1 1 1 3 1 5 4 10 11 9 6 6 8 6 6 5 2",
    ("prostate", "Grad-LS"): "1 1 1 0 0 1 4 3 3 3 2 5 7 7 5 5 2",
    ("prostate", "Grad-SVM"): "1 1 1 1 1 1 7 3 3 3 2 4 7 7 5 5 2",
    ("prostate", "SVM-RFE"): "1 1 0 1 2 3 5 4 4 3 6 4 7 7 5 3 2",
}


def _gradients(loss, weights, **settings):
    def rank(genes, _):
        machine = CoordinateGradients(
            kernels="linear", C=1.0, loss=loss, column_weights=weights, scaling="none", **settings
        ).fit(genes.train, genes.train_classes)
        return machine.ranking_, {"gap": machine.certificate_["accuracy"], "selected": int(machine.n_features_)}

    return rank


def _svm_rfe(genes, name):
    counts = sorted(gene_data.COUNTS[name][:-1], reverse=True)  # the rounds leave what is tested
    machine = SVMRFE(C=1e4, counts=counts, columns=1, scaling="none").fit(genes.train, genes.train_classes)
    return machine.ranking_, {}


def _peer_rfe(genes, _):
    found = RFE(SVC(kernel="linear", C=1e4), n_features_to_select=1, step=0.5).fit(genes.train, genes.train_classes)
    # Within a round scikit-learn does not order: by the squared weights of all genes.
    weights = SVC(kernel="linear", C=1e4).fit(genes.train, genes.train_classes).coef_.ravel() ** 2
    return _places(np.lexsort((-weights, found.ranking_))), {}


def _f_test(genes, _):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant genes
        values = np.nan_to_num(f_classif(genes.train, genes.train_classes)[0])
    return _places(np.argsort(-values, kind="stable")), {}


def _l1(genes, _):
    weights = np.abs(LinearSVC(penalty="l1", dual=False, C=1.0, random_state=0, max_iter=10_000)
                     .fit(genes.train, genes.train_classes).coef_.ravel())  # fmt: skip
    values = np.nan_to_num(f_classif(genes.train, genes.train_classes)[0])
    return _places(np.lexsort((-values, -weights))), {"selected": int(np.count_nonzero(weights))}


def _forest(genes, _):
    forest = RandomForestClassifier(1000, random_state=0, n_jobs=1).fit(genes.train, genes.train_classes)
    return _places(np.argsort(-forest.feature_importances_, kind="stable")), {}


def _places(order):
    places = np.empty(len(order), dtype=int)
    places[order] = np.arange(1, len(order) + 1)
    return places


RANKINGS = {
    "GradKL-LS, 20 steps": _gradients("square", "learned", **STEPS),
    "GradKL-LS": _gradients("square", "learned", **OPTIMUM),
    "GradKL-SVM, 20 steps": _gradients("hinge", "learned", **STEPS),
    "GradKL-SVM": _gradients("hinge", "learned", **OPTIMUM),
    "GradKL, squared hinge": _gradients("squared_hinge", "learned", **OPTIMUM),
    "Grad-LS": _gradients("square", "fixed", tol=1e-6),
    "Grad-SVM": _gradients("hinge", "fixed", tol=1e-6),
    "SVM-RFE": _svm_rfe,
    "scikit-learn: RFE of halves": _peer_rfe,
    "scikit-learn: F-test": _f_test,
    "scikit-learn: l1 LinearSVC": _l1,
    "scikit-learn: random forest": _forest,
}


# Jobs that rank genes and test their ranking.
JOBS = {
    "GradKL-LS, 20 steps": ("coordinate_gradients", {"loss": "square", "C": 1.0, **dict(STEPS)}),
    "GradKL-LS": ("coordinate_gradients", {"loss": "square", "C": 1.0}),
    "SVM-RFE": ("svm_rfe", {"C": 1e4}),
}


class GeneLaboratory:
    """Ranks genes and tests rankings, unless that was done before."""

    def __init__(self, folder, client, measurements, methods, threads):
        self._folder, self._client, self._measurements, self._threads = folder, client, measurements, threads
        self._methods = methods
        self._known = {}

    def data(self, name):
        """The data set of this name."""
        if name not in self._known:
            self._known[name] = gene_data.read(self._folder, name)
        return self._known[name]

    def ranking(self, name, words):
        """Errors on the test rows by number of genes, seconds, and the first genes of a ranking."""
        method = "scikit-learn" if words.startswith("scikit-learn") else "mercer"
        key = {"set": name, "ranking": words}
        if method not in self._methods:
            return self._measurements.get(key)
        return self._measurements.measure(key, lambda: self._rank(name, words))

    def _rank(self, name, words):
        genes = self.data(name)
        begin = time.perf_counter()
        places, told = RANKINGS[words](genes, name)
        seconds = time.perf_counter() - begin
        order = np.argsort(places)
        errors = [self._errors(genes, order[:count], FEW[name]) for count in gene_data.COUNTS[name]]
        return {"errors": errors, "seconds": seconds, "first": [genes.names[g] for g in order[:8]], **told}

    def _errors(self, genes, chosen, few):
        cost = COST_OF_FEW if len(chosen) <= few else COST
        machine = KernelSVC(kernels="linear", C=cost, scaling="none", tol=1e-6)
        machine.fit(genes.train[:, chosen], genes.train_classes)
        return int(np.count_nonzero(machine.predict(genes.test[:, chosen]) != genes.test_classes))

    def job(self, name, words):
        """Errors on the test rows by number of genes, from one job that ranks and tests its ranking."""
        learner, options = JOBS[words]
        key = {"set": name, "job": words}

        def measure():
            genes = self.data(name)
            rows = pd.DataFrame(np.vstack([genes.train, genes.test]), columns=genes.names)
            parts = ["train"] * len(genes.train) + ["validation"] * len(genes.test)
            classes = np.concatenate([genes.train_classes, genes.test_classes])
            data = self._client.upload(rows.assign(part=parts, label=classes), "label", roles={"part": "split"})
            counts = gene_data.COUNTS[name]
            options_of_set = options | ({"counts": sorted(counts[:-1], reverse=True)} if learner == "svm_rfe" else {})
            model = self._client.train(
                data, learner, options_of_set, kernels=None if learner == "svm_rfe" else "linear", scaling="none",
                validation="hold_out", ranking_test=counts, relative_gap=1e-6, threads=self._threads,
            ).wait()  # fmt: skip
            accuracies = np.asarray(model.model_tables["ranking_test"].values)[:, 0]
            return {"errors": [round(len(genes.test) * (1 - accuracy)) for accuracy in accuracies]}

        return self._measurements.measure(key, measure) if "mercer" in self._methods else self._measurements.get(key)

    def ring(self, seed, kernels, weights, cost):
        """The share of the scores that the two columns of the ring have, and whether they come first."""

        def measure():
            features, classes = gene_data.draw_ring(seed)
            machine = CoordinateGradients(
                kernels=kernels, C=cost, loss="hinge", column_weights=weights, scaling="none", tol=1e-6
            ).fit(features, classes)
            table = machine.model_.model_tables["ranking"]
            score = {int(row[table.columns.index("column")]): row[0] for row in table.values}
            return {
                "mass": float(score[1] + score[2]),
                "first": bool(set(np.argsort(machine.ranking_)[:2]) == {0, 1}),
                "gap": machine.certificate_["accuracy"],
            }

        key = {"set": "ring", "seed": seed, "kernels": kernels, "weights": weights, "C": cost}
        return self._measurements.measure(key, measure) if "mercer" in self._methods else self._measurements.get(key)


def errors(laboratory, names, numbers):
    """A line for each ranking: errors on the test rows by the number of genes."""
    del numbers
    texts = []
    for name in names or gene_data.COUNTS:
        counts = gene_data.COUNTS[name]
        lines = []
        for words in RANKINGS:
            found = laboratory.ranking(name, words)
            if found is None:
                continue
            lines.append([words, *found["errors"], _difference(found["errors"], PAPER.get((name, words)))])
            if (name, words) in PAPER:
                lines.append([f"{words}, printed", *PAPER[name, words].split(), None])
        texts.append(
            f"{name}: errors of {len(laboratory.data(name).test_classes)} test rows, by the number of genes:\n\n"
            + markdown(["ranking", *map(str, counts), "apart from the paper"], lines)
        )
    return "\n\n".join(texts)


def _difference(ours, printed):
    if printed is None:
        return None
    return sum(abs(error - int(other)) for error, other in zip(ours, printed.split()) if other != "-")


def jobs(laboratory, names, numbers):
    """A line for each job that ranks genes and tests its ranking: errors on the test rows by the number of genes."""
    del numbers
    texts = []
    for name in names or ["leukemia"]:
        found = {words: laboratory.job(name, words) for words in JOBS}
        lines = [[words, *record["errors"]] for words, record in found.items() if record is not None]
        texts.append(f"{name}:\n\n" + markdown(["job", *map(str, gene_data.COUNTS[name])], lines))
    return "\n\n".join(texts)


def heads(laboratory, names, numbers):
    """A line for each ranking: its first genes, how many it selects, its gap and the seconds that it took."""
    del numbers
    lines = []
    for name in names or gene_data.COUNTS:
        for words in RANKINGS:
            found = laboratory.ranking(name, words)
            if found is not None:
                gap = found.get("gap")
                lines.append([
                    name, words, " ".join(found["first"]), found.get("selected"),
                    None if gap is None else f"{gap:.0e}", f"{found['seconds']:.2f}",
                ])  # fmt: skip
    return markdown(["data", "ranking", "first genes", "selected", "gap", "seconds"], lines)


def ring(laboratory, names, numbers):
    """A line for each kernel and cost: the share of the scores on the two columns of the ring."""
    del names
    lines = []
    for kernels in ("gaussian", "linear"):
        for cost in (1.0, 10.0, 100.0, 1000.0):
            cells = []
            for weights in ("learned", "fixed"):
                found = [laboratory.ring(seed, _text(kernels), weights, cost) for seed in numbers or range(5)]
                found = [record for record in found if record is not None]
                cells += [mean([record["mass"] for record in found], 2), sum(record["first"] for record in found)]
            lines.append([kernels, f"{cost:g}", *cells])
    header = ["kernel", "C", "GradKL: share", "both first", "Grad: share", "both first"]
    return markdown(header, lines)


def _text(kernels):
    return "gaussian median=1" if kernels == "gaussian" else kernels
