"""The fast style for graphs of scalars: blocks of points, so that all temporaries stay in cache.

Each operation writes into a buffer that is free at that time, or straight into the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...array_text import ArrayText
from ...buffers import Pool, Run, runs
from ...module import Task
from ...naming import Naming
from ...program import ProgramRow
from ...question import Matrix, Results
from ...readable import Returned
from ...sparse import Sparse
from ...statements import statements
from .ufuncs import into

FEW_ROWS = 2000  # of a program that is written a second time, for a single point
VALUE, MASK = "b", "m"  # kinds of buffers
Buffer = tuple[str, int]


def body(one: Task, text: ArrayText, naming: Naming) -> list[str]:
    """A loop over blocks of points, and if the program is short, statements for a single one."""
    short = has_statements(one) and len(one.program) <= FEW_ROWS
    return Blocks(one, text, naming).lines(at_one_point=short)


def many_points(one: Task, text: ArrayText, naming: Naming) -> list[str]:
    """A loop over blocks of points."""
    return Blocks(one, text, naming).lines(at_one_point=False)


def one_point(one: Task, text: ArrayText, naming: Naming) -> list[str]:
    """Plain statements for a single point: a block would cost more than the operations."""
    text.exact_fractions = False
    return ["points = ()", *_statements(one, text, naming)]


def _statements(one: Task, text: ArrayText, naming: Naming) -> list[str]:
    lines, names = statements(one.program, one.rows(), text, naming, {})
    results = Returned(one, text, names, naming)
    returned = results.tree(one.results)
    return [*lines, *results.lines, f"return {returned}"]


def has_statements(one: Task) -> bool:
    """Whether a single point may be computed by plain statements."""
    return not one.reduce and not one.schedule.recomputed


class Blocks:
    """The text of one function over blocks."""

    def __init__(self, one: Task, text: ArrayText, naming: Naming) -> None:
        self.one, self.text, self.naming = one, text, naming
        text.exact_fractions = False
        self.np, self.program = text.namespace, one.program
        self.dtype = f"dtype={self.np}.{text.dtype}"
        words = ("size", "start", "stop", "block", "work", "masks", "v")
        self.local = {word: naming.fresh(word) for word in words}
        self.pool = Pool()
        self.free: dict[ProgramRow, str] = {}  # arguments and constants: rows that need no run
        self.results: dict[ProgramRow, list[str]] = {}  # row -> the arrays or sums that it goes to
        for row in one.rows():
            if row not in self.results or not one.reduce:
                self.results.setdefault(row, []).append(naming.numbered("result"))

    def lines(self, at_one_point: bool) -> list[str]:
        np, local = self.np, self.local
        arguments = [self.naming.of(self.one.graph.names[row]) for row in self.one.read]
        opening = self._opening()
        steps = self._steps(self.one.schedule.order)
        shapes = ", ".join(f"{name}.shape" for name in arguments)
        head = [
            f"points = {np}.broadcast_shapes({shapes})",
            f"{local['size']} = {np}.prod(points, dtype={np}.int64).item()",
        ]
        for name in map(self.naming.of, self.program.arguments()):
            head.append(
                f"{name} = {name} if {name}.ndim == 0 else "
                f"{np}.broadcast_to({name}, points).reshape(-1)"
            )
        length = self.one.schedule.block
        head.append(f"{local['block']} = min({local['size']}, {length}) or 1")
        for names in self.results.values():
            zero = "0.0" if self.one.reduce else f"{np}.empty({local['size']}, {self.dtype})"
            head += [f"{name} = {zero}" for name in names]
        for kind, space, what in (
            (VALUE, "work", self.dtype),
            (MASK, "masks", f"dtype={np}.bool_"),
        ):
            count = self.pool.counts.get(kind, 0)
            if count:
                head.append(f"{local[space]} = {np}.empty(({count}, {local['block']}), {what})")
                parts = ", ".join(self._buffer((kind, i)) for i in range(count))
                length_here = f"{local['stop']} - {local['start']}"
                opening.append(f"{parts}{',' * (count == 1)} = {local[space]}[:, : {length_here}]")
        loop = [
            f"for {local['start']} in range(0, {local['size']}, {local['block']}):",
            f"    {local['stop']} = min({local['start']} + {local['block']}, {local['size']})",
            *(f"    {line}" for line in [*opening, *steps]),
        ]
        alone = []
        if at_one_point:
            inside = _statements(self.one, self.text, self.naming)
            alone = ["if not points:", *(f"    {line}" for line in inside)]
        return [head[0], *alone, *head[1:], *loop, *self._closing()]

    def _opening(self) -> list[str]:
        """The block's part of each argument and each result; constants are literals."""
        lines = []
        for row in self.program.in_order():
            if self.program.ops[row] == "const":
                self.free[row] = self.text.number(self.program.settings(row)["value"])[0]
            elif self.program.is_leaf(row):
                whole = self.naming.of(self.program.settings(row)["name"])
                self.free[row] = part = self.naming.fresh(f"{whole}_part")
                lines.append(f"{part} = {whole}[{self._slice()}] if {whole}.ndim else {whole}")
        if not self.one.reduce:
            for name in [name for names in self.results.values() for name in names]:
                lines.append(f"{name}_part = {name}[{self._slice()}]")
        return lines

    def _slice(self) -> str:
        return f"{self.local['start']}:{self.local['stop']}"

    def _buffer(self, buffer: Buffer) -> str:
        key = f"{buffer[0]}{buffer[1]}"
        if key not in self.local:
            self.local[key] = self.naming.fresh(key)
        return self.local[key]

    # The operations of a block.

    def _steps(self, order: Sequence[ProgramRow]) -> list[str]:
        """One line (or two) per operation, each into a buffer or a result."""
        found = runs(self.program, order, self.free.__contains__, self.results)
        final = {run.row: position for position, run in enumerate(found)}
        where: list[str] = []  # the text by which each run's value goes
        held: list[Buffer | None] = []  # its buffer, if it has one
        lines: list[str] = []
        for position, run in enumerate(found):
            dying = [r for r in dict.fromkeys(run.reads) if r >= 0 and found[r].last == position]
            lasting = run.row in self.results and final[run.row] == position
            reusable = [held[r] for r in dying]
            target, buffer = self._target(run, lasting, reusable)
            read = zip(self.program.operands[run.row], run.reads, strict=True)
            operands = [self.free[o] if r < 0 else where[r] for o, r in read]
            where.append(target)
            held.append(buffer)
            lines += into(self.text, self.program, run.row, operands, target)
            for given in reusable:
                if given is not None and given != buffer:
                    self.pool.give_back(*given)
        return [*lines, *self._delivered(final, where)]

    def _target(
        self, run: Run, lasting: bool, reusable: Sequence[Buffer | None]
    ) -> tuple[str, Buffer | None]:
        """Where a run writes: a result, the buffer of an operand that dies, or a free one."""
        if lasting and not self.one.reduce:
            return f"{self.results[run.row][0]}_part", None
        kind = MASK if self.program.is_condition(run.row) else VALUE
        if len(run.reads) < 3 or self.program.ops[run.row] == "where":
            for buffer in reusable:
                if buffer is not None and buffer[0] == kind:
                    return self._buffer(buffer), buffer
        buffer = (kind, self.pool.take(kind))
        return self._buffer(buffer), buffer

    def _delivered(self, final: dict[ProgramRow, int], where: Sequence[str]) -> list[str]:
        """What is left to do with the results at the end of a block."""
        lines = []
        for row, names in self.results.items():
            value = where[final[row]] if row in final else self.free[row]
            if self.one.reduce:
                lines.append(f"{names[0]} += {self._summed(row, value)}")
            else:
                rest = names[1:] if row in final else names
                lines += [f"{name}_part[...] = {value}" for name in rest]
        return lines

    def _summed(self, row: ProgramRow, value: str) -> str:
        if row in self.free:  # an argument or a constant: it may be one number for all points
            length = f"({self.local['stop']} - {self.local['start']},)"
            value = f"{self.np}.broadcast_to({value}, {length})"
        return f"{self.np}.sum({value})"

    # Handing over.

    def _closing(self) -> list[str]:
        left = {row: list(names) for row, names in self.results.items()}
        divided = f" / {self.local['size']}" if self.one.reduce == "mean" else ""

        def handed(row: ProgramRow) -> str:
            name = left[row].pop(0) if len(left[row]) > 1 else left[row][0]
            if self.one.reduce:
                return f"{self.np}.{self.text.dtype}({name}{divided})"
            return f"{name}.reshape(points)[()]"

        lines: list[str] = []
        returned = self._tree(self.one.results, handed, lines)
        return [*lines, f"return {returned}"]

    def _tree(
        self, results: Results[ProgramRow], handed: Callable[[ProgramRow], str], lines: list[str]
    ) -> str:
        if isinstance(results, int):
            return handed(results)
        if isinstance(results, Matrix):
            name = self.naming.fresh("matrix")
            lead = "" if self.one.reduce else "*points, "
            shape = f"({lead}{len(results.entries)}, {len(results.entries[0])})"
            lines.append(f"{name} = {self.np}.empty({shape}, {self.dtype})")
            for i, line in enumerate(results.entries):
                lines += [f"{name}[..., {i}, {j}] = {handed(row)}" for j, row in enumerate(line)]
            return name
        if isinstance(results, dict):
            parts = [f'"{key}": {self._tree(r, handed, lines)}' for key, r in results.items()]
            return f"{{{', '.join(parts)}}}"
        assert not isinstance(results, Sparse)  # that is no answer at many points
        return ", ".join(self._tree(part, handed, lines) for part in results)
