"""Formulas: what a checked syntax tree means for a graph.

Nothing is ever evaluated by Python: the Builder appends rows for the few kinds of branches that are
allowed. Every limit is checked before the work it bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

from .. import names as naming
from ..algebra.arithmetic import NUMBERS
from ..algebra.exact import Undefined
from ..errors import GraphcError, listing, nearest, visible
from ..layers.compositions import AXIS_BY_POSITION  # importing layers fills COMPOSED
from ..shapes import shape_text
from ..structure.rows import NO_SETTINGS
from ..structure.structure import Structure
from ..syntax.parsing import Syntax, read_formula
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
from ..syntax.words import Mistake, told
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

T = TypeVar("T")
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
# composed functions whose arguments from this place on are not values but sizes, indices, ...
_PLAIN_FROM = dict.fromkeys(
    ("reshape", "transpose", "take", "scatter", "pad", "maxpool", "avgpool", "broadcast_to"), 1
) | dict.fromkeys(("onehot", "zeros", "ones", "eye"), 0)
_PLAIN_FIRST = ("full",)  # and these have their shape in front


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

    def row(self) -> int:
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

    def build(self, tree: Tree) -> int:
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

    def operate(self, tree: Binary, left: int) -> int:
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

    def power(self, tree: Binary, left: int, exponent: Any) -> int:
        if abs(exponent) > LARGEST_EXPONENT:
            raise self.wrong(
                tree.right,
                f"the exponent {visible(self.syntax.source_of(tree.right), 30)} is too large; use "
                f"one of at most {LARGEST_EXPONENT}",
            )
        return self.operation(tree, "pow", (left, self.graph.operand(exponent)))

    def operation(self, tree: Tree, op: str, operands: tuple[int, ...]) -> int:
        try:
            return self.graph.operation(op, operands, NO_SETTINGS)
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None

    def composed(self, tree: Tree, function: str, arguments: Any, settings: dict[str, Any]) -> int:
        """The row of a function composed of others."""
        try:
            return self.graph.lift(COMPOSED[function](*arguments, **settings))
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None
        except (ValueError, OverflowError, MemoryError) as error:  # of NumPy: too large, too deep
            raise self.wrong(tree, f"{function} cannot be built ({error}); use less") from None

    def number(self, tree: Number) -> int:
        return self.graph.operand(tree.value)

    def name(self, tree: Name) -> int:
        return self.named(tree, tree.name)

    def named(self, tree: Name | Index, name: str) -> int:
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

    def signed(self, tree: Signed) -> int:
        if tree.sign == "+":
            return self.build(tree.operand)
        if type(tree.operand) is Number:
            return self.graph.operand(-tree.operand.value)
        return self.operation(tree, "neg", (self.build(tree.operand),))

    def binary(self, tree: Binary) -> int:
        """A comparison: the operators are followed in a loop."""
        if tree.sign not in _COMPARED:
            self.refuse(tree)
        sides = self.build(tree.left), self.build(tree.right)
        return self.operation(tree, _COMPARED[tree.sign], sides)

    def chain(self, tree: Chain) -> int:
        raise self.wrong(
            tree, "a condition is one comparison, such as x > 0; nest where(cond, a, b)"
        )

    def transpose(self, tree: Transpose) -> int:
        return self.composed(tree, "transpose", (self.value(tree.value),), {})

    def listed(self, tree: List) -> int:
        return self.graph.constant(array(tree, self.syntax, self.env))

    def index(self, tree: Index) -> int:
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

    def call(self, tree: Call) -> int:
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
            plain_from = _PLAIN_FROM.get(function, len(arguments))
            if function in AXIS_BY_POSITION and self.is_axis_second(tree):
                plain_from = 1
            given = self.arguments(tree, plain_from, function in _PLAIN_FIRST)
            if function in ("zeros", "ones") and any(isinstance(n, str) for n in flat(given)):
                number = Value(self.graph, self.graph.operand(int(function == "ones")))
                function, given = "full", [*given, number]  # the size is known at a point
            return self.composed(tree, function, given, settings)
        operands = self.arguments(tree, len(arguments))
        name = self.function(tree, function)
        try:
            return self.graph.apply(name, operands, settings).row
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None

    def arguments(self, tree: Call, plain_from: int, plain_first: bool = False) -> list[Any]:
        """The arguments of a call; a family counts as its members, a list of values is a list."""
        found: list[Any] = []
        for place, argument in enumerate(tree.arguments):
            plain = place >= plain_from or (plain_first and place == 0)
            if plain or (isinstance(argument, Plain) and isinstance(argument.value, str)):
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


_BRANCHES: dict[type, Callable[[Builder, Any], int]] = {
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


def flat(arguments: list[Any]) -> Iterator[Any]:
    """The arguments, with the members of tuples in their place."""
    for argument in arguments:
        yield from argument if isinstance(argument, (tuple, list)) else (argument,)


# Nodes and derivatives from formulas.


def node(graph: Structure, name: str, syntax: Syntax, env: Env) -> int:
    """A node from a formula: an operation, or a copy, or a constant."""
    row = Builder(graph, syntax, env).row()
    if graph.is_condition(row):
        raise Mistake(
            f"{visible(syntax.text)} is a condition, not a number; write "
            f"where({syntax.text[:60]}, 1, 0)",
            syntax.column,
        )
    if row in graph.names:
        row = graph.operation("identity", (row,), {})
    return graph.bind(name, row)


def declare_partial(graph: Structure, target: int, source: int, expression: int) -> None:
    """The user's own derivative of one edge."""
    names = graph.names
    what = f"d {names[target]} / d {names[source]}"
    sources = graph.formula(target).sources
    if source not in sources:
        mentioned = f"it mentions {listing(names[row] for row in sources)}"
        raise GraphcError(
            f"{what}: the formula of {names[target]!r} does not mention {names[source]!r}; "
            + (mentioned if sources else "it mentions no node")
        )
    if graph.is_condition(expression):
        raise GraphcError(f"{what}: a comparison is a condition, not a number; use where(...)")
    shapes = {graph.shape(row) for row in (target, source, expression)}
    if len(shapes) > 1:
        raise GraphcError(
            f"{what}: a derivative of your own is element by element; {names[target]!r}, "
            f"{names[source]!r} and the derivative have shapes "
            f"{listing(sorted(shape_text(shape) for shape in shapes))}"
        )
    edge = sources.index(source)
    if (target, edge) in graph.partials:
        raise GraphcError(f"{what} is declared twice; keep one")
    graph.partials[target, edge] = expression


