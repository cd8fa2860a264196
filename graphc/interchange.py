"""Graphs from and to other forms: SymPy expressions, bare edges, networkx."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .errors import GraphcError, listing
from .expressions import declare_partial, expression
from .formula import expression_text, formula_text, value_text
from .functions import FUNCTIONS
from .graphs import Graph
from .names import checked
from .paths import topological
from .structure import checked_number
from .value import Value

# Edges of which only the local derivatives are known.


def from_edges(edges: Any, name: str = "edges") -> Graph:
    """A graph of which only local derivatives are known: {(source, target): z} or (source, target, z)."""
    triples = _triples(edges)
    order = _ordered([(source, target) for source, target, _ in triples])
    graph = Graph(name)
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
    advice = "give {(source, target): z} or a list of (source, target, z)"
    if isinstance(edges, Mapping):
        items: Iterable[Any] = [(key, z) for key, z in edges.items()]
        if any(not isinstance(key, tuple) or len(key) != 2 for key in edges):
            raise GraphcError(f"a key of the edges is not a pair of names; {advice}")
        edges = [(source, target, z) for (source, target), z in items]
    try:
        triples = [(source, target, z) for source, target, z in edges]
    except (TypeError, ValueError):
        raise GraphcError(f"cannot read the edges; {advice}") from None
    if not triples:
        raise GraphcError(f"there are no edges; {advice}")
    return [(checked(source), checked(target), z) for source, target, z in triples]


def _ordered(pairs: list[tuple[str, str]]) -> list[str]:
    """The nodes in topological order; a cycle is shown."""
    nodes = list(dict.fromkeys(node for pair in pairs for node in pair))
    order, cycle = topological(pairs, nodes)
    if cycle:
        raise GraphcError(
            f"the edges form a cycle, {' -> '.join(cycle[:12])}{' -> ...' * (len(cycle) > 12)}; a "
            "computation graph has none: unroll the loop over time"
        )
    return order


def _local_row(graph: Graph, z: Any, source: str, target: str) -> int:
    """The row of a known local derivative: a number, an exact string, or a formula of symbols."""
    if isinstance(z, str):
        # a scratch name space: the symbols of local derivatives are not nodes
        known, graph.rows = graph.rows, {}
        try:
            return expression(graph, z, f"edge {source} -> {target}", symbols=True)
        finally:
            graph.rows = known
    if hasattr(z, "free_symbols") and getattr(z, "free_symbols", None):
        return _Reader(graph, lambda symbol: graph.append("symbol", symbol=checked(symbol))).read(z)
    try:
        return graph.constant(checked_number(z))
    except GraphcError as error:
        raise GraphcError(f"edge {source} -> {target}: {error}") from None


# SymPy.


def from_sympy(
    expressions: Any, inputs: str | Iterable[Any] | None = None, name: str = "graph"
) -> Graph:
    """A graph with one node per operation of {name: expression}; other symbols are params."""
    import sympy

    if not isinstance(expressions, Mapping):
        expressions = {"y": expressions}
    outputs = {key: sympy.sympify(expr, strict=True) for key, expr in _real(expressions).items()}
    graph = Graph(name)
    symbols = sorted({s.name for expr in outputs.values() for s in expr.free_symbols})
    wanted = inputs.replace(",", " ").split() if isinstance(inputs, str) else inputs
    chosen = symbols if wanted is None else [str(symbol) for symbol in wanted]
    for symbol in chosen:
        graph.input(symbol)
    for symbol in symbols:
        if symbol not in chosen:
            graph.param(symbol)
    reader = _Reader(graph, lambda symbol: graph.rows[symbol])
    for key, expr in outputs.items():
        row = reader.read(expr)
        if row in graph.names:
            row = graph.append("identity", (row,))
        graph.bind(key, row)
    number = 1
    for row in reader.operations:
        if row not in graph.names:
            while f"v{number}" in graph.rows:
                number += 1
            graph.bind(f"v{number}", row)
    for key in outputs:
        graph.output(key)
    return graph


def _real(expressions: Mapping[Any, Any]) -> dict[str, Any]:
    for key, expr in expressions.items():
        if not hasattr(expr, "free_symbols"):
            raise GraphcError(
                f"from_sympy: {key!r} is {type(expr).__name__}, not a SymPy expression; text is read "
                "by gc.parse"
            )
    return dict(expressions)


class _Reader:
    """Appends the rows of SymPy expressions; equal sub-expressions share a row."""

    def __init__(self, graph: Graph, symbol: Callable[[str], int]) -> None:
        self.graph = graph
        self.symbol = symbol
        self.known: dict[Any, int] = {}
        self.operations: list[int] = []  # rows in the order they were made

    def read(self, root: Any) -> int:
        """The row of an expression; iterative, since expressions can be deep."""
        stack = [root]
        while stack:
            expr = stack[-1]
            if expr in self.known:
                stack.pop()
                continue
            parts = self.parts(expr)
            waiting = [part for part in parts if part not in self.known]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            self.known[expr] = self.row(expr, [self.known[part] for part in parts])
            stack.pop()
        return self.known[root]

    def parts(self, expr: Any) -> list[Any]:
        """What must be read before an expression."""
        if expr.is_Atom:
            return []
        if expr.is_Add:
            return [_positive(term)[1] for term in expr.as_ordered_terms()]
        if expr.is_Mul:
            above, below = expr.as_numer_denom()
            if below != 1 and below != expr:
                return [above, below]
            return list(expr.as_ordered_factors())
        if expr.is_Pow and expr.exp.is_Rational:
            if expr.exp < 0 and expr.exp != -1:
                return [expr.base]
            return [expr.base]
        if expr.is_Piecewise:
            return [
                part
                for branch in expr.args
                for part in (branch[1], branch[0])
                if part not in (True, False)
            ]
        return list(expr.args)

    def apply(self, op: str, rows: Iterable[int], **settings: Any) -> int:
        """A row of the table's function, remembered as a node to be."""
        operands = [Value(self.graph, row) for row in rows]
        row = self.graph.apply(op, operands, settings).row
        if FUNCTIONS[self.graph.ops[row]].binding:  # a condition is not a node
            self.operations.append(row)
        return row

    def row(self, expr: Any, rows: list[int]) -> int:
        import sympy

        if expr.is_Symbol:
            return self.symbol(expr.name)
        if expr == sympy.pi:
            return self.graph.append("pi")
        if expr == sympy.E:
            return self.apply("exp", [self.graph.constant(1)])
        if expr.is_Number:
            return self.graph.constant(float(expr) if expr.is_Float else expr)
        if expr.is_Add:
            return self._sum(expr, rows)
        if expr.is_Mul:
            if len(rows) == 2 and self._is_quotient(expr):
                return self.apply("div", rows)
            if expr.as_ordered_factors()[0] == -1 and len(rows) > 1:
                return self.apply("neg", [self._fold("mul", rows[1:])])
            return self._fold("mul", rows)
        if expr.is_Pow:
            return self._power(expr, rows)
        if expr.is_Piecewise:
            return self._piecewise(expr)
        return self._function(expr, rows)

    def _is_quotient(self, expr: Any) -> bool:
        below = expr.as_numer_denom()[1]
        return bool(below != 1 and below != expr)

    def _fold(self, op: str, rows: list[int]) -> int:
        total = rows[0]
        for row in rows[1:]:
            total = self.apply(op, [total, row])
        return total

    def _sum(self, expr: Any, rows: list[int]) -> int:
        signs = [_positive(term)[0] for term in expr.as_ordered_terms()]
        first = signs.index(1) if 1 in signs else 0
        order = [first, *(i for i in range(len(rows)) if i != first)]
        total = rows[first] if signs[first] > 0 else self.apply("neg", [rows[first]])
        for i in order[1:]:
            total = self.apply("add" if signs[i] > 0 else "sub", [total, rows[i]])
        return total

    def _power(self, expr: Any, rows: list[int]) -> int:
        import sympy

        if expr.base == sympy.E and not expr.exp.is_Rational:
            return self.apply("exp", rows[-1:])
        if expr.exp == -1:
            return self.apply("div", [self.graph.constant(1), rows[0]])
        if expr.exp == sympy.Rational(1, 2):
            return self.apply("sqrt", rows[:1])
        if expr.exp.is_Rational:
            exponent = self.graph.constant(expr.exp)
            return self.apply("pow", [rows[0], exponent])
        return self.apply("pow", rows)

    def _piecewise(self, expr: Any) -> int:
        branches = list(expr.args)
        if branches[-1][1] != True:  # noqa: E712
            raise GraphcError(f"from_sympy: {expr} has no value outside its conditions")
        total = self.known[branches[-1][0]]
        for value, condition in reversed(branches[:-1]):
            total = self.apply("where", [self.known[condition], self.known[value], total])
        return total

    def _function(self, expr: Any, rows: list[int]) -> int:
        from .symbols import RELATIONS, Bracket, is_relation

        if isinstance(expr, Bracket):
            one, zero = self.graph.constant(1), self.graph.constant(0)
            return self.apply("where", [rows[0], one, zero])
        if is_relation(expr):
            op = next(key for key, kind in RELATIONS.items() if type(expr) is type(kind(*_XY)))
            return self.apply(op, rows)
        native = {record.native.get("sympy"): record.name for record in FUNCTIONS.values()}
        op = native.get(type(expr).__name__) or {"Heaviside": "heaviside"}.get(type(expr).__name__)
        if op is None:
            known = listing(sorted(key for key in native if key), 40)
            raise GraphcError(
                f"from_sympy: {type(expr).__name__} is not in the function table (known: {known}); "
                "rewrite the expression, or declare the function with gc.declare"
            )
        return self.apply(op, rows[:1] if op == "heaviside" else rows)


