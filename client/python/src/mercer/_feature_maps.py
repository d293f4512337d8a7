"""Families of features that models predict with, as functions of rows of the features of all blocks side by side."""

from __future__ import annotations

import dataclasses
from typing import Union

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class FourierMap:
    """Cosine and sine of each row of ``frequencies`` (pairs x inputs) in turn."""

    frequencies: Array

    @property
    def columns(self) -> int:
        """Number of the features."""
        return 2 * len(self.frequencies)

    def values(self, inputs: Array, coefficients: Array) -> Array:
        """The features at rows of inputs times the coefficients (features x outputs)."""
        arguments = inputs @ self.frequencies.T
        return np.asarray(np.cos(arguments) @ coefficients[::2] + np.sin(arguments) @ coefficients[1::2])


@dataclasses.dataclass(frozen=True)
class ColumnMap:
    """The inputs at ``positions`` themselves."""

    positions: Indices

    @property
    def columns(self) -> int:
        """Number of the features."""
        return len(self.positions)

    def values(self, inputs: Array, coefficients: Array) -> Array:
        """The features at rows of inputs times the coefficients (features x outputs)."""
        return np.asarray(inputs[:, self.positions] @ coefficients)


@dataclasses.dataclass(frozen=True)
class GaborMap:
    """Answers of square patches, pixels row by row, to oriented waves; ``GaborFeatures`` of the API says which.

    ``parameters`` (filters x 4): scale_z, scale_y, frequency, angle. ``positions`` (positions x 2): row and column.
    """

    size: int
    positions: Indices
    subtract_mean: bool
    parameters: Array

    @property
    def columns(self) -> int:
        """Number of the features."""
        return len(self.parameters)

    def _filters(self, parameters: Array) -> Array:
        scale_z, scale_y, frequency, angle = parameters
        row, column = np.divmod(np.arange(self.size**2), self.size)
        z = row[:, None] - self.positions[:, 0]
        y = column[:, None] - self.positions[:, 1]
        along = z * np.cos(angle) + y * np.sin(angle)
        across = -z * np.sin(angle) + y * np.cos(angle)
        window = np.exp(-(along**2) / (2 * scale_z**2) - across**2 / (2 * scale_y**2))
        filters: Array = window * np.cos(2 * np.pi * frequency * along)
        return filters - filters.mean(axis=0) if self.subtract_mean else filters

    def values(self, inputs: Array, coefficients: Array) -> Array:
        """The features at rows of inputs times the coefficients (features x outputs)."""
        features = [np.abs(inputs @ self._filters(one)).sum(axis=1) for one in self.parameters]
        return np.asarray(np.stack(features, axis=1) @ coefficients)


def grid_positions(size: int, per_side: int) -> Indices:
    """The middles of the cells of a grid over a patch: row and column."""
    middles = (2 * np.arange(per_side) + 1) * size // (2 * per_side)
    return np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1).reshape(-1, 2).astype(np.int64)


FeatureMap = Union[FourierMap, ColumnMap, GaborMap]
