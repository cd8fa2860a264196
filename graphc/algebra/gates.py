"""Gates: where a carried row is alive, and where it is 0 because every branch to it is closed.

A row that came through where(c, g, 0) is exactly 0 where c does not hold, whatever it is multiplied
by. So its products are selections, where(c, g * z, 0), and its sums, selections of elements and
sums over axes remember under which condition they are alive. So does what a selection has put in
its places: elsewhere it is absent. That is said only where the next factor may be infinite. Rows
without gates cost nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..shapes import LETTERS, Size
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..table.places import Places, Slice, chosen, covers, united
from ..table.tensors import OPERATIONS, Operation
from .contracting import contraction
from .terms import is_spread_diagonal, repeated, same
from .tidying import gate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .formulas import Formulas

MOST_CONDITIONS = 3  # that are written as nested selections before they become one
MOST_LOOKED_AT = 60  # rows of what is carried, before it counts as possibly infinite
LEAST_SHARE = Fraction(1, 10**9)  # of a largest element; nothing sits on this switch
DEEPEST = 40  # masks within masks: beyond, a row counts as alive everywhere


@dataclass(frozen=True, eq=False)
class Either:
    """Alive where one of two masks is."""

    one: Mask
    other: Mask
    depth: int


@dataclass(frozen=True, eq=False)
class Through:
    """Alive where an operation on what is alive gives anything: a sum, elements chosen."""

    mask: Mask
    row: GraphRow  # the operand that was masked
    op: str
    settings: Mapping[str, Any]
    depth: int


@dataclass(frozen=True, eq=False)
class All:
    """Alive where every one of many conditions holds."""

    mask: Mask


@dataclass(frozen=True, eq=False)
class Placed:
    """Alive at some places along an axis, where a selection has put something."""

    axis: int  # from the end
    size: Size
    index: Slice | Places  # each place once, in order


@dataclass(frozen=True, eq=False)
class Positive:
    """Alive where a row is more than 0."""

    row: GraphRow


# a row, or what becomes one when it is needed
Condition = GraphRow | Either | Through | All | Placed | Positive
Literal = tuple[Condition, bool]  # a condition, and whether it has to hold
Mask = tuple[Literal, ...]  # all of these


class Gates:
    """The masks of the rows that were carried through gates."""

    def __init__(self, rows: Formulas) -> None:
        self.rows = rows
        self.masks: dict[GraphRow, Mask] = {}
        self._inside: dict[GraphRow, GraphRow] = {}  # a selection -> what it selects
        self._known: dict[Condition, GraphRow] = {}
        self._paused = False

    @property
    def active(self) -> bool:
        return bool(self.masks) and not self._paused

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Products in here are plain: a selection follows."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def gated(self, condition: GraphRow, carried: GraphRow, wanted: bool) -> GraphRow:
        """What passes where the condition holds (or does not), 0 elsewhere."""
        row = gate(self.rows, "taken" if wanted else "untaken", condition, carried)
        if self._paused or self.rows.number(row) == 0:
            return row
        mask = self._both(self.masks.get(carried, ()), ((condition, wanted),))
        return self._noted(row, mask, carried)

    def copied(self, old: GraphRow, new: GraphRow) -> GraphRow:
        """The new row, alive where the old one is."""
        if old in self.masks:
            self.masks[new] = self.masks[old]
        return new

    def placed(self, carried: GraphRow, op: str, settings: dict[str, Any]) -> GraphRow:
        """A carried row in its places, absent elsewhere."""
        row = self.rows.apply(op, (carried,), settings)
        done = row in self.masks or row == carried or self.rows.number(row) is not None
        if done or self._paused or OPERATIONS[op].fills(settings):
            return row
        if "index" not in settings or settings["index"].has_gaps:
            self.masks[row] = ((Through((), carried, op, settings, 1), True),)
        else:
            index = settings["index"]
            once = index if isinstance(index, Slice) else chosen(np.unique(index.array))
            self.masks[row] = ((Placed(settings["axis"], settings["size"], once), True),)
        return row

    def alive(self, carried: GraphRow, indicator: GraphRow) -> GraphRow:
        """A carried row that is 0 where an indicator is, and absent there."""
        if not self._paused and self.rows.number(carried) is None:
            mask = self._both(self.masks.get(carried, ()), ((Positive(indicator), True),))
            self.masks[carried] = mask
        return carried

    def passing(self, carried: GraphRow, indicator: GraphRow) -> GraphRow:
        """A carried row where an indicator is more than 0; all of it if it is finite anyway."""
        if is_finite(self.rows.graph, carried, most=MOST_LOOKED_AT):
            return carried
        return self.gated(self._condition(Positive(indicator)), carried, True)

    def product(
        self, left: GraphRow, right: GraphRow, times: Callable[[GraphRow, GraphRow], GraphRow]
    ) -> GraphRow | None:
        """A product as a selection; None if neither factor came through a gate."""
        masks = self.masks.get(left), self.masks.get(right)
        number = self.rows.number
        if masks == (None, None) or number(left) is not None or number(right) is not None:
            return None
        decided = self._both(masks[0] or (), masks[1] or ())
        kept = self._both(self._needed(masks[0], right), self._needed(masks[1], left))
        factors = self._stripped(left), self._stripped(right)
        for this, other in ((0, 1), (1, 0)):
            if number(factors[this]) is not None:  # an indicator: the other is 0 where it is absent
                kept = self._needed(masks[this], right if other else left)
                factors = (factors[0], right) if other else (left, factors[1])
                break
        with self.paused():
            product = times(*factors)
        if number(product) == 0:
            return product
        if _structural(kept) and is_spread_diagonal(self.rows, product):
            kept = ()  # it has dissolved: nothing was multiplied beside the diagonal
        return self._noted(self._nested(kept, product, None), decided, product)

    def after(
        self, op: str, args: Sequence[GraphRow], settings: Mapping[str, Any], row: GraphRow
    ) -> None:
        """Notes where the result of an operation is alive, if not everywhere."""
        masks = [self.masks.get(arg) for arg in args]
        known = row in self.masks or row in args or self.rows.number(row) is not None
        if known or not any(masks):
            return
        mask: Mask | None = None
        if op in ("neg", "identity", "mul"):
            mask = next(found for found in masks if found)
        elif op in ("add", "sub"):
            mask = self._either(*masks)
        elif op == "where":
            condition = args[0]
            mask = self._either(
                self._both(((condition, True),), masks[1] or ()),
                self._both(((condition, False),), masks[2] or ()),
            )
        elif op in OPERATIONS:
            place = next(i for i, found in enumerate(masks) if found)
            mask = self._through(OPERATIONS[op], args, settings, place)
        if mask:
            self.masks[row] = mask

    def _needed(self, mask: Mask | None, factor: GraphRow) -> Mask:
        """What of a mask has to be said of a product: where 0 times a finite factor is 0, nothing.

        A branch that is not taken is always said: people read it.
        """
        if not mask or (_structural(mask) and is_finite(self.rows.graph, factor)):
            return ()
        return mask

    # Masks.

    def _through(
        self,
        operation: Operation,
        args: Sequence[GraphRow],
        settings: Mapping[str, Any],
        place: int,
    ) -> Mask | None:
        """The mask of a result, each of whose elements is made of some of the operand's."""
        if operation.through is None:
            return None
        mask = self.masks[args[place]]
        graph = self.rows.graph
        if all(isinstance(c, int) and not graph.shape(c) for c, _ in mask):
            return mask  # one condition for all elements
        alone, depth = operation.through(settings, place), 1 + _depth(mask)
        if depth > DEEPEST:
            return None
        return ((Through(mask, args[place], operation.name, alone, depth), True),)

    def _both(self, one: Mask, other: Mask) -> Mask:
        found = list(one)
        found += [literal for literal in other if not any(map(self._same(literal), one))]
        if len(found) > MOST_CONDITIONS:
            return ((All(tuple(found)), True),)
        return tuple(found)

    def _either(self, one: Mask | None, other: Mask | None) -> Mask | None:
        if not one or not other:
            return None
        common = tuple(x for x in one if any(map(self._same(x), other)))
        left = [x for x in one if not any(map(self._same(x), common))]
        right = [x for x in other if not any(map(self._same(x), common))]
        if not left or not right:
            return common or None
        if len(left) == len(right) == 1:
            (condition, wanted), (same, unwanted) = left[0], right[0]
            if wanted != unwanted and self._equal(condition, same):
                return common or None  # one of the two branches is taken
            united = _united(condition, same)
            if united is not None:
                return (*common, *united) or None
        depth = 1 + max(_depth(left), _depth(right))
        if depth > DEEPEST:
            return common or None
        return (*common, (Either(tuple(left), tuple(right), depth), True))

    def _same(self, literal: Literal) -> Callable[[Literal], bool]:
        return lambda other: other[1] == literal[1] and self._equal(literal[0], other[0])

    def _equal(self, one: Condition, other: Condition) -> bool:
        if isinstance(one, int) and isinstance(other, int):
            return same(self.rows, one, other)
        if isinstance(one, Either) and isinstance(other, Either):
            pairs = (one.one, other.one), (one.other, other.other)
            return all(self._all_equal(*pair) for pair in pairs)
        if isinstance(one, Placed) and isinstance(other, Placed):
            pair = (one.axis, one.size, one.index), (other.axis, other.size, other.index)
            return pair[0] == pair[1]
        if isinstance(one, Positive) and isinstance(other, Positive):
            return one.row == other.row
        return one is other

    def _all_equal(self, one: Mask, other: Mask) -> bool:
        return len(one) == len(other) and all(
            self._same(a)(b) for a, b in zip(one, other, strict=True)
        )

    # Rows.

    def _stripped(self, row: GraphRow) -> GraphRow:
        """What an unnamed selection selects."""
        while row in self._inside and row not in self.rows.graph.names:
            row = self._inside[row]
        return row

    def _noted(self, row: GraphRow, mask: Mask, inside: GraphRow) -> GraphRow:
        self.masks[row] = mask
        if row != inside:
            self._inside[row] = inside
        return row

    def _nested(self, mask: Mask, row: GraphRow, otherwise: GraphRow | None) -> GraphRow:
        """The row where the mask is alive, else 0 or another row."""
        rows = self.rows
        with self.paused():
            found = row
            for condition, wanted in reversed(mask):
                decided = self._condition(condition)
                if otherwise is None:
                    found = gate(rows, "taken" if wanted else "untaken", decided, found)
                else:
                    branches = (found, otherwise) if wanted else (otherwise, found)
                    found = rows.graph.operation("where", (decided, *branches), {})
        return found

    def indicator(self, mask: Mask, shape: Any = ()) -> GraphRow:
        """1 where a mask is alive, else 0."""
        return self._nested(mask, repeated(self.rows, self.rows.constant(1), shape), None)

    def _condition(self, condition: Condition) -> GraphRow:
        """The row of a condition, made when it is needed first."""
        if isinstance(condition, int):
            return condition
        if condition not in self._known:
            rows = self.rows
            with self.paused():
                if isinstance(condition, Either):
                    other = self.indicator(condition.other)
                    count = self._nested(condition.one, rows.constant(1), other)
                elif isinstance(condition, All):
                    count = self.indicator(condition.mask)
                elif isinstance(condition, Positive):
                    least = rows.constant(LEAST_SHARE)
                    return rows.graph.operation("gt", (condition.row, least), {})
                elif isinstance(condition, Placed):
                    count = self._counted(condition)
                else:
                    shape = rows.graph.shape(condition.row)
                    alive = self.indicator(condition.mask, shape)
                    count = rows.apply(condition.op, (alive,), dict(condition.settings))
                half = rows.constant(Fraction(1, 2))  # nothing sits on this switch
                self._known[condition] = rows.graph.operation("gt", (count, half), {})
        return self._known[condition]

    def _counted(self, placed: Placed) -> GraphRow:
        """1 at the places along an axis, which trailing axes of size 1 follow."""
        rows, after = self.rows, LETTERS[1 : -placed.axis]
        ones = repeated(rows, rows.constant(1), placed.index.shape)
        settings = {"axis": -1, "index": placed.index, "size": placed.size}
        vector = rows.apply("scatter", (ones,), settings)
        return contraction(rows, [vector], ["a"], f"a{after}", dict.fromkeys(after, 1))


