#!/usr/bin/env python3
"""The commands and the Python of README.md, run as they stand there, in a folder that looks like a built checkout."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import page_lib  # noqa: E402

# Images of 60 x 60 pixels, which have 2025 patches of 16 x 16 each: the README takes 1000 of them.
SHELL = """
for kind in wood stone; do
  mkdir -p textures/$kind
  for i in 1 2; do { printf 'P5\\n60 60\\n255\\n'; seq $i 1500 | head -c 3600; } >textures/$kind/$i.pgm; done
done
"""
PYTHON = """
import numpy as np
X = np.random.default_rng(0).normal(size=(80, 3))
y = X[:, 0] ** 2 > 0.5
"""
SCENE = page_lib.Scene(SHELL, PYTHON, server=False)


class ReadmeTest(unittest.TestCase):
    def test_every_block_works(self):
        passed, output, files = page_lib.run("README.md", SCENE)
        self.assertTrue(passed, output)
        for part in ("datasets/mail  4601 rows", "kernel weights", "written to predicted.csv", "datasets/textures  4000 rows", "lp_mkl - "):
            self.assertIn(part, output)
        predicted = files["predicted.csv"].splitlines()
        self.assertEqual(predicted[0], "label,value 1")
        self.assertEqual(len(predicted), 6)


if __name__ == "__main__":
    unittest.main()
