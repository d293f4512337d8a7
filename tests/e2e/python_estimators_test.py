#!/usr/bin/env python3
"""The estimators of the Python package, with scikit-learn's own checks."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import python_package_lib  # noqa: E402


@unittest.skipUnless(python_package_lib.IS_COMPLETE, python_package_lib.WHY_SKIPPED)
class PythonEstimatorsTest(unittest.TestCase):
    def test_estimators(self):
        passed, output = python_package_lib.run(python_package_lib.ESTIMATORS)
        self.assertTrue(passed, output)


if __name__ == "__main__":
    unittest.main()
