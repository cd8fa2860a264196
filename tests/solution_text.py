"""An independent reader of worked solutions: every line is parsed and evaluated again.

Values come from the formulas of the lines themselves, derivatives from numerical differentiation
with 60 digits. A rounded decimal is the interval of all numbers that round to it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import numpy as np
from mpmath import iv, mp

mp.dps = 60
iv.dps = 60
STEP = mp.mpf(10) ** -20
SIGN = re.compile(r"\b([Sz])\(([^()]*)\)")
TOTAL = re.compile(r"d (\w+) / d (\w+)\Z")


def each(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of numbers on numbers and arrays."""

    def applied(*args: Any) -> Any:
        if not any(isinstance(arg, np.ndarray) for arg in args):
            return function(*args)
        return np.vectorize(function, otypes=[object])(*args)

    return applied


def relu(x: Any) -> Any:
    return x if x > 0 else x * 0


def where(condition: Any, a: Any, b: Any) -> Any:
    return a if condition > 0 else b  # the truth of an interval is always True


FUNCTIONS = {
    "sin": each(iv.sin),
    "cos": each(iv.cos),
    "exp": each(iv.exp),
    "log": each(iv.log),
    "sqrt": each(iv.sqrt),
    "tanh": each(lambda x: 1 - 2 / (iv.exp(2 * x) + 1)),
    "sigmoid": each(lambda x: 1 / (1 + iv.exp(-x))),
    "softplus": each(lambda x: iv.log(1 + iv.exp(x))),
    "relu": each(relu),
    "abs": each(abs),
    "square": each(lambda x: x * x),
    "where": each(where),
    "maximum": each(lambda *xs: max(xs, key=lambda x: mp.mpf(x.mid))),
    "minimum": each(lambda *xs: min(xs, key=lambda x: mp.mpf(x.mid))),
    "sum": lambda x: np.sum(x),
    "outer": lambda a, b: np.outer(a, b),
    "diag": lambda x: np.diag(x) if x.ndim == 1 else np.diagonal(x),
}
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: each(lambda a, b: a + b),
    ast.Sub: each(lambda a, b: a - b),
    ast.Mult: each(lambda a, b: a * b),
    ast.Div: each(lambda a, b: a / b),
    ast.Pow: lambda a, b: _power(a, b),
    ast.MatMult: lambda a, b: a @ b,
}
COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Gt: lambda a, b: a > b,
    ast.Lt: lambda a, b: a < b,
    ast.GtE: lambda a, b: a >= b,
    ast.LtE: lambda a, b: a <= b,
    ast.Eq: lambda a, b: a == b,
}


def _power(a: Any, b: Any) -> Any:
    whole = b == int(mp.mpf(b.mid)) if hasattr(b, "mid") else False
    if whole:
        return a ** int(mp.mpf(b.mid))
    return each(lambda x: iv.exp(b * iv.log(x)))(a)


def number(literal: str, rounded: bool) -> Any:
    """A literal; a rounded decimal is the interval of what rounds to it."""
    exact = iv.mpf(literal)
    if not rounded or not re.search(r"[.e]", literal):
        return exact
    digits, _, exponent = literal.partition("e")
    places = len(digits.partition(".")[2]) - int(exponent or 0)
    half = mp.mpf(10) ** -places / 2
    return iv.mpf([mp.mpf(literal) - half, mp.mpf(literal) + half])


