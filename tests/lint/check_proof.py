#!/usr/bin/env python3
"""The learner of the proof is one folder, and a line in few other files: nothing that is shipped knows it.

Its shape is new in every respect, so that what a learner of a new shape needs beside its folder is counted here.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = re.compile(rb"pair_ridge|pairridge|PairRidge|PlaneTerm|support/proof|server-proof|mercer_proof")
FOLDERS = ("core", "server", "client", "proto", "tests", "docs", "cmake", "docker", "experiments", "demo", ".")
OWN = ("tests/support/proof/", "tests/proof/")
SHIPPED = ("core/", "server/", "client/", "proto/", "docker/")
MAX_FILES = 12
SKIPPED = {"node_modules", "build", "__pycache__", ".git", "target"}


def files(folder):
    paths = (ROOT / folder).iterdir() if folder == "." else (ROOT / folder).rglob("*")
    return (path for path in paths if path.is_file() and not SKIPPED.intersection(path.relative_to(ROOT).parts))


def main():
    found = sorted(
        str(path.relative_to(ROOT)) for folder in FOLDERS for path in files(folder) if NAMES.search(path.read_bytes())
    )
    others = [name for name in found if not name.startswith(OWN)]
    shipped = [name for name in others if name.startswith(SHIPPED)]
    wrong = [f"{name}: error: what is shipped knows the learner of the proof" for name in shipped]
    if len(found) == len(others):
        wrong.append(f"{OWN[0]}: error: there is no learner of the proof")
    if len(others) > MAX_FILES:
        wrong.append(f"error: more than {MAX_FILES} files outside its own folders: {', '.join(others)}")
    print("\n".join(wrong) or f"the learner of the proof is known to {len(others)} files outside its own folders")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