def _xy() -> tuple[Any, Any]:
    from .symbols import symbol

    return symbol("x"), symbol("y")


class _Lazy:
    """Two symbols to tell SymPy's relations apart, made when first needed."""

    def __iter__(self) -> Any:
        return iter(_xy())


_XY = _Lazy()


def _positive(term: Any) -> tuple[int, Any]:
    """The sign of a term's number, and the term without it."""
    coefficient = term.as_coeff_Mul()[0]
    return (-1, -term) if coefficient.is_negative else (1, term)


# networkx.


def to_networkx(graph: Graph) -> Any:
    """A MultiDiGraph: nodes carry kind, formula and given value, edges their own partial."""
    import networkx

    other = networkx.MultiDiGraph(name=graph.name)
    for row in graph.nodes():
        kind = graph.kind(row)
        attributes: dict[str, Any] = {"kind": kind}
        if kind in ("const", "compute") and graph.ops[row] != "edges":
            attributes["formula"] = (
                formula_text(graph, row)
                if graph.ops[row] != "const"
                else value_text(graph.settings(row)["value"])
            )
        if row in graph.given:
            attributes["value"] = value_text(graph.given[row])
        if row in graph.declared_outputs:
            attributes["output"] = graph.declared_outputs.index(row)
        other.add_node(graph.names[row], **attributes)
    for row in graph.nodes():
        for edge, source in enumerate(graph.formula(row).sources):
            own = graph.partials.get((row, edge))
            attributes = {} if own is None else {"local": expression_text(graph, own)}
            other.add_edge(graph.names[source], graph.names[row], **attributes)
    return other


