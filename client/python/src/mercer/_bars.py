"""How far a job is: a bar of the package tqdm, or lines where it is not installed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Optional

_FORM = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining} {postfix}"
_hinted: set[str] = set()


def hint(package: str, what: str) -> None:
    """Says once in a process what a package that is not installed would be good for."""
    if package not in _hinted:
        _hinted.add(package)
        print(f"hint: with the package {package} (pip install {package}) this is {what}", file=sys.stderr)


class _Bar:
    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def show(self, fraction: float, text: str) -> None:
        """A bar never goes back."""
        self._bar.n = max(self._bar.n, min(fraction, 1.0))
        self._bar.set_postfix_str(text)


class _Lines:
    """A line for each new state or phase, and each further tenth."""

    def __init__(self, name: str, file: Any, silent: bool) -> None:
        self._name = name
        self._file = file
        self._silent = silent
        self._last: Optional[tuple[int, str]] = None
        self._fraction = 0.0

    def show(self, fraction: float, text: str) -> None:
        """Prints the line unless it would say little new."""
        self._fraction = max(self._fraction, min(fraction, 1.0))
        line = (int(10 * self._fraction), text.partition(" iteration ")[0])
        if line != self._last and not self._silent:
            self._last = line
            print(f"{self._name} {self._fraction:4.0%} {text}", file=self._file)


@contextlib.contextmanager
def open_bar(name: str, options: Mapping[str, Any]) -> Iterator[Any]:
    """Something whose method ``show(fraction, text)`` says how far a job is.

    Parameters
    ----------
    name : str
        Of the job, for people.
    options : mapping
        For tqdm; of them lines heed ``desc``, ``disable`` and ``file``.
    """
    try:
        from tqdm.auto import tqdm
    except ImportError:
        hint("tqdm", "a bar")
        yield _Lines(options.get("desc", name), options.get("file") or sys.stderr, bool(options.get("disable")))
        return
    with tqdm(**{"total": 1.0, "bar_format": _FORM, "desc": name, **options}) as bar:
        yield _Bar(bar)
