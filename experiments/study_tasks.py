"""Selection of columns that several tasks share, beside machines of each task alone and of all rows together."""

import functools

import numpy as np
import study_same_problem
import task_data
import task_trainings
from measurements import markdown, mean, spread, worst

GAP = 1e-4
DEFAULT_GAP = 1e-3  # of the server
DRAWS = 10
DIGIT_DRAWS = 3
METHODS = {
    "joint, p = 1": ("joint", 1.0),
    "joint, p = 0.5": ("joint", 0.5),
    "all rows as one task": ("pooled", 1.0),
    "each task alone": ("separate", 1.0),
}
CHANNEL_COSTS = (10.0, 3.0, 1.0)
DIGIT_COSTS = (10.0, 1.0, 0.1)
GENE_COSTS = (10.0, 1.0, 0.1)
# The paper's area under the curve and its variables, of 896, at C = 10.
PAPER = {
    "joint, p = 1": "85.72 ± 1.8, 192 ± 11",
    "joint, p = 0.5": "86.37 ± 1.3, 43 ± 6",
    "all rows as one task": "86.17 ± 1.8, 214 ± 12",
    "each task alone": "84.15 ± 1.8, 272 ± 13",
}


class TaskLaboratory:
    """Measures methods on problems of several tasks, unless that was done before.

    Its methods are ``"mercer"``, ``"scikit-learn"`` and ``"scipy"``.
    """

    def __init__(self, folder, client, measurements, methods, threads):
        self._folder, self._client, self._measurements = folder, client, measurements
        self._methods, self._threads = methods, threads

    def _measure(self, key, call):
        if key["method"] not in self._methods:
            return self._measurements.get(key)
        return self._measurements.measure(key, call)

    @functools.lru_cache(maxsize=32)  # noqa: B019, a program has one laboratory, and its problems are small
    def _problem(self, name, number, pooled=False):
        if name == "p300_muse":
            return task_data.channels(self._folder, number, pooled)
        return task_data.digits(self._folder, number) if name == "mfeat" else task_data.genes(self._folder)

    @functools.lru_cache(maxsize=32)  # noqa: B019, a program has one laboratory, and its problems are small
    def _random_problem(self, *setting):
        return task_data.random_tasks(*setting)

    def mercer(self, name, number, kind, settings, grouped=False):
        """The learner on a data set: `kind` is ``"joint"``, ``"pooled"`` or ``"separate"``."""

        def call():
            problem = self._problem(name, number, kind == "pooled")
            sharing = {"sharing": "separate"} if kind == "separate" else {}
            groups = problem.groups if grouped else {}
            found = task_trainings.joint(self._client, problem, groups, {**settings, **sharing}, self._threads)
            return _tested(name, problem, *found, grouped)

        key = {"method": "mercer", "set": name, "split": number, "kind": kind, "grouped": grouped, **settings}
        return self._measure(key, call)

    def peer(self, name, number, kind, *arguments, pooled=False):
        """A machine of scikit-learn, the function `kind` of task_trainings, on a data set."""

        def call():
            problem = self._problem(name, number, pooled)
            return _tested(name, problem, *getattr(task_trainings, kind)(problem, *arguments))

        key = {"method": "scikit-learn", "set": name, "split": number, "kind": kind}
        return self._measure({**key, "pooled": pooled, "arguments": arguments}, call)

    def same(self, name, cost, kind):
        """A problem that others solve too: by the learner, as a linear program, or with the squared hinge."""

        def call():
            rows, labels = study_same_problem.rows_and_labels(self._problem(name, 0, name == "p300_muse"))
            if kind == "learner":
                return study_same_problem.by_learner(self._client, rows, labels, cost, self._threads)
            if kind == "program":
                return study_same_problem.by_linear_program(rows, labels, cost)
            return study_same_problem.by_squared_hinge(rows, labels, cost)

        method = {"learner": "mercer", "program": "scipy", "squared": "scikit-learn"}[kind]
        return self._measure({"method": method, "set": name, "split": 0, "kind": f"same, {kind}", "C": cost}, call)

    def random(self, number, setting, kind, settings):
        """A training on tasks that are drawn at random, by the learner or by a LinearSVC of each task."""

        def call():
            problem = self._random_problem(*setting.values(), number)
            if kind == "joint":
                values, measured = task_trainings.joint(self._client, problem, {}, settings, self._threads)
            else:
                values, measured = task_trainings.linear_at(problem, "l1", settings["C"])
            used = measured.pop("used")
            return {
                **measured,
                "area_held_out": 100.0 * task_trainings.own_area(problem, values, problem.held_out),
                "area": 100.0 * task_trainings.own_area(problem, values, ~problem.held_out),
                "selection": float(task_trainings.selection(used, problem.relevant)),
                "variables": int(used.sum()),
            }

        method = "mercer" if kind == "joint" else "scikit-learn"
        key = {"method": method, "set": "random", "split": number, "kind": kind, **setting, **settings}
        return self._measure(key, call)


def _tested(name, problem, values, measured, grouped=False):
    """What is reported of the decision values of the test rows."""
    used = measured.pop("used")
    record = {**measured, "variables": int(used.sum())}
    if grouped:
        record["groups"] = sum(bool(used[columns].any()) for columns in problem.groups.values())
    if name == "p300_muse":
        record["area"] = 100.0 * task_trainings.summed_area(problem, values)
        record["own_area"] = 100.0 * task_trainings.own_area(problem, values)
    elif name == "mfeat":
        record["accuracy"] = 100.0 * float(np.mean(values.argmax(axis=1) == problem.test_labels))
    else:
        record["errors"] = int(np.sum(np.where(values[:, 0] > 0, 1.0, -1.0) != problem.test_labels))
    return record


