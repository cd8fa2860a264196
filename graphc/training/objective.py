"""What is made small: the loss of a graph as a compiled function of the parameter vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra.exact import as_float
from ..derive.hops import the_output
from ..derive.request import point_shape
from ..distributed.reducing import Rows
from ..distributed.sources import is_large, is_remote
from ..errors import GraphcError, listing, nearest
from ..names import spelling
from ..read.given import array, number
from ..shapes import check_fit
from ..structure.reach import upstream
from ..structure.structure import Structure
from .flat import Flat, Vector, flat

if TYPE_CHECKING:
    from ..graphs import Graph

REDUCTIONS = ("mean", "sum")


class Objective:
    """The loss by name, its compiled derivatives, the data, and the axes along which points lie."""

    def __init__(
        self,
        graph: Graph,
        of: Any,
        data: Mapping[str, Any] | None,
        params: Mapping[str, Any] | None,
        reduce: str,
        client: Any = None,
        chunks: Any = None,
        over: str | None = None,
    ) -> None:
        if reduce not in REDUCTIONS:
            raise GraphcError(f"reduce={reduce!r} is not known; use one of {listing(REDUCTIONS)}")
        if not isinstance(graph, Structure):
            raise GraphcError(f"descend takes a graph, not {type(graph).__name__}")
        self.graph = graph
        self.of = graph.names[the_output(graph, of)]
        self.reduce = None if graph.has_tensors else reduce
        self._chunked = {"client": client, "chunks": chunks, "over": over, "progress": False}
        self._in_chunks = client is not None
        fixed = self._floats(data or {}, "data")
        starts = self._starts(self._floats(params or {}, "params"), fixed)
        self.data = self._needed(fixed, starts)
        self._check_shapes(self.data, starts)
        here = {} if self._in_chunks else self.data
        self.fun: Flat = flat(self._compiled("value_and_grad", list(starts)), starts, here)
        self._hessian: Any = None
        self._rows: dict[str, Rows] = {}  # by want

    def __call__(self, vector: Vector, data: Mapping[str, Any]) -> tuple[float, Vector]:
        """The loss and its gradient."""
        if not self._is_whole(data):
            return self.fun(vector, data)
        rows = self._over_rows("value_and_grad", self.fun.function)
        return Flat(rows, self.fun.layout, {})(vector)

    def hessian(self, vector: Vector, data: Mapping[str, Any]) -> Any:
        """The matrix of second derivatives by the parameter vector."""
        if self._hessian is None:
            self._hessian = self._compiled("hessian", list(self.fun.layout.shapes))
        params = self.fun.unflatten(vector)
        if self._is_whole(data):
            return self._over_rows("hessian", self._hessian)(**params)
        return self._hessian(**data, **params)

    def _is_whole(self, data: Mapping[str, Any]) -> bool:
        """Whether all rows are asked for, and they come in chunks: no mini-batch."""
        return self._in_chunks and all(value is self.data[name] for name, value in data.items())

    def _over_rows(self, want: str, compiled: Any) -> Rows:
        """The rows of the data, for a compiled function: split once."""
        if want not in self._rows:
            self._rows[want] = Rows(compiled.shipment(), self.data, **self._chunked)
        return self._rows[want]

    def _compiled(self, want: str, wrt: list[str]) -> Any:
        settings = {} if self.reduce is None else {"reduce": self.reduce}
        return self.graph.compile(of=self.of, wrt=wrt, want=want, **settings)

    # What the user gave.

    def _floats(self, given: Mapping[str, Any], what: str) -> dict[str, Any]:
        """The values by the names of the graph, as float arrays."""
        if not isinstance(given, Mapping):
            raise GraphcError(f"{what}= takes a dict of names and values, not {given!r:.60}")
        leaves = {self.graph.names[row]: row for row in self.graph.leaves()}
        found: dict[str, Any] = {}
        for key, value in given.items():
            name = spelling(str(key))
            if name not in leaves:
                raise GraphcError(
                    f"{what}: there is no input or param {name!r} (there are: {listing(leaves)})"
                    f"{nearest(name, leaves)}"
                )
            if is_large(value) or (self._in_chunks and is_remote(value)):
                found[name], self._in_chunks = value, True
                continue
            tensor = leaves[name] in self.graph.shapes
            exact = array(value, f"{what} {name!r}") if tensor else number(value, name)
            found[name] = np.asarray(as_float(exact), dtype=float)
        return found

    def _starts(self, params: dict[str, Any], fixed: dict[str, Any]) -> dict[str, Any]:
        """The starting values of what is trained: the graph's params, and what `params` adds."""
        both = [name for name in params if name in fixed]
        if both:
            raise GraphcError(f"{listing(both)} cannot be in params and in data; keep one of them")
        wanted = [name for name in self.graph.param_names if name not in fixed]
        names = [*wanted, *(name for name in params if name not in wanted)]
        starts = self._given(names, params)
        missing = [name for name in names if name not in starts]
        if missing:
            raise GraphcError(
                f"starting values are missing for {listing(missing)}; give them in "
                "params={...} or at the declaration"
            )
        if not starts:
            raise GraphcError(
                "there is nothing to train: the graph has no params; give the starting values of "
                f"some of {listing(self.graph.input_names)} in params={{...}}"
            )
        return starts

    def _needed(self, fixed: dict[str, Any], starts: dict[str, Any]) -> dict[str, Any]:
        """Values of every other leaf that the loss is computed from."""
        graph = self.graph
        used = set(upstream(graph, [graph.row(self.of)]))
        if graph.has_tensors:  # an array may be there for its size alone
            used |= {graph.row(name) for name in fixed}
        leaves = [graph.names[row] for row in graph.leaves() if row in used]
        names = [name for name in leaves if name not in starts]
        values = self._given(names, fixed)
        missing = [name for name in names if name not in values]
        if missing:
            raise GraphcError(f"data is missing for {listing(missing)}; give it in data={{...}}")
        return values

    def _given(self, names: list[str], values: dict[str, Any]) -> dict[str, Any]:
        """The values of these names, from `values` or from the declaration, where there are any."""
        graph = self.graph
        declared = {
            name: np.asarray(as_float(graph.given[graph.row(name)]), dtype=float)
            for name in names
            if name not in values and graph.row(name) in graph.given
        }
        found = {**declared, **values}
        return {name: found[name] for name in names if name in found}

    def _check_shapes(self, data: dict[str, Any], starts: dict[str, Any]) -> None:
        empty = next((name for name, value in data.items() if 0 in value.shape), None)
        if empty is not None:
            raise GraphcError(
                f"data: {empty!r} has shape {data[empty].shape}, so there are no points to train "
                "on; give at least one"
            )
        if self.graph.has_tensors:
            sizes: dict[str, int] = {}
            for name, value in {**data, **starts}.items():
                check_fit(value, self.graph[name].shape, name, sizes)
            return
        for name, value in starts.items():
            if value.shape:
                raise GraphcError(
                    f"{name!r} is a scalar, so it starts at one number, not at an array of shape "
                    f"{value.shape}; declare '{name}[{value.shape[0]}]' for a vector"
                )
        self.points = point_shape({name: np.broadcast_to(0.0, v.shape) for name, v in data.items()})

    # Where the points are.

    def axes(self, over: str | None) -> dict[str, int]:
        """{name: axis} of the data along which points lie, for drawing mini-batches."""
        axes = self._named_axes(over) if self.graph.has_tensors else self._point_axes()
        if not axes:
            raise GraphcError(
                "batch= needs data with several points: arrays for the inputs of a graph of "
                "scalars, or inputs declared with a named size, such as 'input X[n, 784]'"
            )
        return axes

    def _named_axes(self, over: str | None) -> dict[str, int]:
        shapes = {name: self.graph[name].shape for name in self.data}
        sizes = [size for shape in shapes.values() for size in shape if isinstance(size, str)]
        if over is not None and over not in sizes:
            raise GraphcError(
                f"over={over!r} is no named size of the data (there are: {listing(sizes)})"
            )
        chosen = over or next(iter(sizes), None)
        if any(shape.count(chosen) > 1 for shape in shapes.values()):
            raise GraphcError(
                f"batch: the size {chosen!r} stands twice in one input; say over= which size the "
                "points are counted by"
            )
        return {name: shape.index(chosen) for name, shape in shapes.items() if chosen in shape}

    def _point_axes(self) -> dict[str, int]:
        points = self.points
        return {
            name: 0
            for name, value in self.data.items()
            if points and len(value.shape) == len(points) and value.shape[0] == points[0]
        }
