"""Structure: a graph as flat, append-only rows of operations, some of which have names.

A row is an operation on earlier rows, so row order is topological order. A node is a named row; its
formula is the little DAG of unnamed rows between it and the names it mentions. Changing granularity
is adding or removing names.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

from .. import names as naming
from ..errors import GraphcError, listing, nearest, visible
from ..shapes import Shape, few_axes
from ..table.functions import COMPOSED, FUNCTIONS, lookup
from ..table.tensors import OPERATIONS
from ..table.value import Attributes, Value
from .columns import Columns
from .constants import checked_number
from .formulas import Formula, formula_of
from .many_rows import ManyRows
from .numbered import Numbered
from .rows import (
    CONDITIONS,
    LEAVES,
    NO_SETTINGS,
    GraphRow,
    Key,
    Settings,
    row_key,
    simple_exponent,
)

S = TypeVar("S", bound="Structure")
CONDITIONAL = ("where", "taken", "untaken")  # functions whose first operand is a comparison
SHARED = (int, float, Fraction)  # numbers that are one row however often they are operands
Call = tuple[str, tuple[Any, ...], dict[str, Any]]  # function, rows or plain arguments, settings


@dataclass
class Sharing:
    """What stands in a graph already and need not be appended again."""

    rows: dict[Key, GraphRow] = field(default_factory=dict)  # by what they are
    locals: dict[GraphRow, tuple[Any, ...]] = field(default_factory=dict)  # of nodes, as rows


COPIED = (list, dict, set, Numbered, Columns)  # parts that each graph has for itself


class Structure(ManyRows):
    """Rows of operations with names; what every front end appends to and every verb reads."""

    def __init__(self, name: str = "graph") -> None:
        if not isinstance(name, str):
            raise GraphcError(f"a graph's name is a string, not {type(name).__name__}")
        super().__init__()
        self.name = name
        self.rows: MutableMapping[str, GraphRow] = {}  # name -> row
        self.names: MutableMapping[GraphRow, str] = {}  # row -> name
        self.claimed: dict[str, str] = {}  # name of a size or of a family -> which of the two
        self.numbers: dict[tuple[type, Any], GraphRow] = {}  # operands that formulas share -> row
        self.calls: dict[GraphRow, Call] = {}  # how a composed function was called, for display
        self.given: dict[GraphRow, Any] = {}  # values that came with the declaration
        self.declared_outputs: list[GraphRow] = []
        # (node, edge) -> row of the user's own partial
        self.partials: dict[tuple[GraphRow, int], GraphRow] = {}
        self.split: set[GraphRow] = set()  # nodes whose every operand is an edge of its own
        self.copies: dict[str, tuple[str, ...]] = {}  # untied name -> names of its copies
        # row of an adjoint or tangent -> its node
        self.derivative_of: dict[GraphRow, GraphRow] = {}
        self.lines: dict[GraphRow, int] = {}  # row -> line of the text it was declared on
        self.observer: Callable[[], None] | None = None  # told before each function (tracing)
        self.sharing: Sharing | None = None
        self._numbered: dict[str, int] = {}  # stem -> the first number that may be free
        self._formulas: dict[GraphRow, Formula] = {}
        # an unnamed row -> the nodes it is remembered for
        self._inside: dict[GraphRow, list[GraphRow]] = {}

    # Appending.

    def constant(self, value: Any) -> GraphRow:
        """A new row holding a number or an array of numbers."""
        value = checked_number(value)
        shape = few_axes(value.shape) if hasattr(value, "shape") and value.shape else ()
        return self._new("const", (), {"value": value}, shape)

    def share(self) -> None:
        """From now on an operation that stands here already is not appended again."""
        self.sharing = Sharing()

    def _new(
        self, op: str, operands: tuple[GraphRow, ...], settings: Settings, shape: Shape
    ) -> GraphRow:
        """A new row, or the one that is the same where rows are shared."""
        if self.sharing is not None:
            key = row_key(op, operands, settings)
            known = self.sharing.rows.setdefault(key, self.coming)
            if known < len(self.ops):
                return known
        row = self._placed(op, operands, {**settings} if settings else NO_SETTINGS)
        if shape:
            self.shapes[row] = shape
        return row

    def named_sizes(self) -> set[str]:
        """The sizes that inputs and params have by name."""
        return {name for name, kind in self.claimed.items() if kind == "size"}

    def leaf(self, kind: str, name: str, shape: Shape) -> GraphRow:
        """A new input or param, whose named sizes are nobody's name."""
        sizes = [size for size in shape if isinstance(size, str)]
        for size in sizes:
            self.check_free(size, "size")
            if size == naming.spelling(name):
                raise GraphcError(_shared(size, "node", "size"))
        row = self.bind(name, self.append(kind))
        self.claimed.update(dict.fromkeys(sizes, "size"))
        if shape:
            self.shapes[row] = shape
        return row

    def check_free(self, name: str, kind: str) -> None:
        """Refuses a name that belongs to something of another kind: node, size or family."""
        known = "node" if name in self.rows else self.claimed.get(name, kind)
        if known != kind:
            raise GraphcError(_shared(name, known, kind))

    def claim_family(self, name: str) -> None:
        """Takes the name that the members of a family share."""
        self.check_free(name, "family")
        self.claimed[name] = "family"

    def apply(self, name: str, operands: Sequence[Any], attributes: Attributes) -> Value:
        """The value of a function on values and numbers: what functions call."""
        if self.observer is not None:
            self.observer()
        record = FUNCTIONS.get(name) or lookup(name)
        arranged, settings = record.arrange(tuple(operands), attributes)
        rows = tuple([self.operand(operand) for operand in arranged])
        return Value(self, self.operation(record.name, rows, settings))

    def operator(self, op: str, left: Any, right: Any) -> Value:
        """The value of an operator between two values, or a value and a number."""
        if self.observer is not None:
            self.observer()
        operands = self.operand(left), self.operand(right)
        return Value(self, self.operation(op, operands, NO_SETTINGS))

    def tensor(self, op: str, operands: Sequence[Any], settings: dict[str, Any]) -> Value:
        """The value of a tensor operation on values and numbers."""
        if self.observer is not None:
            self.observer()
        row = self.operation(op, tuple(map(self.operand, operands)), settings)
        few_axes(self.shape(row))
        return Value(self, row)

    def composed(self, name: str, *arguments: Any) -> Value:
        """The value of a function composed of others, by name."""
        value: Value = COMPOSED[name](*arguments)
        return value

    def operation(self, op: str, operands: tuple[GraphRow, ...], settings: Settings) -> GraphRow:
        """A new row for a checked function on rows; an exponent that is a number is a setting."""
        if self.compares or op in CONDITIONAL:
            ops = [self.ops[operand] for operand in operands]
            if op in CONDITIONAL or not CONDITIONS.isdisjoint(ops):
                _check_conditions(op, ops)
        if op == "pow" and self._is_bare_number(operands[1]):
            exponent = simple_exponent(self.attributes[operands[1]]["value"])
            if exponent is not None:
                op, operands, settings = "power", operands[:1], {"exponent": exponent}
        elif op in OPERATIONS and OPERATIONS[op].is_product(settings):
            *others, last = operands
            if not others:
                return self.operation("identity", operands, {})
            while len(others) > 1:
                others[:2] = [self.operation("mul", tuple(others[:2]), {})]
            op, operands, settings = "mul", (others[0], last), {}
        shape: Shape = ()
        if self.shapes or op in OPERATIONS:
            labels = [self.names.get(o, f"the {self.ops[o]}") for o in operands]
            shape = self.shape_after(op, operands, settings, labels)
        return self._new(op, operands, settings, shape)

    def fresh(self, op: str, operands: tuple[GraphRow, ...], settings: Settings) -> GraphRow:
        """A new row of its own, shared or not: one that is to bear a name, or a mask."""
        shared, self.sharing = self.sharing, None
        try:
            return self.operation(op, operands, settings)
        finally:
            self.sharing = shared

    def own_copy(self, row: GraphRow) -> GraphRow:
        """A row of this value that nobody else uses: itself, or a copy where rows are shared."""
        if self.sharing is None:
            return row
        copy = self.append(self.ops[row], self.operands[row], **self.settings(row))
        if row in self.shapes:
            self.shapes[copy] = self.shapes[row]
        return copy

    def _is_bare_number(self, row: GraphRow) -> bool:
        """Whether a row is a number without a name: a named one may be derived by."""
        return self.ops[row] == "const" and row not in self.shapes and row not in self.names

    def operand(self, operand: Any) -> GraphRow:
        """The row of a value of this graph, or of a number; equal numbers share a row."""
        if isinstance(operand, Value) and operand.graph is self:
            return operand.row
        kind = type(operand)
        if kind not in SHARED or (kind is float and not operand):  # 0.0 == -0.0
            return self.lift(operand)
        row = self.numbers.get((kind, operand))
        if row is None:
            row = self.numbers[kind, operand] = self.constant(operand)
        return row

    def lift(self, operand: Any) -> GraphRow:
        """The row of a value of this graph, or of a new constant, which may take a name."""
        if isinstance(operand, Value):
            if operand.graph is not self:
                raise GraphcError(
                    f"the value {operand.graph.label(operand.row)} belongs to the graph "
                    f"{operand.graph.name!r}, not to {self.name!r}; declare both in one graph"
                )
            return operand.row
        if isinstance(operand, str) and operand in self.named_sizes():
            return self.append("size", size=operand)  # x.shape[0]
        return self.constant(operand)

    def is_shared(self, row: GraphRow) -> bool:
        """Whether a row is a number that several formulas may mention; it never takes a name."""
        number = self.settings(row).get("value") if self.ops[row] == "const" else None
        return type(number) in SHARED and self.numbers.get((type(number), number)) == row

    def bind(self, name: str, row: GraphRow) -> GraphRow:
        """Gives a row a name that nobody has yet."""
        written, name = name, naming.checked(name)
        if name in self.rows:
            raise GraphcError(
                f"the name {name!r} is declared already; choose another name for the second one"
            )
        self.check_free(name, "node")
        if written.endswith("]"):
            self.claim_family(written.partition("[")[0])
        self.rows[name] = row
        self.names[row] = name
        for node in self._inside.pop(row, ()):  # an unnamed row inside a formula became a node
            self._formulas.pop(node, None)
            if self.sharing is not None:
                self.sharing.locals.pop(node, None)
        return row

    def forget_formulas(self) -> None:
        """Names changed inside formulas: they are found anew."""
        self._numbered.clear()
        self._formulas.clear()
        self._inside.clear()

    def unused_name(self, stem: str) -> str:
        """The stem, or stem_2, stem_3, ... whichever is free first."""
        number = self._numbered.get(stem, 1)
        name = stem if number == 1 else f"{stem}_{number}"
        while name in self.rows or name in self.claimed:
            number += 1
            name = f"{stem}_{number}"
        self._numbered[stem] = number
        return name

    # Reading.

    def row(self, name: str | Any) -> GraphRow:
        """The row of a node, by name."""
        if isinstance(name, Value):
            name = self.names.get(name.row, "an unnamed value")
        name = getattr(name, "name", name)
        if not isinstance(name, str):
            raise GraphcError(f"a node is asked for by its name, not by {type(name).__name__}")
        row = self.rows.get(name)
        return _respelt(self, name) if row is None else row

    def label(self, row: GraphRow) -> str:
        """The name of a row, or a word for an unnamed one."""
        return repr(self.names[row]) if row in self.names else f"of an unnamed {self.ops[row]}"

    def nodes(self) -> list[GraphRow]:
        """The named rows in topological order."""
        return sorted(self.names)

    def kind(self, row: GraphRow) -> str:
        """input, param, const or compute."""
        op = self.ops[row]
        if op in ("input", "param"):
            return op
        return "compute" if op == "edges" or self.formula(row).sources else "const"

    @property
    def partials_of(self) -> set[GraphRow]:
        """The nodes for which the user declared derivatives."""
        return {node for node, _ in self.partials}

    def formula(self, node: GraphRow) -> Formula:
        """The rows and edges of one node; remembered until names change."""
        known = self._formulas.get(node)
        if known is None:
            known = self._formulas[node] = formula_of(self, node)
            for row in known.rows:
                self._inside.setdefault(row, []).append(node)
        return known

    def edges_of(self, node: GraphRow) -> tuple[tuple[int, GraphRow], ...]:
        """(edge number, source) of the edges that a derivative can pass into a node."""
        return self.formula(node).edges

    def leaves(self) -> list[GraphRow]:
        """The named rows whose value comes from outside."""
        return [row for row in self.nodes() if self.ops[row] in LEAVES]

    def outputs(self) -> list[GraphRow]:
        """The declared outputs, or else the nodes that nothing uses."""
        if self.declared_outputs:
            return list(self.declared_outputs)
        used = {source for node in self.names for source in self.formula(node).sources}
        return [row for row in self.nodes() if row not in used and self.ops[row] not in LEAVES]

    def duplicate(self: S) -> S:
        """An independent copy."""
        other = type(self)(self.name)
        for key, value in vars(self).items():
            setattr(other, key, value.copy() if isinstance(value, COPIED) else value)
        other.sharing = None  # it is about the rows of one graph
        return other


