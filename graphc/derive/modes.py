"""The user's verbs: values, reverse and forward mode, one derivative in any mode.

Every verb is the one sweep of paths.py over an Evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import one_of
from ..structure.paths import reached, sweep
from ..structure.reach import upstream
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from .evaluation import Edge
from .hops import Carry, Hop, into, out_of, seeded, seeds_of, the_output
from .matrices import jacobian_entry
from .pathwise import pathwise
from .request import FORMS, Derivatives, Request

MODES = ("auto", "reverse", "forward", "paths")


def values(graph: Structure, at: Mapping[str, Any] | None) -> dict[str, Any]:
    """The value of every node."""
    request = Request(graph, at, "inputs")
    result = Derivatives()
    for row in graph.nodes():
        value = request.evaluation.value(row)
        result[graph.names[row]] = request.finish(value, lambda: f"the value of {graph.label(row)}")  # noqa: B023
    return result


class Trace:
    """What a sweep did: its request, what came over each edge, each node's sum, in order.

    In symbols everything is a row of the request's graph: formulas, cheap and as they were made.
    """

    def __init__(self) -> None:
        self.request: Request
        self.carried: dict[Edge, Any] = {}
        self.sums: dict[GraphRow, Any] = {}

    def watched(self, carry: Carry) -> Carry:
        """The same carry, remembered."""

        def remembered(edge: Edge, value: Any) -> Any:
            self.carried[edge] = carry(edge, value)
            return self.carried[edge]

        return remembered

    def visit(self, node: GraphRow, value: Any) -> Any:
        """Remembers a node's sum once it is complete."""
        self.sums[node] = value
        return value


def reverse(
    graph: Structure,
    of: Any = None,
    at: Mapping[str, Any] | None = None,
    form: str = "nodes",
    trace: Trace | None = None,
) -> Derivatives:
    """The derivative of `of` by every node that has a path to it."""
    ends = seeds_of(graph, of)
    request = Request(graph, at, form, upstream(graph, ends), rows=trace is not None)
    label = "of" if len(ends) > 1 else graph.names[next(iter(ends))]
    found = adjoints(request, ends, trace)
    return _finished(request, found, "bar", lambda name: f"d {label} / d {name}", trace is None)


def adjoints(
    request: Request, ends: dict[GraphRow, Any], trace: Trace | None = None
) -> dict[GraphRow, Any]:
    """{row: adjoint}, as the algebra carries it, of every node with a path to the ends."""
    graph = request.graph
    order = sorted(upstream(graph, ends), reverse=True)
    return _swept(request, ends, order, lambda node: into(graph, node), "bar", trace)


def forward(
    graph: Structure,
    wrt: Any,
    at: Mapping[str, Any] | None = None,
    form: str = "nodes",
    trace: Trace | None = None,
    within: Iterable[GraphRow] | None = None,
) -> Derivatives:
    """The derivative of every node (or of those `within`) that a path reaches from `wrt`."""
    starts = seeded(graph, wrt, None)
    order = graph.nodes() if within is None else sorted(within)
    hops = out_of(graph, order)
    touched = reached(starts, lambda node: [target for target, _ in hops.get(node, ())])
    request = Request(graph, at, form, upstream(graph, touched), rows=trace is not None)
    label = "wrt" if len(starts) > 1 else graph.names[next(iter(starts))]
    tangents = _swept(request, starts, order, lambda node: hops.get(node, ()), "dot", trace)
    return _finished(request, tangents, "dot", lambda name: f"d {name} / d {label}", trace is None)


def _swept(
    request: Request,
    seeds: dict[GraphRow, Any],
    order: Sequence[GraphRow],
    hops: Callable[[GraphRow], Iterable[Hop]],
    suffix: str,
    trace: Trace | None = None,
) -> dict[GraphRow, Any]:
    """The sweep that reverse and forward share: adjoints are pulled, tangents pushed."""
    graph, evaluation = request.graph, request.evaluation
    carry: Carry = evaluation.pull if suffix == "bar" else evaluation.push
    start = {
        row: request.seed(seed, f"the seed of {graph.names[row]!r}", graph.shape(row))
        for row, seed in seeds.items()
    }
    if request.symbolic and request.form == "steps":
        carry = _one_step(request, carry, suffix)
    visit = None
    if trace is not None:
        trace.request, carry, visit = request, trace.watched(carry), trace.visit
    arrived = sweep(order, hops, start, carry, evaluation.add, visit)
    if evaluation.gated:  # a branch not taken: there is a path, but nothing came along it
        for node in reached(start, lambda node: [target for target, _ in hops(node)]):
            arrived.setdefault(node, request.nothing(node))
    return arrived


def _finished(
    request: Request,
    arrived: dict[GraphRow, Any],
    suffix: str,
    label: Callable[[str], str],
    warns: bool = True,
) -> Derivatives:
    """What arrived, as users get it: by name, outputs first for adjoints."""
    graph, result = request.graph, Derivatives()
    for node in sorted(arrived, reverse=suffix == "bar"):
        name = graph.names[node]
        result[name] = request.finish(arrived[node], partial(label, name))
    if warns:  # who traces tells the kinks itself
        request.tell_kinks(result)
    return result


def _one_step(request: Request, carry: Carry, suffix: str) -> Carry:
    """Carries a neighbour's adjoint (or tangent) as a symbol instead of its value."""
    graph = request.graph

    def step(edge: Edge, _: Any) -> Any:
        target, number = edge
        near = target if suffix == "bar" else graph.formula(target).sources[number]
        return carry(edge, request.symbol(f"{graph.names[near]}_{suffix}", graph.shape(near)))

    return step


def derivative(
    graph: Structure,
    of: Any,
    wrt: Any,
    at: Mapping[str, Any] | None = None,
    mode: str = "auto",
    form: str = "nodes",
) -> Any:
    """One total derivative; 0 where there is no path."""
    one_of(mode, MODES, "mode")
    one_of(form, FORMS, "form")
    target = the_output(graph, of)
    source = graph.row(wrt)
    if mode == "paths":
        return pathwise(graph, graph.names[target], wrt, at, form=form).value
    if at is None and form == "steps":
        verb, start, end = (
            (reverse, target, source) if mode != "forward" else (forward, source, target)
        )
        return verb(graph, graph.names[start], None, form).get(graph.names[end], 0)
    request = Request(graph, at, form, upstream(graph, [target]))
    result = jacobian_entry(request, target, source, mode)
    request.tell_kinks()
    return result
