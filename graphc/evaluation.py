"""A graph at a point, or in symbols: values of rows and local derivatives of nodes.

Evaluation carries both in one algebra; Request makes one from what a user asked, and turns what
comes out into what users get, telling kinks and numbers that are not finite.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import names as naming
from .arithmetic import NUMBERS, Undefined, as_float, brief, from_user, present, sign_of
from .errors import GraphcError, KinkWarning, NotFiniteWarning, listing
from .expressions import constant, expression
from .formula import formula_text
from .paths import sweep
from .rules import Algebra, rule
from .structure import LEAVES, Structure

FORMS = ("nodes", "inputs", "steps")
Edge = tuple[int, int]  # (target node, number of the edge into it)


class Derivatives(dict[Any, Any]):
    """Results by name; `.kinks` names the nodes that sat on a kink."""

    kinks: tuple[str, ...] = ()


class Evaluation:
    """Values of rows and local derivatives of nodes, in one algebra."""

    def __init__(
        self, graph: Structure, algebra: Algebra, known: dict[int, Any], symbols: Mapping[str, Any]
    ) -> None:
        self.graph = graph
        self.algebra = algebra
        self.values = known
        self.symbols = symbols  # values of the free symbols of a from_edges graph
        self.kinks: dict[int, None] = {}  # nodes found on a kink, in order
        self.gated = False  # whether a branch not taken has cut a path
        self._locals: dict[int, tuple[Any, ...]] = {}

    def value(self, row: int) -> Any:
        """The value of a row."""
        if row not in self.values:
            self._compute(row)
        return self.values[row]

    def _compute(self, row: int) -> None:
        graph, values = self.graph, self.values
        needed, stack = set(), [row]
        while stack:
            here = stack.pop()
            if here not in needed and here not in values:
                needed.add(here)
                stack.extend(graph.operands[here])
        for here in sorted(needed):
            op, settings = graph.ops[here], graph.settings(here)
            if op == "const":
                values[here] = self.algebra.constant(settings["value"])
            elif op == "symbol":
                values[here] = self.symbols[settings["symbol"]]
            elif op == "edges" or op in LEAVES:
                raise GraphcError(
                    f"the value of {graph.label(here)} is not known: this graph was made from "
                    "local derivatives alone; ask for derivatives, not for values"
                )
            else:
                arguments = [values[operand] for operand in graph.operands[here]]
                values[here] = self.algebra.apply(op, arguments, settings)

    def local(self, node: int) -> tuple[Any, ...]:
        """The local derivative of each edge into a node; None where no derivative passes."""
        known = self._locals.get(node)
        if known is None:
            known = self._locals[node] = self._local(node)
        return known

    def _local(self, node: int) -> tuple[Any, ...]:
        graph = self.graph
        formula = graph.formula(node)
        own = [graph.partials.get((node, edge)) for edge in range(len(formula.sources))]
        if all(row is not None for row in own):
            return tuple(self.value(row) for row in own if row is not None)
        if node in graph.split:
            named = [o in graph.names for o in graph.operands[node]]
            slots = self.partials(node, node) if formula.passes[0] else [None] * len(named)
            derived = [z for z, is_edge in zip(slots, named, strict=True) if is_edge]
        else:
            derived = self._inside(node)
        return tuple(
            derived[edge] if row is None else self.value(row) for edge, row in enumerate(own)
        )

    def _inside(self, node: int) -> list[Any]:
        """The same sweep inside the node's formula: from the node to the names it mentions."""
        graph, formula = self.graph, self.graph.formula(node)
        operands = graph.operands[node]
        if len(formula.rows) == 1 and len(set(operands)) == len(operands):
            slots = self.partials(node, node) if graph.ops[node] != "stop" else [None]
            return list(slots)
        inside = set(formula.rows)

        def hops(row: int) -> Iterable[tuple[int, Any]]:
            if row not in inside or graph.ops[row] == "stop" or not graph.operands[row]:
                return ()
            return zip(graph.operands[row], self.partials(row, node), strict=True)

        adjoints = sweep(
            reversed(formula.rows), hops, {node: self.algebra.constant(1)}, self.times, self.add
        )
        return [adjoints.get(source) for source in formula.sources]

    def partials(self, row: int, node: int) -> list[Any]:
        """The partial of one operation by each operand."""
        graph = self.graph
        operands = graph.operands[row]
        arguments = [self.value(operand) for operand in operands]
        arguments.append(self.value(row))
        applied = rule(graph.ops[row], len(operands), graph.settings(row))
        for switch in applied.switches:
            if self.algebra is NUMBERS and _is_zero(switch.run(NUMBERS, arguments)):
                self._on_kink(row, node)
        found = [partial.run(self.algebra, arguments) for partial in applied.partials]
        self.gated = self.gated or None in found
        return found

    def _on_kink(self, row: int, node: int) -> None:
        self.kinks[node] = None
        if self.graph.settings(row).get("kink") == "error":
            raise GraphcError(
                f"node {self.graph.names[node]!r} = {formula_text(self.graph, node)} sits on its "
                "kink and was declared with kink='error'; choose another point or another kink="
            )

    def pull(self, edge: Edge, adjoint: Any) -> Any:
        """What an adjoint of the edge's target brings to its source; None if nothing passes."""
        return self.times(self.local(edge[0])[edge[1]], adjoint)

    def push(self, edge: Edge, tangent: Any) -> Any:
        """What a tangent of the edge's source brings to its target; None if nothing passes."""
        return self.times(self.local(edge[0])[edge[1]], tangent)

    def times(self, local: Any, carried: Any) -> Any:
        """A carried scalar times a local derivative."""
        return None if local is None else self.algebra.apply("mul", (carried, local), {})

    def add(self, old: Any, new: Any) -> Any:
        """Two values that arrived over different paths."""
        return self.algebra.apply("add", (old, new), {})


