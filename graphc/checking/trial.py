"""One trial: what was asked, judged at one point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra.exact import as_float
from ..collecting import collection_rests
from ..derive.differentiate import as_names
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from . import claims as claiming
from . import edges as edging
from .emitted import derivatives
from .groups import Budget
from .judging import Judge
from .many import Layout, searched
from .needs import needed_nodes
from .neighbourhood import Neighbourhood
from .points import Point
from .report import Report
from .rows import Rows
from .second import consistency, curvature
from .settling import Court
from .verdicts import WRONG, Row

MOST_SINGLY = 5_000  # elements that are measured one by one
MOST_SHOWN = 1_000  # elements of an array that a report keeps
MANY = 200  # elements for which it pays to compile the measurement too


@dataclass(frozen=True)
class Asked:
    """What a check is to find out."""

    graph: Structure
    outputs: tuple[GraphRow, ...]
    wrt: Any
    claimed: Mapping[str, Any] | None
    want: str
    method: str
    dtype: str
    budget: Budget

    @property
    def epsilon(self) -> float:
        return float(np.finfo(self.dtype).eps)

    def leaves(self) -> list[GraphRow]:
        """The rows of `wrt`; by default every input and param that the outputs need."""
        graph = self.graph
        if self.wrt is None:
            needed = needed_nodes(graph, self.outputs)
            return [row for row in graph.leaves() if row in needed]
        return list(dict.fromkeys(graph.row(name) for name in as_names(graph, self.wrt)))


@collection_rests()
def tried(asked: Asked, point: Point, number: int) -> tuple[Report, Neighbourhood]:
    """The report at one point."""
    graph = asked.graph
    values = {row: _rounded(value, asked.dtype) for row, value in point.values.items()}
    claims = None
    if asked.claimed is not None:
        claims = claiming.as_arrays(graph, asked.claimed, point.sizes)
    leaves = asked.leaves() if claims is None else list(claims)
    interior = [row for row in leaves if row not in values]
    hood = Neighbourhood(graph, asked.outputs, values, point.sizes, interior)
    hood.emitted = sum(hood.point[leaf].size for leaf in leaves) >= MANY
    judge = Judge(Court(graph, hood, asked.epsilon, asked.method), element_names(hood))
    rows, notes = _judged(asked, judge, leaves, claims)
    hood.rest()
    if number:
        rows = rows.at(number)
    failing = WRONG in rows.verdicts
    if claims is not None:
        edges = claiming.blamed(graph, hood, asked.outputs[0], rows, claims) if failing else []
    else:
        tested = needed_nodes if failing else edging.suspects
        edges = edging.wrong_edges(graph, hood, tested(graph, asked.outputs))
    shown = {
        graph.names[row]: np.asarray(value).tolist()
        for row, value in values.items()
        if row in graph.names and np.size(value) <= MOST_SHOWN
    }
    report = Report(
        rows,
        edges,
        [(edge.source, edge.target) for edge in edges],
        notes,
        points=[shown],
        evaluations=hood.evaluations,
        curve=judge.curve,
    )
    return report, hood


def _rounded(value: Any, dtype: str) -> Any:
    """A value as the code under test gets it."""
    array = np.asarray(as_float(value), dtype).astype(float, copy=False)
    return array if array.shape else array[()]


def _judged(
    asked: Asked, judge: Judge, leaves: Sequence[GraphRow], claims: Mapping[GraphRow, Any] | None
) -> tuple[Rows, list[str]]:
    """Rows and notes on what was asked for."""
    graph, hood = asked.graph, judge.court.hood
    if asked.want == "hessian":
        return Rows(curvature(judge.court, leaves, asked.dtype)), []
    if asked.want == "jvp":
        return Rows(consistency(judge.court, leaves, asked.dtype)), []
    rows: list[Row] = []
    notes: list[str] = []
    if claims is None:
        derived, rows, notes = derivatives(graph, hood, leaves, asked.dtype)
    else:
        derived = {row: claim[None, :] for row, claim in claims.items()}
    total = sum(hood.point[leaf].size for leaf in leaves)
    if total > MOST_SINGLY and len(hood.base) == 1:
        found, covered = _searched(judge, leaves, derived, asked.budget)
        return Rows(rows + found), [*notes, covered]
    return Rows([*rows, *judge.judge(leaves, derived)]), notes


def _searched(
    judge: Judge, leaves: Sequence[GraphRow], derived: Mapping[GraphRow, Any], budget: Budget
) -> tuple[list[Row], str]:
    """Directions and groups, where there are too many elements to take them singly."""
    hood, graph = judge.court.hood, judge.court.graph
    names = {graph.names[leaf]: leaf for leaf in leaves}

    def value(offsets: Mapping[str, Any]) -> float:
        return float(hood.jointly({names[n]: part for n, part in offsets.items()})[0])

    def single(name: str, place: int) -> Row:
        before = hood.evaluations
        row = judge.single(names[name], derived[names[name]], place)
        budget.spend(hood.evaluations - before)
        return row

    layout = Layout({name: hood.point[leaf] for name, leaf in names.items()})
    claims = {name: derived[leaf] for name, leaf in names.items()}
    return searched(
        *(layout, claims, value, single, budget),
        of=judge.names.get(0, ""),
        rounding=judge.court.epsilon,
    )


def element_names(hood: Neighbourhood) -> dict[int, str]:
    """A name for each output element."""
    found: list[str] = []
    for row in hood.outputs:
        name, shape = hood.graph.names[row], hood.shape(row)
        if math.prod(shape) == 1:
            found.append(name)
        else:
            found += [f"{name}[{','.join(map(str, place))}]" for place in np.ndindex(shape)]
    return dict(enumerate(found))
