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
from ..shapes import LETTERS
from ..table.functions import FUNCTIONS
from .program import NO_SETTINGS, Builder, Rule, Settings

Args = Sequence[int]
LARGEST_POWER_OF_TWO = 1 << 1000
ARITHMETIC = ("add", "sub", "mul", "div", "neg", "power")


# Constant folding.


def _folded(kinds: tuple[type, ...]) -> Callable[[str], Rule]:
    """A rule that computes an operation on constants, if the result is a number of these kinds."""

    def of(op: str) -> Rule:
        def rule(builder: Builder, args: Args, settings: Settings) -> int | None:
            values = [builder.program.settings[a].get("value") for a in args]
            if not all(isinstance(value, kinds) for value in values):
                return None
            result = NUMBERS.apply(op, values, settings)
            if type(result) is Undefined:  # what floats make of it: 1/0 is infinite
                result = NUMBERS.apply(op, [as_float(value) for value in values], settings)
            if hasattr(result, "_mpf_"):  # too long to be exact, as 10**3000 is
                result = as_float(result)
            return builder.constant(result) if isinstance(result, (*kinds, float)) else None

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


def _copied(builder: Builder, args: Args, settings: Settings) -> int:
    return args[0]


def _add(builder: Builder, args: Args, settings: Settings) -> int | None:
    a, b = args
    if inner := builder.inside(b, "neg"):
        return builder.apply("sub", (a, inner[0]), NO_SETTINGS)
    if inner := builder.inside(a, "neg"):
        return builder.apply("sub", (b, inner[0]), NO_SETTINGS)
    return None


def _sub(builder: Builder, args: Args, settings: Settings) -> int | None:
    a, b = args
    if _is(builder, b, 0) and _same_shape(builder, a, b):
        return a
    if inner := builder.inside(b, "neg"):
        return builder.apply("add", (a, inner[0]), NO_SETTINGS)
    return None


def _mul(builder: Builder, args: Args, settings: Settings) -> int | None:
    a, b = args
    for one, other in ((a, b), (b, a)):
        if _is(builder, one, 1) and _same_shape(builder, other, one):
            return other
        if _is(builder, one, -1) and _same_shape(builder, other, one):
            return builder.apply("neg", (other,), NO_SETTINGS)
    for one, other in ((a, b), (b, a)):
        if inner := builder.inside(one, "neg"):
            product = builder.apply("mul", (inner[0], other) if one == a else (other, inner[0]), {})
            return builder.apply("neg", (product,), NO_SETTINGS)
        gate = builder.inside(one, "where")
        if gate and _is(builder, gate[1], 1) and _is(builder, gate[2], 0):
            return builder.append("mul", (other, gate[0]), NO_SETTINGS)  # a condition counts 0 or 1
        below = builder.inside(one, "div")
        if below and _is(builder, below[0], 1):
            return builder.apply("div", (other, below[1]), NO_SETTINGS)
    return None


def _div(builder: Builder, args: Args, settings: Settings) -> int | None:
    a, b = args
    if _is(builder, b, 1) and _same_shape(builder, a, b):
        return a
    if inner := builder.inside(a, "neg"):
        below = builder.apply("div", (inner[0], b), NO_SETTINGS)
        return builder.apply("neg", (below,), NO_SETTINGS)
    return None


def _neg(builder: Builder, args: Args, settings: Settings) -> int | None:
    inner = builder.inside(args[0], "neg")
    return inner[0] if inner else None


def _reciprocal(builder: Builder, row: int) -> int:
    return builder.apply("div", (builder.constant(1), row), NO_SETTINGS)


ROOTS: dict[Any, Callable[[Builder, int], int]] = {
    1: lambda builder, x: x,
    Fraction(1, 2): lambda builder, x: builder.apply("sqrt", (x,), NO_SETTINGS),
    Fraction(-1, 2): lambda builder, x: _reciprocal(
        builder, builder.apply("sqrt", (x,), NO_SETTINGS)
    ),
}


