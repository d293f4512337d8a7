"""Servers that the package starts by itself."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import mercer


def test_a_local_server_ends_with_its_client(tmp_path, monkeypatch):
    client = mercer.local(tmp_path / "data", flags=["--log-level", "debug"])
    folder = tmp_path / "data"
    assert client.upload(np.eye(3), [1, 2, 3], id="kept").rows == 3
    assert "listening" in client.log()
    client.close()
    with pytest.raises(mercer.UnavailableError):
        mercer.connect(client.address).learners()
    with mercer.local(folder) as again:
        assert again.dataset("kept").rows == 3
    with pytest.raises(RuntimeError, match="did not start"):
        mercer.local(flags=["--no-such-flag"])
    monkeypatch.setenv("MERCER_SERVER_PROGRAM", str(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError, match="MERCER_SERVER_PROGRAM"):
        mercer.local()


def test_a_local_server_ends_with_a_killed_process():
    script = (
        "import mercer, os, signal; c = mercer.local(); print(c.address, c._data, flush=True); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment, check=False
    )
    assert done.returncode == -signal.SIGKILL
    address, data = done.stdout.split()
    deadline = time.monotonic() + 60
    while pathlib.Path(data).parent.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not pathlib.Path(data).parent.exists()
    with pytest.raises(mercer.UnavailableError):
        mercer.connect(address).learners()


def test_a_temporary_folder_goes_with_its_client():
    with mercer.local() as client:
        folder = client._data
        client.upload(np.eye(3), [1, 2, 3])
    assert not pathlib.Path(folder).parent.exists()
