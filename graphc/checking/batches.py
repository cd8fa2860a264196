"""Batches: a copy of a graph in which some leaves, and what depends on them, have a leading axis.

So the neighbours of a point are one evaluation, and what depends on none of the leaves is shared.
Where an operation cannot take a further axis, the copy has none and serves one neighbour at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from operator import or_
from typing import Any

from ..algebra.formulas import Formulas
from ..algebra.rules import rule
from ..errors import GraphcError
from ..program.compiling import compile_graph
from ..structure.reach import ancestors
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS, Function
from ..table.tensors import OPERATIONS, Operation
from ..table.value import COMPARISONS

COUNT = "neighbours_"  # the name of the leading axis
Evaluator = Callable[[dict[GraphRow, Any]], dict[GraphRow, Any]]


@dataclass(frozen=True)
class Switch:
    """An operation with a kink: where it stands, and the rows that tell its branch."""

    declared: GraphRow  # the row in the declared graph
    node: GraphRow  # the node whose formula holds it
    op: str
    told: tuple[GraphRow, ...]  # rows of the copy: each is 0 on a kink, or they compete
    competing: bool = False  # the largest (or smallest) element or operand wins
    axes: tuple[int, ...] = ()  # of the competition, if it is within one array


@dataclass(frozen=True, eq=False)
class Batch:
    """The copy, the rows of its leaves and outputs, and its switches."""

    graph: Structure
    leaves: dict[GraphRow, GraphRow]  # declared row -> row in the copy, of all that has to be given
    outputs: tuple[GraphRow, ...]
    wide: tuple[bool, ...]  # whether each output has an axis of neighbours
    switches: tuple[Switch, ...]
    together: bool  # whether there is a leading axis; else neighbours are taken one by one

    @cached_property
    def told(self) -> tuple[GraphRow, ...]:
        """The rows that tell the branches."""
        return tuple(dict.fromkeys(row for switch in self.switches for row in switch.told))

    @cached_property
    def bends(self) -> dict[GraphRow, list[bool]]:
        """For each declared leaf and each switch, whether its margin may move along no line."""
        bits = {row: 1 << place for place, row in enumerate(self.leaves.values())}
        bent = bent_rows(self.graph, bits)
        masks = [reduce(or_, (bent[row] for row in switch.told)) for switch in self.switches]
        return {
            leaf: [bool(mask & bits[row]) for mask in masks] for leaf, row in self.leaves.items()
        }

    @cached_property
    def function(self) -> Evaluator | None:
        """Emitted code for the outputs, and for the rows that tell the branches; None: interpret.

        It takes {row of a leaf: value}, and returns {row: value}.
        """
        graph, given = self.graph, {f"leaf{row}": row for row in self.leaves.values()}
        asked = {}
        try:
            for name, row in given.items():
                graph.bind(name, row)
            for row in dict.fromkeys((*self.outputs, *self.told)):
                own = graph.operation("identity", (row,), {}) if row in graph.names else row
                asked[row] = f"row{row}"
                graph.bind(asked[row], own)
            compiled = compile_graph(graph, list(asked.values()), None, "value")
        except GraphcError:
            return None
        order = [given[name] for name in compiled.arguments]

        def run(known: dict[GraphRow, Any]) -> dict[GraphRow, Any]:
            found = compiled(*(known[row] for row in order))
            return {row: found[name] for row, name in asked.items()}

        return run


def batched(graph: Structure, leaves: Sequence[GraphRow], outputs: Sequence[GraphRow]) -> Batch:
    """The copy of what the outputs need, with a leading axis on the leaves if all can take it."""
    needed = ancestors(graph, outputs)
    reached = reached_from(graph, leaves, needed)
    together = _take_axis(graph, reached.difference(leaves))
    axis = (COUNT,) if graph.has_tensors else ()  # of scalars alone, neighbours are points
    copy = Structure(graph.name)
    moved: dict[GraphRow, GraphRow] = {}
    wide: set[GraphRow] = set()  # rows of the copy that have the leading axis
    owner: dict[GraphRow, GraphRow] = {}
    switches: list[Switch] = []
    for node in graph.nodes():
        for row in graph.formula(node).rows:
            owner.setdefault(row, node)
    for row in needed:
        op, settings, shape = graph.ops[row], graph.settings(row), graph.shape(row)
        operands = [moved[operand] for operand in graph.operands[row]]
        if row in leaves or op == "stop":  # what stands behind a stop does not move
            op, operands, settings = "input", [], {}
        elif row in reached and together:
            operands, settings = _widened(copy, op, operands, settings, wide, len(shape))
        new = moved[row] = copy.append(op, tuple(operands), **settings)
        if together and row in reached:
            shape = (*axis, *shape)
            wide.add(new)
        if shape:
            copy.shapes[new] = shape
        if row in reached:
            switches.extend(_switches(copy, new, row, owner.get(row, row)))
    given = [row for row in needed if row in leaves or graph.ops[row] in ("input", "param", "stop")]
    return Batch(
        copy,
        {row: moved[row] for row in given},
        tuple(moved[row] for row in outputs),
        tuple(row in reached or not together for row in outputs),
        tuple(switches),
        together,
    )


def bent_rows(graph: Structure, bits: Mapping[GraphRow, int]) -> dict[GraphRow, int]:
    """For each row, the leaves (as bits) along which it may bend elsewhere than at a kink.

    One element of a leaf moves at a time. A row is on a straight line if no slope on the way
    depends on what moves, but for conditions.
    """
    moving, bent = dict[GraphRow, int](), dict[GraphRow, int]()
    for row in graph.in_order():
        op, masks = graph.ops[row], [moving[operand] for operand in graph.operands[row]]
        moving[row], bent[row] = bits.get(row, 0), 0
        if op == "stop" or not any(masks):
            continue
        moving[row] |= reduce(or_, masks)
        bent[row] = reduce(or_, (bent[operand] for operand in graph.operands[row]))
        if op in OPERATIONS and OPERATIONS[op].multilinear:
            pairs = combinations(masks, 2)  # a product of two that move
            bent[row] |= reduce(or_, (one & other for one, other in pairs), 0)
        elif op in OPERATIONS:
            bent[row] = moving[row]
        elif op not in COMPARISONS:
            slopes = rule(op, len(masks), graph.settings(row)).partials
            chosen = [graph.is_condition(operand) for operand in graph.operands[row]]
            told = [0 if condition else mask for condition, mask in zip(chosen, masks, strict=True)]
            told.append(moving[row])  # its own value
            for mask, slope in zip(told, slopes, strict=False):
                for slot in slope.slots():
                    bent[row] |= mask & told[slot]
    return bent


@dataclass(frozen=True)
class Traits:
    """What the operations after a leaf can do."""

    together: bool  # all of them take a leading axis
    analytic: bool  # and complex numbers


def traits(graph: Structure, leaf: GraphRow, needed: Sequence[GraphRow]) -> Traits:
    """The traits of what moves with a leaf, among the rows needed."""
    after = reached_from(graph, (leaf,), needed) - {leaf}
    together = _take_axis(graph, after)
    return Traits(together, together and all(_record(graph.ops[row]).analytic for row in after))


def reached_from(
    graph: Structure, leaves: Sequence[GraphRow], needed: Sequence[GraphRow]
) -> set[GraphRow]:
    """The rows among those needed that move with some leaves, themselves included."""
    found = set(leaves)
    for row in needed:
        if graph.ops[row] != "stop" and not found.isdisjoint(graph.operands[row]):
            found.add(row)
    return found


def _take_axis(graph: Structure, rows: Iterable[GraphRow]) -> bool:
    """Whether all of these rows' operations take a leading axis."""
    ops = {graph.ops[row] for row in rows}
    return all(op not in OPERATIONS or OPERATIONS[op].batch is not None for op in ops)


