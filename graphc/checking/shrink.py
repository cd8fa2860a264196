"""Shrinking: the smallest graph and the simplest point that still fail, as a test to paste."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..algebra.exact import as_float
from ..errors import GraphcError
from ..structure.reach import mentioned
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..write.formula import expression_text, source_text
from ..write.line import SOURCE
from .arguments import Arguments
from .needs import needed_nodes
from .neighbourhood import Neighbourhood
from .report import Report
from .verdicts import WRONG

SIMPLE = (0.0, 1.0, -1.0, 2.0, 0.5)  # values that are tried, simplest first
MOST_NODES, MOST_ELEMENTS = 200, 64


def shrunk_graph(graph: Structure, hood: Neighbourhood, report: Report, check: Any) -> str:
    """The test text; empty if no single node fails by itself."""
    blamed = [graph.row(edge.target) for edge in report.edges if edge.target is not None]
    nodes = dict.fromkeys([*blamed, *sorted(needed_nodes(graph, hood.outputs))[:MOST_NODES]])
    for node in nodes:
        if not graph.formula(node).sources:
            continue
        values = _values(graph, hood, node)
        if _fails(graph, node, values, check):
            return _test(*_simplest(graph, node, values, check))
    return ""


def _values(graph: Structure, hood: Neighbourhood, node: GraphRow) -> dict[GraphRow, Any]:
    """The values of what a node and its declared derivatives mention."""
    from ..algebra.arithmetic import Numbers
    from ..derive.evaluation import Evaluation

    evaluation = Evaluation(graph, Numbers(hood.sizes), dict(hood.fixed), {})
    own = [row for (target, _), row in graph.partials.items() if target == node]
    sources = {source for row in own for source in mentioned(graph, row)} - {node}
    rows = [*graph.formula(node).sources, *sorted(sources)]
    return {row: np.asarray(as_float(evaluation.value(row))) for row in dict.fromkeys(rows)}


def _text(graph: Structure, node: GraphRow, values: dict[GraphRow, Any]) -> str:
    """A graph of one node, its sources as inputs with given values."""
    lines = []
    for row, value in values.items():
        shape = f"[{','.join(map(str, value.shape))}]" if value.shape else ""
        lines.append(f"input {graph.names[row]}{shape} = {_literal(value.tolist())}")
    lines.append(f"{graph.names[node]} = {source_text(graph, node)}")
    sources = graph.formula(node).sources
    for (target, edge), row in graph.partials.items():
        if target == node:
            name = graph.names[sources[edge]]
            derivative = expression_text(graph, row, SOURCE)
            lines.append(f"d {graph.names[node]} / d {name} = {derivative}")
    return "\n".join(lines)


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return (
        str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
    )


def _fails(graph: Structure, node: GraphRow, values: dict[GraphRow, Any], check: Any) -> bool:
    from ..read.language import read

    small = type(graph)(graph.name)
    try:
        read(small, _text(graph, node, values))
        return bool(check(small).verdict == WRONG)
    except GraphcError:
        return False


def _simplest(
    graph: Structure, node: GraphRow, values: dict[GraphRow, Any], check: Any
) -> tuple[Structure, GraphRow, dict[GraphRow, Any]]:
    """The same failure at a point with simpler numbers."""
    for row, place in _places(values.items()):
        for simple in SIMPLE:
            other = {key: value.copy() for key, value in values.items()}
            other[row][place] = simple
            if _fails(graph, node, other, check):
                values = other
                break
    return graph, node, values


def _places(items: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, tuple[int, ...]]]:
    count = 0
    for key, value in items:
        for place in np.ndindex(value.shape):
            count += 1
            if count <= MOST_ELEMENTS:
                yield key, place


def _test(graph: Structure, node: GraphRow, values: dict[GraphRow, Any]) -> str:
    text = _text(graph, node, values).replace("\n", "\n    ")
    return (
        "The smallest case that still fails, as a test:\n\n"
        "import graphc as gc\n\n"
        f"def test_{graph.names[node] if graph.names[node].isascii() else 'shrunk'}():\n"
        f'    graph = gc.parse("""\n    {text}\n    """.replace("\\n    ", "\\n"))\n'
        "    gc.testing.assert_grad(graph)"
    )


def shrunk_function(function: Any, grad: Any, args: Arguments, report: Report) -> str:
    """The simplest point at which the same argument still fails, as a line to paste."""
    from .case import Case
    from .groups import Budget

    first = next(row for row in report.worst_rows() if row.verdict == WRONG or not report.ok)
    point = report.points[first.point] if report.points else {}
    if set(point) != set(args.moving):
        return ""  # too large to be shown
    values = {name: np.asarray(value, float) for name, value in point.items()}

    def fails(arrays: dict[str, Any]) -> bool:
        try:
            found = Case(function, grad, args, arrays, Budget(), 0).report(0)
        except GraphcError:
            return False
        return any(row.verdict == WRONG and row.name == first.name for row in found.rows)

    if not fails(values):
        return ""
    for name, place in list(_places(values.items())):
        for simple in SIMPLE:
            other = {key: value.copy() for key, value in values.items()}
            other[name][place] = simple
            if fails(other):
                values = other
                break
    shown = {name: value.tolist() for name, value in values.items()}
    text = repr(shown["x"]) if args.kind == "bare" else repr(shown)
    text = f"np.array({text})" if args.kind == "bare" and isinstance(shown["x"], list) else text
    return (
        "The simplest point that still fails:\n\n"
        f"gc.testing.assert_grad({getattr(function, '__name__', 'f')}, "
        f"{getattr(grad, '__name__', 'grad')}, {text})"
    )
