"""The connection to a server."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import pathlib
import threading
from typing import Any, Callable, Iterator, Optional, Sequence, Union

import grpc

from mercer import _proto, errors
from mercer._retry import call_with_retries

PathLike = Union[str, "os.PathLike[str]"]

_MAX_MESSAGE_BYTES = 256 << 20  # a model in full may be large
_OPTIONS: Sequence[tuple[str, Any]] = (
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_metadata_size", 1 << 20),  # the details of errors travel there
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),  # watching sends no data
    # Our own delays rule; the channel must not sit out longer ones of its own.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 10_000),  # what a connection may take to be made, in spite of the name
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.enable_http_proxy", 0),
)
CALL_SECONDS = 30.0  # of one attempt of a call without streams


def _is_local(address: str) -> bool:
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read(path: Optional[PathLike]) -> Optional[bytes]:
    return None if path is None else pathlib.Path(path).read_bytes()


class Requests:
    """Requests of a call; remembers the error that ended them, which grpc only logs."""

    def __init__(self, requests: Iterator[Any]) -> None:
        self._requests = requests
        self._lock = threading.Lock()
        self.failure: Optional[BaseException] = None

    def __iter__(self) -> "Requests":
        return self

    def __next__(self) -> Any:
        with self._lock:
            try:
                return next(self._requests)
            except StopIteration:
                raise
            except BaseException as error:
                self.failure = error
                raise RuntimeError("the data cannot be read") from error  # grpc ends the call for an Exception alone


class Connection:
    """A channel, and the calls that can be made on it; connects on first use.

    Pickles remember the address and the files of TLS and token, never a token itself: a copy takes it from
    ``MERCER_TOKEN``.
    """

    def __init__(
        self,
        address: str,
        token: Optional[str] = None,
        token_file: Optional[PathLike] = None,
        ca: Optional[PathLike] = None,
        certificate: Optional[PathLike] = None,
        key: Optional[PathLike] = None,
        tls: bool = False,
        server_name: Optional[str] = None,
    ) -> None:
        self.address = address
        self._files: dict[str, Any] = {
            "token_file": token_file, "ca": ca, "certificate": certificate, "key": key,
            "tls": tls, "server_name": server_name,
        }  # fmt: skip
        if token is None and token_file is not None:
            token = pathlib.Path(token_file).read_text(encoding="utf-8").split("\n", 1)[0].strip()
        if token is None:
            token = os.environ.get("MERCER_TOKEN") or None
        tls = tls or ca is not None or certificate is not None
        if token and not tls and not _is_local(address):
            raise ValueError(
                f"the token is not sent to {address} in plain text, where others could read it: "
                "use TLS, with ca=FILE or tls=True"
            )
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        # Tells callers apart without naming them; empty without a token.
        self.caller = hashlib.sha256(token.encode()).hexdigest()[:12] if token else ""
        options = list(_OPTIONS)
        if server_name:
            options.append(("grpc.ssl_target_name_override", server_name))
        if tls:
            credentials = grpc.ssl_channel_credentials(_read(ca), _read(key), _read(certificate))
            self._channel = grpc.secure_channel(address, credentials, options)
        else:
            self._channel = grpc.insecure_channel(address, options)
        self._calls = {method.path.rpartition("/")[2]: self._make(method) for method in _proto.methods()}

    def _make(self, method: _proto.Method) -> Any:
        channel: Any = self._channel
        makers = {
            (False, False): channel.unary_unary,
            (False, True): channel.unary_stream,
            (True, False): channel.stream_unary,
            (True, True): channel.stream_stream,
        }
        return makers[method.client_streams, method.server_streams](
            method.path,
            request_serializer=lambda request: request.SerializeToString(),
            response_deserializer=method.response.FromString,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reconnect, (self.address, self._files))

    def start(self, method: str, request: Any, timeout: Optional[float] = None) -> Any:
        """Starts a call with a stream; its errors are those of grpc."""
        return self._calls[method](request, timeout=timeout, metadata=self._metadata)

    def once(self, method: str, request: Any, timeout: Optional[float] = CALL_SECONDS) -> Any:
        """One attempt of a call with one answer."""
        try:
            return self._calls[method](request, timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            raise errors.from_rpc(error) from None

    def call(self, method: str, request: Any, timeout: Optional[float] = CALL_SECONDS) -> Any:
        """A call with one answer, with retries. Every request that is made so is harmless when it comes twice."""
        return call_with_retries(lambda: self.once(method, request, timeout))

    def stream(self, method: str, request: Any) -> Iterator[Any]:
        """The answers of one attempt of a call; closing the iterator ends the call."""
        call = self.start(method, request)
        try:
            yield from call
        except grpc.RpcError as error:
            failure = request.failure if isinstance(request, Requests) else None
            if failure is not None:
                raise failure from None  # what was to be sent could not be read
            raise errors.from_rpc(error) from None
        finally:
            call.cancel()

    def pages(self, method: str, request: Any, field: str) -> Iterator[Any]:
        """All items of a list, over its pages."""
        while True:
            response = self.call(method, request)
            yield from getattr(response, field)
            if not response.next_page_token:
                return
            request.page_token = response.next_page_token

    def close(self) -> None:
        """Ends all calls."""
        self._channel.close()


def _reconnect(address: str, files: dict[str, Any]) -> Connection:
    return Connection(address, **files)


Sleep = Callable[[float], None]
