"""Tensor operations and numbers in the words of the text form, which are read back as they are.

Display writes 0.1 for the float 0.1 and A.T @ B for what is one contraction; here the reader must
find the same number and the same contraction, so a float is float(0.1) and the contraction einsum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..algebra.exact import bits
from ..algebra.given import MOST_BITS
from ..errors import GraphcError
from ..shapes import Shape, shape_text
from ..syntax.words import MOST_DIGITS
from ..table.arrays import split_spec
from ..table.functions import FUNCTIONS
from ..table.matrix_form import (
    ATOM,
    Piece,
    axis_text,
    bracket,
    contract_text,
    form_of,
    gather_text,
    pad_text,
)
from ..table.places import Index, Places
from ..table.tensors import OPERATIONS
from ..table.writing import keywords_text

# forms of a contraction that are read as this very contraction, or round in the same way
READ_BACK = {
    *("matmul", "outer", "transpose", "trace", "diag", "sum", "permute", "full", "newaxis"),
}
Settings = Mapping[str, Any]


def contraction(spec: str, shape: Shape, pieces: Sequence[Piece]) -> Piece:
    """A contraction."""
    operands, out = split_spec(spec)
    sizes = dict(zip(out, shape, strict=True))
    form = form_of(spec, sizes)
    # a transposed copy may be multiplied in another order, and so be rounded otherwise
    if form is not None and form.order in ((0,), (0, 1)) and not any(form.transposed):
        whole = form.word == "sum_of_product" and not out
        if whole:
            return f"dot({pieces[0][0]}, {pieces[1][0]})", ATOM
        leading = form.axes == tuple(range(len(form.axes)))  # what NumPy adds by itself
        unit = pieces[0][0] == "1" and isinstance(shape[0] if shape else 0, int)
        if unit and shape == (1, 1):
            return "ones((1, 1))", ATOM  # the word that a constant of this shape has
        if form.word in READ_BACK or {"repeat": leading, "eye": unit}.get(form.word):
            return contract_text(spec, shape, pieces)
    texts = [f'"{spec}"', *(piece[0] for piece in pieces)]
    fresh = [letter for letter in dict.fromkeys(out) if letter not in "".join(operands)]
    texts += [f"{letter}={sizes[letter]}" for letter in fresh]
    return f"einsum({', '.join(texts)})", ATOM


def gathered(piece: Piece, shape: Shape, settings: Settings) -> Piece:
    """Elements along an axis; the places of -1, which hold 0, are those of a border of zeros."""
    index, axis = settings["index"], settings["axis"]
    if len(index.shape) < 2 and not index.has_gaps:
        return gather_text(piece, shape, settings)
    text = piece[0]
    if index.has_gaps:
        text, index = pad_text(text, (1, 0), axis, len(shape)), _shifted(index)
    return f"take({text}, {index.listed()}, axis={axis})", ATOM


def scattered(piece: Piece, shape: Shape, settings: Settings) -> Piece:
    """The transpose of gathered."""
    index, size, axis = settings["index"], settings["size"], settings["axis"]
    if index.has_gaps:
        after = ", :" * (-1 - axis)
        whole = f"scatter({piece[0]}, {_shifted(index).listed()}, {int(size) + 1}, axis={axis})"
        return f"{whole}[..., 1:{after}]", 8
    return f"scatter({piece[0]}, {index.listed()}, {size}, axis={axis})", ATOM


def _shifted(index: Index) -> Places:
    return Places(index.array + 1)


def reduction(op: str, text: str, shape: Shape, settings: Settings) -> Piece:
    """An operation over axes, named as it is called."""
    others = {key: value for key, value in settings.items() if key != "axes" and value is not None}
    texts = [text, *axis_text(op, settings, len(shape)), *keywords_text(others)]
    return f"{OPERATIONS[op].word or op}({', '.join(texts)})", ATOM


def reshaped(text: str, settings: Settings) -> Piece:
    """The same elements in another shape."""
    return f"reshape({text}, {shape_text(settings['shape'])})", ATOM


# Numbers.


def number(value: Any) -> Piece:
    """A number that is read back as the same number, exact or float."""
    if isinstance(value, float):
        return f"float({float(value)!r})", ATOM
    if isinstance(value, (int, Fraction)):
        return rational(value)
    if hasattr(value, "_mpf_"):
        raise GraphcError(
            f"the mpmath number {value} has no text form; give a float or an exact number"
        )
    return _irrational(getattr(value, "expression", value))


def rational(value: int | Fraction) -> Piece:
    """A whole number, a short decimal or a fraction."""
    if bits(value) > MOST_BITS:
        raise GraphcError(f"a number of over {MOST_DIGITS} digits has no text form; round it")
    if value.denominator == 1:
        return str(value), ATOM if value >= 0 else 3
    decimal = _decimal(abs(Fraction(value)))
    if decimal:
        return ("-" * (value < 0) + decimal), (ATOM if value > 0 else 3)
    return str(value), 2


def _decimal(value: Fraction) -> str:
    """A short decimal, if the fraction has one."""
    for digits in range(1, 7):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            whole, part = divmod(scaled.numerator, 10**digits)
            return f"{whole}.{part:0{digits}d}"
    return ""


def _irrational(expression: Any) -> Piece:
    """An exact number of SymPy in our functions."""
    if expression.is_Rational:
        return rational(Fraction(int(expression.p), int(expression.q)))
    word = type(expression).__name__
    factor, rest = expression.as_coeff_Mul()
    if factor != 1:
        return _scaled(Fraction(int(factor.p), int(factor.q)), _irrational(rest)), 2
    parts = [_irrational(part) for part in expression.args]
    if word == "Pi":
        return "pi", ATOM
    if word == "Exp1":
        return "exp(1)", ATOM
    if word in ("Add", "Mul"):
        sign, binding = (" + ", 1) if word == "Add" else ("*", 2)
        texts = [bracket(part, binding + (place > 0)) for place, part in enumerate(parts)]
        return sign.join(texts), binding
    if word == "Pow" and 2 * expression.exp == 1:
        return f"sqrt({parts[0][0]})", ATOM
    if word == "Pow":
        return f"{bracket(parts[0], 5)}**{bracket(parts[1], 5)}", 4
    known = {record.native.get("sympy"): record.name for record in FUNCTIONS.values()}
    if word not in known:
        raise GraphcError(f"the number {expression} has no text form; declare it as a fraction")
    return f"{known[word]}({', '.join(part[0] for part in parts)})", ATOM


def _scaled(factor: Fraction, piece: Piece) -> str:
    """A number times a fraction: -2*pi/3."""
    sign = {1: "", -1: "-"}.get(factor.numerator, f"{factor.numerator}*")
    text = sign + bracket(piece, 2 + bool(sign))
    return text if factor.denominator == 1 else f"{text}/{factor.denominator}"


def values(value: Any) -> str:
    """A given value or a constant: a number, or nested lists of numbers."""
    shape = getattr(value, "shape", ())
    if not shape:
        return number(value[()] if hasattr(value, "dtype") else value)[0]
    if 0 in shape:
        return f"zeros({shape_text(shape)})"
    for word in ("zeros", "ones", "eye"):
        if value.dtype == object and np.array_equal(value, _named(word, shape)):
            return f"{word}({shape_text(shape) if word != 'eye' else shape[0]})"
    if value.dtype.kind == "f":
        return f"float({_lists(value.tolist(), repr)})"
    return _lists(value.tolist(), lambda part: number(part)[0])


def _named(word: str, shape: tuple[int, ...]) -> Any:
    """The constant array of this word and shape; None where there is none."""
    if word == "eye":
        return np.eye(shape[0]) if len(shape) == 2 and shape[0] == shape[1] else None
    return np.full(shape, int(word == "ones"))


def _lists(parts: Any, write: Callable[[Any], str]) -> str:
    if isinstance(parts, list):
        return f"[{', '.join(_lists(part, write) for part in parts)}]"
    return write(parts)
