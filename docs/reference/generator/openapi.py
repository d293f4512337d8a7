"""docs/reference/openapi.json: the API over HTTP as a document of OpenAPI 3.0, which the server answers at /v1/openapi.json."""

import re

import gateway_paths
from api_page import ERRORS, PACKAGE, split_errors
from markdown import first_sentence

REAL = {"oneOf": [{"type": "number"}, {"type": "string", "enum": ["Infinity", "-Infinity", "NaN"]}]}
# How proto3's JSON writes what is no message or enum of ours.
SCALARS = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), {"type": "integer", "format": "int32"}),
    **dict.fromkeys(("uint32", "fixed32"), {"type": "integer", "format": "int64", "minimum": 0, "maximum": 2**32 - 1}),
    **dict.fromkeys(("int64", "sint64", "sfixed64"), {"type": "string", "format": "int64"}),
    **dict.fromkeys(("uint64", "fixed64"), {"type": "string", "format": "uint64"}),
    **dict.fromkeys(("double", "float"), {"$ref": "#/components/schemas/Real"}),
    "bool": {"type": "boolean"},
    "string": {"type": "string"},
    "bytes": {"type": "string", "format": "byte"},
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Duration": {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$"},
    "google.protobuf.FieldMask": {"type": "string"},
    "google.protobuf.Empty": {"type": "object"},
    "google.protobuf.Struct": {"type": "object", "additionalProperties": True},
    "google.protobuf.Value": {},
    "google.rpc.Status": {"$ref": "#/components/schemas/Status"},
}
HTTP_STATUS = {
    **dict.fromkeys(("INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE"), "400"),
    "UNAUTHENTICATED": "401",
    "PERMISSION_DENIED": "403",
    "NOT_FOUND": "404",
    **dict.fromkeys(("ABORTED", "ALREADY_EXISTS"), "409"),
    "RESOURCE_EXHAUSTED": "429",
    "CANCELLED": "499",
    **dict.fromkeys(("INTERNAL", "DATA_LOSS"), "500"),
    "UNIMPLEMENTED": "501",
    "UNAVAILABLE": "503",
    "DEADLINE_EXCEEDED": "504",
}
RPC = "google.rpc."
# The details of an error that programs read.
DETAILS = ("ErrorInfo", "BadRequest", "RetryInfo")
# What a DELETE takes of a request that sets something by other verbs, besides what the path says: as Route::removes of the gateway.
OF_REMOVALS = {"etag", "request_id"}
VARIABLE = re.compile(r"\{(\w+)\}")
# What stands for a variable of a path.
PLACES = {
    "job": "ID of a job: what follows \"jobs/\" in its name.",
    "dataset": "ID of a data set: what follows \"datasets/\" in its name.",
    "upload": "ID of an upload.",
    "model": "Name of a model, without \"models/\"; where a version is meant, its newest one.",
    "version": "Number of a version.",
    "alias": "Name of an alias.",
}


