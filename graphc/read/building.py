"""Building: what a checked syntax tree means for a graph.

Nothing is ever evaluated by Python: the Builder appends rows for the few kinds of branches that are
allowed. Every limit is checked before the work it bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from .. import names as naming
from ..errors import GraphcError, listing, nearest, visible

# importing layers fills COMPOSED
from ..layers.calling import AMONG_SETTINGS, AXIS_BY_POSITION, flattened
from ..structure.rows import NO_SETTINGS, GraphRow
from ..structure.structure import Structure
from ..syntax.parsing import Syntax
from ..syntax.trees import (
    Binary,
    Call,
    Chain,
    Index,
    List,
    Name,
    Number,
    Plain,
    Setting,
    Signed,
    Slice,
    Transpose,
    Tree,
    Tuple,
)
from ..syntax.words import Mistake
from ..table.functions import COMPOSED, FUNCTIONS, KINK_WORDS, lookup
from ..table.value import COMPARISONS, Value
from .rational import (
    LARGEST_INDEX,
    Env,
    array,
    division_by_0,
    exact,
    family,
    floats,
    indices,
    integer,
    leaves,
    no_number,
)

LARGEST_EXPONENT = 100_000
MOST_ROWS = 200_000  # of one formula, families included

_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow", "@": "matmul"}
_COMPARED = {sign: op for op, sign in COMPARISONS.items()}
_ADVICE = {
    "//": "// works on integers, in indices and exponents",
    "%": "% works on integers, in indices and exponents",
}
# records that formulas cannot call, and what to write instead
_INTERNAL = {
    "pi": "write pi without brackets",
    "taken": "write where(cond, a, b)",
    "untaken": "write where(cond, a, b)",
}


_ONE_VALUE = frozenset((Name, Number, Signed, Binary, Call, Transpose))  # whatever is inside


class Unknown(Mistake):
    """A name that is not declared, or not yet."""

    def __init__(self, name: str, graph: Structure, column: int, advice: str) -> None:
        hint = nearest(name, graph.rows) or f"; {advice}"
        declared = listing(graph.rows)
        super().__init__(f"{name!r} is not declared (declared: {declared}){hint}", column)
        self.name = name


class Builder:
    """Appends the rows of a formula to a graph."""

    def __init__(self, graph: Structure, syntax: Syntax, env: Env, free: bool = False) -> None:
        self.graph = graph
        self.syntax = syntax
        self.env = env
        self.free = free  # names are free symbols, not nodes, as in from_edges
        self.first = len(graph.ops)

    def row(self) -> GraphRow:
        """The row of the whole formula."""
        graph = self.graph
        if graph.observer is not None:
            graph.observer()
        try:
            row = self.build(self.syntax.tree)
        except RecursionError:
            raise Mistake(
                "the formula is nested too deep; name parts of it", self.syntax.column
            ) from None
        return graph.constant(graph.settings(row)["value"]) if graph.is_shared(row) else row

    def wrong(self, tree: Tree | Setting, message: str) -> Mistake:
        return Mistake(message, self.syntax.column_of(tree))

    def build(self, tree: Tree) -> GraphRow:
        """The row of a syntax tree; recursion is bounded by the checked depth."""
        chain: list[Binary] = []
        while type(tree) is Binary and tree.sign in _OPERATORS:
            chain.append(tree)  # a + b + c nests to the left: follow it in a loop
            tree = tree.left
        row = _BRANCHES[type(tree)](self, tree)
        while chain:
            row = self.operate(chain.pop(), row)
        return row

    def value(self, tree: Tree) -> Value:
        """The value of a syntax tree, as composed functions take it."""
        return Value(self.graph, self.build(tree))

    def operate(self, tree: Binary, left: GraphRow) -> GraphRow:
        op = _OPERATORS[tree.sign]
        if op in ("div", "pow"):
            right = exact(tree.right, self.syntax, self.env)
            if op == "div" and right == 0:
                raise division_by_0(tree, self.syntax)
            if right is not None:
                exact(tree, self.syntax, self.env)  # refuses 9**9**9
                if op == "pow":
                    return self.power(tree, left, right)
        elif op == "matmul":
            return self.composed(tree, op, (Value(self.graph, left), self.value(tree.right)), {})
        return self.operation(tree, op, (left, self.build(tree.right)))

    def power(self, tree: Binary, left: GraphRow, exponent: Any) -> GraphRow:
        if abs(exponent) > LARGEST_EXPONENT:
            raise self.wrong(
                tree.right,
                f"the exponent {visible(self.syntax.source_of(tree.right), 30)} is too large; use "
                f"one of at most {LARGEST_EXPONENT}",
            )
        return self.operation(tree, "pow", (left, self.graph.operand(exponent)))

    def operation(self, tree: Tree, op: str, operands: tuple[GraphRow, ...]) -> GraphRow:
        try:
            return self.graph.operation(op, operands, NO_SETTINGS)
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None

    def composed(
        self, tree: Tree, function: str, arguments: Any, settings: dict[str, Any]
    ) -> GraphRow:
        """The row of a function composed of others."""
        try:
            return self.graph.lift(COMPOSED[function](*arguments, **settings))
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None
        except (ValueError, OverflowError, MemoryError) as error:  # of NumPy: too large, too deep
            raise self.wrong(tree, f"{function} cannot be built ({error}); use less") from None

    def number(self, tree: Number) -> GraphRow:
        return self.graph.operand(tree.value)

    def name(self, tree: Name) -> GraphRow:
        return self.named(tree, tree.name)

    def named(self, tree: Name | Index, name: str) -> GraphRow:
        """The row of a name."""
        graph = self.graph
        row = None if self.free else graph.rows.get(name)
        if row is not None and name not in self.env:
            return row
        if name in self.env:
            return graph.operand(self.env[name])
        if name == "pi":
            return graph.append("pi")
        if self.free:
            return graph.append("symbol", symbol=naming.checked(name))
        if self.is_size(name):
            return graph.append("size", size=name)
        advice = f"add 'param {name}' or 'input {name}'"
        if name in FUNCTIONS or name in COMPOSED:
            advice = f"to call the function write {name}(...)"
        raise Unknown(name, graph, self.syntax.column_of(tree), advice)

    def is_size(self, name: str) -> bool:
        return self.graph.claimed.get(name) == "size"

    def signed(self, tree: Signed) -> GraphRow:
        if tree.sign == "+":
            return self.build(tree.operand)
        if type(tree.operand) is Number:
            return self.graph.operand(-tree.operand.value)
        return self.operation(tree, "neg", (self.build(tree.operand),))

    def binary(self, tree: Binary) -> GraphRow:
        """A comparison: the operators are followed in a loop."""
        if tree.sign not in _COMPARED:
            self.refuse(tree)
        sides = self.build(tree.left), self.build(tree.right)
        return self.operation(tree, _COMPARED[tree.sign], sides)

    def chain(self, tree: Chain) -> GraphRow:
        raise self.wrong(
            tree, "a condition is one comparison, such as x > 0; nest where(cond, a, b)"
        )

    def transpose(self, tree: Transpose) -> GraphRow:
        return self.composed(tree, "transpose", (self.value(tree.value),), {})

    def listed(self, tree: List) -> GraphRow:
        return self.graph.constant(array(tree, self.syntax, self.env))

    def index(self, tree: Index) -> GraphRow:
        if self.is_element(tree):
            return self.composed(tree, "[]", (self.value(tree.value), self.plain(tree.at)), {})
        names = self.members(tree)
        if len(names) != 1:
            raise self.wrong(
                tree,
                f"{visible(self.syntax.source_of(tree))} stands for {len(names)} nodes; "
                "use it within sum, prod, mean, max or min",
            )
        return self.named(tree, names[0])

    def refuse(self, tree: Tree) -> NoReturn:
        if isinstance(tree, Plain):
            raise no_number(tree, self.syntax)
        sign = tree.sign if isinstance(tree, Binary) else ""
        advice = _ADVICE.get(sign, "it has no meaning as a number")
        raise self.wrong(
            tree, f"{visible(self.syntax.source_of(tree), 30)} is not allowed here: {advice}"
        )

    def members(self, tree: Index) -> Sequence[str]:
        assert isinstance(tree.value, Name)
        ranges = indices(tree.at, self.env, self.syntax)
        return family(tree.value.name, ranges, lambda: self.syntax.column_of(tree))

    def call(self, tree: Call) -> GraphRow:
        function, arguments = tree.function, tree.arguments
        if function == "float":
            return self.graph.constant(floats(tree, self.syntax, self.env))
        settings: dict[str, Any] = {}
        for key, value, *_ in tree.settings:
            if key in settings:
                again = [setting for setting in tree.settings if setting.name == key][1]
                raise self.wrong(again, f"the setting {key!r} is given twice; keep one")
            plain = function in COMPOSED and key != "kink"
            settings[key] = self.plain(value) if plain else self.setting(key, value)
        if function in COMPOSED:
            first, end = AMONG_SETTINGS.get(function, (0, len(arguments)))
            if function in AXIS_BY_POSITION and self.is_axis_second(tree):
                end = 1
            given = self.arguments(tree, first, end)
            if function in ("zeros", "ones") and any(isinstance(n, str) for n in flattened(given)):
                number = Value(self.graph, self.graph.operand(int(function == "ones")))
                function, given = "full", [*given, number]  # the size is known at a point
            return self.composed(tree, function, given, settings)
        operands = self.arguments(tree, 0, len(arguments))
        name = self.function(tree, function)
        try:
            return self.graph.apply(name, operands, settings).row
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None

    def arguments(self, tree: Call, first: int, end: int) -> list[Any]:
        """The arguments of a call, values from the first one on to the end.

        A family counts as its members, a list of values is a list.
        """
        found: list[Any] = []
        for place, argument in enumerate(tree.arguments):
            plain = not first <= place < end
            if not plain and type(argument) in _ONE_VALUE:
                found.append(self.value(argument))
            elif plain or (isinstance(argument, Plain) and isinstance(argument.value, str)):
                found.append(self.plain(argument))
            elif isinstance(argument, (List, Tuple)) and not self.is_numbers(argument):
                found.append([self.value(part) for part in argument.parts])
            elif isinstance(argument, Index) and not self.is_element(argument):
                rows = [self.named(argument, name) for name in self.members(argument)]
                found.extend(Value(self.graph, row) for row in rows)
            else:
                found.append(self.value(argument))
            if len(self.graph.ops) - self.first + len(found) > MOST_ROWS:
                raise self.wrong(tree, f"the formula has over {MOST_ROWS} parts; name some of them")
        return found

    def is_axis_second(self, tree: Call) -> bool:
        """Whether the second of two arguments may name axes of the first, which is no family."""
        if len(tree.arguments) != 2:
            return False
        first, second = tree.arguments
        if isinstance(first, Index) and not self.is_element(first):
            return False
        parts = second.parts if isinstance(second, Tuple) else (second,)
        return all(isinstance(n, int) and abs(n) <= LARGEST_INDEX for n in map(self.whole, parts))

    def whole(self, tree: Tree) -> int | Fraction | None:
        """The value of integers only: 1.0 is no whole number as written."""
        if any(isinstance(part, Number) and not part.whole for part in leaves(tree)):
            return None
        return exact(tree, self.syntax, self.env)

    def is_element(self, tree: Index) -> bool:
        """Whether an index picks from a tensor; otherwise it is another spelling of a name."""
        if not isinstance(tree.value, Name):
            return True
        return self.graph.rows.get(tree.value.name) in self.graph.shapes

    def is_numbers(self, tree: Tree) -> bool:
        """Whether a list holds numbers only."""
        if isinstance(tree, (List, Tuple)):
            return all(self.is_numbers(part) for part in tree.parts)
        return exact(tree, self.syntax, self.env) is not None

    def plain(self, tree: Tree) -> Any:
        """A setting that is not a value: whole numbers, tuples, slices, words, names of sizes."""
        match tree:
            case Plain():
                return tree.value
            case Tuple():
                return tuple(self.plain(part) for part in tree.parts)
            case List():
                return [self.plain(part) for part in tree.parts]  # x[[0, 1]] is not x[0, 1]
            case Slice():
                ends = (tree.lower, tree.upper, tree.step)
                low, high, step = (None if end is None else self.plain(end) for end in ends)
                if step == 0:
                    raise self.wrong(tree, "a slice cannot step by 0; leave the step out")
                return slice(low, high, step)
            case Name() if self.is_size(tree.name):
                return tree.name
        return integer(tree, self.env, self.syntax)

    def function(self, tree: Tree, name: str) -> str:
        """The name of a function of the table that formulas may call."""
        try:
            record = lookup(name)
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None
        if (record.infix and not record.word) or record.name in _INTERNAL:
            advice = _INTERNAL.get(record.name, f"write the operator {record.infix}")
            raise self.wrong(tree, f"there is no function {name!r}; {advice}")
        return record.name

    def setting(self, key: str, tree: Tree) -> Any:
        if key != "kink":
            return self.value(tree)
        if isinstance(tree, Plain) and isinstance(tree.value, str):
            return tree.value
        number = exact(tree, self.syntax, self.env)
        if number is None:
            raise self.wrong(tree, f"kink= takes a number or one of {listing(KINK_WORDS)}")
        return number


_BRANCHES: dict[type, Callable[[Builder, Any], GraphRow]] = {
    Number: Builder.number,
    Name: Builder.name,
    Plain: Builder.refuse,
    Signed: Builder.signed,
    Binary: Builder.binary,
    Chain: Builder.chain,
    Call: Builder.call,
    Index: Builder.index,
    Slice: Builder.refuse,
    Transpose: Builder.transpose,
    List: Builder.listed,
    Tuple: Builder.refuse,
}
