"""A program as statements of C: one for each value that has a name, loops for tensors.

A value that is used once stands where it is used, an element-wise one inside the loop that reads
it. Where arrays stand in memory is not decided here: see memory.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ....algebra.exact import as_float
from ....errors import GraphcError
from ....structure.rows import GraphRow
from ....table.functions import FUNCTIONS
from ....table.loops import Loops, Tongue, Variable, axes_names, nested, place
from ....table.matrix_form import ATOM, Piece, bracket
from ....table.tensors import OPERATIONS
from ...c_names import CNames
from ...c_text import LONGEST, CText, counted_uses
from ...module import Task
from ...program import ProgramRow
from .comments import comment
from .signature import Block, Output, Signature, sizes

Reads = frozenset[ProgramRow]
NOTHING: Reads = frozenset()
ITEMS_PER_LINE = 12  # numbers of a table


@dataclass(frozen=True)
class Value:
    """A variable of the function: a number, or an array that needs room."""

    name: str
    type: str
    size: int = 0  # elements of an array; 0 for a number
    home: str = ""  # the argument or the result that it stands in


@dataclass
class Statement:
    """Some lines, the value that they compute, and the values and results that they mention."""

    lines: list[str]
    row: ProgramRow | None = None
    above: list[str] = field(default_factory=list)  # comments
    reads: Reads = NOTHING
    outputs: frozenset[str] = frozenset()
    scratch: list[tuple[str, int]] = field(default_factory=list)  # arrays to work in


@dataclass
class Shelf:
    """What the functions of one file share: tables and constants, and functions of the records."""

    text: CText
    names: CNames
    tables: dict[str, str] = field(default_factory=dict)  # contents -> name
    definitions: dict[str, str] = field(default_factory=dict)

    @cached_property
    def tongue(self) -> Tongue:
        real, end = self.text.type, "f" if self.text.dtype == "float32" else ""
        return Tongue(
            {
                **{"real": f"{real} ", "whole": "int ", "count": "int "},
                **{"reals": f"{real} *", "given": f"const {real} *"},
                **{"function": f"static {real} ", "procedure": "static void "},
                **{"infinity": "INFINITY", "nan": "NAN", "abs": f"fabs{end}", "log": f"log{end}"},
            }
        )

    def table(self, type_: str, items: Sequence[str]) -> str:
        """The name of an array of constants, which stands once in the file."""
        lines = [
            "    " + ", ".join(items[start : start + ITEMS_PER_LINE])
            for start in range(0, len(items), ITEMS_PER_LINE)
        ]
        inside = ",\n".join(lines) or "    0"
        content = f"static const {type_} {{}}[{max(len(items), 1)}] = {{{{\n{inside}\n}}}};\n"
        if content not in self.tables:
            self.tables[content] = self.names.numbered("table")
        return self.tables[content]

    def texts(self) -> list[str]:
        return [content.format(name) for content, name in self.tables.items()]


class Statements:
    """Writes the statements of one function."""

    def __init__(
        self,
        one: Task,
        head: Signature,
        shelf: Shelf,
        names: CNames,
        notes: Mapping[str, str],
        headings: Mapping[GraphRow, str],
    ) -> None:
        self.one, self.head, self.shelf, self.names = one, head, shelf, names
        self.program, self.text = one.program, shelf.text
        self.notes, self.headings = notes, headings
        self.readable = one.options.style == "readable"
        self.shapes = [sizes(self.program.shape(row)) for row in self.program.in_order()]
        self.values: dict[ProgramRow, Value] = {}  # the rows that are variables
        self.found: list[Statement] = []
        self._pieces: list[Piece] = []  # the text of each number; of an array, its name
        self._reads: list[Reads] = []
        # arrays whose elements stand in the loop that reads them
        self._inside: set[ProgramRow] = set()
        blocks = [block for output in head.outputs for block in output.blocks]
        self._uses = counted_uses(self.program, [block.row for block in blocks])
        self._results = {block.row for block in blocks}
        self._targets = {output.name: output for output in head.outputs}
        self._homes = self._direct(head.outputs)
        self._coming = sorted(headings)

    def written(self) -> list[Statement]:
        """All statements, the results last."""
        self._readers()
        arguments = {one.label: one for one in self.head.arguments}
        for row in self.program.in_order():
            op = self.program.ops[row]
            if self.program.is_leaf(row):
                one = arguments[self.program.settings(row)["name"]]
                self.values[row] = Value(one.name, self.text.type, math.prod(one.shape), one.name)
                self._keep((one.name, ATOM), frozenset((row,)))
            elif op in ("const", "pi", "size"):
                self._keep(self._constant(row), NOTHING)
            elif op in OPERATIONS:
                self._operation(row)
            elif self.shapes[row]:
                self._elements(row)
            else:
                self._number(row)
        for output in self.head.outputs:
            for block in output.blocks:
                self._deliver(output, block)
        return self.found

    def _keep(self, piece: Piece, reads: Reads) -> None:
        self._pieces.append(piece)
        self._reads.append(reads)

    def _direct(self, outputs: Sequence[Output]) -> dict[ProgramRow, str]:
        """{row: the result in whose memory it may be computed}."""
        found: dict[ProgramRow, str] = {}
        for output in outputs:
            if len(output.blocks) == 1:
                row = output.blocks[0].row
                if self.shapes[row] and self.program.operands[row]:
                    found.setdefault(row, output.name)
        return found

    def _readers(self) -> None:
        """Finds the rows that feed loops, and those that stand inside one."""
        program = self.program
        self._feeds: set[ProgramRow] = set()
        self._reader: dict[ProgramRow, ProgramRow] = {}
        for row in program.in_order():
            operands = program.operands[row]
            if self.shapes[row] or program.ops[row] in OPERATIONS:
                self._feeds.update(operands)
            self._reader.update(dict.fromkeys(operands, row))

    # Numbers.

    def _constant(self, row: ProgramRow) -> Piece:
        op, settings = self.program.ops[row], self.program.settings(row)
        if op == "size":
            return self.text.number(sizes((settings["size"],))[0])
        value = math.pi if op == "pi" else settings["value"]
        if not self.shapes[row]:
            return self.text.number(value)
        flat = np.asarray(as_float(value), dtype=np.float64).ravel().tolist()
        items = [self.text.number(number)[0] for number in flat]
        return self.shelf.table(self.text.type, items), ATOM

    def _number(self, row: ProgramRow) -> None:
        operands = self.program.operands[row]
        piece = self.text.piece(self.program, row, [self._pieces[o] for o in operands])
        reads = NOTHING.union(*(self._reads[o] for o in operands))
        labels = self.program.names.get(row, ())
        alone = self._uses[row] == 1 and row in self._results
        shown = self.readable and labels and not (alone and labels[0] in self._targets)
        if shown or self._uses[row] > 1 or len(piece[0]) > LONGEST or row in self._feeds:
            self._assign(row, piece, reads)
        else:
            self._keep(piece, reads)

    def _assign(self, row: ProgramRow, piece: Piece, reads: Reads) -> None:
        """A number gets a name."""
        type_ = self.text.kind(self.program, row)
        name = self._name(row)
        self.values[row] = Value(name, type_)
        line = f"const {type_} {name} = {piece[0]};"
        self._add(Statement([line], row, reads=reads), self._note(row))
        self._keep((name, ATOM), frozenset((row,)))

    def _name(self, row: ProgramRow) -> str:
        labels = self.program.names.get(row)
        return self.names.of(labels[0]) if labels else self.names.numbered("t")

    def _note(self, row: ProgramRow) -> str:
        labels = self.program.names.get(row)
        return self.notes.get(labels[0], "") if labels else ""

    def _add(self, statement: Statement, note: str = "") -> None:
        """Appends a statement, with the heading before it and the rule behind it or above it."""
        row, before = statement.row, statement.above
        if self._coming and row is not None and self.program.origin[row] >= self._coming[0]:
            reached = [first for first in self._coming if self.program.origin[row] >= first]
            before.append(comment(self.headings[reached[-1]].lstrip("# ")))
            del self._coming[: len(reached)]
        if note:
            shown = comment(note)
            if len(statement.lines) == 1 and len(statement.lines[0]) + len(shown) < 82:
                statement.lines[0] += f" {shown}"
            else:
                before.append(shown)
        self.found.append(statement)

    # Tensors.

    def _array(self, row: ProgramRow) -> Value:
        """The variable of an array: in a result, or with room of its own."""
        size = max(math.prod(self.shapes[row]), 1)
        if row in self._homes:
            home = self._homes[row]
            self.values[row] = Value(home, self.text.type, size, home)
        else:
            self.values[row] = Value(self._name(row), self.text.type, size)
        return self.values[row]

    def _operation(self, row: ProgramRow) -> None:
        """A tensor operation, as its record's loops."""
        operation = OPERATIONS[self.program.ops[row]]
        if operation.loops is None:
            raise GraphcError(
                f"the operation {operation.name} has no loops, which backend='c' needs; give its "
                "record loops=, or use backend='numpy'"
            )
        operands = self.program.operands[row]
        variables = [Variable(bracket(self._pieces[o], ATOM), self.shapes[o]) for o in operands]
        for name, text in operation.definitions.get("loops", {}).items():
            self.shelf.definitions.setdefault(name, self.shelf.tongue.written(text))
        reads = NOTHING.union(*(self._reads[o] for o in operands))
        statement = Statement([], row, reads=reads)
        value = self._array(row) if self.shapes[row] else Value(self._name(row), self.text.type)
        lines = Lines(self.shelf, self.names, statement)
        result = Variable(value.name, self.shapes[row])
        text = operation.loops(lines, result, variables, self.program.settings(row))
        if text != value.name and not statement.lines and not statement.scratch:
            self.values.pop(row, None)  # the memory of an operand, or an element of it
            if not self.shapes[row] and row in self._feeds:
                self._assign(row, (text, ATOM), reads)
            else:
                self._keep((text, ATOM), reads)
            return
        if text != value.name:
            statement.lines.append(f"const {value.type} {value.name} = {text};")
        self.values[row] = value
        self._added(row, statement)

    def _added(self, row: ProgramRow, statement: Statement) -> None:
        """A statement that computes a row, which goes by its name from now on."""
        value = self.values[row]
        if value.home:
            statement.outputs = frozenset((value.home,))
        self._add(statement, self._note(row))
        self._keep((value.name, ATOM), frozenset((row,)))

    def _elements(self, row: ProgramRow) -> None:
        """A function element by element: inside the loop of its only reader, or a loop."""
        operands = self.program.operands[row]
        reads = NOTHING.union(*(self._reads[o] for o in operands))
        if self._stands_inside(row):
            self._inside.add(row)
            self._keep(("", ATOM), reads)
            return
        value, shape = self._array(row), self.shapes[row]
        if self._is_flat(row, shape):
            at, loops = None, [("i", math.prod(shape))]
            whole = "i"
        else:
            at = axes_names(len(shape))
            loops, whole = list(zip(at, shape, strict=True)), place(at, shape)
        body = f"{value.name}[{whole}] = {self._element(row, at, outermost=True)[0]};"
        self._added(row, Statement(self._loop(loops, body), row, reads=reads))

    def _loop(self, loops: Loops, body: str) -> list[str]:
        return self.shelf.tongue.written(nested(loops, body)).split("\n")

    def _stands_inside(self, row: ProgramRow) -> bool:
        """Whether the loop that reads a row, and only it, can compute its elements."""
        if self._uses[row] != 1 or row in self._results:
            return False
        if self.readable and row in self.program.names:
            return False
        reader = self._reader[row]
        inside = self.program.ops[reader] in FUNCTIONS and self.shapes[reader] == self.shapes[row]
        return inside and len(self._element(row, None, outermost=True)[0]) <= LONGEST

    def _is_flat(self, row: ProgramRow, shape: tuple[int, ...]) -> bool:
        """Whether all arrays in the formula of an element have the shape of the result."""
        stack = list(self.program.operands[row])
        while stack:
            operand = stack.pop()
            if operand in self._inside:
                stack += self.program.operands[operand]
            elif self.shapes[operand] not in ((), shape):
                return False
        return True

    def _element(self, row: ProgramRow, at: Sequence[str] | None, outermost: bool = False) -> Piece:
        """An element of a row, at the place of the loops: number i, or a variable for each axis."""
        if not outermost and row not in self._inside:
            shape = self.shapes[row]
            if not shape:
                return self._pieces[row]
            if at is None:
                where = "i"
            else:
                where = place(at[len(at) - len(shape) :], shape, broadcast=True)
            return f"{self._pieces[row][0]}[{where}]", ATOM
        pieces = [self._element(operand, at) for operand in self.program.operands[row]]
        return self.text.piece(self.program, row, pieces)

    # Results.

    def _deliver(self, output: Output, block: Block) -> None:
        """Lines that put a row in its place in a result."""
        row, name = block.row, output.name
        value = self.values.get(row)
        if value is not None and value.home == name:
            return
        text, shape = self._pieces[row][0], self.shapes[row]
        if not output.shape:
            lines = [f"*{name} = {text};"]
        elif not shape and block.size == 1:
            lines = [f"{name}[{block.start}] = {text};"]
        elif block.height == 1 or block.width == block.stride:
            source = f"{text}[i]" if shape else text
            to = f"{block.start} + i" if block.start else "i"
            lines = self._loop([("i", block.size)], f"{name}[{to}] = {source};")
        else:
            source = f"{text}[i0 * {block.width} + i1]" if shape else text
            to = f"{block.start} + " * bool(block.start) + f"i0 * {block.stride} + i1"
            loops = [("i0", block.height), ("i1", block.width)]
            lines = self._loop(loops, f"{name}[{to}] = {source};")
        note = self._note(row) if value is None else ""
        statement = Statement(lines, reads=self._reads[row], outputs=frozenset((name,)))
        self._add(statement, note)


@dataclass
class Lines:
    """The lines of one operation: a LoopWriter."""

    shelf: Shelf
    names: CNames
    statement: Statement

    def add(self, text: str) -> None:
        self.statement.lines += self.shelf.tongue.written(text).split("\n")

    def declare(self, result: Variable, zero: bool = False) -> None:
        if not result.shape:
            self.add(f"{{real}}{result.text}{' = 0' * zero};")
        elif zero:
            self.add(nested([("i", result.size)], f"{result.text}[i] = 0;"))

    def table(self, numbers: Sequence[int]) -> str:
        return self.shelf.table("int", list(map(str, numbers)))

    def scratch(self, size: int) -> str:
        name = self.names.numbered("room")
        self.statement.scratch.append((name, max(size, 1)))
        return name
