"""A point at which an emitted module checks itself: the given values, or one that works."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..algebra.arithmetic import NUMBERS, Numbers
from ..algebra.exact import Undefined, as_float
from ..algebra.rules import rule
from ..errors import GraphcError
from ..shapes import Shape
from ..structure.structure import CONDITIONAL, Structure
from ..table.functions import FUNCTIONS
from .program import Program, evaluate

SIZES = (3, 4, 5, 6, 7)  # of named sizes, in order
STARTS = ((0.3, 0.1), (0.7, 0.2), (1.3, 0.3), (-0.4, 0.15), (2.5, 0.4), (0.05, 0.01))
DISTANCE = 1e-3  # from a kink
LARGEST = 200_000  # elements of all arguments for which a point is looked for


def point_texts(
    graph: Structure,
    programs: Sequence[Program],
    leaves: Sequence[int],
    others: Sequence[int],
    namespace: str,
) -> tuple[dict[int, str], dict[int, str]] | None:
    """{leaf: code of its value}, {leaf: code of a direction}, or None if no point was found.

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
    if sum(int(np.prod(shape)) for shape in shapes.values()) > LARGEST:
        return None
    distinct = {id(program): program for program in programs}.values()
    for texts, values in _candidates(graph, leaves, shapes):
        given = {graph.names[row]: value for row, value in (values | ones).items()}
        if all(_works(program, given, sizes) for program in distinct):
            spelt = {row: text.replace("np.", f"{namespace}.") for row, text in texts.items()}
            along = {row: _direction(shapes[row], i) for i, row in enumerate(leaves)}
            return spelt, {row: text.replace("np.", f"{namespace}.") for row, text in along.items()}
    return None


def _candidates(
    graph: Structure, leaves: Sequence[int], shapes: Mapping[int, Shape]
) -> Iterator[tuple[dict[int, str], dict[int, Any]]]:
    for start, step in STARTS:
        for given, lifted in ((True, False), (True, True), (False, False), (False, True)):
            texts: dict[int, str] = {}
            values: dict[int, Any] = {}
            for place, row in enumerate(leaves):
                shape = shapes[row]
                if given and row in graph.given and not np.ndim(graph.given[row]):
                    values[row] = float(as_float(graph.given[row]))
                    texts[row] = repr(values[row])
                elif shape:
                    texts[row], values[row] = _wave(shape, place, lifted)
                else:
                    values[row] = round(start + step * place, 3)
                    texts[row] = repr(values[row])
            yield texts, values


def _wave(shape: Any, place: int, lifted: bool) -> tuple[str, Any]:
    """An array without pattern: no two elements alike, of full rank; lifted: a stable matrix."""
    size = int(np.prod(shape))
    # squares: a matrix of sin(a*i + b*j) has rank 2
    text = f"np.sin(np.arange({place + 1}, {place + 1 + size}) ** 2).reshape({shape})"
    value = np.sin(np.arange(place + 1, place + 1 + size) ** 2).reshape(shape)
    if lifted and len(shape) == 2 and shape[0] == shape[1]:
        return f"{text} + {shape[0]} * np.eye({shape[0]})", value + shape[0] * np.eye(shape[0])
    if lifted:
        return f"1.5 + {text}", 1.5 + value
    return text, value


def _direction(shape: Any, place: int) -> str:
    """A direction without pattern."""
    if not shape:
        return repr(round(float(np.cos(place)), 2))
    size = int(np.prod(shape))
    return f"np.cos(np.arange({place}, {place + size})).reshape({shape})"


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
    for row, op in enumerate(program.ops):
        if op not in FUNCTIONS or not program.operands[row] or op in CONDITIONAL:
            continue
        arguments = [*(values[o] for o in program.operands[row]), values[row]]
        for switch in rule(op, len(arguments) - 1, program.settings(row)).switches:
            distance = np.asarray(as_float(switch.run(NUMBERS, arguments)), dtype=np.float64)
            if np.any(np.abs(distance) < DISTANCE):
                return True
    return False
