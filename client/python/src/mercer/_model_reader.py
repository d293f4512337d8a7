"""Values off the front of a model file's bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


class ModelFileError(ValueError):
    """The bytes are no model, damaged, or of a newer format."""


class Reader:
    """Takes values off the front of bytes; never reads beyond them, nor allocates more than they can hold."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def _take(self, size: int) -> bytes:
        if size < 0 or size > len(self._content) - self._at:
            raise ModelFileError("the model file is inconsistent: a value reaches beyond its end")
        self._at += size
        return self._content[self._at - size : self._at]

    def at_end(self) -> bool:
        return self._at == len(self._content)

    def byte(self) -> int:
        return self._take(1)[0]

    def integer(self) -> int:
        return int(struct.unpack("<q", self._take(8))[0])

    def uint(self) -> int:
        return int(struct.unpack("<Q", self._take(8))[0])

    def double(self) -> float:
        return float(struct.unpack("<d", self._take(8))[0])

    def string(self) -> str:
        return self._take(self.integer()).decode("utf-8")

    def blob(self) -> bytes:
        return self._take(self.integer())

    def strings(self) -> tuple[str, ...]:
        return self.many(self.string)

    def many(self, read: Callable[[], Any]) -> tuple[Any, ...]:
        return tuple(read() for _ in range(self.integer()))

    def ints(self) -> Indices:
        return np.frombuffer(self._take(8 * self.integer()), "<i8").astype(np.int64)

    def doubles(self, count: Optional[int] = None) -> Array:
        size = self.integer() if count is None else count
        return np.frombuffer(self._take(8 * size), "<f8").astype(np.float64)

    def matrix(self, by_rows: bool = False) -> Array:
        rows, columns = self.integer(), self.integer()
        if rows < 0 or columns < 0:
            raise ModelFileError("the model file is inconsistent: a matrix has a negative size")
        return self.doubles(rows * columns).reshape((rows, columns), order="C" if by_rows else "F")

    def sparse(self) -> Array:
        rows, columns = self.integer(), self.integer()
        starts, indices, values = self.ints(), self.ints(), self.doubles()
        if len(starts) != columns + 1 or len(indices) != len(values) or rows < 0:
            raise ModelFileError("the model file is inconsistent: a sparse matrix")
        dense: Array = np.zeros((rows, columns))
        for column in range(columns):
            part = slice(starts[column], starts[column + 1])
            dense[indices[part], column] = values[part]
        return dense