class Document:
    """Made of the files of the API and that of the details of errors, the kind of each call, and the scope that it needs."""

    def __init__(self, files, details, routes, scopes):
        self.rpcs = [(service, rpc) for file in files for service in file.services for rpc in service.rpcs if rpc.ways]
        self.messages = {PACKAGE + message.name: message for file in files for message in file.messages}
        self.messages.update({RPC + message.name: message for message in details.messages})
        self.kinds = {call: ways[0][2] for call, ways in routes.items() if ways}
        self.scopes = scopes
        # What the path says may be left out of the body, but not the resource that it only names, as by "job.name".
        self.said_by_path = {rpc.request: {way.field for way in rpc.ways} for _, rpc in self.rpcs}
        self.used = {}  # schemas by name, each made when it is first referred to

    def document(self):
        paths = {}
        for service, rpc in self.rpcs:
            for way in rpc.ways:
                paths.setdefault(way.path, {})[way.verb.lower()] = self._operation(service, rpc, way)
        for path, operations in gateway_paths.PATHS.items():
            paths.setdefault(path, {}).update(operations)
        services = {service.name: service for service, _ in self.rpcs}
        schemas = {**gateway_paths.SCHEMAS, "Any": self._detail(), "Real": REAL}
        tags = [{"name": name, "description": text_of(service.comment)} for name, service in services.items()]
        return {
            "openapi": "3.0.3",
            "info": gateway_paths.INFO,
            "servers": [{"url": "/"}],
            "security": [{"token": []}, {}],
            "tags": [*tags, gateway_paths.TAG],
            "paths": paths,
            "components": {
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
                "responses": gateway_paths.RESPONSES,
                "schemas": dict(sorted({**schemas, **self.used}.items())),
            },
        }

    def _operation(self, service, rpc, way):
        kind = self.kinds[rpc.name]
        operation = {
            "tags": [service.name],
            "operationId": rpc.name + apart(rpc.ways[0], way),
            "summary": first_sentence(rpc.comment),
            "description": f"{without_errors(rpc.comment)}\n\nScope: {self.scopes[rpc.name]}.",
            "parameters": self._parameters(rpc, way, kind),
        }
        if kind == "Upload":
            operation["requestBody"] = gateway_paths.FILE
        elif way.body:
            content = {"application/json": {"schema": self._schema(rpc.request)}}
            operation["requestBody"] = {"content": content}
            if "required" in self.used[self.messages[rpc.request].name]:
                operation["requestBody"]["required"] = True
            for more in gateway_paths.FORMS.get(rpc.name, {}).get("request", ()):
                more(content)
        operation["responses"] = self._responses(rpc, kind)
        return operation

    def _parameters(self, rpc, way, kind):
        request = self.messages[rpc.request]
        places = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}, "description": PLACES[name]}
            for name in VARIABLE.findall(way.path)
        ]
        own = self.messages.get(PACKAGE + rpc.name + "Query")
        places += self._query(own, "", set()) if own else []
        if kind == "Upload":
            header = self.messages[PACKAGE + "UploadHeader"]
            self._schema(PACKAGE + "UploadHeader")  # of the parameter `header`
            return places + self._query(header, "", {"parts", "upload_id", "total_bytes"})
        if way.body:
            rows = gateway_paths.FORMS.get(rpc.name, {}).get("rows")
            query = self._query(request, "", {way.field, *rows}) if rows else []
            return places + [{**one, "description": "With rows as CSV: " + one["description"]} for one in query]
        without = {way.field}
        if way.verb == "DELETE" and rpc.ways[0].body:
            without |= {field.name for field in request.fields} - OF_REMOVALS
        return places + self._query(request, "", without) + gateway_paths.HEADERS.get(kind, [])

    def _query(self, message, prefix, without):
        parameters = []
        for field in message.fields:
            if field.name in without:
                continue
            inner = self.messages.get(field.type)
            if inner and not inner.is_enum and field.label != "map":
                parameters += self._query(inner, f"{prefix}{field.json_name}.", set())
                continue
            parameter = {"name": prefix + field.json_name, "in": "query", "schema": self._type_of(field)}
            parameter["description"] = text_of(field.comment)
            if field.label == "map":
                parameter["description"] += f" Each as {field.json_name}.KEY=VALUE: the properties are named {field.json_name}.KEY."
            if "REQUIRED" in field.behavior:
                parameter["required"] = True
            parameters.append(parameter)
        return parameters

    def _responses(self, rpc, kind):
        answer = gateway_paths.ANSWERS.get(kind) or gateway_paths.ANSWERS.get(rpc.name)
        if kind == "Events":
            self._schema(rpc.response)  # of the data of events
        responses = {"200": answer or self._answer(rpc)}
        errors = [ERRORS.match(paragraph)[3] for paragraph in paragraphs_of(rpc.comment)]
        for entry in [entry for text in errors if text for entry in split_errors(text)]:
            code = entry.split(" ")[0].strip(",.;:")
            if code in HTTP_STATUS:
                response = responses.setdefault(HTTP_STATUS[code], {"description": "", **gateway_paths.ERROR})
                response["description"] += ("; " if response["description"] else "") + entry
        return {**dict(sorted(responses.items())), "default": {"$ref": "#/components/responses/Error"}}

    def _answer(self, rpc):
        content = {"application/json": {"schema": self._schema(rpc.response)}}
        for more in gateway_paths.FORMS.get(rpc.name, {}).get("response", ()):
            more(content)
        return {"description": "The answer.", "content": content}

    def _schema(self, name):
        """A schema, or a reference to one, which is made then."""
        if name in SCALARS:
            return SCALARS[name]
        message = self.messages[name]
        if message.name not in self.used:
            self.used[message.name] = {}
            self.used[message.name] = self._enum(message) if message.is_enum else self._object(name, message)
        return {"$ref": f"#/components/schemas/{message.name}"}

    def _type_of(self, field):
        if field.label == "map":
            return {"type": "object", "additionalProperties": self._schema(field.value_type)}
        if field.label == "repeated":
            return {"type": "array", "items": self._schema(field.type)}
        return self._schema(field.type)

    def _object(self, name, message):
        schema = {"type": "object", "description": text_of(message.comment), "properties": {}}
        for field in message.fields:
            schema["properties"][field.json_name] = self._property(field)
        required = [
            field.json_name
            for field in message.fields
            if "REQUIRED" in field.behavior and field.name not in self.said_by_path.get(name, ())
        ]
        if required:
            schema["required"] = required
        for oneof, comment in message.oneofs.items():
            choices = [field.json_name for field in message.fields if field.oneof == oneof]
            if choices:
                schema["description"] = f"{schema['description']} At most one of {', '.join(choices)}. {text_of(comment)}".strip()
        return without_empty(schema)

    def _detail(self):
        """What any of the details has."""
        fields = [field for name in DETAILS for field in self.messages[RPC + name].fields]
        return {
            "type": "object",
            "description": f"A message with its type, such as {' or '.join(RPC + name for name in DETAILS)}.",
            "required": ["@type"],
            "properties": {"@type": gateway_paths.TEXT, **{field.json_name: without_empty(self._property(field)) for field in fields}},
            "additionalProperties": True,
        }

    def _property(self, field):
        schema = dict(self._type_of(field))
        if "$ref" in schema:
            schema = {"allOf": [schema]}  # beside a reference nothing else counts
        schema["description"] = text_of(field.comment)
        if "OUTPUT_ONLY" in field.behavior:
            schema["readOnly"] = True
        return schema

    def _enum(self, enum):
        values = "\n".join(f"- `{value.name}`: {text_of(value.comment)}" for value in enum.fields if value.comment)
        names = [value.name for value in enum.fields]
        return {"type": "string", "description": f"{text_of(enum.comment)}\n\n{values}".strip(), "enum": names}


def apart(first, way):
    """What tells a way of calling from the first one: the verb, or else of what it is."""
    return "" if way is first else way.verb.title() if way.verb != first.verb else VARIABLE.findall(way.path)[-1].title()


def without_empty(schema):
    return {key: value for key, value in schema.items() if value != "" or key != "description"}


def paragraphs_of(comment):
    """Each in one line."""
    return [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", comment)]


def text_of(comment):
    return "\n\n".join(paragraphs_of(comment))


def without_errors(comment):
    """The responses tell of them."""
    return "\n\n".join(text for text in (ERRORS.match(paragraph)[1] for paragraph in paragraphs_of(comment)) if text)
