"""Upload, train, watch, predict, and what goes wrong, against a real server."""

import datetime
import hashlib
import pickle
import threading
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import mercer
from mercer import _retry


def train(client, dataset, **settings):
    return client.train(dataset, "svm", {"C": 10.0}, **settings).wait()


def test_upload_train_watch_predict(client, rings):
    features, labels = rings
    dataset = client.upload(features, labels, id="rings", display_name="rings", labels={"of": "test"})
    assert (dataset.rows, dataset.num_columns) == (240, 3)
    assert dataset.labels["of"] == "test"
    job = client.train(
        dataset,
        "lp_mkl",
        {"p": 1.2, "C": 10, "inner_solver": "newton"},
        kernels=["linear", "gaussian median=0.5,1,2"],
        validation=0.25,
        seed=5,
        time_limit=60,
    )
    events = list(job.progress())
    assert [e.sequence for e in events] == list(range(1, len(events) + 1))
    assert events[-1].state == "succeeded"
    gaps = [e.relative_gap for e in events if e.kind == "progress"]
    assert gaps[-1] <= 1e-3
    assert abs((events[0].time - datetime.datetime.now(datetime.timezone.utc)).total_seconds()) < 600
    model = job.result()
    assert model.metrics()["held_out.accuracy"] >= 0.9
    assert len(model.kernel_weights()) == 4
    assert np.mean(model.predict(features) == labels) >= 0.9
    assert job.message.request.learner.lp_mkl.inner_solver == 2
    assert job.message.request.stopping.time_limit.seconds == 60


def test_server_info(client):
    info = client.server_info()
    assert info.learner_names == [learner.name for learner in client.learners()] and not info.tokens
    assert info.version and info.limits.memory_budget_bytes > 0 and info.started.seconds > 0


def test_the_cost_is_estimated_without_a_job(client, rings):
    dataset = client.upload(*rings)
    before = [job.name for job in client.jobs()]
    cost = client.estimate(dataset, "svm", {"C": 10.0}, kernels="gaussian median", validation=3)
    assert cost.fits and 0 < cost.memory_bytes < cost.memory_budget_bytes
    assert cost.time.seconds < 60
    assert [job.name for job in client.jobs()] == before
    with pytest.raises(mercer.InvalidRequestError, match="learner.svm.C"):
        client.estimate(dataset, "svm", {"C": -1.0})
    with pytest.raises(TypeError, match="kernel"):
        client.estimate(dataset, "svm", kernel="linear")


def test_path_keeps_the_best_value(client, rings):
    features, labels = rings
    dataset = client.upload(features, labels)
    values = [1e-4, 1.0, 10.0]
    job = client.train(dataset, "svm", path=("C", values), validation=3)
    model = job.wait()
    metrics = model.metrics()
    path = model.model_tables["path"]
    assert [float(name) for name in path.rows] == values
    scores = list(path.values[:, path.columns.index("accuracy")])
    best = int(np.argmax(scores))
    assert metrics["path.best"] == best + 1
    assert metrics["folds.accuracy"] == scores[best]
    alone = client.train(dataset, "svm", {"C": values[best]}).wait()
    np.testing.assert_array_equal(model.decision_function(features), alone.decision_function(features))
    with pytest.raises(mercer.InvalidRequestError, match="path.values"):
        client.train(dataset, "svm", path=("C", [1.0, -1.0]), validation=3)
    with pytest.raises(mercer.InvalidRequestError, match="validation"):
        client.train(dataset, "svm", path=("C", values))


def test_path_that_keeps_all_models(client, rings):
    features, labels = rings
    dataset = client.upload(features, labels)
    values = [1e-4, 1.0, 10.0]
    job = client.train(dataset, "svm", path=("C", values), keep_path=True, validation=0.3, labels={"team": "a"})
    best = job.wait()
    versions = list(reversed(list(best.versions())))
    assert len(versions) == 3 and versions[2].name == best.name
    found = [dict(version.get().labels) for version in versions]
    assert sorted(float(one["path.value"]) for one in found) == values
    assert [one.get("path.best") for one in found] == [None, None, "true"]
    assert {one["team"] for one in found} == {"a"}
    for version, one in zip(versions, found):
        assert version.metrics()["path.number"] == values.index(float(one["path.value"])) + 1
        assert version.verify().matches
        assert len(version.predict(features)) == len(features)
    with pytest.raises(ValueError, match="needs a path"):
        client.train(dataset, "svm", keep_path=True)


