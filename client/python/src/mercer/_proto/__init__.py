"""The messages of ``mercer.v1``, in a descriptor pool of their own.

Generated stubs register their files in the pool of the process, where a second copy of
``mercer/v1/*.proto`` would be refused. Here the descriptors come from ``api.binpb``, which the build
makes of ``proto/``, and no other code sees them; nor do they depend on the version of a code generator.
"""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any, Iterator

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_DESCRIPTORS = pathlib.Path(__file__).with_name("api.binpb")


class Namespace:
    """Messages and enumerators of one proto package, as attributes."""

    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self._package} has no message or enumerator {name!r}")


def _load(files: Any) -> tuple[Any, dict[str, Namespace]]:
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    packages: dict[str, Namespace] = {}
    for file in files.file:
        descriptor: Any = pool.FindFileByName(file.name)
        namespace = packages.setdefault(file.package, Namespace(file.package))
        for name, message in descriptor.message_types_by_name.items():
            setattr(namespace, name, message_factory.GetMessageClass(message))
        for enum in descriptor.enum_types_by_name.values():
            for value in enum.values:
                setattr(namespace, value.name, value.number)
    return pool, packages


_files: Any = descriptor_pb2.FileDescriptorSet.FromString(_DESCRIPTORS.read_bytes())
_pool, _packages = _load(_files)
v1: Any = _packages["mercer.v1"]
rpc: Any = _packages["google.rpc"]
protobuf: Any = _packages["google.protobuf"]


@dataclasses.dataclass(frozen=True)
class Method:
    """A method of a service: ``"/mercer.v1.TrainingService/Train"``."""

    path: str
    request: Any
    response: Any
    client_streams: bool
    server_streams: bool


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(name.lstrip(".")))


def methods() -> Iterator[Method]:
    """Every method of every service."""
    for file in _files.file:
        for service in file.service:
            for method in service.method:
                yield Method(
                    f"/{file.package}.{service.name}/{method.name}",
                    _message(method.input_type),
                    _message(method.output_type),
                    method.client_streaming,  # the pool's descriptors do not tell in every version of protobuf
                    method.server_streaming,
                )


def enum_words(enum: Any, prefix: str = "") -> dict[str, int]:
    """The words of an enumeration, in lower case and without its name: ``{"none": 1, ...}``.

    The enumerator 0, which means "not given", has no word.
    """
    if not prefix:
        zero = enum.values_by_number[0].name
        prefix = zero[: -len("UNSPECIFIED")]
    return {v.name[len(prefix) :].lower(): v.number for v in enum.values if v.number != 0}


def enum_word(enum: Any, number: int) -> str:
    """The word of an enumerator: ``"succeeded"``; its number as text when this package does not know it."""
    words = {value: word for word, value in enum_words(enum).items()}
    return words.get(number, "" if number == 0 else str(number))


def enum(name: str) -> Any:
    """The descriptor of an enumeration of ``mercer.v1``."""
    return _pool.FindEnumTypeByName(f"mercer.v1.{name}")
