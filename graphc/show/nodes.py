"""The nodes and edges of a graph, as `graphc show` prints them; SymPy is not needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..derive.request import Request
from ..structure.structure import Structure
from ..write import latex
from ..write.formula import expression_text
from ..write.line import TEXT as LINE
from ..write.rows import Style
from ..write.tables import Block, Table
from .notation import LATEX, TEXT, Notation

STOPPED = "stopped"  # what an edge says that no derivative passes


def local_derivatives(
    graph: Structure, style: Style = LINE
) -> Iterator[tuple[str, str, str | None]]:
    """(source, target, partial as a formula) of each edge; None where no derivative passes."""
    request = Request(graph, at=None, rows=True)
    copy = request.graph
    for node in graph.nodes():
        passes = graph.formula(node).passes
        for edge, source in enumerate(graph.formula(node).sources):
            row = request.local_row((node, edge)) if passes[edge] else None
            local = None if row is None else expression_text(copy, row, style)
            yield graph.names[source], graph.names[node], local


def node_table(graph: Structure, notation: Notation = TEXT) -> Table:
    """Each node with its kind, formula and parents."""
    names = graph.names
    rows = [
        (
            notation.names([names[node]]),
            graph.kind(node),
            notation.formula(graph, node),
            notation.names([names[source] for source in graph.formula(node).sources]),
        )
        for node in graph.nodes()
    ]
    return Table("Nodes", ("node", "kind", "formula", "parents"), rows)


def edge_table(graph: Structure, notation: Notation = TEXT) -> Table:
    """Each edge with its local derivative."""
    rows = [
        (notation.path(source, target), STOPPED if local is None else notation.math(local))
        for source, target, local in local_derivatives(graph, notation.style)
    ]
    return Table("Edges", ("edge", "local derivative"), rows)


def graph_page(graph: Structure, notation: Notation = TEXT) -> list[Block]:
    """The graph as tables and a line on its outputs."""
    outputs = notation.names([graph.names[row] for row in graph.outputs()])
    edges = edge_table(graph, notation)
    page: list[Block] = [node_table(graph, notation)]
    return [*page, *([edges] if edges.rows else []), f"Outputs: {outputs or 'none'}"]


def graph_latex(graph: Structure) -> str:
    """The formulas of the graph and its local derivatives, as equations."""
    names = graph.names
    formulas = [
        (LATEX.name(names[node]).text, formula)
        for node in graph.nodes()
        if (formula := LATEX.formula(graph, node))
    ]
    partials = [
        (latex.fraction(r"\partial", target, source).text, local)
        for source, target, local in local_derivatives(graph, LATEX.style)
        if local is not None
    ]
    return "\n".join(latex.equations(pairs) for pairs in (formulas, partials) if pairs) + "\n"


def graph_data(graph: Structure) -> dict[str, Any]:
    """The graph as plain data, for JSON."""
    names = graph.names
    return {
        "graph": graph.name,
        "nodes": [
            {
                "name": names[node],
                "kind": graph.kind(node),
                "formula": TEXT.formula(graph, node) or None,
                "parents": [names[source] for source in graph.formula(node).sources],
            }
            for node in graph.nodes()
        ],
        "edges": [
            {"source": source, "target": target, "local": local}
            for source, target, local in local_derivatives(graph)
        ],
        "outputs": [names[row] for row in graph.outputs()],
    }
