"""From rows as users have them to the features that kernels read, as a model's preprocessing says."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer._model_file import BlockTransform, ColumnTransform, KernelSpec, PreprocessingFile
from mercer._tables import category_text, category_values, is_frame, is_sparse, number_values

Array = npt.NDArray[np.float64]

_UNIT_NORM = 3
_REFUSE = 0
_ALL_ZEROS = 1


def prepared_names(model: PreprocessingFile) -> list[str]:
    """The names of the prepared columns, as the server has them."""
    names, longer = [], []
    for block in model.blocks:
        for position, column in enumerate(block.columns, 1):
            shown = column.name or f"{block.name}[{position}]"
            of_column = [f"{shown}={category}" for category in column.categories] if column.categorical else [shown]
            names += of_column
            longer += [f"{block.name}.{name}" for name in of_column]
    counts = collections.Counter(names)
    return [long if counts[name] > 1 else name for name, long in zip(names, longer)]


@dataclasses.dataclass(frozen=True)
class Features:
    """Preprocessed rows by block: the columns' sources, and their values. `first` is the number of the first row."""

    rows: int
    blocks: Mapping[str, tuple[tuple[str, ...], Array]]
    first: int = 0

    def _read_by(self, spec: KernelSpec) -> Iterator[tuple[list[str], Array]]:
        for name, (sources, values) in self.blocks.items():
            if spec.block in ("", name):
                wanted = [i for i, source in enumerate(sources) if not spec.columns or source in spec.columns]
                yield [sources[i] for i in wanted], values if len(wanted) == values.shape[1] else values[:, wanted]

    def gather(self, spec: KernelSpec) -> Array:
        """The columns that a kernel reads, side by side."""
        parts = [values for _, values in self._read_by(spec)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def check_not_negative(self, spec: KernelSpec) -> None:
        """Refuses the entries that no histogram has, in the words of the server."""
        values = self.gather(spec)
        negative = values < 0
        if negative.any():
            row, column = divmod(int(np.argmax(negative)), values.shape[1])
            name = [source for sources, _ in self._read_by(spec) for source in sources][column]
            raise ValueError(
                f"row {self.first + row}, column {name!r} is {values[row, column]:g}: "
                "a kernel of histograms needs entries >= 0"
            )

    def all(self) -> Array:
        """The columns of all blocks, side by side."""
        parts = [values for _, values in self.blocks.values()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _shown(block: BlockTransform, column: int) -> str:
    return block.columns[column].name or f"{block.name}[{column + 1}]"


def _split_blocks(model: PreprocessingFile, data: Any) -> list[Any]:
    """For each block of the model what holds its columns: a frame, or a matrix of their number."""
    if isinstance(data, Mapping):
        missing = [block.name for block in model.blocks if block.name not in data]
        if missing:
            raise ValueError(f"the rows have no block {missing[0]!r}")
        return [data[block.name] for block in model.blocks]
    if is_frame(data):
        return [data] * len(model.blocks)
    matrix = data.toarray() if is_sparse(data) else np.asarray(data)
    if matrix.ndim != 2:
        raise ValueError(f"the rows must have two dimensions, have {matrix.ndim}")
    widths = [len(block.columns) for block in model.blocks]
    if matrix.shape[1] != sum(widths):
        raise ValueError(f"the rows have {matrix.shape[1]} columns, the model has {sum(widths)}")
    return np.split(matrix, np.cumsum(widths)[:-1], axis=1)


def _raw_column(data: Any, column: ColumnTransform, position: int) -> npt.NDArray[Any]:
    """Numbers; of a categorical column positions in the model's categories, -1 for others, NaN for missing."""
    if not is_frame(data):
        return np.asarray(data[:, position], dtype=np.float64)
    if column.name not in data.columns:
        raise ValueError(f"the rows have no column {column.name!r}")
    values = data[column.name]
    if not column.categorical:
        try:
            return number_values(values).astype(np.float64)
        except (ValueError, TypeError) as error:
            raise ValueError(f"column {column.name!r} must be numbers: {error}") from None
    place = {category: i for i, category in enumerate(column.categories)}
    texts = category_values(values)
    return np.array([np.nan if t is None else place.get(category_text(t), -1) for t in texts], float)


def _map_numbers(values: Array, column: ColumnTransform) -> Array:
    filled = np.where(np.isnan(values), column.fill, values)
    return ((filled - column.offset) * column.factor)[:, None]


def _map_categories(values: Array, column: ColumnTransform, name: str, unseen: int, data: Any, first: int) -> Array:
    codes = np.where(np.isnan(values), column.fill, values).astype(np.int64)
    known = (codes >= 0) & (codes < len(column.categories))
    if unseen == _REFUSE and not known.all():
        row = int(np.argmin(known))
        category = f" {category_text(category_values(data[column.name])[row])!r}" if is_frame(data) else ""
        raise ValueError(f"row {first + row}, column {name!r}: training did not know the category{category}")
    out: Array = np.zeros((len(codes), len(column.categories)))
    out[np.flatnonzero(known), codes[known]] = 1.0
    return out


def _check(values: Array, name: str, imputation: int, first: int) -> None:
    if np.isinf(values).any():
        raise ValueError(f"row {first + int(np.argmax(np.isinf(values)))}, column {name!r}: the value is infinite")
    if imputation == _REFUSE and np.isnan(values).any():
        row = first + int(np.argmax(np.isnan(values)))
        raise ValueError(f"row {row}, column {name!r}: the value is missing (NaN) and the model imputes none")


def _is_numeric(block: BlockTransform) -> bool:
    return not any(column.categorical for column in block.columns)


def _map_matrix(block: BlockTransform, data: Any, imputation: int, first: int) -> Array:
    """All columns of a block of numbers at once."""
    matrix = data.toarray() if is_sparse(data) else data
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != len(block.columns):
        raise ValueError(f"block {block.name!r} must have {len(block.columns)} columns")
    if not np.isfinite(values).all():
        for i in range(values.shape[1]):
            _check(values[:, i], _shown(block, i), imputation, first)
        fill = np.array([column.fill for column in block.columns])
        values = np.where(np.isnan(values), fill, values)
    offset = np.array([column.offset for column in block.columns])
    factor = np.array([column.factor for column in block.columns])
    return np.asarray((values - offset) * factor)


def _map_block(model: PreprocessingFile, block: BlockTransform, data: Any, first: int) -> tuple[tuple[str, ...], Array]:
    if _is_numeric(block) and not is_frame(data):
        sources = [_shown(block, i) for i in range(len(block.columns))]
        return tuple(sources), _map_matrix(block, data, model.imputation, first)
    sources, parts = [], []
    for i, column in enumerate(block.columns):
        name = _shown(block, i)
        values = _raw_column(data, column, i)
        _check(values, name, model.imputation, first)
        if column.categorical:
            parts.append(_map_categories(values, column, name, model.unseen_category, data, first))
        else:
            parts.append(_map_numbers(values, column))
        sources.extend([name] * parts[-1].shape[1])
    return tuple(sources), np.concatenate(parts, axis=1)


def _unit_norm(values: Array) -> Array:
    largest = np.abs(values).max(axis=1, initial=0.0, keepdims=True)
    scaled = values / np.where(largest == 0, 1.0, largest)
    norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    return np.asarray(scaled / np.where(norms == 0, 1.0, norms))


def with_zeros(model: PreprocessingFile) -> PreprocessingFile:
    """The same map, but categories that training did not know leave all features of their column 0."""
    return dataclasses.replace(model, unseen_category=_ALL_ZEROS)


def refused_rows(model: PreprocessingFile, data: Any, rows: int) -> npt.NDArray[np.bool_]:
    """Which rows the model refuses because training did not know a category of theirs."""
    refused = np.zeros(rows, dtype=bool)
    if not model.blocks:
        return refused
    for block, part in zip(model.blocks, _split_blocks(model, data)):
        for i, column in enumerate(block.columns):
            if column.categorical and model.unseen_category == _REFUSE:
                codes = _raw_column(part, column, i)
                refused |= ~np.isnan(codes) & ~((codes >= 0) & (codes < len(column.categories)))
    return refused


def prepare(model: PreprocessingFile, data: Any, count: int, first: int = 0) -> Features:
    """The features of `count` rows from number `first`; of a model that reads square matrices alone there are none.

    Raises
    ------
    ValueError
        Naming the row (from 0) and column that do not fit the model.
    """
    blocks: dict[str, tuple[tuple[str, ...], Array]] = {}
    if not model.blocks:
        return Features(count, blocks, first)
    for block, part in zip(model.blocks, _split_blocks(model, data)):
        sources, values = _map_block(model, block, part, first)
        if model.scaling == _UNIT_NORM:
            values = _unit_norm(values)
        blocks[block.name] = (sources, values)
    return Features(count, blocks, first)
