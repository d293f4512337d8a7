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