def test_predictions_add_up(client, rings):
    features, labels = rings
    model = train(client, client.upload(features, labels))
    prediction = model.predict_all(features, contributions=True)
    np.testing.assert_allclose(sum(prediction.contributions.values()), prediction.decision_values, atol=1e-12)
    positive = prediction.decision_values[:, 0] >= 0
    assert prediction.outputs == ("outer",)
    np.testing.assert_array_equal(prediction.labels == "outer", positive)
    np.testing.assert_array_equal(model.decision_function(features), prediction.decision_values[:, 0])


def test_kernels_of_the_same_name_are_all_told(client, rings):
    features, labels = rings
    model = train(client, client.upload(features, labels), kernels=["linear", "linear", "gaussian median", "linear"])
    weights = model.kernel_weights()
    assert list(weights)[:2] + list(weights)[3:] == ["linear", "linear (2)", "linear (3)"]
    np.testing.assert_array_equal(list(weights.values()), model.model_tables["kernel_weights"].values)
    prediction = model.predict_all(features, contributions=True)
    np.testing.assert_allclose(sum(prediction.contributions.values()), prediction.decision_values, atol=1e-12)


def test_names_become_keys():
    keys = mercer._model_tables.keys_of
    assert keys(["a", "b"]) == ["a", "b"]
    assert keys(["a", "a", "a (2)", "a", "a (2)"]) == ["a", "a (3)", "a (2)", "a (4)", "a (2) (2)"]
    assert keys([]) == []


def test_a_stored_data_set_is_predicted_and_evaluated(client, rings):
    features, labels = rings
    dataset = client.upload(features, labels)
    model = train(client, dataset)
    np.testing.assert_array_equal(model.predict(dataset), model.predict(features))
    expected = np.mean(model.predict(features) == labels)
    assert model.evaluate(dataset)["accuracy"] == pytest.approx(expected)
    assert model.verify().matches


def test_equal_content_is_one_data_set(client, rings):
    features, labels = rings
    sent = []
    first = client.upload(features * 2, labels, on_progress=sent.append)
    again = client.upload((features * 2).copy(order="F"), list(labels))
    assert again.name == first.name
    assert client.upload(features * 3, labels).name != first.name
    assert client.upload(features * 2, labels, names=["a", "b", "c"]).name != first.name
    assert sent[-1] == 240 * 4 * 8
    assert sum(d.name == first.name for d in client.datasets()) == 1


def test_an_id_with_other_content_is_refused(client, rings):
    features, labels = rings
    client.upload(features, labels, id="mine")
    assert client.upload(features, labels, id="mine").name == "datasets/mine"
    with pytest.raises(mercer.AlreadyExistsError) as caught:
        client.upload(features + 1, labels, id="mine")
    assert caught.value.reason == "DATASET_EXISTS"
    assert "take another id, or delete it first" in str(caught.value)


def test_a_training_that_is_too_large_says_what_takes_less_memory(rings):
    with mercer.local(flags=["--memory-budget", "50000"]) as small, pytest.raises(mercer.LimitError) as caught:
        small.train(small.upload(*rings), "svm")
    assert caught.value.reason == "JOB_TOO_LARGE"
    assert "lp_mkl with approximation=nystrom" in str(caught.value)


def test_large_uploads_go_on_where_they_broke_off(client):
    """The first attempt is cut in the middle, as by a client that dies; the second sends only the rest."""
    from mercer import _upload
    from mercer._tables import make_parts

    features = np.random.default_rng(1).normal(size=(100_000, 30))
    parts = make_parts(features, features[:, 0])

    class Broken(_upload.Upload):
        def _requests(self, header, begin):
            for number, message in enumerate(super()._requests(header, begin)):
                if number == 10:
                    # What is on its way is lost with the client; 16 MiB that have come are vouched for.
                    while self._position(header) == (0, 0):
                        time.sleep(0.01)
                    raise KeyboardInterrupt
                yield message

    with pytest.raises(KeyboardInterrupt):
        Broken(client.connection, parts).run()
    upload = _upload.Upload(client.connection, parts)
    sent = []
    original = upload._requests

    def counted(header, begin):
        for message in original(header, begin):
            sent.append(len(getattr(message, "data", b"")))
            yield message

    upload._requests = counted
    stored = upload.run()
    assert stored.rows == 100_000
    assert sum(sent) < upload.num_bytes


