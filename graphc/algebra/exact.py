"""Exact numbers, and what a number can be: fraction, expression, 50 digits, float, undefined.

Exact values are int, Fraction, or `Exact`: a SymPy expression together with its 50-digit value,
which decides signs and takes over once the expression is too large to be worth keeping. A value
that does not exist is `Undefined`, with the reason, and is an error only if a result needs it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

import mpmath
import numpy as np

from ..errors import GraphcError
from ..table.arrays import elements

SHOWN_OPERATIONS = 24  # an exact result with more operations is given as a 30-digit number
KEPT_OPERATIONS = 30  # an intermediate value with more is carried as a 50-digit number
CANCELLED_OPERATIONS = 14  # cancelling common factors in more of them can take minutes
MOST_TERMS = 1_000  # of an expansion: (1 + sqrt(2))**100000 stays as it is
HIGHEST_DEGREE = 64  # exp(1.237) is, to SymPy, a power of exp(1/1000): common factors take for ever
DIGITS = 30
ZERO = 1e-35  # below this, more digits of the exact expression decide whether a value is 0
DECIDING_DIGITS = (500, 1_000)  # a number that is not 0 is the same with either
ARITHMETIC = ("add", "sub", "mul", "div", "neg", "pow", "power", "identity", "stop")

WORKING = mpmath.MPContext()
WORKING.dps = 50
INTERNED: WeakValueDictionary[Any, Exact] = WeakValueDictionary()


class Exact:
    """An irrational exact number: the operations that made it, and its value to 50 digits.

    Equal operations on the same numbers are one object. The SymPy expression is built when it is
    asked for: building it for every intermediate value would cost a thousand times more.
    """

    __slots__ = (
        "__weakref__",
        "_expression",
        "args",
        "bits",
        "digits",
        "nesting",
        "op",
        "settings",
    )

    def __init__(
        self,
        op: str,
        args: tuple[Any, ...],
        settings: dict[str, Any],
        digits: Any,
        expression: Any = None,
    ) -> None:
        self.op = op
        self.args = args
        self.settings = settings
        self.digits = digits
        nesting = max((arg.nesting for arg in args if type(arg) is Exact), default=0)
        self.nesting: int = nesting + (op not in ARITHMETIC)
        self.bits = sum(map(bits, args)) * _exponent(op, args, settings)
        self._expression = expression

    @property
    def expression(self) -> Any:
        """The value as a SymPy expression; the recursion is bounded by KEPT_OPERATIONS."""
        if self._expression is None:
            from .symbols import exact_apply

            parts = [as_expression(arg) for arg in self.args]
            self._expression = exact_apply(self.op, parts, self.settings)
        return self._expression

    def size(self) -> int:
        """The number of distinct operations, counted up to the limit that matters."""
        seen: set[int] = set()
        stack: list[Any] = [self]
        while stack and len(seen) <= KEPT_OPERATIONS:
            here = stack.pop()
            if type(here) is Exact and id(here) not in seen:
                seen.add(id(here))
                stack.extend(here.args)
        return len(seen)


@dataclass(frozen=True)
class Undefined:
    """A value that is not a finite real number, or not known to be one, and why."""

    reason: str
    cancelled: bool = False  # it may exist, but its digits are gone
    number: float = field(default=np.nan, compare=False)  # what floats make of it: log(0) is -inf


class Cancelled(GraphcError):
    """A difference of numbers that agree in nearly all of the digits that are carried."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} cancels more than the {WORKING.dps} digits that long exact numbers have; "
            "give floats, or mpmath numbers with more digits"
        )


@dataclass(frozen=True)
class Masked:
    """A derivative that is absent where its mask is False: 0 there, whatever multiplies it."""

    values: Any
    mask: Any  # an array, or True or False at one point


NOTHING = Masked(0, False)  # a derivative that is 0 as a formula


def bits(number: Any) -> int:
    """The binary digits in which an exact number is written out, at most."""
    if type(number) is int:
        return number.bit_length()
    if type(number) is Exact:
        return number.bits
    return int(number.numerator.bit_length() + number.denominator.bit_length())


def _exponent(op: str, args: tuple[Any, ...], settings: dict[str, Any]) -> int:
    """How often a power writes out its base; 1 for other operations."""
    exponent = settings["exponent"] if op == "power" else args[-1] if op == "pow" else 0
    return 1 + abs(int(exponent)) if isinstance(exponent, (int, Fraction)) else 1


