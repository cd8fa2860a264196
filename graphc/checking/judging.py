"""Judging the derivatives of a graph at a point: cheap differences for all, more for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import repeat
from typing import Any

import numpy as np

from ..structure.rows import GraphRow
from . import digits, kinks
from .neighbourhood import Group
from .schemes import EPSILON, SHORT_STEP, STENCIL, STEP, five_point, three_point
from .settling import CHEAP, COARSE, Court, unmoved
from .spots import WIDEST, Spot
from .verdicts import CORRECT, Index, Row

LARGEST_PART = 1 << 21  # elements of all neighbours of a part
NARROW = 1e-3  # of the step: what is narrower than the step is looked for with it
METHODS = ("auto", "central", "ridders", "complex", "digits")
AGREE = {
    "central": "central differences agree",
    "complex": "complex step agrees",
    "auto": "central differences and complex step agree",
}


@dataclass(frozen=True)
class Part:
    """Some elements of a group of leaves, and the derivatives by them."""

    group: Group
    places: Any  # in the group, in order
    scale: Any  # of each place
    claimed: Any  # (outputs, places)
    usual: Any  # (outputs, places): the largest derivative of the leaf, in units of each

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where the places of each leaf begin and end among those of the part."""
        return [tuple(np.searchsorted(self.places, ends).tolist()) for ends in self.group.spans]

    def of_leaves(self, values: Any) -> Any:
        """Values of each leaf (..., leaves), one for each place."""
        return np.repeat(values, [end - begin for begin, end in self.spans], axis=-1)


@dataclass(frozen=True)
class Quick:
    """What cheap differences found: arrays (outputs, places)."""

    measured: Any
    bounds: Any  # what would pass
    settled: Any  # as correct
    even: Any  # whether nothing narrower than the steps showed
    told: list[str]  # the evidence, for each leaf
    crossings: dict[int, list[kinks.Crossing]]  # by place, where a kink was looked for


