"""What the text of an operation may ask of whoever writes it: array code, and loops of JavaScript.

A piece of array code is a text and how tightly it binds, as in matrix_form. In JavaScript numbers
are numbers, and a tensor is a flat array in row-major order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..shapes import Shape, Size
from .matrix_form import Piece


class ArrayWriter(Protocol):
    """Writes array code for one library and one dtype."""

    dtype: str

    @property
    def namespace(self) -> str: ...

    def call(self, name: str, *texts: str) -> Piece: ...  # a function of the library

    def own(self, name: str, *texts: str) -> Piece: ...  # a function that a record defines

    def size(self, size: Size) -> str: ...

    def shape(self, shape: Shape) -> str: ...

    def held(self, text: str) -> str: ...  # a constant that is made once, by its name


def keywords_text(settings: Mapping[str, Any]) -> list[str]:
    """Settings as the keywords of a call; axes are an axis, or several."""
    return [
        f"axis={value[0] if len(value) == 1 else value}" if key == "axes" else f"{key}={value!r}"
        for key, value in settings.items()
    ]


def axis_text(axes: Sequence[int], shape: Shape) -> list[str]:
    """The axis argument of a reduction; nothing where all axes go."""
    if len(axes) == len(shape):
        return []
    return [f"axis={axes[0] if len(axes) == 1 else tuple(axes)}"]


# JavaScript.

Loops = Sequence[tuple[str, int]]  # variables and how far they run


@dataclass(frozen=True)
class Variable:
    """A value in the text: its name and its shape."""

    text: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def element(self, at: str) -> str:
        """An element of a tensor; a number is itself."""
        return f"{self.text}[{at}]" if self.shape else self.text

    def declaration(self) -> str:
        """The declaration of a result that loops will fill."""
        if self.shape:
            return f"const {self.text} = new Float64Array({self.size});"
        return f"let {self.text} = 0;"


def nested(loops: Loops, body: str) -> str:
    """The body in loops, the first outermost."""
    heads = [f"for (let {name} = 0; {name} < {size}; {name}++)" for name, size in loops]
    return " ".join([*heads, body])


def place(names: Sequence[str], shape: Sequence[int], broadcast: bool = False) -> str:
    """The flat place of an element; a broadcast axis of size 1 stays at 0."""
    terms, stride = [], 1
    for name, size in zip(reversed(names), reversed(shape), strict=True):
        if not (broadcast and size == 1):
            terms.append(name if stride == 1 else f"{stride} * {name}")
        stride *= size
    return " + ".join(reversed(terms)) or "0"


def called(name: str, operands: Sequence[Variable], settings: Mapping[str, Any]) -> str:
    """A call with the operands, the shape of the first one, and the settings if there are any."""
    words = [json.dumps(dict(settings))] * bool(settings)
    texts = [*(operand.text for operand in operands), str(list(operands[0].shape)), *words]
    return f"{name}({', '.join(texts)})"
