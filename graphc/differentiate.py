"""The derivative of a graph as a graph, and the matrices of first and second derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .derive import (
    default_wrt,
    into,
    jacobian_entry,
    origins,
    out_of,
    path_between,
    the_output,
    upstream,
)
from .errors import GraphcError, listing
from .evaluation import Evaluation
from .expressions import expression
from .paths import sweep
from .request import Request, array
from .rules import Rows
from .shapes import LETTERS, Shape, shape_text
from .structure import Structure
from .value import Value

S = TypeVar("S", bound=Structure)


def as_names(graph: Structure, names: Any) -> list[str]:
    """One name or several, as a list of the nodes' own spelling."""
    if isinstance(names, (str, Value)) or hasattr(names, "name"):
        names = [names]
    return [graph.names[graph.row(name)] for name in names]


def differentiate(graph: S, of: Any = None, wrt: Any = None, mode: str = "reverse") -> S:
    """The graph plus adjoints x_bar (or tangents x_dot); its outputs are the derivatives."""
    if mode not in ("reverse", "forward"):
        raise GraphcError(f"mode={mode!r} is not known here; use 'reverse' or 'forward'")
    wanted = as_names(graph, default_wrt(graph) if wrt is None else wrt)
    other = graph.duplicate()
    seeds = of if isinstance(of, Mapping) else {graph.names[the_output(graph, of)]: 1}
    if mode == "reverse":
        outputs = _adjoints(other, seeds, wanted)
    else:
        outputs = [_tangent(other, seeds, name) for name in wanted]
    other.declared_outputs = outputs
    return other


class _Naming:
    """Gives the rows of a derivative graph their names, h_bar or h_dot."""

    def __init__(self, graph: Structure, suffix: str) -> None:
        self.graph = graph
        self.suffix = suffix
        self.declared = len(graph.ops)  # rows before this one belong to the user's formulas

    def visit(self, node: int, row: int) -> int:
        """The row with the name of the node's adjoint; a copy where it belongs to another node."""
        if row in self.graph.names or row < self.declared:
            row = self.graph.operation("identity", (row,), {})
        name = self.graph.unused_name(f"{self.graph.names[node]}_{self.suffix}")
        self.graph.derivative_of[row] = node
        return self.graph.bind(name, row)


def _rows_evaluation(graph: Structure) -> Evaluation:
    """The algebra of program values: carrying appends rows, and a row's value is the row."""
    return Evaluation(graph, Rows(graph), {row: row for row in range(len(graph.ops))}, {})


def _adjoints(graph: Structure, seeds: Mapping[str, Any], wanted: list[str]) -> list[int]:
    ends = {graph.row(name): seed for name, seed in seeds.items()}
    sources = [graph.row(name) for name in wanted]
    useful = {n for end in ends for source in sources for n in path_between(graph, source, end)}
    evaluation = _rows_evaluation(graph)
    naming = _Naming(graph, "bar")
    start = {row: _seed_row(graph, row, seed) for row, seed in ends.items()}
    arrived = sweep(
        sorted(useful | set(ends), reverse=True),
        lambda node: [hop for hop in into(graph, node) if hop[0] in useful],
        start,
        evaluation.pull,
        evaluation.add,
        naming.visit,
    )
    for source in sources:
        if source not in arrived:
            arrived[source] = naming.visit(source, _zero(graph, graph.shape(source)))
    return [arrived[source] for source in sources]


def _tangent(graph: Structure, ends: Mapping[str, Any], wrt: str) -> int:
    if len(ends) != 1:
        raise GraphcError("forward mode differentiates one node; give of= as one name")
    (end, seed), source = next(iter(ends.items())), graph.row(wrt)
    target = graph.row(end)
    if graph.shape(source):
        raise GraphcError(
            f"{wrt!r} has shape {shape_text(graph.shape(source))}, and forward mode needs one "
            "tangent per element; use mode='reverse'"
        )
    if seed != 1:
        raise GraphcError("a seed belongs to the reverse mode; forward mode takes of= as a name")
    useful = path_between(graph, source, target)
    evaluation = _rows_evaluation(graph)
    naming = _Naming(graph, "dot")
    hops = out_of(graph, sorted(useful))
    arrived = sweep(
        sorted(useful),
        lambda node: [hop for hop in hops.get(node, ()) if hop[0] in useful],
        {source: graph.constant(1)},
        evaluation.push,
        evaluation.add,
        naming.visit,
    )
    if target not in arrived:
        return naming.visit(target, _zero(graph, graph.shape(target)))
    return arrived[target]


def _zero(graph: Structure, shape: Shape) -> int:
    """A row of zeros, for where no path leads."""
    rows = Rows(graph)
    return rows.repeated(rows.constant(0), shape) if shape else rows.constant(0)


