#!/usr/bin/env python3
"""The learner of the proof (tests/support/proof), which no client knows: trained, shown and resumed as any other."""

import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from command_line_lib import CommandLineTest
import python_grpcio_test
import python_package_lib
import server_lib

KERNELS = ("--kernel", "gaussian bandwidths=0.5,2 group=near", "--kernel", "linear")
FROM_PYTHON = """
import sys
import mercer
client = mercer.connect(sys.argv[1])
kernels = ["gaussian bandwidth=1 group=near", "linear"]
model = client.train("datasets/plants", "pair_ridge", {"C": 2.5, "sharing": 1}, kernels=kernels, model="python").wait()
print(model.tables["group_shares"].to_json())
"""


def write_rows(path, count):
    """Numbers of two plants, of which one has the sign turned round."""
    numbers = random.Random(5)
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("plant", "x1", "x2", "x3", "y"))
        for number in range(count):
            x = [numbers.gauss(0, 1) for _ in range(3)]
            plant, sign = ("north", -1) if number % 3 == 0 else ("south", 1)
            rows.writerow((plant, *x, sign * x[0] + x[1] ** 2 + 0.3 * numbers.gauss(0, 1)))


class ProofTest(CommandLineTest):
    program = "tests/mercer-server-proof"
    flags = ("--checkpoint-interval", "0")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upload("plants", 120)

    @classmethod
    def upload(cls, name, rows):
        write_rows(cls.path(name + ".csv"), rows)
        cls.run_ok("data", "upload", cls.path(name + ".csv"), "--target", "y", "--role", "plant=task", "--id", name)

    def http(self, path, body=None):
        port = pathlib.Path(self.server.folder, "data/http_port").read_text(encoding="utf-8").strip()
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)) as answer:
            return json.load(answer)

    def test_the_command_line_trains_shows_and_predicts(self):
        self.assertIn("--sharing", self.run_ok("learners", "pair_ridge"))
        self.run_ok("train", "plants", "pair_ridge", "--C", "3", *KERNELS, "--model", "proof", "--watch")
        shown = self.run_ok("show", "proof")
        for text in ("pair_ridge", "share of each group of kernels", "near", "plane", "north", "south"):
            self.assertIn(text, shown)
        plants = self.path("plants.csv")
        self.assertEqual(len(self.run_ok("predict", "proof", plants).split()), 121)
        self.assertIn("plane", self.run_ok("predict", "proof", plants, "--contributions").splitlines()[0])
        self.run_ok("verify", "proof")
        self.expect(3, "--sharing", "train", "plants", "pair_ridge", "--sharing", "-1")

    def test_calls_train_it_and_tell_its_terms_and_tables(self):
        with tempfile.TemporaryDirectory(prefix="mercer-stubs.") as stubs:
            python_grpcio_test.generate_stubs(stubs)
            sys.path.insert(0, stubs)
            import grpc
            from mercer.v1 import kernel_pb2, learner_pb2, model_service_pb2, model_version_pb2, model_service_pb2_grpc
            from mercer.v1 import training_pb2, training_service_pb2, training_service_pb2_grpc

        gaussian = kernel_pb2.KERNEL_TYPE_GAUSSIAN
        kernels = [kernel_pb2.KernelGrid(type=gaussian, bandwidth=width, group=f"g{width}") for width in (1, 3)]
        named = learner_pb2.OtherLearner(name="pair_ridge", options={"C": "1e1"}, kernels=kernels)
        data = [training_pb2.DataInput(dataset="datasets/plants")]
        request = training_pb2.TrainRequest(data=data, model="models/rpc", learner=learner_pb2.Learner(other=named))
        with grpc.insecure_channel(self.server.address) as channel:
            training = training_service_pb2_grpc.TrainingServiceStub(channel)
            models = model_service_pb2_grpc.ModelServiceStub(channel)
            cost = training.EstimateCost(training_service_pb2.EstimateCostRequest(training=request))
            self.assertGreater(cost.memory_bytes, 0)
            job = training.Train(request).name
            for _ in training.StreamProgress(training_service_pb2.StreamProgressRequest(job=job)):
                pass
            full = model_version_pb2.MODEL_VERSION_VIEW_FULL
            model = models.GetModelVersion(model_service_pb2.GetModelVersionRequest(name="models/rpc", view=full))
            verified = models.VerifyModel(model_service_pb2.VerifyModelRequest(name="models/rpc"))
        self.assertTrue(verified.matches)
        self.assertEqual(model.learner, "pair_ridge")
        self.assertEqual({option.name: option.real_value for option in model.options}["C"], 10)
        self.assertEqual(list(model.coding.output_names), ["north", "south"])
        self.assertEqual([term.kind for term in model.function.other_terms], ["plane", "plane"])
        table = next(table for table in model.tables if table.name == "group_shares")
        self.assertEqual(list(table.rows), ["g1", "g3", "plane"])

    def test_it_is_trained_over_http_as_the_dashboard_does(self):
        described = {learner["name"]: learner for learner in self.http("/v1/learners")["learners"]}
        self.assertTrue(described["pair_ridge"]["needsOther"])
        self.assertNotIn("needsOther", described["svm"])
        learner = {"other": {"name": "pair_ridge", "options": {"sharing": "2"}}}
        request = {"data": [{"dataset": "datasets/plants"}], "model": "models/http", "learner": learner}
        job = self.http("/v1/jobs", request)
        # The kernels that it was trained on stand in the request that is kept.
        self.assertEqual(len(job["request"]["learner"]["other"]["kernels"]), 1)
        self.wait(job["name"])
        tables = {table["name"]: table for table in self.http("/v1/models/http:version")["tables"]}
        self.assertEqual(tables["group_shares"]["rows"], ["kernels", "plane"])

    @unittest.skipUnless(python_package_lib.IS_COMPLETE, python_package_lib.WHY_SKIPPED)
    def test_the_python_package_trains_it_and_reads_its_table(self):
        command = [python_package_lib.PYTHON, "-c", FROM_PYTHON, self.server.address]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("near", done.stdout)

    def wait(self, job, state="JOB_STATE_SUCCEEDED"):
        """The job, once it is in this state."""
        return self.poll(job, lambda found: found["state"] == state)

    def poll(self, job, is_wanted, pause=0.1, limit=server_lib.COMMAND_SECONDS):
        """The job, once it is as wanted; one that has ended otherwise, or not come to it in time, is an error."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            found = self.http(f"/v1/{job}")
            if is_wanted(found):
                return found
            ended = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED")
            self.assertNotIn(found["state"], ended, found)
            time.sleep(pause)
        raise AssertionError(f"after {limit} s {job} is {found}")

    def test_a_killed_server_goes_on_to_the_same_model(self):
        self.upload("many", 4500)  # so many that the server is caught in the middle
        request = {
            "data": [{"dataset": "datasets/many"}],
            "learner": {"other": {"name": "pair_ridge", "options": {"C": "100"}}},
            "stopping": {"relativeGap": 1e-12, "maxIterations": "200"},
        }
        self.wait(self.http("/v1/jobs", {**request, "model": "models/straight"})["name"])
        job = self.http("/v1/jobs", {**request, "model": "models/killed"})["name"]
        found = self.poll(job, lambda found: int(found.get("progress", {}).get("iteration", 0)) >= 40, pause=0.01)
        self.assertEqual(found["state"], "JOB_STATE_RUNNING")
        self.server.process.kill()
        self.server.process.wait()
        self.server.process.stdout.close()
        self.server.start()
        self.assertEqual(len(self.wait(job)["attempts"]), 2)
        self.assertEqual(self.http("/v1/models/killed:version")["digest"], self.http("/v1/models/straight:version")["digest"])


if __name__ == "__main__":
    unittest.main()
