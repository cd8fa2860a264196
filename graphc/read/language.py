"""Text to graph: our own reader of lines and loops; formulas are read by syntax/."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .. import names as naming
from ..collecting import collection_rests
from ..errors import GraphcError, visible
from ..shapes import Shape, check_fit, checked_shape
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..syntax.parsing import Syntax, read_formula
from ..syntax.trees import Name, Tuple
from ..syntax.words import Mistake, told, weight
from .building import Builder, Unknown
from .expressions import declare_partial, given_value, node
from .rational import LARGEST_FAMILY, Env, family, indices, integer, is_range, mentions

LONGEST_LINE = 10_000  # besides numbers
LONGEST_LIST = 4_000_000  # with them
MOST_STEPS = 1_000_000  # statements after unrolling the loops
MOST_ROWS = 1_000_000
LOOKAHEAD = 10_000  # names looked at below a line that mentions an unknown one
DEEPEST_LOOP = 8
INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")

_MEMBER = rf"({naming.NAME})(?:\s*\[([^\[\]=]*)\])?"
_FOR = re.compile(rf"for\s+({naming.NAME})\s+in\s")
_PARTIAL = re.compile(rf"d\s+{_MEMBER}\s*/\s*d\s+{_MEMBER}\s*=(?!=)")
_ASSIGN = re.compile(rf"{_MEMBER}\s*=(?!=)")
_DECLARED = re.compile(rf"(?:\s*,)?\s*{_MEMBER}\s*")


class Member(NamedTuple):
    """A name as it is written, x or h[t-1] or x[1..9], and where."""

    name: str
    at: Syntax | None
    column: int

    def names(self, env: Env) -> list[str]:
        """The nodes it stands for, with these values of the loop variables."""
        if self.at is None:
            return [self.name]
        ranges = indices(self.at.tree, env, self.at)
        return family(self.name, ranges, lambda: self.column)

    def one(self, env: Env) -> str:
        """The one node it stands for."""
        names = self.names(env)
        if len(names) != 1:
            raise Mistake(
                f"{self.name}[...] stands for {len(names)} nodes; name one of them", self.column
            )
        return names[0]

    def new(self, name: str, graph: Structure, env: Env) -> str:
        """One of its names, which nobody may have yet."""
        if name in env:
            raise Mistake(f"{name!r} is the loop variable; choose another name", self.column)
        if self.at is not None:
            graph.claim_family(self.name)
        if name in graph.rows:
            line = graph.lines.get(graph.rows[name])
            where = f" on line {line}" if line else ""
            raise Mistake(
                f"{name!r} is declared already{where}; choose another name for the second one",
                self.column,
            )
        try:
            return naming.checked(name)
        except GraphcError as error:
            raise Mistake(str(error), self.column) from None

    def row(self, name: str, graph: Structure) -> GraphRow:
        """The row of one of its names, which must be declared."""
        if name not in graph.rows:
            raise Unknown(name, graph, self.column, "name a node that is declared above")
        return graph.rows[name]


@dataclass
class Statement:
    """One line, read but not yet carried out."""

    line: int
    source: str
    kind: str  # input, param, output, for, partial, assign
    members: tuple[Member, ...] = ()
    formulas: tuple[Syntax, ...] = ()
    body: list[Statement] = field(default_factory=list)

    def told(self, error: GraphcError, env: Env) -> GraphcError:
        """The mistake as a sentence that names the line, and the node that was being declared."""
        about = ""
        if self.kind == "assign":
            try:
                about = f", node {self.members[0].one(env)!r}"
            except GraphcError:  # the name itself is the mistake
                about = f", node {self.members[0].name + '[...]'!r}"
        return told(error, f"line {self.line}", about, self.source)


Step = tuple[Statement, dict[str, int]]  # a statement, and the values of the loop variables


def read(graph: Structure, text: str) -> None:
    """Appends what the text declares to the graph."""
    if not isinstance(text, str):
        raise GraphcError(f"a graph's text must be a string, not {type(text).__name__}")
    with collection_rests():
        steps = _unrolled(_bounded(_statements(text)), graph)
        for statement, env in steps:
            try:
                _carry_out(graph, statement, env)
            except Unknown as error:
                raise statement.told(_explained(error, statement, env, steps), env) from None
            except GraphcError as error:
                raise statement.told(error, env) from None


def _explained(error: Unknown, statement: Statement, env: Env, steps: Iterator[Step]) -> Mistake:
    """What is wrong about a name that is not declared: perhaps it is declared further below."""
    if statement.kind == "assign" and statement.members[0].one(env) == error.name:
        return Mistake(
            f"{error.name!r} is used in its own formula; use only nodes declared above",
            error.column,
        )
    seen = 0
    try:
        for later, values in steps:
            names = [name for member in later.members for name in member.names(values)]
            if later.kind in ("input", "param", "assign") and error.name in names:
                return Mistake(
                    f"{error.name!r} is used before line {later.line} declares it; move that line "
                    "up",
                    error.column,
                )
            seen += len(names)
            if seen > LOOKAHEAD:
                break
    except GraphcError:  # one mistake at a time
        pass
    return error


# Lines and blocks.


def _statements(text: str) -> Iterator[Statement]:
    """The statements as they are read, each loop holding its body.

    A statement is carried out before the next is read: a long text with a mistake in its first line
    costs no more than that line.
    """
    top: list[Statement] = []
    blocks: list[tuple[int, list[Statement]]] = []  # (indentation, statements) still open
    loop: Statement | None = None  # a loop whose body must follow
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        try:
            line = _content(line)
            if not line or line.isspace():
                continue
            indent = 0
            if line[0].isspace():
                spread = line.expandtabs(8)
                indent = len(spread) - len(spread.lstrip())
            if not blocks:  # the first line; the whole text may be indented
                blocks.append((indent, top))
            if loop is not None or indent != blocks[-1][0]:
                _enter_block(blocks, indent, loop)
            if len(blocks) == 1:
                yield from top
                top.clear()
            statement = _statement(number, line)
        except GraphcError as error:
            target = _ASSIGN.match(line.lstrip())
            about = f", node {target[0][:-1].rstrip()!r}" if target else ""
            raise told(error, f"line {number}", about, line) from None
        blocks[-1][1].append(statement)
        loop = statement if statement.kind == "for" else None
    if loop is not None:
        raise GraphcError(f"line {loop.line}: the 'for' has no body; indent what belongs to it")
    yield from top


def _content(line: str) -> str:
    """The line without its comment."""
    line = line.rstrip("\r")
    if len(line) > LONGEST_LIST or (len(line) > LONGEST_LINE and weight(line) > LONGEST_LINE):
        raise Mistake(
            f"the line has {len(line)} characters, and at most {LONGEST_LINE} besides numbers are "
            "allowed; split it"
        )
    if not line.isprintable():
        for column, character in enumerate(line):
            if character != "\t" and unicodedata.category(character) in INVISIBLE:
                name = unicodedata.name(character, "")
                raise Mistake(
                    f"the invisible character U+{ord(character):04X}{' ' * bool(name)}{name} is "
                    "not allowed; delete it",
                    column,
                )
    return line.partition("#")[0].rstrip()


def _enter_block(
    blocks: list[tuple[int, list[Statement]]], indent: int, loop: Statement | None
) -> None:
    """Opens the body of a loop, or closes blocks, until the line's indentation fits."""
    if loop is not None:
        if indent <= blocks[-1][0]:
            raise Mistake(f"the body of the 'for' on line {loop.line} must be indented; indent it")
        blocks.append((indent, loop.body))
    while indent < blocks[-1][0] and len(blocks) > 1:
        blocks.pop()
    if indent != blocks[-1][0]:
        raise Mistake(
            "the indentation fits no line above; indent the body of a 'for', all lines of it alike"
        )
    if len(blocks) > DEEPEST_LOOP + 1:
        raise Mistake(f"loops are nested over {DEEPEST_LOOP} deep; use fewer")


