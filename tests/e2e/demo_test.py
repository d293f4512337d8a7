#!/usr/bin/env python3
"""The demo without a terminal: ends with 0, prints plain lines, leaves nothing behind."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import server_lib  # noqa: E402

DEMO = server_lib.ROOT / "demo/run.sh"


class DemoTest(unittest.TestCase):
    def test_everything_happens(self):
        with tempfile.TemporaryDirectory(prefix="mercer-demo-test.") as folder:
            done = subprocess.run(
                [DEMO, server_lib.BIN.parent],
                capture_output=True, text=True, env={**os.environ, "TMPDIR": folder}, timeout=280, check=False,
            )
            output = done.stdout + done.stderr
            self.assertEqual(done.returncode, 0, output)
            for part in ("4601 rows", "iteration", "succeeded", "certificate", "kernel weights", "word_freq_george",
                         "models/spam/versions/1", "Held-out accuracy", "Go on"):
                self.assertIn(part, output)
            self.assertNotIn("\x1b", output)
            self.assertEqual(os.listdir(folder), [])

    def test_wrong_calls_are_explained(self):
        done = subprocess.run([DEMO], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage", done.stderr)
        done = subprocess.run([DEMO, "/nowhere"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no program /nowhere/bin/mercer-server", done.stderr)


if __name__ == "__main__":
    unittest.main()
