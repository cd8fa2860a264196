"""The rules of rewriting: each gives a simpler row for an operation, or None.

Graphs of derivatives and programs follow the same rules, each through the tables it names. No rule
may turn a right value into another one, at any point: the tests run every table alone on random
programs in exact arithmetic and at 0, infinities, NaN, kinks, huge and tiny numbers. FORMAL alone
knows more: what is 0 as a formula contributes nothing to a derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from ..shapes import Shape
from ..structure.rows import NO_SETTINGS, Column, Row, Settings

LARGEST_POWER_OF_TWO = 1 << 1000
REWRITTEN = ("neg", "where", "div")  # factors for which a product is written otherwise


class Store(Protocol[Row]):
    """Rows that are rewritten while they are appended."""

    @property
    def ops(self) -> Column[Row, str]: ...

    def apply(self, op: str, args: Sequence[Row], settings: Settings) -> Row:
        """The row of an operation, in its simplest form."""

    def shared(self, op: str, operands: tuple[Row, ...], settings: Settings) -> Row:
        """The row of an operation as it is."""

    def constant(self, value: Any) -> Row: ...

    def number(self, row: Row) -> Any:
        """The number that a row holds and always will, or None."""

    def inside(self, row: Row, op: str) -> tuple[Row, ...]:
        """The operands of a row of this operation; nothing for other rows."""

    def existing(self, op: str, operands: tuple[Row, ...]) -> Row | None:
        """The row of an operation without settings, if there is one already."""

    def shape(self, row: Row) -> Shape: ...


Rule = Callable[[Any, Sequence[Any], Settings], Any]  # a row of a store, or None
Table = Mapping[str, tuple[Rule, ...]]


def simplified(
    store: Store[Row], table: Table, op: str, args: Sequence[Row], settings: Settings
) -> Row | None:
    """What the first rule that applies gives."""
    for rule in table.get(op, ()):
        found: Row | None = rule(store, args, settings)
        if found is not None:
            return found
    return None


# Units and signs. Multiplying by 0 is left alone: 0 times infinity is not 0. So is adding 0, which
# makes 0 of -0, and turning round a difference, whose 0 has the same sign either way.


def _copied(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row:
    return args[0]


def _minus(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    """a + (-b) as a - b."""
    inner = store.inside(args[1], "neg")
    return store.apply("sub", (args[0], inner[0]), NO_SETTINGS) if inner else None


def _from(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    """-a + b as b - a."""
    inner = store.inside(args[0], "neg")
    return store.apply("sub", (args[1], inner[0]), NO_SETTINGS) if inner else None


def _sub(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    a, b = args
    if _is(store, b, 0) and _same_shape(store, a, b):
        return a
    if inner := store.inside(b, "neg"):
        return store.apply("add", (a, inner[0]), NO_SETTINGS)
    return None


def _unit(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    """A product with 1 or -1."""
    a, b = args
    if store.ops[a] != "const" and store.ops[b] != "const":
        return None
    for one, other in ((a, b), (b, a)):
        if _is(store, one, 1) and _same_shape(store, other, one):
            return other
        if _is(store, one, -1) and _same_shape(store, other, one):
            return store.apply("neg", (other,), NO_SETTINGS)
    return None


def _factors(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    """Signs before the product, indicators as conditions, reciprocals as quotients."""
    a, b = args
    if store.ops[a] not in REWRITTEN and store.ops[b] not in REWRITTEN:
        return None
    for one, other in ((a, b), (b, a)):
        if inner := store.inside(one, "neg"):
            pair = (inner[0], other) if one == a else (other, inner[0])
            return store.apply("neg", (store.apply("mul", pair, NO_SETTINGS),), NO_SETTINGS)
        gate = store.inside(one, "where")
        if gate and _is(store, gate[1], 1) and _is(store, gate[2], 0):
            return store.shared("mul", (other, gate[0]), NO_SETTINGS)  # a condition counts 0 or 1
        below = store.inside(one, "div")
        if below and _is(store, below[0], 1):
            return store.apply("div", (other, below[1]), NO_SETTINGS)
    return None


def _div(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    a, b = args
    if _is(store, b, 1) and _same_shape(store, a, b):
        return a
    if inner := store.inside(a, "neg"):
        below = store.apply("div", (inner[0], b), NO_SETTINGS)
        return store.apply("neg", (below,), NO_SETTINGS)
    return None


def _neg(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    inner = store.inside(args[0], "neg")
    return inner[0] if inner else None


def _reciprocal(store: Store[Row], row: Row) -> Row:
    return store.apply("div", (store.constant(1), row), NO_SETTINGS)


ROOTS: dict[Any, Callable[[Any, Any], Any]] = {
    1: lambda store, x: x,
    Fraction(1, 2): lambda store, x: store.apply("sqrt", (x,), NO_SETTINGS),
    Fraction(-1, 2): lambda store, x: _reciprocal(store, store.apply("sqrt", (x,), NO_SETTINGS)),
}


def _root(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    """A root: NumPy's x ** 0.5 is one for arrays, at -0 and -inf too, but not for numbers."""
    root = ROOTS.get(settings["exponent"])
    return None if root is None else root(store, args[0])


