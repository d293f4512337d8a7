"""Uploads: what the server has is not sent, and what broke off goes on where it was."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any, Callable, Iterator, Optional, Sequence

import grpc

from mercer import errors
from mercer._channel import Connection, Requests
from mercer._content import Bytes, Digest, Part, digest_parts, identity, number_chunks
from mercer._proto import v1
from mercer._retry import CALLS, Backoff

# Smaller uploads are simply made again: asking how far they came would cost more.
_RESUMABLE_BYTES = 4 << 20
# What the server keeps of the header of an upload that can be resumed, less room for its ids.
_RESUMABLE_HEADER_BYTES = (4 << 20) - 1024
# Reasons of errors that another attempt may mend although their code is not UNAVAILABLE.
_MAY_MEND = ("CHUNK_CHECKSUM", "BAD_UPLOAD_OFFSET", "UPLOAD_TAKEN_OVER")
CONTENT_LABEL = "content"

_CHUNK = v1.UploadChunk.DESCRIPTOR
_REQUEST = v1.UploadDatasetRequest.DESCRIPTOR

OnProgress = Callable[[int], None]
Position = tuple[int, int]  # part, offset within it
_FINISHED: Position = (1 << 30, 0)  # behind all bytes: the header suffices


@dataclasses.dataclass(frozen=True)
class ChunkRequest:
    """An ``UploadDatasetRequest`` with a chunk, whose bytes are copied once, not by every message that holds them."""

    part: int
    offset: Optional[int]
    data: Bytes

    def SerializeToString(self) -> bytes:  # noqa: N802 - the name that messages have
        """The message's wire format: fields of a message may be joined."""
        chunk = v1.UploadChunk(part=self.part, offset=self.offset).SerializeToString()
        head = chunk + _field_head(_CHUNK.fields_by_name["data"], len(self.data))
        length = len(head) + len(self.data)
        return b"".join((_field_head(_REQUEST.fields_by_name["chunk"], length), head, self.data))


def _field_head(field: Any, length: int) -> bytes:
    """What precedes the bytes of a field: its number, the wire type 2 (bytes follow), and how many they are."""
    return _varint(field.number << 3 | 2) + _varint(length)


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


class Upload:
    """One data set on its way to the server."""

    def __init__(self, connection: Connection, parts: Sequence[Part], on_progress: Optional[OnProgress] = None) -> None:
        self._connection = connection
        self._parts = parts
        self._digest: Digest = digest_parts(parts)
        self._on_progress = on_progress or (lambda sent: None)
        self.content = identity(parts, self._digest)

    @property
    def num_bytes(self) -> int:
        """Of all parts."""
        return self._digest.num_bytes

    def run(self, dataset_id: str = "", display_name: str = "", labels: Any = None) -> Any:
        """The stored Dataset message. Without a `dataset_id` the content chooses it."""
        name = dataset_id or f"c-{self.content}"
        found = self._find(name)
        if found is not None:
            self._on_progress(self.num_bytes)
            return found
        header = v1.UploadHeader(
            dataset_id=name,
            display_name=display_name,
            labels={**(labels or {}), CONTENT_LABEL: self.content},
            parts=[part.description for part in self._parts],
            sha256=self._digest.sha256,
            total_bytes=self.num_bytes,
        )
        # Either makes an upload that is repeated, by whatever process, the same one.
        if self.num_bytes >= _RESUMABLE_BYTES and header.ByteSize() <= _RESUMABLE_HEADER_BYTES:
            header.upload_id = _header_id(header)
        else:
            header.request_id = _header_id(header)
        try:
            return self._send_with_retries(header)
        except errors.AlreadyExistsError:
            # An attempt that was thought lost had arrived, or somebody else was faster.
            found = self._find(name)
            if found is None and not dataset_id and self._connection.caller:
                # It is another's, and this caller may not look at it. He gets one of his own, the same each time.
                return self.run(f"{name}-{self._connection.caller}", display_name, labels)
            if found is None:
                raise
            return found

    def _find(self, name: str) -> Any:
        """The data set `name` if it has this content; None when there is no such data set."""
        request = v1.GetDatasetRequest(name=f"datasets/{name}", view=v1.DATASET_VIEW_BASIC)
        try:
            dataset = self._connection.call("GetDataset", request)
        except errors.NotFoundError:
            return None
        except errors.AccessError as error:
            if error.reason != "SCOPE_MISSING":
                raise
            return None  # who may upload need not be allowed to ask
        # Who has changed the labels may have dropped this one; a name that the content chose tells it, too.
        known = dataset.labels.get(CONTENT_LABEL) or name.removeprefix("c-")[: len(self.content)]
        if known != self.content:
            raise errors.AlreadyExistsError(
                f"there is datasets/{name} with other content already; take another id, or delete it first",
                code="ALREADY_EXISTS",
                reason="DATASET_EXISTS",
            )
        return dataset

    def _send_with_retries(self, header: Any) -> Any:
        backoff = Backoff(CALLS)
        furthest: Position = (0, 0)
        while True:
            try:
                begin = self._position(header) if header.upload_id else (0, 0)
                if begin > furthest:
                    furthest = begin
                    backoff.reset()  # the attempt before got somewhere
                return self._send(header, begin)
            except errors.MercerError as error:
                retryable = True if error.reason in _MAY_MEND else None
                backoff.wait_or_raise(error, retryable)

    def _position(self, header: Any) -> Position:
        request = v1.GetUploadRequest(name=f"uploads/{header.upload_id}")
        try:
            upload = self._connection.call("GetUpload", request)
        except (errors.NotFoundError, errors.AccessError):
            return (0, 0)
        return _FINISHED if upload.dataset else (upload.part, upload.offset)

    def _send(self, header: Any, begin: Position) -> Any:
        messages = Requests(self._requests(header, begin))
        try:
            return self._connection.start("UploadDataset", messages)
        except grpc.RpcError as error:
            if messages.failure is not None:
                raise messages.failure from None  # the data could not be read
            raise errors.from_rpc(error) from None

    def _requests(self, header: Any, begin: Position) -> Iterator[Any]:
        yield v1.UploadDatasetRequest(header=header)
        sent = 0
        for part, offset, data in number_chunks(self._parts):
            sent += len(data)
            # A chunk whose beginning is there is sent whole: the server compares.
            if (part, offset + len(data)) > begin:
                yield ChunkRequest(part, offset if header.upload_id else None, data)
            self._on_progress(sent)


def _header_id(header: Any) -> str:
    return hashlib.sha256(header.SerializeToString(deterministic=True)).hexdigest()[:36]
