"""What a server says of its learners."""

import json
import os
import pathlib
import subprocess
import tempfile
import urllib.request


def ask_server(root):
    """The answer of ListLearners, from a server that is started for it: a list of dictionaries."""
    program = pathlib.Path(os.environ.get("MERCER_BIN", root / "build/release/bin")) / "mercer-server"
    with tempfile.TemporaryDirectory(prefix="mercer-reference.") as folder:
        command = [program, "--data-dir", folder, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--log-level", "error"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                if not server.stdout.readline().startswith("listening on "):
                    raise SystemExit(f"{program} did not start")
                port = pathlib.Path(folder, "http_port").read_text(encoding="utf-8").strip()
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/learners", timeout=60) as answer:
                    return json.load(answer)["learners"]
            finally:
                server.terminate()
