"""From the rows of a program of scalars to steps over slots: what native/engine.c runs.

Kernels are chosen (a number for all points, two operations at once, two functions of one operand),
then slots by liveness: a value gives its block of memory back where it is read last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ....algebra.exact import as_float
from ....table.functions import FUNCTIONS
from ...program import Program, ProgramRow
from .kernels import FUSED, SHARING, SLOTS, fused_name, kernels, sharing_name

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


# Values are counted: the arguments first, then what is computed, in order. A step before slots are
# known is a kernel, the values it computes, and what it reads: values, or numbers as -1 - place.
Move = tuple[str, tuple[int, ...], list[int]]


@dataclass
class _Planner:
    program: Program
    order: Sequence[ProgramRow]
    arguments: list[ProgramRow] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    fillers: dict[int, int] = field(default_factory=dict)  # number -> filled block
    latest: list[int] = field(default_factory=list)  # what a row is read as after the last move

    def __post_init__(self) -> None:
        program = self.program
        for row, operands in zip(program.in_order(), program.operands, strict=True):
            self.latest.append(0 if operands else self._free(row))

    def _free(self, row: ProgramRow) -> int:
        """What a row is read as that nothing computes."""
        if self.program.is_leaf(row):
            self.arguments.append(row)
            return len(self.arguments) - 1
        value = float(as_float(self.program.settings(row)["value"]))
        return -1 - self.numbers.setdefault(repr(value), len(self.numbers))

    def filled(self, read: int) -> int:
        """The slot of a number that fills a block."""
        return FILLED + self.fillers.setdefault(-1 - read, len(self.fillers))


def steps(program: Program, order: Sequence[ProgramRow], results: Sequence[ProgramRow]) -> Steps:
    """The steps that compute these rows in this order."""
    planner = _Planner(program, order)
    return _placed(planner, tuple(results), _chosen(planner, results))


def _chosen(planner: _Planner, results: Iterable[ProgramRow]) -> list[Move]:
    """A move for each kernel, in the order in which values are computed."""
    operands, latest, given = planner.program.operands, planner.latest, len(planner.arguments)
    ops = [planner.program.ops[row] for row in (*planner.arguments, *planner.order)]
    reads: list[list[int]] = [[]] * given  # of each value
    uses = [0] * len(ops)
    for value, row in enumerate(planner.order, start=given):
        found = [latest[operand] for operand in operands[row]]
        for read in found:
            if read >= 0:
                uses[read] += 1
        reads.append(found)
        latest[row] = value
    for row in results:
        if latest[row] >= 0:
            uses[latest[row]] += 2  # a result is never only inside another operation
    beside = _pairs(ops, reads)
    joined: set[int] = set()  # values of an operation that has another one inside
    moves: list[Move | None] = [None] * given
    for value in range(given, len(ops)):
        kernel, found = ops[value], reads[value]
        if value in beside:
            kernel, both = beside[value]
            moves.append((kernel, both, found) if value == min(both) else None)
            continue
        alone = [read >= 0 and uses[read] == 1 and read not in joined for read in found]
        if kernel in SHARING and all(alone):
            products = [[*reads[read]] if ops[read] == "mul" else [] for read in found]
            inside = _shared_factor(*products)
            if inside:
                joined.add(value)
                for read in found:
                    moves[read] = None
                moves.append((sharing_name(kernel), (value,), inside))
                continue
        for at, inner, name in INNER.get(kernel, ()):
            read = found[at]
            if not alone[at] or ops[read] != inner:
                continue
            inside = reads[read] + found[:at] + found[at + 1 :]
            if min(inside) >= 0:  # no kernel of two operations takes a number
                joined.add(value)
                moves[read] = None
                kernel, found = name, inside
                break
        moves.append((kernel, (value,), found))
    return [move for move in moves if move is not None]


def _shared_factor(one: list[int], other: list[int]) -> list[int]:
    """The factor that two products share, and those that they do not; nothing if there is none."""
    for factor in one:
        if factor in other and min(*one, *other) >= 0:
            one.remove(factor)
            other.remove(factor)
            return [factor, *one, *other]
    return []


def _pairs(
    ops: Sequence[str], reads: Sequence[Sequence[int]]
) -> dict[int, tuple[str, tuple[int, int]]]:
    """{value: (kernel, its first and second value)} of functions of one operand."""
    found: dict[int, tuple[str, tuple[int, int]]] = {}
    together = {
        (name, other): kernel
        for name, record in FUNCTIONS.items()
        for other, kernel in record.together.items()
    }
    members = {name for pair in together for name in pair}
    seen: dict[tuple[str, int], int] = {}
    for value, op in enumerate(ops):
        if op not in members:
            continue
        operand = reads[value][0]
        for (first, second), kernel in together.items():
            other = second if op == first else first if op == second else None
            at = seen.get((other, operand)) if other is not None else None
            if at is not None and value - at <= NEARBY and at not in found:
                pair = (value, at) if op == first else (at, value)
                found[value] = found[at] = kernel, pair
        seen[op, operand] = value
    return found


def _placed(planner: _Planner, results: tuple[ProgramRow, ...], moves: list[Move]) -> Steps:
    """The moves with a slot for every value."""
    latest, given, known = planner.latest, len(planner.arguments), kernels()
    codes = {name: code for code, name in enumerate(known)}
    first = {row: k for k, row in reversed(list(enumerate(results)))}
    target = {latest[row]: RESULT + k for row, k in first.items() if latest[row] >= given}
    count = given + len(planner.order)
    slot = [*range(given), *[0] * (count - given)]
    last = [-1] * count  # the move that reads each value last
    for number, (_, _, reads) in enumerate(moves):
        for read in reads:
            if read >= 0:
                last[read] = number
    idle: list[int] = []
    blocks = 0
    lines: list[list[int]] = []
    for number, (name, values, reads) in enumerate(moves):
        own = known[name].own
        if min(reads) < 0:
            name, places = _with_numbers(planner, name, reads, slot)
        else:
            places = [slot[read] for read in reads]
        dying = []
        for read in reads:
            if read >= 0 and last[read] == number:
                last[read] = -1  # it may be read twice
                if slot[read] >= BLOCK:
                    dying.append(slot[read])
        if not own:
            idle += dying
        made = []
        for value in values:
            if value in target:
                place = target[value]
            elif idle:
                place = idle.pop()
            else:
                place = BLOCK + blocks
                blocks += 1
            slot[value] = place
            made.append(place)
        if own:
            idle += dying
        for value, place in zip(values, made, strict=True):
            if last[value] < 0 and place >= BLOCK:  # nobody reads it
                idle.append(place)
        lines.append([codes[name], made[0], *places, *made[1:], 0, 0][:5])
    copy = codes["identity"]
    for k, row in enumerate(results):  # what no move computes, or one computes elsewhere
        read = latest[row]
        if read < given:
            source = planner.filled(read) if read < 0 else read
            lines.append([copy, RESULT + k, source, 0, 0])
        elif first[row] != k:
            lines.append([copy, RESULT + k, RESULT + first[row], 0, 0])
    table = np.array(lines, dtype=np.int64).reshape(-1, 5)
    _renumber(table, given, len(results), len(planner.numbers), len(planner.fillers))
    return Steps(
        tuple(planner.arguments),
        results,
        np.ascontiguousarray(table, dtype=np.int32),
        np.array([float(text) for text in planner.numbers], dtype=np.float64),
        np.array(list(planner.fillers), dtype=np.int32),
        blocks,
    )


def _with_numbers(
    planner: _Planner, kernel: str, reads: list[int], slot: Sequence[int]
) -> tuple[str, list[int]]:
    """The kernel, and the slots that it reads, where a number is among them.

    The only number of two operands is one for all points, if there is a kernel for that; any other
    fills a block.
    """
    alike = -1
    numbers = [k for k, read in enumerate(reads) if read < 0]
    if len(numbers) == 1 and len(reads) == 2:
        variant = f"{kernel}_at_{SLOTS[numbers[0]]}"
        if variant in kernels():
            kernel, alike = variant, numbers[0]
    places = []
    for k, read in enumerate(reads):
        if read >= 0:
            places.append(slot[read])
        else:
            places.append(NUMBER - 1 - read if k == alike else planner.filled(read))
    return kernel, places


def _renumber(table: np.ndarray, arguments: int, results: int, numbers: int, filled: int) -> None:
    """Slots as the engine counts them: arguments, results, numbers, filled blocks, blocks."""
    counts = (arguments, results, numbers, filled)
    starts = np.cumsum((0, *counts))
    slots = table[:, 1:]
    slots[...] = starts[slots // KIND] + slots % KIND
