#!/usr/bin/env python3
"""The example for Java works end to end."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import example_lib  # noqa: E402


class ExampleJavaTest(unittest.TestCase):
    def test_upload_train_watch_predict(self):
        maven = ["mvn", "--batch-mode", "--quiet"]
        example_lib.check_example(
            self, "java", [*maven, "compile", "exec:help"],  # as a user would
            lambda address, file: [*maven, "exec:java", f"-Dexec.args={address} {file}"],
        )


if __name__ == "__main__":
    unittest.main()
