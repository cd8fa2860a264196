"""The point a page starts at: what was given, and numbers that work for the rest."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import names as naming
from ..algebra.exact import Undefined, as_float
from ..derive.request import Request, free_symbols
from ..errors import GraphcError
from ..structure.rows import GraphRow
from ..structure.structure import Structure

STARTS = ((0.5, 0.1), (1.5, 0.1), (-0.5, -0.1), (0.05, 0.01), (10.0, 1.0))
LARGEST = 20_000  # elements of all nodes together


@dataclass(frozen=True)
class Start:
    """The values that come from outside, by name, and the sizes that they give names to."""

    given: dict[str, Any]  # floats and arrays of floats
    sizes: dict[str, int]


def start(graph: Structure, at: Mapping[str, Any] | None) -> Start:
    """The given values and those of `at`; what is missing gets a number at which all is finite."""
    if at is not None and not isinstance(at, Mapping):
        raise GraphcError(f"at= is a dict of names and values, not {type(at).__name__}")
    point = dict(at or {})
    known = {naming.spelling(name) if isinstance(name, str) else name for name in point}
    known |= {copy for name in known for copy in graph.copies.get(name, ())}
    known |= {graph.names[row] for row in graph.given}
    missing = [row for row in graph.leaves() if graph.names[row] not in known]
    if any(op == "edges" for op in graph.ops):
        missing = []  # no value is needed
    free = [name for name in free_symbols(graph) if name not in known]
    sizes = _sizes(graph, point)
    first: Start | None = None
    for begin, step in STARTS:
        filled = dict(point)
        for number, row in enumerate(missing):
            shape = _resolved(graph, row, sizes)
            filled[graph.names[row]] = _wave(shape, number) if shape else _at(begin, step, number)
        filled |= {name: _at(begin, step, number) for number, name in enumerate(free)}
        found, finite = _checked(graph, filled)
        first = first or found
        if finite:
            return found
        if not missing and not free:
            break
    assert first is not None
    return first


def _at(begin: float, step: float, number: int) -> float:
    return round(begin + step * (number % 10), 6)


def _wave(shape: tuple[int, ...], number: int) -> Any:
    """An array of short numbers, no two neighbours alike."""
    size = math.prod(shape)
    return np.round(np.sin(np.arange(number + 1, number + 1 + size)), 2).reshape(shape)


def _sizes(graph: Structure, point: Mapping[str, Any]) -> dict[str, int]:
    """The named sizes that given arrays tell; what does not fit is told later."""
    found: dict[str, int] = {}
    arrays = {graph.names[row]: value for row, value in graph.given.items()} | dict(point)
    for name, value in arrays.items():
        row = graph.rows.get(naming.spelling(name)) if isinstance(name, str) else None
        if row is not None and not isinstance(value, str):
            try:
                shape = np.shape(value)
            except ValueError:  # a ragged list
                continue
            found.update(
                (size, real)
                for size, real in zip(graph.shape(row), shape, strict=False)
                if isinstance(size, str)
            )
    return found


def _resolved(graph: Structure, row: GraphRow, sizes: Mapping[str, int]) -> tuple[int, ...]:
    shape = graph.shape(row)
    unknown = [size for size in shape if isinstance(size, str) and size not in sizes]
    if unknown:
        raise GraphcError(
            f"the size {unknown[0]!r} of {graph.names[row]!r} is not known; give an array for "
            f"{graph.names[row]!r} with at={{...}}"
        )
    found = tuple(size if isinstance(size, int) else sizes[size] for size in shape)
    _check_size(graph, row, math.prod(found))
    return found


def _check_size(graph: Structure, row: GraphRow, elements: int) -> None:
    if elements > LARGEST:
        raise GraphcError(
            f"{graph.names[row]!r} has {elements} elements, and a page explores at most {LARGEST}; "
            "declare smaller tensors"
        )


def _checked(graph: Structure, point: Mapping[str, Any]) -> tuple[Start, bool]:
    """The point in floats, and whether every node is finite there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        request = Request(graph, point)
        evaluation = request.evaluation
        if request.shape:
            raise GraphcError(
                "a page explores one point at a time; give numbers instead of arrays in at={...}"
            )
        given: dict[str, Any] = {}
        for row in graph.leaves():
            if row in evaluation.values:
                given[graph.names[row]] = _floats(evaluation.values[row])
        given |= {name: _floats(value) for name, value in evaluation.symbols.items()}
        sizes = dict(getattr(evaluation.algebra, "sizes", {}))
        total = sum(np.size(value) for value in given.values())
        for row in graph.nodes():
            elements = math.prod(s if isinstance(s, int) else sizes[s] for s in graph.shape(row))
            _check_size(graph, row, elements)
            total += elements
        if total > LARGEST:
            raise GraphcError(
                f"the nodes have {total} elements in all, and a page explores at most {LARGEST}; "
                "declare smaller tensors or collapse() some nodes"
            )
        if any(op == "edges" for op in graph.ops):
            return Start(given, sizes), True
        floats = Request(graph, given).evaluation
        return Start(given, sizes), all(_is_finite(floats.value(row)) for row in graph.nodes())


def _floats(value: Any) -> Any:
    array = np.asarray(as_float(value), dtype=np.float64)
    return array if array.shape else float(array)


def _is_finite(value: Any) -> bool:
    if type(value) is Undefined:
        return False
    return bool(np.isfinite(np.asarray(as_float(value), dtype=np.float64)).all())
