"""Trainings of csi and ikl, the methods with kernels that the paper compares with, and of one kernel."""

import math

import baselines
import trainings


def train_csi(client, split, settings, threads):
    """Trains csi with one Gaussian kernel and tests it.

    Parameters
    ----------
    client : mercer.Client
    split : Split
    settings : mapping
        ``pivots``: the most of them; ``squared_bandwidth``; ``ridge``: of the mean loss, in
        ``mean loss + ridge |f|^2``; ``gap``.
    threads : int

    Returns
    -------
    dict
        What `trainings.train` measures; ``pivots``: those that were chosen; ``criterion``: what they leave of it.
    """
    # The learner has lambda / 2 |f|^2 and a sum of losses.
    options = {"max_pivots": settings["pivots"], "lambda": 2 * settings["ridge"] * len(split.train_labels)}
    kernel = f"gaussian bandwidth={math.sqrt(settings['squared_bandwidth'])!r}"
    model, _, measured = trainings.train(
        client, split, "csi", options, kernels=kernel, relative_gap=settings["gap"], threads=threads
    )
    metrics = model.metrics()
    return {**measured, "pivots": int(metrics["csi.pivots"]), "criterion": metrics["csi.criterion"]}


def train_ikl(client, split, settings, threads):
    """Trains ikl and tests it.

    Parameters
    ----------
    client : mercer.Client
    split : Split
    settings : mapping
        ``gap``, optionally ``time_limit``, and options of the learner.
    threads : int

    Returns
    -------
    dict
        What `trainings.train` measures; ``support_vectors``; ``kernels``: those of weight > 0; ``family_gap``: the
        certified one with a lower bound over a fine grid of the interval; ``memory_estimate``: bytes.
    """
    request = ("gap", "time_limit")
    options = {name: value for name, value in settings.items() if name not in request}
    model, _, measured = trainings.train(
        client, split, "ikl", options, relative_gap=settings["gap"], time_limit=settings.get("time_limit"),
        threads=threads,
    )  # fmt: skip
    metrics = model.metrics()
    summary = model.get()
    return {
        **measured,
        "support_vectors": summary.num_support_vectors,
        "kernels": int(metrics["ikl.kernels"]),
        "family_gap": metrics["ikl.family_gap"],
        "memory_estimate": client.job(summary.lineage.job).message.memory_estimate_bytes,
    }


def train_svc(client, split, settings, threads):
    """scikit-learn's SVC with one Gaussian kernel; see baselines.fit_svc.

    Parameters
    ----------
    client : object
        Not used.
    split : Split
    settings : mapping
        ``C`` and ``bandwidth``.
    threads : int
        Not used.
    """
    best = {"C": settings["C"], "gamma": 1 / (2 * settings["bandwidth"] ** 2)}
    return {**baselines.fit_svc(split, best, None, None), "rows": len(split.train_labels)}
