"""How people call a composition: arguments arranged, numbers taken too, the call remembered.

A call that made a row is kept beside it, so that formulas print as they were written.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..algebra.given import array_from_user
from ..errors import GraphcError, on_one_line
from ..shapes import shape_text
from ..structure.reach import expression
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import COMPOSED
from ..table.late import LATE
from ..table.tensors import Operation
from ..table.value import Value, is_traced
from ..write.formula import expression_text

LONGEST_LABEL = 40
MOST_LABELLED = 400  # operations of a formula that may be short, composed functions being many
Layer = Callable[..., Any]
BY_PLACE = inspect.Parameter.POSITIONAL_OR_KEYWORD
AXIS_BY_POSITION: set[str] = set()  # reductions, in which a number after an array is no term
# (first, end) of the arguments that are values, where sizes, places, ... stand around them
AMONG_SETTINGS: dict[str, tuple[int, int]] = {}


def layer(
    values: int | None = 1,
    *,
    first: int = 0,
    parts: bool = False,
    second: str = "",
    natural: bool = False,
) -> Callable[[Layer], Layer]:
    """Declares a function of values whose result remembers how it was called, for display.

    `values` arguments from the `first` one on (None: all) are values, the others settings; with
    `parts` the first argument is a list of values. `second` says what a whole number after an array
    is: an axis, or unclear. A `natural` one is a row that prints as it was written.
    """

    def declare(function: Layer) -> Layer:
        name = function.__name__.rstrip("_")
        if second:
            AXIS_BY_POSITION.add(name)
        kinds = [given.kind for given in inspect.signature(function).parameters.values()]
        if values is not None and kinds.count(BY_PLACE) > values:
            AMONG_SETTINGS[name] = first, first + values
        COMPOSED[name] = _on_values(function, name, values, first, parts, second, natural)
        return COMPOSED[name]

    return declare


def _on_values(
    function: Layer,
    name: str,
    values: int | None,
    first: int = 0,
    parts: bool = False,
    second: str = "",
    natural: bool = False,
) -> Layer:
    """The function with its arguments arranged, on values or on plain numbers."""
    end = None if values is None else first + values
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **settings: Any) -> Any:
        if second and len(args) > 1:
            args, settings = _axis_by_position(name, second, args, settings)
        bound = _bound(signature, name, args, settings)
        before, operands = bound.args[:first], bound.args[first:end]
        after = bound.args[first + len(operands) :]
        if parts:
            operands = _listed(name, operands[0])

        def result(*given: Any) -> Value:
            named = ([*given],) if parts else given
            everything = (*before, *named, *after)
            if natural:
                value: Value = function(*everything, **bound.kwargs)
                return value
            return _remembered(function, name, everything, bound.kwargs)

        found = is_traced(tuple(flattened(operands)))
        if found is not None:
            return result(*(_as_value(found.graph, operand) for operand in operands))
        return LATE["layer on numbers"](result, operands, f"{name}(...)")

    return call


def on_settings(function: Layer) -> Layer:
    """Declares a function none of whose arguments is a value."""
    name, signature = function.__name__, inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **settings: Any) -> Any:
        bound = _bound(signature, name, args, settings)
        return function(*bound.args, **bound.kwargs)

    COMPOSED[name] = call
    AMONG_SETTINGS[name] = (0, 0)
    return call


def _bound(
    signature: inspect.Signature, name: str, args: Sequence[Any], settings: dict[str, Any]
) -> inspect.BoundArguments:
    try:
        return signature.bind(*args, **settings)
    except TypeError as error:
        raise GraphcError(f"{name}: {error}") from None


def operation(record: Operation, operands: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A tensor operation on values or numbers, called as its record says."""
    return called(record)(*operands, **keywords)


@functools.cache
def called(record: Operation) -> Layer:
    """A tensor operation as a function of values."""
    settings_of = record.call
    if settings_of is None:
        raise GraphcError(f"the operation {record.name} cannot be called: its record has no call")

    def function(*operands: Value, **keywords: Any) -> Value:
        settings = dict(settings_of(*operands, **keywords))
        return operands[0].graph.tensor(record.name, operands, settings)

    signature = inspect.signature(settings_of)
    function.__name__ = function.__qualname__ = record.name
    function.__doc__ = record.doc
    function.__dict__["__signature__"] = signature
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    return _on_values(function, record.name, kinds.count(BY_PLACE))


