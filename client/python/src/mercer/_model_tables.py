"""What a learner tells beside the function: named tables with axes, a unit and a hint how to draw them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# In the order of ``core/training/tables/model_table.h``.
DRAWINGS = ("numbers", "bars", "heat_map", "curve")


@dataclasses.dataclass(frozen=True, eq=False)
class ModelTable:
    """One table of a model.

    Attributes
    ----------
    name : str
        Of the table among those of the model: ``"kernel_weights"``.
    title : str
        For people.
    row_axis, column_axis : str
        What rows and columns are: ``"kernels"``, ``"outputs"``.
    rows, columns : tuple of str
        Their names.
    values : ndarray of shape (rows, columns)
    unit : str
        Of the values; empty: none.
    drawing : str
        How it is best drawn: ``"numbers"``, ``"bars"`` (one for each row), ``"heat_map"`` or ``"curve"`` (one for each
        column, over the rows in their order).
    row_groups : tuple of str
        The group that each row is in, ``""`` being that of kernels by default; empty: the rows are in no groups.
    """

    name: str
    title: str
    row_axis: str
    column_axis: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array
    unit: str
    drawing: str
    row_groups: tuple[str, ...] = ()

    def frame(self) -> Any:
        """A pandas DataFrame, whose `attrs` have title, unit and drawing; without pandas the values alone.

        Where the rows are in groups, its index has them before the rows.
        """
        try:
            import pandas
        except ImportError:
            return self.values.copy()
        index = pandas.Index(list(self.rows), name=self.row_axis)
        if self.row_groups:
            index = pandas.MultiIndex.from_arrays([self.row_groups, self.rows], names=["group", self.row_axis])
        frame = pandas.DataFrame(
            self.values.copy(),
            index=index,
            columns=pandas.Index(list(self.columns), name=self.column_axis),
        )
        frame.attrs.update(title=self.title, unit=self.unit, drawing=self.drawing)
        return frame


def from_message(message: Any) -> ModelTable:
    """A table as the server sends it."""
    rows, columns = tuple(message.rows), tuple(message.columns)
    known = 1 <= message.drawing <= len(DRAWINGS)
    return ModelTable(
        name=message.name,
        title=message.title,
        row_axis=message.row_axis,
        column_axis=message.column_axis,
        rows=rows,
        columns=columns,
        values=np.array(message.values.values, dtype=np.float64).reshape(len(rows), len(columns)),
        unit=message.unit,
        drawing=DRAWINGS[message.drawing - 1] if known else "numbers",
        row_groups=tuple(message.row_groups),
    )


# What stands between the two parts of a name, the first that fits all of them.
_BETWEEN = ("@", "_", ":", "/", ".", "-", " ")
_LINEAR = "linear(columns="


def _of_column(name: str) -> str:
    """The column that a linear kernel is of, as its own name; ``"Fz[1]"`` is another form of ``"Fz@1"``."""
    if name.startswith(_LINEAR) and name.endswith(")") and "," not in name:
        name = name[len(_LINEAR) : -1]
    return re.sub(r"^(.+)\[([^\[\]]+)\]$", r"\1@\2", name)


def grid_of(table: ModelTable, column: int = 0) -> Optional[ModelTable]:
    """A column of a table whose rows are the cells of a grid, as that: ``"Fz_t1"``, ``"Fz_t2"``, ``"Cz_t1"``, ...

    Parameters
    ----------
    table : ModelTable
    column : int
        Which of its columns.

    Returns
    -------
    grid : ModelTable, optional
        Rows and columns by the first and second part of the names, which stand before and after the last ``_`` (or
        ``@ : / . -`` or a blank) of each, or are ``Fz[1]``. None where the rows are no grid of at least two by two.
    """
    names = [_of_column(name) for name in table.rows]
    for between in _BETWEEN:
        parts = [name.rpartition(between) for name in names]
        rows = list(dict.fromkeys(first for first, _, _ in parts))
        columns = list(dict.fromkeys(last for _, _, last in parts))
        cells = {(first, last): i for i, (first, _, last) in enumerate(parts)}
        is_grid = all(first and last for first, _, last in parts) and min(len(rows), len(columns)) >= 2
        if is_grid and len(cells) == len(names) == len(rows) * len(columns):
            values = np.array([[table.values[cells[row, name], column] for name in columns] for row in rows])
            title = f"{table.title}: {table.columns[column]}" if len(table.columns) > 1 else table.title
            return ModelTable(
                table.name, title, table.row_axis, "", tuple(rows), tuple(columns), values, table.unit, "heat_map"
            )
    return None


def weights_table(
    name: str, title: str, row_axis: str, rows: Sequence[str], weights: Array, groups: Sequence[str] = ()
) -> ModelTable:
    """Weights of kernels or features with a column for each output, which has no name yet."""
    return ModelTable(name, title, row_axis, "", tuple(rows), (), weights, "", "bars", tuple(groups))


def tables_of_weights(
    kernels: Sequence[str],
    kernel_weights: Array,
    groups: Sequence[str],
    features: Sequence[str],
    feature_weights: Array,
) -> list[ModelTable]:
    """Those of the two that a model has."""
    tables = (
        weights_table("kernel_weights", "kernel weights", "kernels", kernels, kernel_weights, groups),
        weights_table("feature_weights", "chosen features", "features", features, feature_weights),
    )
    return [table for table in tables if table.rows]


def keys_of(names: Iterable[str]) -> list[str]:
    """Names of which no two are alike: of equal ones all but the first have a number behind them, "linear (2)"."""
    names = list(names)
    taken = set(names)
    seen: dict[str, int] = {}
    keys = []
    for name in names:
        number = seen.get(name, 0) + 1
        while number > 1 and f"{name} ({number})" in taken:
            number += 1
        key = name if number == 1 else f"{name} ({number})"
        seen[name] = number
        taken.add(key)
        keys.append(key)
    return keys


def in_groups(names: Sequence[str], groups: Sequence[str]) -> list[str]:
    """The names of kernels, each behind that of its group where it is in one."""
    return [f"{group}: {name}" if group else name for name, group in zip(names, groups or [""] * len(names))]


def norms_of_kernels(tables: Mapping[str, ModelTable], output: int) -> Optional[Array]:
    """The norms of the kernels' functions in one output, where the learner tells them.

    They are the column "norm" of a table over all kernels. Where the outputs are learnt apart, each has a table, with
    its number, from 1, behind a dot of its name.
    """
    kernels = tables.get("kernel_weights")
    for table in tables.values():
        of_output = table.name.partition(".")[2] in ("", str(output + 1))
        if kernels and of_output and table.row_axis == "kernels" and len(table.rows) == len(kernels.rows):
            if "norm" in table.columns:
                return table.values[:, table.columns.index("norm")]
    return None


def named(tables: Iterable[ModelTable], outputs: Sequence[str], axis: str) -> dict[str, ModelTable]:
    """Tables by name; columns without names are the outputs, as the server names them."""
    found: dict[str, ModelTable] = {}
    for table in tables:
        if not table.columns:
            count = table.values.shape[1]
            numbers = ("all outputs",) if count == 1 else tuple(str(i + 1) for i in range(count))
            columns = tuple(outputs) if count == len(outputs) else numbers
            table = dataclasses.replace(table, columns=columns, column_axis=axis)
        found[table.name] = table
    return found


def frames(tables: dict[str, ModelTable]) -> dict[str, Any]:
    """The tables as DataFrames; without pandas their values."""
    return {name: table.frame() for name, table in tables.items()}
