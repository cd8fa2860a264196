"""map: a compiled function of points over large arrays, block by block, as lazy arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from operator import itemgetter
from typing import Any
from uuid import uuid4

import numpy as np

from ..errors import GraphcError
from ..program.question import Matrix
from ..program.shipping import Shipment
from .places import place_of
from .reducing import flat_results, point_shape
from .sources import CHUNK, as_array, is_dask, is_remote, reader, require_dask
from .worker import block_of_points


def map_blocks(sent: Shipment, data: Mapping[str, Any], chunks: Any, client: Any) -> Any:
    """The results at all points, lazy arrays of Dask in the form that the want has."""
    require_dask()
    place_of(client)  # what is no client is refused now; arrays are computed by the current one
    one = sent.task
    if not one.has_points or one.reduce is not None:
        raise GraphcError(
            "map is for graphs of scalars compiled without reduce=; for sums and means over rows "
            "use reduce"
        )
    named = dict(zip(sent.arguments, sent.arranged([], data), strict=True))
    read = {one.graph.names[row] for row in one.read}
    given = {
        name: as_array(name, value) if name in read and value is not None else None
        for name, value in named.items()
    }
    arrays = {name: array for name, array in given.items() if array is not None and array.ndim}
    if not arrays:
        raise GraphcError("map: the data hold no array; give one, or call the function itself")
    dtype = sent.options.dtype if sent.dtype is not None else _common_dtype(list(given.values()))
    points = point_shape(sent, arrays)
    results = flat_results(one.results)
    plan = _planned(points, chunks, list(arrays.values()), len(results))
    blocks = [_as_dask(array, plan) for array in arrays.values()]
    return _mapped(sent, dtype, given, list(arrays), blocks, results)


def _mapped(
    sent: Shipment,
    dtype: str,
    given: Mapping[str, Any],
    names: Sequence[str],
    blocks: Sequence[Any],
    results: Sequence[Any],
) -> Any:
    """The lazy results: each block is computed once, and its parts are taken from it."""
    import dask.array

    aligned = dask.array.broadcast_arrays(*blocks)
    starts = [[0, *np.cumsum(sizes).tolist()] for sizes in aligned[0].chunks]
    fixed = [None if name in names else value for name, value in given.items()]
    places = [list(given).index(name) for name in names]
    run = block_of_points(sent.text(dtype), sent.want, fixed, places, starts)
    rank, lead = aligned[0].ndim, aligned[0].chunks
    whole = dask.array.map_blocks(
        *(run, *aligned), name=f"graphc-block-{uuid4().hex}", meta=np.empty((0,) * rank, dtype)
    )
    found = []
    for number, result in enumerate(results):
        shape = (len(result.entries), len(result.entries[0])) if isinstance(result, Matrix) else ()
        found.append(
            whole.map_blocks(
                itemgetter(number),
                chunks=(*lead, *((size,) for size in shape)),
                new_axis=list(range(rank, rank + len(shape))) or None,
                meta=np.empty((0,) * (rank + len(shape)), dtype),
            )
        )
    return sent.rebuilt(iter(found))


def _common_dtype(values: Sequence[Any]) -> str:
    kinds = [value.dtype for value in values if value is not None]
    return "float32" if all(kind in (np.float32, np.float16) for kind in kinds) else "float64"


def _planned(points: Sequence[int], chunks: Any, arrays: Sequence[Any], results: int) -> Any:
    """The sizes of blocks along each axis; None to keep those of the arrays of Dask."""
    from dask.array.core import normalize_chunks

    if chunks is None and any(map(is_dask, arrays)):
        return None
    try:
        return normalize_chunks(
            "auto" if chunks is None else chunks,
            tuple(points),
            limit=CHUNK // (len(arrays) + results),
            dtype=np.dtype(np.float64),
            previous_chunks=None if chunks else _stored_chunks(points, arrays),
        )
    except (ValueError, TypeError) as error:
        raise GraphcError(
            f"chunks={chunks!r:.60} do not fit points of shape {tuple(points)}: {error}"
        ) from None


def _stored_chunks(points: Sequence[int], arrays: Sequence[Any]) -> Any:
    """The blocks in which an array is stored, if one is, so that each is read once."""
    for array in arrays:
        stored = getattr(array, "chunks", None)
        if stored and tuple(array.shape) == tuple(points):
            return tuple(
                (*(size,) * (total // size), *((total % size,) if total % size else ()))
                for size, total in zip(stored, points, strict=True)
            )
    return None


def _as_dask(array: Any, plan: Any) -> Any:
    """An array of Dask, in blocks of the plan."""
    import dask.array
    from dask.array.core import slices_from_chunks
    from dask.highlevelgraph import HighLevelGraph
    from toolz import apply

    if is_dask(array):
        return array if plan is None else array.rechunk(_blocks(array, plan))
    sizes = dask.array.core.normalize_chunks(
        "auto" if plan is None else _blocks(array, plan), array.shape, dtype=array.dtype
    )
    if not is_remote(array):
        return dask.array.from_array(array, chunks=sizes, name=False)
    name, read = (f"graphc-{word}-{uuid4().hex}" for word in ("part", "reader"))
    places = zip(
        product(*(range(len(along)) for along in sizes)), slices_from_chunks(sizes), strict=True
    )
    tasks: dict[Any, Any] = {(name, *place): (apply, read, part) for place, part in places}
    tasks[read] = reader(array, abroad=True)
    graph = HighLevelGraph.from_collections(name, tasks)
    return dask.array.Array(graph, name, sizes, dtype=array.dtype)


def _blocks(array: Any, plan: Any) -> tuple[Any, ...]:
    """The plan's blocks along the axes of an array; from behind, as arrays broadcast."""
    return tuple(
        plan[axis - array.ndim] if size > 1 else (size,) for axis, size in enumerate(array.shape)
    )
