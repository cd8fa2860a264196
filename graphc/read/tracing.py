"""Python function to graph: it runs once on values, which take the names of its locals."""

from __future__ import annotations

import inspect
import math
import operator
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any

from .. import names as naming
from ..errors import GraphcError, listing, nearest
from ..structure.reach import ancestors
from ..structure.rows import GraphRow
from ..table.value import Value
from .bytecode import Bytecode
from .declaring import D, Declaring
from .expressions import constant

# After so many elements without news, the rest of a local list waits for the look at the end:
# a list of 10 000 values must not be read 10 000 times.
PATIENCE = 64
CONTAINERS = (list, tuple)  # locals whose elements are looked at
Function = Callable[..., Any]
Found = tuple[str, str, GraphRow]  # local name, name of the value or element found under it, row


def title(function: Any) -> str:
    """The name of a traced function's graph; a lambda has none."""
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "graph"


def traced(result: D, function: Function, shapes: Mapping[str, Any]) -> D:
    """The graph, filled by one run of the function."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if not isinstance(code, CodeType):
        raise GraphcError(
            f"gc.graph makes a graph of a Python function, not of {type(function).__name__}; "
            "wrap it in a def"
        )
    if not isinstance(shapes, Mapping):
        raise GraphcError(f"shapes= is a dict of arguments and shapes, not {type(shapes).__name__}")
    parameters = inspect.signature(function).parameters
    for name in shapes:
        if name not in parameters:
            hint = nearest(name, parameters) or f" (arguments: {listing(parameters)})"
            raise GraphcError(f"shapes= mentions {name!r}, no argument of {result.name!r}{hint}")
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise GraphcError(
                f"the argument {parameter} of {result.name!r} has no fixed number of values; "
                "list the inputs one by one, and the params after a bare *"
            )
        given = None if parameter.default is parameter.empty else parameter.default
        shape = shapes.get(name, ())
        if parameter.kind is parameter.KEYWORD_ONLY:
            keywords[name] = result.param(name, shape=shape, value=given)
        else:
            positional.append(result.input(name, shape=shape, value=given))
    trace = Trace(result, code)
    result.observer = trace.observe
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

    def __init__(self, graph: Declaring, code: CodeType) -> None:
        self.graph = graph
        self.code = code
        self.frame: FrameType | None = None
        self.bytecode = Bytecode(code)
        self.last = -1  # where the function stood at the last look
        self.expected = -1  # where it stands at the next one, if nothing else happens before
        self.target: str | None = None  # the name that is bound on the way there
        self.outside = -1  # ... and at the last one before a comprehension
        self.waiting: dict[GraphRow, Found] = {}  # row -> what is named after the comprehension
        self.numbers: dict[str, int] = {}  # stem -> how often it was bound
        self.ends: dict[str, Sequence[Any]] = {}  # local list -> its last elements, without news

    def observe(self) -> None:
        """Names what was bound since the last look; an operation follows.

        Reading the locals takes as long as there are many. Mostly it is not needed: the function
        itself called the operation before, bound its value to a name or not at all, and has done
        nothing else since.
        """
        frame = self.frame
        # this method, what told it, the operator or function, and who called that
        if frame is None or sys._getframe(3) is not frame:
            self.look()
            return
        if frame.f_lasti != self.expected or self.waiting:
            self.look()
        else:
            self.last, row = self.expected, self.graph.in_order()[-1]
            if self.target is not None and row not in self.graph.names:
                self.bind(self.target, row)
        self.target, self.expected = self.bytecode.following(self.last, frame.f_globals)

    def look(self, patience: float = PATIENCE) -> None:
        """Names the values that were bound to local names since the last look."""
        self.expected = -1
        if self.frame is None:
            self.frame = frame_of(self.code)
            if self.frame is None:
                return
        last, here = self.last, self.frame.f_lasti
        self.last = here
        hidden = self.bytecode.hidden(here)
        waited: list[Found] = []
        if self.waiting and not hidden:
            last, waited = self.outside, list(self.waiting.values())
            self.waiting.clear()
        found = [*self.unnamed(self.frame.f_locals, hidden, patience), *waited]
        if not found:
            return
        found.sort(key=lambda entry: self.bytecode.order(entry[0], last, here))
        first = self.bytecode.first_names(last, here)
        if not self.waiting and not hidden.isdisjoint(first):
            # The first name of one of them may be the one that the comprehension has borrowed.
            self.outside = last
            self.waiting.update({entry[2]: entry for entry in reversed(found)})
            return
        for name, stem, row in found:
            if row not in self.graph.names:  # a later name of the same value is an alias
                self.bind(first.get(name, name) if stem == name else stem, row)

    def unnamed(
        self, bindings: Mapping[str, Any], hidden: set[str], patience: float
    ) -> Iterator[Found]:
        """The values under local names and in local lists that have no name yet."""
        for name, bound in bindings.items():
            if name not in self.bytecode.locals or name in hidden:
                continue
            if isinstance(bound, Value):
                if self.is_news(bound):
                    yield name, name, bound.row
            elif isinstance(bound, CONTAINERS):
                if patience == PATIENCE and self.is_as_before(name, bound):
                    continue
                elements, left = [], patience
                for stem, index, item in backwards(name, bound):
                    if isinstance(item, Value) and self.is_news(item):
                        elements.append((name, f"{stem}_{index}", item.row))
                        left = patience
                    else:
                        left -= 1
                        if left <= 0:
                            break
                yield from reversed(elements)

    def is_as_before(self, name: str, bound: Sequence[Any]) -> bool:
        """Whether a local list ends as it did when it had no news, and holds no other lists."""
        end, before = bound[-PATIENCE:], self.ends.get(name, ())
        if len(end) == len(before) and all(map(operator.is_, end, before)):
            return True
        changing = bool(self.waiting) or any(
            isinstance(item, CONTAINERS) or (isinstance(item, Value) and self.is_news(item))
            for item in end
        )
        self.ends[name] = () if changing else end
        return False

    def is_news(self, value: Value) -> bool:
        """Whether a value of this graph is to be named."""
        row = value.row
        return row not in self.graph.names and row not in self.waiting and value.graph is self.graph

    def bind(self, stem: str, row: GraphRow) -> None:
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
            if uses[row] > 1 and row not in self.graph.names and not self.graph.is_shared(row):
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

    def output(self, stem: str, item: Any) -> GraphRow:
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
