"""Selections: elements along an axis, their transpose, and the same elements in another shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..shapes import Shape, Size, concrete, resolve
from .arrays import bound_exact, boxed, elements, unboxed
from .loops import Loops, LoopWriter, Variable, nested
from .matrix_form import ATOM, Form, Piece, bracket
from .places import Index, Slice, Window, covers, run_from
from .selection_words import (
    gather_latex,
    gather_line,
    gather_source,
    reshape_latex,
    reshape_line,
    scatter_latex,
    scatter_line,
    scatter_source,
)
from .tensors import (
    Arithmetic,
    Carry,
    Into,
    Local,
    Pairs,
    Settings,
    Site,
    define,
    repeated_to,
    summed_to,
    unchanged,
)
from .writing import ArrayWriter

# Gather and its transpose, scatter.


def _gather_shape(shapes: Sequence[Shape], settings: Settings, labels: Sequence[str]) -> Shape:
    shape, axis = shapes[0], settings["axis"] % len(shapes[0])
    return (*shape[:axis], *settings["index"].shape, *shape[axis + 1 :])


def _scatter_shape(shapes: Sequence[Shape], settings: Settings, labels: Sequence[str]) -> Shape:
    rank = len(settings["index"].shape)
    lead = _lead(len(shapes[0]), settings)
    return (*shapes[0][:lead], settings["size"], *shapes[0][lead + rank :])


def _lead(rank: int, settings: Settings) -> int:
    """The axes of the index stand where the one axis will stand, counted from the end."""
    return rank - len(settings["index"].shape) + int(settings["axis"]) + 1


def _carried_by(name: str) -> Carry:
    return lambda here, k, value: here.placed(name, value, here.settings)


def _gather(numbers: Arithmetic, args: Sequence[Any], settings: Settings) -> Any:
    return gathered(boxed(args[0]), settings)


def gathered(array: Any, settings: Settings) -> Any:
    """The elements along an axis that an index names; -1 gives 0."""
    index, axis = settings["index"], settings["axis"]
    if index.has_gaps:  # one more element, a 0, for -1 to name
        border = list(array.shape)
        border[axis] = 1
        array = np.concatenate([array, np.zeros(border, dtype=array.dtype)], axis=axis)
    return unboxed(np.asarray(array.take(index.array, axis=axis), dtype=array.dtype))


def scattered(numbers: Arithmetic, args: Sequence[Any], settings: Settings) -> Any:
    """Each element added to the place its index names along an axis."""
    array, index = boxed(args[0]), settings["index"]
    rank, places = len(index.shape), index.array.ravel()
    lead = _lead(array.ndim, settings)
    moved = np.moveaxis(array, range(lead, lead + rank), range(rank))
    rest = moved.shape[rank:]
    flat, inside = moved.reshape((places.size, *rest)), places >= 0
    result = np.zeros((resolve(settings["size"], numbers.sizes), *rest), dtype=array.dtype)
    if index.distinct:  # what is added to 0 has no sign
        result[places] = flat
    elif array.dtype != object:
        np.add.at(result, places[inside], flat[inside])
    else:
        bound_exact("scatter", flat.size)
        for place, part in zip(places[inside], flat[inside], strict=True):
            pair = result[place], part
            result[place] = elements(lambda xs: numbers.apply("add", xs, {}), pair)
    return np.moveaxis(result, 0, lead)


def _places_in(shape: Shape, settings: Settings) -> Any:
    """For each element that gather gives of an array of this shape, its place; -1 for a 0."""
    sizes = concrete(shape, "the places of a selection")
    numbered = np.arange(1, math.prod(sizes) + 1).reshape(sizes)
    return np.ravel(gathered(numbered, settings)) - 1


def _gather_pairs(site: Site, k: int) -> Pairs:
    places = _places_in(site.shapes[0], site.settings)
    return Pairs(places, np.arange(places.size))


def _scatter_pairs(site: Site, k: int) -> Pairs:
    places = _places_in(site.shape, site.settings)
    kept = np.flatnonzero(places >= 0)  # what belongs to the padding goes nowhere
    return Pairs(kept, places[kept])


# As array code.


def _subscript(rank: int, settings: Settings) -> str | None:
    """The index between brackets, with the axes before it; None where only an array will do."""
    place = settings["index"].subscript
    return None if place is None else ":, " * (rank + settings["axis"]) + place


def _gather_text(writer: ArrayWriter, site: Site, pieces: Sequence[Piece]) -> Piece:
    index, axis = site.settings["index"], f"axis={site.settings['axis']}"
    place = _subscript(len(site.shapes[0]), site.settings)
    if place is not None:
        return f"{bracket(pieces[0], 8)}[{place}]", 8
    if index.has_gaps:
        return writer.own("gather", pieces[0][0], _index_text(writer, index), axis)
    return writer.call("take", pieces[0][0], _index_text(writer, index), axis)


def _scatter_text(writer: ArrayWriter, site: Site, pieces: Sequence[Piece]) -> Piece:
    settings, text = site.settings, pieces[0][0]
    if settings["index"].distinct:
        where = _distinct_places(writer, site)
        return writer.own("put", text, writer.shape(site.shape), where)
    index, size = _index_text(writer, settings["index"]), writer.size(settings["size"])
    if all(isinstance(extent, int) for extent in (*site.shapes[0], *site.shape)):
        return writer.own("scatter", text, _flat_places(writer, site), writer.shape(site.shape))
    return writer.own("scatter_along", text, index, size, f"axis={settings['axis']}")


def _flat_places(writer: ArrayWriter, site: Site) -> str:
    """For each element of the part its place among all of the whole; behind them for none."""
    np_, index = writer.namespace, site.settings["index"]
    lead = _lead(len(site.shapes[0]), site.settings)
    shape = concrete(site.shape, "scatter")
    before, after = _around(shape, lead, 1)
    inner = ", None" * (after != 1)
    along = f"{_index_text(writer, index)}.ravel()" + "[:, None]" * (after != 1)
    places = along
    if before != 1:
        places = f"{np_}.arange({before})[:, None{inner}] * {shape[lead]} + {along}"
    if after != 1:
        places = f"({places}) * {after} + {np_}.arange({after})"
    if index.has_gaps:
        places = f"{np_}.where({along} < 0, {math.prod(shape)}, {places})"
    return writer.held(f"{np_}.ravel({places})")


def _distinct_places(writer: ArrayWriter, site: Site) -> str:
    """Where the elements of a part stand in the whole, each in a place of its own."""
    place = _subscript(len(site.shape), site.settings)
    if place is None:
        before = ":, " * (len(site.shape) + site.settings["axis"])
        place = before + _index_text(writer, site.settings["index"])
    return f"{writer.namespace}.s_[{place}]"


def _index_text(writer: ArrayWriter, index: Index) -> str:
    """An index array; windows by their steps."""
    np_ = writer.namespace
    if isinstance(index, Window) and not index.has_gaps:
        first = f"{np_}.arange({index.count})[:, None]"
        first += f" * {index.stride}" * (index.stride != 1 and index.count > 1)
        second = f"{np_}.arange({index.width})"
        second += f" * {index.dilation}" * (index.dilation != 1 and index.width > 1)
        return writer.held(f"{first} + {second}")
    kind = "" if math.prod(index.shape) else f", dtype={np_}.intp"  # an empty list is one of floats
    return writer.held(f"{np_}.array({index.listed()}{kind})")


GATHER = '''\
def {name}(x, index, axis):
    """The elements along an axis that an index array names; -1 gives 0."""
    border = list(x.shape)
    border[axis] = 1
    padded = {np}.concatenate([x, {np}.zeros(border, dtype=x.dtype)], axis=axis)
    return {np}.take(padded, {np}.where(index < 0, x.shape[axis], index), axis=axis)
'''
SCATTER = '''\
def {name}(x, places, shape):
    """Zeros of this shape, each element of x added at its place, if it is one of theirs."""
    size = 1
    for extent in shape:
        size *= extent
    total = {np}.bincount(places, weights={np}.ravel(x), minlength=size)[:size]
    return {np}.asarray(total, dtype=x.dtype).reshape(shape)
'''
SCATTER_ALONG = '''\
def {name}(x, index, size, axis):
    """Adds each element to the place that an index array names along an axis of the result."""
    lead = x.ndim - index.ndim + axis + 1
    moved = {np}.moveaxis(x, range(lead, lead + index.ndim), range(index.ndim))
    flat = moved.reshape((index.size, *moved.shape[index.ndim :]))
    places = index.ravel()
    result = {np}.zeros((size, *flat.shape[1:]), dtype=x.dtype)
    {np}.add.at(result, places[places >= 0], flat[places >= 0])
    return {np}.moveaxis(result, 0, lead)
'''
PUT = '''\
def {name}(x, shape, place):
    """Zeros of this shape, with x at a place."""
    result = {np}.zeros(shape, dtype={np}.{dtype})  # x may be a plain number
    result[place] = x
    return result
'''

# As loops: over what stands before the axis, along it, and over what stands behind it.


def _around(shape: Sequence[int], lead: int, width: int) -> tuple[int, int]:
    """The number of elements before and after some axes."""
    return math.prod(shape[:lead]), math.prod(shape[lead + width :])


def _chosen(writer: LoopWriter, index: Index) -> str:
    """The place that is named by number i1."""
    if isinstance(index, Slice):
        step = f"{index.step} * i1" if index.step != 1 else "i1"
        return f"{index.start} + {step}" if index.start else step
    return f"{writer.table(index.array.ravel().tolist())}[i1]"


def _moved(writer: LoopWriter, index: Index, loops: Loops, moving: Callable[[str], str]) -> None:
    """Loops in which elements are moved, given the place that is named; none for a gap."""
    chosen = _chosen(writer, index)
    body = moving(chosen)
    loops = [(name, size) for name, size in loops if size != 1 or name == "i1"]
    writer.add(nested(loops, f"if ({chosen} >= 0)\n    {body}" if index.has_gaps else body))


def _gather_loops(
    writer: LoopWriter, result: Variable, operands: Sequence[Variable], settings: Settings
) -> str:
    (x,), index = operands, settings["index"]
    axis = settings["axis"] % len(x.shape)
    before, after = _around(x.shape, axis, 1)
    count = math.prod(index.shape)
    start = run_from(index)
    if before == 1 and start is not None:  # the memory of the operand
        if result.shape:
            return writer.part(x, start * after, result.size)
        return x.element(str(start))

    def moving(chosen: str) -> str:
        target = result.element(_flat(before, count, "i1", after))
        return f"{target} = {x.element(_flat(before, x.shape[axis], chosen, after))};"

    writer.declare(result, zero=index.has_gaps)
    _moved(writer, index, [("i0", before), ("i1", count), ("i2", after)], moving)
    return result.text


def _scatter_loops(
    writer: LoopWriter, result: Variable, operands: Sequence[Variable], settings: Settings
) -> str:
    (x,), index = operands, settings["index"]
    lead = _lead(len(x.shape), settings)
    before, after = _around(x.shape, lead, len(index.shape))
    count = math.prod(index.shape)

    adds = "=" if index.distinct else "+="  # what is added to 0 has no sign

    def moving(chosen: str) -> str:
        target = result.element(_flat(before, result.shape[lead], chosen, after))
        return f"{target} {adds} {x.element(_flat(before, count, 'i1', after))};"

    writer.declare(result, zero=True)
    _moved(writer, index, [("i0", before), ("i1", count), ("i2", after)], moving)
    return result.text


def _flat(before: int, size: int, chosen: str, after: int) -> str:
    """The flat place of an element: before the axis, on it, behind it."""
    along = chosen if before == 1 else f"i0 * {size} + {chosen}"
    return along if after == 1 else f"({along}) * {after} + i2"


define(
    "gather",
    shape=_gather_shape,
    pull=_carried_by("scatter"),
    push=_carried_by("gather"),
    value=_gather,
    fills=lambda settings: not settings["index"].has_gaps,
    looks=lambda settings: settings["index"].subscript is not None,
    stays=lambda settings, whole: settings["index"].subscript is not None,
    through=unchanged,
    rounds=False,
    analytic=True,
    batch=unchanged,
    pairs=_gather_pairs,
    text=_gather_text,
    line=gather_line,
    source=gather_source,
    latex=gather_latex,
    rule="selection",
    loops=_gather_loops,
    definitions={"numpy": {"gather": GATHER}},
)


def _scatter_form(site: Site) -> Form | None:
    """s*eye(3)[0]: one element of a vector."""
    alone = len(site.shape) == 1 and not site.settings["index"].shape
    return Form("scaled", ()) if alone else None


define(
    "scatter",
    shape=_scatter_shape,
    pull=_carried_by("gather"),
    push=_carried_by("scatter"),
    value=scattered,
    fills=lambda settings: covers(settings["index"], settings["size"]),
    through=unchanged,
    analytic=True,
    batch=unchanged,
    pairs=_scatter_pairs,
    text=_scatter_text,
    form=_scatter_form,
    line=scatter_line,
    source=scatter_source,
    latex=scatter_latex,
    rule="selection",
    loops=_scatter_loops,
    definitions={"numpy": {"scatter": SCATTER, "scatter_along": SCATTER_ALONG, "put": PUT}},
)


# A part added to a whole, in place: what sums of many scattered parts are made of.


def _accumulate_pull(here: Local, k: int, adjoint: Any) -> Any:
    if k == 1:
        return here.placed("gather", adjoint, here.settings)
    return summed_to(here, adjoint, here.shape, here.shapes[0])


def _accumulate_push(here: Local, k: int, tangent: Any) -> Any:
    if k == 1:
        return here.placed("scatter", tangent, here.settings)
    return repeated_to(here, tangent, here.shapes[0], here.shape)


def _accumulated(here: Local) -> Any:
    whole, part = here.args
    return here.apply("add", (whole, here.apply("scatter", (part,), dict(here.settings))), {})


def _accumulate_into(site: Site) -> Into:
    def written(writer: ArrayWriter, operands: Sequence[str], target: str) -> str:
        places = writer.held(_distinct_places(writer, site))
        return writer.own("accumulate", *operands, places, f"out={target}")[0]

    return written


def _accumulate_text(writer: ArrayWriter, site: Site, pieces: Sequence[Piece]) -> Piece:
    dtype = f"dtype={writer.namespace}.{writer.dtype}"
    fresh = writer.call("empty", writer.shape(site.shape), dtype)[0]
    return _accumulate_into(site)(writer, [piece[0] for piece in pieces], fresh), ATOM


ACCUMULATE = '''\
def {name}(x, part, place, out):
    """x with a part of it increased, in `out`, which may be x itself."""
    if out is not x:
        out[...] = x
    out[place] += part
    return out
'''

define(
    "accumulate",
    shape=lambda shapes, settings, labels: _scatter_shape(shapes[1:], settings, labels),
    pull=_accumulate_pull,
    push=_accumulate_push,
    formula=_accumulated,
    analytic=True,
    text=_accumulate_text,
    into=_accumulate_into,
    adds=lambda site: _subscript(len(site.shape), site.settings),
    overwrites=True,
    definitions={"numpy": {"accumulate": ACCUMULATE}},
    native=("numpy",),
)


# The same elements in another shape.


def _reshaped(shape_of: Callable[[Local], Shape]) -> Carry:
    return lambda here, k, value: here.apply(
        "reshape", (value,), {"shape": (*here.lead, *shape_of(here))}
    )


def _reshape(numbers: Arithmetic, args: Sequence[Any], settings: Settings) -> Any:
    shape = [resolve(size, numbers.sizes) for size in settings["shape"]]
    return unboxed(np.reshape(boxed(args[0]), shape))


def _reshape_pairs(site: Site, k: int) -> Pairs:
    places = np.arange(math.prod(map(int, site.shape)))
    return Pairs(places, places)


def _reshape_loops(
    writer: LoopWriter, result: Variable, operands: Sequence[Variable], settings: Settings
) -> str:
    """The array itself, as arrays are never changed once they are filled."""
    (x,) = operands
    if bool(x.shape) == bool(result.shape):
        return x.text
    if x.shape:
        return f"{x.text}[0]"
    writer.declare(result)
    writer.add(f"{result.element('0')} = {x.text};")
    return result.text


def _reshape_batch(settings: Settings, wide: Sequence[bool], count: Size) -> Settings:
    return {**settings, "shape": (count, *settings["shape"])}


define(
    "reshape",
    shape=lambda shapes, settings, labels: tuple(settings["shape"]),
    pull=_reshaped(lambda here: here.shapes[0]),
    push=_reshaped(lambda here: here.shape),
    value=_reshape,
    looks=lambda settings: True,
    stays=lambda settings, whole: whole,
    through=unchanged,
    rounds=False,
    analytic=True,
    batch=_reshape_batch,
    pairs=_reshape_pairs,
    text=lambda writer, site, pieces: writer.call(
        "reshape", pieces[0][0], writer.shape(site.shape)
    ),
    line=reshape_line,
    source=reshape_line,
    latex=reshape_latex,
    rule="the same elements",
    loops=_reshape_loops,
)
