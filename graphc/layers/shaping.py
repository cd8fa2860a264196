"""Other shapes of the same elements: reshaped, or repeated by NumPy's rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..errors import GraphcError
from ..shapes import LETTERS, broadcast, checked_shape, shape_text
from ..table.value import Value
from .calling import flattened, label, layer, stated
from .linear import contract


@layer(natural=True)
def broadcast_to(x: Value, shape: Any) -> Value:
    """The array repeated to a shape, by NumPy's rule."""
    wanted = checked_shape(tuple(flattened([shape])))
    if broadcast([x.shape, wanted], "broadcast_to", [label(x), "the shape"]) != wanted:
        raise GraphcError(
            f"broadcast_to: {label(x)} is {shape_text(x.shape)}, which does not fit "
            f"{shape_text(wanted)}"
        )
    own = [axis for axis in range(-len(x.shape), 0) if x.shape[axis] == wanted[axis]]
    if len(own) < len(x.shape):  # no sum over an axis of size 1: it would take the sign of -0
        x = reshape(x, tuple(x.shape[axis] for axis in own))
    letters = LETTERS[: len(wanted)]
    source = "".join(letters[axis] for axis in own)
    sizes = {a: size for a, size in zip(letters, wanted, strict=True) if a not in source}
    return contract(f"{source}->{letters}", x, **sizes)


@layer(first=1, natural=True)
def full(shape: Any, x: Value) -> Value:
    """An array of this shape that holds one value everywhere."""
    if x.shape:
        raise GraphcError(f"full: {label(x)} is {shape_text(x.shape)}; give one number")
    value: Value = broadcast_to(x, shape)
    return value


@layer(natural=True)
def reshape(x: Value, shape: Any) -> Value:
    """The same elements in another shape; one size may be -1."""
    wanted = tuple(flattened([shape]))
    if wanted.count(-1) == 1:
        wanted = _filled(x, wanted)
    wanted = checked_shape(wanted)
    if _volume(wanted) != _volume(x.shape):
        raise GraphcError(f"reshape: {stated(x)}, which does not fit {shape_text(wanted)}")
    if not wanted and not x.shape:
        return x
    return x.graph.tensor("reshape", (x,), {"shape": wanted})


def _filled(x: Value, wanted: tuple[Any, ...]) -> tuple[Any, ...]:
    """The wanted shape with the size that fits in place of -1: what the others leave over."""
    (number, names), (rest, gone) = _volume(x.shape), _volume([s for s in wanted if s != -1])
    for name in gone:
        if name in names:
            names.remove(name)
    if len(names) > 1 or (names and number != rest) or not rest or number % rest:
        raise GraphcError(f"reshape: {stated(x)}, which does not fit {shape_text(wanted)}")
    missing = names[0] if names else number // rest
    return tuple(missing if size == -1 else size for size in wanted)


def _volume(shape: Sequence[Any]) -> tuple[int, list[str]]:
    """The product of the known sizes, and the named ones."""
    known = math.prod(size for size in shape if isinstance(size, int))
    return known, sorted(size for size in shape if isinstance(size, str))
