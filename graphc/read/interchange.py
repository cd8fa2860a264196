"""Graphs from and to other forms: SymPy expressions, bare edges, networkx."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import GraphcError, listing, visible
from ..names import checked
from ..structure.paths import topological
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..table.value import COMPARISONS, Value
from ..write.formula import expression_text, source_text
from ..write.line import SOURCE
from ..write.numbers import value_source
from .declaring import D
from .expressions import declare_partial, expression

# Edges of which only the local derivatives are known.


def read_edges(graph: D, edges: Any) -> D:
    """The graph with local derivatives alone: {(source, target): z}, or a list of the three."""
    triples = _triples(edges)
    order = _ordered([(source, target) for source, target, _ in triples])
    arriving: dict[str, list[tuple[str, Any]]] = {node: [] for node in order}
    for source, target, z in triples:
        arriving[target].append((source, z))
    for node in order:
        if not arriving[node]:
            graph.bind(node, graph.append("input"))
            continue
        partials = [_local_row(graph, z, source, node) for source, z in arriving[node]]
        row = graph.append("edges", tuple(graph.rows[source] for source, _ in arriving[node]))
        graph.bind(node, row)
        graph.split.add(row)
        for edge, partial in enumerate(partials):
            graph.partials[row, edge] = partial
    return graph


def _triples(edges: Any) -> list[tuple[str, str, Any]]:
    """(source, target, z) of every edge, names checked."""
    advice = "give {(source, target): z} or a list of (source, target, z)"
    if isinstance(edges, Mapping):
        for key in edges:
            if not isinstance(key, tuple) or len(key) != 2:
                raise GraphcError(f"the key {_brief(key)} is not a pair of names; {advice}")
        edges = [(source, target, z) for (source, target), z in edges.items()]
    elif isinstance(edges, str) or not isinstance(edges, Iterable):
        raise GraphcError(f"the edges are {type(edges).__name__}; {advice}")
    triples = []
    for edge in edges:
        if not isinstance(edge, (tuple, list)) or len(edge) != 3:
            raise GraphcError(f"{_brief(edge)} is not an edge; {advice}")
        triples.append((checked(edge[0]), checked(edge[1]), edge[2]))
    if not triples:
        raise GraphcError(f"there are no edges; {advice}")
    return triples


def _brief(thing: object) -> str:
    return visible(str(thing), 40)


def _ordered(pairs: list[tuple[str, str]], nodes: Iterable[str] = ()) -> list[str]:
    """The nodes in topological order, the one they came in if it is; a cycle is shown."""
    found = list(dict.fromkeys([*nodes, *(node for pair in pairs for node in pair)]))
    place = {node: number for number, node in enumerate(found)}
    if all(place[source] < place[target] for source, target in pairs):
        return found
    order, cycle = topological(pairs, found)
    if cycle:
        raise GraphcError(
            f"the edges form a cycle, {' -> '.join(cycle[:12])}{' -> ...' * (len(cycle) > 12)}; a "
            "computation graph has none: unroll the loop over time"
        )
    return order


def _local_row(graph: Structure, z: Any, source: str, target: str) -> GraphRow:
    """The row of a known local derivative: a number, an exact string, or a formula of symbols."""
    what = f"edge {source} -> {target}"
    if isinstance(z, str):
        return expression(graph, z, what, symbols=True)
    try:
        if getattr(z, "free_symbols", None):
            free = _Reader(graph, lambda name: graph.append("symbol", symbol=checked(name)))
            return free.number(z)
        return graph.constant(z)
    except GraphcError as error:
        raise GraphcError(f"{what}: {error}") from None


# SymPy.


def read_sympy(graph: D, expressions: Any, inputs: str | Iterable[Any] | None) -> D:
    """The graph with one node per operation of {name: expression}; other symbols are params."""
    outputs = expressions if isinstance(expressions, Mapping) else {"y": expressions}
    for key, expr in outputs.items():
        if not hasattr(expr, "free_symbols"):
            raise GraphcError(
                f"from_sympy: {_brief(key)} is {type(expr).__name__}, not a SymPy expression; text "
                "is read by gc.parse"
            )
    if not isinstance(inputs, (str, Iterable, type(None))):
        raise GraphcError(f"inputs= takes names, not {type(inputs).__name__}; write inputs='x1 x2'")
    found = {symbol for expr in outputs.values() for symbol in expr.free_symbols}
    symbols = sorted({symbol.name for symbol in found})
    if len(symbols) < len(found):
        twice = next(s for s in symbols if sum(symbol.name == s for symbol in found) > 1)
        raise GraphcError(
            f"from_sympy: {_brief(twice)} is the name of two symbols with different assumptions; "
            "use one of them, such as sympy.Symbol(...) without assumptions"
        )
    wanted = inputs.replace(",", " ").split() if isinstance(inputs, str) else inputs
    chosen = symbols if wanted is None else [str(symbol) for symbol in wanted]
    for symbol in chosen:
        graph.input(symbol)
    for symbol in symbols:
        if symbol not in chosen:
            graph.param(symbol)
    reader = _Reader(graph, graph.row)
    for key, expr in outputs.items():
        row = reader.number(expr)
        if row in graph.names:
            row = graph.operation("identity", (row,), {})
        graph.bind(key, row)
    number = 1
    for row in reader.operations:
        if row not in graph.names:
            while f"v{number}" in graph.rows:
                number += 1
            graph.bind(f"v{number}", row)
    graph.output(*outputs)
    return graph


class _Reader:
    """Appends the rows of SymPy expressions; equal sub-expressions share a row."""

    def __init__(self, graph: Structure, symbol: Callable[[str], GraphRow]) -> None:
        self.graph = graph
        self.symbol = symbol
        self.known: dict[Any, GraphRow] = {}
        self.operations: list[GraphRow] = []  # rows in the order they were made

    def number(self, expr: Any) -> GraphRow:
        """The row of an expression, which must be a scalar."""
        if expr.is_Matrix:
            raise GraphcError(
                f"{type(expr).__name__} is a matrix, and this version has scalars only; give its "
                "entries one by one"
            )
        row = self.read(expr)
        if self.graph.is_condition(row):
            raise GraphcError(
                f"{_brief(expr)} is a condition, not a number; use Piecewise((1, cond), (0, True))"
            )
        return row

    def read(self, root: Any) -> GraphRow:
        """The row of an expression; iterative, since expressions can be deep."""
        stack = [root]
        while stack:
            expr = stack[-1]
            parts = self.parts(expr) if expr not in self.known else []
            waiting = [part for part in parts if part not in self.known]
            stack.extend(reversed(waiting))
            if not waiting:
                stack.pop()
                if expr not in self.known:
                    self.known[expr] = self.row(expr, [self.known[part] for part in parts])
        return self.known[root]

    def parts(self, expr: Any) -> list[Any]:
        """What must be read before an expression."""
        if expr.is_Add:
            return [_without_sign(term)[1] for term in expr.as_ordered_terms()]
        if expr.is_Mul:
            above, below = expr.as_numer_denom()
            return [above, below] if _divides(expr) else list(expr.as_ordered_factors())
        if expr.is_Pow and expr.exp.is_Rational:
            return [expr.base]
        if expr.is_Piecewise:  # conditions and values; the last condition is True
            pieces = [part for value, condition in expr.args for part in (condition, value)]
            return [part for part in pieces if not (part.is_Boolean and part.is_Atom)]
        if expr.args and not expr.is_Pow:
            _operation(expr)  # refused before its arguments are looked at
        return list(expr.args)

    def apply(self, op: str, rows: Iterable[GraphRow]) -> GraphRow:
        """A row of the table's function, remembered as a node to be."""
        row = self.graph.apply(op, [Value(self.graph, row) for row in rows], {}).row
        if not self.graph.is_condition(row):  # a condition is part of its where
            self.operations.append(row)
        return row

    def row(self, expr: Any, rows: list[GraphRow]) -> GraphRow:
        """The row of an expression whose parts have these rows."""
        import sympy

        if expr.is_Symbol:
            return self.symbol(expr.name)
        if expr == sympy.pi:
            return self.graph.append("pi")
        if expr == sympy.E:
            return self.apply("exp", [self.graph.constant(1)])
        if expr.is_Number:
            if not expr.is_finite:
                raise GraphcError(f"{expr} is not a finite number; use one that is")
            return self.graph.constant(float(expr) if expr.is_Float else expr)
        if expr.is_Add:
            return self._sum(expr, rows)
        if expr.is_Mul:
            if _divides(expr):
                return self.apply("div", rows)
            if expr.as_ordered_factors()[0] == -1:
                return self.apply("neg", [self._product(rows[1:])])
            return self._product(rows)
        if expr.is_Pow:
            return self._power(expr, rows)
        if expr.is_Piecewise:
            return self._piecewise(expr)
        return self._function(expr, rows)

    def _product(self, rows: list[GraphRow]) -> GraphRow:
        total = rows[0]
        for row in rows[1:]:
            total = self.apply("mul", [total, row])
        return total

    def _sum(self, expr: Any, rows: list[GraphRow]) -> GraphRow:
        signs = [_without_sign(term)[0] for term in expr.as_ordered_terms()]
        first = signs.index(1) if 1 in signs else 0
        total = rows[first] if signs[first] > 0 else self.apply("neg", [rows[first]])
        for place, row in enumerate(rows):
            if place != first:
                total = self.apply("add" if signs[place] > 0 else "sub", [total, row])
        return total

    def _power(self, expr: Any, rows: list[GraphRow]) -> GraphRow:
        import sympy

        if expr.base == sympy.E and not expr.exp.is_Rational:
            return self.apply("exp", rows[-1:])
        if expr.exp == -1:
            return self.apply("div", [self.graph.constant(1), rows[0]])
        if expr.exp == sympy.Rational(1, 2):
            return self.apply("sqrt", rows)
        if expr.exp.is_Rational:
            return self.apply("pow", [rows[0], self.graph.constant(expr.exp)])
        return self.apply("pow", rows)

    def _piecewise(self, expr: Any) -> GraphRow:
        *branches, (otherwise, last) = expr.args
        if last != True:  # noqa: E712  # sympy.true compares equal, and `is` would miss bool
            raise GraphcError(
                f"{_brief(expr)} has no value outside its conditions; add a branch "
                "with the condition True"
            )
        total = self.known[otherwise]
        for value, condition in reversed(branches):
            total = self.apply("where", [self.known[condition], self.known[value], total])
        return total

    def _function(self, expr: Any, rows: list[GraphRow]) -> GraphRow:
        op = _operation(expr)
        if op == "bracket":
            return self.apply("where", [rows[0], self.graph.constant(1), self.graph.constant(0)])
        return self.apply(op, rows)


