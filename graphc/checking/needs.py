"""What the outputs of a graph are computed from, found once per graph."""

from __future__ import annotations

from collections.abc import Sequence

from ..structure.kept import once
from ..structure.reach import ancestors, upstream
from ..structure.rows import GraphRow
from ..structure.structure import Structure


def needed_rows(graph: Structure, outputs: Sequence[GraphRow]) -> list[GraphRow]:
    """The rows that the outputs are computed from, ascending."""
    key = ("needed rows", *outputs)
    found: list[GraphRow] = once(graph, key, lambda: ancestors(graph, outputs))
    return found


def needed_nodes(graph: Structure, outputs: Sequence[GraphRow]) -> frozenset[GraphRow]:
    """The nodes that the outputs are computed from, those of declared derivatives included."""
    key = ("needed nodes", *outputs)
    found: frozenset[GraphRow] = once(graph, key, lambda: frozenset(upstream(graph, outputs)))
    return found
