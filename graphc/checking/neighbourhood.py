"""A graph around a point: its values at many neighbours, in floats, complex numbers or 50 digits.

This is the one place where the checker evaluates graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..arithmetic import Numbers
from ..evaluation import Evaluation
from ..exact import WORKING, Undefined, as_digits, as_float
from ..structure import Structure, ancestors
from .batches import COUNT, Batch, Switch, Unbatched, batched

LARGEST_BATCH = 1 << 21  # elements of the perturbed leaf that are held at once
_BATCHES: WeakKeyDictionary[Structure, dict[Any, Batch | None]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Branch:
    """What one switch did at each neighbour: its branch, and how far it is from changing it."""

    switch: Switch
    taken: Any  # (neighbours, elements): a sign, or the place of a winner
    margin: Any  # (neighbours, elements): 0 on the kink


@dataclass(frozen=True)
class Sample:
    """The outputs at each neighbour, and the branches taken there."""

    values: Any  # (neighbours, output elements)
    branches: tuple[Branch, ...]


class Digits(Numbers):
    """Numbers of 50 digits: constants too, so that nothing on the way is a float."""

    def constant(self, value: Any) -> Any:
        return to_digits(super().constant(value))


def to_digits(value: Any) -> Any:
    """A number or array, its elements as 50-digit numbers."""
    if isinstance(value, np.ndarray):
        result = np.empty(value.shape, dtype=object)
        for place in np.ndindex(value.shape):
            result[place] = to_digits(value[place])
        return result
    return as_digits(value, WORKING)


class Neighbourhood:
    """A graph around a point."""

    def __init__(
        self,
        graph: Structure,
        outputs: Sequence[int],
        point: Mapping[int, Any],
        sizes: Mapping[str, int],
        moving: Sequence[int] = (),
    ) -> None:
        self.graph = graph
        self.outputs = tuple(outputs)
        self.sizes = dict(sizes)
        self.evaluations = 0
        floats = {row: as_float(value) for row, value in point.items()}
        here = Evaluation(graph, Numbers(self.sizes), dict(floats), {})
        self.fixed: dict[int, Any] = {}  # leaves, and what stands behind a stop
        self.point: dict[int, Any] = {}  # everything that can be moved: leaves and chosen nodes
        with np.errstate(all="ignore"):
            for row in needed_rows(graph, self.outputs):
                if graph.ops[row] == "stop" or row in point:
                    self.fixed[row] = here.value(row)
            for row in (*point, *moving):
                self.point[row] = np.asarray(as_float(here.value(row)), float)

    @cached_property
    def exact(self) -> dict[int, Any]:
        """The leaves, and what stands behind a stop, in 50 digits."""
        ops = self.graph.ops
        known = {r: to_digits(v) for r, v in self.fixed.items() if ops[r] != "stop"}
        evaluation = Evaluation(self.graph, Digits(self.sizes), known, {})
        return {row: evaluation.value(row) for row in self.fixed}

    def batch(self, leaf: int) -> Batch | None:
        """The batched copy for one leaf, made once per graph; None if there can be none."""
        graph = self.graph
        kept = _BATCHES.setdefault(graph, {})
        key = (leaf, self.outputs, len(graph.ops), len(graph.names))
        if key not in kept:
            try:
                kept[key] = batched(graph, leaf, self.outputs)
            except Unbatched:
                kept[key] = None
        return kept[key]

    def sample(self, leaf: int, neighbours: Any) -> Sample:
        """Outputs and branches where the leaf takes each of the values (count, *shape)."""
        batch = self.batch(leaf)
        count = len(neighbours)
        self.evaluations += count
        if batch is None:
            return Sample(np.array([self._alone(leaf, value) for value in neighbours]), ())
        known = {new: self.fixed[row] for row, new in batch.leaves.items() if row != leaf}
        known[batch.leaf] = neighbours
        evaluation = Evaluation(batch.graph, Numbers({**self.sizes, COUNT: count}), known, {})
        with np.errstate(all="ignore"):
            values = [
                _columns(evaluation.value(row), count, wide)
                for row, wide in zip(batch.outputs, batch.reached, strict=True)
            ]
            branches = tuple(_branch(evaluation, s, count) for s in batch.switches)
        return Sample(np.concatenate(values, axis=1), branches)

    def _alone(self, leaf: int, value: Any) -> Any:
        """The outputs at one neighbour."""
        known = {**self.fixed, leaf: value}
        with np.errstate(all="ignore"):
            evaluation = Evaluation(self.graph, Numbers(self.sizes), known, {})
            found = [np.ravel(as_float(evaluation.value(row))) for row in self.outputs]
        return np.concatenate(found)

    def values(self) -> Any:
        """The outputs at the point itself, flat."""
        return self._alone(-1, None)

    def jointly(self, offsets: Mapping[int, Any]) -> Any:
        """The outputs where several leaves are moved at once, flat."""
        self.evaluations += 1
        known = {**self.fixed, **{row: self.point[row] + offset for row, offset in offsets.items()}}
        with np.errstate(all="ignore"):
            evaluation = Evaluation(self.graph, Numbers(self.sizes), known, {})
            found = [np.ravel(as_float(evaluation.value(row))) for row in self.outputs]
        return np.concatenate(found)

    def digits(self, leaf: int, place: tuple[int, ...], steps: Sequence[Any]) -> list[Any]:
        """The outputs to 50 digits with one element moved by each step; None: no value there."""
        exact = self.exact
        base, results = to_digits(self.point[leaf]), []
        for step in steps:
            self.evaluations += 1
            if isinstance(base, np.ndarray) and base.shape:
                moved = base.copy()
                moved[place] = base[place] + step
            else:
                moved = to_digits(base[()] if isinstance(base, np.ndarray) else base) + step
            evaluation = Evaluation(self.graph, Digits(self.sizes), {**exact, leaf: moved}, {})
            found = [flat(evaluation.value(row)) for row in self.outputs]
            joined = [element for part in found for element in part]
            bad = any(type(element) is Undefined for element in joined)
            results.append(None if bad else joined)
        return results

    def shape(self, row: int) -> tuple[int, ...]:
        """The shape of a row at this point."""
        return tuple(int(self.sizes.get(str(size), size)) for size in self.graph.shape(row))

    def cost(self) -> int:
        """A bound on the scalar operations of one evaluation in 50 digits."""
        graph, total = self.graph, 0
        for row in needed_rows(graph, self.outputs):
            sizes: dict[str, Any] = {}
            if graph.ops[row] == "contract":
                left = graph.settings(row)["spec"].partition("->")[0].split(",")
                for letters, operand in zip(left, graph.operands[row], strict=True):
                    sizes.update(zip(letters, graph.shape(operand), strict=True))
                shape = tuple(sizes.values())
            else:
                shape = graph.shape(row)
            total += int(np.prod([self.sizes.get(s, s) for s in shape], dtype=float))
        return total


_NEEDED: WeakKeyDictionary[Structure, dict[Any, list[int]]] = WeakKeyDictionary()


def needed_rows(graph: Structure, outputs: tuple[int, ...]) -> list[int]:
    """The rows that the outputs are computed from, found once per graph."""
    kept = _NEEDED.setdefault(graph, {})
    key = (outputs, len(graph.ops))
    if key not in kept:
        kept[key] = ancestors(graph, outputs)
    return kept[key]


def flat(value: Any) -> list[Any]:
    """The elements of a number or an array."""
    return list(value.flat) if isinstance(value, np.ndarray) else [value]


def _columns(value: Any, count: int, wide: bool) -> Any:
    """An output as (neighbours, elements)."""
    array = np.asarray(as_float(value))
    if wide and array.ndim and array.shape[0] == count:
        return array.reshape(count, -1)
    return np.broadcast_to(array.reshape(1, -1), (count, array.size))


def _branch(evaluation: Evaluation, switch: Switch, count: int) -> Branch:
    """What a switch did at each neighbour."""
    graph = evaluation.graph
    arguments = [evaluation.value(operand) for operand in graph.operands[switch.row]]
    own = evaluation.value(switch.row)
    if switch.templates:
        runs = [
            template.run(evaluation.algebra, [*arguments, own]) for template in switch.templates
        ]
        margin = np.concatenate([_columns(run, count, True) for run in runs], axis=1)
        return Branch(switch, np.sign(margin), margin)
    if switch.op == "norm":
        margin = _columns(own, count, True)
        return Branch(switch, np.sign(margin), margin)
    if switch.op == "largest":
        axes = graph.settings(switch.row)["axes"]
        slices = np.moveaxis(arguments[0], axes, range(-len(axes), 0))
        slices = slices.reshape(count, -1, int(np.prod(slices.shape[slices.ndim - len(axes) :])))
    else:
        sign = 1 if switch.op == "maximum" else -1
        parts = np.broadcast_arrays(*(sign * np.asarray(argument) for argument in arguments))
        slices = np.stack([_columns(part, count, True) for part in parts], axis=-1)
    ordered = np.sort(slices, axis=-1)
    margin = ordered[..., -1] - ordered[..., -2] if slices.shape[-1] > 1 else ordered[..., -1]
    return Branch(switch, slices.argmax(axis=-1), margin)
