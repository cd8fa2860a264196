"""Numbers and arrays that users give, as the algebra holds them; anything else is refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

import mpmath
import numpy as np

from ..errors import GraphcError
from ..table.arrays import is_exact
from .exact import WORKING, Exact, as_float

MOST_BITS = 13_288  # of a number that a user gives: 4 000 digits, Python prints 4 300 at most


def from_user(value: Any, what: str = "the value") -> Any:
    """A number, nested list or array that a user gave, as the algebra holds it."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.ndim:
        return _finite(value.copy(order="K"), what)  # the user's array is the user's
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        if value.numerator.bit_length() + value.denominator.bit_length() > MOST_BITS:
            raise GraphcError(f"{what} has thousands of digits; give a shorter number or a float")
        return value
    module = type(value).__module__.partition(".")[0]
    if module == "sympy":
        return _from_sympy(value, what)
    if module == "mpmath" and hasattr(value, "_mpf_"):
        if not mpmath.isfinite(value):
            raise GraphcError(f"{what} is {value}; values must be finite")
        return value
    if module == "decimal":
        if not value.is_finite():
            raise GraphcError(f"{what} is {value}; values must be finite")
        return Fraction(value)
    if np.ma.is_masked(value):
        raise GraphcError(f"{what} has masked entries; give numbers for them, as in x.filled(0)")
    try:
        array = np.array(value)
    except GraphcError:
        raise  # a value of a graph says itself that it is no number
    except ValueError:
        raise GraphcError(f"{what} is a ragged list; give rows of one length") from None
    if array.dtype.kind not in "iuf" or isinstance(value, bool):
        raise GraphcError(
            f"{what} is {type(value).__name__} {str(value)[:40]!r}; give a real number, an exact "
            "string such as '1/3', or an array of floats"
        )
    _finite(array, what)
    if array.ndim == 0:
        return int(array) if array.dtype.kind in "iu" else np.float64(array)
    return array.astype(np.float64) if array.dtype.kind in "iu" else array


def _finite(array: Any, what: str) -> Any:
    """The array; one that is not finite is refused."""
    if not np.isfinite(array).all():
        raise GraphcError(f"{what} holds a value that is not finite ({_first_bad(array)})")
    return array


def array_from_user(value: Any, what: str, read: Callable[[str, str], Any] | None = None) -> Any:
    """An array that a user gave: floats as they are, nested lists exactly; `read` reads strings."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return from_user(value, what) if value.ndim else from_user(value[()], what)
    if hasattr(value, "tolist") and not isinstance(value, (list, tuple)):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return read(value, what) if isinstance(value, str) and read else from_user(value, what)
    parts = [array_from_user(part, what, read) for part in value]
    shapes = {np.shape(part) for part in parts}
    if len(shapes) > 1:
        raise GraphcError(f"{what} is a ragged list; give rows of one length")
    if any(not is_exact(part) for part in parts):
        return np.array([as_float(part) for part in parts], dtype=np.float64)
    result = np.empty((len(parts), *(shapes.pop() if shapes else ())), dtype=object)
    for place, part in enumerate(parts):
        result[place] = part
    return result


def generator_from_user(rng: Any) -> np.random.Generator:
    """The random numbers that `rng=` asks for."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise GraphcError(
            f"rng={rng!r} must be a whole number or a numpy.random.Generator"
        ) from None


def check_seed(rng: Any) -> None:
    """Refuses what is no seed of random numbers."""
    if type(rng) is not int or rng < 0:
        generator_from_user(rng)


def check_real(value: Any, what: str) -> None:
    """Refuses what a cast to floats would change without a word: an imaginary part, a mask, ..."""
    if isinstance(value, str):
        raise GraphcError(
            f"{what}={value!r} is text, and compiled code takes floats; give a number"
        )
    parts = value if isinstance(value, (list, tuple)) else (value,)
    if any(np.ma.is_masked(part) for part in parts):
        raise GraphcError(f"{what} has masked entries; give numbers for them, as in x.filled(0)")
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype):
        try:
            value = np.asarray(value)
        except GraphcError:
            raise  # a value of a graph says itself that it is no number
        except ValueError:
            raise GraphcError(f"{what} is a ragged list; give rows of one length") from None
        dtype = value.dtype
    held = str(dtype)
    if dtype.kind == "O":
        strange = [type(part).__name__ for part in np.ravel(value) if not _is_real(part)]
        if not strange:
            return
        held = f"a {strange[0]}"
    if dtype.kind not in "fiub":
        raise GraphcError(f"{what} holds {held}, and compiled code takes real numbers; give floats")


def _is_real(value: Any) -> bool:
    if isinstance(value, (Real, Decimal)) or hasattr(value, "_mpf_"):
        return True
    return type(value).__module__.startswith("sympy") and bool(value.is_number and value.is_real)


def _first_bad(array: Any) -> float:
    return float(array[~np.isfinite(array)].flat[0])


def _from_sympy(value: Any, what: str) -> Any:
    if getattr(value, "is_Rational", False):
        return Fraction(int(value.p), int(value.q))
    if not getattr(value, "is_number", False) or value.is_extended_real is False:
        raise GraphcError(f"{what} is {value}, which is not a real number")
    if value.is_finite is False or value.is_extended_real is None:
        raise GraphcError(f"{what} is {value}; values must be finite real numbers")
    if value.is_Float:
        return WORKING.mpf(value._mpf_)
    import sympy

    digits = WORKING.mpf(sympy.Float(value.evalf(WORKING.dps), WORKING.dps)._mpf_)
    return Exact("sympy", (), {}, digits, value)
