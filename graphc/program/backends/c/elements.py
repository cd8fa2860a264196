"""What the rows of a program are called in C, the formulas of their elements, and loops over them.

Rows of one size may share a loop: what only that loop reads is a number in it, not an array.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....algebra.exact import as_float
from ....table.loops import place
from ....table.matrix_form import ATOM, Piece
from ....table.tensors import OPERATIONS
from ...c_text import CText
from ...program import Program, ProgramRow
from .signature import Block, Signature, sizes

Reads = frozenset[ProgramRow]
NOTHING: Reads = frozenset()
NO_PLACES = np.zeros(0, dtype=np.intp)
MOST_TOGETHER = 24  # lines of one loop


@dataclass(frozen=True)
class Value:
    """A variable of the function: a number, or an array that needs room."""

    name: str
    type: str
    size: int = 0  # elements of an array; 0 for a number
    home: str = ""  # the argument or the result that it stands in


@dataclass(frozen=True)
class Line:
    """A line of a loop: an element of a row becomes the row's, or one of a result."""

    row: ProgramRow
    target: str = ""  # an element of a result, with = or +=


class Elements:
    """The texts of rows, and of their elements in loops."""

    def __init__(self, program: Program, head: Signature, text: CText) -> None:
        self.program, self.text = program, text
        self.shapes = [sizes(program.shape(row)) for row in program.in_order()]
        self.pieces: list[Piece] = []  # the text of each number; of an array, its name
        self.reads: list[Reads] = []  # the variables that the text mentions
        # arrays whose elements stand in the loop that reads them
        self.inside: set[ProgramRow] = set()
        # arrays of which only the loop that computes them reads elements: a number in it
        self.passing: set[ProgramRow] = set()
        self.mentions = program.uses()  # and results that are filled
        for output in head.outputs:
            for block in output.blocks:
                self.mentions[block.row] += 1

    def keep(self, piece: Piece, reads: Reads) -> None:
        """The text of the next row."""
        self.pieces.append(piece)
        self.reads.append(reads)

    def read_by(self, row: ProgramRow) -> Reads:
        """The variables that the operands of a row mention."""
        return NOTHING.union(*(self.reads[operand] for operand in self.program.operands[row]))

    def constant(self, row: ProgramRow) -> Any:
        """The number, or the array of numbers, that a row is."""
        op, settings = self.program.ops[row], self.program.settings(row)
        if op == "size":
            return sizes((settings["size"],))[0]
        return math.pi if op == "pi" else as_float(settings["value"])

    def mentioned(self, line: Line) -> list[ProgramRow]:
        """The rows whose elements a line mentions, as often as it does."""
        found: list[ProgramRow] = []
        stack = [line.row] if line.target else list(self.program.operands[line.row])
        while stack:
            operand = stack.pop()
            if operand in self.inside:
                stack += self.program.operands[operand]
            else:
                found.append(operand)
        return found

    def is_flat(self, row: ProgramRow) -> bool:
        """Whether all arrays in the formula of an element have the shape of the result."""
        shape = self.shapes[row]
        return all(self.shapes[other] in ((), shape) for other in self.mentioned(Line(row)))

    def element(self, row: ProgramRow, at: Sequence[str] | None = None) -> Piece:
        """An element of a row, at the place of the loops: number i, or a variable for each axis."""
        if row in self.inside:
            return self.formula(row, at)
        shape = self.shapes[row]
        if not shape or row in self.passing:
            return self.pieces[row]
        if at is None:
            where = "i"
        else:
            where = place(at[len(at) - len(shape) :], shape, broadcast=True)
        return f"{self.pieces[row][0]}[{where}]", ATOM

    def formula(self, row: ProgramRow, at: Sequence[str] | None = None) -> Piece:
        """What is computed for an element of a row."""
        pieces = [self.element(operand, at) for operand in self.program.operands[row]]
        return self.text.piece(self.program, row, pieces)

    def line(self, line: Line) -> str:
        """The text of a line in a loop."""
        if line.target:
            return f"{line.target} {self.element(line.row)[0]};"
        text, name = self.formula(line.row)[0], self.pieces[line.row][0]
        if line.row in self.passing:
            return f"const {self.text.type} {name} = {text};"
        return f"{name}[i] = {text};"


@dataclass
class Loop:
    """A loop over elements that is still open: more rows of its size may come into it."""

    elements: Elements
    size: int
    lines: list[Line] = field(default_factory=list)
    made: list[ProgramRow] = field(default_factory=list)
    reads: Reads = NOTHING
    filled: dict[str, Any] = field(default_factory=dict)  # result -> the places that it writes

    def takes(self, size: int, line: Line, output: str, places: Any) -> bool:
        """Whether a line reads only elements that are there, and writes none a second time."""
        if size != self.size or len(self.lines) >= MOST_TOGETHER:
            return False
        if output in self.filled and np.intersect1d(self.filled[output], places).size:
            return False
        mentioned = self.elements.mentioned(line)
        views = (row for row in mentioned if row not in self.made)
        return not any(self.is_read(self.elements.reads[row]) for row in views)

    def is_read(self, reads: Reads) -> bool:
        """Whether something reads what the loop computes."""
        return not reads.isdisjoint(self.made)

    def add(self, line: Line, reads: Reads, output: str, places: Any) -> None:
        self.lines.append(line)
        self.reads |= reads
        if not line.target:
            self.made.append(line.row)
        if output:
            known = self.filled.get(output, NO_PLACES)
            self.filled[output] = np.concatenate([known, places])

    def close(self, values: Mapping[ProgramRow, Value]) -> list[ProgramRow]:
        """The rows that are arrays; the others, which nothing else reads, are numbers."""
        elements = self.elements
        here = Counter(row for line in self.lines for row in elements.mentioned(line))
        kept = [row for row in self.made if values[row].home or here[row] != elements.mentions[row]]
        elements.passing.update(set(self.made).difference(kept))
        return kept


def direct(program: Program, head: Signature) -> dict[ProgramRow, str]:
    """{row: the result in whose memory it may be computed}."""
    found: dict[ProgramRow, str] = {}
    for output in head.outputs:
        if len(output.blocks) == 1 and isinstance(output.blocks[0], Block):
            row = output.blocks[0].row
            if program.shape(row) and program.operands[row]:
                found.setdefault(row, output.name)
    return found


def readers(program: Program) -> tuple[set[ProgramRow], dict[ProgramRow, ProgramRow]]:
    """The rows that feed loops, and {row: the last that reads it}."""
    feeds: set[ProgramRow] = set()
    reader: dict[ProgramRow, ProgramRow] = {}
    for row in program.in_order():
        operands = program.operands[row]
        if program.shape(row) or program.ops[row] in OPERATIONS:
            feeds.update(operands)
        reader.update(dict.fromkeys(operands, row))
    return feeds, reader
