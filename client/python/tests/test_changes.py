"""What is changed of jobs and data sets that are there."""

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


def test_a_data_set_without_its_label_of_the_content_is_found_by_its_name(client, rings):
    features, targets = rings
    dataset = client.upload(features + 1, targets)
    dataset.message.ClearField("labels")
    assert dataset.set_labels({}).labels == {}
    assert client.upload(features + 1, targets).name == dataset.name
