"""Rules: each function's formula and derivative as a little program over its operands.

The record's lambdas are traced once. A function without a declared derivative is derived by the
sweep over its own formula, so only primitives and kinks state derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from .arrays import split_spec
from .errors import GraphcError
from .functions import FUNCTIONS, Function, Kink
from .paths import sweep
from .shapes import LETTERS, Shape, Size, unused_letters
from .structure import CONDITIONAL, Structure, ancestors
from .value import Value


class Algebra(Protocol):
    """What can be carried: anything the functions of the table can be applied to."""

    def apply(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any: ...

    def constant(self, value: Any) -> Any: ...


@dataclass(frozen=True)
class Template:
    """A little program: slot numbers 0, 1, ... are the arguments, then one slot per step."""

    steps: tuple[tuple[str, tuple[int, ...], dict[str, Any]], ...]
    root: int

    def run(self, algebra: Algebra, arguments: Sequence[Any]) -> Any:
        """The value of the root on these arguments."""
        slots = list(arguments)
        for op, operands, settings in self.steps:
            if op == "const":
                slots.append(algebra.constant(settings["value"]))
            else:
                slots.append(algebra.apply(op, [slots[o] for o in operands], settings))
        return slots[self.root]


@dataclass(frozen=True)
class Rule:
    """How a function of n operands is differentiated; slot n is the function's own value."""

    partials: tuple[Template, ...]
    switches: tuple[Template, ...]  # each is 0 exactly on a kink


