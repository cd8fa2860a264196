"""A table of records by name."""

from __future__ import annotations

from typing import TypeVar

Record = TypeVar("Record")


class Table(dict[str, Record]):
    """The records by name."""

    version = 0  # of the table: what was made from records of another one is old

    def __setitem__(self, name: str, record: Record) -> None:
        super().__setitem__(name, record)
        self.version += 1
