"""The fast style for graphs with tensors: no allocation but for the results.

Operations write into a workspace that is kept from call to call; views cost nothing; what has no
out= is written as in the readable style.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....table.functions import FUNCTIONS
from ....table.matrix_form import ATOM, Piece
from ....table.tensors import OPERATIONS, Into
from ...array_text import ArrayText, site
from ...buffers import Pool, Run, runs
from ...module import Task
from ...naming import Naming
from ...program import ProgramRow
from ...readable import Returned
from .ufuncs import into

Buffer = tuple[tuple[str, str], int]  # ((shape, dtype), number)
Held = Sequence[Buffer | None]
Pieces = Sequence[Piece]
Step = tuple[str, Buffer | None, list[str]]  # the name of a value, its buffer, lines
MOST_SPACES = 4  # workspaces that a module keeps, one for each set of sizes


def body(one: Task, text: ArrayText, naming: Naming) -> list[str]:
    """Statements into a workspace."""
    return Workspace(one, text, naming).lines()


class Workspace:
    """The text of one function with its buffers."""

    def __init__(self, one: Task, text: ArrayText, naming: Naming) -> None:
        self.one, self.text, self.naming = one, text, naming
        text.exact_fractions, text.short = False, 0
        self.np, self.program = text.namespace, one.program
        self.pool = Pool()
        self.wanted = frozenset(one.rows())  # results are arrays of their own
        self.buffers: dict[Buffer, str] = {}
        self.calls: dict[ProgramRow, Into | None] = {}  # with out=, of the operations met so far
        self.free: dict[ProgramRow, Piece] = {}  # arguments and constants: rows that need no run
        known: set[ProgramRow] = set()  # rows that are the same at every call
        for row, op in zip(self.program.in_order(), self.program.ops, strict=True):
            if self.program.is_leaf(row):
                self.free[row] = naming.of(self.program.settings(row)["name"]), ATOM
            elif op in ("const", "size", "pi"):
                self.free[row] = text.piece(self.program, row, [])
                known.update([row] * (op != "size"))
            elif known.issuperset(self.program.operands[row]) and self._is_made_once(row):
                known.add(row)
                self.free[row] = self._made_once(row), ATOM

    def _is_made_once(self, row: ProgramRow) -> bool:
        """Whether a value that depends on no argument is made when the module is loaded."""
        sizes = self.program.shape(row)
        return row not in self.wanted and all(isinstance(size, int) for size in sizes)

    def _made_once(self, row: ProgramRow) -> str:
        """The name of a value that the module makes."""
        name = self.naming.numbered("constant")
        pieces = [self.free[operand] for operand in self.program.operands[row]]
        self.text.preamble.append(f"{name} = {self._of_numbers(row, pieces)}")
        return name

    def _of_numbers(self, row: ProgramRow, pieces: Pieces) -> str:
        """A value whose operands may be bare numbers."""
        return self.text.piece(self.program, row, pieces)[0]

    def lines(self) -> list[str]:
        order = [row for row in self.one.schedule.order if row not in self.free]
        names = {row: piece[0] for row, piece in self.free.items()}
        steps = self._steps(order, names)
        results = Returned(self.one, self.text, names, self.naming)
        returned = results.tree(self.one.results)
        steps += results.lines
        kept = self._kept()
        if not kept:
            return [*steps, f"return {returned}"]
        sizes = self.one.sizes
        key = ", ".join(self.naming.of(size) for size in sizes)
        spaces, space = self.naming.fresh("spaces"), self.naming.fresh("space")
        fresh = self.naming.fresh("results")
        made = self.naming.fresh("workspace")
        listed = ", ".join(kept) + "," * (len(kept) == 1)
        self.text.preamble += [
            f"{spaces} = {{}}  # workspaces, by sizes",
            "",
            "",
            *self._maker(made),
        ]
        known = f"({key},)" if key else "()"
        return [
            f"{space} = {spaces}.pop({known}, None) or {made}({key})",
            f"{listed} = {space}",
            *steps,
            f"{fresh} = {returned}",  # before another thread may take the workspace
            f"if len({spaces}) >= {MOST_SPACES}:",
            f"    {spaces}.clear()",
            f"{spaces}[{known}] = {space}",
            f"return {fresh}",
        ]

    def _kept(self) -> list[str]:
        """What the function takes from its workspace."""
        return list(self.buffers.values())

    def _maker(self, name: str) -> list[str]:
        """The function that makes a workspace."""
        sizes = self.one.sizes
        arguments = ", ".join(self.naming.of(size) for size in sizes)
        arrays = [
            f"        {self.np}.empty({shape}, dtype={self.np}.{dtype}),"
            for (shape, dtype), _ in self.buffers
        ]
        head = [f"def {name}({arguments}):", '    """Buffers for these sizes."""']
        return [*head, "    return (", *arrays, "    )"]

    def _steps(self, order: Sequence[ProgramRow], names: dict[ProgramRow, str]) -> list[str]:
        program, wanted = self.program, self.wanted
        found = runs(program, order, self.free.__contains__, wanted, self._looks_at, self._operands)
        where: list[str] = []
        held: list[Buffer | None] = []
        lines: list[str] = []
        expiring: dict[int, list[int]] = {}
        for position, run in enumerate(found):
            expiring.setdefault(run.last, []).append(position)
        for position, run in enumerate(found):
            dying = [p for p in expiring.get(position, ()) if held[p] is not None]
            read_by = zip(self._operands(run.row), run.reads, strict=True)
            pieces = [self.free[o] if r < 0 else (where[r], ATOM) for o, r in read_by]
            reusable = [held[r] for r in self._overwritten(run) if r >= 0 and r in dying]
            around = [held[r] if r >= 0 else None for r in run.reads]
            name, buffer, step = self._step(run, pieces, around, reusable)
            lines += step
            where.append(name)
            held.append(buffer)
            for p in dying:
                given = held[p]
                if given is not None and given != buffer:
                    self.pool.give_back(*given)
            names[run.row] = name
        return lines

    def _step(self, run: Run, pieces: Pieces, around: Held, reusable: Held) -> Step:
        """What computes a run, from the texts of its operands and the buffers that hold these."""
        name = self._name(run.row)
        if not self._fits_buffer(run.row):
            return name, None, [f"{name} = {self.text.piece(self.program, run.row, pieces)[0]}"]
        buffer = self._buffer_for(run, reusable)
        target = self.buffers[buffer]
        operands = [  # what stands in the target is known by that name, for `into` to see
            target if held == buffer else piece[0]
            for piece, held in zip(pieces, around, strict=True)
        ]
        return name, buffer, self._into(run, operands, name, target)

    def _operands(self, row: ProgramRow) -> Sequence[ProgramRow]:
        """What a row reads."""
        return self.program.operands[row]

    def _name(self, row: ProgramRow) -> str:
        named = self.program.names.get(row)
        return self.naming.of(named[0]) if named else self.naming.numbered("t")

    def _looks_at(self, row: ProgramRow) -> tuple[ProgramRow, ...]:
        """The operands whose memory a row shares: none if it is written into a buffer."""
        return () if self._fits_buffer(row) else self.program.looks_at(row)

    def _fits_buffer(self, row: ProgramRow) -> bool:
        """Whether a value is no result, and its operation can write into memory that is there."""
        if self._is_fresh(row) or not self.program.shape(row):
            return False
        return self.program.ops[row] in FUNCTIONS or self._call_into(row) is not None

    def _is_fresh(self, row: ProgramRow) -> bool:
        """Whether a value is handed over as an array of its own."""
        return row in self.wanted

    def _call_into(self, row: ProgramRow) -> Into | None:
        """How a tensor operation writes into memory that is there, or None."""
        if row not in self.calls:
            self.calls[row] = OPERATIONS[self.program.ops[row]].into(site(self.program, row))
        return self.calls[row]

    def _overwritten(self, run: Run) -> Sequence[int]:
        """The runs whose buffers a run may write into, if they are read by nobody after it."""
        op = self.program.ops[run.row]
        if op in FUNCTIONS:
            return run.reads if len(run.reads) < 3 or op == "where" else ()
        return run.reads[: OPERATIONS[op].overwrites]

    def _buffer_for(self, run: Run, reusable: Held) -> Buffer:
        """The buffer of an operand that dies, or a free one."""
        kind = self.text.shape(self.program.shape(run.row)), self._dtype(run.row)
        for buffer in reusable:
            if buffer is not None and buffer[0] == kind:
                return buffer
        buffer = (kind, self.pool.take(kind))
        if buffer not in self.buffers:
            self.buffers[buffer] = self.naming.numbered("b")
        return buffer

    def _dtype(self, row: ProgramRow) -> str:
        return "bool_" if self.program.is_condition(row) else self.text.dtype

    def _written(self, run: Run, operands: list[str], target: str) -> list[str]:
        if self.program.ops[run.row] in FUNCTIONS:
            return into(self.text, self.program, run.row, operands, target)
        call = self._call_into(run.row)
        assert call is not None  # it fits a buffer
        return [call(self.text, operands, target)]

    def _into(self, run: Run, operands: list[str], name: str, target: str) -> list[str]:
        lines = self._written(run, operands, target)
        if len(lines) == 1 and lines[0].endswith(f"out={target})"):
            return [f"{name} = {lines[0]}"]
        return [*lines, f"{name} = {target}"]
