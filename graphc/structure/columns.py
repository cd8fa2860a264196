"""Operands of very many rows: two columns of numbers instead of a tuple for each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from .rows import Column, GraphRow

Operands = tuple[GraphRow, ...]
AT_ONCE = 1 << 14  # rows whose tuples are made together
MOST = 3  # operands of one operation on numbers
NONE = -1


class OperandColumns:
    """A list of operands: some rows, then columns for many, then what is appended."""

    def __init__(self, before: list[Operands], columns: np.ndarray) -> None:
        self._before = before
        self._columns = columns.astype(np.int32)  # (rows, 2); NONE where there is no second one
        self._after: list[Operands] = []
        self._changed: dict[int, Operands] = {}

    def __len__(self) -> int:
        return len(self._before) + len(self._columns) + len(self._after)

    def __getitem__(self, row: GraphRow) -> Operands:
        if not 0 <= row < len(self):
            raise IndexError(f"there is no row {row}")
        if row in self._changed:
            return self._changed[row]
        place = row - len(self._before)
        if place < 0:
            return self._before[row]
        if place >= len(self._columns):
            return self._after[place - len(self._columns)]
        return _tuples(self._columns[place : place + 1])[0]

    def __setitem__(self, row: GraphRow, operands: Operands) -> None:
        self[row]  # there is one
        self._changed[row] = operands

    def __iter__(self) -> Iterator[Operands]:
        blocks = range(0, len(self._columns), AT_ONCE)
        many = chain.from_iterable(_tuples(self._columns[k : k + AT_ONCE]) for k in blocks)
        every = chain(self._before, many, self._after)
        if not self._changed:
            return every
        return (self._changed.get(row, operands) for row, operands in enumerate(every))

    def append(self, operands: Operands) -> None:
        self._after.append(operands)

    def extend(self, operands: Iterable[Operands]) -> None:
        self._after.extend(operands)

    def copy(self) -> OperandColumns:
        """An independent one; the columns are never written to."""
        other = OperandColumns(self._before.copy(), self._columns[:0])
        other._columns = self._columns
        other._after, other._changed = self._after.copy(), self._changed.copy()
        return other

    def numbers(self) -> np.ndarray:
        """All operands as columns: (rows, 3), NONE where there is none."""
        first, last = len(self._before), len(self._before) + len(self._columns)
        found = np.full((len(self), MOST), NONE, dtype=np.int32)
        found[first:last, :2] = self._columns
        others = chain(enumerate(self._before), enumerate(self._after, last))
        for row, operands in chain(others, self._changed.items()):
            found[row] = (*operands, *(NONE,) * MOST)[:MOST]
        return found


def _tuples(columns: np.ndarray) -> list[Operands]:
    return [(a, b) if b >= 0 else (a,) for a, b in columns.tolist()]


def numbers_of(operands: Column[GraphRow, Operands]) -> np.ndarray:
    """The first three operands of each row as columns, NONE where there is none."""
    if isinstance(operands, OperandColumns):
        return operands.numbers()
    found = np.empty((len(operands), MOST), dtype=np.int32)
    for k in range(MOST):
        each = (o[k] if len(o) > k else NONE for o in operands)
        found[:, k] = np.fromiter(each, np.int32, len(operands))
    return found
