"""Kinks near a point: which switches change along a coordinate, how far away, and the slopes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..structure.kept import once
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..write.formula import formula_text
from . import digits
from .neighbourhood import Branch, Neighbourhood
from .schemes import EPSILON

LONG_LINE = 1_024  # elements of a line that is worth a call
STRAIGHT = 1e-3  # of a margin: what it may bend by on the way to its kink
MOST_CONVENTIONS = 4  # kinks at once for which every combination of conventions is tried


class Crossing(NamedTuple):
    """A kink on the way along a coordinate."""

    node: GraphRow
    declared: GraphRow
    element: int
    distance: float  # along the coordinate, signed
    share: float  # what the switch is short of its kink, as a part of its largest elements
    lone: bool = False  # whether neither side takes the branch that the point takes

    def told(self, graph: Structure) -> str:
        """The node and its formula, for a sentence."""
        shape = graph.shape(self.declared)
        place = f", element {self.element}" if shape else ""
        formula = once(graph, ("formula", self.node), lambda: formula_text(graph, self.node))
        return f"{graph.names[self.node]} = {formula}{place}"


def crossings(branches: Sequence[Branch], steps: Any) -> list[list[Crossing]]:
    """The switches that take another branch on each stencil than at the point, nearest first.

    `steps` are (stencils, neighbours); the last neighbour of all is the point itself.
    """
    rows = slice(steps.size)
    found: list[list[Crossing]] = [[] for _ in steps]
    order = np.argsort(np.abs(steps[0]), kind="stable")
    for branch in branches:
        switch, margin = branch.switch, np.abs(branch.margin[-1])
        changing = np.arange(margin.size)
        if not switch.competing:  # few elements change their sign
            sides = np.sign(branch.margin[-1])
            lowest, highest = np.sign(extremes(branch.margin[rows]))
            changing = np.flatnonzero((lowest != sides) | (highest != sides))
        taken, margins = branch.taken(np.s_[rows, changing]), branch.margin[rows, changing]
        taken, margins = (part.reshape(*steps.shape, -1) for part in (taken, margins))
        differs = (taken != branch.taken(np.s_[-1, changing])) & np.isfinite(margins)
        stencils, columns = np.nonzero(differs.any(axis=1))
        if not len(stencils):
            continue
        own, elements = differs[stencils, :, columns], changing[columns]
        first = order[own[:, order].argmax(axis=1)]
        here, there = margin[elements], np.abs(margins[stencils, first, columns])
        largest = _largest(margin)
        with np.errstate(all="ignore"):
            share = np.where(here == 0, 0.0, here / (here + there))
            if switch.competing:  # a third may be close behind the new winner: look the other way
                other = (stencils, steps.shape[1] - 1 - first, columns)
                lost = here / (margins[other] - here)
                share = np.where(~differs[other] & (lost > 0), np.minimum(share, lost), share)
            distances = steps[stencils, first] * share
        parts = (elements, distances, here / largest, own.all(axis=1))
        for stencil, *own_parts in zip(
            stencils.tolist(), *map(np.ndarray.tolist, parts), strict=True
        ):
            found[stencil].append(Crossing(switch.node, switch.declared, *own_parts))
    return [sorted(near, key=_nearness) if len(near) > 1 else near for near in found]


def _largest(margin: Any) -> float:
    """The largest margin, which shares are parts of; infinite where there is only one."""
    return float(margin.max()) or 1.0 if margin.size > 1 else np.inf


def _nearness(crossing: Crossing) -> float:
    return abs(crossing.distance)


@dataclass(frozen=True)
class Nearby:
    """What pairs of neighbours, on both sides of the point, tell of kinks."""

    near: Any  # for each pair, whether a switch would change within its reach
    crossed: Any  # for each pair, whether one changes between its neighbours
    # where margins are straight lines: the kinks within reach, the nearest first
    lines: dict[int, list[Crossing]]


def nearby(branches: Sequence[Branch], step: Any, reach: Any, bends: Any) -> Nearby:
    """The kinks within so many steps of each pair.

    The pairs come first; the last neighbour of all is the point itself. bends: for each branch and
    pair, whether its margin may leave the line through the pair.
    """
    count, widest = len(reach), reach.max(initial=0.0)
    found = Nearby(np.zeros(count, bool), np.zeros(count, bool), {})
    crooked: set[int] = set()
    for branch, bending in zip(branches, bends, strict=True):
        competing, every = branch.switch.competing, branch.margin[-1]
        margin, elements, bent = branch.margin[: 2 * count], np.arange(every.size), bending.any()
        with np.errstate(all="ignore"):
            if not (competing or bent):  # few elements come near: the rest needs no closer look
                lowest, highest = extremes(margin)
                farthest = np.maximum(highest - every, every - lowest) * widest
                elements = np.flatnonzero(~(farthest < np.abs(every)))
                if not len(elements):
                    continue
                margin = margin[:, elements]
            moved = np.abs(margin - every[elements])
            moved = np.fmax(moved[0::2], moved[1::2])
            far = moved * reach[:, None]
            if bent:
                size = np.abs(margin[0::2]) + np.abs(margin[1::2])
                bend = np.abs(margin[0::2] + margin[1::2] - 2 * every) - 8 * EPSILON * size
                far = np.fmax(far, far + np.maximum(bend, 0) / 2 * reach[:, None] ** 2)
            near = (far >= np.abs(every[elements])) & (moved > 0)
        if competing:
            taken, own = branch.taken(slice(2 * count)), branch.taken(-1)
            near |= (taken[0::2] != own) | (taken[1::2] != own)
        pairs, columns = np.nonzero(near)
        if not len(pairs):
            continue
        elements = elements[columns]
        found.near[pairs] = True
        for side in (0, 1):
            crossed = branch.taken((2 * pairs + side, elements)) != branch.taken((-1, elements))
            found.crossed[pairs[crossed]] = True
        if competing:  # other elements may win on the way
            crooked.update(pairs.tolist())
            continue
        below, above = margin[2 * pairs, columns], margin[2 * pairs + 1, columns]
        here, largest = every[elements], _largest(np.abs(every))
        with np.errstate(all="ignore"):
            steps = 2 * here / (below - above)
            bend = np.abs(below + above - 2 * here) * steps**2
            straight = (bend <= STRAIGHT * np.abs(here)) & (np.abs(steps) <= reach[pairs])
            straight &= (here != 0) & ~bending[pairs]
            shares = np.abs(here) / largest
        crooked.update(pairs[~straight].tolist())
        parts = (pairs, elements, steps * step[pairs], shares)
        for pair, *own in zip(*(part[straight].tolist() for part in parts), strict=True):
            line = Crossing(branch.switch.node, branch.switch.declared, *own)
            found.lines.setdefault(pair, []).append(line)
    for pair in crooked & found.lines.keys():
        del found.lines[pair]
    for lines in found.lines.values():
        lines.sort(key=_nearness)
    return found


def extremes(margin: Any) -> tuple[Any, Any]:
    """The least and the largest margin of each element; NaN where one is.

    Many short lines are reduced as fewer long ones, each of which costs a call.
    """
    count, width = margin.shape
    times = max(LONG_LINE // max(width, 1), 1)
    whole = count - count % times
    lines, rest = margin[:whole].reshape(whole // times, times * width), margin[whole:]
    found = []
    for reduction in (np.minimum, np.maximum):
        parts = [rest]
        if whole:
            parts.append(reduction.reduce(lines, axis=0).reshape(times, width))
        found.append(reduction.reduce(np.concatenate(parts), axis=0))
    return found[0], found[1]


def crossed(branches: Iterable[Branch], neighbours: Any) -> Any:
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
