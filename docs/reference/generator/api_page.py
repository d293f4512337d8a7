"""docs/reference/api.md: every service, call, message and enum of the API."""

import re

from markdown import CODES, Writer, anchor, code, escape, first_sentence, table

PACKAGE = "mercer.v1."
WELL_KNOWN = {
    "google.protobuf.Timestamp": "time",
    "google.protobuf.Duration": "duration",
    "google.protobuf.Empty": "nothing",
    "google.protobuf.FieldMask": "field mask",
    "google.rpc.Status": "[error](../errors.md)",
}
KINDS = {
    "": "",
    "Upload": ", [the body is the file](../http.md#requests)",
    "Export": ", the answer is the file",
    "Events": ", [events](../http.md#events)",
}
ERRORS = re.compile(r"(.*?)\s*(?:(?:^|(?<=\s))((?:Further e|E)rrors):?\s(.*))?$")
INTRODUCTION = """# The API: services, calls, messages

`./dev docs` makes this page from the comments in [proto/mercer/v1](../../proto/mercer/v1); a change belongs there. The learners and their
options have [a page of their own](learners.md).

Every call is gRPC's, `mercer.v1.TrainingService/Train`, and most are HTTP's as well ([how](../http.md)): what a path says may be left out of
the body. Where the server asks for tokens, a call needs one with the [scope](../security.md#tokens) that is given.

Besides its own errors every call may end with those of [access](../errors.md#access), and with `INVALID_ARGUMENT` for a request that is
wrong in itself: all bad fields are named at once. [errors.md](../errors.md) explains each word.

How fields are written here:

| type | in protobuf | in JSON |
|---|---|---|
| int64, uint64 | numbers of 64 bits | texts, `"12"` |
| bytes | any bytes | Base64 |
| optional ... | absent, or there, be it 0 or false | the same |
| list of ... | `repeated` | `[...]` |
| map of ... to ... | `map` | `{...}` |
| time, duration | `google.protobuf.Timestamp`, `Duration` | `"2026-01-31T00:00:00Z"`, `"3.5s"` |
| field mask | `google.protobuf.FieldMask` | `"labels,description"` |

Names in JSON are in lowerCamelCase, `hold_out` is `holdOut` (both are read). A field that is not said to be optional and is left out is 0,
false, empty or absent, and its comment says what that means."""


def name_in_json(field):
    """Where it is no camel case of the field's."""
    camel = re.sub(r"_(.)", lambda match: match[1].upper(), field.name)
    return f"*In JSON {code(field.json_name)}.* " if field.json_name not in ("", camel) else ""


