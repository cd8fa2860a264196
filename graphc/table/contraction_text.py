"""A contraction as array code: @ and * where they will do, products of stacks, else einsum.

What is done in which order is decided here: `optimize=True` would search for it at every call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..shapes import Shape, Size, count
from .arrays import split_spec
from .contraction_plan import Product, as_product, first_pair
from .matrix_form import ATOM, Form, Piece, bracket, einsum_parts, form_of, new_axes
from .tensors import Into, Site
from .writing import ArrayWriter

DIAGONAL = '''\
def {name}(x, spec):
    """x at the places where letters that stand twice agree, 0 elsewhere."""
    letters, out = spec.split("->")
    places = [letters.index(letter) for letter in out]
    result = {np}.zeros([x.shape[place] for place in places], dtype=x.dtype)
    grid = {np}.indices(x.shape)
    result[tuple([grid[place] for place in places])] = x
    return result
'''


def array_text(writer: ArrayWriter, site: Site, pieces: Sequence[Piece]) -> Piece:
    """The contraction of a site."""
    operands, out = split_spec(site.settings["spec"])
    return _contraction(writer, operands, out, letter_sizes(site), pieces)


def letter_sizes(site: Site) -> dict[str, Any]:
    """The size of each letter."""
    operands, out = split_spec(site.settings["spec"])
    sizes: dict[str, Any] = {}
    for word, shape in zip([*operands, out], [*site.shapes, site.shape], strict=True):
        sizes.update(zip(word, shape, strict=True))
    return sizes


def _contraction(
    writer: ArrayWriter,
    operands: Sequence[str],
    out: str,
    sizes: Mapping[str, Size],
    pieces: Sequence[Piece],
) -> Piece:
    """A contraction: @ and * where they will do, else products of stacks or einsum."""
    form = form_of(f"{','.join(operands)}->{out}", {letter: sizes[letter] for letter in out})
    if form is not None and len(operands) == 2:
        return _pair(writer, form, pieces)
    if form is not None:
        return _single(writer, form, tuple(sizes[letter] for letter in out), pieces[0])
    found = as_product(operands[0], operands[1], out) if len(operands) == 2 else None
    if found is not None:
        return _product(writer, found, operands, out, sizes, pieces)
    return _einsum(writer, operands, out, sizes, pieces)


def _pair(writer: ArrayWriter, form: Form, pieces: Sequence[Piece]) -> Piece:
    """A contraction of two operands in matrix form."""

    def tight(place: int, least: int) -> str:
        turned = form.transposed[place]
        text = bracket(pieces[form.order[place]], 8 if turned else least)
        return text + ".T" * turned

    axis = f", axis={form.axes[0] if len(form.axes) == 1 else form.axes}" if form.axes else ""
    table: dict[str, Callable[[], Piece]] = {
        "matmul": lambda: (f"{tight(0, 2)} @ {tight(1, 3)}", 2),
        "product": lambda: (f"{tight(0, 2)} * {tight(1, 3)}", 2),
        "trace_of_product": lambda: writer.call("sum", f"{tight(0, 2)} * {tight_t(1)}"),
        "sum_of_product": lambda: writer.call("sum", f"{tight(0, 2)} * {tight(1, 3)}{axis}"),
        "rows": lambda: (f"{tight(0, 8)}[:, None] * {tight(1, 3)}", 2),
        "columns": lambda: (f"{tight(0, 2)} * {tight(1, 3)}", 2),
        "outer": lambda: writer.call("outer", tight(0, 0), tight(1, 0)),
    }

    def tight_t(place: int) -> str:
        return bracket(pieces[form.order[place]], 8) + ".T"

    return table[form.word]()


def _single(writer: ArrayWriter, form: Form, shape: Shape, piece: Piece) -> Piece:
    """A contraction of one operand: a sum, a transpose, a repetition."""
    text, tight = piece[0], bracket(piece, 8)
    if form.word == "transpose":
        return f"{tight}.T", 8
    if form.word == "sum":
        axis = [f"axis={form.axes[0] if len(form.axes) == 1 else form.axes}"] * bool(form.axes)
        return writer.call("sum", text, *axis, *["keepdims=True"] * form.keepdims)
    if form.word == "permute":
        return writer.call("transpose", text, str(form.axes))
    dtype = f"dtype={writer.namespace}.{writer.dtype}"
    if form.word == "eye":
        if text == "1":
            return writer.call("eye", writer.size(shape[0]), dtype)
        filled = writer.call("full", writer.size(shape[0]), text, dtype)[0]
        return writer.call("diag", filled)  # no product with eye: 0 times infinity is NaN
    if form.word == "full":
        named = {"0": "zeros", "1": "ones"}.get(text)
        if named:
            return writer.call(named, writer.shape(shape), dtype)
        return writer.call("full", writer.shape(shape), text, dtype)
    if form.word == "newaxis":
        return f"{tight}[{new_axes(form.axes, len(shape))}]", 8
    if form.word == "repeat":
        first = next(i for i in range(len(shape)) if i not in form.axes)
        inner = [axis - first for axis in form.axes if axis > first]
        thin = f"{tight}[{new_axes(inner, len(shape) - first)}]" if inner else text
        return writer.call("broadcast_to", thin, writer.shape(shape))
    return writer.call(form.word, text)  # diag, trace


# Products of stacks of matrices.


def _product(
    writer: ArrayWriter,
    found: Product,
    operands: Sequence[str],
    out: str,
    sizes: Mapping[str, Size],
    pieces: Sequence[Piece],
) -> Piece:
    """The product, its axes then brought into order."""
    first, second = _stacks(writer, found, operands, sizes, pieces)
    product = f"{bracket(first, 2)} @ {bracket(second, 3)}", 2
    many, rows, columns = found.many, found.rows, found.columns
    made = many + rows + columns
    if not many or (rows and columns):
        split = len(rows) > 1 or len(columns) > 1
    else:
        split = True  # an axis of size 1 stands where there is no letter
    if split:
        shape = writer.shape(tuple(sizes[letter] for letter in made))
        product = writer.call("reshape", product[0], shape)
    return _turned(writer, made, out, product)


def _stacks(
    writer: ArrayWriter,
    found: Product,
    operands: Sequence[str],
    sizes: Mapping[str, Size],
    pieces: Sequence[Piece],
) -> tuple[Piece, Piece]:
    """The two operands of the product."""
    many, rows, inner, columns = found.many, found.rows, found.inner, found.columns
    left, right = found.order
    return (
        _grouped(writer, operands[left], (many, rows, inner), sizes, pieces[left]),
        _grouped(writer, operands[right], (many, inner, columns), sizes, pieces[right]),
    )


def _grouped(
    writer: ArrayWriter,
    letters: str,
    groups: tuple[str, str, str],
    sizes: Mapping[str, Size],
    piece: Piece,
) -> Piece:
    """An operand as a stack of matrices: each letter of the stack, then one axis per group."""
    many, *pair = groups
    piece = _turned(writer, letters, "".join(groups), piece)
    if any(len(group) > 1 for group in pair) or (many and not all(pair)):
        here = [group for group in pair if many or group]
        return writer.call("reshape", piece[0], _group_shape(writer, [*many, *here], sizes))
    return piece


def _group_shape(writer: ArrayWriter, groups: Sequence[str], sizes: Mapping[str, Size]) -> str:
    """A shape with one axis for each group of letters, of size 1 for a group of none."""

    def length(group: str) -> str:
        known = math.prod(size for x in group if isinstance(size := sizes[x], int))
        named = [writer.size(size) for x in group if not isinstance(size := sizes[x], int)]
        return " * ".join([str(known)] * (known != 1 or not named) + named)

    inside = ", ".join(map(length, groups))
    return f"({inside},)" if len(groups) == 1 else f"({inside})"


def _turned(writer: ArrayWriter, letters: str, wanted: str, piece: Piece) -> Piece:
    """An operand with its axes in another order."""
    if wanted == letters:
        return piece
    if wanted == letters[::-1]:
        return f"{bracket(piece, 8)}.T", 8
    return writer.call("transpose", piece[0], str(tuple(letters.index(x) for x in wanted)))


def _einsum(
    writer: ArrayWriter,
    operands: Sequence[str],
    out: str,
    sizes: Mapping[str, Size],
    pieces: Sequence[Piece],
) -> Piece:
    distinct = "".join(dict.fromkeys(out))
    if distinct != out and (
        any(operands) or pieces[0][0] != "1"
    ):  # no product with eye: 0 times infinity is NaN
        core = pieces[0][0]
        if list(operands) != [distinct]:
            core = _contraction(writer, operands, distinct, sizes, pieces)[0]
        return writer.own("diagonal", core, f'"{distinct}->{out}"')
    if set("".join(operands)) <= set(out) and any(operands):
        return _plain_product(writer, operands, out, sizes, pieces)
    known = "".join(letter for letter in out if any(letter in word for word in operands))
    if known != out and any(operands):
        thin = _contraction(writer, operands, known, sizes, pieces)
        return _contraction(writer, [known], out, sizes, [thin])
    if len(operands) > 2:
        i, j, kept = first_pair(operands, out, sizes)
        both = _contraction(writer, [operands[i], operands[j]], kept, sizes, [pieces[i], pieces[j]])
        rest = [k for k in range(len(operands)) if k not in (i, j)]
        words, others = [operands[k] for k in rest], [pieces[k] for k in rest]
        return _contraction(writer, [*words, kept], out, sizes, [*others, both])
    words, result, added = einsum_parts(operands, out, sizes)
    texts = [piece[0] for piece in pieces]
    dtype = f"dtype={writer.namespace}.{writer.dtype}"
    texts += [writer.call(name, writer.size(size), dtype)[0] for name, size in added]
    if texts[0] == "1" and not words[0] and len(words) > 1:
        words, texts = words[1:], texts[1:]
    return writer.call("einsum", f'"{",".join(words)}->{result}"', *texts)


def _plain_product(
    writer: ArrayWriter,
    operands: Sequence[str],
    out: str,
    sizes: Mapping[str, Size],
    pieces: Sequence[Piece],
) -> Piece:
    """Products without a sum: einsum would add them to 0, which has no sign."""
    factors = [
        _aligned(writer, letters, out, piece)
        for letters, piece in zip(operands, pieces, strict=True)
        if letters or piece[0] != "1"
    ]
    whole = " * ".join(bracket(factor, 2 + bool(i)) for i, factor in enumerate(factors))
    if set("".join(operands)) != set(out):
        shape = tuple(sizes[letter] for letter in out)
        return writer.call("broadcast_to", whole, writer.shape(shape))
    return (whole, 2) if len(factors) > 1 else factors[0]


def _aligned(writer: ArrayWriter, letters: str, out: str, piece: Piece) -> Piece:
    """An operand whose axes stand where the result has them, or are of size 1."""
    own = "".join(letter for letter in out if letter in letters)
    if len(own) != len(letters):
        piece = writer.call("einsum", f'"{letters}->{own}"', piece[0])
    else:
        piece = _turned(writer, letters, own, piece)
    trailing = out[out.index(own[0]) :] if own else ""  # NumPy adds leading axes itself
    added = [place for place, letter in enumerate(trailing) if letter not in own]
    return (f"{bracket(piece, 8)}[{new_axes(added, len(trailing))}]", 8) if added else piece


# Functions of the array library that write into memory that is there.

PRODUCTS = {"matmul": "matmul"} | dict.fromkeys(("product", "rows", "columns", "outer"), "multiply")


SHORT = 64  # elements of last axes for which a product with ones is the faster sum


def into(site: Site) -> Into | None:
    """The call with out= that does a contraction, if there is one."""
    operands, out = split_spec(site.settings["spec"])
    sizes = letter_sizes(site)
    form = form_of(site.settings["spec"], {letter: sizes[letter] for letter in out})
    if form is not None:
        if len(operands) == 1:
            return _sum_into(form, site) if form.word == "sum" else None
        return _product_into(form, site) if form.word in PRODUCTS else None
    if len(operands) != 2:
        return None
    found = as_product(operands[0], operands[1], out)
    if found is not None:
        return _stack_into(found, operands, out, sizes)
    distinct = all(len(set(word)) == len(word) for word in (*operands, out))
    if distinct and set(out) == {*operands[0], *operands[1]}:
        return _multiply_into(operands, out)
    return None


def _sum_into(form: Form, site: Site) -> Into:
    *before, length = site.shapes[0]
    if before and form.axes == (len(before),) and length in range(1, SHORT + 1):
        return _short_sum_into(len(before), length)
    first = len(form.axes)
    lines, left = count(site.shapes[0][:first]), count(site.shapes[0][first:])
    leading = form.axes == tuple(range(first)) and first <= len(before) and not form.keepdims
    if leading and lines and 0 < left <= SHORT:
        return _sum_of_lines_into(lines, left)
    axis = [f"axis={form.axes[0] if len(form.axes) == 1 else form.axes}"] * bool(form.axes)
    axis += ["keepdims=True"] * form.keepdims
    return lambda writer, operands, target: writer.call("sum", operands[0], *axis, f"out={target}")[
        0
    ]


def _sum_of_lines_into(count: int, length: int) -> Into:
    """A sum of so many short lines, each of which the library's own reduction begins anew."""

    def written(writer: ArrayWriter, operands: Sequence[str], target: str) -> str:
        dtype = f"dtype={writer.namespace}.{writer.dtype}"
        ones = writer.held(writer.call("ones", writer.size(count), dtype)[0])
        lines = writer.call("reshape", operands[0], f"({count}, {length})")[0]
        target = writer.call("reshape", target, "-1")[0]
        return writer.call("matmul", ones, lines, f"out={target}")[0]

    return written


