"""A server, and `mercer` before it: what the end-to-end tests of the command line begin with."""

import json
import os
import tempfile
import unittest

import server_lib


class CommandLineTest(unittest.TestCase):
    """Its tests share one server and one folder of files."""

    program = "mercer-server"
    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="mercer-command-line.")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.server = server_lib.Server(*cls.flags, program=cls.program)
        cls.server.start()
        cls.addClassCleanup(cls.server.__exit__)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def write(cls, name, text):
        with open(cls.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return cls.path(name)

    @classmethod
    def run_ok(cls, *arguments):
        """The command succeeds; returns what it prints."""
        code, out, err = server_lib.mercer(cls.server, *arguments)
        if code != 0:
            raise AssertionError(f"{arguments} ended with {code}:\n{out}{err}\n{cls.server.log()}")
        return out

    @classmethod
    def run_json(cls, *arguments):
        return [json.loads(line) for line in cls.run_ok(*arguments, "--json").splitlines()]

    def expect(self, code, text, *arguments):
        """The command ends with this exit code, and its error contains this text; returns the error."""
        actual, out, err = server_lib.mercer(self.server, *arguments)
        self.assertEqual(actual, code, f"{arguments}:\n{out}{err}")
        self.assertIn(text, err, arguments)
        return err
