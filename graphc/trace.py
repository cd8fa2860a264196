"""Python function to graph: it runs once on values, which take the names of its locals."""

from __future__ import annotations

import dis
import inspect
import math
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any, overload

from . import names as naming
from .errors import GraphcError, listing, nearest
from .expressions import constant
from .graphs import Graph
from .structure import ancestors
from .value import Value

# After so many elements without news, the rest of a local list waits for the look at the end:
# a list of 10 000 values must not be read 10 000 times.
PATIENCE = 64
CONTAINERS = (list, tuple)  # locals whose elements are looked at
STORES = {"STORE_FAST": 1, "STORE_DEREF": 1, "STORE_FAST_LOAD_FAST": 1, "STORE_FAST_STORE_FAST": 2}
Function = Callable[..., Any]


@overload
def graph(function: Function, *, shapes: Mapping[str, Any] | None = None) -> Graph: ...
@overload
def graph(
    function: None = None, *, shapes: Mapping[str, Any] | None = None
) -> Callable[[Function], Graph]: ...
def graph(
    function: Function | None = None, *, shapes: Mapping[str, Any] | None = None
) -> Graph | Callable[[Function], Graph]:
    """The graph of a function: its positional arguments are inputs, keyword-only ones params.

    Usable as `@graph` and as `@graph(shapes={"x": (3,)})`; a default value is a given value.
    """
    if function is None:
        return lambda function: traced(function, shapes or {})
    return traced(function, shapes or {})


