"""The place of the largest element, as people write it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..shapes import Shape, shape_text
from .contraction_words import eye
from .phrases import ITEM, TIMES, Phrase, bracket, call, call_latex, infix, phrase
from .tensors import Site


def winner(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """1 at the first largest element along the axes."""
    part, shape = parts[0], site.shapes[0]
    axes = tuple(axis + len(shape) for axis in site.settings["axes"])
    whole = len(axes) == len(shape)
    axis = axes[0] if len(axes) == 1 else axes
    along = [] if whole else [f"axis={axis}"]
    if site.settings.get("kink") == "share":
        kept = [] if whole else [*along, "keepdims=True"]
        ties = bracket(infix("==", part, call("max", part, more=kept), 0), 1)
        return infix("/", ties, call("sum", ties, more=kept), TIMES)
    unit = eye(_count(shape, axes))
    if whole:
        first = item_of(unit, call("argmax", part))
        return first if len(shape) == 1 else call("reshape", first, more=[shape_text(shape)])
    if len(axes) == 1:
        chosen = item_of(unit, call("argmax", part, more=along))
        last = axes[0] == len(shape) - 1
        return chosen if last else call("moveaxis", chosen, more=["-1", str(axis)])
    end = tuple(range(-len(axes), 0))
    front = tuple(size for place, size in enumerate(shape) if place not in axes)
    moved = call("moveaxis", part, more=[str(axes), str(end)])
    flat = call("reshape", moved, more=[shape_text((*front, -1))])
    chosen = item_of(unit, call("argmax", flat, more=["axis=-1"]))
    back = shape_text((*front, *(shape[place] for place in axes)))
    return call("moveaxis", call("reshape", chosen, more=[back]), more=[str(end), str(axes)])


def item_of(part: Phrase, index: Phrase) -> Phrase:
    """part[index], where the index is computed."""
    return phrase("{0}[{1}]", part, index, binding=ITEM)


def _count(shape: Shape, axes: Sequence[int]) -> int | str:
    sizes = [shape[place] for place in axes]
    whole = [size for size in sizes if isinstance(size, int)]
    return math.prod(whole) if len(whole) == len(sizes) else "*".join(map(str, sizes))


def winner_latex(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """A unit vector at the largest element."""
    axes, rank = site.settings["axes"], len(site.shapes[0])
    chosen = "" if len(axes) == rank else ",".join(str(axis + rank) for axis in axes)
    return call_latex("onehot", call_latex("argmax", *parts, below=chosen))
