"""Rules: each function's formula and derivative as a little program over its operands.

The record's lambdas are traced once. A function without a declared derivative is derived by the
sweep over its own formula, so only primitives and kinks state derivatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NewType

from ..errors import GraphcError
from ..structure.paths import reached, sweep
from ..structure.reach import ancestors
from ..structure.rows import GraphRow, Rows, interpret
from ..structure.structure import CONDITIONAL, Structure
from ..table.functions import FUNCTIONS, Function, Kink
from ..table.tensors import Algebra
from ..table.value import COMPARISONS, Value
from .formulas import Formulas
from .gates import as_gate

TemplateRow = NewType("TemplateRow", int)


@dataclass(frozen=True)
class Template:
    """A little program: its first rows are the arguments, and it gives the value of one row."""

    rows: Rows[TemplateRow]
    arguments: int
    root: TemplateRow

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Template) and self._columns() == other._columns()

    def _columns(self) -> tuple[Any, ...]:
        return self.rows.ops, self.rows.operands, self.rows.attributes, self.arguments, self.root

    @property
    def is_zero(self) -> bool:
        """Whether it is the constant 0."""
        return self.rows.settings(self.root).get("value") == 0

    def slots(self) -> set[int]:
        """The arguments on which its value depends, but for conditions, which choose."""
        operands, ops = self.rows.operands, self.rows.ops
        found = reached([self.root], lambda row: () if ops[row] in COMPARISONS else operands[row])
        return {int(row) for row in found if row < self.arguments}

    def run(self, algebra: Algebra, arguments: Sequence[Any]) -> Any:
        """The value of the root on these arguments."""
        if self.root < self.arguments:
            return arguments[self.root]
        values = [*arguments, *[None] * (len(self.rows.ops) - self.arguments)]
        interpret(self.rows, self.rows.in_order()[self.arguments :], algebra, values)
        return values[self.root]


@dataclass(frozen=True)
class Rule:
    """How a function of n operands is differentiated; slot n is the function's own value."""

    partials: tuple[Template, ...]
    switches: tuple[Template, ...]  # each is 0 exactly on a kink

    @property
    def branches(self) -> set[int]:
        """The operands that a slope may be: over one that is the number 0 nothing passes."""
        count = len(self.partials)
        return {
            operand
            for partial in self.partials
            for op, operands in zip(partial.rows.ops, partial.rows.operands, strict=True)
            if op == "where"
            for operand in operands[1:]
            if operand < count
        }


class Made(dict[Any, Any]):
    """What was made from the records of the table, until a user declares a function anew.

    A rule holds the rules of the functions in its formula, so all of them are forgotten together.
    """

    version = 0

    def now(self) -> Made:
        """What is still valid."""
        if self.version != FUNCTIONS.version:
            self.clear()
            self.version = FUNCTIONS.version
        return self


_RULES, _FORMULAS = Made(), Made()


def _key(op: str, count: int, settings: dict[str, Any]) -> Any:
    return (op, count, *sorted(settings.items())) if settings else (op, count)


def rule(op: str, count: int, settings: dict[str, Any]) -> Rule:
    """The rule of a function on `count` operands."""
    key = _key(op, count, settings)
    known: Rule | None = _RULES.now().get(key)
    if known is None:
        known = _RULES[key] = _trace_rule(FUNCTIONS[op], count, settings)
    return known


def formula(op: str, count: int, settings: dict[str, Any], exact: bool) -> Template | None:
    """The formula of a composed function: the plain one for exact work, else the stable one."""
    record = FUNCTIONS[op]
    body = record.formula if exact or record.stable is None else record.stable
    if body is None:
        return None
    key = (*_key(op, count, settings), exact)
    known: Template | None = _FORMULAS.now().get(key)
    if known is None:
        scratch, arguments = _scratch(record, count)
        known = _FORMULAS[key] = _template(scratch, count, body(*arguments))
    return known


def check_record(record: Function) -> None:
    """Traces a new record, so that a mistake in it shows where it is declared."""
    count = len(record.parameters)
    try:
        for body in (record.formula, record.stable):
            if body is not None:
                scratch, arguments = _scratch(record, count)
                _template(scratch, count, body(*arguments))
                if record.name in _mentioned(scratch.ops):
                    raise GraphcError("its formula uses the function itself; use another name")
        _trace_rule(record, count, {})
    except GraphcError as error:
        raise GraphcError(f"function {record.name!r}: {error}") from None
    except Exception as error:  # the user's own code ran: whatever it raised is told
        raise GraphcError(
            f"function {record.name!r} cannot be traced ({error}); write it with operators and the "
            "functions of graphc, such as gc.exp"
        ) from None


