"""explain: the worked solution of a derivative, from the trace of the sweep that computed it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from .. import derive
from ..errors import GraphcError, listing
from ..evaluation import Edge
from ..request import Request
from ..shapes import shape_text
from ..structure import Structure
from .numbers import sides
from .solution import EQUAL, Equation, Equations, Math, Prose, Section, Solution, label
from .working import Term, Working, joined, product, shape_words

MOST = 100  # equations of one section
MOST_PATHS = 64
WRITTEN_OUT = 200  # nodes; the symbolic results of a larger graph are left as single steps
DIGITS = range(1, 16)
At = Mapping[str, Any] | None
Block = Prose | Equations


def explain(
    graph: Structure, of: Any, wrt: Any, at: At, mode: str = "reverse", digits: int = 6
) -> Solution:
    """The worked solution of d of / d wrt."""
    if mode not in MODES:
        raise GraphcError(f"mode={mode!r} is not known; use one of {listing(MODES)}")
    check_digits(digits)
    if isinstance(of, Mapping):
        raise GraphcError("explain is about one node; give its name as of=, without a seed")
    target = derive.the_output(graph, of)
    wanted = _wanted(graph, wrt)
    needed = derive.upstream(graph, [target])
    working = Working(graph, at, needed, digits)
    asked = wanted or [row for row in graph.leaves() if row in needed]
    origins = derive.origins(graph, target)
    paths = [row for row in asked if row in origins]
    shown = _on_paths(graph, target, paths if wanted else sorted(origins))
    sections, results = MODES[mode](working, target, paths, shown, at)
    missing = [row for row in asked if row not in origins]
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


def _wanted(graph: Structure, wrt: Any) -> list[int]:
    if wrt is None:
        return []
    names = [wrt] if isinstance(wrt, str) or not isinstance(wrt, Sequence) else wrt
    if not names:
        raise GraphcError("wrt= is empty; name at least one node, or leave it out")
    return list(dict.fromkeys(graph.row(name) for name in names))


def _on_paths(graph: Structure, target: int, sources: Sequence[int]) -> set[int]:
    """The nodes on a path from one of the sources to the target."""
    below = set(sources) | {target}
    above = derive.origins(graph, target)
    for node in sorted(above):
        if any(source in below and source != target for _, source in graph.edges_of(node)):
            below.add(node)
    return above & below


def _title(working: Working, target: int, wanted: list[int], mode: str) -> Prose:
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


# What comes before the sweep.


def given(working: Working, needed: set[int]) -> Section:
    graph = working.graph
    leaves = [row for row in graph.leaves() if row in needed]
    blocks: list[Block] = []
    if working.numeric and working.has_values:
        values = [
            working.equation(
                working.name(row),
                sides(working.number(row), working.digits),
                working.number(row),
                working.shape(row),
            )
            for row in leaves
        ]
        blocks += limited(values, "values")
        blocks.append(
            (
                f"The arithmetic is exact where the given numbers are; decimals (≈) are rounded to "
                f"{working.digits} significant digits only to be read.",
            )
        )
    elif working.numeric and working.point is not None:
        blocks.append(("The local derivatives alone are given.",))
    elif graph.has_tensors:
        shapes: list[str | Math] = []
        for row in leaves[:MOST]:
            size = graph.shape(row)
            shapes += [", " if shapes else "", working.name(row)]
            shapes.append(f" a {shape_words(size)}" if size else " a number")
        blocks.append(tuple(shapes[1:]))
    return Section("Given", tuple(blocks))


def values(working: Working, needed: set[int]) -> Section:
    graph = working.graph
    if not working.has_values:
        return Section("", ())
    leaves = set(graph.leaves())
    computed = [node for node in sorted(needed) if node not in leaves]
    steps = [working.value(node) for node in computed[:MOST]]
    heading = "Forward pass" if working.numeric else "The graph"
    return Section(heading, tuple(limited(steps, "nodes", len(computed))))


def local_derivatives(working: Working, shown: set[int]) -> Section:
    graph = working.graph
    edges = [
        (node, edge)
        for node in sorted(shown)
        for edge, source in graph.edges_of(node)
        if source in shown
    ]
    found = [working.slope(edge) for edge in edges[:MOST]]
    steps = [step for step in found if step is not None]
    prose: Prose = (
        Math("z(i, j)", "z(i, j)"),
        " is the local derivative of node ",
        Math("j", "j"),
        " by the node ",
        Math("i", "i"),
        " that its formula mentions, everything else held.",
    )
    blocks: list[Block] = [prose, *limited(steps, "edges", len(edges) - len(found) + len(steps))]
    blocks += [working.kink(node) for node in kinks(working)[:MOST]]
    return Section("Local derivatives", tuple(blocks) if steps else ())


def kinks(working: Working) -> list[int]:
    return [] if working.point is None else list(working.point.evaluation.kinks)


def limited(steps: Sequence[Equation], what: str, total: int | None = None) -> list[Block]:
    """The first equations, and how many were left out."""
    total = len(steps) if total is None else total
    blocks: list[Block] = [Equations(tuple(steps[:MOST]))] if steps else []
    if total > len(steps[:MOST]):
        blocks.append(
            (
                f"{total - len(steps[:MOST])} of {total} {what} are left out here; they are "
                "computed in the same way. Ask with wrt=, or collapse nodes, for a shorter "
                "solution.",
            )
        )
    return blocks


# The modes: each gives its sections, and {name: result} of the nodes with a path.

Found = tuple[list[Section], dict[str, Any]]


def _reverse(working: Working, target: int, paths: list[int], shown: set[int], at: At) -> Found:
    graph = working.graph
    name = graph.names[target]
    trace = derive.Trace()
    results: dict[str, Any]
    if at is None:
        results = _in_symbols(lambda: derive.reverse(graph, name), len(shown))
    else:
        results = derive.reverse(graph, name, at, trace=trace)
        working.point = trace.request
    steps = _steps(working, lambda t: derive.reverse(graph, name, None, "steps", t))
    hops = derive.out_of(graph, shown)
    order = sorted(shown, reverse=True)

    def neighbours(node: int) -> list[tuple[int, Edge]]:
        return [hop for hop in hops.get(node, ()) if at is None or _passed(trace, hop[1])]

    equations = _updates(
        working, order, results, neighbours, steps, lambda node: working.total(node, target), "bar"
    )
    t = working.name(target)
    sign = Math(f"S(i, {t.text})", f"S(i, {t.latex})")
    rule: Prose = (
        sign,
        " is the derivative of ",
        t,
        " by ",
        Math("i", "i"),
        ". It is 1 for ",
        t,
        " itself; every other one is the sum over the nodes ",
        Math("j", "j"),
        " that use ",
        Math("i", "i"),
        ": ",
        Math(
            f"S(i, {t.text}) = sum of S(j, {t.text})*z(i, j)",
            rf"S(i, {t.latex}) = \sum_{{j}} S(j, {t.latex}) \, z(i, j)",
        ),
        ", taken from the output backwards.",
    )
    section = Section("Backward pass", (rule, *limited(equations, "nodes", len(order))))
    return [section], dict(results)


def _passed(trace: derive.Trace, edge: Edge) -> bool:
    return trace.carried.get(edge) is not None


def _in_symbols(verb: Callable[[], Mapping[str, Any]], size: int) -> dict[str, Any]:
    """Results in the names of nodes; none where they would be too long to be read."""
    if size > WRITTEN_OUT:
        return {}
    try:
        return dict(verb())
    except GraphcError:  # too long: the single steps say it all
        return {}


def _steps(working: Working, verb: Callable[[derive.Trace], Any]) -> derive.Trace | None:
    """The same sweep in formulas, where products of numbers do not say it all."""
    if working.numeric and not working.graph.has_tensors:
        return None
    trace = derive.Trace()
    verb(trace)
    return trace


def _updates(
    working: Working,
    order: Sequence[int],
    results: Mapping[str, Any],
    neighbours: Callable[[int], list[tuple[int, Edge]]],
    steps: derive.Trace | None,
    total: Callable[[int], Math],
    suffix: str,
) -> list[Equation]:
    """One equation for each node, in the order of the sweep."""
    graph = working.graph
    signs: dict[int, Math] = {}
    if steps is not None:
        for node in order:
            row = steps.request.added.get(f"{graph.names[node]}_{suffix}")
            if row is not None:
                signs[row] = total(node)
    found = []
    for node in order[:MOST]:
        name, left = graph.names[node], total(node)
        value = results.get(name)
        near = neighbours(node)
        if node == order[0]:
            found.append(working.equation(left, [(EQUAL, Math("1", "1"))], 1))
        elif steps is not None and _has_tensor(graph, node, near):
            found.append(working.step(left, steps, node, value, signs))
        else:
            terms: list[Term] = [
                (
                    total(other),
                    working.local(edge),
                    results.get(graph.names[other]),
                    working.edge_number(edge),
                )
                for other, edge in near
            ]
            extra = []
            if not working.numeric and steps is not None and node in steps.sums:
                step = working.step(left, steps, node, None, signs)
                extra = [*step.sides, *(working.told(value) if value is not None else [])]
            if working.numeric and not terms:
                value = 0
            found.append(working.update(left, terms, value, extra))
    return found


def _has_tensor(graph: Structure, node: int, near: list[tuple[int, Edge]]) -> bool:
    rows = [node, *(other for other, _ in near), *(edge[0] for _, edge in near)]
    inside = [r for row in rows[1:] for r in graph.formula(row).rows]
    return any(graph.shape(row) for row in [*rows, *inside])


def _forward(working: Working, target: int, paths: list[int], shown: set[int], at: At) -> Found:
    graph = working.graph
    sections, found = [], {}
    for source in paths[:MOST]:
        name = graph.names[source]
        if graph.shape(source):
            raise GraphcError(
                f"forward mode carries one direction, and {name!r} has shape "
                f"{shape_text(graph.shape(source))}; use mode='reverse'"
            )
        trace = derive.Trace()
        between = derive.path_between(graph, source, target)
        results: dict[str, Any]
        if at is None:
            results = _in_symbols(
                lambda: derive.forward(graph, name, within=between),  # noqa: B023
                len(between),
            )
        else:
            results = derive.forward(graph, name, at, trace=trace, within=between)
            working.point = trace.request
        steps = _steps(working, lambda t: derive.forward(graph, name, None, "steps", t, between))  # noqa: B023

        def neighbours(node: int) -> list[tuple[int, Edge]]:
            return [
                hop
                for hop in derive.into(graph, node)
                if hop[0] in between and (at is None or _passed(trace, hop[1]))  # noqa: B023
            ]

        equations = _updates(
            working,
            sorted(between),
            results,
            neighbours,
            steps,
            lambda node: working.total(source, node),  # noqa: B023
            "dot",
        )
        s = working.name(source)
        rule: Prose = (
            Math(f"S({s.text}, j)", f"S({s.latex}, j)"),
            " is the derivative of ",
            Math("j", "j"),
            " by ",
            s,
            ". It is 1 for ",
            s,
            " itself; every other one is the sum over the nodes ",
            Math("i", "i"),
            " in the formula of ",
            Math("j", "j"),
            ": ",
            Math(
                f"S({s.text}, j) = sum of S({s.text}, i)*z(i, j)",
                rf"S({s.latex}, j) = \sum_{{i}} S({s.latex}, i) \, z(i, j)",
            ),
            ", taken from the input forwards.",
        )
        heading = f"Forward pass of derivatives by {name}"
        sections.append(Section(heading, (rule, *limited(equations, "nodes", len(between)))))
        if graph.names[target] in results:
            found[name] = results[graph.names[target]]
    return sections, found


def _paths(working: Working, target: int, paths: list[int], shown: set[int], at: At) -> Found:
    graph = working.graph
    sections, found, number = [], {}, 0
    for source in paths[:MOST]:
        name, end = graph.names[source], graph.names[target]
        count = derive.number_of_paths(graph, name, end)
        request = Request(graph, at, needed=derive.upstream(graph, [target]))
        steps, signs, numbers, total = [], [], [], None
        for path, value in islice(derive.path_products(request, source, target), MOST_PATHS):
            number += 1
            sign = Math(f"P{number}", f"P_{{{number}}}")
            total = value if total is None else request.evaluation.add(total, value)
            shown_value = request.finish(value, lambda: "the product along a path")
            steps.append(_path(working, sign, path, shown_value))
            signs.append(sign)
            numbers.append(shown_value)
        if count > MOST_PATHS:
            result = derive.derivative(graph, end, name, at)
        else:
            result = request.finish(total, lambda: "the sum over the paths")
        found[name] = result
        words = f"There {'is 1 path' if count == 1 else f'are {count} paths'} from "
        lead: Prose = (words, working.name(source), " to ", working.name(target), ".")
        blocks: list[Block] = [lead, Equations(tuple(steps))]
        left = working.derivative(target, source)
        if count > MOST_PATHS:
            blocks.append(
                (
                    f"The other {count - MOST_PATHS} paths are left out here; the sum over all of "
                    "them comes from one reverse sweep. g.top_paths gives the largest terms.",
                )
            )
            blocks.append(Equations((working.result(left, None, result),)))
        else:
            blocks.append(Equations((_path_sum(working, left, signs, numbers, result),)))
        sections.append(Section(f"Paths from {name} to {end}", tuple(blocks)))
    return sections, found


def _path(working: Working, sign: Math, path: derive.Path, value: Any) -> Equation:
    """One path: the product of its local derivatives, in signs and in numbers."""
    graph = working.graph
    edges = [edge for _, edge in path[1:]]
    names = [working.name(node) for node, _ in path]
    note: Prose = (Math(" -> ".join(n.text for n in names), r" \to ".join(n.latex for n in names)),)
    found = [(EQUAL, product([working.local(edge) for edge in edges]))] if edges else []
    scalar = not any(graph.shape(row) for node, _ in path for row in graph.formula(node).rows)
    if working.numeric and edges and scalar:
        found.append(working._products([[working.edge_number(edge) for edge in edges]]))
    elif not scalar:
        found = []  # a product of matrices is not the product of their signs
    return working.equation(sign, [*found, *working.told(value)], value, note)


def _path_sum(
    working: Working, left: Math, signs: list[Math], numbers: list[Any], result: Any
) -> Equation:
    found = [(EQUAL, joined(signs))]
    if working.numeric and not working.graph.has_tensors and len(numbers) > 1:
        found.append(working._products([[number] for number in numbers]))
    return working.equation(left, [*found, *working.told(result, 200)], result)


MODES: dict[str, Callable[[Working, int, list[int], set[int], At], Found]] = {
    "reverse": _reverse,
    "forward": _forward,
    "paths": _paths,
}


# What comes after.


def _results(
    working: Working, target: int, asked: Sequence[int], results: Mapping[str, Any]
) -> Section:
    graph = working.graph
    origins = derive.origins(graph, target)
    equations, unwritten = [], False
    for row in asked[:MOST]:
        left = working.derivative(target, row)
        if row not in origins:
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
