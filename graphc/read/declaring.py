"""Declaring by hand: inputs, params, nodes, constants and outputs, one call each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ..errors import GraphcError
from ..shapes import checked_shape
from ..structure.structure import Structure
from ..table.value import Value
from .expressions import constant, declare_node, declare_partial, expression
from .given import given as given_value
from .language import read

D = TypeVar("D", bound="Declaring")


class Declaring(Structure):
    """Rows with names that a person appends to."""

    def input(self, name: str, shape: tuple[Any, ...] = (), value: Any = None) -> Value:
        """A new input."""
        return self._leaf("input", name, shape, value)

    def param(self, name: str, shape: tuple[Any, ...] = (), value: Any = None) -> Value:
        """A new parameter."""
        return self._leaf("param", name, shape, value)

    def inputs(self, names: str | Sequence[str]) -> tuple[Value, ...]:
        """New inputs, their names in a list or separated by spaces."""
        return tuple(map(self.input, _split(names)))

    def params(self, names: str | Sequence[str]) -> tuple[Value, ...]:
        """New parameters, their names in a list or separated by spaces."""
        return tuple(map(self.param, _split(names)))

    def _leaf(self, kind: str, name: str, shape: tuple[Any, ...], value: Any) -> Value:
        shape = checked_shape(shape)
        given: Any = None if value is None else given_value(value, shape, name)
        if isinstance(value, (list, tuple)):
            shape = shape or given.shape  # a list says its own shape; an array may be points
        row = self.leaf(kind, name, shape)
        if given is not None:
            self.given[row] = given
        return Value(self, row)

    def node(self, name: str, formula: Any, partials: Mapping[str, Any] | None = None) -> Value:
        """A new node from a value, a formula as text, or a number; `partials` are your own."""
        if isinstance(formula, str):
            row = declare_node(self, name, formula)
        else:
            row = self.lift(formula)
            if self.is_condition(row):
                raise GraphcError(
                    f"node {name!r}: a comparison is a condition, not a number; use where(...)"
                )
            if row in self.names:
                row = self.operation("identity", (row,), {})
            self.bind(name, row)
        if partials is not None and not isinstance(partials, Mapping):
            raise GraphcError(
                f"partials= is a dict of nodes and derivatives, not {type(partials).__name__}"
            )
        for source, partial in (partials or {}).items():
            what = f"d {name} / d {source}"
            own = (
                expression(self, partial, what) if isinstance(partial, str) else self.lift(partial)
            )
            declare_partial(self, row, self.row(source), own)
        return Value(self, row)

    def extend(self: D, text: str) -> D:
        """This graph, with what a text declares appended; lines before a mistake are kept."""
        read(self, text)
        return self

    def const(self, value: Any, name: str) -> Value:
        """A new constant node; a string such as '1/3' or 'pi/3' is exact."""
        number = constant(value, f"const {name!r}") if isinstance(value, str) else value
        number = getattr(number, "expression", number)
        return Value(self, self.bind(name, self.constant(number)))

    def output(self, *nodes: Any) -> None:
        """Marks nodes as outputs."""
        for node in nodes:
            row = self.row(node)
            if row not in self.declared_outputs:
                self.declared_outputs.append(row)


def _split(names: Any) -> list[str]:
    """The names in a string, or in a list."""
    if isinstance(names, (list, tuple)):
        return list(names)
    if not isinstance(names, str):
        raise GraphcError(
            f"names are a string such as 'x1 x2' or a list of strings, not {type(names).__name__}"
        )
    return names.replace(",", " ").split()
