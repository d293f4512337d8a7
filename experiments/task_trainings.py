"""Trainings on several tasks: jointly, each task alone, and the machines that a user would take instead.

Each returns the decision values of the test rows, one column for every machine, and what else was measured, of which
``used`` says of every column whether a machine reads it.
"""

import warnings

import numpy as np
import pandas as pd
from mercer.local_model import load_model
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import MultiTaskLassoCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
from trainings import durations

SVC_COSTS = tuple(10.0 ** (power / 2) for power in range(-7, 3))
LASSO_PENALTIES = 20
LABELS = ("neg", "pos")


def fit(client, train, labels, groups, settings, threads):
    """One training; the blocks are the columns, or with `groups` those."""
    frame = pd.DataFrame(np.vstack(train), columns=[f"x{c}" for c in range(train[0].shape[1])])
    several = len(train) > 1
    if several:
        frame["task"] = np.repeat([f"t{t:02}" for t in range(len(train))], [len(rows) for rows in train])
    frame["class"] = np.array(LABELS)[(np.concatenate(labels) > 0).astype(int)]
    dataset = client.upload(frame, "class", roles={"task": "task"} if several else None)
    kernels = [f"linear columns={','.join(f'x{c}' for c in columns)} name={name}" for name, columns in groups.items()]
    options = {name: value for name, value in settings.items() if name != "gap"}
    job = client.train(
        dataset, "sparse_multitask_svm", options, kernels=kernels or None, scaling="none",
        relative_gap=settings["gap"], threads=threads,
    )  # fmt: skip
    events = list(job.progress())
    model = load_model(job.result().export())
    return model, {**durations(events), "gap": model.certificate["accuracy"], "stop": model.stop_reason}


def _used(model, groups):
    selected = model.tables["blocks"]["selected"].to_numpy() > 0
    if not groups:
        return selected
    used = np.zeros(sum(len(columns) for columns in groups.values()), bool)
    for columns, taken in zip(groups.values(), selected):
        used[columns] = taken
    return used


def joint(client, problem, groups, settings, threads):
    """sparse_multitask_svm on all tasks together; of a problem with one task, on that."""
    model, measured = fit(client, problem.train, problem.train_labels, groups, settings, threads)
    tasks = model.tasks or ("",)
    values = np.hstack([model.decision_values(problem.test, task=task) for task in tasks])
    return values, {**measured, "used": _used(model, groups)}


def _machines(problem, fit):
    """A machine of scikit-learn on each task."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = [fit(rows, labels) for rows, labels in zip(problem.train, problem.train_labels)]
    values = np.column_stack([machine.decision_function(problem.test) for machine in fitted])
    return values, {"used": np.any([machine.coef_[0] != 0 for machine in fitted], axis=0)}


def discriminant(problem):
    """A linear discriminant of each task, its covariance shrunk as Ledoit and Wolf do."""
    return _machines(
        problem, lambda rows, labels: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(rows, labels)
    )


def _linear(penalty, **options):
    return LinearSVC(penalty=penalty, dual=penalty == "l2", random_state=0, max_iter=5000, **options)


def linear_at(problem, penalty, cost):
    """A LinearSVC of each task with this C."""
    return _machines(problem, lambda rows, labels: _linear(penalty, C=cost).fit(rows, labels))


def linear(problem, penalty, scoring):
    """A LinearSVC of each task, C by three folds of its rows."""

    def fit(rows, labels):
        search = GridSearchCV(_linear(penalty), {"C": SVC_COSTS}, cv=3, scoring=scoring)
        return search.fit(rows, labels).best_estimator_

    return _machines(problem, fit)


def linear_of_classes(problem, penalty):
    """A LinearSVC of all classes for tasks, one against the others, that have the same rows; one C by three folds."""
    classes = np.argmax(problem.train_labels, axis=0)
    search = GridSearchCV(_linear(penalty), {"C": SVC_COSTS}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(problem.train[0], classes)
    machine = search.best_estimator_
    return machine.decision_function(problem.test), {"used": (machine.coef_ != 0).any(axis=0), **search.best_params_}


def joint_lasso(problem):
    """MultiTaskLasso on the labels of tasks that have the same rows; its penalty by three folds."""
    order = np.random.default_rng(0).permutation(len(problem.train[0]))
    targets = np.column_stack(problem.train_labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = MultiTaskLassoCV(cv=3, alphas=LASSO_PENALTIES).fit(problem.train[0][order], targets[order])
    return machine.predict(problem.test), {"used": (machine.coef_ != 0).any(axis=0), "alpha": float(machine.alpha_)}


def own_area(problem, values, rows=slice(None)):
    """Area under the curve of each task by its own machine, averaged."""
    tasks, labels, values = problem.test_tasks[rows], problem.test_labels[rows], values[rows]
    own = values[np.arange(len(tasks)), tasks if values.shape[1] > 1 else np.zeros_like(tasks)]
    return float(np.mean([roc_auc_score(labels[tasks == task], own[tasks == task]) for task in np.unique(tasks)]))


def summed_area(problem, values):
    """Area under the curve of all test rows by the sum of the machines."""
    return float(roc_auc_score(problem.test_labels, values.sum(axis=1)))


def selection(used, relevant):
    """The F-measure of the selected columns, of which the first are relevant."""
    return 2.0 * np.count_nonzero(used[:relevant]) / (np.count_nonzero(used) + relevant)