def _statement(number: int, source: str) -> Statement:
    """One line as a statement."""
    start = len(source) - len(source.lstrip())
    text = source[start:]
    if match := _PARTIAL.match(text):
        members = (_member(match, 1, start), _member(match, 3, start))
        formula = read_formula(text[match.end() :], start + match.end())
        return Statement(number, source, "partial", members, (formula,))
    if match := _ASSIGN.match(text):
        formula = read_formula(text[match.end() :], start + match.end())
        return Statement(number, source, "assign", (_member(match, 1, start),), (formula,))
    word = re.split(r"[\s:,\[]", text, maxsplit=1)[0]
    if word in ("input", "param", "output"):
        return _declaration(number, source, word, start + len(word))
    if word == "for":
        return _loop(number, source, start)
    raise Mistake(
        f"cannot read {visible(' '.join(text.split()))}; a line is 'input', 'param' or 'output' "
        "with names, 'name = formula', 'for t in 1..5:' or 'd y / d x = formula'",
        start,
        caret=True,
    )


def _loop(number: int, source: str, start: int) -> Statement:
    """The head of a loop."""
    match = _FOR.match(source, start)
    low, dots, high = source[match.end() if match else start :].partition("..")
    if not match or not dots or not high.endswith(":"):
        raise Mistake(
            "a loop is written 'for t in 1..5:', with its body indented on the lines below",
            start,
            caret=True,
        )
    try:
        variable = Member(naming.checked(match[1]), None, match.start(1))
    except GraphcError as error:
        raise Mistake(str(error), match.start(1)) from None
    bounds = (
        read_formula(low, match.end()),
        read_formula(high[:-1], match.end() + len(low) + len(dots)),
    )
    return Statement(number, source, "for", (variable,), bounds)


