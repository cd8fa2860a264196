"""Numbers, arrays and shapes as a drawing writes them, in one line of Unicode."""

from __future__ import annotations

import math
import unicodedata
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from ..algebra.exact import WORKING, Exact, Masked, Undefined, as_digits, as_float
from ..table.letters import SUPERSCRIPTS, name_math
from ..table.phrases import TIMES, Phrase, infix, leaf, listed, negative

ELLIPSIS = "…"
EQUALS, WITHIN = "=", "∈"
DIGITS = 4  # of a decimal
LONGEST_FRACTION = 3  # digits above or below the line; longer ones are decimals
LONGEST_WHOLE = 6  # digits
LONGEST_NUMBER = 1000  # bits of what a tooltip writes out
WRITTEN_OUT = 3  # elements of an array; of a longer one the range is given


def visible(text: str) -> str:
    """The text with a sign in place of each control, format, private or unknown character."""
    if text.isprintable():
        return text
    return "".join(c if unicodedata.category(c)[0] != "C" else "\ufffd" for c in text)


def plain(text: str, limit: int = 200) -> str:
    """The visible text, not longer than the limit."""
    return shortened(visible(text[: limit + 1]), limit)


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis; an accent stays with its letter."""
    if len(text) <= limit:
        return text
    cut = limit - 1
    while cut > 1 and unicodedata.combining(text[cut]):
        cut -= 1
    return text[:cut].rstrip() + ELLIPSIS


# Numbers.


def number_phrase(value: Any) -> Phrase:
    """A number: a short fraction as it is, otherwise a few digits."""
    if type(value) is Undefined:
        return leaf("undefined")
    if isinstance(value, (int, Fraction)) and abs(value.numerator) < 10**7 > value.denominator:
        above, below = leaf(str(abs(value.numerator))), leaf(str(value.denominator))
        whole = value.denominator == 1
        if max(len(above.text), len(below.text)) <= (LONGEST_WHOLE if whole else LONGEST_FRACTION):
            size = above if whole else infix("/", above, below, TIMES)
            return negative(size) if value < 0 else size
    return leaf(decimal(value))


def decimal(value: Any, digits: int = DIGITS) -> str:
    """A few leading digits; large and small numbers as 1.5·10⁻⁷."""
    number = float(as_float(value)) + 0.0  # -0.0 becomes 0.0
    text = f"{number:.{digits}g}"
    if number in (0.0, math.inf, -math.inf) and not isinstance(value, float):
        text = mpmath.nstr(as_digits(value, WORKING), digits)  # more than a float can hold
    mantissa, e, exponent = text.partition("e")
    mantissa = mantissa.removesuffix(".0") if e else mantissa
    if e:
        power = str(int(exponent)).translate(SUPERSCRIPTS)
        text = (
            f"{mantissa}·10{power}" if mantissa not in ("1", "-1") else f"{mantissa[:-1]}10{power}"
        )
    return text.replace("-", "−").replace("nan", "undefined").replace("inf", "∞")


def value_phrase(value: Any) -> tuple[str, Phrase]:
    """(=, a number or a short array element by element), or (∈, the range of a long one)."""
    if type(value) is Masked:
        value = value.values
    if not isinstance(value, np.ndarray) or not value.shape:
        return EQUALS, number_phrase(value[()] if isinstance(value, np.ndarray) else value)
    if value.size <= WRITTEN_OUT:
        return EQUALS, _listed(value)
    numbers = as_float(value)
    low, high = float(np.min(numbers)), float(np.max(numbers))
    if low == high:
        return EQUALS, leaf(f"all {decimal(low)}")
    return WITHIN, leaf(f"[{decimal(low, 3)}, {decimal(high, 3)}]")


def _listed(value: Any) -> Phrase:
    if not getattr(value, "shape", ()):
        return number_phrase(value)
    return listed(*map(_listed, value))


def full_number(value: Any) -> str:
    """A number with all its digits, for tooltips; the beginning of a long array."""
    if type(value) is Masked:
        value = value.values
    if isinstance(value, np.ndarray) and value.shape:
        flat = [full_number(part) for part in value.flat[:64]]
        return f"[{', '.join(flat)}{', ...' if value.size > 64 else ''}]"
    if type(value) is Undefined:
        return f"undefined: {value.reason}"
    if type(value) is Exact or hasattr(value, "_mpf_"):
        return repr(float(as_float(value)))
    if isinstance(value, (int, Fraction)):
        long = max(value.numerator.bit_length(), value.denominator.bit_length()) > LONGEST_NUMBER
        return decimal(value, 12) if long else str(value)
    return str(value)


def shape_math(shape: tuple[int | str, ...]) -> str:
    """A shape: 2×3, n×784."""
    return "×".join(str(size) if isinstance(size, int) else name_math(size) for size in shape)
