"""What openapi.json says that no proto does: the forms of files, rows, events and errors over HTTP, and the gateway's own paths."""

INFO = {
    "title": "Mercer",
    "version": "v1",
    "description": "The API mercer.v1 of Mercer, a training service for kernel learning, over HTTP. Messages are JSON as proto3 maps them: "
    "fields that are 0, false or empty are left out of answers, 64-bit integers are strings, infinite numbers too. What a path "
    "says may be left out of the body.",
    "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
}
TAG = {"name": "Gateway", "description": "What HTTP has besides the calls of gRPC."}

TEXT = {"type": "string"}
NUMBERS = {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Real"}}
NUMBERS_BY_NAME = {"type": "object", "additionalProperties": NUMBERS}
EVENTS = {"text/event-stream": {"schema": TEXT}}
ERROR = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
RESPONSES = {"Error": {"description": "An error, whose details are those of gRPC.", **ERROR}}

SCHEMAS = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "status", "message", "details"],
                "properties": {
                    "code": {"type": "integer", "description": "The status of HTTP."},
                    "status": {"type": "string", "description": "The code of gRPC: \"NOT_FOUND\"."},
                    "message": {"type": "string", "description": "For people."},
                    "details": {"type": "array", "items": {"$ref": "#/components/schemas/Any"}},
                },
            }
        },
    },
    "Status": {
        "type": "object",
        "description": "An error within an answer.",
        "properties": {
            "code": {"type": "integer", "format": "int32", "description": "Of gRPC: 5 is NOT_FOUND."},
            "message": TEXT,
            "details": {"type": "array", "items": {"$ref": "#/components/schemas/Any"}},
        },
    },
    "RowObjects": {
        "type": "object",
        "description": "Rows to predict as objects, and any other field of PredictRequest but `dataset`.",
        "required": ["rows"],
        "properties": {
            "rows": {
                "type": "array",
                "description": "An object for each row: a number, a text, true or false is a cell, null a missing one.",
                "items": {"type": "object", "additionalProperties": True},
            }
        },
        "additionalProperties": True,
    },
    "RowPredictions": {
        "type": "object",
        "description": "The answer to rows as objects.",
        "required": ["model", "predictions"],
        "properties": {
            "model": {"type": "string", "description": "The version that answered."},
            "predictions": {"type": "array", "items": {"$ref": "#/components/schemas/RowPrediction"}},
        },
    },
    "RowPrediction": {
        "type": "object",
        "description": "Of one row. Numbers that are not finite are null.",
        "properties": {
            "label": {"type": "string", "description": "Classification: the predicted label."},
            "decisionValues": {**NUMBERS, "description": "Classification: by output."},
            "prediction": {"type": "number", "nullable": True, "description": "Regression."},
            "probabilities": {**NUMBERS, "description": "On request: by class."},
            "contributions": {**NUMBERS_BY_NAME, "description": "On request: by kernel and output."},
            "gradients": {**NUMBERS_BY_NAME, "description": "On request: by output and column."},
            "projections": {**NUMBERS_BY_NAME, "description": "On request: by output and direction."},
            "error": {"type": "string", "description": "Why the row was not predicted."},
        },
    },
}


def or_else(schema):
    """A function that allows `schema` in JSON, too."""

    def allow(content):
        json = content["application/json"]
        json["schema"] = {"anyOf": [json["schema"], schema]}

    return allow


def or_csv(content):
    content["text/csv"] = {"schema": TEXT}


# Besides the message, by call. `rows`: fields of the request that a body of rows as CSV stands for; the query has the others.
FORMS = {
    "Predict": {
        "request": (or_else({"$ref": "#/components/schemas/RowObjects"}), or_csv),
        "response": (or_else({"$ref": "#/components/schemas/RowPredictions"}), or_csv),
        "rows": {"rows", "dataset"},
    }
}

BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
FILE = {"description": "The file, which may be compressed with gzip.", "required": True, "content": {"text/csv": {"schema": TEXT}, **BYTES}}
# By kind of call, or by its name: further parameters, and the answer where that is no message.
HEADERS = {
    "Events": [
        {"name": "Last-Event-ID", "in": "header", "description": "Goes on behind this event: the id that it had.", "schema": TEXT}
    ]
}
ANSWERS = {
    "Export": {
        "description": "The file.",
        "headers": {"ETag": {"description": "SHA-256 of the file, in quotes.", "schema": TEXT}},
        "content": BYTES,
    },
    "StreamProgress": {"description": "Events `progress`, whose data are ProgressEvents, then `end` or `error`.", "content": EVENTS},
    "WatchJobs": {
        "description": "Events `job` and `existing`, whose data are WatchJobsResponses, and for each `job` that is named `progress`, whose "
        "data are its name and a ProgressEvent, then `end` or `error`.",
        "content": EVENTS,
    },
}


def plain(summary, content, **more):
    """A GET that answers `content` to everybody."""
    return {
        "get": {
            "tags": ["Gateway"],
            "summary": summary,
            "security": [{}],
            "responses": {"200": {"description": "The answer.", "content": content}},
            **more,
        }
    }


PATHS = {
    "/v1/openapi.json": plain("This document", {"application/json": {"schema": {"type": "object"}}}, operationId="GetOpenApi"),
    "/healthz": plain("Whether the server runs", {"text/plain": {"schema": TEXT}}, operationId="CheckLife"),
    "/readyz": plain("Whether the server takes calls; else 503", {"text/plain": {"schema": TEXT}}, operationId="CheckReadiness"),
}
