"""Elements chosen, put in their places, joined and padded: gather and its transpose, scatter."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import GraphcError, visible
from ..shapes import LETTERS, axis_of, concrete, shape_text
from ..table.functions import COMPOSED
from ..table.places import Index, Places, Slice, chosen
from ..table.value import Value
from .calling import flattened, label, layer, stated
from .constants import MOST_ELEMENTS, small_shape
from .linear import contract


def element(x: Value, index: Any) -> Value:
    """x[...] with numbers, slices, a list of numbers, None and ..., as in NumPy."""
    given = tuple(map(_plain_index, index if isinstance(index, tuple) else (index,)))
    if not x.shape and given:
        raise GraphcError(f"{label(x)} is a scalar and has no elements")
    parts = _full_index(x, given)
    result, axis = x, -len(x.shape)
    for part in parts:
        if part is not None:
            if part != slice(None):
                result = pick(result, axis, _places(part, result.shape[axis], x))
            axis += 1
    if None in parts:
        result = _with_new_axes(result, parts)
    if result is not x:
        x.graph.calls[result.row] = ("[]", (("row", x.row), given), {})
    return result


def _plain_index(part: Any) -> Any:
    """One part of an index with Python's own numbers and lists."""
    ends = (part.start, part.stop, part.step) if isinstance(part, slice) else flattened([part])
    for end in ends:
        if isinstance(end, Value):
            raise GraphcError(
                f"{label(end)} is a value of the graph and cannot be an index: places are known "
                "when the graph is declared; choose elements with where(cond, a, b)"
            )
    if isinstance(part, (np.ndarray, np.integer)):
        return part.tolist()
    return list(part) if isinstance(part, tuple) else part


def _full_index(x: Value, given: tuple[Any, ...]) -> list[Any]:
    """One part per axis, and None for each new one."""
    explicit = sum(part is not None and part is not Ellipsis for part in given)
    if explicit > len(x.shape):
        raise GraphcError(f"{stated(x)}: {explicit} indices are too many for {len(x.shape)} axes")
    whole = [slice(None)] * (len(x.shape) - explicit)
    parts: list[Any] = []
    for part in given:
        parts += whole if part is Ellipsis else [part]
    if Ellipsis not in given:
        parts += whole
    lists = sum(isinstance(part, list) for part in parts)
    if lists > 1 or given.count(Ellipsis) > 1:
        raise GraphcError(
            f"{label(x)}[...] takes one list of places and one '...' at most; take them one by one"
        )
    picking = [place for place, part in enumerate(parts) if isinstance(part, (int, list))]
    if lists and picking[-1] - picking[0] >= len(picking):
        raise GraphcError(  # NumPy moves the picked axes to the front here, which surprises people
            f"{label(x)}[...]: a slice stands between a list and a number; take them one by one"
        )
    return parts


def _with_new_axes(x: Value, parts: list[Any]) -> Value:
    """The picked value with an axis of size 1 for each None."""
    letters = iter(LETTERS)
    source, out, sizes = "", "", {}
    for part in parts:
        rank = np.ndim(part) if isinstance(part, (int, list)) else 1
        fresh = "".join(next(letters) for _ in range(rank))
        out += fresh
        if part is None:
            sizes[fresh] = 1
        else:
            source += fresh
    return contract(f"{source}->{out}", x, **sizes)


def _places(part: Any, size: Any, x: Value) -> Index:
    """The places along an axis that an index names."""
    known = size
    if not isinstance(size, int):  # what an error says takes longer than the work
        known = concrete((size,), f"indexing {label(x)}, which is {shape_text(x.shape)},")[0]
    if isinstance(part, slice):
        try:
            picked = range(known)[part]
        except (TypeError, ValueError) as error:  # ends that are not whole numbers, or a step of 0
            raise GraphcError(f"{label(x)}[...]: {error}") from None
        return range_of(picked, lambda: f"{label(x)}[...]")
    places = np.asarray(part)
    if places.dtype.kind not in "iu" and part != []:
        raise GraphcError(
            f"{label(x)}[{part!r}]: an index is a number, a slice or a list of numbers"
        )
    if places.size and (places.min() < -known or places.max() >= known):
        raise GraphcError(f"{stated(x)}: the index {part} is out of range for size {known}")
    return chosen(np.where(places < 0, places + known, places))


