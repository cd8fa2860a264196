"""Columns of very many rows: full blocks in a few bytes a row, and an open list at their end.

A tuple, its numbers and two places in lists take a hundred bytes for each row; two numbers of four
bytes and a code of one byte say the same. Whoever appends says when the open list is long enough.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Generic, TypeVar

import numpy as np

from .rows import Column, GraphRow

T = TypeVar("T")
C = TypeVar("C", bound="Columns[Any, Any]")
B = TypeVar("B")
Operands = tuple[GraphRow, ...]
MANY = 1 << 17  # rows of a graph that is kept in columns; lists are faster
BLOCK = 1 << 14  # rows of a block
AT_ONCE = 1 << 12  # rows of a block that are read together
MOST = 3  # operands of one row that stand in a block
NONE = -1


class Columns(ABC, Generic[T, B]):
    """A list whose full blocks are packed; nobody writes to a block, so copies share them."""

    def __init__(self, items: Iterable[T] = ()) -> None:
        self.size = BLOCK
        self.blocks: list[B] = []
        self.closed = 0  # rows that stand in blocks
        self.tail: list[T] = []
        self.changed: dict[int, T] = {}  # of the rows of which their block does not tell
        self.append: Callable[[T], None] = self.tail.append  # nothing between: it is called a lot
        self.extend(items)

    @abstractmethod
    def _block(self, items: list[T]) -> B:
        """A block of items, which come after those that are closed."""

    @abstractmethod
    def _some(self, block: B, first: int, last: int) -> list[T]:
        """Items of a block."""

    @abstractmethod
    def _one(self, block: B, place: int) -> T:
        """An item of a block."""

    def pack(self) -> None:
        """Makes blocks of the open rows, as far as they fill any."""
        size, tail = self.size, self.tail
        while len(tail) >= size:
            self.blocks.append(self._block(tail[:size]))
            del tail[:size]
            self.closed += size

    def __len__(self) -> int:
        return self.closed + len(self.tail)

    def __getitem__(self, row: GraphRow) -> T:
        if row >= self.closed:
            return self.tail[row - self.closed]
        if row < 0:
            return self[self._from_the_end(row)]
        if row in self.changed:
            return self.changed[row]
        return self._one(self.blocks[row // self.size], row % self.size)

    def __setitem__(self, row: GraphRow, item: T) -> None:
        if row < 0:
            row = self._from_the_end(row)
        if row >= self.closed:
            self.tail[row - self.closed] = item
        else:
            self.changed[row] = item

    def _from_the_end(self, row: GraphRow) -> GraphRow:
        if row + len(self) < 0:
            raise IndexError(f"there is no row {row} of {len(self)}")
        return GraphRow(row + len(self))

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self._pieces())

    def _pieces(self) -> Iterator[list[T]]:
        """Some items at a time, by their rows: these stay the same when rows are packed."""
        row = 0
        while row < len(self):
            if row >= self.closed:
                first = row - self.closed
                items = self.tail[first : first + AT_ONCE]
            else:
                first = row % self.size
                last = min(first + AT_ONCE, self.size)
                items = self._some(self.blocks[row // self.size], first, last)
                if self.changed:
                    items = [self.changed.get(k, item) for k, item in enumerate(items, row)]
            yield items
            row += len(items)

    def extend(self, items: Iterable[T]) -> None:
        """Appends many items, packed."""
        self.pack()
        items = iter(items)
        while part := list(islice(items, self.size - len(self.tail))):
            self.tail += part
            self.pack()

    def copy(self: C) -> C:
        """An independent one."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.blocks, other.tail = self.blocks.copy(), self.tail.copy()
        other.changed, other.append = self.changed.copy(), other.tail.append
        return other


