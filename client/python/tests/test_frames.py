"""Estimators take data frames with categories, and matrices of kernel values."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC, SVR
from sklearn.utils import check_array, estimator_checks, get_tags

from mercer._square_kernels import stacked
from mercer.estimators import (
    KernelRidge,
    KernelSVC,
    KernelSVR,
    LpMKLClassifier,
    MixedNormMKLClassifier,
    MixedNormMKLRegressor,
)


@pytest.fixture(autouse=True)
def default_server(client, monkeypatch):
    """Estimators without a server use that of the run."""
    monkeypatch.setenv("MERCER_SERVER", client.address)


@pytest.fixture
def towns():
    """Rows of every kind of column that frames have, and classes that follow from the categories alone."""
    random = np.random.default_rng(11)
    town = random.choice(["Riga", "Tartu", "Vilnius"], size=120)
    grade = random.integers(1, 4, size=120)
    frame = pd.DataFrame(
        {
            "age": random.normal(40, 10, size=120),
            "town": town,
            "grade": pd.Categorical(grade),
            "count": pd.array(random.integers(0, 9, size=120), dtype="Int64"),
            "mixed": pd.Series(list(random.integers(0, 2, size=120)), dtype=object),
        }
    )
    return frame, np.where((town == "Riga") ^ (grade == 2), "yes", "no")


def one_hot(frame):
    """What the server makes of such a frame, by pandas."""
    return pd.get_dummies(frame, columns=["town", "grade"]).astype(float)


def test_categories_are_one_hot(towns):
    frame, labels = towns
    # Two features that stand for the same category are in the frame's order in neither; distances do not depend on it.
    ours = KernelSVC(kernels="gaussian bandwidth=1", scaling="none", tol=1e-7).fit(frame, labels)
    theirs = SVC(C=1.0, gamma=0.5, tol=1e-7).fit(one_hot(frame), labels)
    np.testing.assert_allclose(ours.decision_function(frame), theirs.decision_function(one_hot(frame)), atol=1e-3)
    assert ours.model_.categories == {"town": ("Riga", "Tartu", "Vilnius"), "grade": ("1", "2", "3")}
    assert list(ours.feature_names_in_) == list(frame.columns)
    assert ours.n_features_in_ == 5
    assert get_tags(ours).input_tags.categorical


def test_the_server_predicts_the_same(client, towns):
    frame, labels = towns
    fitted = LpMKLClassifier().fit(frame, labels)
    mixed = frame.sample(frac=1.0, random_state=0)
    np.testing.assert_allclose(
        client.model(fitted.model_name_).decision_function(mixed), fitted.model_.decision_values(mixed)[:, 0], rtol=1e-9
    )


def test_pickles_of_categories_need_no_server(towns, server, tmp_path):
    frame, labels = towns
    fitted = KernelSVC(server=server.address).fit(frame, labels)
    pickle.dump((fitted, frame), open(tmp_path / "fitted.pickle", "wb"))
    server.stop()
    script = "import pickle; m, X = pickle.load(open('fitted.pickle', 'rb')); print(*m.predict(X))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == list(fitted.predict(frame))


def test_unseen_categories(towns):
    frame, labels = towns[0].drop(columns="age"), towns[1]
    new = frame.assign(town="Oslo")
    refuses = KernelSVC().fit(frame, labels)
    with pytest.raises(ValueError, match="row 0, column 'town': training did not know the category 'Oslo'"):
        refuses.predict(new)
    takes = clone(refuses).set_params(unseen_category="all_zeros", scaling="none", kernels="linear").fit(frame, labels)
    zeros = one_hot(pd.concat([frame, new])).drop(columns=["town_Oslo"]).iloc[len(frame) :]
    theirs = SVC(kernel="linear", tol=1e-7).fit(one_hot(frame), labels)
    assert np.mean(takes.predict(new) == theirs.predict(zeros)) > 0.95


def test_numbers_that_were_read_as_texts_are_told(towns):
    frame, labels = towns
    commas = frame.assign(age=[f"{age:.1f}".replace(".", ",") for age in frame["age"]])
    with pytest.warns(UserWarning, match="KernelSVC: Column 'age' holds numbers with a comma, which are read as texts"):
        KernelSVC().fit(commas, labels)


def test_missing_cells(towns):
    frame, labels = towns
    holes = frame.copy()
    holes.loc[::7, "town"] = None
    holes.loc[::9, "grade"] = np.nan
    holes.loc[::11, "age"] = np.nan
    holes.loc[::13, "count"] = pd.NA
    with pytest.raises(ValueError, match="missing"):
        KernelSVC().fit(holes, labels)
    with pytest.raises(ValueError, match="missing"):
        KernelSVC().fit(frame, labels).predict(holes)
    fitted = KernelSVC(imputation="mean_or_most_frequent").fit(holes, labels)
    filled = holes.fillna({"town": holes["town"].mode()[0], "grade": holes["grade"].mode()[0]})
    np.testing.assert_array_equal(fitted.predict(filled), fitted.predict(holes))


def test_frames_must_fit_the_training(towns):
    frame, labels = towns
    fitted = KernelSVC().fit(frame, labels)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="DataFrame with categories"):
        fitted.predict(one_hot(frame).to_numpy()[:, :5])
    with pytest.raises(ValueError, match="column 'age' must be numbers"):
        fitted.predict(frame.assign(age="old"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.fit(frame, labels[:-1])
    with pytest.raises(ValueError, match="1 sample"):
        fitted.fit(frame[:1], labels[:1])


def test_empty_texts_are_missing_as_in_a_file(client, towns):
    frame, labels = towns
    holes = frame.assign(town=frame["town"].where(frame.index % 7 > 0, ""))
    with pytest.raises(ValueError, match="missing"):
        KernelSVC().fit(holes, labels)
    fitted = KernelSVC(imputation="mean_or_most_frequent").fit(holes, labels)
    assert fitted.model_.categories["town"] == ("Riga", "Tartu", "Vilnius")
    there = client.model(fitted.model_name_).decision_function(holes)
    np.testing.assert_allclose(there, fitted.model_.decision_values(holes)[:, 0], rtol=1e-9)


def test_texts_in_matrices_are_refused_with_advice(towns):
    frame, labels = towns
    with pytest.raises(ValueError, match="columns of texts need a DataFrame"):
        KernelSVC().fit(frame.to_numpy(dtype=object), labels)


def test_errors_of_scikit_learn_end_with_what_helps(towns):
    frame, labels = towns
    numbers = frame[["age"]].to_numpy(dtype=float, copy=True)
    prices = [f"{1000 + row:,}" for row in range(len(frame))]
    for features in (frame, numbers):
        with pytest.raises(ValueError, match="the target must be numbers, without commas and units"):
            KernelSVR().fit(features, prices)
    numbers[3, 0] = np.nan
    with pytest.raises(ValueError, match="imputation='mean_or_most_frequent'"):
        KernelSVC().fit(numbers, labels)


def test_dates_are_refused(towns):
    frame, labels = towns
    with pytest.raises(ValueError, match="column 'when' is of type datetime64.*neither numbers nor categories"):
        KernelSVC().fit(frame.assign(when=pd.date_range("2026-01-01", periods=120)), labels)


def test_names_that_are_no_texts(towns):
    frame, labels = towns
    numbered = frame.set_axis(range(5), axis=1)
    fitted = KernelSVC().fit(numbered, labels)
    np.testing.assert_array_equal(fitted.predict(numbered), KernelSVC().fit(frame, labels).predict(frame))
    assert not hasattr(fitted, "feature_names_in_")


def test_weights_and_cross_validation_of_frames(towns):
    frame, labels = towns
    heavy = np.where(labels == "yes", 1e4, 1.0)
    assert set(KernelSVC(kernels="linear", C=0.01).fit(frame, labels, heavy).predict(frame)) == {"yes"}
    assert cross_val_score(KernelSVC(kernels="polynomial degree=2"), frame, labels, cv=3).min() > 0.8
    target = (frame["town"] == "Riga") * 2.0
    assert cross_val_score(KernelSVR(kernels="linear"), frame, target, cv=3).min() > 0.8


# ------------------------------------------------------------------------------------------------------- precomputed


def test_precomputed_is_the_kernel(rings):
    features, labels = rings
    gram = rbf_kernel(features, gamma=0.5)
    new = rbf_kernel(features[:50] + 0.1, features, gamma=0.5)
    ours = KernelSVC(C=3.0, kernels="precomputed", tol=1e-7).fit(gram, labels)
    theirs = SVC(C=3.0, kernel="precomputed", tol=1e-7).fit(gram, labels)
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=1e-3)
    assert ours.n_features_in_ == 240
    copy = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(copy.decision_function(new), ours.decision_function(new))


def test_searches_slice_rows_and_columns(rings):
    features, labels = rings
    gram = rbf_kernel(features, gamma=0.5)
    grid = {"C": [0.1, 1.0, 10.0]}
    precomputed = GridSearchCV(KernelSVC(kernels="precomputed", tol=1e-6), grid, cv=4).fit(gram, labels)
    plain = KernelSVC(kernels="gaussian bandwidth=1", scaling="none", tol=1e-6)
    direct = GridSearchCV(plain, grid, cv=4).fit(features, labels)
    np.testing.assert_allclose(
        precomputed.cv_results_["mean_test_score"], direct.cv_results_["mean_test_score"], atol=0.01
    )
    assert precomputed.best_params_ == direct.best_params_


@pytest.mark.parametrize("kind", [KernelSVC, KernelRidge])
def test_checks_of_pairwise_estimators(kind):
    no_kernel = "the matrix of the check has negative eigenvalues, which no kernel has"
    expected = {
        "check_positive_only_tag_during_fit": no_kernel,
        "check_estimators_dtypes": no_kernel,
    }
    found = estimator_checks.check_estimator(
        kind(kernels="precomputed"), expected_failed_checks=expected, on_skip=None, on_fail=None
    )
    assert {c["check_name"]: c["exception"] for c in found if c["status"] == "failed"} == {}
    assert {c["check_name"] for c in found if c["status"] == "xfail"} == set(expected)
    assert sum(c["status"] == "passed" for c in found) > 40


def test_the_server_predicts_from_kernel_values_alone(client, rings):
    features, labels = rings
    gram = features @ features.T
    fitted = KernelSVC(kernels="precomputed").fit(gram, labels)
    (name,) = fitted.model_.squares
    values = client.model(fitted.model_name_).decision_function(None, squares={name: gram})
    np.testing.assert_allclose(values, fitted.model_.decision_values(None, {name: gram})[:, 0], rtol=1e-9, atol=1e-12)


def test_what_is_no_kernel_is_refused(rings):
    features, labels = rings
    with pytest.raises(ValueError, match="square matrix"):
        KernelSVC(kernels="precomputed").fit(features, labels)
    fitted = KernelSVC(kernels="precomputed").fit(features @ features.T, labels)
    with pytest.raises(ValueError, match="240 features"):
        fitted.predict(features)
    with pytest.raises(ValueError, match="not symmetric"):
        KernelSVC(kernels="precomputed").fit(np.triu(np.ones((240, 240))), labels)


@pytest.mark.parametrize("text", ["precomputed", ["precomputed name=narrow", "precomputed name=wide"]])
def test_several_matrices(rings, text):
    features, labels = rings
    grams = [rbf_kernel(features, gamma=gamma) for gamma in (0.1, 0.5)]
    news = [rbf_kernel(features[:50] + 0.1, features, gamma=gamma) for gamma in (0.1, 0.5)]
    ours = KernelSVC(C=3.0, kernels=text, tol=1e-7).fit(grams, labels)
    theirs = SVC(C=3.0, kernel="precomputed", tol=1e-7).fit(grams[0] + grams[1], labels)
    np.testing.assert_allclose(ours.decision_function(news), theirs.decision_function(news[0] + news[1]), atol=1e-3)
    stack = np.stack(grams, axis=-1)
    scores = cross_val_score(KernelSVC(C=3.0, kernels=text, tol=1e-6), stack, labels, cv=4)
    expected = cross_val_score(SVC(C=3.0, kernel="precomputed"), grams[0] + grams[1], labels, cv=4)
    np.testing.assert_allclose(scores, expected, atol=0.02)
    with pytest.raises(ValueError, match="1 matrices, fit saw 2"):
        ours.predict(news[0])
    with pytest.raises(ValueError, match="along the last axis"):
        KernelSVC(kernels=text).fit(np.stack(grams), labels)


def test_distances_as_they_come(rings):
    features, labels = rings
    far = np.sqrt(((features[:, None, :] - features[None, :, :]) ** 2).sum(axis=2))
    ours = KernelSVC(kernels="distance bandwidth=1.5", tol=1e-7).fit(far, labels)
    theirs = KernelSVC(kernels="euclidean bandwidth=1.5", scaling="none", tol=1e-7).fit(features, labels)
    np.testing.assert_allclose(ours.decision_function(far[:20]), theirs.decision_function(features[:20]), atol=1e-5)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (["precomputed", "precomputed", "precomputed"], "3 texts for 2 matrices"),
        ("precomputed block=gram", "in their order"),
    ],
)
def test_matrices_that_fit_no_text(rings, text, why):
    features, labels = rings
    gram = features @ features.T
    with pytest.raises(ValueError, match=why):
        KernelSVC(kernels=text).fit([gram, gram], labels)


def test_zero_matrices_are_refused(rings):
    features, labels = rings
    with pytest.raises(ValueError, match=r"must be a square matrix.*has \(240, 240, 0\)"):
        KernelSVC(kernels="precomputed").fit(np.empty((240, 240, 0)), labels)
    with pytest.raises(ValueError, match="Expected 2D array"):
        KernelSVC(kernels="precomputed").fit([], labels)


@pytest.mark.parametrize("kernels", [np.array(["linear", "gaussian"]), np.array(["precomputed"]), 5, [5], [], ()])
def test_tags_take_what_may_be_no_kernels(kernels):
    assert not get_tags(KernelSVC(kernels=kernels)).input_tags.pairwise


def test_texts_of_kernels_may_be_an_array(rings):
    features, labels = rings
    texts = ["linear", "gaussian bandwidth=1"]
    of_array = KernelSVC(kernels=np.array(texts)).fit(features, labels)
    expected = KernelSVC(kernels=texts).fit(features, labels).decision_function(features)
    np.testing.assert_array_equal(of_array.decision_function(features), expected)


def test_matrices_of_a_list_stay_in_one_piece(rings):
    features, _ = rings
    grams = [rbf_kernel(features, gamma=gamma) for gamma in (0.1, 0.5, 1.0)]
    stack = stacked(grams)
    checked = check_array(stack, dtype=np.float64, allow_nd=True)  # as fit and predict do
    assert np.shares_memory(checked, stack)
    for k, gram in enumerate(grams):
        assert checked[..., k].flags.c_contiguous
        np.testing.assert_array_equal(checked[..., k], gram)


@pytest.fixture
def two_sources(rings):
    """Kernel values and distances of the same rows, of new ones with them, and the sum of the kernels of both."""
    features, labels = rings
    new = features[:60] + 0.1

    def of(rows):
        matrices = [rbf_kernel(rows, features, gamma=0.1), euclidean_distances(rows[:, :2], features[:, :2])]
        return matrices, [matrices[0], np.exp(-matrices[1] / 1.5)]

    matrices, values = of(features)
    return matrices, values, *of(new), labels


BOTH = ["precomputed name=shape group=images", "distance bandwidth=1.5 name=far group=places"]


def test_kernel_values_and_distances_together(two_sources):
    matrices, values, new, new_values, labels = two_sources
    ours = KernelSVC(C=3.0, kernels=BOTH, tol=1e-7).fit(matrices, labels)
    theirs = SVC(C=3.0, kernel="precomputed", tol=1e-7).fit(sum(values), labels)
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(sum(new_values)), atol=1e-3)
    assert list(ours.kernel_names_) == ["shape", "far"]
    np.testing.assert_array_equal(ours.predict(np.stack(new, axis=-1)), ours.predict(new))
    with pytest.raises(ValueError, match="distance"):  # the texts are those of the matrices in their order
        clone(ours).set_params(kernels=["distance median", "precomputed"]).fit([matrices[1] - 1, matrices[0]], labels)


def test_regression_on_several_matrices(rings, two_sources):
    matrices, values, new, new_values, _ = two_sources
    target = 5 * np.sin(rings[0].sum(axis=1))
    ours = KernelSVR(C=3.0, epsilon=0.1, kernels=BOTH, target_scaling="none", tol=1e-7).fit(matrices, target)
    theirs = SVR(C=3.0, epsilon=0.1, kernel="precomputed", tol=1e-7).fit(sum(values), target)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(sum(new_values)), atol=1e-3)
    scores = cross_val_score(clone(ours), np.stack(matrices, axis=-1), target, cv=4)
    np.testing.assert_allclose(scores, cross_val_score(theirs, sum(values), target, cv=4), atol=1e-2)


def test_pickles_and_clones_of_several_matrices(two_sources):
    matrices, _, new, _, labels = two_sources
    fitted = KernelSVC(kernels=BOTH).fit(matrices, labels)
    expected = fitted.decision_function(new)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.decision_function(new), expected)
    again = clone(copy)
    assert not again.__sklearn_is_fitted__()
    assert get_tags(again).input_tags.pairwise
    np.testing.assert_array_equal(again.fit(matrices, labels).decision_function(new), expected)


def test_groups_of_matrices(two_sources):
    """A learner of groups sees them; its function is that of an SVM on the kernels with the weights that it learnt."""
    matrices, values, new, new_values, labels = two_sources
    texts = [*BOTH, "precomputed group=images"]
    matrices, values = [*matrices, matrices[0] ** 5], [*values, values[0] ** 5]
    new, new_values = [*new, new[0] ** 5], [*new_values, new_values[0] ** 5]
    ours = MixedNormMKLClassifier(C=3.0, kernels=texts, tol=1e-6).fit(matrices, labels)
    assert ours.model_.kernel_groups == ("images", "places", "images")
    weighted = sum(weight * kernel for weight, kernel in zip(ours.kernel_weights_, values))
    theirs = SVC(C=3.0, kernel="precomputed", tol=1e-8).fit(weighted, labels)
    new_weighted = sum(weight * kernel for weight, kernel in zip(ours.kernel_weights_, new_values))
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new_weighted), atol=1e-2)


def test_one_matrix_is_support_vector_regression(rings):
    features, _ = rings
    target = 5 * np.sin(features.sum(axis=1))
    gram, new = rbf_kernel(features, gamma=0.1), rbf_kernel(features[:60] + 0.1, features, gamma=0.1)
    settings = {"kernels": "precomputed", "target_scaling": "none"}
    ours = MixedNormMKLRegressor(C=3.0, epsilon=0.2, tol=1e-7, **settings).fit([gram], target)
    theirs = SVR(C=3.0, epsilon=0.2, kernel="precomputed", tol=1e-7).fit(gram, target)
    np.testing.assert_allclose(ours.predict([new]), theirs.predict(new), atol=1e-3)
    ridge = MixedNormMKLRegressor(C=3.0, loss="square", tol=1e-9, **settings).fit([gram], target)
    # (K + I / (2 C)) a + b 1 = y, 1'a = 0.
    ones = np.ones((len(target), 1))
    system = np.block([[gram + np.eye(len(target)) / 6, ones], [ones.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(target, 0))
    np.testing.assert_allclose(ridge.predict([new]), new @ solution[:-1] + solution[-1], atol=1e-3)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "square"])
def test_numbers_from_groups_of_matrices(rings, two_sources, loss):
    """The function is the machine of the kernels with the learnt weights; cross-validation cuts the matrices."""
    matrices, values, new, new_values, _ = two_sources
    target = 5 * np.sin(rings[0].sum(axis=1))
    texts = [*BOTH, "precomputed group=images"]
    matrices, values = [*matrices, matrices[0] ** 5], [*values, values[0] ** 5]
    new, new_values = [*new, new[0] ** 5], [*new_values, new_values[0] ** 5]
    ours = MixedNormMKLRegressor(C=3.0, loss=loss, kernels=texts, target_scaling="none", tol=1e-6)
    ours.fit(matrices, target)
    assert ours.model_.kernel_groups == ("images", "places", "images")
    weighted = sum(weight * kernel for weight, kernel in zip(ours.kernel_weights_, values))
    new_weighted = sum(weight * kernel for weight, kernel in zip(ours.kernel_weights_, new_values))
    same = clone(ours).set_params(kernels="precomputed", regularization="sum").fit([weighted], target)
    np.testing.assert_allclose(ours.predict(new), same.predict([new_weighted]), atol=1e-2)
    if loss == "epsilon_insensitive":
        theirs = SVR(C=3.0, epsilon=0.1, kernel="precomputed", tol=1e-8).fit(weighted, target)
        np.testing.assert_allclose(ours.predict(new), theirs.predict(new_weighted), atol=1e-2)
    np.testing.assert_array_equal(ours.predict(np.stack(new, axis=-1)), ours.predict(new))
    scores = cross_val_score(clone(ours), np.stack(matrices, axis=-1), target, cv=4)
    assert min(scores) > 0.8
    with pytest.raises(ValueError, match="X has 2 matrices, fit saw 3"):
        ours.predict(new[:2])


def test_matrices_of_weight_zero_do_not_matter(client, two_sources):
    """But they have their place in `X` and in the rows that the server predicts."""
    matrices, _, new, _, labels = two_sources
    useless = np.eye(len(labels)) * 1e-3
    learner = MixedNormMKLClassifier(kernels=["precomputed", *BOTH], regularization="l1")
    fitted = learner.fit([useless, *matrices], labels)
    assert fitted.kernel_weights_[0] == 0
    assert fitted.model_.squares == ("kernel0", "kernel1", "kernel2")
    values = fitted.decision_function([np.full_like(new[0], np.pi), *new])
    np.testing.assert_array_equal(values, fitted.decision_function([np.zeros_like(new[0]), *new]))
    named = {"kernel0": np.zeros_like(new[0]), "kernel1": new[0], "kernel2": new[1]}
    there = client.model(fitted.model_name_).decision_function(None, squares=named)
    np.testing.assert_allclose(values, there, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="X has 2 matrices, fit saw 3"):
        fitted.predict(new)


def test_predictions_ask_for_matrices_and_rows_in_use_alone(client, two_sources):
    matrices, _, new, _, labels = two_sources
    learner = MixedNormMKLClassifier(kernels=["precomputed", *BOTH], regularization="l1")
    fitted = learner.fit([np.eye(len(labels)) * 1e-3, *matrices], labels)
    rows = fitted.model_.square_rows
    assert list(rows) == ["kernel1", "kernel2"]
    expected = fitted.decision_function([np.zeros_like(new[0]), *new])
    np.testing.assert_array_equal(fitted.decision_function([None, *new]), expected)
    few = [matrix[:, rows["kernel1"]] for matrix in new]
    assert few[0].shape[1] < new[0].shape[1]
    np.testing.assert_array_equal(fitted.decision_function([None, *few]), expected)
    there = client.model(fitted.model_name_).decision_function(None, squares={"kernel1": new[0], "kernel2": new[1]})
    np.testing.assert_allclose(there, expected, rtol=1e-9, atol=1e-12)
    named = {name: (matrix, rows[name]) for name, matrix in zip(rows, few)}
    there = client.model(fitted.model_name_).decision_function(None, squares=named)
    np.testing.assert_allclose(there, expected, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="the model reads the matrices kernel1 of X: not None"):
        fitted.predict([None, None, new[1]])
    with pytest.raises(ValueError, match="matrix 'kernel1' must have the shape"):
        fitted.model_.predict(None, {"kernel1": new[0][:, :-1], "kernel2": new[1]})


def test_prediction_reads_what_fit_read(rings, two_sources):
    """Whatever `kernels` has become since."""
    features, _ = rings
    matrices, _, new, _, labels = two_sources
    of_matrices = KernelSVC(kernels=BOTH).fit(matrices, labels)
    of_features = KernelSVC(kernels="gaussian").fit(features, labels)
    expected, plain = of_matrices.decision_function(new), of_features.decision_function(features)
    of_matrices.set_params(kernels="gaussian")
    of_features.set_params(kernels="precomputed")
    np.testing.assert_array_equal(of_matrices.decision_function(new), expected)
    np.testing.assert_array_equal(of_features.decision_function(features), plain)
    np.testing.assert_array_equal(of_matrices.fit(features, labels).decision_function(features), plain)
    one = of_features.fit(matrices[0], labels)
    expected = one.decision_function(new[0])
    del one._squares  # as in pickles of the version that knew one matrix
    np.testing.assert_array_equal(one.decision_function(new[0]), expected)
    del of_matrices._squares
    np.testing.assert_array_equal(of_matrices.decision_function(features), plain)
