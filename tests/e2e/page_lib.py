"""The code blocks of a page of the documentation, run in their order, as a reader would: in one shell, beside a server.

A block that cannot run everywhere has an HTML comment on the line before it that says why:

    <!-- not run: needs docker -->
"""

import contextlib
import dataclasses
import itertools
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

import python_package_lib
import server_lib

SECONDS = 280
RUN = ("sh", "python", "javascript")
SHOWN = ("text", "json", "yaml")  # outputs, formulas, files: nothing to run

BLOCK = re.compile(r"^(?:<!-- not run: (?P<reason>[^\n]*) -->\n)?```(?P<language>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:\A|\n\n)(    [^\n]*)")
SERVER = re.compile(r"^mercer-server (?!check|restore|token|--check)(.*?)(?: +&)?(?: +#.*)?$", re.MULTILINE)

# `serve` starts a server and returns when it listens. Calls of HTTP that are refused end the script.
PROLOGUE = """
set -eu
trap 'kill $(cat pids) 2>kill.log || true' EXIT
touch pids
serve() {
  case "$*" in *--listen*) ;; *) set -- "$@" --listen "$LISTEN" ;; esac
  local line out
  exec {out}< <(exec mercer-server "$@" 2>>server.log)
  echo $! >>pids
  read -r line <&"$out" || { cat server.log; return 1; }
}
curl() { command curl --fail-with-body --silent --show-error "$@"; }
"""


@dataclasses.dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    line: int
    language: str
    code: str
    reason: str  # why it is not run; else empty


@dataclasses.dataclass(frozen=True)
class Scene:
    """What a page takes for granted."""

    shell: str = ""  # makes files, data sets and models
    python: str = ""  # goes before the page's Python: names that it does not explain
    server: bool = True  # False: the page starts its own
    expected: tuple = ()  # parts of the output


def pages():
    """The paths of all pages, from the root."""
    return ["README.md", *sorted(path.relative_to(server_lib.ROOT).as_posix() for path in server_lib.ROOT.glob("docs/*.md"))]


def text_of(page):
    return (server_lib.ROOT / page).read_text(encoding="utf-8")


def blocks(page):
    """All blocks between fences, in order."""
    text = text_of(page)
    return [
        Block(text.count("\n", 0, found.start("code")), found["language"], found["code"], found["reason"] or "")
        for found in BLOCK.finditer(text)
    ]


def indented(page):
    """Code without fences, whose language nobody can know."""
    return INDENTED.findall(BLOCK.sub("", text_of(page)))


def _interpreter(block):
    """Of a block that is no shell: stubs of the API need Debian's grpcio; None where Node or the environment of the package is missing."""
    if block.language == "javascript":
        return shutil.which("node")
    if "mercer.v1" in block.code:
        return sys.executable
    return python_package_lib.PYTHON if python_package_lib.IS_COMPLETE else None


def free_address():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return "127.0.0.1:%d" % listener.getsockname()[1]


def _here(code, address, http):
    """The code for the server of this run."""
    port = address.rpartition(":")[2]
    return code.replace("127.0.0.1:7345", address).replace("0.0.0.0:7345", "0.0.0.0:" + port).replace("127.0.0.1:7380", http)


def _script(page, scene, folder, here):
    """The shell script of a page. Blocks of one language that follow each other are one program, and so share their names."""
    runs = [block for block in blocks(page) if not block.reason and block.language in RUN]
    lines = [PROLOGUE, here(scene.shell)]
    for (language, interpreter), group in itertools.groupby(runs, lambda b: (b.language, b.language != "sh" and _interpreter(b))):
        together = list(group)
        if language == "sh":
            for block in together:
                lines += [f"echo '== {page}:{block.line}'", SERVER.sub(r"serve \1", here(block.code))]
        elif interpreter:
            show = "console.log" if language == "javascript" else "print"
            program = "".join(f"{show}('== {page}:{block.line}')\n{here(block.code)}" for block in together)
            prelude = scene.python if interpreter == python_package_lib.PYTHON else ""
            name = f"program_{together[0].line}.{'mjs' if language == 'javascript' else 'py'}"
            pathlib.Path(folder, name).write_text(prelude + program, encoding="utf-8")
            lines.append(f"{interpreter} {name}")
    return "\n".join(lines)


@contextlib.contextmanager
def _server(wanted):
    """(address, address of HTTP) of a server that runs, or of none, for a page that starts it."""
    if not wanted:
        yield free_address(), free_address()
        return
    with server_lib.Server() as server:
        port = pathlib.Path(server.folder, "data", "http_port").read_text(encoding="ascii").strip()
        yield server.address, f"127.0.0.1:{port}"


def run(page, scene):
    """Runs all blocks of a page; returns (whether all succeeded, what they printed, files of the folder as texts)."""
    with _server(scene.server) as (address, http), tempfile.TemporaryDirectory(prefix="mercer-page.", ignore_cleanup_errors=True) as folder:
        for name in ("demo", "proto", "client"):
            os.symlink(server_lib.ROOT / name, os.path.join(folder, name))
        os.makedirs(os.path.join(folder, "build/release"))
        os.symlink(server_lib.BIN, os.path.join(folder, "build/release/bin"))
        script = _script(page, scene, folder, lambda code: _here(code, address, http))
        environment = {
            **os.environ,
            "PATH": f"{server_lib.BIN}:{os.environ['PATH']}",
            "MERCER_SERVER": address,
            "MERCER_SERVER_PROGRAM": str(server_lib.BIN / "mercer-server"),
            "LISTEN": "127.0.0.1:0" if scene.server else address,
            "MPLBACKEND": "agg",
            "NO_COLOR": "1",
        }
        done = subprocess.run(
            ["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False,
        )
        files = {path.name: path.read_text(encoding="utf-8", errors="replace") for path in pathlib.Path(folder).glob("*.csv")}
        return done.returncode == 0, done.stdout, files
