"""Mixed norms, the l1 norm and the plain sum over kernels on several descriptions of the same objects."""

import numpy as np
from measurements import field, markdown, mean, spread, worst

import closed_form
import view_trainings
import views as sets

GAP = 1e-3
COSTS = (1.0, 10.0, 100.0)  # in the form that is the same regularisation at the start, whatever the kernels
METHODS = {"mixed norm": "mixed_norm", "l1": "l1", "uniform sum": "sum"}
PEERS = {
    "SVC, best single kernel": "best_kernel",
    "SVC, average of kernels": "average_kernel",
    "SVC on all columns": "concatenated",
}
# The paper's accuracy of the uniform sum, and its gains of the mixed norm over l1 and over the sum, in percent of them.
PAPER = {
    "caltech5": "sum 93.84; gains 0 .. 9, 0 .. 4.5",
    "caltech101": "sum 34.81; gains 37.6, 21.8",
    "flowers17": "sum 85.97; gains -4 .. 12, 0 .. 4.5",
}


class ViewLaboratory:
    """Measures methods on divisions of data sets with several descriptions, unless that was done before.

    Its methods are ``"mercer"``, those of PEERS, and ``"closed_form"``.
    """

    def __init__(self, folder, client, measurements, methods, threads):
        self._folder, self._client, self._measurements = folder, client, measurements
        self._methods, self._threads = methods, threads
        self._known = {}

    def data(self, name):
        """The data set of this name; one is kept."""
        if name not in self._known:
            self._known = {name: sets.read(self._folder, name)}
        return self._known[name]

    def _measure(self, key, call):
        if key["method"] not in self._methods:
            return self._measurements.get(key)
        return self._measurements.measure(key, call)

    def mercer(self, name, number, settings):
        """Accuracy of one training; C is that of the source, or is chosen on a third of the training rows."""
        cost = self._cost(name, number, settings)
        if cost is None:
            return None
        measured = self._train(name, number, {**settings, "C": cost}, *self.data(name).divisions[number], "all")
        return measured and {**measured, "C": cost}

    def closed_form(self, name, number, settings):
        """Accuracy and gap of the same training, its C included, by another program."""
        cost = self._cost(name, number, settings)
        if cost is None:
            return None
        settings, data = {**settings, "C": cost}, self.data(name)
        return self._measure(
            {"method": "closed_form", "set": name, "split": number, **settings},
            lambda: closed_form.train(data, *data.divisions[number], settings, view_trainings.MULTIPLES),
        )

    def timed(self, name, settings):
        """One training of the first division."""
        return self._train(name, 0, settings, *self.data(name).divisions[0], "time")

    def _cost(self, name, number, settings):
        if sets.SOURCES[name].cost is not None:
            return sets.SOURCES[name].cost
        trials = self.trials(name, number, settings)
        return trials and max(trials, key=trials.get)

    def trials(self, name, number, settings):
        """Accuracies on a third of the training rows, which is held out, by C.

        They are those of COSTS and, while the largest is the best, of ten times more; None if one was not measured.
        """
        rows, _ = self.data(name).divisions[number]
        labels, random = self.data(name).labels, np.random.default_rng(1000 + number)
        held = np.concatenate([
            random.permutation(of_class)[: len(of_class) // 3]
            for of_class in (rows[labels[rows] == label] for label in np.unique(labels))
        ])  # fmt: skip
        kept = np.setdiff1d(rows, held)
        costs, found = list(COSTS), {}
        for cost in costs:
            trial = self._train(name, number, {**settings, "C": cost}, kept, held, "held out")
            if trial is None:
                return None
            found[cost] = trial["accuracy"]
            if cost == costs[-1] == max(found, key=found.get):
                costs.append(10 * cost)
        return found

    def _train(self, name, number, settings, rows, test, part):
        key = {"method": "mercer", "set": name, "split": number, "threads": self._threads, "part": part, **settings}
        return self._measure(
            key, lambda: view_trainings.train(self._client, self.data(name), rows, test, settings, self._threads)
        )

    def peer(self, method, name, number):
        """Accuracy of a machine that a user would take instead."""
        rows, test = self.data(name).divisions[number]
        call = getattr(view_trainings, method)
        key = {"method": method, "set": name, "split": number}
        return self._measure(key, lambda: call(self.data(name), rows, test))


def _settings(method, scaling):
    return {"regularization": method, "cost_scale": "comparable", "scaling": scaling, "gap": GAP}


def _records(laboratory, name, numbers, scaling):
    """What was measured of every method on the divisions of a data set."""
    divisions = numbers or range(sets.SOURCES[name].divisions)
    return {
        words: [laboratory.mercer(name, number, _settings(method, scaling)) for number in divisions]
        for words, method in METHODS.items()
    }


def accuracy(laboratory, names, numbers, scalings=("trace", "variance")):
    """A line for each data set, normalisation and method."""
    lines = []
    for name in names or sets.SOURCES:
        divisions = numbers or range(sets.SOURCES[name].divisions)
        for scaling in scalings:
            for words, records in _records(laboratory, name, numbers, scaling).items():
                lines.append([
                    name, words, scaling, _measured(records), spread(field(records, "accuracy")),
                    mean(field(records, "zeros"), 0),
                    mean(field(records, "groups")), worst(field(records, "gap")),
                    PAPER.get(name) if words == "mixed norm" and scaling == "trace" else None,
                ])  # fmt: skip
        for words, method in PEERS.items():
            records = [laboratory.peer(method, name, number) for number in divisions]
            lines.append([name, words, None, _measured(records), spread(field(records, "accuracy")), *[None] * 4])
    header = [
        "data", "method", "normalisation", "divisions", "accuracy %", "weights of 0 %", "groups in use", "worst gap",
        "the paper, %",
    ]  # fmt: skip
    return "Mean ± deviation over the divisions:\n\n" + markdown(header, lines)


def _measured(records):
    return sum(record is not None for record in records)


def gains(laboratory, names, numbers, scalings=("trace", "variance")):
    """A line for each data set and normalisation: what the mixed norm gains in the accuracy of the classes."""
    lines = []
    for name in names or sets.SOURCES:
        for scaling in scalings:
            records = _records(laboratory, name, numbers, scaling)
            lines.append([
                name, scaling, *_gains(records["mixed norm"], records["l1"]),
                *_gains(records["mixed norm"], records["uniform sum"]),
            ])  # fmt: skip
    words = ("points over {}", "divisions + / = / -", "gain over {} %", "classes + / = / -")
    header = ["data", "normalisation", *(text.format(other) for other in ("l1", "the sum") for text in words)]
    return (
        "Points: accuracies less those of the other method on the same division. Gains: the accuracy of each class\n"
        "over that of the other method, less 1, averaged over the classes whose other accuracy is not 0. Mean and\n"
        "deviation of the divisions. + / = / -: in how many the mixed norm is better, equal and worse; classes are\n"
        "counted in every division:\n\n" + markdown(header, lines)
    )


def _gains(records, others):
    points, means, changes = [], [], []
    for record, other in zip(records, others):
        if record is None or other is None:
            continue
        points.append(record["accuracy"] - other["accuracy"])
        mine, its = np.array(record["class_accuracies"]), np.array(other["class_accuracies"])
        means.append(100.0 * float(np.mean(mine[its > 0] / its[its > 0] - 1)))
        changes.extend(mine - its)
    if not means:
        return [None] * 4
    return spread(points), _signs(points), spread(means), _signs(changes)


def _signs(differences):
    return " / ".join(str(np.count_nonzero(np.sign(differences) == sign)) for sign in (1, 0, -1))


def costs(laboratory, names, numbers, scalings=("trace", "variance")):
    """A line for each data set, normalisation and method: accuracy on the rows held out, and how often C was chosen."""
    lines = []
    for name in names or [name for name, source in sets.SOURCES.items() if source.cost is None]:
        for scaling in scalings:
            for words, method in METHODS.items():
                divisions = numbers or range(sets.SOURCES[name].divisions)
                found = [laboratory.trials(name, number, _settings(method, scaling)) for number in divisions]
                found = [trials for trials in found if trials]
                chosen = [max(trials, key=trials.get) for trials in found]
                lines.append([
                    name, words, scaling, *(spread([trials[cost] for trials in found]) for cost in COSTS),
                    ", ".join(f"{cost:g}: {chosen.count(cost)}" for cost in sorted(set(chosen))) or None,
                ])  # fmt: skip
    header = ["data", "method", "normalisation", *(f"C = {cost:g}" for cost in COSTS), "chosen"]
    return "Accuracy on the rows held out, and in how many divisions C was chosen:\n\n" + markdown(header, lines)


def reference(laboratory, names, numbers, scalings=("trace", "variance")):
    """A line for each data set, normalisation and method: accuracies of the learner and of another program."""
    lines = []
    for name in names or sets.SOURCES:
        for scaling in scalings:
            for words, method in METHODS.items():
                settings = _settings(method, scaling)
                pairs = [
                    (laboratory.mercer(name, number, settings), laboratory.closed_form(name, number, settings))
                    for number in numbers or range(sets.SOURCES[name].divisions)
                ]
                pairs = [pair for pair in pairs if None not in pair]
                learner, other = [field([pair[i] for pair in pairs], "accuracy") for i in (0, 1)]
                lines.append([
                    name, words, scaling, len(pairs), spread(learner), spread(other),
                    max((abs(a - b) for a, b in zip(learner, other)), default=None),
                    worst(field([pair[1] for pair in pairs], "gap")) if method != "sum" else None,
                ])  # fmt: skip
    header = ["data", "method", "normalisation", "divisions", "learner", "closed form", "most apart", "its worst gap"]
    return "Accuracy of the same trainings by another program:\n\n" + markdown(header, lines)


def seconds(laboratory, names, numbers, scalings=("trace", "variance")):
    """A line for each data set: seconds of a training of its first division with C = 10, and of its verification."""
    del numbers
    lines = []
    for name in names or sets.SOURCES:
        for scaling in scalings:
            cells = []
            for method in METHODS.values():
                found = laboratory.timed(name, {**_settings(method, scaling), "C": 10.0})
                cells.append(found and f"{found['seconds']:.2f} + {found['verify_seconds']:.2f}")
            lines.append([name, scaling, *cells])
    return "Seconds of a training and of its verification, C = 10, the first division:\n\n" + markdown(
        ["data", "normalisation", *METHODS], lines
    )
