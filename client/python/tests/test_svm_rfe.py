"""Recursive feature elimination, as an estimator, a selector and a step of a pipeline."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_selection import RFE
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer.estimators import SVMRFE


@pytest.fixture(scope="module")
def table():
    """Forty rows of 24 columns, of which few tell two classes apart."""
    random = np.random.default_rng(5)
    features = random.normal(size=(40, 24))
    score = features[:, 3] - 0.7 * features[:, 11] + 0.5 * features[:, 17] + 0.2 * random.normal(size=40)
    return features, np.where(score > 0, "yes", "no")


def test_the_ranking_is_that_of_scikit_learn_one_column_at_a_time(table):
    features, labels = table
    ours = SVMRFE(C=1.0, schedule="one", columns=1).fit(features, labels)
    scaled = StandardScaler().fit_transform(features)
    theirs = RFE(SVC(kernel="linear", C=1.0, tol=1e-8), n_features_to_select=1, step=1).fit(scaled, labels)
    np.testing.assert_array_equal(ours.ranking_, theirs.ranking_)
    assert sorted(ours.ranking_) == list(range(1, 25))


def test_half_of_the_columns_are_kept_by_default(table):
    features, labels = table
    machine = SVMRFE().fit(features, labels)
    assert machine.n_features_ == 12 == machine.support_.sum()
    np.testing.assert_array_equal(machine.support_, machine.ranking_ <= 12)
    np.testing.assert_array_equal(machine.transform(features), features[:, machine.support_])
    assert list(machine.get_feature_names_out()) == [f"x{i}" for i in np.flatnonzero(machine.support_)]
    assert machine.certificate_["accuracy"] <= 1e-3
    assert machine.score(features, labels) == 1.0


def test_the_machine_is_that_of_the_kept_columns(table):
    features, labels = table
    ours = SVMRFE(C=0.5, columns=3, tol=1e-9).fit(features, labels)
    assert set(np.flatnonzero(ours.support_)) == {3, 11, 17}
    scaled = StandardScaler().fit_transform(features)[:, ours.support_]
    theirs = SVC(kernel="linear", C=0.5, tol=1e-9).fit(scaled, labels)
    np.testing.assert_allclose(ours.decision_function(features), theirs.decision_function(scaled), atol=1e-5)


def test_a_pipeline_selects_and_trains_on(table):
    features, labels = table
    machine = make_pipeline(SVMRFE(columns=3), KNeighborsClassifier(3)).fit(features, labels)
    assert machine[1].n_features_in_ == 3
    assert machine.score(features, labels) > 0.8
    assert list(machine[:-1].get_feature_names_out()) == ["x3", "x11", "x17"]


def test_several_classes_are_ranked_together(table):
    features, _ = table
    labels = np.argmax(features[:, [2, 9, 20]], axis=1)
    for coding in ("one_vs_all", "one_vs_one"):
        machine = SVMRFE(columns=3, C=1.0, coding=coding).fit(features, labels)
        assert set(np.flatnonzero(machine.support_)) == {2, 9, 20}


def test_frames_with_categories_rank_what_the_user_gave(table):
    pandas = pytest.importorskip("pandas")
    features, labels = table
    frame = pandas.DataFrame(features[:, :4], columns=["a", "b", "c", "d"])
    frame["kind"] = np.where(labels == "yes", "left", "right")
    machine = SVMRFE(columns=1).fit(frame, labels)
    assert list(machine.get_feature_names_out()) == ["kind"]
    assert machine.ranking_[4] == 1


def test_more_columns_than_there_are_is_an_error_that_names_the_option(table):
    features, labels = table
    with pytest.raises(ValueError, match="columns"):
        clone(SVMRFE(columns=25)).fit(features, labels)