def _member(match: re.Match[str], group: int, start: int) -> Member:
    column, index = start + match.start(group), match[group + 1]
    try:
        name = naming.identifier(match[group])
    except GraphcError as error:
        raise Mistake(str(error), column) from None
    syntax = None
    if index is not None:
        syntax = read_formula(index, start + match.start(group + 1), inside="members")
    return Member(name, syntax, column)


def _declaration(number: int, source: str, kind: str, start: int) -> Statement:
    """A line of inputs, params or outputs."""
    before, equals, after = source[start:].partition("=")
    members: list[Member] = []
    position = 0
    while position < len(before.rstrip()):
        match = _DECLARED.match(before, position)
        if not match:
            rest = before[position:]
            raise Mistake(
                f"cannot read {visible(rest.strip())} as a name; write '{kind} x y', names "
                "separated by spaces",
                start + position + len(rest) - len(rest.lstrip()),
                caret=True,
            )
        members.append(_member(match, 1, start))
        position = match.end()
    if not members:
        raise Mistake(f"a name is missing after '{kind}'; write '{kind} x'", start, caret=True)
    if not equals:
        return Statement(number, source, kind, tuple(members))
    if kind == "output":
        raise Mistake(
            f"an output has no value of its own; write '{members[0].name} = ...' on a line before",
            start + len(before),
        )
    if len(members) != 1:
        raise Mistake(
            f"a value belongs to one name; write '{kind} {members[-1].name} = ...' on its own line",
            start + len(before),
        )
    value = read_formula(after, start + len(before) + 1)
    return Statement(number, source, kind, tuple(members), (value,))


# Carrying out.


