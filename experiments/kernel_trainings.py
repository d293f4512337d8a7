"""Trainings of lp_mkl."""

import numpy as np

import trainings

# Of the settings, what is no option of the learner.
REQUEST = ("kernels", "gap", "time_limit")


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
        What `trainings.train` measures; ``weights``: kernels with more than 1e-4 of the largest weight.
    """
    options = {name: value for name, value in settings.items() if name not in REQUEST}
    model, _, measured = trainings.train(
        client, split, "lp_mkl", options, kernels=kernels_text(settings["kernels"]), relative_gap=settings["gap"],
        time_limit=settings.get("time_limit"), threads=threads,
    )  # fmt: skip
    weights = np.ravel(list(model.kernel_weights().values()))
    return {**measured, "weights": int(np.sum(weights > 1e-4 * weights.max()))}
