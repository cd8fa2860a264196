"""What a function in C takes and gives: its arguments in order, then a pointer for each result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....errors import GraphcError
from ....shapes import Shape
from ....structure.rows import GraphRow
from ...c_names import CNames, plain
from ...module import Task
from ...program import ProgramRow
from ...question import Matrix
from ...sparse import Sparse

LARGEST = 2**31 - 1  # elements of an array: places are of type int
Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Argument:
    """An argument: a number, or an array in row-major order."""

    row: GraphRow
    label: str  # what the user calls it
    name: str
    shape: Sizes


@dataclass(frozen=True)
class Block:
    """A row of the program in its place in a result: lines of `width` elements, `stride` apart."""

    row: ProgramRow
    start: int
    height: int
    width: int
    stride: int

    @property
    def size(self) -> int:
        return self.height * self.width


@dataclass(frozen=True)
class Scattered:
    """A row of the program whose elements go each to a place of its own in a result."""

    row: ProgramRow
    places: Any  # as NumPy's array
    adds: bool  # to what stands there


@dataclass(frozen=True)
class Output:
    """A result, which the function writes through a pointer."""

    name: str
    shape: Sizes
    blocks: tuple[Block | Scattered, ...]
    constant: Any = None  # what stands there first, as NumPy's array

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Signature:
    """A function's name, its arguments and its results."""

    function: str
    type: str
    arguments: tuple[Argument, ...]
    outputs: tuple[Output, ...]
    work: str  # what an argument for intermediate values is called, if there is one
    count: str  # the number of points

    def parameters(self, qualified: bool, work: bool) -> list[str]:
        """The parameters for one point; `qualified` says that nothing overlaps."""
        mark = "restrict " if qualified else ""
        texts = [
            f"const {self.type} {one.name}[{mark}{_room(one.shape)}]"
            if one.shape
            else f"{self.type} {one.name}"
            for one in self.arguments
        ]
        texts += [
            f"{self.type} {one.name}[{mark}{_room(one.shape)}]"
            if one.shape
            else f"{self.type} *{mark}{one.name}"
            for one in self.outputs
        ]
        return [*texts, *([f"{self.type} *{mark}{self.work}"] if work else [])]

    def batch_parameters(self, qualified: bool, work: bool) -> list[str]:
        """The parameters for many points: an array of each argument and of each result."""
        mark = "restrict " if qualified else ""
        texts = [f"size_t {self.count}"]
        texts += [f"const {self.type} *{mark}{one.name}" for one in self.arguments]
        texts += [f"{self.type} *{mark}{one.name}" for one in self.outputs]
        return [*texts, *([f"{self.type} *{mark}{self.work}"] if work else [])]


def _room(shape: Sizes) -> int:
    return max(math.prod(shape), 1)  # C has no arrays of no elements


def signature(one: Task, type_: str, names: CNames, end: str = "") -> Signature:
    """What the function of a task takes and gives; arguments have the names they want."""
    graph = one.graph
    arguments = tuple(
        Argument(row, graph.names[row], names.of(graph.names[row]), sizes(graph.shape(row)))
        for row in one.arguments
    )
    outputs = tuple(_output(names.fresh(name), part, one) for name, part in _parts(one))
    work, count = names.fresh("work"), names.fresh("n")
    return Signature(plain(one.asked.want.name) + end, type_, arguments, outputs, work, count)


def sizes(shape: Shape) -> Sizes:
    """A shape of numbers."""
    for size in shape:
        if isinstance(size, str):
            raise GraphcError(
                f"backend='c' writes loops over known sizes, and {size!r} is only a name; declare "
                "it with a number, such as x[3]"
            )
    found = tuple(int(size) for size in shape)
    if math.prod(found) > LARGEST:
        raise GraphcError(
            f"an array of shape {found} has more elements than backend='c' can count; use "
            "backend='numpy'"
        )
    return found


def _parts(one: Task) -> Iterator[tuple[str, Any]]:
    """(name, row or matrix) of each result, in order."""
    results = one.results if isinstance(one.results, tuple) else (one.results,)
    called = one.asked.want.parts
    for place, part in enumerate(results):
        stem = called[min(place, len(called) - 1)]
        stack: list[tuple[tuple[str, ...], Any]] = [((), part)]
        while stack:
            keys, inner = stack.pop()
            if isinstance(inner, dict):
                stack += [((*keys, key), value) for key, value in reversed(inner.items())]
            else:
                yield "_".join([*keys, stem]), inner


def _output(
    name: str, part: ProgramRow | Matrix[ProgramRow] | Sparse[ProgramRow], one: Task
) -> Output:
    """A result, and the rows that fill it."""
    if isinstance(part, int):
        shape = sizes(one.program.shape(part))
        size = math.prod(shape)
        return Output(name, shape, (Block(part, 0, 1, size, size),))
    if isinstance(part, Sparse):
        return _entries(name, part)
    heights = [math.prod(sizes(shape)) for shape in part.heights]
    widths = [math.prod(sizes(shape)) for shape in part.widths]
    stride, blocks, above = sum(widths), [], 0
    for line, height in zip(part.entries, heights, strict=True):
        left = 0
        for row, width in zip(line, widths, strict=True):
            blocks.append(Block(row, above * stride + left, height, width, stride))
            left += width
        above += height
    return Output(name, (sum(heights), stride), tuple(blocks))


def _entries(name: str, matrix: Sparse[ProgramRow]) -> Output:
    """The entries of a sparse matrix, in the order of its pattern."""
    found, missing = [], np.ones(matrix.constant.shape, dtype=bool)
    for row, places, _, adds in matrix.fillings():
        found.append(Scattered(row, places, adds))
        missing[places] &= adds
    constant = matrix.constant if missing.any() else None
    return Output(name, matrix.constant.shape, tuple(found), constant)


def listed(parameters: Sequence[str], head: str, end: str) -> list[str]:
    """A function's head, on several lines if it is long."""
    line = f"{head}({', '.join(parameters) or 'void'}){end}"
    if len(line) <= 88:
        return [line]
    lines, current = [], f"{head}("
    indent = " " * (len(head) - len(head.lstrip()) + 4)
    for place, parameter in enumerate(parameters):
        part = parameter + ("," if place < len(parameters) - 1 else f"){end}")
        if len(current) + len(part) + 1 > 88:
            lines.append(current.rstrip())
            current = indent
        current += part + " "
    return [*lines, current.rstrip()]