class Rows:
    """The algebra of program values: applying a function appends a row, trivial factors vanish."""

    def __init__(self, graph: Structure) -> None:
        self.graph = graph

    def constant(self, value: Any) -> int:
        return self.graph.constant(value)

    def number(self, row: int) -> Any:
        """The exact number a row holds, or None."""
        value = self.graph.settings(row).get("value")
        return value if isinstance(value, (int, Fraction)) else None

    def apply(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> int:
        if op == "contract":
            return self.contract(list(args), settings)
        if op in ("add", "mul") and self.graph.shapes:
            a, b = args
            args = (self.unrepeated(a, b), self.unrepeated(b, a))
        numbers = [self.number(arg) for arg in args]
        if op == "mul" and (gated := self.inside_gate(*args)) is not None:
            return gated
        if op == "mul":
            for this, other in ((0, 1), (1, 0)):
                if numbers[this] == 1:
                    return int(args[other])
                if numbers[this] == 0:
                    return self.zero(self.graph.shape(args[other]))
                if numbers[this] == -1:
                    return self.apply("neg", [args[other]], {})
        if op == "add" and 0 in numbers:
            return int(args[1 - numbers.index(0)])
        if op == "neg" and (scalar := self.repeated_scalar(args[0])) is not None:
            negated = self.apply("neg", (scalar,), {})
            return self.graph.operation("contract", (negated,), self.graph.settings(args[0]))
        if op == "neg" and self.graph.ops[args[0]] == "neg":
            return int(self.graph.operands[args[0]][0])
        if op in EXACT and None not in numbers:
            return self.constant(EXACT[op](*numbers))
        if op == "add" and self.graph.ops[args[1]] == "neg":
            op, args = "sub", (args[0], self.graph.operands[args[1]][0])
        if op in ("taken", "untaken"):
            branches = (args[1], self.constant(0))
            chosen = branches if op == "taken" else branches[::-1]
            return self.graph.operation("where", (args[0], *chosen), {})
        return self.graph.operation(op, tuple(args), settings)

    def zero(self, shape: Shape) -> int:
        """A row of zeros."""
        row = self.constant(0)
        if not shape:
            return row
        letters = LETTERS[: len(shape)]
        settings = {"spec": f"->{letters}", "sizes": tuple(zip(letters, shape, strict=True))}
        return self.graph.operation("contract", (row,), settings)

    def inside_gate(self, carried: int, local: int) -> int | None:
        """where(c, g, 0) * z as where(c, g * z, 0): z may be infinite where c does not hold."""
        graph = self.graph
        if graph.ops[carried] != "where" or self.number(local) is not None:
            return None
        condition, *branches = graph.operands[carried]
        zero = next((i for i, row in enumerate(branches) if self.number(row) == 0), None)
        if zero is None or graph.shape(carried) != graph.shape(condition):
            return None
        if carried in graph.names:
            product = graph.operation("mul", (carried, local), {})
        else:
            product = self.apply("mul", (branches[1 - zero], local), {})
        branches = [branches[zero], product] if zero == 0 else [product, branches[zero]]
        return graph.operation("where", (condition, *branches), {})

    # Contractions in their simplest form.

    def unrepeated(self, row: int, other: int) -> int:
        """A scalar that was repeated to the shape of the other operand, as the scalar."""
        scalar = self.repeated_scalar(row)
        return (
            scalar
            if scalar is not None and self.graph.shape(other) == self.graph.shape(row)
            else row
        )

    def repeated_scalar(self, row: int) -> int | None:
        """The scalar that an unnamed row repeats over a shape, or None."""
        graph = self.graph
        if graph.ops[row] != "contract" or row in graph.names:
            return None
        spec = graph.settings(row)["spec"]
        letters = spec.partition("->")[2]
        plain = spec.startswith("->") and len(set(letters)) == len(letters)
        return graph.operands[row][0] if plain else None

    def contract(self, args: list[int], settings: dict[str, Any]) -> int:
        """A contraction without identity matrices, scalar factors and copies."""
        graph = self.graph
        operands, out = split_spec(settings["spec"])
        sizes = dict(settings["sizes"])
        args, operands, out = self._without_identities(args, operands, out)
        scalars = [arg for arg, letters in zip(args, operands, strict=True) if not letters]
        if scalars and len(args) > len(scalars):
            rest = [(arg, letters) for arg, letters in zip(args, operands, strict=True) if letters]
            spec = ",".join(letters for _, letters in rest) + "->" + out
            inner = self.contract(
                [arg for arg, _ in rest], {"spec": spec, "sizes": tuple(sizes.items())}
            )
            for scalar in scalars:
                inner = self.apply("mul", (scalar, inner), {})
            return inner
        if len(args) == 1 and operands[0] == out:
            return args[0]
        if len(args) == 1 and args[0] not in graph.names:
            if graph.ops[args[0]] == "mul" and not out and len(operands[0]) == 1:
                a, b = graph.operands[args[0]]
                if graph.shape(a) == graph.shape(b):
                    args, operands = [a, b], [operands[0]] * 2  # a sum of products is x @ y
            elif (composed := self._composed(args[0], operands[0], out, sizes)) is not None:
                return self.contract(*composed)
        present = set("".join(operands))
        kept = tuple(
            (letter, size)
            for letter, size in sizes.items()
            if letter in out and letter not in present
        )
        return graph.operation(
            "contract", tuple(args), {"spec": ",".join(operands) + "->" + out, "sizes": kept}
        )

    def _composed(
        self, row: int, letters: str, out: str, sizes: dict[str, Size]
    ) -> tuple[list[int], dict[str, Any]] | None:
        """A contraction of a contraction of one operand, as one of that operand."""
        graph = self.graph
        if graph.ops[row] != "contract" or len(graph.operands[row]) != 1:
            return None
        (below,), middle = split_spec(graph.settings(row)["spec"])
        inner = dict(graph.settings(row)["sizes"])
        if any(len(set(word)) != len(word) for word in (below, middle, letters)):
            return None
        rename = dict(zip(middle, letters, strict=True))
        gone = [letter for letter in letters if letter not in out]
        if any(inner.get(old, 1) != 1 for old, new in rename.items() if new in gone):
            return None  # a repeated axis is summed: that multiplies by its size
        fresh = iter(unused_letters([letters, out], len(below)))
        source = "".join(rename[letter] if letter in rename else next(fresh) for letter in below)
        known = {rename[letter]: size for letter, size in inner.items()} | sizes
        kept = tuple((x, known[x]) for x in dict.fromkeys(out) if x not in source)
        return [graph.operands[row][0]], {"spec": f"{source}->{out}", "sizes": kept}

    def _without_identities(
        self, args: list[int], operands: list[str], out: str
    ) -> tuple[list[int], list[str], str]:
        for place, row in enumerate(args):
            letters = operands[place]
            half = len(letters) // 2
            others = "".join(o for i, o in enumerate(operands) if i != place)
            if (
                self.is_identity(row)
                and len(set(letters)) == len(letters)
                and all(letter in others for letter in letters[half:])
            ):
                renamed = str.maketrans(letters[half:], letters[:half])
                rest = [o.translate(renamed) for i, o in enumerate(operands) if i != place]
                remaining = [arg for i, arg in enumerate(args) if i != place]
                return self._without_identities(remaining, rest, out.translate(renamed))
        return args, operands, out

    def is_identity(self, row: int) -> bool:
        """Whether a row is the identity that Jacobians start from."""
        graph = self.graph
        if graph.ops[row] != "contract":
            return False
        spec = graph.settings(row)["spec"]
        half = len(spec[2:]) // 2
        return bool(
            spec.startswith("->")
            and half
            and spec[2 : 2 + half] == spec[2 + half :]
            and self.number(graph.operands[row][0]) == 1
        )


EXACT: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
}
_RULES: dict[Any, tuple[Function, Rule]] = {}
_FORMULAS: dict[Any, tuple[Function, Template]] = {}


