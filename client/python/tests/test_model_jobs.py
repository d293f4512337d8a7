"""Work that is a job beside trainings: predictions of data sets, evaluations, verifications."""

import numpy as np
import pytest

import mercer


@pytest.fixture(scope="module")
def trained(client, rings):
    """A data set and a model of it."""
    features, labels = rings
    dataset = client.upload(features, labels)
    return dataset, client.train(dataset, "svm", model="model-jobs").wait()


def test_a_data_set_is_predicted_into_a_new_one(client, rings, trained):
    dataset, model = trained
    job = client.predict_dataset(
        model, dataset, keep=["x1"], display_name="of rings", dataset_labels={"of": "rings"}, labels={"by": "night"}
    )
    assert job.kind == "prediction"
    made = job.wait()
    assert isinstance(made, mercer.Dataset)
    assert made.rows == len(rings[0])
    assert made.labels == {"of": "rings"}
    assert job.labels == {"by": "night"}
    columns = made.describe().blocks[0].columns
    assert [column.name for column in columns][1:] == ["label", "x1"]
    expected = model.predict(rings[0])
    counts = {value.value: value.count for value in columns[1].value_counts}
    assert counts == {label: int(np.sum(expected == label)) for label in set(expected)}
    assert made.name in job._repr_html_()
    job.delete()
    assert client.dataset(made.name).rows == made.rows
    made.delete()


def test_evaluations_and_verifications_are_jobs(client, trained):
    dataset, model = trained
    evaluation = client.start_evaluation(model, dataset, display_name="night")
    assert evaluation.message.display_name == "night"
    assert evaluation.wait() == model.evaluate(dataset)
    verification = client.start_verification(model.name, request_id="verify-once")
    assert verification.wait(timeout=60).matches
    assert client.start_verification(model.name, request_id="verify-once").name == verification.name
    kinds = [job.kind for job in client.jobs(kinds=["evaluation", "verification"])]
    assert kinds == ["verification", "evaluation"]


def test_names_and_limits_of_time(client, trained):
    dataset, model = trained
    named = client.start_verification(model, display_name="does it hold?", time_limit=600)
    assert named.wait().matches
    assert named.message.display_name == "does it hold?"
    for late in (
        client.predict_dataset(model, dataset, time_limit=1e-6),
        client.start_evaluation(model, dataset, time_limit=1e-6),
    ):
        with pytest.raises(mercer.MercerError) as caught:
            late.wait()
        assert caught.value.reason == "TIME_LIMIT_EXCEEDED"
    with pytest.raises(mercer.MercerError, match="time_limit"):
        client.start_evaluation(model, dataset, time_limit=0)


def test_what_cannot_be_is_refused_before_there_is_a_job(client, trained):
    dataset, model = trained
    with pytest.raises(ValueError, match="unseen"):
        client.predict_dataset(model, dataset, unseen="none")
    with pytest.raises(ValueError, match="kinds"):
        next(client.jobs(kinds=["nap"]))
    with pytest.raises(mercer.MercerError, match="keep_columns"):
        client.predict_dataset(model, dataset, keep=["none"])
