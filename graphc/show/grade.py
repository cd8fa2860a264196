"""grade: a student's table of values and derivatives, judged in the order of working.

Values come first, forwards, then derivatives, from the output backwards. A number is right if it is
the true one, or follows from the student's own earlier numbers, at the digits that were given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ..algebra.arithmetic import Numbers
from ..algebra.exact import Masked, as_float
from ..derive import modes as derive
from ..derive.evaluation import Evaluation
from ..derive.hops import out_of, the_output
from ..derive.request import Request
from ..errors import GraphcError, listing, nearest
from ..structure.reach import upstream
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..write.formula import formula_text
from . import mistakes
from .entries import Entry, read, settled

TABLES = ("values", "derivatives")


@dataclass(frozen=True)
class Grade:
    """The verdict: `.ok`, the node `.first_wrong`, the `.kind` of mistake, and a `.message`."""

    ok: bool
    message: str
    first_wrong: str | None = None
    kind: str | None = None  # one of mistakes.KINDS
    table: str | None = None  # where the wrong entry stands: values or derivatives
    checked: int = 0  # how many entries were found right

    def __str__(self) -> str:
        return self.message

    def __bool__(self) -> bool:
        return self.ok


def grade(
    graph: Structure, answer: Mapping[str, Any], of: Any, at: Mapping[str, Any] | None
) -> Grade:
    """The first entry that is wrong, and what probably happened there."""
    entries = settled({table: _entries(graph, answer, table) for table in TABLES})
    _check_keys(answer)
    target = the_output(graph, of)
    sheet = Sheet(graph, target, {} if at is None else at)
    checked = 0
    for judge, table, order in (
        (sheet.value, "values", sorted(sheet.needed)),
        (sheet.derivative, "derivatives", sorted(sheet.needed, reverse=True)),
    ):
        given = entries[table]
        strange = [row for row in given if row not in sheet.needed]
        for row in [*order, *strange]:
            found = judge(row, given.get(row))
            checked += row in given
            if found is not None:
                return Grade(False, found[1], graph.names[row], found[0], table, checked - 1)
    every = "the entry is" if checked == 1 else f"all {checked} entries are"
    return Grade(True, f"{every} right", checked=checked)


class Sheet:
    """The truth, and what follows from the student's own numbers, side by side."""

    def __init__(self, graph: Structure, target: GraphRow, at: Mapping[str, Any]) -> None:
        self.graph, self.target = graph, target
        self.needed = upstream(graph, [target])
        self.trace = derive.Trace()
        request = Request(graph, at, needed=self.needed)
        derive.adjoints(request, {target: 1}, self.trace)
        if request.shape:
            raise GraphcError("grade is about one point; give one number for each name in at=")
        self.truth = request.evaluation
        leaves = {row: _float(value) for row, value in request.evaluation.values.items()}
        known = {row: leaves[row] for row in graph.leaves() if row in leaves}
        sizes = getattr(request.evaluation.algebra, "sizes", {})
        symbols = {name: _float(value) for name, value in request.evaluation.symbols.items()}
        # the same in floats twice: with the student's numbers, and without
        self.own, self.true = (
            Evaluation(graph, Numbers(dict(sizes)), dict(known), symbols) for _ in range(2)
        )
        self.hops = out_of(graph, self.needed)
        self.adjoints: dict[GraphRow, Any] = {}
        self.has_values = not any(op == "edges" for op in graph.ops)

    def value(self, row: GraphRow, entry: Entry | None) -> tuple[str, str] | None:
        """(kind, message) if the entry is wrong; remembers it as the student's own."""
        if not self.has_values:
            if entry is not None:
                raise GraphcError(
                    "the nodes of this graph have no values, only local derivatives; give "
                    "{'derivatives': {...}}"
                )
            return None
        if entry is None:
            return None
        graph = self.graph
        truth, follows = _float(self.truth.value(row)), _float(self.own.value(row))
        name = graph.names[row]
        leaf = row in graph.leaves()
        what = f"the value of {name}" + ("" if leaf else f" = {formula_text(graph, row)}")
        both = () if leaf else (self.own, self.true)
        candidates = [mistakes.of_value(evaluation, row, truth) for evaluation in both]
        wrong = _judged(what, entry, truth, follows, candidates)
        if wrong is None:
            self.own.values[row] = entry.value
        return wrong

    def derivative(self, row: GraphRow, entry: Entry | None) -> tuple[str, str] | None:
        """(kind, message) if the entry is wrong; remembers it as the student's own."""
        graph = self.graph
        name, of = graph.names[row], graph.names[self.target]
        what = f"d {of} / d {name}"
        terms = self._terms(row, self.own, self.adjoints)
        parts = [_float(term[2]) for term in terms if term[2] is not None]
        follows: Any = np.float64(1) if row == self.target else (sum(parts) if parts else None)
        if follows is not None and np.shape(follows) != graph.shape(row):
            follows = np.broadcast_to(follows, np.shape(_float(self.truth.value(row))))
        reached = row in self.trace.sums
        if follows is not None:
            self.adjoints[row] = follows
        if entry is None:
            return None
        if not reached:
            if entry.matches(np.zeros(np.shape(entry.value))):
                return None
            return "no path", f"{what}: no path leads from {name} to {of}, so it is 0"
        truth = _float(self.trace.sums[row])
        true = {node: _float(value) for node, value in self.trace.sums.items()}
        candidates = [
            mistakes.of_derivative(self.own, row, self.target, terms, truth),
            mistakes.of_derivative(
                self.true, row, self.target, self._terms(row, self.true, true), truth
            ),
        ]
        wrong = _judged(what, entry, truth, follows, candidates)
        if wrong is None:
            self.adjoints[row] = entry.value
        return wrong

    def _terms(
        self, row: GraphRow, evaluation: Evaluation, adjoints: Mapping[GraphRow, Any]
    ) -> list[mistakes.Term]:
        """What comes back over each edge that leaves a node."""
        return [
            (hop, adjoints[hop[0]], evaluation.pull(hop[1], adjoints[hop[0]]))
            for hop in self.hops.get(row, ())
            if hop[0] in adjoints
        ]


