"""The cases of the tape, printed from the table of functions: a value, and the slope of each edge.

python -m graphc.program.backends.native.tape_cases writes native/tape_cases.h. A slope that came
through a gate (`where`, the pieces of relu or max) is an edge only where the gate is open; one that
is the constant 0 is no edge. So the tape follows the same paths as every other engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

from ....algebra.rules import rule
from ....structure.rows import CONDITIONS, NO_SETTINGS
from ....table.functions import FUNCTIONS, Function
from ....table.matrix_form import ATOM, Piece
from ...c_text import CText
from ...program import Program, ProgramRow
from .kernels import SLOTS, passes

HEADER = Path(__file__).resolve().parents[3] / "native" / "tape_cases.h"
ALWAYS, NEVER = "1", "0"
GIVEN = "given"  # the code of a row whose value comes from outside
BY_0 = "product_with_0"  # that of a product with the exact number 0: it has a value and no path
VALUES_OF = {BY_0: "mul"}


class TapeText(CText):
    """C in which functions are those that are right everywhere."""

    def piece(self, program: Program, row: ProgramRow, pieces: Sequence[Piece]) -> Piece:
        op = program.ops[row]
        if op in FUNCTIONS and FUNCTIONS[op].vector:
            return f"safe_{op}_64({', '.join(piece[0] for piece in pieces)})", ATOM
        return super().piece(program, row, pieces)


@cache
def codes() -> dict[str, int]:
    """{function: its code on the tape}; those of rows that are no function's come first."""
    taped = [name for name, record in FUNCTIONS.items() if _is_taped(record)]
    return {name: code for code, name in enumerate((GIVEN, *VALUES_OF, *taped))}


def _is_taped(record: Function) -> bool:
    count = operands(record)
    return record.origin == "graphc" and 1 <= count <= len(SLOTS)


def operands(record: Function) -> int:
    """How many operands a row of the tape has; an exponent is one of them."""
    if record.attributes:
        return len(record.parameters) + len(record.attributes)
    return 2 if record.variadic else len(record.parameters)


def widths() -> dict[str, int]:
    """{function: how many operands a row of it has}, in the order of the codes."""
    return {name: operands(_record(name)) if name != GIVEN else 0 for name in codes()}


def _record(name: str) -> Function:
    return FUNCTIONS[VALUES_OF.get(name, name)]


class _Case:
    """The statements of one function, in a, b, c and its own value o."""

    def __init__(self, name: str) -> None:
        self.record = _record(name)
        self.program = Program(passes())
        self.count = operands(self.record)
        leaves = [*SLOTS[: self.count], "o"]
        self.leaves = [self.program.shared("input", (), {"name": s, "shape": ()}) for s in leaves]
        self.text = TapeText()
        self.gates: dict[ProgramRow, str] = {}
        self.names: dict[ProgramRow, str] = {}

    def value(self) -> tuple[list[str], str]:
        """Statements, and the expression of the value."""
        row = self.program.apply(self._op(), self.leaves[: self.count], NO_SETTINGS)
        return self._lines([row]), self.names[row]

    def slopes(self) -> tuple[list[str], list[tuple[str, str]]]:
        """Statements, and (gate, slope) of each operand."""
        if self.record.attributes:  # the slope by an exponent that is a number is not asked for
            rows = [self._power_slope()]
        else:
            found = rule(self.record.name, self.count, {})
            rows = [partial.run(self.program, self.leaves) for partial in found.partials]
        lines = self._lines(rows)
        return lines, [(self.gates[row], self.names[row]) for row in rows]

    def _op(self) -> str:
        return "pow" if self.record.attributes else self.record.name

    def _power_slope(self) -> ProgramRow:
        """b * a**(b - 1), and 0 for b = 0: as the record says, for an exponent told by the tape.

        A power 1/2 is a root, which is another number at -inf.
        """
        program, (a, b, *_) = self.program, self.leaves
        less = program.apply("sub", (b, program.constant(1)), NO_SETTINGS)
        half = program.apply("eq", (less, program.constant(Fraction(1, 2))), NO_SETTINGS)
        root = program.apply("sqrt", (a,), NO_SETTINGS)
        power = program.apply("pow", (a, less), NO_SETTINGS)
        power = program.apply("where", (half, root, power), NO_SETTINGS)
        product = program.apply("mul", (b, power), NO_SETTINGS)
        other = program.apply("ne", (b, program.constant(0)), NO_SETTINGS)
        return program.shared("taken", (other, product), NO_SETTINGS)

    def _lines(self, wanted: Sequence[ProgramRow]) -> list[str]:
        """A variable for each row that these need."""
        program = self.program
        needed = set(wanted)
        for row in reversed(list(program.in_order())):
            if row in needed:
                needed.update(program.operands[row])
        lines: list[str] = []
        for row in sorted(needed):
            settings, inside = program.settings(row), program.operands[row]
            self.gates[row] = self._gate(row)
            if program.is_leaf(row):
                self.names[row] = settings["name"]
                continue
            piece, binding = self.text.piece(
                program, row, [(self.names[operand], ATOM) for operand in inside]
            )
            if program.ops[row] == "const":
                self.names[row] = piece if binding == ATOM else f"({piece})"
                continue
            if program.ops[row] == "mul" and self.gates[row] not in (ALWAYS, NEVER):
                piece = f"{self.gates[row]} ? {piece} : 0"
            self.names[row] = f"t{row}"
            lines.append(f"const double t{row} = {piece};")
        return lines

    def _gate(self, row: ProgramRow) -> str:
        """Where something came along: a condition in C."""
        program = self.program
        op, inside = program.ops[row], program.operands[row]
        gates = [self.gates[operand] for operand in inside]
        if op == "const":
            value = program.settings(row)["value"]
            exact = isinstance(value, (int, Fraction))
            return NEVER if exact and value == 0 else ALWAYS
        if op in ("taken", "untaken"):
            condition = f"{'!' * (op == 'untaken')}{self.names[inside[0]]}"
            return _all(condition, gates[1])
        if op == "where":  # a 0 that a rule means as no path is a gate there
            above, below = (ALWAYS if gate == NEVER else gate for gate in gates[1:])
            return above if above == below else f"({self.names[inside[0]]} ? {above} : {below})"
        if op == "mul":
            return _all(*gates)
        if op in ("neg", "div", "identity"):
            return gates[0]
        if op in ("add", "sub"):
            return _any(*gates)
        return ALWAYS