def traced(function: Function, shapes: Mapping[str, Any]) -> Graph:
    """The graph of one run of the function."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if not isinstance(code, CodeType):
        raise GraphcError(
            f"gc.graph makes a graph of a Python function, not of {type(function).__name__}; "
            "wrap it in a def"
        )
    title = function.__name__ if function.__name__.isidentifier() else "graph"  # a lambda has none
    parameters = inspect.signature(function).parameters
    for name in shapes:
        if name not in parameters:
            hint = nearest(name, parameters) or f" (arguments: {listing(parameters)})"
            raise GraphcError(f"shapes= mentions {name!r}, no argument of {title!r}{hint}")
    result = Graph(title)
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise GraphcError(
                f"the argument {parameter} of {title!r} has no fixed number of values; "
                "list the inputs one by one, and the params after a bare *"
            )
        given = None if parameter.default is parameter.empty else parameter.default
        shape = shapes.get(name, ())
        if parameter.kind is parameter.KEYWORD_ONLY:
            keywords[name] = result.param(name, shape=shape, value=given)
        else:
            positional.append(result.input(name, shape=shape, value=given))
    trace = Trace(result, code)
    result.observer = trace.look
    token = ACTIVE.set(trace)
    try:
        trace.finish(function(*positional, **keywords))
    finally:
        ACTIVE.reset(token)
        result.observer = None
        trace.frame = None  # it holds every local of the function
    return result


class Trace:
    """One run of a function: finds the names of its values in the locals of its frame."""

    def __init__(self, graph: Graph, code: CodeType) -> None:
        self.graph = graph
        self.code = code
        self.frame: FrameType | None = None
        self.locals = {n for n in (*code.co_varnames, *code.co_cellvars) if not n.startswith("_")}
        self.stores, self.hidden = bindings(code)
        self.last = -1  # where the function stood at the last look
        self.numbers: dict[str, int] = {}  # stem -> how often it was bound

    def look(self, patience: float = PATIENCE) -> None:
        """Names the values that were bound to local names since the last look."""
        if self.frame is None:
            self.frame = frame_of(self.code)
            if self.frame is None:
                return
        here = self.frame.f_lasti
        hidden = {name for name, start, end in self.hidden if start <= here < end}
        graph, names, found = self.graph, self.graph.names, []
        for name, bound in self.frame.f_locals.items():
            if name not in self.locals or name in hidden:
                continue
            if isinstance(bound, Value):
                if bound.row not in names and bound.graph is graph:
                    found.append((name, name, bound.row))
            elif isinstance(bound, CONTAINERS):
                found += [(name, *news) for news in self.unnamed(name, bound, patience)]
        if len(found) > 1:
            found.sort(key=lambda entry: self.order(entry[0]))
        for _, name, row in found:
            if row not in names:  # a later name of the same value is an alias
                self.bind(name, row)
        self.last = here

    def unnamed(self, name: str, items: Sequence[Any], patience: float) -> list[tuple[str, int]]:
        """(name, row) of the elements that have no name yet, from the first to the last."""
        graph, names, left, found = self.graph, self.graph.names, patience, []
        for stem, index, item in backwards(name, items):
            if isinstance(item, Value) and item.row not in names and item.graph is graph:
                found.append((f"{stem}_{index}", item.row))
                left = patience
            else:
                left -= 1
                if left <= 0:
                    break
        return found[::-1]

    def order(self, name: str) -> int:
        """A number that is smaller the sooner the name was bound after the last look.

        In `prev = x; for ...: h = f(prev); prev = h` both names hold the new value when the next
        step begins; the code says that h came first. Code before the last look comes after it only
        through a loop.
        """
        offsets, size = self.stores.get(name), len(self.code.co_code)
        if offsets is None:  # bound by an inner function
            return 2 * size
        following = bisect_right(offsets, self.last)
        return offsets[following] if following < len(offsets) else offsets[0] + size

    def bind(self, stem: str, row: int) -> None:
        """Gives a row the name `stem`, or the first free one of stem_2, stem_3, ..."""
        number = self.numbers.get(stem, 0) + 1
        name = stem if number == 1 else f"{stem}_{number}"
        while name in self.graph.rows:
            number += 1
            name = f"{stem}_{number}"
        self.numbers[stem] = number
        self.graph.bind(name, row)

    def finish(self, result: Any) -> None:
        """Names what is left when the function has returned, and declares the outputs."""
        self.look(math.inf)  # a frame that is referred to keeps its locals
        outputs = self.returned(result)
        uses = Counter(
            operand
            for row in ancestors(self.graph, self.graph.names)
            for operand in self.graph.operands[row]
        )
        number = 1
        for row in sorted(uses):
            if uses[row] > 1 and row not in self.graph.names:
                while f"v{number}" in self.graph.rows:
                    number += 1
                self.graph.bind(f"v{number}", row)
        self.graph.output(*outputs)

    def returned(self, result: Any) -> list[str]:
        """The names of the returned values, each once."""
        title, rows = self.graph.name, []
        if isinstance(result, dict):
            for key, item in result.items():
                rows.append(name(Value(self.graph, self.graph.lift(item)), key).row)
        elif isinstance(result, CONTAINERS):
            for stem, index, item in reversed(list(backwards(title, result))):
                if not isinstance(item, CONTAINERS):
                    rows.append(self.output(f"{stem}_{index}", item))
        elif result is not None:
            rows.append(self.output(title, result))
        if not rows:
            raise GraphcError(
                f"the function {title!r} returns {'None' if result is None else 'no value'}; "
                "end it with 'return' and the value, or values, that are the outputs"
            )
        return [self.graph.names[row] for row in dict.fromkeys(rows)]

    def output(self, stem: str, item: Any) -> int:
        """The row of a returned value or number, which takes this name if it has none."""
        row = self.graph.lift(item)
        if row not in self.graph.names:
            self.bind(stem, row)
        return row


ACTIVE: ContextVar[Trace | None] = ContextVar("ACTIVE", default=None)


def name(value: Value, name: str) -> Value:
    """The value under this name; a value that has another name already gets an identity node."""
    if not isinstance(value, Value):
        raise GraphcError(
            f"gc.name names a value of a graph, not {type(value).__name__}; "
            "a number becomes a node with gc.const(number, name)"
        )
    graph = value.graph
    if graph.observer is not None:
        graph.observer()  # a local name that the value has by now came first
    name = naming.checked(name)
    if graph.names.get(value.row) == name:
        return value
    if value.row in graph.names:
        value = graph.apply("identity", (value,), {})
    graph.bind(name, value.row)
    return value


def const(value: Any, name: str | None = None) -> Value:
    """A constant of the graph being traced: a number, or text for an exact one such as "pi/3"."""
    trace = ACTIVE.get()
    if trace is None:
        raise GraphcError(
            "gc.const makes a node of the graph being traced, and this is outside of a traced "
            "function; use g.node(name, number)"
        )
    if isinstance(value, Value):
        raise GraphcError(f"gc.const takes a number, not the value {value.graph.label(value.row)}")
    trace.look()
    if isinstance(value, str):
        number = constant(value, f"const {name!r}" if name else "const")
        value = getattr(number, "expression", number)  # pi/3 is exact as an expression only
    row = trace.graph.constant(value)
    if name is not None:
        trace.graph.bind(name, row)
    return Value(trace.graph, row)


def frame_of(code: CodeType) -> FrameType | None:
    """The innermost frame that runs this code."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def bindings(code: CodeType) -> tuple[dict[str, list[int]], list[tuple[str, int, int]]]:
    """Where each name is bound, and (name, start, end) of where a comprehension borrows it.

    Since Python 3.12 a comprehension runs in the frame of its function, and its variable is among
    the locals until it ends; before, it had a frame of its own.
    """
    stores: dict[str, list[int]] = {}
    borrowed: list[tuple[str, int]] = []
    hidden: list[tuple[str, int, int]] = []
    for instruction in dis.get_instructions(code):
        offset, operand = instruction.offset, instruction.argval
        if instruction.opname in STORES:
            bound = operand if isinstance(operand, tuple) else (operand,)
            for place, name in enumerate(bound[: STORES[instruction.opname]]):
                stores.setdefault(name, []).append(offset + place)  # offsets are even
        elif instruction.opname == "LOAD_FAST_AND_CLEAR":
            borrowed.append((operand, offset))
        elif instruction.opname == "FOR_ITER":
            hidden += [(name, start, operand) for name, start in borrowed]
            borrowed.clear()
    return stores, hidden


def backwards(stem: str, items: Sequence[Any]) -> Iterator[tuple[str, int, Any]]:
    """(stem, index, element) of nested lists and tuples, the last one first, where news arrive."""
    entered = {id(items)}  # a list may hold itself
    stack = [(stem, items, len(items))]
    while stack:
        stem, items, index = stack.pop()
        while index:
            index -= 1
            item = items[index]
            yield stem, index, item
            if isinstance(item, CONTAINERS) and id(item) not in entered:
                entered.add(id(item))
                stack.append((stem, items, index))
                stem, items, index = f"{stem}_{index}", item, len(item)
