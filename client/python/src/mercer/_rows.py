"""From NumPy, SciPy and pandas to rows to predict."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional, Sequence

import numpy as np

from mercer._proto import v1
from mercer._tables import (
    category_text,
    category_values,
    is_categorical,
    is_frame,
    is_sparse,
    number_values,
    task_texts,
)

# Rows of a message: at most so many numbers, of 8 bytes, well below the server's limit of 64 MiB.
_NUMBERS_OF_A_MESSAGE = 1 << 20


def num_rows(data: Any, squares: Optional[Mapping[str, Any]] = None) -> int:
    """Number of rows of a matrix, frame, or mapping of blocks; without `data` of the square matrices."""
    if data is None and squares:
        return num_rows(_square(next(iter(squares.values())))[0])
    if isinstance(data, Mapping):
        counts = {num_rows(block) for block in data.values()}
        if len(counts) != 1:
            raise ValueError("the blocks must have the same number of rows")
        return counts.pop()
    if not hasattr(data, "shape"):
        data = np.asarray(data)
    if len(data.shape) != 2:
        raise ValueError(f"the rows must have two dimensions, have {len(data.shape)}")
    return int(data.shape[0])


def _width(data: Any) -> int:
    if data is None:
        return 0
    if isinstance(data, Mapping):
        return sum(_width(block) for block in data.values())
    return int(data.shape[1]) if hasattr(data, "shape") else int(np.asarray(data).shape[1])


def slice_rows(data: Any, begin: int, end: int) -> Any:
    """Rows `begin` to `end` of what users have; of nothing nothing."""
    if data is None:
        return None
    if isinstance(data, Mapping):
        return {name: slice_rows(block, begin, end) for name, block in data.items()}
    if is_frame(data):
        return data.iloc[begin:end]
    return data[begin:end] if is_sparse(data) else np.asarray(data)[begin:end]


def _square(value: Any) -> tuple[Any, Sequence[int]]:
    """A square matrix, and the training rows that its columns are; none: all of them."""
    matrix, training_rows = value if isinstance(value, tuple) else (value, ())
    return np.asarray(matrix), training_rows


def _raw(matrix: Any) -> Any:
    array = np.ascontiguousarray(matrix, dtype="<f8")
    return v1.Matrix(rows=array.shape[0], columns=array.shape[1], raw=array.tobytes())


def _add_frame(rows: Any, block: str, frame: Any) -> None:
    if all(getattr(dtype, "kind", "O") in "buif" for dtype in frame.dtypes):
        rows.dense.add(name=block, columns=[str(c) for c in frame.columns], values=_raw(frame.to_numpy()))
        return
    for position, name in enumerate(frame.columns):
        column, series = rows.columns.add(name=str(name)), frame.iloc[:, position]
        if is_categorical(series):
            column.texts.values.extend("" if t is None else category_text(t) for t in category_values(series))
        else:
            column.numbers.values.extend(number_values(series).astype(np.float64).tolist())


def _add_block(rows: Any, block: str, data: Any) -> None:
    if is_frame(data):
        _add_frame(rows, block, data)
    elif is_sparse(data):
        csr = data.tocsr()
        csr.sort_indices()
        sparse = rows.sparse.add(name=block, num_columns=csr.shape[1])
        sparse.row_starts.extend((csr.indptr - csr.indptr[0]).tolist())
        sparse.column_indices.extend(csr.indices.tolist())
        sparse.values.extend(csr.data.astype(np.float64).tolist())
    else:
        array = np.asarray(data)
        if array.dtype.kind not in "buif":
            raise ValueError(f"rows must be real numbers, are {array.dtype}; use a DataFrame for categories")
        rows.dense.add(name=block, values=_raw(array))


def make_rows(data: Any, squares: Optional[Mapping[str, Any]] = None, tasks: Sequence[str] = ()) -> Any:
    """The message Rows of a matrix, a DataFrame, or a mapping of block names to those, or of `squares` alone."""
    rows = v1.Rows(tasks=tasks)
    tables = {} if data is None else data if isinstance(data, Mapping) else {"": data}
    for name, block in tables.items():
        _add_block(rows, name, block)
    for name, value in (squares or {}).items():
        matrix, training_rows = _square(value)
        rows.squares.add(name=name, values=_raw(matrix), training_rows=training_rows)
    return rows


def rows_of_a_message(data: Any, squares: Optional[Mapping[str, Any]] = None) -> int:
    """How many rows a message has at most."""
    width = _width(data) + sum(_square(value)[0].shape[1] for value in (squares or {}).values())
    return max(1, _NUMBERS_OF_A_MESSAGE // max(1, int(width)))


def batches(
    data: Any,
    squares: Optional[Mapping[str, Any]] = None,
    tasks: Any = None,
    may_be_missing: bool = False,
    most_rows: Optional[int] = None,
) -> Iterator[Any]:
    """Messages Rows of at most some megabytes each, in order. A row may have no task where `may_be_missing` says so."""
    total = num_rows(data, squares)
    texts = [] if tasks is None else task_texts(tasks, total, may_be_missing)
    step = most_rows or rows_of_a_message(data, squares)
    for begin in range(0, total, step):
        end = min(begin + step, total)
        matrices = {name: _square(value) for name, value in (squares or {}).items()}
        parts = {name: (matrix[begin:end], training_rows) for name, (matrix, training_rows) in matrices.items()}
        yield make_rows(slice_rows(data, begin, end), parts, texts[begin:end])
