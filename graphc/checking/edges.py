"""Edges: each local derivative tested by itself, by moving the value of its source alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..algebra.arithmetic import Numbers
from ..algebra.exact import Masked, Undefined, as_float
from ..derive.evaluation import Evaluation
from ..derive.linear import local
from ..errors import GraphcError
from ..structure.kept import once
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..table.tensors import OPERATIONS
from ..write.formula import expression_text
from .digits import step_of
from .needs import needed_nodes
from .neighbourhood import Digits, Neighbourhood, context, flat, to_digits
from .report import Edge

TOLERANCE = 1e-8  # relative, in many digits: only rounding within written decimals is forgiven
FLOAT_TOLERANCE = 1e-6
DIGITS = 100
ROUNDED = 1e-60  # what is left of the digits of a difference
MOST_DIGITAL = 4_000  # elements of a formula that is measured in many digits


def suspects(graph: Structure, outputs: Sequence[GraphRow]) -> frozenset[GraphRow]:
    """The nodes that carry a derivative somebody wrote: own partials, own functions."""

    def found() -> frozenset[GraphRow]:
        return frozenset(
            node
            for node in needed_nodes(graph, outputs)
            if node in graph.partials_of
            or any(_is_own(graph.ops[row]) for row in graph.formula(node).rows)
        )

    nodes: frozenset[GraphRow] = once(graph, ("suspects", *outputs), found)
    return nodes


def _is_own(op: str) -> bool:
    record = FUNCTIONS.get(op) or OPERATIONS.get(op)
    return record is not None and record.origin == "user"


def wrong_edges(graph: Structure, hood: Neighbourhood, nodes: Collection[GraphRow]) -> list[Edge]:
    """The edges into these nodes whose local derivative is not that of the formula."""
    if not nodes:
        return []
    floats = Evaluation(graph, Numbers(hood.sizes), dict(hood.fixed), {})
    found = []
    with np.errstate(all="ignore"):
        sources = {source for node in nodes for source in graph.formula(node).sources}
        smallest = min((_size(floats.value(source)) for source in sources), default=1.0)
        digits = DIGITS + hood.further(smallest)
        exact = Evaluation(graph, hood.algebra(digits), dict(hood.exact(digits)), {})
        for node in sorted(nodes):
            formula = graph.formula(node)
            size = sum(hood.work(row) for row in formula.rows)
            for source in dict.fromkeys(formula.sources):
                numbers = [edge for edge, row in graph.edges_of(node) if row == source]
                if not numbers:
                    continue
                small = size <= MOST_DIGITAL
                test = _Test(graph, exact if small else floats, node, source, numbers)
                wrong = test.wrong()
                if wrong is not None:
                    found.append(_edge(graph, node, source, numbers, *wrong))
    return found


def _size(value: Any) -> float:
    """The size of the largest element; 1 where all are 0, or not finite."""
    largest = float(np.max(np.abs(as_float(value)), initial=0.0))
    return largest if 0 < largest < np.inf else 1.0


class _Test:
    """One edge (all parallel ones together), in the algebra of an evaluation."""

    def __init__(
        self,
        graph: Structure,
        evaluation: Evaluation,
        node: GraphRow,
        source: GraphRow,
        numbers: list[int],
    ) -> None:
        self.graph, self.evaluation = graph, evaluation
        self.node, self.source, self.numbers = node, source, numbers
        algebra = evaluation.algebra
        self.digits = algebra.context.dps if isinstance(algebra, Digits) else 0
        generator = np.random.default_rng(0)
        self.tangent = self._random(generator, evaluation.value(source))
        self.weights = self._random(generator, evaluation.value(node))
        self.own = all((node, number) in graph.partials for number in numbers)

    def _random(self, generator: Any, like: Any) -> Any:
        """A direction of the same shape; 1 for a scalar."""
        shape = np.shape(like) if isinstance(like, np.ndarray) else ()
        if not shape:
            return to_digits(1, self.digits) if self.digits else 1.0
        values = generator.choice([-1.0, 1.0], shape) * generator.uniform(1, 2, shape)
        return to_digits(values, self.digits) if self.digits else values

    def wrong(self) -> tuple[float, float] | None:
        """(derived, measured) if the local derivative is wrong, else None."""
        try:
            derived = self._derived(self.graph)
        except GraphcError:  # kink='error'
            return None
        on_kink = self.node in self.evaluation.kinks
        measured, wider = (self._slope(times * self._step()) for times in (1, 1000))
        if derived is None or measured is None:
            return None  # no finite number to compare: the rows tell it
        spread = abs(measured - wider) if self.digits and wider is not None else 0
        if self._agree(derived, measured, spread):
            return None
        sides = [
            self._slope(self._step() / 1000, shift) for shift in (-self._shift(), self._shift())
        ]
        allowed = [side for side in sides if side is not None]
        if len(allowed) == 2 and not self._agree(*allowed):
            on_kink = True
        if on_kink:
            if not self.own:
                return None  # a convention, not a mistake
            allowed += self._without_own()
            slack = float(abs(measured)) * TOLERANCE + 1e-30
            low, high = min(allowed, default=measured), max(allowed, default=measured)
            if low - slack <= derived <= high + slack:
                return None
        return float(derived), float(measured)

    def _agree(self, derived: Any, measured: Any, spread: Any = 0) -> bool:
        relative = TOLERANCE if self.digits else FLOAT_TOLERANCE
        value = as_float(self.evaluation.value(self.node))
        size = float(np.max(np.abs(value), initial=0.0)) / self._scale()
        # parts that cancel leave the rounding of the parts, which a value of 0 does not show
        floor = ROUNDED * max(size, 1.0) if self.digits else 1e-9 * (size + 1e-300)
        gap = abs(derived - measured)
        return bool(gap <= relative * max(abs(derived), abs(measured)) + floor + 10 * spread)

    def _without_own(self) -> list[Any]:
        """The slope by the formula's own rules."""
        plain = self.graph.duplicate()
        plain.partials = {}
        found = self._derived(plain)
        return [] if found is None else [found]

    def _derived(self, graph: Structure) -> Any:
        old = self.evaluation
        evaluation = (
            Evaluation(graph, old.algebra, old.values, {}) if graph is not old.graph else old
        )
        total: Any = 0
        for number in self.numbers:
            share = evaluation.pull((self.node, number), self.weights)
            if type(share) is Masked:
                share = share.values
            if share is not None:
                part = _inner(share, self.tangent)
                if _is_bad(part):
                    return None
                total = total + part
        return total

    def _scale(self) -> float:
        return _size(self.evaluation.value(self.source))

    def _step(self) -> Any:
        if self.digits:
            return step_of(DIGITS) * self._scale()
        return 6e-6 * self._scale()

    def _shift(self) -> Any:
        return (context(self.digits).mpf(10) ** -12 if self.digits else 1e-4) * self._scale()

    def _slope(self, step: Any, shift: Any = 0) -> Any:
        """The slope of the formula along the tangent, everything else held."""
        below, above = (self._moved(shift + k * step) for k in (-1, 1))
        return None if below is None or above is None else (above - below) / (2 * step)

    def _moved(self, step: Any) -> Any:
        graph, old = self.graph, self.evaluation
        known = {row: old.value(row) for row in graph.formula(self.node).sources}
        for row in graph.formula(self.node).rows:
            if graph.ops[row] == "stop":
                known[row] = old.value(row)
        moved = old.algebra.apply("mul", (self.tangent, step), {})
        known[self.source] = old.algebra.apply("add", (known[self.source], moved), {})
        value = Evaluation(graph, old.algebra, known, {}).value(self.node)
        total = _inner(value, self.weights)
        return None if _is_bad(total) else total


def _inner(left: Any, right: Any) -> Any:
    """The sum of the products of elements."""
    total: Any = 0
    if isinstance(left, np.ndarray) and left.dtype != object:
        return float(np.sum(left * right))
    for a, b in zip(flat(left), flat(right), strict=True):
        if type(a) is Undefined:
            return a
        total = total + a * b
    return total


def _is_bad(value: Any) -> bool:
    return type(value) is Undefined or not bool(np.isfinite(float(value)))


def _edge(
    graph: Structure,
    node: GraphRow,
    source: GraphRow,
    numbers: list[int],
    derived: float,
    measured: float,
) -> Edge:
    """The wrong edge with both formulas, and the line of the text."""
    names = graph.names
    own = [graph.partials[node, n] for n in numbers if (node, n) in graph.partials]
    plain = graph.duplicate()
    plain.partials = {}
    try:
        expected = str(local(plain, names[source], names[node], None)).partition(": ")
        right = expected[2] or expected[0]
    except GraphcError:
        right = ""  # too long to be read
    return Edge(
        names[source],
        names[node],
        derived,
        measured,
        expression_text(graph, own[0]) if own else "",
        right,
        graph.lines.get(own[0], 0) if own else graph.lines.get(node, 0),
    )
