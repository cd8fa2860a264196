"""Rows of a graph, however many: in lists, and in columns once lists would take too much memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import columns
from .columns import Columns, NameColumn, OperandColumns, tuples_of
from .rows import CONDITIONS, GraphRow, Rows, Settings


class ManyRows(Rows[GraphRow]):
    """Rows that are packed while they are appended."""

    def __init__(self) -> None:
        super().__init__()
        self.full = columns.MANY  # how many rows there are when they are packed next
        self.compares = False  # whether any row may be a comparison

    def append(self, op: str, operands: tuple[GraphRow, ...] = (), **attributes: Any) -> GraphRow:
        """A new row."""
        return self._placed(op, operands, attributes)

    def _placed(self, op: str, operands: tuple[GraphRow, ...], settings: Settings) -> GraphRow:
        """A new row, which keeps these settings."""
        row = GraphRow(len(self.ops))
        if row >= self.full:
            self.pack()
        if op in CONDITIONS:
            self.compares = True
        self.ops.append(op)
        self.operands.append(operands)
        if settings:
            self.attributes[row] = settings
        return row

    def pack(self) -> None:
        """Very many rows are kept in columns; those that fill a block of them are packed."""
        if isinstance(self.ops, list):
            self.ops, self.operands = NameColumn(self.ops), OperandColumns(self.operands)
        for column in (self.ops, self.operands):
            assert isinstance(column, Columns)
            column.pack()
            self.full = column.closed + column.size

    def append_many(self, ops: Sequence[str], pairs: np.ndarray) -> None:
        """New rows of one or two operands each, -1 where there is no second one."""
        if len(self.ops) + len(ops) >= self.full:
            self.pack()
        self.compares = self.compares or not CONDITIONS.isdisjoint(ops)
        self.ops.extend(ops)
        if isinstance(self.operands, OperandColumns):
            self.operands.extend_pairs(pairs)
            self.pack()
        else:
            self.operands.extend(tuples_of(pairs))
