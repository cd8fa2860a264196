"""The modes of a solution: each gives its sections, and the results of the nodes with a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from ..derive import modes as derive
from ..derive.evaluation import Edge
from ..derive.hops import into, out_of
from ..derive.pathwise import Path, number_of_paths, path_products
from ..derive.request import Request
from ..errors import GraphcError
from ..shapes import shape_text
from ..structure.reach import path_between, upstream
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from .sections import MOST, Block, limited
from .solution import EQUAL, Equation, Equations, Math, Prose, Section, formed, sign
from .working import Term, Working, between, joined, product

MOST_PATHS = 64
WRITTEN_OUT = 200  # nodes; the symbolic results of a larger graph are left as single steps
At = Mapping[str, Any] | None
Found = tuple[list[Section], dict[str, Any]]


def _reverse(
    working: Working, target: GraphRow, paths: list[GraphRow], shown: set[GraphRow], at: At
) -> Found:
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
    hops = out_of(graph, shown)
    order = sorted(shown, reverse=True)

    def neighbours(node: GraphRow) -> list[tuple[GraphRow, Edge]]:
        return [hop for hop in hops.get(node, ()) if at is None or _passed(trace, hop[1])]

    equations = _updates(
        working, order, results, neighbours, steps, lambda node: working.total(node, target), "bar"
    )
    t = working.name(target)
    rule: Prose = (
        formed("S(i, {0})", t),
        " is the derivative of ",
        t,
        " by ",
        sign("i"),
        ". It is 1 for ",
        t,
        " itself; every other one is the sum over the nodes ",
        sign("j"),
        " that use ",
        sign("i"),
        ": ",
        formed(
            "S(i, {0}) = sum of S(j, {0})*z(i, j)",
            t,
            latex=r"S(i, {0}) = \sum_{{j}} S(j, {0}) \, z(i, j)",
        ),
        ", taken from the output backwards.",
        " The products of vectors and matrices are written in matrix form." * graph.has_tensors,
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
    order: Sequence[GraphRow],
    results: Mapping[str, Any],
    neighbours: Callable[[GraphRow], list[tuple[GraphRow, Edge]]],
    steps: derive.Trace | None,
    total: Callable[[GraphRow], Math],
    suffix: str,
) -> list[Equation]:
    """One equation for each node, in the order of the sweep."""
    graph = working.graph
    signs: dict[GraphRow, Math] = {}
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
            found.append(working.equation(left, [(EQUAL, sign("1"))], 1))
        elif steps is not None and node in steps.sums and _has_tensor(graph, node, near):
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


def _has_tensor(graph: Structure, node: GraphRow, near: list[tuple[GraphRow, Edge]]) -> bool:
    rows = [node, *(other for other, _ in near), *(edge[0] for _, edge in near)]
    inside = [r for row in rows[1:] for r in graph.formula(row).rows]
    return any(graph.shape(row) for row in [*rows, *inside])


def _forward(
    working: Working, target: GraphRow, paths: list[GraphRow], shown: set[GraphRow], at: At
) -> Found:
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
        between = path_between(graph, source, target)
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

        def neighbours(node: GraphRow) -> list[tuple[GraphRow, Edge]]:
            return [
                hop
                for hop in into(graph, node)
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
            formed("S({0}, j)", s),
            " is the derivative of ",
            sign("j"),
            " by ",
            s,
            ". It is 1 for ",
            s,
            " itself; every other one is the sum over the nodes ",
            sign("i"),
            " in the formula of ",
            sign("j"),
            ": ",
            formed(
                "S({0}, j) = sum of S({0}, i)*z(i, j)",
                s,
                latex=r"S({0}, j) = \sum_{{i}} S({0}, i) \, z(i, j)",
            ),
            ", taken from the input forwards.",
        )
        heading = f"Forward pass of derivatives by {name}"
        sections.append(Section(heading, (rule, *limited(equations, "nodes", len(between)))))
        if graph.names[target] in results:
            found[name] = results[graph.names[target]]
    return sections, found


def _paths(
    working: Working, target: GraphRow, paths: list[GraphRow], shown: set[GraphRow], at: At
) -> Found:
    graph = working.graph
    sections, found, number = [], {}, 0
    for source in paths[:MOST]:
        name, end = graph.names[source], graph.names[target]
        count = number_of_paths(graph, name, end)
        request = Request(graph, at, needed=upstream(graph, [target]))
        steps, signs, numbers, total = [], [], [], None
        for path, value in islice(path_products(request, source, target), MOST_PATHS):
            number += 1
            called = sign(f"P{number}", f"P_{{{number}}}")
            total = value if total is None else request.evaluation.add(total, value)
            shown_value = request.finish(value, lambda: "the product along a path")
            steps.append(_path(working, called, path, shown_value))
            signs.append(called)
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


def _path(working: Working, left: Math, path: Path, value: Any) -> Equation:
    """One path: the product of its local derivatives, in signs and in numbers."""
    graph = working.graph
    edges = [edge for _, edge in path[1:]]
    names = [working.name(node) for node, _ in path]
    note: Prose = (between(names, " -> ", r" \to "),)
    found = [(EQUAL, product([working.local(edge) for edge in edges]))] if edges else []
    scalar = not any(graph.shape(row) for node, _ in path for row in graph.formula(node).rows)
    if working.numeric and edges and scalar:
        numbers = [working.edge_number(edge) for edge in edges]
        if None not in numbers:  # beside a branch not taken, one may not exist
            found.append(working.products([numbers]))
    elif not scalar:
        found = []  # a product of matrices is not the product of their signs
    return working.equation(left, [*found, *working.told(value)], value, note)


def _path_sum(
    working: Working, left: Math, signs: list[Math], numbers: list[Any], result: Any
) -> Equation:
    found = [(EQUAL, joined(signs))]
    if working.numeric and not working.graph.has_tensors and len(numbers) > 1:
        found.append(working.products([[number] for number in numbers]))
    return working.equation(left, [*found, *working.told(result, 200)], result)


MODES: dict[str, Callable[[Working, GraphRow, list[GraphRow], set[GraphRow], At], Found]] = {
    "reverse": _reverse,
    "forward": _forward,
    "paths": _paths,
}
