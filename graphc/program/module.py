"""A standalone module: docstring, the function, what it needs, and its check of itself.

What stands inside the function is a style's: readable.py or fast.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import GraphcError
from ..shapes import Shape, Size, shape_text
from ..structure.reach import ancestors
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..write.formula import graph_text
from .array_text import ArrayText
from .definitions import definitions
from .library import Library
from .naming import Naming
from .program import Program, ProgramRow
from .question import Derived, Matrix, Question, Results, flat, leaves, mapped
from .scheduling import Schedule, schedule
from .selfcheck import self_check
from .sparse import Sparse

if TYPE_CHECKING:
    from .options import Options

LONGEST_LINE = 88
LONGEST_TEXT = 20_000  # characters of the graph's text in a docstring


@dataclass(frozen=True)
class Task:
    """One function to be written: what was asked, its rows, and the program that computes them."""

    asked: Question
    derived: Derived
    program: Program
    results: Results[ProgramRow]  # rows of the program
    arguments: tuple[GraphRow, ...]  # leaves of the derived graph, in the order of the call
    needed: frozenset[GraphRow]  # those without which there is no answer
    # those that the text reads, in order, some only to learn the points
    read: Mapping[GraphRow, None]
    options: Options
    tape: Any = None  # its rows as they were declared, where nothing is derived

    @property
    def reduce(self) -> str | None:
        """sum or mean over the points, or None."""
        return self.options.reduce

    @cached_property
    def schedule(self) -> Schedule:
        """The order in which the rows run."""
        return schedule(self.program, self.derived.declared, self.options, self.has_points)

    @property
    def graph(self) -> Structure:
        return self.derived.graph

    @property
    def has_points(self) -> bool:
        """Whether the function maps over points."""
        return maps_points(self.asked, self.results)

    @cached_property
    def sizes(self) -> list[str]:
        """The named sizes that the arguments tell."""
        tangents = set(self.derived.tangents)
        told = [row for row in self.read if row not in tangents]
        return sorted({s for row in told for s in self.graph.shape(row) if isinstance(s, str)})

    def rows(self) -> list[ProgramRow]:
        return flat(self.results)


def task(
    asked: Question,
    derived: Derived,
    program: Program,
    place: dict[GraphRow, ProgramRow],
    chosen: Options,
) -> Task:
    """The function to be written, with its arguments in order: all that were declared."""
    graph = derived.graph
    results = mapped(derived.results, place.__getitem__)
    extra = dict.fromkeys((*derived.seeds, *derived.tangents))
    declared = leaves(asked.graph)
    later = [row for row in leaves(graph) if row >= len(asked.graph.ops)]
    arguments = (*declared, *(row for row in later if row not in extra), *extra)
    needed = {graph.row(name) for name in program.arguments()} | set(derived.seeds)
    known = {s for row in needed - set(derived.tangents) for s in graph.shape(row)}
    mentioned = _sizes(program, results) | {s for r in derived.tangents for s in graph.shape(r)}
    for row in declared:  # an argument may be needed for a size alone
        missing = mentioned & {s for s in graph.shape(row) if isinstance(s, str)} - known
        if missing:
            needed.add(row)
            known |= missing
    around: set[GraphRow] = set()
    if maps_points(asked, results):
        # what the answer was asked of says at which points, even where a slope is the same at all
        around = set(ancestors(graph, [graph.row(name) for name in asked.of]))
    if chosen.reduce is not None:
        needed |= around & set(arguments)
    reading = {*needed, *around, *extra}
    read = dict.fromkeys(row for row in arguments if row in reading)
    needed -= set(derived.tangents)
    return Task(asked, derived, program, results, arguments, frozenset(needed), read, chosen)


def maps_points(asked: Question, results: Results[ProgramRow]) -> bool:
    """Whether an answer is one for each point: a graph of scalars."""
    return not asked.graph.has_tensors and not isinstance(results, Sparse)


def _sizes(program: Program, results: Results[ProgramRow]) -> set[Size]:
    """The sizes that the text mentions: of rows, of blocks of a matrix, as numbers."""
    found = {size for shape in program.shapes.values() for size in shape}
    found |= {
        program.settings(row)["size"]
        for row, op in zip(program.in_order(), program.ops, strict=True)
        if op == "size"
    }
    if isinstance(results, Matrix):
        found |= {size for shape in (*results.heights, *results.widths) for size in shape}
    return found


Body = Callable[[Task, ArrayText, Naming], list[str]]
Writer = Callable[[Task, ArrayText, Naming], str]


def module(
    tasks: Sequence[Task],
    written_as: Callable[[Task], Writer],
    library: Library,
    dtype: str,
    check: bool,
    given: dict[str, Any] | None = None,
) -> str:
    """The text of a module whose first task is what was asked for; others serve its check.

    `written_as` says how a task's function is written. Without the check it is text to be run, not
    to be read: no docstring says what it computes, and it may mention objects, which are put into
    `given` by their names.
    """
    first = tasks[0]
    names = dict.fromkeys(name for one in tasks for name in one.graph.rows)
    names |= dict.fromkeys(sorted(first.asked.graph.named_sizes()))
    naming = Naming(names, (library.namespace,))
    called: dict[str, str] = {}

    def function_name(name: str) -> str:
        if name not in called:
            called[name] = naming.fresh(name)
        return called[name]

    text = ArrayText(library, dtype, naming.of, function_name, lambda: naming.numbered("constant"))
    text.given = {} if given is None else given
    functions = [written_as(one)(one, text, naming) for one in tasks]
    checks = self_check(first, tasks[-1], text, naming) if check else ""
    own = definitions(text)
    package = f"import {library.package} as {library.namespace}"
    imports = "".join(f"{line}\n" for line in (package, *sorted(text.imports)))
    held = [f"{name} = {value}\n" for value, name in text.constants.items()]
    parts = [
        (docstring(first) + "\n" if check else "")
        + f"{imports}from numpy.typing import ArrayLike\n",
        *(["".join(held)] if held else []),
        *(f"\n{definition}" for definition in own),
        *(["\n" + "\n".join(text.preamble) + "\n"] if text.preamble else []),
        *(f"\n{one}" for one in functions),
    ]
    if checks:
        parts.append(f"\n{checks}")
    return "\n".join(parts)


def function_text(body: Body) -> Writer:
    """How a function is written: signature, docstring, arguments as arrays, and a style's lines."""

    def written(one: Task, text: ArrayText, naming: Naming) -> str:
        lines = signature(one, text, naming)
        lines.append(f'    """{summary(one)}"""')
        head, inside = prologue(one, text, naming), body(one, text, naming)
        head = _without_idle_sizes(head, inside)
        lines += [f"    {line}" if line else "" for line in (*head, *inside)]
        return "\n".join(lines) + "\n"

    return written


