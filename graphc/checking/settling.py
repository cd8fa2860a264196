"""Settling one derivative of a graph that quick differences left in doubt.

From cheap to certain: kinks on the way, differences within their distance, extrapolation, and
differences of the graph in 50 digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..arithmetic import Numbers
from ..derive import upstream
from ..evaluation import Evaluation
from ..exact import WORKING, as_float
from ..formula import formula_text
from ..structure import Structure
from . import digits, kinks
from .neighbourhood import Neighbourhood
from .schemes import EPSILON, STENCIL, STEP, five_point, noise_level, one_sided, ridders
from .verdicts import AT_KINK, CORRECT, ILL, NEAR_KINK, NOISE, NOT_FINITE, WRONG, Finding

CHEAP, AFFORDABLE = 2_000, 20_000  # operations of an evaluation in 50 digits: first, last resort
BORDER = 1e-12  # an error that is forgiven where a slope has only one side
CLEAR = 1e-4  # a relative error that no rounding of an ordinary graph explains
FUZZ = 64  # roundings within which a point counts as on a kink


@dataclass(frozen=True)
class Spot:
    """One element of a leaf, one element of the outputs, and the derivative under judgement."""

    leaf: int
    place: int  # in the flat leaf
    position: tuple[int, ...]
    output: int
    derived: float
    scale: float  # the size of the element, or what is usual for its leaf
    noise: float  # what rounding may do to the derivative


@dataclass
class Court:
    """A graph around a point, and what is known about its derivatives there."""

    graph: Structure
    hood: Neighbourhood
    epsilon: float = EPSILON  # the rounding of the code under test
    method: str = "auto"
    _derived: dict[tuple[int, bool], dict[int, Any]] = field(default_factory=dict)

    @property
    def base(self) -> Any:
        """The outputs at the point, flat."""
        return self.hood.base

    @cached_property
    def tolerance(self) -> float:
        return float(np.sqrt(self.epsilon))

    @cached_property
    def cost(self) -> int:
        return self.hood.cost()

    @property
    def cheap(self) -> bool:
        """Whether 50 digits come before extrapolation."""
        return self.method == "digits" or (self.method == "auto" and self.cost <= CHEAP)

    @property
    def affordable(self) -> bool:
        """Whether 50 digits are a last resort."""
        return self.cheap or (self.method == "auto" and self.cost <= AFFORDABLE)

    def settle(self, spot: Spot, near: list[kinks.Crossing]) -> Finding:
        """The verdict on one derivative, with the kinks nearby."""
        value = self.base[spot.output]
        if not np.isfinite(value):
            return Finding(np.nan, NOT_FINITE, f"the value is {value}{self._first_bad()}")
        fuzz = FUZZ * self.epsilon
        on = [c for c in near if abs(c.distance) <= fuzz * spot.scale or 0 < c.share <= fuzz]
        if on:
            return self._at_kink(spot, on)
        if not np.isfinite(spot.derived):
            known = self._reference(spot, None, self.cheap)
            measured = np.nan if known is None else known[0]
            return Finding(measured, NOT_FINITE, f"the derivative is {spot.derived}")
        found = self._measured(spot, abs(near[0].distance) if near else None)
        if not near:
            return found
        kink = near[0]
        told = (
            f"the kink of {kink.told(self.graph)} is {abs(kink.distance):.1e} away, "
            f"within the stencil; {found.evidence}"
        )
        verdict = NEAR_KINK if found.verdict == CORRECT else found.verdict
        return Finding(found.measured, verdict, told, self.graph.names[kink.node])

    def _first_bad(self) -> str:
        """The first node that has no finite value, in words."""
        graph = self.graph
        evaluation = Evaluation(graph, Numbers(self.hood.sizes), dict(self.hood.fixed), {})
        with np.errstate(all="ignore"):
            for node in sorted(upstream(graph, self.hood.outputs)):
                if not np.isfinite(as_float(evaluation.value(node))).all():
                    return f": the first is {graph.names[node]} = {formula_text(graph, node)}"
        return ""

    def crossings(self, spots: Sequence[Spot]) -> list[list[kinks.Crossing]]:
        """The kinks within five points along the coordinate of each spot, all of one leaf."""
        batch = self.hood.batch(spots[0].leaf)
        if batch is None or not batch.switches:
            return [[] for _ in spots]
        x = self.hood.point[spots[0].leaf]
        steps = [STEP * max(spot.scale, 1.0) * STENCIL for spot in spots]
        neighbours = np.tile(x.ravel(), (4 * len(spots) + 1, 1))
        for number, spot in enumerate(spots):
            neighbours[4 * number : 4 * number + 4, spot.place] += steps[number]
        sample = self.hood.sample(spots[0].leaf, neighbours.reshape(-1, *x.shape))
        return [
            kinks.crossings(sample.branches, slice(4 * k, 4 * k + 4), steps[k])
            for k in range(len(spots))
        ]

    def _moved(self, spot: Spot, steps: Any) -> Any:
        """Neighbours in which one element is moved by each step."""
        x = self.hood.point[spot.leaf]
        neighbours = np.tile(x.ravel(), (len(steps), 1))
        neighbours[:, spot.place] += steps
        return neighbours.reshape(-1, *x.shape)

    def along(self, spot: Spot, steps: Any) -> Any:
        """The values of the spot's output with its element moved by each step."""
        return self.hood.sample(spot.leaf, self._moved(spot, steps)).values[:, spot.output]

    def _measured(self, spot: Spot, distance: float | None) -> Finding:
        """50 digits where they are cheap, or where floats leave a doubt."""
        found = Finding(np.nan, NOT_FINITE, "no neighbour has a finite value to measure with")
        for exact in (True, False) if self.cheap else (False, True):
            if exact and not self.affordable:
                continue
            reference = self._reference(spot, distance, exact)
            if reference is None:  # exp(1e300) has no 50 digits, but floats have 0 or infinity
                continue
            found = self._compared(spot, *reference)
            gap = abs(spot.derived - found.measured)
            far = gap > 1e3 * reference[1] and gap > CLEAR * abs(found.measured)
            if exact or found.verdict == CORRECT or (found.verdict == WRONG and far):
                break
        return found

    def _reference(
        self, spot: Spot, distance: float | None, exact: bool
    ) -> tuple[float, float, str] | None:
        """(slope, error, how it was found), in 50 digits or in floats."""
        if exact:
            step = digits.NEAR * spot.scale
            if distance is not None:
                step = min(step, WORKING.mpf(distance) / 8)
            found, error = digits.slope(self.hood, spot.leaf, spot.position, spot.output, step)
            return None if found is None else (float(found), error, "differences in 50 digits")
        base = float(self.base[spot.output])
        if distance is not None:
            step = distance / 4
            slope, error = five_point(self.along(spot, step * STENCIL), step, base)
            return float(slope), float(error), f"central differences within {distance:.0e}"
        near = self.along(spot, spot.scale * 1e-9 * np.arange(-4, 5))
        noise = max(noise_level(near), EPSILON * abs(base), 1e-320)
        best = ridders(lambda steps: self.along(spot, steps), 0.05 * spot.scale, noise)
        return None if best is None else (best.value, best.error, "Ridders' extrapolation")

    def _compared(self, spot: Spot, measured: float, error: float, how: str) -> Finding:
        """The verdict where the function is smooth."""
        gap = abs(spot.derived - measured)
        slack = self.tolerance * max(abs(measured), abs(spot.derived)) + spot.noise
        if gap <= slack + 3 * error:
            if 3 * error <= max(slack, 1e-4 * abs(measured), BORDER):
                return Finding(measured, CORRECT, f"{how} agree")
            return Finding(measured, NOISE, f"{how} are good to {error:.1e} only and cannot tell")
        if error and gap <= 10 * error:
            return Finding(measured, NOISE, f"{how} are good to {error:.1e} only and cannot tell")
        rounding = self._rounding(spot, measured) if error == 0.0 else None
        return rounding or Finding(measured, WRONG, f"{how} give {measured:.10g}")

    def _rounding(self, spot: Spot, measured: float) -> Finding | None:
        """The verdict if the rules are right and only rounding is to blame, else None."""
        exact, floats = (self._by_rules(spot, digital) for digital in (True, False))
        if exact is None or abs(exact - measured) > 1e-9 * abs(measured):
            return None
        if floats is None or not np.isfinite(floats):
            return None
        gap = abs(spot.derived - measured)
        if self.epsilon > EPSILON and abs(floats - measured) <= self.tolerance * abs(measured):
            size = max(abs(measured), abs(spot.derived), abs(self.base[spot.output]))
            if gap > FUZZ * self.epsilon * size:
                return None
            told = "right in float64; the rounding of this dtype hides it"
            return Finding(measured, NOISE, told)
        if gap > 100 * abs(floats - measured):
            return None
        told = (
            f"the rules are right in 50 digits ({measured:.10g}), but floats cancel and lose "
            f"{_lost(spot.derived, measured)} digits"
        )
        return Finding(measured, ILL, told)

    def _by_rules(self, spot: Spot, exact: bool) -> float | None:
        """The derivative by the graph's own rules."""
        key = (spot.output, exact)
        if key not in self._derived:
            self._derived[key] = digits.derived(self.graph, self.hood, spot.output, exact)
        if spot.leaf not in self._derived[key]:
            return 0.0
        found = digits.element(self._derived[key][spot.leaf], spot.position)
        return None if found is None else float(found)

    def _at_kink(self, spot: Spot, on: list[kinks.Crossing]) -> Finding:
        """The verdict on a kink: a slope between the one-sided slopes is one by convention."""
        derived, kink = spot.derived, self.graph.names[on[0].node]
        slopes = self._sides(spot)
        if slopes is None or not np.isfinite(derived):
            return Finding(np.nan, NOT_FINITE, f"on the kink of {on[0].told(self.graph)}", kink)
        left, right, error = slopes
        low, high, middle = min(left, right), max(left, right), left / 2 + right / 2
        slack = self.tolerance * max(abs(low), abs(high)) + spot.noise + 3 * error
        sides = f"one-sided slopes {left:.6g} and {right:.6g}"
        told = f"on the kink of {on[0].told(self.graph)}; {sides}"
        if high - low <= slack and abs(derived - middle) <= 2 * slack:
            jump = self._jump(spot, middle)
            if jump:
                more = f"{told} agree, but the value jumps by {jump:.6g}"
                return Finding(middle, AT_KINK, more, kink)
            return Finding(middle, CORRECT, f"{told} agree", kink)
        if low - slack <= derived <= high + slack:
            return Finding(middle, AT_KINK, told, kink)
        if len(on) > 1 and self._is_convention(spot, on, slack):
            more = f"{told}; {len(on)} kinks meet, whose conventions allow {derived:.6g}"
            return Finding(middle, AT_KINK, more, kink)
        return Finding(middle, WRONG, f"{told}, and {derived:.6g} is outside", kink)

    def _jump(self, spot: Spot, slope: float) -> float:
        """What the value jumps by at a point with a slope; 0 where it is continuous."""
        step = max(1e-5, 4 * FUZZ * self.epsilon) * spot.scale
        steps = step * np.array([-1, -0.01, 0.01, 1])
        ends = self.along(spot, steps)
        far, left, right, end = ends - slope * steps  # without what the slope explains
        noise = 1e3 * self.epsilon * float(np.abs(ends).max())
        narrow, wide = float(right - left), float(end - far)
        return narrow if abs(narrow) > max(noise, abs(wide) / 2) else 0.0

    def _is_convention(self, spot: Spot, on: list[kinks.Crossing], slack: float) -> bool:
        """Whether the left and right slopes of kinks that meet allow the derivative."""
        rows = [crossing.declared for crossing in on]
        known = []
        for found in kinks.conventions(self.graph, self.hood, spot.output, rows):
            value = digits.element(found.get(spot.leaf, 0.0), spot.position)
            if value is not None:
                known.append(float(value))
        return bool(known) and min(known) - slack <= spot.derived <= max(known) + slack

    def _sides(self, spot: Spot) -> tuple[float, float, float] | None:
        """(left slope, right slope, error) at a kink."""
        if not self.cheap:
            return self._float_sides(spot)
        shift = 4 * FUZZ * self.epsilon * spot.scale
        sides, size = [], 0.0
        for side in (-shift, shift):
            near, far = (
                digits.slope(
                    *(self.hood, spot.leaf, spot.position, spot.output),
                    WORKING.mpf(shift) / 1000,
                    times * side,
                )[0]
                for times in (1, 2)
            )
            if near is None or far is None:
                return None
            sides.append(2 * near - far)  # a line through both, at the kink
            size = max(size, abs(float(near)), abs(float(far)))
        return float(sides[0]), float(sides[1]), 1e-25 * size

    def _float_sides(self, spot: Spot) -> tuple[float, float, float] | None:
        step = max(1e-5, 4 * FUZZ * self.epsilon) * spot.scale
        values = self.along(spot, step * np.array([-1.0, -2.0, -3.0, 1.0, 2.0, 3.0]))
        base = self.base[spot.output]
        (left, below), (right, above) = (
            one_sided(values[:3], -step, base),
            one_sided(values[3:], step, base),
        )
        if not np.isfinite(left + right):
            return None
        return float(left), float(right), float(max(below, above))


def _lost(derived: float, measured: float) -> int:
    """The decimal digits that rounding has cost."""
    relative = abs(derived - measured) / max(abs(measured), 1e-300)
    return int(np.clip(np.ceil(16 + np.log10(max(relative, 1e-16))), 0, 16))
