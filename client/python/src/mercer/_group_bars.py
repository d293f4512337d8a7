"""Rows of a table in their groups: what charts and text show of each group, and the chart."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

BAR_INCHES = 0.28
_LONGEST_NAME = 60
_LONGEST_IN_GROUPS = 44  # beside two columns of numbers
_LONGEST_GROUP = 26  # in bold, and with how many of its kernels are selected
_TEXT_BAR = 25
_GAP = 0.5  # between groups, in bars
_FAINT = "0.55"


def shorten(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name without its middle where it is longer."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[: half - 1]}…{name[-half:]}"


def _short_numbers(name: str) -> str:
    """The name with its numbers to four digits: "bandwidth=1.5199110829529339" is "bandwidth=1.52"."""
    return re.sub(r"(?<==)\d+\.\d{5,}", lambda number: f"{float(number[0]):.4g}", name)


@dataclasses.dataclass(frozen=True)
class Group:
    """A group with its rows, of which those of weight 0 are not selected."""

    name: str
    weight: float  # the sum of those of its rows
    norm: Optional[float]  # the same
    rows: tuple[int, ...]  # that are shown, the largest weight first
    count: int
    selected: int
    rest: int  # rows that are not shown
    rest_selected: int

    @property
    def title(self) -> str:
        """Such as "images · 2 of 9 selected"."""
        return f"{shorten(self.name, _LONGEST_GROUP)} · {self.selected} of {self.count} selected"

    @property
    def rest_text(self) -> str:
        """What is not shown beside what is; empty: nothing, or the title says it."""
        selected = f"{self.rest_selected} of them selected" if self.rest_selected else "not selected"
        return f"{self.rest} more, {selected}" if self.rest and self.rows else ""


def in_groups(groups: Sequence[str], weights: Array, norms: Optional[Array], most: Optional[int]) -> list[Group]:
    """All groups, the largest weight first.

    Of more rows than `most` those with the largest weights are shown, and none of weight 0.
    """
    order = np.argsort(-np.abs(weights), kind="stable")
    all_fit = most is None or len(order) <= most
    members: dict[str, list[int]] = {name: [] for name in groups}
    for row, name in enumerate(groups):
        members[name].append(row)
    kept: dict[str, list[int]] = {name: [] for name in members}
    for row in order[:most]:
        if all_fit or weights[row] != 0:
            kept[groups[row]].append(int(row))
    found = [_group(name, rows, kept[name], weights, norms) for name, rows in members.items()]
    return sorted(found, key=lambda group: -abs(group.weight))


def _group(name: str, rows: list[int], kept: list[int], weights: Array, norms: Optional[Array]) -> Group:
    selected = int(np.count_nonzero(weights[rows]))
    return Group(
        name=name or "without group",
        weight=float(weights[rows].sum()),
        norm=None if norms is None else float(norms[rows].sum()),
        rows=tuple(kept),
        count=len(rows),
        selected=selected,
        rest=len(rows) - len(kept),
        rest_selected=selected - int(np.count_nonzero(weights[kept])),
    )


class GroupBars:
    """The lines of a picture of groups: one for each group, its rows, and its rest; of the first `most` groups.

    Attributes
    ----------
    height : float
        Of the picture, in bars.
    bars, group_bars : matplotlib BarContainer
        Of the rows and of the groups, from the top down.
    """

    def __init__(
        self, groups: Sequence[str], names: Sequence[str], weights: Array, norms: Optional[Array], most: Optional[int]
    ) -> None:
        found = in_groups(groups, weights, norms, most)
        self._groups, further = found[:most], found[len(found[:most]) :]
        self._names, self._weights, self._norms = [_short_numbers(name) for name in names], weights, norms
        self._heads: list[float] = []
        self._rows: list[tuple[float, int]] = []
        self._rests: list[tuple[float, str]] = []
        place = 0.0
        for group in self._groups:
            self._heads.append(place)
            self._rows += [(place + 1 + i, row) for i, row in enumerate(group.rows)]
            place += 1 + len(group.rows)
            if group.rest_text:
                self._rests.append((place, group.rest_text))
                place += 1
            place += _GAP
        self._further = ""
        if further:
            counts = sum(group.selected for group in further), sum(group.count for group in further)
            noun = "group" if len(further) == 1 else "groups"
            self._further = f"{len(further)} more {noun} · {counts[0]} of {counts[1]} selected"
            self._rests.append((place, self._further))
            place += 1 + _GAP
        self.height = place
        self.bars: Any = None
        self.group_bars: Any = None

    def draw(self, ax: Any) -> None:
        """A pale bar for each group and full ones for its rows; a row that is not selected has a ring in its place."""
        weights = [self._weights[row] for _, row in self._rows]
        places = [place for place, _ in self._rows]
        self.group_bars = ax.barh(self._heads, [g.weight for g in self._groups], 0.8, color="C0", alpha=0.3)
        self.bars = ax.barh(places, weights, 0.6, color="C0")
        rings = [place for place, weight in zip(places, weights) if weight == 0]
        if rings:
            ring = {"markerfacecolor": "white", "markeredgecolor": _FAINT}
            ax.plot([0.0] * len(rings), rings, "o", clip_on=False, zorder=3, **ring)
        ends = [*zip(self._heads, [g.weight for g in self._groups]), *zip(places, weights)]
        for place, weight in ends:
            if weight != 0:
                right = weight > 0
                ax.annotate(
                    f"{weight:.3g}",
                    (weight, place),
                    xytext=(4 if right else -4, 0),
                    textcoords="offset points",
                    va="center",
                    ha="left" if right else "right",
                    fontsize="small",
                    fontweight="bold" if place in self._heads else "normal",
                )
        reached = [0.0, *(end for _, end in ends)]
        ax.set_xlim(1.35 * min(reached), 1.35 * max(reached) or 1.0)  # room for the numbers
        ax.set(ylim=(self.height - _GAP - 0.4, -0.6 if self._norms is None else -1.4), xlabel="weight")
        self._label(ax)

    def _label(self, ax: Any) -> None:
        """Names to the left, norms to the right."""
        lines = [(place, group.title, group.norm, "bold", "black") for place, group in zip(self._heads, self._groups)]
        for place, row in self._rows:
            norm = None if self._norms is None else float(self._norms[row])
            colour = "black" if self._weights[row] != 0 else _FAINT
            lines.append((place, shorten(self._names[row], _LONGEST_IN_GROUPS), norm, "normal", colour))
        lines += [(place, text, None, "normal", _FAINT) for place, text in self._rests]
        places = [line[0] for line in lines]
        ax.set_yticks(places, [line[1] for line in lines], parse_math=False)
        for label, line in zip(ax.get_yticklabels(), lines):
            label.set(fontweight=line[3], color=line[4])
        ax.tick_params(axis="y", length=0, pad=8)
        ax.spines[["top", "right"]].set_visible(False)
        if self._norms is None:
            return
        beside = {"transform": ax.get_yaxis_transform(), "va": "center"}
        ax.text(1.0, -1.0, "norm", color=_FAINT, **beside)
        for place, _, norm, weight, _ in lines:
            ax.text(1.0, place, f"{norm:.3g}" if norm else "", fontweight=weight, fontsize="small", **beside)

    def print(self) -> None:
        """The same as text."""
        names = [shorten(self._names[row]) for _, row in self._rows]
        width = max([len(group.title) for group in self._groups] + [len(name) + 4 for name in names], default=0)
        largest = max((abs(group.weight) for group in self._groups), default=0.0)

        def line(text: str, weight: float, norm: Optional[float]) -> str:
            bar = "█" * round(_TEXT_BAR * abs(weight) / largest) if largest > 0 else ""
            numbers = f"{weight:<8.3g} norm {norm:.3g}" if norm else f"{weight:.3g}"
            return f"{text:{width}} {bar:{_TEXT_BAR}} {numbers}"

        for group in self._groups:
            print(line(group.title, group.weight, group.norm))
            for row in group.rows:
                mark = "●" if self._weights[row] != 0 else "○"
                norm = None if self._norms is None else float(self._norms[row])
                print(line(f"  {mark} {shorten(self._names[row])}", float(self._weights[row]), norm))
            if group.rest_text:
                print(f"    {group.rest_text}")
        if self._further:
            print(self._further)
