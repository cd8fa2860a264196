"""Judging the derivatives of a graph at a point: cheap differences for all, more for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..structure.rows import GraphRow
from . import digits
from .quick import Part, Quick
from .rows import Block, indices
from .settling import Court
from .spots import Spot
from .verdicts import Finding, Row

LARGEST_PART = 1 << 21  # elements of all neighbours of a part
METHODS = ("auto", "central", "ridders", "complex", "digits")


@dataclass
class Judge:
    """Verdicts on derivatives of the outputs of a graph around a point."""

    court: Court
    names: dict[int, str] = field(default_factory=dict)  # of the output elements

    def judge(self, leaves: Iterable[GraphRow], derived: Mapping[GraphRow, Any]) -> list[Block]:
        """A row for each element of the leaves and each output element; derived: (outputs, n)."""
        hood = self.court.hood
        if not len(self.court.base):
            return []
        blocks: list[Block] = []
        for group in hood.groups(leaf for leaf in leaves if hood.point[leaf].size):
            scale = scales(group.x, [begin for begin, _ in group.spans])
            claimed = np.concatenate([derived[leaf] for leaf in group.leaves], axis=1)
            usual = _usual(claimed, scale, group.spans)
            chunk = max(1, LARGEST_PART // (2 * scale.size))
            for start in range(0, scale.size, chunk):
                here = slice(start, min(start + chunk, scale.size))
                places = np.arange(here.start, here.stop)
                blocks += self._blocks(
                    Part(group, places, scale[here], claimed[:, here], usual[:, here])
                )
        return blocks

    def single(self, leaf: GraphRow, derived: Any, place: int) -> Row:
        """The row of one element of a leaf."""
        group = self.court.hood.group(leaf)
        places = np.array([place])
        scale = scales(group.x)[places]
        usual = np.abs(derived[:, places])
        (block,) = self._blocks(Part(group, places, scale, derived[:, places], usual))
        return next(iter(block))

    def _blocks(self, part: Part) -> list[Block]:
        """The rows of some elements: by leaf, then by output."""
        quick = Quick(self.court, part)
        doubtful = not quick.settled.all()
        blocks: list[Block] = []
        spots: list[tuple[dict[int, Finding], int, Spot]] = []  # those that need a closer look
        for run, told in zip(part.runs, quick.told, strict=True):
            leaf, first, begin, end = run.leaf, run.first, run.begin, run.end
            name, shape = self.court.graph.names[leaf], self.court.hood.point[leaf].shape
            for output in range(len(part.claimed)):
                here, findings = (output, slice(begin, end)), dict[int, Finding]()
                numbers = part.claimed[here], quick.measured[here], quick.bounds[here]
                of = self.names.get(output, "")
                blocks.append(Block(name, shape, first, *numbers, told, of, findings))
                for k in np.flatnonzero(~quick.settled[here]).tolist() if doubtful else ():
                    place = begin + k
                    finding = quick.beside.get((output, place))
                    if finding is not None:
                        findings[k] = finding
                        continue
                    position = indices(shape, first, first + end - begin)[k]
                    claim = float(part.claimed[output, place])
                    spot = Spot(
                        *(part.group, leaf, first + k, tuple(position), output, claim),
                        *(float(part.scale[place]), float(part.usual[output, place])),
                        bool(quick.even[output, place]),
                        quick.crossings.get(place),
                    )
                    spots.append((findings, k, spot))
        settled = self.court.settled([spot for *_, spot in spots])
        for (findings, k, _), finding in zip(spots, settled, strict=True):
            findings[k] = finding
        return blocks

    def curve(self, row: Row) -> list[tuple[float, float]]:
        """[(step, error)] of central differences for the derivative of a row: the V-curve."""
        court = self.court
        leaf, position = court.graph.row(row.name), tuple(row.index or ())
        output = next((k for k, name in self.names.items() if name == row.of), 0)
        x = court.hood.point[leaf]
        scale = abs(float(x[position])) or 1.0
        place = int(np.ravel_multi_index(position, x.shape)) if position else 0
        spot = Spot(court.hood.group(leaf), leaf, place, position, output, row.derived, scale)
        found = digits.slope(court.hood, leaf, position, output, scale, lambda slope: abs(slope))
        true = row.measured if found is None else found[0]
        steps = scale * 10.0 ** np.arange(-15, 0, 0.25)
        with np.errstate(all="ignore"):
            ahead, behind = (court.floats.along(spot, side) for side in (steps, -steps))
            slopes = (ahead - behind) / (2 * steps)
            errors = np.abs(slopes - true)
        return [(float(h), float(e)) for h, e in zip(steps, errors, strict=True) if np.isfinite(e)]


def scales(x: Any, begins: Sequence[int] = (0,)) -> Any:
    """The size of each element, at least what is usual for its array; 1 where all are 0.

    Several arrays, one after the other, begin at different places; none is empty.
    """
    counts = np.diff([*begins, x.size])
    with np.errstate(all="ignore"):
        sizes = np.abs(x)
        largest = np.maximum.reduceat(sizes, begins)
        part = sizes / largest.repeat(counts)  # squares of 1e200 overflow
        usual = largest * np.sqrt(np.add.reduceat(part * part, begins) / counts)
    found = np.maximum(sizes, usual.repeat(counts))  # nan where all are 0, or one is infinite
    if np.isfinite(found).all():
        return found
    own = np.where(np.isfinite(sizes) & (sizes > 0), sizes, 1.0)
    return np.where(np.isfinite(found), found, own)


def _usual(claimed: Any, scale: Any, spans: Sequence[tuple[int, int]]) -> Any:
    """(outputs, elements): the largest derivative by an element of its leaf, in units of each."""
    with np.errstate(all="ignore"):
        moves = np.abs(claimed) * scale
        moves[~np.isfinite(moves)] = 0.0
        largest = np.maximum.reduceat(moves, [begin for begin, _ in spans], axis=1)
        return np.repeat(largest, [end - begin for begin, end in spans], axis=1) / scale
