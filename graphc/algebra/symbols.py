"""Symbols: the algebra of SymPy expressions, bounded in size."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy
from sympy.core.relational import Relational

from ..errors import GraphcError
from ..table.functions import FUNCTIONS
from .exact import bits
from .given import MOST_BITS
from .rules import formula

LONGEST = 10_000  # characters of a result
DEEPEST = 100  # levels of nesting: SymPy recurses over them

RELATIONS = {
    "lt": sympy.Lt,
    "le": sympy.Le,
    "gt": sympy.Gt,
    "ge": sympy.Ge,
    "eq": sympy.Eq,
    "ne": sympy.Ne,
}
NOT_REAL = (sympy.I, sympy.zoo, sympy.nan)


class Bracket(sympy.Function):  # type: ignore[misc]
    """Iverson's bracket [condition]: 1 where the condition holds, else 0."""

    nargs = 1
    is_real = True
    is_commutative = True

    @classmethod
    def eval(cls, condition: Any) -> Any:
        if condition == True:  # noqa: E712  # sympy.true compares equal, and `is` would miss bool
            return sympy.S.One
        if condition == False:  # noqa: E712
            return sympy.S.Zero
        return None

    def _eval_derivative(self, symbol: Any) -> Any:
        return sympy.S.Zero

    def _eval_power(self, exponent: Any) -> Any:
        return self if exponent.is_positive else None

    def _eval_rewrite_as_Piecewise(self, condition: Any, **kwargs: Any) -> Any:
        return sympy.Piecewise((1, condition), (0, True))

    def _sympystr(self, printer: Any) -> str:
        return f"[{printer.doprint(self.args[0])}]"

    _sympyrepr = _sympystr

    def _numpycode(self, printer: Any) -> str:
        return str(printer.doprint(sympy.Piecewise((1, self.args[0]), (0, True))))

    _pythoncode = _numpycode

    def _latex(self, printer: Any, exp: Any = None) -> str:
        return rf"\left[{printer.doprint(self.args[0])}\right]"


def symbol(name: str) -> Any:
    """The real symbol of a node, for the time of a derivation."""
    return sympy.Symbol(name, real=True)


def plain(expression: Any) -> Any:
    """An expression as users get it, in the symbols that they write: sympy.Symbol("x")."""
    return expression.xreplace({s: sympy.Symbol(s.name) for s in expression.free_symbols})


def real(expression: Any) -> Any:
    """An expression of the user's symbols in those of a derivation."""
    return expression.xreplace({s: symbol(s.name) for s in expression.free_symbols})


def exact_apply(op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
    """A primitive function on SymPy expressions."""
    match op:
        case "add":
            return args[0] + args[1]
        case "sub":
            return args[0] - args[1]
        case "mul":
            return args[0] * args[1]
        case "div":
            return args[0] / args[1]
        case "neg":
            return -args[0]
        case "pow":
            return args[0] ** args[1]
        case "power":
            return args[0] ** number(settings["exponent"])
        case "pi":
            return sympy.pi
        case "ratio_or_0":
            return args[0] / args[1]
        case "product_or_0":
            return args[0] * args[1]
        case "identity" | "stop":
            return args[0]
    return getattr(sympy, FUNCTIONS[op].native["sympy"])(*args)


def number(value: Any) -> Any:
    """A number as SymPy's."""
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    return sympy.sympify(value) if not isinstance(value, str) else symbol(value)


class Symbols:
    """The algebra of expressions; one that grows too long or too deep is refused."""

    def __init__(self, advice: str) -> None:
        self.advice = advice
        self._sizes: dict[Any, tuple[int, int]] = {}

    def constant(self, value: Any) -> Any:
        return number(value)

    def apply(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        """The expression of a function of the table on expressions."""
        try:
            result = self._applied(op, args, settings)
        except (TypeError, ValueError) as error:  # SymPy refuses to compare what is not real
            if isinstance(error, GraphcError):
                raise
            shown = ", ".join(str(arg)[:60] for arg in args)
            raise GraphcError(
                f"{op}({shown}) does not exist among the real numbers ({error}); change the formula"
            ) from None
        self.bound(result)
        return result

    def _applied(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        if op in RELATIONS:
            result = RELATIONS[op](*args)
        elif op == "where":
            result = _where(*args)
        elif op in ("taken", "untaken"):
            result = args[1] * Bracket(args[0] if op == "taken" else sympy.Not(args[0]))
        else:
            record = FUNCTIONS[op]
            native = record.formula is None or "sympy" in record.native
            template = None if native else formula(op, len(args), settings, exact=True)
            result = (
                exact_apply(op, args, settings) if template is None else template.run(self, args)
            )
        return result

    def bound(self, expression: Any) -> None:
        """Refuses an expression that nobody could read."""
        length, depth = self._size(expression)
        if length > LONGEST:
            raise GraphcError(
                f"the symbolic result would take {length} characters or more (limit {LONGEST}); "
                + self.advice
            )
        if depth > DEEPEST:
            raise GraphcError(
                f"the symbolic result would be nested over {DEEPEST} levels deep; " + self.advice
            )

    def _size(self, expression: Any) -> tuple[int, int]:
        """(characters, depth), counted without printing; parts seen before are remembered."""
        sizes = self._sizes
        stack = [expression]
        while stack:
            here = stack[-1]
            if here in sizes:
                stack.pop()
                continue
            pending = [arg for arg in here.args if arg not in sizes]
            if pending:
                stack.extend(pending)
                continue
            if here in NOT_REAL:
                raise GraphcError(
                    "the symbolic result holds what is no real number, such as log(-2) or 1/0; "
                    "give numbers with at={...}, or change the formula"
                )
            if not here.args:
                sizes[here] = (_length(here), 0)
            else:
                parts = [sizes[arg] for arg in here.args]
                extra = 3 * (len(parts) - 1) if here.is_Add else len(parts) + 1
                extra += len(type(here).__name__) if here.is_Function else 0
                sizes[here] = (sum(p[0] for p in parts) + extra, 1 + max(p[1] for p in parts))
            stack.pop()
        return sizes[expression]


def _length(atom: Any) -> int:
    """The characters of a name or number; Python itself refuses to write a very long number."""
    if atom.is_Rational and bits(Fraction(int(atom.p), int(atom.q))) > MOST_BITS:
        return LONGEST + 1
    return len(str(atom))


def _where(condition: Any, taken: Any, other: Any) -> Any:
    if condition == True:  # noqa: E712
        return taken
    if condition == False:  # noqa: E712
        return other
    if (taken, other) == (1, 0):
        return Bracket(condition)
    if (taken, other) == (0, 1):
        return Bracket(sympy.Not(condition))
    return sympy.Piecewise((taken, _without_cases(condition)), (other, True))


def _without_cases(condition: Any) -> Any:
    """A condition on cases as one of logic; SymPy would solve it over sets, and cannot always."""
    if not condition.has(sympy.Piecewise):
        return condition
    folded = sympy.piecewise_fold(condition, evaluate=False)
    if not isinstance(folded, sympy.Piecewise):
        return condition
    found, rest = sympy.false, sympy.true
    for holds, case in folded.args:
        found = sympy.Or(found, sympy.And(rest, case, holds))
        rest = sympy.And(rest, sympy.Not(case))
    return found


def is_relation(expression: Any) -> bool:
    """Whether a SymPy object is a comparison."""
    return isinstance(expression, Relational)
