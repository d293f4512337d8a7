"""Problems of several tasks: related ones, with rows of their own, that one model learns together."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso

import mercer
from mercer import _rows
from mercer.estimators import InfiniteFeaturesClassifier, InfiniteFeaturesRegressor

LINEAR = {"family": "columns", "lambda_unit": "absolute", "normalization": "none", "violation": 0.0}
PENALTY = 25.0
NAMES = ["ann", "bob", "eve"]


@pytest.fixture(scope="module")
def people():
    """Features and numbers of three people's rows, and whose they are."""
    random = np.random.default_rng(5)
    subjects = random.permutation(np.repeat(NAMES, [60, 90, 45]))
    features = random.normal(size=(len(subjects), 4))
    own = np.array([NAMES.index(subject) for subject in subjects])
    target = 2 * features[:, 0] - features[np.arange(len(own)), 1 + own] + own + 0.1 * random.normal(size=len(own))
    return features, target, subjects


@pytest.fixture(scope="module")
def table(people):
    """The same as a DataFrame."""
    features, target, subjects = people
    return pd.DataFrame(features, columns=list("abcd")).assign(subject=subjects, y=target)


@pytest.fixture(scope="module")
def model(client, table):
    dataset = client.upload(table, "y", roles={"subject": "task"})
    options = {"lambda": 0.05, "lambda_shared": 0.05, "max_groups": 10}
    return client.train(dataset, "infinite_features", options, regression=True).wait()


def regressor(**options):
    return InfiniteFeaturesRegressor(**{**LINEAR, "scaling": "none", "target_scaling": "none", "tol": 1e-9, **options})


def test_parts_of_their_own_are_separate_lassos(people):
    features, target, subjects = people
    ours = regressor(lambda_=PENALTY, penalty_q=1).fit(features, target, tasks=subjects)
    assert ours.model_.tasks == ("ann", "bob", "eve")
    for name in NAMES:
        rows = subjects == name
        theirs = Lasso(alpha=PENALTY / (2 * rows.sum()), tol=1e-12, max_iter=100_000).fit(features[rows], target[rows])
        found = ours.predict(features[rows], tasks=subjects[rows])
        np.testing.assert_allclose(found, theirs.predict(features[rows]), atol=1e-5)
    assert ours.score(features, target, tasks=subjects) > 0.8


@pytest.mark.parametrize(
    "options", [{}, {"normalization": "column"}, {"normalization": "column", "normalization_scope": "pooled"}]
)
def test_a_shared_part_alone_is_one_lasso_with_an_intercept_for_each(people, options):
    features, target, subjects = people
    penalty = PENALTY if options == {} else 5.0
    ours = regressor(lambda_=float("inf"), lambda_shared=penalty, **options).fit(features, target, tasks=subjects)
    norms = {name: np.linalg.norm(features[subjects == name], axis=0) for name in NAMES}
    scales = np.array([norms[name] for name in subjects])
    if "normalization_scope" in options:
        scales[:] = np.sqrt(np.mean(np.square(list(norms.values())), axis=0))
    scaled = features / scales if options else features
    means = {name: (scaled[subjects == name].mean(axis=0), target[subjects == name].mean()) for name in NAMES}
    centred = scaled - np.array([means[name][0] for name in subjects])
    levels = np.array([means[name][1] for name in subjects])
    theirs = Lasso(alpha=penalty / (2 * len(target)), fit_intercept=False, tol=1e-12, max_iter=100_000)
    theirs.fit(centred, target - levels)
    np.testing.assert_allclose(ours.predict(features, tasks=subjects), theirs.predict(centred) + levels, atol=1e-5)


def test_classes_may_mean_the_opposite_in_another_task():
    random = np.random.default_rng(1)
    features = random.normal(size=(200, 3))
    tasks = np.arange(200) % 2 + 9
    labels = np.where((features[:, 0] > 0) == (tasks == 9), "up", "down")
    classifier = InfiniteFeaturesClassifier(family="columns", lambda_=0.01).fit(features, labels, tasks=tasks)
    assert classifier.model_.tasks == ("10", "9")  # names, which are sorted as texts
    assert classifier.score(features, labels, tasks=tasks) > 0.95
    assert classifier.score(features, labels, tasks=19 - tasks) < 0.05
    values = classifier.decision_function(features, tasks=tasks)
    assert values.shape == (200,)
    np.testing.assert_array_equal(classifier.predict(features, tasks=tasks), classifier.classes_[(values > 0) * 1])
    with pytest.raises(ValueError, match="several tasks"):
        classifier.predict(features)


def test_a_column_says_the_tasks(model, people, table):
    features, target, subjects = people
    assert model.tasks == ("ann", "bob", "eve")
    assert model.get().tasks.column == "subject"
    prediction = model.predict_all(features, tasks=subjects)
    assert prediction.decision_values.shape == (len(target), 1)
    assert np.sqrt(np.mean((prediction.decision_values[:, 0] - target) ** 2)) < 0.6
    by_frame = model.predict(table.drop(columns="y"))
    np.testing.assert_array_equal(by_frame, prediction.decision_values[:, 0])
    for name in NAMES:
        rows = subjects == name
        np.testing.assert_array_equal(model.predict(features[rows], task=name), by_frame[rows])


