"""A program as JavaScript: numbers are numbers, tensors are Float64Arrays of known sizes.

No name of a user stands in the text: values are v0, v1, ... and what comes from outside is whatever
the caller says. So nothing can clash, and nothing can break out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from ....algebra.exact import as_float
from ....errors import GraphcError
from ....shapes import Size, resolve
from ....table.functions import FUNCTIONS
from ....table.loops import Tongue, Variable, axes_names, nested, place
from ....table.tensors import OPERATIONS
from ....table.writing import called
from ...program import Program, ProgramRow

COMPARISONS = {"eq": "===", "ne": "!=="}  # the others are written as in the text form
POWERS: Mapping[Any, str] = {
    2: "{0} * {0}",
    3: "{0} * {0} * {0}",
    -1: "1 / {0}",
    -2: "1 / ({0} * {0})",
    Fraction(1, 2): "Math.sqrt({0})",
    Fraction(-1, 2): "1 / Math.sqrt({0})",
}
TONGUE = Tongue(
    {
        **dict.fromkeys(("real", "whole"), "let "),
        **dict.fromkeys(("function", "procedure"), "function "),
        **dict.fromkeys(("reals", "given", "count"), ""),
        **{"infinity": "Infinity", "nan": "NaN", "abs": "Math.abs", "log": "Math.log"},
    }
)


@dataclass
class Lines:
    """The lines of a program, of which an operation adds some: a LoopWriter."""

    found: list[str] = field(default_factory=list)
    arrays: int = 0  # that operations have asked for

    def add(self, text: str) -> None:
        self.found.append(TONGUE.written(text))

    def declare(self, result: Variable, zero: bool = False) -> None:
        if result.shape:
            self.found.append(f"const {result.text} = new Float64Array({result.size});")
        else:
            self.found.append(f"let {result.text} = 0;")

    def table(self, numbers: Sequence[int]) -> str:
        return self._array(f"Int32Array.of({', '.join(map(str, numbers))})")

    def scratch(self, size: int) -> str:
        return self._array(f"new Float64Array({size})")

    def part(self, whole: Variable, start: int, size: int) -> str:
        return f"{whole.text}.subarray({start}, {start + size})"

    def _array(self, text: str) -> str:
        name = f"a{self.arrays}"
        self.arrays += 1
        self.found.append(f"const {name} = {text};")
        return name


@dataclass
class Script:
    """Writes programs for known sizes; remembers the functions of ours that their texts call."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)  # functions that the texts call

    def size(self, size: Size) -> int:
        return int(resolve(size, self.sizes))

    def statements(
        self, program: Program, wanted: Sequence[ProgramRow], leaf: Callable[[str], str]
    ) -> tuple[list[str], list[str]]:
        """Lines of code, and the text by which each wanted row goes after them.

        `leaf` gives the text of what comes from outside.
        """
        lines = Lines()
        texts: list[str] = []
        shapes = [tuple(map(self.size, shape)) for shape in map(program.shape, program.in_order())]
        for row, op in zip(program.in_order(), program.ops, strict=True):
            settings, name = program.settings(row), f"v{row}"
            operands = [Variable(texts[o], shapes[o]) for o in program.operands[row]]
            if program.is_leaf(row):
                text = leaf(settings["name"])
            elif op == "const":
                text = self.constant(settings["value"])
            elif op == "size":
                text = str(self.size(settings["size"]))
            elif op == "pi":
                text = "Math.PI"
            elif op in OPERATIONS:
                text = self._operation(op, lines, Variable(name, shapes[row]), operands, settings)
            elif shapes[row]:
                self._elements(op, lines, Variable(name, shapes[row]), operands, settings)
                text = name
            else:
                text = self.function(op, [operand.text for operand in operands], settings)
            plain = text.isidentifier() or (op == "const" and not shapes[row])
            if not plain:
                lines.add(f"const {name} = {text};")
            texts.append(text if plain else name)
        return lines.found, [texts[row] for row in wanted]

    def constant(self, value: Any) -> str:
        """A number, or an array of numbers."""
        if np.shape(value):
            flat = np.asarray(as_float(value), dtype=np.float64).ravel()
            return f"Float64Array.of({', '.join(map(number, flat.tolist()))})"
        return number(float(as_float(value)))

    def function(self, op: str, texts: Sequence[str], settings: Mapping[str, Any]) -> str:
        """A function of numbers, each of which is a name, an element or a literal."""
        record = FUNCTIONS[op]
        if op == "power":
            form = POWERS.get(settings["exponent"], "Math.pow({0}, {1})")
            return form.format(*texts, self.constant(settings["exponent"]))
        if "javascript" in record.code and record.origin == "graphc":
            self.definitions.update(record.definitions.get("javascript", {}))
            form, names = record.code["javascript"], record.parameters
            if not record.variadic:
                return form.format(**dict(zip(names, texts, strict=True)))
            return reduce(lambda a, b: form.format(**dict(zip(names, (a, b), strict=True))), texts)
        if record.infix:
            return f"{texts[0]} {COMPARISONS.get(op, record.infix)} {texts[1]}"
        return f"Math.{record.native['javascript']}({', '.join(texts)})"

    def _operation(
        self,
        op: str,
        lines: Lines,
        result: Variable,
        operands: Sequence[Variable],
        settings: Mapping[str, Any],
    ) -> str:
        """A tensor operation: its loops, or a call of the JavaScript that its record gives."""
        operation = OPERATIONS[op]
        if operation.loops is not None:
            for name, text in operation.definitions.get("loops", {}).items():
                self.definitions[name] = TONGUE.written(text)
            return operation.loops(lines, result, operands, settings)
        own = operation.definitions.get("javascript", {})
        if op not in own:
            raise GraphcError(
                f"the operation {op} has no JavaScript, which a page needs; give its record "
                "loops=, or a definition, definitions={'javascript': {...}}"
            )
        self.definitions.update(own)
        return called(op, operands, settings)

    def _elements(
        self,
        op: str,
        lines: Lines,
        result: Variable,
        operands: Sequence[Variable],
        settings: Mapping[str, Any],
    ) -> None:
        """A function element by element, broadcast as in NumPy."""
        lines.declare(result)
        rank = len(result.shape)
        if all(operand.shape in ((), result.shape) for operand in operands):
            loops = [("i", math.prod(result.shape))]
            places = ["i"] * len(operands)
            whole = "i"
        else:
            names = axes_names(rank)
            loops = list(zip(names, result.shape, strict=True))
            whole = place(names, result.shape)
            places = [
                place(names[rank - len(o.shape) :], o.shape, broadcast=True) for o in operands
            ]
        texts = [o.element(at) for o, at in zip(operands, places, strict=True)]
        body = f"{result.text}[{whole}] = {self.function(op, texts, settings)};"
        lines.add(nested(loops, body))


def number(value: float) -> str:
    """A number as a literal that binds as tightly as a name."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "(-Infinity)"
    text = repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    if value == 0 and math.copysign(1, value) < 0:
        text = "-0"
    return f"({text})" if text.startswith("-") else text
