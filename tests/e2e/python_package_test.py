#!/usr/bin/env python3
"""The Python package: all of its tests but those that other files run."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import python_package_lib  # noqa: E402


@unittest.skipUnless(python_package_lib.IS_COMPLETE, python_package_lib.WHY_SKIPPED)
class PythonPackageTest(unittest.TestCase):
    def test_client_and_local_models(self):
        apart = (python_package_lib.ESTIMATORS, *python_package_lib.FITS)
        names = [name for name in python_package_lib.modules() if name not in apart]
        self.assertGreaterEqual(len(names), 4)
        passed, output = python_package_lib.run(*names)
        self.assertTrue(passed, output)


if __name__ == "__main__":
    unittest.main()
