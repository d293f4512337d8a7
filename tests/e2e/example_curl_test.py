#!/usr/bin/env python3
"""The example for curl works end to end, through the server's HTTP port."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import server_lib  # noqa: E402

EXAMPLE = server_lib.ROOT / "client/examples/curl.sh"
RUN_SECONDS = 120


def has_http():
    """Whether the server was built with its HTTP port."""
    done = subprocess.run([server_lib.BIN / "mercer-server", "--help"], capture_output=True, text=True, check=False)
    return "--http " in done.stdout


def run(address):
    return subprocess.run(
        [EXAMPLE, f"http://{address}", server_lib.SPAMBASE], capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )


@unittest.skipUnless(shutil.which("curl"), "there is no curl")
@unittest.skipUnless(has_http(), "the server has no HTTP port")
class ExampleCurlTest(unittest.TestCase):
    def test_upload_train_watch_predict(self):
        with server_lib.Server("--http", "127.0.0.1:0") as server:
            port = pathlib.Path(server.folder, "data/http_port").read_text(encoding="utf-8").strip()
            done = run(f"127.0.0.1:{port}")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr + server.log())
        self.assertIn("JOB_STATE_SUCCEEDED", done.stdout)
        self.assertEqual(done.stdout.count("predicted "), 5, done.stdout)
        self.assertGreaterEqual(float(done.stdout.split("held_out.accuracy ")[1].split()[0]), 0.92)

    def test_errors_are_shown(self):
        with server_lib.Server("--http", "127.0.0.1:0") as server:
            port = pathlib.Path(server.folder, "data/http_port").read_text(encoding="utf-8").strip()
            command = [EXAMPLE, f"http://127.0.0.1:{port}", __file__]
            done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("INVALID_ARGUMENT", done.stderr)
        self.assertNotEqual(run("127.0.0.1:1").returncode, 0)


if __name__ == "__main__":
    unittest.main()