def _root(builder: Builder, args: Args, settings: Settings) -> int | None:
    """A root: NumPy's x ** 0.5 is one for arrays, at -0 and -inf too, but not for numbers."""
    root = ROOTS.get(settings["exponent"])
    return None if root is None else root(builder, args[0])


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


def _is(builder: Builder, row: int, number: int) -> bool:
    value = builder.number(row)
    return isinstance(value, (int, Fraction)) and value == number


def _same_shape(builder: Builder, row: int, other: int) -> bool:
    """Whether the other operand does not widen this one."""
    return len(builder.program.shapes[other]) == 0 or (
        builder.program.shapes[row] == builder.program.shapes[other]
    )


# Strength reduction: powers as products and reciprocals. Each is right at 0 and infinity.


def _square(builder: Builder, x: int) -> int:
    return builder.apply("square", (x,), NO_SETTINGS)


POWERS: dict[Any, Callable[[Builder, int], int]] = {
    2: _square,
    3: lambda b, x: b.apply("mul", (_square(b, x), x), NO_SETTINGS),
    4: lambda b, x: _square(b, _square(b, x)),
    -1: _reciprocal,
    -2: lambda b, x: _reciprocal(b, _square(b, x)),
}


def _power(builder: Builder, args: Args, settings: Settings) -> int | None:
    cheaper = POWERS.get(settings["exponent"])
    return None if cheaper is None else cheaper(builder, args[0])


def _halved(builder: Builder, args: Args, settings: Settings) -> int | None:
    """Division by a power of two is exact as a multiplication."""
    number = builder.number(args[1])
    if not isinstance(number, (int, Fraction)) or number == 0:
        return None
    inverse = 1 / Fraction(number)
    above, below = abs(inverse.numerator), inverse.denominator
    if above & (above - 1) or below & (below - 1) or max(above, below) > LARGEST_POWER_OF_TWO:
        return None
    return builder.apply("mul", (args[0], builder.constant(inverse)), NO_SETTINGS)


def _squared(builder: Builder, args: Args, settings: Settings) -> int | None:
    return _square(builder, args[0]) if args[0] == args[1] else None


STRENGTH: dict[str, Rule] = {"power": _power, "div": _halved, "mul": _squared}


# Reuse of a function's own value: x > 0 where max(x, 0) is, so that x need not be kept.


def _positive(builder: Builder, args: Args, settings: Settings) -> int | None:
    own = builder.existing("maximum", (args[0], args[1])) if _is(builder, args[1], 0) else None
    return None if own is None else builder.append("gt", (own, args[1]), NO_SETTINGS)


OWN: dict[str, Rule] = {"gt": _positive}


# Stable forms: composed functions as the operations they are made of.


def _expanded(op: str) -> Rule:
    def rule(builder: Builder, args: Args, settings: Settings) -> int | None:
        template = formula(op, len(args), settings, exact=False)
        assert template is not None
        return int(template.run(builder, args))

    return rule


def _ratio(builder: Builder, args: Args, settings: Settings) -> int:
    zero, one = builder.constant(0), builder.constant(1)
    empty = builder.apply("eq", (args[1], zero), NO_SETTINGS)
    safe = builder.apply("where", (empty, one, args[1]), NO_SETTINGS)
    ratio = builder.apply("div", (args[0], safe), NO_SETTINGS)
    return builder.apply("where", (empty, zero, ratio), NO_SETTINGS)


def _product(builder: Builder, args: Args, settings: Settings) -> int:
    zero = builder.constant(0)
    empty = builder.apply("eq", (args[0], zero), NO_SETTINGS)
    return builder.apply("where", (empty, zero, builder.apply("mul", args, {})), NO_SETTINGS)


LIKE = {"cupy": "numpy"}  # back ends with the functions of another one


# Reductions with a shift, as the operations they are made of.


def _letters(builder: Builder, row: int, axes: Sequence[int]) -> tuple[str, str]:
    """Letters of a row's axes, and of those that a reduction leaves."""
    full = LETTERS[: len(builder.program.shapes[row])]
    gone = {axis % len(full) for axis in axes}
    return full, "".join(letter for place, letter in enumerate(full) if place not in gone)