def test_frames_keep_names_and_categories(client, rings):
    features, labels = rings
    frame = pd.DataFrame(features, columns=["a", "b", "c"])
    frame["colour"] = np.where(features[:, 0] > 0, "red", "blue")
    frame["when"] = pd.array(np.arange(240), dtype="Int64")
    frame["label"] = labels
    frame["patient"] = np.arange(240) // 4
    dataset = client.upload(frame, "label", roles={"patient": "group"})
    block = dataset.describe().blocks[0]
    assert [c.name for c in block.columns] == ["a", "b", "c", "colour", "when"]
    assert [v.value for v in block.columns[3].value_counts] == ["blue", "red"]
    model = train(client, dataset, validation=3)
    new = frame[["when", "colour", "c", "b", "a"]]
    assert np.mean(model.predict(new) == labels) >= 0.9
    with pytest.raises(mercer.InvalidRequestError) as caught:
        model.predict(new.drop(columns="colour"))
    assert "colour" in str(caught.value)


def test_sparse_features(client):
    features = scipy.sparse.random(200, 50, 0.2, format="csr", random_state=1)
    target = np.asarray(features.sum(axis=1)).ravel()
    dataset = client.upload(features, target)
    assert dataset.describe().blocks[0].sparse
    job = client.train(dataset, "kernel_ridge", {"lambda": 1e-3}, kernels="linear", regression=True, scaling="none")
    model = job.wait()
    np.testing.assert_allclose(model.predict(features), target, atol=0.05)
    np.testing.assert_allclose(model.predict(features), model.predict(features.toarray()), rtol=1e-12)


def test_files_and_matrices(client, rings, tmp_path):
    features, labels = rings
    path = tmp_path / "rings.csv"
    pd.DataFrame(features, columns=["a", "b", "c"]).assign(y=labels).to_csv(path, index=False)
    gram = features @ features.T
    model = train(
        client, client.upload(path, "y", kernels={"gram": gram @ gram / 100}), kernels="precomputed block=gram"
    )
    rows = pd.DataFrame(features[:5], columns=["a", "b", "c"])
    expected = model.predict(client.upload(path, "y", kernels={"gram": gram @ gram / 100}))[:5]
    np.testing.assert_array_equal(model.predict(rows, squares={"gram": (gram @ gram / 100)[:5]}), expected)


def test_weights_of_rows_count(client, rings):
    features, labels = rings
    weight = np.where(labels == "outer", 1000.0, 1e-3)
    model = train(client, client.upload(features, labels, weight=weight), kernels="linear")
    assert set(model.predict(features)) == {"outer"}


def test_versions_aliases_and_files(client, rings, tmp_path):
    features, labels = rings
    dataset = client.upload(features, labels)
    first = train(client, dataset, model="rings")
    second = train(client, dataset, model="models/rings", kernels="linear")
    assert [m.name for m in second.versions()] == ["models/rings/versions/2", "models/rings/versions/1"]
    first.set_alias("live")
    moved = datetime.datetime.now()
    second.set_alias("live")
    assert second.aliases() == {"live": "models/rings/versions/2"}
    live = client.model("rings@live")
    assert live.name == "models/rings/aliases/live" and live.model == "models/rings"
    assert live.at(moved).name == first.name
    live.rollback_alias("live")
    assert live.get().name == first.name
    with pytest.raises(mercer.StateError) as caught:
        first.set_alias("live", etag="none")
    assert caught.value.reason == "STALE_ETAG"
    live.remove_alias("live")
    assert live.aliases() == {}
    first.save(tmp_path / "rings.model")
    content = (tmp_path / "rings.model").read_bytes()
    assert hashlib.sha256(content).hexdigest() == first.get().digest
    assert "models/rings" in [m.name for m in client.models()]
    assert "models/rings/versions/1" in [m.name for m in client.versions(learner=first.get().learner)]
    about = live.about()
    assert (about.name, about.num_versions, about.newest_version.name) == ("models/rings", 2, second.name)
    second.delete()
    assert client.model("rings").get().name == first.name
    client.model("rings").delete()
    with pytest.raises(mercer.NotFoundError):
        first.get()


