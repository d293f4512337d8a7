"""Charts of a training and of its model, in scikit-learn's way; without matplotlib they are printed as text.

>>> display = KernelWeightsDisplay.from_estimator(fitted)           # doctest: +SKIP
>>> display.ax_.set_title("Which kernels matter")                   # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from mercer._bars import hint
from mercer._group_bars import BAR_INCHES, GroupBars, shorten
from mercer._model_tables import ModelTable, grid_of, norms_of_kernels
from mercer._printed_tables import MOST_IN_LEGEND, heading, print_bars, print_table
from mercer.jobs import Job, Progress
from mercer.local_model import LocalModel
from mercer.models import Model

Array = npt.NDArray[np.float64]
Events = Union[Job, Iterable[Progress]]

_MOST_TICKS = 40


def _axes(ax: Any, height: Optional[float] = None) -> Any:
    """Where to draw: `ax`, or those of a new figure; None, and a hint, without matplotlib."""
    if ax is None:
        try:
            import matplotlib.pyplot
        except ImportError:
            hint("matplotlib", "a chart")
            return None
        size = matplotlib.rcParams["figure.figsize"]
        _, ax = matplotlib.pyplot.subplots(figsize=(size[0], height or size[1]))
    if ax.figure.get_layout_engine() is None:  # names beside the bars would be cut off at the edge of the figure
        ax.figure.set_layout_engine("constrained")
    return ax


class TrainingProgressDisplay:
    """The certified relative gap of a training, on a logarithmic scale: a line for each phase.

    Parameters
    ----------
    history : sequence of Progress
        The events of the training.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
    """

    def __init__(self, history: Sequence[Progress]) -> None:
        self.history = history
        self.ax_: Any = None
        self.figure_: Any = None
        self.lines_: list[Any] = []

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, against: str = "iteration") -> TrainingProgressDisplay:
        """Draws the training of a fitted estimator; see :meth:`plot`."""
        return cls(_history(estimator.history_)).plot(ax, against=against)

    @classmethod
    def from_job(cls, job: Events, *, ax: Any = None, against: str = "iteration") -> TrainingProgressDisplay:
        """Draws the training of a job, whose end is waited for, or of events; see :meth:`plot`."""
        return cls(_history(job.progress() if isinstance(job, Job) else job)).plot(ax, against=against)

    def plot(self, ax: Any = None, *, against: str = "iteration") -> TrainingProgressDisplay:
        """Draws.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where; in a new figure when absent.
        against : {"iteration", "elapsed"}
            Of the horizontal axis.

        Returns
        -------
        display : TrainingProgressDisplay
        """
        if against not in ("iteration", "elapsed"):
            raise ValueError(f"against must be 'iteration' or 'elapsed', is {against!r}")
        phases: dict[str, list[Progress]] = {}
        for event in self.history:
            if event.relative_gap is not None:
                phases.setdefault(event.phase, []).append(event)
        ax = _axes(ax)
        if ax is None:
            for phase, events in phases.items():
                last = events[-1]
                print(f"{phase or 'training'}: relative gap {last.relative_gap:.1e} after {last.iteration} iterations")
            return self
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_ = [self._line(ax, events, against) for events in phases.values()]
        _label(self.lines_, list(phases))
        ax.set(yscale="log", ylabel="relative gap", xlabel="seconds" if against == "elapsed" else "iteration")
        if len(phases) > 1:
            ax.legend()
        return self

    @staticmethod
    def _line(ax: Any, events: Sequence[Progress], against: str) -> Any:
        gaps = [event.relative_gap or np.nan for event in events]  # no logarithm of a gap of 0
        return ax.plot([getattr(event, against) for event in events], gaps, marker=".")[0]


def _label(lines: Sequence[Any], names: Sequence[str]) -> None:
    """Names lines for a legend of at most so many entries; the last one stands for all that are left."""
    shown = len(names) if len(names) <= MOST_IN_LEGEND else MOST_IN_LEGEND - 1
    for line, name in zip(lines[:shown], names):
        line.set_label(shorten(name))
    for line in lines[shown:]:
        line.set(color="0.7", zorder=1, label=None)
    if len(lines) > shown:
        lines[shown].set_label(f"{len(lines) - shown} more")


def _history(events: Iterable[Progress]) -> list[Progress]:
    kept: list[Progress] = []
    for event in events:
        if event.kind == "resumed":  # what came after the checkpoint is done again
            kept = [e for e in kept if e.iteration <= event.from_iteration]
        elif event.kind == "progress":
            kept.append(event)
    return kept


class KernelWeightsDisplay:
    """The weights of a model's kernels, or chosen features, as bars, the largest on top.

    Kernels in groups stand below their group, whose bar is the sum of theirs. Those of weight 0, which are not
    selected, have a ring in place of a bar.

    Parameters
    ----------
    names : sequence of str
        Of the kernels.
    weights : array of float
        Of the kernels, in one output.
    groups : sequence of str, optional
        The group of each kernel; empty: they are in none.
    norms : array of float, optional
        Of the kernels' functions, in the same output: written to the right of kernels in groups.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
        Of the kernels.
    group_bars_ : matplotlib BarContainer
        Of the groups; None where there are none.
    """

    def __init__(self, names: Sequence[str], weights: Any, groups: Sequence[str] = (), norms: Any = None) -> None:
        self.names = list(names)
        self.weights: Array = np.asarray(weights, dtype=np.float64)
        self.groups = list(groups)
        self.norms: Optional[Array] = None if norms is None else np.asarray(norms, dtype=np.float64)
        self.ax_: Any = None
        self.figure_: Any = None
        self.bars_: Any = None
        self.group_bars_: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, most: Optional[int] = 20, output: int = 0
    ) -> KernelWeightsDisplay:
        """Draws the weights of a fitted estimator; see :meth:`plot`.

        Parameters
        ----------
        estimator : fitted estimator, Model or LocalModel
            Whose weights.
        ax : matplotlib Axes, optional
            Where; in a new figure when absent.
        most : int, optional
            So many bars; None: all. Of more kernels in groups, those that are selected are shown, and the rest of each
            group is counted.
        output : int
            Of several classes, which output.
        """
        return cls(*_weights(estimator, output)).plot(ax, most=most)

    def plot(self, ax: Any = None, *, most: Optional[int] = 20) -> KernelWeightsDisplay:
        """Draws.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where; in a new figure when absent.
        most : int, optional
            So many bars; None: all. Of more kernels in groups, those that are selected are shown, and the rest of each
            group is counted.

        Returns
        -------
        display : KernelWeightsDisplay
        """
        if self.groups:
            return self._plot_groups(ax, most)
        order = np.argsort(-np.abs(self.weights), kind="stable")[:most]
        names, weights = [shorten(self.names[i]) for i in order], self.weights[order]
        ax = _axes(ax, height=max(2.0, 1.0 + BAR_INCHES * len(order)))
        if ax is None:
            print_bars(names, weights)
            return self
        self.ax_, self.figure_ = ax, ax.figure
        places = np.arange(len(names))  # not the names: two that were shortened to the same would share a bar
        self.bars_ = ax.barh(places, weights)
        ax.set(xlabel="weight")
        ax.set_yticks(places, names, parse_math=False)
        ax.invert_yaxis()
        return self

    def _plot_groups(self, ax: Any, most: Optional[int], heading: str = "") -> KernelWeightsDisplay:
        picture = GroupBars(self.groups, self.names, self.weights, self.norms, most)
        ax = _axes(ax, height=max(2.0, 1.0 + BAR_INCHES * picture.height))
        if ax is None:
            print(heading, end="\n" if heading else "")
            picture.print()
            return self
        self.ax_, self.figure_ = ax, ax.figure
        picture.draw(ax)
        self.bars_, self.group_bars_ = picture.bars, picture.group_bars
        return self


def _weights(model: Any, output: int) -> tuple[Sequence[str], Array, Sequence[str], Optional[Array]]:
    """Names, weights, groups and norms of kernels, or the first two of features."""
    tables = (model if isinstance(model, (Model, LocalModel)) else model.model_).model_tables
    table = tables.get("kernel_weights") or tables.get("feature_weights")
    if table is None:
        return (), np.zeros(0), (), None
    return table.rows, table.values[:, output], table.row_groups, norms_of_kernels(tables, output)


class ModelTableDisplay:
    """A table of a model as its learner wants it drawn: bars, curves, or a heat map, which numbers are drawn as, too.

    Parameters
    ----------
    table : ModelTable
        One of a model's `model_tables`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    marks_ : list
        What was drawn: for each column a BarContainer or a Line2D, or the AxesImage.
    """

    def __init__(self, table: ModelTable) -> None:
        self.table = table
        self.ax_: Any = None
        self.figure_: Any = None
        self.marks_: list[Any] = []

    @classmethod
    def from_estimator(
        cls, estimator: Any, name: str, *, ax: Any = None, most: Optional[int] = 20, grid: bool = False, column: int = 0
    ) -> ModelTableDisplay:
        """Draws a table of a fitted estimator; see :meth:`plot`.

        Parameters
        ----------
        estimator : fitted estimator, Model or LocalModel
            Whose table.
        name : str
            Of the table.
        ax : matplotlib Axes, optional
            Where; in a new figure when absent.
        most : int, optional
            So many rows of bars; None: all.
        grid : bool
            True: as a heat map whose rows and columns are the two parts of the rows' names: ``"Fz_t1"``, ...
        column : int
            Which column, with `grid`.
        """
        tables = _tables(estimator)
        if name not in tables:
            raise ValueError(f"the model has no table {name!r}; it has {', '.join(tables) or 'none'}")
        table = grid_of(tables[name], column) if grid else tables[name]
        if table is None:
            raise ValueError(f"the rows of table {name!r} are no grid: their names are no pairs, as Fz_t1 and Cz_t2")
        return cls(table).plot(ax, most=most)

    def plot(self, ax: Any = None, *, most: Optional[int] = 20) -> ModelTableDisplay:
        """Draws.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where; in a new figure when absent.
        most : int, optional
            So many rows of bars; None: all.

        Returns
        -------
        display : ModelTableDisplay
        """
        table = self.table
        if table.drawing == "bars" and table.row_groups and len(table.columns) == 1:
            return self._plot_groups(ax, most)
        order = np.argsort(-np.abs(table.values).max(axis=1, initial=0.0), kind="stable")[:most]
        bars = table.drawing == "bars"
        ax = _axes(ax, height=max(2.0, 1.0 + BAR_INCHES * len(order)) if bars else None)
        if ax is None:
            print_table(table, order if bars else np.arange(len(table.rows))[:most])
            return self
        self.ax_, self.figure_ = ax, ax.figure
        ax.set_title(table.title)
        if bars:
            self._bars(ax, order)
        elif table.drawing == "curve":
            self._curves(ax)
        else:
            self._heat_map(ax)
        return self

    def _plot_groups(self, ax: Any, most: Optional[int]) -> ModelTableDisplay:
        table = self.table
        display = KernelWeightsDisplay(table.rows, table.values[:, 0], table.row_groups)
        display._plot_groups(ax, most, heading(table))
        if display.ax_ is not None:
            self.ax_, self.figure_, self.marks_ = display.ax_, display.figure_, [display.bars_]
            self.ax_.set(title=table.title, xlabel=table.unit)
        return self

    def _bars(self, ax: Any, order: Any) -> None:
        """A bar for each column, side by side; of many columns the means of their sizes."""
        values, columns = self.table.values[order], self.table.columns
        if len(columns) > MOST_IN_LEGEND:
            values = np.abs(values).mean(axis=1, keepdims=True)
            columns = (f"mean size over {len(columns)} {self.table.column_axis}",)
        places = np.arange(len(order))
        height = 0.8 / max(1, len(columns))
        for column, name in enumerate(columns):
            shift = (column - (len(columns) - 1) / 2) * height
            self.marks_.append(ax.barh(places + shift, values[:, column], height, label=shorten(name)))
        ax.set(xlabel=self.table.unit)
        ax.set_yticks(places, [shorten(self.table.rows[i]) for i in order], parse_math=False)
        ax.invert_yaxis()
        if len(self.table.columns) > 1:
            ax.legend()

    def _curves(self, ax: Any) -> None:
        """Over the rows' names, where these are numbers."""
        rows = self.table.rows
        try:
            places: Any = [float(name) for name in rows]
        except ValueError:
            places = np.arange(len(rows))
            if len(rows) <= _MOST_TICKS:
                ax.set_xticks(places, [shorten(name) for name in rows], rotation=90)
        self.marks_ = [ax.plot(places, values, marker=".")[0] for values in self.table.values.T]
        ax.set(xlabel=self.table.row_axis, ylabel=self.table.unit)
        if len(self.marks_) > 1:
            _label(self.marks_, self.table.columns)
            ax.legend(title=self.table.column_axis)

    def _heat_map(self, ax: Any) -> None:
        """From white to one colour, or from one through white to another where there are negative values."""
        values = self.table.values
        signed = bool((values < 0).any())
        largest = np.abs(values).max(initial=0.0) or 1.0
        limits = {"vmin": -largest if signed else 0.0, "vmax": largest}
        image = ax.imshow(values, aspect="auto", cmap="RdBu" if signed else "Blues", **limits)
        self.marks_ = [image]
        ax.figure.colorbar(image, ax=ax, label=self.table.unit)
        ax.set(xlabel=self.table.column_axis, ylabel=self.table.row_axis)
        if len(self.table.columns) <= _MOST_TICKS:
            ax.set_xticks(np.arange(len(self.table.columns)), [shorten(n) for n in self.table.columns], rotation=90)
        if len(self.table.rows) <= _MOST_TICKS:
            ax.set_yticks(np.arange(len(self.table.rows)), [shorten(n) for n in self.table.rows], parse_math=False)


