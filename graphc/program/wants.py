"""What a compiled function is to return, as rows appended to a copy of the graph.

Every want is the same few sweeps: adjoints are pulled from `of`, tangents are pushed from `wrt`, a
second derivative does one after the other. What comes out is a tree of rows: the results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..algebra.formulas import Formulas
from ..derive.differentiate import adjoints, as_names, is_symmetric, seed_row, tangents
from ..derive.hops import default_wrt, some_seeds, the_output
from ..errors import GraphcError, listing, one_of
from ..shapes import LETTERS, Shape, shape_text
from ..structure.reach import ancestors, origins
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from . import selfcheck
from .question import Derived, Matrix, Question, Results, Want
from .sparse import sparse_matrix

MODES = ("auto", "reverse", "forward")


def question(graph: Structure, of: Any, wrt: Any, want: str) -> Question:
    """The names checked, defaults filled in."""
    one_of(want, WANTS, "want")
    record = WANTS[want]
    if any(op in ("edges", "symbol") for op in graph.ops):
        raise GraphcError(
            "this graph was made from local derivatives alone, so there is no value to compute; "
            "ask for reverse() or derivative(), or declare the formulas"
        )
    weights = dict(some_seeds(of)) if isinstance(of, Mapping) else None
    if weights is not None:
        if record.takes_seeds:
            raise GraphcError(
                f"want={want!r} {record.takes_seeds}; give of= as names, without seeds"
            )
        of = list(weights)
    if of is None and not record.order:
        outputs = graph.outputs()
        of = [graph.names[row] for row in outputs] if len(outputs) > 1 else None
    targets = [graph.names[the_output(graph, None)]] if of is None else as_names(graph, of)
    if not record.order and wrt is None:
        sources: list[str] = []
    else:
        sources = as_names(graph, default_wrt(graph) if wrt is None else wrt)
    for names, word in ((targets, "of"), (sources, "wrt")):
        if len(set(names)) != len(names):
            raise GraphcError(f"{word} names a node twice ({listing(names)}); name each once")
    listed = weights is None and isinstance(of, (list, tuple))
    asked = Question(
        graph, record, tuple(targets), tuple(sources), listed, not isinstance(wrt, str), weights
    )
    if record.one_element and weights is None:
        for name in targets:
            shape = graph.shape(graph.row(name))
            if any(size != 1 for size in shape):
                raise GraphcError(
                    f"want={want!r} needs a node of one element, and {name!r} has shape "
                    f"{shape_text(shape)}; ask for want='jacobian' or 'vjp', or give seeds "
                    "of={name: array}"
                )
    if record.order == 2:
        _check_independent(graph, sources)
    if record.one_node and weights is None and len(targets) > 1:
        raise GraphcError(
            f"want='hessian' is one matrix, that of one node, and of= names {len(targets)} "
            f"({listing(targets)}); ask for each, or give seeds of={{name: number}} for their "
            "weighted sum"
        )
    return asked


def _check_independent(graph: Structure, names: Sequence[str]) -> None:
    rows = {graph.row(name): name for name in names}
    for row, name in rows.items():
        joined = [rows[other] for other in origins(graph, row) if other in rows and other != row]
        if joined:
            raise GraphcError(
                f"{name!r} depends on {joined[0]!r}, so they cannot both be held as inputs; "
                "leave one of them out of wrt="
            )


def derived(asked: Question, mode: str, sparse: bool = False) -> Derived:
    """The rows of the answer, appended to a copy of the graph."""
    graph = asked.graph.duplicate()
    graph.share()
    if not sparse:
        return asked.want.derive(asked, graph, mode)
    if asked.want.sparse is None:
        able = " and ".join(repr(name) for name, want in WANTS.items() if want.sparse)
        raise GraphcError(f"sparse=True is for want={able}, not {asked.want.name!r}")
    return asked.want.sparse(asked, graph)


def sweeps(asked: Question) -> tuple[float, float]:
    """How many adjoint sweeps, or tangent sweeps, the answer takes."""
    graph = asked.graph

    def elements(names: Sequence[str]) -> float:
        shapes = [graph.shape(graph.row(name)) for name in names]
        return sum(math.prod(s if isinstance(s, int) else math.inf for s in x) for x in shapes)

    targets = 1 if asked.weights is not None else elements(asked.of)
    return targets, elements(asked.wrt)


def crossed(asked: Question) -> tuple[int, int]:
    """How many edges adjoints, or tangents, are carried over: those between `wrt` and `of`."""
    graph = asked.graph
    ends, sources = asked.rows(graph)
    above = {end: origins(graph, end) for end in ends}

    def counted(nodes: set[GraphRow], starts: Sequence[GraphRow]) -> int:
        below, found = set(starts), 0
        for node in sorted(nodes):
            edges = sum(source in below for _, source in graph.edges_of(node))
            if edges:
                below.add(node)
                found += edges
        return found

    useful = set().union(*above.values())
    back = sum(_elements(graph, end) * counted(above[end], sources) for end in ends)
    forth = sum(_elements(graph, source) * counted(useful, [source]) for source in sources)
    return back, forth


def _elements(graph: Structure, row: GraphRow) -> int:
    return math.prod(size if isinstance(size, int) else 1 for size in graph.shape(row))


# Building blocks.


def _by_name(
    names: Sequence[str], rows: Sequence[Results[GraphRow]]
) -> dict[str, Results[GraphRow]]:
    return dict(zip(names, rows, strict=True))


def _one_or_named(asked: Question, rows: Sequence[Results[GraphRow]]) -> Results[GraphRow]:
    """One result, or results by the names of `of`."""
    return _by_name(asked.of, rows) if asked.of_listed else rows[0]


def _weighted(asked: Question, graph: Structure) -> dict[GraphRow, GraphRow]:
    """{row of `of`: row of its seed}; 1 where no seeds were given."""
    seeds = dict.fromkeys(asked.of, 1) if asked.weights is None else asked.weights
    found: dict[GraphRow, GraphRow] = {}
    for name, seed in seeds.items():
        row = seed_row(graph, graph.row(name), seed)
        if min(ancestors(graph, [row])) < len(asked.graph.ops):  # a formula, held at its value
            row = graph.operation("stop", (row,), {})
        found[graph.row(name)] = row
    return found


def _weighted_sum(graph: Structure, seeds: Iterable[tuple[GraphRow, GraphRow]]) -> GraphRow:
    rows, total = Formulas(graph), None
    for row, seed in seeds:
        letters = LETTERS[: len(graph.shape(row))]
        spec = {"spec": f"{letters},{letters}->", "sizes": ()}
        part = rows.apply("contract" if letters else "mul", (seed, row), spec if letters else {})
        total = part if total is None else rows.apply("add", (total, part), {})
    assert total is not None
    return total


def _argument(graph: Structure, name: str, shape: Shape) -> GraphRow:
    row = graph.append("input")
    if shape:
        graph.shapes[row] = shape
    return graph.bind(graph.unused_name(name), row)


def _identity(graph: Structure, shape: Shape) -> GraphRow:
    """1, or the identity on tensors of this shape: the seed of a Jacobian."""
    rows = Formulas(graph)
    if not shape:
        return rows.constant(1)
    letters = LETTERS[: len(shape)]
    sizes = tuple(zip(letters, shape, strict=True))
    return rows.apply(
        "contract", (rows.constant(1),), {"spec": f"->{letters}{letters}", "sizes": sizes}
    )


def _moved(graph: Structure, row: GraphRow, first: int, last: int) -> GraphRow:
    """The row with its `first` leading axes behind its `last` trailing ones."""
    if not first or not last:
        return row
    letters = LETTERS[: first + last]
    spec = {"spec": f"{letters}->{letters[first:]}{letters[:first]}", "sizes": ()}
    return Formulas(graph).apply("contract", (row,), spec)


def _gradient(
    graph: Structure, end: GraphRow, sources: Sequence[GraphRow], mode: str
) -> list[GraphRow]:
    """The derivatives of a node of one element."""
    if mode == "forward":
        slopes = []
        for source in sources:
            lead = graph.shape(source)
            found = tangents(graph, {source: _identity(graph, lead)}, [end], lead)[0]
            if graph.shape(end):
                found = Formulas(graph).apply("reshape", (found,), {"shape": lead})
            slopes.append(found)
        return slopes
    return adjoints(graph, {end: seed_row(graph, end, 1)}, sources)


def _blocks(
    graph: Structure, targets: Sequence[GraphRow], sources: Sequence[GraphRow], mode: str
) -> list[list[GraphRow]]:
    """The Jacobian of each target by each source, target axes first."""
    if mode == "forward":
        columns = []
        for source in sources:
            lead = graph.shape(source)
            found = tangents(graph, {source: _identity(graph, lead)}, targets, lead)
            columns.append(
                [
                    _moved(graph, row, len(lead), len(graph.shape(target)))
                    for row, target in zip(found, targets, strict=True)
                ]
            )
        return [list(line) for line in zip(*columns, strict=True)]
    return [
        adjoints(graph, {target: _identity(graph, shape)}, sources, shape)
        for target in targets
        for shape in [graph.shape(target)]
    ]


def _matrix(
    asked: Question, graph: Structure, blocks: list[list[GraphRow]], heights: Sequence[Shape]
) -> Results[GraphRow]:
    if not asked.of_listed and not asked.wrt_listed:
        return blocks[0][0]
    widths = tuple(graph.shape(graph.row(name)) for name in asked.wrt)
    return Matrix(tuple(map(tuple, blocks)), tuple(heights), widths)


# The wants.


def _value(asked: Question, graph: Structure, mode: str) -> Derived:
    if asked.weights is not None:
        total = _weighted_sum(graph, _weighted(asked, graph).items())
        return Derived(graph, total, graph.coming)
    return Derived(graph, _one_or_named(asked, asked.rows(graph)[0]), graph.coming)


def _values(asked: Question, graph: Structure, mode: str) -> Derived:
    nodes = graph.nodes()
    return Derived(graph, _by_name([graph.names[row] for row in nodes], nodes), graph.coming)


def _grad(asked: Question, graph: Structure, mode: str) -> Derived:
    _, slopes, declared = _with_slopes(asked, graph, mode)
    return Derived(graph, slopes, declared)


def _value_and_grad(asked: Question, graph: Structure, mode: str) -> Derived:
    values, slopes, declared = _with_slopes(asked, graph, mode)
    return Derived(graph, (values, slopes), declared)


def _with_slopes(
    asked: Question, graph: Structure, mode: str
) -> tuple[Results[GraphRow], Results[GraphRow], GraphRow]:
    """Values, their gradients by name, and the row from which on the gradients stand."""
    ends, sources = asked.rows(graph)
    if asked.weights is not None:
        seeds = _weighted(asked, graph)
        total, declared = _weighted_sum(graph, seeds.items()), graph.coming
        slopes = adjoints(graph, seeds, sources)
        return total, _by_name(asked.wrt, slopes), declared
    declared = graph.coming
    grads = [_by_name(asked.wrt, _gradient(graph, end, sources, mode)) for end in ends]
    return _one_or_named(asked, ends), _one_or_named(asked, grads), declared


def _jacobian(asked: Question, graph: Structure, mode: str) -> Derived:
    ends, sources = asked.rows(graph)
    declared = graph.coming
    if asked.weights is not None:
        slopes = adjoints(graph, _weighted(asked, graph), sources)
        return Derived(graph, _matrix(asked, graph, [slopes], [()]), declared)
    blocks = _blocks(graph, ends, sources, mode)
    heights = [graph.shape(end) for end in ends]
    return Derived(graph, _matrix(asked, graph, blocks, heights), declared)


def _hessian(asked: Question, graph: Structure, mode: str) -> Derived:
    """Tangents of adjoints; where the matrix is symmetric, half of its entries are derived."""
    _, sources = asked.rows(graph)
    declared = graph.coming
    halved = is_symmetric(graph)
    slopes = adjoints(graph, _weighted(asked, graph), sources)
    entries: dict[tuple[int, int], GraphRow] = {}
    for place, source in enumerate(sources):
        lead = graph.shape(source)
        seed = {source: _identity(graph, lead)}
        found = tangents(graph, seed, slopes[: place + 1] if halved else slopes, lead)
        for other, row in enumerate(found):
            rank = len(graph.shape(sources[other]))
            entries[other, place] = _moved(graph, row, len(lead), rank)
            if halved:
                entries[place, other] = row
    count = range(len(sources))
    blocks = [[entries[i, j] for j in count] for i in count]
    if not asked.wrt_listed:
        return Derived(graph, blocks[0][0], declared)
    heights = [graph.shape(source) for source in sources]
    return Derived(graph, _matrix(asked, graph, blocks, heights), declared)


def _jvp(asked: Question, graph: Structure, mode: str) -> Derived:
    ends, sources = asked.rows(graph)
    declared = graph.coming
    dots = [_argument(graph, f"{graph.names[row]}_dot", graph.shape(row)) for row in sources]
    found = tangents(graph, dict(zip(sources, dots, strict=True)), ends)
    if asked.weights is not None:
        seeds = _weighted(asked, graph)
        changes = zip(found, seeds.values(), strict=True)
        pair: Results[GraphRow] = (
            _weighted_sum(graph, seeds.items()),
            _weighted_sum(graph, changes),
        )
    else:
        pair = (_one_or_named(asked, ends), _one_or_named(asked, found))
    return Derived(graph, pair, declared, tangents=tuple(dots))


def _hvp(asked: Question, graph: Structure, mode: str) -> Derived:
    ends, sources = asked.rows(graph)
    declared = graph.coming
    seeds = _weighted(asked, graph)
    each = [{end: seeds[end]} for end in ends] if asked.of_listed else [seeds]
    slopes = [slope for one in each for slope in adjoints(graph, one, sources)]
    dots = [_argument(graph, f"{graph.names[row]}_dot", graph.shape(row)) for row in sources]
    found = tangents(graph, dict(zip(sources, dots, strict=True)), slopes)
    count = len(sources)
    products = [
        _by_name(asked.wrt, found[start : start + count]) for start in range(0, len(found), count)
    ]
    return Derived(graph, _one_or_named(asked, products), declared, tangents=tuple(dots))


def _vjp(asked: Question, graph: Structure, mode: str) -> Derived:
    ends, sources = asked.rows(graph)
    declared = graph.coming
    bars = [_argument(graph, f"{graph.names[row]}_bar", graph.shape(row)) for row in ends]
    found = adjoints(graph, dict(zip(ends, bars, strict=True)), sources)
    pair = (_one_or_named(asked, ends), _by_name(asked.wrt, found))
    return Derived(graph, pair, declared, seeds=tuple(bars))


def _sparse_jacobian(asked: Question, graph: Structure) -> Derived:
    """A Jacobian of which only the entries that exist are derived."""
    ends, sources = asked.rows(graph)
    declared = graph.coming
    if asked.weights is not None:
        ends = [_weighted_sum(graph, _weighted(asked, graph).items())]
    return Derived(graph, sparse_matrix(graph, ends, sources), declared)


def _sparse_hessian(asked: Question, graph: Structure) -> Derived:
    """A Hessian of which only the entries that exist are derived."""
    _, sources = asked.rows(graph)
    declared = graph.coming
    slopes = adjoints(graph, _weighted(asked, graph), sources)
    return Derived(
        graph, sparse_matrix(graph, slopes, sources, is_symmetric(asked.graph)), declared
    )


WANTS = {
    want.name: want
    for want in (
        Want(
            "value",
            _value,
            returns="A",
            by_name="dict[str, A]",
            summary="The value of {all_of}.",
            mode="none",
            order=0,
            by_tape=lambda value, slopes: value,
        ),
        Want(
            "grad",
            _grad,
            returns="dict[str, A]",
            by_name="dict[str, dict[str, A]]",
            summary="The gradient d {of} / d ({wrt}) by name.",
            parts=("bar",),
            two_ways=True,
            one_element=True,
            companion="value",
            compare=selfcheck.gradient,
            by_tape=lambda value, slopes: slopes,
        ),
        Want(
            "value_and_grad",
            _value_and_grad,
            returns="tuple[A, dict[str, A]]",
            by_name="tuple[dict[str, A], dict[str, dict[str, A]]]",
            summary="({of}, its gradient by name): d {of} / d ({wrt}).",
            parts=("value", "bar"),
            two_ways=True,
            one_element=True,
            compare=selfcheck.second_part,
            by_tape=lambda value, slopes: (value, slopes),
        ),
        Want(
            "jacobian",
            _jacobian,
            returns="A",
            summary="The derivatives of {all_of} by {wrt}.",
            parts=("matrix",),
            two_ways=True,
            sparse=_sparse_jacobian,
            companion="value",
            compare=selfcheck.matrix,
        ),
        Want(
            "hessian",
            _hessian,
            returns="A",
            summary="The second derivatives of {of} by {wrt}.",
            parts=("matrix",),
            mode="forward over reverse",
            heading="# Backward, then forward: v_bar is d {of} / d v, v_dot a change of v.",
            one_element=True,
            one_node=True,
            order=2,
            sparse=_sparse_hessian,
            companion="grad",
            compare=selfcheck.matrix,
        ),
        Want(
            "jvp",
            _jvp,
            returns="tuple[A, A]",
            by_name="tuple[dict[str, A], dict[str, A]]",
            summary="({of}, its change along the tangents): tangents of {wrt} default to 0.",
            parts=("value", "value_dot"),
            mode="forward",
            heading="# Forward: v_dot is the change of v along the tangents.",
            companion="value",
            compare=selfcheck.change,
        ),
        Want(
            "vjp",
            _vjp,
            returns="tuple[A, dict[str, A]]",
            by_name="tuple[dict[str, A], dict[str, A]]",
            summary="({of}, adjoints by name): what the given adjoint brings to {wrt}.",
            parts=("value", "bar"),
            takes_seeds="takes its seeds with each call",
            companion="value",
            compare=selfcheck.pulled,
        ),
        Want(
            "hvp",
            _hvp,
            returns="dict[str, A]",
            by_name="dict[str, dict[str, A]]",
            summary="The Hessian of {of} times the tangents of {wrt}, by name.",
            parts=("bar_dot",),
            mode="forward over reverse",
            heading="# Backward, then along the tangents: v_bar is d {of} / d v, v_dot its change.",
            one_element=True,
            order=2,
            companion="grad",
            compare=selfcheck.change_of_slopes,
        ),
        Want(
            "values",
            _values,
            returns="dict[str, A]",
            summary="The value of every node.",
            parts=("value",),
            mode="none",
            order=0,
            takes_seeds="gives every node",
        ),
    )
}