def _without_idle_sizes(head: list[str], inside: Sequence[str]) -> list[str]:
    """The first lines without sizes that no other line mentions."""
    found = [re.match(r"(\w+) = \w+\.shape\[\d+\]$", line) for line in head]
    sizes = {match[1]: number for number, match in enumerate(found) if match}
    if not sizes:
        return head
    others = [line for number, line in enumerate(head) if number not in sizes.values()]
    words = {word for line in (*others, *inside) for word in re.findall(r"\w+", line)}
    idle = {number for name, number in sizes.items() if name not in words}
    return [line for number, line in enumerate(head) if number not in idle]


def signature(one: Task, text: ArrayText, naming: Naming) -> list[str]:
    """The line (or lines) with the arguments and the types."""
    graph, parts = one.graph, []
    defaults = True  # only the last arguments may have one
    for row in reversed(one.arguments):
        name = naming.of(graph.names[row])
        given = graph.given.get(row)
        given = None if getattr(given, "ndim", 0) else given  # an array makes no short default
        spare = row not in one.needed
        defaults = defaults and (spare or given is not None)
        if defaults and given is not None:
            parts.append(f"{name}: ArrayLike = {text.number(given)[0]}")
        elif defaults and row in one.read and not graph.shape(row):
            parts.append(f"{name}: ArrayLike = 0")
        elif defaults:
            parts.append(f"{name}: ArrayLike | None = None")
        else:
            parts.append(f"{name}: ArrayLike")
    parts.reverse()
    asked = one.asked.want
    want, kind = asked.name, (one.asked.of_listed and asked.by_name) or asked.returns
    end = f") -> {kind.replace('A', f'{text.namespace}.ndarray')}:"
    line = f"def {want}({', '.join(parts)}{end}"
    if len(line) <= LONGEST_LINE:
        return [line]
    return [f"def {want}(", *(f"    {part}," for part in parts), end]