def _judged(
    what: str,
    entry: Entry,
    truth: Any,
    follows: Any,
    candidates: list[Iterator[mistakes.Candidate]],
) -> tuple[str, str] | None:
    """None if the entry is right, else (kind, message) of the first mistake that explains it."""
    if entry.matches(truth, follows, fine=True):
        return None
    right = entry.matches(truth, follows)  # at the digits given, though they are few
    start = f"{what}: {_shown(entry.value)} was given, {_shown(truth)} is right"
    exact = Entry(np.asarray(truth), 0.0, 0.0)
    for kind, words, value in chain(*candidates):
        if value is None or not np.all(np.isfinite(value)) or exact.matches(value):
            continue
        if entry.matches(value, fine=right):
            return kind, f"{start}; {words}"
    if right:
        return None
    if np.shape(entry.value) != np.shape(truth):
        shapes = f"{np.shape(entry.value)} was given, {np.shape(truth)} is right"
        return "wrong shape", f"{what}: the shape {shapes}"
    return "arithmetic slip", f"{start}; the arithmetic slipped, or another rule was used"


# What students write.


def _check_keys(answer: Mapping[str, Any]) -> None:
    if not any(answer.get(table) for table in TABLES):
        raise GraphcError(
            "there is nothing to grade; give {'values': {node: number}, 'derivatives': {...}}"
        )


def _entries(graph: Structure, answer: Any, table: str) -> dict[GraphRow, Entry]:
    if not isinstance(answer, Mapping):
        raise GraphcError(f"grade takes a dict with {listing(TABLES)}, not {type(answer).__name__}")
    for key in answer:
        if key not in TABLES:
            raise GraphcError(
                f"grade knows no table {key!r}{nearest(str(key), TABLES)} "
                f"(tables: {listing(TABLES)})"
            )
    given = answer.get(table) or {}
    if not isinstance(given, Mapping):
        raise GraphcError(f"{table!r} takes a dict of names and numbers")
    return {graph.row(name): read(value, f"{table} of {name!r}") for name, value in given.items()}


def _float(value: Any) -> Any:
    return as_float(value.values if type(value) is Masked else value)


def _shown(value: Any) -> str:
    if np.ndim(value):
        return str(np.asarray(value).round(6).tolist())[:200]
    return f"{float(value):.6g}"
