"""From the rows of a program of scalars to steps over slots: what native/engine.c runs.

Kernels are chosen (a number for all points, two operations at once, two functions of one operand),
then slots by liveness: a value gives its block of memory back where it is read last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ....algebra.exact import as_float
from ....table.functions import FUNCTIONS
from ...program import Program, ProgramRow
from .kernels import FUSED, SLOTS, fused_name, kernels

NEARBY = 64  # steps between two functions of one operand that are computed together
KIND = 1 << 28  # kinds of slots are told apart by their numbers until all of them are counted
RESULT, NUMBER, FILLED, BLOCK = KIND, 2 * KIND, 3 * KIND, 4 * KIND

COMMUTATIVE = frozenset(("add", "mul"))  # which operand is the inner value does not matter


def _inner() -> dict[str, list[tuple[int, str, str]]]:
    """{operation: (which operand, the operation inside, the kernel of both)}."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    for outer, place, inner in FUSED:
        name = fused_name(outer, place, inner)
        places = (0, 1) if outer in COMMUTATIVE else (place,)
        found.setdefault(outer, []).extend((at, inner, name) for at in places)
    return found


INNER = _inner()


@dataclass(frozen=True)
class Steps:
    """What a plan is made of."""

    arguments: tuple[ProgramRow, ...]  # leaves of the program, in the order of the first slots
    results: tuple[ProgramRow, ...]  # rows of the program, in the order of the next slots
    steps: np.ndarray  # int32, five columns: kernel, result, operands
    numbers: np.ndarray
    fillers: np.ndarray  # the number that each filled block holds
    blocks: int


@dataclass
class _Move:
    """One step before slots are known: a kernel on values, each a run or a row that is free."""

    kernel: str
    rows: tuple[int, ...]  # what it computes: positions in the order
    reads: list[int]  # positions, or -1 - row


@dataclass
class _Planner:
    program: Program
    moves: list[_Move] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    fillers: dict[int, int] = field(default_factory=dict)  # number -> filled block

    def number(self, row: ProgramRow) -> int:
        """The place of a constant among the numbers."""
        value = float(as_float(self.program.settings(row)["value"]))
        return self.numbers.setdefault(repr(value), len(self.numbers))

    def filled(self, row: ProgramRow) -> int:
        number = self.number(row)
        return self.fillers.setdefault(number, len(self.fillers))


def _row(read: int) -> ProgramRow:
    """The row that is read where no position is: an argument or a constant."""
    return ProgramRow(-1 - read)


def steps(program: Program, order: Sequence[ProgramRow], results: Sequence[ProgramRow]) -> Steps:
    """The steps that compute these rows in this order."""
    planner = _Planner(program)
    arguments = tuple(row for row in program.in_order() if program.is_leaf(row))
    latest = _choose(planner, order, set(results))
    return _placed(planner, arguments, tuple(results), latest)


def _choose(
    planner: _Planner, order: Sequence[ProgramRow], wanted: set[ProgramRow]
) -> dict[ProgramRow, int]:
    """Adds a move for each kernel; gives the last position at which each row was computed."""
    program = planner.program
    ops, operands = program.ops, program.operands
    latest: dict[ProgramRow, int] = {}
    reads: list[list[int]] = []  # of each position
    uses = [0] * len(order)
    for position, row in enumerate(order):
        found = [latest.get(operand, -1 - operand) for operand in operands[row]]
        for read in found:
            if read >= 0:
                uses[read] += 1
        reads.append(found)
        latest[row] = position
    for row in wanted:
        if row in latest:
            uses[latest[row]] += 2  # a result is never only inside another operation
    joined: set[int] = set()  # positions that are an outer operation already
    absorbed: set[int] = set()  # positions that are computed inside another move
    beside = _pairs(program, order, reads)
    for position, row in enumerate(order):
        op = ops[row]
        pair = beside.get(position)
        if pair is not None:
            if position == min(pair[1:]):
                planner.moves.append(_Move(pair[0], pair[1:], reads[position]))
            continue
        move = _Move(op, (position,), reads[position])
        for at, inner, name in INNER.get(op, ()):
            read = reads[position][at]
            if read < 0 or uses[read] != 1 or read in joined or ops[order[read]] != inner:
                continue
            rest = [r for k, r in enumerate(reads[position]) if k != at]
            operand_reads = [*reads[read], *rest]
            if all(r >= 0 or program.is_leaf(_row(r)) for r in operand_reads):
                joined.add(position)
                absorbed.add(read)
                move = _Move(name, (position,), operand_reads)
                break
        planner.moves.append(move)
    planner.moves = [move for move in planner.moves if move.rows[0] not in absorbed]
    return latest


