"""What was asked of a graph, what a want is, and the tree of rows that answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..shapes import Shape
from ..structure.rows import LEAVES
from ..structure.structure import Structure
from .sparse import Sparse

if TYPE_CHECKING:
    from .selfcheck import Comparison


@dataclass(frozen=True)
class Matrix:
    """One 2-D matrix: entries are rows of scalars, or of tensors to be flattened."""

    entries: tuple[tuple[int, ...], ...]
    heights: tuple[Shape, ...]  # the shape that each block row stands for
    widths: tuple[Shape, ...]


Results = Any  # a row, a Matrix, a Sparse, or a tuple or dict of results


@dataclass(frozen=True)
class Derived:
    """A copy of the graph with the rows of the answer, and how they are handed over."""

    graph: Structure
    results: Results
    declared: int  # rows from this one on belong to the derivative
    tangents: tuple[int, ...] = ()  # arguments x_dot, 0 where they are left out
    seeds: tuple[int, ...] = ()  # arguments L_bar


@dataclass(frozen=True)
class Want:
    """One record: what a compiled function may be asked for, and everything known about it."""

    name: str
    derive: Callable[[Question, Structure, str], Derived]  # in reverse or forward mode
    returns: str  # its type, with A for an array
    summary: str  # the first line of its docstring; {of} {all_of} {wrt}
    by_name: str = ""  # its type where several nodes were asked for
    mode: str = "reverse"  # how it is derived, where there is one way only
    two_ways: bool = False  # it may be derived in reverse or in forward mode
    heading: str = ""  # above its derivatives in readable code, if not that of the mode; {of}
    one_element: bool = False  # of a node of one element, unless seeds say of which sum
    order: int = 1  # of the derivative; 0 for values
    takes_seeds: str = ""  # why seeds in of= have no meaning, if they have none
    one_node: bool = False  # the answer is that of one node
    sparse: Callable[[Question, Structure], Derived] | None = None  # only entries that exist
    companion: str = ""  # the want whose differences check it; "" for itself
    compare: Callable[[Comparison], list[str]] | None = None  # how, as lines of code


@dataclass(frozen=True)
class Question:
    """What was asked of a graph."""

    graph: Structure
    want: Want
    of: tuple[str, ...]
    wrt: tuple[str, ...]
    of_listed: bool = False  # several were asked for: results by name
    wrt_listed: bool = True
    weights: Mapping[str, Any] | None = None  # seeds: the gradient of a weighted sum

    def rows(self, graph: Structure) -> tuple[list[int], list[int]]:
        return [graph.row(name) for name in self.of], [graph.row(name) for name in self.wrt]


def leaves(graph: Structure) -> list[int]:
    """The arguments a graph may take: inputs, then params, in order of declaration."""
    found = [row for row in graph.leaves() if graph.ops[row] in LEAVES]
    return sorted(found, key=lambda row: (graph.ops[row] != "input", row))


def flat(results: Results) -> list[int]:
    """The rows of a tree of results, in order."""
    found: list[int] = []
    stack: list[Any] = [results]
    while stack:
        part = stack.pop()
        if isinstance(part, int):
            found.append(part)
        elif isinstance(part, Matrix):
            stack.extend(row for line in reversed(part.entries) for row in reversed(line))
        elif isinstance(part, Sparse):
            stack.extend(row for row, *_ in reversed(part.parts))
        else:
            parts = list(part.values()) if isinstance(part, dict) else list(part)
            stack.extend(reversed(parts))
    return found


def mapped(results: Results, change: Callable[[int], Any]) -> Results:
    """The same tree with every row changed."""
    if isinstance(results, int):
        return change(results)
    if isinstance(results, Matrix):
        lines = tuple(tuple(change(row) for row in line) for line in results.entries)
        return Matrix(lines, results.heights, results.widths)
    if isinstance(results, Sparse):
        parts = tuple((change(row), places, once) for row, places, once in results.parts)
        return replace(results, parts=parts)
    if isinstance(results, dict):
        return {name: mapped(part, change) for name, part in results.items()}
    return tuple(mapped(part, change) for part in results)
