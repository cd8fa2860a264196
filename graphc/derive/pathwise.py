"""Paths, and derivatives as sums over them: each the product of its local derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from ..algebra.exact import as_float
from ..errors import GraphcError
from ..structure.paths import count_paths, enumerate_paths, longest_path, top_paths
from ..structure.reach import path_between, upstream
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from .evaluation import Edge
from .hops import out_of, the_output
from .matrices import with_target_axes
from .request import Request

Path = tuple[tuple[GraphRow, Edge], ...]  # (node, edge that led there); the first edge is None


class Term(tuple[Any, Any]):
    """One path and the product of the local derivatives along it."""

    __slots__ = ()

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self[0])

    @property
    def product(self) -> Any:
        return self[1]


class PathSum:
    """A derivative as a sum over paths: `.value` and `.terms`."""

    def __init__(self, value: Any, terms: list[Term], title: str) -> None:
        self.value = value
        self.terms = terms
        self.title = title

    def __repr__(self) -> str:
        lines = [f"{self.title} = {self.value}, over {len(self.terms)} path(s)"]
        lines += [f"  {' -> '.join(term.path)}: {term.product}" for term in self.terms[:20]]
        if len(self.terms) > 20:
            lines.append(f"  ... and {len(self.terms) - 20} more")
        return "\n".join(lines)


def paths(graph: Structure, source: Any, target: Any) -> Iterable[tuple[str, ...]]:
    """Each path as a tuple of names."""
    hops = out_of(graph, graph.nodes())
    for path in enumerate_paths(hops, graph.row(source), graph.row(target)):
        yield tuple(graph.names[node] for node, _ in path)


def number_of_paths(graph: Structure, source: Any, target: Any) -> int:
    """The number of paths, exactly, without enumerating them."""
    order = graph.nodes()
    return count_paths(order, out_of(graph, order), graph.row(source), graph.row(target))


def longest(graph: Structure, source: Any, target: Any) -> tuple[str, ...]:
    """The first of the longest paths; empty if there is none."""
    order = graph.nodes()
    found = longest_path(order, out_of(graph, order), graph.row(source), graph.row(target))
    return tuple(graph.names[node] for node in found)


def pathwise(
    graph: Structure,
    of: Any,
    wrt: Any,
    at: Mapping[str, Any] | None = None,
    limit: int = 10_000,
    form: str = "nodes",
) -> PathSum:
    """The derivative as the sum over all paths of the product of local derivatives."""
    target, source = the_output(graph, of), graph.row(wrt)
    names = graph.names
    count = number_of_paths(graph, names[source], names[target])
    if not isinstance(limit, (int, float)):
        raise GraphcError(f"limit= is a number of paths, not {type(limit).__name__}")
    if count > limit:
        raise GraphcError(
            f"{count} paths from {names[source]!r} to {names[target]!r} exceed limit={limit}; "
            f"use reverse(), or pass limit={count}"
        )
    request = Request(graph, at, form, upstream(graph, [target]))
    terms, total = [], None
    for path, product in path_products(request, source, target):
        total = product if total is None else request.evaluation.add(total, product)
        nodes = tuple(names[node] for node, _ in path)
        finished = request.finish(product, lambda: "the product along a path")
        terms.append(Term((nodes, with_target_axes(request, target, source, finished))))
    title = f"d {names[target]} / d {names[source]}"
    value = request.zero(graph.shape(source)) if total is None else total
    request.tell_kinks()
    slope = with_target_axes(request, target, source, request.finish(value, lambda: title))
    return PathSum(slope, terms, title)


def path_products(
    request: Request, source: GraphRow, target: GraphRow
) -> Iterator[tuple[Path, Any]]:
    """Each path, and the product of the local derivatives along it."""
    graph, evaluation = request.graph, request.evaluation
    one = request.seed(1, f"the seed of {graph.names[target]!r}", graph.shape(target))
    hops = out_of(graph, path_between(graph, source, target))
    for path in enumerate_paths(hops, source, target):
        product = one
        for _, edge in path[:0:-1]:
            product = evaluation.pull(edge, product) if product is not None else None
        yield path, request.zero(graph.shape(source)) if product is None else product


def largest_paths(
    graph: Structure, of: Any, wrt: Any, at: Mapping[str, Any] | None, k: int = 10
) -> PathSum:
    """The k terms of the path sum that are largest in absolute value."""
    if at is None:
        raise GraphcError("top_paths compares numbers: give at={...}")
    if graph.has_tensors:
        raise GraphcError("top_paths compares numbers along paths; it needs a graph of scalars")
    if not isinstance(k, int) or k < 1:
        raise GraphcError(f"k={k!r}: ask for at least one path")
    target, source = the_output(graph, of), graph.row(wrt)
    request = Request(graph, at, needed=upstream(graph, [target]))
    if request.shape:
        raise GraphcError("top_paths needs one point: give numbers in at, not arrays")
    evaluation = request.evaluation
    between = path_between(graph, source, target)
    zero = evaluation.algebra.constant(0)

    def weight(edge: Edge) -> Any:
        z = evaluation.local(edge[0])[edge[1]]
        return zero if z is None else z

    def multiply(z: Any, product: Any) -> Any:
        found = evaluation.times(z, product)
        return zero if found is None else found

    found = top_paths(
        sorted(between),
        out_of(graph, between),
        source,
        target,
        weight,
        multiply,
        lambda v: abs(float(as_float(v))),
        evaluation.algebra.constant(1),
        k,
    )
    names = graph.names
    title = f"d {names[target]} / d {names[source]}"
    terms = [
        Term((tuple(names[n] for n in path), request.finish(product, lambda: title)))
        for path, product in found
    ]
    request.tell_kinks()
    total = sum((term.product for term in terms), Fraction(0))
    return PathSum(total, terms, f"largest terms of {title}")
