#!/usr/bin/env python3
"""What a newcomer leaves out or sends too much of: what `mercer` decides, warns of and refuses, and rows as they are."""

import csv
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import command_line_lib  # noqa: E402
import server_lib  # noqa: E402

ROWS = 120


class CliGuessesTest(command_line_lib.CommandLineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.table = cls.write_rows("table.csv", [
            ["id", "colour", "x", "z", "subject", "rings", "kind"],
            *([f"r{r}", "red" if r % 3 else "blue", r % 7, "" if r == 8 else r * r % 13, r // 4, r % 28 + 1,
               "big" if r % 7 > 3 else "small"] for r in range(ROWS))])
        roles = ("id=ignored", "subject=group", "rings=target", "kind=target")
        cls.run_ok("data", "upload", cls.table, *(word for role in roles for word in ("--role", role)), "--allow-missing", "--id", "table")
        cls.run_ok("train", "table", "svm", "--target", "kind", "--impute", "--hold-out", "0.25", "--model", "kinds",
                   "--watch")

    @classmethod
    def write_rows(cls, name, rows):
        with open(cls.path(name), "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
        return cls.path(name)

    def test_many_numbers_are_a_number_and_a_line_says_so(self):
        out = self.run_ok("train", "table", "kernel_ridge", "--target", "rings", "--impute", "--model", "rings", "--watch")
        self.assertEqual(out.count("note     Column 'rings' holds 28 different numbers"), 1, out)
        self.assertIn("--classes", out)
        job = re.search(r"^(jobs/\S+) queued", out).group(1)
        self.assertIn("note     Column 'rings' holds", self.run_ok("watch", job))  # where it was not said before
        self.assertNotIn("28 classes", self.run_ok("show", "rings"))
        self.run_ok("train", "table", "kernel_ridge", "--target", "rings", "--impute", "--classes", "--model", "classes",
                    "--watch")
        self.assertIn("28 classes", self.run_ok("show", "classes"))

    def test_the_baseline_stands_beside_the_metric(self):
        shown = self.run_ok("show", "kinds")
        self.assertRegex(shown, r"held-out rows accuracy \d.*\n  baseline +accuracy 0\.\d+.*the most frequent class")

    def test_a_dry_run_refuses_what_must_fail(self):
        code, _, err = server_lib.mercer(self.server, "train", "table", "svm", "--target", "kind", "--dry-run")
        self.assertEqual(code, 3)
        self.assertIn("row 9, column 'z'", err)
        self.assertIn("--impute", err)
        code, _, err = server_lib.mercer(self.server, "train", "table", "svm", "--target", "kind", "--impute",
                                         "--kernel", "gaussian bandwidth=1 columns=y", "--dry-run")
        self.assertEqual(code, 3)
        self.assertIn("'y'", err)
        out = self.run_ok("train", "table", "infinite_features", "--target", "kind", "--impute", "--dry-run")
        self.assertIn("note     No lambda was given", out)

    def test_a_dash_among_numbers_is_a_missing_number(self):
        rows = [[r, "-" if r % 11 == 4 else r % 7, "big" if r % 7 > 3 else "small"] for r in range(ROWS)]
        dashes = self.write_rows("dashes.csv", [["row", "x", "kind"], *rows])
        self.assertIn("--allow-missing", self.expect(3, "row 5, column 'x': the value is missing", "data", "upload", dashes))
        self.run_ok("data", "upload", dashes, "--target", "kind", "--allow-missing", "--id", "dashes")
        self.assertRegex(self.run_ok("data", "show", "dashes"), r"x +features +numeric +11 ")
        self.run_ok("train", "dashes", "svm", "--impute", "--model", "dashes", "--watch")
        new = self.write_rows("new_dashes.csv", [["row", "x"], [0, 6], [1, "-"], [2, "N/A"]])
        self.assertEqual(len(self.run_ok("predict", "dashes", new).splitlines()), 4)

    def test_the_data_say_what_a_training_would_warn_of(self):
        days = [[r, f"2024-{r // 28 % 12 + 1:02}-{r % 28 + 1:02}", r % 7, f"they said {r} things", "big" if r % 5 > 3 else "small"]
                for r in range(ROWS)]
        self.run_ok("data", "upload", self.write_rows("days.csv", [["id", "day", "x", "note", "kind"], *days]), "--target", "kind", "--id", "days")
        shown = self.run_ok("data", "show", "days")
        self.assertIn("1 columns that look like identifiers of the rows; upload them as ignored: features/id\n", shown)
        self.assertRegex(shown, r"2 columns that are read as texts, each value a category of its own: features/day holds dates[;,] features/note holds sentences")
        trained = self.run_ok("train", "days", "svm", "--watch")
        self.assertRegex(trained, r"'id'\s+looks\s+like\s+an\s+identifier")
        self.assertRegex(trained, r"'day'\s+holds\s+dates")
        self.assertRegex(trained, r"'note'\s+holds\s+sentences")
        self.assertNotRegex(trained, r"'note'\s+looks\s+like\s+an\s+identifier")

    def test_rows_as_they_are(self):
        rows = [["id", "colour", "x", "z", "subject"], ["a", "red", 2, 3, 7], ["b", "teal", 2, 3, 7], ["c", "blue", 6, 1, 8]]
        new = self.write_rows("new.csv", rows)
        code, out, err = server_lib.mercer(self.server, "predict", "kinds", new, "--keep", "id,x")
        self.assertEqual(code, 3)
        self.assertIn("row 2, column 'colour': training did not know the category 'teal'", err)
        table = list(csv.reader(out.splitlines()))
        self.assertEqual(table[0], ["id", "x", "label"])
        self.assertEqual([line[:2] for line in table[1:]], [["a", "2"], ["b", "2"], ["c", "6"]])
        self.assertEqual(table[2][2], "")
        self.assertIn(table[1][2], ("big", "small"))
        skipped = self.run_ok("predict", "kinds", new, "--keep", "id", "--unseen", "skip")
        self.assertEqual([line.split(",")[0] for line in skipped.splitlines()], ["id", "a", "c"])
        zeros = self.run_ok("predict", "kinds", new, "--unseen", "zeros")
        self.assertEqual(len([line for line in zeros.splitlines() if line]), 4)


if __name__ == "__main__":
    unittest.main()
