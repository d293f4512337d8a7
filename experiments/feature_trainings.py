"""Trainings of infinite_features."""

import dataclasses

import numpy as np

import trainings

# Of the settings, what is no option of the learner.
REQUEST = ("gap", "time_limit", "max_iterations", "regression", "lambda_per_row")


@dataclasses.dataclass(frozen=True)
class LinearModel:
    """Of the family ``columns``: weights (standardised columns x outputs) and biases (of the outputs)."""

    weights: np.ndarray
    bias: np.ndarray


def train(client, split, settings, threads):
    """Trains infinite_features and tests it.

    Parameters
    ----------
    client : mercer.Client
    split : Split
    settings : mapping
        ``gap``, optionally ``time_limit``, ``max_iterations`` and ``regression``, and options of the learner;
        ``lambda_per_row`` in place of ``lambda``: times the number of rows it is the absolute one.
    threads : int

    Returns
    -------
    dict
        What `trainings.train` measures; ``groups``: with weights other than 0; ``outputs``: their number;
        ``objective``: of the certificate; ``lambda``: absolute; ``rounds`` of the search; ``iterations`` of the solver;
        ``memory_estimate``: bytes, the server's bound of the training's memory.
    """
    return train_model(client, split, settings, threads)[1]


def train_model(client, split, settings, threads):
    """The model, and what `train` returns."""
    model, _, measured = _train(client, split, settings, threads)
    return model, measured


def train_curve(client, split, settings, threads):
    """What `train` returns, and ``curve``: seconds since the start of the training, and the objective then.

    The server tells of its steps, but of no more than four in a second.
    """
    _, events, measured = _train(client, split, settings, threads)
    curve = [(event.elapsed, event.primal) for event in events if event.kind == "progress" and event.primal is not None]
    return {**measured, "curve": curve}


def _train(client, split, settings, threads):
    options = {name: value for name, value in settings.items() if name not in REQUEST}
    if "lambda_per_row" in settings:
        options |= {"lambda": settings["lambda_per_row"] * len(split.train_labels), "lambda_unit": "absolute"}
    model, events, measured = trainings.train(
        client, split, "infinite_features", options, relative_gap=settings["gap"],
        time_limit=settings.get("time_limit"), max_iterations=settings.get("max_iterations"),
        regression=settings.get("regression", False), target_scaling="none", threads=threads,
    )  # fmt: skip
    metrics = model.metrics()
    summary = model.get()
    measured |= {
        "groups": len(summary.feature_weights.features),
        "outputs": len(summary.coding.output_names),
        "objective": summary.certificate.primal,
        "lambda": metrics["features.lambda"],
        "rounds": int(metrics["features.rounds"]),
        "iterations": max((e.message.progress.inner_iterations for e in events if e.kind == "progress"), default=0),
        "memory_estimate": client.job(summary.lineage.job).message.memory_estimate_bytes,
    }
    return model, events, measured


def linear_model(model, columns):
    """Of a model of the family ``columns`` that was trained on so many columns."""
    function = model.get(full=True).function
    weights = np.zeros((columns, len(function.bias)))
    for term in function.feature_terms:
        values = np.array(term.coefficients.values).reshape(term.coefficients.rows, term.coefficients.columns)
        weights[np.ix_(list(term.columns.positions), list(term.outputs))] = values
    return LinearModel(weights, np.array(function.bias))
