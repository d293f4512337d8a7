"""What goes wrong, as exceptions.

Every error that a server answers is a :class:`MercerError`. It carries the code of gRPC, a ``reason`` (a
word that programs can rely on; ``docs/errors.md`` lists them), and every bad field of the request.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

import grpc

from mercer._proto import rpc


@dataclasses.dataclass(frozen=True)
class FieldViolation:
    """One bad field of a request."""

    field: str
    """Its path: ``learner.lp_mkl.kernels[3].bandwidth``."""
    description: str


class MercerError(Exception):
    """An error of a server, or of the way to it.

    Attributes
    ----------
    code : str
        The code of gRPC: ``"INVALID_ARGUMENT"``.
    reason : str
        What exactly: ``"BAD_FIELDS"``. Empty when the error does not come from a Mercer server.
    message : str
        For people.
    metadata : dict of str to str
        The variable parts of the message.
    field_violations : tuple of FieldViolation
        Every bad field of the request.
    retry_delay : float or None
        Seconds after which the same call is worth another attempt, if the server says so.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "UNKNOWN",
        reason: str = "",
        metadata: Optional[dict[str, str]] = None,
        field_violations: tuple[FieldViolation, ...] = (),
        retry_delay: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.field_violations = field_violations
        self.retry_delay = retry_delay

    def __str__(self) -> str:
        text = f"{self.message} [{self.reason or self.code}]"
        for violation in self.field_violations:
            text += f"\n  {violation.field or '...'}: {violation.description}"
        if "remedy" in self.metadata:  # arguments are called as the fields of requests are
            text += f"\n  see the argument {self.metadata['remedy'].rpartition('.')[2]}"
        if self.code == "UNAUTHENTICATED":
            text += "\n  mercer.connect takes a token=, or a token_file=; without them it is that of MERCER_TOKEN"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        state = {key: value for key, value in self.__dict__.items() if key != "message"}
        return (_rebuild, (type(self), self.message, state))


def _rebuild(kind: type[MercerError], message: str, state: dict[str, Any]) -> MercerError:
    error = kind(message)
    error.__dict__.update(state)
    return error


class InvalidRequestError(MercerError, ValueError):
    """The request is wrong, whatever the state of the server."""


class NotFoundError(MercerError, LookupError):
    """There is no such data set, job, model, version or alias."""


class AlreadyExistsError(MercerError):
    """The name is taken, or a request_id was used for something else."""


class AccessError(MercerError):
    """The token is missing, unknown, expired, or lacks a scope."""


class StateError(MercerError):
    """The resource is not in a state that allows the call."""


class LimitError(MercerError):
    """A limit or quota of the server."""


class UnavailableError(MercerError):
    """The server cannot be reached, or cannot answer now."""


class DataLossError(MercerError):
    """Something that was stored or sent is damaged or lost."""


class JobFailedError(MercerError):
    """A training that ended without a model.

    Attributes
    ----------
    job : str
        Its name.
    """

    job = ""


class JobCancelledError(MercerError):
    """A training that was cancelled.

    Attributes
    ----------
    job : str
        Its name.
    """

    job = ""


_KINDS: dict[str, type[MercerError]] = {
    "INVALID_ARGUMENT": InvalidRequestError,
    "OUT_OF_RANGE": InvalidRequestError,
    "NOT_FOUND": NotFoundError,
    "ALREADY_EXISTS": AlreadyExistsError,
    "UNAUTHENTICATED": AccessError,
    "PERMISSION_DENIED": AccessError,
    "FAILED_PRECONDITION": StateError,
    "ABORTED": StateError,
    "RESOURCE_EXHAUSTED": LimitError,
    "UNAVAILABLE": UnavailableError,
    "DEADLINE_EXCEEDED": UnavailableError,
    "DATA_LOSS": DataLossError,
}
_DETAILS_KEY = "grpc-status-details-bin"


def _details(status: Any) -> dict[str, Any]:
    """The arguments of MercerError that are in the details of a google.rpc.Status."""
    found: dict[str, Any] = {}
    for detail in status.details:
        name = detail.TypeName()
        if name == "google.rpc.ErrorInfo":
            info = rpc.ErrorInfo.FromString(detail.value)
            found["reason"] = info.reason
            found["metadata"] = dict(info.metadata)
        elif name == "google.rpc.BadRequest":
            request = rpc.BadRequest.FromString(detail.value)
            found["field_violations"] = tuple(FieldViolation(v.field, v.description) for v in request.field_violations)
        elif name == "google.rpc.RetryInfo":
            delay = rpc.RetryInfo.FromString(detail.value).retry_delay
            found["retry_delay"] = delay.seconds + delay.nanos * 1e-9
    return found


def from_rpc(error: grpc.RpcError) -> MercerError:
    """The exception for a failed call."""
    call: Any = error
    code = call.code().name if hasattr(call, "code") and call.code() is not None else "UNKNOWN"
    details: dict[str, Any] = {}
    for key, value in (call.trailing_metadata() or ()) if hasattr(call, "trailing_metadata") else ():
        if key == _DETAILS_KEY:
            details = _details(rpc.Status.FromString(value))
    return _KINDS.get(code, MercerError)(call.details() or code, code=code, **details)


def from_status(status: Any, kind: Optional[type[MercerError]] = None) -> MercerError:
    """The exception for a google.rpc.Status that a message carries."""
    code = next((c.name for c in grpc.StatusCode if c.value[0] == status.code), "UNKNOWN")
    return (kind or _KINDS.get(code, MercerError))(status.message, code=code, **_details(status))