def _short_sum_into(rank: int, length: Size) -> Into:
    """A sum over a short last axis, which the library's own reduction does slice by slice."""

    def written(writer: ArrayWriter, operands: Sequence[str], target: str) -> str:
        dtype = f"dtype={writer.namespace}.{writer.dtype}"
        ones = writer.held(writer.call("ones", writer.size(length), dtype)[0])
        x = operands[0]
        if rank > 1:
            x = writer.call("reshape", x, f"(-1, {length})")[0]
            target = writer.call("reshape", target, "-1")[0]
        return writer.call("matmul", x, ones, f"out={target}")[0]

    return written


def _multiply_into(operands: Sequence[str], out: str) -> Into:
    """A product without a sum."""

    def written(writer: ArrayWriter, texts: Sequence[str], target: str) -> str:
        pieces = [(text, ATOM if text.isidentifier() else 3) for text in texts]
        factors = [
            _aligned(writer, letters, out, piece)[0]
            for letters, piece in zip(operands, pieces, strict=True)
        ]
        return writer.call("multiply", *factors, f"out={target}")[0]

    return written


def _stack_into(
    found: Product, operands: Sequence[str], out: str, sizes: Mapping[str, Size]
) -> Into | None:
    """A product of stacks, if its axes stand in the result so that it can be written there."""
    rows, columns = found.rows, found.columns
    if rows not in out or columns not in out:
        return None
    first = {rows[:1]: rows, columns[:1]: columns}
    groups = [first.get(x, x) for x in out if x not in rows[1:] + columns[1:]]
    wanted = [*found.many, *(group for group in (rows, columns) if group)]

    def written(writer: ArrayWriter, texts: Sequence[str], target: str) -> str:
        pieces = [(text, ATOM if text.isidentifier() else 3) for text in texts]
        place = target
        if len(groups) < len(out):
            place = writer.call("reshape", place, _group_shape(writer, groups, sizes))[0]
        if groups != wanted:
            axes = tuple(groups.index(group) for group in wanted)
            place = writer.call("transpose", place, str(axes))[0]
        if found.many and not (rows and columns):
            place += "[..., None]" if rows else "[..., None, :]"
        first, second = _stacks(writer, found, operands, sizes, pieces)
        return writer.call("matmul", first[0], second[0], f"out={place}")[0]

    return written


def _product_into(form: Form, site: Site) -> Into:
    name = PRODUCTS[form.word]
    if name == "matmul" and min(map(len, site.shapes)) == 1:
        name = "dot"  # which calls the product with a vector at once

    def written(writer: ArrayWriter, operands: Sequence[str], target: str) -> str:
        first, second = (
            operands[place] + ".T" * turned
            for place, turned in zip(form.order, form.transposed, strict=True)
        )
        if form.word in ("rows", "outer"):
            first = f"{first}[:, None]"
        return writer.call(name, first, second, f"out={target}")[0]

    return written
