"""Contraction: sums of products over letters, which everything linear but a selection is.

A letter that only the result has is broadcast to its size; a letter that stands twice in the result
makes a diagonal.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import GraphcError
from ..shapes import Shape, Size, resolve, shape_text, unused_letters
from .arrays import Scalars, bound_exact, boxed, is_exact, split_spec, unboxed
from .contraction_text import DIAGONAL, array_text, into, letter_sizes
from .contraction_words import (
    contraction,
    contraction_latex,
    contraction_rule,
    contraction_source,
)
from .loops import LoopWriter, Variable, axes_names, block, nested, place
from .matrix_form import canonical, form_of
from .tensors import Arithmetic, Factors, Local, Pairs, Settings, Site, define


def _shape(shapes: Sequence[Shape], settings: Settings, labels: Sequence[str]) -> Shape:
    """The shape of a contraction; a letter has one size wherever it stands."""
    left, _, out = settings["spec"].partition("->")
    sizes: dict[str, tuple[Size, str]] = {}
    for letters, shape, label in zip(left.split(","), shapes, labels, strict=True):
        if len(letters) != len(shape):
            raise GraphcError(
                f"{label} has shape {shape_text(shape)}, but {letters!r} in {settings['spec']!r} "
                f"names {len(letters)} axes"
            )
        for letter, size in zip(letters, shape, strict=True):
            known, other = sizes.setdefault(letter, (size, label))
            if known != size:
                raise GraphcError(
                    f"{settings['spec']!r}: the axis {letter!r} has size {known} in {other} but "
                    f"size {size} in {label}, which is {shape_text(shape)}"
                )
    for letter, size in settings["sizes"]:
        sizes.setdefault(letter, (size, ""))
    missing = [letter for letter in out if letter not in sizes]
    if missing:
        raise GraphcError(f"{settings['spec']!r}: no operand has the axis {missing[0]!r}")
    return tuple(sizes[letter][0] for letter in out)


def _pull(here: Local, k: int, adjoint: Any) -> Any:
    spec, own, distinct, lead, missing = _pulled(here.settings["spec"], k, len(here.lead))
    sizes = {letter: here.shapes[k][place] for letter, place in missing}
    others = (arg for i, arg in enumerate(here.args) if i != k)
    found = here.contract(spec, adjoint, *others, **sizes)
    return found if own == distinct else _on_diagonal(here, found, lead + distinct, lead + own)


@lru_cache(maxsize=1024)
def _pulled(spec: str, k: int, further: int) -> tuple[str, str, str, str, list[tuple[str, int]]]:
    """The contraction that pulls to operand k; its letters, once each, those of so many further
    axes, and those that only it has, with their places.
    """
    left, _, out = spec.partition("->")
    letters = left.split(",")
    lead = unused_letters([left, out], further)
    others = [word for i, word in enumerate(letters) if i != k]
    present = out + "".join(others)
    own = letters[k]
    distinct = "".join(dict.fromkeys(own))
    missing = [(letter, place) for place, letter in enumerate(own) if letter not in present]
    pulling = ",".join([lead + out, *others]) + "->" + lead + distinct
    return pulling, own, distinct, lead, missing


def _push(here: Local, k: int, tangent: Any) -> Any:
    left, _, out = here.settings["spec"].partition("->")
    letters = left.split(",")
    lead = unused_letters([left, out], len(here.lead))
    letters[k] = lead + letters[k]
    args = [tangent if i == k else arg for i, arg in enumerate(here.args)]
    distinct = "".join(dict.fromkeys(out))
    spec = f"{','.join(letters)}->{lead}{distinct}"
    found = here.contract(spec, *args, **dict(here.settings["sizes"]))
    return found if out == distinct else _on_diagonal(here, found, lead + distinct, lead + out)


def _on_diagonal(here: Local, carried: Any, letters: str, out: str) -> Any:
    """A carried value spread over a diagonal; beside it, it is absent."""
    return here.placed("contract", carried, {"spec": f"{letters}->{out}", "sizes": ()})


def _looks(settings: Settings) -> bool:
    """Whether nothing is multiplied, summed or spread over a diagonal: axes are only arranged."""
    left, _, out = settings["spec"].partition("->")
    return left.isalpha() and set(left) <= set(out) and len(set(out)) == len(out)


def _factors(site: Site) -> Factors | None:
    """What a contraction of one or two operands multiplies, and sums after that."""
    operands, out = split_spec(site.settings["spec"])
    letters = list(dict.fromkeys("".join(operands)))
    if len(operands) > 2 or not set(out) <= set(letters):
        return None
    if any(len(set(word)) != len(word) for word in (*operands, out)):
        return None
    summed = [letter for letter in letters if letter not in out]
    if not summed and (len(operands) == 1 or not all(_ends_as(out, word) for word in operands)):
        return None  # a view, or neighbours that stand far apart
    axes, sizes = [*out, *summed], letter_sizes(site)
    subscripts = tuple(_subscript(word, axes) for word in operands)
    return Factors(subscripts, tuple(sizes[letter] for letter in summed))


def _ends_as(out: str, word: str) -> bool:
    """Whether the last axis of an operand is the last one that it has in the result."""
    return word[-1:] == "".join(letter for letter in out if letter in word)[-1:]


def _subscript(word: str, axes: Sequence[str]) -> str:
    """What brings an array with the axes of a word to others, of which some may be new."""
    inside = [letter for letter in axes if letter in word]
    order = ", ".join(str(word.index(letter)) for letter in inside)
    moved = f".transpose({order})" if word != "".join(inside) else ""
    after = axes[axes.index(inside[0]) :] if word else ()  # NumPy adds leading axes itself
    places = [":" if letter in word else "None" for letter in after]
    return moved + (f"[{', '.join(places)}]" if "None" in places else "")


# Its value: floats by NumPy, exact numbers one by one.


def _value(numbers: Arithmetic, arrays: Sequence[Any], settings: Settings) -> Any:
    operands, out, distinct, core = _letters(settings["spec"])
    if any(is_exact(array) for array in arrays):
        inner = numbers.products([boxed(array) for array in arrays], operands, core)
    else:
        inner = np.asarray(_float_products(arrays, operands, core))
    if distinct != core:
        sizes, known = dict(settings["sizes"]), dict(zip(core, inner.shape, strict=True))
        full = [known[x] if x in known else resolve(sizes[x], numbers.sizes) for x in distinct]
        narrow = inner.reshape([known.get(letter, 1) for letter in distinct])
        inner = np.broadcast_to(narrow, full).copy()
    if distinct != out:
        inner = _diagonal(inner, distinct, out)
    return unboxed(inner)


@lru_cache(maxsize=1024)
def _letters(spec: str) -> tuple[list[str], str, str, str]:
    """Those of each operand and of the result; the result's once each, and without the new ones."""
    operands, out = split_spec(spec)
    present = set("".join(operands))
    distinct = "".join(dict.fromkeys(out))
    return operands, out, distinct, "".join(letter for letter in distinct if letter in present)


