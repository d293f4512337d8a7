"""Learning gradients with weights of the columns: estimators, gradients at rows, projections."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from mercer._shared_server import find_client
from mercer.estimators import SVMRFE, CoordinateGradients, CoordinateGradientsRegressor


@pytest.fixture(scope="module")
def ring():
    """A disc in a ring, and twenty columns of small noise."""
    random = np.random.default_rng(3)
    inner = np.arange(60) % 2 == 0
    radius = np.where(inner, random.uniform(0, 0.8, 60), random.uniform(1.2, 2, 60))
    angle = random.uniform(0, 2 * np.pi, 60)
    noise = 0.1 * random.normal(size=(60, 20))
    features = np.column_stack([radius * np.cos(angle), noise[:, :7], radius * np.sin(angle), noise[:, 7:]])
    return features, np.where(inner, "inner", "outer")


def on_server(machine):
    return find_client(machine.server).model(machine.model_name_)


def test_the_two_columns_of_the_ring_are_selected(ring):
    features, labels = ring
    machine = CoordinateGradients(scaling="none").fit(features, labels)
    assert set(np.flatnonzero(machine.support_)) == {0, 8}
    assert sorted(machine.ranking_[[0, 8]]) == [1, 2]
    assert sorted(machine.ranking_) == list(range(1, 23))
    np.testing.assert_array_equal(machine.transform(features), features[:, [0, 8]])
    assert machine.score(features, labels) == 1.0
    assert machine.certificate_["accuracy"] <= 1e-3


def test_so_many_columns_are_selected_as_are_asked_for(ring):
    features, labels = ring
    machine = make_pipeline(CoordinateGradients(columns=5, scaling="none"), KNeighborsClassifier(3))
    assert machine.fit(features, labels)[1].n_features_in_ == 5
    with pytest.raises(ValueError, match="columns"):
        CoordinateGradients(columns=23).fit(features, labels)


def test_server_and_local_model_tell_the_same_gradients_and_projections(ring):
    features, labels = ring
    labels = np.where(features[:, 0] > 1, "right", labels)  # three classes, an output and a gradient for each
    settings = [{"coding": coding} for coding in ("one_vs_all", "one_vs_one")]
    settings += [{"own_gradient": True}, {"own_gradient": True, "kernels": "linear"}]
    for setting in settings:
        machine = CoordinateGradients(scaling="none", directions=3, **setting).fit(features, labels)
        told = on_server(machine).predict_all(features[:7], gradients=True, projections=True)
        own = machine.model_.gradients(features[:7])
        projections = machine.model_.projections(features[:7])
        assert set(own) == set(told.gradients) and len(own) == 3
        for output, (names, values) in told.gradients.items():
            assert own[output][0] == names
            np.testing.assert_allclose(own[output][1], values, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(projections[output], told.projections[output], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(machine.model_.decision_values(features[:7]), told.decision_values, atol=1e-10)


def test_a_function_with_its_own_gradient_has_that_of_its_values(ring):
    features, labels = ring
    machine = CoordinateGradients(scaling="none", own_gradient=True).fit(features, labels)
    assert sorted(machine.ranking_[[0, 8]]) == [1, 2]
    ((_, gradients),) = machine.model_.gradients(features[:5]).values()
    for column in range(3):
        up, down = features[:5].copy(), features[:5].copy()
        up[:, column] += 1e-5
        down[:, column] -= 1e-5
        slope = (machine.model_.decision_values(up) - machine.model_.decision_values(down))[:, 0] / 2e-5
        np.testing.assert_allclose(gradients[:, column], slope, atol=1e-7)
    with pytest.raises(ValueError, match="one Gaussian or one linear kernel"):
        CoordinateGradients(own_gradient=True, kernels="gaussian median=1,2").fit(features, labels)


def test_a_ranking_is_tested_on_rows_that_it_has_not_seen(ring):
    features, labels = ring
    client = find_client(CoordinateGradients(scaling="none").fit(features, labels).server)
    data = client.upload(pd.DataFrame(features).assign(label=labels), "label")
    for test, counts in ((True, ["1", "2", "4", "8", "16", "22"]), ([2, 1], ["1", "2"])):
        model = client.train(data, "coordinate_gradients", scaling="none", validation=4, ranking_test=test).wait()
        table = model.model_tables["ranking_test"]
        assert list(table.rows) == counts
        assert table.columns[:3] == ("accuracy", "accuracy deviation", "relative_gap")
        assert np.asarray(table.values)[:, 2].max() <= 1e-6
    with pytest.raises(ValueError, match="validation"):
        client.train(data, "coordinate_gradients", ranking_test=True)
    for wrong in (5, "2", []):
        with pytest.raises(ValueError, match="True or numbers of columns"):
            client.train(data, "svm_rfe", validation=4, ranking_test=wrong)
    with pytest.raises(ValueError, match="the data have 22 columns"):
        client.train(data, "svm_rfe", validation=4, ranking_test=[23])


def test_the_gradient_of_a_smooth_function_is_found():
    random = np.random.default_rng(5)
    features = random.uniform(-1, 1, size=(150, 8))
    target = np.sin(2 * features[:, 1]) - features[:, 5] ** 2
    machine = CoordinateGradientsRegressor(C=1000, scaling="none", target_scaling="none").fit(features, target)
    assert set(np.argsort(machine.ranking_)[:2]) == {1, 5}
    assert machine.score(features, target) > 0.9
    ((names, gradients),) = machine.model_.gradients(features).values()
    found = np.zeros_like(features)
    found[:, [int(name[1:]) for name in names]] = gradients
    true = np.zeros_like(features)
    true[:, 1], true[:, 5] = 2 * np.cos(2 * features[:, 1]), -2 * features[:, 5]
    cosines = (found * true).sum(axis=1) / (np.linalg.norm(found, axis=1) * np.linalg.norm(true, axis=1))
    assert np.median(cosines) > 0.9


def test_columns_of_gradients_are_the_prepared_ones():
    random = np.random.default_rng(4)
    colours = np.array(["red", "green", "blue"])[random.integers(0, 3, 90)]
    size = random.normal(size=90)
    rows = pd.DataFrame({"colour": colours, "size": size})
    price = size + (colours == "red") - 2 * (colours == "blue")
    # Among so many neighbours there are rows of all colours.
    machine = CoordinateGradientsRegressor(C=1000, column_weights="fixed", neighbors=60).fit(rows, price)
    told = on_server(machine).predict_all(rows[:5], gradients=True, projections=True)
    own = machine.model_.gradients(rows[:5])
    (output,) = told.outputs
    assert set(told.gradients) == set(told.projections) == set(own) == set(machine.model_.projections(rows)) == {output}
    assert sorted(told.gradients[output][0]) == ["colour=blue", "colour=green", "colour=red", "size"]
    assert own[output][0] == told.gradients[output][0]
    np.testing.assert_allclose(own[output][1], told.gradients[output][1], atol=1e-10)


def test_answers_that_are_too_large_come_in_more_pieces(ring):
    features, _ = ring
    machine = CoordinateGradients(column_weights="fixed", tol=0.1).fit(features, np.arange(60) % 10)
    rows = np.tile(features, (800, 1))  # messages of 8 MiB would have answers of ten times that
    told = on_server(machine).predict_all(rows, gradients=True)
    assert len(told.gradients) == 10
    for _, values in told.gradients.values():
        assert values.shape == (len(rows), 22)
        np.testing.assert_array_equal(values[:60], values[-60:])


def test_a_model_without_gradients_says_so(ring):
    features, labels = ring
    machine = SVMRFE().fit(features, labels)
    assert machine.model_.gradients(features) == {} == machine.model_.projections(features)
    with pytest.raises(ValueError, match="gradients.*no gradient"):
        on_server(machine).predict_all(features, gradients=True)