def as_gate(
    is_zero: Callable[[GraphRow], bool], condition: GraphRow, above: GraphRow, below: GraphRow
) -> tuple[str, tuple[GraphRow, ...]]:
    """where(c, g, 0) as taken(c, g), where(c, 0, g) as untaken(c, g)."""
    if is_zero(below):
        return "taken", (condition, above)
    if is_zero(above):
        return "untaken", (condition, below)
    return "where", (condition, above, below)


def is_finite(graph: Structure, row: GraphRow, plain: bool = False, most: int = 0) -> bool:
    """Whether a formula is finite wherever the names that it mentions are.

    A plain one is made of sums and products alone. With `most`, names of derivatives are looked
    into, and so many rows.
    """
    stack, seen = [row], set[GraphRow]()
    while stack:
        here = stack.pop()
        inner = most and here in graph.derivative_of and graph.operands[here]
        if here in seen or (here in graph.names and not inner):
            continue
        seen.add(here)
        if most and len(seen) > most:
            return False
        exponent = graph.settings(here).get("exponent", -1)
        whole = isinstance(exponent, int) and exponent > 0
        if not whole and not _keeps_finite(graph.ops[here], plain):
            return False
        stack.extend(graph.operands[here][graph.ops[here] == "where" :])  # not the condition
    return True


def _keeps_finite(op: str, plain: bool) -> bool:
    """Whether an operation on what is finite is so, as its record says."""
    record = FUNCTIONS.get(op) or OPERATIONS.get(op)
    if record is None:
        return op in ("const", "size")
    return record.multilinear or (record.finite and not plain)


def _structural(mask: Mask) -> bool:
    """Whether a mask only says where nothing was put, and no branch that is not taken."""
    return all(
        isinstance(condition, (Placed, Positive))
        or (isinstance(condition, (Through, All)) and _structural(condition.mask))
        or (
            isinstance(condition, Either)
            and _structural(condition.one)
            and _structural(condition.other)
        )
        for condition, _ in mask
    )


def _depth(mask: Sequence[Literal]) -> int:
    return max((getattr(condition, "depth", 0) for condition, _ in mask), default=0)


def _united(one: Condition, other: Condition) -> Mask | None:
    """Alive at the places of either along one axis; nothing to say where these are all."""
    if not isinstance(one, Placed) or not isinstance(other, Placed):
        return None
    if (one.axis, one.size) != (other.axis, other.size):
        return None
    index = united(one.index, other.index)
    return () if covers(index, one.size) else ((Placed(one.axis, one.size, index), True),)
