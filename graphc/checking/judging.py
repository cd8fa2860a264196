"""Judging the derivatives of a graph at a point: cheap differences for all, more for the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..structure.rows import GraphRow
from . import digits, kinks
from .neighbourhood import LARGEST_BATCH
from .schemes import EPSILON, SHORT_STEP, STENCIL, STEP, five_point, three_point
from .settling import CHEAP, COARSE, Court, Spot
from .verdicts import CORRECT, Finding, Index, Row

TOGETHER = 64  # doubtful elements whose neighbours are one evaluation
NARROW = 1e-3  # of the step: what is narrower than the step is looked for with it
METHODS = ("auto", "central", "ridders", "complex", "digits")
AGREE = {
    "central": "central differences agree",
    "complex": "complex step agrees",
    "auto": "central differences and complex step agree",
}


@dataclass(frozen=True)
class Part:
    """Some elements of a leaf, and the derivatives by them."""

    leaf: GraphRow
    x: Any  # the whole leaf, flat
    places: Any
    scale: Any  # of each place
    claimed: Any  # (outputs, places)
    usual: Any  # (outputs, places): the largest derivative of the leaf, in units of each


@dataclass
class Judge:
    """Verdicts on derivatives of the outputs of a graph around a point."""

    court: Court
    names: dict[int, str] = field(default_factory=dict)  # of the output elements

    def judge(self, leaf: GraphRow, derived: Any) -> list[Row]:
        """A row for each output element and each element of the leaf; derived: (outputs, n)."""
        x = self.court.hood.point[leaf].ravel()
        if not x.size or not len(self.court.base):
            return []
        scale = scales(x)
        with np.errstate(all="ignore"):
            moves = np.nan_to_num(np.abs(derived) * scale, posinf=0.0)
            usual = moves.max(axis=1, keepdims=True) / scale
        chunk = max(1, LARGEST_BATCH // (2 * x.size))
        rows: list[Row] = []
        for start in range(0, x.size, chunk):
            places = np.arange(start, min(start + chunk, x.size))
            part = Part(leaf, x, places, scale[places], derived[:, places], usual[:, places])
            rows.extend(self._rows(part))
        return rows

    def single(self, leaf: GraphRow, derived: Any, place: int) -> Row:
        """The row of one element of a leaf."""
        x = self.court.hood.point[leaf].ravel()
        places = np.array([place])
        scale = scales(x)[places]
        usual = np.abs(derived[:, places])
        return self._rows(Part(leaf, x, places, scale, derived[:, places], usual))[0]

    def _rows(self, part: Part) -> list[Row]:
        """The rows of some elements."""
        measured, bounds, settled, even, told = self._quick(part)
        graph, shape = self.court.graph, self.court.hood.point[part.leaf].shape
        name = graph.names[part.leaf]
        axes = np.unravel_index(part.places, shape) if shape else ()
        positions = list(zip(*(axis.tolist() for axis in axes), strict=True)) or [()]
        indices = [Index(position) for position in positions]
        rows: list[Row] = []
        for output, claims in enumerate(part.claimed.tolist()):
            of, good = self.names.get(output, ""), settled[output]
            found = [
                Row(name, index, derived, value, CORRECT, told, of, bound=bound)
                for index, derived, value, bound in zip(
                    *(indices, claims, measured[output].tolist(), bounds[output].tolist()),
                    strict=True,
                )
            ]
            doubtful = [
                Spot(
                    *(part.leaf, int(part.places[k]), positions[k], output, claims[k]),
                    float(part.scale[k]),
                    float(part.usual[output, k]),
                    bool(even[output]),
                )
                for k in np.flatnonzero(~good).tolist()
            ]
            for k, finding in zip(np.flatnonzero(~good), self._settled(doubtful), strict=True):
                found[k] = Row(
                    *(name, indices[k], claims[k], finding.measured, finding.verdict),
                    *(finding.evidence, of, finding.kink),
                    bound=finding.bound,
                )
            rows.extend(found)
        return rows

    def _settled(self, spots: list[Spot]) -> list[Finding]:
        """A closer look at each; their kinks are looked for together, a few hundred at a time."""
        found = []
        for start in range(0, len(spots), TOGETHER):
            part = spots[start : start + TOGETHER]
            near = self.court.crossings(part)
            found += [self.court.settle(*pair) for pair in zip(part, near, strict=True)]
        return found

    def _quick(self, part: Part) -> tuple[Any, Any, Any, Any, str]:
        """(measured, what would pass, which are settled as correct, even outputs, the evidence)."""
        court, method = self.court, self.court.method
        finite = np.isfinite(part.claimed) & np.isfinite(court.base)[:, None]
        slack = court.tolerance * np.abs(part.claimed)
        measured, settled = np.full(part.claimed.shape, np.nan), np.zeros(finite.shape, bool)
        doubtful, told, bounds = finite & (method == "complex"), AGREE["central"], slack
        even = np.ones(len(part.claimed), bool)
        if method in ("auto", "central"):
            measured, error, settled, doubtful, even = self._central(part, finite, slack)
            bounds = slack + 4 * error
        if method in ("auto", "complex") and doubtful.any() and court.hood.is_analytic(part.leaf):
            exact = self._complex(part)
            with np.errstate(all="ignore"):
                more = doubtful & (slack > 0) & (np.abs(part.claimed - exact) <= slack)
            measured, settled = np.where(more, exact, measured), settled | more
            bounds = np.where(more, slack, bounds)
            told, doubtful = AGREE[method], doubtful & ~more
        doubtful = doubtful & even[:, None]
        places = np.flatnonzero(doubtful.any(axis=0))
        if method == "auto" and len(places):
            slopes, error = self._wide(part, places)
            with np.errstate(all="ignore"):
                allowed = slack[:, places]
                gap = np.abs(part.claimed[:, places] - slopes)
                more = doubtful[:, places] & (gap <= allowed + 3 * error)
                more &= (error <= COARSE * allowed) & (allowed > 0)
            measured[:, places] = np.where(more, slopes, measured[:, places])
            bounds[:, places] = np.where(more, allowed + 4 * error, bounds[:, places])
            settled[:, places] |= more
        return measured, bounds, settled, even, told

    def _wide(self, part: Part, places: Any) -> tuple[Any, Any]:
        """(slopes, errors) by five points at some places: a longer step loses fewer digits."""
        step = STEP * part.scale[places]
        neighbours = np.tile(part.x, (4 * len(places), 1))
        rows = np.arange(4 * len(places))
        neighbours[rows, np.repeat(part.places[places], 4)] += np.outer(step, STENCIL).ravel()
        shape = self.court.hood.point[part.leaf].shape
        values = self.court.hood.sample(part.leaf, neighbours.reshape(-1, *shape)).values
        with np.errstate(all="ignore"):
            values = values.T.reshape(len(part.claimed), len(places), 4)
            return five_point(values, step, self.court.base[:, None])

    def _central(self, part: Part, finite: Any, slack: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Slopes by three points, their errors, which settle the matter, are coarse, are even.

        Agreement is evidence: a slope that is off because the step is too wide agrees with no
        derivative. What does not agree, or has a kink within the reach of five points, gets a
        closer look.
        """
        court, count = self.court, len(part.places)
        here = part.x[part.places]
        step = (here + SHORT_STEP * part.scale) - here  # what is really added
        neighbours = np.empty((2 * count + 1, part.x.size))
        neighbours[:] = part.x
        rows = np.arange(count)
        neighbours[2 * rows, part.places] -= step
        neighbours[2 * rows + 1, part.places] += step
        shape = court.hood.point[part.leaf].shape
        sample = court.hood.sample(part.leaf, neighbours.reshape(-1, *shape))
        values = sample.values[:-1].T.reshape(len(part.claimed), count, 2)
        base = sample.values[-1][:, None]
        with np.errstate(all="ignore"):
            measured, error = three_point(values, step, base)
            gap = np.abs(part.claimed - measured)
            # of a graph too large for many digits, small derivatives are held to the larger ones
            least = 0.0 if court.digital else 0.1 * part.usual
            fine = 3 * error <= court.tolerance * np.maximum(np.abs(part.claimed), least)
            if court.digital:  # a value that does not move may only be too coarse to
                fine = np.where(part.claimed == 0, self._is_still(part, values, base, error), fine)
            close = finite & (gap <= slack + 3 * error)
            reach = 2 * STEP * np.maximum(part.scale, 1.0) / step
        settled = close & fine
        apart = ~kinks.within_reach(sample.branches, reach)[None, :]
        even = np.ones(len(part.claimed), bool)
        if apart.all():  # a kink would look like a narrow feature, and is known by name
            even = self._is_even(part, step, base[:, 0])
            settled &= even[:, None]
        return measured, error, settled & apart, close & apart & ~settled, even

    def _is_still(self, part: Part, values: Any, base: Any, error: Any) -> Any:
        """Where nothing moves, the rules say 0 too, and no derivative that counts could hide."""
        still = (part.claimed == 0) & (values == base[..., None]).all(axis=2)
        if not still.any() or self.court.cost <= CHEAP:  # many digits tell more
            return np.zeros_like(still)
        usual = np.maximum(part.usual, np.abs(base) / part.scale)
        zero = self.court.rules[part.leaf][:, part.places] == 0
        return still & zero & (3 * error <= self.court.tolerance * usual)

    def _is_even(self, part: Part, step: Any, base: Any) -> Any:
        """For each output, whether claims add up to its change where all elements move by far less.

        What is narrower than the step shows in it.
        """
        neighbour = part.x.copy()
        here = neighbour[part.places]
        signs = np.where(np.arange(len(here)) % 2, -1.0, 1.0)
        neighbour[part.places] += NARROW * step * signs
        shape = self.court.hood.point[part.leaf].shape
        sample = self.court.hood.sample(part.leaf, neighbour.reshape(1, *shape))
        with np.errstate(all="ignore"):
            moves = part.claimed * (neighbour[part.places] - here)
            room = 1e-3 * np.sqrt((moves**2).sum(axis=1)) + 64 * EPSILON * np.abs(base)
            return np.abs(moves.sum(axis=1) - (sample.values[0] - base)) <= room

    def _complex(self, part: Part) -> Any:
        """Slopes by a step in the imaginary direction: no difference, so no cancellation."""
        step = 1e-100
        neighbours = np.tile(part.x.astype(complex), (len(part.places), 1))
        neighbours[np.arange(len(part.places)), part.places] += 1j * step * part.scale
        shape = self.court.hood.point[part.leaf].shape
        values = self.court.hood.sample(part.leaf, neighbours.reshape(-1, *shape)).values
        with np.errstate(all="ignore"):
            return values.imag.T / part.scale / step

    def curve(self, row: Row) -> list[tuple[float, float]]:
        """[(step, error)] of central differences for the derivative of a row: the V-curve."""
        court = self.court
        leaf, position = court.graph.row(row.name), tuple(row.index or ())
        output = next((k for k, name in self.names.items() if name == row.of), 0)
        x = court.hood.point[leaf]
        scale = abs(float(x[position])) or 1.0
        place = int(np.ravel_multi_index(position, x.shape)) if position else 0
        spot = Spot(leaf, place, position, output, row.derived, scale)
        found = digits.slope(court.hood, leaf, position, output, scale, lambda slope: abs(slope))
        true = row.measured if found is None else found[0]
        steps = scale * 10.0 ** np.arange(-15, 0, 0.25)
        with np.errstate(all="ignore"):
            slopes = (court.along(spot, steps) - court.along(spot, -steps)) / (2 * steps)
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