def _seed_row(graph: Structure, node: int, seed: Any) -> int:
    """The row of a seed: a number, or a formula whose unknown name becomes an input."""
    shape = graph.shape(node)
    if isinstance(seed, str) and seed.isidentifier() and seed not in graph.rows and seed != "pi":
        row = graph.append("input")
        if shape:
            graph.shapes[row] = shape
        return graph.bind(seed, row)
    if isinstance(seed, str):
        row = expression(graph, seed, f"the seed {seed!r}")
    elif isinstance(seed, (list, tuple)):
        row = graph.constant(array(seed, f"the seed of {graph.names[node]!r}"))
    else:
        row = graph.lift(seed)
    if shape and all(size == 1 for size in shape) and not graph.shape(row):
        settings = {"shape": shape}
        return graph.operation("reshape", (row,), settings)
    if graph.shape(row) != shape:
        raise GraphcError(
            f"{graph.names[node]!r} has shape {shape_text(shape)} and its seed has shape "
            f"{shape_text(graph.shape(row))}; give of={{name: array}} with a seed of its shape"
        )
    return row


# Matrices.


def jacobian(
    graph: Structure,
    of: Any,
    wrt: Any,
    at: Mapping[str, Any] | None = None,
    layout: str = "numerator",
    pinned: Sequence[int] | None = None,
) -> Any:
    """The derivatives of `of` (rows) by `wrt` (columns)."""
    if layout not in ("numerator", "denominator"):
        raise GraphcError(f"layout={layout!r} is not known; use 'numerator' or 'denominator'")
    of = graph.names[the_output(graph, None)] if of is None else of
    targets, sources = (
        as_names(graph, of),
        as_names(graph, default_wrt(graph) if wrt is None else wrt),
    )
    rows = [graph.row(name) for name in targets]
    request = Request(graph, at, needed=upstream(graph, rows), pinned=pinned)
    entries = [[jacobian_entry(request, row, graph.row(name)) for name in sources] for row in rows]
    request.tell_kinks()
    if isinstance(of, str) and isinstance(wrt, str):
        entry = entries[0][0]
        return entry if layout == "numerator" else _flipped(request, rows[0], sources[0], entry)
    if graph.has_tensors:
        matrix = _blocks(request, rows, entries)
        return matrix if layout == "numerator" else matrix.T
    matrix = _matrix(entries, request)
    if layout == "numerator":
        return matrix
    return np.swapaxes(matrix, -1, -2) if isinstance(matrix, np.ndarray) else matrix.T


def _flipped(request: Request, target: int, source: str, entry: Any) -> Any:
    """One Jacobian in denominator layout: the axes of wrt before those of of."""
    graph = request.graph
    first, last = len(graph.shape(target)), len(graph.shape(graph.row(source)))
    if not first or not last:
        return entry
    if isinstance(entry, np.ndarray):
        return np.moveaxis(entry, range(first), range(last, last + first))
    letters = LETTERS[: first + last]
    spec = {"spec": f"{letters}->{letters[first:]}{letters[:first]}", "sizes": ()}
    row = request.evaluation.algebra.apply("contract", (entry.row,), spec)
    return request.finish(row, lambda: "the Jacobian")


def _blocks(request: Request, rows: list[int], entries: list[list[Any]]) -> Any:
    """Jacobians of several tensors as one matrix, each flattened in row-major order."""
    if request.symbolic:
        raise GraphcError(
            "a symbolic Jacobian of several tensors has no matrix form; ask for one pair of names "
            "at a time, or give numbers with at={...}"
        )
    sizes = [int(np.size(request.evaluation.value(row))) for row in rows]
    return np.block(
        [
            [np.reshape(np.asarray(entry), (size, -1)) for entry in line]
            for size, line in zip(sizes, entries, strict=True)
        ]
    )


def _matrix(entries: list[list[Any]], request: Request) -> Any:
    """Floats as an array (points first), exact numbers and symbols as a SymPy Matrix."""
    flat = [entry for row in entries for entry in row]
    if request.shape:
        return np.moveaxis(np.array(entries), (0, 1), (-2, -1))
    if any(isinstance(entry, float) for entry in flat):
        return np.array([[float(entry) for entry in row] for row in entries])
    import sympy

    return sympy.Matrix(entries)


def hessian(
    graph: Structure, of: Any = None, wrt: Any = None, at: Mapping[str, Any] | None = None
) -> Any:
    """The second derivatives of one node; the nodes in `wrt` are treated as inputs."""
    names = as_names(graph, default_wrt(graph) if wrt is None else wrt)
    target = graph.names[the_output(graph, of)]
    if len(set(names)) != len(names):
        raise GraphcError(f"wrt names a node twice ({listing(names)}); name each once")
    for source in names:
        for other in names:
            if source != other and graph.row(source) in origins(graph, graph.row(other)):
                raise GraphcError(
                    f"{other!r} depends on {source!r}, so they cannot both be held as inputs; "
                    "leave one of them out of wrt="
                )
    slopes = differentiate(graph, target, names)
    outputs = [slopes.names[row] for row in slopes.declared_outputs]
    single = isinstance(wrt, str)
    return jacobian(
        slopes,
        outputs[0] if single else outputs,
        names[0] if single else names,
        at,
        pinned=graph.nodes(),
    )
