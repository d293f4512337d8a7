"""A server of one's own, for notebooks and tests."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import weakref
from typing import Optional, Sequence

from mercer._channel import Connection, PathLike
from mercer.client import Client

_STOP_SECONDS = 30.0
_NAME = "mercer-server"

Process = subprocess.Popen[str]

# Runs the server until its own input ends, which the system sees to however this process ends: a notebook's kernel is
# killed when it is started again. Then it lets the server drain, and removes the folder if there is one to remove, and
# a link to it that leads nowhere then. A server that ends by itself leaves its log until the input ends, or, if it is
# shared, all is removed at once, so that the next who needs it starts another.
_KEEPER = """
folder=$1 link=$2
shift 2
"$@" </dev/null &
server=$!
exec 3<&0 </dev/null >/dev/null
{ read -r _ <&3; kill -TERM $server; } &
watcher=$!
exec 3<&-
wait $server
code=$?
[ -z "$link" ] || kill $watcher
wait $watcher
[ -z "$folder" ] || rm -rf "$folder"
[ -z "$link" ] || [ -e "$link" ] || rm -f "$link"
exit $code
"""


class LocalClient(Client):
    """A client of a server process that ends with it."""

    def __init__(self, connection: Connection, process: Process, data: str) -> None:
        super().__init__(connection)
        self._data = data
        self._finalizer = weakref.finalize(self, _stop, process, os.getpid())

    def log(self) -> str:
        """The last words of the server."""
        return _tail(pathlib.Path(_log_file(self._data)).read_bytes())

    @property
    def dashboard(self) -> Optional[str]:
        """Where a browser finds the server's dashboard; None when the server has none."""
        port = pathlib.Path(self._data, "http_port")
        return f"http://127.0.0.1:{port.read_text().strip()}/" if port.exists() else None

    def close(self) -> None:
        """Ends all calls and the server; a temporary folder is removed."""
        super().close()
        self._finalizer()


def find_server() -> str:
    """The server's program: ``MERCER_SERVER_PROGRAM``, the one that the wheel carries, or that of the ``PATH``.

    Raises
    ------
    FileNotFoundError
    """
    named = os.environ.get("MERCER_SERVER_PROGRAM")
    carried = pathlib.Path(__file__).with_name("_bin") / _NAME
    found = named or (str(carried) if carried.exists() else shutil.which(_NAME))
    if not found or not os.access(found, os.X_OK):
        where = f"{found} cannot be run" if found else "it is neither in this package nor in the PATH"
        raise FileNotFoundError(f"{_NAME}: {where}; set MERCER_SERVER_PROGRAM to its path")
    return found


def local(
    data_dir: Optional[PathLike] = None, *, program: Optional[PathLike] = None, flags: Sequence[str] = ()
) -> LocalClient:
    """Starts a server on a free port of this machine; it ends with the client, or with this process.

    Parameters
    ----------
    data_dir : str, optional
        Folder of data sets, jobs and models. None: a temporary one, removed at the end.
    program : str, optional
        The server; see :func:`find_server`.
    flags : sequence of str
        Further flags of ``mercer-server``.

    Examples
    --------
    >>> with mercer.local() as client:                      # doctest: +SKIP
    ...     job = client.train(client.upload(X, y), "svm")
    """
    path = os.fspath(program) if program is not None else find_server()
    folder = None if data_dir is not None else tempfile.mkdtemp(prefix="mercer-")
    data = os.fspath(data_dir) if data_dir is not None else os.path.join(str(folder), "data")
    try:
        os.makedirs(data, exist_ok=True)
        process, address = start_keeper(server_command(path, data, flags), data, folder or "")
    except BaseException:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return LocalClient(Connection(address), process, data)


def server_command(path: str, data: str, flags: Sequence[str] = ()) -> list[str]:
    """Of a server on free ports of this machine."""
    chosen = flags if any(flag.startswith("--http") for flag in flags) else [*_http_flags(path), *flags]
    return [path, "--data-dir", data, "--listen", "127.0.0.1:0", *chosen]


def _log_file(data: str) -> str:
    """Beside the data folder, in which the server looks after every file."""
    return data.rstrip("/") + ".log"


def _http_flags(path: str) -> list[str]:
    """A free port for the dashboard, where the server has one: the usual port may be another server's."""
    help_text = subprocess.run([path, "--help"], capture_output=True, text=True, check=False).stdout
    return ["--http", "127.0.0.1:0"] if "--http " in help_text else []


def start_keeper(
    command: Sequence[str], data: str, folder: str, link: str = "", users: int = subprocess.PIPE
) -> tuple[Process, str]:
    """The process of the keeper, and the address that the server listens on.

    With the end of the input `users` the server ends; then `folder`, and a `link` to it, are removed.
    """
    # Open until the server listens: where it ends before, its keeper may remove the folder, and the log with it.
    with open(_log_file(data), "a+b") as log:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "sh", folder, link, *command],
            stdin=users,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # a Ctrl-C of the terminal is for the notebook, not for the server
        )
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("listening on "):
                return process, line.split()[-1]
        log.seek(0)
        text = _tail(log.read())
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate()
    raise RuntimeError(f"the server did not start:\n{text}")


def _tail(log: bytes) -> str:
    return log.decode("utf-8", errors="replace")[-4000:]


def _stop(process: Process, owner: int) -> None:
    """Lets the server drain, and its keeper tidy up. Does nothing in a fork of the process that owns it."""
    if os.getpid() != owner:
        return
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    process.stdout.close()
