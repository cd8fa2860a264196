"""A program as statements of C: one for each value that has a name, loops for tensors.

A value that is used once stands where it is used, an element-wise one inside the loop that reads
it. Where arrays stand in memory is not decided here: see memory.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ....errors import GraphcError
from ....structure.rows import GraphRow
from ....table.functions import FUNCTIONS
from ....table.loops import Loops, Tongue, Variable, axes_names, nested, place
from ....table.loops import block as braced
from ....table.matrix_form import ATOM, Piece, bracket
from ....table.places import Slice, chosen
from ....table.tensors import OPERATIONS
from ...c_names import CNames
from ...c_text import LONGEST, CText, counted_uses
from ...module import Task
from ...program import ProgramRow
from .comments import comment
from .elements import NO_PLACES, NOTHING, Elements, Line, Loop, Reads, Value, direct, readers
from .signature import Block, Output, Scattered, Signature

ITEMS_PER_LINE = 12  # numbers of a table


@dataclass
class Statement:
    """Some lines, the values that they compute, and the values and results that they mention."""

    lines: list[str]
    rows: tuple[ProgramRow, ...] = ()
    above: list[str] = field(default_factory=list)  # comments
    reads: Reads = NOTHING
    outputs: frozenset[str] = frozenset()
    scratch: list[tuple[str, int]] = field(default_factory=list)  # arrays to work in


@dataclass
class Shelf:
    """What the functions of one file share: tables and constants, and functions of the records."""

    text: CText
    names: CNames
    # (type, numbers) -> name
    tables: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)
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
        content = type_, tuple(items)
        if content not in self.tables:
            self.tables[content] = self.names.numbered("table")
        return self.tables[content]

    def texts(self) -> list[str]:
        return [
            table(f"static const {type_}", name, items)
            for (type_, items), name in self.tables.items()
        ]


def table(kind: str, name: str, items: Sequence[object]) -> str:
    """The definition of an array of constants."""
    texts = [str(item) for item in items] or ["0"]
    lines = [
        "    " + ", ".join(texts[start : start + ITEMS_PER_LINE])
        for start in range(0, len(texts), ITEMS_PER_LINE)
    ]
    return f"{kind} {name}[{len(texts)}] = {{\n" + ",\n".join(lines) + "\n};\n"


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
        self.elements = Elements(self.program, head, self.text)
        self.shapes = self.elements.shapes
        self.values: dict[ProgramRow, Value] = {}  # the rows that are variables
        self.found: list[Statement] = []
        self._open: Loop | None = None
        blocks = [block for output in head.outputs for block in output.blocks]
        self._uses = counted_uses(self.program, [block.row for block in blocks])
        self._results = {block.row for block in blocks}
        self._scattered = {block.row for block in blocks if isinstance(block, Scattered)}
        self._targets = {output.name: output for output in head.outputs}
        self._homes = direct(self.program, head)
        self._feeds, self._reader = readers(self.program)
        self._coming = sorted(headings)

    def written(self) -> list[Statement]:
        """All statements, the results last."""
        for output in self.head.outputs:
            self._start(output)
        arguments = {one.label: one for one in self.head.arguments}
        for row in self.program.in_order():
            op = self.program.ops[row]
            if self.program.is_leaf(row):
                one = arguments[self.program.settings(row)["name"]]
                self.values[row] = Value(one.name, self.text.type, math.prod(one.shape), one.name)
                self.elements.keep((one.name, ATOM), frozenset((row,)))
            elif op in ("const", "pi", "size"):
                self.elements.keep(self._constant(row), NOTHING)
            elif op in OPERATIONS:
                self._operation(row)
            elif self.shapes[row]:
                self._elements(row)
            else:
                self._number(row)
        for output in self.head.outputs:
            for block in output.blocks:
                self._deliver(output, block)
        self._close()
        return self.found

    # Numbers.

    def _constant(self, row: ProgramRow) -> Piece:
        value = self.elements.constant(row)
        return (self._numbers(value), ATOM) if self.shapes[row] else self.text.number(value)

    def _numbers(self, values: Any) -> str:
        """The name of an array of constants."""
        flat = np.asarray(values, dtype=np.float64).ravel().tolist()
        return self.shelf.table(self.text.type, [self.text.number(x)[0] for x in flat])

    def _number(self, row: ProgramRow) -> None:
        operands = self.program.operands[row]
        piece = self.text.piece(self.program, row, [self.elements.pieces[o] for o in operands])
        reads = self.elements.read_by(row)
        labels = self.program.names.get(row, ())
        alone = self._uses[row] == 1 and row in self._results
        shown = self.readable and labels and not (alone and labels[0] in self._targets)
        if shown or self._uses[row] > 1 or len(piece[0]) > LONGEST or row in self._feeds:
            self._assign(row, piece, reads)
        else:
            self.elements.keep(piece, reads)

    def _assign(self, row: ProgramRow, piece: Piece, reads: Reads) -> None:
        """A number gets a name."""
        type_ = self.text.kind(self.program, row)
        name = self._name(row)
        self.values[row] = Value(name, type_)
        line = f"const {type_} {name} = {piece[0]};"
        self._add(Statement([line], (row,), reads=reads), self._note(row), row)
        self.elements.keep((name, ATOM), frozenset((row,)))

    def _name(self, row: ProgramRow) -> str:
        labels = self.program.names.get(row)
        return self.names.of(labels[0]) if labels else self.names.numbered("t")

    def _note(self, row: ProgramRow) -> str:
        labels = self.program.names.get(row)
        return self.notes.get(labels[0], "") if labels else ""

    def _add(self, statement: Statement, note: str = "", row: ProgramRow | None = None) -> None:
        """Appends a statement, with the heading before it and the rule behind it or above it."""
        if self._open is not None and (self.readable or self._open.is_read(statement.reads)):
            self._close()  # else it may stand before the loop
        if row is not None and self._is_headed(row):
            reached = [first for first in self._coming if self.program.origin[row] >= first]
            statement.above.append(comment(self.headings[reached[-1]].lstrip("# ")))
            del self._coming[: len(reached)]
        if note and len(statement.lines) == 1:
            *above, statement.lines[0] = _noted(statement.lines[0], note)
            statement.above += above
        elif note:
            statement.above.append(comment(note))
        self.found.append(statement)

    def _is_headed(self, row: ProgramRow) -> bool:
        """Whether a heading comes before what computes a row."""
        return bool(self._coming) and self.program.origin[row] >= self._coming[0]

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
        texts = [bracket(self.elements.pieces[operand], ATOM) for operand in operands]
        shapes = [self.shapes[operand] for operand in operands]
        variables = [Variable(*pair) for pair in zip(texts, shapes, strict=True)]
        for name, text in operation.definitions.get("loops", {}).items():
            self.shelf.definitions.setdefault(name, self.shelf.tongue.written(text))
        reads = self.elements.read_by(row)
        statement = Statement([], (row,), reads=reads)
        value = self._array(row) if self.shapes[row] else Value(self._name(row), self.text.type)
        lines = Lines(self.shelf, self.names, statement)
        result = Variable(value.name, self.shapes[row])
        text = operation.loops(lines, result, variables, self.program.settings(row))
        if text != value.name and not statement.lines and not statement.scratch:
            self.values.pop(row, None)  # the memory of an operand, or an element of it
            shown = self.readable and row in self.program.names
            if not self.shapes[row] and (shown or row in self._feeds):
                self._assign(row, (text, ATOM), reads)
                return
            if shown:
                said = comment(f"{value.name} is {text.strip('()')}")
                self._add(Statement([said]), self._note(row), row)
            self.elements.keep((text, ATOM), reads)
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
        self._add(statement, self._note(row), row)
        self.elements.keep((value.name, ATOM), frozenset((row,)))

    def _elements(self, row: ProgramRow) -> None:
        """A function element by element: inside the loop of its only reader, or a loop."""
        reads = self.elements.read_by(row)
        if self._stands_inside(row):
            self.elements.inside.add(row)
            self.elements.keep(("", ATOM), reads)
            return
        value, shape = self._array(row), self.shapes[row]
        if self.elements.is_flat(row):
            self._come(math.prod(shape), Line(row), reads)
            self.elements.keep((value.name, ATOM), frozenset((row,)))
            return
        at = axes_names(len(shape))
        whole = place(at, shape)
        body = f"{value.name}[{whole}] = {self.elements.formula(row, at)[0]};"
        loops = self._loop(list(zip(at, shape, strict=True)), body)
        self._added(row, Statement(loops, (row,), reads=reads))

    # Loops over elements that several rows share.

    def _come(
        self, size: int, line: Line, reads: Reads, output: str = "", places: Any = NO_PLACES
    ) -> None:
        """Adds a line to the loop that is open, if it may stand there, or to a new one."""
        headed = not line.target and self._is_headed(line.row)
        if self._open is None or headed or not self._open.takes(size, line, output, places):
            self._close()
            self._open = Loop(self.elements, size)
        self._open.add(line, reads, output, places)

    def _close(self) -> None:
        """Writes the loop that is open."""
        loop, self._open = self._open, None
        if loop is None:
            return
        kept = loop.close(self.values)
        lines = [self.elements.line(line) for line in loop.lines]
        notes = [self._line_note(line) for line in loop.lines]
        homes = {self.values[row].home for row in kept} - {""}
        for row in set(loop.made).difference(kept):
            del self.values[row]
        body, note = lines[0], notes[0]
        if len(lines) > 1:
            noted = zip(lines, notes, strict=True)
            body, note = braced(*(text for pair in noted for text in _noted(*pair))), ""
        statement = Statement(
            self._loop([("i", loop.size)], body),
            tuple(kept),
            reads=loop.reads - self.elements.passing,
            outputs=frozenset(homes | loop.filled.keys()),
        )
        self._add(statement, note, loop.made[0] if loop.made else None)

    def _line_note(self, line: Line) -> str:
        told = line.target and line.row in self.values  # where it was computed
        return "" if told else self._note(line.row)

    def _loop(self, loops: Loops, body: str) -> list[str]:
        return self.shelf.tongue.written(nested(loops, body)).split("\n")

    def _stands_inside(self, row: ProgramRow) -> bool:
        """Whether the loop that reads a row, and only it, can compute its elements."""
        if self._uses[row] != 1 or (self.readable and row in self.program.names):
            return False
        if row in self._results:
            inside = row in self._scattered and self.elements.is_flat(row)
        else:
            reader = self._reader[row]
            alike = self.shapes[reader] == self.shapes[row]
            inside = self.program.ops[reader] in FUNCTIONS and alike
        return inside and len(self.elements.formula(row)[0]) <= LONGEST

    # Results.

    def _start(self, output: Output) -> None:
        """Lines that write what stands in a result before any row."""
        if output.constant is None:
            return
        alike = np.ptp(output.constant) == 0
        source = (
            self.text.number(output.constant[0])[0]
            if alike
            else f"{self._numbers(output.constant)}[i]"
        )
        lines = self._loop([("i", output.size)], f"{output.name}[i] = {source};")
        self._add(Statement(lines, outputs=frozenset((output.name,))))

    def _deliver(self, output: Output, block: Block | Scattered) -> None:
        """Lines that put a row in its place in a result."""
        row, name = block.row, output.name
        value = self.values.get(row)
        if value is not None and value.home == name:
            return
        text, shape = self.elements.pieces[row][0], self.shapes[row]
        if isinstance(block, Scattered):
            self._scatter(name, block)
            return
        if not output.shape:
            lines = [f"*{name} = {text};"]
        elif not shape and block.size == 1:
            lines = [f"{name}[{block.start}] = {text};"]
        elif block.height == 1 or block.width == block.stride:
            to = f"{block.start} + i" if block.start else "i"
            self._come(block.size, Line(row, f"{name}[{to}] ="), self.elements.reads[row], name)
            return
        else:
            source = f"{text}[i0 * {block.width} + i1]" if shape else text
            to = f"{block.start} + " * bool(block.start) + f"i0 * {block.stride} + i1"
            loops = [("i0", block.height), ("i1", block.width)]
            lines = self._loop(loops, f"{name}[{to}] = {source};")
        note = self._note(row) if value is None else ""
        statement = Statement(lines, reads=self.elements.reads[row], outputs=frozenset((name,)))
        self._add(statement, note)

    def _scatter(self, name: str, block: Scattered) -> None:
        """A line of a loop over the elements of a row, each of which has its place."""
        index = chosen(block.places)
        if isinstance(index, Slice):
            to = f"{index.start} + " * bool(index.start)
            to += f"{index.step} * i" if index.step != 1 else "i"
        else:
            to = f"{self.shelf.table('int', list(map(str, index.array.tolist())))}[i]"
        line = Line(block.row, f"{name}[{to}] {'+=' if block.adds else '='}")
        reads = self.elements.reads[block.row]
        self._come(len(block.places), line, reads, name, block.places)


def _noted(line: str, note: str) -> list[str]:
    """A line with the rule behind it, or above it."""
    if not note:
        return [line]
    shown = comment(note)
    return [f"{line} {shown}"] if len(line) + len(shown) < 82 else [shown, line]


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

    def part(self, whole: Variable, start: int, size: int) -> str:
        return f"({whole.text} + {start})" if start else whole.text
