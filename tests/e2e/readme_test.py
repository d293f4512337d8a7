#!/usr/bin/env python3
"""The commands and the Python of README.md, run as they stand there, in a folder that looks like a built checkout."""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import server_lib  # noqa: E402

START = re.compile(r"^(mercer-server --data-dir run) &.*$", re.MULTILINE)
WAIT = "until grep -qs '^listening on ' listening; do kill -0 $!; sleep 0.1; done"
INSTALL = re.compile(r"^apt-get .*$", re.MULTILINE)
SECONDS = 280


def free_address():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return "127.0.0.1:%d" % listener.getsockname()[1]


def blocks(language):
    text = (server_lib.ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


class ReadmeTest(unittest.TestCase):
    def test_every_command_works(self):
        commands, snippets = blocks("sh"), blocks("python")
        self.assertEqual((len(commands), len(snippets)), (2, 1))
        with tempfile.TemporaryDirectory(prefix="mercer-readme.") as folder:
            for name in ("demo", "proto", "client"):
                os.symlink(server_lib.ROOT / name, os.path.join(folder, name))
            os.makedirs(os.path.join(folder, "build/release"))
            os.symlink(server_lib.BIN, os.path.join(folder, "build/release/bin"))
            address = free_address()
            pathlib.Path(folder, "snippet.py").write_text(snippets[0].replace("127.0.0.1:7345", address), encoding="utf-8")
            script = "\n".join(["set -e", *commands, f"{sys.executable} snippet.py"])
            script, starts = START.subn(rf"\1 --listen {address} > listening 2> server.log & trap 'kill $(jobs -p)' EXIT\n{WAIT}", script)
            self.assertEqual(starts, 1)
            done = subprocess.run(["bash", "-c", INSTALL.sub("", script)], cwd=folder, capture_output=True, text=True, timeout=SECONDS,
                                  env={**os.environ, "MERCER_SERVER": address}, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for part in ("datasets/mail  4601 rows", "kernel weights", "written to predicted.csv", "lp_mkl - "):
                self.assertIn(part, done.stdout)
            predicted = pathlib.Path(folder, "predicted.csv").read_text(encoding="utf-8").splitlines()
            self.assertEqual(predicted[0], "label,value 1")
            self.assertEqual(len(predicted), 6)


if __name__ == "__main__":
    unittest.main()
