"""Program: what runs, a shared and rewritten copy of what was declared.

Asking for the same operation on the same operands twice gives the same row. The rules of
algebra/rewrites.py act while a row is appended, so every pass is a table of small rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NewType

import numpy as np

from ..algebra.rewrites import Rule, Table, simplified
from ..shapes import Shape
from ..structure.reach import ancestors
from ..structure.rows import LEAVES, Column, GraphRow, Key, Rows, Settings, interpret, row_key
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..table.tensors import OPERATIONS, Algebra

ProgramRow = NewType("ProgramRow", int)
NOWHERE = GraphRow(-1)  # the origin of rows that were made for no row of a graph
NO_OPERATION = frozenset((*LEAVES, "const", "size", "pi"))


class Program(Rows[ProgramRow]):
    """Operations in an order in which they can run; as an algebra it shares and rewrites."""

    def __init__(
        self,
        rules: Iterable[Table] = (),
        share: bool = True,
        keep_names: bool = False,
    ) -> None:
        super().__init__()
        self.names: dict[ProgramRow, list[str]] = {}  # row -> the nodes it is
        # the row of the graph that each was made for, and that rows are made for now
        self.origin: Column[ProgramRow, GraphRow] = []
        self.making = NOWHERE
        self._keep_names = keep_names  # no rule looks inside a node: it stays a statement
        self._rules: dict[str, tuple[Rule, ...]] = {}
        for table in rules:
            for op, ordered in table.items():
                self._rules[op] = (*self._rules.get(op, ()), *ordered)
        self._known: dict[Key, ProgramRow] = {}
        self._share = share

    def __len__(self) -> int:
        return len(self.ops)

    # Appending.

    def constant(self, value: Any) -> ProgramRow:
        return self.shared("const", (), {"value": value})

    def apply(self, op: str, args: Sequence[ProgramRow], settings: Settings) -> ProgramRow:
        """The row of an operation, in its simplest form."""
        found = simplified(self, self._rules, op, args, settings)
        return self.shared(op, tuple(args), settings) if found is None else found

    def shared(self, op: str, operands: tuple[ProgramRow, ...], settings: Settings) -> ProgramRow:
        """The row of an operation as it is; an equal one that exists already is taken."""
        key = row_key(op, operands, settings)
        known = self._known.get(key) if self._share else None
        if known is not None:
            return known
        shaped = self.shapes or not operands or op in OPERATIONS
        shape = self._shape(op, operands, settings) if shaped else ()
        self._known[key] = row = self.coming
        self.ops.append(op)
        self.operands.append(operands)
        self.origin.append(self.making)
        if settings:
            self.attributes[row] = settings
        if shape:
            self.shapes[row] = shape
        return row

    def _shape(self, op: str, operands: tuple[ProgramRow, ...], settings: Settings) -> Shape:
        if op == "const":
            return np.shape(settings["value"]) if hasattr(settings["value"], "shape") else ()
        if op in LEAVES:
            return tuple(settings["shape"])
        return self.shape_after(op, operands, settings, [""] * len(operands))

    # Reading.

    def number(self, row: ProgramRow) -> Any:
        """The exact or float number that a row holds, or None."""
        if self.ops[row] != "const":
            return None
        value = self.attributes[row]["value"]
        return value if isinstance(value, (int, Fraction, float)) else None

    def inside(self, row: ProgramRow, op: str) -> tuple[ProgramRow, ...]:
        """The operands of a row of this operation; nothing for other rows."""
        if self.ops[row] != op or (self._keep_names and row in self.names):
            return ()
        return self.operands[row]

    def existing(self, op: str, operands: tuple[ProgramRow, ...]) -> ProgramRow | None:
        """The row of an operation without settings, if the program has it already."""
        return self._known.get((op, operands))

    def is_leaf(self, row: ProgramRow) -> bool:
        """Whether the value comes from outside."""
        return self.ops[row] in LEAVES

    def arguments(self) -> list[str]:
        """The names of the values that come from outside, in order."""
        return [self.attributes[row]["name"] for row in self.in_order() if self.is_leaf(row)]

    def uses(self) -> list[int]:
        """How often each row is an operand."""
        counts = [0] * len(self.ops)
        for operands in self.operands:
            for row in operands:
                counts[row] += 1
        return counts

    def looks_at(self, row: ProgramRow) -> tuple[ProgramRow, ...]:
        """The operands whose memory the value of a row may share."""
        op, operands = self.ops[row], self.operands[row]
        if op in OPERATIONS:
            return operands[:1] if OPERATIONS[op].looks(self.settings(row)) else ()
        return operands if op in FUNCTIONS and FUNCTIONS[op].looks else ()

    def operations(self) -> int:
        """The number of operations."""
        return sum(1 for op in self.ops if op not in NO_OPERATION)

    def alive(self, wanted: Iterable[ProgramRow]) -> tuple[Program, dict[ProgramRow, ProgramRow]]:
        """The program of the rows that these need, and where each of them is in it."""
        needed = ancestors(self, wanted)
        kept = Program()
        kept.ops = [self.ops[row] for row in needed]
        place = dict(zip(needed, kept.in_order(), strict=True))
        kept.operands = [tuple([place[o] for o in self.operands[row]]) for row in needed]
        kept.attributes = {place[r]: s for r, s in self.attributes.items() if r in place}
        kept.shapes = {place[r]: s for r, s in self.shapes.items() if r in place}
        kept.names = {place[r]: names for r, names in self.names.items() if r in place}
        kept.origin = [self.origin[row] for row in needed]
        return kept, place


def lower(
    graph: Structure,
    wanted: Sequence[GraphRow],
    rules: Iterable[Table],
    share: bool = True,
    keep_names: bool = False,
) -> tuple[Program, dict[GraphRow, ProgramRow]]:
    """The program that computes rows of a graph, and where each of them is in it."""
    program = Program(rules, share, keep_names)
    place: dict[GraphRow, ProgramRow] = {}
    names = graph.names
    for row in ancestors(graph, wanted):
        op, settings = graph.ops[row], graph.settings(row)
        program.making = row
        if op in LEAVES:
            found = program.shared(op, (), {"name": graph.names[row], "shape": graph.shape(row)})
        elif op == "const":
            found = program.constant(settings["value"])
        else:
            found = program.apply(op, [place[o] for o in graph.operands[row]], settings)
        if row in names:
            if program.ops[found] == "const":  # a node does not lend its name to equal numbers
                value = program.attributes[found]["value"]
                found = program.shared("const", (), {"value": value, "node": names[row]})
            program.names.setdefault(found, []).append(names[row])
        place[row] = found
    alive, moved = program.alive(place[row] for row in wanted)
    return alive, {row: moved[place[row]] for row in wanted}


def evaluate(program: Program, algebra: Algebra, given: Mapping[str, Any]) -> list[Any]:
    """The value of every row in an algebra: exact numbers, 50-digit numbers, floats, symbols."""
    values: list[Any] = [None] * len(program)
    for row in program.in_order():
        if program.is_leaf(row):
            values[row] = given[program.attributes[row]["name"]]
    computed = (row for row in program.in_order() if not program.is_leaf(row))
    interpret(program, computed, algebra, values)
    return values