UNITS: Table = {
    "identity": (_copied,),
    "stop": (_copied,),
    "add": (_minus, _from),
    "sub": (_sub,),
    "mul": (_unit, _factors),
    "div": (_div,),
    "neg": (_neg,),
    "power": (_root,),
}


def _is(store: Store[Row], row: Row, number: int) -> bool:
    if store.ops[row] != "const":
        return False
    value = store.number(row)
    return type(value) in (int, Fraction) and bool(value == number)


def _same_shape(store: Store[Row], row: Row, other: Row) -> bool:
    """Whether the other operand does not widen this one."""
    return len(store.shape(other)) == 0 or (store.shape(row) == store.shape(other))


# Strength reduction: powers as products and reciprocals. Each is right at 0 and infinity.


def _square(store: Store[Row], x: Row) -> Row:
    return store.apply("square", (x,), NO_SETTINGS)


POWERS: dict[Any, Callable[[Any, Any], Any]] = {
    2: _square,
    3: lambda b, x: b.apply("mul", (_square(b, x), x), NO_SETTINGS),
    4: lambda b, x: _square(b, _square(b, x)),
    -1: _reciprocal,
    -2: lambda b, x: _reciprocal(b, _square(b, x)),
}


def _power(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    cheaper = POWERS.get(settings["exponent"])
    return None if cheaper is None else cheaper(store, args[0])


def _halved(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    """Division by a power of two is exact as a multiplication."""
    if store.ops[args[1]] != "const":
        return None
    number = store.number(args[1])
    if not isinstance(number, (int, Fraction)) or number == 0:
        return None
    above, below = abs(number.numerator), number.denominator
    if above & (above - 1) or below & (below - 1) or max(above, below) > LARGEST_POWER_OF_TWO:
        return None
    return store.apply("mul", (args[0], store.constant(1 / Fraction(number))), NO_SETTINGS)


def _squared(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    return _square(store, args[0]) if args[0] == args[1] else None


STRENGTH: Table = {"power": (_power,), "div": (_halved,), "mul": (_squared,)}


# Reuse of a function's own value: x > 0 where max(x, 0) is, so that x need not be kept.


def _positive(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    own = store.existing("maximum", (args[0], args[1])) if _is(store, args[1], 0) else None
    return None if own is None else store.shared("gt", (own, args[1]), NO_SETTINGS)


OWN: Table = {"gt": (_positive,)}


# Formulas of derivatives: an exact 0 is no path, so it meets no infinity and no sign of a zero.


def _nothing(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    """A product with 0."""
    a, b = args
    return store.constant(0) if _is(store, a, 0) or _is(store, b, 0) else None


def _no_term(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    """A sum with 0."""
    for this, other in ((0, 1), (1, 0)):
        if _is(store, args[this], 0):
            return args[other]
    return None


def _first_power(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
    return args[0] if settings["exponent"] == 1 else None


def _exactly(compute: Callable[..., Any]) -> Rule:
    """Arithmetic on exact numbers."""

    def rule(store: Store[Row], args: Sequence[Row], settings: Settings) -> Row | None:
        for arg in args:
            if store.ops[arg] != "const":
                return None
        numbers = [store.number(arg) for arg in args]
        if any(type(number) not in (int, Fraction) for number in numbers):
            return None
        return folded(store, compute(*numbers), numbers)

    return rule


def folded(store: Store[Row], result: Any, numbers: Sequence[Any]) -> Row:
    """The result of exact arithmetic; what cancels is a value, not absent."""
    if result != 0 or 0 in numbers:
        return store.constant(result)
    size = store.constant(abs(numbers[0]))
    return store.shared("sub", (size, size), NO_SETTINGS)


FORMAL: Table = {
    "mul": (_unit, _nothing, _exactly(lambda a, b: a * b)),
    "add": (_no_term, _exactly(lambda a, b: a + b), _minus),
    "sub": (_exactly(lambda a, b: a - b),),
    "neg": (_neg, _exactly(lambda a: -a)),
    "power": (_first_power,),
}
