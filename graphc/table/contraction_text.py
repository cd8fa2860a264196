"""A contraction as array code: @ and * where they will do, else einsum."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..shapes import Shape, Size
from .arrays import split_spec
from .matrix_form import Form, Piece, bracket, einsum_parts, form_of, new_axes
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
    return _contraction(writer, site.settings["spec"], site.shape, pieces)


def _contraction(writer: ArrayWriter, spec: str, shape: Shape, pieces: Sequence[Piece]) -> Piece:
    """A contraction: @ and * where they will do, else einsum."""
    operands, out = split_spec(spec)
    sizes = dict(zip(out, shape, strict=True))
    form = form_of(spec, sizes)
    if form is None:
        return _einsum(writer, operands, out, sizes, pieces)
    if len(operands) == 2:
        return _pair(writer, form, pieces)
    return _single(writer, form, shape, pieces[0])


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


def _einsum(
    writer: ArrayWriter,
    operands: Sequence[str],
    out: str,
    sizes: dict[str, Size],
    pieces: Sequence[Piece],
) -> Piece:
    distinct = "".join(dict.fromkeys(out))
    if distinct != out and (
        any(operands) or pieces[0][0] != "1"
    ):  # no product with eye: 0 times infinity is NaN
        core = pieces[0][0]
        if list(operands) != [distinct]:
            shape = tuple(sizes[letter] for letter in distinct)
            core = _contraction(writer, f"{','.join(operands)}->{distinct}", shape, pieces)[0]
        return writer.own("diagonal", core, f'"{distinct}->{out}"')
    if set("".join(operands)) <= set(out) and any(operands):
        return _plain_product(writer, operands, out, sizes, pieces)
    words, result, added = einsum_parts(operands, out, sizes)
    texts = [piece[0] for piece in pieces]
    dtype = f"dtype={writer.namespace}.{writer.dtype}"
    texts += [writer.call(name, writer.size(size), dtype)[0] for name, size in added]
    if texts[0] == "1" and not words[0] and len(words) > 1:
        words, texts = words[1:], texts[1:]
    spec = f'"{",".join(words)}->{result}"'
    better = ["optimize=True"] if len(words) > 2 or max(map(len, words)) > 2 else []
    return writer.call("einsum", spec, *texts, *better)


def _plain_product(
    writer: ArrayWriter,
    operands: Sequence[str],
    out: str,
    sizes: dict[str, Size],
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
    elif own == letters[::-1] != letters:
        piece = f"{bracket(piece, 8)}.T", 8
    elif own != letters:
        axes = tuple(letters.index(letter) for letter in own)
        piece = writer.call("transpose", piece[0], str(axes))
    trailing = out[out.index(own[0]) :] if own else ""  # NumPy adds leading axes itself
    added = [place for place, letter in enumerate(trailing) if letter not in own]
    return (f"{bracket(piece, 8)}[{new_axes(added, len(trailing))}]", 8) if added else piece


# Functions of the array library that write into memory that is there.

PRODUCTS = {"matmul": "matmul"} | dict.fromkeys(("product", "rows", "columns", "outer"), "multiply")


def into(site: Site) -> Into | None:
    """The call with out= that does a contraction, if there is one."""
    spec = site.settings["spec"]
    operands, out = split_spec(spec)
    form = form_of(spec, dict(zip(out, site.shape, strict=True)))
    if form is None:
        return None
    if len(operands) == 1:
        return _sum_into(form) if form.word == "sum" else None
    return _product_into(form) if form.word in PRODUCTS else None


def _sum_into(form: Form) -> Into:
    axis = f", axis={form.axes[0] if len(form.axes) == 1 else form.axes}" if form.axes else ""
    keep = ", keepdims=True" if form.keepdims else ""
    return lambda np, operands, target: f"{np}.sum({operands[0]}{axis}{keep}, out={target})"


def _product_into(form: Form) -> Into:
    def written(np: str, operands: Sequence[str], target: str) -> str:
        first, second = (
            operands[place] + ".T" * turned
            for place, turned in zip(form.order, form.transposed, strict=True)
        )
        if form.word in ("rows", "outer"):
            first = f"{first}[:, None]"
        return f"{np}.{PRODUCTS[form.word]}({first}, {second}, out={target})"

    return written
