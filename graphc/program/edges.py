"""What each edge does, as rows in which the value of every node is given.

A scalar edge multiplies by its local derivative. An edge of a tensor node pulls an adjoint back and
pushes a tangent forward. From these, every mode is one sweep, whatever is derived by whatever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..differentiate import rows_evaluation
from ..evaluation import Edge, Evaluation
from ..functions import FUNCTIONS
from ..paths import sweep
from ..rules import rule
from ..shapes import Shape
from ..structure import Structure

SYMBOL = "symbol {}"  # how a free symbol is called among the leaves: no node has a space


@dataclass(frozen=True)
class Edges:
    """Rows of a copy of the graph in which every node is a leaf."""

    graph: Structure
    local: dict[Edge, int] = field(default_factory=dict)
    gate: dict[Edge, int] = field(default_factory=dict)  # 0 where a branch was not taken
    pull: dict[Edge, int] = field(default_factory=dict)
    push: dict[Edge, int] = field(default_factory=dict)
    adjoint: dict[int, str] = field(default_factory=dict)  # node -> the leaf that is pulled
    tangent: dict[Edge, str] = field(default_factory=dict)  # edge -> the leaf that is pushed
    switches: list[tuple[int, int]] = field(default_factory=list)  # (node, row that is 0 on a kink)


def edges(graph: Structure) -> Edges:
    """The rows of every edge that a derivative passes."""
    copy = graph.duplicate()
    evaluation = rows_evaluation(copy)
    found = Edges(copy)
    for node in graph.nodes():
        if evaluation.is_tensor(node):
            _tensor(found, evaluation, node)
        else:
            _scalar(found, evaluation, node)
        found.switches.extend((node, row) for row in _switches(evaluation, node))
    for row in graph.nodes():
        copy.ops[row], copy.operands[row] = "input", ()
    for row, op in enumerate(copy.ops):
        if op == "symbol":
            copy.names[row] = SYMBOL.format(copy.attributes[row]["symbol"])
    return found


def _scalar(found: Edges, evaluation: Evaluation, node: int) -> None:
    graph = found.graph
    for edge, _ in graph.edges_of(node):
        local = evaluation.local(node)[edge]
        if local is not None:
            found.local[node, edge] = local
    if any(graph.ops[row] == "where" for row in graph.formula(node).rows):
        found.gate.update(_gates(evaluation, node))


def _gates(evaluation: Evaluation, node: int) -> dict[Edge, int]:
    """Whether anything passes each edge: 1, or 0 where every way leads through an open branch."""
    graph, algebra = evaluation.graph, evaluation.algebra
    inside = set(graph.formula(node).rows)

    def hops(row: int) -> list[tuple[int, Edge]]:
        operands = graph.operands[row] if row in inside and graph.ops[row] != "stop" else ()
        return [(operand, (row, slot)) for slot, operand in enumerate(operands)]

    def carry(place: Edge, passed: int) -> int | None:
        row, slot = place
        if graph.ops[row] != "where":
            return None if graph.is_condition(row) else passed
        condition, zero = graph.operands[row][0], algebra.constant(0)
        branches = (passed, zero) if slot == 1 else (zero, passed)
        return graph.operation("where", (condition, *branches), {}) if slot else None

    arrived = sweep(
        sorted(inside, reverse=True),
        hops,
        {node: algebra.constant(1)},
        carry,
        lambda old, new: graph.operation("maximum", (old, new), {}),
    )
    sources = graph.formula(node).sources
    return {
        (node, edge): arrived[source] for edge, source in enumerate(sources) if source in arrived
    }


def _switches(evaluation: Evaluation, node: int) -> Iterator[int]:
    """The rows that are 0 where a function of the node's formula has a kink."""
    graph = evaluation.graph
    for row in graph.formula(node).rows:
        op, operands = graph.ops[row], graph.operands[row]
        if op in FUNCTIONS and operands:
            for switch in rule(op, len(operands), graph.settings(row)).switches:
                yield switch.run(evaluation.algebra, [*operands, row])


def _tensor(found: Edges, evaluation: Evaluation, node: int) -> None:
    graph = found.graph
    adjoint = _leaf(graph, f"{graph.names[node]}_bar", graph.shape(node))
    found.adjoint[node] = graph.names[adjoint]
    for edge, source in graph.edges_of(node):
        pulled = evaluation.pull((node, edge), adjoint)
        if pulled is None:
            continue
        found.pull[node, edge] = pulled
        tangent = _leaf(graph, f"{graph.names[source]}_dot", graph.shape(source))
        pushed = evaluation.push((node, edge), tangent)
        if pushed is not None:
            found.push[node, edge] = pushed
            found.tangent[node, edge] = graph.names[tangent]


def _leaf(graph: Structure, stem: str, shape: Shape) -> int:
    row = graph.append("input")
    if shape:
        graph.shapes[row] = shape
    return graph.bind(graph.unused_name(stem), row)
