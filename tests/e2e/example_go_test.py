#!/usr/bin/env python3
"""The example for Go works end to end."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import example_lib  # noqa: E402


class ExampleGoTest(unittest.TestCase):
    def test_upload_train_watch_predict(self):
        example_lib.check_example(
            self, "go", ["sh", "-c", "command -v go protoc && ./generate.sh && go build -o bin/example ."],
            lambda address, file: ["./bin/example", address, file],
        )


if __name__ == "__main__":
    unittest.main()
