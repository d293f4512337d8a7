"""Tables of the server's sources that say how a call is reached, and with which scope."""

import re

ROUTE = re.compile(r'Route\{"(\w+)",\s*"([^"]+)",\s*"\w+/(\w+)",\s*"[^"]*",\s*[^,}]+?(?:,\s*CallKind::k(\w+))?\}')
RULE = re.compile(r'MethodRule\{"\w+/(\w+)", Scope::k(\w+), k\w+(?:, k\w+)*\}')
EVENTS = ("WatchJobs", "StreamProgress")  # what /v1/events, which is no call of its own, is made of


def read_routes(root):
    """Lists of (verb, path, kind) by call; the kind is "", "Upload", "Export" or "Progress"."""
    source = (root / "server/gateway/routes.cc").read_text(encoding="utf-8")
    routes = {}
    for verb, path, call, kind in find_all(ROUTE, source, "Route{"):
        routes.setdefault(call, []).append((verb, path, kind))
    for call in EVENTS:
        routes.setdefault(call, []).append(("GET", "/v1/events", "Progress"))
    return routes


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
