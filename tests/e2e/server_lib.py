"""A server with a data folder of its own, and the command line, for end-to-end tests."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("MERCER_BIN", ROOT / "build/release/bin"))
SPAMBASE = ROOT / "demo/data/spambase.csv.gz"
COMMAND_SECONDS = 120


class Server:
    """Listens on a free port of loopback; use with `with`. `program` lies in BIN."""

    def __init__(self, *flags, program="mercer-server"):
        self.program = program
        self.flags = flags
        self.folder = tempfile.mkdtemp(prefix="mercer-e2e.")
        self.address = "127.0.0.1:0"
        self.process = None

    def start(self):
        """Starts it, or starts it again on the same port and data."""
        with open(os.path.join(self.folder, "server.log"), "ab") as log:
            self.process = subprocess.Popen(
                [BIN / self.program, "--data-dir", os.path.join(self.folder, "data"), "--listen", self.address, *self.flags],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise AssertionError(f"the server did not start: {line!r}\n{self.log()}")
        self.address = line.split()[-1]

    def stop(self):
        """Asks it to drain; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code

    def log(self):
        return pathlib.Path(self.folder, "server.log").read_text(encoding="utf-8", errors="replace")[-4000:]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def mercer(server, *arguments, **variables):
    """Runs the command line; returns (exit code, stdout, stderr). `variables` go into its environment."""
    environment = {**os.environ, "MERCER_SERVER": server.address, "NO_COLOR": "1", **variables}
    done = subprocess.run(
        [BIN / "mercer", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
