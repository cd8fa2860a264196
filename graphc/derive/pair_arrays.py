"""All pairs as arrays: dense, sparse or streamed to a file, a block of sources at a time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import GraphcError, visible
from ..files import cannot_write, file_at
from ..progress import progress_bar
from ..structure.kept import once
from ..structure.structure import Structure

BLOCK = 1 << 26  # bytes of lines that are worked on at once
NUMBER = 8  # bytes of one derivative


@dataclass(frozen=True)
class Edges:
    """Slopes between lines: one line for each node, more for what several nodes have in common.

    In an order in which all edges into a line come before the edges out of it.
    """

    source: np.ndarray
    target: np.ndarray
    slope: np.ndarray
    nodes: int
    start: np.ndarray  # the first node that what a line stands for can lead to


class Sweep:
    """NumPy: the line of each node is the weighted sum of the lines of its sources."""

    def __init__(self, edges: Edges) -> None:
        self.edges = edges

    @property
    def width(self) -> int:
        """How many sources are worked on at once."""
        lines = len(self.edges.start)
        return max(1, min(self.edges.nodes, BLOCK // (NUMBER * max(1, lines))))

    def rows(self, first: int, last: int) -> np.ndarray:
        """S[first:last]: the derivatives of all nodes by these."""
        edges = self.edges
        lines = np.zeros((len(edges.start), last - first))
        np.fill_diagonal(lines[first:last], 1)
        alive = None if np.isfinite(edges.slope).all() else lines != 0
        columns = (edges.source.tolist(), edges.target.tolist(), edges.slope.tolist())
        with np.errstate(all="ignore"):
            for source, target, slope in zip(*columns, strict=True):
                if alive is None:
                    lines[target] += slope * lines[source]
                else:  # 0 times infinity: only where a path leads
                    lines[target] += np.where(alive[source], slope * lines[source], 0)
                    alive[target] |= alive[source]
        return lines[: edges.nodes].T

    def fill(self, dense: Any, is_blank: bool) -> bool:
        """Writes all of S into an array; whether it is finite."""
        finite = True
        for first, last in self.blocks():
            dense[first:last] = rows = self.rows(first, last)
            finite = finite and bool(np.isfinite(rows).all())
        return finite

    def reach(self, declared: tuple[np.ndarray, np.ndarray], first: int, last: int) -> np.ndarray:
        """Whether a path leads from each of these nodes to each node."""
        reach = np.zeros((self.edges.nodes, last - first), dtype=bool)
        np.fill_diagonal(reach[first:last], True)
        for source, target in zip(*(column.tolist() for column in declared), strict=True):
            reach[target] |= reach[source]
        return reach.T

    def blocks(self, width: int = 0) -> Iterator[tuple[int, int]]:
        """(first, last) of each block, with a bar on a terminal while it takes long."""
        nodes, width = self.edges.nodes, width or self.width
        with progress_bar(nodes, "all pairs", after=2.0) as tick:
            for first in range(0, nodes, width):
                last = min(first + width, nodes)
                yield first, last
                tick(last)


def gathered(graph: Structure, sweep: Sweep, result: str, out: Any) -> tuple[Any, bool]:
    """The result, and whether all of it is finite."""
    if result == "sparse":
        return _sparse(graph, sweep)
    if is_path(out):
        return _streamed(sweep, file_at(out))
    nodes = sweep.edges.nodes
    dense = np.zeros((nodes, nodes)) if out is None else out
    return dense, sweep.fill(dense, out is None)


def _streamed(sweep: Sweep, file: Path) -> tuple[Any, bool]:
    """A .npy file, opened as an array: written in order, and there once it is whole."""
    nodes, finite = sweep.edges.nodes, True
    part = file.with_name(f"{file.name}.part")
    try:
        with part.open("wb") as stream:
            header = {"descr": "<f8", "fortran_order": False, "shape": (nodes, nodes)}
            np.lib.format.write_array_header_1_0(stream, header)
            for first, last in sweep.blocks():
                rows = np.ascontiguousarray(sweep.rows(first, last), dtype="<f8")
                finite = finite and bool(np.isfinite(rows).all())
                stream.write(rows.data)
        part.replace(file)
        return np.load(file, mmap_mode="r+"), finite
    except OSError as error:
        raise cannot_write(file, error) from None
    finally:
        with suppress(OSError):
            part.unlink()


def _sparse(graph: Structure, sweep: Sweep) -> tuple[Any, bool]:
    """scipy's CSR, with an entry wherever a path leads; counted first, so that it is made once."""
    sparse = scipy_sparse()
    nodes = sweep.edges.nodes
    declared = declared_edges(graph)
    counts = [sweep.reach(declared, *block).sum(axis=1) for block in sweep.blocks()]
    until = np.concatenate([[0], *counts]).cumsum()
    entries = int(until[-1])
    index = np.int32 if entries < 2**31 else np.int64
    size = entries * (NUMBER + np.dtype(index).itemsize)
    _fits(
        f"all pairs of {nodes:,} nodes have {entries:,} entries and take {_gigabytes(size)}",
        size,
        'write result="dense", out="s.npy" to stream them to a file',
    )
    values, targets = np.empty(entries), np.empty(entries, dtype=index)
    for first, last in sweep.blocks():
        here = slice(until[first], until[last])
        found = np.nonzero(sweep.reach(declared, first, last))
        values[here], targets[here] = sweep.rows(first, last)[found], found[1]
    csr = sparse.csr_array((values, targets, until.astype(index)), shape=(nodes, nodes))
    return csr, bool(np.isfinite(values).all())