def pick(x: Value, axis: int, index: Index) -> Value:
    return x.graph.tensor("gather", (x,), {"axis": axis, "index": index, "size": x.shape[axis]})


def range_of(places: range, what: Callable[[], str]) -> Index:
    """A range of places, if it is short enough to be held."""
    if len(places) > MOST_ELEMENTS:
        small_shape(len(places), what())
    if places and places.step > 0:
        return Slice(places.start, len(places), places.step if len(places) > 1 else 1)
    return chosen(places)


@layer()
def take(x: Value, i: Any, *, axis: int = 0) -> Value:
    """The elements at the places i along an axis."""
    place = axis_of(axis, x.shape, "take")
    return pick(x, place, _places(_plain_index(i), x.shape[place], x))


@layer()
def scatter(x: Value, i: Any, n: int, *, axis: int = 0) -> Value:
    """The transpose of take: each element is added at its place i of n along an axis."""
    rank = np.ndim(_plain_index(i))
    shape = (*x.shape[: max(len(x.shape) - rank, 0)], n)
    if rank > len(x.shape):
        raise GraphcError(f"scatter: {stated(x)}, which has fewer axes than the places")
    place = axis_of(axis, shape, "scatter")
    index = _places(_plain_index(i), n, x)
    first = len(shape) + place
    if x.shape[first : first + rank] != index.shape:
        raise GraphcError(f"scatter: {stated(x)}, which does not fit places of {index.shape}")
    return x.graph.tensor("scatter", (x,), {"axis": place, "index": index, "size": n})


def _placed(x: Value, axis: int, before: int, total: int) -> Value:
    """The value with zeros around it along an axis."""
    size = concrete((x.shape[axis],), "joining or padding")[0]
    places = range(before, before + size)
    index = range_of(places, lambda: f"joining or padding {label(x)}")
    return x.graph.tensor("scatter", (x,), {"axis": axis, "index": index, "size": total})


@layer(parts=True)
def concat(values: list[Value], *, axis: int = 0) -> Value:
    """Arrays joined along an axis."""
    first, *others = values
    rank = len(first.shape)
    place = axis_of(axis, first.shape, "concat")
    for other in others:
        if len(other.shape) != rank or any(
            first.shape[i] != other.shape[i] for i in range(-rank, 0) if i != place
        ):
            raise GraphcError(
                f"concat: {stated(first, other)}; they may differ along axis {axis} only"
            )
    sizes = concrete([value.shape[place] for value in values], "concat")
    ends = np.cumsum(sizes).tolist()
    placed = [
        _placed(value, place, end - size, ends[-1])
        for value, size, end in zip(values, sizes, ends, strict=True)
    ]
    return functools.reduce(lambda a, b: a + b, placed) if others else first


@layer(parts=True)
def stack(values: list[Value], *, axis: int = 0) -> Value:
    """Arrays of one shape along a new axis."""
    for value in values:
        if value.shape != values[0].shape:
            raise GraphcError(f"stack: {stated(values[0], value)}; they need one shape")
    place = axis_of(axis, (len(values), *values[0].shape), "stack")
    small_shape(len(values), "stack")
    placed = [
        value.graph.tensor(
            "scatter", (value,), {"axis": place, "index": Places(k), "size": len(values)}
        )
        for k, value in enumerate(values)
    ]
    joined: Value = functools.reduce(lambda a, b: a + b, placed)
    return joined


@layer()
def pad(x: Value, widths: Any) -> Value:
    """Zeros around an array: ((before, after), ...) per axis, or one pair or number for all."""
    rank = len(x.shape)
    given = np.asarray(widths)
    if given.dtype.kind not in "iu" or given.shape not in ((), (2,), (1, 2), (rank, 2)):
        raise GraphcError(
            f"pad: {stated(x)}; give one (before, after) pair per axis, not {visible(str(widths))}"
        )
    if given.min() < 0:
        raise GraphcError(f"pad: {stated(x)}; the widths {widths!r} must be 0 or more")
    result = x
    for axis, (before, after) in enumerate(np.broadcast_to(given, (rank, 2)).tolist(), start=-rank):
        if before or after:
            size = concrete((x.shape[axis],), "pad")[0]
            result = _placed(result, axis, before, before + size + after)
    return result


COMPOSED["[]"] = element  # not a word, so that no text can call it
