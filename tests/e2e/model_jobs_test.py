#!/usr/bin/env python3
"""Predictions of whole data sets as jobs: over HTTP and by the command line, killed, cancelled and deleted."""

import json
import os
import pathlib
import random
import re
import subprocess
import time
import unittest
import urllib.request

from server_lib import BIN, COMMAND_SECONDS, Server

DRAWN = 20_000
ROWS = 40 * DRAWN  # seconds of work for the model below


def table(rows, seed):
    """Two columns and a label with so much noise that most rows support the model."""
    drawn = random.Random(seed)
    lines = ["x1,x2,label"]
    for _ in range(min(rows, DRAWN)):
        x1, x2 = drawn.gauss(0, 1), drawn.gauss(0, 1)
        lines.append(f"{x1:.4f},{x2:.4f},{'yes' if x1 + drawn.gauss(0, 2) > 0 else 'no'}")
    repeated = lines[1:] * max(1, rows // DRAWN)
    return "\n".join([lines[0], *repeated]) + "\n"


def call(server, method, path, body=None, content="application/json"):
    """The JSON of the answer."""
    port = pathlib.Path(server.folder, "data/http_port").read_text().strip()
    data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": content}, method=method)
    with urllib.request.urlopen(request, timeout=COMMAND_SECONDS) as answer:
        return json.loads(answer.read())


def wait(server, job, is_reached):
    """The job, once it is as wanted."""
    end = time.monotonic() + COMMAND_SECONDS
    while time.monotonic() < end:
        found = call(server, "GET", f"/v1/{job}")
        if is_reached(found):
            return found
        time.sleep(0.02)
    raise AssertionError(f"{job} is {found}")


def is_final(job):
    return job["state"] in ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED")


def is_under_way(job):
    return job.get("progress", {}).get("progress", {}).get("fraction", 0) > 0 or is_final(job)


class ModelJobsTest(unittest.TestCase):
    def setUp(self):
        self.server = Server("--workers=1", "--threads=1", "--http=127.0.0.1:0")
        self.server.start()
        self.addCleanup(self.server.__exit__)
        for name, rows in (("small", 3000), ("large", ROWS)):
            call(self.server, "POST", f"/v1/datasets:upload?datasetId={name}&target=label", table(rows, rows), "text/csv")
        request = {
            "data": [{"dataset": "datasets/small"}],
            "model": "models/noisy",
            "learner": {"svm": {"kernels": [{"type": "KERNEL_TYPE_GAUSSIAN", "bandwidths": [1]}]}},
        }
        job = call(self.server, "POST", "/v1/jobs", request)["name"]
        self.assertEqual(wait(self.server, job, is_final)["state"], "JOB_STATE_SUCCEEDED")

    def predict(self, dataset="datasets/large", **fields):
        return call(self.server, "POST", "/v1/models/noisy:predictDataset", {"dataset": dataset, **fields})["name"]

    def blobs(self):
        return [f for _, _, files in os.walk(pathlib.Path(self.server.folder, "data/blobs")) for f in files]

    def dataset_of(self, job):
        ended = wait(self.server, job, is_final)
        self.assertEqual(ended["state"], "JOB_STATE_SUCCEEDED", ended)
        return call(self.server, "GET", f"/v1/{ended['prediction']['dataset']}?view=DATASET_VIEW_FULL")

    def test_a_kill_in_the_middle_leads_to_the_same_bytes(self):
        job = self.predict(keepColumns=["x1"], displayName="predicted")
        running = wait(self.server, job, is_under_way)
        self.assertEqual(running["state"], "JOB_STATE_RUNNING", "it has ended before the kill: take more rows")
        self.server.process.kill()
        self.server.process.wait()
        self.server.process.stdout.close()
        self.server.start()
        killed = self.dataset_of(job)
        ended = call(self.server, "GET", f"/v1/{job}")
        self.assertEqual([a["endReason"] for a in ended["attempts"]], ["WORKER_LOST", "SUCCEEDED"])
        untouched = self.dataset_of(self.predict(keepColumns=["x1"]))
        self.assertEqual(killed["digest"], untouched["digest"])
        self.assertNotEqual(killed["name"], untouched["name"])
        self.assertEqual(killed["rows"], str(ROWS))
        self.assertEqual(killed["displayName"], "predicted")
        self.assertEqual([c["name"] for c in killed["blocks"][0]["columns"]][1:], ["label", "x1"])
        # Neither the temporary file of the killed attempt nor a second copy is left. A job's checkpoint, if it took long enough to have
        # one, and the pin of what it has made go when others know its end already.
        end = time.monotonic() + COMMAND_SECONDS
        while len(self.blobs()) > 5 and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(len(self.blobs()), 5, self.blobs())  # two data sets, the new one, model and witness

    def test_a_drain_in_the_middle_goes_on_behind_the_rows_that_are_done(self):
        job = self.predict()
        running = wait(self.server, job, is_under_way)
        self.assertEqual(running["state"], "JOB_STATE_RUNNING", "it has ended before the drain: take more rows")
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        drained = self.dataset_of(job)
        ended = call(self.server, "GET", f"/v1/{job}")
        self.assertEqual([a["endReason"] for a in ended["attempts"]], ["DRAINED", "SUCCEEDED"])
        port = pathlib.Path(self.server.folder, "data/http_port").read_text().strip()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/{job}/events", timeout=COMMAND_SECONDS) as answer:
            resumed = re.findall(r'"fromIteration":"(\d+)"', answer.read().decode())
        self.assertEqual(len(resumed), 1)
        self.assertGreater(int(resumed[0]), 0)
        untouched = self.dataset_of(self.predict())
        self.assertEqual(drained["digest"], untouched["digest"])

    def test_a_limit_of_time_fails_it(self):
        job = self.predict(timeLimit="0.2s")
        ended = wait(self.server, job, is_final)
        self.assertEqual((ended["state"], ended["reason"]), ("JOB_STATE_FAILED", "TIME_LIMIT_EXCEEDED"), ended)
        self.assertEqual(len(call(self.server, "GET", "/v1/datasets")["datasets"]), 2)

    def test_a_cancellation_ends_it_at_once(self):
        took = []
        # The least of some attempts: what other programs on the machine add to it differs from one to the next.
        while not took or (min(took) >= 2 and len(took) < 4):
            job = self.predict()
            wait(self.server, job, is_under_way)
            begin = time.monotonic()
            call(self.server, "POST", f"/v1/{job}:cancel", {})
            ended = wait(self.server, job, is_final)
            took.append(time.monotonic() - begin)
            self.assertEqual(ended["state"], "JOB_STATE_CANCELLED")
            self.assertEqual(len(call(self.server, "GET", "/v1/datasets")["datasets"]), 2)
            call(self.server, "DELETE", f"/v1/{job}")
        self.assertLess(min(took), 2)  # 0.25 on a machine that does nothing else

    def test_the_command_line_watches_it(self):
        command = [BIN / "mercer", "--server", self.server.address, "predict", "noisy", "datasets/small", "--into", "of all"]
        done = subprocess.run([*command, "--keep", "x2"], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3000 rows predicted by models/noisy/versions/1", done.stdout)
        listed = subprocess.run(
            [BIN / "mercer", "--server", self.server.address, "jobs"], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=True
        ).stdout
        self.assertIn("prediction", listed)
        refused = subprocess.run([*command, "--values"], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        self.assertNotEqual(refused.returncode, 0)

    def test_evaluation_and_verification(self):
        evaluation = call(self.server, "POST", "/v1/models/noisy:startEvaluation", {"dataset": "datasets/small"})["name"]
        verification = call(self.server, "POST", "/v1/models/noisy/versions/1:startVerification", {})["name"]
        direct = call(self.server, "POST", "/v1/models/noisy:evaluate", {"dataset": "datasets/small"})
        self.assertEqual(wait(self.server, evaluation, is_final)["evaluation"], direct)
        self.assertTrue(wait(self.server, verification, is_final)["verification"]["matches"])
        # The job of the call that waited for one is deleted before its answer.
        kinds = call(self.server, "GET", "/v1/jobs?kinds=JOB_KIND_EVALUATION&kinds=JOB_KIND_VERIFICATION")["jobs"]
        self.assertEqual([job["name"] for job in kinds], [verification, evaluation])


if __name__ == "__main__":
    unittest.main()