def sign_of(value: Any) -> int:
    """-1, 0 or 1."""
    if type(value) is Undefined:
        raise Cancelled(value.reason) if value.cancelled else ValueError
    if type(value) is not Exact:
        return int(value > 0) - int(value < 0)
    if abs(value.digits) > ZERO:
        return 1 if value.digits > 0 else -1
    first, second = (value_to(value.expression, digits) for digits in DECIDING_DIGITS)
    if abs(first - second) > abs(second) * ZERO:
        return 0
    return int(second > 0) - int(second < 0)


@lru_cache(maxsize=64)
def precise(digits: int) -> Any:
    """The arithmetic of so many digits."""
    context = mpmath.MPContext()
    context.dps = digits
    return context


def value_to(expression: Any, digits: int) -> Any:
    """An exact number computed with this many digits, once.

    SymPy's evalf and equals add digits, or simplify, until they are certain, which has no bound.
    """
    context = precise(digits)
    if expression.is_Rational:
        return context.mpf(int(expression.p)) / int(expression.q)
    if expression.is_Add or expression.is_Mul:
        total = context.fsum if expression.is_Add else context.fprod
        return total([value_to(arg, digits) for arg in expression.args])
    name = "power" if expression.is_Pow else type(expression).__name__
    function = getattr(context, name, None) if expression.args else None
    if function is None:  # pi, or a number of the user's own
        return context.mpf(expression.evalf(digits)._mpf_)
    return function(*(value_to(arg, digits) for arg in expression.args))


def operations(expression: Any) -> int:
    """The number of distinct operations in a SymPy expression."""
    seen = set()
    stack = [expression]
    count = 0
    while stack:
        here = stack.pop()
        if here in seen or not here.args:
            continue
        seen.add(here)
        if here.is_Add or here.is_Mul:
            count += len(here.args) - 1 - (here.is_Mul and here.args[0] == -1)
        else:
            count += 1
        stack.extend(here.args)
    return count


# Conversions.


def as_float(value: Any) -> Any:
    """The value as a NumPy float or array."""
    if isinstance(value, (np.ndarray, np.floating, bool, np.bool_)):
        if isinstance(value, np.ndarray) and value.dtype == object:
            distinct = {id(v): v for v in value.flat}  # often a few: the slopes of a kink
            floats = {name: as_float(v) for name, v in distinct.items()}
            return np.array([floats[id(v)] for v in value.flat], dtype=np.float64).reshape(
                value.shape
            )
        return value
    if type(value) is Undefined:
        return np.float64(value.number)
    if type(value) is Masked:
        return as_float(value.values)
    try:
        return np.float64(float(value.digits if type(value) is Exact else value))
    except OverflowError:
        return np.float64(np.inf if value > 0 else -np.inf)


def as_digits(value: Any, context: Any) -> Any:
    """The value as an mpmath number of the context."""
    if type(value) is context.mpf or isinstance(value, bool):
        return value
    if type(value) is Exact:
        if context.dps > WORKING.dps:
            return context.mpf(value_to(value.expression, context.dps)._mpf_)
        value = value.digits
    if isinstance(value, Fraction):
        return context.mpf(value.numerator) / value.denominator
    if hasattr(value, "_mpf_"):
        return value if value.context is context else context.mpf(value._mpf_)
    return context.mpf(float(value) if isinstance(value, np.floating) else value)


def as_expression(value: Any) -> Any:
    """The value as a SymPy expression."""
    import sympy

    if type(value) is Exact:
        return value.expression
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    if isinstance(value, int):
        return sympy.Integer(value)
    if hasattr(value, "_mpf_"):
        digits = DIGITS if value.context is WORKING else value.context.dps
        return sympy.Float(value._mpf_, digits)
    return sympy.Float(float(value))


def brief(value: Any) -> str:
    """A number in a few characters."""
    if type(value) is Masked:
        value = value.values
    if type(value) is Exact:
        value = value.digits
    if hasattr(value, "_mpf_"):
        return str(mpmath.nstr(value, 6))
    text = str(value)
    return text if len(text) <= 20 else str(mpmath.nstr(as_digits(value, WORKING), 6))


