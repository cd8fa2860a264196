"""Program: flat, hash-consed operations. What runs is a rewritten copy of what was declared.

A Builder appends; asking for the same operation on the same operands twice gives the same row. The
rewrites of rewrites.py act while a row is appended, so every pass is a table of small rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ..algebra.rules import Algebra
from ..shapes import Shape, broadcast
from ..structure.structure import LEAVES, Structure, ancestors
from ..table.functions import FUNCTIONS
from ..table.tensors import OPERATIONS

Settings = dict[str, Any]
Rule = Callable[["Builder", Sequence[int], Settings], "int | None"]
NO_SETTINGS: Settings = {}


@dataclass
class Program:
    """Operations in an order in which they can run."""

    ops: list[str] = field(default_factory=list)
    operands: list[tuple[int, ...]] = field(default_factory=list)
    settings: list[Settings] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    names: dict[int, list[str]] = field(default_factory=dict)  # row -> the nodes it is
    origin: list[int] = field(default_factory=list)  # the row of the graph it was made for

    def __len__(self) -> int:
        return len(self.ops)

    def is_leaf(self, row: int) -> bool:
        """Whether the value comes from outside."""
        return self.ops[row] in LEAVES

    def arguments(self) -> list[str]:
        """The names of the values that come from outside, in order."""
        return [self.settings[row]["name"] for row in range(len(self)) if self.is_leaf(row)]

    def number(self, row: int) -> Any:
        """The exact or float number that a row holds, or None."""
        if self.ops[row] != "const":
            return None
        value = self.settings[row]["value"]
        return value if isinstance(value, (int, Fraction, float)) else None

    def uses(self) -> list[int]:
        """How often each row is an operand."""
        counts = [0] * len(self.ops)
        for operands in self.operands:
            for row in operands:
                counts[row] += 1
        return counts

    def is_condition(self, row: int) -> bool:
        """Whether a row is a comparison."""
        op = self.ops[row]
        return op in FUNCTIONS and FUNCTIONS[op].binding == 0

    def looks_at(self, row: int) -> tuple[int, ...]:
        """The operands whose memory the value of a row may share."""
        op, operands = self.ops[row], self.operands[row]
        if op in OPERATIONS:
            return operands[:1] if OPERATIONS[op].looks(self.settings[row]) else ()
        return operands if op in FUNCTIONS and FUNCTIONS[op].looks else ()

    def operations(self) -> int:
        """The number of operations."""
        return sum(1 for op in self.ops if op not in LEAVES and op not in ("const", "size", "pi"))


class Builder:
    """Appends rows to a program: the algebra of program values, hash-consed and rewritten."""

    def __init__(
        self,
        rules: Iterable[Mapping[str, Rule]] = (),
        share: bool = True,
        keep_names: bool = False,
    ) -> None:
        self.program = Program()
        self._keep_names = keep_names  # no rule looks inside a node: it stays a statement
        self._rules: dict[str, list[Rule]] = {}
        for table in rules:
            for op, rule in table.items():
                self._rules.setdefault(op, []).append(rule)
        self._known: dict[Any, int] = {}
        self._share = share
        self.origin = -1

    def constant(self, value: Any) -> int:
        return self.append("const", (), {"value": value})

    def number(self, row: int) -> Any:
        return self.program.number(row)

    def op(self, row: int) -> str:
        return self.program.ops[row]

    def inside(self, row: int, op: str) -> tuple[int, ...]:
        """The operands of a row of this operation; nothing for other rows."""
        if self.program.ops[row] != op or (self._keep_names and row in self.program.names):
            return ()
        return self.program.operands[row]

    def existing(self, op: str, operands: tuple[int, ...]) -> int | None:
        """The row of an operation without settings, if the program has it already."""
        return self._known.get((op, operands))

    def apply(self, op: str, args: Sequence[int], settings: Settings) -> int:
        """The row of an operation, in its simplest form."""
        for rule in self._rules.get(op, ()):
            found = rule(self, args, settings)
            if found is not None:
                return found
        return self.append(op, tuple(args), settings)

    def append(self, op: str, operands: tuple[int, ...], settings: Settings) -> int:
        """The row of an operation as it is; an equal one that exists already is taken."""
        key = (op, operands, *((k, _hashable(v)) for k, v in settings.items()))
        known = self._known.get(key) if self._share else None
        if known is not None:
            return known
        program = self.program
        program.ops.append(op)
        program.operands.append(operands)
        program.settings.append(settings)
        program.shapes.append(self._shape(op, operands, settings))
        program.origin.append(self.origin)
        self._known[key] = row = len(program.ops) - 1
        return row

    def _shape(self, op: str, operands: tuple[int, ...], settings: Settings) -> Shape:
        if op == "const":
            return np.shape(settings["value"]) if hasattr(settings["value"], "shape") else ()
        if op in LEAVES:
            return tuple(settings["shape"])
        shapes = [self.program.shapes[operand] for operand in operands]
        if op in OPERATIONS:
            return OPERATIONS[op].shape(shapes, settings, [""] * len(shapes))
        return broadcast(shapes, op, [""] * len(shapes)) if any(shapes) else ()


def _hashable(value: Any) -> Any:
    """A setting as part of a key: 1 and 1.0 are told apart, arrays are compared by content."""
    if isinstance(value, np.ndarray):
        content = tuple(map(_hashable, value.flat)) if value.dtype == object else value.tobytes()
        return (value.shape, str(value.dtype), content)
    if isinstance(value, (int, float, Fraction, str)):
        return (type(value), repr(value) if isinstance(value, float) else value)
    try:
        hash(value)
    except TypeError:
        return id(value)
    return (type(value), value)


def lower(
    graph: Structure,
    wanted: Sequence[int],
    rules: Iterable[Mapping[str, Rule]],
    share: bool = True,
    keep_names: bool = False,
) -> tuple[Program, dict[int, int]]:
    """The program that computes rows of a graph, and where each of them is in it."""
    builder = Builder(rules, share, keep_names)
    place: dict[int, int] = {}
    for row in ancestors(graph, wanted):
        op, settings = graph.ops[row], graph.settings(row)
        builder.origin = row
        if op in LEAVES:
            found = builder.append(op, (), {"name": graph.names[row], "shape": graph.shape(row)})
        elif op == "const":
            found = builder.constant(settings["value"])
        else:
            found = builder.apply(op, [place[o] for o in graph.operands[row]], settings)
        if row in graph.names and builder.op(found) == "const":
            # a node does not lend its name to equal numbers
            value = builder.program.settings[found]["value"]
            found = builder.append("const", (), {"value": value, "node": graph.names[row]})
        place[row] = found
        if row in graph.names:
            builder.program.names.setdefault(found, []).append(graph.names[row])
    return _alive(builder.program, {row: place[row] for row in wanted})


def _alive(program: Program, wanted: dict[int, int]) -> tuple[Program, dict[int, int]]:
    """The program without the rows that nothing needs."""
    needed = ancestors(program, wanted.values())
    place = {row: i for i, row in enumerate(needed)}
    alive = Program(
        [program.ops[row] for row in needed],
        [tuple(place[o] for o in program.operands[row]) for row in needed],
        [program.settings[row] for row in needed],
        [program.shapes[row] for row in needed],
        {place[row]: names for row, names in program.names.items() if row in place},
        [program.origin[row] for row in needed],
    )
    return alive, {asked: place[row] for asked, row in wanted.items()}


def evaluate(program: Program, algebra: Algebra, given: Mapping[str, Any]) -> list[Any]:
    """The value of every row in an algebra: exact numbers, 50-digit numbers, floats, symbols."""
    values: list[Any] = []
    for op, operands, settings in zip(program.ops, program.operands, program.settings, strict=True):
        if op in LEAVES:
            values.append(given[settings["name"]])
        elif op == "const":
            values.append(algebra.constant(settings["value"]))
        else:
            values.append(algebra.apply(op, [values[o] for o in operands], settings))
    return values
