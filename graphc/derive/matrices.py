"""One total derivative within a request, and its axes: those of the target, then the source's."""

from __future__ import annotations

from typing import Any

from ..shapes import LETTERS, Shape
from ..structure.paths import sweep
from ..structure.reach import path_between
from ..structure.rows import GraphRow
from .hops import Carry, into, out_of
from .request import Request


def total(request: Request, target: GraphRow, source: GraphRow, mode: str = "reverse") -> Any:
    """One total derivative within a request: shape of target (if not one element) + source."""
    graph, evaluation = request.graph, request.evaluation
    between = path_between(graph, source, target)
    shape = () if _is_single(graph.shape(target)) else graph.shape(target)
    carry: Carry
    if mode == "forward":
        start, end, order = source, target, sorted(between)
        hops, carry = out_of(graph, order), evaluation.push
        evaluation.lead = graph.shape(source)
    else:
        start, end, order = target, source, sorted(between, reverse=True)
        hops, carry = {node: into(graph, node) for node in order}, evaluation.pull
        evaluation.lead = shape
    seed = (
        request.identity(graph.shape(start))
        if evaluation.lead
        else (request.seed(1, "the seed", graph.shape(start)))
    )
    arrived = sweep(
        order,
        lambda node: [hop for hop in hops.get(node, ()) if hop[0] in between],
        {start: seed},
        carry,
        evaluation.add,
    ).get(end)
    evaluation.lead = ()
    if arrived is None:
        arrived = request.zero((*shape, *graph.shape(source))) if shape else request.nothing(source)
    elif mode == "forward":
        arrived = _target_first(request, arrived, graph.shape(source), graph.shape(target))
    return request.finish(arrived, lambda: f"d {graph.names[target]} / d {graph.names[source]}")


def _is_single(shape: Shape) -> bool:
    """Whether a node of this shape has exactly one element."""
    return all(size == 1 for size in shape)


def _target_first(request: Request, value: Any, source: Shape, target: Shape) -> Any:
    """A pushed Jacobian, source axes first, in numerator layout; a single target has no axes."""
    if not source and not target:
        return value
    first, last = LETTERS[: len(source)], LETTERS[len(source) : len(source) + len(target)]
    out = ("" if _is_single(target) else last) + first
    spec = {"spec": f"{first}{last}->{out}", "sizes": ()}
    return request.evaluation.algebra.apply("contract", (value,), spec)


def jacobian_entry(
    request: Request, target: GraphRow, source: GraphRow, mode: str = "reverse"
) -> Any:
    """The Jacobian between two nodes: of.shape + wrt.shape."""
    return with_target_axes(request, target, source, total(request, target, source, mode))


def with_target_axes(request: Request, target: GraphRow, source: GraphRow, slope: Any) -> Any:
    """A finished derivative with the axes of its target, which one element needs in no sweep."""
    shape = request.graph.shape(target)
    if not shape or not _is_single(shape):
        return slope
    return request.reshaped(slope, (*shape, *request.graph.shape(source)))
