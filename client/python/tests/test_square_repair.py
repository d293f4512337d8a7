"""Precomputed kernels with negative eigenvalues, beside numpy's eigenvalues and scikit-learn's machines."""

import json
import pathlib

import numpy as np
import pytest
from sklearn.svm import SVC

import mercer
from mercer import errors
from mercer.estimators import KernelSVC

RULES = ["shift", "clip", "flip"]


@pytest.fixture(scope="module")
def sigmoid():
    """Similarities between training rows, of new rows with them, and labels."""
    random = np.random.default_rng(5)
    x, new = random.normal(size=(120, 3)), random.normal(size=(45, 3))
    labels = np.where(x[:, 0] + 0.5 * x[:, 1] ** 2 > 0.3, "up", "down")
    return np.tanh(x @ x.T - 1), np.tanh(new @ x.T - 1), labels


def upload(client, labels, **kernels):
    return client.upload(np.arange(len(labels), dtype=float)[:, None], labels, kernels=kernels)


def repaired(gram, new, rule):
    """By numpy: the matrix of the training rows, and that of new rows."""
    values, vectors = np.linalg.eigh(gram)
    if rule == "shift":
        return gram - values[0] * np.eye(len(gram)), new
    factor = np.where(values < 0, 0.0 if rule == "clip" else -1.0, 1.0)
    projection = (vectors * factor) @ vectors.T
    return (vectors * (values * factor)) @ vectors.T, new @ projection


@pytest.mark.parametrize("rule", RULES)
def test_a_machine_of_the_repaired_matrix(sigmoid, rule):
    gram, new, labels = sigmoid
    assert np.linalg.eigvalsh(gram)[0] < -0.1
    ours = KernelSVC(C=2.0, kernels="precomputed", square_repair=rule, tol=1e-8).fit(gram, labels)
    train, test = repaired(gram, new, rule)
    theirs = SVC(C=2.0, kernel="precomputed", tol=1e-8).fit(train, labels)
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(test), atol=2e-4)
    if rule != "shift":
        np.testing.assert_allclose(ours.decision_function(gram), theirs.decision_function(train), atol=2e-4)
    table = ours.model_.model_tables["square_repairs"]
    values = np.linalg.eigvalsh(gram)
    share = -values[values < 0].sum() / np.abs(values).sum()
    np.testing.assert_allclose(table.values, [[values[0], values[-1], (values < 0).sum(), share]], rtol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_every_learner_of_kernels_trains(client, sigmoid, rule):
    gram, new, labels = sigmoid
    dataset = upload(client, labels, gram=gram, half=gram / 2)
    # Gradients are those in columns, of which there are none here.
    learners = [one.name for one in client.learners() if one.uses_kernels and one.name != "coordinate_gradients"]
    assert len(learners) >= 4
    settings = {"kernels": "precomputed block=gram", "blocks": ["gram"], "square_repair": rule, "validation": 0.25}
    for job in [client.train(dataset, learner, **settings) for learner in learners]:
        assert_as_asked(job.wait(), gram, new, rule)


def assert_as_asked(model, gram, new, rule):
    local = mercer.load_model(model.export())
    expected = model.predict_all(None, squares={"gram": new})
    values = local.decision_values(None, squares={"gram": new})
    np.testing.assert_allclose(values, expected.decision_values, rtol=1e-10, atol=1e-10)
    preprocessing = model.get(full=True).preprocessing
    assert preprocessing.options.square_repair == {"shift": 3, "clip": 4, "flip": 5}[rule]
    (repair,) = preprocessing.repairs
    assert repair.block == "gram"
    rows = list(repair.training_rows)
    assert len(rows) == local.num_training_rows == 90
    values = np.linalg.eigvalsh(gram[np.ix_(rows, rows)])
    np.testing.assert_allclose(repair.eigenvalues, values[values < 0][: len(repair.eigenvalues)], atol=1e-12)
    shape = (0, 0) if rule == "shift" else (90, len(repair.eigenvalues))
    assert (repair.vectors.rows, repair.vectors.columns) == shape


def test_the_check_says_how_large_the_violation_is(client, sigmoid):
    gram, _, labels = sigmoid
    dataset = upload(client, labels, gram=gram)
    with pytest.raises(errors.JobFailedError, match="block 'gram' is not positive semidefinite") as failed:
        client.train(dataset, "svm", square_repair="check").wait()
    assert failed.value.reason == "NOT_PSD"
    assert float(failed.value.metadata["smallest_eigenvalue"]) == pytest.approx(np.linalg.eigvalsh(gram)[0], rel=1e-5)
    assert "see the argument square_repair" in str(failed.value)


def test_kernels_that_are_ones_are_left_alone(client, sigmoid):
    gram, _, labels = sigmoid
    dataset = upload(client, labels, gram=gram @ gram)
    plain = client.train(dataset, "svm", blocks=["gram"]).wait().export()
    for rule in ["check", *RULES]:
        assert client.train(dataset, "svm", blocks=["gram"], square_repair=rule).wait().export() == plain


def test_a_repair_is_read():
    """From a file that was not written by this program; ``tests/core/training/model_test.cc`` says what it holds."""
    saved = pathlib.Path(__file__).resolve().parents[3] / "tests/core/training/saved_models.json"
    content = bytes.fromhex(json.loads(saved.read_text(encoding="utf-8"))["repairs"])
    local = mercer.load_model(content)
    rows = np.array([[1.0, 7.0, 2.0], [2.0, 0.0, -4.0]])
    np.testing.assert_allclose(local.predict(None, {"gram": rows}), [-2, 1.75])


def test_matrices_of_single_precision(client, sigmoid):
    gram, _, labels = sigmoid
    gram = (gram @ gram).astype(np.float32)
    same = [gram, gram.astype(np.float64), np.asfortranarray(gram), gram.astype(">f4")]
    assert len({upload(client, labels, gram=matrix).message.digest for matrix in same}) == 1
