"""Selections as people write them: x[:, 0], x[1:3], windows by their places, unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..shapes import LETTERS, Size, shape_text, unused_letters
from .contraction_words import (
    JUXTAPOSED,
    beside,
    eye,
    letters_of,
    outer,
    scaled,
    sizes_latex,
    transposed_latex,
)
from .phrases import (
    ATOM,
    ITEM,
    TIMES,
    Phrase,
    bracket,
    bracket_latex,
    call,
    call_latex,
    infix,
    item,
    leaf,
    phrase,
)
from .places import Index, Places, Slice, Window
from .tensors import Site

MOST_LISTED = 12  # places that are written before the dots


def pad(part: Phrase, ends: tuple[int, int], axis: int, rank: int) -> Phrase:
    """Zeros before and after an array along one axis."""
    widths = [str(ends) if at == axis else "(0, 0)" for at in range(-rank, 0)]
    return call("pad", part, more=[f"({', '.join(widths)}{',' * (rank == 1)})"])


# Elements along an axis.


def gather_line(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """x[:, 0], x[1:3], x[[0, 2]]; windows by their places."""
    index, size, axis = (site.settings[key] for key in ("index", "size", "axis"))
    rank = len(site.shapes[0])
    part = bracket(parts[0], ITEM)
    if index.has_gaps:
        ends = (0, 1)  # -1 is the last place, which is 0 then
        if isinstance(index, Window):
            ends = (index.padding, max(0, index.span - size - index.padding))
        part = pad(parts[0], ends, axis, rank)
    return item(part, ":, " * (rank + axis) + places_text(index))


def gather_source(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """The places of -1, which hold 0, are those of a border of zeros."""
    index, axis = site.settings["index"], site.settings["axis"]
    if len(index.shape) < 2 and not index.has_gaps:
        return gather_line(site, parts)
    part = parts[0]
    if index.has_gaps:
        part, index = pad(part, (1, 0), axis, len(site.shapes[0])), _shifted(index)
    return call("take", part, more=[index.listed(), f"axis={axis}"])


def _shifted(index: Index) -> Places:
    return Places(index.array + 1)


def gather_latex(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """Elements by their index."""
    index, rank = site.settings["index"], len(site.shapes[0])
    if len(site.shape) > rank:
        return call_latex("windows", *parts)
    if index.has_gaps:
        return call_latex("gather", *parts, below=_few(index.array.tolist()))
    before = ":, " * (rank + site.settings["axis"])
    return element_latex(parts[0], before + places_text(index))


def element_latex(part: Phrase, index: str) -> Phrase:
    """An element, or a slice."""
    plain = part.binding == ATOM and "_" not in part.text
    base = part if plain else phrase(r"\left({0}\right)", part, word="()")
    return phrase("{0}_{{{1}}}", base, leaf(index), binding=ITEM)


def _few(index: Any) -> str:
    """Places along an axis, the first of them if there are many."""
    if isinstance(index, int):
        return str(index)
    parts = [_few(part) for part in index[:MOST_LISTED]]
    parts += [r"\ldots"] * (len(index) > MOST_LISTED)
    return f"[{', '.join(parts)}]"


# Elements put at their places along an axis of the result.


def scatter_line(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """Multiples of unit vectors, zeros about a slice; else a product with zeros and ones."""
    index, size, axis = (site.settings[key] for key in ("index", "size", "axis"))
    part, rank = parts[0], len(site.shape)
    unit = _selector(index, size)
    if not index.shape:
        if rank == 1:
            return unit if part.text == "1" else infix("*", bracket(part, TIMES), unit, TIMES)
        if rank == 2:
            return outer(part, unit) if axis == -1 else outer(unit, part)
    elif isinstance(index, Slice) and index.count and index.step == 1:
        ends = (index.start, size - index.start - index.count)
        return pad(part, ends, axis, rank)
    letters = LETTERS[:rank]
    place, inner = letters[axis], unused_letters([letters], len(index.shape))
    source = letters[:axis] + inner + letters[axis:][1:]
    spec = letters_of(f"{source},{inner}{place}->{letters}")
    return call("einsum", spec, part, unit)


def places_text(index: Index) -> str:
    """The places of an index between brackets."""
    if not isinstance(index, Window):
        return index.subscript or index.listed()
    starts, inside = f"arange({index.count})[:, None]", f"arange({index.width})"
    starts += f"*{index.stride}" * (index.stride > 1 and index.count > 1)
    inside += f"*{index.dilation}" * (index.dilation > 1 and index.width > 1)
    return f"{starts} + {inside}"


def _selector(index: Index, size: Size) -> Phrase:
    """The 0/1 array of shape index + (size,) with 1 at each place; none where the place is -1."""
    places = places_text(index)
    if not index.has_gaps:
        return item(eye(size), places)
    if not isinstance(index, Window):  # -1 is the last row, which is cut off
        return item(item(eye(int(size) + 1), places), f"..., :{size}")
    whole = max(index.span, index.padding + int(size))
    return item(item(eye(whole), places), f"..., {index.padding}:{index.padding + int(size)}")


def scatter_source(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """The transpose of gather_source."""
    index, size, axis = (site.settings[key] for key in ("index", "size", "axis"))
    if index.has_gaps:
        more = [_shifted(index).listed(), str(int(size) + 1), f"axis={axis}"]
        return item(call("scatter", parts[0], more=more), f"..., 1:{', :' * (-1 - axis)}")
    return call("scatter", parts[0], more=[index.listed(), str(size), f"axis={axis}"])


def scatter_latex(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """Multiples of unit vectors; else the places below the name."""
    index, part = site.settings["index"], parts[0]
    if index.shape or len(site.shape) > 2:
        return call_latex("scatter", part, below=_few(index.array.tolist()))
    unit = leaf(f"e_{{{index.subscript}}}")
    if len(site.shape) == 1:
        return unit if part.text == "1" else scaled(part, unit)
    left, right = (part, unit) if site.settings["axis"] == -1 else (unit, part)
    return beside(bracket_latex(left, JUXTAPOSED), transposed_latex(right))


# The same elements in another shape.


def reshape_line(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """reshape(x, shape)."""
    return call("reshape", *parts, more=[shape_text(site.settings["shape"])])


def reshape_latex(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """The shape below the name."""
    return call_latex("reshape", *parts, below=sizes_latex(site.settings["shape"]))
