"""Mathematics in one line of Unicode: names, numbers, arrays and formulas.

One line is one run of characters, so that a picture stays right in a viewer with other fonts.
"""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from ..algebra.exact import WORKING, Exact, Masked, Undefined, as_digits, as_float
from ..table.functions import FUNCTIONS

ELLIPSIS = "…"
WITHIN = "∈"
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
ACCENTS = {"bar": "\u0304", "dot": "\u0307"}
OVERLINE = "\u0305"  # a bar over a word of several letters, one letter at a time
_GREEK_SMALL = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho - "
    "sigma tau upsilon phi chi psi omega"
)
GREEK = {name: chr(0x3B1 + place) for place, name in enumerate(_GREEK_SMALL.split()) if name != "-"}
GREEK |= {name.capitalize(): letter.upper() for name, letter in GREEK.items()}
SIGNS = {
    "**": "^",
    "*": "·",
    "-": "−",
    "<=": "≤",
    ">=": "≥",
    "!=": "≠",
    "->": "→",
    " @ ": " ",
    ".T": "ᵀ",
}
SYMPY = {"Abs": "abs", "Max": "max", "Min": "min"}  # names that differ from ours
_ATOM = r"([^\s(),·+−/\[\]<>^]+)"
CALLS = (  # of simple arguments
    (re.compile(rf"√\({_ATOM}\)"), r"√\1"),
    (re.compile(rf"\bouter\({_ATOM}, {_ATOM}\)"), r"\1 \2ᵀ"),
    (re.compile(rf"\beye\({_ATOM}\)"), "I"),
)
_NAME = re.compile(r"([^\W\d_]+)([0-9]*)\Z")
_TOKEN = re.compile(
    r"(?P<power>\*\*-?[0-9]+(?![\w.]))|(?P<word>[^\W\d]\w*)|(?P<sign> @ |\*\*|<=|>=|!=|->|\.T\b|.)",
    re.DOTALL,
)
DIGITS = 4  # of a decimal
LONGEST_FRACTION = 3  # digits above or below the line; longer ones are decimals
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


def name_math(name: str) -> str:
    """A node's name: y10 is y₁₀, h2_1 is h₂,₁, alpha is α, h1_bar is h̄₁."""
    bare = name.removesuffix("_")
    first, *rest = (bare if keyword.iskeyword(bare) else name).split("_")  # lambda_ is λ
    word = _NAME.match(first)
    if word is None or not all(part in ACCENTS or part.isdecimal() for part in rest):
        return name
    letters = GREEK.get(word[1], word[1])
    subscripts = [word[2]] if word[2] else []
    for part in rest:
        if part in ACCENTS:
            letters = _accented(letters, part)
        elif part.isascii():
            subscripts.append(part)
        else:
            return name
    return letters + ",".join(subscripts).translate(SUBSCRIPTS)


def _accented(letters: str, accent: str) -> str:
    if sum(not unicodedata.combining(letter) for letter in letters) > 1 and accent == "bar":
        return "".join(c + OVERLINE if not unicodedata.combining(c) else c for c in letters)
    return unicodedata.normalize("NFC", letters + ACCENTS[accent])


def formula_math(text: str) -> str:
    """A formula in the text form, with mathematical signs."""
    pieces = []
    for token in _TOKEN.finditer(text):
        if token["power"]:
            exponent = token["power"][2:]
            pieces.append("" if exponent == "1" else exponent.translate(SUPERSCRIPTS))
        elif token["word"]:
            called = text[token.end() : token.end() + 1] == "("
            pieces.append(_function(token["word"]) if called else _word(token["word"]))
        else:
            pieces.append(SIGNS.get(token["sign"], token["sign"]))
    written = "".join(pieces)
    for call, sign in CALLS:
        written = call.sub(sign, written)
    return written


def _function(name: str) -> str:
    """The mark of a function where it can stand before its argument."""
    mark = FUNCTIONS[name].mark if name in FUNCTIONS else ""
    return mark if mark == "√" or mark.replace(" ", "").isalpha() else SYMPY.get(name, name)


def _word(word: str) -> str:
    return "π" if word == "pi" else name_math(word)


# Numbers.


def number_math(value: Any) -> str:
    """A number: a short fraction as it is, otherwise a few digits."""
    if type(value) is Undefined:
        return "undefined"
    if isinstance(value, (int, Fraction)) and abs(value.numerator) < 10**7 > value.denominator:
        exact = str(value)
        parts = exact.lstrip("-").split("/")
        if all(len(part) <= (LONGEST_FRACTION if len(parts) == 2 else 6) for part in parts):
            return exact.replace("-", "−")
    return decimal(value)


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


def value_math(value: Any) -> str:
    """A number, a short array element by element, or the range of a long one."""
    if type(value) is Masked:
        value = value.values
    if not isinstance(value, np.ndarray) or not value.shape:
        return number_math(value[()] if isinstance(value, np.ndarray) else value)
    if value.size <= WRITTEN_OUT:
        return _listed(value)
    numbers = as_float(value)
    low, high = float(np.min(numbers)), float(np.max(numbers))
    if low == high:
        return f"all {decimal(low)}"
    return f"{WITHIN} [{decimal(low, 3)}, {decimal(high, 3)}]"


def equation(left: str, right: str) -> str:
    """left = right, or left within a range."""
    return f"{left} {right if right.startswith(WITHIN) else f'= {right}'}".lstrip()


def _listed(value: Any) -> str:
    if not getattr(value, "shape", ()):
        return number_math(value)
    return f"[{', '.join(_listed(part) for part in value)}]"


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