def _operation(expr: Any) -> str:
    """The name in the table of a SymPy function or relation."""
    from ..algebra.symbols import Bracket, is_relation

    if isinstance(expr, Bracket):
        return "bracket"
    if is_relation(expr):
        return {sign: op for op, sign in COMPARISONS.items()}[expr.rel_op]
    native = {record.native.get("sympy", ""): record.name for record in FUNCTIONS.values()}
    native["Heaviside"] = "heaviside"
    name = type(expr).__name__
    if name not in native:
        known = listing(sorted(key for key in native if key), 40)
        raise GraphcError(
            f"{name} is not in the function table (known: {known}); rewrite the expression, or "
            "declare the function with gc.declare"
        )
    return native[name]


def _divides(expr: Any) -> bool:
    """Whether a product has a denominator."""
    below = expr.as_numer_denom()[1]
    return bool(below != 1 and below != expr)


def _without_sign(term: Any) -> tuple[int, Any]:
    """The sign of a term's number, and the term without it."""
    return (-1, -term) if term.as_coeff_Mul()[0].is_negative else (1, term)


# networkx.


def to_networkx(graph: Structure) -> Any:
    """A MultiDiGraph: nodes carry kind, formula and given value, edges their own partial."""
    import networkx

    other = networkx.MultiDiGraph(name=graph.name)
    for row in graph.nodes():
        kind = graph.kind(row)
        attributes: dict[str, Any] = {"kind": kind}
        if kind in ("const", "compute") and graph.ops[row] != "edges":
            attributes["formula"] = source_text(graph, row)
        if row in graph.shapes:
            attributes["shape"] = graph.shapes[row]
        if row in graph.given:
            attributes["value"] = value_source(graph.given[row])
        if row in graph.declared_outputs:
            attributes["output"] = 1 + graph.declared_outputs.index(row)
        other.add_node(graph.names[row], **attributes)
    for row in graph.nodes():
        for edge, source in enumerate(graph.formula(row).sources):
            own = graph.partials.get((row, edge))
            attributes = {} if own is None else {"local": expression_text(graph, own, SOURCE)}
            other.add_edge(graph.names[source], graph.names[row], **attributes)
    return other


