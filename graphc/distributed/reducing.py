"""reduce: the results of a compiled function, summed or averaged over all rows of the data."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from ..errors import GraphcError, listing, nearest, one_of
from ..program.program import ProgramRow
from ..program.shipping import Shipment
from ..program.sparse import Sparse
from ..shapes import Shape, check_fit
from .additive import at_no_rows, combined_by
from .places import Tasks, place_of
from .sources import (
    as_array,
    in_blocks,
    is_dask,
    is_remote,
    piece_of,
    reader,
    require_dask,
    row_bytes,
    starts_of,
)
from .worker import Chunk, adder, chunk_of_rows

BRANCHES = 16  # chunks, or sums of chunks, that are added at a time
ON_ERROR = ("raise", "skip")
FEW = 5  # rows that are looked at, if need be, to tell a sum from a mean
ATTEMPTS = 4  # after workers died with data that only they held


class Skipped(NamedTuple):
    """A chunk that is not in the result."""

    chunk: int
    start: int
    stop: int
    reason: str

    def __str__(self) -> str:
        return f"chunk {self.chunk} (rows {self.start} to {self.stop - 1}): {self.reason}"


class Reduced(tuple[Any, ...]):
    """A result over all rows, `(value, grads)`: `.rows` were seen, `.skipped` lists bad chunks."""

    rows: int
    skipped: list[Skipped]

    def __new__(cls, parts: tuple[Any, ...], rows: int, skipped: list[Skipped]) -> Reduced:
        self = super().__new__(cls, parts)
        self.rows, self.skipped = rows, skipped
        return self


def reduce(
    sent: Shipment,
    data: Mapping[str, Any],
    params: Mapping[str, Any] | None,
    chunks: Any,
    client: Any,
    **settings: Any,
) -> Any:
    """The results over all rows of the data."""
    return Rows(sent, data, chunks, client, **settings)(**(params or {}))


class Rows:
    """Data in chunks of rows: a function of the parameters, to be called again and again."""

    def __init__(
        self,
        sent: Shipment,
        data: Mapping[str, Any],
        chunks: Any = None,
        client: Any = None,
        over: str | None = None,
        on_error: str = "raise",
        progress: bool | None = None,
    ) -> None:
        require_dask()
        one_of(on_error, ON_ERROR, "on_error")
        self.sent, self.skip = sent, on_error == "skip"
        self.progress = sys.stdout.isatty() if progress is None else progress
        self._check_want()
        self.place = place_of(client)
        self.arrays = {name: as_array(name, value) for name, value in data.items()}
        for name in self.arrays:
            if name not in sent.arguments:
                hint = nearest(name, sent.arguments) or f" (there are: {listing(sent.arguments)})"
                raise GraphcError(f"{sent.want} has no argument {name!r}{hint}")
        self.sizes: dict[str, int] = {}
        self.size = ""  # the named size that counts the rows
        self.axes = self._point_axes() if sent.task.has_points else self._named_axes(over)
        split = {place: self.arrays[sent.arguments[place]] for place in self.axes}
        self.split = {place: (array, self.axes[place]) for place, array in split.items()}
        self.count = next(array.shape[axis] for array, axis in self.split.values())
        if not self.count:
            raise GraphcError("reduce: the data have no rows; give at least one")
        width = self._width()
        self.starts = starts_of(self.count, chunks, width, self.split)
        self.piece = piece_of(width, self.split)
        self.whole = {
            name: np.asarray(array)
            for place, name in enumerate(sent.arguments)
            if (array := self.arrays.get(name)) is not None and place not in self.axes
        }
        self._data: tuple[Tasks, list[list[Any]]] | None = None
        self._kind: tuple[str, bool] | None = None
        self._functions: dict[str, Any] = {}  # of a chunk, by dtype

    def _check_want(self) -> None:
        one = self.sent.task
        if isinstance(one.results, Sparse):
            raise GraphcError("reduce adds arrays; leave sparse=True out")
        if one.has_points and one.reduce is None:
            raise GraphcError(
                "reduce needs to know how points are put together: compile with reduce='sum' or "
                "reduce='mean'; for a result at each point use map"
            )
        if self.skip and not isinstance(one.results, tuple):
            raise GraphcError(
                f"on_error='skip' is for want='value_and_grad', not {self.sent.want!r}"
            )

    # Where the rows are.

    def _point_axes(self) -> dict[int, int]:
        """{place: 0} of the arrays that have all points of a graph of scalars along an axis."""
        points = point_shape(self.sent, self.arrays)
        if not points:
            raise GraphcError("reduce: the data hold no array; give one with a row for each point")
        return {
            place: 0
            for place, name in enumerate(self.sent.arguments)
            if (array := self.arrays.get(name)) is not None
            and array.ndim == len(points)
            and array.shape[0] == points[0]
        }

    def _named_axes(self, over: str | None) -> dict[int, int]:
        """{place: axis} of the arrays that have the named size of the rows."""
        one, graph = self.sent.task, self.sent.task.graph
        shapes = {name: graph.shape(graph.row(name)) for name in self.sent.arguments}
        for name, array in self.arrays.items():
            check_fit(array, shapes[name], name, self.sizes)
        named = [size for name in self.arrays for size in shapes[name] if isinstance(size, str)]
        if not named or (over is not None and over not in named):
            what = "the data have no named size" if over is None else f"over={over!r} is none"
            raise GraphcError(
                f"reduce splits data along a named size, such as n in 'input X[n,784]', and {what} "
                f"(there are: {listing(dict.fromkeys(named))})"
            )
        self.size = size = over or named[0]
        for name, shape in shapes.items():
            if shape.count(size) > 1:
                raise GraphcError(
                    f"reduce: {name} has the size {size} twice, so it has no rows to be split; say "
                    "with over= which size counts the rows"
                )
            if size in shape and name not in self.arrays and graph.row(name) in one.needed:
                raise GraphcError(f"reduce: {name} has a row for each {size}; give it in data")
        for name in one.asked.wrt:
            if one.asked.want.order and size in graph.shape(graph.row(name)):
                raise GraphcError(
                    f"reduce sums over the rows, and the derivative by {name} has an element for "
                    f"each of them; leave {name} out of wrt="
                )
        if any(size in one.program.shape(row) for row in one.rows()):
            raise GraphcError(
                f"reduce sums over the rows, and {listing(one.asked.of)} has an element for each "
                "of them; ask for a node that is a sum or a mean"
            )
        return {
            place: shapes[name].index(size)
            for place, name in enumerate(self.sent.arguments)
            if name in self.arrays and size in shapes[name]
        }

    def _width(self) -> int:
        """Bytes of a row: of the data, and of what is alive at a time on the way to the results."""
        program, order = self.sent.task.program, self.sent.task.schedule.order
        last = {
            operand: place for place, row in enumerate(order) for operand in program.operands[row]
        }
        dying: dict[int, list[ProgramRow]] = {}
        alive = most = 0
        for place, row in enumerate(order):
            dying.setdefault(last.get(row, len(order)), []).append(row)
            alive += self._row_bytes(program.shape(row))
            most = max(most, alive)
            alive -= sum(self._row_bytes(program.shape(row)) for row in dying.get(place, ()))
        return most + sum(row_bytes(array.shape, axis) for array, axis in self.split.values())

    def _row_bytes(self, shape: Shape) -> int:
        """Bytes that a value has for each row; points of scalars are computed in small blocks."""
        if self.size not in shape:
            return 0
        return 8 * prod(int(self.sizes.get(str(s), s)) for s in shape if s != self.size)

    # The sum.

    def __call__(self, **params: Any) -> Any:
        """The results over all rows, at these parameters."""
        at = self._arguments(params)
        kinds = [array.dtype for array, _ in self.split.values()]
        needed = [row in self.sent.task.needed for row in self.sent.task.arguments]
        kinds += [v.dtype for v, need in zip(at, needed, strict=True) if need and v is not None]
        small = all(kind in (np.float32, np.float16) for kind in kinds)
        dtype = self.sent.options.dtype if self.sent.dtype is not None else "float64"
        dtype = "float32" if self.sent.dtype is None and small else dtype
        kind, constant = self._combination(at)
        base = at_no_rows(self.sent, self.axes, self._few(at, 0)) if constant else None
        base = base or [np.zeros(())] * len(flat_results(self.sent.task.results))
        rows, total, bad = self._total(self._function(dtype, kind == "mean"), at, base)
        skipped = [Skipped(*one) for one in bad]
        if skipped and (total is None or not self.skip):
            raise GraphcError(_told(skipped, len(self.starts) - 1, total is None and self.skip))
        assert total is not None  # there is a row, and it was not bad
        found = [
            (part / rows if kind == "mean" else part + constant_part).astype(dtype)[()]
            for part, constant_part in zip(total, base, strict=True)
        ]
        results = self.sent.rebuilt(iter(found))
        return Reduced(results, rows, skipped) if isinstance(results, tuple) else results

    def _arguments(self, params: Mapping[str, Any]) -> list[Any]:
        """The values of all arguments in order; None for those that come in chunks."""
        both = [name for name in params if name in self.arrays]
        if both:
            raise GraphcError(f"{listing(both)} cannot be in params and in data; keep one of them")
        split = {self.sent.arguments[place]: None for place in self.axes}
        ordered = self.sent.arranged([], {**self.whole, **params, **split})
        graph, sizes = self.sent.task.graph, dict(self.sizes)
        for place, name in enumerate(self.sent.arguments):
            if ordered[place] is None:
                continue
            ordered[place] = value = as_array(name, ordered[place])
            if not self.sent.task.has_points:
                check_fit(value, graph.shape(graph.row(name)), name, sizes)
            elif value.ndim and name in params:
                raise GraphcError(f"reduce: {name} is an array of points; give it in data")
        return ordered

    def _combination(self, at: list[Any]) -> tuple[str, bool]:
        """(sum or mean, whether there is a constant part): found out once."""
        if self._kind is None:
            one = self.sent.task
            few = min(self.count, FEW)
            self._kind = (str(one.reduce), False)
            if not one.has_points:
                self._kind = combined_by(
                    self.sent, self.size, self.axes, lambda: self._few(at, few)
                )
        return self._kind

    def _few(self, at: list[Any], count: int) -> list[Any]:
        """The arguments with the first rows only."""
        found = list(at)
        for place, (array, axis) in self.split.items():
            if count:
                part = array[(slice(None),) * axis + (slice(0, count),)]
            else:
                part = np.zeros([0 if a == axis else s for a, s in enumerate(array.shape)])
            found[place] = np.asarray(part)
        return found

    def _function(self, dtype: str, mean: bool) -> Any:
        """The function of one chunk, with its text: written once."""
        if dtype not in self._functions:
            split = {place: (self.sent.arguments[place], axis) for place, axis in self.axes.items()}
            text = self.sent.text(dtype)
            self._functions[dtype] = chunk_of_rows(text, self.sent.want, split, mean, self.piece)
        return self._functions[dtype]

    def _total(self, run: Any, at: list[Any], base: list[Any]) -> Chunk:
        """The sum of all chunks; data that died with their workers are put there again."""
        for _ in range(ATTEMPTS):
            data, parts = self._data = self._data or self._placed()
            tasks, root, chunks = self._tasks(data, parts, run, {"arguments": at, "base": base})
            try:
                return self.place.total(tasks, root, chunks, skip=self.skip, progress=self.progress)
            except self.place.lost:
                self._data = None
        raise GraphcError(
            f"reduce: workers were lost with their data {ATTEMPTS} times; look into their logs"
        )

    def _placed(self) -> tuple[Tasks, list[list[Any]]]:
        """The tasks that give the data, and for each chunk its parts in terms of them."""
        tasks: Tasks = {}
        columns: list[list[Any]] = []
        chunks = list(pairwise(self.starts))
        blocks = {
            place: in_blocks(array, axis, self.starts)
            for place, (array, axis) in self.split.items()
            if is_dask(array)
        }
        if blocks:
            import dask

            # together, so that what they share is computed once
            blocks = dict(zip(blocks, dask.optimize(*blocks.values()), strict=True))
        for place, (array, axis) in self.split.items():
            if place in blocks:
                tasks.update(dict(blocks[place].__dask_graph__()))
                columns.append(list(_leaves(blocks[place].__dask_keys__())))
            elif self.place.abroad and not is_remote(array):
                lead = (slice(None),) * axis
                columns.append(
                    list(self.place.put([array[(*lead, slice(*chunk))] for chunk in chunks]))
                )
            else:
                key = f"graphc-reader-{uuid4().hex}"
                tasks[key] = reader(array, self.place.abroad)
                columns.append([key] * len(chunks))
        return tasks, [list(parts) for parts in zip(*columns, strict=True)]

    def _tasks(
        self, data: Tasks, parts: list[list[Any]], run: Any, shared: Mapping[str, Any]
    ) -> tuple[Tasks, Any, dict[Any, tuple[int, int, int]]]:
        """One task for each chunk and a tree of sums: its order is that of the rows."""
        from toolz import apply

        mark = uuid4().hex
        function, addition, common = (f"graphc-{w}-{mark}" for w in ("function", "add", "shared"))
        tasks: Tasks = {**data, function: run, addition: adder(), common: dict(shared)}
        chunks = {
            (f"graphc-chunk-{mark}", number): (number, *chunk)
            for number, chunk in enumerate(pairwise(self.starts))
        }
        for (key, place), part in zip(chunks.items(), parts, strict=True):
            tasks[key] = (apply, function, common, *place, part)
        level, keys = 0, list(chunks)
        while level == 0 or len(keys) > 1:
            groups = [keys[i : i + BRANCHES] for i in range(0, len(keys), BRANCHES)]
            keys = [(f"graphc-sum-{level}-{mark}", number) for number in range(len(groups))]
            tasks.update(
                (k, (apply, addition, group)) for k, group in zip(keys, groups, strict=True)
            )
            level += 1
        return tasks, keys[0], chunks


def flat_results(results: Any) -> list[Any]:
    """The arrays of the results, each a row or a matrix of rows."""
    if isinstance(results, (dict, tuple)):
        parts = results.values() if isinstance(results, dict) else results
        return [array for part in parts for array in flat_results(part)]
    return [results]


def point_shape(sent: Shipment, arrays: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape of the points that the arrays of a graph of scalars broadcast to."""
    shapes = {name: tuple(array.shape) for name, array in arrays.items() if array.shape}
    try:
        return tuple(np.broadcast_shapes(*shapes.values()))
    except ValueError:
        listed = listing([f"{name} {shape}" for name, shape in shapes.items()])
        raise GraphcError(
            f"the arguments of {sent.want} do not broadcast to one shape of points: {listed}; give "
            "arrays of one shape, or numbers"
        ) from None


def _leaves(keys: Any) -> Iterator[Any]:
    """The keys of blocks, from nested lists."""
    for key in keys:
        if isinstance(key, list):
            yield from _leaves(key)
        else:
            yield key


def _told(skipped: list[Skipped], chunks: int, all_bad: bool) -> str:
    more = f" (and {len(skipped) - 1} more of {chunks} chunks)" if len(skipped) > 1 else ""
    if all_bad:
        return f"reduce: no chunk could be computed; {skipped[0]}{more}"
    return (
        f"reduce: {skipped[0]}{more}; mend the data, or leave such chunks out with on_error='skip'"
    )
