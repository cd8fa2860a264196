"""Graphs from columns of operations: machine scale, a million nodes in a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..collecting import collection_rests
from ..errors import GraphcError, listing, nearest
from ..structure.numbered import NumberedNames, NumberedRows
from ..table.functions import FUNCTIONS
from .declaring import D


def read_arrays(graph: D, inputs: int, ops: Sequence[str], operands: Any) -> D:
    """The graph with inputs x0, x1, ... and a node n{inputs + k} for operation k."""
    if type(inputs) is not int or inputs < 1:
        raise GraphcError(f"inputs={inputs!r} is not a number of inputs; give 1 or more")
    names = ops.tolist() if isinstance(ops, np.ndarray) else list(ops)
    columns = _checked(inputs, names, operands)
    with collection_rests():
        for number in range(inputs):
            graph.leaf("input", f"x{number}", ())
        total = inputs + len(names)
        known, rows = NumberedNames(range(inputs, total)), NumberedRows(range(inputs, total))
        for name, row in graph.rows.items():
            known[row], rows[name] = name, row
        graph.names, graph.rows = known, rows
        graph.append_many(names, columns)
    return graph


def _checked(inputs: int, names: list[Any], operands: Any) -> Any:
    """The operands as an array; every operation is known and comes after what it works on."""
    try:
        columns = np.asarray(operands)
    except ValueError:
        columns = np.zeros(0)
    if columns.shape != (len(names), 2) or (columns.size and columns.dtype.kind not in "iu"):
        raise GraphcError(
            f"operands of shape {columns.shape} and kind {columns.dtype} do not fit {len(names)} "
            f"operations; give whole numbers of shape ({len(names)}, 2), -1 for none"
        )
    if columns.dtype != np.int32:  # which takes half the memory
        columns = columns.astype(np.int64, copy=False)
    counts = {}
    for name in set(names):
        record = FUNCTIONS.get(name) if isinstance(name, str) else None
        count = 0 if record is None or record.attributes else len(record.parameters)
        if not 1 <= count <= 2:
            usable = [n for n, r in FUNCTIONS.items() if len(r.parameters) in (1, 2)]
            hint = nearest(str(name), usable) or f" (such as {listing(usable[:5])})"
            raise GraphcError(f"{name!r} is not a function of one or two numbers{hint}")
        counts[name] = count
    wanted = np.fromiter(map(counts.__getitem__, names), np.int8, len(names))
    given = (columns >= 0).sum(axis=1, dtype=np.int8)
    place = np.arange(inputs, inputs + len(names))[:, None]
    bad = (given != wanted) | (columns[:, 0] < 0) | (columns >= place).any(axis=1)
    if bad.any():
        k = int(np.argmax(bad))
        raise GraphcError(
            f"operation {k}, {names[k]!r}, has the operands {columns[k].tolist()}: it needs "
            f"{counts[names[k]]}, each below its own number {inputs + k}"
        )
    return columns
