"""Lists of the sources: kernels and losses, each of which is a line in a file `*.inc` and a file beside it."""

import ast
import re

STRINGS = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'


def read(listing, macro):
    """Pairs of name and formula, in the order of the lines `macro(Name)` of the file `listing`."""
    names = re.findall(rf"^{macro}\((\w+)\)$", listing.read_text(encoding="utf-8"), re.MULTILINE)
    return [read_one(listing.parent / f"{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', name).lower()}.cc") for name in names]


def read_one(path):
    source = path.read_text(encoding="utf-8")
    found = [re.search(rf"\.{part} =\s*{STRINGS}", source) for part in ("name", "formula")]
    if None in found:
        raise SystemExit(f"{path}: .name and .formula must be texts")
    return tuple(ast.literal_eval(f"({one[1]})") for one in found)
