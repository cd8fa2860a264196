"""A file of C and its header: what they say of themselves, the function, and one over points."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from ....shapes import shape_text
from ....table.loops import LOOP_WORDS
from ....table.tensors import OPERATIONS
from ...c_names import CNames, plain
from ...c_text import CText
from ...module import Task, graph_lines, summary
from ...readable import headings, notes
from ...sparse import Sparse
from .check import Checking
from .comments import comment_block
from .functions import Functions
from .maths import POINTS_AT_ONCE as AT_ONCE
from .maths import OwnMaths
from .memory import Body, laid_out
from .signature import Argument, Output, Signature, listed, signature
from .statements import Shelf, Statements, table

if TYPE_CHECKING:
    from ...options import Options

POINTS_AT_ONCE = 256  # whose results are summed before they are added to those of the others
SIDES = ("rows", "columns")  # of the entries of a sparse matrix
FLAT = """\
#if defined(__GNUC__)
#define FLAT __attribute__((flatten)) /* calls inside it are inlined */
#else
#define FLAT
#endif
"""
APART = """\
#if defined(__GNUC__)
#define APART __attribute__((noinline)) /* parts are compiled one by one */
#else
#define APART
#endif
"""


@dataclass(frozen=True)
class Written:
    """A function that was written."""

    one: Task
    head: Signature
    body: Body

    @property
    def needs_work(self) -> bool:
        return bool(self.body.work)

    @property
    def work_name(self) -> str:
        return f"{self.head.function.upper()}_WORK"

    @property
    def pattern(self) -> dict[str, list[int]]:
        """{name: numbers} of the arrays that say where the entries of a sparse matrix stand."""
        matrix = self.one.results
        if not isinstance(matrix, Sparse):
            return {}
        named = zip(SIDES, matrix.pattern, strict=True)
        return {f"{self.head.function}_{side}": numbers.tolist() for side, numbers in named}


def module(tasks: Sequence[Task], chosen: Options, check: bool) -> str:
    """The text of a file whose first task is what was asked for; others serve its check."""
    return File(tasks, chosen).text(check)


def header(tasks: Sequence[Task], chosen: Options, path: str) -> str:
    """The text of the header of a file."""
    return File(tasks[:1], chosen).header(path)


class File:
    """The function that was asked for, and what stands around it in its file."""

    def __init__(self, tasks: Sequence[Task], chosen: Options) -> None:
        self.tasks = tasks
        users = {plain(name) for one in tasks for name in one.graph.rows}
        called = [plain(one.asked.want.name) for one in tasks]
        fixed = {name for name in users for stem in called if name.startswith(f"{stem}_part")}
        for op in {op for one in tasks for op in one.program.ops if op in OPERATIONS}:
            fixed |= set(OPERATIONS[op].definitions.get("loops", ()))
        ends = ("", "_batch", *(f"_{side}" for side in SIDES))
        heads = {f"{name}{end}" for name in called for end in ends}
        names = CNames({*users, *fixed, *heads, "main"})
        self.maths = OwnMaths(chosen.dtype) if chosen.maths == "own" else None
        text = CText(chosen.dtype)
        if self.maths is not None:
            text.own_call = self.maths.call
            fixed |= self.maths.words()
        self.functions = Functions(text, names)
        self.shelf = Shelf(self.functions.text, names)
        self.fixed = fixed
        self.first = self._function(tasks[0])
        self.quick = self._quick() if self.maths is not None else None

    def _quick(self) -> Written | None:
        """The function again for loops, if every call in it can be quick."""
        one, maths = self.tasks[0], self.maths
        assert maths is not None  # it was asked for
        whole = one.has_points and not one.reduce and not self.first.body.parts
        if not whole or not maths.called or self.functions.dear & set(one.program.ops):
            return None
        maths.quick = "out"
        written = self._function(one, "_quick")
        maths.quick = ""
        return written

    def _function(self, one: Task, end: str = "") -> Written:
        self.functions.define(dict.fromkeys(one.program.ops))
        loops = LOOP_WORDS if one.graph.has_tensors else ()
        own = plain(one.asked.want.name)
        own_words = (
            {own, f"{own}_batch", f"{own}_quick", "out"} if self.maths else {own, f"{own}_batch"}
        )
        own_words |= {*self.functions.called.values(), *loops, *(f"{own}_{x}" for x in SIDES)}
        names = CNames({*self.fixed, *own_words})
        head = signature(one, self.shelf.text.type, names, end)
        readable = one.options.style == "readable"
        rules = notes(one.graph) if readable else {}
        above = headings(one) if readable else {}
        statements = Statements(one, head, self.shelf, names, rules, above)
        found = statements.written()
        return Written(one, head, laid_out(head, found, statements.values))

    # The file.

    def text(self, check: bool) -> str:
        first = self.first
        parts = [
            "#include <math.h>\n#include <stdbool.h>\n#include <stddef.h>\n",
            *[FLAT] * (first.one.has_points and not first.body.parts),
            *[APART] * bool(first.body.parts),
            *(self.maths.text(quick=self.quick is not None) if self.maths else []),
            *self._shared(),
        ]
        if check:
            parts += [table("const int", *side) for side in first.pattern.items()]
        parts += self._texts(first)
        if check:
            parts = ["\n".join([*comment_block(self._told()), ""]), *parts, *self._check()]
        return "\n".join(parts)

    def _shared(self, known: Collection[str] = ()) -> list[str]:
        """The tables and the functions that the text so far needs, but for those that are known."""
        texts = [
            *self.shelf.texts(),
            *self.functions.definitions,
            *self.shelf.definitions.values(),
        ]
        return [text for text in texts if text not in known]

    def _check(self) -> list[str]:
        """The program that checks the function, and what it alone needs."""
        first, other = self.tasks[0], self.tasks[-1]
        known, lines = set(self._shared()), ["#ifdef GRAPHC_CHECK", ""]
        checking = Checking.of(first, other)
        companion = self.first
        if checking.compares and other is not first:
            companion = self._function(other)
            marks = [APART] * bool(companion.body.parts and not self.first.body.parts)
            lines += [*marks, *self._shared(known), *self._texts(companion, "static ")]
        return [*lines, checking.program(self.first, companion), "#endif", ""]

    def _texts(self, written: Written, static: str = "") -> list[str]:
        """The parts, the function, and the function over points."""
        head, body = written.head, written.body
        texts = list(body.parts)
        if body.work and not static:
            texts.append(f"#define {written.work_name} {body.work}\n")
        lines = [
            *comment_block(self._signature_told(written, batch=False)),
            *listed(head.parameters(True, bool(body.work)), f"{static}void {head.function}", ""),
            *_braced(body.lines),
        ]
        texts.append("\n".join(lines))
        if written.one.has_points and not static:
            if self.quick is not None:
                texts.append(self._quick_text(self.quick))
            texts.append(self._batch(written))
        return texts

    def _quick_text(self, written: Written) -> str:
        assert self.maths is not None  # who else would be quick
        head = written.head
        parameters = [*head.parameters(True, written.needs_work), f"{self.maths.flags} *out"]
        told = "The same for loops: the top bit of *out is set where the careful one is needed."
        heading = listed(parameters, f"VM_INLINE void {head.function}", "")
        return "\n".join([*comment_block([told]), *heading, *_braced(written.body.lines)])

    def _batch(self, written: Written) -> str:
        head = written.head
        flat = "FLAT " if not written.body.parts else ""
        parameters = head.batch_parameters(True, written.needs_work)
        taken = {*(one.name for one in head.arguments), *(one.name for one in head.outputs)}
        names = CNames({*taken, head.work, head.count, head.function})
        point = names.fresh("i")
        if written.one.reduce:
            inside = _summed(written, point, names)
        elif self.quick is not None and self.maths is not None:
            inside = _quickly(written, self.quick, point, names, self.maths)
        else:
            inside = _each(written, point)
        heading = listed(parameters, f"{flat}void {head.function}_batch", "")
        told = comment_block(self._signature_told(written, batch=True))
        return "\n".join([*told, *heading, *_braced(inside)])

    # The header.

    def header(self, path: str) -> str:
        written = self.first
        head, work = written.head, written.needs_work
        stem = re.sub(r"\W", "_", PurePath(path).stem.upper(), flags=re.ASCII)
        guard = f"GRAPHC_{stem}_H"
        lines = [
            *comment_block(self._told()),
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <stddef.h>",
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
        ]
        if work:
            lines += [f"#define {written.work_name} {written.body.work}", ""]
        for name, numbers in written.pattern.items():
            lines += [f"extern const int {name}[{max(len(numbers), 1)}];"]
        lines += [
            *[""] * bool(written.pattern),
            *comment_block(self._signature_told(written, batch=False)),
            *listed(head.parameters(False, work), f"void {head.function}", ";"),
            "",
        ]
        if written.one.has_points:
            lines += [
                *comment_block(self._signature_told(written, batch=True)),
                *listed(head.batch_parameters(False, work), f"void {head.function}_batch", ";"),
                "",
            ]
        lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
        return "\n".join(lines)

    # What it says.

    def _told(self) -> list[str]:
        """The comment at the top: what is computed, how to compile it, the graph's text."""
        first = self.tasks[0]
        asked = first.asked
        lines = [
            f"{asked.want.name} of the graph {asked.graph.name}.",
            "",
            "C99; nothing is allocated, and only libm is needed (-lm). With -DGRAPHC_CHECK it is",
            "a program that compares its derivatives with differences. Never compile it with",
            "-ffast-math; -ffp-contract=off gives the same digits on every machine.",
        ]
        text = graph_lines(asked.graph)
        if text:
            lines += ["", "The graph:", "", *(f"    {line}" for line in text)]
        return lines

    def _signature_told(self, written: Written, batch: bool) -> list[str]:
        """The comment of a function: what it gives, and the shapes."""
        one, head = written.one, written.head
        lines = [summary(one)]
        if batch:
            how = {"sum": ", summed over them", "mean": ", their mean", None: ""}[one.reduce]
            lines = [f"The same at {head.count} points{how}: every argument is an array of them."]
            if not one.reduce and any(output.shape for output in head.outputs):
                lines.append("Matrices follow each other, point by point.")
        shaped: list[Argument | Output] = [*head.arguments, *head.outputs]
        told = [f"    {x.name}: {shape_text(x.shape)}" for x in shaped if x.shape]
        if told and not batch:
            lines += ["", "Arrays are in row-major order:", "", *told]
        if isinstance(one.results, Sparse):
            (output,), (rows, columns) = head.outputs, written.pattern
            lines += [
                "",
                f"{output.name} has the {output.size} entries of a sparse matrix of shape",
                f"{one.results.shape}, row by row; all others are 0. Entry k stands in row",
                f"{rows}[k] and column {columns}[k].",
            ]
        if written.needs_work:
            lines += ["", f"{head.work}: room for {written.work_name} numbers."]
        return [*lines, "", "Results must not overlap arguments or each other."]


