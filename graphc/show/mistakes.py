"""The mistakes that people make, as the numbers that come of them, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import Any

import numpy as np

from ..algebra.exact import Masked, as_float
from ..derive.evaluation import Edge, Evaluation
from ..derive.hops import out_of
from ..errors import GraphcError
from ..structure.paths import enumerate_paths, sweep
from ..structure.reach import path_between
from ..structure.rows import GraphRow
from ..structure.structure import Structure

KINDS = {
    "sign": "a minus sign too many or too few, of the whole or of one part",
    "missing path": "the part along one or several paths is missing from the sum",
    "forgotten chain factor": "one factor of the chain rule is missing from a product",
    "transposed": "a matrix was used, or given, with rows and columns exchanged",
    "missing term": "a value lacks one of the names that its formula adds",
    "forgotten factor": "a value lacks one of the names that its formula multiplies by",
    "no path": "a derivative that is not 0 where no path leads",
    "wrong shape": "rows and columns do not fit",
    "arithmetic slip": "none of these: the numbers slipped, or another rule was used",
}
MOST_TERMS = 8  # of a sum whose every part is tried
MOST_PATHS = 64
Candidate = tuple[str, str, Any]  # kind, in words, the number that comes of it
# (node that uses it, edge), its adjoint, what came back
Term = tuple[tuple[GraphRow, Edge], Any, Any]


def of_value(evaluation: Evaluation, node: GraphRow, truth: Any) -> Iterator[Candidate]:
    """What a wrong value may have come from."""
    graph = evaluation.graph
    sources = list(dict.fromkeys(graph.formula(node).sources))
    yield "sign", "the sign is wrong", -truth
    if np.ndim(truth) == 2:
        yield "transposed", "rows and columns are exchanged", np.transpose(truth)
    changes: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
        ("sign", "the sign of {} is wrong", lambda v: -v),
        ("transposed", "{} was used transposed", lambda v: v.T if _square(v) else None),
        ("missing term", "{} is missing", lambda v: v * 0),
        ("forgotten factor", "the factor {} is missing", lambda v: v * 0 + 1),
    )
    for kind, words, change in changes:
        for source in sources:
            changed = change(_float(evaluation.value(source)))
            if changed is not None:
                value = _again(evaluation, {source: changed}, lambda again: again.value(node), node)
                yield kind, words.format(graph.names[source]), value


def of_derivative(
    evaluation: Evaluation, node: GraphRow, target: GraphRow, terms: Sequence[Term], truth: Any
) -> Iterator[Candidate]:
    """What a wrong derivative may have come from."""
    names = evaluation.graph.names
    arrived = [(hop, adjoint, _float(back)) for hop, adjoint, back in terms if back is not None]
    parts = [back for _, _, back in arrived]
    through = [names[hop[0]] for hop, _, _ in arrived]
    yield "sign", "the sign is wrong", -truth
    yield from _signs(parts, through)
    if np.ndim(truth) == 2:
        yield "transposed", "rows and columns are exchanged", np.transpose(truth)
    yield from _transposed(evaluation, node, arrived)
    yield from _missing(parts, through)
    paths = list(_paths(evaluation, node, target)) if node != target else []
    yield from _missing_paths(evaluation, paths, truth)
    yield "missing path", "a path does lead there", truth * 0
    yield from _forgotten(evaluation, node, arrived, truth)
    yield from _forgotten_on_paths(evaluation, paths, truth)


def _signs(parts: Sequence[Any], through: Sequence[str]) -> Iterator[Candidate]:
    for flipped in _subsets(len(parts)):
        words = f"the sign of the part through {_names(through, flipped)} is wrong"
        yield "sign", words, sum(-p if i in flipped else p for i, p in enumerate(parts))


def _missing(parts: Sequence[Any], through: Sequence[str]) -> Iterator[Candidate]:
    for gone in _subsets(len(parts)):
        words = f"the part through {_names(through, gone)} is missing"
        yield "missing path", words, sum(p for i, p in enumerate(parts) if i not in gone)


def _subsets(count: int) -> Iterator[tuple[int, ...]]:
    """The proper subsets of so many parts, small ones first; of many parts only the smallest."""
    sizes: Iterable[int] = range(1, count) if count <= MOST_TERMS else (1,)
    for size in sizes:
        yield from combinations(range(count), size)


def _names(through: Sequence[str], places: tuple[int, ...]) -> str:
    return " and ".join(dict.fromkeys(through[place] for place in places))


# Paths.


def _paths(
    evaluation: Evaluation, node: GraphRow, target: GraphRow
) -> Iterator[tuple[list[Edge], list[Any]]]:
    """The edges and local derivatives of each path, if they are few and numbers."""
    graph = evaluation.graph
    if graph.has_tensors:
        return
    between = path_between(graph, node, target)
    hops = out_of(graph, between)
    found = list(islice(enumerate_paths(hops, node, target), MOST_PATHS + 1))
    for path in found if len(found) <= MOST_PATHS else []:
        edges = [edge for _, edge in path[1:]]
        factors = [evaluation.local(edge[0])[edge[1]] for edge in edges]
        if None not in factors:
            yield edges, [_float(factor) for factor in factors]


def _missing_paths(
    evaluation: Evaluation, paths: list[tuple[list[Edge], list[Any]]], truth: Any
) -> Iterator[Candidate]:
    if len(paths) < 2:
        return
    names, formula = evaluation.graph.names, evaluation.graph.formula
    products = []
    for edges, factors in paths:
        first, number = edges[0]
        nodes = [formula(first).sources[number], *(node for node, _ in edges)]
        products.append((" -> ".join(names[node] for node in nodes), np.prod(factors)))
    for path, product in products:
        yield "missing path", f"the path {path} is missing", truth - product
    for path, product in products:
        yield "missing path", f"every path but {path} is missing", product


def _forgotten_on_paths(
    evaluation: Evaluation, paths: list[tuple[list[Edge], list[Any]]], truth: Any
) -> Iterator[Candidate]:
    names, formula = evaluation.graph.names, evaluation.graph.formula
    for edges, factors in paths:
        product = np.prod(factors)
        for place, (node, number) in enumerate(edges):
            without = np.prod([*factors[:place], *factors[place + 1 :]])
            source = names[formula(node).sources[number]]
            words = f"the factor z({source}, {names[node]}) is missing along a path"
            yield "forgotten chain factor", words, truth - product + without


# Factors.


def _forgotten(
    evaluation: Evaluation, node: GraphRow, arrived: Sequence[Any], truth: Any
) -> Iterator[Candidate]:
    """A part without its local derivative, without what came before, or without an inner factor."""
    names = evaluation.graph.names
    total = sum(back for _, _, back in arrived) if arrived else truth
    everything, shapes = [], {np.shape(truth)}
    for (other, edge), adjoint, back in arrived:
        adjoint = _float(adjoint)
        rest = total - back
        if np.shape(adjoint) in shapes:
            words = f"the factor z({names[node]}, {names[other]}) is missing"
            yield "forgotten chain factor", words, rest + adjoint
            everything.append(adjoint)
        if not evaluation.is_tensor(other):
            local = evaluation.local(other)[edge[1]]
            words = f"the derivative by {names[other]}, the rest of the chain, is missing"
            yield "forgotten chain factor", words, rest + _float(local)
        for inner, share in _without_inner(evaluation, edge, adjoint):
            words = f"the derivative of {inner} inside {names[other]} is missing"
            yield "forgotten chain factor", words, rest + share
    if len(everything) == len(arrived) > 1:
        words = "the local derivatives are missing"
        yield "forgotten chain factor", words, sum(everything)


def _without_inner(evaluation: Evaluation, edge: Edge, adjoint: Any) -> Iterator[tuple[str, Any]]:
    """(operation, share) of one edge with the derivative of one inner operation left out."""
    graph = evaluation.graph
    node, number = edge
    formula = graph.formula(node)
    if edge in graph.partials or node in graph.split or len(formula.rows) < 2:
        return
    source, inside = formula.sources[number], set(formula.rows)
    for skipped in formula.rows:

        def hops(row: GraphRow) -> list[tuple[GraphRow, Edge]]:
            operands = graph.operands[row] if row in inside else ()
            return [(operand, (row, slot)) for slot, operand in enumerate(operands)]

        def carry(place: Edge, carried: Any) -> Any:
            if place[0] == skipped:  # noqa: B023
                return carried
            return evaluation.pull_row(place, carried, node)

        try:
            shares = sweep(reversed(formula.rows), hops, {node: adjoint}, carry, evaluation.add)
        except (ValueError, TypeError, IndexError):
            continue  # the shapes do not fit: nobody could have done that
        if shares.get(source) is not None:
            yield graph.ops[skipped], _float(shares[source])


# Matrices.


def _transposed(
    evaluation: Evaluation, node: GraphRow, arrived: Sequence[Any]
) -> Iterator[Candidate]:
    """The derivative with a square matrix of a formula used the wrong way round."""
    graph = evaluation.graph
    total = sum(back for _, _, back in arrived) if arrived else None
    for (other, edge), adjoint, back in arrived:
        for source in dict.fromkeys(graph.formula(other).sources):
            value = evaluation.values.get(source)
            if source == node or not _square(value):
                continue
            share = _again(
                evaluation,
                {source: _float(value).T},
                lambda again: again.pull(edge, adjoint),  # noqa: B023
                None,
            )
            if share is not None:
                words = f"{graph.names[source]} was used where its transpose belongs"
                yield "transposed", words, total - back + share


def _again(
    evaluation: Evaluation, changed: dict[GraphRow, Any], ask: Any, without: GraphRow | None
) -> Any:
    """What the evaluation says with some values changed; None where it can say nothing."""
    graph: Structure = evaluation.graph
    known = {row: value for row, value in evaluation.values.items() if row in graph.names}
    known.update(changed)
    if without is not None:
        known.pop(without, None)
    again = Evaluation(graph, evaluation.algebra, known, evaluation.symbols)
    try:
        found = ask(again)
    except (GraphcError, ValueError):
        return None
    return None if found is None else _float(found)


def _square(value: Any) -> bool:
    shape = np.shape(value)
    return len(shape) == 2 and shape[0] == shape[1]


def _float(value: Any) -> Any:
    return as_float(value.values if type(value) is Masked else value)
