"""The order in which rows run, and what it costs: checkpoints trade memory for operations.

Without checkpoints the order is the program's own. With them, forward rows of a segment of layers
run again just before the backward pass needs them. Every row runs the same operation on the same
values, so results are the same bits.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import GraphcError
from ..structure.paths import reached
from ..structure.rows import GraphRow
from .backend import Blocks
from .program import Program, ProgramRow

if TYPE_CHECKING:
    from .options import Options

CALL = 300  # what calling an operation costs, in elements of a cheap one
DEAR = 8  # what a transcendental function costs, in cheap operations
CHEAP = {"add", "sub", "mul", "div", "neg", "square", "abs", "maximum", "minimum", "where"}
OVERHEAD = 4  # adjoints and temporaries that are alive besides the values of the layers


@dataclass(frozen=True)
class Schedule:
    """Rows in the order in which they run, the points of a block, and the cost."""

    order: tuple[ProgramRow, ...]
    block: int
    memory: int  # bytes of intermediate values
    recomputed: int = 0


def schedule(program: Program, declared: GraphRow, chosen: Options, has_points: bool) -> Schedule:
    """The schedule that the options ask for; rows from `declared` on are the backward pass."""
    width = 4 if chosen.dtype == "float32" else 8
    planner = _Planner(program, declared, width, chosen.backend.blocks if has_points else None)
    if chosen.every is not None:
        return planner.made(planner.every(chosen.every))
    if chosen.budget is not None:
        return planner.within(chosen.budget)
    return planner.made(planner.plain)


def is_free(program: Program, row: ProgramRow) -> bool:
    """Whether a row is there without running: an argument, a constant, a size."""
    return not program.operands[row]


class _Planner:
    def __init__(
        self, program: Program, declared: GraphRow, width: int, blocks: Blocks | None
    ) -> None:
        self.program = program
        self.width = width
        self.blocks = blocks  # None: there are no points
        self.plain = [row for row in program.in_order() if not is_free(program, row)]
        self.declared = declared

    @cached_property
    def forward(self) -> set[ProgramRow]:
        """The rows of values; the others belong to the backward pass."""
        return {row for row in self.plain if self.program.origin[row] < self.declared}

    @cached_property
    def layers(self) -> list[int]:
        return _layers(self.program)

    @property
    def deepest(self) -> int:
        return max((self.layers[row] for row in self.forward), default=0)

    def made(self, order: Sequence[ProgramRow], block: int | None = None) -> Schedule:
        """A schedule with its cost."""
        alive = self.alive(order)
        if self.blocks is None:
            return Schedule(tuple(order), 0, alive, len(order) - len(self.plain))
        length = block or self.blocks.length(alive * self.width)
        memory = alive * length * self.width
        return Schedule(tuple(order), length, memory, len(order) - len(self.plain))

    def alive(self, order: Sequence[ProgramRow]) -> int:
        """The most that is needed at once: values of a point, or bytes of tensors."""
        operands = self.program.operands
        # row -> when it ran last; rows that need no run are not here
        latest: dict[ProgramRow, int] = {}
        last: list[int] = []  # when the value of each run is needed last
        for position, row in enumerate(order):
            for operand in operands[row]:
                read = latest.get(operand)
                if read is not None:
                    last[read] = position
            latest[row] = position
            last.append(position)
        weights = (
            [1] * len(last) if self.blocks is not None else [self._bytes(row) for row in order]
        )
        changes = [0] * (len(last) + 2)
        for position, weight in enumerate(weights):
            changes[position] += weight
            changes[last[position] + 1] -= weight
        alive = most = 0
        for change in changes:
            alive += change
            if alive > most:
                most = alive
        return most

    def _bytes(self, row: ProgramRow) -> int:
        size = self.width
        for extent in self.program.shape(row):
            size *= extent if isinstance(extent, int) else 1
        return size if self.program.shape(row) else 0

    def every(self, spacing: int) -> list[ProgramRow]:
        """The order with the values of every so many layers kept."""
        return self.cut(list(range(spacing, self.deepest, spacing)))

    def cut(self, cuts: Sequence[int]) -> list[ProgramRow]:
        """The order with the values kept that cross from one segment of layers to a later one."""
        program, forward = self.program, self.forward
        segment = [bisect_left(cuts, layer) for layer in self.layers]
        last = max((segment[row] for row in forward), default=0)
        kept = {row for row in forward if segment[row] == last}
        for row in forward:
            kept.update(o for o in program.operands[row] if segment[o] < segment[row])
        wanted: dict[int, set[ProgramRow]] = {}
        for row in self.plain:
            if row not in forward:
                for operand in program.operands[row]:
                    if operand in forward and operand not in kept:
                        wanted.setdefault(segment[operand], set()).add(operand)
        result = [row for row in self.plain if row in forward]
        for row in self.plain:
            if row in forward:
                continue
            for operand in program.operands[row]:
                if operand in forward and operand not in kept and segment[operand] in wanted:
                    result += self._again(wanted.pop(segment[operand]), kept)
            result.append(row)
        return result

    def _again(self, rows: set[ProgramRow], kept: set[ProgramRow]) -> list[ProgramRow]:
        """The rows to run again for these: they, and what they need, down to kept values."""
        program = self.program

        def is_there(row: ProgramRow) -> bool:
            return row in kept or is_free(program, row)

        found = reached(rows, lambda row: () if is_there(row) else program.operands[row])
        return sorted(row for row in found if not is_there(row))

    def within(self, budget: int) -> Schedule:
        """The schedule that fits a budget of bytes and recomputes least."""
        if self.blocks is None:
            named = {
                s for shape in self.program.shapes.values() for s in shape if isinstance(s, str)
            }
            if named:
                raise GraphcError(
                    f"a memory budget needs known sizes, and {min(named)!r} is only a name; "
                    "declare the array with numbers, or give checkpoint= a number of layers"
                )
            even = self.plain if self.alive(self.plain) <= budget else self._evenly(budget)
            if even is None:
                raise self._too_small(budget)
            return self.made(even)
        found: tuple[float, Schedule] | None = None
        for block in self.blocks.lengths:  # shorter blocks may cost less than running rows again
            room = budget // (block * self.width)
            order: list[ProgramRow] | None = self.plain
            if self.alive(self.plain) > room:
                order = self._unevenly(room) or self._evenly(room)
            if order is not None:
                cost = sum(map(self._weight, order)) * (1 + CALL / block)
                if found is None or cost < found[0]:
                    found = cost, self.made(order, block)
        if found is None:
            raise self._too_small(budget)
        return found[1]

    def _weight(self, row: ProgramRow) -> int:
        return 1 if self.program.ops[row] in CHEAP else DEAR

    def _too_small(self, budget: int) -> GraphcError:
        return GraphcError(
            f"no checkpoints make the values fit into {budget} bytes; give a larger budget"
        )

    def _unevenly(self, room: int) -> list[ProgramRow] | None:
        """Cuts that use the room which earlier checkpoints leave.

        While segment j (from the front) is differentiated, j checkpoints are kept, so it may hold
        the rest of the room. On a chain this is optimal among schedules that run each row at most
        twice: the last segment, which does not run again, is as long as it can be.
        """
        spare = room - OVERHEAD
        for count in range(1, min(self.deepest, spare)):
            sizes = [spare - j for j in range(count + 1)]
            if sum(sizes) < self.deepest:
                continue
            cuts, end = [], self.deepest
            for size in reversed(sizes):
                end -= size
                if end > 0:
                    cuts.append(end)
            order = self.cut(sorted(cuts))
            return order if self.alive(order) <= room else None
        return None

    def _evenly(self, room: int) -> list[ProgramRow] | None:
        """Evenly spaced cuts that fit, the fewest recomputed rows first."""
        spacing = self.deepest // 2
        while spacing >= 1:
            order = self.every(spacing)
            if self.alive(order) <= room:
                return order
            spacing = spacing * 3 // 4
        return None


def _layers(program: Program) -> list[int]:
    """How many nodes the longest chain to each row has."""
    layers: list[int] = []
    for row, operands in zip(program.in_order(), program.operands, strict=True):
        below = max((layers[operand] for operand in operands), default=0)
        layers.append(below + (row in program.names and not program.is_leaf(row)))
    return layers
