"""Structure: a graph as flat, append-only rows of operations, some of which have names.

A row is an operation on earlier rows, so row order is topological order. A node is a named row; its
formula is the little DAG of unnamed rows between it and the names it mentions. Changing granularity
is adding or removing names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from .. import names as naming
from ..errors import GraphcError, listing, nearest, visible
from ..shapes import Shape, few_axes
from ..table.functions import COMPOSED, lookup
from ..table.tensors import OPERATIONS
from ..table.value import Value
from .rows import LEAVES, Rows, simple_exponent

S = TypeVar("S", bound="Structure")
CONDITIONAL = ("where", "taken", "untaken")  # functions whose first operand is a comparison
Call = tuple[str, tuple[Any, ...], dict[str, Any]]  # function, rows or plain arguments, settings


@dataclass(frozen=True)
class Formula:
    """What stands between a node and the names it mentions."""

    rows: tuple[int, ...]  # the unnamed rows and the node's own row, ascending
    sources: tuple[int, ...]  # source of each edge into the node, in order of mention
    passes: tuple[bool, ...]  # whether a derivative can pass the edge (gc.stop blocks it)


class Structure(Rows):
    """Rows of operations with names; what every front end appends to and every verb reads."""

    def __init__(self, name: str = "graph") -> None:
        if not isinstance(name, str):
            raise GraphcError(f"a graph's name is a string, not {type(name).__name__}")
        super().__init__()
        self.name = name
        self.rows: dict[str, int] = {}  # name -> row
        self.names: dict[int, str] = {}  # row -> name
        self.claimed: dict[str, str] = {}  # name of a size or of a family -> which of the two
        self.calls: dict[int, Call] = {}  # how a composed function was called, for display
        self.given: dict[int, Any] = {}  # values that came with the declaration
        self.declared_outputs: list[int] = []
        self.partials: dict[
            tuple[int, int], int
        ] = {}  # (node, edge) -> row of the user's own partial
        self.split: set[int] = set()  # nodes whose every operand is an edge of its own
        self.copies: dict[str, tuple[str, ...]] = {}  # untied name -> names of its copies
        self.derivative_of: dict[int, int] = {}  # row of an adjoint or tangent -> its node
        self.lines: dict[int, int] = {}  # row -> line of the text it was declared on
        self.observer: Callable[[], None] | None = (
            None  # told before each applied function (tracing)
        )
        self._formulas: dict[int, Formula] = {}
        self._inside: set[int] = set()  # the unnamed rows of the formulas that are remembered

    # Appending.

    def constant(self, value: Any) -> int:
        """A new row holding a number or an array of numbers."""
        value = checked_number(value)
        row = self.append("const", value=value)
        if hasattr(value, "shape") and value.shape:
            self.shapes[row] = few_axes(value.shape)
        return row

    def named_sizes(self) -> set[str]:
        """The sizes that inputs and params have by name."""
        return {name for name, kind in self.claimed.items() if kind == "size"}

    def leaf(self, kind: str, name: str, shape: Shape) -> int:
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

    def apply(self, name: str, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Value:
        """The value of a function on values and numbers: what operators and functions call."""
        if self.observer is not None:
            self.observer()
        record = lookup(name)
        arranged, settings = record.arrange(tuple(operands), attributes)
        return Value(self, self.operation(record.name, tuple(map(self.lift, arranged)), settings))

    def tensor(self, op: str, operands: Sequence[Any], settings: dict[str, Any]) -> Value:
        """The value of a tensor operation on values and numbers."""
        if self.observer is not None:
            self.observer()
        row = self.operation(op, tuple(map(self.lift, operands)), settings)
        few_axes(self.shape(row))
        return Value(self, row)

    def composed(self, name: str, *arguments: Any) -> Value:
        """The value of a function composed of others, by name."""
        value: Value = COMPOSED[name](*arguments)
        return value

    def operation(self, op: str, operands: tuple[int, ...], settings: dict[str, Any]) -> int:
        """A new row for a checked function on rows; an exponent that is a number is a setting."""
        wants = op in CONDITIONAL
        for place, row in enumerate(operands):
            if self.is_condition(row) != (wants and place == 0):
                raise GraphcError(
                    f"{op}(cond, a, b) needs one comparison as its condition, such as x > 0"
                    if wants
                    else f"a comparison is a condition, not a number that {op} can use; "
                    "write where(cond, a, b)"
                )
        if op == "pow" and self._is_bare_number(operands[1]):
            exponent = simple_exponent(self.attributes[operands[1]]["value"])
            if exponent is not None:
                op, operands, settings = "power", operands[:1], {"exponent": exponent}
        if op == "contract" and not settings["spec"].strip(",->"):  # of scalars: their product
            *others, last = operands
            if not others:
                return self.operation("identity", operands, {})
            while len(others) > 1:
                others[:2] = [self.operation("mul", tuple(others[:2]), {})]
            op, operands, settings = "mul", (others[0], last), {}
        shape: Shape = ()
        if self.shapes or op in OPERATIONS:
            labels = [self.names.get(operand, f"the {self.ops[operand]}") for operand in operands]
            shape = self.shape_after(op, operands, settings, labels)
        row = self.append(op, operands, **settings)
        if shape:
            self.shapes[row] = shape
        return row

    def _is_bare_number(self, row: int) -> bool:
        """Whether a row is a number without a name: a named one may be derived by."""
        return self.ops[row] == "const" and row not in self.shapes and row not in self.names

    def lift(self, operand: Any) -> int:
        """The row of a value of this graph, or of a new constant."""
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

    def bind(self, name: str, row: int) -> int:
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
        if row in self._inside:
            self.forget_formulas()  # an unnamed row inside a formula became a node
        return row

    def forget_formulas(self) -> None:
        """Names changed inside formulas: they are found anew."""
        self._formulas.clear()
        self._inside.clear()

    def unused_name(self, stem: str) -> str:
        """The stem, or stem_2, stem_3, ... whichever is free first."""
        name, number = stem, 2
        while name in self.rows or name in self.claimed:
            name, number = f"{stem}_{number}", number + 1
        return name

    # Reading.

    def row(self, name: str | Any) -> int:
        """The row of a node, by name."""
        if isinstance(name, Value):
            name = self.names.get(name.row, "an unnamed value")
        name = getattr(name, "name", name)
        if not isinstance(name, str):
            raise GraphcError(f"a node is asked for by its name, not by {type(name).__name__}")
        row = self.rows.get(name)
        if row is None:
            row = self.rows.get(naming.spelling(name))
            tensor = self.rows.get(name.partition("[")[0])
            if row is not None and tensor in self.shapes:
                raise GraphcError(
                    f"{name!r} is an element of the tensor {self.names[tensor]!r} and no node; ask "
                    f"for {self.names[tensor]!r}, or for the node {naming.spelling(name)!r}"
                )
        if row is None:
            hint = nearest(name, self.rows) or f" (nodes: {listing(self.rows)})"
            raise GraphcError(f"there is no node {visible(name)}{hint}")
        return row

    def label(self, row: int) -> str:
        """The name of a row, or a word for an unnamed one."""
        return repr(self.names[row]) if row in self.names else f"of an unnamed {self.ops[row]}"

    def nodes(self) -> list[int]:
        """The named rows in topological order."""
        return sorted(self.names)

    def kind(self, row: int) -> str:
        """input, param, const or compute."""
        op = self.ops[row]
        if op in ("input", "param"):
            return op
        return "compute" if op == "edges" or self.formula(row).sources else "const"

    @property
    def partials_of(self) -> set[int]:
        """The nodes for which the user declared derivatives."""
        return {node for node, _ in self.partials}

    def formula(self, node: int) -> Formula:
        """The rows and edges of one node; remembered until names change."""
        known = self._formulas.get(node)
        if known is None:
            known = self._formulas[node] = self._formula(node)
            self._inside.update(known.rows)
        return known

    def _formula(self, node: int) -> Formula:
        if node in self.split:
            sources = [row for row in self.operands[node] if row in self.names]
            passing = self.ops[node] != "stop"
            inside = [row for row in self.operands[node] if row not in self.names]
            return Formula((*inside, node), tuple(sources), (passing,) * len(sources))
        order: dict[int, bool] = {}  # source -> whether a derivative passes, in order of mention
        seen: dict[int, bool] = {}
        stack: list[tuple[int, bool]] = [(node, True)]
        while stack:
            row, passing = stack.pop()
            if row != node and row in self.names:
                order[row] = order.get(row, False) or passing
                continue
            if seen.get(row) or (row in seen and not passing):
                continue
            seen[row] = passing
            passing = passing and self.ops[row] != "stop"
            stack.extend((operand, passing) for operand in reversed(self.operands[row]))
        return Formula(tuple(sorted(seen)), tuple(order), tuple(order.values()))

    def edges_of(self, node: int) -> Iterator[tuple[int, int]]:
        """(edge number, source) of the edges that a derivative can pass into a node."""
        formula = self.formula(node)
        for edge, source in enumerate(formula.sources):
            if formula.passes[edge]:
                yield edge, source

    def leaves(self) -> list[int]:
        """The named rows whose value comes from outside."""
        return [row for row in self.nodes() if self.ops[row] in LEAVES]

    def outputs(self) -> list[int]:
        """The declared outputs, or else the nodes that nothing uses."""
        if self.declared_outputs:
            return list(self.declared_outputs)
        used = {source for node in self.names for source in self.formula(node).sources}
        return [row for row in self.nodes() if row not in used and self.ops[row] not in LEAVES]

    # Granularity.

    def duplicate(self: S) -> S:
        """An independent copy."""
        other = type(self)(self.name)
        for key, value in vars(self).items():
            setattr(other, key, value.copy() if isinstance(value, (list, dict, set)) else value)
        return other

    def expand(self: S) -> S:
        """A graph in which every operation is a node; derivatives are the same."""
        other = self.duplicate()
        owned = self.partials_of
        for node in self.nodes():
            if node in owned or self.ops[node] in ("edges", *LEAVES):
                continue
            number = 1
            for row in self.formula(node).rows:
                if row != node and self.operands[row] and row not in other.names:
                    if self.is_condition(row):
                        continue  # a condition is part of its where
                    while f"{self.names[node]}_{number}" in other.rows:
                        number += 1
                    other.bind(f"{self.names[node]}_{number}", row)
        other.forget_formulas()
        for row in other.nodes():
            plain = all(o in other.names or not self.operands[o] for o in self.operands[row])
            if row not in owned and self.operands[row] and plain:
                other.split.add(row)
        return other

    def collapse(self: S, *names: str) -> S:
        """A graph in which the named nodes are part of the formulas that use them."""
        chosen = [self.row(name) for name in names]
        if not names:
            kept = {*self.outputs(), *self.leaves(), *self.partials_of}
            for node in self.partials_of:  # your own derivatives belong to these very edges
                kept.update(self.formula(node).sources)
            chosen = [row for row in self.nodes() if row not in kept and self.ops[row] != "edges"]
        outputs = set(self.outputs())
        for row in chosen:
            name = self.names[row]
            if self.ops[row] in LEAVES:
                raise GraphcError(f"{name!r} is an {self.kind(row)} and cannot be collapsed")
            if self.ops[row] == "edges" or row in self.partials_of:
                raise GraphcError(
                    f"{name!r} cannot be collapsed: its derivatives were declared, not derived"
                )
            if row in outputs:
                raise GraphcError(
                    f"{name!r} is an output and cannot be collapsed into the nodes that use it"
                )
            for node, edge in self.partials:
                if row in self.formula(node).sources:
                    raise GraphcError(
                        f"{name!r} cannot be collapsed: d {self.names[node]} / d "
                        f"{self.names[self.formula(node).sources[edge]]} was declared by hand"
                    )
        other = self.duplicate()
        for row in chosen:
            del other.rows[other.names.pop(row)]
        gone = set(chosen)
        other.split = {r for r in other.split - gone if not gone & set(self.operands[r])}
        other.forget_formulas()
        return other

    def untie(self: S, name: str) -> S:
        """A graph in which each occurrence of an input or param is a copy name_1, name_2, ..."""
        tied = self.row(name)
        if self.ops[tied] not in LEAVES:
            raise GraphcError(f"{name!r} is computed; only inputs and parameters can be untied")
        if any(
            tied in self.mentioned(row) or self.formula(node).sources[edge] == tied
            for (node, edge), row in self.partials.items()
        ):
            raise GraphcError(
                f"{name!r} cannot be untied: a derivative that you declared mentions it; "
                "declare the graph with separate names"
            )
        name = self.names[tied]
        occurrences = sum(operands.count(tied) for operands in self.operands)
        if not occurrences:
            raise GraphcError(f"nothing uses {name!r}, so there is nothing to untie")
        other = type(self)(self.name)
        other.claimed = self.claimed.copy()
        moved: list[int] = []
        copies: list[int] = []
        for row, op in enumerate(self.ops):
            if row == tied:
                for number in range(1, occurrences + 1):
                    copies.append(other.append(op))
                    if tied in self.shapes:
                        other.shapes[copies[-1]] = self.shapes[tied]
                    other.bind(f"{name}_{number}", copies[-1])
                    if tied in self.given:
                        other.given[copies[-1]] = self.given[tied]
                other.copies[name] = tuple(other.names[copy] for copy in copies)
                moved.append(-1)
                copies.reverse()
                continue
            operands = tuple(copies.pop() if o == tied else moved[o] for o in self.operands[row])
            moved.append(other.append(op, operands, **self.settings(row)))
            if row in self.shapes:
                other.shapes[moved[row]] = self.shapes[row]
        for row, label in self.names.items():
            if row != tied:
                other.rows[label], other.names[moved[row]] = moved[row], label
        other.given.update({moved[r]: v for r, v in self.given.items() if r != tied})
        other.declared_outputs = [moved[row] for row in self.declared_outputs if row != tied]
        for (node, edge), row in self.partials.items():
            source = moved[self.formula(node).sources[edge]]
            place = other.formula(moved[node]).sources.index(source)
            other.partials[moved[node], place] = moved[row]
        other.split = {moved[row] for row in self.split}
        other.lines = {moved[row]: line for row, line in self.lines.items() if row != tied}
        other.copies.update({k: v for k, v in self.copies.items() if name not in v})
        return other

    def mentioned(self, row: int) -> set[int]:
        """The named rows that an unnamed expression mentions."""
        found, stack = set(), [row]
        while stack:
            here = stack.pop()
            if here in self.names:
                found.add(here)
            else:
                stack.extend(self.operands[here])
        return found


def _shared(name: str, known: str, wanted: str) -> str:
    return (
        f"{name!r} is the name of a {known} and cannot be that of a {wanted} too; rename one of "
        "them"
    )


def checked_number(value: Any) -> Any:
    """A finite number that a constant row may hold: exact where it came exact."""
    if isinstance(value, bool) or value is None:
        raise GraphcError(f"{value!r} is not a number")
    if isinstance(value, (int, Fraction)):
        return value
    if isinstance(value, str):
        raise GraphcError(
            f"{value!r} is text, not a value of the graph; use gc.const({value!r}, name) for an "
            "exact number, or a whole formula as one string"
        )
    if type(value).__module__.startswith("sympy") and getattr(value, "is_number", False):
        if value.is_finite is False or value.is_real is False:
            raise GraphcError(f"the constant {value} is not a finite real number")
        return Fraction(int(value.p), int(value.q)) if value.is_Rational else value
    if type(value).__module__.startswith("mpmath"):
        return value
    if hasattr(value, "dtype") and value.dtype.kind not in "iufbO":
        raise GraphcError(f"{type(value).__name__} of {value.dtype} is not a number")
    if hasattr(value, "dtype") and value.ndim:
        return checked_array(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise GraphcError(f"{type(value).__name__} is not a number or a value of a graph") from None
    if not math.isfinite(number):
        raise GraphcError(f"the constant {number} is not finite; constants must be finite numbers")
    return number


def checked_array(value: Any) -> Any:
    """A copy of an array of finite numbers: floats, or exact numbers as objects."""
    if np.ma.is_masked(value):
        raise GraphcError(
            "a constant array has masked entries; give numbers for them, as in x.filled(0)"
        )
    array = np.array(value)
    if array.dtype.kind in "iub":
        return array.astype(int if array.dtype.kind == "b" else array.dtype).astype(object)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise GraphcError("a constant array holds a value that is not finite")
    if array.dtype.kind == "O":
        for place, element in enumerate(array.flat):
            if type(element) not in (int, Fraction) and not hasattr(element, "digits"):
                array.flat[place] = checked_number(element)
    elif array.dtype.kind != "f":
        raise GraphcError(f"an array of {array.dtype} is not an array of numbers")
    return array
