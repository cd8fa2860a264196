"""All pairs, by the fastest engine that is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..derive import pairs
from ..derive.pair_arrays import check_place, gathered
from ..errors import one_of
from ..structure.structure import Structure
from .backends.native import missing


def all_pairs(
    graph: Structure, at: Mapping[str, Any] | None = None, result: str = "dict", out: Any = None
) -> Any:
    """The derivative of every node by every other that it depends on."""
    one_of(result, pairs.RESULTS, "result")
    if result == "dict" or missing():
        return pairs.all_pairs(graph, at, result, out)
    from .backends.native.pairs import Sweep, taped_edges

    if isinstance(at, Mapping) and not graph.has_tensors:
        check_place(graph, result, out)
        edges = taped_edges(graph, at)
        if edges is not None:
            found, finite = gathered(graph, Sweep(edges), result, out)
            if not finite:
                pairs.tell_not_finite("the numbers overflow")
            return found
    return pairs.all_pairs(graph, at, result, out, Sweep)
