"""Highlighted paths: which nodes and edges are drawn with a thick line, and how thick."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ..algebra.exact import as_float
from ..derive.pathwise import PathSum, Term
from ..errors import GraphcError
from ..structure.rows import GraphRow
from ..structure.structure import Structure

THICK, THICKER = 2.0, 3.5  # of the least and of the most important path


@dataclass
class Highlight:
    """Line widths of nodes (by row) and of (source, target) pairs."""

    nodes: dict[GraphRow, float] = field(default_factory=dict)
    edges: dict[tuple[GraphRow, int], float] = field(default_factory=dict)


def highlighted(graph: Structure, wanted: Any) -> Highlight:
    """The line widths for a node, a path, several paths, or the result of top_paths()."""
    found = Highlight()
    paths = _paths(graph, wanted)
    largest = max((size for _, size in paths), default=0.0)
    for path, size in paths:
        width = THICK + (THICKER - THICK) * (size / largest if largest else 1.0)
        rows = [graph.row(name) for name in path]
        for row in rows:
            found.nodes[row] = max(found.nodes.get(row, 0.0), width)
        for source, target in pairwise(rows):
            if source not in graph.formula(target).sources:
                raise GraphcError(
                    f"highlight: there is no edge from {graph.label(source)} to "
                    f"{graph.label(target)}; give the names along a path, as paths() does"
                )
            pair = source, target
            found.edges[pair] = max(found.edges.get(pair, 0.0), width)
    return found


def _paths(graph: Structure, wanted: Any) -> list[tuple[Sequence[Any], float]]:
    """(path, importance) of what was asked for."""
    if wanted is None:
        return []
    if isinstance(wanted, PathSum):
        return [path for term in wanted.terms for path in _paths(graph, term)]
    if isinstance(wanted, Term):
        return [(wanted.path, _size(wanted.product))]
    if isinstance(wanted, str) or hasattr(wanted, "name"):
        return [([wanted], 1.0)]
    if not isinstance(wanted, Iterable):
        raise GraphcError(f"highlight= takes names of nodes, or paths, not {type(wanted).__name__}")
    items = list(wanted)
    if all(isinstance(item, str) or hasattr(item, "name") for item in items):
        return [(items, 1.0)]
    return [path for item in items for path in _paths(graph, item)]


def _size(product: Any) -> float:
    try:
        return abs(float(as_float(product)))
    except (TypeError, ValueError):  # a symbol
        return 1.0
