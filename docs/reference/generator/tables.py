"""How a call is reached over HTTP, and with which scope."""

import re

RULE = re.compile(r'MethodRule\{"\w+/(\w+)", Scope::k(\w+), k\w+(?:, k\w+)*\}')


def read_routes(files):
    """Lists of (verb, path, kind) by call; the kind is "", "Upload", "Export" or "Events"."""
    routes = {}
    for rpc in [rpc for file in files for service in file.services for rpc in service.rpcs]:
        routes[rpc.name] = [(way.verb, way.path, kind_of(rpc, files)) for way in rpc.ways]
    return routes


def kind_of(rpc, files):
    """As server/gateway/routes.cc has it."""
    if rpc.streams_requests:
        return "Upload"
    if not rpc.streams_responses:
        return ""
    response = next(message for file in files for message in file.messages if rpc.response.endswith("." + message.name))
    return "Export" if any(field.name == "chunk" for field in response.fields) else "Events"


def read_scopes(root):
    """The scope that each call needs."""
    source = (root / "server/rpc/method_rules.cc").read_text(encoding="utf-8")
    return {call: scope.lower() for call, scope in find_all(RULE, source, "MethodRule{")}


def find_all(pattern, source, start):
    """All matches; raises when an entry of the table has another form than the pattern's."""
    found = pattern.findall(source)
    entries = len(re.findall(re.escape(start) + '"', source))
    if len(found) != entries:
        raise SystemExit(f"{entries} entries {start}...}}, of which {len(found)} can be read")
    return found
