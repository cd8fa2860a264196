"""Buffers: arrays for the arguments and the results of a compiled function, filled again and again.

Nothing is allocated and nothing arranged in a call, which is what a short function costs most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphcError
from ..shapes import Shape
from ..structure.rows import Row
from .module import Task
from .question import Matrix, Results
from .sparse import Sparse

if TYPE_CHECKING:
    from .options import Options

Key = Any  # a name; (of, wrt) where both were listed, (part, name) where two parts have one name


class Buffers:
    """Fill `args`, call it, read `results`."""

    __slots__ = ("__call__", "args", "results")  # a call is that of the function, nothing between

    def __init__(
        self, args: Mapping[str, Any], results: Mapping[Key, Any], run: Callable[[], None]
    ) -> None:
        self.args = args
        self.results = results
        self.__call__ = run


def parts(results: Results[Row], want: str) -> Iterator[tuple[Key, Any]]:
    """(name, row or matrix) of everything that is returned, in the order of the rows."""
    if isinstance(results, tuple):
        value, other = results
        if isinstance(other, dict) and "value" in other:
            raise GraphcError(
                "the results of buffers() go by name, and 'value' is both what is computed and a "
                "node that it is derived by; give the node another name"
            )
        words = ("value", "adjoint" if want == "vjp" else "tangent")
        if isinstance(value, dict) and isinstance(other, dict):
            slopes = [name for name, part in other.items() if not isinstance(part, dict)]
            if not value.keys().isdisjoint(slopes):  # what is computed is also asked for otherwise
                value, other = {words[0]: value}, {words[1]: other}
        yield from parts(value, words[0])
        yield from parts(other, words[1])
    elif isinstance(results, dict):
        for name, part in results.items():
            if isinstance(part, dict):
                yield from (((name, inner), leaf) for inner, leaf in part.items())
            else:
                yield name, part
    else:
        yield want, results


def standing(one: Task, dtype: str) -> tuple[dict[str, Any], dict[Key, Any]]:
    """Arrays for the arguments and for the results."""
    args = {}
    for row in one.arguments:
        name, shape = one.graph.names[row], _numbers(one.graph.shape(row))
        args[name] = np.zeros(shape, dtype=dtype)
    results = {
        key: np.zeros(_shape(one, part), dtype=dtype)
        for key, part in parts(one.results, one.asked.want.name)
    }
    return args, results


def buffers(one: Task, chosen: Options, function: Callable[..., Any]) -> Buffers:
    """The function's own buffers, or such around it."""
    made: Callable[[], Buffers] | None = getattr(function, "buffers", None)
    return copying(one, function, chosen.dtype) if made is None else made()


def copying(one: Task, function: Callable[..., Any], dtype: str) -> Buffers:
    """Buffers around a function that returns fresh arrays."""
    args, results = standing(one, dtype)
    sparse = isinstance(one.results, Sparse)
    arguments, arrays = list(args.values()), list(results.values())

    def run() -> None:
        found = dict(parts(function(*arguments), one.asked.want.name))
        for array, value in zip(arrays, found.values(), strict=True):
            array[...] = value.data if sparse else value

    return Buffers(args, results, run)


def _shape(one: Task, part: Any) -> tuple[int, ...]:
    if isinstance(part, Matrix):
        sides = (part.heights, part.widths)
        return tuple(sum(math.prod(_numbers(shape)) for shape in side) for side in sides)
    if isinstance(part, Sparse):
        return np.shape(part.constant)
    return _numbers(one.program.shape(part))


def _numbers(shape: Shape) -> tuple[int, ...]:
    known = []
    for size in shape:
        if not isinstance(size, int):
            raise GraphcError(
                f"buffers() need known sizes, and {size!r} is only a name; declare the arrays with "
                "numbers"
            )
        known.append(size)
    return tuple(known)