def test_the_task_column_of_a_frame_may_hold_numbers(client, table):
    numbered = table.assign(subject=table["subject"].map({"ann": 10, "bob": 9, "eve": 11}))
    dataset = client.upload(numbered, "y", roles={"subject": "task"})
    trained = client.train(dataset, "infinite_features", {"lambda": 0.05}, regression=True).wait()
    assert trained.tasks == ("9", "10", "11")  # numbers by value
    by_frame = trained.predict(numbered.drop(columns="y"))
    named = trained.predict(numbered[list("abcd")], tasks=numbered["subject"].astype(str))
    np.testing.assert_array_equal(by_frame, named)


def test_other_tasks_may_have_the_mean_of_all(model, people):
    features, _, subjects = people
    mean = np.mean([model.decision_function(features, task=name) for name in NAMES], axis=0)
    renamed = np.where(subjects == "bob", "joe", subjects)
    expected = np.where(subjects == "bob", mean, model.decision_function(features, tasks=subjects))
    local = mercer.load_model(model.export())
    machine = InfiniteFeaturesRegressor(lambda_=0.05).fit(features, people[1], tasks=subjects)
    nobody = np.where(subjects == "bob", "", subjects)
    for options, values in [
        ({"task_rule": "mean"}, mean),
        ({"task": "joe", "task_rule": "mean_if_unknown"}, mean),
        ({"tasks": renamed, "task_rule": "mean_if_unknown"}, expected),
        ({"tasks": nobody, "task_rule": "mean_if_unknown"}, expected),
        ({"tasks": list(nobody), "task_rule": "mean"}, mean),
    ]:
        by_mean = model.predict_all(features, **options).rows_by_mean
        assert by_mean == (
            len(features) if options["task_rule"] == "mean" or "task" in options else sum(renamed == "joe")
        )
        np.testing.assert_allclose(model.predict(features, **options), values, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(local.predict(features, **options), values, rtol=1e-10, atol=1e-10)
    each = np.mean([machine.predict(features, tasks=[name] * len(features)) for name in NAMES], axis=0)
    np.testing.assert_allclose(machine.predict(features, task_rule="mean"), each, rtol=1e-10, atol=1e-10)
    for options, error in [
        ({"task_rule": "average"}, "task_rule must be one of own, mean_if_unknown, mean"),
        ({"task_rule": "mean", "task": "ann"}, "must be empty"),
    ]:
        with pytest.raises(ValueError, match=error):
            local.predict(features, **options)
        with pytest.raises(ValueError, match=error):
            model.predict(features, **options)


@pytest.mark.parametrize("rule", ["own", "mean_if_unknown", "mean"])
def test_tasks_of_other_rows_are_refused_by_both(model, people, table, rule):
    features, _, subjects = people
    local = mercer.load_model(model.export())
    for rows, tasks, error in [
        (features, subjects[1:], "one for each"),
        (table.drop(columns="y"), subjects, "already"),
    ]:
        for machine in (model, local):
            with pytest.raises((ValueError, mercer.InvalidRequestError), match=error):
                machine.predict(rows, tasks=tasks, task_rule=rule)


def test_rows_of_a_frame_may_have_no_task(model, table):
    local = mercer.load_model(model.export())
    frame = table.drop(columns="y")
    frame.loc[frame["subject"] == "bob", "subject"] = None
    for rule in ("mean_if_unknown", "mean"):
        found = model.predict(frame, task_rule=rule)
        np.testing.assert_allclose(local.predict(frame, task_rule=rule), found, rtol=1e-10, atol=1e-10)
    for machine in (model, local):
        with pytest.raises((ValueError, mercer.InvalidRequestError), match="none|missing"):
            machine.predict(frame)
        with pytest.raises((ValueError, mercer.InvalidRequestError), match="several tasks"):
            machine.predict(frame.drop(columns="subject"), task_rule="mean_if_unknown")


def test_rows_that_nothing_has_predicted_are_not_counted(client, table):
    coloured = table.assign(color=np.where(table["a"] > 0, "red", "blue"))
    dataset = client.upload(coloured, "y", roles={"subject": "task"})
    trained = client.train(dataset, "infinite_features", {"lambda": 0.05}, regression=True).wait()
    rows = coloured.drop(columns="y").head(6)
    rows.loc[rows.index[[1, 4]], "color"] = "green"
    found = trained.predict_all(rows, task_rule="mean", unseen="nan")
    assert (sorted(found.row_errors), found.rows_by_mean) == ([1, 4], 4)


def test_without_a_server_the_same_is_said(model, people, table):
    features, _, subjects = people
    local = mercer.load_model(model.export())
    assert (local.task_column, local.tasks) == ("subject", ("ann", "bob", "eve"))
    expected = model.predict(features, tasks=subjects)
    for rows, options in [(features, {"tasks": subjects}), (features, {"tasks": list(subjects)}), (table, {})]:
        np.testing.assert_allclose(local.predict(rows, **options), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        local.decision_values(features, task="eve")[:, 0], model.decision_function(features, task="eve"), atol=1e-10
    )
    for options, error in [
        ({}, "several tasks.*ann, bob, eve"),
        ({"task": "joe"}, "no task 'joe'"),
        ({"tasks": ["ann", "joe"]}, "row 1: .* 'joe'"),
        ({"tasks": ["ann", None]}, "row 1 has none"),
        ({"tasks": ["ann"]}, "one for each of the 2 rows"),
        ({"task": "ann", "tasks": ["ann", "ann"]}, "exclude"),
    ]:
        with pytest.raises(ValueError, match=error):
            local.predict(features[:2], **options)


def test_tasks_go_along_with_the_rows_of_a_message(model, people, monkeypatch):
    features, _, subjects = people
    expected = model.predict(features, tasks=subjects)
    monkeypatch.setattr(_rows, "_NUMBERS_OF_A_MESSAGE", 7 * features.shape[1])
    assert [list(batch.tasks) for batch in _rows.batches(features, tasks=subjects)][1] == list(subjects[7:14])
    np.testing.assert_array_equal(model.predict(features, tasks=subjects), expected)


def test_data_sets_may_be_the_tasks(client, model, people, table):
    _, target, subjects = people
    parts = {name: table[table["subject"] == name].drop(columns="subject") for name in NAMES}
    datasets = [client.upload(part, "y", id=f"tasks-{name}") for name, part in parts.items()]
    options = {**LINEAR, "lambda": PENALTY, "penalty_q": 1}
    settings = {"regression": True, "scaling": "none", "relative_gap": 1e-9}
    several = client.train(datasets, "infinite_features", options, **settings).wait()
    assert several.tasks == tuple(f"tasks-{name}" for name in NAMES)
    one = client.train(client.upload(table, "y", roles={"subject": "task"}), "infinite_features", options, **settings)
    rows = table.drop(columns=["y", "subject"])
    np.testing.assert_allclose(
        several.predict(rows, tasks=[f"tasks-{name}" for name in subjects]),
        one.wait().predict(rows, tasks=subjects),
        atol=1e-6,
    )
    name = NAMES[1]
    metrics = several.evaluate(datasets[1], task=f"tasks-{name}")
    predicted = several.predict(parts[name].drop(columns="y"), task=f"tasks-{name}")
    assert metrics["rmse"] == pytest.approx(np.sqrt(np.mean((predicted - target[subjects == name]) ** 2)))


def test_stored_rows_say_their_tasks(client, model, people, table):
    features, target, subjects = people
    dataset = client.upload(table, "y", roles={"subject": "task"})
    predicted = model.predict(dataset)
    np.testing.assert_array_equal(predicted, model.predict(features, tasks=subjects))
    assert model.evaluate(dataset)["rmse"] == pytest.approx(np.sqrt(np.mean((predicted - target) ** 2)))
    with pytest.raises(ValueError, match="a stored data set has a column"):
        model.predict(dataset, tasks=subjects)


def test_one_task_can_be_asked_for(client, table):
    dataset = client.upload(table, "y", roles={"subject": "task"})
    model = client.train(dataset, "infinite_features", {"max_groups": 3}, regression=True, task="").wait()
    assert model.tasks == ()
    assert mercer.load_model(model.export()).tasks == ()
    with pytest.raises(mercer.InvalidRequestError):
        model.predict(table.drop(columns=["y", "subject"]), task="ann")


def test_learners_of_one_task_refuse_several(client, table):
    dataset = client.upload(table, "y", roles={"subject": "task"})
    with pytest.raises(mercer.InvalidRequestError, match="one task"):
        client.train(dataset, "svm", regression=True, task="subject")
    other = client.upload(table.iloc[:50], "y", roles={"subject": "ignored"})
    with pytest.raises(mercer.InvalidRequestError, match="one task"):
        client.train([dataset, other], "svm", regression=True)


def test_unknown_tasks_are_named(model, people):
    features, _, _ = people
    with pytest.raises(mercer.InvalidRequestError, match="ann, bob, eve"):
        model.predict(features, task="joe")
    with pytest.raises(mercer.InvalidRequestError) as caught:
        model.predict(features[:3], tasks=["ann", "joe", "eve"])
    assert (caught.value.reason, caught.value.metadata["row"]) == ("BAD_TASK", "2")
    with pytest.raises(mercer.InvalidRequestError) as caught:
        model.predict(features)
    assert caught.value.reason == "BAD_TASK"
    with pytest.raises(ValueError, match="row 2 has none"):
        model.predict(features[:3], tasks=["ann", "bob", ""])


def test_estimators_without_tasks_take_none(people):
    features, target, subjects = people
    ours = regressor(lambda_=PENALTY).fit(features, target)
    assert ours.model_.tasks == ()
    with pytest.raises(ValueError, match="single task"):
        ours.predict(features, tasks=subjects)
    with pytest.raises(ValueError, match="one for each"):
        regressor().fit(features, target, tasks=subjects[:-1])


@pytest.fixture(autouse=True)
def default_server(client, monkeypatch):
    """For estimators, which are given none."""
    monkeypatch.setenv("MERCER_SERVER", client.address)
