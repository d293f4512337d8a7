#!/usr/bin/env python3
"""Aliases, labels, retention, evaluation and verification with `mercer` against a real server."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import command_line_lib  # noqa: E402


class CliRegistryTest(command_line_lib.CommandLineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rows = "".join(f"{r % 7 + 3 * (r % 2)},{r % 5},{r % 2}\n" for r in range(60))
        path = cls.write("clouds.csv", "x1,x2,label\n" + rows)
        cls.run_ok("data", "upload", path, "--target", "label", "--id", "clouds")

    def setUp(self):
        """A model of its own, with three versions."""
        self.model = self.id().rsplit(".", maxsplit=1)[-1].replace("test_", "").replace("_", "-")
        for _ in range(3):
            self.train()

    def train(self):
        self.run_ok("train", "clouds", "lp_mkl", "--kernel", "gaussian bandwidths=1..4:2", "--model", self.model, "--watch")

    def version(self, number):
        return f"models/{self.model}/versions/{number}"

    def test_alias(self):
        (made,) = self.run_json("alias", "set", self.model, "live", 1, "--etag", "none")
        self.assertEqual(made["version"], self.version(1))
        first = made["updateTime"]
        self.expect(5, "etag", "alias", "set", self.model, "live", 2, "--etag", "none")
        self.run_ok("alias", "set", self.model, "live", 2, "--etag", made["etag"])
        self.assertIn(self.version(2), self.run_ok("show", f"{self.model}@live"))
        self.assertIn(self.version(1), self.run_ok("show", f"{self.model}@live", "--as-of", first))
        self.expect(3, "--as-of", "show", f"{self.model}@live", "--as-of", "yesterday")
        self.expect(5, "live", "rm", self.version(2))
        self.assertIn(self.version(1), self.run_ok("alias", "rollback", self.model, "live"))
        history = self.run_json("alias", "history", self.model, "live")
        self.assertEqual([change["sequence"] for change in history], ["3", "2", "1"])
        self.assertIn("rollback", self.run_ok("alias", "history", self.model, "live"))
        self.assertIn(f"models/{self.model}/aliases/live", self.run_ok("alias", "list", self.model))
        self.run_ok("alias", "rm", self.model, "live")
        self.assertIn("no aliases", self.run_ok("alias", "list", self.model))
        self.expect(4, "live", "show", f"{self.model}@live")
        self.expect(3, "alias", "alias", "set", self.model, "12", 1)

    def test_update(self):
        self.run_ok("update", self.version(2), "--label", "team=blue", "--label", "stage=test", "--description", "the second")
        shown = self.run_ok("show", self.version(2))
        self.assertIn("stage=test, team=blue", shown)
        self.assertIn("the second", shown)
        self.assertIn(self.version(2), self.run_ok("versions", self.model, "--label", "team=blue"))
        self.assertNotIn(self.version(3), self.run_ok("versions", self.model, "--label", "team=blue"))
        self.run_ok("update", self.version(2), "--no-labels")
        self.assertIn("no versions", self.run_ok("versions", self.model, "--label", "team=blue"))
        self.assertIn("the second", self.run_ok("show", self.version(2)))
        self.expect(3, "nothing to change", "update", self.version(2))
        self.run_ok("update", self.model, "--label", "team=red", "--display-name", "Clouds")
        (model,) = self.run_json("models", "--filter", "labels.team = red")
        self.assertEqual((model["name"], model["displayName"], model["numVersions"]), (f"models/{self.model}", "Clouds", "3"))
        self.assertEqual(model["newestVersion"]["name"], self.version(3))
        self.assertIn("no versions", self.run_ok("versions", self.model, "--label", "team=red"))
        self.expect(3, "--display-name", "update", self.version(2), "--display-name", "x")

    def test_retention(self):
        self.assertIn("keeps all versions", self.run_ok("retention", self.model))
        self.run_ok("alias", "set", self.model, "live", 1)
        self.assertIn(f"would be deleted: {self.version(2)}", self.run_ok("retention", self.model, "--keep", 1, "--dry-run"))
        self.assertIn(f"deleted: {self.version(2)}", self.run_ok("retention", self.model, "--keep", 1))
        self.train()
        self.assertEqual(
            [model["name"] for model in self.run_json("versions", self.model)], [self.version(4), self.version(1)]
        )

    def test_evaluate_and_verify(self):
        text = self.run_ok("evaluate", self.model, "clouds")
        self.assertIn("on 60 rows of datasets/clouds", text)
        self.assertIn("accuracy", text)
        self.expect(4, "none", "evaluate", self.model, "none")
        self.assertIn("the certificate is confirmed", self.run_ok("verify", self.model))
        (verified,) = self.run_json("verify", self.version(1))
        self.assertTrue(verified["matches"])


if __name__ == "__main__":
    unittest.main()