def _braced(lines: Sequence[str]) -> list[str]:
    """The body of a function."""
    return ["{", *(f"    {line}" for line in lines), "}", ""]


def _called(written: Written, point: str, *more: str) -> list[str]:
    """A call at one of many points, inside a loop."""
    head = written.head
    passed = [f"{one.name}[{point}]" for one in head.arguments]
    for output in head.outputs:
        step = point if output.size == 1 else f"{point} * {output.size}"
        passed.append(f"{output.name} + {step}")
    passed += [head.work] * written.needs_work
    return listed([*passed, *more], f"    {head.function}", ";")


def _each(written: Written, point: str) -> list[str]:
    """A loop over the points."""
    loop = f"for (size_t {point} = 0; {point} < {written.head.count}; {point}++)"
    return [loop, *_called(written, point)]


def _quickly(
    written: Written, quick: Written, point: str, names: CNames, maths: OwnMaths
) -> list[str]:
    """A loop over the points, some at a time: those among which one is out of range come again."""
    count, start, stop, out = written.head.count, *map(names.fresh, ("start", "stop", "out"))
    some, top = AT_ONCE, 31 if maths.dtype == "float32" else 63
    loop = f"for (size_t {point} = {start}; {point} < {stop}; {point}++)"
    return [
        f"for (size_t {start} = 0; {start} < {count}; {start} += {some}) {{",
        f"    const size_t {stop} = {count} - {start} < {some} ? {count} : {start} + {some};",
        f"    {maths.flags} {out} = 0;",
        f"    {loop}",
        *(f"    {line}" for line in _called(quick, point, f"&{out}")),
        f"    if ({out} >> {top})",
        f"        {loop}",
        *(f"        {line}" for line in _called(written, point)),
        "}",
    ]


