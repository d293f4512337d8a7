"""Precomputed kernels that were made positive semidefinite; ``core/data/preprocess/square_repair.h`` says how."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_SHIFT, _CLIP, _FLIP = 2, 3, 4


@dataclasses.dataclass(frozen=True)
class SquareRepair:
    """What was found out about one matrix."""

    block: str
    rows: npt.NDArray[np.int64]  # the training rows, as columns of the matrix
    eigenvalues: Array  # the negative ones, ascending
    largest: float
    share: float  # of the negative ones in the sum of all magnitudes
    vectors: Array  # rows x eigenvalues; with shift none


def fits(repair: SquareRepair, rule: int, columns: int) -> bool:
    """Whether rows with so many columns can be repaired by that rule."""
    shape = (0, 0) if rule == _SHIFT else (len(repair.rows), len(repair.eigenvalues))
    inside = bool(((repair.rows >= 0) & (repair.rows < columns)).all())
    return rule in (_SHIFT, _CLIP, _FLIP) and repair.vectors.shape == shape and inside


def repair_new_rows(repairs: Sequence[SquareRepair], rule: int, squares: Mapping[str, Array]) -> dict[str, Array]:
    """The matrices between new rows and all rows of the training data, as kernels read them."""
    repaired = dict(squares)
    for repair in repairs:
        if rule != _SHIFT and repair.block in repaired:
            matrix = np.array(repaired[repair.block])
            values = matrix[:, repair.rows]
            removed = 2.0 if rule == _FLIP else 1.0
            matrix[:, repair.rows] = values - removed * ((values @ repair.vectors) @ repair.vectors.T)
            repaired[repair.block] = matrix
    return repaired
