"""Formulas: a whitelist of syntax, checked before anything is built from it.

Nothing is ever evaluated by Python: `ast.parse` gives a tree, and the Builder appends rows for the few
kinds of branches that are allowed. Every limit is checked before the work it bounds.
"""

from __future__ import annotations

import ast
import itertools
import re
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from . import names as naming
from .arithmetic import NUMBERS
from .errors import GraphcError, listing, nearest, visible
from .exact import Undefined
from .functions import COMPOSED, FUNCTIONS, lookup
from .given import array_from_user
from .layers import matmul as _filled  # noqa: F401  # importing layers fills COMPOSED
from .structure import Structure
from .value import Value

T = TypeVar("T")
LONGEST = 10_000
MOST_TERMS = 500
DEEPEST = 100
LARGEST_EXPONENT = 100_000
LARGEST_POWER_OF_TEN = 4_000
LARGEST_FAMILY = 100_000
# composed functions whose arguments from this place on are not values but sizes, indices, ...
PLAIN_FROM = {
    "reshape": 1,
    "take": 1,
    "pad": 1,
    "maxpool": 1,
    "avgpool": 1,
    "onehot": 0,
    "zeros": 0,
    "ones": 0,
}

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
_ADVICE: dict[type, str] = {
    ast.IfExp: "write where(cond, a, b) instead of if/else",
    ast.BoolOp: "nest where(...) instead of and/or",
    ast.Lambda: "functions are declared in Python with gc.declare",
    ast.Attribute: "the only attribute is .T, the transpose",
    ast.BitXor: "a power is written **",
}
Env = Mapping[str, int]


@dataclass(frozen=True)
class Formula:
    """A formula's text, where it begins on its line, and its checked syntax tree."""

    text: str
    column: int
    tree: ast.expr


class Mistake(GraphcError):
    """A mistake at a column of the line being read; becomes a GraphcError that names the line."""

    def __init__(self, message: str, column: int | None = None, caret: bool = False) -> None:
        super().__init__(message)
        self.column = column
        self.caret = caret


def read_formula(text: str, column: int) -> Formula:
    """The checked syntax tree of a formula that begins at this column of its line."""
    shift = len(text) - len(text.lstrip())
    text, column = text.strip(), column + shift
    if not text:
        raise Mistake("the formula is missing", column, caret=True)
    if len(text) > LONGEST:
        raise Mistake(f"the formula has {len(text)} characters; at most {LONGEST}", column)
    for wrong in ("<<", ":=", ";", "\\", "\n"):
        if wrong in text:
            raise Mistake(f"{wrong!r} is not allowed in a formula", column + text.index(wrong))
    depth = deepest = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    if deepest > DEEPEST or _longest_prefix(text) > DEEPEST:
        raise Mistake(f"the formula is nested over {DEEPEST} levels deep; name parts of it", column)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # `1..9` is read as an operator of the same width, so that columns stay true
            tree = ast.parse(re.sub(r"(?<!\.)\.\.(?!\.)", "<<", text), mode="eval").body
    except SyntaxError as error:
        place = min(max((error.offset or 1) - 1, 0), len(text))
        raise Mistake(
            f"cannot read the formula ({_reason(error.msg)})", column + place, caret=True
        ) from None
    except (RecursionError, MemoryError, ValueError, OverflowError):
        raise Mistake("the formula is too deeply nested or too large to read", column) from None
    formula = Formula(text, column, tree)
    _check_size(formula)
    return formula


def _longest_prefix(text: str) -> int:
    """The longest run of signs and powers, which nest without brackets."""
    runs = re.findall(r"(?:[-+~]\s*)+|(?:\bnot\s+)+", text)
    powers = text.count("**")
    return max([powers, *(len(run.replace(" ", "")) for run in runs)])


def _reason(message: str | None) -> str:
    message = (message or "invalid syntax").split(" (")[0].rstrip(".")
    return message[:1].lower() + message[1:].replace(" Perhaps you forgot a comma?", "")