def _diagonal(array: Any, letters: str, out: str) -> Any:
    """Spreads an axis over the places where its letter stands."""
    result = np.zeros([array.shape[letters.index(letter)] for letter in out], dtype=array.dtype)
    grid = np.indices(array.shape)
    result[tuple(grid[letters.index(letter)] for letter in out)] = array
    return result


def _float_products(arrays: Sequence[Any], operands: list[str], core: str) -> Any:
    return _way(tuple(operands), core)(arrays)


@lru_cache(maxsize=1024)
def _way(operands: tuple[str, ...], core: str) -> Callable[[Sequence[Any]], Any]:
    """The fastest way to sums of products with these letters."""
    if len(operands) > 1 and set("".join(operands)) == set(core):
        return lambda arrays: _plain_products(arrays, operands, core)
    if len(operands) == 2:
        fast = _matmul(*operands, core) or _many_matmuls(*operands, core)
        if fast is not None:
            return fast
    spec = ",".join(operands) + "->" + core
    # with more axes or operands, finding a good order is worth the time that it takes
    optimize = len(operands) > 2 or (len(operands) == 2 and max(map(len, operands)) > 2)
    return lambda arrays: np.einsum(spec, *arrays, optimize=optimize)


def _plain_products(arrays: Sequence[Any], operands: Sequence[str], core: str) -> Any:
    """Products without a sum: einsum would add them to 0, which has no sign."""
    result: Any = 1
    for array, letters in zip(arrays, operands, strict=True):
        own = "".join(letter for letter in core if letter in letters)
        arranged = array if own == letters else np.einsum(f"{letters}->{own}", array)
        sizes = dict(zip(own, np.shape(arranged), strict=True))
        result = result * np.reshape(arranged, [sizes.get(letter, 1) for letter in core])
    return result


