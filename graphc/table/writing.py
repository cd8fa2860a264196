"""What the text of an operation may ask of whoever writes array code.

A piece of array code is a text and how tightly it binds, as in matrix_form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..shapes import Shape, Size
from .loops import Variable
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


def called(name: str, operands: Sequence[Variable], settings: Mapping[str, Any]) -> str:
    """A call with the operands, the shape of the first one, and the settings if there are any."""
    words = [json.dumps(dict(settings))] * bool(settings)
    texts = [*(operand.text for operand in operands), str(list(operands[0].shape)), *words]
    return f"{name}({', '.join(texts)})"
