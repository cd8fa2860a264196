"""The writer: walks the rows of a formula once, and puts together what a style makes of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import GraphcError
from ..structure.paths import reached
from ..structure.reach import expression
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..syntax.words import weight
from ..table.phrases import Phrase
from ..table.tensors import Site

LONGEST = 100_000  # a collapsed graph can be too long to write down
Known = Mapping[GraphRow, Phrase]  # how named rows are written, if not by their names
Part = Callable[[GraphRow], Phrase]


@dataclass(frozen=True)
class Style:
    """How one row is written in terms of its operands, and how a composed function is."""

    row: Callable[[Structure, GraphRow, list[Phrase]], Phrase]
    call: Callable[[Structure, Any, Part], Phrase]


def formula_phrase(graph: Structure, node: GraphRow, style: Style, known: Known) -> Phrase:
    """The right-hand side of a node's declaration; `known` names are written as given there."""
    return _phrases(graph, node, graph.formula(node).rows, style, known)


def expression_phrase(graph: Structure, row: GraphRow, style: Style, known: Known) -> Phrase:
    """An unnamed expression, such as the user's own partial."""
    if row in graph.names:
        return known[row] if row in known else style.row(graph, row, [])
    rows = sorted(here for here in expression(graph, row) if here not in graph.names)
    return _phrases(graph, row, tuple(rows), style, known)


def _phrases(
    graph: Structure, root: GraphRow, rows: tuple[GraphRow, ...], style: Style, known: Known
) -> Phrase:
    phrases: dict[GraphRow, Phrase] = dict(known)

    def part(row: GraphRow) -> Phrase:
        return phrases[row] if row in phrases else style.row(graph, row, [])

    for row in rows:
        made = graph.calls.get(row)
        if made is not None and _is_whole(graph, row, made):
            phrases[row] = style.call(graph, made, part)
        else:
            phrases[row] = style.row(graph, row, [part(o) for o in graph.operands[row]])
        text = phrases[row].text
        if len(text) > LONGEST and weight(text) > LONGEST:
            declared = root in graph.names
            what = f"formula of {graph.label(root)}" if declared else "symbolic result"
            advice = "collapse fewer nodes" if declared else "give numbers with at={...}"
            raise GraphcError(f"the {what} would take over {LONGEST} characters; {advice}")
    return phrases[root]


def _is_whole(graph: Structure, row: GraphRow, made: Any) -> bool:
    """Whether nothing between a composed function and its arguments has become a node."""
    arguments = set(_argument_rows(made))

    def before(here: GraphRow) -> tuple[GraphRow, ...]:
        return () if here in arguments or here in graph.names else graph.operands[here]

    inside = reached(graph.operands[row], before) - arguments
    return not any(here in graph.names for here in inside)


def _argument_rows(argument: Any) -> Iterator[GraphRow]:
    """The rows among the arguments of a call."""
    if isinstance(argument, tuple) and argument[:1] == ("row",):
        yield argument[1]
    elif isinstance(argument, (list, tuple)):
        for part in argument:
            yield from _argument_rows(part)


# What styles ask about rows.


def site_of(graph: Structure, row: GraphRow) -> Site:
    """A tensor operation where it stands."""
    shapes = [graph.shape(operand) for operand in graph.operands[row]]
    return Site(settings=graph.settings(row), shapes=shapes, shape=graph.shape(row))


def is_number(graph: Structure, row: GraphRow, number: int) -> bool:
    """Whether a row is this constant, and has no name."""
    value = graph.settings(row).get("value")
    return isinstance(value, int) and value == number and row not in graph.names


def is_mask(graph: Structure, row: GraphRow) -> bool:
    """Whether a row is 1 where a condition holds, else 0, and has no name."""
    if graph.ops[row] != "where" or row in graph.names:
        return False
    _, taken, other = graph.operands[row]
    return is_number(graph, taken, 1) and is_number(graph, other, 0)


def gates_columns(graph: Structure, row: GraphRow) -> bool:
    """Whether a vector of conditions decides which columns of a matrix are kept, else 0."""
    shapes = [graph.shape(operand) for operand in graph.operands[row]]
    return [len(shape) for shape in shapes[:2]] == [1, 2] and shapes[0][-1] == shapes[1][-1]


def index_text(index: Any) -> str:
    """An index as it is written between brackets."""
    parts = index if isinstance(index, tuple) else (index,)

    def one(part: Any) -> str:
        if isinstance(part, slice):
            ends = ["" if end is None else str(end) for end in (part.start, part.stop)]
            return ":".join(ends + ([str(part.step)] if part.step is not None else []))
        return "..." if part is Ellipsis else str(part)

    return ", ".join(one(part) for part in parts)
