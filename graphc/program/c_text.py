"""Operations on numbers as C: the same text for C, C++ and CUDA.

Functions come from the table: their names in C, or code for what C has no function for. Every
number of a float32 program is a float, so that nothing is computed in double by accident.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..algebra.exact import as_float
from ..algebra.rewrites import STRENGTH, UNITS, Rule, Table
from ..errors import GraphcError
from ..structure.rows import NO_SETTINGS, Settings
from ..table.functions import FUNCTIONS, Function
from ..table.matrix_form import ATOM, Piece, bracket
from ..table.tensors import Operation
from .c_names import CNames
from .passes import FOLD, FOLD_ALL, stable
from .program import Program, ProgramRow

TYPES = {"float64": "double", "float32": "float"}
LONGEST = 88  # characters of an expression, before a part of it gets a name of its own
CHOICE = -1  # binding of ?:, which everything else binds more tightly than


def _pairwise(op: str) -> Rule:
    """max(a, b, c) as max(max(a, b), c)."""

    def rule(program: Program, args: Sequence[ProgramRow], settings: Settings) -> ProgramRow | None:
        if len(args) <= 2:
            return None
        inner = program.apply(op, args[:-1], NO_SETTINGS)
        return program.apply(op, (inner, args[-1]), NO_SETTINGS)

    return rule


def _has(record: Function | Operation) -> bool:
    return "c" in record.native or (isinstance(record, Function) and "c" in record.code)


def _pairs() -> Table:
    return {op: (_pairwise(op),) for op, record in FUNCTIONS.items() if record.variadic}


def passes() -> tuple[Table, ...]:
    """The rewrites before printing: composed functions as what they are made of."""
    return passes_for(_has)


def passes_for(has: Callable[[Function | Operation], bool]) -> tuple[Table, ...]:
    """The rewrites for one value at a time, where these functions are known."""
    return (stable(has), _pairs(), FOLD_ALL, STRENGTH, UNITS)


def readable_passes() -> tuple[Table, ...]:
    """The rewrites before printing code that is read: composed functions are called by name."""
    composed = stable(lambda record: isinstance(record, Function) or _has(record))
    return (composed, _pairs(), FOLD, STRENGTH, UNITS)


def is_composed(op: str) -> bool:
    """Whether C has neither a function nor code for it, but its record has a formula."""
    record = FUNCTIONS.get(op)
    return record is not None and not _has(record) and bool(record.formula or record.stable)


class CText:
    """How operations are written in C for one dtype.

    `function_name` gives the name of the function that stands for a composed one; `own_call`, if
    there is one, the call of a function of ours instead of C's.
    """

    def __init__(self, dtype: str = "float64", function_name: Callable[[str], str] = str) -> None:
        self.dtype = dtype
        self.type = TYPES[dtype]
        self.function_name = function_name
        self.own_call: Callable[[str, Sequence[str]], str | None] | None = None
        self._end = "f" if dtype == "float32" else ""

    def number(self, value: Any) -> Piece:
        """A literal with enough digits to be read back as the same number."""
        number = float(as_float(value))
        if self.dtype == "float32":
            with np.errstate(over="ignore"):
                number = float(np.float32(number))
        if math.isnan(number):
            return f"0.0{self._end} / 0.0{self._end}", 2
        sign = "-" * (math.copysign(1, number) < 0)
        if math.isinf(number):
            return f"{sign}1.0{self._end} / 0.0{self._end}", 2
        digits = str(np.float32(abs(number))) if self._end else repr(abs(number))
        if "." not in digits and "e" not in digits:
            digits += ".0"
        return f"{sign}{digits}{self._end}", 3 if sign else ATOM

    def call(self, name: str, *texts: str) -> Piece:
        return f"{name}{self._end}({', '.join(texts)})", ATOM

    def piece(self, program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
        """One row on the texts of its operands."""
        op, settings = program.ops[row], program.settings(row)
        if op == "const":
            return self.number(settings["value"])
        if op == "pi":
            return self.number(math.pi)
        record = FUNCTIONS.get(op)
        if record is None:
            raise GraphcError(f"{op!r} is an operation on tensors, which C code for points has not")
        texts = [piece[0] for piece in pieces]
        if op == "power":
            texts.append(self.number(settings["exponent"])[0])
        ours = self.own_call(op, texts) if self.own_call is not None else None
        if ours is not None:
            return ours, ATOM
        if op == "power":
            return self.call("pow", *texts)
        if op == "pow":
            return self.call("pow", *texts)
        if op == "neg":
            return f"-{bracket(pieces[0], 4)}", 3
        if op in ("identity", "stop"):
            return pieces[0]
        if is_composed(op):
            return f"{self.function_name(op)}({', '.join(texts)})", ATOM
        if "c" in record.code:
            names = dict(zip(record.parameters, (bracket(p, 4) for p in pieces), strict=True))
            code = record.code["c"].format(**names)
            return (code, CHOICE) if "?" in code or record.origin == "user" else (code, 2)
        if record.infix:
            left = bracket(pieces[0], record.binding or 1)
            return f"{left} {record.infix} {bracket(pieces[1], record.binding + 1)}", record.binding
        return self.call(record.native["c"], *texts)

    def kind(self, program: Program, row: ProgramRow) -> str:
        """The type of a variable for this row."""
        return "bool" if program.is_condition(row) else self.type


@cache
def _repeated(code: str) -> frozenset[str]:
    """The parameters that stand in a code more than once."""
    fields = [field for _, field, _, _ in string.Formatter().parse(code) if field]
    return frozenset(field for field in fields if fields.count(field) > 1)


def _repeats(op: str, place: int) -> bool:
    """Whether C code evaluates this operand more than once."""
    record = FUNCTIONS.get(op)
    if record is None or "c" not in record.code:
        return False
    return record.parameters[place] in _repeated(record.code["c"])


def c_statements(
    program: Program, targets: Sequence[tuple[ProgramRow, str]], text: CText, names: CNames
) -> list[str]:
    """Lines of C that compute rows and assign them to their targets, (row, identifier).

    The assignments come last, so that results may share memory with inputs.
    """
    lines, pieces = c_values(program, [row for row, _ in targets], text, names)
    return [*lines, *(f"{target} = {pieces[row][0]};" for row, target in targets)]


def c_values(
    program: Program, wanted: Sequence[int], text: CText, names: CNames
) -> tuple[list[str], list[Piece]]:
    """Lines of C, and the text by which each row goes after them.

    Inputs go by `names`. A value that is used once stands where it is used.
    """
    uses = counted_uses(program, wanted)
    lines: list[str] = []
    pieces: list[Piece] = []
    for row in program.in_order():
        if program.is_leaf(row):
            pieces.append((names.of(program.settings(row)["name"]), ATOM))
            continue
        piece = text.piece(program, row, [pieces[operand] for operand in program.operands[row]])
        plain = program.ops[row] in ("const", "pi") or piece[0].isidentifier()
        if not plain and (uses[row] > 1 or len(piece[0]) > LONGEST):
            known = program.names.get(row)
            name = names.of(known[0]) if known else names.numbered("t")
            lines.append(f"const {text.kind(program, row)} {name} = {piece[0]};")
            piece = name, ATOM
        pieces.append(piece)
    return lines, pieces


def counted_uses(program: Program, wanted: Sequence[int]) -> list[int]:
    """How often the text of each row would stand in the code."""
    uses = program.uses()
    for row in wanted:
        uses[row] += 1
    for operands, op in zip(program.operands, program.ops, strict=True):
        for place, operand in enumerate(operands):
            uses[operand] += _repeats(op, place)
    return uses
