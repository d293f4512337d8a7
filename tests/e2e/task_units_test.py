#!/usr/bin/env python3
"""Two tasks of numbers whose units differ by 1e5, standardised inside: what the user sees is in his units."""

import csv
import math
import random
import unittest

from command_line_lib import CommandLineTest

UNITS = {"small": 1.0, "large": 1e5}
FACTOR = 2.0**17  # a power of two changes no bit of what is learned
OPTIONS = ["--family", "columns", "--lambda", "0.001", "--gap", "1e-6"]


def make_rows(factor):
    """(split, task, x1, x2, y) of 400 rows, in an order that mixes the tasks."""
    numbers = random.Random(3)
    rows = []
    for number in range(400):
        task = "small" if number % 2 else "large"
        x1, x2, noise = (numbers.gauss(0, 1) for _ in range(3))
        sign = 1 if task == "small" else -1
        y = factor * UNITS[task] * (7 + 2 * x1 + sign * x2 + 0.5 * noise)
        rows.append(("validation" if number % 5 == 0 else "train", task, x1, x2, y))
    return rows


class TaskUnitsTest(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plain = cls.train("plain", make_rows(1.0))
        cls.scaled = cls.train("scaled", make_rows(FACTOR))

    @classmethod
    def train(cls, name, rows):
        """(rows, predictions, the model's JSON)."""
        path = cls.path(name + ".csv")
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("part", "plant", "x1", "x2", "y"), *([*row[:2], *map(repr, row[2:])] for row in rows)])
        cls.run_ok("data", "upload", path, "--target", "y", "--role", "part=split", "--role", "plant=task", "--id", name)
        cls.run_ok("train", name, "infinite_features", *OPTIONS, "--hold-out", "split", "--model", name, "--watch")
        predicted = cls.run_ok("predict", name, path).split()[1:]
        return rows, [float(value) for value in predicted], cls.run_json("show", name)[0]

    @staticmethod
    def rmse(run, task):
        """Over the rows held out."""
        rows, predicted, _ = run
        errors = [(row[4] - value) ** 2 for row, value in zip(rows, predicted) if row[0] == "validation" and task in (row[1], "")]
        return math.sqrt(sum(errors) / len(errors))

    @staticmethod
    def metric(run, name):
        return next(metric["value"] for metric in run[2]["metrics"] if metric["name"] == name)

    def test_predictions_and_metrics_are_in_the_units_of_the_tasks(self):
        for run in (self.plain, self.scaled):
            self.assertEqual(len(run[1]), len(run[0]))
            for task, name in (("small", "held_out.task.small.rmse"), ("large", "held_out.task.large.rmse"), ("", "held_out.rmse")):
                wanted = self.rmse(run, task)
                self.assertAlmostEqual(self.metric(run, name) / wanted, 1, delta=1e-6, msg=name)
        # Noise has a deviation of half a unit; what is learned of the large task is as good as that.
        self.assertLess(self.rmse(self.plain, "large") / UNITS["large"], 0.7)
        self.assertLess(self.rmse(self.plain, "small") / UNITS["small"], 3)

    def test_bounds_are_those_of_squared_errors_in_the_users_unit(self):
        rows, predicted, model = self.plain
        errors = sum((row[4] - value) ** 2 for row, value in zip(rows, predicted) if row[0] == "train")
        primal, dual = (model["certificate"][bound] for bound in ("primal", "dual"))
        self.assertLessEqual(dual, primal)
        self.assertGreater(dual, 0.99 * primal)
        self.assertGreater(primal, errors)
        self.assertLess(primal, 1.5 * errors, "the penalty is a small part of the objective")

    def test_another_unit_changes_nothing_else(self):
        for plain, scaled in zip(self.plain[1], self.scaled[1]):
            self.assertAlmostEqual(scaled / (FACTOR * plain), 1, delta=1e-9)
        for bound in ("primal", "dual"):
            ratio = self.scaled[2]["certificate"][bound] / self.plain[2]["certificate"][bound]
            self.assertAlmostEqual(ratio / FACTOR**2, 1, delta=1e-9)
        self.assertAlmostEqual(self.scaled[2]["certificate"]["accuracy"], self.plain[2]["certificate"]["accuracy"], delta=1e-9)


if __name__ == "__main__":
    unittest.main(verbosity=2)
