"""Element-wise operations that write into memory which is there already."""

from __future__ import annotations

from collections.abc import Sequence

from ....table.functions import FUNCTIONS
from ....table.matrix_form import ATOM
from ...array_text import ArrayText
from ...library import Library
from ...program import Program, ProgramRow

UFUNCS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "neg": "negative",
    "pow": "power",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}


def ufunc(op: str, library: Library) -> str | None:
    """The function of the array library that takes out=, or None."""
    if op in UFUNCS:
        return UFUNCS[op]
    record = FUNCTIONS[op]
    name = library.native(record)
    return None if library.name in record.code or name in library.lacks else name


def into(
    text: ArrayText, program: Program, row: ProgramRow, operands: Sequence[str], target: str
) -> list[str]:
    """The code of one element-wise operation into its target.

    The target may be the memory of one of the operands.
    """
    np, op, out = text.namespace, program.ops[row], f"out={target}"
    if op == "where":  # faster than np.copyto(..., where=...), whose time depends on the mask
        return [f"{target}[...] = {np}.where({', '.join(operands)})"]
    if op == "power":
        exponent = text.number(program.settings(row)["exponent"])[0]
        return [f"{np}.power({operands[0]}, {exponent}, {out})"]
    name = ufunc(op, text.library)
    if name is None:
        # names and literals, of which only a negative number binds less tightly than a name
        pieces = [(operand, 3 if operand.startswith("-") else ATOM) for operand in operands]
        return [f"{target}[...] = {text.piece(program, row, pieces)[0]}"]
    if len(operands) == 1:
        return [f"{np}.{name}({operands[0]}, {out})"]
    lines = [f"{np}.{name}({operands[0]}, {operands[1]}, {out})"]
    return lines + [f"{np}.{name}({target}, {more}, {out})" for more in operands[2:]]
