"""The passes: each a table {operation: rule}, where a rule gives a simpler row or None.

No rule may turn a right value into another one, at any point: the tests run every pass alone on
random programs in exact arithmetic and at 0, infinities, NaN, kinks, huge and tiny numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ..algebra.arithmetic import NUMBERS
from ..algebra.exact import Exact, Undefined, as_float
from ..algebra.rules import formula
from ..structure.rows import NO_SETTINGS, Settings
from ..table.functions import FUNCTIONS, Function
from ..table.tensors import OPERATIONS, Local, Operation
from .program import Program, Rule

Args = Sequence[int]
LARGEST_POWER_OF_TWO = 1 << 1000
ARITHMETIC = ("add", "sub", "mul", "div", "neg", "power")


# Constant folding.


def _folded(kinds: tuple[type, ...]) -> Callable[[str], Rule]:
    """A rule that computes an operation on constants, if the result is a number of these kinds."""

    def of(op: str) -> Rule:
        def rule(program: Program, args: Args, settings: Settings) -> int | None:
            for arg in args:
                if program.ops[arg] != "const":
                    return None
            values = [program.attributes[arg]["value"] for arg in args]
            if not all(isinstance(value, kinds) for value in values):
                return None
            result = NUMBERS.apply(op, values, settings)
            if type(result) is Undefined:  # what floats make of it: 1/0 is infinite
                result = NUMBERS.apply(op, [as_float(value) for value in values], settings)
            if hasattr(result, "_mpf_"):  # too long to be exact, as 10**3000 is
                result = as_float(result)
            return program.constant(result) if isinstance(result, (*kinds, float)) else None

        return rule

    return of


_rational = _folded((int, Fraction))
_number = _folded((int, Fraction, Exact))
FOLD: dict[str, Rule] = {op: _rational(op) for op in ARITHMETIC}
FOLD_ALL: dict[str, Rule] = {
    op: _number(op) for op, record in FUNCTIONS.items() if record.binding and op != "where"
}


# Units and signs. Multiplying by 0 is left alone: 0 times infinity is not 0. So is adding 0, which
# makes 0 of -0, and turning round a difference, whose 0 has the same sign either way.


def _copied(program: Program, args: Args, settings: Settings) -> int:
    return args[0]


def _add(program: Program, args: Args, settings: Settings) -> int | None:
    a, b = args
    if inner := program.inside(b, "neg"):
        return program.apply("sub", (a, inner[0]), NO_SETTINGS)
    if inner := program.inside(a, "neg"):
        return program.apply("sub", (b, inner[0]), NO_SETTINGS)
    return None


def _sub(program: Program, args: Args, settings: Settings) -> int | None:
    a, b = args
    if _is(program, b, 0) and _same_shape(program, a, b):
        return a
    if inner := program.inside(b, "neg"):
        return program.apply("add", (a, inner[0]), NO_SETTINGS)
    return None


def _mul(program: Program, args: Args, settings: Settings) -> int | None:
    a, b = args
    for one, other in ((a, b), (b, a)):
        if _is(program, one, 1) and _same_shape(program, other, one):
            return other
        if _is(program, one, -1) and _same_shape(program, other, one):
            return program.apply("neg", (other,), NO_SETTINGS)
    for one, other in ((a, b), (b, a)):
        if inner := program.inside(one, "neg"):
            product = program.apply("mul", (inner[0], other) if one == a else (other, inner[0]), {})
            return program.apply("neg", (product,), NO_SETTINGS)
        gate = program.inside(one, "where")
        if gate and _is(program, gate[1], 1) and _is(program, gate[2], 0):
            return program.shared("mul", (other, gate[0]), NO_SETTINGS)  # a condition counts 0 or 1
        below = program.inside(one, "div")
        if below and _is(program, below[0], 1):
            return program.apply("div", (other, below[1]), NO_SETTINGS)
    return None


def _div(program: Program, args: Args, settings: Settings) -> int | None:
    a, b = args
    if _is(program, b, 1) and _same_shape(program, a, b):
        return a
    if inner := program.inside(a, "neg"):
        below = program.apply("div", (inner[0], b), NO_SETTINGS)
        return program.apply("neg", (below,), NO_SETTINGS)
    return None


def _neg(program: Program, args: Args, settings: Settings) -> int | None:
    inner = program.inside(args[0], "neg")
    return inner[0] if inner else None


def _reciprocal(program: Program, row: int) -> int:
    return program.apply("div", (program.constant(1), row), NO_SETTINGS)


ROOTS: dict[Any, Callable[[Program, int], int]] = {
    1: lambda program, x: x,
    Fraction(1, 2): lambda program, x: program.apply("sqrt", (x,), NO_SETTINGS),
    Fraction(-1, 2): lambda program, x: _reciprocal(
        program, program.apply("sqrt", (x,), NO_SETTINGS)
    ),
}


def _root(program: Program, args: Args, settings: Settings) -> int | None:
    """A root: NumPy's x ** 0.5 is one for arrays, at -0 and -inf too, but not for numbers."""
    root = ROOTS.get(settings["exponent"])
    return None if root is None else root(program, args[0])


