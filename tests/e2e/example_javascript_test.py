#!/usr/bin/env python3
"""The example for JavaScript works end to end."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import example_lib  # noqa: E402


class ExampleJavaScriptTest(unittest.TestCase):
    def test_upload_train_watch_predict(self):
        example_lib.check_example(
            self, "javascript", ["npm", "ci", "--silent"], lambda address, file: ["node", "main.js", address, file]
        )


if __name__ == "__main__":
    unittest.main()
