"""Derivatives of the code under test, by the interpreter or as compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exact import as_float
from ..structure import Structure
from . import digits
from .neighbourhood import Neighbourhood


def derivatives(
    graph: Structure, hood: Neighbourhood, leaves: Sequence[int], dtype: str
) -> tuple[dict[int, Any], list[str]]:
    """{leaf: (output elements, leaf elements)}, and notes."""
    found: dict[int, list[Any]] = {leaf: [] for leaf in leaves}
    for output in range(len(hood.values())):
        adjoints = digits.derived(graph, hood, output, exact=False)
        for leaf in leaves:
            size = hood.point[leaf].size
            value = adjoints.get(leaf)
            flat = np.zeros(size) if value is None else np.ravel(as_float(value)).astype(float)
            found[leaf].append(np.broadcast_to(flat, (size,)))
    return {
        leaf: np.array(rows).reshape(len(rows), hood.point[leaf].size)
        for leaf, rows in found.items()
    }, []