def _check_size(formula: Formula) -> None:
    terms = 0
    stack: list[tuple[ast.AST, int]] = [(formula.tree, 0)]
    while stack:
        tree, depth = stack.pop()
        terms += isinstance(tree, (ast.Name, ast.Constant))
        if terms > MOST_TERMS:
            raise Mistake(
                f"the formula has over {MOST_TERMS} terms; name parts of it, or use sum(h[1..n])",
                formula.column,
            )
        if depth > DEEPEST:
            raise Mistake(
                f"the formula is nested over {DEEPEST} levels deep; name parts of it",
                formula.column,
            )
        for child in ast.iter_child_nodes(tree):
            chained = isinstance(tree, ast.BinOp) and child is tree.left
            stack.append((child, depth if chained else depth + 1))


def column_of(tree: ast.AST, formula: Formula) -> int:
    """The column of a part of the formula on its line; Python counts bytes there."""
    offset = getattr(tree, "col_offset", 0)
    return formula.column + len(formula.text.encode()[:offset].decode(errors="ignore"))


def _source(tree: ast.expr, formula: Formula) -> str:
    return formula.text.encode()[tree.col_offset : tree.end_col_offset].decode()


class Builder:
    """Appends the rows of a formula to a graph."""

    def __init__(self, graph: Structure, formula: Formula, env: Env, symbols: bool = False) -> None:
        self.graph = graph
        self.formula = formula
        self.env = env
        self.symbols = symbols  # undeclared names are free symbols, as in from_edges

    def wrong(self, tree: ast.AST, message: str) -> Mistake:
        return Mistake(message, column_of(tree, self.formula))

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
            return self.composed(tree, COMPOSED[op], (left, self.build(tree.right)), {})
        exponent = self.rational(tree.right) if op == "pow" else None
        right = self.build(tree.right) if exponent is None else exponent
        return self.apply(tree, op, (left, right), {})

    def apply(self, tree: ast.AST, name: str, operands: Any, settings: dict[str, Any]) -> Value:
        try:
            return self.graph.apply(name, operands, settings)
        except Mistake:
            raise
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None

    def composed(
        self, tree: ast.AST, function: Callable[..., Any], arguments: Any, settings: dict[str, Any]
    ) -> Value:
        try:
            return Value(self.graph, self.graph.lift(function(*arguments, **settings)))
        except Mistake:
            raise
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None

    def leaf(self, tree: ast.expr) -> Value:
        match tree:
            case ast.Constant():
                return Value(self.graph, self.graph.constant(self.literal(tree)))
            case ast.Name():
                return self.name(tree, tree.id)
            case ast.Attribute(value=inner, attr="T"):
                return self.composed(tree, COMPOSED["transpose"], (self.build(inner),), {})
            case ast.List():
                return Value(self.graph, self.graph.constant(self.array(tree)))
            case ast.Subscript() if self.is_element(tree):
                index = self.plain(tree.slice)
                return self.composed(tree, Value.__getitem__, (self.build(tree.value), index), {})
            case ast.Subscript(value=ast.Name(id=base)):
                names = self.members(base, tree)
                if len(names) != 1:
                    raise self.wrong(
                        tree, f"{_source(tree, self.formula)} is a family; use sum(...)"
                    )
                return self.name(tree, names[0])
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as constant):
                return Value(self.graph, self.graph.constant(-self.literal(constant)))
            case ast.UnaryOp(op=ast.USub()):
                return self.apply(tree, "neg", (self.build(tree.operand),), {})
            case ast.UnaryOp(op=ast.UAdd()):
                return self.build(tree.operand)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                return self.apply(
                    tree, _COMPARISONS[type(op)], (self.build(left), self.build(right)), {}
                )
            case ast.Compare():
                raise self.wrong(tree, "a condition is one comparison, such as x > 0")
            case ast.Call(func=ast.Name(id=function)):
                return self.call(tree, function)
        kind = type(getattr(tree, "op", tree))
        advice = (
            _ADVICE.get(kind)
            or _ADVICE.get(type(tree))
            or ("a formula is made of numbers, names, + - * / ** and functions")
        )
        raise self.wrong(
            tree, f"{visible(_source(tree, self.formula), 30)} is not allowed: {advice}"
        )

    def name(self, tree: ast.expr, name: str) -> Value:
        name = naming.spelling(name)
        if name in self.env:
            return Value(self.graph, self.graph.constant(self.env[name]))
        if name in self.graph.rows:
            return Value(self.graph, self.graph.rows[name])
        if name == "pi":
            return Value(self.graph, self.graph.append("pi"))
        if name in self.graph.named_sizes():
            return Value(self.graph, self.graph.append("size", size=name))
        if self.symbols:
            return Value(self.graph, self.graph.append("symbol", symbol=naming.checked(name)))
        hint = nearest(name, self.graph.rows) or f"; add 'param {name}' or 'input {name}'"
        if name in FUNCTIONS:
            hint = f"; to call the function write {name}(...)"
        raise self.wrong(
            tree, f"{name!r} is not declared (declared: {listing(self.graph.rows)}){hint}"
        )

    def is_element(self, tree: ast.Subscript) -> bool:
        """Whether a subscript picks from a tensor; otherwise it is another spelling of a name."""
        if not isinstance(tree.value, ast.Name):
            return True
        row = self.graph.rows.get(naming.spelling(tree.value.id))
        return row is not None and row in self.graph.shapes

    def array(self, tree: ast.expr) -> Any:
        """The exact numbers of a list, or of a list of lists."""
        if isinstance(tree, (ast.List, ast.Tuple)):
            return array_from_user([self.array(part) for part in tree.elts], "the list")
        number = self.rational(tree)
        if number is None:
            raise self.wrong(tree, "a list may hold numbers only; join values with concat or stack")
        return number

    def plain(self, tree: ast.expr) -> Any:
        """A setting that is not a value: whole numbers, tuples, slices, words, names of sizes."""
        match tree:
            case ast.Constant(value=bool() | None | str() | types.EllipsisType()):
                return tree.value
            case ast.Tuple() | ast.List():
                return tuple(self.plain(part) for part in tree.elts)
            case ast.Slice(lower=low, upper=high, step=step):
                return slice(
                    *(None if end is None else self.plain(end) for end in (low, high, step))
                )
            case ast.Name(id=name) if name in self.graph.named_sizes():
                return name
        return integer(tree, self.env, self.formula)

    def members(self, base: str, tree: ast.Subscript) -> list[str]:
        ranges = indices(tree.slice, self.env, self.formula)
        return list(family(base, ranges, column_of(tree, self.formula)))

    def call(self, tree: ast.Call, function: str) -> Value:
        if any(keyword.arg is None for keyword in tree.keywords):
            raise self.wrong(tree, "** is not allowed in a call")
        if function in COMPOSED:
            arguments = self.arguments(tree, PLAIN_FROM.get(function, len(tree.args)))
            words = {str(word.arg): self.keyword(word) for word in tree.keywords}
            return self.composed(tree, COMPOSED[function], arguments, words)
        operands = self.arguments(tree, len(tree.args))
        settings = {
            str(word.arg): self.setting(str(word.arg), word.value) for word in tree.keywords
        }
        try:
            record = lookup(function)
        except GraphcError as error:
            raise self.wrong(tree, str(error)) from None
        if record.infix or record.name in ("taken", "untaken", "pi"):
            raise self.wrong(tree, f"there is no function {function!r}")
        return self.apply(tree, record.name, operands, settings)

    def arguments(self, tree: ast.Call, plain_from: int) -> list[Any]:
        """The values of a call's arguments; a family counts as its members."""
        found: list[Any] = []
        for place, argument in enumerate(tree.args):
            if place >= plain_from or isinstance(getattr(argument, "value", None), str):
                found.append(self.plain(argument))
            elif isinstance(argument, (ast.List, ast.Tuple)) and any(
                self.rational(part) is None and not isinstance(part, ast.List)
                for part in argument.elts
            ):
                found.append([self.build(part) for part in argument.elts])
            elif isinstance(argument, ast.Subscript) and not self.is_element(argument):
                assert isinstance(argument.value, ast.Name)
                names = self.members(argument.value.id, argument)
                found.extend(self.name(argument, name) for name in names)
            else:
                found.append(self.build(argument))
        return found

    def keyword(self, word: ast.keyword) -> Any:
        return self.setting("kink", word.value) if word.arg == "kink" else self.plain(word.value)

    def setting(self, key: str, tree: ast.expr) -> Any:
        if key != "kink":
            return self.build(tree)
        if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
            return tree.value
        number = self.rational(tree)
        if number is None:
            raise self.wrong(tree, "kink= takes a number or one of left, right, share, error")
        return number

    def literal(self, tree: ast.Constant) -> Any:
        """The exact number that a literal spells."""
        if type(tree.value) not in (int, float):
            raise self.wrong(tree, f"{visible(_source(tree, self.formula), 30)} is not a number")
        text = _source(tree, self.formula).replace("_", "").lower()
        power = text.partition("e")[2] if not text.startswith("0x") else ""
        if power and abs(int(power)) > LARGEST_POWER_OF_TEN:
            raise self.wrong(tree, f"the number {visible(text, 30)} is too large or too small")
        if type(tree.value) is int:
            return tree.value
        exact = Fraction(text)
        return exact.numerator if exact.denominator == 1 else exact

    def rational(self, tree: ast.expr) -> Any:
        """The value of a formula of rational numbers only; None for any other."""
        match tree:
            case ast.Constant() if type(tree.value) in (int, float):
                return self.literal(tree)
            case ast.Name(id=name) if name in self.env:
                return self.env[name]
            case ast.UnaryOp(op=ast.USub()):
                inner = self.rational(tree.operand)
                return None if inner is None else -inner
            case ast.BinOp() if type(tree.op) in _OPERATORS:
                left, right = self.rational(tree.left), self.rational(tree.right)
                if left is None or right is None:
                    return None
                return self.fold(tree, _OPERATORS[type(tree.op)], left, right)
        return None

    def fold(self, tree: ast.BinOp, op: str, left: Any, right: Any) -> Any:
        if op == "pow":
            if abs(right) > LARGEST_EXPONENT:
                raise self.wrong(
                    tree,
                    f"the exponent {visible(str(right), 20)} is too large "
                    f"(at most {LARGEST_EXPONENT})",
                )
            if Fraction(right).denominator != 1 or abs(right) * abs(left) > LARGEST_EXPONENT:
                return None
        if (op == "div" and right == 0) or (op == "pow" and left == 0 and right < 0):
            raise self.wrong(tree, "division by 0")
        return {
            "add": lambda: left + right,
            "sub": lambda: left - right,
            "mul": lambda: left * right,
            "div": lambda: Fraction(left) / right,
            "pow": lambda: Fraction(left) ** int(right),
        }[op]()


