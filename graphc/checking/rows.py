"""The rows of a report, made when somebody looks at them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import repeat
from typing import Any, overload

import numpy as np

from .verdicts import CORRECT, Finding, Index, Row

_row = partial(tuple.__new__, Row)  # Row._make without its frame: rows are made by the thousand


@dataclass(frozen=True, eq=False)
class Block:
    """Derivatives of one output by neighbouring elements of a leaf, as arrays."""

    name: str  # of the leaf
    shape: tuple[int, ...]
    first: int  # the first of the elements
    derived: Any
    measured: Any
    bounds: Any
    evidence: str
    of: str
    findings: dict[int, Finding]  # by place in the block: all others are correct
    point: int = 0

    def __len__(self) -> int:
        return len(self.derived)

    def __iter__(self) -> Iterator[Row]:
        numbers = (array.tolist() for array in (self.derived, self.measured, self.bounds))
        derived, measured, bounds = numbers
        found = indices(self.shape, self.first, self.first + len(self))
        same = map(repeat, (CORRECT, self.evidence, self.of, "", self.point))
        columns = zip(repeat(self.name), found, derived, measured, *same, bounds, strict=False)
        for place, row in enumerate(map(_row, columns)):
            finding = self.findings.get(place)
            yield row if finding is None else row._replace(**finding._asdict())

    @property
    def verdicts(self) -> set[str]:
        """All that occur."""
        found = {finding.verdict for finding in self.findings.values()}
        return found if len(self.findings) == len(self) else found | {CORRECT}

    def at(self, point: int) -> Block:
        """The same at another of several points."""
        return replace(self, point=point)


class Rows(Sequence[Row]):
    """The rows of blocks, and single ones."""

    def __init__(self, parts: Iterable[Block | Row] = ()) -> None:
        self.parts = list(parts)

    @cached_property
    def _all(self) -> list[Row]:
        found: list[Row] = []
        for part in self.parts:
            found += part if isinstance(part, Block) else (part,)
        return found

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...

    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        return self._all[place]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._all)

    def __len__(self) -> int:
        return sum(len(part) if isinstance(part, Block) else 1 for part in self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (list, Rows)) and self._all == list(other)

    def __add__(self, other: Iterable[Row]) -> list[Row]:
        return [*self, *other]

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __repr__(self) -> str:
        return repr(self._all)

    @property
    def verdicts(self) -> set[str]:
        """All that occur."""
        found: set[str] = set()
        for part in self.parts:
            if isinstance(part, Block):
                found |= part.verdicts
            else:
                found.add(part.verdict)
        return found

    def at(self, point: int) -> Rows:
        """The same at another of several points."""
        return Rows(
            part.at(point) if isinstance(part, Block) else part._replace(point=point)
            for part in self.parts
        )


@lru_cache(maxsize=64)
def indices(shape: tuple[int, ...], begin: int, end: int) -> tuple[Index, ...]:
    """The indices of elements of an array, in order."""
    if not shape:
        return (Index(),)
    axes = np.unravel_index(np.arange(begin, end), shape)
    return tuple(map(Index, zip(*(axis.tolist() for axis in axes), strict=True)))
