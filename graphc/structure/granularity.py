"""Granularity: the same rows under more names, or fewer; results do not change."""

from __future__ import annotations

from typing import TypeVar

from ..errors import GraphcError
from .reach import mentioned
from .rows import LEAVES, GraphRow
from .structure import Structure

S = TypeVar("S", bound=Structure)


def expand(graph: S) -> S:
    """A graph in which every operation is a node; derivatives are the same."""
    other = graph.duplicate()
    owned = graph.partials_of
    for node in graph.nodes():
        if node in owned or graph.ops[node] in ("edges", *LEAVES):
            continue
        number = 1
        for row in graph.formula(node).rows:
            if row != node and graph.operands[row] and row not in other.names:
                if graph.is_condition(row):
                    continue  # a condition is part of its where
                while f"{graph.names[node]}_{number}" in other.rows:
                    number += 1
                other.bind(f"{graph.names[node]}_{number}", row)
    other.forget_formulas()
    for row in other.nodes():
        plain = all(o in other.names or not graph.operands[o] for o in graph.operands[row])
        if row not in owned and graph.operands[row] and plain:
            other.split.add(row)
    return other


def collapse(graph: S, *names: str) -> S:
    """A graph in which the named nodes are part of the formulas that use them."""
    chosen = [graph.row(name) for name in names]
    if not names:
        kept = {*graph.outputs(), *graph.leaves(), *graph.partials_of}
        for node in graph.partials_of:  # your own derivatives belong to these very edges
            kept.update(graph.formula(node).sources)
        chosen = [row for row in graph.nodes() if row not in kept and graph.ops[row] != "edges"]
    outputs = set(graph.outputs())
    for row in chosen:
        name = graph.names[row]
        if graph.ops[row] in LEAVES:
            raise GraphcError(f"{name!r} is an {graph.kind(row)} and cannot be collapsed")
        if graph.ops[row] == "edges" or row in graph.partials_of:
            raise GraphcError(
                f"{name!r} cannot be collapsed: its derivatives were declared, not derived"
            )
        if row in outputs:
            raise GraphcError(
                f"{name!r} is an output and cannot be collapsed into the nodes that use it"
            )
        for node, edge in graph.partials:
            if row in graph.formula(node).sources:
                raise GraphcError(
                    f"{name!r} cannot be collapsed: d {graph.names[node]} / d "
                    f"{graph.names[graph.formula(node).sources[edge]]} was declared by hand"
                )
    other = graph.duplicate()
    for row in chosen:
        del other.rows[other.names.pop(row)]
    gone = set(chosen)
    other.split = {r for r in other.split - gone if not gone & set(graph.operands[r])}
    other.forget_formulas()
    return other


def untie(graph: S, name: str) -> S:
    """A graph in which each occurrence of an input or param is a copy name_1, name_2, ..."""
    tied = graph.row(name)
    if graph.ops[tied] not in LEAVES:
        raise GraphcError(f"{name!r} is computed; only inputs and parameters can be untied")
    if any(
        tied in mentioned(graph, row) or graph.formula(node).sources[edge] == tied
        for (node, edge), row in graph.partials.items()
    ):
        raise GraphcError(
            f"{name!r} cannot be untied: a derivative that you declared mentions it; "
            "declare the graph with separate names"
        )
    name = graph.names[tied]
    occurrences = sum(operands.count(tied) for operands in graph.operands)
    if not occurrences:
        raise GraphcError(f"nothing uses {name!r}, so there is nothing to untie")
    other = type(graph)(graph.name)
    other.claimed = graph.claimed.copy()
    moved: dict[GraphRow, GraphRow] = {}
    copies: list[GraphRow] = []
    for row in graph.in_order():
        op = graph.ops[row]
        if row == tied:
            for number in range(1, occurrences + 1):
                copies.append(other.append(op))
                if tied in graph.shapes:
                    other.shapes[copies[-1]] = graph.shapes[tied]
                other.bind(f"{name}_{number}", copies[-1])
                if tied in graph.given:
                    other.given[copies[-1]] = graph.given[tied]
            other.copies[name] = tuple(other.names[copy] for copy in copies)
            copies.reverse()
            continue
        operands = tuple(copies.pop() if o == tied else moved[o] for o in graph.operands[row])
        moved[row] = other.append(op, operands, **graph.settings(row))
        if row in graph.shapes:
            other.shapes[moved[row]] = graph.shapes[row]
    for row, label in graph.names.items():
        if row != tied:
            other.rows[label], other.names[moved[row]] = moved[row], label
    other.given.update({moved[r]: v for r, v in graph.given.items() if r != tied})
    other.declared_outputs = [moved[row] for row in graph.declared_outputs if row != tied]
    for (node, edge), row in graph.partials.items():
        source = moved[graph.formula(node).sources[edge]]
        place = other.formula(moved[node]).sources.index(source)
        other.partials[moved[node], place] = moved[row]
    other.split = {moved[row] for row in graph.split}
    other.lines = {moved[row]: line for row, line in graph.lines.items() if row != tied}
    other.copies.update({k: v for k, v in graph.copies.items() if name not in v})
    return other