def _mentioned(ops: Iterable[str]) -> set[str]:
    """The functions in a formula, and in the formulas of the users' own functions among them."""
    found: set[str] = set()
    stack = list(ops)
    while stack:
        op = stack.pop()
        if op not in found:
            found.add(op)
            record = FUNCTIONS.get(op)
            if record is not None and record.origin == "user":
                bodies = (formula(op, len(record.parameters), {}, exact) for exact in (True, False))
                stack.extend(inner for body in bodies if body for inner in body.rows.ops)
    return found


def _scratch(record: Function, count: int) -> tuple[Structure, list[Value]]:
    scratch = Structure(record.name)
    kinds = ["input"] * count
    if record.name in CONDITIONAL:
        kinds[0] = "condition"
    return scratch, [Value(scratch, scratch.append(kind)) for kind in kinds]


def _template(scratch: Structure, slots: int, result: Any, gates: bool = False) -> Template:
    """The rows that a result needs, with the first `slots` rows as arguments.

    With `gates`, a branch that is the constant 0 is one over which nothing passes.
    """
    root = scratch.lift(result)
    rows: Rows[TemplateRow] = Rows()
    slot = {row: rows.append(scratch.ops[row]) for row in scratch.in_order()[:slots]}
    for row in ancestors(scratch, [root]):
        if row in slot:
            continue
        op, operands = scratch.ops[row], scratch.operands[row]
        if gates and op == "where":
            op, operands = as_gate(lambda o: scratch.settings(o).get("value") == 0, *operands)
        slot[row] = rows.append(op, tuple(slot[o] for o in operands), **scratch.settings(row))
    return Template(rows, slots, slot[root])


def _trace_rule(record: Function, count: int, settings: dict[str, Any]) -> Rule:
    if record.derivative is None:
        return _derived_rule(record, count)
    scratch, operands = _scratch(record, count)
    own = Value(scratch, scratch.append("input"))
    extra = {key: value for key, value in settings.items() if key != "kink"}
    kink = Kink(settings.get("kink"))
    if record.kinks:
        extra["kink"] = kink
    partials = record.derivative(*operands, own, **extra)
    if count == 1 and not isinstance(partials, (tuple, list)):
        partials = (partials,)
    if not isinstance(partials, (tuple, list)) or len(partials) != count:
        raise GraphcError(
            f"the derivative of {record.name!r} must give {count} partial(s), one per argument"
        )
    switches = [*kink.switches, *_declared_switches(record, operands)]
    return Rule(
        tuple(_template(scratch, count + 1, partial, gates=True) for partial in partials),
        _distinct(_template(scratch, count + 1, switch) for switch in switches),
    )


def _declared_switches(record: Function, operands: Sequence[Value]) -> list[Any]:
    if record.switches is None:
        return []
    found = record.switches(*operands)
    return list(found) if isinstance(found, (tuple, list)) else [found]


def _derived_rule(record: Function, count: int) -> Rule:
    """The chain rule over the function's own formula."""
    if record.formula is None:
        raise GraphcError(f"the function {record.name!r} has neither a formula nor a derivative")
    scratch, operands = _scratch(record, count)
    scratch.append("input")  # the slot of the own value, which the chain rule does not need
    body = record.stable or record.formula
    root = scratch.lift(body(*operands))
    rows = Formulas(scratch)
    switches: list[Any] = _declared_switches(record, operands)

    def hops(row: GraphRow) -> list[tuple[GraphRow, Any]]:
        if row <= count or not scratch.operands[row] or scratch.ops[row] == "stop":
            return []
        inner = rule(scratch.ops[row], len(scratch.operands[row]), scratch.settings(row))
        arguments = [*scratch.operands[row], row]
        switches.extend(Value(scratch, t.run(rows, arguments)) for t in inner.switches)
        return [
            (operand, partial.run(rows, arguments))
            for operand, partial in zip(scratch.operands[row], inner.partials, strict=True)
        ]

    def carry(local: GraphRow, adjoint: GraphRow) -> GraphRow:
        return rows.apply("mul", (adjoint, local), {})

    def add(old: GraphRow, new: GraphRow) -> GraphRow:
        return rows.apply("add", (old, new), {})

    order = reversed(ancestors(scratch, [root]))
    adjoints = sweep(order, hops, {root: rows.constant(1)}, carry, add)
    arguments = scratch.in_order()[:count]
    partials = [Value(scratch, adjoints[row]) if row in adjoints else 0 for row in arguments]
    return Rule(
        tuple(_template(scratch, count + 1, partial, gates=True) for partial in partials),
        _distinct(_template(scratch, count + 1, switch) for switch in switches),
    )


def _distinct(templates: Any) -> tuple[Template, ...]:
    found: list[Template] = []
    for template in templates:
        if template not in found:
            found.append(template)
    return tuple(found)
