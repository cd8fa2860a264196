"""Points: those a user gave, or points drawn from the domains of the functions on the way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra.arithmetic import Numbers
from ..algebra.exact import Undefined, as_float
from ..derive.evaluation import Evaluation
from ..derive.request import Request
from ..errors import GraphcError, listing
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS, REAL
from .needs import needed_nodes, needed_rows
from .rounding import Rounding
from .schemes import EPSILON

TRIES = 200  # for each point wanted
ROUNDINGS = 3  # with which each point is tried
# The intervals of these records are for sampling alone: they have values outside.
SAMPLED = ("tan", "atan2", "leaky_relu", "clip")
UNKNOWN_SIZE = 3  # of an axis that has only a name


@dataclass(frozen=True)
class Point:
    """Values of the leaves, and the sizes that have names."""

    values: dict[GraphRow, Any]
    sizes: dict[str, int]


def given(graph: Structure, at: Mapping[str, Any], outputs: Sequence[GraphRow]) -> list[Point]:
    """The point that a user gave; one for each element if scalars were given as arrays."""
    request = Request(graph, at, needed=needed_nodes(graph, outputs))
    asked = request.evaluation.values
    known = {row: as_float(value) for row, value in asked.items()}
    if any(isinstance(value, Undefined) for value in asked.values()):
        raise GraphcError("at: a value is not a finite real number")
    for row, value in known.items():
        if value is not asked[row] and not np.isfinite(value).all():  # an exact number
            raise GraphcError(
                f"{graph.label(row)} is outside the range of floats, in which checks are made; "
                "give a smaller number"
            )
    if graph.has_tensors or not request.shape:
        sizes = dict(getattr(request.evaluation.algebra, "sizes", {}))
        return [Point(known, sizes)]
    wide = {row: np.broadcast_to(value, request.shape).ravel() for row, value in known.items()}
    count = math.prod(request.shape)
    return [Point({row: float(v[i]) for row, v in wide.items()}, {}) for i in range(count)]


def is_complete(graph: Structure, outputs: Sequence[GraphRow]) -> bool:
    """Whether the declaration gave every value that the outputs need."""
    leaves = set(graph.leaves()) & needed_nodes(graph, outputs)
    return leaves <= set(graph.given)


def drawn(
    graph: Structure,
    count: int,
    rng: Any,
    outputs: Sequence[GraphRow],
    at: Mapping[str, Any] | None,
    epsilon: float = EPSILON,
) -> tuple[list[Point], int]:
    """Points at which everything on the way is finite and inside its domain; how many were not.

    The scale changes from point to point, from a hundredth to a hundred, so that saturated and
    clipped parts of functions are reached. Values in `at` are kept; those given at the declaration
    are one point among many, and only their sizes are.
    """
    generator = np.random.default_rng(rng)
    needed = needed_nodes(graph, outputs)
    fixed = _fixed(graph, at or {})
    leaves = [row for row in graph.leaves() if row in needed and row not in fixed]
    sizes: dict[str, int] = {}
    for row, value in {**graph.given, **fixed}.items():
        sizes.update(
            (declared, size)
            for declared, size in zip(graph.shape(row), np.shape(value), strict=False)
            if isinstance(declared, str)
        )
    for row in leaves:
        for size in graph.shape(row):
            if isinstance(size, str):
                sizes.setdefault(size, UNKNOWN_SIZE)
    ranges = _ranges(graph, leaves)
    found: list[Point] = []
    refused = 0
    for trial in range(TRIES * max(count, 1)):
        if len(found) == count:
            break
        scale = scale_of(generator, trial)
        values = dict(fixed)
        for row in leaves:
            shape = tuple(sizes.get(str(size), size) for size in graph.shape(row))
            values[row] = draw(generator, shape, scale, ranges[row])
        if _is_inside(graph, outputs, values, sizes, epsilon):
            found.append(Point(values, sizes))
        else:
            refused += 1
    if not found and count:
        names = listing(graph.names[row] for row in leaves)
        raise GraphcError(
            f"no point was found at which all values are finite (drawn: {names}); give at={{...}}"
        )
    return found, refused


def scale_of(generator: Any, trial: int) -> float:
    """Every fourth point has ordinary size; the others are small, larger and large in turn."""
    low, high = ((0, 0), (-2, 0), (0, 1), (1, 2))[trial % 4]
    return float(10.0 ** generator.uniform(low, high))


def draw(generator: Any, shape: Sequence[Any], scale: float, interval: tuple[float, float]) -> Any:
    """Random values of a scale inside an open interval."""
    low, high = interval
    size = tuple(int(n) for n in shape)
    if math.isfinite(low) and math.isfinite(high):
        values = low + (high - low) * generator.uniform(0.01, 0.99, size)
    elif math.isfinite(low):
        values = low + scale * np.abs(generator.standard_normal(size)) + 1e-3 * scale
    elif math.isfinite(high):
        values = high - scale * np.abs(generator.standard_normal(size)) - 1e-3 * scale
    else:
        values = generator.standard_normal(size)
        values = scale * (values + np.where(values < 0, -0.5, 0.5))  # as large as the scale says
    return values if size else float(values)


def _fixed(graph: Structure, at: Mapping[str, Any]) -> dict[GraphRow, Any]:
    if not at:
        return {}
    values = Request(graph, at, needed=()).evaluation.values
    named = {graph.row(name) for name in at if name in graph.rows}
    return {row: as_float(value) for row, value in values.items() if row in named}


def _ranges(graph: Structure, leaves: Sequence[GraphRow]) -> dict[GraphRow, tuple[float, float]]:
    """The domain of each leaf, as far as the functions applied to it directly say."""
    found = dict.fromkeys(leaves, REAL)
    for operand, _, (low, high) in _domains(graph):
        if operand in found:
            old = found[operand]
            found[operand] = (max(old[0], low), min(old[1], high))
    return {row: pair if pair[0] < pair[1] else REAL for row, pair in found.items()}


def _domains(graph: Structure) -> Iterator[tuple[GraphRow, GraphRow, tuple[float, float]]]:
    """(operand, row, interval) of each operand of a function that does not take every number."""
    for row, op in zip(graph.in_order(), graph.ops, strict=True):
        if op not in FUNCTIONS or op in ("div", "ratio_or_0"):
            continue  # a divisor may be negative
        if op == "power" and float(graph.settings(row)["exponent"]).is_integer():
            continue
        for operand, (low, high) in zip(graph.operands[row], FUNCTIONS[op].domain, strict=False):
            if math.isfinite(low) or math.isfinite(high):
                yield operand, row, (low, high)


def _is_inside(
    graph: Structure,
    outputs: Sequence[GraphRow],
    values: Mapping[GraphRow, Any],
    sizes: Mapping[str, int],
    epsilon: float,
) -> bool:
    """Whether everything the outputs need is finite there, and inside the domain of its function.

    However it is rounded: tanh(20) is 1.0 in floats, and asin has no slope there.
    """
    needed = set(needed_rows(graph, outputs))
    inside = [
        (operand, *interval)
        for operand, row, interval in _domains(graph)
        if row in needed and graph.ops[row] not in SAMPLED
    ]
    angles = [graph.operands[row] for row in needed if graph.ops[row] == "atan2"]
    generator = np.random.default_rng(0)
    rounded = [Rounding(sizes, epsilon, generator) for _ in range(ROUNDINGS)]
    for algebra in (Numbers(sizes), *rounded):
        evaluation = Evaluation(graph, algebra, dict(values), {})
        with np.errstate(all="ignore"):
            for row in outputs:
                evaluation.value(row)
            known = {row: as_float(value) for row, value in evaluation.values.items()}
            if not all(bool(np.isfinite(value).all()) for value in known.values()):
                return False
            if any(((known[y] == 0) & (known[x] == 0)).any() for y, x in angles):
                return False
            for operand, low, high in inside:
                if not ((low < known[operand]) & (known[operand] < high)).all():
                    return False
    return True
