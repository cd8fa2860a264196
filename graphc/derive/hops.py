"""Where a derivative starts and ends, and the hops between nodes that lead there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import GraphcError, listing
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from .evaluation import Edge

Hop = tuple[GraphRow, Edge]  # (next node, the edge that leads there)
Carry = Callable[[Edge, Any], Any]


def the_output(graph: Structure, of: Any) -> GraphRow:
    """The row of `of`, or of the only output."""
    if of is not None:
        return graph.row(of)
    outputs = graph.outputs()
    if not outputs:
        raise GraphcError("the graph computes nothing; declare a node, such as y = x**2")
    if len(outputs) != 1:
        names = listing(graph.names[row] for row in outputs)
        raise GraphcError(f"the graph has {len(outputs)} outputs ({names}); say which with of=")
    return outputs[0]


def default_wrt(graph: Structure) -> list[str]:
    """The params, or the inputs if there are none."""
    for kind in ("param", "input"):
        found = [graph.names[row] for row in graph.leaves() if graph.ops[row] == kind]
        if found:
            return found
    raise GraphcError("the graph has neither params nor inputs; say what to derive by with wrt=")


def into(graph: Structure, node: GraphRow) -> list[Hop]:
    """Hops against the arrows: from a node to its sources."""
    return [(source, (node, edge)) for edge, source in graph.edges_of(node)]


def out_of(graph: Structure, nodes: Iterable[GraphRow]) -> dict[GraphRow, list[Hop]]:
    """Hops along the arrows, from each node to its targets, in order of declaration."""
    hops: dict[GraphRow, list[Hop]] = {}
    for node in sorted(nodes):
        for edge, source in graph.edges_of(node):
            hops.setdefault(source, []).append((node, (node, edge)))
    return hops


def seeded(graph: Structure, ends: Any, default: GraphRow | None) -> dict[GraphRow, Any]:
    """{row: seed} from a name, a dict of seeds, or nothing."""
    if isinstance(ends, Mapping):
        return {graph.row(name): seed for name, seed in some_seeds(ends).items()}
    return {graph.row(ends) if default is None else default: 1}


def some_seeds(seeds: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The seeds, of which there must be one."""
    if not seeds:
        raise GraphcError("the dict of seeds is empty; give {node: seed}")
    return seeds


def seeds_of(graph: Structure, of: Any) -> dict[GraphRow, Any]:
    """{row: seed} of what is derived: a name, a dict of seeds, or the only output."""
    default = None if isinstance(of, Mapping) or of is not None else the_output(graph, None)
    return seeded(graph, of, default)
