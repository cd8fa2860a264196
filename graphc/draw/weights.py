"""Weights on edges: which parameters can be written on the edges whose sources they multiply."""

from __future__ import annotations

from ..derive.evaluation import Edge
from ..structure.rows import GraphRow
from ..structure.structure import Structure

PRODUCTS = ("mul", "contract")


def on_edges(graph: Structure) -> dict[GraphRow, tuple[Edge, ...]]:
    """{parameter: edges that it is written on}; the others, such as biases, stay nodes."""
    found: dict[GraphRow, list[Edge]] = {}
    staying: set[GraphRow] = set()
    for node in graph.nodes():
        formula = graph.formula(node)
        partners = _partners(graph, node)
        for weight in formula.sources:
            if graph.ops[weight] != "param":
                continue
            edges = [
                (node, edge)
                for edge, source in enumerate(formula.sources)
                if source in partners.get(weight, ())
            ]
            found.setdefault(weight, []).extend(edges)
            if len(edges) != 1:  # what a node sends back to a weight belongs to one edge
                staying.add(weight)
    return {weight: tuple(edges) for weight, edges in found.items() if weight not in staying}


def _partners(graph: Structure, node: GraphRow) -> dict[GraphRow, set[GraphRow]]:
    """{parameter: the nodes that it multiplies directly} within one formula."""
    partners: dict[GraphRow, set[GraphRow]] = {}
    for row in graph.formula(node).rows:
        operands = graph.operands[row]
        if graph.ops[row] not in PRODUCTS or len(operands) != 2:
            continue
        for weight, other in (operands, operands[::-1]):
            named = weight in graph.names and other in graph.names
            if named and graph.ops[weight] == "param" and graph.ops[other] != "param":
                partners.setdefault(weight, set()).add(other)
    return partners
