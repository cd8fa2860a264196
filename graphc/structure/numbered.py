"""Names that are numbers: n10, n11, ... are the rows 10, 11, ... and take no memory."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TypeVar

from .rows import GraphRow

LETTER = "n"
Key = TypeVar("Key")
Item = TypeVar("Item")


class Numbered(MutableMapping[Key, Item]):
    """Items that follow from their keys for a range of numbers, and those that were given."""

    def __init__(self, numbered: range) -> None:
        self._numbered = numbered
        self._given: dict[Key, Item] = {}
        self._gone: set[Key] = set()

    def _number(self, key: Key) -> int:
        """The number that a key stands for; -1 for none."""
        raise NotImplementedError

    def _pair(self, number: int) -> tuple[Key, Item]:
        """The key and the item of a number."""
        raise NotImplementedError

    def __getitem__(self, key: Key) -> Item:
        if key in self._given:
            return self._given[key]
        number = self._number(key)
        if number in self._numbered and key not in self._gone:
            return self._pair(number)[1]
        raise KeyError(key)

    def __setitem__(self, key: Key, item: Item) -> None:
        self._given[key] = item

    def __delitem__(self, key: Key) -> None:
        if key not in self:
            raise KeyError(key)
        self._given.pop(key, None)
        self._gone.add(key)

    def __iter__(self) -> Iterator[Key]:
        yield from self._given
        for number in self._numbered:
            key = self._pair(number)[0]
            if key not in self._gone and key not in self._given:
                yield key

    def __len__(self) -> int:
        if not self._gone and not any(self._number(k) in self._numbered for k in self._given):
            return len(self._given) + len(self._numbered)
        return sum(1 for _ in self)

    def copy(self) -> Numbered[Key, Item]:
        """An independent one."""
        other = type(self)(self._numbered)
        other._given, other._gone = self._given.copy(), self._gone.copy()
        return other


class NumberedNames(Numbered[GraphRow, str]):
    """row -> name."""

    def _number(self, key: GraphRow) -> int:
        return key

    def _pair(self, number: int) -> tuple[GraphRow, str]:
        return GraphRow(number), f"{LETTER}{number}"


class NumberedRows(Numbered[str, GraphRow]):
    """name -> row."""

    def _number(self, key: str) -> int:
        digits = key[1:] if isinstance(key, str) and key[:1] == LETTER else ""
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 12:
            return -1
        return int(digits) if digits == "0" or digits[0] != "0" else -1

    def _pair(self, number: int) -> tuple[str, GraphRow]:
        return f"{LETTER}{number}", GraphRow(number)