class NameColumn(Columns[str, "bytes | array[int]"]):
    """Names of operations: blocks of codes, and a table of the names that they mean."""

    def __init__(self, items: Iterable[str] = ()) -> None:
        self.names: list[str] = []
        super().__init__(items)

    def copy(self) -> NameColumn:
        """An independent one."""
        other = super().copy()
        other.names = self.names.copy()
        return other

    def _block(self, items: list[str]) -> bytes | array[int]:
        self.names += sorted(set(items).difference(self.names))
        codes = {name: code for code, name in enumerate(self.names)}
        found = map(codes.__getitem__, items)
        return bytes(found) if len(codes) <= 256 else array("I", found)

    def _some(self, block: bytes | array[int], first: int, last: int) -> list[str]:
        return list(map(self.names.__getitem__, block[first:last]))

    def _one(self, block: bytes | array[int], place: int) -> str:
        return self.names[block[place]]

    def codes(self, known: dict[str, int]) -> np.ndarray:
        """The number that each name is known by, NONE for one that is not."""
        table = np.array([known.get(name, NONE) for name in self.names], dtype=np.int16)
        found = np.empty(len(self), dtype=np.int16)
        for k, block in enumerate(self.blocks):
            found[k * self.size : (k + 1) * self.size] = table[np.asarray(memoryview(block))]
        found[self.closed :] = coded(self.tail, known)
        for row, name in self.changed.items():
            found[row] = known.get(name, NONE)
        return found


class OperandColumns(Columns[Operands, np.ndarray]):
    """Operands: blocks of two or three numbers a row, NONE where there is none."""

    def _block(self, items: list[Operands]) -> np.ndarray:
        counts = np.fromiter(map(len, items), np.int64, len(items))
        if counts.max() > MOST:
            many = np.flatnonzero(counts > MOST).tolist()
            self.changed.update((self.closed + k, items[k]) for k in many)
            items = [() if len(operands) > MOST else operands for operands in items]
            counts[many] = 0
        block = np.full((len(items), max(2, int(counts.max()))), NONE, dtype=np.int32)
        filled = np.arange(block.shape[1]) < counts[:, None]
        block[filled] = np.fromiter(chain.from_iterable(items), np.int32, int(counts.sum()))
        return block

    def _some(self, block: np.ndarray, first: int, last: int) -> list[Operands]:
        return tuples_of(block[first:last])

    def _one(self, block: np.ndarray, place: int) -> Operands:
        return _operands(block[place].tolist())

    def extend_pairs(self, pairs: np.ndarray) -> None:
        """Appends many rows of one or two operands, NONE where there is no second one."""
        start = -len(self) % self.size
        self.extend(tuples_of(pairs[:start]))
        while len(pairs) - start >= self.size:
            self.blocks.append(pairs[start : start + self.size].astype(np.int32))
            self.closed += self.size
            start += self.size
        self.extend(tuples_of(pairs[start:]))

    def numbers(self, first: int, last: int) -> np.ndarray:
        """The first operands of the rows from one to another as columns, NONE where none is."""
        found = np.full((last - first, MOST), NONE, dtype=np.int32)
        row = first
        while row < min(last, self.closed):
            block, place = self.blocks[row // self.size], row % self.size
            part = block[place : place + last - row]
            found[row - first : row - first + len(part), : part.shape[1]] = part
            row += len(part)
        if row < last:
            found[row - first :] = numbers_of(self.tail, row - self.closed, last - self.closed)
        few = self.changed if len(self.changed) < last - first else range(first, last)
        for row in few:
            if first <= row < last and row in self.changed:
                found[row - first] = (*self.changed[row], *(NONE,) * MOST)[:MOST]
        return found


def tuples_of(block: np.ndarray) -> list[Operands]:
    """The operands of rows that stand in columns."""
    if block.shape[1] == 2:
        return [(a, b) if b >= 0 else (a,) if a >= 0 else () for a, b in block.tolist()]
    return list(map(_operands, block.tolist()))


def _operands(numbers: list[GraphRow]) -> Operands:
    while numbers and numbers[-1] < 0:
        del numbers[-1]
    return tuple(numbers)


def numbers_of(operands: Column[GraphRow, Operands], first: int, last: int) -> np.ndarray:
    """The first three operands of some rows as columns, NONE where there is none."""
    if isinstance(operands, OperandColumns):
        return operands.numbers(first, last)
    assert isinstance(operands, list)
    some = operands[first:last]
    found = np.empty((len(some), MOST), dtype=np.int32)
    for k in range(MOST):
        each = (o[k] if len(o) > k else NONE for o in some)
        found[:, k] = np.fromiter(each, np.int32, len(some))
    return found


def coded(ops: Column[GraphRow, str], known: dict[str, int]) -> np.ndarray:
    """The number that each name is known by, NONE for one that is not."""
    if isinstance(ops, NameColumn):
        return ops.codes(known)
    return np.fromiter((known.get(name, NONE) for name in ops), np.int16, len(ops))
