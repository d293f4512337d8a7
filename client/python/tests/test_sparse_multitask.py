"""Machines of several tasks that share which columns they use."""

import numpy as np
import pytest
from sklearn.svm import SVC

from mercer.estimators import SparseMultiTaskSVM

NAMES = ["ann", "bob", "eve"]


@pytest.fixture(scope="module")
def sessions():
    """Ten columns of which two tell the classes apart, for bob the second one the other way round."""
    random = np.random.default_rng(3)
    subjects = np.repeat(NAMES, [60, 80, 50])
    labels = np.where(random.random(len(subjects)) < 0.5, "no", "yes")
    features = random.normal(size=(len(subjects), 10))
    signs = np.where(labels == "yes", 1.0, -1.0)
    features[:, 0] += signs
    features[:, 1] += np.where(subjects == "bob", -signs, signs)
    return features, labels, subjects


def test_few_columns_are_selected_for_all_tasks(sessions):
    features, labels, subjects = sessions
    machine = SparseMultiTaskSVM(p=0.5, C=0.2).fit(features, labels, tasks=subjects)
    assert machine.model_.tasks == ("ann", "bob", "eve")
    blocks = machine.model_.tables["blocks"]
    selected = set(np.flatnonzero(blocks["selected"]))
    assert selected == {0, 1}
    norms = machine.model_.tables["block_norms"]
    assert norms.shape == (10, 3)
    np.testing.assert_allclose(np.linalg.norm(norms, axis=1), blocks["norm"], atol=1e-12)
    assert machine.score(features, labels, tasks=subjects) > 0.85
    assert machine.model_.certificate_kind == "stationarity"
    shown = machine.model_._repr_html_()
    assert "stationarity" in shown and "relative gap" not in shown


def test_a_machine_that_selects_nothing_warns(sessions):
    features, labels, subjects = sessions
    with pytest.warns(UserWarning, match="uses no column"):
        machine = SparseMultiTaskSVM(form="plain", C=1e-3).fit(features, labels, tasks=subjects)
    assert not machine.model_.tables["blocks"]["selected"].any()
    assert machine.model_.certificate_kind == "gap"


def test_exponents_of_two_are_machines_of_their_own(sessions):
    features, labels, subjects = sessions
    ours = SparseMultiTaskSVM(p=2.0, scaling="none", tol=1e-8).fit(features, labels, tasks=subjects)
    for name in NAMES:
        rows = subjects == name
        theirs = SVC(kernel="linear", C=1.0, tol=1e-8).fit(features[rows], labels[rows])
        found = ours.decision_function(features[rows], tasks=subjects[rows])
        np.testing.assert_allclose(found, theirs.decision_function(features[rows]), atol=2e-3)


def test_a_task_of_one_class_is_named(sessions):
    features, labels, subjects = sessions
    alone = np.where(subjects == "eve", "yes", labels)
    with pytest.raises(ValueError, match="task 'eve'.*both classes"):
        SparseMultiTaskSVM().fit(features, alone, tasks=subjects)
    machine = SparseMultiTaskSVM(allow_one_class=True).fit(features, alone, tasks=subjects)
    assert set(machine.predict(features[:5], tasks=["eve"] * 5)) == {"yes"}


@pytest.mark.parametrize("coding", ["one_vs_all", "one_vs_one"])
def test_tasks_may_have_many_classes(sessions, coding):
    features, _, subjects = sessions
    labels = np.array(["a", "b", "c"])[np.arange(len(features)) % 3]
    features = features + np.eye(3, 10)[np.arange(len(features)) % 3]
    ours = SparseMultiTaskSVM(p=2.0, scaling="none", tol=1e-8, coding=coding).fit(features, labels, tasks=subjects)
    outputs = (
        [("a", "bc"), ("b", "ac"), ("c", "ab")] if coding == "one_vs_all" else [("a", "b"), ("a", "c"), ("b", "c")]
    )
    for name in NAMES:
        rows = subjects == name
        assert ours.decision_function(features[rows], tasks=subjects[rows]).shape == (rows.sum(), 3)
        values = ours.model_.decision_values(features[rows], task=name)
        for column, (first, others) in zip(values.T, outputs):
            kept = rows & np.isin(labels, [first, *others])
            theirs = SVC(kernel="linear", C=1.0, tol=1e-8).fit(features[kept], labels[kept] == first)
            np.testing.assert_allclose(column, theirs.decision_function(features[rows]), atol=5e-3)
    each = [ours.model_.decision_values(features, task=name) for name in NAMES]
    mean = ours.model_.decision_values(features, task_rule="mean")
    np.testing.assert_allclose(mean, np.mean(each, axis=0), rtol=1e-12, atol=1e-12)
    assert ours.model_.tables["block_norms"].shape == (10, 9)
