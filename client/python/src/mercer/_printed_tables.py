"""Charts as text, where there is no matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer._group_bars import shorten
from mercer._model_tables import ModelTable

Array = npt.NDArray[np.float64]

MOST_IN_LEGEND = 10
_TEXT_BAR = 25


def print_bars(names: Sequence[str], weights: Array) -> None:
    """A line for each name: a bar and its number."""
    width, largest = max(map(len, names), default=0), np.abs(weights).max(initial=0.0)
    for name, weight in zip(names, weights):
        bar = "█" * round(_TEXT_BAR * abs(weight) / largest) if largest > 0 else ""
        print(f"{name:{width}} {bar:{_TEXT_BAR}} {weight:.3g}")


def heading(table: ModelTable) -> str:
    """The title of a table, with its unit."""
    return f"{table.title}, in {table.unit}" if table.unit else table.title


def print_table(table: ModelTable, order: Any) -> None:
    """The rows of a table in this order, as bars where it has one column of them."""
    print(heading(table))
    names = [shorten(table.rows[i]) for i in order]
    if table.drawing == "bars" and len(table.columns) == 1:
        print_bars(names, table.values[order, 0])
        return
    shown = table.columns[:MOST_IN_LEGEND]
    cells = [[f"{value:.4g}" for value in row] for row in table.values[order, : len(shown)]]
    widths = [max(len(text) for text in column) for column in zip(shown, *cells)]
    width = max(map(len, names), default=0)
    for name, texts in zip(["", *names], [list(shown), *cells]):
        print(f"{name:{width}} " + " ".join(f"{text:>{size}}" for text, size in zip(texts, widths)))
    if len(table.columns) > len(shown):
        print(f"{len(table.columns) - len(shown)} more {table.column_axis}")
