"""Numbers: the algebra of exact numbers, 50-digit numbers and floats, told apart value by value.

A float anywhere makes what depends on it float; exact numbers stay exact while they are small.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, reduce
from typing import Any

import mpmath
import numpy as np

from ..shapes import resolve
from ..table.arrays import MOST_EXACT, TooManyExact, bound_exact, boxed, elements, is_exact
from ..table.contraction import exact_products
from ..table.functions import FUNCTIONS, Function
from ..table.tensors import OPERATIONS, Operation
from ..table.value import COMPARISONS
from .exact import (
    DECIDING_DIGITS,
    INTERNED,
    KEPT_OPERATIONS,
    WORKING,
    ZERO,
    Cancelled,
    Exact,
    Masked,
    Undefined,
    as_digits,
    as_expression,
    as_float,
    bits,
    brief,
    precise,
    present,
    sign_of,
    value_to,
)
from .given import array_from_user, from_user
from .rules import formula

KEPT_NESTING = 5  # functions within functions: SymPy's time doubles with each
KEPT_BITS = 1 << 13  # an exact number with more bits is carried as a 50-digit number
LARGEST_ANGLE = 1 << 13  # bits: sin and cos need as many digits of pi
PERIODIC = ("sin", "cos", "tan")
LOST = 66  # bits: of a larger angle to 50 digits, too few are left within one period
CERTAIN = 50  # bits: sums of smaller numbers to 50 digits are within 1e-35, which counts as 0
LARGEST_SUM = 1_600  # bits: what is left of a larger one may be more than 0 in 1 000 digits
SMALL = 6  # up to so many operations, the expression may turn out to be a fraction
LARGEST_EXPONENT = 1e9

NO_SETTINGS: dict[str, Any] = {}
BOOLEAN, DOUBLE = np.dtype(bool), np.dtype(float)
DOUBLES = (np.ndarray, np.float64)
# their results may be absent or exact, even of floats
CHOOSING = ("placed", "alive", "passing", "where", "taken", "untaken", "product_or_0")
EXACT, DIGITAL, FLOAT = 0, 1, 2
_RANKS: dict[type, int] = {
    int: EXACT,
    Fraction: EXACT,
    Exact: EXACT,
    bool: EXACT,
    float: FLOAT,
    np.float64: FLOAT,
    np.ndarray: FLOAT,
    np.bool_: FLOAT,
}


def _rank(value: Any) -> int:
    rank = _RANKS.get(type(value))
    if rank is None:
        rank = DIGITAL if hasattr(value, "_mpf_") else FLOAT
    return rank


def _doubles(args: Sequence[Any]) -> Sequence[Any] | None:
    """Floats, and whole numbers among them; None where something else is, or nothing else."""
    kinds = set()
    for arg in args:
        kind = type(arg)
        if kind is not int and (kind not in DOUBLES or arg.dtype != DOUBLE):
            return None
        kinds.add(kind)
    if int not in kinds:
        return args if kinds else None
    return [as_float(arg) for arg in args] if len(kinds) > 1 else None


RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in COMPARISONS
}
FLOAT_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "pow": operator.pow,
    "identity": lambda x: x,
    "stop": lambda x: x,
    **RELATIONS,
}


class Numbers:
    """The algebra of numbers."""

    def __init__(
        self,
        sizes: Mapping[str, int] | None = None,
        floats: bool = False,
        quiet: bool = False,
    ) -> None:
        self.sizes = sizes or {}  # the named sizes at this point
        self.floats = floats  # whether arrays of exact numbers become floats where they are large
        self.quiet = quiet  # whether NumPy's warnings are off wherever this is used

    def constant(self, value: Any) -> Any:
        if type(value) in (int, Fraction, float, Exact):
            return value
        exact_array = isinstance(value, np.ndarray) and value.dtype.hasobject
        return value if exact_array else from_user(value)

    def apply(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        """The value of a function of the table on numbers."""
        doubles = _doubles(args) if op not in CHOOSING else None
        if doubles is not None:  # most of what is computed
            operation = OPERATIONS.get(op)
            if operation is not None:
                return operation.number(self, doubles, settings)
            return self._float(op, doubles, settings)
        if op == "placed":
            return self._placed(args[0], settings["op"], settings["settings"])
        if op in ("alive", "passing"):
            return self.apply("taken", (self.apply("gt", (args[1], 0), {}), args[0]), {})
        kinds = {type(arg) for arg in args}
        if Masked in kinds:
            return self._masked(op, args, settings)
        operation = OPERATIONS.get(op)
        if operation is not None:
            return self._tensor(operation, args, settings)
        if op == "size":
            return resolve(settings["size"], self.sizes)
        if op == "where":
            return self._where(*args)
        if op == "product_or_0" and np.ndarray not in kinds and args[0] == 0:
            return args[0] if is_exact(args[0]) else 0.0  # whatever the other is, and never -0.0
        if Undefined in kinds and np.ndarray not in kinds:
            lost = next(arg for arg in args if type(arg) is Undefined)
            if op in ("taken", "untaken"):
                return lost
            return self._undefined(op, args, settings, lost.reason, lost.cancelled)
        if op in ("taken", "untaken"):
            return _gate(args[0], args[1], op == "taken")
        if np.ndarray in kinds and any(type(a) is np.ndarray and a.dtype == object for a in args):
            if all(is_exact(arg) or getattr(arg, "dtype", None) == BOOLEAN for arg in args):
                exact = [a.astype(object) if type(a) is np.ndarray else a for a in args]
                count = math.prod(np.broadcast_shapes(*map(np.shape, exact)))
                if count <= MOST_EXACT or not self.floats:
                    bound_exact(op, count)
                    return elements(lambda xs: self.apply(op, xs, settings), exact)
            args = [as_float(arg) for arg in args]
        rank = max(map(_rank, args), default=EXACT)
        if rank == FLOAT:
            return self._float(op, [as_float(arg) for arg in args], settings)
        try:
            if rank == DIGITAL:
                result = self._digital(op, args, settings)
            else:
                result = self._exact(op, args, settings)
        except Cancelled:
            return Undefined(f"{op}({', '.join(map(brief, args))})", cancelled=True)
        except (ZeroDivisionError, ValueError, OverflowError):
            result = None
        if result is None:
            return self._undefined(op, args, settings, f"{op}({', '.join(map(brief, args))})")
        return result

    def _undefined(
        self,
        op: str,
        args: Sequence[Any],
        settings: dict[str, Any],
        reason: str,
        cancelled: bool = False,
    ) -> Undefined:
        """No exact number, with what floats make of it, should it meet floats."""
        if cancelled:
            return Undefined(reason, cancelled)
        return Undefined(reason, number=self._float(op, [as_float(arg) for arg in args], settings))

    def _where(self, condition: Any, taken: Any, other: Any) -> Any:
        exact = is_exact(taken) and is_exact(other)
        if type(condition) is Undefined and (np.shape(taken) or np.shape(other)):
            condition = boxed(condition)
        if isinstance(condition, np.ndarray):
            if not exact and condition.dtype == BOOLEAN:
                return np.where(condition, as_float(taken), as_float(other))
            if condition.dtype == BOOLEAN and not (np.shape(taken) or np.shape(other)):
                kind = bool if isinstance(taken, bool) and isinstance(other, bool) else object
                return np.array([other, taken], dtype=kind)[condition.astype(int)]
            chosen = elements(_decided, (condition, taken, other))
            return chosen if exact else as_float(chosen)
        if type(condition) is Undefined:
            return condition
        chosen, rest = (taken, other) if condition else (other, taken)
        if isinstance(condition, np.bool_):  # a float decided, so the choice is a float
            chosen = as_float(chosen)
        if np.shape(rest) and np.shape(chosen) != np.shape(rest):
            return np.broadcast_to(
                boxed(chosen), np.broadcast_shapes(np.shape(chosen), np.shape(rest))
            )
        return chosen

    def _masked(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        """Functions of values that are absent at some points; gates.py has the same rules."""
        masks = [arg.mask if type(arg) is Masked else True for arg in args]
        plain = [arg.values if type(arg) is Masked else arg for arg in args]
        result = self.apply(op, plain, settings)
        if type(result) is Masked:  # a gate behind a gate
            masks, result = [*masks, result.mask], result.values
        if op in ("mul", "taken", "untaken"):
            return self._absent(result, reduce(_and, masks))
        if op in ("neg", "identity"):
            return Masked(result, masks[0])
        if op in ("add", "sub") and not any(mask is True for mask in masks):
            return _noted(result, reduce(_or, masks))
        if op == "add" and False in [mask for mask in masks if isinstance(mask, bool)]:
            return plain[1 - masks.index(False)]  # nothing was added
        if op == "where":
            return _noted(result, _chosen(*plain[:1], *masks[1:]))
        operation = OPERATIONS.get(op)
        if operation is not None and operation.through is not None:
            place = next(i for i, mask in enumerate(masks) if mask is not True)
            return self._through(operation, plain, settings, place, masks[place], result)
        return result

    def _placed(self, carried: Any, op: str, settings: dict[str, Any]) -> Any:
        """A carried value in its places, absent elsewhere."""
        found = self.apply(op, (carried,), settings)
        operation = OPERATIONS[op]
        if type(found) is Masked or operation.fills(settings):
            return found  # what is absent leaves nothing anywhere
        count = self._tensor(operation, (np.ones(np.shape(carried))[()],), settings)
        return found if np.all(count > 0) else Masked(found, count > 0)

    def _absent(self, result: Any, mask: Any) -> Any:
        """A value that is 0 where its mask is not alive."""
        if mask is True:
            return result
        if isinstance(mask, bool) and not np.shape(result):
            return Masked(_nothing(result), False)
        return Masked(self._where(np.broadcast_to(mask, np.shape(result)), result, 0), mask)

    def _through(
        self,
        operation: Operation,
        args: list[Any],
        settings: dict[str, Any],
        place: int,
        mask: Any,
        result: Any,
    ) -> Any:
        """A sum, or chosen elements: alive where any of its elements is."""
        if not np.shape(args[place]):
            return self._absent(result, mask)  # a number times an array
        alive = np.broadcast_to(mask, np.shape(args[place])).astype(np.float64)
        ones = [alive if i == place else np.ones(np.shape(a))[()] for i, a in enumerate(args)]
        count = self._tensor(operation, ones, settings)
        return _noted(result, count > 0 if np.shape(count) else bool(count > 0))

    # Tensors: the records say what their values are, and may ask these questions.

    def _tensor(self, operation: Operation, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        if not all(is_exact(arg) for arg in args):
            args = [as_float(arg) for arg in args]
        try:
            return operation.number(self, args, settings)
        except TooManyExact:
            if not self.floats:
                raise
            return operation.number(self, [as_float(arg) for arg in args], settings)

    def beats(self, one: Any, other: Any) -> bool:
        """Whether one number is larger."""
        if Undefined in (type(one), type(other)):  # it wins, as NaN does among floats
            return type(other) is not Undefined
        return sign_of(_difference(one, other)) > 0

    def is_zero(self, value: Any) -> bool:
        return type(value) is not Undefined and sign_of(value) == 0

    def undefined(self, what: str) -> Any:
        return Undefined(what)

    def products(self, boxes: Sequence[Any], operands: Sequence[str], core: str) -> Any:
        """Sums of products of exact numbers over the letters that the result lacks."""
        return exact_products(
            boxes, operands, core, lambda op, args: self.apply(op, args, NO_SETTINGS)
        )

    # Floats: NumPy's functions, on scalars and arrays alike.

    def _float(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        if self.quiet:
            return self._quietly(op, args, settings)
        with np.errstate(all="ignore"):
            return self._quietly(op, args, settings)

    def _quietly(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        direct = FLOAT_ARITHMETIC.get(op)
        if direct is not None:
            return direct(*args)
        if op == "ratio_or_0":
            return np.where(args[1] == 0, 0.0, args[0] / np.where(args[1] == 0, 1.0, args[1]))[()]
        if op == "product_or_0":
            return np.where(args[0] == 0, 0.0, args[0] * args[1])[()]
        if op == "power":
            return _float_power(args[0], _float_exponent(settings["exponent"]))
        native = FUNCTIONS[op].native
        if "numpy" in native:
            function = getattr(np, native["numpy"])
            return function(*args) if len(args) == 1 else reduce(function, args)
        if "math" in native:
            return _vectorised(native["math"])(args[0])[()]
        return self._composed(op, args, settings, exact=False)

    def _composed(self, op: str, args: Sequence[Any], settings: dict[str, Any], exact: bool) -> Any:
        template = formula(op, len(args), settings, exact)
        assert template is not None, op  # every record has a formula or is primitive
        return template.run(self, args)

    # 50-digit numbers, and mpmath numbers of the user's own precision.

    def _digital(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        context = next(arg.context for arg in args if hasattr(arg, "_mpf_"))
        numbers = [as_digits(arg, context) for arg in args]
        result = self._digits(op, numbers, settings, context)
        if context is WORKING and op in ("add", "sub") and args[0] is not args[1]:
            large = max(map(WORKING.mag, numbers)) > CERTAIN
            if large and _cancels(numbers, result):
                raise Cancelled(op)
        return result

    def _digits(self, op: str, args: list[Any], settings: dict[str, Any], context: Any) -> Any:
        chosen = _piecewise(op, args)
        if chosen is not None:
            return chosen
        if op in FLOAT_ARITHMETIC:
            if op == "pow":
                return _real(_digital_power(args[0], args[1], context))
            return FLOAT_ARITHMETIC[op](*args)
        if op == "power":
            exponent = settings["exponent"]
            return _real(_digital_power(args[0], as_digits(exponent, context), context))
        if op == "pi":
            return +context.pi
        native = FUNCTIONS[op].native.get("mpmath")
        if native is None:
            return self._composed(op, args, settings, exact=False)
        if op in ("exp", "expm1", "sinh", "cosh") and abs(args[0]) > LARGEST_EXPONENT:
            return context.mpf(0) if op == "exp" and args[0] < 0 else None
        if op in PERIODIC and context.mag(args[0]) > (
            LOST if context is WORKING else LARGEST_ANGLE
        ):
            return None
        return _real(getattr(context, native)(*args))

    # Exact numbers: fractions where possible, else an expression with its digits.

    def _exact(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        if op in ("identity", "stop"):
            return args[0]
        chosen = _piecewise(op, args)
        if chosen is not None:
            return chosen
        if all(type(arg) is not Exact for arg in args):
            direct = _rational(op, args, settings)
            if direct is not None:
                return direct
        record = FUNCTIONS[op]
        if record.formula is not None:
            return self._composed(op, args, settings, exact=True)
        trivial = _trivial(op, args)
        if trivial is not None:
            return trivial
        return _operation(self, op, tuple(args), settings)


def _operation(numbers: Numbers, op: str, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """A new exact number; a fraction if it is one, its digits if it holds too many operations."""
    key = (op, *(id(arg) if type(arg) is Exact else arg for arg in args), *settings.values())
    known = INTERNED.get(key)
    if known is not None:
        return known
    parts = [as_digits(arg, WORKING) for arg in args]
    digits = numbers._digits(op, parts, settings, WORKING)
    if op in ("add", "sub") and _cancels(parts, digits):
        digits = _wide_sum(op, args, max(map(WORKING.mag, parts)))
    if digits is None and op in PERIODIC:
        digits = _wide_angle(op, args[0])
    if digits is None or (op == "power" and isinstance(settings["exponent"], float)):
        return digits
    value = Exact(op, args, settings, digits)
    size = value.size()
    if size > KEPT_OPERATIONS or value.nesting > KEPT_NESTING or value.bits > KEPT_BITS:
        return digits
    if size <= SMALL:
        expression = value.expression
        if expression.is_Rational:
            return Fraction(int(expression.p), int(expression.q))
        if expression.is_finite is False:
            return None
        if expression.is_Number and expression.is_real is None:  # nan: atan2(0, 0), which is 0
            return digits or 0
    INTERNED[key] = value
    return value


def _cancels(parts: Sequence[Any], result: Any) -> bool:
    """Whether a sum has too few digits left of those of its parts."""
    return bool(WORKING.mag(result) < max(map(WORKING.mag, parts)) - LOST)


def _wide_sum(op: str, args: tuple[Any, ...], size: int) -> Any:
    """The digits of a sum or difference of exact numbers that cancel; 0 where nothing is left."""
    first, second = (
        FLOAT_ARITHMETIC[op](*(as_digits(arg, precise(digits)) for arg in args))
        for digits in DECIDING_DIGITS
    )
    if abs(first - second) <= abs(second) * ZERO:
        return +WORKING.mpf(second._mpf_)
    if size > LARGEST_SUM:
        raise Cancelled(op)
    return WORKING.mpf(0)


def _wide_angle(op: str, angle: Any) -> Any:
    """The digits of sin, cos or tan of a large exact number; None where it is too large."""
    size = WORKING.mag(as_digits(angle, WORKING))
    if size > LARGEST_ANGLE:
        return None
    wide = value_to(as_expression(angle), WORKING.dps + size)
    return +WORKING.mpf(getattr(wide.context, op)(wide)._mpf_)


def _trivial(op: str, args: Sequence[Any]) -> Any:
    """Sums with 0 and products with 0 or 1, which need no new number."""
    if op in ("add", "sub", "mul", "div"):
        a, b = args
        neutral = 1 if op in ("mul", "div") else 0
        if type(b) is not Exact and b == neutral:
            return a
        if type(a) is not Exact and a == neutral and op in ("add", "mul"):
            return b
        if op in ("mul", "div") and type(a) is not Exact and a == 0 and type(b) is Exact:
            return 0 if op == "mul" or sign_of(b) else None
        if op == "mul" and type(b) is not Exact and b == 0:
            return 0
    return None


def _decided(choice: tuple[Any, Any, Any]) -> Any:
    condition, taken, other = choice
    if type(condition) is Undefined:
        return condition
    return taken if condition else other


def _rational(op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
    """The result of arithmetic on fractions; None where it is not a fraction."""
    if op in ("power", "pow"):
        base = args[0]
        exponent = settings["exponent"] if op == "power" else args[1]
        if isinstance(exponent, Fraction) and exponent.denominator == 1:
            exponent = exponent.numerator
        if base not in (0, 1) and abs(exponent) * bits(base) > KEPT_BITS:
            return _real(_digital_power(base, as_digits(exponent, WORKING), WORKING))
        return Fraction(base) ** exponent if isinstance(exponent, int) else None
    if op not in ("add", "sub", "mul", "div", "neg"):
        return None
    if op == "div":
        result = Fraction(args[0]) / args[1]
    else:
        result = FLOAT_ARITHMETIC[op](*args)
    return result if bits(result) <= KEPT_BITS else as_digits(result, WORKING)


def _digital_power(base: Any, exponent: Any, context: Any) -> Any:
    base = context.convert(base)
    if base == 0 and exponent < 0:
        raise ZeroDivisionError
    if base != 0 and abs(exponent * context.log(abs(base))) > LARGEST_EXPONENT:
        return None
    return context.power(base, exponent)


def is_exact_zero(value: Any) -> bool:
    """Whether a value is the exact number 0."""
    return type(value) in (int, Fraction) and bool(value == 0)


def _float_power(base: Any, exponent: Any) -> Any:
    """A power; NumPy takes the square root of arrays, so numbers do as they do at -0 and -inf."""
    if exponent in (0.5, -0.5):
        root = np.sqrt(base)
        return root if exponent > 0 else 1 / root
    return base**exponent


def _float_exponent(exponent: Any) -> Any:
    exponent = Fraction(exponent) if not isinstance(exponent, float) else exponent
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        return exponent.numerator if abs(exponent.numerator) < 1 << 31 else float(exponent)
    return float(exponent)


def _piecewise(op: str, args: Sequence[Any]) -> Any:
    """Functions that only choose among their arguments; None for the others."""
    if op in RELATIONS:
        return RELATIONS[op](sign_of(_difference(*args)), 0)
    if op == "abs":
        return -args[0] if _rank(args[0]) and args[0] < 0 else _exact_abs(args[0])
    if op == "sign":
        return sign_of(args[0])
    if op == "ratio_or_0":
        return NUMBERS.apply("div", args, NO_SETTINGS) if sign_of(args[1]) else 0
    if op == "product_or_0":
        return NUMBERS.apply("mul", args, NO_SETTINGS) if sign_of(args[0]) else 0
    if op in ("maximum", "minimum"):
        best = args[0]
        for arg in args[1:]:
            order = sign_of(_difference(arg, best))
            if order > 0 if op == "maximum" else order < 0:
                best = arg
        return best
    return None


def _exact_abs(value: Any) -> Any:
    return NUMBERS.apply("neg", (value,), {}) if sign_of(value) < 0 else value


def _difference(a: Any, b: Any) -> Any:
    return NUMBERS.apply("sub", (a, b), {})


def _real(value: Any) -> Any:
    """The value if it is a finite real number, else None."""
    if hasattr(value, "_mpc_") or value is None:
        return None
    return value if mpmath.isfinite(value) else None


@cache
def _vectorised(name: str) -> Callable[..., Any]:
    return np.vectorize(getattr(math, name), otypes=[np.float64])


def _gate(condition: Any, value: Any, wanted: bool) -> Any:
    """The value where the branch is taken, nothing elsewhere."""
    if type(condition) is Undefined or isinstance(condition, np.ndarray):
        mask = NUMBERS._where(condition, wanted, not wanted)
        passed = NUMBERS._where(mask, value, 0)
        # an element that nothing decides is undefined, not absent
        return _noted(passed, mask if getattr(mask, "dtype", None) == BOOLEAN else True)
    if isinstance(condition, np.bool_):  # a float decided, so the choice is a float
        value = as_float(value)
    return value if bool(condition) == wanted else Masked(_nothing(value), False)


def _nothing(value: Any) -> Any:
    """0, as a float where a value is one."""
    return np.float64(0) if isinstance(value, (float, np.ndarray)) else 0


def _noted(value: Any, mask: Any) -> Any:
    return value if mask is True else Masked(value, mask)


def _and(one: Any, other: Any) -> Any:
    if isinstance(one, bool):
        return one and other
    return np.logical_and(one, other) if not isinstance(other, bool) else other and one


def _or(one: Any, other: Any) -> Any:
    if isinstance(one, bool):
        return one or other
    return np.logical_or(one, other) if not isinstance(other, bool) else other or one


def _chosen(condition: Any, one: Any, other: Any) -> Any:
    if isinstance(condition, np.ndarray):
        return np.where(condition, one, other)
    return one if condition else other


NUMBERS = Numbers()


def on_numbers(record: Function, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
    """A function of the table on plain numbers."""
    arranged, settings = record.arrange(operands, attributes)
    numbers = [
        v
        if isinstance(v, (bool, np.bool_))
        else array_from_user(v, f"an argument of {record.name}")
        for v in arranged
    ]
    return present(NUMBERS.apply(record.name, numbers, settings))
