"""The formula of a node: the little DAG of unnamed rows between it and the names it mentions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .rows import GraphRow

if TYPE_CHECKING:
    from .structure import Structure


class Formula(NamedTuple):
    """What stands between a node and the names it mentions."""

    rows: tuple[GraphRow, ...]  # the unnamed rows and the node's own row, ascending
    sources: tuple[GraphRow, ...]  # source of each edge into the node, in order of mention
    passes: tuple[bool, ...]  # whether a derivative can pass the edge (gc.stop blocks it)
    edges: tuple[tuple[int, GraphRow], ...]  # (edge number, source) of those that it can pass


def formula_of(graph: Structure, node: GraphRow) -> Formula:
    """The rows and edges of one node."""
    names, operands = graph.names, graph.operands
    if node in graph.split:
        sources = [row for row in operands[node] if row in names]
        inside = [row for row in operands[node] if row not in names]
        passing = graph.ops[node] != "stop"
        edges = tuple(enumerate(sources)) if passing else ()
        return Formula((*inside, node), tuple(sources), (passing,) * len(sources), edges)
    order: dict[GraphRow, bool] = {}  # source -> whether a derivative passes, in order of mention
    seen: dict[GraphRow, bool] = {}
    stack: list[tuple[GraphRow, bool]] = [(node, True)]
    while stack:
        row, passing = stack.pop()
        if row != node and row in names:
            order[row] = order.get(row, False) or passing
            continue
        if seen.get(row) or (row in seen and not passing):
            continue
        seen[row] = passing
        passing = passing and graph.ops[row] != "stop"
        stack.extend((operand, passing) for operand in reversed(operands[row]))
    edges = tuple([(edge, row) for edge, row in enumerate(order) if order[row]])
    return Formula(tuple(sorted(seen)), tuple(order), tuple(order.values()), edges)
