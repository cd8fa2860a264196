"""Cheap differences for many derivatives at once; what they leave in doubt gets a closer look.

Agreement is evidence: a slope that is off because the step is too wide agrees with no derivative.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..structure.rows import GraphRow
from . import kinks
from .neighbourhood import Group, Sample
from .schemes import EPSILON, PAIR, SHORT_STEP, STENCIL, STEP, five_point, three_point
from .settling import CHEAP, COARSE, Court, unmoved
from .spots import WIDEST
from .verdicts import CORRECT, Finding

NARROW = 1e-3  # of the step: what is narrower than the step is looked for with it
SPARE = 1 / 8  # of what is allowed: an error of rounding that costs nothing
SHORTEST, LONGEST = 1 / 8, 2 * STEP / SHORT_STEP  # of a usual step; no farther than five points
IMAGINARY = 1e-100  # of the scale: the step of a complex difference
AGREE = {
    "central": "central differences agree",
    "complex": "complex step agrees",
    "auto": "central differences and complex step agree",
}


class Run(NamedTuple):
    """The places of one leaf among those of a part."""

    leaf: GraphRow
    start: int  # of the leaf in its group
    first: int  # the first place, in the leaf
    begin: int  # in the part
    end: int


@dataclass(frozen=True)
class Part:
    """Some elements of a group of leaves, and the derivatives by them."""

    group: Group
    places: Any  # in the group, in order
    scale: Any  # of each place
    claimed: Any  # (outputs, places)
    usual: Any  # (outputs, places): the largest derivative of the leaf, in units of each

    @cached_property
    def runs(self) -> list[Run]:
        """The leaves that have places here, in order."""
        group = self.group
        ends = np.searchsorted(self.places, [end for _, end in group.spans]).tolist()
        found = zip(group.leaves, group.spans, [0, *ends], ends, strict=False)
        return [
            Run(leaf, start, int(self.places[begin]) - start, begin, end)
            for leaf, (start, _), begin, end in found
            if begin < end
        ]

    @cached_property
    def begins(self) -> list[int]:
        """Where the places of each run begin."""
        return [run.begin for run in self.runs]

    def spread(self, values: Any) -> Any:
        """Values (..., runs), one for each place."""
        return np.repeat(values, [run.end - run.begin for run in self.runs], axis=-1)

    @cached_property
    def numbers(self) -> Any:
        """For each place, the number of its run."""
        return self.spread(np.arange(len(self.runs)))


class Quick:
    """What three points, five points and a complex step find, each for what is left.

    Arrays are (outputs, places); what a difference settles is correct.
    """

    def __init__(self, court: Court, part: Part) -> None:
        self.court, self.part, shape = court, part, part.claimed.shape
        self.finite = np.isfinite(part.claimed) & np.isfinite(court.base)[:, None]
        self.slack = court.tolerance * np.abs(part.claimed)
        self.measured, self.bounds = np.full(shape, np.nan), self.slack.copy()  # what would pass
        self.settled, self.doubtful = np.zeros(shape, bool), self.finite
        self.even = np.ones(shape, bool)  # whether nothing narrower than the steps showed
        self.short = np.zeros(shape, bool)  # whether three points agree, just short of a kink
        self.told = [AGREE["central"]] * len(part.runs)  # the evidence, for each run
        self.apart = np.ones(shape[1], bool)  # whether no kink is within the reach of five points
        # by place, where kinks are known
        self.crossings: dict[int, list[kinks.Crossing]] = {}
        if court.method in ("auto", "central"):
            self._central()
        if court.method in ("auto", "complex"):
            self._complex()

    @cached_property
    def _least(self) -> Any:
        """The error of a difference that is allowed."""
        with np.errstate(all="ignore"):
            if self.court.digital:
                return COARSE * self.slack
            # of a graph too large for many digits, small derivatives are held to the larger ones
            usual = self.court.tolerance * 0.1 * self.part.usual
            return COARSE * np.maximum(self.slack, usual)

    @cached_property
    def _times(self) -> Any:
        """How much longer than usual the step of three points is at each place.

        As long as it takes for rounding to leave what is claimed; it was not too long if the slope
        agrees. Shorter where that costs nothing, since fewer kinks are on the way.
        """
        with np.errstate(all="ignore"):
            usual = SHORT_STEP * self.part.scale
            rounding = EPSILON * np.abs(self.court.base)[:, None] / usual
            shorter = np.minimum(rounding / (SPARE * self.slack), 1.0)
            wanted = np.maximum(shorter, 1.05 * rounding / self._least)
            wanted = np.where(self.finite & (self.slack > 0), wanted, 1.0)
        least, most = wanted.min(axis=0), wanted.max(axis=0)  # of all outputs
        times = np.maximum(least, np.minimum(most, 1.0))
        return np.minimum(np.maximum(times, SHORTEST), LONGEST)

    @cached_property
    def step(self) -> Any:
        """That of three points at each place: what is really added."""
        here = self.part.group.x[self.part.places]
        return (here + SHORT_STEP * self._times * self.part.scale) - here

    def _central(self) -> None:
        """Three points everywhere, and five where those leave a doubt."""
        part, long = self.part, self._long
        places = np.concatenate([part.places.repeat(2), part.places[long]])
        steps = np.multiply.outer(self.step, PAIR).ravel(), 2 * self.step[long]
        self._three(
            self.court.hood.sample(part.group, places, np.concatenate(steps), self._narrow())
        )
        asked = (self.doubtful & self.even).any(axis=0) | ~self.apart
        asked[list(self.crossings)] = False
        if self.court.method == "auto" and asked.any():
            self._five(np.flatnonzero(asked))

    @cached_property
    def _long(self) -> Any:
        """The places with a longer step: a fourth neighbour tells whether it is too long."""
        return np.flatnonzero(self._times > 1)

    @cached_property
    def _bends(self) -> Any:
        """(switches, runs): whether a margin may leave the line through a pair of neighbours."""
        batch = self.court.hood.batch(self.part.group.leaves)
        still = [False] * len(batch.switches)  # of a leaf that nothing needs
        return np.array([batch.bends.get(run.leaf, still) for run in self.part.runs], bool).T

    def _truncation(self, sample: Sample, values: Any, base: Any, error: Any) -> Any:
        """(outputs, long): what a longer step misses of the slope, as far as rounding lets see.

        A third difference, of the values at -h, 0, h and 2h, tells the third derivative.
        """
        long, count = self._long, 2 * len(self.part.places)
        beyond = sample.values[count : count + len(long)].T
        below, above = values[:, long, 0], values[:, long, 1]
        missed = np.abs(beyond - 3 * above + 3 * base - below) / (6 * self.step[long])
        return np.maximum(missed - 1.5 * error[:, long], 0.0)

    def _three(self, sample: Sample) -> None:
        """Slopes by three points, and what they settle."""
        part, count, step = self.part, len(self.part.places), self.step
        values = sample.values[: 2 * count].T.reshape(len(part.claimed), count, 2)
        base = sample.values[-1][:, None]
        with np.errstate(all="ignore"):
            self.measured, error = three_point(values, step, base)
            error[:, self._long] += self._truncation(sample, values, base, error)
            close = self.finite & (np.abs(part.claimed - self.measured) <= self.slack + 3 * error)
            fine = error <= self._least
            if self.court.digital:  # a value that does not move may only be too coarse to
                fine = np.where(part.claimed == 0, self._is_still(values, base, error), fine)
            reach = 2 * STEP * np.maximum(part.scale, 1.0) / step
        narrow = np.arange(2 * count + len(self._long), len(sample.values) - 1)
        crossed = kinks.crossed(sample.branches, narrow)
        self.even = self._is_even(sample.values[narrow].T, base, crossed)
        self.bounds = self.slack + 4 * error
        nearby = kinks.nearby(sample.branches, step, reach, self._bends[:, part.numbers])
        self.apart, self.crossings = ~nearby.near, nearby.lines
        self.settled = close & fine & self.even & self.apart
        self.doubtful = close & ~self.settled & (self.slack > 0)
        fine |= error <= self.court.nearly * np.abs(part.claimed)
        self.short = close & fine & self.even & nearby.near & ~nearby.crossed

    @cached_property
    def beside(self) -> dict[tuple[int, int], Finding]:
        """By output and place: what three points found just short of a kink."""
        found, where = {}, np.nonzero(self.short & ~self.settled)
        columns = (*where, self.part.scale[where[1]], self.step[where[1]])
        numbers = (*columns, self.measured[where], self.bounds[where])
        for output, place, scale, step, measured, bound in zip(
            *map(np.ndarray.tolist, numbers), strict=True
        ):
            near = self.crossings.get(place)
            if near and not self.court.on(scale, near):
                how = f"central differences within {step:.0e} agree"
                finding = Finding(measured, CORRECT, how, bound=bound)
                found[output, place] = self.court.beside(near, finding)
        return found

    @cached_property
    def _looks(self) -> Any:
        """Whether five points at a place stand as wide as kinks are looked for."""
        return STEP * np.maximum(self.part.scale, 1.0) <= WIDEST * self.part.scale

    @cached_property
    def _wide(self) -> Any:
        """The step of five points at each place.

        A longer step loses fewer digits; it is as long as kinks are looked for, if the scale of the
        place allows that. Where it does not, nobody has looked.
        """
        scale = self.part.scale
        return STEP * np.where(self._looks, np.maximum(scale, 1.0), scale)

    def _five(self, places: Any) -> None:
        """Slopes by five points at some places, the kinks between them, and what they settle."""
        part, claimed, looked = self.part, self.part.claimed[:, places], self._looks[places]
        steps = np.multiply.outer(self._wide[places], STENCIL)
        moved = np.repeat(part.places[places], len(STENCIL))
        sample = self.court.hood.sample(part.group, moved, steps.ravel(), part.group.x[None, :])
        crossings = kinks.crossings(sample.branches, steps)
        smooth = np.array([not near for near in crossings], bool) | ~looked
        numbered = zip(places.tolist(), crossings, looked.tolist(), strict=True)
        self.crossings.update((place, near) for place, near, seen in numbered if seen)
        values = sample.values[:-1].T.reshape(len(claimed), *steps.shape)
        with np.errstate(all="ignore"):
            slopes, error = five_point(values, self._wide[places], self.court.base[:, None])
            allowed = self.slack[:, places]
            more = (self.doubtful & self.even)[:, places] & smooth & (looked | self.apart[places])
            more &= (np.abs(claimed - slopes) <= allowed + 3 * error) & (error <= COARSE * allowed)
            self._settle(places, more, slopes, allowed + 4 * error)

    def _settle(self, places: Any, which: Any, slopes: Any, bounds: Any) -> None:
        """Takes some of the slopes at some places for the truth."""
        self.measured[:, places] = np.where(which, slopes, self.measured[:, places])
        self.bounds[:, places] = np.where(which, bounds, self.bounds[:, places])
        self.settled[:, places] |= which

    def _is_still(self, values: Any, base: Any, error: Any) -> Any:
        """Where nothing moves, the rules say 0 too, and no derivative that counts could hide."""
        court, part = self.court, self.part
        still = part.claimed == 0
        if not still.any() or court.cost <= CHEAP:  # many digits tell more
            return np.zeros_like(still)
        moved = np.maximum(np.abs(values[..., 0] - base), np.abs(values[..., 1] - base))
        still &= moved <= 2 * EPSILON * np.abs(base)  # a sum may be rounded otherwise elsewhere
        usual = np.maximum(part.usual, np.abs(base) / part.scale)
        still &= 3 * error <= court.tolerance * usual
        return unmoved(court, part.group, part.places, still)

    @cached_property
    def _changes(self) -> Any:
        """(2, places): far shorter than a step; of all places, and of those with a longer step.

        The small claims of these would not be seen among the others.
        """
        here = self.part.group.x[self.part.places]
        move = NARROW * SHORT_STEP * self.part.scale
        move[1::2] *= -1  # claims of one sign must not add up
        change = (here + move) - here
        longer = np.zeros_like(change)
        longer[self._long] = change[self._long]
        return np.array([change, longer])

    def _narrow(self) -> Any:
        """For each run its changes, all places at once, twice; then the point."""
        part, count = self.part, len(self.part.runs)
        found = np.empty((2 * count + 1, part.group.x.size))
        found[:] = part.group.x
        for begin, change in zip((0, count), self._changes, strict=True):
            found[begin + part.numbers, part.places] += change
        return found

    def _is_even(self, values: Any, base: Any, crossed: Any) -> Any:
        """For each output and place, whether the claims of a run add up to its narrow changes.

        What is narrower than the step shows in it. A kink would look like a narrow feature, and is
        known by name: such a neighbour is `crossed`. values: (outputs, neighbours).
        """
        part, shape = self.part, (len(base), 2, len(self.part.runs))
        with np.errstate(all="ignore"):
            moves = part.claimed[:, None] * self._changes
            total, squares = (
                np.add.reduceat(each, part.begins, axis=2) for each in (moves, moves**2)
            )
            room = 1e-3 * np.sqrt(squares) + 64 * EPSILON * np.abs(base)[..., None]
            even = np.abs(total - (values - base).reshape(shape)) <= room
        return part.spread((even | crossed.reshape(shape[1:])).all(axis=1))

    def _complex(self) -> None:
        """A step in the imaginary direction, where it can tell more: nothing cancels."""
        court, part = self.court, self.part
        doubtful = self.doubtful & ~self.settled & self.apart
        asked = np.logical_or.reduceat(doubtful.any(axis=0), part.begins).tolist()
        analytic = [
            some and court.hood.traits(run.leaf).analytic
            for some, run in zip(asked, part.runs, strict=True)
        ]
        if not any(analytic):
            return
        self.told = [AGREE[court.method] if each else AGREE["central"] for each in analytic]
        chosen = np.flatnonzero(part.spread(analytic) & doubtful.any(axis=0))
        group = court.hood.group(
            *(leaf for leaf in part.group.leaves if court.hood.traits(leaf).analytic)
        )
        starts = dict(zip(group.leaves, group.spans, strict=True))
        shift = [starts[run.leaf][0] - run.start if run.leaf in starts else 0 for run in part.runs]
        places, scale = (part.places + part.spread(shift))[chosen], part.scale[chosen]
        values = court.hood.sample(group, places, 1j * IMAGINARY * scale, told=False).values
        with np.errstate(all="ignore"):
            slopes, slack = values.imag.T / scale / IMAGINARY, self.slack[:, chosen]
            more = doubtful[:, chosen] & (slack > 0)
            more &= np.abs(part.claimed[:, chosen] - slopes) <= slack
            self._settle(chosen, more, slopes, slack)