def _pairs(
    program: Program, order: Sequence[ProgramRow], reads: Sequence[Sequence[int]]
) -> dict[int, tuple[str, int, int]]:
    """{position: (kernel, its first, its second position)} of functions of one operand."""
    found: dict[int, tuple[str, int, int]] = {}
    together = {
        (name, other): kernel
        for name, record in FUNCTIONS.items()
        for other, kernel in record.together.items()
    }
    members = {name for pair in together for name in pair}
    seen: dict[tuple[str, int], int] = {}
    for position, row in enumerate(order):
        op = program.ops[row]
        if op not in members:
            continue
        operand = reads[position][0]
        for (first, second), kernel in together.items():
            other = second if op == first else first if op == second else None
            at = seen.get((other, operand)) if other is not None else None
            if at is not None and position - at <= NEARBY and at not in found:
                pair = (position, at) if op == first else (at, position)
                found[position] = found[at] = (kernel, *pair)
        seen[op, operand] = position
    return found


def _placed(
    planner: _Planner,
    arguments: tuple[ProgramRow, ...],
    results: tuple[ProgramRow, ...],
    latest: dict[ProgramRow, int],
) -> Steps:
    """The moves with a slot for every value."""
    program, moves, known = planner.program, planner.moves, kernels()
    codes = {name: code for code, name in enumerate(known)}
    argument_slot = {row: slot for slot, row in enumerate(arguments)}
    first = {row: k for k, row in reversed(list(enumerate(results)))}
    target = {latest[row]: RESULT + k for row, k in first.items() if row in latest}
    last: dict[int, int] = {}  # position -> the move that reads it last
    for number, move in enumerate(moves):
        for read in move.reads:
            if read >= 0:
                last[read] = number
    slot: dict[int, int] = {}
    idle: list[int] = []
    blocks = 0
    lines: list[tuple[int, ...]] = []
    is_leaf = program.is_leaf
    for number, move in enumerate(moves):
        kernel = known[move.kernel]
        reads = move.reads
        constants = [k for k, r in enumerate(reads) if r < 0 and not is_leaf(_row(r))]
        alike = -1
        if len(constants) == 1 and kernel.operands == 2:
            alike = constants[0]
            variant = f"{move.kernel}_at_{SLOTS[alike]}"
            if variant in known:
                kernel = known[variant]
            else:
                alike = -1
        places = []
        for k, read in enumerate(reads):
            if read >= 0:
                places.append(slot[read])
            elif is_leaf(_row(read)):
                places.append(argument_slot[_row(read)])
            elif k == alike:
                places.append(NUMBER + planner.number(_row(read)))
            else:
                places.append(FILLED + planner.filled(_row(read)))
        dying = [slot[r] for r in dict.fromkeys(reads) if r >= 0 and last[r] == number]
        dying = [place for place in dying if place >= BLOCK]
        if not kernel.own:
            idle += dying
        made = []
        for position in move.rows:
            if position in target:
                place = target[position]
            elif idle:
                place = idle.pop()
            else:
                place = BLOCK + blocks
                blocks += 1
            slot[position] = place
            made.append(place)
        if kernel.own:
            idle += dying
        idle += [s for p, s in zip(move.rows, made, strict=True) if p not in last and s >= BLOCK]
        operands = [*places, *made[1:], 0, 0][:3]
        lines.append((codes[kernel.name], made[0], *operands))
    copy = codes["identity"]
    for k, row in enumerate(results):  # what no move computes, or one computes elsewhere
        if row in latest and first[row] != k:
            lines.append((copy, RESULT + k, RESULT + first[row], 0, 0))
        elif row not in latest:
            source = argument_slot[row] if is_leaf(row) else FILLED + planner.filled(row)
            lines.append((copy, RESULT + k, source, 0, 0))
    table = np.array(lines, dtype=np.int64).reshape(-1, 5)
    _renumber(table, len(arguments), len(results), len(planner.numbers), len(planner.fillers))
    return Steps(
        arguments,
        results,
        np.ascontiguousarray(table, dtype=np.int32),
        np.array([float(text) for text in planner.numbers], dtype=np.float64),
        np.array(list(planner.fillers), dtype=np.int32),
        blocks,
    )


def _renumber(table: np.ndarray, arguments: int, results: int, numbers: int, filled: int) -> None:
    """Slots as the engine counts them: arguments, results, numbers, filled blocks, blocks."""
    counts = (arguments, results, numbers, filled)
    starts = np.cumsum((0, *counts))
    slots = table[:, 1:]
    slots[...] = starts[slots // KIND] + slots % KIND
