"""What is uploaded: the header that describes it, and its bytes, which can be read more than once."""

from __future__ import annotations

import dataclasses
import hashlib
import pathlib
from typing import Any, Callable, Iterator, Sequence, Union

import numpy as np
import numpy.typing as npt

CHUNK_BYTES = 2 << 20  # the server takes 4 MiB
Bytes = Union[bytes, memoryview]
Array = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Part:
    """One part of an upload: an ``UploadPart``, and a function that reads its bytes from the beginning."""

    description: Any
    read: Callable[[], Iterator[Bytes]]


@dataclasses.dataclass(frozen=True)
class Digest:
    """Of all bytes of all parts, one after the other."""

    sha256: str
    num_bytes: int


def digest_parts(parts: Sequence[Part]) -> Digest:
    """Reads all parts once, in constant memory."""
    sha256 = hashlib.sha256()
    num_bytes = 0
    for part in parts:
        for chunk in part.read():
            sha256.update(chunk)
            num_bytes += len(chunk)
    return Digest(sha256.hexdigest(), num_bytes)


def identity(parts: Sequence[Part], digest: Digest) -> str:
    """40 hexadecimal digits that say what the data set is: equal for equal bytes with an equal description."""
    sha256 = hashlib.sha256(digest.sha256.encode())
    for part in parts:
        sha256.update(part.description.SerializeToString(deterministic=True))
        sha256.update(b"\0")
    return sha256.hexdigest()[:40]


def read_file(path: pathlib.Path) -> Callable[[], Iterator[Bytes]]:
    """A function that reads a file in chunks."""

    def read() -> Iterator[Bytes]:
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    return read


def _is_plain(matrix: npt.NDArray[Any], number: str) -> bool:
    return matrix.dtype == np.dtype(number) and bool(matrix.flags.c_contiguous)


def read_columns(columns: Sequence[npt.NDArray[Any]], number: str = "<f8") -> Callable[[], Iterator[Bytes]]:
    """A function that reads matrices side by side, row by row as numbers of that type, little-endian doubles.

    Each is (rows, width) or (rows,). A single contiguous matrix of such numbers is not copied.
    """
    matrices: list[npt.NDArray[Any]] = [m.reshape(m.shape[0], -1) for m in columns]
    rows = matrices[0].shape[0]
    width = sum(m.shape[1] for m in matrices)
    step = max(1, CHUNK_BYTES // max(1, 8 * width))

    def read() -> Iterator[Bytes]:
        if width == 0 or rows == 0:
            return
        whole = len(matrices) == 1 and _is_plain(matrices[0], number)
        for begin in range(0, rows, step):
            end = min(begin + step, rows)
            if whole:
                yield matrices[0][begin:end].data.cast("B")
                continue
            chunk: npt.NDArray[Any] = np.empty((end - begin, width), number)
            at = 0
            for matrix in matrices:
                chunk[:, at : at + matrix.shape[1]] = matrix[begin:end]
                at += matrix.shape[1]
            yield chunk.data.cast("B")

    return read


def read_svmlight(matrix: Any, target: npt.NDArray[Any]) -> Callable[[], Iterator[Bytes]]:
    """A function that reads a CSR matrix as lines ``label index:value ...``; numbers keep all their digits."""
    step = 1024

    def line(row: int) -> str:
        begin, end = matrix.indptr[row], matrix.indptr[row + 1]
        indices = (matrix.indices[begin:end] + 1).tolist()
        values = matrix.data[begin:end].tolist()
        cells = " ".join([f"{i}:{v!r}" for i, v in zip(indices, values)])
        return f"{float(target[row])!r} {cells}\n"

    def read() -> Iterator[Bytes]:
        for begin in range(0, matrix.shape[0], step):
            rows = range(begin, min(begin + step, matrix.shape[0]))
            yield from cut("".join(map(line, rows)).encode("ascii"))

    return read


def cut(data: bytes) -> Iterator[bytes]:
    """The bytes in chunks."""
    for begin in range(0, len(data), CHUNK_BYTES):
        yield data[begin : begin + CHUNK_BYTES]


def number_chunks(parts: Sequence[Part]) -> Iterator[tuple[int, int, Bytes]]:
    """(part, offset within it, bytes) of all chunks."""
    for index, part in enumerate(parts):
        offset = 0
        for chunk in part.read():
            yield index, offset, chunk
            offset += len(chunk)
