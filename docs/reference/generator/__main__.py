"""Writes api.md, learners.md and openapi.json beside this folder, and what else follows from other sources: the table of paths in
docs/http.md, comments of the protos, the types and routes of the dashboard, and the learners that its tests take for a server's.

The pages are made of the protos' comments and of what a server says of its learners.

    MERCER_BIN=build/release/bin python3 docs/reference/generator [FOLDER]

FOLDER: where to write instead. Standard library, protobuf and protoc.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import api_page
import http_page
import learners_page
import learners
import markdown
import openapi
import proto_comments
import protos
import tables
import typescript

REFERENCE = pathlib.Path(__file__).resolve().parents[1]
ROOT = REFERENCE.parents[1]
HTTP = pathlib.Path("docs/http.md")
API = pathlib.Path("proto/mercer/v1")
FIXTURES = pathlib.Path("client/web/tests/fixtures")
TYPES = pathlib.Path("client/web/src/api")


def read_protos(changed):
    """The files of the API with the text `changed` in place of some."""
    with tempfile.TemporaryDirectory(prefix="mercer-protos.") as folder:
        root = pathlib.Path(folder)
        shutil.copytree(ROOT / "proto", root / "proto")
        for name, text in changed.items():
            (root / API / name).write_text(text, encoding="utf-8")
        return protos.read_files(root)


def document_of(files):
    """That of OpenAPI."""
    return openapi.Document(files, protos.read_details(ROOT), tables.read_routes(files), tables.read_scopes(ROOT)).document()


def pages(described, files):
    """Text by file name."""
    reasons = markdown.read_reasons((ROOT / "docs/errors.md").read_text(encoding="utf-8"), "../errors.md")
    api = api_page.ApiPage(files, tables.read_routes(files), tables.read_scopes(ROOT), reasons)
    return {
        "api.md": api.page(),
        "learners.md": learners_page.LearnersPage(ROOT, files, described, api.writer).page(),
    }


def write(folder, texts):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    elsewhere = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
    learners_described = learners.ask_server(ROOT)
    comments = proto_comments.updated(ROOT, learners_described)
    read = read_protos(comments)
    document = document_of(read)
    write(elsewhere or REFERENCE, pages(learners_described, read))
    write(elsewhere or REFERENCE, {"openapi.json": json.dumps(document, indent=1, ensure_ascii=False) + "\n"})
    page = http_page.updated((ROOT / HTTP).read_text(encoding="utf-8"), read, tables.read_routes(read))
    write((elsewhere or ROOT) / HTTP.parent, {HTTP.name: page})
    write((elsewhere or ROOT) / TYPES, {"schema.ts": typescript.types(document), "routes.ts": typescript.routes(read)})
    write((elsewhere or ROOT) / API, comments)
    answer = json.dumps({"learners": learners_described}, indent=1, ensure_ascii=False) + "\n"
    write((elsewhere or ROOT) / FIXTURES, {"learners.json": answer})
