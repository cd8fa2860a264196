"""Where a selection takes its elements from: a slice, windows over an axis, or places one by one.

It is said once, where the selection is declared, and kept as it was said.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Slice:
    """Evenly spaced places: start, start + step, ..."""

    start: int
    count: int
    step: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.count,)

    @property
    def array(self) -> Any:
        return np.arange(self.start, self.start + self.count * self.step, self.step)

    @property
    def has_gaps(self) -> bool:
        return False

    @property
    def distinct(self) -> bool:
        """Whether each element has a place of its own."""
        return True

    @property
    def subscript(self) -> str:
        """The slice between brackets."""
        if not self.count:
            return ":0"
        stop = self.start + (self.count - 1) * self.step + 1
        return f"{self.start or ''}:{stop}" + f":{self.step}" * (self.step > 1)

    def listed(self) -> str:
        return str(self.array.tolist())


@dataclass(frozen=True)
class Window:
    """Windows over an axis of this size: `width` places, `dilation` apart; -1 in the padding."""

    size: int
    width: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1

    @property
    def reach(self) -> int:
        """From the first place of a window to its last."""
        return self.dilation * (self.width - 1) + 1

    @property
    def span(self) -> int:
        """From the first place of the first window to the last of the last."""
        return (self.count - 1) * self.stride + self.reach

    @property
    def count(self) -> int:
        return (self.size + 2 * self.padding - self.reach) // self.stride + 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.count, self.width)

    @cached_property
    def array(self) -> Any:
        starts = np.arange(self.count)[:, None] * self.stride - self.padding
        places = starts + np.arange(self.width) * self.dilation
        return np.where((places < 0) | (places >= self.size), -1, places)

    @property
    def has_gaps(self) -> bool:
        return self.padding > 0

    @property
    def distinct(self) -> bool:
        """Whether each element has a place of its own."""
        apart = self.stride >= self.reach or self.count == 1
        return apart and not self.has_gaps

    @property
    def subscript(self) -> None:
        return None

    def listed(self) -> str:
        return str(self.array.tolist())


@dataclass(frozen=True, eq=False)
class Places:
    """Places one by one in an array of any rank, -1 for a 0; a single place is one of no rank."""

    array: Any  # int32

    def __post_init__(self) -> None:
        own = np.array(self.array, dtype=np.int32)
        own.flags.writeable = False
        object.__setattr__(self, "array", own)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Places) and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        return hash((self.array.shape, self.array.tobytes()))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @cached_property
    def has_gaps(self) -> bool:
        return bool((self.array < 0).any())

    @cached_property
    def distinct(self) -> bool:
        """Whether each element has a place of its own."""
        alone = self.array.size < 2
        return not self.has_gaps and (alone or np.unique(self.array).size == self.array.size)

    @property
    def subscript(self) -> str | None:
        """A single place between brackets."""
        return None if self.shape else str(int(self.array))

    def listed(self) -> str:
        return str(self.array.tolist())


Index = Slice | Window | Places


def covers(index: Index, size: Any) -> bool:
    """Whether every place along an axis of this size is named."""
    if isinstance(index, Slice):
        return bool(index.count == size)
    return isinstance(size, int) and np.unique(index.array).size - index.has_gaps == size


def run_from(index: Index) -> int | None:
    """The first place, if the others follow it one by one."""
    if isinstance(index, Slice):
        return index.start if index.step == 1 else None
    return None if index.shape or index.has_gaps else int(index.array)


def united(one: Slice | Places, other: Slice | Places) -> Slice | Places:
    """The places of both, each once, in order."""
    first, second = sorted((one, other), key=lambda index: getattr(index, "start", 0))
    if isinstance(first, Slice) and isinstance(second, Slice) and first.step == second.step == 1:
        end = first.start + first.count
        if second.start <= end:
            return Slice(first.start, max(end, second.start + second.count) - first.start)
    return chosen(np.union1d(one.array, other.array))


def chosen(places: Any) -> Slice | Places:
    """Places as a slice if they are evenly spaced and ascending, else one by one."""
    array = np.asarray(places, dtype=np.int64)
    if array.ndim == 1 and not array.size:
        return Slice(0, 0)
    if array.ndim == 1 and array[0] >= 0:
        step = int(array[1] - array[0]) if array.size > 1 else 1
        if step > 0 and bool((np.diff(array) == step).all()):
            return Slice(int(array[0]), array.size, step)
    return Places(array)
