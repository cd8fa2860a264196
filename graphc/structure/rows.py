"""Rows: the one column store. A row is an operation on earlier rows; row order is topological.

A graph adds names to it, a program sharing and rules. Columns are flat: most rows are scalars
without settings, so shapes and settings are kept only of the others. A row is its number, and the
numbers of each kind of store are a type of their own: a row of a graph means nothing in a program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Generic, NewType, Protocol, TypeVar

import numpy as np

from ..shapes import Shape, broadcast
from ..table.tensors import OPERATIONS, Algebra
from ..table.value import COMPARISONS

GraphRow = NewType("GraphRow", int)
Row = TypeVar("Row", bound=int)
AnyRow = TypeVar("AnyRow", bound=int, contravariant=True)
T = TypeVar("T")
Settings = dict[str, Any]
LEAVES = ("input", "param", "symbol")  # rows whose value comes from outside
CONDITIONS = frozenset(("condition", *COMPARISONS))
NO_SETTINGS: Settings = {}


class Column(Protocol[AnyRow, T]):
    """A list, of which the rows of one kind of store are the places."""

    def __getitem__(self, row: AnyRow, /) -> T: ...
    def __setitem__(self, row: AnyRow, item: T, /) -> None: ...
    def __iter__(self) -> Iterator[T]: ...
    def __len__(self) -> int: ...
    def append(self, item: T, /) -> None: ...
    def extend(self, items: Iterable[T], /) -> None: ...


class Rows(Generic[Row]):
    """Operations on earlier rows, with their settings and shapes."""

    def __init__(self) -> None:
        self.ops: Column[Row, str] = []
        operands: list[tuple[Row, ...]] = []
        self.operands: Column[Row, tuple[Row, ...]] = operands
        self.attributes: dict[Row, Settings] = {}  # of the rows that have settings
        self.shapes: dict[Row, Shape] = {}  # of the rows that are not scalars

    def append(self, op: str, operands: tuple[Row, ...] = (), **attributes: Any) -> Row:
        """A new row."""
        number: Any = len(self.ops)  # nothing but its place makes a number a row
        row: Row = number
        self.ops.append(op)
        self.operands.append(operands)
        if attributes:
            self.attributes[row] = attributes
        return row

    @property
    def coming(self) -> Row:
        """The row that will be appended next."""
        number: Any = len(self.ops)
        row: Row = number
        return row

    def in_order(self) -> Sequence[Row]:
        """Every row, operands before what uses them."""
        numbers: Any = range(len(self.ops))
        rows: Sequence[Row] = numbers
        return rows

    def settings(self, row: Row) -> Settings:
        """The settings of a row's operation."""
        return self.attributes.get(row, NO_SETTINGS)

    def shape(self, row: Row) -> Shape:
        """The shape of a row; () for a scalar."""
        return self.shapes.get(row, ())

    @property
    def has_tensors(self) -> bool:
        """Whether any row is not a scalar."""
        return bool(self.shapes)

    def is_condition(self, row: Row) -> bool:
        """Whether a row is a comparison."""
        return self.ops[row] in CONDITIONS

    def shape_after(
        self, op: str, operands: Sequence[Row], settings: Settings, labels: Sequence[str]
    ) -> Shape:
        """The shape of an operation's result; sizes that do not fit are refused."""
        shapes = [self.shapes.get(operand, ()) for operand in operands]
        if op in OPERATIONS:
            return OPERATIONS[op].shape(shapes, settings, labels)
        return broadcast(shapes, op, labels) if any(shapes) else ()


def interpret(rows: Rows[Row], order: Iterable[Row], algebra: Algebra, values: Any) -> None:
    """Adds the values of rows, in this order, to those that are known: the one interpreter."""
    ops, operands, attributes = rows.ops, rows.operands, rows.attributes
    for row in order:
        if ops[row] == "const":
            values[row] = algebra.constant(attributes[row]["value"])
        else:
            arguments = [values[operand] for operand in operands[row]]
            values[row] = algebra.apply(ops[row], arguments, attributes.get(row, NO_SETTINGS))


Key = tuple[Any, ...]


def row_key(op: str, operands: tuple[Row, ...], settings: Settings) -> Key:
    """What makes two rows the same operation on the same operands."""
    if not settings:
        return (op, operands)
    return (op, operands, *((k, _hashable(v)) for k, v in settings.items()))


def _hashable(value: Any) -> Any:
    """A setting as part of a key: 1 and 1.0 are told apart, arrays are compared by content."""
    if isinstance(value, np.ndarray):
        content = tuple(map(_hashable, value.flat)) if value.dtype == object else value.tobytes()
        return (value.shape, str(value.dtype), content)
    if isinstance(value, (int, float, Fraction, str)):
        return (type(value), repr(value) if isinstance(value, float) else value)
    try:
        hash(value)
    except TypeError:
        return id(value)
    return (type(value), value)


def simple_exponent(value: Any) -> Any:
    """A rational exponent as a setting of `power`; None where it has to stay an operand."""
    if isinstance(value, float):
        exact = Fraction(value)
        return exact if exact.denominator <= 64 else value
    return value if isinstance(value, (int, Fraction)) else None
