#!/usr/bin/env python3
"""The tests of the Python package, in the environment that `./dev build python` makes. Without it they are left out."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import server_lib  # noqa: E402

PYTHON = server_lib.ROOT / "build/python/venv/bin/python"
TESTS = server_lib.ROOT / "client/python/tests"


def run_module(name):
    """Runs one file of tests; returns what it printed when it failed, else None."""
    environment = {**os.environ, "MERCER_SERVER_PROGRAM": str(server_lib.BIN / "mercer-server"), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [PYTHON, "-m", "pytest", "-p", "no:cacheprovider", TESTS / name],
        cwd=TESTS, env=environment, capture_output=True, text=True, check=False,
    )
    return done.stdout + done.stderr if done.returncode else None


@unittest.skipUnless(PYTHON.exists(), "./dev build python has not made build/python/venv")
class PythonPackageTest(unittest.TestCase):
    def test_every_module(self):
        for path in sorted(pathlib.Path(TESTS).glob("test_*.py")):
            with self.subTest(path.name):
                failure = run_module(path.name)
                self.assertIsNone(failure, failure)


if __name__ == "__main__":
    unittest.main()
