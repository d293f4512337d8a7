#!/usr/bin/env python3
"""Runs `./dev new-learner` in a copy of the folders that it touches, and checks what it makes, without building it."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import check_layers

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("core/learners", "tests/core/learners")
INCLUDE = re.compile(r'#include "((?:core/learners|tests/core/learners)/[^"]+)"')


class NewLearnerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in FOLDERS:
            shutil.copytree(ROOT / name, self.root / name)
        shutil.copy(ROOT / "dev", self.root / "dev")

    def dev(self, *words):
        return subprocess.run([self.root / "dev", *words], capture_output=True, text=True, check=False)

    def files(self):
        return {path.relative_to(self.root).as_posix(): path.read_text() for path in self.root.rglob("*") if path.is_file()}

    def made(self):
        result = self.dev("new-learner", "tide_tables")
        self.assertEqual(result.returncode, 0, result.stderr)
        return {name: text for name, text in self.files().items() if "/tide_tables/" in name}

    def test_every_file_of_the_template_is_there_under_the_new_name(self):
        expected = {
            (f"{folder}/tide_tables/" + path.relative_to(ROOT / folder / "_template").as_posix()).replace(
                "template_learner", "tide_tables")
            for folder in FOLDERS
            for path in (ROOT / folder / "_template").rglob("*")
            if path.is_file()
        }
        self.assertIn("core/learners/tide_tables/tide_tables.cc", expected)
        self.assertIn("tests/core/learners/tide_tables/tide_tables_conformance_test.cc", expected)
        self.assertEqual(set(self.made()), expected)

    def test_the_list_has_one_line_more(self):
        before = self.files()
        made = self.made()
        after = self.files()
        added = after["core/learners/learners.inc"].removeprefix(before["core/learners/learners.inc"])
        self.assertEqual(added, "MERCER_LEARNER(tide_tables)\n")
        changed = {name for name in after if after[name] != before.get(name)} - set(made)
        self.assertEqual(changed, {"core/learners/learners.inc"})

    def test_names_are_filled_in(self):
        made = self.made()
        for name, text in made.items():
            for number, line in enumerate(text.splitlines(), 1):
                left = re.sub(r"\btemplate *<", "", line)
                self.assertNotRegex(left.lower(), "template", f"{name}:{number}")
            for include in INCLUDE.findall(text):
                self.assertIn(include, self.files(), name)
        main = made["core/learners/tide_tables/tide_tables.cc"]
        self.assertIn("namespace mercer::tide_tables {", main)
        self.assertIn("class TideTables : public ResumableLearner<", main)
        self.assertIn("MakeEntry<TideTablesOptions, TideTables>(", main)
        self.assertIn('"tide_tables"', main)

    def test_the_new_tree_keeps_the_arrows(self):
        before, _ = check_layers.check_tree(self.root)
        self.made()
        after, _ = check_layers.check_tree(self.root)
        self.assertEqual(after, before)

    def test_names_that_are_taken_or_malformed_change_nothing(self):
        before = self.files()
        for words in (["svm"], ["Tides"], ["tide-tables"], ["2tides"], ["tide__tables"], ["tides_"], ["../tides"], []):
            with self.subTest(words=words):
                result = self.dev("new-learner", *words)
                self.assertNotEqual(result.returncode, 0)
                self.assertTrue(result.stderr.startswith("dev: "), result.stderr)
                self.assertEqual(self.files(), before)


if __name__ == "__main__":
    unittest.main()
