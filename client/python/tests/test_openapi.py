"""The document of OpenAPI is valid, and what a server answers over HTTP is as it says."""

import json
import pathlib
import re
import urllib.error
import urllib.request

import pytest
from openapi_schema_validator import OAS30Validator
from openapi_spec_validator import validate

DOCUMENT = json.loads(pathlib.Path(__file__).parents[3].joinpath("docs/reference/openapi.json").read_text("utf-8"))


def strict(schema):
    """A copy that refuses properties that it does not name."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: strict(value) for key, value in schema.items()}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        copy.setdefault("additionalProperties", False)
    return copy


COMPONENTS = strict(DOCUMENT["components"])


def check(value, schema):
    """Raises where `value` is not as the schema says."""
    OAS30Validator({"components": COMPONENTS, "allOf": [strict(schema)]}).validate(value)


def operation_of(verb, path):
    """What the document says of a request."""
    for template, operations in DOCUMENT["paths"].items():
        parts = re.split(r"(\{\w+\})", template)
        pattern = "".join("[^/:]+" if part.startswith("{") else re.escape(part) for part in parts)
        if re.fullmatch(pattern, path) and verb.lower() in operations:
            return operations[verb.lower()]
    raise LookupError(f"{verb} {path}")


@pytest.fixture(scope="module")
def ask(client, rings):
    """A function that sends a request and returns the answer, both of which are as the document says."""
    features, labels = rings
    client.upload(features, labels, id="openapi", labels={"of": "openapi"})

    def send(verb, target, body=None, status=200):
        operation = operation_of(verb, target.partition("?")[0])
        if body is not None:
            check(body, operation["requestBody"]["content"]["application/json"]["schema"])
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if data else {"X-Mercer": "1"}
        request = urllib.request.Request(client.dashboard.rstrip("/") + target, data, headers, method=verb)
        try:
            with urllib.request.urlopen(request) as response:
                code, text = response.status, response.read()
        except urllib.error.HTTPError as error:
            code, text = error.code, error.read()
        assert code == status, text
        answer = json.loads(text)
        said = operation["responses"].get(str(code), DOCUMENT["components"]["responses"]["Error"])
        check(answer, said["content"]["application/json"]["schema"])
        return answer

    return send


def test_the_document_is_valid():
    validate(DOCUMENT)


def test_what_it_does_not_say_is_found(ask):
    with pytest.raises(Exception, match="Additional properties"):
        check({"name": "jobs/a", "colour": 1}, {"$ref": "#/components/schemas/Job"})
    with pytest.raises(Exception, match="is not of type"):
        ask("POST", "/v1/jobs:estimate", {"training": {"seed": 5}}, 400)


def test_requests_and_answers_are_as_it_says(ask, client):
    assert ask("GET", "/v1/openapi.json") == DOCUMENT
    assert ask("GET", "/v1/server")["tokens"] is False
    assert ask("GET", "/v1/learners")["learners"]
    assert ask("GET", "/v1/datasets/openapi?view=DATASET_VIEW_FULL")["rows"] == "240"
    ask("GET", "/v1/datasets?pageSize=1")
    training = {
        "data": [{"dataset": "datasets/openapi"}],
        "model": "models/openapi",
        "learner": {"svm": {"C": 10, "kernels": [{"type": "KERNEL_TYPE_GAUSSIAN", "bandwidths": [1, 2]}]}},
        "validation": {"folds": {"count": 3}},
        "stopping": {"timeLimit": "60s"},
        "labels": {"of": "openapi"},
    }
    assert ask("POST", "/v1/jobs:estimate", {"training": training})["fits"]
    job = ask("POST", "/v1/jobs", training)["name"]
    client.job(job).wait()
    assert ask("GET", f"/v1/{job}")["state"] == "JOB_STATE_SUCCEEDED"
    ask("GET", "/v1/jobs?states=JOB_STATE_SUCCEEDED&labels.of=openapi")
    body = {"job": {"labels": {"of": "openapi", "to": "be"}}, "updateMask": "labels"}
    assert ask("PATCH", f"/v1/{job}", body)["labels"]["to"] == "be"
    ask("GET", "/v1/models/openapi:version?view=MODEL_VERSION_VIEW_FULL")
    assert ask("GET", "/v1/models/openapi")["newestVersion"]["name"] == "models/openapi/versions/1"
    assert ask("GET", "/v1/models?filter=name%20%3D%20models/openapi")["models"][0]["numVersions"] == "1"
    assert ask("GET", "/v1/models/openapi/versions")["versions"][0]["name"] == "models/openapi/versions/1"
    ask("GET", "/v1/models/-/versions?learner=svm")
    body = {"model": {"displayName": "Open"}, "updateMask": "displayName"}
    assert ask("PATCH", "/v1/models/openapi", body)["displayName"] == "Open"
    body = {"modelVersion": {"description": "the first"}, "updateMask": "description"}
    assert ask("PATCH", "/v1/models/openapi/versions/1", body)["description"] == "the first"
    ask("POST", "/v1/models/openapi:verify", {})
    ask("POST", "/v1/models/openapi/versions/1:evaluate", {"dataset": "datasets/openapi"})
    ask("POST", "/v1/models/openapi:predict", {"dataset": "datasets/openapi"})
    names = [
        column["name"]
        for column in ask("GET", "/v1/datasets/openapi?view=DATASET_VIEW_FULL")["blocks"][0].get("columns", [])
    ]
    rows = [dict.fromkeys(names, 0.5)] if names else [{"x1": 0.5, "x2": 0.5, "x3": 0.5}]
    assert ask("POST", "/v1/models/openapi:predict", {"rows": rows})["predictions"][0]["label"] in ("inner", "outer")
    ask("PUT", "/v1/models/openapi/aliases/live", {"version": "models/openapi/versions/1"})
    ask("GET", "/v1/models/openapi/aliases/live/history")
    assert ask("GET", "/v1/models/openapi/aliases/live:version")["name"] == "models/openapi/versions/1"
    assert ask("GET", "/v1/models/openapi/aliases/live")["version"] == "models/openapi/versions/1"
    ask("DELETE", "/v1/models/openapi/aliases/live")
    ask("GET", "/v1/predictionStatistics")
    assert ask("GET", "/v1/jobs/none", status=404)["error"]["status"] == "NOT_FOUND"
    ask("DELETE", f"/v1/{job}")