def from_networkx(other: Any) -> Graph:
    """The graph of a networkx digraph: formulas on nodes, or local derivatives on edges."""
    import networkx

    if not isinstance(other, networkx.DiGraph):
        raise GraphcError(
            f"from_networkx takes a DiGraph or MultiDiGraph, not {type(other).__name__}"
        )
    pairs = [(checked(str(s)), checked(str(t))) for s, t in other.edges()]
    nodes = [checked(str(node)) for node in other.nodes()]
    order, cycle = topological(pairs, nodes)
    if cycle:
        _ordered(pairs)
    data = {checked(str(node)): attributes for node, attributes in other.nodes(data=True)}
    if not any("formula" in attributes for attributes in data.values()):
        return _from_labelled_edges(other)
    graph = Graph(other.name or "graph")
    declared = [
        node
        for node in nodes
        if data[node].get("kind", "input") in ("input", "param") and "formula" not in data[node]
    ]
    for node in declared:
        value = data[node].get("value")
        (graph.param if data[node].get("kind") == "param" else graph.input)(node, value=value)
    for node in order:
        if node not in graph.rows:
            if "formula" not in data[node]:
                raise GraphcError(f"from_networkx: node {node!r} has no formula")
            graph.node(node, str(data[node]["formula"]))
    for source, target, attributes in other.edges(data=True):
        if "local" in attributes:
            row = expression(graph, str(attributes["local"]), f"d {target} / d {source}")
            declare_partial(graph, graph.row(str(target)), graph.row(str(source)), row)
    marked = [node for node in nodes if "output" in data[node]]
    for node in sorted(marked, key=lambda node: int(data[node]["output"])):
        graph.output(node)
    return graph


def _from_labelled_edges(other: Any) -> Graph:
    triples = []
    for source, target, attributes in other.edges(data=True):
        label = next((key for key in ("local", "z", "weight") if key in attributes), None)
        if label is None:
            raise GraphcError(
                f"from_networkx: edge {source} -> {target} has no local derivative; set the edge "
                "attribute 'local', or give nodes a 'formula'"
            )
        triples.append((str(source), str(target), attributes[label]))
    return from_edges(triples, name=other.name or "edges")