def read_networkx(graph: D, other: Any) -> D:
    """The graph of a networkx digraph: formulas on nodes, or local derivatives on edges."""
    import networkx

    if not isinstance(other, networkx.DiGraph):
        raise GraphcError(
            f"from_networkx takes a DiGraph or MultiDiGraph, not {type(other).__name__}"
        )
    data = {checked(str(node)): attributes for node, attributes in other.nodes(data=True)}
    if len(data) != len(other):
        raise GraphcError("two nodes have the same name once h[3] is spelt h3; rename one of them")
    edges = [(checked(str(s)), checked(str(t)), label) for s, t, label in other.edges(data=True)]
    order = _ordered([(source, target) for source, target, _ in edges], data)
    if edges and not any("formula" in attributes for attributes in data.values()):
        return read_edges(graph, [(s, t, _known_local(s, t, label)) for s, t, label in edges])
    arriving: dict[str, Counter[str]] = {node: Counter() for node in data}
    for source, target, _ in edges:
        arriving[target][source] += 1
    for node, attributes in data.items():
        if attributes.get("kind", "input") in ("input", "param") and "formula" not in attributes:
            declare = graph.param if attributes.get("kind") == "param" else graph.input
            declare(node, attributes.get("shape", ()), attributes.get("value"))
    for node in order:
        if node not in graph.rows:
            if "formula" not in data[node]:
                raise GraphcError(f"from_networkx: node {node!r} has no formula; add one")
            row = graph.node(node, str(data[node]["formula"])).row
            named = [graph.names[o] for o in graph.operands[row] if o in graph.names]
            if len(set(named)) < len(named) and Counter(named) == arriving[node]:
                graph.split.add(row)  # parallel edges: the node of an expanded graph
    for source, target, label in edges:
        if "local" in label:
            own = expression(graph, str(label["local"]), f"d {target} / d {source}")
            declare_partial(graph, graph.row(target), graph.row(source), own)
    marked = {node: attributes.get("output") for node, attributes in data.items()}
    graph.output(*sorted(filter(marked.get, marked), key=lambda node: _place(marked[node])))
    return graph


def _place(mark: Any) -> int:
    """The place among the outputs that to_networkx wrote; any other mark comes first."""
    return mark if isinstance(mark, int) else 0


def _known_local(source: str, target: str, label: Mapping[str, Any]) -> Any:
    for key in ("local", "z", "weight"):
        if key in label:
            return label[key]
    raise GraphcError(
        f"from_networkx: edge {source} -> {target} has no local derivative; set the edge attribute "
        "'local', or give nodes a 'formula'"
    )
