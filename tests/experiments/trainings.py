"""Trainings on a server, and what is measured of them."""

import time

import numpy as np

from splits import accuracy


def kernels_text(count):
    """Gaussian kernels with widths from 1 to 100, with equal ratios."""
    return f"gaussian bandwidths=1..100:{count}"


def train(client, split, settings, threads):
    """Trains lp_mkl and tests it.

    Parameters
    ----------
    client : mercer.Client
    split : Split
    settings : mapping
        ``kernels``, ``gap``, optionally ``time_limit``, and options of the learner.
    threads : int

    Returns
    -------
    dict
        ``seconds``: the server's, from the job's start to the last step, factors included; ``verify_seconds``: to
        recompute the certificate; ``wall_seconds``: from the request to the model; ``gap``: the certified one;
        ``stop``: why it ended; ``weights``: kernels with more than 1e-4 of the largest weight; ``rows``: it learnt
        from; ``accuracy``: in
        percent.
    """
    options = {name: value for name, value in settings.items() if name not in ("kernels", "gap", "time_limit")}
    dataset = client.upload(split.train, split.train_labels)
    begin = time.perf_counter()
    job = client.train(
        dataset, "lp_mkl", options, kernels=kernels_text(settings["kernels"]), relative_gap=settings["gap"],
        time_limit=settings.get("time_limit"), seed=split.number, threads=threads, display_name=split.name,
    )  # fmt: skip
    events = list(job.progress())
    model = job.result()
    wall = time.perf_counter() - begin
    weights = np.ravel(list(model.kernel_weights().values()))
    prediction = model.predict_all(split.test)
    summary = model.get()
    return {
        **_durations(events),
        "wall_seconds": wall,
        "gap": summary.certificate.accuracy,
        "stop": _stop_reason(summary),
        "weights": int(np.sum(weights > 1e-4 * weights.max())),
        "rows": len(split.train_labels),
        "accuracy": accuracy(prediction.labels.astype(float), split.test_labels),
    }


def _stop_reason(model):
    reasons = model.DESCRIPTOR.fields_by_name["stop_reason"].enum_type.values_by_number
    return reasons[model.stop_reason].name.removeprefix("STOP_REASON_").lower()


def _durations(events):
    states = {event.state: event.time for event in events if event.kind == "state_change"}
    first, last, end = states["running"], states["verifying"], events[-1].time
    return {
        "seconds": (last - first).total_seconds(),
        "verify_seconds": (end - last).total_seconds(),
    }
