"""The table of paths in docs/http.md."""

from markdown import code, table

BEGIN, END = "<!-- ./dev docs makes this table of the protos. -->\n", "\n<!-- Here it ends. -->"
KINDS = {"": "", "Upload": "; the body is the file", "Export": "; the answer is the file, its `ETag` the SHA-256", "Events": ", as events"}
# How a version is named.
VERSIONS = ("/v1/models/{model}", "/v1/models/{model}/versions/{version}", "/v1/models/{model}/aliases/{alias}")


def updated(page, files, routes):
    """The page with the table of today."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"docs/http.md has no place for its table: {BEGIN}...{END}")
    calls = {}
    for rpc in [rpc for file in files for service in file.services for rpc in service.rpcs]:
        for verb, path, kind in in_short(routes[rpc.name]):
            calls.setdefault(path, []).append(f"{verb}: {rpc.name}{KINDS[kind]}")
    return before + BEGIN + table(["path", "methods: RPC"], [[path, "; ".join(each)] for path, each in calls.items()]) + END + after


def in_short(ways):
    """Paths as Markdown; one, where they are those of a version."""
    suffix = ways[0][1].removeprefix(VERSIONS[0]) if ways else ""
    if [path for _, path, _ in ways] == [version + suffix for version in VERSIONS]:
        return [(ways[0][0], f"*version* {code(suffix)}", ways[0][2])]
    return [(verb, code(path), kind) for verb, path, kind in ways]
