"""Settling one derivative of a graph that quick differences left in doubt.

From cheap to certain: kinks on the way, differences within their distance, extrapolation, and
differences of the graph in as many digits as it takes. What rounding may do to a derivative is
forgiven, and told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..algebra.arithmetic import Numbers
from ..algebra.exact import as_float
from ..derive.evaluation import Evaluation
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..write.formula import formula_text
from . import digits, kinks
from .emitted import carried
from .needs import needed_nodes
from .neighbourhood import Group, Neighbourhood, context
from .rounding import Errors, rule
from .schemes import EPSILON, one_sided
from .spots import Floats, Spot
from .verdicts import AT_KINK, CORRECT, ILL, NEAR_KINK, NOISE, NOT_FINITE, WRONG, Finding

CHEAP, AFFORDABLE = 2_000, 100_000  # operations of an evaluation in many digits: many, a few
TOGETHER = 64  # doubts whose neighbours are one evaluation
FEW = 64  # doubts for which many digits do not pay, if floats can tell
COARSE = 2  # tolerances by which a difference of floats may be off: the bound of a row tells it
NEARLY = 1e-5  # the relative error of a difference that is good enough beside a kink
MOST_DIGITAL = 4_000_000  # operations on differences of single elements, all together
SIDED = 100  # digits of one-sided slopes
BORDER = 1e-12  # an error that is forgiven where a slope has only one side
FUZZ = 64  # roundings within which a point counts as on a kink


Sides = tuple[Any, Any, Any]  # (left slopes, right slopes, errors) of all outputs, in floats


@dataclass
class Court:
    """A graph around a point, and what is known about its derivatives there."""

    graph: Structure
    hood: Neighbourhood
    epsilon: float = EPSILON  # the rounding of the code under test
    method: str = "auto"
    _rules: dict[GraphRow, Any] = field(default_factory=dict)
    _told: dict[tuple[GraphRow, int], str] = field(default_factory=dict)  # kinks, in words
    _tried: int = 0  # doubts left to floats
    _spent: int = 0  # operations on differences of single elements in many digits
    _sided: dict[tuple[GraphRow, int], Sides | None] = field(
        default_factory=dict
    )  # by leaf and place

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
    def digital(self) -> bool:
        """Whether many digits come before extrapolation in floats."""
        return self.method == "digits" or (self.method == "auto" and self.cost <= AFFORDABLE)

    @cached_property
    def nearly(self) -> float:
        """The relative error of a difference beside a kink for which nobody asks many digits."""
        return 0.0 if self.digital and self.cost <= CHEAP else NEARLY

    @cached_property
    def floats(self) -> Floats:
        """Differences of floats."""
        return Floats(self.hood)

    @cached_property
    def errors(self) -> Errors:
        """What rounding may do to values and derivatives."""
        return Errors(self.hood, self.epsilon)

    def rule(self, leaf: GraphRow) -> Any:
        """The derivatives by a leaf in floats, by the rules of the formulas alone."""
        if leaf not in self._rules:
            self._rules[leaf] = rule(self.hood, leaf)
        return self._rules[leaf]

    @cached_property
    def gradients(self) -> digits.Gradients:
        """The derivatives in many digits."""
        return digits.Gradients(self.hood, self.errors.derivatives)

    def rounding(self, spot: Spot) -> float:
        """What rounding may do to one derivative."""
        found = float(self.errors.derivatives[spot.leaf][spot.output, spot.place])
        return found if np.isfinite(found) else np.inf

    def settled(self, spots: Sequence[Spot]) -> list[Finding]:
        """The verdict on each derivative; what floats are asked of all of them is asked at once."""
        found: list[Finding] = []
        for start in range(0, len(spots), TOGETHER):
            part = spots[start : start + TOGETHER]
            near = self.floats.crossings(part)
            self._look(part, near)
            found += [self._settle(*pair) for pair in zip(part, near, strict=True)]
        return found

    def _settle(self, spot: Spot, near: list[kinks.Crossing]) -> Finding:
        """The verdict on one derivative, with the kinks nearby."""
        value = float(self.base[spot.output])
        if not math.isfinite(value):
            return Finding(np.nan, NOT_FINITE, f"the value is {value}{_first_bad(self.hood)}")
        on = self.on(spot.scale, near)
        if on:
            return self._at_kink(spot, on)
        if not math.isfinite(spot.derived):
            known = self._reference(spot, None, self.digital)
            measured = np.nan if known is None else known[0]
            return Finding(measured, NOT_FINITE, f"the derivative is {spot.derived}")
        if not near:
            return self._measured(spot, None)
        return self.beside(near, self._measured(spot, _distance(near)))

    def beside(self, near: Sequence[kinks.Crossing], found: Finding) -> Finding:
        """What was found before a kink, with the kink."""
        kink = near[0]
        key = kink.declared, kink.element
        if key not in self._told:
            self._told[key] = kink.told(self.graph)
        told = (
            f"the kink of {self._told[key]} is {abs(kink.distance):.1e} away, "
            f"within reach; {found.evidence}"
        )
        verdict = NEAR_KINK if found.verdict == CORRECT else found.verdict
        return Finding(found.measured, verdict, told, self.graph.names[kink.node], found.bound)

    def on(self, scale: float, near: Sequence[kinks.Crossing]) -> list[kinks.Crossing]:
        """The kinks on which an element of this scale sits."""
        fuzz = FUZZ * self.epsilon
        room = fuzz * scale
        return [c for c in near if abs(c.distance) <= room or 0 < c.share <= fuzz]

    def _look(self, spots: Sequence[Spot], near: Sequence[list[kinks.Crossing]]) -> None:
        """Evaluates at once what differences of floats will ask for, as far as that is known."""
        doubts = FEW - self._tried if self.digital else len(spots)
        asked: dict[Spot, float | None] = {}
        for spot, crossings in zip(spots, near, strict=True):
            smooth = math.isfinite(spot.derived) and not self.on(spot.scale, crossings)
            floats = self._is_left_to_floats(spot) or not self.digital
            if smooth and floats and len(asked) < doubts:
                asked[spot] = _distance(crossings)
        self.floats.look(asked)

    def _is_left_to_floats(self, spot: Spot) -> bool:
        """Whether floats are asked before many digits, which would not pay for a few doubts."""
        few = self.method == "auto" and self.cost > CHEAP and self._tried < FEW
        return self.digital and few and spot.even

    def _measured(self, spot: Spot, distance: float | None) -> Finding:
        """Many digits where they can be afforded, else floats; a few doubts are left to floats."""
        if self._is_left_to_floats(spot):
            self._tried += 1
            reference = self.floats.slope(spot, distance)
            slack = self.tolerance * abs(spot.derived)
            # within the distance of a kink, which is told, steps are short and differences coarse
            most = COARSE * slack if distance is None else self.nearly * abs(spot.derived)
            if reference is not None and slack and reference[1] <= most:
                measured, error, how = reference
                if abs(spot.derived - measured) <= slack + 3 * error:
                    return Finding(measured, CORRECT, f"{how} agree", bound=slack + 4 * error)
        for exact in (True, False) if self.digital else (False,):
            reference = self._reference(spot, distance, exact)
            if reference is not None:  # exp(1e300) has no digits, but floats have 0 or infinity
                return self._compared(spot, *reference)
        return Finding(np.nan, NOT_FINITE, "no neighbour has a finite value to measure with")

    def _reference(
        self, spot: Spot, distance: float | None, exact: bool
    ) -> tuple[float, float, str] | None:
        """(slope, error, how it was found), in many digits or in floats."""
        return self._digital(spot, distance) if exact else self.floats.slope(spot, distance)

    def _digital(self, spot: Spot, distance: float | None) -> tuple[float, float, str] | None:
        """The derivative that a difference confirms together with all others, else its own."""
        found = self.gradients.at(spot.output, spot.leaf, spot.position)
        if found is not None:
            return *found, f"differences in {digits.PRECISIONS[0]} digits"
        if self._spent > MOST_DIGITAL:
            return None
        self._spent += 4 * self.cost
        allowed = 1e-2 * min(self.rounding(spot), 1e300)

        def enough(slope: float) -> float:
            return max(allowed, 1e-2 * self.tolerance * max(abs(slope), abs(spot.derived)))

        single = digits.slope(
            *(self.hood, spot.leaf, spot.position, spot.output, spot.scale, enough),
            np.inf if distance is None else distance,
        )
        if single is None:
            return None
        return single[0], single[1], f"differences in {single[2]} digits"

    def _usual(self, spot: Spot) -> float:
        """A derivative that would count here: of the leaf, or of a value of 1 at least."""
        return max(spot.usual, max(abs(float(self.base[spot.output])), 1.0) / spot.scale)

    def _compared(self, spot: Spot, measured: float, error: float, how: str) -> Finding:
        """The verdict where the function is smooth."""
        gap = abs(spot.derived - measured)
        slack = self.tolerance * max(abs(measured), abs(spot.derived))
        rounding = self.rounding(spot)
        forgiven = rounding if rounding <= self.tolerance * self._usual(spot) else 0.0
        bound = slack + 4 * error + forgiven
        if gap <= slack + 3 * error:
            if 3 * error <= max(slack, 1e-4 * abs(measured), rounding, BORDER):
                return Finding(measured, CORRECT, f"{how} agree", bound=bound)
            return Finding(measured, NOISE, f"{how} are good to {error:.1e} only and cannot tell")
        if gap <= slack + 3 * error + forgiven:
            told = f"{how} agree to within {rounding:.1e}, which rounding explains"
            return Finding(measured, CORRECT, told, bound=bound)
        if gap <= slack + 3 * error + rounding:
            told = (
                f"the rules are right in {digits.PRECISIONS[0]} digits ({measured:.10g}), but "
                f"floats cancel and lose {_lost(spot.derived, measured)} digits"
            )
            return Finding(measured, ILL, told)
        if error and gap <= 10 * error:
            return Finding(measured, NOISE, f"{how} are good to {error:.1e} only and cannot tell")
        return self._between(spot) or Finding(measured, WRONG, f"{how} give {measured:.10g}")

    def _between(self, spot: Spot) -> Finding | None:
        """The verdict where a derivative lies between two slopes of which floats see nothing."""
        if not self.digital or self._spent > MOST_DIGITAL:
            return None
        if self.gradients.at(spot.output, spot.leaf, spot.position) is not None:
            return None  # it is smooth: a difference along all of them agrees
        self._spent += 3 * self.cost
        found = digits.sides(self.hood, spot.leaf, spot.position, spot.output, spot.scale)
        return None if found is None else _hidden_kink(found, spot.derived, self.tolerance)

    def _at_kink(self, spot: Spot, on: list[kinks.Crossing]) -> Finding:
        """The verdict on a kink: a slope between the one-sided slopes is one by convention."""
        derived, kink = spot.derived, self.graph.names[on[0].node]
        slopes = self._sides(spot)
        if slopes is None or not np.isfinite(derived):
            return Finding(np.nan, NOT_FINITE, f"on the kink of {on[0].told(self.graph)}", kink)
        left, right, error = slopes
        low, high, middle = min(left, right), max(left, right), left / 2 + right / 2
        slack = self.tolerance * max(abs(low), abs(high)) + 3 * error
        if not low - slack <= derived <= high + slack:
            # roundings that cross the kink are not what is forgiven here
            slack += min(self.rounding(spot), FUZZ * self.epsilon * self._usual(spot))
        sides = f"one-sided slopes {left:.6g} and {right:.6g}"
        told = f"on the kink of {on[0].told(self.graph)}; {sides}"
        if high - low <= slack and abs(derived - middle) <= 2 * slack:
            jump = self._jump(spot, middle)
            if jump:
                more = f"{told} agree, but the value jumps by {jump:.6g}"
                return Finding(middle, AT_KINK, more, kink)
            return Finding(middle, CORRECT, f"{told} agree", kink, 2 * slack)
        if low - slack <= derived <= high + slack:
            return Finding(middle, AT_KINK, told, kink)
        jump = self._jump(spot, middle)
        lone = any(crossing.lone for crossing in on)
        if (len(on) > 1 or jump or lone) and self._is_convention(spot, on, slack):
            why = f"{len(on)} kinks meet" if len(on) > 1 else "neither side takes its branch"
            why = f"the value jumps by {jump:.6g}" if jump else why
            more = f"{told}; {why}, and the conventions there allow {derived:.6g}"
            return Finding(middle, AT_KINK, more, kink)
        return Finding(middle, WRONG, f"{told}, and {derived:.6g} is outside", kink)

    def _jump(self, spot: Spot, slope: float) -> float:
        """What the value jumps by at a point with a slope; 0 where it is continuous."""
        step = max(1e-5, 4 * FUZZ * self.epsilon) * spot.scale
        steps = step * np.array([-1, -0.01, 0.01, 1])
        ends = self.floats.along(spot, steps)
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
        if self.method != "digits" and (self.cost > CHEAP or not self.digital):
            return _float_sides(self, spot)
        key = spot.leaf, spot.place
        if key not in self._sided:
            self._sided[key] = _digital_sides(self, spot)
        slopes = self._sided[key]
        if slopes is None:
            return None
        left, right, error = (float(part[spot.output]) for part in slopes)
        return left, right, error


def _digital_sides(court: Court, spot: Spot) -> Sides | None:
    """The one-sided slopes of every output: their neighbours are the same."""
    precision = SIDED + court.hood.further(spot.scale)
    shift = context(precision).mpf(2 * FUZZ * court.epsilon) * spot.scale  # not 0 at 5e-324
    sides, errors = [], np.zeros(len(court.base))
    for side in (-shift, shift):
        places = [
            digits.differences(
                *(court.hood, spot.leaf, spot.position, shift * digits.step_of(SIDED)),
                *(precision, times * side),
            )
            for times in (1, 2, 3)
        ]
        if any(place is None for place in places):
            return None
        near, middle, far = places
        sides.append((3 * near - 3 * middle + far).astype(float))  # a parabola, at the kink
        bend = np.abs((near - 2 * middle + far).astype(float))  # what a line there would miss
        size = np.abs([place.astype(float) for place in places]).max(axis=0)
        errors = np.maximum(errors, bend + 1e-25 * size)
    return sides[0], sides[1], errors


def _float_sides(court: Court, spot: Spot) -> tuple[float, float, float] | None:
    """(left slope, right slope, error) in floats."""
    step = max(1e-5, 4 * FUZZ * court.epsilon) * spot.scale
    values = court.floats.along(spot, step * np.array([-1.0, -2.0, -3.0, 1.0, 2.0, 3.0]))
    base = court.base[spot.output]
    (left, below), (right, above) = (
        one_sided(values[:3], -step, base),
        one_sided(values[3:], step, base),
    )
    if not np.isfinite(left + right):
        return None
    return float(left), float(right), float(max(below, above))


def unmoved(court: Court, group: Group, places: Any, still: Any) -> Any:
    """Which places of a group, (outputs, places), the rules too say nothing moves with.

    Emitted code carries a tangent along all of them forward; what it does not clear, and small
    graphs, are interpreted.
    """
    if court.hood.emitted and len(still) == 1 and still.any():
        along = np.zeros(group.x.size)
        here = places[still[0]]
        # no combination of cosines of whole numbers with rational factors is 0, so no parts cancel
        along[here] = np.cos(np.arange(1, len(here) + 1))
        if carried(court.hood, group, along) == 0:
            return still
    found = still.copy()
    for leaf, (begin, end) in zip(group.leaves, group.spans, strict=True):
        here = (begin <= places) & (places < end)
        if still[:, here].any():
            found[:, here] &= court.rule(leaf)[:, places[here] - begin] == 0
    return found


def _first_bad(hood: Neighbourhood) -> str:
    """The first node that has no finite value, in words."""
    graph = hood.graph
    evaluation = Evaluation(graph, Numbers(hood.sizes), dict(hood.fixed), {})
    with np.errstate(all="ignore"):
        for node in sorted(needed_nodes(graph, hood.outputs)):
            if not np.isfinite(as_float(evaluation.value(node))).all():
                return f": the first is {graph.names[node]} = {formula_text(graph, node)}"
    return ""


def _hidden_kink(sides: tuple[float, float], derived: float, tolerance: float) -> Finding | None:
    """The verdict on a slope between two that differ; None if they do not, or it lies outside."""
    low, high = sorted(sides)
    slack = tolerance * max(abs(low), abs(high))
    if high - low <= 4 * slack or not low - slack <= derived <= high + slack:
        return None
    told = f"one-sided slopes {sides[0]:.6g} and {sides[1]:.6g} in many digits"
    return Finding(low / 2 + high / 2, AT_KINK, f"on a kink that floats do not see; {told}")


def _distance(near: Sequence[kinks.Crossing]) -> float | None:
    """How far the nearest kink is."""
    return abs(near[0].distance) if near else None


def _lost(derived: float, measured: float) -> int:
    """The decimal digits that rounding has cost."""
    relative = abs(derived - measured) / max(abs(measured), 1e-300)
    return int(np.clip(np.ceil(16 + np.log10(max(relative, 1e-16))), 0, 16))