def _matmul(left: str, right: str, core: str) -> Callable[[Sequence[Any]], Any] | None:
    """The product of two matrices or vectors through `@`, which is much faster than einsum."""
    shared = [letter for letter in left if letter in right]
    if len(shared) != 1 or max(len(left), len(right)) > 2:
        return None
    free = (left + right).replace(shared[0], "")
    if sorted(free) != sorted(core) or len(left + right) != len(free) + 2:
        return None
    first, last = left[-1] == shared[0], right[0] == shared[0]

    def product(arrays: Sequence[Any]) -> Any:
        a, b = arrays
        found = (a if first else a.T) @ (b if last else b.T)
        return found if free == core else found.T

    return product


def _many_matmuls(left: str, right: str, core: str) -> Callable[[Sequence[Any]], Any] | None:
    """Matrix products with one further leading axis, in one operand or in both."""
    many = core[:1]
    matrices = [letters[letters[:1] == many :] for letters in (left, right)]
    if not many or len(core) != 3 or any(len(m) != 2 or many in m for m in matrices):
        return None
    first, second = matrices
    if first[1] != second[0] or core != many + first[0] + second[1] or len({*first, *second}) != 3:
        return None

    def products(arrays: Sequence[Any]) -> Any:
        a, b = arrays
        if b.ndim == 3:
            return a @ b
        count, height, width = a.shape  # one product instead of many small ones
        return (a.reshape(count * height, width) @ b).reshape(count, height, b.shape[-1])

    return products


def exact_products(
    boxes: Sequence[Any], operands: Sequence[str], core: str, scalars: Scalars
) -> Any:
    """The sums of products of exact numbers, one by one."""
    size: dict[str, int] = {}
    for box, letters in zip(boxes, operands, strict=True):
        size.update(zip(letters, box.shape, strict=True))
    bound_exact("a sum of products", math.prod(size.values()))
    summed = [letter for letter in size if letter not in core]
    result = np.empty([size[letter] for letter in core], dtype=object)
    for index in np.ndindex(result.shape):
        place = dict(zip(core, index, strict=True))
        total: Any = 0
        for inner in itertools.product(*(range(size[letter]) for letter in summed)):
            place.update(zip(summed, inner, strict=True))
            product: Any = 1
            for box, letters in zip(boxes, operands, strict=True):
                product = scalars("mul", (product, box[tuple(place[letter] for letter in letters)]))
            total = scalars("add", (total, product))
        result[index] = total
    return result


# Where it stands among further axes, gates and entries.


