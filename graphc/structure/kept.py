"""What was made for a graph once: batched copies, compiled functions, costs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary

from ..table.functions import FUNCTIONS
from ..table.tensors import OPERATIONS
from .structure import Structure

_KEPT: WeakKeyDictionary[Structure, tuple[Any, dict[Any, Any]]] = WeakKeyDictionary()


def once(graph: Structure, key: Hashable, make: Callable[[], Any]) -> Any:
    """What is made for the graph as it is, from the records as they are, the first time."""
    # a graph only grows, so its lengths are its version
    table = FUNCTIONS.version, OPERATIONS.version
    version = *table, len(graph.ops), len(graph.names), len(graph.partials)
    known = _KEPT.get(graph)
    if known is None or known[0] != version:
        known = _KEPT[graph] = version, {}
    if key not in known[1]:
        known[1][key] = make()
    return known[1][key]
