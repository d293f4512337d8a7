"""The messages and services of proto/mercer/v1 with their comments, as protoc reads them."""

import dataclasses
import pathlib
import subprocess
import tempfile

from google.protobuf import descriptor_pb2

import options

FOLDER = "mercer/v1"
DETAILS = "google/rpc/error_details.proto"
# Numbers of the fields of descriptor.proto, of which the paths of comments are made.
SYNTAX, MESSAGE, ENUM, SERVICE = 12, 4, 5, 6
FIELD, NESTED, NESTED_ENUM, ONEOF = 2, 3, 4, 8
VALUE, METHOD = 2, 2


@dataclasses.dataclass
class Field:
    """A field of a message, or a value of an enum."""

    name: str
    comment: str
    type: str = ""  # "string", or the full name of a message or enum
    value_type: str = ""  # of a map
    label: str = ""  # "repeated", "optional", "map" or none
    oneof: str = ""
    json_name: str = ""
    behavior: tuple = ()  # "REQUIRED", ...


@dataclasses.dataclass
class Message:
    """A message or an enum."""

    name: str  # "LpMkl.InnerSolver"
    comment: str
    fields: list
    oneofs: dict = dataclasses.field(default_factory=dict)  # comments by name
    is_enum: bool = False


@dataclasses.dataclass
class Rpc:
    name: str
    comment: str
    request: str
    response: str
    streams_requests: bool
    streams_responses: bool
    ways: list  # by HTTP

    @property
    def streams(self):
        return self.streams_requests or self.streams_responses


@dataclasses.dataclass
class Service:
    name: str
    comment: str
    rpcs: list


@dataclasses.dataclass
class File:
    name: str  # "job.proto"
    comment: str
    messages: list
    services: list


class Reader:
    """Of one file."""

    def __init__(self, file, known):
        self.file = file
        self.options = known
        self.comments = {tuple(place.path): place.leading_comments for place in file.source_code_info.location}

    def comment(self, *path):
        """Without the space after each `//`."""
        lines = [line.removeprefix(" ").rstrip() for line in self.comments.get(path, "").split("\n")]
        return "\n".join(lines).strip("\n")

    def read(self):
        messages = []
        for i, message in enumerate(self.file.message_type):
            self.message(message, (MESSAGE, i), "", messages)
        for i, enum in enumerate(self.file.enum_type):
            messages.append(self.enum(enum, (ENUM, i), ""))
        services = [self.service(service, (SERVICE, i)) for i, service in enumerate(self.file.service)]
        return File(pathlib.PurePath(self.file.name).name, self.comment(SYNTAX), messages, services)

    def message(self, message, path, outer, out):
        maps = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
        fields = [self.field(message, field, (*path, FIELD, i), maps) for i, field in enumerate(message.field)]
        oneofs = {oneof.name: self.comment(*path, ONEOF, i) for i, oneof in enumerate(message.oneof_decl)}
        out.append(Message(outer + message.name, self.comment(*path), fields, oneofs))
        inner = outer + message.name + "."
        for i, nested in enumerate(message.nested_type):
            if nested.name not in maps:
                self.message(nested, (*path, NESTED, i), inner, out)
        out += [self.enum(enum, (*path, NESTED_ENUM, i), inner) for i, enum in enumerate(message.enum_type)]

    def field(self, message, field, path, maps):
        entry = maps.get(field.type_name.rsplit(".", 1)[-1])
        label = "repeated" if field.label == field.LABEL_REPEATED else "optional" if field.proto3_optional else ""
        oneof = ""
        if field.HasField("oneof_index") and not field.proto3_optional:
            oneof = message.oneof_decl[field.oneof_index].name
        if entry:
            key, value = entry.field
            types = type_of(key), type_of(value), "map"
        else:
            types = type_of(field), "", label
        return Field(field.name, self.comment(*path), *types, oneof, field.json_name, self.options.behavior(field))

    def enum(self, enum, path, outer):
        values = [Field(value.name, self.comment(*path, VALUE, i)) for i, value in enumerate(enum.value)]
        return Message(outer + enum.name, self.comment(*path), values, is_enum=True)

    def service(self, service, path):
        rpcs = [
            Rpc(
                method.name,
                self.comment(*path, METHOD, i),
                method.input_type.lstrip("."),
                method.output_type.lstrip("."),
                method.client_streaming,
                method.server_streaming,
                self.options.ways(method),
            )
            for i, method in enumerate(service.method)
        ]
        return Service(service.name, self.comment(*path), rpcs)


def type_of(field):
    """The type of a field: "int64", "mercer.v1.Job"."""
    if field.type_name:
        return field.type_name.lstrip(".")
    return descriptor_pb2.FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()


def read(protos, sources):
    """Those files of the folder `protos` and what they import."""
    with tempfile.NamedTemporaryFile(suffix=".descriptors") as out:
        subprocess.run(
            ["protoc", "-I", protos, "--include_source_info", "--include_imports", f"--descriptor_set_out={out.name}", *sources],
            check=True,
        )
        descriptors = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes())
    known = options.Options(descriptors)
    return {file.name: Reader(file, known).read() for file in descriptors.file}


def read_details(root):
    """The file of the details of errors."""
    return read(root / "proto", [DETAILS])[DETAILS]


def read_files(root):
    """All files of the API below `root`/proto, by name. Whoever adds a field says what it is: raises for those without comments."""
    protos = root / "proto"
    sources = sorted(path.relative_to(protos) for path in (protos / FOLDER).glob("*.proto"))
    files = [file for name, file in read(protos, sources).items() if name.startswith(FOLDER)]
    unreachable = [rpc.name for file in files for s in file.services for rpc in s.rpcs if not (rpc.ways or rpc.streams)]
    if unreachable:
        raise SystemExit("calls without google.api.http: " + ", ".join(unreachable))
    missing = list(undocumented(files))
    if missing:
        raise SystemExit("fields, values, services and calls without a comment: " + ", ".join(missing))
    return sorted(files, key=lambda file: file.name)


def undocumented(files):
    """Names of what must have a comment and has none: all but messages, and the values of enums that mean "not set"."""
    for file in files:
        for message in file.messages:
            for field in message.fields:
                if not field.comment and not (message.is_enum and field.name.endswith("_UNSPECIFIED")):
                    yield f"{message.name}.{field.name}"
        for service in file.services:
            if not service.comment:
                yield service.name
            for rpc in service.rpcs:
                if not rpc.comment:
                    yield f"{service.name}.{rpc.name}"
