"""Numbers and constant arrays as phrases.

People read 0.1 for the float 0.1; in the text form the reader must find the same number, exact or
not, so there it is float(0.1).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ..algebra.exact import bits
from ..algebra.given import MOST_BITS
from ..errors import GraphcError
from ..shapes import shape_text
from ..syntax.words import MOST_DIGITS
from ..table.contraction_words import as_float
from ..table.functions import FUNCTIONS
from ..table.phrases import (
    PLUS,
    POWER,
    TIMES,
    Phrase,
    bound,
    bracket,
    call,
    infix,
    leaf,
    listed,
    negative,
    power,
)
from .signs import root


def number_line(value: Any) -> Phrase:
    """A number as people write it."""
    if isinstance(value, float):
        return _signed(repr(float(value)))
    if isinstance(value, (int, Fraction)):
        return rational(value)
    expression = getattr(value, "expression", value)
    if not hasattr(expression, "free_symbols"):
        return leaf(str(expression), 0)
    from .symbols import line

    return bound(line(expression), 0)


def number_source(value: Any) -> Phrase:
    """A number that is read back as the same number, exact or float."""
    if isinstance(value, float):
        return leaf(f"float({float(value)!r})")
    if isinstance(value, (int, Fraction)):
        return rational(value)
    if hasattr(value, "_mpf_"):
        raise GraphcError(
            f"the mpmath number {value} has no text form; give a float or an exact number"
        )
    return _irrational(getattr(value, "expression", value))


def _signed(text: str) -> Phrase:
    """Digits, perhaps behind a minus sign."""
    return negative(leaf(text[1:])) if text.startswith("-") else leaf(text)


def rational(value: int | Fraction) -> Phrase:
    """A whole number, a short decimal or a fraction."""
    if bits(value) > MOST_BITS:
        raise GraphcError(f"a number of over {MOST_DIGITS} digits has no text form; round it")
    if value.denominator == 1:
        return _signed(str(value))
    size = abs(Fraction(value))
    decimal = _decimal(size)
    if decimal:
        return _signed("-" * (value < 0) + decimal)
    whole = infix("/", leaf(str(size.numerator)), leaf(str(size.denominator)), TIMES)
    return whole if value > 0 else negative(whole, TIMES)


def _decimal(value: Fraction) -> str:
    """A short decimal, if the fraction has one."""
    for digits in range(1, 7):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            whole, part = divmod(scaled.numerator, 10**digits)
            return f"{whole}.{part:0{digits}d}"
    return ""


def _irrational(expression: Any) -> Phrase:
    """An exact number of SymPy in our functions."""
    if expression.is_Rational:
        return rational(Fraction(int(expression.p), int(expression.q)))
    word = type(expression).__name__
    factor, rest = expression.as_coeff_Mul()
    if factor != 1:
        return _scaled(Fraction(int(factor.p), int(factor.q)), _irrational(rest))
    parts = [_irrational(part) for part in expression.args]
    if word == "Pi":
        return leaf("pi", drawn="π")
    if word == "Exp1":
        return call("exp", leaf("1"))
    if word in ("Add", "Mul"):
        sign, binding = ("+", PLUS) if word == "Add" else ("*", TIMES)
        whole = bracket(parts[0], binding)
        for part in parts[1:]:
            whole = infix(sign, whole, bracket(part, binding + 1), binding)
        return whole
    if word == "Pow" and 2 * expression.exp == 1:
        return root(parts[0])
    if word == "Pow":
        return power(bracket(parts[0], POWER + 1), bracket(parts[1], POWER + 1))
    known = {record.native.get("sympy"): record.name for record in FUNCTIONS.values()}
    if word not in known:
        raise GraphcError(f"the number {expression} has no text form; declare it as a fraction")
    return call(known[word], *parts)


def _scaled(factor: Fraction, part: Phrase) -> Phrase:
    """A number times a fraction: -2*pi/3."""
    above = abs(factor.numerator)
    whole = bracket(part, TIMES + (factor.numerator != 1))
    if above != 1:
        whole = infix("*", leaf(str(above)), whole, TIMES)
    if factor < 0:
        whole = negative(whole, TIMES)
    return (
        whole
        if factor.denominator == 1
        else infix("/", whole, leaf(str(factor.denominator)), TIMES)
    )


# Constants and given values.


def value_line(value: Any) -> Phrase:
    """A number, or nested lists of numbers, for people."""
    if not hasattr(value, "tolist") or not getattr(value, "shape", ()):
        return number_line(value)
    return listed(*map(value_line, value))


def value_text(value: Any) -> str:
    """The same as text."""
    return value_line(value).text


def value_numpy(value: Any) -> Phrase:
    """A constant array as NumPy takes it, of floats."""

    def lists(part: Any) -> Phrase:
        if getattr(part, "shape", ()):
            return listed(*map(lists, part))
        return as_float(number_line(part))

    return call("array", lists(value))


def value_source(value: Any) -> str:
    """A given value or a constant in the text form."""
    shape = getattr(value, "shape", ())
    if not shape:
        return number_source(value[()] if hasattr(value, "dtype") else value).text
    if 0 in shape:
        return f"zeros({shape_text(shape)})"
    for word in ("zeros", "ones", "eye"):
        if value.dtype == object and np.array_equal(value, _named(word, shape)):
            return f"{word}({shape_text(shape) if word != 'eye' else shape[0]})"
    if value.dtype.kind == "f":
        return f"float({_lists(value.tolist(), repr)})"
    return _lists(value.tolist(), lambda part: number_source(part).text)


def _named(word: str, shape: tuple[int, ...]) -> Any:
    """The constant array of this word and shape; None where there is none."""
    if word == "eye":
        return np.eye(shape[0]) if len(shape) == 2 and shape[0] == shape[1] else None
    return np.full(shape, int(word == "ones"))


def _lists(parts: Any, write: Callable[[Any], str]) -> str:
    if isinstance(parts, list):
        return f"[{', '.join(_lists(part, write) for part in parts)}]"
    return write(parts)
