"""Kinks near a point: which switches change along a coordinate, how far away, and the slopes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..structure.kept import kept
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..write.formula import formula_text
from . import digits
from .neighbourhood import Branch, Neighbourhood

LINE = 1_024  # elements
MOST_CONVENTIONS = 4  # kinks at once for which every combination of conventions is tried


@dataclass(frozen=True)
class Crossing:
    """A kink on the way along a coordinate."""

    node: GraphRow
    declared: GraphRow
    element: int
    distance: float  # along the coordinate, signed
    share: float  # what the switch is short of its kink, as a part of its largest elements
    lone: bool  # whether neither side takes the branch that the point takes

    def told(self, graph: Structure) -> str:
        """The node and its formula, for a sentence."""
        shape = graph.shape(self.declared)
        place = f", element {self.element}" if shape else ""
        known, key = kept(graph), ("formula", self.node)
        if key not in known:
            known[key] = formula_text(graph, self.node)
        return f"{graph.names[self.node]} = {known[key]}{place}"


def crossings(branches: Sequence[Branch], steps: Any, begin: int = 0) -> list[list[Crossing]]:
    """The switches that take another branch on each stencil than at the point, nearest first.

    `steps` are (stencils, neighbours), which begin somewhere among all; the last neighbour of all
    is the point itself.
    """
    rows = slice(begin, begin + steps.size)
    found: list[list[Crossing]] = [[] for _ in steps]
    order = np.argsort(np.abs(steps[0]), kind="stable").tolist()
    for branch in branches:
        margin = np.abs(branch.margin[-1])
        largest = margin.max(initial=0.0) if margin.size > 1 else np.inf
        changing = np.arange(margin.size)
        if not branch.switch.competing:  # few elements change their sign
            lowest, highest = extremes(branch.margin[rows])
            sides = np.sign(branch.margin[-1])
            changing = np.flatnonzero((np.sign(lowest) != sides) | (np.sign(highest) != sides))
        taken, margins = branch.taken(np.s_[rows, changing]), branch.margin[rows, changing]
        taken, margins = (part.reshape(*steps.shape, -1) for part in (taken, margins))
        differs = (taken != branch.taken(np.s_[-1, changing])) & np.isfinite(margins)
        where = np.nonzero(differs.any(axis=1))
        for stencil, column in zip(*(part.tolist() for part in where), strict=True):
            element, own = int(changing[column]), differs[stencil, :, column].tolist()
            first = next(k for k in order if own[k])
            here, there = float(margin[element]), abs(float(margins[stencil, first, column]))
            share = here / (here + there) if here else 0.0
            short = here / float(largest) if largest else 0.0
            found[stencil].append(
                Crossing(
                    *(branch.switch.node, branch.switch.declared, element),
                    *(float(steps[stencil, first]) * share, short, all(own)),
                )
            )
    return [sorted(near, key=lambda crossing: abs(crossing.distance)) for near in found]


def within_reach(branches: Iterable[Branch], reach: Any) -> Any:
    """For each pair of neighbours, whether a switch would change within so many of its steps.

    The pairs come first; the last neighbour of all is the point itself.
    """
    found = np.zeros(len(reach), dtype=bool)
    for branch in branches:
        margin, here = branch.margin[: 2 * len(reach)], branch.margin[-1]
        with np.errstate(all="ignore"):
            lowest, highest = extremes(margin)
            farthest = np.maximum(highest - here, here - lowest)
            if not branch.switch.competing:  # few elements come near: the rest needs no closer look
                close = np.flatnonzero(~(farthest * reach.max(initial=0.0) < np.abs(here)))
                margin, here = margin[:, close], here[close]
            moved = np.abs(margin - here)
            near = (moved * np.repeat(reach, 2)[:, None] >= np.abs(here)) & (moved > 0)
        if branch.switch.competing:
            near |= branch.taken(slice(2 * len(reach))) != branch.taken(-1)
        found |= near.any(axis=1).reshape(len(reach), 2).any(axis=1)
    return found


def extremes(margin: Any) -> tuple[Any, Any]:
    """The least and the largest margin of each element; NaN where one is.

    Many short lines are reduced as fewer long ones, each of which costs a call.
    """
    count, width = margin.shape
    times = max(LINE // max(width, 1), 1)
    whole = count - count % times
    lines, rest = margin[:whole].reshape(-1, times * width), margin[whole:]
    found = []
    for reduction in (np.minimum, np.maximum):
        parts = [rest]
        if whole:
            parts.append(reduction.reduce(lines, axis=0).reshape(times, width))
        found.append(reduction.reduce(np.concatenate(parts), axis=0))
    return found[0], found[1]


def crossed(branches: Iterable[Branch], neighbours: Sequence[int]) -> Any:
    """For some neighbours, whether a switch takes another branch there than at the point.

    The last neighbour of all is the point itself.
    """
    found = np.zeros(len(neighbours), dtype=bool)
    for branch in branches:
        found |= (branch.taken(neighbours) != branch.taken(-1)).any(axis=1)
    return found


def conventions(
    graph: Structure, hood: Neighbourhood, output: int, rows: Sequence[GraphRow]
) -> list[dict[GraphRow, Any]]:
    """The derivatives by the formulas' rules: with the slopes that the graph declares at its kinks,
    and with the left or right slope at each of them.
    """
    rows = [row for row in dict.fromkeys(rows) if graph.ops[row] in FUNCTIONS]  # others have none
    choices: list[tuple[str, ...]]
    if len(rows) <= MOST_CONVENTIONS:
        choices = list(itertools.product(("left", "right"), repeat=len(rows)))
    else:
        choices = [("left",) * len(rows), ("right",) * len(rows)]
    found = []
    for choice in [(), *choices]:
        other = graph.duplicate()
        other.partials = {}
        for row, side in zip(rows, choice, strict=False):
            other.attributes[row] = {**graph.settings(row), "kink": side}
        found.append(digits.derived(other, hood, output))
    return found
