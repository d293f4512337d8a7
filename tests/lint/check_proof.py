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
# Beside its folders: what builds it, what tells of it, what drives it, and this file.
ALLOWED = {"CONTRIBUTING.md", "cmake/MercerTests.cmake", "tests/e2e/proof_test.py", "tests/lint/check_proof.py"}
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
    wrong += [
        f"{name}: error: knows the learner of the proof, and is not among those that may"
        for name in others
        if name not in ALLOWED.union(shipped)
    ]
    wrong += [f"{name}: error: need not be among those that may know it" for name in ALLOWED.difference(others)]
    print("\n".join(wrong) or f"the learner of the proof is known to {len(others)} files outside its own folders")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
