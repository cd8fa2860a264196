"""Rows: the one column store. A row is an operation on earlier rows; row order is topological.

A graph adds names to it, a program sharing and rules. Columns are flat: most rows are scalars
without settings, so shapes and settings are kept only of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..shapes import Shape, broadcast
from ..table.tensors import OPERATIONS, Algebra
from ..table.value import COMPARISONS

Settings = dict[str, Any]
LEAVES = ("input", "param", "symbol")  # rows whose value comes from outside
CONDITIONS = frozenset(("condition", *COMPARISONS))
NO_SETTINGS: Settings = {}


class Rows:
    """Operations on earlier rows, with their settings and shapes."""

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.operands: list[tuple[int, ...]] = []
        self.attributes: dict[int, Settings] = {}  # of the rows that have settings
        self.shapes: dict[int, Shape] = {}  # of the rows that are not scalars

    def append(self, op: str, operands: tuple[int, ...] = (), **attributes: Any) -> int:
        """A new row."""
        self.ops.append(op)
        self.operands.append(operands)
        row = len(self.ops) - 1
        if attributes:
            self.attributes[row] = attributes
        return row

    def settings(self, row: int) -> Settings:
        """The settings of a row's operation."""
        return self.attributes.get(row, NO_SETTINGS)

    def shape(self, row: int) -> Shape:
        """The shape of a row; () for a scalar."""
        return self.shapes.get(row, ())

    @property
    def has_tensors(self) -> bool:
        """Whether any row is not a scalar."""
        return bool(self.shapes)

    def is_condition(self, row: int) -> bool:
        """Whether a row is a comparison."""
        return self.ops[row] in CONDITIONS

    def shape_after(
        self, op: str, operands: Sequence[int], settings: Settings, labels: Sequence[str]
    ) -> Shape:
        """The shape of an operation's result; sizes that do not fit are refused."""
        shapes = [self.shapes.get(operand, ()) for operand in operands]
        if op in OPERATIONS:
            return OPERATIONS[op].shape(shapes, settings, labels)
        return broadcast(shapes, op, labels) if any(shapes) else ()


def interpret(rows: Rows, order: Iterable[int], algebra: Algebra, values: Any) -> None:
    """Adds the values of rows, in this order, to those that are known: the one interpreter."""
    ops, operands, attributes = rows.ops, rows.operands, rows.attributes
    for row in order:
        if ops[row] == "const":
            values[row] = algebra.constant(attributes[row]["value"])
        else:
            arguments = [values[operand] for operand in operands[row]]
            values[row] = algebra.apply(ops[row], arguments, attributes.get(row, NO_SETTINGS))


Key = tuple[Any, ...]


def row_key(op: str, operands: tuple[int, ...], settings: Settings) -> Key:
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
