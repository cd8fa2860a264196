"""References of many digits: slopes of the graph itself, as many digits as cancellation needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..algebra.exact import Masked, Undefined
from ..derive.evaluation import Evaluation
from ..derive.hops import into
from ..errors import GraphcError
from ..structure.paths import sweep
from ..structure.reach import upstream
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from .neighbourhood import Digits, Neighbourhood, context, flat, to_digits

PRECISIONS = (50, 100, 200, 400)
VERIFIED = 1e-18  # of a derivative, or of a millionth of what rounding does to it in floats


def step_of(digits: int) -> Any:
    """The step of central differences, as a part of the scale: what is left are half the digits."""
    return context(digits).mpf(10) ** (-2 * digits // 5)


def slope(
    hood: Neighbourhood,
    leaf: GraphRow,
    place: tuple[int, ...],
    output: int,
    scale: float,
    enough: Callable[[float], float],
    distance: float = math.inf,
) -> tuple[float, float, int] | None:
    """(the slope of an output along one element, its error, digits); None where there is none.

    The digits are doubled until two precisions agree to within what is enough. At the end of a
    domain it is the slope from the side that has values.
    """
    last: Any = None
    further = hood.further(scale)
    for digits in PRECISIONS:
        number = context(digits + further).mpf
        widest = min(number(distance) / 8, number(scale))
        step = step_of(digits) * widest
        slopes = differences(hood, leaf, place, step, digits + further)
        if slopes is None:
            return None
        found = slopes[output]
        if last is not None:
            error = float(abs(found - last) + hood.rounded(digits + further) / step)
            if error <= enough(float(found)):
                break
        last = found
    return float(found), error, digits


def differences(
    hood: Neighbourhood,
    leaf: GraphRow,
    place: tuple[int, ...],
    step: Any,
    digits: int,
    shift: Any = 0,
) -> Any:
    """The slopes of all outputs by neighbours a step away, as an array of objects; or None.

    From one side where the other has no values.
    """

    def values(places: tuple[int, ...], step: Any) -> list[Any] | None:
        found = [
            hood.digital({leaf: _single(hood, leaf, place, shift + k * step)}, digits)
            for k in places
        ]
        whole = [np.array(one, dtype=object) for one in found if one is not None]
        return whole if len(whole) == len(found) else None

    ends = values((-1, 1), step)
    if ends is not None:
        return (ends[1] - ends[0]) / (2 * step)
    for side in (step, -step):
        ends = values((0, 1, 2, 3), side)
        if ends is not None:
            base, first, second, third = ends
            return (-11 * base + 18 * first - 9 * second + 2 * third) / (6 * side)
    return None


def sides(
    hood: Neighbourhood, leaf: GraphRow, place: tuple[int, ...], output: int, scale: float
) -> tuple[float, float] | None:
    """The slopes just before a point and just after it; None where a value is missing."""
    digits = PRECISIONS[0] + hood.further(scale)
    step = step_of(PRECISIONS[0]) * context(digits).mpf(scale)
    found = [hood.digital({leaf: _single(hood, leaf, place, k * step)}, digits) for k in (-1, 0, 1)]
    if any(values is None for values in found):
        return None
    below, here, above = (values[output] for values in found if values is not None)
    return float((here - below) / step), float((above - here) / step)


def _single(hood: Neighbourhood, leaf: GraphRow, place: tuple[int, ...], offset: Any) -> Any:
    """An offset of one element of a leaf."""
    shape = hood.point[leaf].shape
    if not shape:
        return offset
    offsets = np.zeros(shape, dtype=object)
    offsets[place] = offset
    return offsets


def value(hood: Neighbourhood, output: int) -> float | None:
    """An output element to 50 digits, as a float; None where it has no value."""
    found = hood.digital({}, PRECISIONS[0])
    return None if found is None else float(found[output])


def adjoints(
    graph: Structure, evaluation: Evaluation, seeds: Mapping[GraphRow, Any]
) -> dict[GraphRow, Any]:
    """{row: adjoint} of every node with a path to a seed, in the evaluation's algebra."""
    order = sorted(upstream(graph, seeds), reverse=True)
    return sweep(
        order, lambda node: into(graph, node), dict(seeds), evaluation.pull, evaluation.add
    )


def seed_of(hood: Neighbourhood, output: int) -> dict[GraphRow, Any]:
    """The seed that picks one element of the outputs."""
    for row in hood.outputs:
        shape = hood.shape(row)
        size = math.prod(shape)
        if output < size:
            if not shape:
                return {row: 1}
            seed = np.zeros(shape)
            seed.flat[output] = 1.0
            return {row: seed}
        output -= size
    raise IndexError(output)


def derived(graph: Structure, hood: Neighbourhood, output: int) -> dict[GraphRow, Any]:
    """{leaf: adjoint} of one output element by the graph's own rules, in floats."""
    from ..algebra.arithmetic import Numbers

    evaluation = Evaluation(graph, Numbers(hood.sizes), dict(hood.fixed), {})
    try:
        with np.errstate(all="ignore"):
            found = adjoints(graph, evaluation, seed_of(hood, output))
    except GraphcError:  # a node with kink='error' sits on its kink
        return {}
    return {row: _plain(found[row]) for row in hood.point if row in found}


def _plain(value: Any) -> Any:
    return value.values if type(value) is Masked else value