# Indices and families.


def is_range(tree: ast.expr) -> bool:
    return isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.LShift)


def mentions(tree: ast.expr, env: Env) -> bool:
    return any(isinstance(part, ast.Name) and part.id in env for part in ast.walk(tree))


def indices(tree: ast.expr, env: Env, formula: Formula) -> list[range]:
    """The range of each index; a single number is a range of one."""
    ranges = []
    for part in tree.elts if isinstance(tree, ast.Tuple) else [tree]:
        if is_range(part):
            assert isinstance(part, ast.BinOp)
            low, high = (integer(side, env, formula) for side in (part.left, part.right))
            ranges.append(range(low, high + 1))
        else:
            value = integer(part, env, formula)
            ranges.append(range(value, value + 1))
    return ranges


def family(name: str, ranges: list[range], column: int) -> Iterator[str]:
    size = 1
    for indices in ranges:
        if len(indices) and indices[0] < 0:
            raise Mistake(f"{name}[{indices[0]}]: indices of names start at 0", column)
        size *= len(indices)
    if size > LARGEST_FAMILY:
        raise Mistake(
            f"the family {name}[...] has {size} members; at most {LARGEST_FAMILY}", column
        )
    for index in itertools.product(*ranges):
        yield naming.spelling(naming.indexed(name, index))


