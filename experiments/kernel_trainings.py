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


def train_penalised(client, split, settings, threads):
    """Trains the penalised form of smo_mkl with the penalty that gives the problem of the constrained form.

    The weights' norm is 1 where the penalty is half the squared norm of the constrained solution's function, which is
    the sum of its dual variables' magnitudes less the optimum. An exact training by the default loop finds it.

    Parameters
    ----------
    As of `train`.

    Returns
    -------
    dict
        What `train` measures; ``penalty``; ``norm``: of the weights, |d|_p.
    """
    request = {"kernels": kernels_text(settings["kernels"]), "relative_gap": settings["gap"], "threads": threads}
    options = {name: value for name, value in settings.items() if name not in REQUEST}
    plain = {name: value for name, value in options.items() if name != "outer_loop"}
    exact, _, _ = trainings.train(client, split, "lp_mkl", plain, **request)
    message = exact.get(full=True)
    dual = sum(np.abs(term.coefficients.values).sum() for term in message.function.kernel_terms)
    penalty = float(dual - message.certificate.dual)
    penalised, _, measured = trainings.train(
        client, split, "lp_mkl", {**options, "weight_penalty": penalty}, time_limit=settings.get("time_limit"),
        **request,
    )  # fmt: skip
    weights = np.ravel(list(penalised.kernel_weights().values()))
    return {
        **measured,
        "weights": int(np.sum(weights > 1e-4 * weights.max())),
        "penalty": penalty,
        "norm": float(np.linalg.norm(weights, settings["p"])),
    }
