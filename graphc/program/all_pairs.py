"""All pairs, by the fastest engine that is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..derive import pairs
from ..errors import one_of
from ..structure.structure import Structure
from .backends.native import missing


def all_pairs(
    graph: Structure, at: Mapping[str, Any] | None = None, result: str = "dict", out: Any = None
) -> Any:
    """The derivative of every node by every other that it depends on."""
    one_of(result, pairs.RESULTS, "result")
    if result == "dense" and isinstance(at, Mapping) and not graph.has_tensors and not missing():
        from .backends.native.pairs import dense_pairs

        target = pairs.opened(graph, out)
        found = dense_pairs(graph, at, target)
        if found is not None:
            return found
        out = target
    return pairs.all_pairs(graph, at, result, out)
