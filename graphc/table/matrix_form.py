"""Tensor operations as people write them: A @ B, outer(x, y), x[1:3], and einsum for the rest.

What is written is NumPy: eye(3)[0] is a unit vector, broadcast_to repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..shapes import LETTERS, Shape, Size, shape_text, unused_letters
from .arrays import split_spec
from .places import Index, Slice, Window

ATOM = 9
Piece = tuple[str, int]  # text, and how tightly its outermost operator binds


def bracket(piece: Piece, least: int) -> str:
    """The text, in brackets if it binds less tightly than it must."""
    return piece[0] if piece[1] >= least else f"({piece[0]})"


def as_decimal(text: str) -> str:
    """A number of NumPy as a float: integers would overflow and have no x**-1."""
    return f"{text}.0" if text.lstrip("-").isdigit() else text


def chosen_axes(op: str, settings: Mapping[str, Any], rank: int) -> tuple[int, ...] | None:
    """The axes of an operation; None where it has none, or those that it takes by itself."""
    usual = (-1,) if op == "softmax" else tuple(range(-rank, 0))
    axes: tuple[int, ...] | None = settings.get("axes")
    return None if axes == usual else axes


def axis_text(op: str, settings: Mapping[str, Any], rank: int) -> list[str]:
    """The argument axis=, where it has to be written."""
    axes = chosen_axes(op, settings, rank)
    return [] if axes is None else [f"axis={axes[0] if len(axes) == 1 else axes}"]


def pad_text(text: str, ends: tuple[int, int], axis: int, rank: int) -> str:
    """Zeros before and after an array along one axis."""
    widths = [str(ends) if at == axis else "(0, 0)" for at in range(-rank, 0)]
    return f"pad({text}, ({', '.join(widths)}{',' * (rank == 1)}))"


@dataclass(frozen=True)
class Form:
    """How a contraction is written: a word, the operands in order, and which are transposed."""

    word: str
    order: tuple[int, ...] = (0,)
    transposed: tuple[bool, ...] = (False, False)
    axes: tuple[int, ...] = ()
    keepdims: bool = False


PAIRS: dict[str, Form] = {
    "a,a->": Form("matmul", (0, 1)),
    "ab,b->a": Form("matmul", (0, 1)),
    "a,ba->b": Form("matmul", (1, 0)),
    "ab,a->b": Form("matmul", (0, 1), (True, False)),
    "a,ab->b": Form("matmul", (0, 1)),
    "ab,bc->ac": Form("matmul", (0, 1)),
    "ab,cb->ac": Form("matmul", (0, 1), (False, True)),
    "ab,ac->bc": Form("matmul", (0, 1), (True, False)),
    "ab,ca->bc": Form("matmul", (0, 1), (True, True)),
    "ab,bc->ca": Form("matmul", (1, 0), (True, True)),
    "ab,cb->ca": Form("matmul", (1, 0), (False, True)),
    "ab,ac->cb": Form("matmul", (1, 0), (True, False)),
    "ab,ca->cb": Form("matmul", (1, 0)),
    "ab,ba->": Form("trace_of_product", (0, 1)),
    "a,b->ab": Form("outer", (0, 1)),
    "a,b->ba": Form("outer", (1, 0)),
    "a,ab->ab": Form("rows", (0, 1)),
    "ab,a->ab": Form("rows", (1, 0)),
    "ab,b->ba": Form("rows", (1, 0), (False, True)),
    "a,ba->ab": Form("rows", (0, 1), (False, True)),
    "ab,a->ba": Form("columns", (0, 1), (True, False)),
    "a,ab->ba": Form("columns", (1, 0), (True, False)),
    "ab,b->ab": Form("columns", (0, 1)),
    "a,ba->ba": Form("columns", (1, 0)),
    "ab,ba->ab": Form("product", (0, 1), (False, True)),
    "ab,ba->ba": Form("product", (1, 0), (False, True)),
}


def canonical(spec: str) -> str:
    """The contraction with its letters renamed a, b, c, ... in order of appearance."""
    names: dict[str, str] = {}
    return "".join(names.setdefault(x, LETTERS[len(names)]) if x.isalpha() else x for x in spec)


def form_of(spec: str, sizes: Mapping[str, Size]) -> Form | None:
    """The matrix form of a contraction, or None where only einsum will do."""
    operands, out = split_spec(spec)
    named = canonical(spec)
    if len(operands) == 2:
        return PAIRS.get(named) or _pair(operands[0], operands[1], out)
    if len(operands) == 1:
        return _single(operands[0], out, named, sizes)
    return None


def _pair(a: str, b: str, out: str) -> Form | None:
    """Products of stacks of matrices, and sums of element-wise products."""
    if any(len(set(word)) != len(word) for word in (a, b, out)):
        return None
    if a == b and "".join(letter for letter in a if letter in out) == out:
        gone = tuple(i for i, letter in enumerate(a) if letter not in out)
        return Form("sum_of_product" if gone else "product", (0, 1), axes=gone if out else ())
    for left, right, order in ((a, b, (0, 1)), (b, a, (1, 0))):
        row, inner = left[:-1], left[-1:]
        stacked = right[:-2] in ("", row[:-1]) and right[-2:-1] == inner
        if (
            inner
            and inner not in out
            and (
                (right == inner and out == row)
                or (stacked and len(right) > 1 and out == row + right[-1])
            )
        ):
            return Form("matmul", order)
        if len(left) == 2 < len(right) and right[-2] == left[1] and left[1] not in out:
            spread = out == right[:-2] + left[0] + right[-1]  # one matrix, and a stack
            if spread:
                return Form("matmul", order)
    return None


def _single(letters: str, out: str, named: str, sizes: Mapping[str, Size]) -> Form | None:
    words = {
        "ab->ba": "transpose",
        "aa->": "trace",
        "aa->a": "diag",
        "a->aa": "diag",
        "->aa": "eye",
    }
    if named in words:
        return Form(words[named])
    if len(set(letters)) != len(letters) or len(set(out)) != len(out):
        return None
    gone = tuple(i for i, letter in enumerate(letters) if letter not in out)
    kept = "".join(letter for letter in letters if letter in out)
    fresh = [letter for letter in out if letter not in letters]
    places = tuple(i for i, letter in enumerate(out) if letter in fresh)
    ones = all(sizes.get(letter) == 1 for letter in fresh)
    ordered = "".join(letter for letter in out if letter in letters) == kept
    if not fresh and gone and ordered:
        return Form("sum", axes=gone if out else ())
    if not fresh and not gone:
        return Form("permute", axes=tuple(letters.index(letter) for letter in out))
    if gone:
        return (
            Form("sum", axes=gone, keepdims=True) if ones and places == gone and ordered else None
        )
    if not ordered:
        return None
    if not letters:
        return Form("full")
    return Form("newaxis" if ones else "repeat", axes=places)


def contract_text(spec: str, shape: Shape, pieces: Sequence[Piece]) -> Piece:
    """A contraction as NumPy text, and how tightly it binds."""
    operands, out = split_spec(spec)
    sizes = dict(zip(out, shape, strict=True))
    form = form_of(spec, sizes)
    texts = [piece[0] for piece in pieces]
    if form is None:
        return _einsum(operands, out, sizes, texts), ATOM

    def tight(place: int, least: int) -> str:
        text, binding = pieces[form.order[place]]
        wanted = 8 if form.transposed[place] else least
        return (text if binding >= wanted else f"({text})") + ".T" * form.transposed[place]

    if form.word == "matmul":
        return f"{tight(0, 2)} @ {tight(1, 3)}", 2
    if form.word == "product":
        return f"{tight(0, 2)}*{tight(1, 3)}", 2
    if form.word == "trace_of_product":
        return f"trace({tight(0, 2)} @ {tight(1, 3)})", ATOM
    if form.word == "sum_of_product":
        return f"sum({tight(0, 2)}*{tight(1, 3)}{_axis(form)})", ATOM
    if form.word == "rows":
        return f"diag({texts[form.order[0]]}) @ {tight(1, 3)}", 2
    if form.word == "columns":
        return f"{tight(0, 2)} @ diag({texts[form.order[1]]})", 2
    if form.word == "outer":
        return f"outer({texts[form.order[0]]}, {texts[form.order[1]]})", ATOM
    return _single_text(form, shape, pieces[0], tight(0, 8))


def _axis(form: Form) -> str:
    axis = form.axes[0] if len(form.axes) == 1 else form.axes
    return (f", axis={axis}" if form.axes else "") + ", keepdims=True" * form.keepdims


def _single_text(form: Form, shape: Shape, piece: Piece, tight: str) -> Piece:
    text = piece[0]
    if form.word == "transpose":
        return f"{tight}.T", 8
    if form.word == "sum":
        return f"sum({text}{_axis(form)})", ATOM
    if form.word == "permute":
        return f"transpose({text}, {form.axes})", ATOM
    if form.word == "eye":
        eye = f"eye({shape[0]})"
        return (eye, ATOM) if text == "1" else (f"{bracket(piece, 2)}*{eye}", 2)
    if form.word == "full":
        named = {"0": "zeros", "1": "ones"}.get(text)
        whole = shape_text(shape)
        return f"{named}({whole})" if named else f"full({whole}, {as_decimal(text)})", ATOM
    if form.word == "newaxis":
        return f"{tight}[{new_axes(form.axes, len(shape))}]", 8
    if form.word == "repeat":
        first = next(i for i in range(len(shape)) if i not in form.axes)
        inner = [axis - first for axis in form.axes if axis > first]  # NumPy adds leading axes
        thin = f"{tight}[{new_axes(inner, len(shape) - first)}]" if inner else text
        return f"broadcast_to({thin}, {shape_text(shape)})", ATOM
    return f"{form.word}({text})", ATOM


def new_axes(axes: Sequence[int], rank: int) -> str:
    """The index that puts axes of size 1 at these places."""
    return ", ".join("None" if axis in axes else ":" for axis in range(rank))


def einsum_parts(
    operands: Sequence[str], out: str, sizes: Mapping[str, Size]
) -> tuple[list[str], str, list[tuple[str, Size]]]:
    """An einsum in which every letter of the result stands in an operand, and once in the result.

    Gives the letters of all operands, those of the result, and the operands to add: eye or ones.
    """
    words, result = list(operands), ""
    added: list[tuple[str, Size]] = []
    for letter in out:
        twin = letter
        if letter in result:  # a diagonal: the second axis is tied to the first
            twin = unused_letters([*words, out, result], 1)
            words.append(letter + twin)
            added.append(("eye", sizes[letter]))
        result += twin
    for letter in out:
        if not any(letter in word for word in words):
            words.append(letter)
            added.append(("ones", sizes[letter]))
    return words, result, added


def _einsum(operands: list[str], out: str, sizes: Mapping[str, Size], texts: list[str]) -> str:
    """einsum as NumPy takes it."""
    words, result, added = einsum_parts(operands, out, sizes)
    texts = texts + [f"{name}({size})" for name, size in added]
    if texts[0] == "1" and not words[0] and len(words) > 1:
        words, texts = words[1:], texts[1:]
    return f'einsum("{",".join(words)}->{result}", {", ".join(texts)})'


# Selections.


def gather_text(piece: Piece, shape: Shape, settings: Mapping[str, Any]) -> Piece:
    """Elements along an axis: x[:, 0], x[1:3], x[[0, 2]], windows by their places."""
    index, size = settings["index"], settings["size"]
    before = ":, " * (len(shape) + settings["axis"])
    text = bracket(piece, 8)
    if index.has_gaps:
        ends = (0, 1)  # -1 is the last place, which is 0 then
        if isinstance(index, Window):
            ends = (index.padding, max(0, index.span - size - index.padding))
        text = pad_text(piece[0], ends, settings["axis"], len(shape))
    return f"{text}[{before}{_places(index)}]", 8


def scatter_text(piece: Piece, shape: Shape, settings: Mapping[str, Any]) -> Piece:
    """The transpose of gather: elements put at their places along an axis of the result."""
    index, size, axis = settings["index"], settings["size"], settings["axis"]
    text, rank = piece[0], len(shape)
    unit = _selector(index, size)
    if not index.shape:
        if rank == 1:
            factor = text if piece[1] >= 2 else f"({text})"
            return (unit, 8) if text == "1" else (f"{factor}*{unit}", 2)
        if rank == 2:
            return f"outer({text}, {unit})" if axis == -1 else f"outer({unit}, {text})", ATOM
    elif isinstance(index, Slice) and index.count and index.step == 1:
        ends = (index.start, size - index.start - index.count)
        return pad_text(text, ends, axis, rank), ATOM
    letters = LETTERS[:rank]
    place, inner = letters[axis], unused_letters([letters], len(index.shape))
    source = letters[:axis] + inner + letters[axis:][1:]
    return f'einsum("{source},{inner}{place}->{letters}", {text}, {unit})', ATOM


def _places(index: Index) -> str:
    """The places of an index between brackets."""
    if isinstance(index, Window):
        starts = f"arange({index.count})[:, None]"
        starts += f"*{index.stride}" * (index.stride > 1 and index.count > 1)
        inside = f"arange({index.width})"
        return f"{starts} + {inside}" + f"*{index.dilation}" * (
            index.dilation > 1 and index.width > 1
        )
    return index.subscript or index.listed()


def _selector(index: Index, size: Size) -> str:
    """The 0/1 array of shape index + (size,) with 1 at each place; none where the place is -1."""
    places = _places(index)
    if not index.has_gaps:
        return f"eye({size})[{places}]"
    if not isinstance(index, Window):  # -1 is the last row, which is cut off
        return f"eye({int(size) + 1})[{places}][..., :{size}]"
    whole = max(index.span, index.padding + int(size))
    return f"eye({whole})[{places}][..., {index.padding}:{index.padding + int(size)}]"


def winner_text(text: str, shape: Shape, settings: Mapping[str, Any]) -> Piece:
    """1 at the first largest element along the axes."""
    axes = tuple(axis + len(shape) for axis in settings["axes"])
    axis = axes[0] if len(axes) == 1 else axes
    where_ = "" if len(axes) == len(shape) else f", axis={axis}"
    if settings.get("kink") == "share":
        ties = f"({text} == max({text}{f', axis={axis}, keepdims=True' if where_ else ''}))"
        return f"{ties}/sum({ties}{f', axis={axis}, keepdims=True' if where_ else ''})", 2
    count = "*".join(str(shape[place]) for place in axes)
    count = (
        count if not all(isinstance(shape[p], int) for p in axes) else str(_product(shape, axes))
    )
    if len(axes) == len(shape):
        first = f"eye({count})[argmax({text})]"
        return (first, 8) if len(shape) == 1 else (f"reshape({first}, {shape_text(shape)})", ATOM)
    if len(axes) == 1:
        chosen = f"eye({count})[argmax({text}{where_})]"
        return (
            (chosen, 8) if axes[0] == len(shape) - 1 else (f"moveaxis({chosen}, -1, {axis})", ATOM)
        )
    last = tuple(range(-len(axes), 0))
    front = tuple(size for place, size in enumerate(shape) if place not in axes)
    flat = f"reshape(moveaxis({text}, {axes}, {last}), {shape_text((*front, -1))})"
    chosen = f"eye({count})[argmax({flat}, axis=-1)]"
    back = shape_text((*front, *(shape[place] for place in axes)))
    return f"moveaxis(reshape({chosen}, {back}), {last}, {axes})", ATOM


def _product(shape: Shape, axes: Sequence[int]) -> int:
    total = 1
    for place in axes:
        total *= int(shape[place])
    return total