def _is_zero(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool((value == 0).any())
    return type(value) is not Undefined and not isinstance(value, bool) and sign_of(value) == 0


# From a request to an evaluation.


class Request:
    """A graph at a point (or in symbols), with the shape of the points and the final touch."""

    def __init__(
        self,
        graph: Structure,
        at: Mapping[str, Any] | None,
        form: str = "nodes",
        needed: Iterable[int] | None = None,
        pinned: Iterable[int] | None = None,
    ) -> None:
        self.graph = graph
        self.shape: tuple[int, ...] = ()
        self.symbolic = at is None
        self.form = form
        if form not in FORMS:
            raise GraphcError(f"form={form!r} is not known; use one of {listing(FORMS)}")
        if at is None:
            self.evaluation = self._symbols(pinned)
        else:
            self.evaluation = self._numbers(at, needed)

    def _symbols(self, pinned: Iterable[int] | None) -> Evaluation:
        from .symbols import Symbols, symbol

        advice = (
            "give numbers with at={...}, use form='steps', or differentiate() for a graph of "
            "derivatives"
        )
        graph = self.graph
        if pinned is None:
            pinned = graph.leaves() if self.form == "inputs" else graph.nodes()
        known = {row: symbol(graph.names[row]) for row in pinned}
        free = {name: symbol(name) for name in free_symbols(graph)}
        return Evaluation(graph, Symbols(advice), known, free)

    def _numbers(self, at: Mapping[str, Any], needed: Iterable[int] | None) -> Evaluation:
        graph = self.graph
        if not isinstance(at, Mapping):
            raise GraphcError(f"at= takes a dict of names and values, not {type(at).__name__}")
        wanted = set(free_symbols(graph))
        bare = any(op == "edges" for op in graph.ops)
        leaves = {graph.names[row]: row for row in graph.leaves()}
        known: dict[int, Any] = {}
        free: dict[str, Any] = {}
        for row, value in graph.given.items():
            known[row] = value
        for key, value in at.items():
            name = naming.spelling(key) if isinstance(key, str) else key
            given = number(value, name)
            if name in leaves:
                known[leaves[name]] = given
            elif name in wanted:
                free[name] = given
            elif name in graph.copies:
                for copy in graph.copies[name]:
                    known.setdefault(leaves[copy], given)
            elif name in graph.rows:
                raise GraphcError(
                    f"at: {name!r} is computed by the graph and cannot be given "
                    f"(inputs and params: {listing([*leaves, *wanted])})"
                )
            else:
                raise GraphcError(
                    f"at: there is no input or param {name!r} (there are: "
                    f"{listing([*leaves, *wanted])})"
                )
        self._check_missing(known, free, wanted, needed, {} if bare else leaves)
        self.shape = _point_shape({**{graph.names[r]: v for r, v in known.items()}, **free})
        return Evaluation(graph, NUMBERS, known, free)

    def _check_missing(
        self,
        known: dict[int, Any],
        free: dict[str, Any],
        wanted: set[str],
        needed: Iterable[int] | None,
        leaves: dict[str, int],
    ) -> None:
        used = set(self.graph.nodes() if needed is None else needed)
        missing = [name for name, row in leaves.items() if row in used and row not in known]
        missing += [name for name in sorted(wanted) if name not in free]
        if missing:
            raise GraphcError(
                f"at: {'values are' if len(missing) > 1 else 'a value is'} missing for "
                f"{listing(missing)}; give {'them' if len(missing) > 1 else 'it'} in at={{...}} or "
                "at the declaration"
            )

    def seed(self, value: Any, what: str) -> Any:
        """A seed or tangent: a number, an exact string, or a symbol."""
        if isinstance(value, str):
            scratch = Structure("seed")
            root = expression(scratch, value, what, symbols=True)
            free = dict(self.evaluation.symbols)
            for name in free_symbols(scratch):
                if self.symbolic:
                    from .symbols import symbol

                    free[name] = symbol(name)
                elif name not in free:
                    raise GraphcError(
                        f"{what} mentions the symbol {name!r}; give a number, or ask with at=None"
                    )
            return Evaluation(scratch, self.evaluation.algebra, {}, free).value(root)
        if self.symbolic:
            return self.evaluation.algebra.constant(value)
        number = from_user(value, what)
        self.shape = np.broadcast_shapes(self.shape, np.shape(number))
        return number

    def finish(self, value: Any, what: Callable[[], str]) -> Any:
        """A result as users get it; what is not finite is told."""
        if self.symbolic:
            return value
        if type(value) is Undefined:
            raise GraphcError(f"{what()} is not a finite real number: {self._culprit()}")
        result = present(value)
        if self.shape:
            result = np.broadcast_to(as_float(value), self.shape).copy()
        if isinstance(result, (float, np.ndarray)) and not np.isfinite(result).all():
            self._told_not_finite = what() if not hasattr(self, "_told_not_finite") else ""
            if self._told_not_finite:
                warnings.warn(
                    f"{what()} is not finite at this point: {self._culprit()}",
                    NotFiniteWarning,
                    stacklevel=5,
                )
        return result

    def _culprit(self) -> str:
        """The first node whose value or derivative is not finite, in words."""
        graph, evaluation = self.graph, self.evaluation
        for row in sorted(evaluation.values):
            if _not_finite(evaluation.values[row]):
                node = next((n for n in graph.nodes() if row in graph.formula(n).rows), row)
                arguments = [brief_value(evaluation.values[o]) for o in graph.operands[row]]
                return (
                    f"node {graph.label(node)} = {formula_text(graph, node)} needs "
                    f"{graph.ops[row]}({', '.join(arguments)})"
                )
        for node, partials in evaluation._locals.items():
            if any(_not_finite(z) for z in partials):
                return (
                    f"the derivative of node {graph.label(node)} = {formula_text(graph, node)} is "
                    "not finite there"
                )
        return "the numbers overflow"

    def tell_kinks(self, result: Derivatives | None = None) -> None:
        """Says which nodes sat on a kink, as a warning and on the result."""
        found = tuple(self.graph.names[node] for node in self.evaluation.kinks)
        if result is not None:
            result.kinks = found
        if found:
            node = self.graph.rows[found[0]]
            more = f" (and {len(found) - 1} more: {listing(found[1:])})" if len(found) > 1 else ""
            warnings.warn(
                f"node {found[0]!r} = {formula_text(self.graph, node)} sits on its kink at this "
                f"point{more}; the slope taken there is a convention, see kink=",
                KinkWarning,
                stacklevel=4,
            )


def _not_finite(value: Any) -> bool:
    if type(value) is Undefined:
        return True
    if isinstance(value, (float, np.ndarray)) and not isinstance(value, bool):
        return not np.isfinite(value).all()
    return False


def brief_value(value: Any) -> str:
    """A number in a few characters, whatever it is."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    return value.reason if type(value) is Undefined else brief(value)


def free_symbols(graph: Structure) -> list[str]:
    """The names of the free symbols, in order of appearance."""
    return list(
        dict.fromkeys(
            graph.attributes[row]["symbol"]
            for row in graph.attributes
            if graph.ops[row] == "symbol"
        )
    )


def number(value: Any, name: str) -> Any:
    return (
        constant(value, f"the value of {name!r}")
        if isinstance(value, str)
        else from_user(value, f"the value of {name!r}")
    )


def _point_shape(values: Mapping[str, Any]) -> tuple[int, ...]:
    shape: tuple[int, ...] = ()
    names: list[str] = []
    for name, value in values.items():
        try:
            shape = np.broadcast_shapes(
                shape, np.shape(value) if isinstance(value, np.ndarray) else ()
            )
        except ValueError:
            raise GraphcError(
                f"at: {name!r} has shape {np.shape(value)}, which does not broadcast with "
                f"{shape} of {listing(names)}"
            ) from None
        if isinstance(value, np.ndarray):
            names.append(name)
    return shape
