"""The fast style for tensors where the native library is: chains of element-wise operations, and
views that are made once.

A buffer stays where it is from call to call, and so does a view of one: both are told to a chain
when the workspace is made. What a call brings, and what it hands over, is told at the call.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any

from ....shapes import Shape, count
from ....table.tensors import OPERATIONS
from ...array_text import ArrayText, site
from ...buffers import Run
from ...module import Task
from ...naming import Naming
from ...program import ProgramRow
from ..numpy.fast_tensors import Buffer, Held, Pieces, Step, Workspace
from .chains import (
    FEW_PRODUCTS,
    MOST_SUMMED,
    Chain,
    Chains,
    Link,
    adding,
    copying,
    filling,
    summing,
    together,
)


def body(one: Task, text: ArrayText, naming: Naming) -> list[str]:
    """Statements into a workspace, chains among them."""
    return ChainedWorkspace(one, text, naming).lines()


class ChainedWorkspace(Workspace):
    """The text of one function whose element-wise operations are chains."""

    def __init__(self, one: Task, text: ArrayText, naming: Naming) -> None:
        super().__init__(one, text, naming)
        shape, is_leaf = self.program.shape, self.program.is_leaf
        self.constants = {
            name for row, (name, _) in self.free.items() if shape(row) and not is_leaf(row)
        }
        # what the workspace has, and whether it stands in one piece
        self.fixed: dict[str, bool] = {}
        self.made: dict[str, str] = {}  # texts that make views and chains, and their names
        self.taken: dict[str, None] = {}  # what the function's lines mention of the workspace
        self.owned = naming.fresh("buffers")  # all of them: chains hold some that no line mentions
        self.targets: list[str] = []  # of the chain that is being written
        self.links: dict[int, str] = {}  # names by which the text knows objects
        self.silent: dict[str, str] = {}  # calls that bring nothing, and what they call

    def _of_numbers(self, row: ProgramRow, pieces: Pieces) -> str:
        found = super()._of_numbers(row, pieces)
        if not self.program.shape(row) or self.program.is_condition(row):
            return found
        # an array of bare numbers may be one of whole numbers
        return self.text.call("asarray", found, f"dtype={self.np}.{self.text.dtype}")[0]

    def _steps(self, order: Sequence[ProgramRow], names: dict[ProgramRow, str]) -> list[str]:
        return self._together(self._single_steps(order, names))

    def _single_steps(self, order: Sequence[ProgramRow], names: dict[ProgramRow, str]) -> list[str]:
        """The lines with a call for each chain.

        Where rows run twice, each has two values, and none joins a chain.
        """
        joining = [] if self.one.schedule.recomputed else order
        self.chains = Chains(self.program, joining, self.wanted, self._is_view)
        return super()._steps(self.chains.order() if joining else order, names)

    def _together(self, lines: Sequence[str]) -> list[str]:
        """The lines, with one call for chains that follow one another and are told nothing more."""
        found: list[str] = []
        for silent, group in groupby(lines, self.silent.__contains__):
            several = list(group)
            if not silent:
                found += several
                continue
            name = self.silent[several[0]]
            if len(several) > 1:
                chains = ", ".join(self.silent[line] for line in several)
                name = self._made("chains", f"{self._given('together', together)}({chains})")
            self.taken[name] = None
            found.append(f"{name}()")
        return found

    def _given(self, stem: str, given: Any) -> str:
        """The name of an object that the text mentions."""
        if id(given) not in self.links:
            self.links[id(given)] = self.naming.numbered(stem)
            self.text.given[self.links[id(given)]] = given
        return self.links[id(given)]

    def _kept(self) -> list[str]:
        return [*self.taken, self.owned] if self.taken else []

    def _making(self) -> list[str]:
        """The lines that make all that stays where it is; buffers of one kind stand together."""
        kinds: dict[tuple[str, str], list[str]] = {}
        for (kind, _), buffer in self.buffers.items():
            kinds.setdefault(kind, []).append(buffer)
        lines = []
        for (shape, dtype), names in kinds.items():
            several = f"{self.np}.several({len(names)}, {shape}, {self.np}.{dtype})"
            lines.append(f"{', '.join(names)}, = {several}")
        return [*lines, *(f"{name} = {text}" for text, name in self.made.items())]

    def _maker(self, name: str) -> list[str]:
        arguments = ", ".join(self.naming.of(size) for size in self.one.sizes)
        owned = ", ".join(self.buffers.values()) + "," * (len(self.buffers) == 1)
        lines = [*self._making(), f"return {', '.join(self.taken)}, ({owned})"]
        return [f"def {name}({arguments}):", *(f"    {line}" for line in lines)]

    def _is_view(self, row: ProgramRow) -> bool:
        """Whether a row is only another look at its operand."""
        op = self.program.ops[row]
        if op not in OPERATIONS or not self.program.shape(row) or self._is_fresh(row):
            return False
        return OPERATIONS[op].looks(self.program.settings(row)) and not self._fits_buffer(row)

    def _operands(self, row: ProgramRow) -> Sequence[ProgramRow]:
        chain = self.chains.of.get(row)
        return super()._operands(row) if chain is None else chain.reads

    def _overwritten(self, run: Run) -> Sequence[int]:
        """A chain still reads after it has written."""
        return () if run.row in self.chains.of else super()._overwritten(run)

    def _step(self, run: Run, pieces: Pieces, around: Held, reusable: Held) -> Step:
        row = run.row
        if row in self.chains.of:
            return self._chain_step(run, pieces)
        if self._stays(row, pieces):
            view = self.text.piece(self.program, row, pieces)[0]
            name = self._made("v", f"{self.np}.seen({view}, {pieces[0][0]})")
            stays = OPERATIONS[self.program.ops[row]].stays
            self.fixed[name] = not stays(self.program.settings(row), False)
            return name, None, []
        if self._is_view(row) and not self.program.shape(self.program.operands[row][0]):
            name = self._name(row)
            return name, None, [f"{name} = {self._of_numbers(row, pieces)}"]
        if self._is_fresh(row) and self.program.shape(row):
            name = self._name(row)
            summed = self._summed(row, [piece[0] for piece in pieces], name)
            if summed is not None:
                return name, None, [self._made_now(row, name), summed]
        name, buffer, lines = super()._step(run, pieces, around, reusable)
        mentioned = [piece[0] for piece in pieces]
        if buffer is not None:
            name = self.buffers[buffer]
            mentioned.append(name)
        self.taken.update((text, None) for text in mentioned if text in self.fixed)
        return name, buffer, lines

    def _stays(self, row: ProgramRow, pieces: Pieces) -> bool:
        """Whether a row is a view of what stays where it is."""
        if not self._is_view(row) or pieces[0][0] not in self.fixed:
            return False
        settings, whole = self.program.settings(row), self.fixed[pieces[0][0]]
        return OPERATIONS[self.program.ops[row]].stays(settings, whole)

    def _into(self, run: Run, operands: list[str], name: str, target: str) -> list[str]:
        return self._written(run, operands, target)

    def _dtype(self, row: ProgramRow) -> str:
        return self.text.dtype if row in self.chains.of else super()._dtype(row)

    def _buffer_for(self, run: Run, reusable: Held) -> Buffer:
        buffer = super()._buffer_for(run, reusable)
        self.fixed[self.buffers[buffer]] = True
        return buffer

    def _chain_step(self, run: Run, pieces: Pieces) -> Step:
        """One array that a chain writes; it runs when it has all of them."""
        row, chain = run.row, self.chains.of[run.row]
        buffer, lines = None, []
        if self._is_fresh(row):
            name = self._name(row)
            lines.append(self._made_now(row, name))
        else:
            buffer = self._buffer_for(run, ())
            name = self.buffers[buffer]
        self.targets.append(name)
        if len(self.targets) == len(chain.writes):
            lines.append(self._call(chain, [piece[0] for piece in pieces], self.targets))
            self.targets = []
        return name, buffer, lines

    def _made_now(self, row: ProgramRow, name: str) -> str:
        """The line that makes an array for the caller."""
        shape = self.text.shape(self.program.shape(row))
        return f"{name} = {self.np}.empty({shape}, dtype={self.np}.{self.text.dtype})"

    def _call(self, chain: Chain, reads: Sequence[str], writes: Sequence[str]) -> str:
        """The call of a chain."""
        name = dict(zip(chain.reads, reads, strict=True))
        inputs = [self._seen(name[row], subscript) for row, subscript in chain.inputs]
        numbers = {name[row] for row in chain.reads if not self.program.shape(row)}
        link = self.chains.link(chain, self.text.dtype)
        return self._linked(link, chain.shape, inputs, writes, numbers)

    def _seen(self, name: str, subscript: str) -> str:
        """An array through a subscript: a view, made once where the array stays where it is."""
        text = f"{name}{subscript}"
        if not subscript or not (name in self.fixed or name in self.constants):
            return text
        view = self._made("v", f"{self.np}.seen({text}, {name})")
        self.fixed.setdefault(view, False)
        return view

    def _made(self, stem: str, text: str) -> str:
        """The name of what a text makes, once for all that read it."""
        if text not in self.made:
            self.made[text] = self.naming.numbered(stem)
        return self.made[text]

    def _linked(
        self,
        link: Link,
        shape: Shape,
        reads: Sequence[str],
        writes: Sequence[str],
        numbers: Collection[str] = (),
    ) -> str:
        """The call of what a link makes; what stays where it is, is told when that is made."""
        told, brought = [self.text.shape(shape)], []
        for text in (*reads, *writes):
            if text in self.fixed or text in self.constants:
                told.append(text)
            else:
                told.append("..." if text in numbers else "None")
                brought.append(text)
        name = self._made("chain", f"{self._given('link', link)}({', '.join(told)})")
        call = f"{name}({', '.join(brought)})"
        if brought:
            self.taken[name] = None
        else:
            self.silent[call] = name
        return call

    def _is_among(self, whole: ProgramRow, part: ProgramRow) -> bool:
        """Whether a part looks at the memory of a whole, or both at the same."""
        while self._is_view(part):
            part = self.program.operands[part][0]
        while self._is_view(whole):
            whole = self.program.operands[whole][0]
        return part == whole

    def _summed(self, row: ProgramRow, operands: Sequence[str], target: str) -> str | None:
        """The call of a chain that sums a few products; None where NumPy is to do it."""
        program, dtype = self.program, self.text.dtype
        here, operation = site(program, row), OPERATIONS.get(program.ops[row])
        factors = operation.factors(here) if operation is not None else None
        if factors is None or any(map(program.is_condition, program.operands[row])):
            return None
        shape = (*here.shape, *factors.summed)
        if not all(here.shapes) or not 0 < count(shape) <= FEW_PRODUCTS:
            return None
        if count(factors.summed) > MOST_SUMMED:
            return None
        inputs = map(self._seen, operands, factors.subscripts)
        link = summing(len(operands), len(factors.summed), dtype)
        return self._linked(link, shape, list(inputs), [target])

    def _written(self, run: Run, operands: list[str], target: str) -> list[str]:
        program, row = self.program, run.row
        summed = self._summed(row, operands, target)
        if summed is not None:
            return [summed]
        operation = OPERATIONS.get(program.ops[row])
        place = operation.adds(site(program, row)) if operation is not None else None
        if place is None or not program.shape(program.operands[row][1]):
            return super()._written(run, operands, target)
        if operands[0] == target and self._is_among(*program.operands[row]):
            return super()._written(run, operands, target)  # NumPy copies what overlaps
        (whole, part), dtype = operands, self.text.dtype
        first, second = program.operands[row]
        lines = []
        if whole != target:
            number = program.number(first)
            link = copying(dtype) if number is None else filling(number, dtype)
            read = [whole] * (number is None)
            lines.append(self._linked(link, program.shape(row), read, [target]))
        view = self._seen(target, f"[{place}]")
        return [*lines, self._linked(adding(dtype), program.shape(second), [view, part], [view])]
