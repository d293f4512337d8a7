"""Processes that work together train on one server, which ends with them."""

import fcntl
import os
import pathlib
import select
import signal
import stat
import subprocess
import sys
import textwrap
import types

import pytest

from mercer import _shared_server, _temporary
from mercer.local import start_keeper

# Stands in for the server's program: notes which servers are started.
PROGRAM = """#!/bin/sh
case "$*" in *--data-dir*) echo $$ >>"{log}" ;; esac
exec "{server}" "$@"
"""


@pytest.fixture
def run(tmp_path):
    """Runs a script without a server; returns the process, and the file with the numbers of the servers' processes."""
    log = tmp_path / "started"
    program = tmp_path / "mercer-server"
    program.write_text(PROGRAM.format(log=log, server=os.environ["MERCER_SERVER_PROGRAM"]))
    program.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    environment = {
        **os.environ,
        "MERCER_SERVER_PROGRAM": str(program),
        "TMPDIR": str(tmp_path / "tmp"),
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    environment.pop("MERCER_SERVER", None)

    def start(script):
        head = "import numpy as np; from mercer.estimators import KernelSVC\n" + textwrap.dedent(
            """
            X = np.random.default_rng(0).normal(size=(60, 3))
            y = X[:, 0] > 0
            """
        )
        command = [sys.executable, "-c", head + textwrap.dedent(script)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        started.append(subprocess.Popen(command, env=environment, text=True, **pipes))
        return started[-1], log

    started = []
    yield start
    for process in started:
        process.kill()  # of a test that has failed


def servers(log):
    return [int(line) for line in log.read_text().split()]


def assert_gone(pid):
    """Waits for the end of a process that is no child of ours."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([descriptor], [], [], 30)[0], f"process {pid} lives on"
    os.close(descriptor)


SEARCH = """
    from sklearn.model_selection import GridSearchCV
    search = GridSearchCV(KernelSVC(), {"C": [0.1, 1, 10]}, cv=4, n_jobs=4).fit(X, y)
    print(search.best_score_)
"""


def test_a_search_in_many_processes_has_one_server(run, tmp_path):
    process, log = run(SEARCH)
    out, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    assert float(out) > 0.8
    (server,) = servers(log)
    assert_gone(server)


def test_processes_of_multiprocessing_share_it_too(run):
    process, log = run(
        """
        from joblib import parallel_config
        from sklearn.model_selection import cross_val_score
        KernelSVC().fit(X, y)
        with parallel_config("multiprocessing"):
            print(cross_val_score(KernelSVC(), X, y, cv=3, n_jobs=3).mean())
        """
    )
    out, _ = process.communicate(timeout=100)
    assert float(out) > 0.8
    assert len(servers(log)) == 1


def test_threads_share_it_too(run):
    process, log = run(
        """
        from joblib import parallel_config
        from sklearn.model_selection import cross_val_score
        with parallel_config("threading"):
            print(cross_val_score(KernelSVC(), X, y, cv=3, n_jobs=3).mean())
        """
    )
    out, _ = process.communicate(timeout=100)
    assert float(out) > 0.8
    assert len(servers(log)) == 1


def test_a_killed_process_takes_its_server_along(run, tmp_path):
    process, log = run("KernelSVC().fit(X, y); print('fitted', flush=True); input()")
    assert process.stdout.readline() == "fitted\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (server,) = servers(log)
    assert_gone(server)


def test_a_server_that_crashes_is_replaced(run, tmp_path):
    process, log = run(
        """
        import sys
        print(KernelSVC().fit(X, y).score(X, y) > 0.8, flush=True)
        sys.stdin.readline()
        print(KernelSVC(C=2).fit(X, y).score(X, y) > 0.8, flush=True)
        """
    )
    assert process.stdout.readline() == "True\n"
    (server,) = servers(log)
    folder = tmp_path / "tmp" / f"mercer-{os.getuid()}"
    (link,) = folder.glob("*-*")
    os.kill(server, signal.SIGKILL)
    while link.is_symlink():  # its keeper tidies up
        pass
    out, _ = process.communicate("\n", timeout=100)
    assert out == "True\n"
    assert len(servers(log)) == 2
    while link.is_symlink():
        pass
    assert list(folder.parent.glob("mercer-*/data")) == []


def test_nobody_else_can_open_the_meeting_place(run, tmp_path):
    process, _ = run("KernelSVC().fit(X, y)")
    process.communicate(timeout=100)
    folder = tmp_path / "tmp" / f"mercer-{os.getuid()}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)
    process, _ = run(
        """
        try:
            KernelSVC().fit(X, y)
        except PermissionError as error:
            print(error)
        """
    )
    out, _ = process.communicate(timeout=100)
    assert "belongs to this user alone" in out


def test_what_killed_servers_left_is_passed_over(run, tmp_path):
    folder = pathlib.Path(tmp_path, "tmp", f"mercer-{os.getuid()}")
    folder.mkdir(mode=0o700)
    process, log = run(
        f"""
        import os
        from mercer import _shared_server
        os.symlink("/nowhere", "{folder}/" + _shared_server._group())
        print(KernelSVC().fit(X, y).score(X, y) > 0.8)
        """
    )
    out, _ = process.communicate(timeout=100)
    assert out == "True\n"
    assert len(servers(log)) == 1


def child_of_fork(check):
    """Whether `check` is true in a fork of this process."""
    child = os.fork()
    if child == 0:
        os._exit(0 if check() else 1)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("module", [_shared_server, _temporary])
def test_a_fork_does_not_inherit_a_lock_that_nobody_opens(module):
    with module._lock:
        assert child_of_fork(lambda: module._lock.acquire(timeout=0))
        assert not module._lock.acquire(timeout=0)


def test_a_fork_does_not_keep_other_processes_out(tmp_path):
    told, telling = os.pipe()
    with _shared_server._alone(tmp_path):
        child = os.fork()
        if child == 0:
            os.close(telling)
            os.read(told, 1)  # until the parent has looked
            os._exit(0)
    os.close(told)
    try:
        with open(tmp_path / "lock", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(telling)
        os.waitpid(child, 0)


def test_a_start_that_is_broken_off_leaves_no_server(tmp_path, monkeypatch):
    """Ctrl-C while the server starts: its keeper must see the end of its input."""
    inputs = []

    def broken_off(command, data, folder, link, users):
        inputs.append(os.dup(users))
        raise KeyboardInterrupt

    monkeypatch.setattr(_shared_server, "start_keeper", broken_off)
    with pytest.raises(KeyboardInterrupt):
        _shared_server._start(tmp_path / "link", os.environ["MERCER_SERVER_PROGRAM"])
    (copy,) = inputs
    os.set_blocking(copy, False)
    assert os.read(copy, 1) == b""  # raises BlockingIOError while a writer is left
    os.close(copy)


def test_what_a_server_said_outlives_its_folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    command = ["/bin/sh", "-c", 'echo no luck >&2; rm -r "$0"', str(folder)]
    with pytest.raises(RuntimeError, match="did not start:\nno luck"):
        start_keeper(command, str(folder / "data"), str(folder))


def test_systems_without_a_server_say_so(monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_SERVER_PROGRAM", str(tmp_path / "nothing"))
    monkeypatch.delattr(os, "getuid")  # as on Windows
    with pytest.raises(FileNotFoundError, match="MERCER_SERVER_PROGRAM"):
        _shared_server._join()


def test_a_deletion_that_fails_is_not_the_last():
    called = []

    def once(method, request, timeout):
        called.append(request.name)
        raise RuntimeError("what nobody expects")

    deleter = _temporary._Deleter()
    for name in ("models/a/versions/1", "models/b/versions/1"):
        model = types.SimpleNamespace(name=name, connection=types.SimpleNamespace(once=once))
        deleter.delete_with(once, model)()
    deleter._end()
    assert called == ["models/a/versions/1", "models/b/versions/1"]
