"""The options google.api.http and google.api.field_behavior of methods and fields."""

import dataclasses

from google.protobuf import descriptor_pool, message_factory


@dataclasses.dataclass
class Way:
    """How a call is reached over HTTP."""

    verb: str  # "GET"
    path: str  # "/v1/jobs/{job}"
    field: str  # of the request, which the path says: "name", "job.name", or none
    body: str  # "*": the request is the body; else the rest of it is in the query


class Options:
    """Reads them: this Python's own descriptors do not know them."""

    def __init__(self, descriptors):
        self.pool = descriptor_pool.DescriptorPool()
        for file in descriptors.file:
            self.pool.AddSerializedFile(file.SerializeToString())
        self.factory = message_factory.MessageFactory(self.pool)

    def ways(self, method):
        """All of a method's."""
        rule = self._option(method.options, "google.api.http")
        return [way_of(one) for one in [rule, *rule.additional_bindings]] if rule else []

    def behavior(self, field):
        """Names of google.api.FieldBehavior."""
        values = self._option(field.options, "google.api.field_behavior") or []
        enum = self.pool.FindEnumTypeByName("google.api.FieldBehavior") if values else None
        return tuple(enum.values_by_number[value].name for value in values)

    def _option(self, options, name):
        if not options.ByteSize():
            return None
        extension = self.pool.FindExtensionByName(name)
        known = self.factory.GetPrototype(extension.containing_type).FromString(options.SerializeToString())
        return known.Extensions[extension]


def way_of(rule):
    """"/v1/{name=jobs/*}:cancel" becomes "/v1/jobs/{job}:cancel": each thing has the name of its collection."""
    kind = rule.WhichOneof("pattern")
    before, _, rest = getattr(rule, kind).partition("{")
    variable, _, after = rest.partition("}")
    field, _, pattern = variable.partition("=")
    segments = pattern.split("/")
    for i, segment in enumerate(segments):
        if segment == "*":
            collection = segments[i - 1]
            segments[i] = "{" + collection.removesuffix("es" if collection.endswith("ses") else "s") + "}"
    return Way(kind.upper(), before + "/".join(segments) + after, field, rule.body)
