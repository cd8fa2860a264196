"""A model: leaves, steps and a point, as data that can be written, evaluated and made smaller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .vocabulary import WORDS, Settings

Size = int | str


@dataclass(frozen=True)
class Leaf:
    """An input or a parameter, with its value at the point."""

    name: str
    kind: str
    shape: tuple[Size, ...]
    value: np.ndarray

    @property
    def declaration(self) -> str:
        sizes = f"[{','.join(map(str, self.shape))}]" if self.shape else ""
        return f"{self.kind} {self.name}{sizes}"


@dataclass(frozen=True)
class Step:
    """One word applied to earlier values; an unnamed one is written where it is used."""

    name: str
    word: str
    operands: tuple[str, ...]
    settings: Settings
    named: bool = True


@dataclass(frozen=True)
class Model:
    """What is declared, what is asked, and where."""

    leaves: tuple[Leaf, ...]
    steps: tuple[Step, ...]
    loss: str  # a node of one element
    node: str  # another node, whose Jacobian is asked for
    wrt: tuple[str, ...]  # leaves, and inner nodes
    edge: bool = False  # scalars at 0, infinities, NaN and kinks

    def text(self) -> str:
        """The model as graphc reads it."""
        written = {leaf.name: leaf.name for leaf in self.leaves}
        lines = [leaf.declaration for leaf in self.leaves]
        for step in self.steps:
            formula = WORDS[step.word].write([written[o] for o in step.operands], step.settings)
            if step.named:
                lines.append(f"{step.name} = {formula}")
                written[step.name] = step.name
            else:
                written[step.name] = f"({formula})"
        return "\n".join([*lines, f"output {self.loss}"])

    def names(self) -> list[str]:
        """The nodes of the graph."""
        return [leaf.name for leaf in self.leaves] + [s.name for s in self.steps if s.named]

    def leaf_names(self) -> list[str]:
        return [leaf.name for leaf in self.leaves]

    def at(self) -> dict[str, Any]:
        return {
            leaf.name: leaf.value.copy() if leaf.shape else float(leaf.value)
            for leaf in self.leaves
        }

    def run(
        self, xp: Any, values: Mapping[str, Any], nudges: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The value of every step in the functions of an array library.

        A nudge is added to a value: the derivative by it, at 0, is the derivative by the node.
        """
        nudges = nudges or {}
        found = {name: v + nudges[name] if name in nudges else v for name, v in values.items()}
        for step in self.steps:
            value = WORDS[step.word].mean(xp, [found[o] for o in step.operands], step.settings)
            found[step.name] = value + nudges[step.name] if step.name in nudges else value
        return found


def without_unused(model: Model) -> Model:
    """The model without steps and leaves that nothing asked for needs."""
    needed = {model.loss, model.node, *model.wrt}
    steps: list[Step] = []
    for step in reversed(model.steps):
        if step.name in needed:
            needed.update(step.operands)
            steps.append(step)
    leaves = tuple(leaf for leaf in model.leaves if leaf.name in needed)
    return replace(model, leaves=leaves, steps=tuple(reversed(steps)))


def operands_of(steps: Sequence[Step]) -> set[str]:
    return {operand for step in steps for operand in step.operands}