def _respelt(graph: Structure, name: str) -> GraphRow:
    """The row of a node whose name is written in another way."""
    row = graph.rows.get(naming.spelling(name))
    if row is None:
        hint = nearest(name, graph.rows) or f" (nodes: {listing(graph.rows)})"
        raise GraphcError(f"there is no node {visible(name)}{hint}")
    tensor = graph.rows.get(name.partition("[")[0])
    if tensor in graph.shapes:
        raise GraphcError(
            f"{name!r} is an element of the tensor {graph.names[tensor]!r} and no node; ask "
            f"for {graph.names[tensor]!r}, or for the node {naming.spelling(name)!r}"
        )
    return row


def _shared(name: str, known: str, wanted: str) -> str:
    return (
        f"{name!r} is the name of a {known} and cannot be that of a {wanted} too; rename one of "
        "them"
    )


def _check_conditions(op: str, operands: list[str]) -> None:
    """Refuses a comparison where a number belongs, and a number where a comparison does."""
    wants = op in CONDITIONAL
    for place, operand in enumerate(operands):
        if (operand in CONDITIONS) != (wants and place == 0):
            raise GraphcError(
                f"{op}(cond, a, b) needs one comparison as its condition, such as x > 0"
                if wants
                else f"a comparison is a condition, not a number that {op} can use; "
                "write where(cond, a, b)"
            )