def _tables(model: Any) -> Mapping[str, ModelTable]:
    found: Mapping[str, ModelTable] = (model if isinstance(model, (Model, LocalModel)) else model.model_).model_tables
    return found


def plot_progress(training: Any, ax: Any = None, against: str = "iteration") -> Any:
    """The certified relative gap of a training, on a logarithmic scale.

    Parameters
    ----------
    training : Job, fitted estimator, or iterable of Progress
        Of a job that runs, it is waited for.
    ax : matplotlib Axes, optional
        Where to draw; in a new figure when absent.
    against : {"iteration", "elapsed"}
        Of the horizontal axis.

    Returns
    -------
    ax : matplotlib Axes
        None without matplotlib.
    """
    events = getattr(training, "history_", training)
    return TrainingProgressDisplay.from_job(events, ax=ax, against=against).ax_


def plot_weights(model: Any, ax: Any = None, most: Optional[int] = 20, output: int = 0, grid: bool = False) -> Any:
    """The weights of a model's kernels, or chosen features, as bars, the largest on top.

    Kernels in groups stand below their group, with the norms of their functions where the learner tells them; those
    that are not selected have a ring in place of a bar.

    Parameters
    ----------
    model : Model, LocalModel or fitted estimator
        Whose weights.
    ax : matplotlib Axes, optional
        Where to draw; in a new figure when absent.
    most : int, optional
        So many bars; None: all. Of more kernels in groups, those that are selected are shown, and the rest of each
        group is counted.
    output : int
        Of several classes or tasks, which output.
    grid : bool
        True: as a heat map, of kernels of columns whose names are the cells of a grid, such as channels and times:
        ``"Fz_t1"``, ``"Fz_t2"``, ``"Cz_t1"``, ...

    Returns
    -------
    ax : matplotlib Axes
        None without matplotlib.
    """
    if grid:
        tables = _tables(model)
        return plot_table(model, next(iter(tables)), ax, most, grid=True, column=output)
    return KernelWeightsDisplay.from_estimator(model, ax=ax, most=most, output=output).ax_


