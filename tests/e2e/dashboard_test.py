#!/usr/bin/env python3
"""The dashboard in a real browser, against a real server; client/web/tests/e2e says what is tried. Its pictures are kept in
build/dashboard-screenshots."""

import os
import pathlib
import shutil
import signal
import subprocess
import unittest
import urllib.request

import server_lib

WEB = server_lib.ROOT / "client/web"
CHROMIUM = os.environ.get("MERCER_CHROMIUM", "/usr/bin/chromium")
SECONDS = 860


def why_not():
    if shutil.which("node") is None or not (WEB / "node_modules/.mercer-all").exists():
        return "the packages of the dashboard's tests are missing; './dev test' fetches them"
    if not pathlib.Path(CHROMIUM).exists():
        return f"there is no browser {CHROMIUM}; './dev test' installs it, or MERCER_CHROMIUM names another one"
    return ""


class DashboardTest(unittest.TestCase):
    def test_the_server_brings_the_dashboard_along(self):
        if not (server_lib.ROOT / "build/web/index.html").exists():
            self.skipTest("the dashboard was not built; './dev web' builds it, and then the server must be built")
        with server_lib.Server("--http", "127.0.0.1:0") as server:
            port = pathlib.Path(server.folder, "data/http_port").read_text(encoding="utf-8").strip()
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
                page = answer.read()
        self.assertEqual(page, (server_lib.ROOT / "build/web/index.html").read_bytes(), "build the server again: './dev build'")

    def test_in_the_browser(self):
        if why_not():
            self.skipTest(why_not())
        environment = {**os.environ, "MERCER_BIN": str(server_lib.BIN)}
        command = ["node", "scripts/test.mjs", "tests/e2e"]
        # A session of its own, so that nothing of it, servers and browsers either, outlives a test that takes too long.
        process = subprocess.Popen(
            command, cwd=WEB, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        self.assertEqual(process.returncode, 0, output)


if __name__ == "__main__":
    unittest.main()
