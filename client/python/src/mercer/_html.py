"""How notebooks show data sets, jobs and models: a heading and a table of two columns."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

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


def largest(names: Sequence[str], weights: npt.NDArray[np.float64], most: int) -> str:
    """The largest weights of kernels or features over all outputs, each with a bar."""
    sizes = np.abs(weights).max(axis=1) if weights.size else np.zeros(0)
    top = sizes.max(initial=0.0)
    order = [i for i in np.argsort(-sizes, kind="stable")[:most] if sizes[i] > 0]
    return "<br>".join(f"{meter(sizes[i] / top)} {sizes[i]:.3g} {text(names[i])}" for i in order)


def pairs(values: Iterable[tuple[str, str]]) -> str:
    """Names and values, all text, side by side."""
    return ", ".join(f"{text(name)}&nbsp;{text(value)}" for name, value in values)
