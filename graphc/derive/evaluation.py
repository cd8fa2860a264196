"""Values of rows and local derivatives of nodes, carried in one algebra.

Along an edge, scalars are multiplied by the local derivative; tensors go through the operations of
the target's formula, one by one, so that no Jacobian is built.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

import numpy as np

from ..algebra.arithmetic import Numbers, is_exact_zero
from ..algebra.exact import NOTHING, Masked, Undefined, present, sign_of
from ..algebra.formulas import Formulas
from ..algebra.rules import rule
from ..errors import GraphcError
from ..read.given import array
from ..shapes import Shape
from ..structure.paths import reached, sweep
from ..structure.rows import LEAVES, NO_SETTINGS, GraphRow, interpret
from ..structure.structure import Structure
from ..table.tensors import OPERATIONS, Algebra, Local, Operation, repeated_to, summed_to
from ..table.value import Value
from ..write.formula import formula_text

UNKNOWN = ("edges", *LEAVES)  # rows whose value no formula gives
Edge = tuple[GraphRow, int]  # (target node, number of the edge into it)


class Evaluation:
    """Values of rows and local derivatives of nodes, in one algebra."""

    def __init__(
        self,
        graph: Structure,
        algebra: Algebra,
        known: dict[GraphRow, Any],
        symbols: Mapping[str, Any],
    ) -> None:
        self.graph = graph
        self.algebra = algebra
        self.values = known
        self.symbols = symbols  # values of the free symbols of a from_edges graph
        self.kinks: dict[GraphRow, None] = {}  # nodes found on a kink, in order
        self.gated = False  # whether a branch not taken, or an exact 0, has cut a path
        self.asked: Container[GraphRow] | None = None  # the rows to pull to; None: all of them
        self.lead: Shape = ()  # further leading axes of what is carried: a Jacobian's rows
        self._is_nothing = algebra.is_0 if isinstance(algebra, Formulas) else _is_closed
        self._locals: dict[GraphRow, tuple[Any, ...]] = {}
        self._pulled: tuple[GraphRow, Any, list[Any]] | None = (
            None  # the node pulled last, and its shares
        )
        self._sloped: tuple[GraphRow, list[Any]] | None = None  # the row scaled last, its partials

    def value(self, row: GraphRow) -> Any:
        """The value of a row."""
        if row not in self.values:
            self._compute(row)
        return self.values[row]

    def _compute(self, row: GraphRow) -> None:
        graph, values = self.graph, self.values
        needed = reached([row], lambda here: () if here in values else graph.operands[here])
        order = sorted(row for row in needed if row not in values)
        for here in [row for row in order if graph.ops[row] in UNKNOWN]:
            if graph.ops[here] != "symbol":
                raise GraphcError(
                    f"the value of {graph.label(here)} is not known: this graph was made from "
                    "local derivatives alone; ask for derivatives, not for values"
                )
            values[here] = self.symbols[graph.settings(here)["symbol"]]
        interpret(graph, [row for row in order if row not in values], self.algebra, values)

    def local(self, node: GraphRow) -> tuple[Any, ...]:
        """The local derivative of each edge into a node; None where no derivative passes."""
        known = self._locals.get(node)
        if known is None:
            known = self._kept(node) if self.graph.sharing is not None else self._local(node)
            self._locals[node] = known
        return known

    def _kept(self, node: GraphRow) -> tuple[Any, ...]:
        """The rows of local derivatives, from an earlier sweep unless a gate is among them."""
        sharing, algebra = self.graph.sharing, self.algebra
        if sharing is None or not isinstance(algebra, Formulas):
            return self._local(node)
        known = sharing.locals.get(node)
        if known is None:
            known = self._local(node)
            if algebra.gates.masks.keys().isdisjoint(known):
                sharing.locals[node] = known
        return known

    def _local(self, node: GraphRow) -> tuple[Any, ...]:
        graph = self.graph
        formula = graph.formula(node)
        own = [graph.partials.get((node, edge)) for edge in range(len(formula.sources))]
        if None not in own:
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

    def _inside(self, node: GraphRow) -> list[Any]:
        """The same sweep inside the node's formula: from the node to the names it mentions."""
        graph, formula = self.graph, self.graph.formula(node)
        operands = graph.operands[node]
        if len(formula.rows) == 1 and len(set(operands)) == len(operands):
            slots = self.partials(node, node) if graph.ops[node] != "stop" else [None]
            return list(slots)
        inside = set(formula.rows)

        def hops(row: GraphRow) -> Iterable[tuple[GraphRow, Any]]:
            if row not in inside or graph.ops[row] == "stop" or not graph.operands[row]:
                return ()
            return zip(graph.operands[row], self.partials(row, node), strict=True)

        adjoints = sweep(
            reversed(formula.rows), hops, {node: self.algebra.constant(1)}, self.times, self.add
        )
        return [
            adjoints[source] if source in adjoints else self._nothing() if passes else None
            for source, passes in zip(formula.sources, formula.passes, strict=True)
        ]

    def _nothing(self) -> Any:
        """The local derivative of an edge over which nothing comes."""
        return NOTHING if isinstance(self.algebra, Numbers) else self.algebra.constant(0)

    def partials(self, row: GraphRow, node: GraphRow) -> list[Any]:
        """The partial of one operation by each operand."""
        graph = self.graph
        operands = graph.operands[row]
        arguments = [self.value(operand) for operand in operands]
        own = self.value(row)
        if type(own) is Undefined:
            # where there is no value, there is no derivative
            return [Undefined(own.reason, own.cancelled)] * len(operands)
        arguments.append(own)
        applied = rule(graph.ops[row], len(operands), graph.settings(row))
        for switch in applied.switches:
            if isinstance(self.algebra, Numbers) and _is_zero(switch.run(self.algebra, arguments)):
                self._on_kink(row, node)
        if not isinstance(self.algebra, Numbers):
            return [partial.run(self.algebra, arguments) for partial in applied.partials]
        if graph.ops[row] == "where":
            self._tell_switches(operands[0], node)
        for slot, operand in enumerate(operands):
            if graph.ops[operand] == "const" and is_exact_zero(arguments[slot]):
                arguments[slot] = NOTHING
        return [
            NOTHING if partial.is_zero else partial.run(self.algebra, arguments)
            for partial in applied.partials
        ]

    def _on_kink(self, row: GraphRow, node: GraphRow) -> None:
        self.kinks[node] = None
        if self.graph.settings(row).get("kink") == "error":
            raise GraphcError(
                f"node {self.graph.names[node]!r} = {formula_text(self.graph, node)} sits on its "
                "kink and was declared with kink='error'; choose another point or another kink="
            )

    # Carrying along an edge: scalars are multiplied, tensors go through the formula's operations.

    def pull(self, edge: Edge, adjoint: Any) -> Any:
        """What an adjoint of the edge's target brings to its source; None if nothing passes."""
        node, number = edge
        if not self.is_tensor(node):
            return self.times(self.local(node)[number], adjoint)
        own = self.graph.partials.get(edge)
        if own is not None:
            return self.times(self.value(own), adjoint)
        if self._pulled is None or self._pulled[0] != node or self._pulled[1] is not adjoint:
            self._pulled = (node, adjoint, self._pull_all(node, adjoint))
        return self._pulled[2][number]

    def push(self, edge: Edge, tangent: Any) -> Any:
        """What a tangent of the edge's source brings to its target; None if nothing passes."""
        node, number = edge
        if not self.is_tensor(node):
            return self.times(self.local(node)[number], tangent)
        own = self.graph.partials.get(edge)
        if own is not None:
            return self.times(self.value(own), tangent)
        return self._push_through(node, number, tangent)

    def is_tensor(self, node: GraphRow) -> bool:
        """Whether a node's formula has anything but scalars in it."""
        shapes = self.graph.shapes
        if not shapes and not self.lead:
            return False
        formula = self.graph.formula(node)
        return bool(self.lead) or any(
            row in shapes for rows in (formula.rows, formula.sources) for row in rows
        )

    def _pull_all(self, node: GraphRow, adjoint: Any) -> list[Any]:
        """The adjoint's share for each edge: one sweep back through the node's formula."""
        graph, formula = self.graph, self.graph.formula(node)
        if node in graph.split:
            named = [slot for slot, row in enumerate(graph.operands[node]) if row in graph.names]
            return [self.pull_row((node, slot), adjoint, node) for slot in named]
        inside = set(formula.rows)

        def hops(row: GraphRow) -> list[tuple[GraphRow, Edge]]:
            operands = graph.operands[row] if row in inside else ()
            return [(operand, (row, slot)) for slot, operand in enumerate(operands)]

        shares = sweep(
            reversed(formula.rows),
            hops,
            {node: adjoint},
            lambda place, carried: self.pull_row(place, carried, node),
            self.add,
        )
        return [shares.get(source) for source in formula.sources]

    def _push_through(self, node: GraphRow, number: int, tangent: Any) -> Any:
        """The tangent's effect on the node: one sweep forward through its formula."""
        graph, formula = self.graph, self.graph.formula(node)
        if node in graph.split:
            named = [slot for slot, row in enumerate(graph.operands[node]) if row in graph.names]
            return self.push_row((node, named[number]), tangent, node)
        source = formula.sources[number]
        uses: dict[GraphRow, list[tuple[GraphRow, Edge]]] = {}
        for row in formula.rows:
            for slot, operand in enumerate(graph.operands[row]):
                uses.setdefault(operand, []).append((row, (row, slot)))
        reached = sweep(
            (source, *formula.rows),
            lambda row: uses.get(row, ()) if row != node else (),
            {source: tangent},
            lambda place, carried: self.push_row(place, carried, node),
            self.add,
        )
        return reached.get(node)

    def here(self, row: GraphRow) -> Local:
        """An operation where it stands, for its rule."""
        graph = self.graph
        operands = graph.operands[row]
        return Local(
            settings=graph.settings(row),
            shapes=[graph.shape(operand) for operand in operands],
            shape=graph.shape(row),
            algebra=self.algebra,
            args=[self.value(operand) for operand in operands],
            own=self.value(row),
            lead=self.lead,
        )

    def pull_row(self, place: Edge, adjoint: Any, node: GraphRow) -> Any:
        """The adjoint of one operand of one operation."""
        row, slot = place
        op, operand = self.graph.ops[row], self.graph.operands[row][slot]
        unasked = self.graph.ops[operand] == "const" and operand not in self.graph.names
        if op == "stop" or unasked or (self.asked is not None and operand not in self.asked):
            return None
        here = self.here(row)
        if op in OPERATIONS:
            self._tell_kink(OPERATIONS[op], here, row, node)
            return OPERATIONS[op].pull(here, slot, adjoint)
        scaled = self._scaled(here, row, slot, adjoint, node)
        return None if scaled is None else summed_to(here, scaled, here.shape, here.shapes[slot])

    def push_row(self, place: Edge, tangent: Any, node: GraphRow) -> Any:
        """The tangent of one operation from that of one operand."""
        row, slot = place
        op = self.graph.ops[row]
        if op == "stop":
            return None
        here = self.here(row)
        if op in OPERATIONS:
            self._tell_kink(OPERATIONS[op], here, row, node)
            return OPERATIONS[op].push(here, slot, tangent)
        widened = repeated_to(here, tangent, here.shapes[slot], here.shape)
        return self._scaled(here, row, slot, widened, node)

    def _scaled(self, here: Local, row: GraphRow, slot: int, carried: Any, node: GraphRow) -> Any:
        """A carried value of the result's shape, times an element-wise function's partial."""
        op = self.graph.ops[row]
        if op == "where" and slot:
            gate = "taken" if slot == 1 else "untaken"
            return self._passed(self.algebra.apply(gate, (here.args[0], carried), {}))
        if op == "where" or self.graph.is_condition(row):
            self._tell_switches(row, node)
            self.gated = True  # a condition has an edge, over which nothing comes
            return None
        if self._sloped is None or self._sloped[0] != row:
            self._sloped = (row, self.partials(row, node))
        return self.times(self._sloped[1][slot], carried)

    def _tell_switches(self, row: GraphRow, node: GraphRow) -> None:
        if self.graph.operands[row] and self.graph.is_condition(row):
            self.partials(row, node)

    def _tell_kink(self, operation: Operation, here: Local, row: GraphRow, node: GraphRow) -> None:
        if isinstance(self.algebra, Numbers) and operation.on_kink(here):
            self._on_kink(row, node)

    def times(self, local: Any, carried: Any) -> Any:
        """A carried value times a local derivative."""
        if local is None or self._passed(local) is None:
            return None
        return self._passed(self.algebra.apply("mul", (carried, local), NO_SETTINGS))

    def _passed(self, value: Any) -> Any:
        """The value, or None where nothing passes."""
        if self._is_nothing(value):
            self.gated = True
            return None
        return value

    def add(self, old: Any, new: Any) -> Any:
        """Two values that arrived over different paths."""
        return self.algebra.apply("add", (old, new), NO_SETTINGS)


def _is_closed(value: Any) -> bool:
    """Whether a value came through a gate that is closed."""
    return type(value) is Masked and value.mask is False


def _is_zero(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return any(_is_zero(element) for element in value.flat)
        return bool((value == 0).any())
    return type(value) is not Undefined and not isinstance(value, bool) and sign_of(value) == 0


def on_numbers(layer: Any, args: Any, name: str) -> Any:
    """A composed function on plain numbers and arrays, through a graph of constants."""
    graph = Structure(name)
    constants = [Value(graph, graph.constant(array(arg, f"an argument of {name}"))) for arg in args]
    return present(Evaluation(graph, Numbers(), {}, {}).value(layer(*constants).row))
