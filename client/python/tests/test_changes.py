"""What is changed of jobs, data sets and models that are there."""

import pytest

import mercer


def test_a_job_is_deleted_once_it_has_ended(client, long_training):
    features, labels, arguments = long_training
    job = client.train(client.upload(features, labels), **arguments)
    with pytest.raises(mercer.StateError) as caught:
        job.delete()
    assert caught.value.reason == "JOB_NOT_FINAL"
    job.cancel()
    with pytest.raises(mercer.JobCancelledError):
        job.wait(timeout=60)
    job.delete()
    with pytest.raises(mercer.NotFoundError):
        job.refresh()


def test_labels_of_jobs_and_data_sets_change(client, rings):
    dataset = client.upload(*rings, id="labelled", labels={"of": "test", "for": "us"})
    assert dataset.set_labels({"of": "June"}).labels["of"] == "June"
    stored = client.dataset("labelled").labels
    assert stored == {"of": "June", "content": stored["content"]}
    assert client.upload(*rings, id="labelled").name == dataset.name, "it is still known by its content"
    job = client.train(dataset, "svm", labels={"team": "red"})
    job.wait()
    assert job.set_labels({"team": "blue"}).labels == {"team": "blue"}
    assert job.name in [j.name for j in client.jobs(labels={"team": "blue"})]
    assert job.set_labels({}).labels == {}
    with pytest.raises(mercer.InvalidRequestError):
        job.set_labels({"Not a key": ""})
    for named, found in (
        (dataset, lambda: client.datasets(filter='display_name = "Of June"')),
        (job, lambda: client.jobs(filter='display_name = "Of June"')),
    ):
        labels, etag = named.labels, named.message.etag
        assert named.update(display_name="Of June", etag=etag).message.display_name == "Of June"
        assert named.labels == labels, "what is not named stays"
        assert [one.name for one in found()] == [named.name]
        with pytest.raises(mercer.StateError, match="STALE_ETAG"):
            named.update(display_name="Of July", etag=etag)
        with pytest.raises(ValueError, match="nothing to change"):
            named.update()


def test_a_data_set_without_its_label_of_the_content_is_found_by_its_name(client, rings):
    features, targets = rings
    dataset = client.upload(features + 1, targets)
    dataset.message.ClearField("labels")
    assert dataset.set_labels({}).labels == {}
    assert client.upload(features + 1, targets).name == dataset.name


def test_words_of_models_and_versions_change(client, rings):
    job = client.train(client.upload(*rings), "svm", model="worded", labels={"of": "test"})
    version = job.wait()
    model = client.model("worded")
    before = model.about()
    now = model.update(display_name="Rings", labels={"team": "red"}, etag=before.etag)
    assert (now.display_name, dict(now.labels), now.description) == ("Rings", {"team": "red"}, "")
    assert model.update(description="Tells inner from outer.").display_name == "Rings", "what is not named stays"
    assert model.name in [m.name for m in client.models(filter='display_name = "Rings" AND labels.team:red')]
    with pytest.raises(mercer.StateError) as caught:
        model.update(display_name="Circles", etag=before.etag)
    assert caught.value.reason == "STALE_ETAG"
    assert model.about().display_name == "Rings"
    assert dict(version.get().labels) == {"of": "test"}, "versions have labels of their own"
    changed = version.update(labels={}, description="the first", etag=version.get().etag)
    assert (dict(changed.labels), changed.description) == ({}, "the first")
    with pytest.raises(mercer.StateError, match="STALE_ETAG"):
        version.update(description="the second", etag="0")
    with pytest.raises(ValueError, match="display_name"):
        version.update(display_name="Rings")
    with pytest.raises(ValueError, match="nothing to change"):
        model.update()


def test_only_so_many_versions_stay(client, rings):
    dataset = client.upload(*rings)
    first, second, third = (client.train(dataset, "svm", {"C": c}, model="kept").wait() for c in (1, 2, 3))
    second.set_alias("live")
    assert third.retain(1, validate_only=True) == [first.name]
    assert [m.name for m in third.versions()] == [third.name, second.name, first.name]
    assert third.retain(1) == [first.name]
    assert third.about().keep_newest == 1
    third.set_alias("live")
    moves = list(third.alias_history("live"))
    assert [(move.sequence, getattr(move, "from"), move.to) for move in moves] == [
        (2, second.name, third.name),
        (1, "", second.name),
    ]


def test_jobs_are_watched_across_a_restart(server, rings):
    client = mercer.connect(server.address)
    dataset = client.upload(*rings)
    first = client.train(dataset, "svm", labels={"of": "watch"})
    first.wait()
    watch = client.watch_jobs(labels={"of": "watch"}, kinds=["training"])
    begin = [next(watch), next(watch)]
    assert [(change.kind, change.job and change.job.name) for change in begin] == [
        ("existing", first.name),
        ("listed", None),
    ]
    client.train(dataset, "svm")  # does not match
    second = client.train(dataset, "svm", labels={"of": "watch"})
    change = next(change for change in watch if change.job.state == "succeeded")
    assert (change.kind, change.job.name) == ("changed", second.name)
    second.set_labels({})
    change = next(change for change in watch if change.kind != "changed")
    assert (change.kind, change.job.name) == ("left", second.name)
    server.stop()
    server.start()
    first.delete()
    kinds = []
    for change in watch:
        kinds.append(change.kind)
        if change.kind in ("listed", "deleted"):
            break
    assert kinds in (["listed"], ["existing", "listed"], ["deleted"])
    watch.close()
    with pytest.raises(ValueError, match="unknown states asleep"):
        next(client.watch_jobs(states=["asleep"]))