def _alone(settings: Settings, k: int) -> Settings:
    """What tells of one operand alone which elements reach which: the others count as 1."""
    operands, out = split_spec(settings["spec"])
    own = operands[k]
    fresh = iter(unused_letters([own, out], sum(letter not in own for letter in out)))
    word = "".join(letter if letter in own else next(fresh) for letter in out)
    word = word.lstrip("".join(x for x in word if x not in own))  # NumPy adds these
    sizes = tuple((letter, 1) for letter in dict.fromkeys(word) if letter not in own)
    return {"spec": f"{own}->{word}", "sizes": sizes}


def _batch(settings: Settings, wide: Sequence[bool], count: Size) -> Settings:
    operands, out = split_spec(settings["spec"])
    letter = unused_letters([*operands, out], 1)
    words = [letter * here + word for word, here in zip(operands, wide, strict=True)]
    return {**settings, "spec": f"{','.join(words)}->{letter}{out}"}


def _pairs(site: Site, k: int) -> Pairs:
    """All index tuples of the letters."""
    sizes = letter_sizes(site)
    grid = np.indices(tuple(sizes.values())).reshape(len(sizes), -1)
    places = dict(zip(sizes, grid, strict=True))

    def flat(word: str) -> Any:
        found = np.zeros(grid.shape[1], dtype=int)
        for letter in word:
            found = found * sizes[letter] + places[letter]
        return found

    operands, out = split_spec(site.settings["spec"])
    others = [(other, flat(word)) for other, word in enumerate(operands) if other != k]
    return Pairs(flat(operands[k]), flat(out), others)


def _loops(
    writer: LoopWriter, result: Variable, operands: Sequence[Variable], settings: Settings
) -> str:
    words, out = split_spec(settings["spec"])
    site = Site(settings=settings, shapes=[x.shape for x in operands], shape=result.shape)
    sizes = letter_sizes(site)
    names = dict(zip(sizes, axes_names(len(sizes)), strict=True))
    kept = [(names[x], sizes[x]) for x in dict.fromkeys(out)]
    summed = [(names[x], sizes[x]) for x in dict.fromkeys("".join(words)) if x not in out]
    factors = [
        operand.element(place([names[x] for x in word], operand.shape))
        for word, operand in zip(words, operands, strict=True)
    ]
    target = result.element(place([names[x] for x in out], result.shape))
    product = " * ".join(factors)
    beside = len(set(out)) != len(out)  # a diagonal there is nothing
    adds = bool(summed) and (not out or _is_last(out[-1], words))
    writer.declare(result, zero=beside or adds)
    if not summed:  # what is added to 0 has no sign
        writer.add(nested(kept, f"{target} = {product};"))
    elif adds:  # neighbours one after the other, of which compilers make vectors
        writer.add(nested([*kept[:-1], *summed, *kept[-1:]], f"{target} += {product};"))
    else:
        adding = nested(summed, f"total += {product};")
        writer.add(nested(kept, block("{real}total = 0;", adding, f"{target} = total;")))
    return result.text


def _is_last(letter: str, words: Sequence[str]) -> bool:
    """Whether neighbours along a letter are neighbours in memory, wherever it stands."""
    return all(letter not in word[:-1] for word in words)


define(
    "contract",
    shape=_shape,
    pull=_pull,
    push=_push,
    value=_value,
    looks=_looks,
    stays=lambda settings, whole: _looks(settings),
    factors=_factors,
    through=_alone,
    fills=lambda settings: (
        len(set(split_spec(settings["spec"])[1])) == len(split_spec(settings["spec"])[1])
    ),
    analytic=True,
    batch=_batch,
    pairs=_pairs,
    work=lambda site: tuple(letter_sizes(site).values()),
    text=array_text,
    is_product=lambda settings: not settings["spec"].strip(",->"),
    compared=lambda settings, shape: {"spec": canonical(settings["spec"]), "shape": shape},
    form=lambda site: form_of(site.settings["spec"], {}),
    line=contraction,
    source=contraction_source,
    latex=contraction_latex,
    rule=contraction_rule,
    into=into,
    loops=_loops,
    definitions={"numpy": {"diagonal": DIAGONAL}},
)
