"""Large graphs in few boxes: equal nodes of a layer, repeated blocks, and at last a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..derive.evaluation import Edge
from ..structure.rows import LEAVES, GraphRow
from ..structure.structure import Structure
from .outline import Arrow, Box, Outline, key_of, layers, total_span

NODES, EDGES, SPAN = 300, 900, 1500  # above any of them, a drawing is folded
BOXES, ARROWS = 60, 120  # above either, a folded drawing becomes a summary
BANDS = 6  # of a summary
LONGEST_PERIOD = 12  # layers of a repeated block
FEWEST_REPEATS = 3

Signature = tuple[str, ...]  # what makes two nodes equal for a reader: kind, shape, operations


def is_large(graph: Structure) -> bool:
    """Whether a drawing of every node would be too large to be read, or to be laid out in time."""
    if len(graph.names) > NODES:
        return True
    edges = sum(len(graph.formula(node).sources) for node in graph.nodes())
    return edges > EDGES or total_span(graph) > SPAN


def folded(graph: Structure) -> Outline:
    """The outline in which equal nodes of a layer are one box and repeated blocks one cluster."""
    place = layers(graph)
    order = sorted(set(place.values()))
    signatures = {node: _signature(graph, node) for node in graph.nodes()}
    in_layer: dict[int, list[GraphRow]] = {layer: [] for layer in order}
    for node in graph.nodes():
        in_layer[place[node]].append(node)
    content = [tuple(sorted(Counter(signatures[n] for n in in_layer[at]).items())) for at in order]
    # node -> (first layer it is folded into, signature)
    home: dict[GraphRow, tuple[int, Signature]] = {}
    clusters: dict[str, str] = {}
    cluster_of: dict[int, str] = {}
    for start, period, repeats in _runs(content):
        for offset in range(period * repeats):
            for node in in_layer[order[start + offset]]:
                home[node] = order[start + offset % period], signatures[node]
        if repeats > 1:
            key = f"block {start}"
            clusters[key] = f"repeated {repeats} times"
            cluster_of.update({order[start + offset]: key for offset in range(period)})
    outline = _outline(graph, home, cluster_of, clusters)
    if len(outline.boxes) > BOXES or len(outline.arrows) > ARROWS:
        return summary(graph)
    return outline


def summary(graph: Structure) -> Outline:
    """The outline of a few bands of layers, in which nodes are told apart by kind only."""
    place = layers(graph)
    depth = max(place.values(), default=0) + 1
    home: dict[GraphRow, tuple[int, Signature]] = {
        node: (place[node] * min(BANDS, depth) // depth, (graph.kind(node),))
        for node in graph.nodes()
    }
    return _outline(graph, home, {}, {})


def _outline(
    graph: Structure,
    home: dict[GraphRow, tuple[int, Signature]],
    cluster_of: dict[int, str],
    clusters: dict[str, str],
) -> Outline:
    members: dict[tuple[int, Signature], list[GraphRow]] = {}
    for node in graph.nodes():
        members.setdefault(home[node], []).append(node)
    # a text with a space: no node can be called so
    keys = {
        where: key_of(graph, rows[0]) if len(rows) == 1 else f"group {number}"
        for number, (where, rows) in enumerate(members.items())
    }
    joined: dict[tuple[str, str], list[Edge]] = {}
    for node in graph.nodes():
        for edge, source in enumerate(graph.formula(node).sources):
            joined.setdefault((keys[home[source]], keys[home[node]]), []).append((node, edge))
    boxes = tuple(
        Box(
            keys[layer, signature],
            tuple(rows),
            signature[0],
            2 * layer - (signature[0] in LEAVES),  # a leaf before what uses it in its block
            cluster_of.get(layer, ""),
            tuple(joined.get((keys[layer, signature],) * 2, ())),
        )
        for (layer, signature), rows in members.items()
    )
    arrows = tuple(Arrow(s, t, tuple(edges)) for (s, t), edges in joined.items() if s != t)
    edges = sum(map(len, joined.values()))
    note = f"{len(graph.names)} nodes and {edges} edges in {len(boxes)} boxes"
    return Outline(boxes, arrows, clusters, folded=True, note=note)


def _signature(graph: Structure, node: GraphRow) -> Signature:
    kind = graph.kind(node)
    shape = "×".join(map(str, graph.shape(node)))
    if kind in ("input", "param"):
        return kind, shape
    operations = sorted({graph.ops[row] for row in graph.formula(node).rows} - {"const"})
    return (kind, shape, *operations)


def _runs(content: Sequence[object]) -> Iterable[tuple[int, int, int]]:
    """(start, period, repeats) of the blocks that follow each other in a list, covering it."""
    start = 0
    while start < len(content):
        period, repeats = 1, 1
        for length in range(1, LONGEST_PERIOD + 1):
            count = _repeats(content, start, length)
            if count >= FEWEST_REPEATS and count * length > period * repeats:
                period, repeats = length, count
        yield start, period, repeats
        start += period * repeats


def _repeats(content: Sequence[object], start: int, length: int) -> int:
    """How often the first `length` items from the start follow each other."""
    place = start + length
    while place < len(content) and content[place] == content[place - length]:
        place += 1
    return (place - start) // length
