"""Charts of a training and of its model; needs matplotlib."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Optional, Union

import numpy as np

from mercer.jobs import Job, Progress
from mercer.local_model import LocalModel
from mercer.models import Model

Events = Union[Job, Iterable[Progress]]


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    import matplotlib.pyplot

    return matplotlib.pyplot.gca()


def _history(training: Any) -> list[Progress]:
    events = training.progress() if isinstance(training, Job) else getattr(training, "history_", training)
    kept: list[Progress] = []
    for event in events:
        if event.kind == "resumed":  # what came after the checkpoint is done again
            kept = [e for e in kept if e.iteration <= event.from_iteration]
        elif event.kind == "progress":
            kept.append(event)
    return kept


def plot_progress(training: Any, axes: Any = None, against: str = "iteration") -> Any:
    """The certified relative gap of a training, on a logarithmic scale.

    Parameters
    ----------
    training : Job, fitted estimator, or iterable of Progress
        Of a job that runs, it is waited for.
    axes : matplotlib Axes, optional
        Where to draw; the current ones when absent.
    against : {"iteration", "elapsed"}
        Of the horizontal axis.

    Returns
    -------
    axes : matplotlib Axes
    """
    if against not in ("iteration", "elapsed"):
        raise ValueError(f"against must be 'iteration' or 'elapsed', is {against!r}")
    axes = _axes(axes)
    events = [event for event in _history(training) if event.relative_gap is not None]
    phases = list(dict.fromkeys(event.phase for event in events))
    for phase in phases:
        points = [event for event in events if event.phase == phase]
        horizontal = [getattr(event, against) for event in points]
        axes.plot(horizontal, [event.relative_gap for event in points], marker=".", label=phase)
    axes.set_yscale("log")
    axes.set_xlabel("seconds" if against == "elapsed" else "iteration")
    axes.set_ylabel("relative gap")
    if len(phases) > 1:
        axes.legend()
    return axes


def _weights(model: Any, output: int) -> tuple[list[str], Any]:
    if isinstance(model, Model):
        found = model.kernel_weights()
        return list(found), np.array([values[output] for values in found.values()])
    local = model if isinstance(model, LocalModel) else model.model_
    return list(local.kernel_names), local.kernel_weights[:, output]


def plot_weights(model: Any, axes: Any = None, most: Optional[int] = 20, output: int = 0) -> Any:
    """The weights of a model's kernels as bars, the largest on top.

    Parameters
    ----------
    model : Model, LocalModel or fitted estimator
        Whose weights.
    axes : matplotlib Axes, optional
        Where to draw; the current ones when absent.
    most : int, optional
        So many bars; None: all.
    output : int
        Of several classes, which output.

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = _axes(axes)
    names, weights = _weights(model, output)
    order = np.argsort(-np.abs(weights), kind="stable")[:most]
    axes.barh([names[i] for i in order], weights[order])
    axes.invert_yaxis()
    axes.set_xlabel("weight")
    return axes