class ApiPage:
    """Writes the page from files, routes, scopes and reasons."""

    def __init__(self, files, routes, scopes, reasons):
        self.files, self.routes, self.scopes = files, routes, scopes
        self.messages = {PACKAGE + message.name: message for file in files for message in file.messages}
        self.owners = self._owners()
        places = {message.name: self._place(full) for full, message in self.messages.items()}
        places.update({rpc.name: "#" + anchor(rpc.name) for file in files for s in file.services for rpc in s.rpcs})
        self.writer = Writer(places, reasons)

    def _owners(self):
        """The call that has a message for itself, as its request or response, by the message."""
        users = {}
        for full, message in self.messages.items():
            for field in [] if message.is_enum else message.fields:
                for used in (field.type, field.value_type):
                    users.setdefault(used, []).append(full)
        calls = [rpc for file in self.files for service in file.services for rpc in service.rpcs]
        for rpc in calls:
            for used in {rpc.request, rpc.response}:
                users.setdefault(used, []).append(rpc)
        return {
            full: users[full][0] for full in self.messages if len(users.get(full, [])) == 1 and users[full][0] in calls
        }

    def _place(self, full):
        owner = self.owners.get(full)
        return "#" + anchor(owner.name if owner else self.messages[full].name)

    def page(self):
        services = [service for file in self.files for service in file.services]
        contents = [
            [f"[{service.name}](#{anchor(service.name)})", self.writer.text(first_sentence(service.comment))] for service in services
        ]
        parts = [INTRODUCTION, table(["service", "what for"], contents)]
        parts += [part for service in services for part in self._service(service)]
        parts += [part for file in self.files for part in self._file(file)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _service(self, service):
        rows = [[f"[{rpc.name}](#{anchor(rpc.name)})", self.writer.text(first_sentence(rpc.comment))] for rpc in service.rpcs]
        yield f"## {service.name}"
        yield self.writer.paragraphs(service.comment)
        yield table(["call", "what it does"], rows)
        for rpc in service.rpcs:
            yield from self._rpc(rpc)

    def _rpc(self, rpc):
        yield f"### {rpc.name}"
        ways = [f"{code(f'{verb} {path}')}{KINDS[kind]}" for verb, path, kind in self.routes.get(rpc.name, [])]
        yield table(
            ["HTTP", "scope", "request", "response"],
            [
                [
                    "<br>".join(ways) or "gRPC alone",
                    code(self.scopes[rpc.name]),
                    ("stream of " if rpc.streams_requests else "") + self._type(rpc.request),
                    ("stream of " if rpc.streams_responses else "") + self._type(rpc.response),
                ]
            ],
        )
        yield from self._description(rpc.comment)
        for full in (rpc.request, rpc.response):
            if full in self.owners:
                message = self.messages[full]
                yield f"**{message.name}**" + ("" if message.fields else " has no fields.")
                yield from self._body(message)

    def _description(self, comment):
        """Its paragraphs; what follows "Errors:" as a list."""
        for paragraph in re.split(r"\n\s*\n", comment):
            text, lead, errors = ERRORS.match(" ".join(paragraph.split())).groups()
            yield self.writer.text(text)
            if errors:
                entries = [self.writer.text(entry) for entry in split_errors(errors)]
                yield f"**{lead}:** {entries[0]}" if len(entries) == 1 else f"**{lead}:**\n\n- " + "\n- ".join(entries)

    def _file(self, file):
        messages = [message for message in file.messages if PACKAGE + message.name not in self.owners]
        if not messages:
            return
        yield f"## Messages in {file.name}"
        if not file.services:
            yield self.writer.paragraphs(file.comment)
        for message in messages:
            yield f"### {message.name}"
            yield self.writer.paragraphs(message.comment)
            yield from self._body(message)

    def _body(self, message):
        """Oneofs and the table of fields."""
        for name, comment in message.oneofs.items():
            if comment:
                yield f"{code(name)}: {self.writer.text(comment)}"
        if message.is_enum:
            values = [[code(value.name), self.writer.text(value.comment)] for value in message.fields if value.comment]
            yield table(["value", "meaning"], values)
        elif message.fields:
            rows = [[code(field.name), self._field_type(field), name_in_json(field) + self._meaning(field)] for field in message.fields]
            yield table(["field", "type", "meaning"], rows)

    def _meaning(self, field):
        paragraphs = [self.writer.text(paragraph) for paragraph in re.split(r"\n\s*\n", field.comment)]
        alternative = f"*One of {code(field.oneof)}.* " if field.oneof else ""
        alternative += "*Required.* " if "REQUIRED" in field.behavior else ""
        return alternative + "<br>".join(paragraphs)

    def _field_type(self, field):
        if field.label == "map":
            return f"map of {self._type(field.type)} to {self._type(field.value_type)}"
        return {"repeated": "list of ", "optional": "optional ", "": ""}[field.label] + self._type(field.type)

    def _type(self, name):
        if name in self.messages:
            return f"[{escape(self.messages[name].name)}]({self._place(name)})"
        return WELL_KNOWN.get(name, name)


def split_errors(text):
    """The entries of "NOT_FOUND, ABORTED (the etag is stale), ...": a code begins each."""
    entries, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0 and text[i + 2 :].split(" ")[0].strip(",.") in CODES:
            entries.append(text[start:i])
            start = i + 2
    return [entry.rstrip(".") for entry in [*entries, text[start:]]]
