"""Kinks near a point: which switches change along a coordinate, how far away, and the slopes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..write.formula import formula_text
from . import digits
from .neighbourhood import Branch, Neighbourhood

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
        return f"{graph.names[self.node]} = {formula_text(graph, self.node)}{place}"


def crossings(branches: Sequence[Branch], rows: slice, steps: Any) -> list[Crossing]:
    """The switches that take another branch on a stencil than at the point, nearest first.

    `rows` are the neighbours of the stencil; the last neighbour of all is the point itself.
    """
    found: dict[tuple[GraphRow, int], Crossing] = {}
    order = np.argsort(np.abs(steps), kind="stable")
    for branch in branches:
        here, margin = branch.taken[-1], np.abs(branch.margin[-1])
        differs = (branch.taken[rows] != here) & np.isfinite(branch.margin[rows])
        for element in np.flatnonzero(differs.any(axis=0)):
            first = next(k for k in order if differs[k, element])
            there = abs(branch.margin[rows][first, element])
            share = margin[element] / (margin[element] + there) if margin[element] else 0.0
            key = (branch.switch.declared, int(element))
            node = branch.switch.node
            largest = margin.max() if margin.size > 1 else np.inf
            short = float(margin[element] / largest) if largest else 0.0
            lone = bool(differs[:, element].all())
            found[key] = Crossing(node, *key, float(steps[first] * share), short, lone)
    return sorted(found.values(), key=lambda crossing: abs(crossing.distance))


def within_reach(branches: Iterable[Branch], reach: Any) -> Any:
    """For each pair of neighbours, whether a switch would change within so many of its steps."""
    found = np.zeros(len(reach), dtype=bool)
    for branch in branches:
        margin, here = branch.margin, branch.margin[-1]
        with np.errstate(all="ignore"):
            farthest = np.maximum(margin.max(axis=0) - here, here - margin.min(axis=0))
            if not branch.switch.competing:  # few elements come near: the rest needs no closer look
                close = np.flatnonzero(~(farthest * reach.max(initial=0.0) < np.abs(here)))
                margin, here = margin[:, close], here[close]
            moved = np.abs(margin[:-1] - here)
            near = (moved * np.repeat(reach, 2)[:, None] >= np.abs(here)) & (moved > 0)
        if branch.switch.competing:
            near |= branch.taken[:-1] != branch.taken[-1]
        found |= near.any(axis=1).reshape(len(reach), 2).any(axis=1)
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
