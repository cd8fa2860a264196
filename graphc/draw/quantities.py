"""What is written at nodes and edges: values, local derivatives and adjoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..algebra.exact import Undefined
from ..derive.evaluation import Edge
from ..derive.hops import seeds_of
from ..derive.modes import adjoints
from ..derive.request import Request
from ..errors import GraphcError, one_of
from ..structure.reach import upstream
from ..structure.rows import LEAVES, GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..table.phrases import Phrase, drawn, leaf, words
from ..write.formula import Expression, formula_line
from ..write.line import NUMPY
from .mathematics import ELLIPSIS, EQUALS, full_number, value_phrase

K = TypeVar("K")
SHOWN = ("values", "local", "adjoint")
LONG_FORMULA = 80  # operations
INDICES = "einsum"  # a Jacobian that only indices can write


@dataclass(frozen=True)
class Quantity:
    """A number or formula: as it is drawn, and in full as plain text."""

    shown: Phrase
    full: str
    relation: str = EQUALS  # to what it is told of

    @property
    def drawn(self) -> str:
        """What stands behind a name, in Unicode."""
        text = drawn(self.shown)
        return text if self.relation == EQUALS else f"{self.relation} {text}"


STOPPED = Quantity(leaf("stop"), "no derivative passes")
TOO_LONG = Quantity(leaf(ELLIPSIS), "too long to be written down")


@dataclass(frozen=True)
class Quantities:
    """What is known of the nodes (by row) and edges of a graph."""

    values: Mapping[GraphRow, Quantity] = field(default_factory=dict)
    local: Mapping[Edge, Quantity] = field(default_factory=dict)
    adjoint: Mapping[GraphRow, Quantity] = field(default_factory=dict)
    share: Mapping[Edge, Quantity] = field(default_factory=dict)  # what a use adds to an adjoint
    of: Mapping[GraphRow, Any] = field(default_factory=dict)  # what is derived, with its seeds


def formula(graph: Structure, node: GraphRow) -> Quantity | None:
    """The right-hand side of a node; None for what has none."""
    if graph.ops[node] in ("edges", *LEAVES):
        return None
    try:
        declared = formula_line(graph, node)
    except GraphcError:
        return TOO_LONG
    return Quantity(declared, declared.text)


def quantities(
    graph: Structure, at: Mapping[str, Any] | None, of: Any, show: Any = None
) -> Quantities:
    """The values, local derivatives and adjoints that are to be shown."""
    wanted = _wanted(show)
    ends = _ends(graph, of, asked="adjoint" in wanted and show is not None)
    derived = ends if "adjoint" in wanted else {}
    if at is not None and of is None and show is None and _lacks_seed(graph, derived):
        derived = {}  # nobody asked for the derivative of a tensor
    needed = upstream(graph, ends) if of is not None and ends else None
    if at is None:
        found = _in_symbols(graph, wanted, derived)
    else:
        found = _at_a_point(graph, at, wanted, derived, needed)
    return replace(found, of=ends)


def _wanted(show: Any) -> tuple[str, ...]:
    if show is None:
        return SHOWN
    wanted = tuple(show) if isinstance(show, (list, tuple, set)) else (show,)
    for word in wanted:
        one_of(word, SHOWN, "show")
    return wanted


def _ends(graph: Structure, of: Any, asked: bool) -> dict[GraphRow, Any]:
    """What is derived; nothing if it was not said and the outputs are several."""
    if of is None and not asked and len(graph.outputs()) != 1:
        return {}
    return seeds_of(graph, of)


def _lacks_seed(graph: Structure, ends: dict[GraphRow, Any]) -> bool:
    """Whether a tensor of several elements is derived without a seed of its shape."""
    return any(
        _is_one(seed) and any(s != 1 for s in graph.shape(row)) for row, seed in ends.items()
    )


def _is_one(seed: Any) -> bool:
    return isinstance(seed, int) and seed == 1


def marked(graph: Structure, of: Any) -> dict[GraphRow, Any]:
    """What is derived: `of`, or the only output, or nothing."""
    return _ends(graph, of, asked=False)


# At a point.


def _at_a_point(
    graph: Structure,
    at: Mapping[str, Any],
    wanted: tuple[str, ...],
    ends: dict[GraphRow, Any],
    needed: set[GraphRow] | None,
) -> Quantities:
    request = Request(graph, at, needed=needed)
    evaluation = request.evaluation
    values: dict[GraphRow, Quantity] = {}
    local: dict[Edge, Quantity] = {}
    adjoint: dict[GraphRow, Quantity] = {}
    if "values" in wanted:
        for node in graph.nodes():
            value = _known(evaluation.value, node)
            if value is not None:
                values[node] = _number(value)
    if "local" in wanted:
        for node in graph.nodes():
            if evaluation.is_tensor(node):
                continue
            partials = _known(evaluation.local, node) or ()
            passes = graph.formula(node).passes
            for edge, z in enumerate(partials):
                local[node, edge] = _number(z) if passes[edge] and z is not None else STOPPED
        if graph.has_tensors:
            local.update(_local_formulas(Request(graph, None, "steps"), only_tensors=True))
    share: dict[Edge, Quantity] = {}
    if ends:
        carried = adjoints(request, ends)
        adjoint = {row: _number(z) for row, z in carried.items()}
        pulled = {edge: evaluation.pull(edge, carried[edge[0]]) for edge in _shared(graph, carried)}
        share = {edge: _number(z) for edge, z in pulled.items() if z is not None}
    request.tell_kinks()
    return Quantities(values, local, adjoint, share)


def _shared(graph: Structure, nodes: Iterable[GraphRow]) -> list[Edge]:
    """The edges into these nodes from parameters that several of them use."""
    uses: dict[GraphRow, list[Edge]] = {}
    for node in nodes:
        for edge, source in graph.edges_of(node):
            if graph.ops[source] == "param":
                uses.setdefault(source, []).append((node, edge))
    return [edge for edges in uses.values() if len(edges) > 1 for edge in edges]


def _known(ask: Any, node: GraphRow) -> Any:
    """What is known of a node at this point, None if it needs a value that was not given."""
    try:
        return ask(node)
    except GraphcError:
        return None


def _number(value: Any) -> Quantity:
    if type(value) is Undefined:
        return Quantity(leaf("undefined"), f"undefined: {value.reason}")
    relation, shown = value_phrase(value)
    return Quantity(shown, full_number(value), relation)


# In symbols.


def _in_symbols(graph: Structure, wanted: tuple[str, ...], ends: dict[GraphRow, Any]) -> Quantities:
    local = _symbolic(graph, _local_formulas) if "local" in wanted else {}
    seeds = {row: _seed(graph, row, seed) for row, seed in ends.items()}

    def steps(request: Request) -> dict[GraphRow, Quantity]:
        return {row: _expression(request, z) for row, z in adjoints(request, seeds).items()}

    def shares(request: Request) -> dict[Edge, Quantity]:
        pulled = {}
        for node, edge in _shared(graph, upstream(graph, ends)):
            adjoint = request.symbol(f"{graph.names[node]}_bar", graph.shape(node))
            pulled[node, edge] = request.evaluation.pull((node, edge), adjoint)
        return {edge: _expression(request, z) for edge, z in pulled.items() if z is not None}

    if not ends:
        return Quantities({}, local)
    return Quantities({}, local, _symbolic(graph, steps), _symbolic(graph, shares))


def _symbolic(
    graph: Structure, derive: Callable[[Request], dict[K, Quantity]]
) -> dict[K, Quantity]:
    """Derived by SymPy, which writes shorter results, or else in formulas as they come."""
    if not _is_slow(graph):
        try:
            return derive(Request(graph, None, "steps"))
        except GraphcError:
            pass  # told again below, if it is not for the length of a result
    return derive(Request(graph, None, "steps", rows=True))


def _is_slow(graph: Structure) -> bool:
    """Whether SymPy takes too long: for long formulas, and for the cases of a maximum of many."""
    return any(len(graph.formula(node).rows) > LONG_FORMULA for node in graph.nodes()) or any(
        len(operands) > 2 and op in FUNCTIONS and FUNCTIONS[op].variadic and FUNCTIONS[op].kinks
        for op, operands in zip(graph.ops, graph.operands, strict=True)
    )


def _seed(graph: Structure, row: GraphRow, seed: Any) -> Any:
    """The seed; a tensor of several elements that was given none has its adjoint as a symbol."""
    missing = _lacks_seed(graph, {row: seed})
    return graph.unused_name(f"{graph.names[row]}_bar") if missing else seed


def _local_formulas(request: Request, only_tensors: bool = False) -> dict[Edge, Quantity]:
    """The local derivative of each edge as a formula."""
    graph, evaluation = request.graph, request.evaluation
    return {
        (node, edge): _edge_formula(request, (node, edge)) if passes else STOPPED
        for node in sorted(request.declared)
        if evaluation.is_tensor(node) or not only_tensors
        for edge, passes in enumerate(graph.formula(node).passes)
    }


def _edge_formula(request: Request, edge: Edge) -> Quantity:
    """The partial or Jacobian; where that has no matrix form, what the edge sends back."""
    row = request.local_row(edge)
    if row is None:
        return STOPPED
    found = _expression(request, row)
    if found is TOO_LONG or found.shown.text == found.full:
        return found
    graph = request.graph
    adjoint = request.symbol(f"{graph.names[edge[0]]}_bar", graph.shape(edge[0]))
    return _expression(request, request.evaluation.pull(edge, adjoint))


def _expression(request: Request, found: Any) -> Quantity:
    try:
        shown = result_line(request.finish(found, lambda: "a derivative"))
    except GraphcError:
        return TOO_LONG
    return Quantity(leaf(ELLIPSIS) if INDICES in words(shown) else shown, shown.text)


def result_line(result: Any) -> Phrase:
    """A symbolic result as one line."""
    if isinstance(result, Expression):
        return result.phrase(NUMPY)
    from ..write.symbols import line

    return line(result)