def _all(*gates: str) -> str:
    if NEVER in gates:
        return NEVER
    kept = [gate for gate in dict.fromkeys(gates) if gate != ALWAYS]
    return f"({' && '.join(kept)})" if len(kept) > 1 else (*kept, ALWAYS)[0]


def _any(*gates: str) -> str:
    if ALWAYS in gates:
        return ALWAYS
    kept = [gate for gate in dict.fromkeys(gates) if gate != NEVER]
    return f"({' || '.join(kept)})" if len(kept) > 1 else (*kept, NEVER)[0]


def _cases() -> Iterator[tuple[str, str]]:
    for name in list(codes())[1:]:
        count = operands(_record(name))
        case = _Case(name)
        lines, value = case.value()
        loads = " ".join(f"LOAD({s})" for s in SLOTS[:count])
        yield "value", f"case TAPE_{name}: {{ {' '.join((loads, *lines))} VALUE({value}) }}"
        if name in CONDITIONS or name in VALUES_OF:
            continue
        case = _Case(name)
        lines, slopes = case.slopes()
        edges = [
            f"EDGE({s}, {k}, {gate}, {slope})"
            for k, (s, (gate, slope)) in enumerate(zip(SLOTS, slopes, strict=False))
            if gate != NEVER
        ]
        if edges:
            said = " ".join((*lines, *edges))
            used = [s for s in (*SLOTS[:count], "o") if _mentions(said, s)]
            loads = " ".join("OWN_VALUE" if s == "o" else f"LOAD({s})" for s in used)
            yield "slope", f"case TAPE_{name}: {{ {loads} {said} NEXT }}"


def _mentions(text: str, name: str) -> bool:
    """Whether statements read a value."""
    bare = re.sub(rf"EDGE\({name}, ", "EDGE(", text)
    return re.search(rf"\b{name}\b", bare) is not None


def text() -> str:
    """The text of tape_cases.h."""
    found: dict[str, list[str]] = {"value": [], "slope": []}
    for kind, case in _cases():
        found[kind].append(case)
    names = "".join(f"    TAPE_{name},\n" for name in codes())
    counts = "".join(f"    {count}, /* {name} */\n" for name, count in widths().items())
    spelt = " \\\n".join(f'    "{name} "' for name in codes())
    values, slopes = (" \\\n".join(f"    {case}" for case in found[kind]) for kind in found)
    return f"""\
/* Printed from the table of functions by program/backends/native/tape_cases.py: do not edit. */

enum {{
{names}    TAPE_CODES
}};
#define TAPE_NAMES \\
{spelt}

static const int tape_operands[TAPE_CODES] = {{
{counts}}};

#define VALUE_CASES \\
{values}

#define SLOPE_CASES \\
{slopes}
"""


if __name__ == "__main__":
    HEADER.write_text(text(), encoding="utf-8")
    print(f"{HEADER.name}: {len(codes())} codes")
