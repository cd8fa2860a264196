"""The passes of a program: which tables of rules it goes through, for what a back end has.

Folding computes what is known, and composed functions become the operations they are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ..algebra.arithmetic import NUMBERS
from ..algebra.exact import Exact, Undefined, as_float
from ..algebra.rewrites import OWN, STRENGTH, UNITS, Rule, Table
from ..algebra.rules import formula
from ..structure.rows import Settings
from ..table.functions import FUNCTIONS, Function
from ..table.tensors import OPERATIONS, Local, Operation
from .program import Program, ProgramRow

ARITHMETIC = ("add", "sub", "mul", "div", "neg", "power")


# Constant folding.


def _folded(kinds: tuple[type, ...]) -> Callable[[str], Rule]:
    """A rule that computes an operation on constants, if the result is a number of these kinds."""

    def of(op: str) -> Rule:
        def rule(
            program: Program, args: Sequence[ProgramRow], settings: Settings
        ) -> ProgramRow | None:
            for arg in args:
                if program.ops[arg] != "const":
                    return None
            values = [program.attributes[arg]["value"] for arg in args]
            if not all(isinstance(value, kinds) for value in values):
                return None
            result = NUMBERS.apply(op, values, settings)
            if type(result) is Undefined or hasattr(result, "_mpf_"):
                result = as_float(result)  # 1/0 is infinite, and 10**3000 too long to be exact
            return program.constant(result) if isinstance(result, (*kinds, float)) else None

        return rule

    return of


_rational = _folded((int, Fraction))
_number = _folded((int, Fraction, Exact))
FOLD: Table = {op: (_rational(op),) for op in ARITHMETIC}
FOLD_ALL: Table = {
    op: (_number(op),) for op, record in FUNCTIONS.items() if record.binding and op != "where"
}


# Stable forms: composed functions as the operations they are made of.


def _expanded(op: str) -> Rule:
    def rule(program: Program, args: Sequence[ProgramRow], settings: Settings) -> ProgramRow | None:
        template = formula(op, len(args), settings, exact=False)
        assert template is not None
        found: ProgramRow = template.run(program, args)
        return found

    return rule


def _by_formula(operation: Operation) -> Rule:
    """A tensor operation as the operations of its formula."""

    def rule(program: Program, args: Sequence[ProgramRow], settings: Settings) -> ProgramRow | None:
        assert operation.formula is not None
        shapes = [program.shape(arg) for arg in args]
        here = Local(settings=settings, shapes=shapes, shape=(), algebra=program, args=args)
        found: ProgramRow = operation.formula(here)
        return found

    return rule


def stable(has: Callable[[Function | Operation], bool]) -> Table:
    """The composed functions and operations, a user's own too, that a back end does not have."""
    rules: dict[str, tuple[Rule, ...]] = {
        op: (_expanded(op),)
        for op, record in FUNCTIONS.items()
        if (record.formula or record.stable) is not None and not has(record)
    }
    for op, operation in OPERATIONS.items():
        if operation.formula is not None and not has(operation):
            rules[op] = (_by_formula(operation),)
    return rules


def plain() -> tuple[Table, ...]:
    """The passes for code that is read: what a person would have simplified."""
    return (FOLD, UNITS)


def fast(has: Callable[[Function | Operation], bool]) -> tuple[Table, ...]:
    """The passes for code that is run by a back end that has these functions."""
    return (stable(has), FOLD_ALL, STRENGTH, OWN, UNITS)


PASSES: dict[str, Callable[[], Table]] = {
    "fold": lambda: FOLD,
    "fold_all": lambda: FOLD_ALL,
    "units": lambda: UNITS,
    "strength": lambda: STRENGTH,
    "own": lambda: OWN,
}
