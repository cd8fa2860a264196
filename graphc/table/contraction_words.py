"""Contractions as people write them: A @ B, outer(x, y), sums, and einsum for the rest.

A line is NumPy: broadcast_to repeats, eye(3) is the unit matrix. In LaTeX vectors are columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..shapes import Shape, Size, shape_text
from .arrays import split_spec
from .letters import name_latex
from .matrix_form import Form, einsum_parts, form_of, new_axes
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
    literal,
    phrase,
)
from .tensors import Site

JUXTAPOSED = 4  # how tightly a product of matrices binds: more than a scalar factor or \odot
ONES = r"\mathbf{1}"
# forms of a contraction that are read as this very contraction, or round in the same way
READ_BACK = {
    *("matmul", "outer", "transpose", "trace", "diag", "sum", "permute", "full", "newaxis"),
}
RULES = {
    "matmul": "matrix product",
    "outer": "outer product",
    "product": "element-wise product",
    "sum": "sum rule",
    "transpose": "transpose",
}


def contraction_rule(site: Site) -> str:
    """What a contraction is called where it is differentiated."""
    form = form_of(site.settings["spec"], {})
    return RULES.get(form.word if form is not None else "", "linear")


def _form(site: Site) -> Form | None:
    spec = site.settings["spec"]
    return form_of(spec, dict(zip(split_spec(spec)[1], site.shape, strict=True)))


def as_float(part: Phrase) -> Phrase:
    """A whole number as a float, for integers would overflow and have no x**-1; others as is."""
    return phrase("{0}.0", part) if part.text.lstrip("-").isdigit() else part


# A line of text.


def transposed(part: Phrase) -> Phrase:
    """part.T."""
    return phrase("{0}.T", bracket(part, ITEM), binding=ITEM, drawn="{0}ᵀ", word=".T")


def product(left: Phrase, right: Phrase) -> Phrase:
    """left @ right, which a drawing writes side by side."""
    return phrase("{0} @ {1}", left, right, binding=TIMES, drawn="{0} {1}", word="@")


def outer(left: Phrase, right: Phrase) -> Phrase:
    """outer(left, right), in a drawing a column times a row."""
    shown = "{0} {1}ᵀ" if left.is_plain and right.is_plain else ""
    return phrase("outer({0}, {1})", left, right, drawn=shown, word="outer")


def eye(size: Size) -> Phrase:
    """eye(size), the unit matrix."""
    return leaf(f"eye({size})", drawn="I")


def contraction(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """A contraction as NumPy text."""
    form = _form(site)
    if form is None:
        return _einsum(site, parts)

    def tight(place: int, least: int) -> Phrase:
        part = parts[form.order[place]]
        return transposed(part) if form.transposed[place] else bracket(part, least)

    def both() -> tuple[Phrase, Phrase]:
        return tight(0, TIMES), tight(1, TIMES + 1)

    if form.word == "matmul":
        return product(*both())
    if form.word == "product":
        return infix("*", *both(), TIMES)
    if form.word == "trace_of_product":
        return call("trace", product(*both()))
    if form.word == "sum_of_product":
        return call("sum", infix("*", *both(), TIMES), more=_axis(form))
    if form.word == "rows":
        return product(call("diag", parts[form.order[0]]), tight(1, TIMES + 1))
    if form.word == "columns":
        return product(tight(0, TIMES), call("diag", parts[form.order[1]]))
    if form.word == "outer":
        return outer(parts[form.order[0]], parts[form.order[1]])
    return _single(form, site.shape, parts[0])


def _axis(form: Form) -> list[str]:
    axis = form.axes[0] if len(form.axes) == 1 else form.axes
    return [f"axis={axis}"] * bool(form.axes) + ["keepdims=True"] * form.keepdims


def _single(form: Form, shape: Shape, part: Phrase) -> Phrase:
    if form.word == "transpose":
        return transposed(part)
    if form.word == "sum":
        return call("sum", part, more=_axis(form))
    if form.word == "permute":
        return call("transpose", part, more=[str(form.axes)])
    if form.word == "eye":
        unit = eye(shape[0])
        return unit if part.text == "1" else infix("*", bracket(part, TIMES), unit, TIMES)
    if form.word == "full":
        named = {"0": "zeros", "1": "ones"}.get(part.text)
        whole = shape_text(shape)
        if named:
            return call(named, more=[whole])
        return phrase(f"full({literal(whole)}, {{0}})", as_float(part), word="full")
    if form.word == "newaxis":
        return item(bracket(part, ITEM), new_axes(form.axes, len(shape)))
    if form.word == "repeat":
        first = next(i for i in range(len(shape)) if i not in form.axes)
        inner = [axis - first for axis in form.axes if axis > first]  # NumPy adds leading axes
        if inner:
            part = item(bracket(part, ITEM), new_axes(inner, len(shape) - first))
        return call("broadcast_to", part, more=[shape_text(shape)])
    return call(form.word, part)


def _einsum(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """einsum as NumPy takes it."""
    words, result, added = _einsum_parts(site)
    everything = [*parts, *(eye(size) if name == "eye" else ones(size) for name, size in added)]
    if parts[0].text == "1" and not words[0] and len(words) > 1:
        words, everything = words[1:], everything[1:]
    return call("einsum", letters_of(f"{','.join(words)}->{result}"), *everything)


def letters_of(spec: str) -> Phrase:
    """The letters of an einsum."""
    return leaf(f'"{spec}"', drawn=f'"{spec}"'.replace("->", "→"))


def ones(size: Size) -> Phrase:
    return call("ones", leaf(str(size)))


def _einsum_parts(site: Site) -> tuple[list[str], str, list[tuple[str, Size]]]:
    operands, out = split_spec(site.settings["spec"])
    return einsum_parts(operands, out, dict(zip(out, site.shape, strict=True)))


def contraction_source(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """A contraction that is read back as the same contraction."""
    spec, shape = site.settings["spec"], site.shape
    operands, out = split_spec(spec)
    form = _form(site)
    # a transposed copy may be multiplied in another order, and so be rounded otherwise
    if form is not None and form.order in ((0,), (0, 1)) and not any(form.transposed):
        if form.word == "sum_of_product" and not out:
            return call("dot", *parts)
        leading = form.axes == tuple(range(len(form.axes)))  # what NumPy adds by itself
        unit = parts[0].text == "1" and isinstance(shape[0] if shape else 0, int)
        if unit and shape == (1, 1):
            return call("ones", more=["(1, 1)"])  # the word that a constant of this shape has
        if form.word in READ_BACK or {"repeat": leading, "eye": unit}.get(form.word):
            return contraction(site, parts)
    sizes = dict(zip(out, shape, strict=True))
    fresh = [letter for letter in dict.fromkeys(out) if letter not in "".join(operands)]
    more = [f"{letter}={sizes[letter]}" for letter in fresh]
    return call("einsum", letters_of(spec), *parts, more=more)


# LaTeX.


def _size(size: Size) -> str:
    return str(size) if isinstance(size, int) else name_latex(size)


def sizes_latex(shape: Shape) -> str:
    """2 x 3."""
    return r" \times ".join(map(_size, shape))


def beside(*parts: Phrase) -> Phrase:
    """Matrices side by side: their product."""
    form = " ".join(f"{{{place}}}" for place in range(len(parts)))
    return phrase(form, *parts, binding=JUXTAPOSED, word="@")


def transposed_latex(part: Phrase) -> Phrase:
    """The transpose: of an inverse -T, of a transpose what it was."""
    if part.word == "inv":
        return phrase(r"{0}^{{-\top}}", *part.parts, binding=JUXTAPOSED, word="inv.T")
    if part.word == ".T":
        return part.parts[0]
    return phrase(r"{0}^{{\top}}", bracket_latex(part, ATOM), binding=ITEM, word=".T")


def inverse_latex(part: Phrase) -> Phrase:
    """The inverse matrix."""
    if part.word == ".T":
        return phrase(r"{0}^{{-\top}}", *part.parts, binding=JUXTAPOSED, word="inv.T")
    return phrase("{0}^{{-1}}", bracket_latex(part, ATOM), binding=JUXTAPOSED, word="inv")


def contraction_latex(site: Site, parts: Sequence[Phrase]) -> Phrase:
    """A contraction in matrix notation, or by its letters."""
    form = _form(site)
    ranks = [len(shape) for shape in site.shapes]
    written = None if form is None else _matrices(form, ranks, site.shape, parts)
    return written or _einsum_latex(site, parts)


def _einsum_latex(site: Site, parts: Sequence[Phrase]) -> Phrase:
    words, result, added = _einsum_parts(site)
    signs = {"eye": "I", "ones": ONES}
    everything = [*parts, *(leaf(f"{signs[name]}_{{{_size(size)}}}") for name, size in added)]
    if parts[0].text == "1" and not words[0] and len(words) > 1:
        words, everything = words[1:], everything[1:]
    return call_latex("einsum", *everything, below=rf"{','.join(words)} \to {result}")


def _matrices(
    form: Form, ranks: Sequence[int], shape: Shape, parts: Sequence[Phrase]
) -> Phrase | None:
    def part(place: int, flip: bool = False) -> Phrase:
        here = parts[form.order[place]]
        if form.transposed[place] != flip:
            return transposed_latex(here)
        return bracket_latex(here, JUXTAPOSED)

    word = form.word
    if word == "matmul" and max(ranks) <= 2:
        if ranks[form.order[0]] == 1 and ranks[form.order[1]] == 2:  # x @ A
            return beside(part(1, flip=True), part(0))
        if list(ranks) == [1, 1] and parts[0].binding < ATOM <= parts[1].binding:  # x^T (A x)
            return beside(part(1, flip=True), part(0))
        return beside(part(0, flip=ranks[form.order[0]] == 1), part(1))
    if word == "outer":
        return beside(part(0), part(1, flip=True))
    if word == "product" and ranks[0] == ranks[1]:
        return phrase(r"{0} \odot {1}", part(0), part(1), binding=TIMES, word="*")
    if word == "columns":
        return beside(part(0), call_latex("diag", parts[form.order[1]]))
    if word == "rows":
        return beside(call_latex("diag", parts[form.order[0]]), part(1))
    if word == "trace":
        return call_latex("tr", parts[0])
    if word == "trace_of_product":
        return call_latex("tr", beside(part(0), part(1)))
    if word == "sum_of_product" and not form.axes and list(ranks) == [2, 2]:
        return call_latex("tr", beside(part(0, flip=True), part(1)))
    return _single_latex(form, ranks[0], shape, parts[0]) if len(parts) == 1 else None


def _single_latex(form: Form, rank: int, shape: Shape, part: Phrase) -> Phrase | None:
    word, tight, ones = form.word, bracket_latex(part, JUXTAPOSED), leaf(ONES)
    if word == "transpose":
        return transposed_latex(part)
    if word == "diag":
        return call_latex("diag", part)
    if word in ("eye", "full"):
        unit = leaf(
            f"I_{{{_size(shape[0])}}}" if word == "eye" else f"{ONES}_{{{sizes_latex(shape)}}}"
        )
        return unit if part.text == "1" else scaled(part, unit)
    if word in ("newaxis", "repeat") and (rank, len(shape)) == (1, 2):  # in every row, or column
        if form.axes == (0,):
            return beside(ones, transposed_latex(part))
        return beside(tight, transposed_latex(ones))
    if word == "sum" and not form.keepdims and rank <= 2:
        if rank == 1:
            return beside(transposed_latex(ones), tight)
        if not form.axes:
            return beside(transposed_latex(ones), tight, ones)
        return beside(transposed_latex(part) if form.axes == (0,) else tight, ones)
    if word in ("sum", "permute"):
        name = "sum" if word == "sum" else "transpose"
        return call_latex(name, part, below=str(form.axes)[1:-1])
    return None


def scaled(factor: Phrase, part: Phrase) -> Phrase:
    """A number times something."""
    return phrase("{0} {1}", bracket_latex(factor, TIMES), part, binding=TIMES, word="*")
