"""How long scikit-learn's solvers of sparse linear problems take to a given objective."""

import dataclasses
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression, MultiTaskLasso

# The objective to reach, above the one that is given.
EXCESS = 1e-6
# No further attempt is made after one that took longer.
LIMIT_SECONDS = 60.0
TOLERANCES = tuple(10.0**-k for k in range(2, 12))
# saga's tolerance is about steps, not about the objective: it makes so many passes over the rows.
PASSES = tuple(10 * 2**k for k in range(14))
ENOUGH_ITERATIONS = 1_000_000
# liblinear penalises the bias divided by this.
INTERCEPT_SCALING = 1000.0


@dataclasses.dataclass(frozen=True)
class Fitted:
    """Weights (columns x outputs) and biases (of the outputs)."""

    weights: np.ndarray
    bias: np.ndarray


def _lasso(problem, tolerance):
    model = Lasso(alpha=problem.penalty / (2 * len(problem.targets)), tol=tolerance, max_iter=ENOUGH_ITERATIONS)
    model.fit(problem.features, problem.targets[:, 0])
    return Fitted(model.coef_[:, None], np.array([model.intercept_]))


def _multi_task_lasso(problem, tolerance):
    model = MultiTaskLasso(
        alpha=problem.penalty / (2 * len(problem.targets)), tol=tolerance, max_iter=ENOUGH_ITERATIONS
    ).fit(problem.features, problem.targets)  # fmt: skip
    return Fitted(model.coef_.T, model.intercept_)


def _logistic(problem, **options):
    """One model for each output."""
    models = [
        LogisticRegression(C=1 / problem.penalty, l1_ratio=1, random_state=0, **options).fit(problem.features, targets)
        for targets in problem.targets.T
    ]
    return Fitted(np.column_stack([model.coef_[0] for model in models]), np.array([m.intercept_[0] for m in models]))


def _liblinear(problem, tolerance):
    return _logistic(
        problem, solver="liblinear", tol=tolerance, max_iter=ENOUGH_ITERATIONS, intercept_scaling=INTERCEPT_SCALING
    )  # fmt: skip


def _saga(problem, passes):
    return _logistic(problem, solver="saga", tol=1e-12, max_iter=passes)


# For each of scikit-learn's solvers how it is called, and the settings that it is tightened by.
PEERS = {
    "Lasso": (_lasso, TOLERANCES),
    "MultiTaskLasso": (_multi_task_lasso, TOLERANCES),
    "LogisticRegression, liblinear": (_liblinear, TOLERANCES),
    "LogisticRegression, saga": (_saga, PASSES),
}


def reach(kind, problem, goal):
    """Fits of PEERS, each tighter than the one before, until the objective is at most `goal` times 1 + 1e-6.

    Returns
    -------
    dict
        Of the last fit: ``seconds``; ``excess``: relative, above the goal; ``setting``: tolerance, or passes of saga;
        ``reached``: whether the excess is at most 1e-6.
    """
    fit, settings = PEERS[kind]
    for setting in settings:
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = fit(problem, setting)
        seconds = time.perf_counter() - begin
        excess = problem.objective(model) / goal - 1.0
        if excess <= EXCESS or seconds > LIMIT_SECONDS:
            break
    return {"seconds": seconds, "excess": excess, "setting": setting, "reached": excess <= EXCESS}
