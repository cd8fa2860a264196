"""The parameters as one vector: what optimisers, ours and scipy's, work on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..algebra.exact import as_float
from ..distributed.reducing import Rows
from ..distributed.sources import is_large
from ..errors import GraphcError, listing
from ..read.given import array

Vector = Any  # a one-dimensional float array
ValueAndGrad = Callable[..., tuple[Any, Mapping[str, Any]]]


@dataclass(frozen=True)
class Layout:
    """Where each parameter stands in the vector."""

    shapes: dict[str, tuple[int, ...]]

    @property
    def size(self) -> int:
        """The length of the vector."""
        return sum(prod(shape) for shape in self.shapes.values())

    def flatten(self, params: Mapping[str, Any]) -> Vector:
        """The vector of the parameters, in the order of the layout."""
        missing = [name for name in self.shapes if name not in params]
        if missing:
            raise GraphcError(f"values are missing for {listing(missing)}")
        vector = np.empty(self.size)
        for name, place in self.unflatten(vector).items():
            try:
                place[...] = params[name]
            except ValueError:
                raise GraphcError(
                    f"{name!r} has shape {np.shape(params[name])}, not {place.shape}"
                ) from None
        return vector

    def unflatten(self, vector: Vector) -> dict[str, Any]:
        """{name: array} of views into the vector: nothing is copied."""
        parts: dict[str, Any] = {}
        start = 0
        for name, shape in self.shapes.items():
            end = start + prod(shape)
            parts[name] = vector[start:end].reshape(shape)
            start = end
        return parts


class Flat:
    """A value and gradient as a function of one vector: `fun(vector) -> (value, vector)`."""

    def __init__(self, function: ValueAndGrad, layout: Layout, data: Mapping[str, Any]) -> None:
        self.function = function
        self.layout = layout
        self.data = dict(data)
        self.start: Vector = np.zeros(layout.size)

    def __call__(
        self, vector: Vector, data: Mapping[str, Any] | None = None
    ) -> tuple[float, Vector]:
        """The value and the gradient vector; `data` stands in for the data given before."""
        params = self.unflatten(np.asarray(vector, dtype=float))
        value, gradient = self.function(**(self.data if data is None else data), **params)
        return float(np.reshape(value, ())), self.layout.flatten(gradient)

    def flatten(self, params: Mapping[str, Any]) -> Vector:
        """The vector of a dict of parameters."""
        return self.layout.flatten(params)

    def unflatten(self, vector: Vector) -> dict[str, Any]:
        """{name: array} of a vector, as views into it."""
        if np.shape(vector) != (self.layout.size,):
            raise GraphcError(
                f"the parameters are a vector of {self.layout.size} numbers, not an array of shape "
                f"{np.shape(vector)}"
            )
        return self.layout.unflatten(vector)


def flat(
    f: ValueAndGrad,
    params: Mapping[str, Any],
    data: Mapping[str, Any] | None = None,
    *,
    client: Any = None,
    chunks: Any = None,
) -> Flat:
    """A function of one vector, `fun(vector) -> (value, gradient vector)`, from a compiled one.

    `f` is `g.compile(of=..., wrt=[...], want="value_and_grad")`, or any function with keyword
    arguments that returns `(value, {name: gradient})`; `params` are the starting values of what is
    fitted and fix names, order and shapes; `data` is everything else that `f` takes. It is what
    `scipy.optimize.minimize(fun, fun.start, jac=True)` expects; `fun.unflatten(result.x)` gives the
    parameters back by name. Data that do not fit into memory (Dask, Zarr), or all with a `client`
    of Dask, are reduced in `chunks` of rows, and `f` is one that `compile` made.
    """
    if not params:
        raise GraphcError("params is empty; give {name: starting value} of what is to be fitted")
    both = [name for name in params if name in (data or {})]
    if both:
        raise GraphcError(f"{listing(both)} cannot be in params and in data; keep one of them")
    starts = {
        name: np.asarray(as_float(array(value, f"the start of {name!r}")), dtype=float)
        for name, value in params.items()
    }
    layout = Layout({name: start.shape for name, start in starts.items()})
    if client is None and not any(is_large(value) for value in (data or {}).values()):
        fun = Flat(f, layout, data or {})
    elif hasattr(f, "shipment"):
        fun = Flat(Rows(f.shipment(), data or {}, chunks, client, progress=False), layout, {})
    else:
        raise GraphcError("rows in chunks need a function that g.compile(...) made")
    fun.start = fun.flatten(starts)
    return fun
