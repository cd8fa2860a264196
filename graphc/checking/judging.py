"""Judging a graph's derivatives at a point: cheap differences first, more only where needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arithmetic import Numbers
from ..derive import upstream
from ..evaluation import Evaluation
from ..exact import WORKING, as_float
from ..formula import formula_text
from ..structure import Structure
from . import digits, kinks
from .neighbourhood import LARGEST_BATCH, Neighbourhood
from .schemes import (
    EPSILON,
    SHORT_STEP,
    STENCIL,
    STEP,
    five_point,
    noise_level,
    one_sided,
    ridders,
    three_point,
)
from .verdicts import AT_KINK, CORRECT, ILL, NEAR_KINK, NOISE, NOT_FINITE, WRONG, Index, Row

FINE = 3e-7  # the relative error of a measurement that can tell a factor 1 + 1e-6 from 1
CHEAP, AFFORDABLE = 2_000, 20_000  # operations of an evaluation in 50 digits: first, last resort
BORDER = 1e-12  # an error that is forgiven where a slope has only one side
FUZZ = 64  # roundings within which a point counts as on a kink
METHODS = ("auto", "central", "ridders", "complex", "digits")


@dataclass
class Judge:
    """Verdicts on derivatives of the outputs of a graph around a point."""

    graph: Structure
    hood: Neighbourhood
    epsilon: float = EPSILON  # the rounding of the code under test
    method: str = "auto"
    names: dict[int, str] = field(default_factory=dict)  # of the output elements
    _derived: dict[tuple[int, bool], dict[int, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base = self.hood.values()
        self.tolerance = float(np.sqrt(self.epsilon))
        cost = self.hood.cost()
        self.cheap = self.method == "digits" or (cost <= CHEAP and self.method == "auto")
        self.affordable = self.cheap or (cost <= AFFORDABLE and self.method == "auto")

    def judge(self, leaf: int, derived: Any) -> list[Row]:
        """A row for each output element and each element of the leaf; derived: (outputs, n)."""
        x = self.hood.point[leaf].ravel()
        if not x.size or not len(self.base):
            return []
        typical = float(np.sqrt(np.mean((x / (np.abs(x).max() or 1.0)) ** 2)) * np.abs(x).max())
        scale = np.maximum(np.abs(x), typical)
        scale[scale == 0] = 1.0
        rows: list[Row] = []
        chunk = max(1, LARGEST_BATCH // (2 * x.size))
        for start in range(0, x.size, chunk):
            places = np.arange(start, min(start + chunk, x.size))
            rows.extend(self._chunk(leaf, derived, x, scale, places))
        return rows

    def _chunk(self, leaf: int, derived: Any, x: Any, scale: Any, places: Any) -> list[Row]:
        batch = self.hood.batch(leaf)
        claimed = derived[:, places]
        size = np.abs(derived[np.isfinite(derived)])
        noise = FUZZ * self.epsilon * (float(size.max()) if size.size else 0.0)
        finite = np.isfinite(claimed) & np.isfinite(self.base)[:, None]
        slack = self.tolerance * np.abs(claimed) + noise
        look = _Look(leaf, x, scale, noise, places)
        analytic = batch is not None and batch.analytic
        measured, agree = np.full(claimed.shape, np.nan), np.zeros(claimed.shape, bool)
        told = "central differences"
        doubtful = finite & (self.method == "complex")
        if self.method in ("auto", "central"):
            measured, agree, doubtful = self._central(look, claimed, finite, slack)
        if analytic and self.method in ("auto", "complex") and doubtful.any():
            exact = self._complex(leaf, x, scale, places)
            with np.errstate(all="ignore"):
                settled = doubtful & (np.abs(claimed - exact) <= slack)
            measured, agree = np.where(settled, exact, measured), agree | settled
            told = (
                "central differences and complex step" if self.method == "auto" else "complex step"
            )
        return self._rows(look, claimed, measured, agree, told)

    def _complex(self, leaf: int, x: Any, scale: Any, places: Any) -> Any:
        """Slopes by a step in the imaginary direction: no difference, so no cancellation."""
        step = 1e-100
        neighbours = np.tile(x.astype(complex), (len(places), 1))
        rows = np.arange(len(places))
        neighbours[rows, places] += 1j * step * scale[places]
        shape = (-1, *self.hood.point[leaf].shape)
        values = self.hood.sample(leaf, neighbours.reshape(shape)).values
        with np.errstate(all="ignore"):
            return values.imag.T / scale[places] / step

    def _central(self, look: _Look, claimed: Any, finite: Any, slack: Any) -> tuple[Any, Any, Any]:
        """Slopes by three points, which of them settle the matter, and which are too coarse to.

        Agreement is evidence: a slope that is off because the step is too wide agrees with no
        derivative. What does not agree, or has a kink within the reach of five points, gets a
        closer look.
        """
        x, scale, places = look.x, look.scale, look.places
        step = SHORT_STEP * scale[places]
        step = (x[places] + step) - x[places]  # what is really added
        neighbours = np.tile(x, (len(places) * 2 + 1, 1))
        rows = np.arange(len(places) * 2)
        neighbours[rows, np.repeat(places, 2)] += (step[:, None] * [-1.0, 1.0]).ravel()
        shape = (-1, *self.hood.point[look.leaf].shape)
        sample = self.hood.sample(look.leaf, neighbours.reshape(shape))
        values = sample.values[:-1].T.reshape(len(claimed), len(places), 2)
        base = sample.values[-1][:, None]
        with np.errstate(all="ignore"):
            measured, error = three_point(values, step, base)
            gap = np.abs(claimed - measured)
            least = 0.0 if self.cheap else 0.1 * look.noise / (FUZZ * self.epsilon)
            coarse = (self.epsilon / EPSILON) ** 0.5
            fine = error <= FINE * np.maximum(np.abs(claimed), least) * coarse
            close = finite & (gap <= slack + 3 * error)
            still = (values == base[..., None]).all(axis=2) & (claimed == 0)
        agree = (close & fine) | (finite & still)
        reach = 2 * STEP * np.maximum(scale[places], 1.0) / step
        apart = ~kinks.within_reach(sample.branches, reach)[None, :]
        return measured, agree & apart, close & apart & ~agree

    def _rows(self, look: _Look, claimed: Any, measured: Any, agree: Any, told: str) -> list[Row]:
        name, shape = self.graph.names[look.leaf], self.hood.point[look.leaf].shape
        evidence = f"{told} agree"
        indices = np.unravel_index(look.places, shape) if shape else ()
        positions = list(zip(*(axis.tolist() for axis in indices), strict=True)) or [()]
        plain, values, good = claimed.tolist(), measured.tolist(), agree.tolist()
        rows = []
        for output in range(len(plain)):
            of = self.names.get(output, "")
            for place, position in enumerate(positions):
                mine = plain[output][place]
                if good[output][place]:
                    rows.append(
                        Row(
                            name,
                            Index(position),
                            mine,
                            values[output][place],
                            CORRECT,
                            evidence,
                            of,
                        )
                    )
                else:
                    found = self._settle(look, output, place, position, mine)
                    rows.append(Row(name, Index(position), mine, *found[:3], of, found[3]))
        return rows

    def curve(self, row: Row) -> list[tuple[float, float]]:
        """[(step, error)] of central differences for the derivative of a row: the V-curve."""
        leaf = self.graph.row(row.name)
        position = tuple(row.index or ())
        output = next((k for k, name in self.names.items() if name == row.of), 0)
        x = self.hood.point[leaf]
        scale = abs(float(x[position])) or 1.0
        look = _Look(leaf, x.ravel(), np.array([scale]), 0.0, np.array([0]))
        found, _ = digits.slope(self.hood, leaf, position, output, digits.NEAR * scale)
        true = float(row.measured if found is None else found)
        steps = scale * 10.0 ** np.arange(-15, 0, 0.25)
        ahead = self._along(look, output, position, steps)
        behind = self._along(look, output, position, -steps)
        with np.errstate(all="ignore"):
            errors = np.abs((ahead - behind) / (2 * steps) - true)
        return [(float(h), float(e)) for h, e in zip(steps, errors, strict=True) if np.isfinite(e)]

    # A closer look at one derivative: (measured, verdict, evidence, kink).

    def _settle(
        self, look: _Look, output: int, place: int, position: tuple[int, ...], derived: float
    ) -> tuple[float, str, str, str]:
        if not np.isfinite(self.base[output]):
            told = f"the value is {self.base[output]} at this point{self._first_bad()}"
            return np.nan, NOT_FINITE, told, ""
        near = self._crossings(look, place)
        scale = float(look.scale[look.places[place]])
        fuzz = FUZZ * self.epsilon
        on = [c for c in near if abs(c.distance) <= fuzz * scale or 0 < c.share <= fuzz]
        if on:
            return self._at_kink(look, output, position, derived, on, scale)
        if not np.isfinite(derived):
            known = self._reference(look, output, position, scale, None, self.cheap)
            value = np.nan if known is None else float(known[0])
            return value, NOT_FINITE, f"the derivative is {derived} at this point", ""
        distance = abs(near[0].distance) if near else None
        measured, verdict, evidence = self._measured(
            look, output, position, derived, scale, distance
        )
        if not near:
            return float(measured), verdict, evidence, ""
        kink = near[0]
        told = (
            f"the kink of {kink.told(self.graph)} is {abs(kink.distance):.1e} away, "
            f"within the stencil; {evidence}"
        )
        verdict = NEAR_KINK if verdict == CORRECT else verdict
        return float(measured), verdict, told, self.graph.names[kink.node]

    def _measured(
        self,
        look: _Look,
        output: int,
        position: tuple[int, ...],
        derived: float,
        scale: float,
        distance: float | None,
    ) -> tuple[float, str, str]:
        """(measured, verdict, evidence): 50 digits where they are cheap or floats leave a doubt."""
        found = (np.nan, NOT_FINITE, "no neighbour has a finite value to measure with")
        for exact in (True, False) if self.cheap else (False, True):
            if exact and not self.affordable:
                continue
            reference = self._reference(look, output, position, scale, distance, exact)
            if reference is None:  # exp(1e300) has no 50 digits, but floats have 0 or infinity
                continue
            value, error, how = float(reference[0]), float(reference[1]), reference[2]
            found = (
                value,
                *self._compared(look, output, position, derived, value, error, how),
            )
            if exact or found[1] == CORRECT:
                break
        return found

    def _first_bad(self) -> str:
        """The first node that has no finite value, in words."""
        graph = self.graph
        evaluation = Evaluation(graph, Numbers(self.hood.sizes), dict(self.hood.fixed), {})
        with np.errstate(all="ignore"):
            for node in sorted(upstream(graph, self.hood.outputs)):
                if not np.isfinite(as_float(evaluation.value(node))).all():
                    return f": the first is {graph.names[node]} = {formula_text(graph, node)}"
        return ""

    def _crossings(self, look: _Look, place: int) -> list[kinks.Crossing]:
        """The kinks within five points along one coordinate."""
        batch = self.hood.batch(look.leaf)
        if batch is None or not batch.switches:
            return []
        position = look.places[place]
        steps = STEP * max(float(look.scale[position]), 1.0) * STENCIL
        neighbours = np.tile(look.x, (5, 1))
        neighbours[:4, position] += steps
        shape = (-1, *self.hood.point[look.leaf].shape)
        sample = self.hood.sample(look.leaf, neighbours.reshape(shape))
        return kinks.crossings(sample.branches, slice(0, 4), steps)

    def _reference(
        self,
        look: _Look,
        output: int,
        position: tuple[int, ...],
        scale: float,
        distance: float | None,
        exact: bool,
    ) -> tuple[Any, float, str] | None:
        """(slope, error, how it was found), in 50 digits or in floats."""
        if exact:
            step = digits.NEAR * scale
            if distance is not None:
                step = min(step, WORKING.mpf(distance) / 8)
            found, error = digits.slope(self.hood, look.leaf, position, output, step)
            return None if found is None else (found, error, "differences in 50 digits")
        if distance is not None:
            step = distance / 4
            values = self._along(look, output, position, step * STENCIL)
            slope, error = five_point(values, step, self.base[output])
            return (slope, float(error), f"central differences within {distance:.0e}")
        size = max(abs(float(self.base[output])), 1e-300)
        tiny = self._along(look, output, position, scale * 1e-9 * np.arange(-4, 5))
        noise = max(noise_level(tiny), EPSILON * size)
        best = ridders(
            lambda steps: self._along(look, output, position, steps), 0.05 * scale, noise
        )
        return None if best is None else (best.value, best.error, "Ridders' extrapolation")

    def _along(self, look: _Look, output: int, position: tuple[int, ...], steps: Any) -> Any:
        """The values of one output with one element moved by each step."""
        shape = self.hood.point[look.leaf].shape
        neighbours = np.tile(look.x, (len(steps), 1))
        place = int(np.ravel_multi_index(position, shape)) if position else 0
        neighbours[:, place] += steps
        return self.hood.sample(look.leaf, neighbours.reshape(-1, *shape)).values[:, output]

    def _compared(
        self,
        look: _Look,
        output: int,
        position: tuple[int, ...],
        derived: float,
        measured: float,
        error: float,
        how: str,
    ) -> tuple[str, str]:
        """Verdict and evidence where the function is smooth."""
        gap = abs(derived - measured)
        slack = self.tolerance * max(abs(measured), abs(derived)) + look.noise
        if gap <= slack + 3 * error:
            if 3 * error <= max(slack, 1e-4 * abs(measured), BORDER):
                return CORRECT, f"{how} agree"
            return NOISE, f"{how} are good to {error:.1e} only and cannot tell"
        if error and gap <= 10 * error:
            return NOISE, f"{how} are good to {error:.1e} only and cannot tell"
        if error == 0.0:
            rounding = self._rounding(look.leaf, output, position, derived, measured)
            if rounding:
                return rounding
        return WRONG, f"{how} give {measured:.10g}"

    def _rounding(
        self, leaf: int, output: int, position: tuple[int, ...], derived: float, measured: float
    ) -> tuple[str, str] | None:
        """The verdict if the rules are right and only rounding is to blame, else None."""
        exact = self._by_rules(leaf, output, position, True)
        if exact is None or abs(exact - measured) > 1e-9 * abs(measured):
            return None
        floats = self._by_rules(leaf, output, position, False)
        if floats is None or not np.isfinite(floats):
            return None
        if self.epsilon > EPSILON and abs(floats - measured) <= self.tolerance * abs(measured):
            limit = 1e3 * self.epsilon * max(abs(measured), abs(derived), abs(self.base[output]))
            if abs(derived - measured) <= limit:
                return NOISE, "right in float64; the rounding of this dtype hides it"
            return None
        if abs(derived - measured) > 100 * abs(floats - measured):
            return None
        return ILL, (
            f"the rules are right in 50 digits ({measured:.10g}), but floats cancel and lose "
            f"{_lost(derived, measured)} digits"
        )

    def _by_rules(
        self, leaf: int, output: int, position: tuple[int, ...], exact: bool
    ) -> float | None:
        key = (output, exact)
        if key not in self._derived:
            self._derived[key] = digits.derived(self.graph, self.hood, output, exact)
        if leaf not in self._derived[key]:
            return 0.0
        found = digits.element(self._derived[key][leaf], position)
        return None if found is None else float(found)

    def _at_kink(
        self,
        look: _Look,
        output: int,
        position: tuple[int, ...],
        derived: float,
        on: list[kinks.Crossing],
        scale: float,
    ) -> tuple[float, str, str, str]:
        """The verdict on a kink: a slope between the one-sided slopes is one by convention."""
        kink = self.graph.names[on[0].node]
        slopes = self._sides(look, output, position, scale, self.cheap)
        if slopes is None or not np.isfinite(derived):
            return np.nan, NOT_FINITE, f"on the kink of {on[0].told(self.graph)}", kink
        low, high, error = slopes
        middle = low / 2 + high / 2
        slack = self.tolerance * max(abs(low), abs(high)) + look.noise + 3 * error
        sides = f"one-sided slopes {low:.6g} and {high:.6g}"
        told = f"on the kink of {on[0].told(self.graph)}; {sides}"
        below, above = min(low, high), max(low, high)
        if above - below <= slack and abs(derived - middle) <= 2 * slack:
            jump = self._jump(look, output, position, scale, middle)
            if jump:
                return middle, AT_KINK, f"{told} agree, but the value jumps by {jump:.6g}", kink
            return middle, CORRECT, f"{told} agree", kink
        if below - slack <= derived <= above + slack:
            return middle, AT_KINK, told, kink
        if len(on) > 1:
            hull = [
                digits.element(found[look.leaf], position) if look.leaf in found else 0.0
                for found in kinks.conventions(
                    self.graph, self.hood, output, [crossing.declared for crossing in on]
                )
            ]
            known = [float(value) for value in hull if value is not None]
            if known and min(known) - slack <= derived <= max(known) + slack:
                more = f"{told}; {len(on)} kinks meet, whose conventions allow {derived:.6g}"
                return middle, AT_KINK, more, kink
        return middle, WRONG, f"{told}, and {derived:.6g} is outside", kink

    def _jump(
        self, look: _Look, output: int, position: tuple[int, ...], scale: float, slope: float
    ) -> float:
        """What the value jumps by at a point with a slope; 0 where it is continuous."""
        steps = max(1e-5, 4 * FUZZ * self.epsilon) * scale * np.array([-1, -0.01, 0.01, 1])
        ends = self._along(look, output, position, steps)
        far, left, right, end = ends - slope * steps  # without what the slope explains
        noise = 1e3 * self.epsilon * float(np.abs(ends).max())
        narrow, wide = float(right - left), float(end - far)
        return narrow if abs(narrow) > max(noise, abs(wide) / 2) else 0.0

    def _sides(
        self, look: _Look, output: int, position: tuple[int, ...], scale: float, exact: bool
    ) -> tuple[float, float, float] | None:
        """(left slope, right slope, error) at a kink."""
        if exact:
            shift = 4 * FUZZ * self.epsilon * scale
            sides, size = [], 0.0
            for at in (-shift, shift):
                near, far = (
                    digits.slope(
                        self.hood, look.leaf, position, output, WORKING.mpf(shift) / 1000, k * at
                    )[0]
                    for k in (1, 2)
                )
                if near is None or far is None:
                    return None
                sides.append(2 * near - far)  # a line through both, at the kink
                size = max(size, abs(float(near)), abs(float(far)))
            return float(sides[0]), float(sides[1]), 1e-25 * size
        step = max(1e-5, 4 * FUZZ * self.epsilon) * scale
        (left, below), (right, above) = (
            one_sided(
                self._along(look, output, position, side * np.arange(1, 4)), side, self.base[output]
            )
            for side in (-step, step)
        )
        if not np.isfinite(left + right):
            return None
        return float(left), float(right), float(max(below, above))


@dataclass(frozen=True)
class _Look:
    """What is known about the part of a leaf under judgement."""

    leaf: int
    x: Any
    scale: Any
    noise: float  # of the derivatives themselves
    places: Any


def _lost(derived: float, measured: float) -> int:
    """The decimal digits that rounding has cost."""
    relative = abs(derived - measured) / max(abs(measured), 1e-300)
    return int(np.clip(np.ceil(16 + np.log10(max(relative, 1e-16))), 0, 16))
