"""Matrices of kernel values and distances in the place of features, as scikit-learn's users pass them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from mercer import kernels as kernel_texts
from mercer._content import Part
from mercer._proto import v1
from mercer._tables import square_part

Array = npt.NDArray[np.float64]

KINDS = {"precomputed": v1.SQUARE_KIND_KERNEL, "distance": v1.SQUARE_KIND_DISTANCE}
# Name of the matrix on the server where there is one; of several, with the number of each behind it.
_NAME = "kernel"


def _kind(text: Any) -> Optional[int]:
    words = text.split() if isinstance(text, str) else []
    return KINDS.get(words[0]) if words else None


def square_texts(kernels: Any) -> list[str]:
    """The texts of an estimator's parameter ``kernels`` where all of them read matrices; else none."""
    # What is neither is no matter of matrices; `parse_all` says what is wrong with it.
    texts = [kernels] if isinstance(kernels, str) else list(kernels) if isinstance(kernels, (list, tuple)) else []
    return texts if texts and all(_kind(text) is not None for text in texts) else []


def stacked(X: Any, texts: Sequence[str] = ("precomputed",)) -> Any:
    """A sequence of matrices as one array with a last axis of kernels; anything else as it is.

    Values that are no numbers are named with their kernels; what reads the array finds others.
    """
    array = _stacked(X)
    if isinstance(array, np.ndarray) and array.ndim in (2, 3) and array.dtype.kind == "f":
        for place in range(array.shape[2] if array.ndim == 3 else 1):
            _check_finite(array[..., place] if array.ndim == 3 else array, place, texts)
    return array


def _stacked(X: Any) -> Any:
    if not isinstance(X, (list, tuple)) or not X:
        return X
    matrices: list[npt.NDArray[Any]] = []
    for place, matrix in enumerate(X):
        matrices.append(_as_array(matrix, place))
        if matrices[-1].ndim != 2:
            return X
        if matrices[-1].shape != matrices[0].shape:
            shapes = f"X[0] has {matrices[0].shape}, X[{place}] has {matrices[-1].shape}"
            raise ValueError(f"the matrices must have one shape; {shapes}")
    # Each matrix stays in one piece, because all that reads them reads one after the other.
    return np.moveaxis(np.stack(matrices), 0, -1)


def _as_array(matrix: Any, place: int) -> npt.NDArray[Any]:
    try:
        return np.asarray(matrix)
    except ValueError as error:
        raise ValueError(f"X[{place}] is no matrix: its rows have different lengths") from error


def _check_finite(matrix: Array, place: int, texts: Sequence[str]) -> None:
    bad = ~np.isfinite(matrix)
    if bad.any():
        row, column = np.unravel_index(int(bad.argmax()), bad.shape)
        raise ValueError(
            f"{_label(place, texts)}: row {row + 1}, column {column + 1} is {matrix[row, column]}; "
            "matrices must have no NaN and no inf"
        )


def _label(place: int, texts: Sequence[str]) -> str:
    """What the server's messages call the kernel."""
    grid = kernel_texts.parse(texts[place if place < len(texts) else 0])
    name = f" {grid.name!r}" if grid.name else ""
    group = f" of group {grid.group!r}" if grid.group else ""
    return f"kernels[{place}]{name}{group}"


def refuse_leading_kernels(X: Any) -> None:
    """Says how to turn an array of ``fit`` whose kernels go along its first axis."""
    if isinstance(X, np.ndarray) and X.ndim == 3 and X.shape[0] != X.shape[1] == X.shape[2]:
        raise ValueError(f"the kernels go along the last axis: np.moveaxis(X, 0, -1); X has {X.shape}")


def check_square(X: Array) -> None:
    """Refuses what is not (n_samples, n_samples) or (n_samples, n_samples, n_kernels), of one kernel or more."""
    if X.ndim > 3 or X.shape[0] != X.shape[1] or 0 in X.shape:
        raise ValueError(
            "a precomputed kernel must be a square matrix, n_samples x n_samples, several of them a list or an array "
            f"n_samples x n_samples x n_kernels; has {X.shape}"
        )


class SquareKernels:
    """Which matrix each text of ``kernels`` reads: its own, in their order, or all the only one.

    Parameters
    ----------
    texts : sequence of str
        One, for all matrices; or as many as there are matrices; or several for the only matrix.
    count : int
        Number of matrices.
    """

    def __init__(self, texts: Sequence[str], count: int) -> None:
        for text in texts:
            if any(word.startswith("block=") for word in text.split()):
                raise ValueError(f"kernel {text!r}: block: the matrices of X are taken in their order")
        if count > 1 and len(texts) not in (1, count):
            raise ValueError(f"kernels has {len(texts)} texts for {count} matrices: give one for all, or one for each")
        self._names = [_NAME] if count == 1 else [f"{_NAME}{number}" for number in range(count)]
        of_matrix = list(texts) * count if len(texts) == 1 else list(texts)
        self._kinds = [_kind(text) for text in of_matrix[:count]]
        if count == 1 and len({_kind(text) for text in texts}) > 1:
            raise ValueError("one matrix holds kernel values or distances; kernels has texts of both")
        self.texts = (
            list(texts) if count == 1 else [f"{text} block={name}" for text, name in zip(of_matrix, self._names)]
        )

    def parts(self, X: Array) -> list[Part]:
        """The matrices beside the table of an upload."""
        return [square_part(name, X[..., k] if X.ndim == 3 else X, kind) for k, (name, kind) in self._all()]

    def _all(self) -> Any:
        return enumerate(zip(self._names, self._kinds))

    def completed(self, X: Any, square_rows: Mapping[str, npt.NDArray[np.int64]], num_rows: int) -> Any:
        """New rows with all matrices, each with a column for every training row.

        Matrices that no prediction reads may be None in a list, and columns those of the training rows that are read,
        where all matrices have the same: what is missing is 0, and is not looked at.
        """
        if isinstance(X, (list, tuple)) and any(matrix is None for matrix in X):
            given = [np.shape(matrix) for matrix in X if matrix is not None]
            missing = [name for name, matrix in zip(self._names, X) if matrix is None and name in square_rows]
            if missing:
                raise ValueError(f"the model reads the matrices {', '.join(missing)} of X: not None")
            if not given:
                raise ValueError("X is made of None alone: one matrix must say how many rows there are")
            X = [np.zeros(given[0]) if matrix is None else matrix for matrix in X]
        X = stacked(X, self.texts)
        read = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *square_rows.values()]))
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if len(shape) in (2, 3) and shape[1] == len(read) != num_rows:
            whole = np.zeros((shape[0], num_rows, *shape[2:]))
            whole[:, read] = X
            return whole
        return X

    def of_rows(self, X: Array) -> dict[str, Array]:
        """The matrices between new and training rows."""
        count = X.shape[2] if X.ndim == 3 else 1
        if count != len(self._names):
            raise ValueError(f"X has {count} matrices, fit saw {len(self._names)}")
        return {name: X[..., k] if X.ndim == 3 else X for k, (name, _) in self._all()}
