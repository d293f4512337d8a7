"""Runs tests of the Python package in the environment that `./dev build python` makes."""

import os
import subprocess

import server_lib

ENVIRONMENT = server_lib.ROOT / "build/python/venv"
PYTHON = ENVIRONMENT / "bin/python"
TESTS = server_lib.ROOT / "client/python/tests"
# Written when all packages are in the environment: one that was cut off, or that found no package index, has none.
IS_COMPLETE = (ENVIRONMENT / "constraints.txt").exists()
# Run by themselves: a test of ctest has five minutes.
ESTIMATORS = "test_estimators.py"
FITS = ("test_fits.py", "test_frames.py", "test_shared_server.py")
WHY_SKIPPED = "./dev build python has not made build/python/venv"


def modules():
    """Names of all files of tests."""
    return sorted(path.name for path in TESTS.glob("test_*.py"))


def run(*names):
    """Runs these files; returns whether they passed, and what they printed."""
    environment = {**os.environ, "MERCER_SERVER_PROGRAM": str(server_lib.BIN / "mercer-server"), "MPLBACKEND": "agg"}
    environment.pop("MERCER_SERVER", None)
    # Where a test that hangs is, before ctest ends it.
    command = [PYTHON, "-m", "pytest", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=200", *(TESTS / name for name in names)]
    done = subprocess.run(command, cwd=TESTS, env=environment, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr
