"""Text to graph: our own reader of lines and loops; formulas are read by expressions.py."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from . import names as naming
from .errors import GraphcError, listing, nearest, visible
from .expressions import (
    Builder,
    Env,
    Formula,
    Mistake,
    declare_partial,
    family,
    given_value,
    indices,
    integer,
    is_range,
    mentions,
    node,
    read_formula,
)
from .shapes import Shape, check_fit, checked_shape
from .structure import Structure

LONGEST_LINE = 10_000
MOST_STATEMENTS = 2_000_000
DEEPEST_LOOP = 8

_NAME = r"[^\W\d]\w*"
_MEMBER = rf"({_NAME})\s*(?:\[([^\[\]=]*)\])?"
_FOR = re.compile(rf"for\s+({_NAME})\s+in\s+(.+?)\.\.(.+?)\s*:\s*\Z")
_PARTIAL = re.compile(rf"d\s+{_MEMBER}\s*/\s*d\s+{_MEMBER}\s*=(?!=)")
_ASSIGN = re.compile(rf"{_MEMBER}\s*=(?!=)")
_DECLARED = re.compile(rf"\s*,?\s*{_MEMBER}\s*")
INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn")


@dataclass(frozen=True)
class Member:
    """A name as it is written, x or h[t-1] or x[1..9], and where."""

    name: str
    index: Formula | None
    column: int

    def names(self, env: Env) -> list[str]:
        """The nodes it stands for, with these values of the loop variables."""
        if self.index is None:
            return [naming.spelling(self.name)]
        ranges = indices(self.index.tree, env, self.index)
        return list(family(self.name, ranges, self.column))

    def one(self, env: Env) -> str:
        """The one node it stands for."""
        names = self.names(env)
        if len(names) != 1:
            raise Mistake(f"{self.name}[...] is a whole family; name one member", self.column)
        return names[0]

    def row(self, graph: Structure, env: Env) -> int:
        """The row of the one node it stands for."""
        name = self.one(env)
        if name not in graph.rows:
            hint = nearest(name, graph.rows) or f" (declared: {listing(graph.rows)})"
            raise Mistake(f"{name!r} is not declared{hint}", self.column)
        return graph.rows[name]


@dataclass
class Statement:
    """One line, read but not yet carried out."""

    line: int
    source: str
    kind: str  # input, param, output, for, partial, assign
    members: tuple[Member, ...] = ()
    formulas: tuple[Formula, ...] = ()
    body: list[Statement] = field(default_factory=list)


def read(graph: Structure, text: str) -> None:
    """Appends what the text declares to the graph."""
    if not isinstance(text, str):
        raise GraphcError(f"a graph's text must be a string, not {type(text).__name__}")
    statements = _blocks(_lines(text))
    for count, (statement, env) in enumerate(_unrolled(statements)):
        if count >= MOST_STATEMENTS:
            raise GraphcError(f"the loops unroll to over {MOST_STATEMENTS} statements; use fewer")
        try:
            _carry_out(graph, statement, env)
        except GraphcError as error:
            _raise_at(statement.line, statement.source, error)


def _raise_at(line: int, source: str, error: GraphcError) -> NoReturn:
    """The mistake as a sentence that names the line, and the node if one was being declared."""
    column = getattr(error, "column", None)
    place = f"line {line}" + (f", column {column + 1}" if column is not None else "")
    target = _ASSIGN.match(source.lstrip())
    about = f", node {target[1]!r}" if target and target[2] is None else ""
    shown = ""
    if getattr(error, "caret", False) and column is not None and len(source) <= 200:
        shown = f"\n    {source}\n    {' ' * column}^"
    raise GraphcError(f"{place}{about}: {error}{shown}") from None


# Lines and blocks.


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, text without comment) of the lines that say something."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        line = line.rstrip("\r")
        if len(line) > LONGEST_LINE:
            raise GraphcError(
                f"line {number} has {len(line)} characters; at most {LONGEST_LINE} are allowed"
            )
        if not line.isprintable():
            _refuse_invisible(number, line)
        line = line.partition("#")[0].rstrip()
        if line.strip():
            yield number, line


def _refuse_invisible(number: int, line: str) -> None:
    for column, character in enumerate(line):
        if character != "\t" and unicodedata.category(character) in INVISIBLE:
            raise GraphcError(
                f"line {number}, column {column + 1}: the invisible character "
                f"U+{ord(character):04X} is not allowed; delete it"
            )


def _blocks(lines: Iterator[tuple[int, str]]) -> list[Statement]:
    """The statements, each loop holding its body."""
    top: list[Statement] = []
    blocks: list[tuple[int, list[Statement]]] = [(0, top)]  # (indentation, statements) still open
    loop: Statement | None = None  # a loop whose body must follow
    for number, line in lines:
        spread = line.expandtabs(8)
        indent = len(spread) - len(spread.lstrip())
        if loop is not None:
            if indent <= blocks[-1][0]:
                raise GraphcError(f"line {number}: the body of the 'for' above must be indented")
            blocks.append((indent, loop.body))
        else:
            while indent < blocks[-1][0]:
                blocks.pop()
            if indent != blocks[-1][0]:
                raise GraphcError(
                    f"line {number}: unexpected indentation; only the body of a 'for' is indented"
                )
        if len(blocks) > DEEPEST_LOOP + 1:
            raise GraphcError(f"line {number}: loops are nested over {DEEPEST_LOOP} deep")
        try:
            statement = _statement(number, line)
        except GraphcError as error:
            _raise_at(number, line, error)
        blocks[-1][1].append(statement)
        loop = statement if statement.kind == "for" else None
    if loop is not None:
        raise GraphcError(f"line {loop.line}: the 'for' has no body; indent what belongs to it")
    return top


def _statement(number: int, source: str) -> Statement:
    """One line as a statement."""
    start = len(source) - len(source.lstrip())
    text = source[start:]
    word = re.split(r"[\s:]", text, maxsplit=1)[0]
    if word in ("input", "param", "output"):
        return _declaration(number, source, word, start + len(word))
    if match := _FOR.match(text):
        bounds = tuple(read_formula(match[group], start + match.start(group)) for group in (2, 3))
        return Statement(number, source, "for", (Member(match[1], None, start),), bounds)
    if word == "for":
        raise Mistake("a loop is written 'for t in 1..5:'", start)
    if match := _PARTIAL.match(text):
        members = (_member(match, 1, start), _member(match, 3, start))
        formula = read_formula(text[match.end() :], start + match.end())
        return Statement(number, source, "partial", members, (formula,))
    if match := _ASSIGN.match(text):
        formula = read_formula(text[match.end() :], start + match.end())
        return Statement(number, source, "assign", (_member(match, 1, start),), (formula,))
    raise Mistake(
        f"cannot read {visible(text)}; a line is 'input', 'param', 'output', 'for t in 1..5:' or "
        "'name = formula'",
        start,
        caret=True,
    )


def _member(match: re.Match[str], group: int, start: int) -> Member:
    index = match[group + 1]
    if index is not None:
        index = read_formula(index, start + match.start(group + 1))
    return Member(match[group], index, start + match.start(group))


def _declaration(number: int, source: str, kind: str, start: int) -> Statement:
    """A line of inputs, params or outputs."""
    before, equals, after = source[start:].partition("=")
    if not before.strip():
        raise Mistake(f"'{kind}' needs at least one name after it, such as '{kind} x'", start)
    members: list[Member] = []
    position = 0
    while position < len(before.rstrip()):
        match = _DECLARED.match(before, position)
        if not match:
            raise Mistake(
                f"cannot read {visible(before[position:].strip())} as a name; write "
                f"'{kind} x y', names separated by spaces",
                start + position,
                caret=True,
            )
        members.append(_member(match, 1, start))
        position = match.end()
    if not equals:
        return Statement(number, source, kind, tuple(members))
    if kind == "output" or len(members) != 1:
        example = f"{kind} {members[0].name} = 2" if kind != "output" else "output y"
        raise Mistake(f"give one name per line where values are given: '{example}'", start)
    value = read_formula(after, start + len(before) + 1)
    return Statement(number, source, kind, tuple(members), (value,))


# Carrying out.

Step = tuple[Statement, dict[str, int]]


def _unrolled(statements: list[Statement]) -> Iterator[Step]:
    """The statements in order, loops unrolled, each with the values of the loop variables."""
    stack = [_steps(statements, [{}])]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
        elif step[0].kind != "for":
            yield step
        else:
            try:
                stack.append(_steps(step[0].body, _environments(*step)))
            except GraphcError as error:
                _raise_at(step[0].line, step[0].source, error)


def _steps(body: list[Statement], environments: Iterable[dict[str, int]]) -> Iterator[Step]:
    return ((statement, env) for env in environments for statement in body)


def _environments(loop: Statement, env: dict[str, int]) -> Iterable[dict[str, int]]:
    """The values of the loop variables in each step of a loop."""
    name = naming.checked(loop.members[0].name)
    if name in env:
        raise Mistake(f"{name!r} is the variable of an outer loop already; choose another")
    first, last = (integer(bound.tree, env, bound) for bound in loop.formulas)
    return ({**env, name: step} for step in range(first, last + 1))


def _carry_out(graph: Structure, statement: Statement, env: dict[str, int]) -> None:
    clash = next((name for name in env if name in graph.rows), None)
    if clash:
        raise Mistake(f"the loop variable {clash!r} is also the name of a node; rename one of them")
    if statement.kind in ("input", "param"):
        _declare(graph, statement, env)
    elif statement.kind == "output":
        for member in statement.members:
            for name in member.names(env):
                row = Member(name, None, member.column).row(graph, env)
                if row not in graph.declared_outputs:
                    graph.declared_outputs.append(row)
    elif statement.kind == "assign":
        row = node(graph, statement.members[0].one(env), statement.formulas[0], env)
        graph.lines[row] = statement.line
    else:
        target, source = (member.row(graph, env) for member in statement.members)
        formula = statement.formulas[0]
        expression = Builder(graph, formula, env).build(formula.tree).row
        graph.lines[expression] = statement.line
        declare_partial(graph, target, source, expression)


def _declare(graph: Structure, statement: Statement, env: dict[str, int]) -> None:
    """Inputs and parameters, with a value if one is given."""
    value: Any = given_value(statement.formulas[0]) if statement.formulas else None
    for member in statement.members:
        shape: Shape = ()
        if member.index is not None and not _is_family(member.index, env):
            shape, member = _shape(member.index, env), Member(member.name, None, member.column)
        for name in member.names(env):
            row = graph.bind(name, graph.append(statement.kind))
            graph.lines[row] = statement.line
            if shape:
                graph.shapes[row] = shape
            if value is not None:
                check_fit(value, shape, name)
                graph.given[row] = value


def _shape(index: Formula, env: Env) -> Shape:
    """The shape that a declaration's index gives: numbers, and names of sizes."""
    parts = index.tree.elts if isinstance(index.tree, ast.Tuple) else [index.tree]
    return checked_shape(
        tuple(
            part.id if isinstance(part, ast.Name) else integer(part, env, index) for part in parts
        )
    )


def _is_family(index: Formula, env: Env) -> bool:
    """Whether an index names members of a family: it has a range or a loop variable in it."""
    parts = index.tree.elts if isinstance(index.tree, ast.Tuple) else [index.tree]
    return any(is_range(part) or mentions(part, env) for part in parts)
