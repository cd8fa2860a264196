"""One operation as array code: NumPy's text, from which CuPy's differs by its namespace alone.

A piece is a text and how tightly it binds, as in matrix_form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ..algebra.exact import as_float
from ..shapes import Shape, Size
from ..structure.rows import LEAVES
from ..table.arrays import split_spec
from ..table.functions import FUNCTIONS
from ..table.matrix_form import (
    ATOM,
    Form,
    Piece,
    bracket,
    einsum_parts,
    form_of,
    has_gaps,
    listed,
    new_axes,
)
from ..table.tensors import OPERATIONS
from .library import Library
from .program import Program

SHORT = 12  # elements of a constant array that is written where it is used


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
    imports: set[str] = field(default_factory=set)  # lines, besides that of the array library
    _constant: tuple[Program, list[bool]] | None = None

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
        listed = repr(floats.tolist()).replace("inf", f"{self.namespace}.inf")
        text = f"{self.namespace}.array({listed}, dtype={self.namespace}.{self.dtype})"
        return self.held(text) if floats.size > SHORT else text

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

    def piece(self, program: Program, row: int, pieces: Sequence[Piece]) -> Piece:
        """One row on the texts of its operands."""
        op, settings = program.ops[row], program.settings(row)
        if op == "const":
            value = settings["value"]
            return (self.array(value), ATOM) if np.shape(value) else self.number(value)
        if op == "size":
            return self.size(settings["size"]), ATOM
        if op == "pi":
            return f"{self.namespace}.pi", ATOM
        if op in OPERATIONS:
            return self.operation(program, row, pieces)
        return self.function(program, row, pieces)

    def function(self, program: Program, row: int, pieces: Sequence[Piece]) -> Piece:
        """An element-wise function."""
        op, settings = program.ops[row], program.settings(row)
        record, texts = FUNCTIONS[op], [piece[0] for piece in pieces]
        if op == "power":
            exponent, binding = self.number(settings["exponent"])
            simple = pieces[0][1] >= 8 and pieces[0][0].isidentifier() and binding >= 3
            tight = "**" if simple else " ** "
            right = exponent if binding >= 3 else f"({exponent})"
            return f"{bracket(pieces[0], 5)}{tight}{right}", 4
        if op == "pow":
            return f"{bracket(pieces[0], 5)} ** {bracket(pieces[1], 4)}", 4
        if op == "neg":
            return f"-{bracket(pieces[0], 3)}", 3
        if op in ("identity", "stop"):
            return pieces[0]
        if op == "where":
            both = [program.number(o) for o in program.operands[row][1:]]
            if None not in both:  # two bare numbers would be float64
                texts[1:] = [self.literal(number) for number in both]
            if self.is_constant(program, program.operands[row][0]):  # a bool is no array
                texts[0] = self.call("asarray", texts[0])[0]
            return self.call("where", *texts)
        if op in ("ratio_or_0", "product_or_0"):
            return self.own(op, *texts)
        if record.infix:
            left = bracket(pieces[0], record.binding or 1)
            return f"{left} {record.infix} {bracket(pieces[1], record.binding + 1)}", record.binding
        if self.library.name in record.code:
            ours = record.origin == "graphc"  # whose code needs no brackets around its operands
            inside = texts if ours else [bracket(piece, ATOM) for piece in pieces]
            names = dict(zip(record.parameters, inside, strict=False))
            code = record.code[self.library.name].format(**names)
            return (code if ours else f"({code})"), ATOM
        native = self.library.native(record)
        if native is None:
            found = self.own(op, *texts)
        else:
            found = (texts[0], ATOM) if len(texts) > 1 else self.call(native, texts[0])
            for text in texts[1:]:
                found = self.call(native, found[0], text)
        if self.dtype != "float64" and self.is_constant(program, row):
            return self.call(self.dtype, found[0])  # a function of bare numbers gives float64
        return found

    def is_constant(self, program: Program, row: int) -> bool:
        """Whether a value depends on no argument."""
        if self._constant is None or self._constant[0] is not program:
            found: list[bool] = []
            for op, operands in zip(program.ops, program.operands, strict=True):
                found.append(op not in LEAVES and all(found[operand] for operand in operands))
            self._constant = program, found
        return self._constant[1][row]

    def operation(self, program: Program, row: int, pieces: Sequence[Piece]) -> Piece:
        """A tensor operation."""
        op, settings = program.ops[row], program.settings(row)
        texts, shape = [piece[0] for piece in pieces], program.shape(row)
        inner = program.shape(program.operands[row][0])
        if op == "contract":
            return self.contraction(settings["spec"], shape, pieces)
        if op == "reshape":
            return self.call("reshape", texts[0], self.shape(shape))
        if op == "gather":
            return self.gather(pieces[0], inner, settings)
        if op == "scatter":
            return self.scatter(texts[0], shape, settings)
        if op == "largest":
            return self.call("max", texts[0], *self.axis(settings["axes"], inner))
        if op in ("inv", "det", "solve"):
            return self.call(f"linalg.{op}", *texts)
        if op == "winner":
            share = ["share=True"] if settings.get("kink") == "share" else []
            return self.own("winner", texts[0], str(settings["axes"]), *share)
        if op in ("logdet", "adjugate", "adjugate_change"):
            return self.own(op, *texts)
        return self.own(op, texts[0], str(settings["axes"]))

    def axis(self, axes: Sequence[int], shape: Shape) -> list[str]:
        """The axis argument of a reduction; nothing where all axes go."""
        if len(axes) == len(shape):
            return []
        return [f"axis={axes[0] if len(axes) == 1 else tuple(axes)}"]

    def contraction(self, spec: str, shape: Shape, pieces: Sequence[Piece]) -> Piece:
        """A contraction: @ and * where they will do, else einsum."""
        operands, out = split_spec(spec)
        sizes = dict(zip(out, shape, strict=True))
        form = form_of(spec, sizes)
        if form is None:
            return self.einsum(operands, out, sizes, pieces)
        if len(operands) == 2:
            return self.pair(form, pieces)
        return self.single(form, shape, pieces[0])

    def pair(self, form: Form, pieces: Sequence[Piece]) -> Piece:
        """A contraction of two operands in matrix form."""

        def tight(place: int, least: int) -> str:
            turned = form.transposed[place]
            text = bracket(pieces[form.order[place]], 8 if turned else least)
            return text + ".T" * turned

        axis = f", axis={form.axes[0] if len(form.axes) == 1 else form.axes}" if form.axes else ""
        table: dict[str, Callable[[], Piece]] = {
            "matmul": lambda: (f"{tight(0, 2)} @ {tight(1, 3)}", 2),
            "product": lambda: (f"{tight(0, 2)} * {tight(1, 3)}", 2),
            "trace_of_product": lambda: self.call("sum", f"{tight(0, 2)} * {tight_t(1)}"),
            "sum_of_product": lambda: self.call("sum", f"{tight(0, 2)} * {tight(1, 3)}{axis}"),
            "rows": lambda: (f"{tight(0, 8)}[:, None] * {tight(1, 3)}", 2),
            "columns": lambda: (f"{tight(0, 2)} * {tight(1, 3)}", 2),
            "outer": lambda: self.call("outer", tight(0, 0), tight(1, 0)),
        }

        def tight_t(place: int) -> str:
            return bracket(pieces[form.order[place]], 8) + ".T"

        return table[form.word]()

    def single(self, form: Form, shape: Shape, piece: Piece) -> Piece:
        """A contraction of one operand: a sum, a transpose, a repetition."""
        text, tight = piece[0], bracket(piece, 8)
        if form.word == "transpose":
            return f"{tight}.T", 8
        if form.word == "sum":
            axis = [f"axis={form.axes[0] if len(form.axes) == 1 else form.axes}"] * bool(form.axes)
            return self.call("sum", text, *axis, *["keepdims=True"] * form.keepdims)
        if form.word == "permute":
            return self.call("transpose", text, str(form.axes))
        dtype = f"dtype={self.namespace}.{self.dtype}"
        if form.word == "eye":
            if text == "1":
                return self.call("eye", self.size(shape[0]), dtype)
            filled = self.call("full", self.size(shape[0]), text, dtype)[0]
            return self.call("diag", filled)  # no product with eye: 0 times infinity is NaN
        if form.word == "full":
            named = {"0": "zeros", "1": "ones"}.get(text)
            if named:
                return self.call(named, self.shape(shape), dtype)
            return self.call("full", self.shape(shape), text, dtype)
        if form.word == "newaxis":
            return f"{tight}[{new_axes(form.axes, len(shape))}]", 8
        if form.word == "repeat":
            first = next(i for i in range(len(shape)) if i not in form.axes)
            inner = [axis - first for axis in form.axes if axis > first]
            thin = f"{tight}[{new_axes(inner, len(shape) - first)}]" if inner else text
            return self.call("broadcast_to", thin, self.shape(shape))
        return self.call(form.word, text)  # diag, trace

    def einsum(
        self, operands: Sequence[str], out: str, sizes: dict[str, Size], pieces: Sequence[Piece]
    ) -> Piece:
        distinct = "".join(dict.fromkeys(out))
        if distinct != out and (
            any(operands) or pieces[0][0] != "1"
        ):  # no product with eye: 0 times infinity is NaN
            core = pieces[0][0]
            if list(operands) != [distinct]:
                shape = tuple(sizes[letter] for letter in distinct)
                core = self.contraction(f"{','.join(operands)}->{distinct}", shape, pieces)[0]
            return self.own("diagonal", core, f'"{distinct}->{out}"')
        words, result, added = einsum_parts(operands, out, sizes)
        texts = [piece[0] for piece in pieces]
        dtype = f"dtype={self.namespace}.{self.dtype}"
        texts += [self.call(name, self.size(size), dtype)[0] for name, size in added]
        if texts[0] == "1" and not words[0] and len(words) > 1:
            words, texts = words[1:], texts[1:]
        spec = f'"{",".join(words)}->{result}"'
        better = ["optimize=True"] if len(words) > 2 or max(map(len, words)) > 2 else []
        return self.call("einsum", spec, *texts, *better)

    # Selections.

    def gather(self, piece: Piece, shape: Shape, settings: dict[str, Any]) -> Piece:
        """Elements along an axis: a slice where that will do."""
        index, axis = settings["index"], settings["axis"]
        place = slice_text(index)
        if place is not None:
            before = ":, " * (len(shape) + axis)
            return f"{bracket(piece, 8)}[{before}{place}]", 8
        if has_gaps(index):
            return self.own("gather", piece[0], self.index(index), f"axis={axis}")
        return self.call("take", piece[0], self.index(index), f"axis={axis}")

    def scatter(self, text: str, shape: Shape, settings: dict[str, Any]) -> Piece:
        """The transpose of gather."""
        index, axis = settings["index"], settings["axis"]
        place = slice_text(index)
        if place is not None:
            before = ":, " * (len(shape) + axis)
            where = f"{self.namespace}.s_[{before}{place}]"
            return self.own("put", text, self.shape(shape), where)
        size = self.size(settings["size"])
        return self.own("scatter", text, self.index(index), size, f"axis={axis}")

    def index(self, index: Any) -> str:
        """An index array; windows by their steps."""
        steps = window_steps(index)
        if steps is not None:
            start, stride, count, step, width = steps
            first = f"{self.namespace}.arange({count})[:, None]"
            first += f" * {stride}" * (stride != 1) + f" + {start}" * bool(start)
            second = f"{self.namespace}.arange({width})" + f" * {step}" * (step != 1)
            return self.held(f"{first} + {second}")
        # an empty list is one of floats
        kind = "" if np.size(index) else f", dtype={self.namespace}.intp"
        return self.held(f"{self.namespace}.array({listed(index)}{kind})")


def slice_text(index: Any) -> str | None:
    """An integer or a slice that names the same places, or None."""
    if isinstance(index, int):
        return str(index)
    if not index:
        return ":0"
    if any(not isinstance(place, int) for place in index) or index[0] < 0:
        return None
    step = index[1] - index[0] if len(index) > 1 else 1
    if step < 1 or index != tuple(range(index[0], index[-1] + 1, step)):
        return None
    return f"{index[0] or ''}:{index[-1] + 1}" + f":{step}" * (step > 1)


def window_steps(index: Any) -> tuple[int, int, int, int, int] | None:
    """(start, stride, windows, step, width) of an index of windows over an axis, or None."""
    if not isinstance(index, tuple) or not index or not isinstance(index[0], tuple):
        return None
    if not index[0] or isinstance(index[0][0], tuple):
        return None
    count, width, start = len(index), len(index[0]), index[0][0]
    stride = index[1][0] - start if count > 1 else 1
    step = index[0][1] - start if width > 1 else 1
    same = all(
        place == start + i * stride + j * step
        for i, window in enumerate(index)
        for j, place in enumerate(window)
    )
    return (start, stride, count, step, width) if same and start >= 0 else None


def _is_plain(value: Fraction) -> bool:
    """Whether a fraction reads best as one: 1/3, but not 3/10, which is 0.3."""
    decimal = any((value * 10**digits).denominator == 1 for digits in range(1, 7))
    return not decimal and max(abs(value.numerator), value.denominator) < 10**6
