"""A case: a graph as text, what is asked of it, and a point. All that a route of graphc needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mpmath
import numpy as np

import graphc as gc

from .model import Model

Answers = dict[str, Any]  # {what was asked: the number or array that a route gave}
DIGITS = 50


@dataclass(frozen=True)
class Case:
    """A graph at a point, and the nodes whose derivatives are asked for."""

    text: str
    at: Mapping[str, Any]
    loss: str
    node: str
    wrt: tuple[str, ...]
    edge: bool = False  # scalars at 0, infinities, NaN and kinks

    @cached_property
    def graph(self) -> gc.Graph:
        return gc.parse(self.text)

    @cached_property
    def leaves(self) -> list[str]:
        """The arguments of emitted functions, in order: inputs, then params."""
        return [*self.graph.input_names, *self.graph.param_names]

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        if self.edge:
            return dict.fromkeys(self.graph, ())
        return {name: np.shape(value) for name, value in self.graph.values(self.at).items()}

    def precise(self) -> dict[str, Any]:
        """The point in numbers of as many digits as mpmath works with."""
        return {name: _precise(value) for name, value in self.at.items()}

    def pasteable(self) -> str:
        """The case as a test."""
        point = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in self.at.items()
        }
        arrays = ", ".join(f"{name!r}: np.array({value})" for name, value in point.items())
        edge = ", edge=True" * self.edge
        return (
            "def test_found_by_the_referee():\n"
            f'    text = """\n{self.text}\n"""\n'
            f"    at = {{{arrays}}}\n"
            f"    case = Case(text, at, {self.loss!r}, {self.node!r}, {self.wrt!r}{edge})\n"
            "    assert not list(differences(case))\n"
        )


def case_of(model: Model) -> Case:
    return Case(model.text(), model.at(), model.loss, model.node, model.wrt, model.edge)


def _precise(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim:
        return [_precise(part) for part in value] if value.size else value
    return mpmath.mpf(float(value))


# The same keys for every route and oracle.


def value_key(name: str) -> str:
    return f"value of {name}"


def slope_key(of: str, wrt: str) -> str:
    return f"d {of} / d {wrt}"


def second_key(of: str, one: str, other: str) -> str:
    return f"d2 {of} / d {one} d {other}"


def blocks(
    matrix: Any, names: Sequence[str], shapes: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[str, Any]]:
    """The columns of a matrix that belong to each name."""
    start = 0
    for name in names:
        width = int(np.prod(shapes[name]))
        yield name, matrix[..., start : start + width]
        start += width
