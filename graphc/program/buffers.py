"""Which values share memory: liveness over a schedule, and a pool of buffers.

A schedule is a sequence of rows in the order in which they run; with checkpoints a row may run more
than once, and each run is a value of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from .program import Program


@dataclass
class Run:
    """One execution of a row: which runs it reads, and when its value is read last."""

    row: int
    reads: tuple[int, ...]  # positions of runs; -1 - row for a row that needs no run
    last: int = -1


def runs(program: Program, schedule: Sequence[int], free: Callable[[int], bool]) -> list[Run]:
    """The schedule as runs. `free` rows (arguments, constants) are there without running."""
    latest: dict[int, int] = {}
    found: list[Run] = []
    for position, row in enumerate(schedule):
        reads = tuple(-1 - o if free(o) else latest[o] for o in program.operands[row])
        for read in reads:
            if read >= 0:
                found[read].last = position
        found.append(Run(row, reads))
        latest[row] = position
    return found


@dataclass
class Pool:
    """Buffers of several kinds (a shape, a dtype), handed out and taken back."""

    counts: dict[Hashable, int] = field(default_factory=dict)  # kind -> how many there are
    _idle: dict[Hashable, list[int]] = field(default_factory=dict)

    def take(self, kind: Hashable) -> int:
        """The number of a buffer of this kind that nobody uses."""
        idle = self._idle.setdefault(kind, [])
        if idle:
            return idle.pop()
        number = self.counts.get(kind, 0)
        self.counts[kind] = number + 1
        return number

    def give_back(self, kind: Hashable, number: int) -> None:
        self._idle.setdefault(kind, []).append(number)