def column(records, name):
    """The values of this name, None where there is none."""
    return [record.get(name) if record else None for record in records]


def measured(records):
    """How many there are."""
    return sum(record is not None for record in records)


def channels(laboratory, names, numbers):
    """Table 1 of the paper on p300_muse: a line for each method, its blocks and C."""
    del names
    numbers = numbers or range(DRAWS)
    lines = []

    def line(words, block, cost, records, paper=None):
        lines.append([
            words, block, cost, measured(records), spread(column(records, "area"), 1),
            spread(column(records, "own_area"), 1), spread(column(records, "variables"), 1),
            worst(column(records, "gap")), paper,
        ])  # fmt: skip

    for block in ("variable", "channel"):
        for words, (kind, p) in METHODS.items():
            for cost in CHANNEL_COSTS:
                settings = {"p": p, "C": cost, "gap": GAP}
                found = [
                    laboratory.mercer("p300_muse", number, kind, settings, block == "channel") for number in numbers
                ]
                line(words, block, f"{cost:g}", found, PAPER[words] if (block, cost) == ("variable", 10.0) else None)
    peers = {"shrunk discriminant": ("discriminant",), "LinearSVC, l1": ("linear", "l1", "roc_auc")}
    for words, call in peers.items():
        for whose, pooled in (("each task alone", False), ("all rows as one task", True)):
            found = [laboratory.peer("p300_muse", number, *call, pooled=pooled) for number in numbers]
            line(f"{words}, {whose}", None, None, found)
    header = [
        "method", "block", "C", "draws", "area, summed", "area, own machine", "variables of 70", "worst accuracy",
        "the paper: area, variables of 896",
    ]  # fmt: skip
    return "Area under the curve times 100, mean ± deviation over the draws:\n\n" + markdown(header, lines)


def gaps(laboratory, names, numbers):
    """A line for each method and C on p300_muse: what the relative gap changes in area and selection."""
    del names
    numbers = numbers or range(DRAWS)
    lines = []
    for words, (kind, p) in METHODS.items():
        for cost in CHANNEL_COSTS:
            cells = []
            for gap in (DEFAULT_GAP, GAP):
                settings = {"p": p, "C": cost, "gap": gap}
                found = [laboratory.mercer("p300_muse", number, kind, settings) for number in numbers]
                constant = sum(value == 0 for value in column(found, "variables"))
                cells.append([spread(column(found, name), 1) for name in ("area", "variables")] + [constant])
            lines.append([words, f"{cost:g}", *(cell for pair in zip(*cells) for cell in pair)])
    header = [f"{words}, gap {gap:g}" for words in ("area", "variables", "constant") for gap in (DEFAULT_GAP, GAP)]
    return "The same on p300_muse with two relative gaps:\n\n" + markdown(["method", "C", *header], lines)


def digits(laboratory, names, numbers):
    """A line for each method, its blocks and C, on mfeat."""
    del names
    numbers = numbers or range(DIGIT_DRAWS)
    lines = []

    def line(words, block, cost, records):
        lines.append([
            words, block, cost, measured(records), spread(column(records, "accuracy"), 1),
            spread(column(records, "variables"), 0), mean(column(records, "groups")), worst(column(records, "gap")),
        ])  # fmt: skip

    for block, costs in (("variable", DIGIT_COSTS), ("set", (1.0,))):
        for words, (kind, p) in METHODS.items():
            for cost in costs if kind != "pooled" else ():
                settings = {"p": p, "C": cost, "gap": GAP}
                found = [laboratory.mercer("mfeat", number, kind, settings, block == "set") for number in numbers]
                line(words, block, f"{cost:g}", found)
    peers = {
        "LinearSVC, l1": ("linear_of_classes", "l1"),
        "LinearSVC, l2": ("linear_of_classes", "l2"),
        "MultiTaskLasso": ("joint_lasso",),
    }
    for words, call in peers.items():
        line(words, None, None, [laboratory.peer("mfeat", number, *call) for number in numbers])
    header = ["method", "block", "C", "draws", "accuracy %", "variables of 649", "sets of 6", "worst accuracy"]
    return "Mean ± deviation over the draws:\n\n" + markdown(header, lines)


def genes(laboratory, names, numbers):
    """A line for each method and C on leukemia."""
    del names, numbers
    lines = []

    def line(words, cost, record):
        found = [record and record[name] for name in ("errors", "variables")]
        lines.append([words, cost, *found, worst(column([record], "gap"))])

    for p in (1.0, 0.5):
        for cost in GENE_COSTS:
            line(f"p = {p:g}", f"{cost:g}", laboratory.mercer("leukemia", 0, "joint", {"p": p, "C": cost, "gap": GAP}))
    for penalty in ("l1", "l2"):
        line(f"LinearSVC, {penalty}", None, laboratory.peer("leukemia", 0, "linear", penalty, "accuracy"))
    header = ["method", "C", "errors of 34", "variables of 7129", "accuracy of the optimum"]
    return "14 of the 34 test rows are of the rarer class:\n\n" + markdown(header, lines)
