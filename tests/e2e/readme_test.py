#!/usr/bin/env python3
"""The commands and the Python of README.md, run as they stand there, in a folder that looks like a built checkout."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import page_lib  # noqa: E402

SCENE = page_lib.Scene(server=False)
MOST_WORDS = 1200
NUMBERS = re.compile(r"\d+(\.\d+)?(e-?\d+)?|[\u2588-\u258f]+ *")


def without_numbers(line):
    """The line without numbers and bars: their last digits depend on the processor."""
    return NUMBERS.sub("#", line).rstrip()


class ReadmeTest(unittest.TestCase):
    def test_every_block_works(self):
        passed, output, files = page_lib.run("README.md", SCENE)
        self.assertTrue(passed, output)
        for part in ("datasets/mail  4601 rows", "kernel weights", "written to predicted.csv"):
            self.assertIn(part, output)
        predicted = files["predicted.csv"].splitlines()
        self.assertEqual(predicted[0], "label,value 1")
        self.assertEqual(len(predicted), 6)
        printed = {without_numbers(line) for line in output.splitlines()}
        shown = [block for block in page_lib.blocks("README.md") if block.language == "text"]
        self.assertEqual(len(shown), 2)
        for block in shown if page_lib.python_package_lib.IS_COMPLETE else shown[:1]:
            for line in block.code.splitlines():
                self.assertIn(without_numbers(line), printed)

    def test_a_newcomer_can_read_it_in_minutes(self):
        self.assertLessEqual(len(page_lib.text_of("README.md").split()), MOST_WORDS)


if __name__ == "__main__":
    unittest.main()