def plot_table(
    model: Any, name: str, ax: Any = None, most: Optional[int] = 20, grid: bool = False, column: int = 0
) -> Any:
    """A table of a model as its learner wants it drawn; ``model.tables`` has their names.

    Parameters
    ----------
    model : Model, LocalModel or fitted estimator
        Whose table.
    name : str
        Of the table: ``"kernel_weights"``.
    ax : matplotlib Axes, optional
        Where to draw; in a new figure when absent.
    most : int, optional
        So many rows of bars; None: all.
    grid : bool
        True: a column as a heat map whose rows and columns are the two parts of the rows' names: ``"Fz_t1"``, ...
    column : int
        Which column, with `grid`.

    Returns
    -------
    ax : matplotlib Axes
        None without matplotlib.
    """
    return ModelTableDisplay.from_estimator(model, name, ax=ax, most=most, grid=grid, column=column).ax_


def plot_covariance(model: Any, ax: Any = None, output: int = 0) -> Any:
    """How the gradients in the first columns of the ranking vary together, as a heat map.

    Parameters
    ----------
    model : Model, LocalModel or fitted estimator
        A model of ``coordinate_gradients``.
    ax : matplotlib Axes, optional
        Where to draw; in a new figure when absent.
    output : int
        Of several classes, which output.

    Returns
    -------
    ax : matplotlib Axes
        None without matplotlib.
    """
    names = [name for name in _tables(model) if name.split(".")[0] == "covariance"]
    name = "covariance" if names == ["covariance"] and output == 0 else f"covariance.{output + 1}"
    if name not in names:
        raise ValueError(f"output: the model has the covariances {names}, of number {output} it has none")
    return plot_table(model, name, ax)