def _key(op: str, count: int, settings: dict[str, Any]) -> Any:
    return (op, count, *sorted(settings.items())) if settings else (op, count)


def rule(op: str, count: int, settings: dict[str, Any]) -> Rule:
    """The rule of a function on `count` operands."""
    key = _key(op, count, settings)
    record = FUNCTIONS[op]
    known = _RULES.get(key)
    if known is None or known[0] is not record:  # a user may declare a function anew
        known = _RULES[key] = (record, _trace_rule(record, count, settings))
    return known[1]


def formula(op: str, count: int, settings: dict[str, Any], exact: bool) -> Template | None:
    """The formula of a composed function: the plain one for exact work, else the stable one."""
    record = FUNCTIONS[op]
    body = record.formula if exact or record.stable is None else record.stable
    if body is None:
        return None
    key = (*_key(op, count, settings), exact)
    known = _FORMULAS.get(key)
    if known is None or known[0] is not record:
        scratch, arguments = _scratch(record, count)
        known = _FORMULAS[key] = (record, _template(scratch, count, body(*arguments)))
    return known[1]


def check_record(record: Function) -> None:
    """Traces a new record, so that a mistake in it shows where it is declared."""
    count = len(record.parameters)
    try:
        for body in (record.formula, record.stable):
            if body is not None:
                scratch, arguments = _scratch(record, count)
                _template(scratch, count, body(*arguments))
        _trace_rule(record, count, {})
    except GraphcError as error:
        raise GraphcError(f"function {record.name!r}: {error}") from None
    except Exception as error:  # the user's own code ran: whatever it raised is told
        raise GraphcError(
            f"function {record.name!r} cannot be traced ({error}); write it with operators and the "
            "functions of graphc, such as gc.exp"
        ) from None


def _scratch(record: Function, count: int) -> tuple[Structure, list[Value]]:
    scratch = Structure(record.name)
    kinds = ["input"] * count
    if record.name in CONDITIONAL:
        kinds[0] = "condition"
    return scratch, [Value(scratch, scratch.append(kind)) for kind in kinds]


def _template(scratch: Structure, slots: int, result: Any) -> Template:
    """The rows that a result needs, with the first `slots` rows as arguments."""
    root = scratch.lift(result)
    needed = [row for row in ancestors(scratch, [root]) if row >= slots]
    slot = {**{row: row for row in range(slots)}, **{r: slots + i for i, r in enumerate(needed)}}
    steps = tuple(
        (scratch.ops[row], tuple(slot[o] for o in scratch.operands[row]), scratch.settings(row))
        for row in needed
    )
    return Template(steps, slot[root])


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
        tuple(_template(scratch, count + 1, partial) for partial in partials),
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
    rows = Rows(scratch)
    switches: list[Any] = _declared_switches(record, operands)

    def hops(row: int) -> list[tuple[int, Any]]:
        if row <= count or not scratch.operands[row] or scratch.ops[row] == "stop":
            return []
        inner = rule(scratch.ops[row], len(scratch.operands[row]), scratch.settings(row))
        arguments = [*scratch.operands[row], row]
        switches.extend(Value(scratch, t.run(rows, arguments)) for t in inner.switches)
        return [
            (operand, partial.run(rows, arguments))
            for operand, partial in zip(scratch.operands[row], inner.partials, strict=True)
        ]

    def carry(local: int, adjoint: int) -> int:
        return rows.apply("mul", (adjoint, local), {})

    def add(old: int, new: int) -> int:
        return rows.apply("add", (old, new), {})

    order = reversed(ancestors(scratch, [root]))
    adjoints = sweep(order, hops, {root: rows.constant(1)}, carry, add)
    partials = [Value(scratch, adjoints[i]) if i in adjoints else 0 for i in range(count)]
    return Rule(
        tuple(_template(scratch, count + 1, partial) for partial in partials),
        _distinct(_template(scratch, count + 1, switch) for switch in switches),
    )


def _distinct(templates: Any) -> tuple[Template, ...]:
    found: list[Template] = []
    for template in templates:
        if template not in found:
            found.append(template)
    return tuple(found)