def present(value: Any) -> Any:
    """A number as users get it: SymPy numbers for exact ones, Python floats, fresh arrays."""
    if type(value) is Undefined:
        if value.cancelled:
            raise Cancelled(value.reason)
        raise GraphcError(f"the result is not a finite real number: {value.reason}")
    if type(value) is Masked:
        value = value.values
    if isinstance(value, np.ndarray) and value.dtype == object:
        return elements(lambda xs: present(xs[0]), (value,)) if value.shape else present(value[()])
    if type(value) is int:
        return _integer(value)
    if isinstance(value, np.ndarray):
        return value.copy()  # it may be an argument, or a view of another result
    if isinstance(value, bool):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value)
    if type(value) is Exact:
        return _shown(value)
    if hasattr(value, "_mpf_") and value.context is not WORKING:
        return value
    return as_expression(value)


def plain_number(value: Any) -> Any:
    """A number as users get it at a point of floats alone: no SymPy is needed for it."""
    if type(value) is Masked:
        value = value.values
    if type(value) is int or (isinstance(value, Fraction) and value.denominator == 1):
        return value.numerator
    exact = isinstance(value, np.ndarray) and value.dtype == object
    return present(as_float(value) if exact or isinstance(value, (Fraction, Exact)) else value)


def is_float(value: Any) -> bool:
    """Whether a given value is a float or an array of floats."""
    return isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") == "f"


@lru_cache(maxsize=1024)
def _integer(value: int) -> Any:
    """SymPy's integer: a Jacobian has millions of zeros."""
    return as_expression(value)


def _shown(value: Exact) -> Any:
    """The canonical expression if it is small enough to read, else 30 digits."""
    if abs(value.digits) <= ZERO and sign_of(value) == 0:
        return as_expression(0)
    shown = _canonical(value.expression)
    return as_expression(value.digits) if shown is None else shown


@lru_cache(maxsize=4096)
def _canonical(expression: Any) -> Any:
    """One form for equal sums of products, whichever way they came about; None if it is large.

    Expanded if that is small. A product of small factors, as the chain rule gives it along a single
    path, stays a product; factoring a sum again could take forever.
    """
    import sympy

    if operations(expression) > KEPT_OPERATIONS:
        return None
    if _terms(expression) > MOST_TERMS:
        return expression if operations(expression) <= SHOWN_OPERATIONS else None
    hints = dict.fromkeys(("power_base", "power_exp", "log", "basic"), False)
    quotient = any(p.exp.is_negative and p.base.is_Add for p in expression.atoms(sympy.Pow))
    small = operations(expression) <= CANCELLED_OPERATIONS
    if quotient and small and _degree(expression) <= HIGHEST_DEGREE:
        expanded = sympy.cancel(expression)
    else:
        expanded = sympy.expand(expression, **hints)
    if operations(expanded) <= SHOWN_OPERATIONS:
        return expanded
    product = expression.is_Mul and operations(expression) <= SHOWN_OPERATIONS
    if product and all(sympy.expand(f, **hints) == f for f in expression.args):
        return expression
    return None


def _terms(expression: Any) -> int:
    """The number of terms at most that a sum within the expression has once it is expanded."""
    worst = 1

    def of(part: Any) -> int:
        nonlocal worst
        inner = [of(arg) for arg in part.args]
        count = 1
        if part.is_Add:
            count = sum(inner)
        elif part.is_Mul:
            count = math.prod(inner)
        elif part.is_Pow and part.exp.is_Integer:
            count = math.comb(abs(int(part.exp)) + inner[0] - 1, inner[0] - 1)
        worst = max(worst, count)
        return count

    of(expression)
    return worst


def _degree(expression: Any) -> int:
    """The number of powers that SymPy sees: exp(a/b) and exp(c/d) are some of exp(1/lcm(b, d)).

    The degrees in several such numbers are multiplied, as the terms of a polynomial in them are.
    """
    import sympy

    exponents: dict[Any, list[Any]] = {}
    for power in expression.atoms(sympy.Pow, sympy.exp):
        base, exponent = power.as_base_exp()
        for term in sympy.Add.make_args(exponent):
            coefficient, rest = term.as_coeff_Mul()
            if coefficient.is_Rational:
                exponents.setdefault((base, rest), []).append(coefficient)
    degree = 1
    for found in exponents.values():
        whole = math.lcm(*(int(c.q) for c in found))
        degree *= 1 + max(abs(int(c.p)) * (whole // int(c.q)) for c in found)
    return degree
