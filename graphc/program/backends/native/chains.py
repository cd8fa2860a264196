"""Element-wise operations of one shape as one plan over arrays: native/chains.h runs it.

A schedule of rows becomes one in which many of them are computed together. A chain runs where its
first row stood; a row joins the last chain of its shape if everything that it reads is there by
then. What only a later chain reads is computed there, where it takes no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ....algebra.exact import as_float
from ....native.library import native
from ....shapes import Shape, count
from ....structure.rows import NO_SETTINGS
from ....table.functions import FUNCTIONS
from ....table.tensors import OPERATIONS
from ...array_text import site
from ...program import Program, ProgramRow
from ...scheduling import CHEAP
from . import BLOCKS
from .kernels import has, kernels
from .plans import Plan
from .steps import steps

MOST_ROWS = 300  # of a chain
MOST_SUNK = 12  # rows that are computed in a later chain for one that it reads
MANY_ELEMENTS = 30_000
FEW_PRODUCTS = 512  # that are summed sooner than a call of NumPy begins
MOST_SUMMED = BLOCKS.shortest  # to one: a block holds all of them
Link = Callable[..., Callable[..., None]]
Input = tuple[ProgramRow, str]
ARRAY, NUMBER = None, ...  # these stand for what a call of a chain brings


@dataclass(eq=False)
class Chain:
    """Rows that are computed together."""

    shape: Shape
    place: int  # among the steps of the schedule
    rows: list[ProgramRow] = field(default_factory=list)
    # what it reads of others, but for numbers, each with the subscript that brings it to its axes
    inputs: tuple[Input, ...] = ()
    reads: tuple[ProgramRow, ...] = ()  # the rows among them
    writes: tuple[ProgramRow, ...] = ()  # what others read, or the caller


class Chains:
    """A schedule with chains in it."""

    def __init__(
        self,
        program: Program,
        schedule: Sequence[ProgramRow],
        wanted: Collection[ProgramRow],
        is_view: Callable[[ProgramRow], bool],
    ) -> None:
        self.program, self.wanted = program, wanted
        self.of: dict[ProgramRow, Chain] = {}
        self.users: dict[ProgramRow, list[ProgramRow]] = {}
        # steps in order, each a row or a chain, and the views of what is there before each
        self.steps: list[ProgramRow | Chain] = []
        self.views: list[list[ProgramRow]] = [[]]
        there: dict[ProgramRow, int] = {}  # how many steps ran when a row is there
        last: dict[Shape, Chain] = {}
        for row in schedule:
            operands = program.operands[row]
            for operand in operands:
                self.users.setdefault(operand, []).append(row)
            if is_view(row):
                there[row] = max([there.get(operand, 0) for operand in operands])
                self.views[there[row]].append(row)
            elif self._has_kernel(row):
                chain = last.get(program.shape(row))
                if chain is None or not self._may_join(row, chain, there):
                    chain = last[program.shape(row)] = Chain(program.shape(row), len(self.steps))
                    self._add(chain)
                chain.rows.append(row)
                self.of[row] = chain
                there[row] = chain.place + 1
            else:
                self._add(row)
                there[row] = len(self.steps)
        for chain in self:
            self._sink(chain)
        for place, step in enumerate(self.steps):
            if isinstance(step, Chain) and self._is_better_alone(step):
                (row,) = step.rows
                self.steps[place] = row
                del self.of[row]
        for chain in self:
            self._finish(chain)

    def __iter__(self) -> Iterator[Chain]:
        return (step for step in self.steps if isinstance(step, Chain))

    def order(self) -> list[ProgramRow]:
        """The schedule, with what a chain writes in its place."""
        found = [*self.views[0]]
        for step, views in zip(self.steps, self.views[1:], strict=True):
            found += step.writes if isinstance(step, Chain) else (step,)
            found += views
        return found

    def _add(self, step: ProgramRow | Chain) -> None:
        self.steps.append(step)
        self.views.append([])

    def _has_kernel(self, row: ProgramRow) -> bool:
        program, operands = self.program, self.program.operands[row]
        op = program.ops[row]
        if not program.shape(row):
            return False
        # conditions are numbers in a chain, and none where NumPy makes them, as for the caller
        if row in self.wanted and program.is_condition(row):
            return False
        for operand in operands:
            is_mask = program.is_condition(operand) and program.shape(operand)
            if is_mask and operand not in self.of:
                return False
        if op in OPERATIONS:
            factors = OPERATIONS[op].factors(site(program, row))
            return factors is not None and not factors.summed
        return has(FUNCTIONS[op]) and len(operands) == kernels()[op].operands

    def _may_join(self, row: ProgramRow, chain: Chain, there: dict[ProgramRow, int]) -> bool:
        """Whether all that a row reads is computed in a chain or before it."""
        if len(chain.rows) >= MOST_ROWS:
            return False
        operands = self.program.operands[row]
        return all(
            self.of.get(operand) is chain or there.get(operand, 0) <= chain.place
            for operand in operands
        )

    # What only a later chain reads.

    def _sink(self, chain: Chain) -> None:
        for row in reversed(list(chain.rows)):
            if self.of[row] is not chain or row in self.wanted:
                continue
            homes = {self.of.get(user) for user in self.users[row]}
            later = homes.pop()
            if homes or later is None or later is chain or later.shape != chain.shape:
                continue
            if len(later.rows) + MOST_SUNK > MOST_ROWS:
                continue
            moved = self._needed_by(row, chain, later)
            if moved is not None:
                for one in moved:
                    self.of[one] = later
                    later.rows.append(one)
        chain.rows = [row for row in chain.rows if self.of[row] is chain]

    def _needed_by(self, row: ProgramRow, chain: Chain, later: Chain) -> set[ProgramRow] | None:
        """The rows that move with one to a later chain, if fewer arrays are read and written so."""
        found, operands = {row}, self.program.operands
        read = set(operands[row])
        for one in reversed(chain.rows):
            if len(found) >= MOST_SUNK:
                break
            if one in read and one not in self.wanted:
                homes = self.users[one]
                if all(user in found or self.of.get(user) is later for user in homes):
                    found.add(one)
                    read.update(operands[one])
        cost = 0
        for one in read - found:
            if not self._is_number(one):
                users = self.users[one]
                cost += all(self.of.get(user) is not later for user in users)
                inside = self.of.get(one) is chain and one not in self.wanted
                cost += inside and all(self.of.get(user) is chain for user in users)
        return found if cost < 2 else None

    def _is_better_alone(self, chain: Chain) -> bool:
        """Whether NumPy is as fast: one cheap operation on many elements waits for memory."""
        if len(chain.rows) != 1 or self.program.ops[chain.rows[0]] not in CHEAP - {"where"}:
            return False
        return count(chain.shape) >= MANY_ELEMENTS

    def _is_number(self, row: ProgramRow) -> bool:
        return self.program.ops[row] == "const" and not self.program.shape(row)

    def _inputs(self, row: ProgramRow) -> list[Input]:
        """What a row reads."""
        program, operands = self.program, self.program.operands[row]
        operation = OPERATIONS.get(program.ops[row])
        factors = operation.factors(site(program, row)) if operation else None
        subscripts = factors.subscripts if factors else [""] * len(operands)
        return list(zip(operands, subscripts, strict=True))

    def _finish(self, chain: Chain) -> None:
        of = self.of
        chain.rows.sort()
        read = dict.fromkeys(one for row in chain.rows for one in self._inputs(row))
        chain.inputs = tuple(
            one for one in read if of.get(one[0]) is not chain and not self._is_number(one[0])
        )
        chain.reads = tuple(dict.fromkeys(row for row, _ in chain.inputs))
        chain.writes = tuple(
            row
            for row in chain.rows
            if row in self.wanted or any(of.get(user) is not chain for user in self.users[row])
        )

    def link(self, chain: Chain, dtype: str) -> Link:
        """The function that binds a chain to arrays: (shape, *inputs, *writes) -> what runs it."""
        program = self.program
        known = {one: str(k) for k, one in enumerate(chain.inputs)}
        moves: list[tuple[str, ...]] = []
        for k, row in enumerate(chain.rows, start=len(known)):
            op, inside = program.ops[row], [self._told(one, known) for one in self._inputs(row)]
            moves.append(("mul" if op in OPERATIONS else op, *inside))  # one that has factors
            known[row, ""] = str(k)
        places = {row: k for k, row in enumerate(chain.rows)}
        writes = tuple(places[row] for row in chain.writes)
        return _link(len(chain.inputs), tuple(moves), writes, dtype)

    def _told(self, one: Input, known: dict[Input, str]) -> str:
        return known[one] if one in known else _number(self.program.settings(one[0])["value"])


def adding(dtype: str) -> Link:
    """The link of a sum of two arrays."""
    return _link(2, (("add", "0", "1"),), (0,), dtype)


def copying(dtype: str) -> Link:
    """The link of an array elsewhere."""
    return _link(1, (("identity", "0"),), (0,), dtype)


def summing(operands: int, summed: int, dtype: str) -> Link:
    """The link of a product, or of one array, summed over so many last axes."""
    move = ("mul", "0", "1") if operands == 2 else ("identity", "0")
    return _link(operands, (move,), (0,), dtype, summed)


def filling(value: Any, dtype: str) -> Link:
    """The link of an array that holds one number."""
    return _link(0, (("identity", _number(value)),), (0,), dtype)


def together(*chains: Callable[..., None]) -> Callable[[], None]:
    """Chains that bring nothing, one after the other."""
    found: Callable[[], None] = native().library.graphc_links(chains)
    return found


def _number(value: Any) -> str:
    """A number, told apart from places by its point; -0 and 0 are two."""
    return f".{float(as_float(value))!r}"


@lru_cache(maxsize=512)
def _link(
    reads: int,
    moves: tuple[tuple[str, ...], ...],
    writes: tuple[int, ...],
    dtype: str,
    summed: int = 0,
) -> Link:
    """Chains of the same operations have one plan."""
    program = Program()
    rows = [program.shared("input", (), {"name": f"x{k}", "shape": ()}) for k in range(reads)]
    for op, *operands in moves:
        inside = [
            program.constant(float(text[1:])) if text[0] == "." else rows[int(text)]
            for text in operands
        ]
        rows.append(program.shared(op, tuple(inside), NO_SETTINGS))
    made = steps(program, rows[reads:], [rows[reads + k] for k in writes])
    each = (made.blocks + reads) * np.dtype(dtype).itemsize
    plan = Plan(made, dtype, BLOCKS.length(each))
    library = native().library

    def link(shape: tuple[int, ...], *arrays: Any) -> Callable[..., None]:
        found: Callable[..., None] = library.graphc_link(
            plan.address, (plan, shape, arrays, ARRAY, NUMBER, summed)
        )
        return found

    return link