def _widened(
    copy: Structure,
    op: str,
    operands: list[GraphRow],
    settings: dict[str, Any],
    wide: set[GraphRow],
    rank: int,
) -> tuple[list[GraphRow], dict[str, Any]]:
    """Operands and settings of an operation that gets a leading axis."""
    if op in OPERATIONS:
        batch = OPERATIONS[op].batch
        assert batch is not None, op
        return operands, dict(batch(settings, [operand in wide for operand in operands], COUNT))
    return [_raised(copy, operand, wide, rank) for operand in operands], settings


def _record(op: str) -> Function | Operation:
    return OPERATIONS[op] if op in OPERATIONS else FUNCTIONS[op]


def _raised(copy: Structure, operand: GraphRow, wide: set[GraphRow], rank: int) -> GraphRow:
    """An operand with axes of size 1 behind its leading axis, so that it broadcasts."""
    own = copy.shape(operand)[1:] if operand in wide else ()
    if operand not in wide or len(own) == rank:
        return operand
    shape = (COUNT, *(1,) * (rank - len(own)), *own)
    row = copy.append("reshape", (operand,), shape=shape)
    copy.shapes[row] = shape
    wide.add(row)
    return row


def _switches(copy: Structure, new: GraphRow, row: GraphRow, node: GraphRow) -> list[Switch]:
    """The switches of one operation of the copy."""
    op, operands, settings = copy.ops[new], copy.operands[new], copy.settings(new)
    if op in OPERATIONS:
        kink = OPERATIONS[op].kink
        told = {"": (), "zero": (new,), "tie": operands}[kink]
        axes = settings["axes"] if kink == "tie" else ()
        return [Switch(row, node, op, told, kink == "tie", axes)] if told else []
    if op in ("maximum", "minimum") and len(operands) > 2:
        return [Switch(row, node, op, operands, True)]
    if not operands:
        return []
    rows = Formulas(copy)
    templates = rule(op, len(operands), settings).switches
    told = tuple(template.run(rows, [*operands, new]) for template in templates)
    return [Switch(row, node, op, told)] if told else []
