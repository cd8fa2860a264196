"""A point at which an emitted module checks itself: the given values, or one that works."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra.arithmetic import NUMBERS, Numbers
from ..algebra.exact import Undefined, as_float
from ..algebra.rules import rule
from ..errors import GraphcError
from ..structure.rows import GraphRow
from ..structure.structure import CONDITIONAL, Structure
from ..table.functions import FUNCTIONS
from .program import Program, evaluate

SIZES = (3, 4, 5, 6, 7)  # of named sizes, in order
STARTS = ((0.3, 0.1), (0.7, 0.2), (1.3, 0.3), (-0.4, 0.15), (2.5, 0.4), (0.05, 0.01))
DISTANCE = 1e-3  # from a kink
LARGEST = 200_000  # elements of all arguments for which a point is looked for


@dataclass(frozen=True)
class Number:
    """A number."""

    value: float

    @property
    def text(self) -> str:
        """Code of NumPy that gives it."""
        return repr(self.value)


@dataclass(frozen=True)
class Wave:
    """An array without pattern: no two elements alike, of full rank; lifted: a stable matrix.

    Its elements are sines of squares: a matrix of sin(a*i + b*j) has rank 2.
    """

    shape: tuple[int, ...]
    place: int  # among the arguments
    lifted: bool

    @property
    def is_square(self) -> bool:
        return len(self.shape) == 2 and self.shape[0] == self.shape[1]

    @property
    def value(self) -> Any:
        first = self.place + 1
        wave = np.sin(np.arange(first, first + math.prod(self.shape)) ** 2).reshape(self.shape)
        if not self.lifted:
            return wave
        return wave + self.shape[0] * np.eye(self.shape[0]) if self.is_square else 1.5 + wave

    @property
    def text(self) -> str:
        first = self.place + 1
        wave = f"np.sin(np.arange({first}, {first + math.prod(self.shape)}) ** 2)"
        wave += f".reshape({self.shape})"
        if not self.lifted:
            return wave
        size = self.shape[0]
        return f"{wave} + {size} * np.eye({size})" if self.is_square else f"1.5 + {wave}"


@dataclass(frozen=True)
class Direction:
    """An array without pattern, along which an argument is moved."""

    shape: tuple[int, ...]
    place: int

    @property
    def text(self) -> str:
        end = self.place + math.prod(self.shape)
        return f"np.cos(np.arange({self.place}, {end})).reshape({self.shape})"


@dataclass(frozen=True)
class Point:
    """A value of every argument, and a direction."""

    at: Mapping[GraphRow, Number | Wave]  # leaf -> value
    along: Mapping[GraphRow, Number | Direction]


def find_point(
    graph: Structure,
    programs: Sequence[Program],
    leaves: Sequence[GraphRow],
    others: Sequence[GraphRow],
) -> Point | None:
    """A point at which the programs are finite and away from kinks, or None if none was found.

    The other leaves, seeds and tangents, are 1 while the point is tried.
    """
    everything = [*leaves, *others]
    named = sorted({s for row in everything for s in graph.shape(row) if isinstance(s, str)})
    sizes = {name: SIZES[i % len(SIZES)] for i, name in enumerate(named)}
    shapes = {
        row: tuple(s if isinstance(s, int) else sizes[s] for s in graph.shape(row))
        for row in everything
    }
    ones = {row: np.ones(shapes[row])[()] for row in others}
    if sum(math.prod(shape) for shape in shapes.values()) > LARGEST:
        return None
    distinct = {id(program): program for program in programs}.values()
    for at in candidates(graph, leaves, shapes):
        values = {row: part.value for row, part in at.items()} | ones
        given = {graph.names[row]: value for row, value in values.items()}
        if all(_works(program, given, sizes) for program in distinct):
            return Point(at, {row: _direction(shapes[row], i) for i, row in enumerate(leaves)})
    return None


def candidates(
    graph: Structure, leaves: Sequence[GraphRow], shapes: Mapping[GraphRow, tuple[int, ...]]
) -> Iterator[dict[GraphRow, Number | Wave]]:
    """Values of the leaves, without pattern: one after the other, until one works."""
    for start, step in STARTS:
        for given, lifted in ((True, False), (True, True), (False, False), (False, True)):
            values: dict[GraphRow, Number | Wave] = {}
            for place, row in enumerate(leaves):
                if given and row in graph.given and not np.ndim(graph.given[row]):
                    values[row] = Number(float(as_float(graph.given[row])))
                elif shapes[row]:
                    values[row] = Wave(shapes[row], place, lifted)
                else:
                    values[row] = Number(round(start + step * place, 3))
            yield values


def _direction(shape: tuple[int, ...], place: int) -> Number | Direction:
    if shape:
        return Direction(shape, place)
    return Number(round(float(np.cos(place)), 2))


def _works(program: Program, given: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
    try:
        values = evaluate(program, Numbers(sizes), given)
    except (GraphcError, ZeroDivisionError, ValueError):
        return False
    return all(map(_is_finite, values)) and not _near_kink(program, values)


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):  # most values of a large program
        return math.isfinite(value)
    if isinstance(value, (bool, np.bool_)):
        return True
    if type(value) is Undefined:
        return False
    return bool(np.all(np.isfinite(np.asarray(as_float(value), dtype=np.float64))))


def _near_kink(program: Program, values: Sequence[Any]) -> bool:
    """Whether differences around the point would cross a kink."""
    for row, op in zip(program.in_order(), program.ops, strict=True):
        if op not in FUNCTIONS or not program.operands[row] or op in CONDITIONAL:
            continue
        arguments = [*(values[o] for o in program.operands[row]), values[row]]
        for switch in rule(op, len(arguments) - 1, program.settings(row)).switches:
            distance = np.asarray(as_float(switch.run(NUMBERS, arguments)), dtype=np.float64)
            if np.any(np.abs(distance) < DISTANCE):
                return True
    return False
