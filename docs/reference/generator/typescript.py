"""client/web/src/api: for the dashboard, the schemas of openapi.json as TypeScript types (schema.ts), and the paths of calls (routes.ts)."""

import re

from openapi import apart

TYPES = """// Made of docs/reference/openapi.json by ./dev docs, which says what each field means: the messages of the API as the gateway writes
// them. Zero values are absent, 64-bit integers are strings, infinite numbers are the strings "Infinity" and "-Infinity", times are RFC
// 3339, durations "1.5s".
"""
INT64 = "export type Int64 = string | number; // numbers are read, too"
REAL = "export type Real = number | string;"
ROUTES = """// Made of the options google.api.http of the protos by ./dev docs: how each call is reached. Where the path of a call names a
// resource, its function takes the name of that, "jobs/a".

/** Of verbs without a body the request is the query. */
export interface Route {
  readonly verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
}
"""
# Up to the last of its variables a path is the name of a resource.
NAME = re.compile(r"/v1/[^:]*\}(.*)")


def routes(files):
    """The file of routes."""
    functions = [text for file in files for service in file.services for rpc in service.rpcs for text in functions_of(rpc)]
    return "\n".join([ROUTES, *functions]) + "\n"


def functions_of(rpc):
    """One for all ways that differ in the resource alone."""
    names = {}
    for way in rpc.ways:
        resource = NAME.fullmatch(way.path)
        parameter, path = ("name: string", f"`/v1/${{name}}{resource[1]}`") if resource else ("", f"'{way.path}'")
        names.setdefault(f"({parameter}): Route => ({{ verb: '{way.verb}', path: {path} }})", rpc.name + apart(rpc.ways[0], way))
    return [f"export const {name[0].lower()}{name[1:]} = {function};" for function, name in names.items()]


def types(document):
    """The file of types."""
    schemas = document["components"]["schemas"]
    declarations = [f"export {declaration(identifier(name), schema)}" for name, schema in schemas.items() if name != "Real"]
    return "\n".join([TYPES, INT64, REAL, *declarations]) + "\n"


def declaration(name, schema):
    if "enum" in schema:
        return f"type {name} = {type_of(schema)};"
    return f"interface {name} {members(schema)}"


def members(schema):
    required = schema.get("required", ())
    parts = [
        f"{name if name.isidentifier() else repr(name)}{'' if name in required else '?'}: {type_of(one)}"
        for name, one in schema.get("properties", {}).items()
    ]
    if schema.get("additionalProperties") is True:
        parts.append("[name: string]: unknown")
    return "{ " + "; ".join(parts) + " }" if parts else "{}"


def type_of(schema):
    for key, between in (("allOf", " & "), ("oneOf", " | "), ("anyOf", " | ")):
        if key in schema:
            return between.join(type_of(one) for one in schema[key])
    if "$ref" in schema:
        return identifier(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(f"'{value}'" for value in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        inner = type_of(schema["items"])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"Record<string, {type_of(values)}>" if isinstance(values, dict) else members(schema)
    if kind == "string":
        return "Int64" if schema.get("format") in ("int64", "uint64") else "string"
    return {"integer": "number", "number": "number", "boolean": "boolean"}.get(kind, "unknown") + (" | null" if schema.get("nullable") else "")


def identifier(name):
    """"LpMkl.InnerSolver" has no dot in TypeScript."""
    return name.replace(".", "")
