"""What rounding does to a graph in floats: the same sweep, every result rounded at random.

A derivative that is 0 because its parts cancel has an error of the size of the parts, not of its
own. How large, the graph itself tells: it is computed a few times, each operation's result moved
by a random rounding, and the spread of the derivatives is what rounding does to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..algebra.arithmetic import Numbers
from ..algebra.exact import Masked, as_float
from ..derive.evaluation import Evaluation
from ..derive.hops import into
from ..errors import GraphcError
from ..structure.paths import sweep
from ..structure.reach import upstream
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..table.tensors import OPERATIONS
from ..table.value import COMPARISONS
from .batches import reached_from
from .needs import needed_rows
from .neighbourhood import Neighbourhood
from .schemes import EPSILON

SAMPLES = 6
LEVEL = 16.0  # roundings between two ways to one value
SAFETY = 8.0  # other code rounds elsewhere, and a few samples do not show the worst case


class Rounding(Numbers):
    """Floats whose every result is off by a random rounding."""

    def __init__(self, sizes: Mapping[str, int], epsilon: float, generator: Any) -> None:
        super().__init__(sizes)
        self.epsilon, self.generator = epsilon, generator
        self.dtype = np.float64 if epsilon <= EPSILON else np.float32
        self.least = 2 * float(np.finfo(self.dtype).smallest_subnormal)  # nothing is finer

    def constant(self, value: Any) -> Any:
        number = as_float(super().constant(value))
        return np.where(number == np.round(number), number, self._moved(number, number))[()]

    def apply(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        if op in COMPARISONS and not any(type(arg) is Masked for arg in args):
            args = self._level(*map(as_float, args))
        found = super().apply(op, args, settings)
        operation = OPERATIONS.get(op)
        record = operation or FUNCTIONS.get(op)
        if record is None or not record.rounds or any(type(arg) is Masked for arg in args):
            return found
        size = found
        if operation is not None and operation.through is not None:
            # a sum is rounded like its parts, not like their total
            size = super().apply(op, [np.abs(as_float(arg)) for arg in args], settings)
        elif operation is not None and operation.rounded_like is not None:
            size = operation.rounded_like(found, [as_float(arg) for arg in args])
        return self._moved(found, size)

    def _level(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Two numbers to be compared, equal if rounding is all that makes them differ.

        Whoever compares a value with itself takes one branch; the other's slopes are no error.
        """
        near = np.abs(a - b) <= LEVEL * self.epsilon * np.maximum(np.abs(a), np.abs(b))
        return a, np.where(near, a, b)[()]

    def _moved(self, value: Any, size: Any) -> Any:
        if not isinstance(value, (np.ndarray, np.floating)) or value.dtype != float:
            return value
        share = self.generator.uniform(-1, 1, value.shape)
        moved = value + share * (self.epsilon * np.abs(size) + self.least)
        kept = (value == 0) & (size == 0)
        return np.where(kept, value, moved).astype(self.dtype).astype(float)[()]


class Errors:
    """What rounding may do to the outputs, and to their derivatives by what can be moved."""

    def __init__(self, hood: Neighbourhood, epsilon: float) -> None:
        generator = np.random.default_rng(0)
        plain = [*sweeps(hood, Numbers(hood.sizes))]
        spread = [np.zeros(np.shape(part)) for part in plain]
        with np.errstate(all="ignore"):
            for _ in range(SAMPLES):
                samples = sweeps(hood, Rounding(hood.sizes, epsilon, generator))
                for own, here, there in zip(spread, plain, samples, strict=True):
                    np.maximum(own, np.abs(there - here), out=own)
        self.values, *rest = (SAFETY * part for part in spread)
        self.derivatives = dict(zip(hood.point, rest, strict=True))


def sweeps(hood: Neighbourhood, algebra: Numbers) -> list[Any]:
    """The outputs, flat, and for each thing that can be moved (output elements, its elements)."""
    leaves = {row: v for row, v in hood.fixed.items() if hood.graph.ops[row] != "stop"}
    evaluation = Evaluation(plain(hood.graph), algebra, leaves, {})
    with np.errstate(all="ignore"):
        values = [np.ravel(as_float(evaluation.value(row))) for row in hood.outputs]
        blocks = [_block(hood, evaluation, row, hood.point) for row in hood.outputs]
    parts = [np.concatenate([block[row] for block in blocks]) for row in hood.point]
    return [np.concatenate(values), *parts]


def rule(hood: Neighbourhood, leaf: GraphRow) -> Any:
    """(output elements, elements of a leaf): its derivatives in floats, by the rules alone."""
    graph = hood.graph
    known = dict(hood.floats.values)
    evaluation = Evaluation(plain(graph), hood.floats.algebra, known, {})
    evaluation.asked = reached_from(graph, (leaf,), needed_rows(graph, hood.outputs))
    with np.errstate(all="ignore"):
        blocks = [_block(hood, evaluation, row, (leaf,)) for row in hood.outputs]
    return np.concatenate([block[leaf] for block in blocks])


def plain(graph: Structure) -> Structure:
    """The graph without the derivatives that somebody wrote."""
    if not graph.partials:
        return graph
    other = graph.duplicate()
    other.partials = {}
    return other


def _block(
    hood: Neighbourhood, evaluation: Evaluation, output: GraphRow, rows: Iterable[GraphRow]
) -> dict[GraphRow, Any]:
    """{row: (elements of an output, elements of the row)} by one sweep for all of them."""
    graph, shape = evaluation.graph, hood.shape(output)
    size = int(np.prod(shape, dtype=int))
    evaluation.lead = graph.shape(output) if size != 1 else ()
    evaluation._pulled = None
    seed = np.eye(size).reshape(shape * 2) if size != 1 else np.ones(shape)[()]
    order = sorted(upstream(graph, [output]), reverse=True)
    try:
        found = sweep(
            order, lambda node: into(graph, node), {output: seed}, evaluation.pull, evaluation.add
        )
    except GraphcError:  # a node with kink='error' sits on its kink
        found = {}
    block = {}
    for row in rows:
        point = hood.point[row]
        part: Any = found.get(row, 0.0)
        part = as_float(part.values if type(part) is Masked else part)
        full = (*(shape if size != 1 else ()), *point.shape)
        block[row] = np.broadcast_to(part, full).reshape(size, point.size)
    return block
