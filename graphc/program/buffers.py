"""Which values share memory: liveness over a schedule, and a pool of buffers.

A schedule is a sequence of rows in the order in which they run; with checkpoints a row may run more
than once, and each run is a value of its own. A value lives until it is read last, by its own name
or through a view of it; the last run of a row that is wanted lives to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field

from .program import Program, ProgramRow


@dataclass
class Run:
    """One execution of a row: which runs it reads, and when its value is needed last."""

    row: ProgramRow
    reads: tuple[int, ...]  # positions of runs; -1 for an operand that needs no run
    last: int = -1  # a position; the length of the schedule for a value that is wanted


def runs(
    program: Program,
    schedule: Sequence[ProgramRow],
    free: Callable[[ProgramRow], bool],
    wanted: Collection[ProgramRow] = (),
    looks_at: Callable[[ProgramRow], Collection[ProgramRow]] = lambda row: (),
    operands: Callable[[ProgramRow], Sequence[ProgramRow]] | None = None,
) -> list[Run]:
    """The schedule as runs. `free` rows (arguments, constants) are there without running.

    `looks_at` gives the operands whose memory a row shares where it has none of its own; `operands`
    what a row reads, where that is not what the program says.
    """
    read_by = operands or program.operands.__getitem__
    latest: dict[ProgramRow, int] = {}
    found: list[Run] = []
    for position, row in enumerate(schedule):
        reads = tuple(-1 if free(o) else latest[o] for o in read_by(row))
        for read in reads:
            if read >= 0:
                found[read].last = position
        found.append(Run(row, reads))
        latest[row] = position
    for row in wanted:
        if row in latest:
            found[latest[row]].last = len(found)
    for run in reversed(found):  # a view of a view comes later than what both look at
        seen = looks_at(run.row)
        if not seen:
            continue
        for operand, read in zip(program.operands[run.row], run.reads, strict=True):
            if operand in seen and read >= 0:
                found[read].last = max(found[read].last, run.last)
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
