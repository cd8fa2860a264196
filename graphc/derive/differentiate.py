"""The derivative of a graph as a graph, and the matrices of first and second derivatives."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ..algebra.formulas import Formulas
from ..algebra.terms import repeated
from ..errors import GraphcError, listing, one_of
from ..read.expressions import expression
from ..read.given import array
from ..shapes import LETTERS, Shape, shape_text
from ..structure.paths import sweep
from ..structure.reach import origins, upstream
from ..structure.rows import NO_SETTINGS, GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..table.value import Value
from .evaluation import Evaluation
from .hops import Hop, default_wrt, into, out_of, some_seeds, the_output
from .matrices import jacobian_entry
from .request import Request

S = TypeVar("S", bound=Structure)


def as_names(graph: Structure, names: Any) -> list[str]:
    """One name or several, as a list of the nodes' own spelling."""
    if isinstance(names, (str, Value)) or hasattr(names, "name"):
        names = [names]
    elif not isinstance(names, Collection) or getattr(names, "ndim", 1) == 0:
        raise GraphcError(
            f"nodes are asked for by a name or a list of names, not by {type(names).__name__}"
        )
    if len(names) == 0:
        raise GraphcError(
            f"an empty {type(names).__name__} asks for no node; give one name or several "
            f"(there are: {listing(graph.names.values())})"
        )
    return [graph.names[graph.row(name)] for name in names]


def differentiate(graph: S, of: Any = None, wrt: Any = None, mode: str = "reverse") -> S:
    """The graph plus adjoints x_bar (or tangents x_dot); its outputs are the derivatives."""
    one_of(mode, ("reverse", "forward"), "mode")
    wanted = as_names(graph, default_wrt(graph) if wrt is None else wrt)
    other = graph.duplicate()
    seeds = some_seeds(of) if isinstance(of, Mapping) else {graph.names[the_output(graph, of)]: 1}
    if mode == "reverse":
        ends = {other.row(name): seed_row(other, other.row(name), s) for name, s in seeds.items()}
        outputs = adjoints(other, ends, [other.row(name) for name in wanted])
    else:
        outputs = [_tangent(other, seeds, name) for name in wanted]
    other.declared_outputs = outputs
    return other


class Naming:
    """Gives the rows of a derivative graph their names, h_bar or h_dot."""

    def __init__(self, rows: Formulas, suffix: str, seeds: Mapping[GraphRow, GraphRow]) -> None:
        self.rows = rows
        self.graph = graph = rows.graph
        self.suffix = suffix
        self.seeds = seeds
        self.declared = len(graph.ops)  # rows before this one belong to the user's formulas

    def visit(self, node: GraphRow, row: GraphRow) -> GraphRow:
        """The row with the name of the node's adjoint; a copy where it belongs to another node."""
        wanted = f"{self.graph.names[node]}_{self.suffix}"
        if self.seeds.get(node) == row and self.graph.names.get(row, "").startswith(wanted):
            return row  # a seed that is an argument bears the name already
        own = self.seeds.get(node) == row or self.graph.ops[row] == "const"
        if own and row not in self.graph.names:
            row = self.graph.own_copy(row)  # its name falls inside no other formula
        elif row in self.graph.names or row < self.declared:
            row = self.rows.copied(row)
        if self.graph.shape(row):
            self.rows.note_diagonal(row)
        self.graph.derivative_of[row] = node
        return self.graph.bind(self.graph.unused_name(wanted), row)


def rows_evaluation(rows: Formulas) -> Evaluation:
    """The algebra of rows: carrying appends rows, and a row's value is the row."""
    return Evaluation(rows.graph, rows, Themselves(), {})


class Themselves(dict[GraphRow, GraphRow]):
    """Rows as values: the value of a row is the row."""

    def __missing__(self, row: GraphRow) -> GraphRow:
        return row

    def __contains__(self, row: object) -> bool:
        return True


def _between(
    graph: Structure, sources: Iterable[GraphRow], ends: Iterable[GraphRow]
) -> set[GraphRow]:
    """The nodes on a path from a source to an end, both included."""
    above = origins(graph, *ends)
    below = set(sources)
    for node in sorted(above):
        if any(origin in below for _, origin in graph.edges_of(node)):
            below.add(node)
            refuse_stops(graph, graph.formula(node).rows)
    return above & below


def refuse_stops(graph: Structure, rows: Iterable[GraphRow]) -> None:
    """Nothing, or an error: a formula of a slope is a number at a kink, and cannot stop there."""
    for row in rows:
        if graph.attributes.get(row, NO_SETTINGS).get("kink") == "error":
            raise GraphcError(
                f"{graph.ops[row]}(..., kink='error') stops where the point sits on its kink, "
                "which compiled code and derivative graphs cannot do; choose the slope there with "
                "another kink=, or ask for derivative() or reverse() at a point"
            )


def adjoints(
    graph: Structure,
    seeds: Mapping[GraphRow, GraphRow],
    sources: Sequence[GraphRow],
    lead: Shape = (),
) -> list[GraphRow]:
    """The rows of the adjoints of the sources, appended to the graph; zeros where no path leads.

    With `lead` the seeds have these further axes in front, and so have the adjoints.
    """
    useful = _between(graph, sources, seeds)
    return _carried(graph, "bar", seeds, sources, useful, lead)


