"""The package is typed throughout, and its files keep to the house's style."""

import pathlib
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "command",
    [["mypy", "--cache-dir=/dev/null"], ["ruff", "check", "--no-cache"], ["ruff", "format", "--check", "--no-cache"]],
)
def test_checks(command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=PACKAGE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
