"""What is checked is what is shipped: derivatives (and values) of the emitted code at a point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..algebra.exact import as_float
from ..errors import GraphcError
from ..program.compiling import compile_graph
from ..structure.kept import once
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from . import digits
from .neighbourhood import Group, Neighbourhood
from .rounding import Errors, plain
from .verdicts import WRONG, Row


def derivatives(
    graph: Structure, hood: Neighbourhood, leaves: Sequence[GraphRow], dtype: str
) -> tuple[dict[GraphRow, Any], list[Row], list[str]]:
    """{leaf: (output elements, leaf elements)}, rows on values that differ, and notes."""
    try:
        with np.errstate(all="ignore"):
            found, values = _compiled(graph, hood, leaves, dtype)
    except GraphcError as error:
        return _interpreted(graph, hood, leaves), [], [f"not compiled: {error}"]
    except Exception as error:  # what is shipped must run
        told = f"the emitted code raised {type(error).__name__}: {error}"
        name = graph.names[hood.outputs[0]]
        row = Row(name, (), np.nan, float(hood.base[0]), WRONG, told, name)
        return _interpreted(graph, hood, leaves), [row], []
    return found, _value_rows(graph, hood, values, dtype), []


def _compiled(
    graph: Structure, hood: Neighbourhood, leaves: Sequence[GraphRow], dtype: str
) -> tuple[dict[GraphRow, Any], list[Any]]:
    names = [graph.names[leaf] for leaf in leaves]
    parts: dict[GraphRow, list[Any]] = {leaf: [] for leaf in leaves}
    values: list[Any] = []
    sizes = [hood.point[leaf].size for leaf in leaves]
    for row in hood.outputs:
        single = all(size == 1 for size in hood.shape(row))
        want = "value_and_grad" if single else "jacobian"
        function = _function(graph, row, leaves, want, dtype)
        needed = _arguments(hood, function.arguments)
        if single:
            value, gradient = function(**needed)
            values.append(np.ravel(value))
            found = [np.reshape(gradient[name], (1, -1)) for name in names]
        else:
            values.append(None)
            matrix = np.asarray(function(**needed), float)
            found = np.split(matrix, np.cumsum(sizes)[:-1], axis=1)
        for leaf, part in zip(leaves, found, strict=True):
            parts[leaf].append(part.astype(float, copy=False))
    whole = len(hood.outputs) == 1
    return {leaf: p[0] if whole else np.concatenate(p) for leaf, p in parts.items()}, values


def _arguments(hood: Neighbourhood, names: Iterable[str]) -> dict[str, Any]:
    """The leaves of a point that a function takes, by name."""
    rows = {name: hood.graph.rows[name] for name in names if name in hood.graph.rows}
    return {name: hood.fixed[row] for name, row in rows.items() if row in hood.fixed}


def _function(
    graph: Structure, row: GraphRow, leaves: Sequence[GraphRow], want: str, dtype: str
) -> Any:
    """The compiled function, made once per graph and question."""
    names = [graph.names[leaf] for leaf in leaves]
    return once(
        graph,
        ("emitted", row, tuple(leaves), want, dtype),
        lambda: compile_graph(graph, graph.names[row], names, want, dtype=dtype),
    )


def carried(hood: Neighbourhood, group: Group, along: Any) -> float:
    """The tangent of the one output along a direction of a group, by emitted forward code.

    The rules alone: without the derivatives that somebody wrote. NaN: it cannot be emitted.
    """
    graph = hood.graph
    of, names = graph.names[hood.outputs[0]], [graph.names[leaf] for leaf in group.leaves]
    try:
        function = once(
            graph,
            ("carried", hood.outputs, group.leaves),
            lambda: compile_graph(plain(graph), of, names, "jvp", dtype="float64"),
        )
        parts = group.apart(along).values()
        tangents = {f"{name}_dot": part for name, part in zip(names, parts, strict=True)}
        with np.errstate(all="ignore"):
            return float(function(**_arguments(hood, function.arguments), **tangents)[1])
    except GraphcError:
        return np.nan


def _interpreted(
    graph: Structure, hood: Neighbourhood, leaves: Sequence[GraphRow]
) -> dict[GraphRow, Any]:
    """The same by the interpreter, for what cannot be compiled."""
    found: dict[GraphRow, list[Any]] = {leaf: [] for leaf in leaves}
    for output in range(len(hood.base)):
        adjoints = digits.derived(graph, hood, output)
        for leaf in leaves:
            size = hood.point[leaf].size
            value = adjoints.get(leaf)
            flat = np.zeros(size) if value is None else np.ravel(as_float(value)).astype(float)
            found[leaf].append(np.broadcast_to(flat, (size,)))
    return {
        leaf: np.array(rows).reshape(len(rows), hood.point[leaf].size)
        for leaf, rows in found.items()
    }


def _value_rows(
    graph: Structure, hood: Neighbourhood, values: Sequence[Any], dtype: str
) -> list[Row]:
    """A row for each output whose emitted value is not the value of the graph."""
    rows = []
    expected = hood.base
    place = 0
    for row, value in zip(hood.outputs, values, strict=True):
        size = int(np.prod(hood.shape(row), dtype=int))
        if value is not None:
            here, there = float(value[0]), float(expected[place])
            limit = 1e3 * float(np.finfo(dtype).eps) * max(abs(here), abs(there), 1e-300)
            if np.isfinite(here) and np.isfinite(there) and abs(here - there) > limit:
                exact = digits.value(hood, place)
                limit += float(Errors(hood, float(np.finfo(dtype).eps)).values[place])
                if exact is not None and abs(here - exact) > limit:
                    told = "the emitted code computes another value than the graph"
                    name = graph.names[row]
                    rows.append(Row(name, (), here, exact, WRONG, told, name))
        place += size
    return rows