def tangents(
    graph: Structure,
    seeds: Mapping[GraphRow, GraphRow],
    targets: Sequence[GraphRow],
    lead: Shape = (),
) -> list[GraphRow]:
    """The rows of the tangents of the targets, appended to the graph; zeros where no path leads."""
    useful = _between(graph, seeds, targets)
    return _carried(graph, "dot", seeds, targets, useful, lead)


def _carried(
    graph: Structure,
    suffix: str,
    seeds: Mapping[GraphRow, GraphRow],
    ends: Sequence[GraphRow],
    useful: set[GraphRow],
    lead: Shape,
) -> list[GraphRow]:
    """The rows that arrive at the ends over useful nodes: adjoints are pulled, tangents pushed."""
    back = suffix == "bar"
    rows = Formulas(graph)
    evaluation = rows_evaluation(rows)
    evaluation.lead = lead
    naming = Naming(rows, suffix, seeds)
    along = {} if back else out_of(graph, useful)

    def hops(node: GraphRow) -> list[Hop]:
        near = into(graph, node) if back else along.get(node, ())
        return [hop for hop in near if hop[0] in useful]

    arrived = sweep(
        sorted(useful | set(seeds), reverse=back),
        hops,
        seeds,
        evaluation.pull if back else evaluation.push,
        evaluation.add,
        naming.visit,
    )
    for end in ends:
        if end not in arrived:
            arrived[end] = naming.visit(end, zeros(graph, (*lead, *graph.shape(end))))
    return [arrived[end] for end in ends]


def _tangent(graph: Structure, ends: Mapping[str, Any], wrt: str) -> GraphRow:
    if len(ends) != 1:
        raise GraphcError("forward mode differentiates one node; give of= as one name")
    (end, seed), source = next(iter(ends.items())), graph.row(wrt)
    if graph.shape(source):
        raise GraphcError(
            f"{wrt!r} has shape {shape_text(graph.shape(source))}, and forward mode needs one "
            "tangent per element; use mode='reverse'"
        )
    if seed != 1:
        raise GraphcError("a seed belongs to the reverse mode; forward mode takes of= as a name")
    return tangents(graph, {source: graph.constant(1)}, [graph.row(end)])[0]


def zeros(graph: Structure, shape: Shape) -> GraphRow:
    """A row of zeros, for where no path leads."""
    rows = Formulas(graph)
    return repeated(rows, rows.constant(0), shape) if shape else rows.constant(0)


def seed_row(graph: Structure, node: GraphRow, seed: Any) -> GraphRow:
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
    pinned: Sequence[GraphRow] | None = None,
    symmetric: bool = False,
    mode: str = "reverse",
) -> Any:
    """The derivatives of `of` (rows) by `wrt` (columns); a symmetric matrix is mirrored."""
    one_of(layout, ("numerator", "denominator"), "layout")
    if isinstance(of, Mapping):
        raise GraphcError(
            "jacobian takes of= as names, and seeds are for one sweep back; for the gradient of "
            "their weighted sum ask for reverse(of={...})"
        )
    of = graph.names[the_output(graph, None)] if of is None else of
    targets, sources = (
        as_names(graph, of),
        as_names(graph, default_wrt(graph) if wrt is None else wrt),
    )
    rows = [graph.row(name) for name in targets]
    request = Request(graph, at, needed=upstream(graph, rows), pinned=pinned)
    entries: list[list[Any]] = [[] for _ in rows]
    for i, row in enumerate(rows):
        for j, name in enumerate(sources):
            if symmetric and j < i:
                entry = _flipped(request, rows[j], sources[i], entries[j][i])
            else:
                entry = jacobian_entry(request, row, graph.row(name), mode)
            entries[i].append(entry)
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


def _flipped(request: Request, target: GraphRow, source: str, entry: Any) -> Any:
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


def _blocks(request: Request, rows: list[GraphRow], entries: list[list[Any]]) -> Any:
    """Jacobians of several tensors as one matrix, each flattened in row-major order."""
    if request.symbolic:
        raise GraphcError(
            "a symbolic Jacobian of several tensors has no matrix form; ask for one pair of names "
            "at a time, or give numbers with at={...}"
        )
    shapes = [np.shape(request.evaluation.value(row)) for row in rows]

    def flat(entry: Any, shape: tuple[int, ...]) -> Any:
        width = math.prod(np.shape(entry)[len(shape) :])
        return np.reshape(np.asarray(entry), (math.prod(shape), width))

    return np.block(
        [
            [flat(entry, shape) for entry in line]
            for shape, line in zip(shapes, entries, strict=True)
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
        symmetric=is_symmetric(graph),
        mode="reverse" if at is None else "forward",  # as compiled: tangents of adjoints
    )


def is_symmetric(graph: Structure) -> bool:
    """Whether every derivative is that of its formula: only then the order does not matter.

    A Hessian is then the entries above its diagonal and their mirror image, in every engine: where
    a number is not finite, the two orders need not meet the same infinities.
    """
    ops = set(graph.ops)
    own = any(FUNCTIONS[op].origin == "user" for op in ops if op in FUNCTIONS)
    chosen = any("kink" in settings for settings in graph.attributes.values())
    return not (graph.partials or "stop" in ops or own or chosen)
