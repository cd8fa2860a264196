"""Arrays of numbers, float or exact.

A float array is NumPy's; an exact one is an object array whose elements the scalar algebra handles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import GraphcError

Scalars = Callable[[str, Sequence[Any]], Any]  # the scalar algebra: a function and its arguments
MOST_EXACT = 50_000  # exact operations on the elements of one array: about a second


class TooManyExact(GraphcError):
    """More exact numbers than are worth their time; among floats, floats will do."""


def is_exact(value: Any) -> bool:
    """Whether a value is not a float or an array of floats."""
    if isinstance(value, np.ndarray):
        return bool(value.dtype == object)
    return not isinstance(value, (float, np.floating, np.bool_))


def bound_exact(op: str, count: int) -> None:
    """Refuses to compute with many exact numbers, one by one, where floats would do."""
    if count > MOST_EXACT:
        raise TooManyExact(
            f"{op} on exact numbers would take {count} operations one by one, and at most "
            f"{MOST_EXACT} are allowed; give floats, such as 0.5 or np.array([...])"
        )


def elements(apply: Callable[..., Any], arrays: Sequence[Any]) -> Any:
    """A scalar function on the elements of exact arrays, broadcast."""
    parts = np.broadcast_arrays(*[boxed(array) for array in arrays])
    found = [apply(values) for values in zip(*(part.flat for part in parts), strict=True)]
    if found and all(isinstance(value, (bool, np.bool_)) for value in found):
        return np.array(found).reshape(parts[0].shape)
    result = np.empty(len(found), dtype=object)
    result[:] = found
    return unboxed(result.reshape(parts[0].shape))


def boxed(value: Any) -> Any:
    """A value as an array; a number as one without axes."""
    if isinstance(value, (np.ndarray, float)):
        return np.asarray(value)
    box = np.empty((), dtype=object)
    box[()] = value
    return box


def unboxed(array: Any) -> Any:
    """An array without axes as the number it holds."""
    return array if np.ndim(array) else array[()]


def split_spec(spec: str) -> tuple[list[str], str]:
    """The letters of each operand, and of the result."""
    left, _, right = spec.partition("->")
    return left.split(","), right
