"""What a compiled function is to return, as rows appended to a copy of the graph.

Every want is the same few sweeps: adjoints are pulled from `of`, tangents are pushed from `wrt`, a
second derivative does one after the other. What comes out is a tree of rows: the results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..algebra.rules import Rows
from ..derive.differentiate import adjoints, as_names, seed_row, tangents
from ..derive.modes import default_wrt, the_output
from ..errors import GraphcError, listing, one_of
from ..shapes import LETTERS, Shape, shape_text
from ..structure.reach import ancestors, origins
from ..structure.rows import LEAVES
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from .sparse import Sparse, sparse_matrix

MODES = ("auto", "reverse", "forward")


@dataclass(frozen=True)
class Matrix:
    """One 2-D matrix: entries are rows of scalars, or of tensors to be flattened."""

    entries: tuple[tuple[int, ...], ...]
    heights: tuple[Shape, ...]  # the shape that each block row stands for
    widths: tuple[Shape, ...]


Results = Any  # a row, a Matrix, a Sparse, or a tuple or dict of results


@dataclass(frozen=True)
class Derived:
    """A copy of the graph with the rows of the answer, and how they are handed over."""

    graph: Structure
    results: Results
    declared: int  # rows from this one on belong to the derivative
    tangents: tuple[int, ...] = ()  # arguments x_dot, 0 where they are left out
    seeds: tuple[int, ...] = ()  # arguments L_bar


@dataclass(frozen=True)
class Question:
    """What was asked of a graph."""

    graph: Structure
    want: str
    of: tuple[str, ...]
    wrt: tuple[str, ...]
    of_listed: bool = False  # several were asked for: results by name
    wrt_listed: bool = True
    weights: Mapping[str, Any] | None = None  # seeds: the gradient of a weighted sum

    def rows(self, graph: Structure) -> tuple[list[int], list[int]]:
        return [graph.row(name) for name in self.of], [graph.row(name) for name in self.wrt]


def question(graph: Structure, of: Any, wrt: Any, want: str) -> Question:
    """The names checked, defaults filled in."""
    one_of(want, WANTS, "want")
    if any(op in ("edges", "symbol") for op in graph.ops):
        raise GraphcError(
            "this graph was made from local derivatives alone, so there is no value to compute; "
            "ask for reverse() or derivative(), or declare the formulas"
        )
    weights = dict(of) if isinstance(of, Mapping) else None
    if weights is not None:
        if not weights:
            raise GraphcError("the dict of seeds is empty; give {node: seed}")
        if want in UNWEIGHTED:
            raise GraphcError(f"want={want!r} {UNWEIGHTED[want]}; give of= as names, without seeds")
        of = list(weights)
    if of is None and want in ("value", "values"):
        outputs = graph.outputs()
        of = [graph.names[row] for row in outputs] if len(outputs) != 1 else None
    targets = [graph.names[the_output(graph, None)]] if of is None else as_names(graph, of)
    if want in ("value", "values") and wrt is None:
        sources: list[str] = []
    else:
        sources = as_names(graph, default_wrt(graph) if wrt is None else wrt)
    for names, word in ((targets, "of"), (sources, "wrt")):
        if len(set(names)) != len(names):
            raise GraphcError(f"{word} names a node twice ({listing(names)}); name each once")
    listed = weights is None and isinstance(of, (list, tuple))
    asked = Question(
        graph, want, tuple(targets), tuple(sources), listed, not isinstance(wrt, str), weights
    )
    if want in ("grad", "value_and_grad", "hessian", "hvp") and weights is None:
        for name in targets:
            shape = graph.shape(graph.row(name))
            if any(size != 1 for size in shape):
                raise GraphcError(
                    f"want={want!r} needs a node of one element, and {name!r} has shape "
                    f"{shape_text(shape)}; ask for want='jacobian' or 'vjp', or give seeds "
                    "of={name: array}"
                )
    if want in ("hessian", "hvp"):
        _check_independent(graph, sources)
    if want == "hessian" and weights is None and len(targets) > 1:
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
    if sparse:
        return _sparse(asked, graph)
    return WANTS[asked.want](asked, graph, mode)


def sweeps(asked: Question) -> tuple[float, float]:
    """How many adjoint sweeps, or tangent sweeps, the answer takes."""
    graph = asked.graph

    def elements(names: Sequence[str]) -> float:
        shapes = [graph.shape(graph.row(name)) for name in names]
        return sum(math.prod(s if isinstance(s, int) else math.inf for s in x) for x in shapes)

    targets = 1 if asked.weights is not None else elements(asked.of)
    return targets, elements(asked.wrt)


# Building blocks.


def _by_name(names: Sequence[str], rows: Sequence[Results]) -> dict[str, Results]:
    return dict(zip(names, rows, strict=True))


def _one_or_named(asked: Question, rows: Sequence[Results]) -> Results:
    """One result, or results by the names of `of`."""
    return _by_name(asked.of, rows) if asked.of_listed else rows[0]


def _weighted(asked: Question, graph: Structure) -> dict[int, int]:
    """{row of `of`: row of its seed}; 1 where no seeds were given."""
    seeds = dict.fromkeys(asked.of, 1) if asked.weights is None else asked.weights
    found: dict[int, int] = {}
    for name, seed in seeds.items():
        row = seed_row(graph, graph.row(name), seed)
        if min(ancestors(graph, [row])) < len(asked.graph.ops):  # a formula, held at its value
            row = graph.operation("stop", (row,), {})
        found[graph.row(name)] = row
    return found


def _weighted_sum(graph: Structure, seeds: Iterable[tuple[int, int]]) -> int:
    rows, total = Rows(graph), None
    for row, seed in seeds:
        letters = LETTERS[: len(graph.shape(row))]
        spec = {"spec": f"{letters},{letters}->", "sizes": ()}
        part = rows.apply("contract" if letters else "mul", (seed, row), spec if letters else {})
        total = part if total is None else rows.apply("add", (total, part), {})
    assert total is not None
    return total


def _argument(graph: Structure, name: str, shape: Shape) -> int:
    row = graph.append("input")
    if shape:
        graph.shapes[row] = shape
    return graph.bind(graph.unused_name(name), row)


def _identity(graph: Structure, shape: Shape) -> int:
    """1, or the identity on tensors of this shape: the seed of a Jacobian."""
    rows = Rows(graph)
    if not shape:
        return rows.constant(1)
    letters = LETTERS[: len(shape)]
    sizes = tuple(zip(letters, shape, strict=True))
    return rows.apply(
        "contract", (rows.constant(1),), {"spec": f"->{letters}{letters}", "sizes": sizes}
    )


def _moved(graph: Structure, row: int, first: int, last: int) -> int:
    """The row with its `first` leading axes behind its `last` trailing ones."""
    if not first or not last:
        return row
    letters = LETTERS[: first + last]
    spec = {"spec": f"{letters}->{letters[first:]}{letters[:first]}", "sizes": ()}
    return Rows(graph).apply("contract", (row,), spec)


def _gradient(graph: Structure, end: int, sources: Sequence[int], mode: str) -> list[int]:
    """The derivatives of a node of one element."""
    if mode == "forward":
        slopes = []
        for source in sources:
            lead = graph.shape(source)
            found = tangents(graph, {source: _identity(graph, lead)}, [end], lead)[0]
            if graph.shape(end):
                found = Rows(graph).apply("reshape", (found,), {"shape": lead})
            slopes.append(found)
        return slopes
    return adjoints(graph, {end: seed_row(graph, end, 1)}, sources)


def _blocks(
    graph: Structure, targets: Sequence[int], sources: Sequence[int], mode: str
) -> list[list[int]]:
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
    asked: Question, graph: Structure, blocks: list[list[int]], heights: Sequence[Shape]
) -> Results:
    if not asked.of_listed and not asked.wrt_listed:
        return blocks[0][0]
    widths = tuple(graph.shape(graph.row(name)) for name in asked.wrt)
    return Matrix(tuple(map(tuple, blocks)), tuple(heights), widths)


# The wants.


def _value(asked: Question, graph: Structure, mode: str) -> Derived:
    if asked.weights is not None:
        total = _weighted_sum(graph, _weighted(asked, graph).items())
        return Derived(graph, total, len(graph.ops))
    return Derived(graph, _one_or_named(asked, asked.rows(graph)[0]), len(graph.ops))


def _values(asked: Question, graph: Structure, mode: str) -> Derived:
    everything = {graph.names[row]: row for row in graph.nodes()}
    return Derived(graph, everything, len(graph.ops))


def _grad(asked: Question, graph: Structure, mode: str) -> Derived:
    whole = _value_and_grad(asked, graph, mode)
    return Derived(graph, whole.results[1], whole.declared)


def _value_and_grad(asked: Question, graph: Structure, mode: str) -> Derived:
    ends, sources = asked.rows(graph)
    if asked.weights is not None:
        seeds = _weighted(asked, graph)
        total, declared = _weighted_sum(graph, seeds.items()), len(graph.ops)
        slopes = adjoints(graph, seeds, sources)
        return Derived(graph, (total, _by_name(asked.wrt, slopes)), declared)
    declared = len(graph.ops)
    grads = [_by_name(asked.wrt, _gradient(graph, end, sources, mode)) for end in ends]
    return Derived(graph, (_one_or_named(asked, ends), _one_or_named(asked, grads)), declared)


def _jacobian(asked: Question, graph: Structure, mode: str) -> Derived:
    ends, sources = asked.rows(graph)
    declared = len(graph.ops)
    if asked.weights is not None:
        slopes = adjoints(graph, _weighted(asked, graph), sources)
        return Derived(graph, _matrix(asked, graph, [slopes], [()]), declared)
    blocks = _blocks(graph, ends, sources, mode)
    heights = [graph.shape(end) for end in ends]
    return Derived(graph, _matrix(asked, graph, blocks, heights), declared)


def _hessian(asked: Question, graph: Structure, mode: str) -> Derived:
    """Tangents of adjoints; where the matrix is symmetric, half of its entries are derived."""
    _, sources = asked.rows(graph)
    declared = len(graph.ops)
    halved = _is_symmetric(graph)
    slopes = adjoints(graph, _weighted(asked, graph), sources)
    entries: dict[tuple[int, int], int] = {}
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


def _is_symmetric(graph: Structure) -> bool:
    """Whether every derivative is that of its formula: only then the order does not matter."""
    ops = set(graph.ops)
    own = any(FUNCTIONS[op].origin == "user" for op in ops if op in FUNCTIONS)
    chosen = any("kink" in settings for settings in graph.attributes.values())
    return not (graph.partials or "stop" in ops or own or chosen)


def _jvp(asked: Question, graph: Structure, mode: str) -> Derived:
    ends, sources = asked.rows(graph)
    declared = len(graph.ops)
    dots = [_argument(graph, f"{graph.names[row]}_dot", graph.shape(row)) for row in sources]
    found = tangents(graph, dict(zip(sources, dots, strict=True)), ends)
    if asked.weights is not None:
        seeds = _weighted(asked, graph)
        changes = zip(found, seeds.values(), strict=True)
        pair = (_weighted_sum(graph, seeds.items()), _weighted_sum(graph, changes))
    else:
        pair = (_one_or_named(asked, ends), _one_or_named(asked, found))
    return Derived(graph, pair, declared, tangents=tuple(dots))


def _hvp(asked: Question, graph: Structure, mode: str) -> Derived:
    ends, sources = asked.rows(graph)
    declared = len(graph.ops)
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
    declared = len(graph.ops)
    bars = [_argument(graph, f"{graph.names[row]}_bar", graph.shape(row)) for row in ends]
    found = adjoints(graph, dict(zip(ends, bars, strict=True)), sources)
    pair = (_one_or_named(asked, ends), _by_name(asked.wrt, found))
    return Derived(graph, pair, declared, seeds=tuple(bars))


def _sparse(asked: Question, graph: Structure) -> Derived:
    """A Jacobian or Hessian of which only the entries that exist are derived."""
    if asked.want not in ("jacobian", "hessian"):
        raise GraphcError(f"sparse=True is for want='jacobian' and 'hessian', not {asked.want!r}")
    ends, sources = asked.rows(graph)
    declared = len(graph.ops)
    if asked.want == "hessian":
        ends = adjoints(graph, _weighted(asked, graph), sources)
    elif asked.weights is not None:
        ends = [_weighted_sum(graph, _weighted(asked, graph).items())]
    return Derived(graph, sparse_matrix(graph, ends, sources), declared)


WANTS: dict[str, Callable[[Question, Structure, str], Derived]] = {
    "value": _value,
    "grad": _grad,
    "value_and_grad": _value_and_grad,
    "jacobian": _jacobian,
    "hessian": _hessian,
    "jvp": _jvp,
    "vjp": _vjp,
    "hvp": _hvp,
    "values": _values,
}
UNWEIGHTED = {  # wants for which seeds in of= have no meaning
    "vjp": "takes its seeds with each call",
    "values": "gives every node",
}
TWO_WAYS = ("grad", "value_and_grad", "jacobian")  # wants for which both modes are possible


def leaves(graph: Structure) -> list[int]:
    """The arguments a graph may take: inputs, then params, in order of declaration."""
    found = [row for row in graph.leaves() if graph.ops[row] in LEAVES]
    return sorted(found, key=lambda row: (graph.ops[row] != "input", row))


def flat(results: Results) -> list[int]:
    """The rows of a tree of results, in order."""
    found: list[int] = []
    stack: list[Any] = [results]
    while stack:
        part = stack.pop()
        if isinstance(part, int):
            found.append(part)
        elif isinstance(part, Matrix):
            stack.extend(row for line in reversed(part.entries) for row in reversed(line))
        elif isinstance(part, Sparse):
            stack.extend(row for row, *_ in reversed(part.parts))
        else:
            parts = list(part.values()) if isinstance(part, dict) else list(part)
            stack.extend(reversed(parts))
    return found


def mapped(results: Results, change: Callable[[int], Any]) -> Results:
    """The same tree with every row changed."""
    if isinstance(results, int):
        return change(results)
    if isinstance(results, Matrix):
        lines = tuple(tuple(change(row) for row in line) for line in results.entries)
        return Matrix(lines, results.heights, results.widths)
    if isinstance(results, Sparse):
        parts = tuple((change(row), places, once) for row, places, once in results.parts)
        return replace(results, parts=parts)
    if isinstance(results, dict):
        return {name: mapped(part, change) for name, part in results.items()}
    return tuple(mapped(part, change) for part in results)