def test_every_bad_field_is_named(client, rings):
    dataset = client.upload(*rings)
    with pytest.raises(mercer.InvalidRequestError) as caught:
        client.train(dataset, "lp_mkl", {"p": 0.5, "C": -1}, kernels="gaussian bandwidth=-1")
    fields = {violation.field for violation in caught.value.field_violations}
    assert fields == {"learner.lp_mkl.p", "learner.lp_mkl.C", "learner.lp_mkl.kernels[0].bandwidth"}
    assert caught.value.code == "INVALID_ARGUMENT"
    assert caught.value.reason == "BAD_FIELDS"
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.field_violations == caught.value.field_violations
    assert str(copy) == str(caught.value)


def test_options_may_be_lists(client, rings):
    options = {"bandwidths": [1.0, 4.0], "max_groups": 3}
    model = client.train(client.upload(*rings), "infinite_features", options).wait()
    assert list(model.get().lineage.request.learner.infinite_features.bandwidths) == [1.0, 4.0]
    model = client.train(client.upload(*rings), "infinite_features", {**options, "bandwidths": 2.0}).wait()
    assert list(model.get().lineage.request.learner.infinite_features.bandwidths) == [2.0]


def test_bad_data_are_told_before_or_by_the_server(client, rings):
    features, labels = rings
    with pytest.raises(mercer.InvalidRequestError) as caught:
        client.upload(np.where(features > 2, np.nan, features), labels)
    assert caught.value.reason == "BAD_CELL"
    assert caught.value.metadata["column"].startswith("x")
    for data, target in [
        (features, labels[:-1]),
        (features[:, 0], labels),
        (features[:0], labels[:0]),
        (features + 1j, labels),
        (features, labels.reshape(-1, 2)),
    ]:
        with pytest.raises(ValueError):
            client.upload(data, target)
    with pytest.raises(ValueError, match="no option 'nu'"):
        client.train("datasets/x", "svm", {"nu": 1})
    with pytest.raises(ValueError, match="does not have the learner 'perceptron'; it has .*lp_mkl"):
        client.train("datasets/x", "perceptron", {"steps": 3})
    with pytest.raises(mercer.InvalidRequestError) as caught:
        client.train("datasets/x", "lp_mlk")
    assert [violation.field for violation in caught.value.field_violations] == ["learner.other.name"]
    assert "did you mean 'lp_mkl'" in str(caught.value)
    with pytest.raises(ValueError, match="unknown word"):
        client.train("datasets/x", "svm", kernels="gaussian width=1")
    with pytest.raises(mercer.NotFoundError):
        client.train("datasets/nowhere", "svm")


