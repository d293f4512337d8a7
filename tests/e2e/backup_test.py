#!/usr/bin/env python3
"""Backup, restore and check as an operator types them; the archive is read by Python's tarfile, too."""

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import server_lib  # noqa: E402

DATA = "a,b,label\n" + "".join(f"{i % 7},{i * i % 5},{i % 2}\n" for i in range(60))


def server_program(*arguments):
    done = subprocess.run([server_lib.BIN / "mercer-server", *arguments], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


class BackupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mercer-backup.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.archive = os.path.join(self.folder, "backup.tar")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_ok(self, server, *arguments):
        code, out, err = server_lib.mercer(server, *arguments)
        self.assertEqual(code, 0, f"{arguments}:\n{out}{err}")
        return out

    def test_backup_restore_check(self):
        with open(self.path("data.csv"), "w", encoding="utf-8") as file:
            file.write(DATA)
        with server_lib.Server() as server:
            self.run_ok(server, "data", "upload", self.path("data.csv"), "--target", "label", "--id", "numbers")
            self.run_ok(server, "train", "numbers", "svm", "--kernel", "linear", "--model", "line", "--watch")
            self.assertIn("backup written", self.run_ok(server, "admin", "backup", "--output", self.archive))
            self.assertEqual(os.stat(self.archive).st_mode & 0o777, 0o600, "it holds what others may not read")

        with tarfile.open(self.archive) as archive:
            members = archive.getmembers()
            names = [member.name for member in members]
            self.assertEqual((names[0], names[1], names[-1]), ("MANIFEST", "mercer.db", "SHA256"))
            self.assertEqual(len(names), 3 + 3, names)  # and the data set, the model and its witness
            for member in members[2:-1]:
                digest = hashlib.sha256(archive.extractfile(member).read()).hexdigest()
                self.assertEqual(member.name, f"blobs/{digest[:2]}/{digest}")
            said = archive.extractfile("SHA256").read().decode().strip()
            with open(self.archive, "rb") as file:
                self.assertEqual(hashlib.sha256(file.read(members[-1].offset)).hexdigest(), said)
            archive.extractall(self.path("unpacked"))
        self.assertEqual(server_program("check", "--data-dir", self.path("unpacked"))[0], 0)

        restored = self.path("restored")
        code, out, err = server_program("restore", "--archive", self.archive, "--data-dir", restored)
        self.assertEqual(code, 0, err)
        self.assertIn("restored as of", out)
        code, out, err = server_program("--check", "--data-dir", restored)
        self.assertEqual((code, out.count("0 errors, 0 notes")), (0, 1), out + err)
        code, _, err = server_program("restore", "--archive", self.archive, "--data-dir", restored)
        self.assertEqual(code, 1)
        self.assertIn("is not empty", err)

    def test_cut_archive_is_refused(self):
        with server_lib.Server() as server:
            self.run_ok(server, "admin", "backup", "--output", self.archive)
        os.truncate(self.archive, os.path.getsize(self.archive) - 2000)
        code, _, err = server_program("restore", "--archive", self.archive, "--data-dir", self.path("restored"))
        self.assertEqual(code, 1)
        self.assertIn("cut off", err)
        self.assertEqual(os.listdir(self.path("restored")), [])

    def test_findings_have_lines(self):
        folder = self.path("data")
        os.mkdir(folder)
        code, _, err = server_program("check", "--data-dir", folder)
        self.assertEqual(code, 1)
        self.assertIn("no mercer.db", err)
        code, _, err = server_program("--repair", "--data-dir", folder)
        self.assertNotEqual(code, 0)
        self.assertIn("check", err)


if __name__ == "__main__":
    unittest.main()