def _bounded(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements; a loop that unrolls too far is refused before it is carried out."""
    count = 0
    for statement in statements:
        if statement.kind == "for":
            count += _steps_of(statement, MOST_STEPS - count)
        yield statement


def _steps_of(statement: Statement, most: int) -> int:
    """The number of statements that a statement's loops unroll to, by counting."""
    count = 0
    stack: list[tuple[list[Statement], Env]] = [([statement], {})]
    while stack:
        body, env = stack.pop()
        for loop in body:
            if loop.kind != "for":
                continue
            try:
                values = _values(loop, env)
                count += len(values) * len(loop.body)
                if count > most:
                    raise Mistake(f"the loops unroll to over {MOST_STEPS} statements; use fewer")
            except GraphcError as error:
                raise loop.told(error, env) from None
            if any(inner.kind == "for" for inner in loop.body):
                stack.extend((loop.body, step) for step in _environments(loop, env))
    return count


def _unrolled(statements: Iterable[Statement], graph: Structure) -> Iterator[Step]:
    """The statements in order, loops unrolled, each with the values of the loop variables."""
    stack = [_steps(statements, [{}])]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
        elif step[0].kind != "for":
            yield step
        else:
            loop, env = step
            name = loop.members[0].one(env)
            if name in graph.rows or name in graph.named_sizes():
                error = Mistake(
                    f"the loop variable {name!r} is also the name of a "
                    f"{'node' if name in graph.rows else 'size'}; rename one of them",
                    loop.members[0].column,
                )
                raise loop.told(error, env)
            stack.append(_steps(loop.body, _environments(loop, env)))


def _steps(body: Iterable[Statement], environments: Iterable[dict[str, int]]) -> Iterator[Step]:
    return ((statement, env) for env in environments for statement in body)


def _environments(loop: Statement, env: Env) -> Iterator[dict[str, int]]:
    """The values of the loop variables in each step of a loop."""
    variable = loop.members[0].one(env)
    return ({**env, variable: value} for value in _values(loop, env))


def _values(loop: Statement, env: Env) -> range:
    """The values of a loop's own variable."""
    variable = loop.members[0].one(env)
    if variable in env:
        raise Mistake(
            f"{variable!r} is the variable of an outer loop already; choose another",
            loop.members[0].column,
        )
    first, last = (integer(bound.tree, env, bound) for bound in loop.formulas)
    return range(first, last + 1)


def _carry_out(graph: Structure, statement: Statement, env: Env) -> None:
    if len(graph.ops) > MOST_ROWS:
        raise Mistake(f"the graph has over {MOST_ROWS} operations before this line; use fewer")
    members = statement.members
    if statement.kind in ("input", "param"):
        _declare(graph, statement, env)
    elif statement.kind == "output":
        rows = [member.row(name, graph) for member in members for name in member.names(env)]
        outputs = graph.declared_outputs
        outputs[:] = dict.fromkeys([*outputs, *rows])
    elif statement.kind == "assign":
        name = members[0].new(members[0].one(env), graph, env)
        graph.lines[node(graph, name, statement.formulas[0], env)] = statement.line
    else:
        target, source = (member.row(member.one(env), graph) for member in members)
        expression = Builder(graph, statement.formulas[0], env).row()
        graph.lines[expression] = statement.line
        declare_partial(graph, target, source, expression)


def _declare(graph: Structure, statement: Statement, env: Env) -> None:
    """Inputs and parameters, with a value if one is given."""
    value: Any = given_value(statement.formulas[0], env) if statement.formulas else None
    count = 0
    for member in statement.members:
        shape: Shape = () if member.at else checked_shape(getattr(value, "shape", ()))
        if member.at is not None and not _is_family(member.at, env):
            shape = _shape(member.at, env)
            member = Member(member.name, None, member.column)
        names = member.names(env)
        count += len(names)
        if count > LARGEST_FAMILY:
            raise Mistake(f"the line declares over {LARGEST_FAMILY} names; use fewer")
        for name in names:
            row = graph.leaf(statement.kind, member.new(name, graph, env), shape)
            graph.lines[row] = statement.line
            if value is not None:
                check_fit(value, shape, name)
                graph.given[row] = value


def _shape(index: Syntax, env: Env) -> Shape:
    """The shape that a declaration's index gives: numbers, and names of sizes."""
    parts = index.tree.parts if isinstance(index.tree, Tuple) else (index.tree,)
    sizes = [part.name if isinstance(part, Name) else integer(part, env, index) for part in parts]
    return checked_shape(sizes)


def _is_family(index: Syntax, env: Env) -> bool:
    """Whether an index names members of a family: it has a range or a loop variable in it."""
    parts = index.tree.parts if isinstance(index.tree, Tuple) else (index.tree,)
    return any(is_range(part) or mentions(part, env) for part in parts)