UNITS: dict[str, Rule] = {
    "identity": _copied,
    "stop": _copied,
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "neg": _neg,
    "power": _root,
}


def _is(program: Program, row: int, number: int) -> bool:
    if program.ops[row] != "const":
        return False
    value = program.attributes[row]["value"]
    return type(value) in (int, Fraction) and bool(value == number)


def _same_shape(program: Program, row: int, other: int) -> bool:
    """Whether the other operand does not widen this one."""
    return len(program.shape(other)) == 0 or (program.shape(row) == program.shape(other))


# Strength reduction: powers as products and reciprocals. Each is right at 0 and infinity.


def _square(program: Program, x: int) -> int:
    return program.apply("square", (x,), NO_SETTINGS)


POWERS: dict[Any, Callable[[Program, int], int]] = {
    2: _square,
    3: lambda b, x: b.apply("mul", (_square(b, x), x), NO_SETTINGS),
    4: lambda b, x: _square(b, _square(b, x)),
    -1: _reciprocal,
    -2: lambda b, x: _reciprocal(b, _square(b, x)),
}


def _power(program: Program, args: Args, settings: Settings) -> int | None:
    cheaper = POWERS.get(settings["exponent"])
    return None if cheaper is None else cheaper(program, args[0])


def _halved(program: Program, args: Args, settings: Settings) -> int | None:
    """Division by a power of two is exact as a multiplication."""
    number = program.number(args[1])
    if not isinstance(number, (int, Fraction)) or number == 0:
        return None
    inverse = 1 / Fraction(number)
    above, below = abs(inverse.numerator), inverse.denominator
    if above & (above - 1) or below & (below - 1) or max(above, below) > LARGEST_POWER_OF_TWO:
        return None
    return program.apply("mul", (args[0], program.constant(inverse)), NO_SETTINGS)


def _squared(program: Program, args: Args, settings: Settings) -> int | None:
    return _square(program, args[0]) if args[0] == args[1] else None


STRENGTH: dict[str, Rule] = {"power": _power, "div": _halved, "mul": _squared}


# Reuse of a function's own value: x > 0 where max(x, 0) is, so that x need not be kept.


def _positive(program: Program, args: Args, settings: Settings) -> int | None:
    own = program.existing("maximum", (args[0], args[1])) if _is(program, args[1], 0) else None
    return None if own is None else program.shared("gt", (own, args[1]), NO_SETTINGS)


OWN: dict[str, Rule] = {"gt": _positive}


# Stable forms: composed functions as the operations they are made of.


def _expanded(op: str) -> Rule:
    def rule(program: Program, args: Args, settings: Settings) -> int | None:
        template = formula(op, len(args), settings, exact=False)
        assert template is not None
        return int(template.run(program, args))

    return rule


def _by_formula(operation: Operation) -> Rule:
    """A tensor operation as the operations of its formula."""

    def rule(program: Program, args: Args, settings: Settings) -> int | None:
        assert operation.formula is not None
        shapes = [program.shape(arg) for arg in args]
        here = Local(settings=settings, shapes=shapes, shape=(), algebra=program, args=args)
        return int(operation.formula(here))

    return rule


def stable(has: Callable[[Function | Operation], bool]) -> dict[str, Rule]:
    """The composed functions and operations, a user's own too, that a back end does not have."""
    rules = {
        op: _expanded(op)
        for op, record in FUNCTIONS.items()
        if (record.formula or record.stable) is not None and not has(record)
    }
    for op, operation in OPERATIONS.items():
        if operation.formula is not None and not has(operation):
            rules[op] = _by_formula(operation)
    return rules


def readable() -> tuple[Mapping[str, Rule], ...]:
    """The passes for code that is read: what a person would have simplified."""
    return (FOLD, UNITS)


def fast(has: Callable[[Function | Operation], bool]) -> tuple[Mapping[str, Rule], ...]:
    """The passes for code that is run by a back end that has these functions."""
    return (stable(has), FOLD_ALL, STRENGTH, OWN, UNITS)


PASSES: dict[str, Callable[[], Mapping[str, Rule]]] = {
    "fold": lambda: FOLD,
    "fold_all": lambda: FOLD_ALL,
    "units": lambda: UNITS,
    "strength": lambda: STRENGTH,
    "own": lambda: OWN,
}
