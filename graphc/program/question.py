"""What was asked of a graph, what a want is, and the tree of rows that answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from ..shapes import Shape
from ..structure.rows import LEAVES, GraphRow, Row
from ..structure.structure import Structure
from .sparse import Sparse

if TYPE_CHECKING:
    from .selfcheck import Comparison

Other = TypeVar("Other", bound=int)


@dataclass(frozen=True)
class Matrix(Generic[Row]):
    """One 2-D matrix: entries are rows of scalars, or of tensors to be flattened."""

    entries: tuple[tuple[Row, ...], ...]
    heights: tuple[Shape, ...]  # the shape that each block row stands for
    widths: tuple[Shape, ...]


# a row, a matrix of rows, or a tuple or dict of results
Results: TypeAlias = (
    "Row | Matrix[Row] | Sparse[Row] | tuple[Results[Row], ...] | dict[str, Results[Row]]"
)


@dataclass(frozen=True)
class Derived:
    """A copy of the graph with the rows of the answer, and how they are handed over."""

    graph: Structure
    results: Results[GraphRow]
    declared: GraphRow  # rows from this one on belong to the derivative
    tangents: tuple[GraphRow, ...] = ()  # arguments x_dot, 0 where they are left out
    seeds: tuple[GraphRow, ...] = ()  # arguments L_bar


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
    parts: tuple[str, ...] = ("result",)  # what its results are called where they are arguments
    companion: str = ""  # the want whose differences check it; "" for itself
    compare: Callable[[Comparison], list[str]] | None = None  # how, as lines of code
    # what it is of a value and {name: slope}, if one sweep back over the declared rows answers it
    by_tape: Callable[[Any, dict[str, Any]], Any] | None = None


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

    def rows(self, graph: Structure) -> tuple[list[GraphRow], list[GraphRow]]:
        return [graph.row(name) for name in self.of], [graph.row(name) for name in self.wrt]


def leaves(graph: Structure) -> list[GraphRow]:
    """The arguments a graph may take: inputs, then params, in order of declaration."""
    found = [row for row in graph.leaves() if graph.ops[row] in LEAVES]
    return sorted(found, key=lambda row: (graph.ops[row] != "input", row))


def flat(results: Results[Row]) -> list[Row]:
    """The rows of a tree of results, in order."""
    found: list[Row] = []
    stack: list[Results[Row]] = [results]
    while stack:
        part = stack.pop()
        if isinstance(part, Matrix):
            found.extend(row for line in part.entries for row in line)
        elif isinstance(part, Sparse):
            found.extend(row for row, *_ in part.parts)
        elif isinstance(part, (tuple, dict)):
            parts = part.values() if isinstance(part, dict) else part
            stack.extend(reversed([*parts]))
        else:
            found.append(part)
    return found


def mapped(results: Results[Row], change: Callable[[Row], Other]) -> Results[Other]:
    """The same tree with every row changed."""
    if isinstance(results, int):
        return change(results)
    if isinstance(results, Matrix):
        lines = tuple(tuple(change(row) for row in line) for line in results.entries)
        return Matrix(lines, results.heights, results.widths)
    if isinstance(results, Sparse):
        parts = tuple((change(row), places, once) for row, places, once in results.parts)
        where = results.constant, results.indices, results.pointers, results.shape
        return Sparse(parts, *where)
    if isinstance(results, dict):
        return {name: mapped(part, change) for name, part in results.items()}
    return tuple(mapped(part, change) for part in results)
