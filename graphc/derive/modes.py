"""The user's verbs: values, local derivatives, reverse, forward, all pairs, paths, Jacobians.

Every verb is the one sweep of paths.py over an Evaluation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ..algebra.exact import Masked, as_float
from ..errors import GraphcError, NotFiniteWarning, listing, one_of
from ..shapes import LETTERS, Shape
from ..structure.paths import (
    count_paths,
    enumerate_paths,
    longest_path,
    reached,
    sweep,
    top_paths,
)
from ..structure.reach import origins, path_between, upstream
from ..structure.structure import Structure
from .evaluation import Edge
from .request import FORMS, Derivatives, Request

MODES = ("auto", "reverse", "forward", "paths")
Hop = tuple[int, Edge]  # (next node, the edge that leads there)
Carry = Callable[[Edge, Any], Any]
Path = tuple[tuple[int, Edge], ...]  # (node, edge that led there); the first edge is None


# Nodes and hops.


def the_output(graph: Structure, of: Any) -> int:
    """The row of `of`, or of the only output."""
    if of is not None:
        return graph.row(of)
    outputs = graph.outputs()
    if not outputs:
        raise GraphcError("the graph computes nothing; declare a node, such as y = x**2")
    if len(outputs) != 1:
        names = listing(graph.names[row] for row in outputs)
        raise GraphcError(f"the graph has {len(outputs)} outputs ({names}); say which with of=")
    return outputs[0]


def default_wrt(graph: Structure) -> list[str]:
    """The params, or the inputs if there are none."""
    for kind in ("param", "input"):
        found = [graph.names[row] for row in graph.leaves() if graph.ops[row] == kind]
        if found:
            return found
    raise GraphcError("the graph has neither params nor inputs; say what to derive by with wrt=")


def into(graph: Structure, node: int) -> list[Hop]:
    """Hops against the arrows: from a node to its sources."""
    return [(source, (node, edge)) for edge, source in graph.edges_of(node)]


def out_of(graph: Structure, nodes: Iterable[int]) -> dict[int, list[Hop]]:
    """Hops along the arrows, from each node to its targets, in order of declaration."""
    hops: dict[int, list[Hop]] = {}
    for node in sorted(nodes):
        for edge, source in graph.edges_of(node):
            hops.setdefault(source, []).append((node, (node, edge)))
    return hops


def _seeds(graph: Structure, ends: Any, default: int | None) -> dict[int, Any]:
    """{row: seed} from a name, a dict of seeds, or nothing."""
    if isinstance(ends, Mapping):
        if not ends:
            raise GraphcError("the dict of seeds is empty; give {node: seed}")
        return {graph.row(name): seed for name, seed in ends.items()}
    return {graph.row(ends) if default is None else default: 1}


# The verbs.


def values(graph: Structure, at: Mapping[str, Any] | None) -> dict[str, Any]:
    """The value of every node."""
    request = Request(graph, at, "inputs")
    result = Derivatives()
    for row in graph.nodes():
        value = request.evaluation.value(row)
        result[graph.names[row]] = request.finish(value, lambda: f"the value of {graph.label(row)}")  # noqa: B023
    return result


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


def _local_map(request: Request, source: int, target: int) -> Any:
    """The local derivative of a tensor node: a Linear, or a number where both ends are scalars."""
    graph = request.graph
    edges = [(target, edge) for edge, row in graph.edges_of(target) if row == source]
    linear = Linear(request, source, target, edges)
    if not graph.shape(source) and not graph.shape(target):
        return linear.dense()
    return linear


class Linear:
    """A local derivative as a linear map: push a tangent, pull an adjoint, or write it out."""

    def __init__(self, request: Request, source: int, target: int, edges: list[Edge]) -> None:
        self._request = request
        self._ends = source, target
        self._edges = edges

    def push(self, tangent: Any) -> Any:
        """What a tangent of the source does to the target."""
        return self._carried(tangent, self._request.evaluation.push, *self._ends)

    def pull(self, adjoint: Any) -> Any:
        """What an adjoint of the target brings to the source."""
        return self._carried(adjoint, self._request.evaluation.pull, *self._ends[::-1])

    def _carried(self, value: Any, carry: Carry, start: int, end: int) -> Any:
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
        seed = (
            request.identity(graph.shape(target))
            if graph.shape(target)
            else (request.evaluation.algebra.constant(1))
        )
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


class Trace:
    """What a sweep did: its request, what came over each edge, each node's sum, in order.

    In symbols everything is a row of the request's graph: formulas, cheap and as they were made.
    """

    def __init__(self) -> None:
        self.request: Request
        self.carried: dict[Edge, Any] = {}
        self.sums: dict[int, Any] = {}

    def watched(self, carry: Carry) -> Carry:
        """The same carry, remembered."""

        def remembered(edge: Edge, value: Any) -> Any:
            self.carried[edge] = carry(edge, value)
            return self.carried[edge]

        return remembered

    def visit(self, node: int, value: Any) -> Any:
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


def seeds_of(graph: Structure, of: Any) -> dict[int, Any]:
    """{row: seed} of what is derived: a name, a dict of seeds, or the only output."""
    default = None if isinstance(of, Mapping) or of is not None else the_output(graph, None)
    return _seeds(graph, of, default)


def adjoints(request: Request, ends: dict[int, Any], trace: Trace | None = None) -> dict[int, Any]:
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
    within: Iterable[int] | None = None,
) -> Derivatives:
    """The derivative of every node (or of those `within`) that a path reaches from `wrt`."""
    starts = _seeds(graph, wrt, None)
    order = graph.nodes() if within is None else sorted(within)
    hops = out_of(graph, order)
    touched = reached(starts, lambda node: [target for target, _ in hops.get(node, ())])
    request = Request(graph, at, form, upstream(graph, touched), rows=trace is not None)
    label = "wrt" if len(starts) > 1 else graph.names[next(iter(starts))]
    tangents = _swept(request, starts, order, lambda node: hops.get(node, ()), "dot", trace)
    return _finished(request, tangents, "dot", lambda name: f"d {name} / d {label}", trace is None)


def _swept(
    request: Request,
    seeds: dict[int, Any],
    order: Sequence[int],
    hops: Callable[[int], Iterable[Hop]],
    suffix: str,
    trace: Trace | None = None,
) -> dict[int, Any]:
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
    arrived: dict[int, Any],
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


def total(request: Request, target: int, source: int, mode: str = "reverse") -> Any:
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


def all_pairs(
    graph: Structure, at: Mapping[str, Any] | None = None, result: str = "dict", out: Any = None
) -> Any:
    """The derivative of every node by every other that it depends on."""
    one_of(result, ("dict", "dense", "sparse"), "result")
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


def pair_rows(request: Request, order: Sequence[int]) -> dict[int, dict[int, Any]]:
    """{target: {source: derivative}} among these nodes: one sweep that carries whole rows."""
    evaluation = request.evaluation
    hops = out_of(request.graph, order)

    def carry(edge: Edge, row: dict[int, Any]) -> dict[int, Any]:
        pushed = {source: evaluation.push(edge, value) for source, value in row.items()}
        return {source: value for source, value in pushed.items() if value is not None}

    def add(old: dict[int, Any], new: dict[int, Any]) -> dict[int, Any]:
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


def jacobian_entry(request: Request, target: int, source: int, mode: str = "reverse") -> Any:
    """The Jacobian between two nodes: of.shape + wrt.shape."""
    return _with_target_axes(request, target, source, total(request, target, source, mode))


def _with_target_axes(request: Request, target: int, source: int, slope: Any) -> Any:
    """A finished derivative with the axes of its target, which one element needs in no sweep."""
    shape = request.graph.shape(target)
    if not shape or not _is_single(shape):
        return slope
    return request.reshaped(slope, (*shape, *request.graph.shape(source)))


def _dense_pairs(request: Request, order: list[int], out: Any) -> Any:
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
    if isinstance(out, (str, bytes)) or hasattr(out, "__fspath__"):
        out = np.lib.format.open_memmap(out, mode="w+", dtype=np.float64, shape=(size, size))
    dense = np.zeros((size, size), dtype=object if exact else np.float64).T if out is None else out
    if dense.shape != (size, size):
        raise GraphcError(f"out has shape {dense.shape}, but the graph needs {(size, size)}")
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
            for source, z in edges[node]:
                here[: place[node]] += float(as_float(z)) * transposed[source, : place[node]]
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


# Paths.


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
        terms.append(Term((nodes, _with_target_axes(request, target, source, finished))))
    title = f"d {names[target]} / d {names[source]}"
    value = request.zero(graph.shape(source)) if total is None else total
    request.tell_kinks()
    slope = _with_target_axes(request, target, source, request.finish(value, lambda: title))
    return PathSum(slope, terms, title)


def path_products(request: Request, source: int, target: int) -> Iterator[tuple[Path, Any]]:
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

    def weight(edge: tuple[int, int]) -> Any:
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
