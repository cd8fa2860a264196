"""The passes of a program: which tables of rules it goes through, for what a back end has.

Folding computes what is known, and composed functions become the operations they are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from ..algebra.arithmetic import NUMBERS
from ..algebra.exact import Exact, Undefined, as_float
from ..algebra.rewrites import OWN, STRENGTH, UNITS, Rule, Table
from ..algebra.rules import formula
from ..shapes import Size
from ..structure.rows import NO_SETTINGS, Settings
from ..table.arrays import split_spec
from ..table.contraction_plan import as_product, first_pair
from ..table.functions import FUNCTIONS, Function
from ..table.matrix_form import canonical
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


# Sums of scattered parts, such as joined arrays, and slopes of an array that is read in parts.


def _accumulated(
    program: Program, args: Sequence[ProgramRow], settings: Settings
) -> ProgramRow | None:
    """The sum as one whole, to which the parts are added one by one: no zeros are added to zeros.

    It starts with two parts that have no place in common: then some 0 is added to every element,
    and no sum of parts is -0, as none is that starts with +0.
    """
    for whole, part in (args, args[::-1]):
        inner = _in_places(program, part)
        if inner is None:
            continue
        if program.inside(whole, "accumulate") and program.shape(whole) == program.shape(part):
            return program.shared("accumulate", (whole, inner), program.settings(part))
        first = _in_places(program, whole)
        if first is not None and _are_apart(program.settings(whole), program.settings(part)):
            start = (program.constant(0), first)
            begun = program.shared("accumulate", start, program.settings(whole))
            return program.shared("accumulate", (begun, inner), program.settings(part))
    return None


def _in_places(program: Program, row: ProgramRow) -> ProgramRow | None:
    """The part of which a row is zeros with each element of it in a place of its own, or None."""
    inner = program.inside(row, "scatter")
    return inner[0] if inner and program.settings(row)["index"].distinct else None


def _are_apart(one: Settings, other: Settings) -> bool:
    """Whether two selections along the same axis have no place in common."""
    if (one["axis"], one["size"]) != (other["axis"], other["size"]):
        return False
    return not np.intersect1d(one["index"].array, other["index"].array).size


ACCUMULATE: Table = {"add": (_accumulated,)}


# Contractions of several operands, pair by pair: products of two are there once.


def _in_pairs(
    program: Program, args: Sequence[ProgramRow], settings: Settings
) -> ProgramRow | None:
    operands, out = split_spec(settings["spec"])
    if len(operands) < 3 or set("".join(operands)) <= set(out):
        return None
    sizes: dict[str, Size] = {}
    for word, arg in zip(operands, args, strict=True):
        sizes.update(zip(word, program.shape(arg), strict=True))
    i, j, kept = first_pair(operands, out, sizes | dict(settings["sizes"]))
    pair: ProgramRow
    if operands[i] or operands[j]:
        spec = canonical(f"{operands[i]},{operands[j]}->{kept}")
        pair = program.apply("contract", (args[i], args[j]), {"spec": spec, "sizes": ()})
    else:
        pair = program.apply("mul", (args[i], args[j]), NO_SETTINGS)
    rest = [k for k in range(len(args)) if k not in (i, j)]
    spec = ",".join([*(operands[k] for k in rest), kept]) + f"->{out}"
    return program.apply("contract", (*(args[k] for k in rest), pair), {**settings, "spec": spec})


def _summed_product(
    program: Program, args: Sequence[ProgramRow], settings: Settings
) -> ProgramRow | None:
    """A sum over a product as one product of matrices, if it is one."""
    factors = program.inside(args[0], "contract")
    if len(args) != 1 or len(factors) != 2 or settings["sizes"]:
        return None
    (given,), out = split_spec(settings["spec"])
    inner = program.settings(args[0])
    operands, made = split_spec(inner["spec"])
    if inner["sizes"] or len(set(given)) != len(given) or set(made) != {*operands[0], *operands[1]}:
        return None
    letters = dict(zip(given, made, strict=True))
    kept = "".join(letters[letter] for letter in out)
    if as_product(operands[0], operands[1], kept) is None:
        return None
    spec = canonical(f"{','.join(operands)}->{kept}")
    return program.apply("contract", factors, {"spec": spec, "sizes": ()})


PAIRS: Table = {"contract": (_in_pairs, _summed_product)}


def plain() -> tuple[Table, ...]:
    """The passes for code that is read: what a person would have simplified."""
    return (FOLD, UNITS)


def fast(has: Callable[[Function | Operation], bool]) -> tuple[Table, ...]:
    """The passes for code that is run by a back end that has these functions."""
    parts = (ACCUMULATE,) if has(OPERATIONS["accumulate"]) else ()
    return (stable(has), FOLD_ALL, STRENGTH, OWN, UNITS, PAIRS, *parts)


PASSES: dict[str, Callable[[], Table]] = {
    "fold": lambda: FOLD,
    "fold_all": lambda: FOLD_ALL,
    "units": lambda: UNITS,
    "strength": lambda: STRENGTH,
    "own": lambda: OWN,
    "pairs": lambda: PAIRS,
    "accumulate": lambda: ACCUMULATE,
}
