"""A program as assignments: one per node, and one per value that is needed more than once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..table.functions import FUNCTIONS
from ..table.matrix_form import ATOM, Piece
from .array_text import ArrayText
from .naming import Naming
from .program import Program

LONGEST_LINE = 92  # of an expression, before a part of it gets a name of its own
INDENT = 4
NO_HEADINGS: Mapping[int, str] = {}


def statements(
    program: Program,
    wanted: Sequence[int],
    text: ArrayText,
    naming: Naming,
    notes: Mapping[str, str],
    headings: Mapping[int, str] = NO_HEADINGS,
    spoken: Collection[str] = (),
) -> tuple[list[str], dict[int, str]]:
    """Lines of code, and the text by which each wanted row goes after them.

    A node's name is kept; a value without a name that is used once stands where it is used.
    `notes` are comments for nodes, `headings` lines before the first statement for a row of the
    graph from theirs on. A second name of a value gets a line only if it is `spoken` of later.
    """
    later = set(spoken)
    uses = program.uses()
    for row in wanted:
        uses[row] += 1
    lines: list[str] = []
    pieces: dict[int, Piece] = {}
    coming = sorted(headings)
    for row in range(len(program)):
        names = [naming.of(name) for name in program.names.get(row, ())]
        if program.is_leaf(row):
            pieces[row] = names[0], ATOM
        else:
            operands = [pieces[operand] for operand in program.operands[row]]
            pieces[row] = text.piece(program, row, operands)
            if not names and _deserves_name(program, row, uses[row], pieces[row]):
                names = [_temporary(program, row, naming)]
            if names:
                reached = [first for first in coming if program.origin[row] >= first]
                if reached:
                    lines.append(headings[reached[-1]])
                    del coming[: len(reached)]
                lines += _assignment(names[0], pieces[row][0], program, row, notes)
                pieces[row] = names[0], ATOM
        for number, alias in enumerate(names[1:], start=1):
            label = program.names[row][number]
            if label in later:
                lines += _annotated(f"{alias} = {names[0]}", notes.get(label, ""))
    return lines, {row: pieces[row][0] for row in wanted}


def _deserves_name(program: Program, row: int, uses: int, piece: Piece) -> bool:
    op = program.ops[row]
    if not program.operands[row]:
        return False
    trivial = op == "neg" and uses <= 2
    return (uses > 1 and not trivial) or len(piece[0]) > LONGEST_LINE


def _temporary(program: Program, row: int, naming: Naming) -> str:
    """A telling name for a value that has none: cos_y4, or t1."""
    op, operands = program.ops[row], program.operands[row]
    if op in FUNCTIONS and len(operands) == 1 and not FUNCTIONS[op].infix:
        named = program.names.get(operands[0])
        if named and len(named[0]) < 20:
            return naming.fresh(f"{op}_{named[0]}")
    return naming.numbered("t")


def _assignment(
    name: str, expression: str, program: Program, row: int, notes: Mapping[str, str]
) -> list[str]:
    label = program.names[row][0] if row in program.names else ""
    return _annotated(f"{name} = {expression}", notes.get(label, ""))


def _annotated(line: str, note: str) -> list[str]:
    """The line with its comment, behind it if there is room."""
    if not note:
        return [line]
    if INDENT + len(line) + 4 + len(note) <= 88:
        return [f"{line}  # {note}"]
    return [f"# {note}", line]
