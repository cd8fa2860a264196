"""Numbers that a constant row may hold: finite ones, exact where they came exact."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import GraphcError


def checked_number(value: Any) -> Any:
    """A finite number that a constant row may hold: exact where it came exact."""
    if isinstance(value, bool) or value is None:
        raise GraphcError(f"{value!r} is not a number")
    if isinstance(value, (int, Fraction)):
        return value
    if isinstance(value, str):
        raise GraphcError(
            f"{value!r} is text, not a value of the graph; use gc.const({value!r}, name) for an "
            "exact number, or a whole formula as one string"
        )
    if type(value).__module__.startswith("sympy") and getattr(value, "is_number", False):
        if value.is_finite is False or value.is_real is False:
            raise GraphcError(f"the constant {value} is not a finite real number")
        return Fraction(int(value.p), int(value.q)) if value.is_Rational else value
    if type(value).__module__.startswith("mpmath"):
        return value
    if hasattr(value, "dtype") and value.dtype.kind not in "iufbO":
        raise GraphcError(f"{type(value).__name__} of {value.dtype} is not a number")
    if hasattr(value, "dtype") and value.ndim:
        return checked_array(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise GraphcError(f"{type(value).__name__} is not a number or a value of a graph") from None
    if not math.isfinite(number):
        raise GraphcError(f"the constant {number} is not finite; constants must be finite numbers")
    return number


def checked_array(value: Any) -> Any:
    """A copy of an array of finite numbers: floats, or exact numbers as objects."""
    if np.ma.is_masked(value):
        raise GraphcError(
            "a constant array has masked entries; give numbers for them, as in x.filled(0)"
        )
    array = np.array(value)
    if array.dtype.kind in "iub":
        return array.astype(int if array.dtype.kind == "b" else array.dtype).astype(object)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise GraphcError("a constant array holds a value that is not finite")
    if array.dtype.kind == "O":
        for place, element in enumerate(array.flat):
            if type(element) not in (int, Fraction) and not hasattr(element, "digits"):
                array.flat[place] = checked_number(element)
    elif array.dtype.kind != "f":
        raise GraphcError(f"an array of {array.dtype} is not an array of numbers")
    return array