@dataclass
class Judge:
    """Verdicts on derivatives of the outputs of a graph around a point."""

    court: Court
    names: dict[int, str] = field(default_factory=dict)  # of the output elements

    def judge(self, leaves: Iterable[GraphRow], derived: Mapping[GraphRow, Any]) -> list[Row]:
        """A row for each element of the leaves and each output element; derived: (outputs, n)."""
        hood = self.court.hood
        if not len(self.court.base):
            return []
        rows: list[Row] = []
        for group in hood.groups(leaf for leaf in leaves if hood.point[leaf].size):
            scale = np.concatenate([scales(group.x[begin:end]) for begin, end in group.spans])
            claimed = np.concatenate([derived[leaf] for leaf in group.leaves], axis=1)
            usual = _usual(claimed, scale, group.spans)
            chunk = max(1, LARGEST_PART // (2 * scale.size))
            for start in range(0, scale.size, chunk):
                places = np.arange(start, min(start + chunk, scale.size))
                rows += self._rows(
                    Part(group, places, scale[places], claimed[:, places], usual[:, places])
                )
        return rows

    def single(self, leaf: GraphRow, derived: Any, place: int) -> Row:
        """The row of one element of a leaf."""
        group = self.court.hood.group(leaf)
        places = np.array([place])
        scale = scales(group.x)[places]
        usual = np.abs(derived[:, places])
        return self._rows(Part(group, places, scale, derived[:, places], usual))[0]

    def _rows(self, part: Part) -> list[Row]:
        """The rows of some elements."""
        quick = self._quick(part)
        rows: list[Row] = []
        spots: list[Spot] = []
        doubtful: list[int] = []  # the rows that need a closer look
        for number, (leaf, (begin, end)) in enumerate(
            zip(part.group.leaves, part.spans, strict=True)
        ):
            if begin == end:
                continue
            name, shape = self.court.graph.names[leaf], self.court.hood.point[leaf].shape
            first = int(part.places[begin]) - part.group.spans[number][0]
            found = indices(shape, first, first + end - begin)
            for output in range(len(part.claimed)):
                here = (output, slice(begin, end))
                known = (part.claimed, quick.measured, quick.bounds)
                claims, measured, bounds = (array[here].tolist() for array in known)
                for k in np.flatnonzero(~quick.settled[here]).tolist():
                    doubtful.append(len(rows) + k)
                    spots.append(
                        Spot(
                            *(part.group, leaf, first + k, tuple(found[k]), output, claims[k]),
                            float(part.scale[begin + k]),
                            float(part.usual[output, begin + k]),
                            bool(quick.even[output, begin + k]),
                            quick.crossings.get(begin + k),
                        )
                    )
                of, told = self.names.get(output, ""), quick.told[number]
                same = map(repeat, (CORRECT, told, of, "", 0))
                columns = zip(repeat(name), found, claims, measured, *same, bounds, strict=False)
                rows += map(Row._make, columns)
        for place, finding in zip(doubtful, self.court.settled(spots), strict=True):
            rows[place] = rows[place]._replace(**vars(finding))
        return rows

    def _quick(self, part: Part) -> Quick:
        """What three points, five points and a complex step find, each for what is left."""
        court, method = self.court, self.court.method
        finite = np.isfinite(part.claimed) & np.isfinite(court.base)[:, None]
        slack = court.tolerance * np.abs(part.claimed)
        measured, settled = np.full(part.claimed.shape, np.nan), np.zeros(finite.shape, bool)
        doubtful, bounds = finite & (method == "complex"), slack
        even, told = np.ones(finite.shape, bool), [AGREE["central"]] * len(part.spans)
        apart, places = np.ones(len(part.places), bool), np.arange(0)
        crossings: dict[int, list[kinks.Crossing]] = {}
        if method in ("auto", "central"):
            measured, error, settled, close, apart, even = self._central(part, finite, slack)
            bounds = slack + 4 * error
            doubtful = close & ~settled & (slack > 0)
            places = np.flatnonzero((doubtful & even).any(axis=0) | ~apart)
        if method == "auto" and len(places):
            slopes, error, crossings = self._wide(part, places, apart[places])
            smooth = np.array([not crossings.get(place) for place in places.tolist()])
            with np.errstate(all="ignore"):
                allowed = slack[:, places]
                gap = np.abs(part.claimed[:, places] - slopes)
                more = (doubtful & even)[:, places] & smooth
                more &= (gap <= allowed + 3 * error) & (error <= COARSE * allowed)
            measured[:, places] = np.where(more, slopes, measured[:, places])
            bounds[:, places] = np.where(more, allowed + 4 * error, bounds[:, places])
            settled[:, places] |= more
        doubtful = doubtful & ~settled & apart
        analytic = self._analytic(part, doubtful)
        if any(analytic):
            told = [AGREE[method] if each else AGREE["central"] for each in analytic]
            exact = self._complex(part, part.of_leaves(analytic) & doubtful.any(axis=0))
            with np.errstate(all="ignore"):
                more = doubtful & (slack > 0) & (np.abs(part.claimed - exact) <= slack)
            measured, settled = np.where(more, exact, measured), settled | more
            bounds = np.where(more, slack, bounds)
        return Quick(measured, bounds, settled, even, told, crossings)

    def _analytic(self, part: Part, doubtful: Any) -> list[bool]:
        """For each leaf, whether a complex step can tell more of what is doubtful."""
        if self.court.method not in ("auto", "complex"):
            return [False] * len(part.spans)
        asked = doubtful.any(axis=0)
        return [
            bool(asked[begin:end].any()) and self.court.hood.traits(leaf).analytic
            for leaf, (begin, end) in zip(part.group.leaves, part.spans, strict=True)
        ]

    def _wide(
        self, part: Part, places: Any, apart: Any
    ) -> tuple[Any, Any, dict[int, list[kinks.Crossing]]]:
        """(slopes, errors) by five points at some places, and the kinks between them.

        A longer step loses fewer digits; it is as long as kinks are looked for, if the scale of the
        place allows that. Where it does not, nobody has looked.
        """
        hood, scale = self.court.hood, part.scale[places]
        reach = STEP * np.maximum(scale, 1.0)
        looked = reach <= WIDEST * scale
        step = np.where(looked, reach, STEP * scale)
        steps, moved = np.outer(step, STENCIL), np.repeat(part.places[places], len(STENCIL))
        sample = hood.sample(part.group, moved, steps.ravel(), part.group.x[None, :])
        found = kinks.crossings(sample.branches, steps)
        crossings = {k: found[n] for n, k in enumerate(places.tolist()) if looked[n]}
        with np.errstate(all="ignore"):
            values = sample.values[:-1].T.reshape(len(part.claimed), *steps.shape)
            slopes, errors = five_point(values, step, self.court.base[:, None])
            return slopes, np.where(looked | apart, errors, np.inf), crossings

    def _central(self, part: Part, finite: Any, slack: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Slopes by three points, their errors, what they settle, what is close, apart, even.

        Agreement is evidence: a slope that is off because the step is too wide agrees with no
        derivative. What does not agree, or has a kink within the reach of five points, gets a
        closer look.
        """
        court, count = self.court, len(part.places)
        here = part.group.x[part.places]
        step = (here + SHORT_STEP * part.scale) - here  # what is really added
        pairs, steps = np.repeat(part.places, 2), np.outer(step, (-1.0, 1.0)).ravel()
        narrow = self._narrow(part, step)  # and the point itself
        sample = court.hood.sample(part.group, pairs, steps, narrow)
        values = sample.values[: 2 * count].T.reshape(len(part.claimed), count, 2)
        base = sample.values[-1][:, None]
        with np.errstate(all="ignore"):
            measured, error = three_point(values, step, base)
            gap = np.abs(part.claimed - measured)
            # of a graph too large for many digits, small derivatives are held to the larger ones
            least = 0.0 if court.digital else court.tolerance * 0.1 * part.usual
            fine = error <= COARSE * np.maximum(slack, least)
            if court.digital:  # a value that does not move may only be too coarse to
                fine = np.where(part.claimed == 0, self._is_still(part, values, base, error), fine)
            close = finite & (gap <= slack + 3 * error)
            reach = 2 * STEP * np.maximum(part.scale, 1.0) / step
        apart = ~kinks.within_reach(sample.branches, reach)
        crossed = kinks.crossed(sample.branches, range(2 * count, 2 * count + len(part.spans)))
        even = self._is_even(part, narrow, sample.values[2 * count : -1].T, base, crossed)
        return measured, error, close & fine & even & apart, close, apart, even

    def _is_still(self, part: Part, values: Any, base: Any, error: Any) -> Any:
        """Where nothing moves, the rules say 0 too, and no derivative that counts could hide."""
        moved = np.abs(values - base[..., None]).max(axis=2)
        # a sum may be rounded otherwise in another place of an array
        still = (part.claimed == 0) & (moved <= 2 * EPSILON * np.abs(base))
        if not still.any() or self.court.cost <= CHEAP:  # many digits tell more
            return np.zeros_like(still)
        usual = np.maximum(part.usual, np.abs(base) / part.scale)
        still &= 3 * error <= self.court.tolerance * usual
        return unmoved(self.court, part.group, part.places, still)

    def _narrow(self, part: Part, step: Any) -> Any:
        """For each leaf a neighbour, all its places moved by far less than a step; the point."""
        found = np.tile(part.group.x, (len(part.spans) + 1, 1))
        for neighbour, (begin, end) in zip(found, part.spans, strict=False):
            signs = np.where(np.arange(end - begin) % 2, -1.0, 1.0)
            neighbour[part.places[begin:end]] += NARROW * step[begin:end] * signs
        return found

    def _is_even(self, part: Part, narrow: Any, values: Any, base: Any, crossed: Any) -> Any:
        """For each output and place, whether the claims of a leaf add up to its narrow change.

        What is narrower than the step shows in it. A kink would look like a narrow feature, and is
        known by name: such a leaf is `crossed`. values: (outputs, leaves).
        """
        found, base = np.ones((len(base), len(part.spans)), bool), base[:, 0]
        with np.errstate(all="ignore"):
            for number, (begin, end) in enumerate(part.spans):
                places = part.places[begin:end]
                if not crossed[number]:
                    change = narrow[number, places] - part.group.x[places]
                    moves = part.claimed[:, begin:end] * change
                    room = 1e-3 * np.sqrt((moves**2).sum(axis=1)) + 64 * EPSILON * np.abs(base)
                    gap = np.abs(moves.sum(axis=1) - (values[:, number] - base))
                    found[:, number] = gap <= room
        return part.of_leaves(found)

    def _complex(self, part: Part, chosen: Any) -> Any:
        """Slopes by a step in the imaginary direction: no difference, so no cancellation.

        NaN where none was taken.
        """
        hood, step = self.court.hood, 1e-100
        found = np.full(part.claimed.shape, np.nan)
        group = hood.group(*(leaf for leaf in part.group.leaves if hood.traits(leaf).analytic))
        starts = dict(zip(group.leaves, group.spans, strict=True))
        shift = [
            starts[leaf][0] - begin if leaf in starts else 0
            for leaf, (begin, _) in zip(part.group.leaves, part.group.spans, strict=True)
        ]
        places = (part.places + part.of_leaves(shift))[chosen]
        scale = part.scale[chosen]
        values = hood.sample(group, places, 1j * step * scale, told=False).values
        with np.errstate(all="ignore"):
            found[:, chosen] = values.imag.T / scale / step
        return found

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


def scales(x: Any) -> Any:
    """The size of each element, at least what is usual for its array; 1 where all are 0."""
    sizes = np.abs(x)
    largest = float(sizes.max(initial=0.0))
    if largest == 0 or not np.isfinite(largest):
        return np.where(np.isfinite(sizes) & (sizes > 0), sizes, 1.0)
    part = sizes / largest  # squares of 1e200 overflow
    return np.maximum(sizes, largest * float(np.sqrt(part @ part / x.size)))


def _usual(claimed: Any, scale: Any, spans: Sequence[tuple[int, int]]) -> Any:
    """(outputs, elements): the largest derivative by an element of its leaf, in units of each."""
    with np.errstate(all="ignore"):
        moves = np.abs(claimed) * scale
        moves[~np.isfinite(moves)] = 0.0
        largest = np.maximum.reduceat(moves, [begin for begin, _ in spans], axis=1)
        return np.repeat(largest, [end - begin for begin, end in spans], axis=1) / scale


@lru_cache(maxsize=64)
def indices(shape: tuple[int, ...], begin: int, end: int) -> tuple[Index, ...]:
    """The indices of elements of an array, in order."""
    if not shape:
        return (Index(),)
    axes = np.unravel_index(np.arange(begin, end), shape)
    return tuple(map(Index, zip(*(axis.tolist() for axis in axes), strict=True)))
