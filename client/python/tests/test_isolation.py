"""Stubs generated from the same protos live beside the package in one process, in either order."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
OURS = "import mercer; from mercer._proto import v1; ours = v1.TrainRequest(seed=7)"
THEIRS = "from mercer.v1 import training_pb2; theirs = training_pb2.TrainRequest(seed=7)"
COMPARE = "assert ours.SerializeToString() == theirs.SerializeToString(); assert type(ours) is not type(theirs)"


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    """A folder with generated modules."""
    folder = tmp_path_factory.mktemp("stubs")
    protos = [str(path.relative_to(ROOT / "proto")) for path in (ROOT / "proto").glob("*/**/*.proto")]
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", f"--python_out={folder}"]
    subprocess.run([*command, f"--grpc_python_out={folder}", *protos], check=True)
    return folder


@pytest.mark.parametrize("statements", [[OURS, THEIRS, COMPARE], [THEIRS, OURS, COMPARE]])
def test_generated_stubs_do_not_collide(stubs, statements):
    path = os.pathsep.join([*(p for p in sys.path if p), str(stubs)])
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(statements)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
