"""What was made for a graph once: batched copies, compiled functions, costs."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ..table.functions import FUNCTIONS
from ..table.tensors import OPERATIONS
from .structure import Structure

_KEPT: WeakKeyDictionary[Structure, tuple[Any, dict[Any, Any]]] = WeakKeyDictionary()


def kept(graph: Structure) -> dict[Any, Any]:
    """What was made for the graph as it is, from the records as they are; else nothing."""
    # a graph only grows, so its lengths are its version
    table = FUNCTIONS.version, OPERATIONS.version
    version = *table, len(graph.ops), len(graph.names), len(graph.partials)
    if graph not in _KEPT or _KEPT[graph][0] != version:
        _KEPT[graph] = version, {}
    return _KEPT[graph][1]