def scipy_sparse() -> Any:
    """scipy.sparse, which the result is made of."""
    try:
        from scipy import sparse
    except ImportError:
        raise GraphcError("result='sparse' needs scipy; install it, or use result='dict'") from None
    return sparse


def declared_edges(graph: Structure) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets of the edges of the graph, as numbers of nodes, by their targets."""

    def columns() -> tuple[np.ndarray, np.ndarray]:
        order = graph.nodes()
        place = {row: number for number, row in enumerate(order)}
        pairs = [(place[source], place[row]) for row in order for _, source in graph.edges_of(row)]
        found = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
        return np.ascontiguousarray(found[0]), np.ascontiguousarray(found[1])

    declared: tuple[np.ndarray, np.ndarray] = once(graph, "declared edges", columns)
    return declared


# Before anything is done.


def is_path(out: Any) -> bool:
    """Whether results go to a file."""
    return isinstance(out, (str, bytes)) or hasattr(out, "__fspath__")


def check_place(graph: Structure, result: str, out: Any) -> None:
    """Refuses an array of another shape, and what does not fit into memory or onto the disk."""
    if result != "dense":
        if out is not None:
            raise GraphcError(f'out= takes the array of result="dense", not of result={result!r}')
        return
    nodes = len(graph.names)
    size = NUMBER * nodes**2
    if is_path(out):
        folder = file_at(os.fsdecode(out)).absolute().parent
        with suppress(OSError):  # a folder that is not there is told when the file is written
            free = shutil.disk_usage(folder).free
            if size > free:
                raise GraphcError(
                    f"all pairs of {nodes:,} nodes take {_gigabytes(size)}, but the disk of "
                    f"{visible(str(folder))} has {_gigabytes(free)} left; name a file on another "
                    'disk, or write result="sparse"'
                )
    elif out is None:
        _fits(
            f"all pairs of {nodes:,} nodes take {_gigabytes(size)}",
            size,
            'write out="s.npy" to stream them to a file, or result="sparse"',
        )
    elif out.shape != (nodes, nodes):
        raise GraphcError(f"out has shape {out.shape}, but the graph needs {(nodes, nodes)}")


def _fits(what: str, size: int, instead: str) -> None:
    free = free_memory() if size > BLOCK else None  # asking takes a tenth of a millisecond
    if free is not None and size > free:
        raise GraphcError(
            f"{what}, but this machine has {_gigabytes(free)} of free memory; {instead}"
        )


def free_memory() -> int | None:
    """Bytes that can be used without taking them from others; None where nobody tells."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.3g} GB" if size < 1e12 else f"{size / 1e9:,.0f} GB"
