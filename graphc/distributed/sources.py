"""The data: arrays of any kind, along which axis their rows lie, and how they come in chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from math import prod
from operator import index
from typing import Any

import numpy as np

from ..algebra.exact import as_float
from ..errors import GraphcError, on_one_line
from ..read.given import array
from .worker import part_of_array, part_of_file

CHUNK = 384 << 20  # bytes of a chunk, by default: reading and computing hide its scheduling
PIECE = 32 << 20  # bytes that are read and computed at a time


def require_dask() -> None:
    """Refuses to go on where Dask is not installed."""
    if find_spec("dask") is None:
        raise GraphcError(
            "map and reduce run on Dask, which is not installed; pip install 'graphc[dask]'"
        )


def is_dask(value: Any) -> bool:
    """Whether a value is an array of Dask."""
    return type(value).__module__.startswith("dask.array")


def is_remote(value: Any) -> bool:
    """Whether a value is an array that is not to be read at once: Dask, Zarr, a memory map.

    So is whatever can be sliced and does not offer itself as an array of NumPy.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return _is_mapped(value)
    sliced = hasattr(value, "shape") and hasattr(value, "__getitem__")
    return sliced and bool(getattr(value, "chunks", None) or not hasattr(value, "__array__"))


def is_large(value: Any) -> bool:
    """Whether a value is an array that NumPy is not to hold: Dask, Zarr and the like."""
    return is_remote(value) and not isinstance(value, np.memmap)


def as_array(name: str, value: Any) -> Any:
    """The value as something with a shape and a dtype that can be sliced; nothing is read."""
    remote = is_remote(value)
    if is_dask(value) and not all(size == size for size in value.shape):
        raise GraphcError(
            f"{name} has blocks of unknown size; call {name}.compute_chunk_sizes() before"
        )
    if (remote or isinstance(value, (np.ndarray, np.generic))) and value.dtype.kind in "fiub":
        return value
    if remote:
        raise GraphcError(f"{name} holds {value.dtype}, which are not real numbers")
    return np.asarray(as_float(array(value, name)), dtype=float)


def starts_of(rows: int, chunks: Any, width: int, arrays: Mapping[int, tuple[Any, int]]) -> Any:
    """Where each chunk starts, and the end: as asked, or by bytes, along the blocks of the data.

    `width` is the number of bytes of a row, `arrays` tells each array and the axis of its rows.
    """
    if isinstance(chunks, (tuple, list)):
        sizes = [_rows(size) for size in chunks]
        if sum(sizes) != rows:
            raise GraphcError(f"chunks: {sum(sizes)} rows in all, but the data have {rows}")
        return [0, *np.cumsum(sizes).tolist()]
    if chunks is not None:
        return [*range(0, rows, _rows(chunks)), rows]
    most = max(CHUNK // max(width, 1), 1)
    blocks = next((a.chunks[axis] for a, axis in arrays.values() if is_dask(a)), None)
    if blocks is not None:
        starts, stop = [0], 0
        for size in blocks:  # neighbours are joined, as many as fit
            if stop > starts[-1] and stop + size - starts[-1] > most:
                starts.append(stop)
            stop += size
        return [*starts, rows]
    grain = _grain(arrays)
    return [*range(0, rows, max(most // grain, 1) * grain), rows]


def piece_of(width: int, arrays: Mapping[int, tuple[Any, int]]) -> int:
    """The rows that are read and computed at a time: whole stored blocks."""
    most = max(PIECE // max(width, 1), 1)
    return -(-most // _grain(arrays)) * _grain(arrays)


def _grain(arrays: Mapping[int, tuple[Any, int]]) -> int:
    """The rows of a stored block."""
    stored = [(a.chunks, axis) for a, axis in arrays.values() if getattr(a, "chunks", None)]
    return next((c[axis] for c, axis in stored if isinstance(c[axis], int)), 1)


def _rows(size: Any) -> int:
    try:
        count = 0 if isinstance(size, bool) else index(size)
    except TypeError:
        count = 0
    if count < 1:
        raise GraphcError(
            f"chunks={on_one_line(size)} is not a number of rows of at least 1, nor a list of such"
        )
    return count


def reader(value: Any, abroad: bool) -> Callable[[tuple[slice, ...]], Any]:
    """(slices) -> this part of an array; abroad, a memory map is opened again from its file."""
    if abroad and _is_mapped(value):
        return part_of_file(*_mapped_file(value))
    return part_of_array(value)


def _is_mapped(value: Any) -> bool:
    return isinstance(value, np.memmap) and value.filename is not None and value.base is not None


def _mapped_file(value: Any) -> tuple[str, tuple[Any, ...]]:
    """The file of a memory map or of a view of one, and where its elements lie in it."""
    root = value
    while isinstance(root.base, np.memmap):
        root = root.base
    root.flush()
    address = value.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    layout = (value.shape, value.dtype.str, root.offset + address, value.strides)
    return str(value.filename), layout


def in_blocks(value: Any, axis: int, starts: Sequence[int]) -> Any:
    """An array of Dask with one block for each chunk of rows."""
    sizes = dict.fromkeys(range(value.ndim), -1)
    return value.rechunk({**sizes, axis: tuple(np.diff(starts).tolist())})


def rows_at(value: Any, chosen: Any, axis: int, client: Any = None) -> Any:
    """Some rows of an array, in memory."""
    if isinstance(value, np.ndarray):
        return value.take(chosen, axis)
    lead = (slice(None),) * axis
    if is_dask(value):
        part = value[(*lead, chosen)]
        return np.asarray(part if client is None else client.compute(part).result())
    order = np.argsort(chosen)  # files are read in order
    part = getattr(value, "oindex", value)[(*lead, np.asarray(chosen)[order])]
    return np.asarray(part).take(np.argsort(order), axis)


def row_bytes(shape: Sequence[int], axis: int) -> int:
    """Bytes of one row of an array in double precision."""
    return 8 * prod(size for place, size in enumerate(shape) if place != axis)