def prologue(one: Task, text: ArrayText, naming: Naming) -> list[str]:
    """The arguments as arrays of the dtype; tensors with their shapes checked, sizes named."""
    graph, np = one.graph, text.namespace
    tangents, sources = set(one.derived.tangents), set(one.asked.wrt)
    lines: list[str] = []
    known: set[str] = set()
    for row in one.read:
        name, shape = naming.of(graph.names[row]), graph.shape(row)
        if row in tangents and shape:
            zeros = f"{np}.zeros({text.shape(shape)})"
            lines.append(f"{name} = {zeros} if {name} is None else {name}")
        if not shape and one.has_points:
            lines.append(f"{name} = {np}.asarray({name}, dtype={np}.{text.dtype})")
            continue
        lines.append(f"{name} = {_checked(name, shape, known, text, naming)}")
        fresh = [size for size in shape if isinstance(size, str) and size not in known]
        for axis, size in enumerate(shape):
            if isinstance(size, str) and size not in known:
                known.add(size)
                lines.append(f"{naming.of(size)} = {name}.shape[{axis}]")
        if len(set(fresh)) < len(fresh):  # a size that one array tells twice
            lines.append(f"{name} = {_checked(name, shape, known, text, naming)}")
    for row in one.arguments:
        name, shape = naming.of(graph.names[row]), graph.shape(row)
        if row not in one.read and not one.has_points and graph.names[row] in sources:
            # its value is not read, but its derivative has its shape
            lines += [f"if {name} is not None:"]
            lines += [f"    {name} = {_checked(name, shape, known, text, naming)}"]
    return lines


def _checked(
    name: str, shape: Shape, known: Collection[str], text: ArrayText, naming: Naming
) -> str:
    """The call that gives an argument as an array, its shape compared with what is known."""
    sizes = [
        str(size) if isinstance(size, int) else naming.of(size) if size in known else "None"
        for size in shape
    ]
    wanted = f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"
    return text.own("checked", f'"{name}"', name, wanted)[0]


def summary(one: Task) -> str:
    """The first line of the function's docstring."""
    asked = one.asked
    of = asked.of[0] if len(asked.of) == 1 else "of"
    wrt = ", ".join(asked.wrt[:6]) + ", ..." * (len(asked.wrt) > 6)
    return asked.want.summary.format(of=of, all_of=", ".join(asked.of[:6]), wrt=wrt)


def docstring(first: Task) -> str:
    """The module's docstring: what it computes, shapes, and the graph's text."""
    asked = first.asked
    lines = [f'"""{asked.want.name} of the graph {_safe(asked.graph.name)}.', ""]
    shaped = [
        f"    {first.graph.names[row]}: {shape_text(first.graph.shape(row))}"
        for row in first.arguments
        if first.graph.shape(row)
    ]
    if shaped:
        lines += ["Shapes of the arguments; the others are scalars:", "", *shaped, ""]
    else:
        lines += ["Arguments are numbers or arrays of points, which broadcast.", ""]
    text = graph_lines(asked.graph)
    if text:
        lines += ["The graph:", "", *(f"    {_safe(line)}".rstrip() for line in text), ""]
    return "\n".join(lines) + '"""\n'


def graph_lines(graph: Structure) -> list[str]:
    """The graph's text for a comment; nothing if it is long or cannot be written."""
    try:
        text = graph_text(graph)
    except GraphcError:
        return []
    return text.splitlines() if len(text) <= LONGEST_TEXT else []


def _safe(text: str) -> str:
    """Text that cannot end a docstring or escape in it."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown.replace("\\", "/").replace('"', "'")
