"""client/web/src/api/schema.ts: the schemas of openapi.json as TypeScript types, for the dashboard."""

HEAD = """// Made of docs/reference/openapi.json by ./dev docs, which says what each field means: the messages of the API as the gateway writes
// them. Zero values are absent, 64-bit integers are strings, infinite numbers are the strings "Infinity" and "-Infinity", times are RFC
// 3339, durations "1.5s".
"""
INT64 = "export type Int64 = string | number; // numbers are read, too"
REAL = "export type Real = number | string;"


def text(document):
    """The whole file."""
    schemas = document["components"]["schemas"]
    types = [f"export {declaration(identifier(name), schema)}" for name, schema in schemas.items() if name != "Real"]
    return "\n".join([HEAD, INT64, REAL, *types]) + "\n"


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
