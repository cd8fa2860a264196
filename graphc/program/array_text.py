"""One operation as array code: NumPy's text, from which CuPy's differs by its namespace alone.

A piece is a text and how tightly it binds, as in matrix_form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ..algebra.exact import as_float
from ..shapes import Shape, Size
from ..structure.rows import LEAVES
from ..table.functions import FUNCTIONS, Function
from ..table.matrix_form import ATOM, Piece, bracket
from ..table.tensors import OPERATIONS, Site
from .library import Library
from .program import Program, ProgramRow

# a row on the texts of its operands
Writer = Callable[[Program, ProgramRow, Sequence[Piece]], Piece]
SHORT = 12  # elements of an array that is read at a glance


@dataclass
class ArrayText:
    """How operations are written for one library and one dtype; remembers what they need."""

    library: Library
    dtype: str = "float64"
    size_name: Callable[[str], str] = str  # the variable that holds a named size
    function_name: Callable[[str], str] = str  # the function of the module for one of ours
    constant_name: Callable[[], str] | None = None  # a name for a constant array of the module
    constants: dict[str, str] = field(default_factory=dict)  # text of a constant array -> its name
    preamble: list[str] = field(default_factory=list)  # lines before the functions
    functions: dict[str, int] = field(default_factory=dict)  # functions to define -> operands
    exact_fractions: bool = True  # 1 / 3 rather than 0.3333333333333333
    short: int = SHORT  # elements of a constant array that is written where it is used
    imports: set[str] = field(default_factory=set)  # lines, besides that of the array library
    given: dict[str, Any] = field(default_factory=dict)  # objects that the text mentions, by name
    _constant: tuple[Program, list[bool]] | None = None
    _writers: dict[str, Writer] = field(default_factory=dict)  # of the operations met so far

    @property
    def namespace(self) -> str:
        return self.library.namespace

    def call(self, name: str, *texts: str) -> Piece:
        """A call of a function of the array library."""
        if name in self.library.lacks:
            return self.own(name, *texts)
        place, _, last = name.rpartition(".")
        if place in self.library.beside:
            found = self.function_name(last)
            self.imports.add(f"from {place} import {last}" + f" as {found}" * (found != last))
            return f"{found}({', '.join(texts)})", ATOM
        return f"{self.namespace}.{name}({', '.join(texts)})", ATOM

    def own(self, name: str, *texts: str) -> Piece:
        """A call of a function that the module defines."""
        self.functions.setdefault(name, len(texts))
        return f"{self.function_name(name)}({', '.join(texts)})", ATOM

    def number(self, value: Any) -> Piece:
        """A number as a literal."""
        if isinstance(value, Fraction) and value.denominator == 1:
            value = value.numerator
        if isinstance(value, int) and abs(value) < 1 << 53:
            return (str(value), ATOM) if value >= 0 else (str(value), 3)
        if isinstance(value, Fraction) and self.exact_fractions and _is_plain(value):
            return f"{value.numerator} / {value.denominator}", 2
        number = float(as_float(value))
        if math.isnan(number):
            return f"{self.namespace}.nan", ATOM
        if math.isinf(number):
            return f"{'-' * (number < 0)}{self.namespace}.inf", 3 if number < 0 else ATOM
        return repr(number), ATOM if math.copysign(1, number) > 0 else 3

    def literal(self, value: Any) -> str:
        """A number of the program's dtype, where a bare number would be float64."""
        text = self.number(value)[0]
        if self.dtype == "float64":
            return text if not isinstance(value, int) else f"{text}.0"
        return f"{self.namespace}.{self.dtype}({text})"

    def array(self, value: Any) -> str:
        """A constant array."""
        floats = np.asarray(as_float(value), dtype=np.float64)
        if not floats.size:  # an empty list has lost its shape
            dtype = f"dtype={self.namespace}.{self.dtype}"
            return self.call("zeros", self.shape(floats.shape), dtype)[0]
        listed = repr(floats.tolist()).replace("inf", f"{self.namespace}.inf")
        text = f"{self.namespace}.array({listed}, dtype={self.namespace}.{self.dtype})"
        return self.held(text) if floats.size > self.short else text

    def held(self, text: str) -> str:
        """A constant that the module makes once, by its name."""
        if self.constant_name is None:
            return text
        if text not in self.constants:
            self.constants[text] = self.constant_name()
        return self.constants[text]

    def shape(self, shape: Shape) -> str:
        """A shape; named sizes are variables."""
        inner = ", ".join(self.size(size) for size in shape)
        return f"({inner},)" if len(shape) == 1 else f"({inner})"

    def size(self, size: Size) -> str:
        return str(size) if isinstance(size, int) else self.size_name(size)

    # Operations.

    def piece(self, program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
        """One row on the texts of its operands."""
        op = program.ops[row]
        written = self._writers.get(op)
        if written is None:
            written = self._writers[op] = self._writer(op)
        return written(program, row, pieces)

    def _writer(self, op: str) -> Writer:
        """How one operation is written, whatever its operands."""
        if op in OPERATIONS:
            return self.operation
        if op in SPECIAL:
            return partial(SPECIAL[op], self)
        record = FUNCTIONS[op]
        native = self.library.native(record)
        defined = native is None and op in record.definitions.get("numpy", ())
        if record.infix and not defined:
            return _infix(record)
        if self.library.name in record.code:
            return _in_code(record, record.code[self.library.name])

        def called(program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
            found = pieces[0][0]
            if native is None:
                found = self.own(op, *[piece[0] for piece in pieces])[0]
            elif len(pieces) == 1:
                found = self.call(native, found)[0]
            else:
                for text, _ in pieces[1:]:
                    found = self.call(native, found, text)[0]
            if self.dtype != "float64" and self.is_constant(program, row):
                return self.call(self.dtype, found)  # a function of bare numbers gives float64
            return found, ATOM

        return called

    def is_constant(self, program: Program, row: ProgramRow) -> bool:
        """Whether a value depends on no argument."""
        if self._constant is None or self._constant[0] is not program:
            found: list[bool] = []
            for op, operands in zip(program.ops, program.operands, strict=True):
                found.append(op not in LEAVES and all(found[operand] for operand in operands))
            self._constant = program, found
        return self._constant[1][row]

    def operation(self, program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
        """A tensor operation, as its record has it."""
        return OPERATIONS[program.ops[row]].array_text(self, site(program, row), pieces)


# Functions that are neither infix nor called.


def _constant(text: ArrayText, program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
    value = program.settings(row)["value"]
    return (text.array(value), ATOM) if np.shape(value) else text.number(value)


def _size(text: ArrayText, program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
    return text.size(program.settings(row)["size"]), ATOM


def _pi(text: ArrayText, program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
    return f"{text.namespace}.pi", ATOM


def _power(text: ArrayText, program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
    exponent, binding = text.number(program.settings(row)["exponent"])
    simple = pieces[0][1] >= 8 and pieces[0][0].isidentifier() and binding >= 3
    tight = "**" if simple else " ** "
    right = exponent if binding >= 3 else f"({exponent})"
    return f"{bracket(pieces[0], 5)}{tight}{right}", 4


def _pow(text: ArrayText, program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
    return f"{bracket(pieces[0], 5)} ** {bracket(pieces[1], 4)}", 4


def _negative(text: ArrayText, program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
    return f"-{bracket(pieces[0], 3)}", 3


def _itself(text: ArrayText, program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
    return pieces[0]


def _choice(text: ArrayText, program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
    texts = [piece[0] for piece in pieces]
    both = [program.number(operand) for operand in program.operands[row][1:]]
    if None not in both:  # two bare numbers would be float64
        texts[1:] = [text.literal(number) for number in both]
    if text.is_constant(program, program.operands[row][0]):  # a bool is no array
        texts[0] = text.call("asarray", texts[0])[0]
    return text.call("where", *texts)


SPECIAL: Mapping[str, Callable[[ArrayText, Program, ProgramRow, Sequence[Piece]], Piece]] = {
    "const": _constant,
    "size": _size,
    "pi": _pi,
    "power": _power,
    "pow": _pow,
    "neg": _negative,
    "identity": _itself,
    "stop": _itself,
    "where": _choice,
}


def _infix(record: Function) -> Writer:
    """An operator between its two operands."""
    sign, binding = record.infix, record.binding
    least = binding or 1

    def written(program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
        (left, tight), (right, tighter) = pieces
        if tight < least:
            left = f"({left})"
        if tighter <= binding:
            right = f"({right})"
        return f"{left} {sign} {right}", binding

    return written


def _in_code(record: Function, code: str) -> Writer:
    """The code that a record has for the library."""
    ours = record.origin == "graphc"  # whose code needs no brackets around its operands

    def written(program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
        inside = [piece[0] if ours else bracket(piece, ATOM) for piece in pieces]
        names = dict(zip(record.parameters, inside, strict=False))
        found = code.format(**names)
        return (found if ours else f"({found})"), ATOM

    return written


def site(program: Program, row: ProgramRow) -> Site:
    """Where a tensor operation stands in a program."""
    return Site(
        settings=program.settings(row),
        shapes=[program.shape(operand) for operand in program.operands[row]],
        shape=program.shape(row),
    )


def _is_plain(value: Fraction) -> bool:
    """Whether a fraction reads best as one: 1/3, but not 3/10, which is 0.3."""
    decimal = any((value * 10**digits).denominator == 1 for digits in range(1, 7))
    return not decimal and max(abs(value.numerator), value.denominator) < 10**6
