"""Measurements, kept in a file so that an interrupted program goes on where it was, and tables of them."""

import json
import pathlib

import numpy as np


class Measurements:
    """Pairs of settings and what was measured under them, a line of JSON each.

    Parameters
    ----------
    path : str or path, optional
        The file; it may hold measurements already, which are not made again. None: they are kept in memory.
    """

    def __init__(self, path=None):
        self._path = pathlib.Path(path) if path else None
        self._found = {}
        if self._path and self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                self._found[_key(record["settings"])] = record["measured"]

    def get(self, settings):
        """What was measured under `settings`, or None."""
        return self._found.get(_key(settings))

    def measure(self, settings, call):
        """What was measured under `settings`; `call()` measures it the first time."""
        found = self.get(settings)
        if found is None:
            found = call()
            self._found[_key(settings)] = found
            if self._path:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"settings": settings, "measured": found}) + "\n")
        return found


def _key(settings):
    return json.dumps(settings, sort_keys=True)


def markdown(header, rows):
    """A table; `rows` are sequences of texts and numbers, and None stands for what was not measured."""
    lines = [header, ["---"] * len(header), *([_cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def field(records, name):
    """This value of every record, None of those that are None."""
    return [record and record[name] for record in records]


def spread(values, digits=2):
    """Mean and deviation of a sample as a text, None of no value, and the value alone of a single one."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    if len(values) == 1:
        return f"{values[0]:.{digits}f} (1)"
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def mean(values, digits=1):
    """Mean as a text, None of no value."""
    values = [value for value in values if value is not None]
    return f"{np.mean(values):.{digits}f}" if values else None


def worst(values):
    """The largest, as a power of ten; None of no value."""
    values = [value for value in values if value is not None]
    return f"{max(values):.0e}" if values else None