def test_arguments_that_errors_of_csv_files_name_are_there(client, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("".join(f"{i % 7};{i % 5};{i % 2}\n" for i in range(40)))
    with pytest.raises(mercer.InvalidRequestError, match="see the argument delimiter"):
        client.upload(path, "c3")
    dataset = client.upload(path, "c3", delimiter=";", no_header=True, categorical=["c2"], numeric=["c1"])
    columns = {column.name: column.type for column in dataset.describe().blocks[0].columns}
    assert list(columns) == ["c1", "c2"]
    assert columns["c1"] != columns["c2"]
    with pytest.raises(ValueError, match="delimiter is for CSV files"):
        client.upload(np.eye(3), delimiter=";")


def test_missing_values_are_imputed_on_request(client, rings):
    features, labels = rings
    holes = features.copy()
    holes[::7, 1] = np.nan
    dataset = client.upload(holes, labels, allow_missing=True)
    model = train(client, dataset, imputation="mean_or_most_frequent")
    assert np.mean(model.predict(holes) == labels) > 0.8
    with pytest.raises(mercer.InvalidRequestError) as caught:
        train(client, dataset)  # before there is a job
    assert caught.value.reason == "BAD_CELL"
    assert caught.value.metadata["column"].startswith("x")


def test_a_target_that_is_left_open_is_decided_by_its_numbers(client, rings):
    features, _ = rings
    dataset = client.upload(features, np.arange(len(features)) % 28 + 1)
    model = client.train(dataset, "kernel_ridge").wait()
    assert model.predict_all(features[:2]).labels is None
    assert "28 different numbers" in model.warnings[0].message
    assert model.warnings[0].values["different_values"] == "28"
    classes = client.train(dataset, "kernel_ridge", regression=False).wait()
    assert len(classes.get().coding.classes) == 28


def test_a_repeated_request_is_the_same_job(client, rings):
    dataset = client.upload(*rings)
    first = client.train(dataset, "svm", request_id="once")
    assert client.train(dataset, "svm", request_id="once").name == first.name
    with pytest.raises(mercer.AlreadyExistsError):
        client.train(dataset, "svm", {"C": 2}, request_id="once")


def test_cancel_and_stop(client, long_training):
    features, labels, arguments = long_training
    dataset = client.upload(features, labels)
    job = client.train(dataset, **arguments)
    with pytest.raises(TimeoutError):
        job.wait(timeout=0.05)
    job.cancel()
    with pytest.raises(mercer.JobCancelledError):
        job.wait(timeout=60)
    job = client.train(dataset, **arguments)
    for event in job.progress():
        if event.kind == "progress" and event.message.progress.has_model:
            job.stop()
            break
    model = job.wait()
    assert model.get().stop_reason == 4  # STOP_REQUESTED
    assert job.name in [j.name for j in client.jobs(["succeeded"])]
    assert [j.name for j in client.jobs(filter=f"name = {job.name} AND -state:FAILED", order_by="name")] == [job.name]
    assert model.name in [m.name for m in model.versions(filter=f"job = {job.name}", order_by="name")]
    assert model.model in [m.name for m in client.models(filter="labels:none OR create_time:*", order_by="name desc")]
    assert model.name in [m.name for m in client.versions(filter=f"job = {job.name}", order_by="name")]
    assert dataset.name in [d.name for d in client.datasets(filter=f"name = {dataset.name}", order_by="create_time")]
    with pytest.raises(mercer.MercerError, match="there is no field 'stat'"):
        list(client.jobs(filter="stat = FAILED"))


def test_progress_goes_on_across_a_restart(server, long_training):
    features, labels, arguments = long_training
    client = mercer.connect(server.address)
    # Longer than the client may wait before it looks for the server again.
    longer = {**arguments, "options": {"C": 1e6, "p": 1.0}, "relative_gap": 1e-12}
    job = client.train(client.upload(features, labels), **longer)
    events = []

    def restart():
        server.stop()
        server.start()

    thread = threading.Thread(target=restart)
    for event in job.progress():
        events.append(event)
        if event.kind == "progress" and event.iteration >= 2 and not thread.ident:
            thread.start()
        if event.kind == "resumed":
            job.cancel()
    thread.join()
    assert [e.sequence for e in events] == list(range(1, len(events) + 1))
    assert events[-1].state == "cancelled"
    assert {e.attempt for e in events} >= {1, 2}


def test_calls_are_made_again_while_the_server_is_away(server, rings, monkeypatch):
    client = mercer.connect(server.address)
    dataset = client.upload(*rings)
    server.stop()
    delays = []

    def start_and_sleep(_, delay):
        if not delays:
            server.start()
        delays.append(delay)
        time.sleep(max(delay, 0.5))  # the channel connects again in its own time

    monkeypatch.setattr(_retry.Backoff, "_sleep", start_and_sleep)
    assert client.dataset(dataset.name).rows == 240
    assert 0.05 < delays[0] < 0.2


def test_a_server_that_is_not_there_is_an_error():
    with pytest.raises(mercer.UnavailableError):
        mercer.connect("127.0.0.1:1").learners()


def test_tokens_do_not_travel_in_plain_text_nor_in_pickles(monkeypatch):
    with pytest.raises(ValueError, match="plain text"):
        mercer.connect("example.org:7345", token="secret")
    client = mercer.connect("127.0.0.1:7345", token="secret")
    assert b"secret" not in pickle.dumps(client)
    monkeypatch.setenv("MERCER_TOKEN", "other")
    assert pickle.loads(pickle.dumps(client)).address == "127.0.0.1:7345"


def test_the_bar_ends_with_the_model(client, rings, capsys):
    model = client.train(client.upload(*rings), "svm", display_name="bars").bar()
    assert model.get().learner == "svm"
    shown = capsys.readouterr().err
    assert "bars 100%" in shown
    assert "succeeded" in shown
