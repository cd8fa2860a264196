"""Loops over flat arrays of known sizes, written once for JavaScript and C.

A tensor is a flat array in row-major order. The two languages have the same loops and formulas; the
words in which they differ stand in braces: {real} and {whole} declare a number, {reals} and {given}
an array that a function fills or reads, {count} a whole number that it is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

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


@dataclass(frozen=True)
class Tongue:
    """A language: what stands for the words in braces."""

    words: Mapping[str, str]

    def written(self, text: str) -> str:
        for word, meaning in self.words.items():
            text = text.replace(f"{{{word}}}", meaning)
        return text


class LoopWriter(Protocol):
    """Takes the lines of one operation, in the words of a language."""

    def add(self, text: str) -> None: ...  # with words in braces

    def declare(self, result: Variable, zero: bool = False) -> None: ...  # zero: loops leave gaps

    def table(self, numbers: Sequence[int]) -> str: ...  # an array of whole numbers, by its name

    def scratch(self, size: int) -> str: ...  # an array to work in, by its name

    def part(self, whole: Variable, start: int, size: int) -> str: ...  # elements one by one


def nested(loops: Loops, body: str) -> str:
    """The body in loops, the first outermost."""
    lines = []
    for depth, (name, size) in enumerate(loops):
        head = f"for ({{whole}}{name} = 0; {name} < {size}; {name}++)"
        lines.append("    " * depth + head)
    if lines and body.startswith("{\n"):  # a brace stands behind what it belongs to
        inside = indented(body, len(loops) - 1).lstrip()
        return "\n".join([*lines[:-1], f"{lines[-1]} {inside}"])
    return "\n".join([*lines, indented(body, len(loops))])


def indented(text: str, depth: int = 1) -> str:
    """The lines of a text, further to the right."""
    return "\n".join(f"{'    ' * depth}{line}" for line in text.split("\n"))


def block(*parts: str) -> str:
    """Statements in braces, one on a line."""
    return "\n".join(["{", *map(indented, parts), "}"])


def place(names: Sequence[str], shape: Sequence[int], broadcast: bool = False) -> str:
    """The flat place of an element; a broadcast axis of size 1 stays at 0."""
    terms, stride = [], 1
    for name, size in zip(reversed(names), reversed(shape), strict=True):
        if not (broadcast and size == 1):
            terms.append(name if stride == 1 else f"{stride} * {name}")
        stride *= size
    return " + ".join(reversed(terms)) or "0"


def axes_names(count: int) -> list[str]:
    """A loop variable for each axis."""
    return [f"i{axis}" for axis in range(count)]


# Names that the loops declare, which no value may have.
LOOP_WORDS = ("i", *axes_names(60), "total", "best", "ties", "chosen")
