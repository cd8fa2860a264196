"""Formulas: what a checked syntax tree means for a graph.

Nothing is ever evaluated by Python: the Builder appends rows for the few kinds of branches that are
allowed. Every limit is checked before the work it bounds.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from types import EllipsisType
from typing import Any, TypeVar

from .. import names as naming
from ..algebra.arithmetic import NUMBERS
from ..algebra.exact import Undefined, as_float
from ..algebra.given import MOST_BITS, array_from_user
from ..errors import GraphcError, listing, nearest, visible
from ..layers.compositions import AXIS_BY_POSITION  # importing layers fills COMPOSED
from ..shapes import shape_text
from ..structure.structure import Structure
from ..syntax import MOST_DIGITS, Mistake, Syntax, read_formula, told
from ..table.functions import COMPOSED, FUNCTIONS, KINK_WORDS, lookup
from ..table.value import Value

T = TypeVar("T")
Env = Mapping[str, int]  # values of the loop variables
LARGEST_EXPONENT = 100_000
LARGEST_INDEX = 10**9
LARGEST_FAMILY = 100_000
MOST_ROWS = 200_000  # of one formula, families included

_OPERATORS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
}
_COMPARISONS: dict[type, str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
# arithmetic of rational numbers, as in exponents and indices
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: Fraction(a) / b,
    ast.Pow: lambda a, b: Fraction(a) ** int(b),
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ADVICE: dict[type, str] = {
    ast.FloorDiv: "// works on integers, in indices and exponents",
    ast.Mod: "% works on integers, in indices and exponents",
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
        try:
            row = self.build(self.syntax.tree).row
        except RecursionError:
            raise Mistake(
                "the formula is nested too deep; name parts of it", self.syntax.column
            ) from None
        graph = self.graph
        return graph.constant(graph.settings(row)["value"]) if graph.is_shared(row) else row

    def wrong(self, tree: ast.AST, message: str) -> Mistake:
        return Mistake(message, self.syntax.column_of(tree))

    def build(self, tree: ast.expr) -> Value:
        """The value of a syntax tree; recursion is bounded by the checked depth."""
        chain: list[ast.BinOp] = []
        while isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
            chain.append(tree)  # a + b + c nests to the left: follow it in a loop
            tree = tree.left
        value = self.leaf(tree)
        for link in reversed(chain):
            value = self.operate(link, value)
        return value

    def operate(self, tree: ast.BinOp, left: Value) -> Value:
        op = _OPERATORS[type(tree.op)]
        if op == "matmul":
            return self.composed(tree, op, (left, self.build(tree.right)), {})
        if op in ("div", "pow"):
            right = exact(tree.right, self.syntax, self.env)
            if op == "div" and right == 0:
                raise _division_by_0(tree, self.syntax)
            if right is not None:
                exact(tree, self.syntax, self.env)  # refuses 9**9**9
                if op == "pow":
                    return self.power(tree, left, right)
        return self.apply(tree, op, (left, self.build(tree.right)), {})

    def power(self, tree: ast.BinOp, left: Value, exponent: Any) -> Value:
        if abs(exponent) > LARGEST_EXPONENT:
            raise self.wrong(
                tree.right,
                f"the exponent {visible(self.syntax.source_of(tree.right), 30)} is too large; use "
                f"one of at most {LARGEST_EXPONENT}",
            )
        return self.apply(tree, "pow", (left, exponent), {})

    def apply(self, tree: ast.AST, name: str, operands: Any, settings: dict[str, Any]) -> Value:
        try:
            return self.graph.apply(name, operands, settings)
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None

    def composed(
        self, tree: ast.AST, function: str, arguments: Any, settings: dict[str, Any]
    ) -> Value:
        """The value of a function composed of others."""
        try:
            result = COMPOSED[function](*arguments, **settings)
            return Value(self.graph, self.graph.lift(result))
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None
        except (ValueError, OverflowError, MemoryError) as error:  # of NumPy: too large, too deep
            raise self.wrong(tree, f"{function} cannot be built ({error}); use less") from None

    def leaf(self, tree: ast.expr) -> Value:
        match tree:
            case ast.Constant():
                return Value(self.graph, self.graph.operand(literal(tree, self.syntax)))
            case ast.Name():
                return self.name(tree, tree.id)
            case ast.Attribute(value=matrix, attr="T"):
                return self.composed(tree, "transpose", (self.build(matrix),), {})
            case ast.List():
                return Value(self.graph, self.graph.constant(self.array(tree)))
            case ast.Subscript() if self.is_element(tree):
                return self.composed(
                    tree, "[]", (self.build(tree.value), self.plain(tree.slice)), {}
                )
            case ast.Subscript(value=ast.Name()):
                names = self.members(tree)
                if len(names) != 1:
                    raise self.wrong(
                        tree,
                        f"{visible(self.syntax.source_of(tree))} stands for {len(names)} nodes; "
                        "use it within sum, prod, mean, max or min",
                    )
                return self.name(tree, names[0])
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as constant):
                number = literal(constant, self.syntax)
                return Value(self.graph, self.graph.operand(-number))
            case ast.UnaryOp(op=ast.USub()):
                return self.apply(tree, "neg", (self.build(tree.operand),), {})
            case ast.UnaryOp(op=ast.UAdd()):
                return self.build(tree.operand)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sides = self.build(left), self.build(right)
                return self.apply(tree, _COMPARISONS[type(op)], sides, {})
            case ast.Compare():
                raise self.wrong(
                    tree, "a condition is one comparison, such as x > 0; nest where(cond, a, b)"
                )
            case ast.Call(func=ast.Name(id=function)):
                return self.call(tree, function)
        advice = _ADVICE.get(type(getattr(tree, "op", tree)), "it has no meaning as a number")
        raise self.wrong(
            tree, f"{visible(self.syntax.source_of(tree), 30)} is not allowed here: {advice}"
        )

    def name(self, tree: ast.expr, name: str) -> Value:
        if name in self.env:
            return Value(self.graph, self.graph.operand(self.env[name]))
        if name == "pi":
            return Value(self.graph, self.graph.append("pi"))
        if self.free:
            return Value(self.graph, self.graph.append("symbol", symbol=naming.checked(name)))
        if name in self.graph.rows:
            return Value(self.graph, self.graph.rows[name])
        if name in self.graph.named_sizes():
            return Value(self.graph, self.graph.append("size", size=name))
        advice = f"add 'param {name}' or 'input {name}'"
        if name in FUNCTIONS or name in COMPOSED:
            advice = f"to call the function write {name}(...)"
        raise Unknown(name, self.graph, self.syntax.column_of(tree), advice)

    def members(self, tree: ast.Subscript) -> list[str]:
        assert isinstance(tree.value, ast.Name)
        ranges = indices(tree.slice, self.env, self.syntax)
        return list(family(tree.value.id, ranges, self.syntax.column_of(tree)))

    def call(self, tree: ast.Call, function: str) -> Value:
        settings: dict[str, Any] = {}
        if function == "float":
            return self.floats(tree)
        for keyword in tree.keywords:
            key = keyword.arg or ""
            if key in settings:
                raise self.wrong(keyword, f"the setting {key!r} is given twice; keep one")
            plain = function in COMPOSED and key != "kink"
            settings[key] = self.plain(keyword.value) if plain else self.setting(key, keyword.value)
        if function in COMPOSED:
            plain_from = _PLAIN_FROM.get(function, len(tree.args))
            if function in AXIS_BY_POSITION and self.is_axis_second(tree):
                plain_from = 1
            arguments = self.arguments(tree, plain_from, function in _PLAIN_FIRST)
            if function in ("zeros", "ones") and any(isinstance(n, str) for n in flat(arguments)):
                number = Value(self.graph, self.graph.constant(int(function == "ones")))
                function, arguments = "full", [*arguments, number]  # the size is known at a point
            return self.composed(tree, function, arguments, settings)
        operands = self.arguments(tree, len(tree.args))
        return self.apply(tree, self.function(tree, function), operands, settings)

    def arguments(self, tree: ast.Call, plain_from: int, plain_first: bool = False) -> list[Any]:
        """The arguments of a call; a family counts as its members, a list of values is a list."""
        found: list[Any] = []
        for place, argument in enumerate(tree.args):
            plain = place >= plain_from or (plain_first and place == 0)
            if plain or isinstance(getattr(argument, "value", None), str):
                found.append(self.plain(argument))
            elif isinstance(argument, (ast.List, ast.Tuple)) and not self.is_numbers(argument):
                found.append([self.build(part) for part in argument.elts])
            elif isinstance(argument, ast.Subscript) and not self.is_element(argument):
                found.extend(self.name(argument, name) for name in self.members(argument))
            else:
                found.append(self.build(argument))
            if len(self.graph.ops) - self.first + len(found) > MOST_ROWS:
                raise self.wrong(tree, f"the formula has over {MOST_ROWS} parts; name some of them")
        return found

    def is_axis_second(self, tree: ast.Call) -> bool:
        """Whether the second of two arguments may name axes of the first, which is no family."""
        if len(tree.args) != 2:
            return False
        first, second = tree.args
        if isinstance(first, ast.Subscript) and not self.is_element(first):
            return False
        if any(isinstance(getattr(part, "value", None), float) for part in ast.walk(second)):
            return False  # 1.0 is no whole number as written
        parts = second.elts if isinstance(second, ast.Tuple) else [second]
        numbers = [exact(part, self.syntax, self.env) for part in parts]
        return all(isinstance(n, int) and abs(n) <= LARGEST_INDEX for n in numbers)

    def is_element(self, tree: ast.Subscript) -> bool:
        """Whether a subscript picks from a tensor; otherwise it is another spelling of a name."""
        if not isinstance(tree.value, ast.Name):
            return True
        row = self.graph.rows.get(naming.spelling(tree.value.id))
        return row is not None and row in self.graph.shapes

    def is_numbers(self, tree: ast.expr) -> bool:
        """Whether a list holds numbers only."""
        if isinstance(tree, (ast.List, ast.Tuple)):
            return all(self.is_numbers(part) for part in tree.elts)
        return exact(tree, self.syntax, self.env) is not None

    def array(self, tree: ast.expr) -> Any:
        """The exact numbers of a list, or of a list of lists."""
        if isinstance(tree, ast.List):
            parts = [self.array(part) for part in tree.elts]
            try:
                return array_from_user(parts, "the list")
            except GraphcError as error:
                raise self.wrong(tree, str(error)) from None
            except ValueError:  # NumPy has at most 64 axes, older ones 32
                raise self.wrong(tree, "the list is nested too deep; use fewer axes") from None
        number = exact(tree, self.syntax, self.env)
        if number is None:
            raise self.wrong(tree, "a list holds numbers only; join values with concat or stack")
        return number

    def floats(self, tree: ast.Call) -> Value:
        """float(0.1), float([0.1, 0.2]): the nearest floats, where a literal would be exact."""
        if len(tree.args) != 1 or tree.keywords:
            raise self.wrong(tree, "float takes one number or one list of numbers")

        def nearest(part: ast.expr) -> Any:
            if isinstance(part, ast.List):
                return [nearest(element) for element in part.elts]
            if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub):
                return -nearest(part.operand) if not isinstance(part.operand, ast.List) else None
            number = exact(part, self.syntax, self.env)
            if number is None:
                raise self.wrong(part, "float takes numbers only; floats stay floats in formulas")
            return as_float(number)

        numbers = nearest(tree.args[0])
        if isinstance(numbers, list):
            try:
                numbers = array_from_user(numbers, "the list")
            except GraphcError as error:
                raise self.wrong(tree, str(error)) from None
        return Value(self.graph, self.graph.constant(numbers))

    def plain(self, tree: ast.expr) -> Any:
        """A setting that is not a value: whole numbers, tuples, slices, words, names of sizes."""
        match tree:
            case ast.Constant(value=bool() | None | str() | EllipsisType()):
                return tree.value
            case ast.Tuple():
                return tuple(self.plain(part) for part in tree.elts)
            case ast.List():
                return [self.plain(part) for part in tree.elts]  # x[[0, 1]] is not x[0, 1]
            case ast.Slice(lower=low, upper=high, step=step):
                ends = [None if end is None else self.plain(end) for end in (low, high, step)]
                if ends[2] == 0:
                    raise self.wrong(tree, "a slice cannot step by 0; leave the step out")
                return slice(*ends)
            case ast.Name(id=name) if name in self.graph.named_sizes():
                return name
        return integer(tree, self.env, self.syntax)

    def function(self, tree: ast.AST, name: str) -> str:
        """The name of a function of the table that formulas may call."""
        try:
            record = lookup(name)
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None
        if (record.infix and not record.word) or record.name in _INTERNAL:
            advice = _INTERNAL.get(record.name, f"write the operator {record.infix}")
            raise self.wrong(tree, f"there is no function {name!r}; {advice}")
        return record.name

    def setting(self, key: str, tree: ast.expr) -> Any:
        if key != "kink":
            return self.build(tree)
        if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
            return tree.value
        number = exact(tree, self.syntax, self.env)
        if number is None:
            raise self.wrong(tree, f"kink= takes a number or one of {listing(KINK_WORDS)}")
        return number


def flat(arguments: list[Any]) -> Iterator[Any]:
    """The arguments, with the members of tuples in their place."""
    for argument in arguments:
        yield from argument if isinstance(argument, (tuple, list)) else (argument,)


# Rational numbers: literals, exponents, indices.


def literal(tree: ast.Constant, syntax: Syntax) -> int | Fraction:
    """The exact number that a literal spells."""
    if type(tree.value) is int:
        return tree.value
    if type(tree.value) is not float:
        raise Mistake(f"{syntax.source_of(tree)} is not a number; use one", syntax.column_of(tree))
    start, end = syntax.places[tree.col_offset]
    number = Fraction(syntax.text[start:end].replace("_", ""))
    return number.numerator if number.denominator == 1 else number


def exact(tree: ast.expr, syntax: Syntax, env: Env) -> int | Fraction | None:
    """The value of a formula of rational numbers and loop variables; None for any other."""
    chain: list[ast.BinOp] = []
    while isinstance(tree, ast.BinOp) and type(tree.op) in _ARITHMETIC:
        chain.append(tree)
        tree = tree.left
    value: int | Fraction | None = None
    match tree:
        case ast.Constant():
            value = literal(tree, syntax)
        case ast.Name(id=name):
            value = env.get(name)
        case ast.UnaryOp():
            value = exact(tree.operand, syntax, env)
            if value is not None and isinstance(tree.op, ast.USub):
                value = -value
    for link in reversed(chain):
        right = exact(link.right, syntax, env) if value is not None else None
        if value is None or right is None:
            return None
        if isinstance(link.op, ast.Pow) and Fraction(right).denominator != 1:
            return None
        value = _combined(link, value, right, syntax)
    return value


def _combined(
    tree: ast.BinOp, left: int | Fraction, right: int | Fraction, syntax: Syntax
) -> int | Fraction:
    too_large = isinstance(tree.op, ast.Pow) and _bits(left) * abs(int(right)) > MOST_BITS
    try:
        value: int | Fraction = 0 if too_large else _ARITHMETIC[type(tree.op)](left, right)
    except ZeroDivisionError:
        raise _division_by_0(tree, syntax) from None
    if too_large or _bits(value) > MOST_BITS:
        raise Mistake(
            f"{visible(syntax.source_of(tree), 30)} is too large: it has over {MOST_DIGITS} "
            "digits; use a smaller number",
            syntax.column_of(tree),
        )
    return value.numerator if value.denominator == 1 else value


def _division_by_0(tree: ast.BinOp, syntax: Syntax) -> Mistake:
    return Mistake(
        f"{visible(syntax.source_of(tree), 30)} divides by 0; change the divisor",
        syntax.column_of(tree),
    )


def _bits(number: int | Fraction) -> int:
    """The bits of numerator and denominator, at least; 0 where powers do not grow."""
    return max(number.numerator.bit_length() - 1, 0) + number.denominator.bit_length() - 1


# Indices and families.


def is_range(tree: ast.expr) -> bool:
    return isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.LShift)


def mentions(tree: ast.expr, env: Env) -> bool:
    return any(isinstance(part, ast.Name) and part.id in env for part in ast.walk(tree))


def indices(tree: ast.expr, env: Env, syntax: Syntax) -> list[range]:
    """The range of each index; a single number is a range of one."""
    ranges = []
    for part in tree.elts if isinstance(tree, ast.Tuple) else [tree]:
        if isinstance(part, ast.BinOp) and is_range(part):
            low, high = (integer(side, env, syntax) for side in (part.left, part.right))
        else:
            low = high = integer(part, env, syntax)
        ranges.append(range(low, high + 1))
    return ranges


def family(name: str, ranges: list[range], column: int) -> Iterator[str]:
    """The names of the members with these indices."""
    size = 1
    for indices in ranges:
        if len(indices) and indices[0] < 0:
            raise Mistake(
                f"{name}[{indices[0]}] does not exist: the indices of names start at 0", column
            )
        size *= len(indices)
    if size > LARGEST_FAMILY:
        raise Mistake(
            f"the family {name}[...] has {size} members, and at most {LARGEST_FAMILY} are allowed; "
            "use a smaller range",
            column,
        )
    for index in itertools.product(*ranges):
        yield naming.spelling(naming.indexed(name, index))


def integer(tree: ast.expr, env: Env, syntax: Syntax) -> int:
    """The value of an integer expression in the loop variables."""
    value = exact(tree, syntax, env)
    if isinstance(value, int) and abs(value) <= LARGEST_INDEX:
        return value
    variables = f" and {listing(env)}" if env else ""
    reason = f"is not an integer; use integers{variables} here"
    if isinstance(value, int):
        reason = f"is too large; use at most {LARGEST_INDEX} here"
    raise Mistake(f"{visible(syntax.source_of(tree), 30)} {reason}", syntax.column_of(tree))


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
    if isinstance(syntax.tree, ast.List):
        return Builder(Structure("constant"), syntax, env or {}).array(syntax.tree)
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
