"""Local derivatives: the partial of one node's formula, of a tensor node as a linear map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..shapes import Shape
from ..structure.reach import upstream
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from .evaluation import Edge
from .hops import Carry
from .request import Request


def local(graph: Structure, source: str, target: str, at: Mapping[str, Any] | None) -> Any:
    """The partial of one node's formula by one name it mentions; 0 if it mentions it not."""
    from_row, to_row = graph.row(source), graph.row(target)
    request = Request(graph, at, needed=upstream(graph, [to_row]))
    if graph.has_tensors:
        return _local_map(request, from_row, to_row)
    evaluation = request.evaluation
    if from_row == to_row:
        total = evaluation.algebra.constant(1)
    else:
        total = None
        for edge, row in graph.edges_of(to_row):
            z = evaluation.local(to_row)[edge] if row == from_row else None
            if z is not None:
                total = z if total is None else evaluation.add(total, z)
        total = evaluation.algebra.constant(0) if total is None else total
    request.tell_kinks()
    return request.finish(total, lambda: f"the local derivative d {target} / d {source}")


def _local_map(request: Request, source: GraphRow, target: GraphRow) -> Any:
    """The local derivative of a tensor node: a Linear, or a number where both ends are scalars."""
    graph = request.graph
    edges = [(target, edge) for edge, row in graph.edges_of(target) if row == source]
    linear = Linear(request, source, target, edges)
    if not graph.shape(source) and not graph.shape(target):
        return linear.dense()
    return linear


class Linear:
    """A local derivative as a linear map: push a tangent, pull an adjoint, or write it out."""

    def __init__(
        self, request: Request, source: GraphRow, target: GraphRow, edges: list[Edge]
    ) -> None:
        self._request = request
        self._ends = source, target
        self._edges = edges

    def push(self, tangent: Any) -> Any:
        """What a tangent of the source does to the target."""
        return self._carried(tangent, self._request.evaluation.push, *self._ends)

    def pull(self, adjoint: Any) -> Any:
        """What an adjoint of the target brings to the source."""
        return self._carried(adjoint, self._request.evaluation.pull, *self._ends[::-1])

    def _carried(self, value: Any, carry: Carry, start: GraphRow, end: GraphRow) -> Any:
        request = self._request
        graph = request.graph
        seed = request.seed(value, f"the value at {graph.names[start]!r}", graph.shape(start))
        return self._finish(self._over_edges(seed, carry), graph.shape(end))

    def _over_edges(self, seed: Any, carry: Carry) -> Any:
        carried = [carry(edge, seed) for edge in self._edges]
        return reduce_values(self._request, carried)

    def _finish(self, value: Any, shape: Shape) -> Any:
        value = self._request.zero(shape) if value is None else value
        names = self._request.graph.names
        return self._request.finish(
            value,
            lambda: f"the local derivative d {names[self._ends[1]]} / d {names[self._ends[0]]}",
        )

    def dense(self) -> Any:
        """The Jacobian, target.shape + source.shape."""
        request, (source, target) = self._request, self._ends
        graph = request.graph
        if source == target:
            return self._finish(request.identity(graph.shape(target)), ())
        request.evaluation.lead = graph.shape(target)
        seed = request.identity(graph.shape(target)) if graph.shape(target) else request.one()
        value = self._over_edges(seed, request.evaluation.pull)
        request.evaluation.lead = ()
        return self._finish(value, (*graph.shape(target), *graph.shape(source)))

    def __repr__(self) -> str:
        source, target = (self._request.graph.names[row] for row in self._ends)
        return f"d {target} / d {source}: {self.dense()}"


def reduce_values(request: Request, values: Iterable[Any]) -> Any:
    """The sum of what arrived, None if nothing did."""
    total = None
    for value in values:
        if value is not None:
            total = value if total is None else request.evaluation.add(total, value)
    return total
