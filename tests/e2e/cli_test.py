#!/usr/bin/env python3
"""Every command of `mercer` against a real server: what it prints, what it refuses, its exit codes."""

import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import command_line_lib  # noqa: E402
import server_lib  # noqa: E402

ROWS = 400


def write_small_spambase(folder):
    """Every eleventh row of spambase: both classes, quick to train on."""
    path = os.path.join(folder, "small.csv")
    with gzip.open(server_lib.SPAMBASE, "rt") as source, open(path, "w", encoding="utf-8") as target:
        lines = source.readlines()
        target.writelines([lines[0]] + lines[1 :: len(lines) // ROWS][:ROWS])
    return path


class CliTest(command_line_lib.CommandLineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = write_small_spambase(cls.folder.name)
        cls.run_ok("data", "upload", cls.data, "--target", "label", "--id", "small")
        cls.run_ok(*cls.train_arguments("spam"), "--watch")

    @staticmethod
    def train_arguments(model):
        return ("train", "small", "lp_mkl", "--kernel", "gaussian bandwidths=1..100:6", "--p", "1.2", "--C", "10",
                "--hold-out", "0.25", "--model", model)

    def test_path(self):
        out = self.run_ok("train", "small", "svm", "--path", "C=0.01:10:4", "--hold-out", "0.25", "--model", "path", "--watch")
        self.assertIn("value 4 of 4", out)
        shown = self.run_ok("show", "path")
        self.assertRegex(shown, r"values of C, of which \S+ is best\n +C +accuracy +active_terms +relative_gap")
        rows = re.findall(r"^ +(0\.01|0\.1|1|10) +0\.\d+ +3 ", shown, re.MULTILINE)
        self.assertEqual(rows, ["0.01", "0.1", "1", "10"], shown)
        self.run_ok("train", "small", "svm", "--path", "C=0.01:10:4", "--keep-path", "--hold-out", "0.25", "--model", "kept", "--watch")
        for version in range(1, 5):
            self.assertIn("path.value", self.run_ok("show", f"kept/versions/{version}"))
        self.expect(2, "--path", "train", "small", "svm", "--keep-path", "--hold-out", "0.25")
        self.expect(3, "--path: must be an option", "train", "small", "svm", "--path", "D=1,2", "--folds", "3")
        self.expect(3, "--path", "train", "small", "svm", "--path", "C=1:2", "--folds", "3")

    def test_kernels_stand_below_their_groups(self):
        kernels = ("--kernel", "gaussian median=0.5,1,2 group=curved", "--kernel", "linear group=straight")
        self.run_ok("train", "small", "mixed_norm_mkl", *kernels, "--model", "groups", "--watch")
        told = self.run_json("show", "groups")[0]["kernelWeights"]
        self.assertEqual(told["groups"], ["curved"] * 3 + ["straight"])
        selected = sum(weight != 0 for weight in told["weights"]["values"][:3])
        shown = self.run_ok("show", "groups")
        self.assertRegex(shown, rf"\n  curved · {selected} of 3 selected +\S+ +\S+ +norm \S+\n    ● gaussian\(")
        self.assertRegex(shown, r"\n  straight · 1 of 1 selected +\S+ +\S+ +norm \S+\n    ● linear +")
        self.assertEqual(shown.count("●"), selected + 1)
        self.assertEqual(shown.count("○"), 3 - selected)
        self.assertNotIn("share of the group", shown)

    def test_columns_are_ranked(self):
        self.run_ok("train", "small", "svm_rfe", "--columns", "5", "--C", "1", "--hold-out", "0.25", "--model", "ranked", "--watch")
        model = self.run_json("show", "ranked")[0]
        (ranking,) = [table for table in model["tables"] if table["name"] == "ranking"]
        self.assertEqual(len(set(ranking["rows"])), 57)
        self.assertEqual(sum(ranking["values"]["values"][3::4]), 5)
        self.assertIn("columns from the best to the first that was eliminated", self.run_ok("show", "ranked"))

    def test_picture_of_filters(self):
        rows = ["label," + ",".join(f"p{i}" for i in range(16))]
        for row in range(60):
            wave = [(-1) ** (pixel // 4 if row % 2 else pixel) + 0.1 * ((row * 7 + pixel * 3) % 11) for pixel in range(16)]
            rows.append(f"{row % 2}," + ",".join(map(str, wave)))
        self.run_ok("data", "upload", self.write("waves.csv", "\n".join(rows)), "--target", "label", "--id", "waves")
        self.run_ok("train", "waves", "infinite_features", "--family", "gabor", "--scaling", "none", "--model", "filters",
                    "--watch")
        picture = self.path("filters.png")
        self.assertIn("gabor(", self.run_ok("show", "filters", "--picture", picture))
        with open(picture, "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        self.expect(5, "has neither", "show", "spam", "--picture", picture)

    def test_data(self):
        self.assertIn("datasets/small", self.run_ok("data", "list"))
        shown = self.run_ok("data", "show", "small")
        self.assertIn(f"{ROWS} rows, 57 feature columns", shown)
        self.assertRegex(shown, r"target  label: .*1 \(\d+\)")
        self.assertIn("word_freq_george", shown)
        self.assertEqual(self.run_json("data", "list")[-1]["name"], "datasets/small")
        path = self.write("tiny.csv", "a,b\n1,x\n2,y\n")
        self.run_ok("data", "upload", path, "--id", "tiny", "--target", "b")
        self.run_ok("data", "rm", "tiny")
        self.expect(4, "tiny", "data", "show", "tiny")
        self.expect(4, "tiny", "data", "rm", "datasets/tiny")

    def test_data_errors_name_row_and_column(self):
        path = self.write("bad.csv", "age,label\n1,a\nold,b\n")
        code, _, err = server_lib.mercer(self.server, "data", "upload", path, "--target", "label", "--numeric", "age")
        self.assertEqual(code, 3, err)
        self.assertRegex(err, r"row 2.*age.*old")
        self.expect(3, "lable", "data", "upload", path, "--target", "lable")
        self.expect(4, "there is no file", "data", "upload", path + ".none")
        self.expect(5, "small", "data", "upload", self.data, "--id", "small", "--target", "label")

    def test_learners(self):
        self.assertIn("lp_mkl", self.run_ok("learners"))
        text = self.run_ok("learners", "lp_mkl")
        self.assertIn("--p  [1, inf]", text)
        self.assertIn("per_column", text)
        self.assertIn("Without --kernel: Gaussians whose bandwidths are 0.4", text)
        self.expect(4, "there is no learner 'nothing'; the server has lp_mkl", "learners", "nothing")

    def test_kernels_without_widths_and_no_kernels(self):
        def widths(model, *kernels):
            words = [word for kernel in kernels for word in ("--kernel", kernel)]
            self.run_ok("train", "small", "lp_mkl", "--C", "0.1", "--model", model, "--watch", *words)
            names = self.run_json("show", model)[0]["kernelWeights"]["kernels"]
            return [float(re.search(r"bandwidth=([0-9.e+-]+)", name)[1]) for name in names]

        (median,) = widths("bare", "gaussian")
        self.assertEqual(widths("median", "gaussian median"), [median])
        self.assertGreater(median, 5)  # of 57 standardised columns
        default = widths("default")
        self.assertEqual(len(default), 3)
        for found, multiple in zip(default, (0.4, 1, 2.5)):
            self.assertAlmostEqual(found / median, multiple, places=4)
        spaced = widths("spaced", "gaussian median=0.5..2:3")
        for found, multiple in zip(spaced, (0.5, 1, 2), strict=True):
            self.assertAlmostEqual(found / median, multiple, places=4)

    def test_kernels_have_names_and_groups(self):
        named = "gaussian bandwidths=4,16 name=shape group=\"form and size\""
        train = ("train", "small", "lp_mkl", "--C", "0.1", "--kernel", named, "--kernel")
        self.run_ok(*train, "linear name=straight", "--model", "named", "--watch")
        weights = self.run_json("show", "named")[0]["kernelWeights"]
        self.assertEqual(weights["kernels"], ["shape(bandwidth=4)", "shape(bandwidth=16)", "straight"])
        self.assertEqual(weights["groups"], ["form and size", "form and size", ""])
        self.assertRegex(self.run_ok("show", "named"), r"\n  form and size · 2 of 2 selected .*\n    ● shape\(bandwidth=\d+\) ")
        self.expect(1, "two kernels would have the name 'shape(bandwidth=4)'", *train, "linear name=shape(bandwidth=4)", "--watch")
        self.expect(3, "two kernels would have the name 'a'", *train[:-2], "linear name=a", "--kernel", "gaussian name=a")

    def test_train_errors(self):
        train = ("train", "small", "lp_mkl", "--kernel", "gaussian")
        self.expect(3, "p", *train, "--p", "0.5")
        code, _, err = server_lib.mercer(self.server, *train, "--p", "0.5", "--C", "-1")
        self.assertEqual(code, 3)
        self.assertIn("2 fields of the request are wrong", err)
        self.assertIn("  --p: ", err)
        self.assertIn("  --C: ", err)
        self.expect(3, "bandwidth", "train", "small", "lp_mkl", "--kernel", "gaussian bandwidth=-1")
        self.expect(3, "--gamma: neither an option", *train, "--gamma", "1")
        self.expect(4, "datasets/none", "train", "none", "lp_mkl", "--kernel", "gaussian")
        self.expect(2, "", "train", "small")

    def test_jobs(self):
        job = self.run_json("jobs", "--state", "succeeded")[-1]
        self.assertEqual(job["state"], "JOB_STATE_SUCCEEDED")
        self.assertIn(job["name"], self.run_ok("jobs"))
        events = self.run_json("watch", job["name"])
        self.assertEqual([int(event["sequence"]) for event in events[:-1]], list(range(1, len(events))))
        self.assertEqual(events[-1]["name"], job["name"])
        self.expect(5, job["name"], "cancel", job["name"])
        self.expect(5, job["name"], "stop", job["name"])
        self.expect(4, "jobs/none", "watch", "none")
        self.expect(3, "--state: must be one of queued", "jobs", "--state", "sleeping")
        self.expect(3, "--kind: must be one of training, prediction, evaluation, verification", "jobs", "--kind", "idle")
        self.assertEqual(self.run_json("jobs", "--kind", "training", "--filter", "kind = PREDICTION"), [])
        self.assertIn(job["name"], [each["name"] for each in self.run_json("jobs", "--kind", "training", "--kind", "evaluation")])
        self.assertEqual(self.run_json("jobs", "--filter", f"name = {job['name']} AND NOT end_time < 2026-01-01T00:00:00Z"), [job])
        self.expect(3, "--filter: at character 1, 'stat = FAILED': there is no field 'stat'", "jobs", "--filter", "stat = FAILED")
        self.expect(3, "--order-by: must be one of create_time, name, end_time, priority", "jobs", "--order-by", "learner")

    def test_same_request_id_gives_the_same_job(self):
        train = (*self.train_arguments("again"), "--request-id", "r1")
        first, second = (self.run_json(*train)[0]["name"] for _ in range(2))
        self.assertEqual(first, second)
        self.expect(5, "r1", *train, "--seed", "9")
        self.run_ok("watch", first)

    def test_models(self):
        self.assertIn("models/spam/versions/1", self.run_ok("versions"))
        self.assertIn("models/spam ", self.run_ok("models"))
        text = self.run_ok("show", "spam")
        for part in ("certificate", "relative gap", "held-out rows", "accuracy", "kernel weights", "█"):
            self.assertIn(part, text)
        model = self.run_json("show", "spam")[0]
        self.assertLessEqual(model["certificate"]["accuracy"], 1e-3)
        self.assertEqual(len(model["kernelWeights"]["kernels"]), 6)
        path = self.path("spam.model")
        self.run_ok("export", "spam", path)
        self.assertEqual(os.path.getsize(path), int(model["sizeBytes"]))
        self.expect(4, "models/none", "show", "none")
        self.expect(4, "models/none", "export", "none", path)

    def test_predict(self):
        text = self.run_ok("predict", "spam", self.data, "--values", "--contributions")
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(len(rows), ROWS)
        with open(self.data, encoding="utf-8") as file:
            truth = [row["label"] for row in csv.DictReader(file)]
        correct = sum(row["label"] == label for row, label in zip(rows, truth))
        self.assertGreater(correct / ROWS, 0.9)
        for row in rows[:20]:  # the shares add up to the decision value
            numbers = [float(value) for value in list(row.values())[1:]]
            self.assertAlmostEqual(numbers[0], sum(numbers[1:]), places=9)
        stored = self.run_ok("predict", "spam", "datasets/small", "--values", "--contributions")
        self.assertEqual(text, stored)

    def test_predict_errors(self):
        with open(self.data, encoding="utf-8") as file:
            header = file.readline()
        missing = self.write("missing.csv", "word_freq_make\n1\n")
        self.expect(3, "word_freq_address", "predict", "spam", missing)
        cells = ["0"] * 58
        cells[3] = "many"
        wrong = self.write("wrong.csv", header + ",".join(cells) + "\n")
        self.expect(3, "row 1, column 'word_freq_3d'", "predict", "spam", wrong)
        extra = self.write("extra.csv", "id," + header + "7," + ",".join(["0"] * 58) + "\n")
        self.expect(3, "the model has no column 'id'", "predict", "spam", extra)
        self.expect(3, "left out with --ignore", "predict", "spam", extra)
        self.run_ok("predict", "spam", extra, "--ignore", "id")
        self.expect(4, "models/none", "predict", "none", self.data)

    def test_ctrl_c_detaches_and_cancel_ends_the_job(self):
        self.run_ok("data", "upload", server_lib.SPAMBASE, "--target", "label", "--id", "long")
        environment = {**os.environ, "MERCER_SERVER": self.server.address}
        train = ("train", "long", "lp_mkl", "--kernel", "gaussian bandwidths=1..100:40", "--C", "1000", "--gap", "1e-9")
        command = [server_lib.BIN / "mercer", *train, "--watch"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
            name = process.stdout.readline().split()[0]
            process.stdout.readline()  # the first event: it is watching now
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn(f"mercer watch {name}", err)
        self.expect(5, "datasets/long", "data", "rm", "long")
        self.assertIn(name, self.run_ok("cancel", name))
        self.expect(7, "was cancelled", "watch", name)
        self.run_ok("data", "rm", "long")

    def test_stop_keeps_the_model_so_far(self):
        self.run_ok("data", "upload", server_lib.SPAMBASE, "--target", "label", "--id", "stopped")
        environment = {**os.environ, "MERCER_SERVER": self.server.address}
        name = self.run_json("train", "stopped", "lp_mkl", "--kernel", "gaussian bandwidths=1..100:300", "--C", "1000",
                             "--gap", "1e-10")[0]["name"]
        command = [server_lib.BIN / "mercer", "watch", name, "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            while not json.loads(process.stdout.readline()).get("progress", {}).get("hasModel"):
                pass
            self.assertIn(name, self.run_ok("stop", name))
            out, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, out)
        self.assertIn("stop_requested", self.run_ok("watch", name))
        self.run_ok("stop", name)  # the call may be repeated
        self.run_ok("data", "rm", "stopped")

    def test_version_and_help(self):
        self.assertRegex(self.run_ok("version"), r"^mercer \d+\.\d+\.\d+$")
        self.assertIn("Exit codes", self.run_ok("--help"))
        self.expect(2, "", "fly")


class RestartTest(unittest.TestCase):
    def test_a_server_that_is_away_is_reported_and_comes_back_with_its_data(self):
        with tempfile.TemporaryDirectory() as folder, server_lib.Server() as server:
            data = write_small_spambase(folder)
            server_lib.mercer(server, "data", "upload", data, "--id", "d", "--target", "label")
            self.assertEqual(server.stop(), 0, server.log())
            code, _, err = server_lib.mercer(server, "data", "list")
            self.assertEqual(code, 6, err)
            self.assertIn(f"no server answers at {server.address}", err)
            server.start()
            self.assertIn("datasets/d", server_lib.mercer(server, "data", "list")[1])


if __name__ == "__main__":
    unittest.main()
