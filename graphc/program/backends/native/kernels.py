"""The kernels of the native engines, printed from the table of functions.

python -m graphc.program.backends.native.kernels writes native/kernels.h, which is committed, so
that building the library needs a C compiler and nothing else. A kernel is one operation over a
block of points, or at one point; which ones there are follows from the records.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ....algebra.rewrites import Table
from ....structure.rows import CONDITIONS, NO_SETTINGS, Settings
from ....table.functions import FUNCTIONS, Function
from ....table.matrix_form import ATOM, Piece
from ....table.tensors import Operation
from ...backend import Passes
from ...c_text import CText, passes_for
from ...program import Program, ProgramRow

HEADER = Path(__file__).resolve().parents[3] / "native" / "kernels.h"
SLOTS = "abc"
# One kernel for two operations, (outer, which operand of it, inner): the inner value stays in a
# register. The bits are the same, because nothing is contracted.
FUSED = (
    ("add", 0, "mul"),
    ("sub", 0, "mul"),
    ("sub", 1, "mul"),
    ("mul", 0, "mul"),
    ("mul", 0, "add"),
    ("mul", 0, "sub"),
    ("neg", 0, "mul"),
)
# One kernel for three operations: a*b + a*c, as an adjoint goes to one node along two edges.
SHARING = ("add", "sub")


@dataclass(frozen=True)
class Kernel:
    """One kernel: its name, its operands, and which of them is a number for all points."""

    name: str
    operands: int
    alike: int = -1  # the operand that is one number
    own: bool = False  # it calls the vector maths, and may not write over its operands
    pair: bool = False  # it has a second result
    of: str = ""  # the kernel of which it is a variant


def has(record: Function | Operation) -> bool:
    """Whether the engines have a kernel for a function."""
    if isinstance(record, Operation) or record.origin != "graphc" or not record.parameters:
        return False
    composed = record.formula is not None or record.stable is not None
    named = "c" in record.native or "c" in record.code
    return record.vector or named or (bool(record.infix) and not composed)


def _as_pow(program: Program, args: Sequence[ProgramRow], settings: Settings) -> ProgramRow:
    exponent = program.constant(settings["exponent"])
    return program.apply("pow", (args[0], exponent), NO_SETTINGS)


def _as_number(program: Program, args: Sequence[ProgramRow], settings: Settings) -> ProgramRow:
    return program.constant(math.pi)


# An exponent and pi are numbers like any others.
AS_NUMBERS: Table = {"power": (_as_pow,), "pi": (_as_number,)}


def passes() -> Passes:
    """The rewrites before a program is planned: what has no kernel is composed of what has one."""
    return (*passes_for(has), AS_NUMBERS)


def fused_name(outer: str, place: int, inner: str) -> str:
    """The name of the kernel of an operation on the result of another one."""
    return f"{outer}_of_{inner}" if place == 0 else f"{outer}_by_{inner}"


def sharing_name(outer: str) -> str:
    """The name of the kernel of a sum, or difference, of two products that share a factor."""
    return f"{outer}_of_muls"


@cache
def kernels() -> dict[str, Kernel]:
    """All kernels by name, in the order of their codes."""
    found: list[Kernel] = []
    for name, record in FUNCTIONS.items():
        if not has(record) or record.attributes:  # a power is pow with a number
            continue
        count = 2 if record.variadic else len(record.parameters)
        found.append(Kernel(name, count, own=record.vector))
        if count == 2:
            found += [Kernel(f"{name}_at_{SLOTS[k]}", 2, k, record.vector, of=name) for k in (1, 0)]
        found += [Kernel(pair, 1, own=True, pair=True) for pair in record.together.values()]
    for outer, place, inner in FUSED:
        count = len(FUNCTIONS[outer].parameters) + 1
        found.append(Kernel(fused_name(outer, place, inner), count))
    found += [Kernel(sharing_name(outer), 3) for outer in SHARING]
    return {one.name: one for one in found}


class KernelText(CText):
    """C for either type: the names of types and functions are macros."""

    def __init__(self) -> None:
        super().__init__()
        self.type = "REAL"

    def number(self, value: Any) -> Piece:
        return f"(REAL){super().number(value)[0]}", ATOM

    def call(self, name: str, *texts: str) -> Piece:
        return f"LIBM({name})({', '.join(texts)})", ATOM


def _expression(program: Program, root: ProgramRow) -> str:
    """One row as C, in a, b and c."""
    text = KernelText()
    pieces: list[Piece] = []
    for row in program.in_order():
        if program.is_leaf(row):
            pieces.append((program.settings(row)["name"], ATOM))
        else:
            operands = [pieces[operand] for operand in program.operands[row]]
            pieces.append(text.piece(program, row, operands))
    condition = program.ops[root] in CONDITIONS
    return f"({pieces[root][0]}) ? (REAL)1 : (REAL)0" if condition else pieces[root][0]


def _leaves(program: Program, count: int) -> list[ProgramRow]:
    return [program.shared("input", (), {"name": s, "shape": ()}) for s in SLOTS[:count]]


def _simple(name: str, count: int) -> str:
    program = Program()
    return _expression(program, program.apply(name, _leaves(program, count), NO_SETTINGS))


def _fused(outer: str, place: int, inner: str, count: int) -> str:
    program = Program()
    a, b, *rest = _leaves(program, count)
    operands = list(rest)
    operands.insert(place, program.apply(inner, (a, b), NO_SETTINGS))
    return _expression(program, program.apply(outer, operands, NO_SETTINGS))


def _sharing(outer: str) -> str:
    program = Program()
    a, b, c = _leaves(program, 3)
    products = [program.apply("mul", (a, other), NO_SETTINGS) for other in (b, c)]
    return _expression(program, program.apply(outer, products, NO_SETTINGS))


def body(kernel: Kernel) -> str:
    """What a kernel computes that does not call the vector maths, as C in a, b and c."""
    fused = {fused_name(*one): one for one in FUSED}
    sharing = {sharing_name(outer): outer for outer in SHARING}
    name = kernel.of or kernel.name
    if name in fused:
        return _fused(*fused[name], kernel.operands)
    return _sharing(sharing[name]) if name in sharing else _simple(name, kernel.operands)


def offer(module: Any) -> None:
    """Gives a module the functions of arrays that have kernels of our own, by their names."""
    if hasattr(module, "OFFERED"):
        return
    for code, kernel in enumerate(kernels().values()):
        if kernel.own and kernel.operands == 1 and not kernel.pair:
            plain = FUNCTIONS[kernel.name].native.get("numpy")
            known = getattr(np, plain) if plain else None
            setattr(module, kernel.name, module.array_function(code, known))
    module.OFFERED = True


def _definitions() -> Iterator[str]:
    """The text of every kernel."""
    for name, kernel in kernels().items():
        names = ", ".join(SLOTS[: kernel.operands])
        if kernel.of:
            kind = "OWN" if kernel.own else "PLAIN"
            yield f"{kind}_AT_{SLOTS[kernel.alike]}({kernel.of}, {name})"
        elif kernel.pair:
            yield f"PAIR({name}, {name.upper()})"
        elif kernel.own:
            yield f"OWN_{kernel.operands}({name}, {name.upper()})"
        else:
            yield f"PLAIN_{kernel.operands}({name}, ({body(kernel)}))  /* of {names} */"


def text() -> str:
    """The text of kernels.h."""
    every = list(kernels().values())
    codes = "".join(f"    CODE_{one.name},\n" for one in every)
    cases = "".join(_case(one) for one in every)
    names = " \\\n".join(f'    "{one.name} "' for one in every)
    checks = "".join(
        f"    {{{one.operands}, {one.alike}, {int(one.own)}, {int(one.pair)}}}, /* {one.name} */\n"
        for one in every
    )
    blocks = "".join(f"    NAMED(block_{one.name}),\n" for one in every)
    return f"""\
/* Printed from the table of functions by program/backends/native/kernels.py: do not edit.
   engine.c includes it twice, for double and for float. */

#ifndef CODES
#define CODES
enum {{
{codes}    KERNELS
}};

/* by which the library is known to fit the table */
#define NAMES \\
{names}

/* how many operands, which of them is one number, whether it calls the vector maths, two results */
static const Form forms[KERNELS] = {{
{checks}}};
#endif

{chr(10).join(_definitions())}

static const NAMED(Block) NAMED(blocks)[KERNELS] = {{
{blocks}}};

#define CASES \\
{cases}    default: break;
"""


def _case(kernel: Kernel) -> str:
    code = f"    case CODE_{kernel.name}: "
    operands = ", ".join(s.upper() for s in SLOTS[: kernel.operands])
    if kernel.pair:
        return f"{code}NAMED(safe_{kernel.name})(A, &O, &B); break; \\\n"
    return f"{code}O = NAMED(safe_{kernel.of or kernel.name})({operands}); break; \\\n"


if __name__ == "__main__":
    HEADER.write_text(text(), encoding="utf-8")
    print(f"{HEADER.name}: {len(kernels())} kernels")
