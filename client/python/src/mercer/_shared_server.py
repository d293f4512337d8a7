"""The server that a process shares with the processes of its parallel work, when nobody names one."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import multiprocessing
import os
import pathlib
import select
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from typing import Optional, Union

from mercer._channel import Connection
from mercer.client import Client, connect
from mercer.local import Process, find_server, server_command, start_keeper

# Files of a server in its folder: a pipe that every user of it holds open for writing, and where it listens.
USERS = "users"
ADDRESS = "address"

Server = Union[None, str, Client]


@dataclasses.dataclass(frozen=True)
class _Membership:
    """What makes a process a user of a server."""

    process: int  # a fork is another one
    pipe: int  # of the server's keeper, open for writing
    client: Client

    def is_valid(self) -> bool:
        """False in a fork, and when nobody reads the pipe any more: the server has crashed."""
        poll = select.poll()
        poll.register(self.pipe, 0)
        return self.process == os.getpid() and poll.poll(0) == []


_lock = threading.Lock()
_keepers: list[Process] = []  # held, because they outlive this process where others use their servers
_found: Optional[_Membership] = None


def _unlock_in_fork() -> None:
    """The thread that held the lock does not live on in a fork."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_fork)


def shared() -> Client:
    """A client of that server. Whoever needs it first starts it; it ends with the last process that has used it.

    Workers of joblib and multiprocessing share the server of the process that has started them, so that a search
    over folds has one queue, and its jobs divide the processors among themselves.
    """
    global _found
    with _lock:
        if _found is not None and not _found.is_valid():
            os.close(_found.pipe)
            _found = None
        _found = _found or _join()
        return _found.client


def _join() -> _Membership:
    """Finds the server, or starts it, and counts as its user until the end of this process."""
    program = find_server()  # before all that systems without a server do not have
    meeting = _own_folder()
    link = meeting / _group()
    with _alone(meeting):
        found = _open(link)
        if found is None:
            link.unlink(missing_ok=True)  # of a server that has ended, or was killed
            _start(link, program)
            found = _open(link)
    if found is None:
        raise RuntimeError("the server ended as soon as it had started")
    return found


def _group() -> str:
    """What a process and its workers have in common, and nobody else, even where containers share the folder."""
    parent = multiprocessing.parent_process()
    root = os.getpid() if parent is None else parent.pid
    numbering = pathlib.Path("/proc/self/ns/pid")  # of Linux: whose process numbers these are
    space = numbering.stat().st_ino if numbering.exists() else 0
    return f"{os.uname().nodename}-{space}-{root}"


def _open(link: pathlib.Path) -> Optional[_Membership]:
    """Becomes a user of the server whose folder `link` leads to; None when it is gone."""
    try:
        # The server's keeper reads this pipe to its end, which comes when no process has it open any more, however they
        # ended. So it is closed only for a server that is gone.
        pipe = os.open(link / USERS, os.O_WRONLY | os.O_NONBLOCK)
        address = (link / ADDRESS).read_text(encoding="ascii")
        return _Membership(os.getpid(), pipe, Client(Connection(address)))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENXIO):  # no such server, or nobody reads
            return None
        raise


def _start(link: pathlib.Path, program: str) -> None:
    """Starts a server in a temporary folder, to which `link` then leads; this process is its first user."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mercer-"))
    writing: Optional[int] = None  # kept open as long as this process lives
    try:
        data = str(folder / "data")
        os.mkdir(data)
        os.mkfifo(folder / USERS, 0o600)
        reading = os.open(folder / USERS, os.O_RDONLY | os.O_NONBLOCK)  # would else wait for a writer
        try:
            writing = os.open(folder / USERS, os.O_WRONLY)
            os.set_blocking(reading, True)
            command = server_command(program, data)
            keeper, address = start_keeper(command, data, str(folder), str(link), reading)
        finally:
            os.close(reading)
        _keepers.append(keeper)
        (folder / ADDRESS).write_text(address, encoding="ascii")
        link.symlink_to(folder)
    except BaseException:
        if writing is not None:
            os.close(writing)  # ends a server that runs already
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _own_folder() -> pathlib.Path:
    """Where processes of this user meet; nobody else can put anything there."""
    folder = pathlib.Path(tempfile.gettempdir(), f"mercer-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} must be a folder that belongs to this user alone; remove it")
    return folder


@contextlib.contextmanager
def _alone(folder: pathlib.Path) -> Iterator[None]:
    """Keeps other processes of this user out."""
    import fcntl  # not on systems that have no server either, where estimators train on another machine

    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a fork in the meantime has the file open still, and so the lock
        os.close(descriptor)


@functools.lru_cache(maxsize=8)
def _client(address: str, process: int) -> Client:
    """One for each server; a fork of this process makes its own."""
    return connect(address)


def find_client(server: Server) -> Client:
    """The client of an estimator's parameter `server`."""
    if isinstance(server, Client):
        return server
    if server is not None and not isinstance(server, str):
        raise TypeError(f"server must be a mercer.Client, an address or None, is {server!r}")
    address = server or os.environ.get("MERCER_SERVER")
    return _client(address, os.getpid()) if address else shared()
