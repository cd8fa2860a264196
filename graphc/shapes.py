"""Shapes: tuples of sizes, each a number or the name of a size that is known only at a point."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .errors import GraphcError, on_one_line, visible
from .names import checked

Size = int | str
Shape = tuple[Size, ...]
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_AXES = 12  # a second derivative has three times as many, and a letter for each


def shape_text(shape: Shape) -> str:
    """A shape as people write it: (3,), (n, 784)."""
    inner = ", ".join(str(size) for size in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def checked_shape(shape: Any) -> Shape:
    """A shape that was declared by a user."""
    if isinstance(shape, (int, str)):
        shape = (shape,)
    try:
        sizes = tuple(shape)
    except TypeError:
        raise GraphcError(f"the shape {shape!r} is not a tuple of sizes such as (3, 'n')") from None
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, (int, str)):
            raise GraphcError(f"the size {visible(str(size))} is neither a number nor a name")
        if isinstance(size, str):
            checked(size)
        elif size < 0:
            raise GraphcError(f"the size {size} is negative; sizes are 0 or more")
    return few_axes(sizes)


def few_axes(shape: Shape) -> Shape:
    """The shape, if it has few enough axes for its derivatives to be written."""
    if len(shape) > MOST_AXES:
        raise GraphcError(
            f"an array of {len(shape)} axes has too many, at most {MOST_AXES} are allowed; "
            "reshape it"
        )
    return shape


def broadcast(shapes: Sequence[Shape], what: str, labels: Sequence[str]) -> Shape:
    """The common shape by NumPy's rule; two different sizes never match, named ones included."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Size] = []
    for axis in range(-rank, 0):
        found: Size = 1
        for shape in shapes:
            size = shape[axis] if len(shape) >= -axis else 1
            if size == 1 or size == found:
                continue
            if found != 1:
                both = " and ".join(
                    f"{label} is {shape_text(s)}"
                    for label, s in zip(labels, shapes, strict=True)
                    if s
                )
                raise GraphcError(f"{what}: {both}; sizes {found} and {size} do not broadcast")
            found = size
        result.append(found)
    return tuple(result)


def axis_of(axis: Any, shape: Shape, what: str) -> int:
    """An axis counted from the end, -rank..-1, so that further leading axes do not move it."""
    rank = len(shape)
    try:
        if isinstance(axis, bool):
            raise TypeError
        place = operator.index(axis)  # NumPy's integers too
    except TypeError:
        raise GraphcError(f"{what}: axis={on_one_line(axis)} is not a whole number") from None
    if not -rank <= place < rank:
        raise GraphcError(
            f"{what}: axis {place} is out of range for the {rank} axes of {shape_text(shape)}"
        )
    return place if place < 0 else place - rank


def axes_of(axis: Any, shape: Shape, what: str) -> tuple[int, ...]:
    """All axes for None, one for a number, several for a tuple; counted from the end, ascending."""
    if axis is None:
        return tuple(range(-len(shape), 0))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(sorted(axis_of(a, shape, what) for a in given))
    if len(set(axes)) != len(axes):
        raise GraphcError(f"{what}: axis={axis!r} names an axis of {shape_text(shape)} twice")
    return axes


def resolve(size: Size, sizes: Mapping[str, int]) -> int:
    """A size as a number, at a point where the named sizes are known."""
    if isinstance(size, int):
        return size
    if size not in sizes:
        raise GraphcError(
            f"the size {size!r} is not known at this point; give the arrays that have it"
        )
    return sizes[size]


def concrete(shape: Iterable[Size], what: str) -> tuple[int, ...]:
    """A shape of numbers only."""
    shape = tuple(shape)
    named = next((size for size in shape if not isinstance(size, int)), None)
    if named is not None:
        raise GraphcError(
            f"{what} needs known sizes, but {named} is only a name; declare the array with numbers"
        )
    return tuple(int(size) for size in shape)


def count(shape: Shape) -> int:
    """The number of elements; 0 if a size is only a name."""
    known = [size for size in shape if isinstance(size, int)]
    return math.prod(known) if len(known) == len(shape) else 0


def unused_letters(used: Iterable[str], count: int) -> str:
    """Letters for further axes of a contraction."""
    taken = set("".join(used))
    free = [letter for letter in LETTERS if letter not in taken]
    if len(free) < count:
        raise GraphcError(f"a contraction has over {len(LETTERS)} axes; use arrays of fewer axes")
    return "".join(free[:count])


def check_fit(value: Any, shape: Shape, name: str, sizes: dict[str, int] | None = None) -> None:
    """Checks a value against the declared shape, learning the named sizes."""
    known = {} if sizes is None else sizes
    actual = tuple(getattr(value, "shape", ()))
    for declared, size in zip(shape, actual, strict=False):
        wanted = known.setdefault(declared, size) if isinstance(declared, str) else declared
        if wanted != size:
            what = f"{declared} = {wanted}" if isinstance(declared, str) else str(wanted)
            raise GraphcError(
                f"{name!r} was declared {shape_text(shape)} but its value has shape {actual}; "
                f"sizes {what} and {size} differ"
            )
    if len(actual) != len(shape):
        raise GraphcError(
            f"{name!r} was declared {shape_text(shape)} but its value has shape {actual}"
        )
