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
from .request import Derivatives, Request

RESULTS = ("dict", "dense", "sparse")


def all_pairs(
    graph: Structure, at: Mapping[str, Any] | None = None, result: str = "dict", out: Any = None
) -> Any:
    """The derivative of every node by every other that it depends on."""
    one_of(result, RESULTS, "result")
    request = Request(graph, at)
    evaluation = request.evaluation
    order = graph.nodes()
    if graph.has_tensors:
        return _tensor_pairs(request, result)
    if result != "dict" and (request.symbolic or request.shape):
        raise GraphcError(
            f"result={result!r} needs one point of numbers: give at={{...}} without arrays"
        )
    if result == "dense":
        return _dense_pairs(request, order, out)

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
    try:
        from scipy import sparse
    except ImportError:
        raise GraphcError("result='sparse' needs scipy; install it, or use result='dict'") from None
    place = {names[row]: i for i, row in enumerate(order)}
    ij = np.array([(place[i], place[j]) for i, j in pairs]).T
    data = np.array([float(v) for v in pairs.values()])
    return sparse.csr_array((data, (ij[0], ij[1])), shape=(len(order), len(order)))


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


def opened(graph: Structure, out: Any) -> Any:
    """The array that results go to, made if it is a file's path; None if there is none."""
    if out is None:
        return None
    shape = (len(graph.names), len(graph.names))
    if isinstance(out, (str, bytes)) or hasattr(out, "__fspath__"):
        return np.lib.format.open_memmap(out, mode="w+", dtype=np.float64, shape=shape)
    if out.shape != shape:
        raise GraphcError(f"out has shape {out.shape}, but the graph needs {shape}")
    return out


def _dense_pairs(request: Request, order: list[GraphRow], out: Any) -> Any:
    """S[i, j] = d j / d i: row j of the transpose is a combination of earlier rows."""
    graph, evaluation = request.graph, request.evaluation
    size = len(order)
    place = {row: i for i, row in enumerate(order)}
    edges = {
        node: [
            (place[source], z)
            for edge, source in graph.edges_of(node)
            if (z := evaluation.local(node)[edge]) is not None
        ]
        for node in order
    }
    exact = (
        out is None
        and all(not isinstance(z, (float, np.ndarray)) for zs in edges.values() for _, z in zs)
        and not any(isinstance(v, float) for v in evaluation.values.values())
    )
    out = opened(graph, out)
    dense = np.zeros((size, size), dtype=object if exact else np.float64).T if out is None else out
    transposed = dense.T
    transposed[...] = 0
    finite = all(
        type(z) is not Masked and np.isfinite(as_float(z)) for zs in edges.values() for _, z in zs
    )
    if exact or not finite:  # 0 times infinity: only the sweep knows where no path leads
        for node, row in pair_rows(request, order).items():
            for source, value in row.items():
                entry = value if exact else as_float(value)
                transposed[place[node], place[source]] = entry
    else:
        for node in order:
            here = transposed[place[node]]
            for before, z in edges[node]:
                here[: place[node]] += float(as_float(z)) * transposed[before, : place[node]]
            here[place[node]] = 1
    if exact:
        for index, value in np.ndenumerate(dense):
            dense[index] = request.finish(value, lambda: "an entry of all_pairs")
    elif not np.isfinite(dense).all():
        warnings.warn(
            f"all_pairs is not finite: {request._culprit()}", NotFiniteWarning, stacklevel=4
        )
    request.tell_kinks()
    return dense
