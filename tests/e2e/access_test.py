#!/usr/bin/env python3
"""Tokens as operators and users handle them: made, given, asked for, revoked while the server runs."""

import os
import pathlib
import signal
import stat
import subprocess
import tempfile
import time
import unittest

from server_lib import BIN, COMMAND_SECONDS, Server, mercer

NOT_ALLOWED = 9


def make_token(*flags):
    """Runs `mercer-server token`; returns (exit code, stdout, stderr)."""
    done = subprocess.run(
        [BIN / "mercer-server", "token", *flags],
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


class TokenCommandTest(unittest.TestCase):
    def test_the_line_goes_to_stdout_and_the_token_to_stderr(self):
        code, line, token = make_token("--name", "ada", "--scopes", "read,predict", "--days", "3")
        self.assertEqual(code, 0, token)
        self.assertRegex(line, r"\Aada read,predict [0-9a-f]{64} \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n\Z")
        self.assertRegex(token, r"\nmercer_[0-9a-f]{64}\n\Z")
        self.assertNotEqual(make_token("--name", "ada", "--scopes", "read")[1], line)
        code, line, token = make_token("--name", "ada", "--scopes", "read", "--group", "lab,imaging")
        self.assertEqual(code, 0, token)
        self.assertRegex(line, r"\Aada read [0-9a-f]{64} group=lab,imaging\n\Z")

    def test_a_file_for_the_token_is_new_and_for_its_owner_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "token")
            code, _, err = make_token("--name", "ada", "--scopes", "read", "--token-out", path)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(path.read_text(), r"\Amercer_[0-9a-f]{64}\n\Z")
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            code, out, err = make_token("--name", "ada", "--scopes", "read", "--token-out", path)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("cannot be made", err)

    def test_mistakes_are_explained(self):
        for flags, text in (
            (["--name", "a b", "--scopes", "read"], "name"),
            (["--name", "ada", "--scopes", "write"], "'write' is not a scope"),
            (["--name", "ada", "--scopes", "read", "--expires", "tomorrow"], "--expires"),
            (["--name", "ada", "--scopes", "read", "--expires", "2001-01-01T00:00:00Z"], "in the past"),
            (["--name", "ada"], "--scopes"),
            (["--name", "ada", "--scopes", "read", "--group", "a b"], "a group must have"),
        ):
            code, out, err = make_token(*flags)
            self.assertNotEqual(code, 0, flags)
            self.assertEqual(out, "", flags)
            self.assertIn(text, err)


class AccessTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tokens = pathlib.Path(self.folder.name, "tokens")
        self.lines = {}
        self.reader = self.add("reader", "read")
        self.trainer = self.add("trainer", "read,train")

    def add(self, name, scopes, *flags):
        """Lists a new token; returns the file that holds it."""
        path = pathlib.Path(self.folder.name, name)
        code, line, err = make_token("--name", name, "--scopes", scopes, "--token-out", path, *flags)
        self.assertEqual(code, 0, err)
        self.lines[name] = line
        self.write()
        return path

    def write(self):
        self.tokens.write_text("".join(self.lines.values()))

    def test_clients_show_their_token(self):
        with Server("--tokens", self.tokens) as server:
            code, _, err = mercer(server, "data", "list")
            self.assertEqual(code, NOT_ALLOWED)
            self.assertIn("wants a token", err)
            self.assertIn("--token-file", err)
            self.assertEqual(mercer(server, "data", "list", "--token-file", self.reader)[0], 0)
            token = self.reader.read_text().strip()
            self.assertEqual(mercer(server, "data", "list", MERCER_TOKEN=token)[0], 0)
            code, _, err = mercer(server, "data", "rm", "x", "--token-file", self.reader)
            self.assertEqual(code, NOT_ALLOWED)
            self.assertIn("has no scope 'train'", err)
            code, _, err = mercer(server, "data", "rm", "x", "--token-file", self.trainer)
            self.assertEqual(code, 4, err)
            code, _, err = mercer(server, "data", "list", "--token-file", "/no/such/file")
            self.assertEqual(code, 4, err)
            code, _, err = mercer(server, "data", "list", "--server", "192.0.2.1:7345", MERCER_TOKEN=token)
            self.assertEqual(code, 3, err)
            self.assertIn("plain text", err)
            self.assertNotIn(token, server.log())

    def test_what_somebody_has_made_is_his_and_his_groups(self):
        ada = self.add("ada", "read,train", "--group", "lab")
        bob = self.add("bob", "read,train", "--group", "lab")
        table = pathlib.Path(self.folder.name, "rows.csv")
        table.write_text("x,label\n1,0\n2,1\n")
        with Server("--tokens", self.tokens) as server:
            upload = ("data", "upload", table, "--target", "label", "--id", "rows")
            code, _, err = mercer(server, *upload, "--token-file", ada)
            self.assertEqual(code, 0, err)
            code, out, err = mercer(server, "data", "show", "rows", "--token-file", self.reader)
            self.assertEqual(code, 0, err)
            self.assertRegex(out, r"owner +ada")
            code, _, err = mercer(server, "data", "rm", "rows", "--token-file", self.trainer)
            self.assertEqual(code, NOT_ALLOWED)
            self.assertIn("belongs to ada", err)
            code, _, err = mercer(server, "data", "rm", "rows", "--token-file", bob)
            self.assertEqual(code, 0, err)

    def test_a_hang_up_reads_the_tokens_again(self):
        with Server("--tokens", self.tokens) as server:
            self.assertEqual(mercer(server, "data", "list", "--token-file", self.reader)[0], 0)
            del self.lines["reader"]
            self.write()
            os.kill(server.process.pid, signal.SIGHUP)
            deadline = time.monotonic() + COMMAND_SECONDS
            while mercer(server, "data", "list", "--token-file", self.reader)[0] == 0:
                self.assertLess(time.monotonic(), deadline)
            self.assertEqual(mercer(server, "data", "list", "--token-file", self.trainer)[0], 0)
            self.assertIn("new tokens are in use", server.log())
            self.assertEqual(server.stop(), 0)

    def test_a_hang_up_reads_the_configuration_again(self):
        configuration = pathlib.Path(self.folder.name, "mercer.conf")
        configuration.write_text("max-queued-jobs = 1\n")
        with Server("--config", configuration) as server:
            for text, line in (
                ("max-queued-jobs = 3\n", "configuration read again: --max-queued-jobs 1 -> 3"),
                ("# wrong\nmax-queued-jobz = 3\n", f"stays as it was: {configuration}:2"),
                ("max-queued-jobs = 4\nworkers = 9\n", "wait for the next start: --workers"),
            ):
                configuration.write_text(text)
                os.kill(server.process.pid, signal.SIGHUP)
                deadline = time.monotonic() + COMMAND_SECONDS
                while line not in server.log():
                    self.assertLess(time.monotonic(), deadline, server.log())
            self.assertIn("--max-queued-jobs 3 -> 4", server.log())
            self.assertEqual(server.stop(), 0)

    def test_a_hang_up_without_files_drains(self):
        self.addCleanup(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_DFL))
        with Server() as server:
            os.kill(server.process.pid, signal.SIGHUP)
            self.assertEqual(server.process.wait(timeout=COMMAND_SECONDS), 0)
            server.process.stdout.close()
            self.assertIn("drain ended", server.log())

    def test_a_hang_up_under_nohup_changes_nothing(self):
        self.addCleanup(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_IGN))
        with Server() as server:
            os.kill(server.process.pid, signal.SIGHUP)
            self.assertEqual(mercer(server, "data", "list")[0], 0)
            self.assertEqual(server.stop(), 0)

    def test_a_broken_file_is_refused_at_the_start(self):
        self.tokens.write_text("reader read nonsense\n")
        done = subprocess.run(
            [BIN / "mercer-server", "--data-dir", self.folder.name + "/data", "--listen", "127.0.0.1:0",
             "--tokens", self.tokens],
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 1)
        self.assertIn("line 1 of the token file", done.stderr)


if __name__ == "__main__":
    unittest.main()
