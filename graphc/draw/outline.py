"""The outline of a drawing: boxes in layers and arrows between them, before anything is written.

In an outline of a small graph every node is a box and every edge an arrow. In that of a large one
a box stands for several nodes and an arrow for several edges (fold.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..derive.evaluation import Edge
from ..structure.rows import LEAVES, GraphRow
from ..structure.structure import Structure


@dataclass(frozen=True)
class Box:
    """One or more nodes of the same kind, drawn as one."""

    key: str  # its name in DOT: that of the node, or a text that no node can be called
    rows: tuple[GraphRow, ...]
    kind: str
    layer: int
    cluster: str = ""
    inner: tuple[Edge, ...] = ()  # edges among its own nodes


@dataclass(frozen=True)
class Arrow:
    """One or more edges from one box to another."""

    source: str
    target: str
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Outline:
    """What is to be drawn."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    clusters: Mapping[str, str]  # key -> title
    folded: bool = False
    note: str = ""  # what a folded drawing leaves out


def key_of(graph: Structure, row: GraphRow) -> str:
    """The name of a node in DOT: its own, if that is a name as it should be."""
    name = graph.names[row]
    return name if name.isidentifier() else f"node {row}"


FORWARD, BACKWARD = "forward", "backward"


def layers(graph: Structure) -> dict[GraphRow, int]:
    """The layer of each node: one after its parents; a leaf stands just before its first use.

    The adjoint of a node stands in the layer of that node, so that both passes run side by side.
    """
    found: dict[GraphRow, int] = {}
    first_use: dict[GraphRow, int] = {}
    derived = {node: of for node, of in graph.derivative_of.items() if node in graph.names}
    for node in graph.nodes():
        sources = graph.formula(node).sources
        if node in derived:
            found[node] = found.get(derived[node], 0)
        elif graph.ops[node] in LEAVES or not sources:
            found[node] = 0
        else:
            found[node] = 1 + max(found[source] for source in sources)
            for source in sources:
                first_use[source] = min(first_use.get(source, found[node]), found[node])
    for node, layer in first_use.items():
        if not graph.formula(node).sources and node not in derived:
            found[node] = layer - 1
    for node in sorted(derived):
        found[node] = found.get(derived[node], 0)
    return found


def total_span(graph: Structure) -> int:
    """The number of layers that all edges cross together: what the time of a layout depends on."""
    place = layers(graph)
    return sum(
        abs(place[node] - place[source])
        for node in graph.nodes()
        for source in graph.formula(node).sources
    )


def every_node(graph: Structure) -> Outline:
    """The outline in which every node is a box and every edge an arrow."""
    place = layers(graph)
    names = graph.names
    passes = any(node in names for node in graph.derivative_of)
    boxes = tuple(
        Box(
            key_of(graph, node),
            (node,),
            graph.kind(node),
            place[node],
            (BACKWARD if node in graph.derivative_of else FORWARD) if passes else "",
        )
        for node in graph.nodes()
    )
    arrows = tuple(
        Arrow(key_of(graph, source), key_of(graph, node), ((node, edge),))
        for node in graph.nodes()
        for edge, source in enumerate(graph.formula(node).sources)
    )
    clusters = {FORWARD: "forward", BACKWARD: "backward"} if passes else {}
    return Outline(boxes, arrows, clusters)
