#!/usr/bin/env python3
"""The API over HTTP as somebody with curl uses it, and as Prometheus does."""

import json
import pathlib
import shutil
import socket
import subprocess
import unittest

from server_lib import COMMAND_SECONDS, SPAMBASE, Server

CURL = shutil.which("curl")


def curl(server, path, *flags):
    """Runs curl; returns what it prints."""
    port = pathlib.Path(server.folder, "data/http_port").read_text().strip()
    done = subprocess.run(
        [CURL, "--silent", "--show-error", "--no-buffer", *flags, f"http://127.0.0.1:{port}{path}"],
        capture_output=True,
        timeout=COMMAND_SECONDS,
        check=True,
    )
    return done.stdout


def events_of(text):
    """[(event, data)] of a stream."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


@unittest.skipUnless(CURL, "there is no curl")
class CurlTest(unittest.TestCase):
    def test_from_a_file_to_a_prediction(self):
        with Server() as server:
            post = ("--header", "Content-Type: application/json", "--data")
            dataset = json.loads(curl(server, "/v1/datasets:upload?datasetId=mail&target=label", "--header", "Content-Type: text/csv",
                                      "--data-binary", f"@{SPAMBASE}"))  # fmt: skip
            self.assertEqual(dataset["rows"], "4601")
            semicolons = json.loads(curl(server, "/v1/datasets:upload?target=y&delimiter=;", "--header", "Content-Type: text/csv",
                                         "--data", "a;b;y\n1;2;u\n3;4;v\n"))  # fmt: skip
            self.assertEqual(semicolons["numColumns"], "2")
            wrong = json.loads(curl(server, "/v1/jobs", *post, '{"learner": "svm"}'))
            self.assertIn('must be an object (Learner), such as {"svm": {}}', str(wrong))
            request = {
                "data": [{"dataset": "datasets/mail"}],
                "model": "models/spam",
                "learner": {"lpMkl": {"kernels": [{"type": "KERNEL_TYPE_GAUSSIAN", "bandwidths": [1, 2]}]}},
            }
            job = json.loads(curl(server, "/v1/jobs", *post, json.dumps(request)))["name"]
            events = events_of(curl(server, f"/v1/{job}/events").decode())
            self.assertEqual(events[0][1]["stateChange"]["state"], "JOB_STATE_QUEUED")
            self.assertEqual(events[-2][1]["stateChange"]["state"], "JOB_STATE_SUCCEEDED")
            self.assertEqual(events[-1][0], "end")
            self.assertEqual([int(data["sequence"]) for name, data in events[:-1]], list(range(1, len(events))))
            prediction = json.loads(curl(server, "/v1/models/spam:predict", *post, '{"dataset": "datasets/mail"}'))
            self.assertEqual(len(prediction["labels"]), 4601)
            self.assertGreater(len(curl(server, "/v1/models/spam:export")), 10_000)

            metrics = curl(server, "/metrics").decode()
            self.assertIn('mercer_calls_total{code="OK",method="PredictionService/Predict"} 1\n', metrics)
            self.assertIn('mercer_jobs{state="succeeded"} 1\n', metrics)
            self.assertIn('mercer_predicted_rows_total{model="models/spam/versions/1"} 4601\n', metrics)
            for line in metrics.splitlines():
                self.assertRegex(line, r'\A(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? [-+.\w]+)\Z')
            self.assertEqual(server.stop(), 0)

    def test_refusals_say_what_helps(self):
        with Server("--memory-budget", "50000") as server:
            post = ("--header", "Content-Type: application/json", "--data")
            rows = "".join(f"{i % 17},{i % 5},{'ab'[i % 3 > 0]}\n" for i in range(240))
            upload = ("/v1/datasets:upload?datasetId=few&target=y", "--header", "Content-Type: text/csv", "--data-binary")
            self.assertEqual(json.loads(curl(server, *upload, "a,b,y\n" + rows))["rows"], "240")
            taken = json.loads(curl(server, *upload, "a,c,y\n" + rows))["error"]
            self.assertEqual(taken["message"], "there is a data set 'few' already; take another id, or delete it first")
            training = {"data": [{"dataset": "datasets/few"}], "learner": {"svm": {}}}
            refused = json.loads(curl(server, "/v1/jobs", *post, json.dumps(training)))["error"]
            self.assertEqual(refused["details"][0]["reason"], "JOB_TOO_LARGE")
            cost = json.loads(curl(server, "/v1/jobs:estimate", *post, json.dumps({"training": training})))
            self.assertIn("lp_mkl with approximation=nystrom", cost["advice"])
            self.assertTrue(refused["message"].endswith("; " + cost["advice"]), refused["message"])

    def test_an_interrupted_upload_stores_nothing(self):
        with Server() as server:
            port = int(pathlib.Path(server.folder, "data/http_port").read_text())
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"POST /v1/datasets:upload?datasetId=half&target=y HTTP/1.1\r\nHost: localhost\r\nX-Mercer: 1\r\n"
                                   b"Content-Length: 1000\r\n\r\nx,y\n1,2\n3,4\n")  # fmt: skip
            self.assertEqual(json.loads(curl(server, "/v1/datasets")), {})
            self.assertEqual(curl(server, "/healthz"), b"ok\n")
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
