"""Arrays of exact numbers that people ask for by name: zeros, ones, identities, one-hot rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import GraphcError
from ..shapes import checked_shape, concrete, shape_text
from .calling import on_settings

MOST_ELEMENTS = 1_000_000  # of a constant or an index array


@on_settings
def onehot(i: Any, n: int) -> Any:
    """The vector (or rows) with 1 at the place i of n."""
    places = np.asarray(i)
    if places.dtype.kind not in "iu" or not isinstance(n, int) or n < 1:
        raise GraphcError(f"onehot(i, n): i={i!r} and n={n!r} must be whole numbers")
    if places.size and (places.min() < 0 or places.max() >= n):
        raise GraphcError(f"onehot: the index {i} is out of range for size {n}")
    small_shape((*places.shape, n), "onehot")
    return (np.arange(n) == places[..., None]).astype(int).astype(object)


@on_settings
def zeros(shape: Any) -> Any:
    """An array of zeros."""
    return np.zeros(small_shape(shape, "zeros"), dtype=int).astype(object)


@on_settings
def ones(shape: Any) -> Any:
    """An array of ones."""
    return np.ones(small_shape(shape, "ones"), dtype=int).astype(object)


@on_settings
def eye(n: int) -> Any:
    """The identity matrix."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise GraphcError(f"eye(n): n={n!r} must be a whole number")
    small_shape((n, n), "eye")
    return np.eye(n, dtype=int).astype(object)


def small_shape(shape: Any, name: str) -> tuple[int, ...]:
    """A shape of known sizes that may be held as a constant."""
    sizes = concrete(checked_shape(shape), name)
    if math.prod(sizes) > MOST_ELEMENTS:
        raise GraphcError(
            f"{name}: {shape_text(sizes)} has over {MOST_ELEMENTS} elements; use a smaller shape"
        )
    return sizes
