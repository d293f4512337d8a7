"""Values of kernels between rows, as the server computes them, to rounding."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from mercer._model_file import KernelSpec

Array = npt.NDArray[np.float64]

(
    LINEAR, POLYNOMIAL, GAUSSIAN, LAPLACIAN, CHI_SQUARE, EUCLIDEAN, PRECOMPUTED, DISTANCE, HELLINGER, INTERSECTION,
) = range(10)  # fmt: skip
SQUARE_TYPES = (PRECOMPUTED, DISTANCE)
HISTOGRAM_TYPES = (CHI_SQUARE, HELLINGER, INTERSECTION)

# A distance below 0 by no more than this share of the largest magnitude in its row is 0, as in
# ``core/kernels/gram/kernel_source.h``.
_DISTANCE_ROUNDING = 4e-8
# What rounding of distances may add to a decision value.
_TOLERANCE = 5e-11


def _by_columns(x: Array, z: Array, of_differences: Any) -> Array:
    """The sum over the columns of a ufunc of the differences, which cancel nothing but what is equal."""
    total: Array = np.zeros((x.shape[0], z.shape[0]))
    values: Array = np.empty_like(total)
    for column in range(x.shape[1]):
        np.subtract(x[:, column, None], z[None, :, column], out=values)
        total += of_differences(values, out=values)
    return total


def _exponential(distances: Array, rate: float) -> Array:
    values = distances * -rate
    return np.asarray(np.exp(values, out=values))


def _chi_square(x: Array, z: Array) -> Array:
    total: Array = np.zeros((x.shape[0], z.shape[0]))
    for column in range(x.shape[1]):
        difference = x[:, column, None] - z[None, :, column]
        together = x[:, column, None] + z[None, :, column]
        total += np.divide(difference**2, together, out=np.zeros_like(total), where=together != 0)
    return 0.5 * total


def _intersection(x: Array, z: Array) -> Array:
    total: Array = np.zeros((x.shape[0], z.shape[0]))
    for column in range(x.shape[1]):
        total += np.minimum(x[:, column, None], z[None, :, column])
    return total


def _fast_squares(x: Array, z: Array) -> Array:
    """|x_i - z_j|^2 by a matrix product; its rounding is at most about ``2 eps (|x|^2 + |z|^2)``."""
    distances = x @ z.T
    distances *= -2.0
    distances += _squares(x)[:, None]
    distances += _squares(z)[None, :]
    return np.asarray(np.maximum(distances, 0.0, out=distances))


def _squares(rows: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


class PairValues:
    """What kernels of one source share for the same rows: products and distances, each computed once.

    `first` is the number of the first row of `x`.
    """

    def __init__(self, x: Array, z: Array, first: int) -> None:
        self._first = first
        self._x = x
        self._z = z
        largest = _squares(x).max(initial=0.0) + _squares(z).max(initial=0.0)
        self._rounding = float(2 * np.finfo(float).eps * largest)
        self._found: dict[str, Array] = {}

    def _shared(self, name: str, compute: Callable[[], Array]) -> Array:
        if name not in self._found:
            self._found[name] = compute()
        return self._found[name]

    def kernel(self, spec: KernelSpec, amplification: float) -> Array:
        """Values k(x_i, z_j); `amplification` is what an error of all of them becomes in a decision value."""
        x, z = self._x, self._z
        if spec.type in (LINEAR, POLYNOMIAL, INTERSECTION):
            return self._product(spec)
        if spec.type == GAUSSIAN:
            rate = 0.5 / spec.bandwidth / spec.bandwidth
            if rate * self._rounding * amplification <= _TOLERANCE:
                squares = self._shared("fast squares", lambda: _fast_squares(x, z))
            else:
                squares = self._shared("squares", lambda: _by_columns(x, z, np.square))
            return _exponential(squares, rate)
        if spec.type == LAPLACIAN:
            distances = self._shared("absolute", lambda: _by_columns(x, z, np.abs))
        elif spec.type == EUCLIDEAN:
            # The square root magnifies rounding near 0, so a matrix product will not do.
            distances = np.sqrt(self._shared("squares", lambda: _by_columns(x, z, np.square)))
        elif spec.type == HELLINGER:
            of_roots = self._shared("roots", lambda: _by_columns(np.sqrt(x), np.sqrt(z), np.square))
            distances = 0.5 * of_roots
        else:
            distances = self._shared("chi square", lambda: _chi_square(x, z))
        return _exponential(distances, 1.0 / spec.bandwidth)

    def _product(self, spec: KernelSpec) -> Array:
        if spec.type == INTERSECTION:
            values = self._shared("intersection", lambda: _intersection(self._x, self._z))
            x_diagonal, z_diagonal = self._x.sum(axis=1), self._z.sum(axis=1)
        else:
            values = _polynomial(spec, self._shared("product", lambda: self._x @ self._z.T))
            x_diagonal = _polynomial(spec, _squares(self._x))
            z_diagonal = _polynomial(spec, _squares(self._z))
        if not spec.unit_diagonal:
            return values
        if not (x_diagonal > 0).all():
            row = self._first + int(np.argmin(x_diagonal > 0))
            raise ValueError(f"row {row}: the kernel of the row with itself is not positive, so it has no norm")
        return np.asarray(values / np.sqrt(x_diagonal)[:, None] / np.sqrt(z_diagonal)[None, :])


def _polynomial(spec: KernelSpec, products: Array) -> Array:
    if spec.type == LINEAR:
        return products
    return (spec.scale * products + spec.offset) ** spec.degree


def square_values(spec: KernelSpec, name: str, matrix: Array, columns: npt.NDArray[np.int64], first: int) -> Array:
    """Of a precomputed kernel or a distance: from some columns of a matrix, whose first row has the number `first`.

    As the server has it (``core/kernels/gram/cross_kernels.cc``), a distance below 0 by rounding is 0, and others are
    refused.
    """
    entries = matrix[:, columns]
    if spec.type == PRECOMPUTED:
        return entries
    limits = _DISTANCE_ROUNDING * np.abs(matrix).max(axis=1, initial=0.0)
    below = entries < -limits[:, None]
    if below.any():
        row, place = divmod(int(np.argmax(below)), below.shape[1])
        raise ValueError(
            f"matrix {name!r}: row {first + row}, column {columns[place]} is {entries[row, place]:g}, "
            "a distance must be >= 0"
        )
    return np.asarray(np.exp(-np.maximum(entries, 0.0) / spec.bandwidth))
