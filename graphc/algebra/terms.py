"""Terms: what a row of a formula with tensors is a multiple of, and what it only repeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..shapes import LETTERS, Shape
from ..structure.rows import GraphRow
from ..table.arrays import split_spec
from ..table.tensors import OPERATIONS

if TYPE_CHECKING:
    from .formulas import Formulas

MOST_COMPARED = 60  # rows that are compared before two formulas count as different
Term = tuple[Any, GraphRow | None]  # an exact factor and the row it multiplies, None for 1


def term(rows: Formulas, row: GraphRow) -> Term:
    """A row as an exact factor times what is left."""
    number = exact_factor(rows, row)
    if number is not None:
        return number, None
    if inner := rows.inside(row, "neg"):
        factor, rest = term(rows, inner[0])
        return -factor, rest
    if inner := rows.inside(row, "mul"):
        number = exact_factor(rows, inner[0])
        if number is not None:
            factor, rest = term(rows, inner[1])
            return number * factor, rest
    if inner := rows.inside(row, "div"):
        number = exact_factor(rows, inner[0])
        if number not in (None, 1):
            return number, rows.graph.operation("div", (rows.constant(1), inner[1]), {})
    found = spread(rows, row)
    if found is not None and not found[1]:
        factor, rest = term(rows, found[0])
        if factor != 1 and rest is not None:
            return factor, repeated(rows, rest, rows.graph.shape(row), found[2])
    return 1, row


def exact_factor(rows: Formulas, row: GraphRow) -> Any:
    """The number that a row multiplies by; an adjoint's name is kept, but for 1."""
    number = rows.number(row)
    return number if row not in rows.graph.names or number in (-1, 0, 1) else None


def scaled(rows: Formulas, factor: Any, row: GraphRow | None) -> GraphRow:
    """An exact factor times a row."""
    if row is None:
        return rows.constant(factor)
    if factor == 1:
        return row
    if factor == 0:
        return repeated(rows, rows.constant(0), rows.graph.shape(row))
    found = spread(rows, row)
    if found is not None and not found[1] and not is_diagonal(found[2]):
        whole = rows.apply("mul", (found[0], rows.constant(factor)), {})
        return repeated(rows, whole, rows.graph.shape(row), found[2])  # 2 * full(s)
    if (inner := rows.inside(row, "div")) and rows.number(inner[0]) == 1:
        return rows.graph.operation("div", (rows.constant(factor), inner[1]), {})
    if factor == -1:
        if inner := rows.inside(row, "sub"):
            return rows.graph.operation("sub", inner[::-1], {})
        return rows.graph.operation("neg", (row,), {})
    return rows.graph.operation("mul", (rows.constant(factor), row), {})


def scaled_term(rows: Formulas, factor: Any, row: GraphRow) -> GraphRow:
    inner, rest = term(rows, row)
    return scaled(rows, factor * inner, rest)


def scalar_factor(rows: Formulas, row: GraphRow) -> tuple[GraphRow | None, GraphRow]:
    """The scalar that an unnamed product of a tensor starts with, and the rest."""
    inner = rows.inside(row, "mul")
    if inner and rows.graph.shape(inner[1]) and not rows.graph.shape(inner[0]):
        return inner[0], inner[1]
    return None, row


def scalar_divisor(rows: Formulas, row: GraphRow) -> tuple[GraphRow, ...]:
    """The tensor and the scalar of an unnamed quotient."""
    inner = rows.inside(row, "div")
    return inner if inner and rows.graph.shape(inner[0]) and not rows.graph.shape(inner[1]) else ()


# Rows that only repeat, move or spread what they are of.


def spread(rows: Formulas, row: GraphRow) -> tuple[GraphRow, str, str] | None:
    """(operand, its letters, letters) of an unnamed row that only repeats, moves or spreads."""
    inner = rows.inside(row, "contract")
    if len(inner) != 1:
        return None
    (letters,), out = split_spec(rows.graph.settings(row)["spec"])
    only = len(set(letters)) == len(letters) and set(letters) <= set(out)
    return (inner[0], letters, out) if only else None


def is_diagonal(letters: str) -> bool:
    return len(set(letters)) < len(letters)


def is_spread_diagonal(rows: Formulas, row: GraphRow) -> bool:
    found = spread(rows, row)
    return found is not None and is_diagonal(found[2])


def repeated(rows: Formulas, scalar: GraphRow, shape: Shape, out: str = "") -> GraphRow:
    """A scalar repeated over a shape."""
    if not shape:
        return scalar
    out = out or LETTERS[: len(shape)]
    sizes = tuple(zip(out, shape, strict=True))
    return rows.simplest("contract", (scalar,), {"spec": f"->{out}", "sizes": sizes})


# Equal formulas.


def same(rows: Formulas, one: GraphRow, other: GraphRow) -> bool:
    """Whether two rows are the same formula, as far as a short look can tell."""
    graph, stack = rows.graph, [(one, other)]
    for _ in range(MOST_COMPARED):
        if not stack:
            return True
        a, b = stack.pop()
        if a == b:
            continue
        if a in graph.names or b in graph.names or graph.ops[a] != graph.ops[b]:
            return False
        one_here, other_here = compared(rows, a), compared(rows, b)
        settings = (*one_here.values(), *other_here.values())
        if any(hasattr(v, "shape") for v in settings) or one_here != other_here:
            return False
        if not graph.operands[a] and graph.ops[a] not in ("const", "size", "pi"):
            return False
        stack.extend(zip(graph.operands[a], graph.operands[b], strict=True))
    return False


def compared(rows: Formulas, row: GraphRow) -> Mapping[str, Any]:
    """What makes equal operations on equal operands differ, however they were written."""
    op, settings, shape = rows.graph.ops[row], rows.graph.settings(row), rows.graph.shape(row)
    return OPERATIONS[op].compared(settings, shape) if op in OPERATIONS else settings
