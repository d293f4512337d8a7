"""What a learner tells beside the function: named tables with axes, a unit and a hint how to draw them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# In the order of ``core/training/tables/model_table.h``.
DRAWINGS = ("numbers", "bars", "heat_map", "curve")


@dataclasses.dataclass(frozen=True)
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

    def frame(self) -> Any:
        """A pandas DataFrame, whose `attrs` have title, unit and drawing; without pandas the values alone."""
        try:
            import pandas
        except ImportError:
            return self.values
        frame = pandas.DataFrame(
            self.values,
            index=pandas.Index(list(self.rows), name=self.row_axis),
            columns=pandas.Index(list(self.columns), name=self.column_axis),
        )
        frame.attrs.update(title=self.title, unit=self.unit, drawing=self.drawing)
        return frame
