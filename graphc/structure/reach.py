"""What rows and nodes are computed from: each question is one walk against the arrows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress

from .paths import reached
from .rows import GraphRow, Row, Rows
from .structure import Structure


def ancestors(rows: Rows[Row], ends: Iterable[Row]) -> list[Row]:
    """The rows that these rows are computed from, themselves included, ascending."""
    operands, order = rows.operands, rows.in_order()
    needed = bytearray(len(order))
    for end in ends:
        needed[end] = True
    for row in reversed(order[: needed.rfind(True) + 1]):  # operands stand before what uses them
        if needed[row]:
            for operand in operands[row]:
                needed[operand] = True
    return list(compress(order, needed))


def expression(graph: Structure, row: GraphRow) -> set[GraphRow]:
    """The rows of an unnamed expression, and the named ones that it mentions."""
    names, operands = graph.names, graph.operands
    return reached([row], lambda here: () if here in names else operands[here])


def mentioned(graph: Structure, row: GraphRow) -> set[GraphRow]:
    """The named rows that an unnamed expression mentions."""
    return {here for here in expression(graph, row) if here in graph.names}


def origins(graph: Structure, *targets: GraphRow) -> set[GraphRow]:
    """The nodes from which a path leads to one of the targets, themselves included."""
    return reached(targets, lambda node: [source for _, source in graph.edges_of(node)])


def upstream(graph: Structure, nodes: Iterable[GraphRow]) -> set[GraphRow]:
    """The nodes that these are computed from (stopped ones included), themselves included."""
    own: dict[GraphRow, list[GraphRow]] = {}
    for (target, _), row in graph.partials.items():
        own.setdefault(target, []).append(row)

    def before(node: GraphRow) -> list[GraphRow]:
        declared = [source for row in own.get(node, ()) for source in mentioned(graph, row)]
        return [*graph.formula(node).sources, *declared]

    return reached(nodes, before)


def path_between(graph: Structure, source: GraphRow, target: GraphRow) -> set[GraphRow]:
    """The nodes on a path from source to target, both included."""
    below = {source}
    above = origins(graph, target)
    for node in sorted(above):
        if any(origin in below for _, origin in graph.edges_of(node)):
            below.add(node)
    return (above & below) | {source, target}
