"""What a model file says of gradients: functions beside the values, and functions with their own gradient."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Callable

import numpy as np
import numpy.typing as npt

from mercer._model_reader import ModelFileError, Reader

if TYPE_CHECKING:
    from mercer._model_file import KernelTerm

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class GradientTerm:
    """What was learned of the gradient of an output in some columns of all features."""

    output: int
    num_inputs: int
    columns: Indices
    names: tuple[str, ...]
    directions: Array  # columns x directions
    center: Array


@dataclasses.dataclass(frozen=True)
class KernelGradient(GradientTerm):
    """A function for each of the columns, beside the values."""

    functions: KernelTerm


@dataclasses.dataclass(frozen=True)
class DifferentiableTerm(GradientTerm):
    """A function ``slopes'x + sum_j G(x, z_j) (sums_j + moments_j'(x - z_j) / s^2)`` with its gradient.

    G is the Gaussian kernel of the width s, z_j are the rows `anchors` of the basis.
    """

    slopes: Array  # empty: 0
    basis: int
    anchors: Indices
    width: float
    sums: Array
    moments: Array

    def evaluate(self, inputs: Array, points: Array) -> tuple[Array, Array]:
        """Values and gradients, rows x columns, at rows; `points` are all rows of the basis."""
        if inputs.shape[1] != self.num_inputs:
            raise ValueError(f"the rows have {inputs.shape[1]} features, the model reads {self.num_inputs}")
        slopes: Array = self.slopes if len(self.slopes) else np.zeros(self.num_inputs)
        values, gradients = inputs @ slopes, np.tile(slopes, (len(inputs), 1))
        for anchor, own, moments in zip(self.anchors, self.sums, self.moments):
            moved = inputs - points[anchor]
            kernel = np.exp(-0.5 * (moved**2).sum(axis=1) / self.width**2)
            factor = own + moved @ moments / self.width**2
            values += kernel * factor
            gradients += kernel[:, None] / self.width**2 * (moments - factor[:, None] * moved)
        return values, gradients


def _check(term: GradientTerm, outputs: Indices, reader: Reader, own_parts_fit: bool) -> None:
    directions = term.directions
    fits = (
        len(outputs) == 1
        and 0 < len(term.columns) == len(term.names) == len(term.center)
        and all(0 <= column < term.num_inputs for column in term.columns)
        and bool(np.all(np.diff(term.columns) > 0))
        and (directions.shape == (0, 0) or (directions.shape[0] == len(term.columns) and directions.shape[1] > 0))
        and bool(np.isfinite(directions).all() and np.isfinite(term.center).all())
        and own_parts_fit
        and reader.at_end()
    )
    if not fits:
        raise ModelFileError("the model file is inconsistent: a gradient does not fit its columns")


def _kernel_gradient(content: bytes, read_term: Callable[[Reader], KernelTerm]) -> KernelGradient:
    reader = Reader(content)
    outputs, num_inputs, columns, names = reader.ints(), reader.integer(), reader.ints(), reader.strings()
    functions, directions, center = read_term(reader), reader.matrix(), reader.doubles()
    term = KernelGradient(int(outputs[0]), num_inputs, columns, names, directions, center, functions)
    _check(term, outputs, reader, list(functions.outputs) == list(range(len(columns))))
    return term


def _differentiable(content: bytes) -> DifferentiableTerm:
    reader = Reader(content)
    outputs, num_inputs, columns, names = reader.ints(), reader.integer(), reader.ints(), reader.strings()
    directions, center, slopes = reader.matrix(), reader.doubles(), reader.doubles()
    basis, anchors, width = reader.integer(), reader.ints(), reader.double()
    sums, moments = reader.doubles(), reader.matrix()
    term = DifferentiableTerm(
        int(outputs[0]), num_inputs, columns, names, directions, center, slopes, basis, anchors, width, sums, moments
    )
    count = len(anchors)
    fits = (
        len(columns) == num_inputs
        and len(slopes) in (0, num_inputs)
        and len(sums) == len(moments) == count
        and (count == 0 or (moments.shape[1] == num_inputs and 0 < width < np.inf and anchors.min() >= 0))
        and bool(np.isfinite(slopes).all() and np.isfinite(sums).all() and np.isfinite(moments).all())
    )
    _check(term, outputs, reader, fits)
    return term


def read_gradients(
    named: tuple[tuple[str, bytes], ...], read_term: Callable[[Reader], KernelTerm]
) -> tuple[tuple[GradientTerm, ...], tuple[str, ...]]:
    """The gradients among terms that are saved by the names of their kinds, and the other kinds."""
    gradients: list[GradientTerm] = []
    others = []
    for kind, content in named:
        if kind == "gradient":
            gradients.append(_kernel_gradient(content, read_term))
        elif kind == "differentiable":
            gradients.append(_differentiable(content))
        else:
            others.append(kind)
    return tuple(gradients), tuple(others)
