"""Which operations look at the memory of their operand instead of making a value of their own."""

from __future__ import annotations

from ..arrays import split_spec
from ..matrix_form import form_of
from .array_text import slice_text
from .program import Program

LOOKING = ("transpose", "permute", "newaxis", "repeat", "diag")


def is_view(program: Program, row: int) -> bool:
    """Whether the value of a row may share memory with its operand."""
    op = program.ops[row]
    if op == "reshape":
        return True
    if op == "gather":
        return slice_text(program.settings[row]["index"]) is not None
    if op != "contract" or len(program.operands[row]) != 1:
        return False
    operands, out = split_spec(program.settings[row]["spec"])
    form = form_of(program.settings[row]["spec"], dict(zip(out, program.shapes[row], strict=True)))
    if form is None or form.word not in LOOKING:
        return False
    return form.word != "diag" or len(operands[0]) == 2
