"""Writes api.md and learners.md beside this folder: the comments of the protos, and what a server says of its learners.

    MERCER_BIN=build/release/bin python3 docs/reference/generator [FOLDER]

FOLDER: where to write instead. Standard library, protobuf and protoc.
"""

import pathlib
import sys

import api_page
import learners_page
import learners
import markdown
import protos
import tables

REFERENCE = pathlib.Path(__file__).resolve().parents[1]
ROOT = REFERENCE.parents[1]


def pages():
    """Text by file name."""
    files = protos.read_files(ROOT)
    reasons = markdown.read_reasons((ROOT / "docs/errors.md").read_text(encoding="utf-8"), "../errors.md")
    api = api_page.ApiPage(files, tables.read_routes(ROOT), tables.read_scopes(ROOT), reasons)
    described = learners.ask_server(ROOT)
    return {
        "api.md": api.page(),
        "learners.md": learners_page.LearnersPage(ROOT, files, described, api.writer).page(),
    }


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else REFERENCE
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
