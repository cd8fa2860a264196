"""All pairs at one point of floats: lines of derivatives, added up in C over the tape's slopes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....derive import pair_arrays
from ....derive.pair_arrays import NUMBER, Edges
from ....native.library import native
from ....native.memory import CACHE_LINE
from ....structure.kept import once
from ....structure.rows import LEAVES
from ....structure.structure import Structure
from ....table.functions import FUNCTIONS
from .tape import Packed, packed
from .tape_cases import widths

REAL = (int, float, np.floating, np.integer)
WORD = 64  # sources at once where lines are nodes: a bit for each, and a line is a few vectors
COLUMNS = 256  # of an array that was used before: they are worked on apart, in cache
FRESH_COLUMNS = 4096  # of memory that nobody has touched: it is mapped in long pieces
ALIGNED = CACHE_LINE // NUMBER  # numbers in a line of the cache


class Sweep(pair_arrays.Sweep):
    """C: rows of S in an array itself, from targets to sources; or columns, block by block."""

    def __init__(self, edges: Edges) -> None:
        super().__init__(edges)
        self.by_c = bool(np.isfinite(edges.slope).all())

    @property
    def width(self) -> int:
        return WORD if self.by_c else super().width

    def rows(self, first: int, last: int) -> np.ndarray:
        if not self.by_c:
            return super().rows(first, last)
        edges = self.edges
        lines = np.zeros((edges.nodes, last - first))
        along = (edges.source, edges.target, edges.slope)
        self._sweep(along, last - first).block(first, last, lines)
        return lines.T

    def fill(self, dense: Any, is_blank: bool) -> bool:
        flags = dense.flags
        fits = (
            dense.dtype == np.float64 and flags.c_contiguous and flags.aligned and flags.writeable
        )
        if not (self.by_c and fits):
            return super().fill(dense, is_blank)
        self._fill_backwards(dense, is_blank)
        # Backwards, what overflowed once is carried to every source, down to one without sources.
        is_end = np.ones(len(self.edges.start), dtype=bool)
        is_end[self.edges.target] = False
        if np.isfinite(dense[is_end[: self.edges.nodes]]).all():
            return True
        return super().fill(dense, is_blank)

    def _fill_backwards(self, dense: Any, is_blank: bool) -> None:
        """From targets to sources: row i is the weighted sum of the rows of what uses node i."""
        edges = self.edges
        backwards = tuple(
            np.ascontiguousarray(column[::-1])
            for column in (edges.target, edges.source, edges.slope)
        )
        if is_blank:
            start = edges.start // ALIGNED * ALIGNED
            fresh = self._sweep(backwards, FRESH_COLUMNS, start)
            for first, last in self.blocks(FRESH_COLUMNS):
                fresh.block(first, last, dense[:, first:last])
            return
        width = min(COLUMNS + ALIGNED, edges.nodes)
        apart, scratch = self._sweep(backwards, width), np.empty(edges.nodes * width)
        reached, whole = apart.reached.ctypes.data, dense.ctypes.data
        for first, last in self.blocks(COLUMNS):
            low = max(0, first - ALIGNED)
            lines = scratch[: edges.nodes * (last - low)].reshape(edges.nodes, -1)
            apart.block(low, last, lines)
            native().library.graphc_pairs_put(
                lines.ctypes.data, reached, edges.nodes, first, last, whole
            )

    def reach(self, declared: tuple[np.ndarray, np.ndarray], first: int, last: int) -> np.ndarray:
        if last - first > WORD:
            return super().reach(declared, first, last)
        reach = np.empty(self.edges.nodes, dtype="<u8")
        source, target = declared
        failed = native().library.graphc_pairs_reach(
            *(source.ctypes.data, target.ctypes.data, len(source)),
            *(self.edges.nodes, first, last, reach.ctypes.data),
        )
        assert not failed, "every edge joins two nodes"
        bits = np.unpackbits(reach.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        return bits[:, : last - first].T.astype(bool)

    def _sweep(
        self, along: tuple[np.ndarray, ...], width: int, start: np.ndarray | None = None
    ) -> Along:
        """Sweeps over blocks of at most so many columns, along edges in this order."""
        nodes, lines = self.edges.nodes, len(self.edges.start)
        if start is None:
            start = np.zeros(lines, dtype=np.int32)
        spare = np.empty((lines - nodes) * width)
        return Along(along, start, nodes, spare, np.empty(lines, dtype=np.uint8))


@dataclass
class Along:
    """Edges in the order in which they are followed, and memory for it."""

    edges: tuple[np.ndarray, ...]
    start: np.ndarray  # the first column in which each line can hold anything
    nodes: int
    spare: np.ndarray  # lines that are no node's
    reached: np.ndarray  # lines that anything came to, in the last block

    def __post_init__(self) -> None:
        # asking an array for its address takes a microsecond
        columns = (*(column.ctypes.data for column in self.edges), len(self.edges[0]))
        self._edges = (*columns, self.start.ctypes.data, self.nodes, len(self.start) - self.nodes)
        self._memory = (self.spare.ctypes.data, self.reached.ctypes.data)

    def block(self, first: int, last: int, lines: np.ndarray) -> None:
        """Columns first to last of the lines."""
        where = (lines.ctypes.data, lines.strides[0] // lines.itemsize)
        failed = native().library.graphc_pairs(*self._edges, first, last, *where, *self._memory)
        assert not failed, "every edge joins two lines"


@dataclass(frozen=True)
class Taped:
    """The rows of all nodes on the tape, and the lines that they have."""

    tape: Packed
    leaves: list[tuple[str, Any, int]]  # name, given value, place on the tape
    line: np.ndarray  # of each row; -1 if it is used once, and part of what uses it
    start: np.ndarray  # the first node that comes after each line

    @classmethod
    def of(cls, graph: Structure) -> Taped | None:
        """None where the tape cannot run the graph, or where a point may sit on a kink."""
        nodes = graph.nodes()
        kinked = any(FUNCTIONS[op].kinks for op in set(graph.ops) if op in FUNCTIONS)
        tape = None if kinked else packed(graph, nodes)
        if tape is None:
            return None
        rows, place = tape.rows, tape.place[nodes]
        operands = np.array(list(widths().values()))[rows["code"]]
        uses = np.zeros(len(rows), dtype=np.int64)
        for k, name in enumerate("abc"):
            np.add.at(uses, rows[name][operands > k], 1)
        line = np.full(len(rows), -1, dtype=np.int32)
        line[place] = np.arange(len(nodes))
        spare = np.flatnonzero((line < 0) & (uses > 1) & (operands > 0))  # numbers lead nowhere
        line[spare] = len(nodes) + np.arange(len(spare))
        start = np.concatenate([np.arange(len(nodes)), np.searchsorted(place, spare)])
        leaves = [
            (graph.names[row], graph.given.get(row), int(tape.place[row]))
            for row in graph.leaves()
            if graph.ops[row] in LEAVES
        ]
        return cls(tape, leaves, line, start.astype(np.int32))

    def point(self, at: Mapping[str, Any]) -> np.ndarray | None:
        """Room for the values, those of the leaves filled in: numbers, of which one is a float."""
        values = [at.get(name, given) for name, given, _ in self.leaves]
        if any(isinstance(value, bool) or not isinstance(value, REAL) for value in values):
            return None
        if len(at) > len(values) or not any(isinstance(v, (float, np.floating)) for v in values):
            return None
        point = self.tape.values.copy()
        point[[place for *_, place in self.leaves]] = values
        return point


def taped_edges(graph: Structure, at: Mapping[str, Any]) -> Edges | None:
    """The slopes at a point by the tape, or None where another way has to be taken.

    Another way is for tensors, exact numbers and arrays of points, for points that may sit on a
    kink, which is told, and for slopes that are not finite.
    """
    taped: Taped | None = once(graph, "pairs", lambda: Taped.of(graph))
    point = None if taped is None else taped.point(at)
    if taped is None or point is None:
        return None
    library, rows, count = native().library, taped.tape.rows.ctypes.data, len(point)
    slopes, is_open = np.zeros((count, 3)), np.zeros((count, 3), dtype=np.uint8)
    library.graphc_tape_slopes(
        rows, count, point.ctypes.data, slopes.ctypes.data, is_open.ctypes.data
    )
    if not (np.isfinite(point).all() and np.isfinite(slopes).all()):
        return None
    most = np.count_nonzero(is_open)
    owner, factor = np.empty(count, dtype=np.int32), np.empty(count)
    ends, slope = np.empty((2, most), dtype=np.int32), np.empty(most)
    work = (slopes, is_open, taped.line, owner, factor, *ends, slope)
    edges = library.graphc_tape_edges(rows, count, *(array.ctypes.data for array in work))
    target, source = np.ascontiguousarray(ends[:, :edges][:, ::-1])  # they came last first
    found = Edges(source, target, slope[:edges][::-1].copy(), len(graph.names), taped.start)
    return found if np.isfinite(found.slope).all() else None
