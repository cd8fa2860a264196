"""explain_all_pairs: the worked solution of every derivative between two nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..derive.hops import into
from ..derive.pairs import pair_rows
from ..derive.request import Request
from ..errors import GraphcError
from ..structure.reach import origins, upstream
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from .explain import check_digits
from .numbers import number
from .sections import Block, given, kinks, limited, local_derivatives, values
from .solution import Equation, Grid, Math, Prose, Section, Solution, label, sign
from .working import Working

MOST_NODES = 30
WIDEST_CELL = 24  # characters of a formula in the table


def explain_all_pairs(graph: Structure, at: Mapping[str, Any] | None, digits: int = 6) -> Solution:
    """The worked solution of S(i, j) = d j / d i for every pair joined by a path."""
    check_digits(digits)
    if graph.has_tensors:
        raise GraphcError(
            "explain_all_pairs needs a graph of scalars; use explain(), or all_pairs() for the "
            "Jacobians"
        )
    nodes = graph.nodes()
    shown = nodes[:MOST_NODES]  # the first nodes depend on nothing that comes later
    needed = upstream(graph, shown)
    working = Working(graph, at, needed, digits)
    request = working.point or Request(graph, None)
    rows = pair_rows(request, shown)
    names = graph.names
    found: dict[tuple[GraphRow, GraphRow], Any] = {
        (source, target): request.finish(
            rows[target].get(source, request.zero(())),
            lambda: f"d {names[target]} / d {names[source]}",  # noqa: B023
        )
        for target in shown
        for source in sorted(origins(graph, target))
    }
    left_out: list[Block] = []
    if len(nodes) > len(shown):
        left_out.append(
            (
                f"The graph has {len(nodes)} nodes; the pairs among the first {len(shown)} are "
                "shown. g.all_pairs() gives all of them.",
            )
        )
    steps = [_pair(working, request, pair, found) for pair in found if pair[0] != pair[1]]
    rule: Prose = (
        sign("S(i, j)"),
        " is the derivative of ",
        sign("j"),
        " by ",
        sign("i"),
        ". It is 1 if they are the same node; every other one is the sum over the nodes ",
        sign("k"),
        " in the formula of ",
        sign("j"),
        ": ",
        sign("S(i, j) = sum of S(i, k)*z(k, j)", r"S(i, j) = \sum_{k} S(i, k) \, z(k, j)"),
        ". A pair without a path is left out.",
    )
    sections = (
        given(working, needed),
        values(working, needed),
        local_derivatives(working, set(shown)),
        Section("All pairs", (*left_out, rule, *limited(steps, "pairs"))),
        Section("Table", _table(working, shown, found)),
    )
    about = "" if graph.name == "graph" else f"{label(graph.name)}: "
    return Solution(
        (f"{about}all node-to-node derivatives",),
        tuple(section for section in sections if section.blocks),
        {(names[source], names[target]): value for (source, target), value in found.items()},
        tuple(names[node] for node in kinks(working)),
    )


def _pair(
    working: Working,
    request: Any,
    pair: tuple[GraphRow, GraphRow],
    found: Mapping[tuple[GraphRow, GraphRow], Any],
) -> Equation:
    """S(i, j) from the S(i, k) of the nodes k in the formula of j."""
    source, target = pair
    terms = []
    for near, edge in into(working.graph, target):
        passed = working.point is None or working.point.evaluation.local(edge[0])[edge[1]]
        if (source, near) in found and passed is not None:
            terms.append(
                (
                    working.total(source, near),
                    working.local(edge),
                    found[source, near],
                    working.edge_number(edge),
                )
            )
    extra = [] if working.numeric else working.told(found[pair])
    return working.update(working.total(source, target), terms, found[pair], extra)


def _table(
    working: Working, shown: list[GraphRow], found: Mapping[tuple[GraphRow, GraphRow], Any]
) -> tuple[Prose | Grid, ...]:
    """S(i, j) with i down and j across; nodes without a path leave an empty cell."""
    targets = [t for t in shown if working.graph.formula(t).sources]

    def cell(source: GraphRow, target: GraphRow) -> Math:
        if (source, target) not in found:
            return sign("")
        value = found[source, target]
        return number(value, working.digits) if working.numeric else working.told(value)[0][1]

    rows = tuple(
        (working.name(source), tuple(cell(source, target) for target in targets))
        for source in shown
    )
    if any(len(c.text) > WIDEST_CELL for _, cells in rows for c in cells) or not targets:
        return ()
    words: Prose = (
        "Row ",
        sign("i"),
        ", column ",
        sign("j"),
        ": ",
        sign("S(i, j)"),
        "; an empty cell has no path.",
    )
    return (words, Grid(sign("i"), tuple(working.name(t) for t in targets), rows))
