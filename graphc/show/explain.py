"""explain: the worked solution of a derivative, from the trace of the sweep that computed it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..derive.hops import the_output
from ..errors import GraphcError, one_of
from ..shapes import shape_text
from ..structure.reach import origins, upstream
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from .modes import MODES
from .sections import MOST, given, kinks, limited, local_derivatives, values
from .solution import Math, Prose, Section, Solution, label
from .working import Working

DIGITS = range(1, 16)
At = Mapping[str, Any] | None


def explain(
    graph: Structure, of: Any, wrt: Any, at: At, mode: str = "reverse", digits: int = 6
) -> Solution:
    """The worked solution of d of / d wrt."""
    one_of(mode, MODES, "mode")
    check_digits(digits)
    if isinstance(of, Mapping):
        raise GraphcError("explain is about one node; give its name as of=, without a seed")
    target = the_output(graph, of)
    if any(size != 1 for size in graph.shape(target)):
        raise GraphcError(
            f"explain is about a node of one element, and {graph.names[target]!r} has shape "
            f"{shape_text(graph.shape(target))}; derive a sum or an element of it"
        )
    wanted = _wanted(graph, wrt)
    needed = upstream(graph, [target])
    working = Working(graph, at, needed, digits)
    asked = wanted or [row for row in graph.leaves() if row in needed]
    reaching = origins(graph, target)
    paths = [row for row in asked if row in reaching]
    shown = _on_paths(graph, target, paths if wanted else sorted(reaching))
    sections, results = MODES[mode](working, target, paths, shown, at)
    missing = [row for row in asked if row not in reaching]
    for row in missing:
        results[graph.names[row]] = 0
    return Solution(
        _title(working, target, wanted, mode),
        tuple(
            section
            for section in (
                given(working, needed),
                values(working, needed),
                local_derivatives(working, shown),
                *sections,
                _results(working, target, missing if mode == "paths" else asked, results),
            )
            if section.blocks
        ),
        {graph.names[row]: results.get(graph.names[row]) for row in asked},
        kinks=tuple(graph.names[node] for node in kinks(working)),
    )


def check_digits(digits: Any) -> None:
    """Refuses a number of digits that a float cannot hold."""
    if not isinstance(digits, int) or digits not in DIGITS:
        raise GraphcError(f"digits={digits!r}: decimals have 1 to 15 digits")


def _wanted(graph: Structure, wrt: Any) -> list[GraphRow]:
    if wrt is None:
        return []
    names = [wrt] if isinstance(wrt, str) or not isinstance(wrt, Sequence) else wrt
    if not names:
        raise GraphcError("wrt= is empty; name at least one node, or leave it out")
    return list(dict.fromkeys(graph.row(name) for name in names))


def _on_paths(graph: Structure, target: GraphRow, sources: Sequence[GraphRow]) -> set[GraphRow]:
    """The nodes on a path from one of the sources to the target."""
    below = set(sources) | {target}
    above = origins(graph, target)
    for node in sorted(above):
        if any(source in below and source != target for _, source in graph.edges_of(node)):
            below.add(node)
    return above & below


def _title(working: Working, target: GraphRow, wanted: list[GraphRow], mode: str) -> Prose:
    how = {"paths": "path by path"}.get(mode, f"by {mode} mode")
    name = working.graph.name
    about = "" if name == "graph" else f"{label(name)}: "
    if not wanted:
        return (f"{about}derivatives of ", working.name(target), f" {how}")
    parts: list[str | Math] = []
    for row in wanted[:4]:
        parts += [", " if parts else about, working.derivative(target, row)]
    more = f" and {len(wanted) - 4} more" if len(wanted) > 4 else ""
    return (*parts, f"{more} {how}")


def _results(
    working: Working, target: GraphRow, asked: Sequence[GraphRow], results: Mapping[str, Any]
) -> Section:
    graph = working.graph
    reaching = origins(graph, target)
    equations, unwritten = [], False
    for row in asked[:MOST]:
        left = working.derivative(target, row)
        if row not in reaching:
            note: Prose = ("no path leads from ", working.name(row), " to ", working.name(target))
            equations.append(working.result(left, None, 0, note))
        elif graph.names[row] in results:
            value = results[graph.names[row]]
            equations.append(working.result(left, working.total(row, target), value))
        else:
            unwritten = True
    blocks = limited(equations, "derivatives", len(asked) if not unwritten else len(equations))
    if unwritten:
        blocks.append(
            (
                "Written out in the names of nodes the results would be too long to be read; the "
                "updates above define them, one line each.",
            )
        )
    return Section("Result", tuple(blocks))