def given_value(syntax: Syntax, env: Env | None = None) -> Any:
    """The number that a formula without names stands for."""
    number = exact(syntax.tree, syntax, env or {})
    if number is not None:
        return number
    if isinstance(syntax.tree, List):
        return array(syntax.tree, syntax, env or {})
    scratch = Structure("constant")
    try:
        root = Builder(scratch, syntax, env or {}).row()
    except Unknown as error:
        raise Mistake(
            f"{error.name!r} is not declared as a number; give one such as 1/3 or pi/4",
            error.column,
        ) from None
    values: list[Any] = []
    for row, op in enumerate(scratch.ops):
        operands = [values[operand] for operand in scratch.operands[row]]
        settings = scratch.settings(row)
        values.append(
            NUMBERS.constant(settings["value"])
            if op == "const"
            else NUMBERS.apply(op, operands, settings)
        )
    if isinstance(values[root], (Undefined, bool)):
        raise Mistake(
            f"{visible(syntax.text)} is not a finite real number; give one such as 1/3 or pi/4",
            syntax.column,
        )
    return values[root]


# Single formulas from Python and the command line.


def declare_node(graph: Structure, name: str, text: str) -> int:
    """A node from a formula given as a string."""
    spelt = naming.checked(name)
    return _alone(text, f"node {spelt!r}", lambda syntax: node(graph, spelt, syntax, {}))


def expression(graph: Structure, text: str, what: str, symbols: bool = False) -> int:
    """The row of a formula given as a string; with symbols, its names are free symbols."""
    return _alone(text, what, lambda syntax: Builder(graph, syntax, {}, symbols).row())


def constant(text: str, what: str) -> Any:
    """The exact number that a string such as '1/3' or 'pi/3' spells."""
    return _alone(text, what, given_value, caret=False)  # a value is short


def _alone(text: str, what: str, use: Callable[[Syntax], T], caret: bool = True) -> T:
    if not text.isprintable():
        raise GraphcError(f"{what}: {visible(text)} holds an invisible character; delete it")
    try:
        return use(read_formula(text, 0))
    except GraphcError as error:
        raise told(error, what, "", text if caret else "") from None