class Formulas(Evaluation):
    """Local derivatives of the formulas: a user's own function is measured, not believed."""

    def partials(self, row: GraphRow, node: GraphRow) -> list[Any]:
        """The partial of one operation by each operand."""
        graph, algebra = self.graph, self.algebra
        op, settings = graph.ops[row], graph.settings(row)
        if op not in FUNCTIONS or FUNCTIONS[op].origin != "user":
            return super().partials(row, node)
        assert isinstance(algebra, Digits)
        arguments = [self.value(operand) for operand in graph.operands[row]]
        found = []
        for place, argument in enumerate(arguments):
            largest = max((abs(x) for x in flat(argument) if type(x) is not Undefined), default=0)
            step = step_of(algebra.context.dps) * (largest or 1)
            ends = [
                algebra.apply(
                    op,
                    [
                        algebra.apply("add", (arg, side), {}) if k == place else arg
                        for k, arg in enumerate(arguments)
                    ],
                    settings,
                )
                for side in (-step, step)
            ]
            gap = algebra.apply("sub", (ends[1], ends[0]), {})
            found.append(algebra.apply("div", (gap, 2 * step), {}))
        return found


class Gradients:
    """The derivatives of the outputs to 50 digits, and which of them differences confirm.

    Those of an output come from one sweep over the formulas; a difference of values along a
    direction of random elements is right for all of them only if each of them is.
    """

    def __init__(self, hood: Neighbourhood, rounding: Mapping[GraphRow, Any]) -> None:
        self.hood = hood
        self.rounding = rounding  # {row: (outputs, elements)}: what it may do to each in floats
        self.scales = {
            row: float(np.max(np.abs(point), initial=0.0)) or 1.0
            for row, point in hood.point.items()
        }
        self.digits = PRECISIONS[0] + hood.further(min(self.scales.values()))
        self.swept: dict[int, dict[GraphRow, Any]] = {}
        self.confirmed: dict[tuple[int, tuple[GraphRow, ...]], bool] = {}
        self._differences: dict[tuple[GraphRow, ...], tuple[dict[GraphRow, Any], Any]] = {}
        plain = hood.graph
        if plain.partials:
            plain = plain.duplicate()
            plain.partials = {}
        known = dict(hood.exact(self.digits))
        self._evaluation = Formulas(plain, hood.algebra(self.digits), known, {})

    def at(self, output: int, leaf: GraphRow, place: tuple[int, ...]) -> tuple[float, float] | None:
        """(the derivative by one element, its error); None where it is not confirmed."""
        leaves = tuple(row for row in self.hood.point if row in self.hood.fixed)
        together = leaves if leaf in leaves else (leaf,)
        if not any(self._is_confirmed(output, rows) for rows in (together, (leaf,))):
            return None
        found, shape = self.sweep(output)[leaf], self.hood.point[leaf].shape
        if isinstance(found, np.ndarray) and found.ndim:
            found = found[place]
        rounding = float(self.rounding[leaf][output].reshape(shape)[place])
        return float(found), VERIFIED * (abs(float(found)) + 1e6 * rounding)

    def sweep(self, output: int) -> dict[GraphRow, Any]:
        """{row: derivatives} of one output element by everything that can be moved."""
        if output not in self.swept:
            evaluation = self._evaluation
            seed = seed_of(self.hood, output)
            seeds = {row: to_digits(part, self.digits) for row, part in seed.items()}
            try:
                found = adjoints(evaluation.graph, evaluation, seeds)
            except GraphcError:  # a node with kink='error' sits on its kink
                found = {}
            self.swept[output] = {row: _plain(found.get(row, 0)) for row in self.hood.point}
        return self.swept[output]

    def _is_confirmed(self, output: int, rows: tuple[GraphRow, ...]) -> bool:
        if (output, rows) not in self.confirmed:
            self.confirmed[output, rows] = self._confirm(output, rows)
        return self.confirmed[output, rows]

    def _confirm(self, output: int, rows: tuple[GraphRow, ...]) -> bool:
        """Whether a difference along a random direction of these rows is what the sweep says."""
        directions, measured = self._measured(rows)
        if measured is None:
            return False
        expected = allowed = context(self.digits).mpf(0)
        for row in rows:
            shape, errors = self.hood.point[row].shape, self.rounding[row][output]
            slopes = np.broadcast_to(np.asarray(self.sweep(output)[row], dtype=object), shape)
            if Undefined in set(map(type, slopes.flat)) or not np.isfinite(errors).all():
                return False
            for slope, along, error in zip(
                slopes.flat, flat(directions[row]), errors.tolist(), strict=True
            ):
                if slope or error:
                    expected += slope * along
                    allowed += (abs(slope) + 1e6 * error) * abs(along)
        allowed *= VERIFIED
        return bool(abs(measured[output] - expected) <= allowed)

    def _measured(self, rows: tuple[GraphRow, ...]) -> tuple[dict[GraphRow, Any], Any]:
        """A random direction of these rows, and the slope of every output along it; or None."""
        if rows not in self._differences:
            generator, step = np.random.default_rng(0), step_of(PRECISIONS[0])
            directions = {}
            for row in rows:
                shape, scale = self.hood.point[row].shape, self.scales[row]
                signs = generator.choice([-scale, scale], shape)
                directions[row] = to_digits(signs * generator.uniform(1, 2, shape), self.digits)
            below, above = (
                self.hood.digital({row: d * offset for row, d in directions.items()}, self.digits)
                for offset in (-step, step)
            )
            slopes = None
            if below is not None and above is not None:
                slopes = [(b - a) / (2 * step) for a, b in zip(below, above, strict=True)]
            self._differences[rows] = directions, slopes
        return self._differences[rows]


def element(value: Any, place: tuple[int, ...]) -> Any:
    """One element as a number; None where there is none."""
    found = value[place] if isinstance(value, np.ndarray) and value.ndim else value
    if isinstance(found, np.ndarray):
        found = found[()]
    return None if found is None or type(found) is Undefined else found