def _raised(builder: Builder, reduced: int, full: str, kept: str) -> int:
    """A reduced value with axes of size 1 where it was reduced."""
    sizes = tuple((letter, 1) for letter in full if letter not in kept)
    return builder.apply("contract", (reduced,), {"spec": f"{kept}->{full}", "sizes": sizes})


def _powers(builder: Builder, x: int, settings: Settings) -> tuple[int, int, int]:
    """The largest element, exp(x - largest), and its sum over the axes."""
    axes = {"axes": settings["axes"]}
    full, kept = _letters(builder, x, settings["axes"])
    top = builder.apply("largest", (x,), axes)
    shifted = builder.apply("sub", (x, _raised(builder, top, full, kept)), NO_SETTINGS)
    powers = builder.apply("exp", (shifted,), NO_SETTINGS)
    total = builder.apply("contract", (powers,), {"spec": f"{full}->{kept}", "sizes": ()})
    return top, powers, total


def _logsumexp(builder: Builder, args: Args, settings: Settings) -> int:
    top, _, total = _powers(builder, args[0], settings)
    return builder.apply("add", (builder.apply("log", (total,), {}), top), NO_SETTINGS)


def _softmax(builder: Builder, args: Args, settings: Settings) -> int:
    _, powers, total = _powers(builder, args[0], settings)
    full, kept = _letters(builder, args[0], settings["axes"])
    return builder.apply("div", (powers, _raised(builder, total, full, kept)), NO_SETTINGS)


def _norm(builder: Builder, args: Args, settings: Settings) -> int:
    """The norm of what is divided by its largest element, which the squares do not overflow."""

    def chosen(condition: int, row: int) -> int:
        return builder.apply("where", (condition, row, builder.constant(1)), NO_SETTINGS)

    full, kept = _letters(builder, args[0], settings["axes"])
    sizes = builder.apply("abs", args, NO_SETTINGS)
    top = builder.apply("largest", (sizes,), {"axes": settings["axes"]})
    zero = builder.constant(0)
    difference = builder.apply("sub", (top, top), NO_SETTINGS)  # NaN for infinity
    finite = chosen(builder.apply("eq", (difference, zero), NO_SETTINGS), top)
    scale = chosen(builder.apply("gt", (top, zero), NO_SETTINGS), finite)
    scaled = builder.apply("div", (args[0], _raised(builder, scale, full, kept)), NO_SETTINGS)
    spec = {"spec": f"{full},{full}->{kept}", "sizes": ()}
    root = builder.apply("sqrt", (builder.apply("contract", (scaled, scaled), spec),), NO_SETTINGS)
    return builder.apply("mul", (scale, root), NO_SETTINGS)


SHIFTED: dict[str, Rule] = {"logsumexp": _logsumexp, "softmax": _softmax}


def stable(backend: str, own_code: bool = True) -> dict[str, Rule]:
    """The composed functions, a user's own included, that a back end has no function for.

    Without `own_code`, what a user wrote for the back end is not used, but the formula.
    """
    rules = {
        op: _expanded(op)
        for op, record in FUNCTIONS.items()
        if record.formula is not None
        and not ({backend, LIKE.get(backend)} & set(record.native))
        and (
            not own_code
            or backend not in record.code
            or (record.origin == "graphc" and backend != "c")
        )
    }
    if backend == "javascript":
        rules["norm"] = _norm
    return {**rules, **SHIFTED, "ratio_or_0": _ratio, "product_or_0": _product}


def readable() -> tuple[Mapping[str, Rule], ...]:
    """The passes for code that is read: what a person would have simplified."""
    return (FOLD, UNITS)


def fast(backend: str = "numpy") -> tuple[Mapping[str, Rule], ...]:
    """The passes for code that is run."""
    return (stable(backend), FOLD_ALL, STRENGTH, OWN, UNITS)


PASSES: dict[str, Callable[[], Mapping[str, Rule]]] = {
    "fold": lambda: FOLD,
    "fold_all": lambda: FOLD_ALL,
    "units": lambda: UNITS,
    "strength": lambda: STRENGTH,
    "own": lambda: OWN,
    "stable": lambda: stable("numpy"),
}
