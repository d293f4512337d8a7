#!/usr/bin/env python3
"""The Python package: all of its tests but those of the estimators."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import python_package_lib  # noqa: E402


@unittest.skipUnless(python_package_lib.IS_COMPLETE, python_package_lib.WHY_SKIPPED)
class PythonPackageTest(unittest.TestCase):
    def test_client_and_local_models(self):
        names = [name for name in python_package_lib.modules() if "estimators" not in name]
        self.assertGreaterEqual(len(names), 4)
        passed, output = python_package_lib.run(*names)
        self.assertTrue(passed, output)


if __name__ == "__main__":
    unittest.main()
