"""What each edge does, as rows in which the value of every node is given.

A scalar edge multiplies by its local derivative. An edge of a tensor node pulls an adjoint back and
pushes a tangent forward. From these, every mode is one sweep, whatever is derived by whatever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..algebra.formulas import Formulas
from ..algebra.rules import rule
from ..derive.differentiate import rows_evaluation
from ..derive.evaluation import Edge, Evaluation
from ..shapes import Shape
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS

SYMBOL = "symbol {}"  # how a free symbol is called among the leaves: no node has a space


@dataclass(frozen=True)
class Edges:
    """Rows of a copy of the graph in which every node is a leaf."""

    graph: Structure
    local: dict[Edge, GraphRow] = field(default_factory=dict)
    gate: dict[Edge, GraphRow] = field(default_factory=dict)  # 0 where a branch was not taken
    pull: dict[Edge, GraphRow] = field(default_factory=dict)
    push: dict[Edge, GraphRow] = field(default_factory=dict)
    adjoint: dict[GraphRow, str] = field(default_factory=dict)  # node -> the leaf that is pulled
    tangent: dict[Edge, str] = field(default_factory=dict)  # edge -> the leaf that is pushed
    switches: list[tuple[GraphRow, GraphRow]] = field(
        default_factory=list
    )  # (node, row that is 0 on a kink)


def edges(graph: Structure) -> Edges:
    """The rows of every edge that a derivative passes."""
    copy = graph.duplicate()
    rows = Formulas(copy)
    evaluation = rows_evaluation(rows)
    found = Edges(copy)
    for node in graph.nodes():
        if evaluation.is_tensor(node):
            _tensor(found, evaluation, node)
        else:
            _scalar(found, rows, evaluation, node)
        found.switches.extend((node, row) for row in _switches(evaluation, node))
    for row in graph.nodes():
        copy.ops[row], copy.operands[row] = "input", ()
    for row, op in zip(copy.in_order(), copy.ops, strict=True):
        if op == "symbol":
            copy.names[row] = SYMBOL.format(copy.attributes[row]["symbol"])
    return found


def _scalar(found: Edges, rows: Formulas, evaluation: Evaluation, node: GraphRow) -> None:
    for edge, _ in found.graph.edges_of(node):
        local = evaluation.local(node)[edge]
        if local is None:
            continue
        found.local[node, edge] = local
        if rows.number(local) == 0:
            found.gate[node, edge] = local
        elif local in rows.gates.masks:
            found.gate[node, edge] = rows.gates.indicator(rows.gates.masks[local])


def _switches(evaluation: Evaluation, node: GraphRow) -> Iterator[GraphRow]:
    """The rows that are 0 where a function of the node's formula has a kink."""
    graph = evaluation.graph
    for row in graph.formula(node).rows:
        op, operands = graph.ops[row], graph.operands[row]
        if op in FUNCTIONS and operands:
            for switch in rule(op, len(operands), graph.settings(row)).switches:
                yield switch.run(evaluation.algebra, [*operands, row])


def _tensor(found: Edges, evaluation: Evaluation, node: GraphRow) -> None:
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


def _leaf(graph: Structure, stem: str, shape: Shape) -> GraphRow:
    row = graph.append("input")
    if shape:
        graph.shapes[row] = shape
    return graph.bind(graph.unused_name(stem), row)
