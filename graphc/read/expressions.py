"""Formulas: nodes, derivatives of your own and numbers, from what people wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import names as naming
from ..algebra.arithmetic import NUMBERS
from ..algebra.exact import Undefined
from ..errors import GraphcError, listing, visible
from ..shapes import shape_text
from ..structure.rows import GraphRow, interpret
from ..structure.structure import Structure
from ..syntax.parsing import Syntax, read_formula
from ..syntax.trees import List
from ..syntax.words import Mistake, told
from .building import Builder, Unknown
from .rational import Env, array, exact

T = TypeVar("T")


def node(graph: Structure, name: str, syntax: Syntax, env: Env) -> GraphRow:
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


def declare_partial(
    graph: Structure, target: GraphRow, source: GraphRow, expression: GraphRow
) -> None:
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
    values: dict[GraphRow, Any] = {}
    interpret(scratch, scratch.in_order(), NUMBERS, values)
    if isinstance(values[root], (Undefined, bool)):
        raise Mistake(
            f"{visible(syntax.text)} is not a finite real number; give one such as 1/3 or pi/4",
            syntax.column,
        )
    return values[root]


# Single formulas from Python and the command line.


def declare_node(graph: Structure, name: str, text: str) -> GraphRow:
    """A node from a formula given as a string."""
    spelt = naming.checked(name)
    return _alone(text, f"node {spelt!r}", lambda syntax: node(graph, spelt, syntax, {}))


def expression(graph: Structure, text: str, what: str, symbols: bool = False) -> GraphRow:
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
