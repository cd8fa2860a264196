"""Formulas: the algebra of rows. Applying a function appends a row, in its simplest form.

In graphs with tensors the tidier writes rows as a person would (tidying.py); what came through a
gate where(c, g, 0) stays gated (gates.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..shapes import Shape
from ..structure.rows import Column, GraphRow
from ..structure.structure import Structure
from ..table.tensors import OPERATIONS
from .gates import Gates, as_gate
from .rewrites import FORMAL, simplified
from .terms import is_spread_diagonal, scalar_divisor, scalar_factor, term
from .tidying import TIDY

EXACT_NUMBERS = (int, Fraction)
GATES = frozenset(("placed", "alive", "passing", "taken", "untaken"))


class Formulas:
    """The algebra of rows: applying a function appends a row, trivial factors vanish."""

    def __init__(self, graph: Structure, shown: bool = False) -> None:
        self.graph = graph
        self.shown = shown  # to people, who write det(A) * inv(A) for the adjugate
        self.gates = Gates(self)
        self.diagonals: set[GraphRow] = set()

    @property
    def ops(self) -> Column[GraphRow, str]:
        """The operations of the graph, which become columns when they are very many."""
        return self.graph.ops

    def constant(self, value: Any) -> GraphRow:
        return self.graph.constant(value)

    def number(self, row: GraphRow) -> Any:
        """The exact number a row holds, or None; a declared node may yet be derived by."""
        graph = self.graph
        if graph.ops[row] != "const" or (row in graph.names and row not in graph.derivative_of):
            return None
        value = graph.attributes[row]["value"]
        return value if type(value) in EXACT_NUMBERS else None

    def is_0(self, row: GraphRow) -> bool:
        """Whether a row holds the exact number 0."""
        return self.graph.ops[row] == "const" and bool(self.number(row) == 0)

    def apply(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> GraphRow:
        if op == "where":  # an argument of the rule may be 0 here, as in leaky_relu(x, slope=0)
            op, args = as_gate(self.is_0, *args)
        if op in GATES:
            return self._gate(op, args, settings)
        if not self.gates.active:
            return self.simplest(op, args, settings)
        if op == "mul":
            left, right = args
            product = self.gates.product(left, right, lambda *pair: self.simplest("mul", pair, {}))
            if product is not None:
                return product
        row = self.simplest(op, args, settings)
        self.gates.after(op, args, settings, row)
        return row

    def _gate(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> GraphRow:
        """The row of what passes where a condition holds."""
        if op == "placed":
            return self.gates.placed(args[0], settings["op"], settings["settings"])
        if op == "alive":
            return self.gates.alive(*args)
        if op == "passing":
            return self.gates.passing(*args)
        condition, carried = args
        return self.gates.gated(condition, carried, op == "taken")

    def simplest(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> GraphRow:
        """The row of an operation in its simplest form."""
        if op in TIDY and (self.graph.shapes or op in OPERATIONS):
            return TIDY[op](self, *args, **settings)
        found = simplified(self, FORMAL, op, args, settings)
        return self.shared(op, tuple(args), settings) if found is None else found

    def shared(self, op: str, operands: tuple[GraphRow, ...], settings: dict[str, Any]) -> GraphRow:
        """The row of an operation as it is."""
        return self.graph.operation(op, operands, settings)

    def existing(self, op: str, operands: tuple[GraphRow, ...]) -> GraphRow | None:
        """Nothing: a graph of formulas is not searched."""
        return None

    def shape(self, row: GraphRow) -> Shape:
        return self.graph.shape(row)

    def inside(self, row: GraphRow, op: str) -> tuple[GraphRow, ...]:
        """The operands of an unnamed row of this operation; nothing for other rows."""
        graph = self.graph
        named = row in graph.names and row not in self.diagonals
        return () if named or graph.ops[row] != op else graph.operands[row]

    def copied(self, row: GraphRow) -> GraphRow:
        """Another row of the same value, which can bear another name."""
        graph = self.graph
        if row in self.diagonals:
            return graph.fresh(graph.ops[row], graph.operands[row], dict(graph.settings(row)))
        return self.gates.copied(row, graph.fresh("identity", (row,), {}))

    def note_diagonal(self, row: GraphRow) -> None:
        """Remembers a carried multiple of a diagonal, which no name may hide.

        The zeros beside a diagonal are none that an infinite factor turns to NaN.
        """
        inner: GraphRow | None = row
        while inner is not None and not is_spread_diagonal(self, inner):
            before, (_, inner) = inner, term(self, inner)
            if inner == before:
                inner = (scalar_divisor(self, before) or scalar_factor(self, before)[::-1])[0]
            if inner == before:
                return
        if inner is not None:
            self.diagonals.add(row)
