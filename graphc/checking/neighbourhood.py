"""A graph around a point: its values at many neighbours, in floats, complex or many digits.

This is the one place where the checker evaluates graphs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import mpmath
import numpy as np
from mpmath.libmp import from_man_exp

from ..algebra.arithmetic import FLOAT_ARITHMETIC, Numbers
from ..algebra.exact import Undefined, as_digits, as_float
from ..derive.evaluation import Evaluation
from ..native.memory import result
from ..structure.kept import once
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.arrays import boxed, unboxed
from ..table.tensors import OPERATIONS, Site
from .batches import COUNT, Batch, Switch, Traits, batched, traits
from .needs import needed_rows

DIRECT = ("add", "sub", "mul", "div", "neg")
MOST_BITS = 4_000  # between the exponents of an array whose products are whole numbers
LARGEST_BATCH = 1 << 20  # elements of the moved leaves that are evaluated at once
LARGEST_GROUP = 512  # elements of leaves that share their evaluations


@dataclass(frozen=True, eq=False)
class Branch:
    """What one switch did at each neighbour: how far it is from its kink, and its branch."""

    switch: Switch
    margin: Any  # (neighbours, elements): 0 on the kink
    winners: Any = None  # (neighbours, elements): the place of each, where elements compete

    def taken(self, neighbours: Any = slice(None)) -> Any:
        """(neighbours, elements): a sign, or the place of a winner."""
        return (
            np.sign(self.margin[neighbours]) if self.winners is None else self.winners[neighbours]
        )


@dataclass(frozen=True)
class Sample:
    """The outputs at each neighbour, and the branches taken there."""

    values: Any  # (neighbours, output elements)
    branches: tuple[Branch, ...]


def joined(samples: Sequence[Sample], count: int) -> Sample:
    """The first neighbours of several samples as one."""
    if len(samples) == 1:
        return samples[0]
    values = np.concatenate([sample.values for sample in samples])
    branches = []
    for parts in zip(*(sample.branches for sample in samples), strict=True):
        margin = np.concatenate([part.margin for part in parts])
        winners = None
        if parts[0].winners is not None:
            winners = np.concatenate([part.winners for part in parts])[:count]
        branches.append(Branch(parts[0].switch, margin[:count], winners))
    return Sample(values[:count], tuple(branches))


@dataclass(frozen=True)
class Group:
    """Leaves of a point whose elements are moved as those of one flat array."""

    leaves: tuple[GraphRow, ...]
    spans: tuple[tuple[int, int], ...]  # where the elements of each leaf begin and end
    hood: Neighbourhood

    @cached_property
    def x(self) -> Any:
        """All elements at the point."""
        return np.concatenate([self.hood.point[leaf].ravel() for leaf in self.leaves])

    def apart(self, values: Any) -> dict[GraphRow, Any]:
        """{leaf: its part} of a value for each element."""
        return {
            leaf: values[begin:end].reshape(self.hood.point[leaf].shape)
            for leaf, (begin, end) in zip(self.leaves, self.spans, strict=True)
        }


@cache
def context(digits: int) -> Any:
    """The arithmetic of so many digits."""
    found = mpmath.MPContext()
    found.dps = digits
    return found


class Digits(Numbers):
    """Numbers of many digits: constants too, so that nothing on the way is a float."""

    def __init__(self, sizes: Mapping[str, int], digits: int) -> None:
        super().__init__(sizes)
        self.context = context(digits)

    def constant(self, value: Any) -> Any:
        return to_digits(super().constant(value), self.context.dps)

    def apply(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        """Arithmetic on whole arrays where each element has a value; else one by one."""
        if op == "pi":
            return +self.context.pi
        try:
            if op in DIRECT and any(type(arg) is np.ndarray for arg in args):
                return FLOAT_ARITHMETIC[op](*map(boxed, args))  # mpmath tries an array in vain
            if op == "power" and isinstance(settings["exponent"], int):
                return args[0] ** settings["exponent"]
        except (TypeError, ZeroDivisionError):  # an element has no value
            pass
        return super().apply(op, args, settings)

    def products(self, boxes: Sequence[Any], operands: Sequence[str], core: str) -> Any:
        """Products and sums of whole arrays, as whole numbers: several times as fast, and exact."""
        try:
            found = [self._integers(box) for box in boxes]
        except TypeError:  # an element has no value
            found = [None]
        parts = [part for part in found if part is not None]
        twice = any(len(set(letters)) < len(letters) for letters in operands)
        if twice or len(parts) < len(found):
            return super().products(boxes, operands, core)
        letters = list(dict.fromkeys(core + "".join(operands)))
        product: Any = 1
        exponent = 0
        for (array, own), word in zip(parts, operands, strict=True):
            places = sorted(range(len(word)), key=lambda k: letters.index(word[k]))
            index = [slice(None) if x in word else None for x in letters]
            product = product * array.transpose(places)[tuple(index)]
            exponent += own
        if len(letters) > len(core):
            product = product.sum(axis=tuple(range(len(core), len(letters))))
        whole = boxed(product)
        total = np.empty(whole.shape, dtype=object)
        own, precision = self.context.make_mpf, self.context.prec
        total.flat[:] = [own(from_man_exp(part, exponent, precision, "n")) for part in whole.flat]
        return total

    def _integers(self, array: Any) -> tuple[Any, int] | None:
        """(whole numbers, exponent of 2) of an array; None where sizes are too far apart."""
        own = self.context.mpf
        numbers = [(e if type(e) is own else own(e))._mpf_ for e in array.flat]
        pairs = [(-whole if sign else whole, exponent) for sign, whole, exponent, _ in numbers]
        exponents = [exponent for whole, exponent in pairs if whole]
        least = min(exponents, default=0)
        if max(exponents, default=0) - least > MOST_BITS:
            return None
        whole = np.empty(array.shape, dtype=object)
        whole.flat[:] = [int(part) << (exponent - least) if part else 0 for part, exponent in pairs]
        return whole, least


def to_digits(value: Any, digits: int) -> Any:
    """A number or array, its elements as numbers of many digits."""
    own = context(digits)
    if not isinstance(value, np.ndarray):
        return as_digits(value, own)
    result = np.empty(value.size, dtype=object)
    result[:] = [as_digits(element, own) for element in value.ravel().tolist()]
    return unboxed(result.reshape(value.shape))


class Neighbourhood:
    """A graph around a point."""

    def __init__(
        self,
        graph: Structure,
        outputs: Sequence[GraphRow],
        point: Mapping[GraphRow, Any],
        sizes: Mapping[str, int],
        moving: Sequence[GraphRow] = (),
    ) -> None:
        self.graph = graph
        self.outputs = tuple(outputs)
        self.sizes = dict(sizes)
        self.evaluations = 0
        self._exact: dict[int, dict[GraphRow, Any]] = {}
        self.emitted = False  # whether neighbours are evaluated by emitted code
        self._memory = np.empty(0)  # of neighbours
        floats = {row: as_float(value) for row, value in point.items()}
        here = Evaluation(graph, Numbers(self.sizes), dict(floats), {})
        self.fixed: dict[GraphRow, Any] = {}  # leaves, and what stands behind a stop
        # everything that can be moved: leaves and chosen nodes
        self.point: dict[GraphRow, Any] = {}
        with np.errstate(all="ignore"):
            for row in needed_rows(graph, self.outputs):
                if graph.ops[row] == "stop" or row in point:
                    self.fixed[row] = here.value(row)
            for row in (*point, *moving):
                self.point[row] = np.asarray(as_float(here.value(row)), float)

    def rest(self) -> None:
        """Gives the memory of neighbours back: a report, which may stay, can ask for more."""
        self._memory = np.empty(0)

    @cached_property
    def floats(self) -> Evaluation:
        """The values of the rows that the outputs need, at the point."""
        algebra = Numbers(self.sizes, quiet=True)
        evaluation = Evaluation(self.graph, algebra, dict(self.fixed), {})
        with np.errstate(all="ignore"):
            for row in self.outputs:
                evaluation.value(row)
        algebra.quiet = False  # others go on with it
        return evaluation

    @cached_property
    def largest(self) -> float:
        """The largest number on the way to the outputs: what is rounded, whatever is left of it."""
        with np.errstate(all="ignore"):
            sizes = [np.abs(as_float(value)) for value in self.floats.values.values()]
        finite = (float(np.max(size, initial=0.0, where=np.isfinite(size))) for size in sizes)
        return max(finite, default=0.0)

    def further(self, scale: float) -> int:
        """The digits that it takes to see a step of this scale in the largest number."""
        wide = math.log10(max(self.largest, 1e-300)) - math.log10(abs(scale))
        return max(0, math.ceil(wide))

    def rounded(self, digits: int) -> Any:
        """What is lost of the largest number."""
        return context(digits).mpf(10) ** -digits * self.largest

    def algebra(self, digits: int) -> Digits:
        """The algebra of numbers of many digits."""
        return Digits(self.sizes, digits)

    def exact(self, digits: int) -> dict[GraphRow, Any]:
        """The leaves, and what stands behind a stop, in many digits."""
        if digits not in self._exact:
            ops = self.graph.ops
            known = {r: to_digits(v, digits) for r, v in self.fixed.items() if ops[r] != "stop"}
            evaluation = Evaluation(self.graph, self.algebra(digits), known, {})
            self._exact[digits] = {row: evaluation.value(row) for row in self.fixed}
        return self._exact[digits]

    def batch(self, leaves: tuple[GraphRow, ...]) -> Batch:
        """The batched copy for some leaves, made once per graph."""
        found: Batch = once(
            self.graph,
            ("batch", leaves, self.outputs),
            lambda: batched(self.graph, leaves, self.outputs),
        )
        return found

    def traits(self, leaf: GraphRow) -> Traits:
        """What the operations after a leaf can do, found once per graph."""
        graph, outputs = self.graph, self.outputs
        found: Traits = once(
            graph,
            ("traits", leaf, outputs),
            lambda: traits(graph, leaf, needed_rows(graph, outputs)),
        )
        return found

    def groups(self, leaves: Iterable[GraphRow]) -> list[Group]:
        """The leaves in their order; small ones are in one group, whose elements move together."""
        found: list[list[GraphRow]] = []
        room = -1  # elements that may still join the last group
        for leaf in leaves:
            size = self.point[leaf].size
            shares = leaf in self.fixed and self.traits(leaf).together
            if shares and size <= room:
                found[-1].append(leaf)
                room -= size
            else:
                found.append([leaf])
                room = LARGEST_GROUP - size if shares else -1
        return [self.group(*members) for members in found]

    def group(self, *leaves: GraphRow) -> Group:
        """Some leaves as one flat array."""
        ends = np.cumsum([self.point[leaf].size for leaf in leaves]).tolist()
        return Group(leaves, tuple(zip([0, *ends], ends, strict=False)), self)

    def sample(
        self, group: Group, places: Any, offsets: Any, more: Any = None, told: bool = True
    ) -> Sample:
        """Outputs where one element of a group is moved at a time, then `more`; told: branches too
        (where they are interpreted, since emitted code computes them anyway).

        More are whole neighbours (count, elements). As many as stay at hand are evaluated at once.
        """
        more = np.empty((0, group.x.size)) if more is None else more
        single, total = len(places), len(places) + len(more)
        self.evaluations += total
        parts = -(-total * group.x.size // LARGEST_BATCH)
        size = -(-total // max(parts, 1))
        found = []
        numbers = np.searchsorted([end for _, end in group.spans], places, side="right")
        for start in range(0, total, size):
            here = slice(start, start + size)
            moved = self._moved(group, size, places[here], offsets[here], numbers[here])
            rest = more[max(start - single, 0) : max(start + size - single, 0)]
            if len(rest):
                begin = len(places[here])
                for part, (first, last) in zip(moved, group.spans, strict=True):
                    part[begin : begin + len(rest)] = rest[:, first:last]
            found.append(self._sampled(group, moved, size, told))
        return joined(found, total)

    def _moved(
        self, group: Group, count: int, places: Any, offsets: Any, numbers: Any
    ) -> list[Any]:
        """(count, elements) of each leaf, with some elements moved; the last ones are the point.

        Each is in one piece, and in the same memory every time: both are faster.
        """
        kind = np.result_type(offsets, float)
        if self._memory.size < count * group.x.size or self._memory.dtype != kind:
            self._memory = result((max(count * group.x.size, LARGEST_BATCH),), kind)
        found = []
        for first, last in group.spans:
            part = self._memory[count * first : count * last].reshape(count, last - first)
            part[:] = group.x[first:last]
            found.append(part)
        begins, ends = np.array(group.spans).T[:, numbers]
        rows = np.arange(len(places))
        self._memory[count * begins + rows * (ends - begins) + places - begins] += offsets
        return found

    def _sampled(self, group: Group, parts: Sequence[Any], count: int, told: bool) -> Sample:
        """Outputs and branches where the leaves of a group take values (count, elements)."""
        batch = self.batch(group.leaves)
        rows = (*batch.outputs, *batch.told) if told else batch.outputs
        moved = {
            leaf: part.reshape(count, *self.point[leaf].shape)
            for leaf, part in zip(group.leaves, parts, strict=True)
        }
        with np.errstate(all="ignore"):
            if batch.together:
                found = self._values(batch, rows, moved, count)
            else:
                each = [
                    self._values(batch, rows, {leaf: part[k] for leaf, part in moved.items()})
                    for k in range(count)
                ]
                found = {row: np.stack([as_float(one[row]) for one in each]) for row in rows}
            values = [
                _columns(found[row], count, wide)
                for row, wide in zip(batch.outputs, batch.wide, strict=True)
            ]
            switches = batch.switches if told else ()
            branches = tuple(_branch(switch, found, count) for switch in switches)
        return Sample(values[0] if len(values) == 1 else np.concatenate(values, axis=1), branches)

    def _values(
        self,
        batch: Batch,
        rows: Sequence[GraphRow],
        moved: Mapping[GraphRow, Any],
        count: int = 1,
    ) -> dict[GraphRow, Any]:
        """The values of rows of the batch: by emitted code where much is asked, or interpreted."""
        known = {
            new: moved[row] if row in moved else self.fixed[row]
            for row, new in batch.leaves.items()
        }
        real = all(part.dtype == float for part in moved.values())
        if self.emitted and real and batch.function is not None:
            return batch.function(known)
        evaluation = Evaluation(batch.graph, Numbers({**self.sizes, COUNT: count}), known, {})
        found = {row: evaluation.value(row) for row in rows}
        return {row: self._own(value) for row, value in found.items()}

    def _own(self, value: Any) -> Any:
        """A value that does not change with the next neighbours."""
        shared = isinstance(value, np.ndarray) and np.may_share_memory(value, self._memory)
        return value.copy() if shared else value

    def _outputs(self, evaluation: Evaluation) -> Any:
        """The outputs in floats, flat."""
        with np.errstate(all="ignore"):
            found = [np.ravel(as_float(evaluation.value(row))) for row in self.outputs]
        return np.concatenate(found)

    @cached_property
    def base(self) -> Any:
        """The outputs at the point itself, flat."""
        return self._outputs(self.floats)

    def jointly(self, offsets: Mapping[GraphRow, Any]) -> Any:
        """The outputs where several leaves are moved at once, flat."""
        self.evaluations += 1
        moved = {row: self.point[row] + offset for row, offset in offsets.items()}
        known = {**self.fixed, **moved}
        return self._outputs(Evaluation(self.graph, Numbers(self.sizes), known, {}))

    def digital(self, offsets: Mapping[GraphRow, Any], digits: int) -> list[Any] | None:
        """The outputs in many digits where rows are moved; None: one of them has no value there."""
        self.evaluations += 1
        known, algebra = dict(self.exact(digits)), self.algebra(digits)
        for row, offset in offsets.items():
            here = known[row] if row in known else to_digits(self.point[row], digits)
            known[row] = algebra.apply("add", (here, offset), {})
        evaluation = Evaluation(self.graph, algebra, known, {})
        found = [element for row in self.outputs for element in flat(evaluation.value(row))]
        if any(type(element) is Undefined for element in found):
            return None
        return [to_digits(element, digits) for element in found]  # atan(sign(x)) is pi/4

    def shape(self, row: GraphRow) -> tuple[int, ...]:
        """The shape of a row at this point."""
        return tuple(int(self.sizes.get(str(size), size)) for size in self.graph.shape(row))

    def work(self, row: GraphRow) -> int:
        """The scalar operations of one row, about."""
        graph, shape = self.graph, self.graph.shape(row)
        operation = OPERATIONS.get(graph.ops[row])
        if operation is not None:
            shapes = [graph.shape(operand) for operand in graph.operands[row]]
            shape = operation.work(Site(settings=graph.settings(row), shapes=shapes, shape=shape))
        return math.prod(int(self.sizes.get(str(size), size)) for size in shape)

    def cost(self) -> int:
        """A bound on the scalar operations of one evaluation in many digits."""
        rows = needed_rows(self.graph, self.outputs)
        key = ("cost", self.outputs, *self.sizes.items())
        return int(once(self.graph, key, lambda: sum(map(self.work, rows))))


def flat(value: Any) -> list[Any]:
    """The elements of a number or an array."""
    return list(value.flat) if isinstance(value, np.ndarray) else [value]


def _columns(value: Any, count: int, wide: bool) -> Any:
    """An output as (neighbours, elements)."""
    array = np.asarray(as_float(value))
    if wide and array.ndim and array.shape[0] == count:
        return array.reshape(count, -1)
    return np.broadcast_to(array.reshape(1, -1), (count, array.size))


def _branch(switch: Switch, found: dict[GraphRow, Any], count: int) -> Branch:
    """What a switch did at each neighbour."""
    told = [np.asarray(as_float(found[row])) for row in switch.told]
    if not switch.competing:
        parts = [_columns(value, count, True) for value in told]
        margin = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return Branch(switch, margin)
    if switch.axes:
        slices = np.moveaxis(told[0], switch.axes, range(-len(switch.axes), 0))
        width = math.prod(slices.shape[slices.ndim - len(switch.axes) :])
        slices = slices.reshape(count, -1, width)
    else:
        sign = 1 if switch.op == "maximum" else -1
        parts = list(np.broadcast_arrays(*(sign * value for value in told)))
        slices = np.stack([_columns(part, count, True) for part in parts], axis=-1)
    ordered = np.sort(slices, axis=-1)
    margin = ordered[..., -1] - ordered[..., -2] if slices.shape[-1] > 1 else ordered[..., -1]
    return Branch(switch, margin, slices.argmax(axis=-1))