def _summed(written: Written, point: str, names: CNames) -> list[str]:
    """A loop over the points whose results are added up, some at a time."""
    head = written.head
    start, place = names.fresh("start"), names.fresh("place")
    here = {output.name: names.fresh(f"{output.name}_here") for output in head.outputs}
    some = {output.name: names.fresh(f"{output.name}_some") for output in head.outputs}
    passed = [f"{one.name}[{point}]" for one in head.arguments]
    passed += [*here.values(), *[head.work] * written.needs_work]

    def over(text: str) -> list[str]:
        """A line for each element of each result, with {here}, {some} and {all}."""
        return [
            f"for (int {place} = 0; {place} < {one.size}; {place}++) "
            + text.format(
                here=f"{here[one.name]}[{place}]",
                some=f"{some[one.name]}[{place}]",
                all=f"{one.name}[{place}]",
            )
            for one in head.outputs
        ]

    arrays = [f"{head.type} {here[one.name]}[{max(one.size, 1)}];" for one in head.outputs]
    sums = [f"{head.type} {some[one.name]}[{max(one.size, 1)}];" for one in head.outputs]
    until = f"{point} < {head.count} && {point} < {start} + {POINTS_AT_ONCE}"
    lines = [
        *over("{all} = 0;"),
        f"for (size_t {start} = 0; {start} < {head.count}; {start} += {POINTS_AT_ONCE}) {{",
        *(f"    {line}" for line in (*sums, *over("{some} = 0;"))),
        f"    for (size_t {point} = {start}; {until}; {point}++) {{",
        *(f"        {line}" for line in arrays),
        *listed(passed, f"        {head.function}", ";"),
        *(f"        {line}" for line in over("{some} += {here};")),
        "    }",
        *(f"    {line}" for line in over("{all} += {some};")),
        "}",
    ]
    if written.one.reduce == "mean":
        lines += over(f"{{all}} /= ({head.type}){head.count};")
    return lines
