"""Trainings on a server, and what is measured of any of them."""

import time

from splits import accuracy


def train(client, split, learner, options, **request):
    """Trains, and tests the model.

    Parameters
    ----------
    client : mercer.Client
    split : Split
    learner : str
    options : mapping
        Of the learner.
    **request
        Further arguments of `mercer.Client.train`.

    Returns
    -------
    mercer.Model
    list of mercer.jobs.Progress
        All events of the job.
    dict
        ``seconds``: the server's, from the job's start to the last step, preparing the data included;
        ``verify_seconds``: to recompute the certificate; ``wall_seconds``: from the request to the model; ``gap``: the
        certified one; ``stop``: why it ended; ``rows``: it learnt from; ``accuracy``: in percent, of classifications.
    """
    dataset = client.upload(split.train, split.train_labels)
    begin = time.perf_counter()
    job = client.train(dataset, learner, options, seed=split.number, display_name=split.name, **request)
    events = list(job.progress())
    model = job.result()
    wall = time.perf_counter() - begin
    summary = model.get()
    prediction = model.predict_all(split.test)
    measured = {
        **durations(events),
        "wall_seconds": wall,
        "gap": summary.certificate.accuracy,
        "stop": stop_reason(summary),
        "rows": len(split.train_labels),
    }
    if prediction.labels is not None:
        measured["accuracy"] = accuracy(prediction.labels.astype(float), split.test_labels)
    return model, events, measured


def stop_reason(model):
    """Why the training of this model message ended, a word."""
    reasons = model.DESCRIPTOR.fields_by_name["stop_reason"].enum_type.values_by_number
    return reasons[model.stop_reason].name.removeprefix("STOP_REASON_").lower()


def durations(events):
    """``seconds`` and ``verify_seconds`` of a job, as `train` has them."""
    states = {event.state: event.time for event in events if event.kind == "state_change"}
    first, last, end = states["running"], states["verifying"], events[-1].time
    return {
        "seconds": (last - first).total_seconds(),
        "verify_seconds": (end - last).total_seconds(),
    }
