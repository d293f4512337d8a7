"""One problem that others solve as well: a task, blocks of a column, the plain form, so that it is a linear program.

    min over w, b of  C sum_i max(0, 1 - y_i (x_i'w + b)) + |w|_1
"""

import time

import numpy as np
import task_trainings
from measurements import markdown
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, eye, hstack
from sklearn.svm import LinearSVC

COSTS = (0.1, 1.0, 10.0)
SETS = {"p300_muse": "four sessions as one", "mfeat": "digit 0", "leukemia": "leukemia"}
GAP = 1e-7
ROWS_AT_A_TIME = 500


def rows_and_labels(problem):
    """Of all tasks together; of digits, whose tasks have the same rows, of the first."""
    if len(problem.train) > 1 and problem.train[0].shape == problem.train[-1].shape and not len(problem.test_tasks):
        return problem.train[0], problem.train_labels[0]
    return np.vstack(problem.train), np.concatenate(problem.train_labels)


def objective(rows, labels, cost, weights, bias):
    margins = labels * (rows @ weights + bias)
    return float(cost * np.maximum(0.0, 1.0 - margins).sum() + np.abs(weights).sum())


def by_learner(client, rows, labels, cost, threads):
    """sparse_multitask_svm; the weights are the values of its model at unit vectors."""
    settings = {"form": "plain", "p": 1.0, "C": cost, "gap": GAP}
    model, measured = task_trainings.fit(client, [rows], [labels], {}, settings, threads)
    columns = rows.shape[1]
    bias = model.decision_values(np.zeros((1, columns)))[0, 0]
    weights = np.concatenate([
        model.decision_values(np.eye(min(ROWS_AT_A_TIME, columns - first), columns, first))[:, 0] - bias
        for first in range(0, columns, ROWS_AT_A_TIME)
    ])  # fmt: skip
    return {"objective": objective(rows, labels, cost, weights, bias), "seconds": measured["seconds"]}


def by_linear_program(rows, labels, cost):
    """HiGHS on w = p - n: the faster of its simplex and its interior point."""
    count, columns = rows.shape
    signed = csr_matrix(labels[:, None] * rows)
    constraints = -hstack([signed, -signed, csr_matrix(labels[:, None]), eye(count)], format="csr")
    costs = np.concatenate([np.ones(2 * columns), [0.0], np.full(count, cost)])
    bounds = [(0, None)] * (2 * columns) + [(None, None)] + [(0, None)] * count
    found = []
    for method in ("highs-ds", "highs-ipm"):
        begun = time.perf_counter()
        solved = linprog(costs, A_ub=constraints, b_ub=-np.ones(count), bounds=bounds, method=method)
        seconds = time.perf_counter() - begun
        weights = solved.x[:columns] - solved.x[columns : 2 * columns]
        found.append({"objective": objective(rows, labels, cost, weights, solved.x[2 * columns]), "seconds": seconds})
    return min(found, key=lambda record: record["seconds"])


def by_squared_hinge(rows, labels, cost):
    """liblinear on its own problem, which squares the hinge: the time alone can be compared."""
    begun = time.perf_counter()
    LinearSVC(penalty="l1", loss="squared_hinge", dual=False, C=cost, tol=1e-6, max_iter=1_000_000).fit(rows, labels)
    return {"seconds": time.perf_counter() - begun}


def same_problem(laboratory, names, numbers):
    """A line for each data set and C: objectives and times of the learner and of others."""
    del names, numbers
    lines = []
    for name, words in SETS.items():
        for cost in COSTS:
            ours, program, squared = (laboratory.same(name, cost, kind) for kind in ("learner", "program", "squared"))
            shown = [record and record["seconds"] for record in (ours, program, squared)]
            both = ours and program
            lines.append([
                words, f"{cost:g}", program and f"{program['objective']:.8g}",
                both and f"{(ours['objective'] - program['objective']) / program['objective']:.1e}",
                *(f"{seconds:.3g}" if seconds is not None else None for seconds in shown),
                both and f"{ours['seconds'] / program['seconds']:.3g}",
            ])  # fmt: skip
    header = [
        "data", "C", "objective, HiGHS", "ours above it, relative", "seconds, ours", "HiGHS",
        "liblinear, squared hinge", "ours / HiGHS",
    ]  # fmt: skip
    return "The same problem, to a relative gap of 1e-7:\n\n" + markdown(header, lines)