def integer(tree: ast.expr, env: Env, formula: Formula) -> int:
    """The value of an integer expression in the loop variables."""
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        value = tree.value
    elif isinstance(tree, ast.Name) and tree.id in env:
        value = env[tree.id]
    elif isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        value = -integer(tree.operand, env, formula)
    elif isinstance(tree, ast.BinOp) and type(tree.op) in _INTEGER_OPERATORS:
        left, right = integer(tree.left, env, formula), integer(tree.right, env, formula)
        if right == 0 and isinstance(tree.op, (ast.FloorDiv, ast.Mod)):
            raise Mistake("division by 0 in an index", column_of(tree, formula))
        value = _INTEGER_OPERATORS[type(tree.op)](left, right)
    else:
        raise Mistake(
            f"an index must be an integer expression in the loop variables "
            f"({listing(env)}), not {visible(formula.text.strip())}",
            column_of(tree, formula),
        )
    if abs(value) > 10**9:
        raise Mistake(f"the index {value} is too large", column_of(tree, formula))
    return int(value)


_INTEGER_OPERATORS: dict[type, Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


def node(graph: Structure, name: str, formula: Formula, env: Env) -> int:
    """A node from a formula: an operation, or a copy, or a constant."""
    name = naming.checked(name)
    if name in graph.rows:
        raise Mistake(f"{name!r} is declared already; choose another name for the second one")
    row = Builder(graph, formula, env).build(formula.tree).row
    if row in graph.names:
        row = graph.append("identity", (row,))
    return graph.bind(name, row)


def declare_partial(graph: Structure, target: int, source: int, expression: int) -> None:
    """The user's own derivative of one edge."""
    sources = graph.formula(target).sources
    if source not in sources:
        mentioned = listing(graph.names[row] for row in sources)
        raise GraphcError(
            f"d {graph.names[target]} / d {graph.names[source]}: the formula of "
            f"{graph.names[target]!r} does not mention {graph.names[source]!r} (it mentions: {mentioned})"
        )
    edge = sources.index(source)
    if (target, edge) in graph.partials:
        raise GraphcError(
            f"d {graph.names[target]} / d {graph.names[source]} is declared twice; keep one"
        )
    graph.partials[target, edge] = expression


# Single formulas from Python and the command line.


def declare_node(graph: Structure, name: str, text: str) -> int:
    """A node from a formula given as a string."""
    return _alone(text, f"node {visible(name)}", lambda f: node(graph, name, f, {}))


def expression(graph: Structure, text: str, what: str, symbols: bool = False) -> int:
    """The row of a formula given as a string."""
    return int(_alone(text, what, lambda f: Builder(graph, f, {}, symbols).build(f.tree).row))


def given_value(formula: Formula) -> Any:
    """The number that a formula without names stands for."""
    scratch = Structure("constant")
    builder = Builder(scratch, formula, {})
    if isinstance(formula.tree, ast.List):
        return builder.array(formula.tree)
    exact = builder.rational(formula.tree)
    if exact is not None:
        return exact
    root = builder.build(formula.tree).row
    values: list[Any] = []
    for row, op in enumerate(scratch.ops):
        operands = [values[operand] for operand in scratch.operands[row]]
        settings = scratch.settings(row)
        values.append(
            NUMBERS.constant(settings["value"])
            if op == "const"
            else NUMBERS.apply(op, operands, settings)
        )
    if type(values[root]) is Undefined:
        raise Mistake(f"{visible(formula.text)} is not a finite real number", formula.column)
    return values[root]


def constant(text: str, what: str) -> Any:
    """The exact number that a string such as '1/3' or 'pi/3' spells."""
    return _alone(text, what, given_value)


def _alone(text: str, what: str, use: Any) -> Any:
    try:
        if not text.isprintable():
            raise Mistake(f"{visible(text)} holds an invisible character")
        return use(read_formula(text, 0))
    except Mistake as error:
        place = f", column {error.column + 1}" if error.column is not None else ""
        caret = f"\n    {text}\n    {' ' * (error.column or 0)}^" if error.caret else ""
        raise GraphcError(f"{what}{place}: {error}{caret}") from None
