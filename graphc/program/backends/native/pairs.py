"""All pairs at one point of floats: lines of derivatives, added up in C over the tape's slopes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....native.library import native
from ....structure.kept import kept
from ....structure.rows import LEAVES
from ....structure.structure import Structure
from ....table.functions import FUNCTIONS
from .tape import Packed, packed

REAL = (int, float, np.floating, np.integer)


def dense_pairs(graph: Structure, at: Mapping[str, Any], out: Any) -> Any:
    """S[i, j] = d j / d i for all nodes, or None where another way has to be taken.

    Another way is for tensors, exact numbers and arrays of points, for points that may sit on a
    kink, which is told, and for slopes that are not finite.
    """
    values = _floats(graph, at)
    if values is None or any(FUNCTIONS[op].kinks for op in set(graph.ops) if op in FUNCTIONS):
        return None
    known = kept(graph)
    if "pairs" not in known:
        known["pairs"] = _tape(graph)
    if known["pairs"] is None:
        return None
    tape, node = known["pairs"]
    library, count, size = native().library, len(tape.rows), len(graph.names)
    point = tape.values.copy()
    for row, value in values.items():
        if tape.place[row] >= 0:
            point[tape.place[row]] = value
    address = tape.rows.ctypes.data
    library.graphc_tape_values(address, count, point.ctypes.data)
    slopes, is_open = np.zeros((count, 3)), np.zeros((count, 3), dtype=np.uint8)
    library.graphc_tape_slopes(
        address, count, point.ctypes.data, slopes.ctypes.data, is_open.ctypes.data
    )
    if not (np.isfinite(point).all() and np.isfinite(slopes).all()):
        return None
    dense = np.zeros((size, size)) if out is None else out  # zeros that nobody has touched
    fits = dense.dtype == np.float64 and dense.flags.c_contiguous and dense.flags.aligned
    lines = dense if fits else np.zeros((size, size))
    spare = np.empty((np.count_nonzero(node < 0), size))
    ranges = np.empty((count, 2), dtype=np.int64)
    failed = library.graphc_pairs(
        address,
        count,
        slopes.ctypes.data,
        is_open.ctypes.data,
        node.ctypes.data,
        size,
        lines.ctypes.data,
        len(spare),
        spare.ctypes.data,
        ranges.ctypes.data,
        int(lines is out),
    )
    assert not failed, "every row has a line"
    if lines is not dense:
        dense[...] = lines
    return dense


def _tape(graph: Structure) -> tuple[Packed, Any] | None:
    """The rows of all nodes, and the number of the node that each is; negative between nodes."""
    nodes = graph.nodes()
    tape = packed(graph, nodes)
    if tape is None:
        return None
    node = np.full(len(tape.rows), -1, dtype=np.int32)
    node[tape.place[nodes]] = np.arange(len(nodes))
    between = np.flatnonzero(node < 0)
    node[between] = -1 - np.arange(len(between))
    return tape, node


def _floats(graph: Structure, at: Mapping[str, Any]) -> dict[int, float] | None:
    """The values of the leaves, if all are single numbers and one of them is a float."""
    found: dict[int, Any] = {}
    for row in graph.leaves():
        if graph.ops[row] not in LEAVES:
            continue
        value = at.get(graph.names[row], graph.given.get(row))
        if isinstance(value, bool) or not isinstance(value, REAL):
            return None
        found[row] = value
    if len(at) > len(found) or not any(isinstance(v, (float, np.floating)) for v in found.values()):
        return None
    return {row: float(value) for row, value in found.items()}