def _axis_by_position(
    name: str, second: str, args: tuple[Any, ...], settings: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with an axis after the first as a setting; other numbers are no terms of it."""
    x, *others = args
    is_array = isinstance(x, (list, tuple)) or bool(getattr(x, "shape", ()))
    given = others[0]
    if len(others) == 1 and (given is None or _is_axis(given, is_array)):
        if "axis" in settings:
            raise GraphcError(f"{name}: the axis is given twice, {given} and by name; keep one")
        if second == "unclear" and given is not None:
            raise GraphcError(
                f"{name}(x, {given}) of an array is not clear: write {name}imum(x, {given}) "
                f"element by element, or {name}(x, axis={given})"
            )
        return (x,), {"axis": given, **settings}
    alone = is_array and second != "unclear"  # the largest of several is element by element
    found = next((other for other in others if _is_number(other)), None) if alone else None
    if found is not None:
        text = label(found) if isinstance(found, Value) else on_one_line(found)
        raise GraphcError(
            f"{name}: the number {text} after an array is no term, and an axis is one whole number "
            f"or tuple alone: write an axis by name, such as {name}(x, axis=0), or a formula of "
            f"the elements, such as x + {text}"
        )
    return args, settings


def _is_axis(given: Any, is_array: bool) -> bool:
    """Whether what is given after a value names axes of it: numbers do if it is an array."""
    if isinstance(given, tuple):
        return all(_is_axis(part, True) for part in given)
    return is_array and isinstance(given, (int, np.integer)) and not isinstance(given, bool)


def _is_number(given: Any) -> bool:
    """Whether this is a number, or a tuple of them, and not a value with a shape or a name."""
    if isinstance(given, tuple):
        return all(map(_is_number, given))
    if not isinstance(given, Value):
        return given is not None and not isinstance(given, list) and not np.shape(given)
    graph = given.graph
    return all(
        (graph.operands[row] or graph.ops[row] in ("const", "size", "pi"))
        and row not in graph.names
        and not graph.shape(row)
        for row in expression(graph, given.row)
    )


def _remembered(function: Layer, name: str, args: Sequence[Any], settings: dict[str, Any]) -> Value:
    """The function's result, whose row knows the call that made it."""
    value: Value = function(*args, **settings)
    before = max((part.row for part in flattened(args) if isinstance(part, Value)), default=-1)
    plain = value.graph.ops[value.row] in ("maximum", "minimum")  # print as they were written
    if not plain and value.row > before:
        shown = {key: _shown(setting) for key, setting in settings.items()}
        value.graph.calls[value.row] = (name, tuple(map(_shown, args)), shown)
    return value


def flattened(args: Sequence[Any]) -> Iterator[Any]:
    """The arguments, with the members of lists in their place."""
    for arg in args:
        yield from arg if isinstance(arg, (list, tuple)) else (arg,)


def _listed(name: str, given: Any) -> tuple[Any, ...]:
    if not isinstance(given, (list, tuple)) or not given:
        raise GraphcError(f"{name} takes a list of values, such as {name}([a, b])")
    return tuple(given)


def _shown(arg: Any) -> Any:
    """An argument as the text form writes it: Python's own numbers, and rows for values."""
    if isinstance(arg, Value):
        return ("row", arg.row)
    if isinstance(arg, (np.ndarray, np.generic)):
        arg = arg.tolist()
    if isinstance(arg, (list, tuple)):
        return type(arg)(map(_shown, arg))
    return arg


def _as_value(graph: Structure, arg: Any) -> Any:
    """Numbers and arrays as constants of the graph; a list of values stays a list."""
    if isinstance(arg, Value):
        return arg
    if isinstance(arg, (list, tuple)):
        if any(isinstance(part, Value) for part in arg):
            return [_as_value(graph, part) for part in arg]
        arg = array_from_user(arg, "a list")
    return Value(graph, graph.constant(arg))


def label(value: Value) -> str:
    """What to call a value in a message: its name, or its formula if that is short."""
    graph, row = value.graph, value.row
    text = expression_text(graph, row) if _may_be_short(graph, row) else ""
    return text if 0 < len(text) <= LONGEST_LABEL else f"the {graph.ops[row]}"


def _may_be_short(graph: Structure, row: GraphRow) -> bool:
    """Whether few operations would be written, one that is used twice being written twice."""
    stack = [row]
    for _ in range(MOST_LABELLED):
        if not stack:
            return True
        here = stack.pop()
        stack.extend(() if here in graph.names else graph.operands[here])
    return False


def stated(*values: Value) -> str:
    """'a is (3,) and b is (4,)'."""
    return " and ".join(f"{label(value)} is {shape_text(value.shape)}" for value in values)
