#!/usr/bin/env python3
"""The dashboard's sources: types, unit tests, what the browser is given, and the list of its packages."""

import gzip
import json
import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB = ROOT / "client/web"
SITE = ROOT / "build/web"
MAX_COMPRESSED_BYTES = 150_000
# Written by './dev test' when all packages have come.
HAS_PACKAGES = shutil.which("node") is not None and (WEB / "node_modules/.mercer-all").exists()


def run(*command):
    return subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=240, check=False)


@unittest.skipUnless(HAS_PACKAGES, "the packages of the dashboard's tests are missing; './dev test' fetches them")
class SourcesTest(unittest.TestCase):
    def test_types(self):
        done = run("node", "node_modules/typescript/bin/tsc", "--noEmit")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_units(self):
        done = run("node", "scripts/test.mjs", "tests")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@unittest.skipUnless((SITE / "index.html").exists(), "the dashboard was not built; './dev web' builds it")
class SiteTest(unittest.TestCase):
    def files(self):
        return [path for path in SITE.rglob("*") if path.is_file()]

    def test_the_whole_is_small(self):
        total = sum(len(gzip.compress(path.read_bytes())) for path in self.files())
        self.assertLess(total, MAX_COMPRESSED_BYTES)

    def test_every_file_but_the_page_has_a_name_of_its_content(self):
        for path in self.files():
            if path.name != "index.html":
                self.assertRegex(str(path.relative_to(SITE)), r"^assets/[a-z]+-[0-9A-Za-z]{8}\.(js|css|svg)$")

    def test_the_page_names_files_that_are_there_and_runs_no_script_of_its_own(self):
        page = (SITE / "index.html").read_text(encoding="utf-8")
        for name in re.findall(r'(?:src|href)="/([^"]+)"', page):
            self.assertTrue((SITE / name).is_file(), name)
        self.assertNotRegex(page, r"<script(?![^>]* src=)|<style| style=| on[a-z]+=")

    def test_nothing_is_fetched_from_elsewhere(self):
        for path in self.files():
            foreign = re.findall(r"(?:src|href|url|import|fetch)\s*[=(]\s*[\"']?https?://[^\"')\s]+", path.read_text(encoding="utf-8"))
            self.assertEqual(foreign, [], path)


class PackagesTest(unittest.TestCase):
    def test_versions_are_exact_and_of_no_particular_registry(self):
        package = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
        for name, version in {**package["dependencies"], **package["devDependencies"]}.items():
            self.assertRegex(version, r"^\d+\.\d+\.\d+$", name)
        lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))
        for name, entry in lock["packages"].items():
            self.assertNotIn("resolved", entry, name)
            if name:
                self.assertIn("integrity", entry, name)


if __name__ == "__main__":
    unittest.main()