class Reader:
    """Evaluates one side of an equation."""

    def __init__(self, names: Mapping[str, Any], rounded: bool, text: str) -> None:
        self.names, self.rounded, self.text = names, rounded, text

    def value(self) -> Any:
        return self.of(ast.parse(self.text, mode="eval").body)

    def of(self, tree: ast.AST) -> Any:
        match tree:
            case ast.Constant():
                return number(ast.get_source_segment(self.text, tree) or "", self.rounded)
            case ast.Name(id=name):
                return {"E": iv.exp(1), "pi": iv.pi}.get(name) or self.names[name]
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self.of(inner)
            case ast.BinOp(left=left, op=op, right=right):
                return OPERATORS[type(op)](self.of(left), self.of(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return _truth(COMPARISONS[type(op)], self.of(left), self.of(right))
            case ast.List(elts=[ast.Compare() as only]):  # Iverson's bracket
                return self.of(only)
            case ast.List(elts=parts):
                return np.array([self.of(part) for part in parts], dtype=object)
            case ast.Attribute(value=inner, attr="T"):
                return self.of(inner).T
            case ast.Call(func=ast.Name(id=name), args=args):
                return FUNCTIONS[name](*map(self.of, args))
        raise ValueError(f"{ast.dump(tree)} in {self.text!r}")


def _truth(compare: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    return each(lambda x, y: iv.mpf(1 if compare(x, y) else 0))(a, b)


class Referee:
    """The truth about a graph at a point, from its text and numerical differentiation alone."""

    def __init__(self, text: str, at: Mapping[str, Any]) -> None:
        lines = [line.split("#")[0].strip() for line in text.splitlines()]
        self.formulas = dict(
            line.split(" = ", 1)
            for line in lines
            if " = " in line and not line.startswith(("input", "param", "output", "d "))
        )
        self.leaves = {name: _given(value) for name, value in at.items()}
        self.values = self.run({})

    def run(self, fixed: Mapping[str, Any]) -> dict[str, Any]:
        values = {**self.leaves, **fixed}
        for name, formula in self.formulas.items():
            if name not in fixed:
                values[name] = Reader(values, False, formula).value()
        return values

    def total(self, source: str, target: str) -> Any:
        """d target / d source over all paths."""
        return self._slope(source, lambda value: self.run({source: value})[target])

    def local(self, source: str, target: str) -> Any:
        """The partial of one formula."""
        formula = self.formulas[target]
        return self._slope(
            source, lambda value: Reader({**self.values, source: value}, False, formula).value()
        )

    def _slope(self, source: str, function: Callable[[Any], Any]) -> Any:
        at = self.values[source]
        if not isinstance(at, np.ndarray):
            return _central(function, at, iv.mpf(STEP))
        columns = []
        for index in np.ndindex(at.shape):
            step = np.full(at.shape, iv.mpf(0), dtype=object)
            step[index] = iv.mpf(STEP)
            columns.append(_central(function, at, step))
        shape = np.shape(columns[0])
        jacobian = np.array(columns, dtype=object)  # source first
        return np.moveaxis(jacobian, 0, -1).reshape((*shape, *at.shape))


def _central(function: Callable[[Any], Any], at: Any, step: Any) -> Any:
    return (function(at + step) - function(at - step)) / (2 * STEP)


def _given(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return np.array([_given(part) for part in value], dtype=object)
    return Reader({}, False, str(value)).value()


# The lines of a solution.


def equations(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """(left, [(relation, side)]) of every indented equation."""
    found: list[str] = []
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        bare = re.sub(r"   \(.*\)$|   \(.*$", "", line.strip()) if depth < 9 else ""
        if depth == 2:
            found.append(bare)
        elif depth in (4, 6) and bare:
            found[-1] += " " + bare
    split = []
    for line in found:
        left, *rest = re.split(r" (=|≈) ", line)
        split.append((left, list(zip(rest[::2], rest[1::2], strict=True))))
    return split


def check(text: str, referee: Referee) -> int:
    """Evaluates every side of every equation; the number of sides that were checked."""
    return check_equations(equations(text), referee)


def check_equations(lines: list[tuple[str, list[tuple[str, str]]]], referee: Referee) -> int:
    """The same for equations that were read already."""
    paths: dict[str, Any] = {}
    checked = 0
    for left, sides in lines:
        truth = _left(left, referee, paths)
        for relation, side in sides:
            names = dict(referee.values) | paths
            value = Reader(names, relation == "≈", _plain(side, referee, names)).value()
            if truth is None:  # a path: its first side defines it
                truth = paths[left] = value
            _compare(f"{left} {relation} {side}", relation, value, truth)
            checked += 1
    return checked


def _left(left: str, referee: Referee, paths: Mapping[str, Any]) -> Any:
    total = TOTAL.match(left)
    if total:
        return referee.total(total[2], total[1])
    sign = SIGN.fullmatch(left)
    if sign:
        return _known(sign, referee)
    return None if re.fullmatch(r"P\d+", left) else referee.values[left]


def _known(sign: re.Match[str], referee: Referee) -> Any:
    source, target = (part.strip() for part in sign[2].split(",")[:2])
    return (referee.total if sign[1] == "S" else referee.local)(source, target)


def _plain(side: str, referee: Referee, names: dict[str, Any]) -> str:
    """The side with a name instead of each S(i, t) and z(i, j)."""

    def named(found: re.Match[str]) -> str:
        name = f"sign_{len(names)}"
        names[name] = _known(found, referee)
        return name

    return SIGN.sub(named, side)


def _compare(line: str, relation: str, value: Any, truth: Any) -> None:
    value, truth = np.asarray(value, dtype=object), np.asarray(truth, dtype=object)
    if truth.size == value.size:
        truth = truth.reshape(value.shape)  # (1, 3) of a single output, and the like
    assert value.shape == truth.shape, f"{line}: shapes {value.shape} and {truth.shape}"
    for one, other in zip(value.flat, truth.flat, strict=True):
        middle = mp.mpf(iv.mpf(other).mid)
        slack = mp.mpf(10) ** -15 * (1 + abs(middle))  # of the numerical differentiation
        low, high = mp.mpf(iv.mpf(one).a), mp.mpf(iv.mpf(one).b)
        if relation == "=" and not re.search(r"\bP\d", line):
            assert high - low < slack, f"{line}: a rounded number after ="
        assert low - slack <= middle <= high + slack, (
            f"{line}: {mpmath.nstr(low, 10)} to {mpmath.nstr(high, 10)}, but it is "
            f"{mpmath.nstr(middle, 10)}"
        )
