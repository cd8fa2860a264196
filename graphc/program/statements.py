"""A program as assignments: one per node, and one per value that is needed more than once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..structure.rows import LEAVES, GraphRow
from ..table.functions import FUNCTIONS
from ..table.matrix_form import ATOM, Piece
from .array_text import ArrayText
from .naming import Naming
from .program import Program, ProgramRow

LONGEST_LINE = 92  # of an expression, before a part of it gets a name of its own
INDENT = 4
NO_HEADINGS: Mapping[GraphRow, str] = {}
NO_LABELS: Sequence[str] = ()


def statements(
    program: Program,
    wanted: Sequence[ProgramRow],
    text: ArrayText,
    naming: Naming,
    notes: Mapping[str, str],
    headings: Mapping[GraphRow, str] = NO_HEADINGS,
    spoken: Collection[str] = (),
) -> tuple[list[str], dict[ProgramRow, str]]:
    """Lines of code, and the text by which each wanted row goes after them.

    A node's name is kept; a value without a name that is used once stands where it is used.
    `notes` are comments for nodes, `headings` lines before the first statement for a row of the
    graph from theirs on. A second name of a value gets a line only if it is `spoken` of later.
    """
    later, known = set(spoken), program.names
    uses = program.uses()
    for row in wanted:
        uses[row] += 1
    lines: list[str] = []
    pieces: list[Piece] = []
    coming = sorted(headings)
    written, identifier = text.piece, naming.of
    rows = zip(program.in_order(), program.ops, program.operands, strict=True)
    for row, op, operands in rows:
        labels = known.get(row, NO_LABELS)
        if op in LEAVES:
            name = identifier(labels[0])
        else:
            piece = written(program, row, [pieces[operand] for operand in operands])
            if labels:
                name = identifier(labels[0])
            elif operands and (
                (uses[row] > 1 and not (op == "neg" and uses[row] <= 2))
                or len(piece[0]) > LONGEST_LINE
            ):
                name = _temporary(program, row, naming)
            else:
                pieces.append(piece)
                continue
            if coming and program.origin[row] >= coming[0]:
                reached = [first for first in coming if program.origin[row] >= first]
                lines.append(headings[reached[-1]])
                del coming[: len(reached)]
            line = f"{name} = {piece[0]}"
            if labels and labels[0] in notes:
                lines += _annotated(line, notes[labels[0]])
            else:
                lines.append(line)
        pieces.append((name, ATOM))
        for label in labels[1:]:
            alias = identifier(label)
            if label in later:
                lines += _annotated(f"{alias} = {name}", notes.get(label, ""))
    return lines, {row: pieces[row][0] for row in wanted}


def _temporary(program: Program, row: ProgramRow, naming: Naming) -> str:
    """A telling name for a value that has none: cos_y4, or t1."""
    op, operands = program.ops[row], program.operands[row]
    if op in FUNCTIONS and len(operands) == 1 and not FUNCTIONS[op].infix:
        named = program.names.get(operands[0])
        if named and len(named[0]) < 20:
            return naming.fresh(f"{op}_{named[0]}")
    return naming.numbered("t")


def _annotated(line: str, note: str) -> list[str]:
    """The line with its comment, behind it if there is room."""
    if not note:
        return [line]
    if INDENT + len(line) + 4 + len(note) <= 88:
        return [f"{line}  # {note}"]
    return [f"# {note}", line]
