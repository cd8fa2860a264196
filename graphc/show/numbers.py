"""Numbers as a worked solution writes them: exact while they are short, else rounded digits."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from ..algebra.exact import Undefined, as_float, present
from ..table.phrases import ATOM, Phrase, leaf
from .notation import LATEX, TEXT, Notation
from .solution import ABOUT, EQUAL, Math, sign

INSIDE = 12  # characters; a longer exact number is rounded where it stands inside a formula
ALONE = 40  # characters of an exact number that stands on its own
RESULT = 200  # characters of an exact result
PLAIN = 7  # characters of a fraction that needs no decimals beside it
LARGEST_ARRAY = 16  # elements; a larger array is told by its shape
SUM, PRODUCT, POWER = 1, 2, 4  # how tightly an exact expression binds

Sides = list[tuple[str, Math]]


def presented(value: Any) -> Any:
    """A number as users get it; None where there is none."""
    if type(value) is Undefined:
        return None
    if isinstance(value, np.ndarray) and any(type(v) is Undefined for v in value.flat):
        return None
    return present(value)


def sides(value: Any, digits: int, longest: int = ALONE) -> Sides:
    """How a value is told at the end of an equation: exactly if it can be read, then rounded."""
    if value is None:
        return [(EQUAL, sign("undefined", r"\text{undefined}"))]
    if np.ndim(value):
        return _array_sides(value, digits)
    exact = _exact(value, longest)
    decimal = rounded(value, digits)
    if exact is None:
        return [(EQUAL if _same(value, decimal) else ABOUT, decimal)]
    found: Sides = [(EQUAL, exact)]
    if not _is_rational(value) or len(exact.text) > PLAIN:
        found.append((EQUAL if _same(value, decimal) else ABOUT, decimal))
    return found


def number_inside(value: Any, digits: int, notation: Notation) -> tuple[Phrase, bool]:
    """A number inside a formula, and whether it was rounded."""
    if np.ndim(value):
        return leaf(_array(value, digits, notation)), not _array_exact(value)
    exact = _exact(value, INSIDE)
    if exact is None:
        shown = rounded(value, digits)
        text = shown.text if notation is TEXT else shown.latex
        tight = SUM if text.startswith("-") else (PRODUCT if "times" in text else ATOM)
        return leaf(text, tight), not _same(value, shown)
    text = exact.text if notation is TEXT else exact.latex
    return leaf(text, _binding(value, text, notation)), False


def following(found: Sides, told: Sides) -> Sides:
    """A value after the formulas it comes from: exact digits say nothing new after rounded ones."""
    if len(told) < 2 or not found:
        return told
    relation, last = found[-1]
    shorter = len(told[0][1].text) < len(last.text) or len(found) == 1
    return told if relation == EQUAL and shorter else told[1:]


def fits(value: Any) -> bool:
    """Whether a value can stand inside a formula."""
    return value is not None and np.size(value) <= LARGEST_ARRAY and np.ndim(value) <= 2


def number(value: Any, digits: int) -> Math:
    """A number in a cell: exact if it is short, else rounded."""
    if value is None:
        return sign("undefined", r"\text{undefined}")
    return Math(*(number_inside(value, digits, notation)[0] for notation in (TEXT, LATEX)))


def rounded(value: Any, digits: int) -> Math:
    """A number to so many significant digits."""
    nearest = float(as_float(value)) if not hasattr(value, "evalf") else _as_float(value)
    text = f"{nearest:#.{digits}g}".rstrip(".")
    whole, _, exponent = text.partition("e")
    if not exponent:
        return sign(text)
    return sign(text, rf"{whole} \times 10^{{{int(exponent)}}}")


@lru_cache(maxsize=4096)
def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _exact(value: Any, longest: int) -> Math | None:
    """An exact number as it is; None for one that is rounded already, or too long."""
    if getattr(value, "is_Rational", False):
        value = Fraction(int(value.p), int(value.q))
    if not isinstance(value, (int, Fraction)):
        is_long = not hasattr(value, "args") or _over(value, longest)
        return None if is_long else _irrational(value, longest)
    value = Fraction(value)
    text = str(value)
    if len(text) > longest:
        return None
    if value.denominator == 1:
        return sign(text)
    minus = "-" if value < 0 else ""
    return sign(text, rf"{minus}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}")


def _over(expression: Any, longest: int) -> bool:
    """Whether an expression is longer than so many characters for sure: each part takes one.

    SymPy may need seconds to print what is nested deeply, so it is asked only for short ones.
    """
    count, stack = 0, [expression]
    while stack and count <= longest:
        here = stack.pop()
        count += 1
        stack.extend(here.args)
    return count > longest


@lru_cache(maxsize=4096)
def _irrational(value: Any, longest: int) -> Math | None:
    if any(atom.is_Float for atom in value.atoms()):
        return None
    text = str(value)
    return None if len(text) > longest else sign(text, LATEX.expression(value))


def _is_rational(value: Any) -> bool:
    return isinstance(value, (int, Fraction)) or bool(getattr(value, "is_Rational", False))


def _binding(value: Any, text: str, notation: Notation) -> int:
    """How tightly an exact number binds; a sign counts as a sum, so that it gets brackets."""
    if text.startswith("-"):
        return SUM
    if _is_rational(value):
        return ATOM if notation is not TEXT or "/" not in text else PRODUCT
    if value.is_Add:
        return SUM
    if value.is_Mul or (notation is TEXT and text.startswith("1/")):  # a reciprocal is a power
        return PRODUCT
    return POWER if value.is_Pow or notation is LATEX else ATOM


def _same(value: Any, shown: Math) -> bool:
    """Whether the digits shown are the whole value."""
    if isinstance(value, float):
        return float(shown.text) == value
    if _is_rational(value):
        written = Fraction(shown.text) if re.fullmatch(r"-?[\d.e+-]+", shown.text) else None
        return (
            written == Fraction(int(value.p), int(value.q))
            if hasattr(value, "p")
            else (written == value)
        )
    return False


# Arrays.


def _array_exact(value: Any) -> bool:
    elements = np.asarray(value, dtype=object).flat
    return all(_exact(element, INSIDE) is not None for element in elements)


def _array_sides(value: Any, digits: int) -> Sides:
    if np.size(value) > LARGEST_ARRAY or np.ndim(value) > 2:
        shape = tuple(np.shape(value))
        told = sign(f"an array of shape {shape}", rf"\text{{an array of shape {shape}}}")
        return [(EQUAL, told)]
    found: Sides = []
    if _array_exact(value):
        exact = sign(_array(value, digits, TEXT), _array(value, digits, LATEX))
        if all(map(_is_rational, np.asarray(value, dtype=object).flat)):
            return [(EQUAL, exact)]
        found = [(EQUAL, exact)] if len(exact.text) <= ALONE else []
    rows = sign(*(_array(value, digits, n, exactly=False) for n in (TEXT, LATEX)))
    return [*found, (EQUAL if _array_same(value, digits) else ABOUT, rows)]


def _array_same(value: Any, digits: int) -> bool:
    return all(
        (_is_rational(v) and v == int(v)) or _same(v, rounded(v, digits))
        for v in np.asarray(value, dtype=object).flat
    )


def _array(value: Any, digits: int, notation: Notation, exactly: bool = True) -> str:
    """A vector as a list or a column, a matrix row by row."""
    exactly = exactly and _array_exact(value)

    def cell(element: Any) -> str:
        exact = _exact(element, INSIDE)
        whole = exact is not None and exact.text.lstrip("-").isdigit()
        shown = exact if exact is not None and (exactly or whole) else rounded(element, digits)
        return shown.text if notation is TEXT else shown.latex

    rows = [value] if np.ndim(value) == 1 else list(value)
    cells = [[cell(element) for element in row] for row in rows]
    if notation is TEXT:
        lists = [f"[{', '.join(row)}]" for row in cells]
        return lists[0] if np.ndim(value) == 1 else f"[{', '.join(lists)}]"
    if np.ndim(value) == 1:
        cells = [[element] for element in cells[0]]
    inside = r" \\ ".join(" & ".join(row) for row in cells)
    return rf"\begin{{bmatrix}} {inside} \end{{bmatrix}}"
