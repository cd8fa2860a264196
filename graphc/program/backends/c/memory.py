"""Where values stand: in variables, on the stack, or in memory that the caller gives.

A function of few lines keeps every value in a variable of its own. A long one is cut into parts, so
that the time of the C compiler grows with its length and no faster; what one part leaves to another
stands in an array, in which room is used again once a value is read for the last time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...buffers import Pool
from ...program import ProgramRow
from .elements import Value
from .signature import Signature, listed
from .statements import Statement

LONGEST_PART = 200  # lines
LONGEST_WHOLE = 300  # lines of a function that is not cut
STACK = 64 * 1024  # bytes of arrays on the stack; more are asked of the caller
Chunk = Sequence[Statement]


@dataclass(frozen=True)
class Body:
    """The lines of a function, the parts that it calls, and how many elements it is to be given."""

    lines: list[str]
    parts: list[str]
    work: int = 0


def laid_out(head: Signature, statements: Chunk, values: Mapping[ProgramRow, Value]) -> Body:
    """The body of a function."""
    width = 4 if head.type == "float" else 8
    room = sum(size for _, size in _arrays(statements, values))
    idle = [f"(void){name};" for name in _unread(head, statements, values)]
    lines = sum(len(one.lines) for one in statements)
    if lines <= LONGEST_WHOLE and room * width <= STACK:
        written = [line for one in statements for line in _with_arrays(head, one, values)]
        return Body([*idle, *written], [])
    chunks = [statements] if lines <= LONGEST_WHOLE else list(_cut(statements))
    plan = _Plan(head, chunks, values)
    body = plan.body()
    if plan.size * width > STACK:
        return Body([*idle, *body], plan.parts, plan.size)
    return Body([*idle, f"{head.type} {head.work}[{max(plan.size, 1)}];", *body], plan.parts)


def _arrays(statements: Chunk, values: Mapping[ProgramRow, Value]) -> Iterator[tuple[str, int]]:
    """(name, elements) of each array that needs room."""
    for one in statements:
        yield from one.scratch
        for row in one.rows:
            if values[row].size and not values[row].home:
                yield values[row].name, values[row].size


def _with_arrays(head: Signature, one: Statement, values: Mapping[ProgramRow, Value]) -> list[str]:
    """A statement after the arrays that it fills or works in."""
    arrays = [f"{head.type} {name}[{size}];" for name, size in _arrays([one], values)]
    return [*one.above, *arrays, *one.lines]


def _unread(head: Signature, statements: Chunk, values: Mapping[ProgramRow, Value]) -> list[str]:
    """The parameters that no statement mentions, of which a compiler would warn."""
    read = {values[row].name for one in statements for row in one.reads}
    read |= {name for one in statements for name in one.outputs}
    names = [*(one.name for one in head.arguments), *(one.name for one in head.outputs)]
    return [name for name in names if name not in read]


def _cut(statements: Chunk) -> Iterator[list[Statement]]:
    chunk: list[Statement] = []
    length = 0
    for one in statements:
        if chunk and length + len(one.lines) > LONGEST_PART:
            yield chunk
            chunk, length = [], 0
        chunk.append(one)
        length += len(one.lines)
    yield chunk


class _Plan:
    """Room in one array for what lives longer than a part, or is too large for the stack."""

    def __init__(
        self, head: Signature, chunks: Sequence[Chunk], values: Mapping[ProgramRow, Value]
    ) -> None:
        self.head, self.chunks, self.values = head, chunks, values
        self.size = 0
        self.parts: list[str] = []
        self._pool = Pool()
        self._starts: dict[tuple[int, int], int] = {}  # (size, number in the pool) -> place
        self.places: dict[ProgramRow, int] = {}  # row -> where it stands
        steps: list[Chunk] = [[one] for one in chunks[0]] if len(chunks) == 1 else [*chunks]
        self._scratch: dict[str, int] = {}
        self._allocate(steps)

    def _allocate(self, steps: Sequence[Chunk]) -> None:
        last: dict[int, int] = {}
        for number, step in enumerate(steps):
            for one in step:
                last.update(dict.fromkeys(one.reads, number))
        taken: dict[int, list[tuple[int, int]]] = {}  # when room is given back
        for number, step in enumerate(steps):
            for one in step:
                for name, size in one.scratch:
                    self._scratch[name] = self._room(size, number, taken)
                for row in one.rows:
                    if self.values[row].home:
                        continue
                    size, end = self.values[row].size, last.get(row, number)
                    if size or (end > number and len(self.chunks) > 1):
                        self.places[row] = self._room(size or 1, end, taken)
            for kind, buffer in taken.pop(number, []):
                self._pool.give_back(kind, buffer)

    def _room(self, size: int, end: int, taken: dict[int, list[tuple[int, int]]]) -> int:
        """The place of room for so many elements, until a step has ended."""
        buffer = size, self._pool.take(size)
        if buffer not in self._starts:
            self._starts[buffer] = self.size
            self.size += size
        taken.setdefault(end, []).append(buffer)
        return self._starts[buffer]

    def body(self) -> list[str]:
        """The lines of the function: its statements, or calls of its parts."""
        if len(self.chunks) == 1:
            return [line for one in self.chunks[0] for line in self._pointed(one)]
        return [self._part(number, chunk) for number, chunk in enumerate(self.chunks, 1)]

    def _pointed(self, one: Statement) -> list[str]:
        """A statement after the pointers to the arrays that it fills or works in."""
        lines = one.above + [self._pointer(name, self._scratch[name]) for name, _ in one.scratch]
        for row in one.rows:
            if row in self.places and self.values[row].size:
                lines.append(self._pointer(self.values[row].name, self.places[row]))
        return lines + one.lines

    def _pointer(self, name: str, place: int) -> str:
        return f"{self.head.type} *const {name} = {self.head.work} + {place};"

    def _part(self, number: int, chunk: Chunk) -> str:
        """Writes a part, and gives its call."""
        head, values = self.head, self.values
        made = {row for one in chunk for row in one.rows}
        read = dict.fromkeys(row for one in chunk for row in sorted(one.reads))
        opening = [
            self._pointer(values[row].name, self.places[row])
            if values[row].size
            else f"const {values[row].type} {values[row].name} = {head.work}[{self.places[row]}];"
            for row in read
            if row not in made and not values[row].home
        ]
        inside = [line for one in chunk for line in self._pointed(one)]
        if not self.places and not self._scratch:
            inside.insert(0, f"(void){head.work};")
        closing = [
            f"{head.work}[{self.places[row]}] = {values[row].name};"
            for one in chunk
            for row in one.rows
            if row in self.places and not values[row].size
        ]
        homes = {values[row].home for row in read} | {name for one in chunk for name in one.outputs}
        passed, parameters = [head.work], [f"{head.type} *{head.work}"]
        for argument in head.arguments:
            if argument.name in homes:
                passed.append(argument.name)
                kind = f"const {head.type} *" if argument.shape else f"{head.type} "
                parameters.append(f"{kind}{argument.name}")
        for output in head.outputs:
            if output.name in homes:
                passed.append(output.name)
                parameters.append(f"{head.type} *{output.name}")
        name = f"{head.function}_part{number}"
        lines = [
            *listed(parameters, f"static APART void {name}", ""),
            "{",
            *(f"    {line}" for line in (*opening, *inside, *closing)),
            "}",
        ]
        self.parts.append("\n".join(lines) + "\n")
        return f"{name}({', '.join(passed)});"
