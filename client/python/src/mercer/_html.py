"""How notebooks show data sets, jobs and models: a heading and a table of two columns."""

from __future__ import annotations

import html
from collections.abc import Iterable

_CELL = 'style="text-align: left; vertical-align: top"'


def text(value: object) -> str:
    """A value as HTML that shows it, whatever it holds."""
    return html.escape(str(value))


def meter(share: float) -> str:
    """A bar for a share in [0, 1]."""
    return f'<progress max="1" value="{min(max(share, 0.0), 1.0):.4f}"></progress>'


def table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """HTML of a heading and of rows: a name, which is text, and a value, which is HTML. Empty values are left out."""
    cells = "".join(f"<tr><th {_CELL}>{text(name)}</th><td {_CELL}>{value}</td></tr>" for name, value in rows if value)
    return f"<div><strong>{text(title)}</strong><table>{cells}</table></div>"


def pairs(values: Iterable[tuple[str, str]]) -> str:
    """Names and values, all text, side by side."""
    return ", ".join(f"{text(name)}&nbsp;{text(value)}" for name, value in values)
