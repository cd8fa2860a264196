"""The derivative of every node by every other: one sweep that carries whole rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..algebra.exact import Masked, as_float
from ..errors import GraphcError, NotFiniteWarning, one_of
from ..structure.paths import sweep
from ..structure.reach import origins
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from .evaluation import Edge
from .hops import out_of
from .matrices import jacobian_entry
from .pair_arrays import Edges, Sweep, check_place, gathered, scipy_sparse
from .request import Derivatives, Request

RESULTS = ("dict", "dense", "sparse")


def all_pairs(
    graph: Structure,
    at: Mapping[str, Any] | None = None,
    result: str = "dict",
    out: Any = None,
    sweep: type[Sweep] = Sweep,
) -> Any:
    """The derivative of every node by every other that it depends on."""
    one_of(result, RESULTS, "result")
    check_place(graph, result, out)
    request = Request(graph, at)
    evaluation = request.evaluation
    order = graph.nodes()
    if graph.has_tensors:
        return _tensor_pairs(request, result)
    if result != "dict" and (request.symbolic or request.shape):
        raise GraphcError(
            f"result={result!r} needs one point of numbers: give at={{...}} without arrays"
        )
    if result != "dict" and (out is not None or not _is_exact(request, order)):
        return _arrays(request, order, result, out, sweep)
    if result == "dense":
        return _exact_dense(request, order)

    rows = pair_rows(request, order)
    if evaluation.gated:  # a branch not taken: there is a path, but nothing came along it
        for target in order:
            for source in origins(graph, target):
                rows[target].setdefault(source, request.nothing(source))
    names = graph.names
    pairs = Derivatives()
    for target in order:
        for source in sorted(rows[target]):
            pairs[names[source], names[target]] = request.finish(
                rows[target][source],
                lambda: f"d {names[target]} / d {names[source]}",  # noqa: B023
            )
    request.tell_kinks(pairs)
    if result == "dict":
        return pairs
    place = {names[row]: i for i, row in enumerate(order)}
    ij = np.array([(place[i], place[j]) for i, j in pairs]).T
    data = np.array([float(v) for v in pairs.values()])
    return scipy_sparse().csr_array((data, (ij[0], ij[1])), shape=(len(order), len(order)))


def pair_rows(request: Request, order: Sequence[GraphRow]) -> dict[GraphRow, dict[GraphRow, Any]]:
    """{target: {source: derivative}} among these nodes: one sweep that carries whole rows."""
    evaluation = request.evaluation
    hops = out_of(request.graph, order)

    def carry(edge: Edge, row: dict[GraphRow, Any]) -> dict[GraphRow, Any]:
        pushed = {source: evaluation.push(edge, value) for source, value in row.items()}
        return {source: value for source, value in pushed.items() if value is not None}

    def add(old: dict[GraphRow, Any], new: dict[GraphRow, Any]) -> dict[GraphRow, Any]:
        for source, value in new.items():
            old[source] = evaluation.add(old[source], value) if source in old else value
        return old

    seeds = {node: {node: evaluation.algebra.constant(1)} for node in order}
    return sweep(order, lambda n: hops.get(n, ()), seeds, carry, add)


def _tensor_pairs(request: Request, result: str) -> Derivatives:
    """Every Jacobian between connected nodes, of shape target + source."""
    if result != "dict":
        raise GraphcError("all_pairs of a graph with tensors gives a dict of Jacobians")
    graph, pairs = request.graph, Derivatives()
    for target in graph.nodes():
        if target in request.declared:
            for source in sorted(origins(graph, target)):
                names = graph.names[source], graph.names[target]
                pairs[names] = jacobian_entry(request, target, source)
    request.tell_kinks(pairs)
    return pairs


def _arrays(
    request: Request, order: list[GraphRow], result: str, out: Any, sweep: type[Sweep]
) -> Any:
    """S[i, j] = d j / d i as floats, from the local derivatives at the point."""
    found, finite = gathered(request.graph, sweep(_edges(request, order)), result, out)
    if not finite:
        tell_not_finite(request._culprit())
    request.tell_kinks()
    return found


def _edges(request: Request, order: list[GraphRow]) -> Edges:
    """The edges over which something passes, by their targets."""
    place = {row: i for i, row in enumerate(order)}
    found = [
        (place[source], place[node], float(as_float(z)))
        for node in order
        for source, z in _locals(request, node)
        if type(z) is not Masked or z.mask is not False
    ]
    table = np.array(found, dtype=[("source", "i4"), ("target", "i4"), ("slope", "f8")])
    source, target, slope = (np.ascontiguousarray(table[name]) for name in table.dtype.fields or ())
    return Edges(source, target, slope, len(order), np.arange(len(order), dtype=np.int32))


def _locals(request: Request, node: GraphRow) -> list[tuple[GraphRow, Any]]:
    """(source, local derivative) of the edges into a node."""
    local = request.evaluation.local(node)
    edges = request.graph.edges_of(node)
    return [(source, local[edge]) for edge, source in edges if local[edge] is not None]


def _is_exact(request: Request, order: list[GraphRow]) -> bool:
    """Whether neither a value nor a local derivative is a float."""
    return not any(
        isinstance(z, (float, np.ndarray)) for node in order for _, z in _locals(request, node)
    ) and not any(isinstance(value, float) for value in request.evaluation.values.values())


def _exact_dense(request: Request, order: list[GraphRow]) -> Any:
    """S[i, j] = d j / d i in exact numbers."""
    place = {row: i for i, row in enumerate(order)}
    dense = np.zeros((len(order), len(order)), dtype=object)
    for node, row in pair_rows(request, order).items():
        for source, value in row.items():
            dense[place[source], place[node]] = value
    for index, value in np.ndenumerate(dense):
        dense[index] = request.finish(value, lambda: "an entry of all_pairs")
    request.tell_kinks()
    return dense


def tell_not_finite(why: str) -> None:
    """Says that an array has an infinity or NaN in it."""
    warnings.warn(f"all_pairs is not finite: {why}", NotFiniteWarning, stacklevel=5)
