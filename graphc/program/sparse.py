"""Sparse Jacobians and Hessians: entries are carried along the paths, never a dense matrix.

What is carried is a list of terms. A term says: element `positions[k]` of this row depends on
column `columns[k]` with the coefficient of its place k. Every operation joins its (source, target)
pairs with the terms of its operand: work and memory are those of the entries that exist.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra.rules import Rows, rule
from ..derive.differentiate import refuse_stops
from ..errors import GraphcError
from ..shapes import LETTERS, concrete
from ..structure.reach import ancestors
from ..structure.structure import Structure
from ..table.arrays import gather, split_spec
from ..table.tensors import OPERATIONS, Local

MOST_ENTRIES = 5_000_000  # of all terms of one row
Indices = Any  # a NumPy array of places


@dataclass(frozen=True)
class Term:
    """Entries with one coefficient row: a vector, one number per entry, a scalar, or None: 1."""

    positions: Indices
    columns: Indices
    coefficient: int | None


@dataclass(frozen=True)
class Sparse:
    """A matrix in compressed rows: constant entries, and where the coefficients go."""

    parts: tuple[tuple[int, Indices, bool], ...]  # row of coefficients, their places, all distinct
    constant: Indices
    indices: Indices
    pointers: Indices
    shape: tuple[int, int]


def sparse_matrix(graph: Structure, targets: Sequence[int], sources: Sequence[int]) -> Sparse:
    """The Jacobian of the targets by the sources; appends the coefficients to the graph."""
    carried = _Carrier(graph, sources)
    offset, rows, columns, coefficients = 0, [], [], []
    for target in targets:
        for term in carried.terms(target):
            rows.append(term.positions + offset)
            columns.append(term.columns)
            coefficients.append(term.coefficient)
        offset += carried.size(target)
    return _compressed(graph, rows, columns, coefficients, (offset, carried.width))


def _compressed(
    graph: Structure,
    rows: list[Indices],
    columns: list[Indices],
    coefficients: list[int | None],
    shape: tuple[int, int],
) -> Sparse:
    keys = [row * shape[1] + column for row, column in zip(rows, columns, strict=True)]
    entries = np.unique(np.concatenate(keys)) if keys else np.empty(0, dtype=int)
    constant = np.zeros(len(entries))
    parts: list[tuple[int, Indices, bool]] = []
    for key, coefficient in zip(keys, coefficients, strict=True):
        places = np.searchsorted(entries, key)
        number = 1 if coefficient is None else graph.settings(coefficient).get("value")
        if number is not None and not np.shape(number):
            np.add.at(constant, places, float(number))
        else:
            assert coefficient is not None
            parts.append((coefficient, places, len(np.unique(places)) == len(places)))
    pointers = np.searchsorted(entries, np.arange(shape[0] + 1) * shape[1])
    return Sparse(tuple(parts), constant, entries % max(shape[1], 1), pointers, shape)


class _Carrier:
    """Carries terms from the sources through the rows of a graph."""

    def __init__(self, graph: Structure, sources: Sequence[int]) -> None:
        self.graph = graph
        self.rows = Rows(graph)
        self.width = 0
        self._terms: dict[int, list[Term]] = {}
        for source in sources:
            size = self.size(source)
            places = np.arange(size)
            self._terms[source] = [Term(places, places + self.width, None)]
            self.width += size
        self.owned = graph.partials_of

    def size(self, row: int) -> int:
        return math.prod(concrete(self.graph.shape(row), "a sparse derivative"))

    def terms(self, target: int) -> list[Term]:
        """The terms of a row."""
        for row in ancestors(self.graph, [target]):
            if row not in self._terms:
                self._terms[row] = self._merged(self._through(row))
        return self._terms[target]

    def _through(self, row: int) -> list[Term]:
        graph = self.graph
        op = graph.ops[row]
        if row in self.owned:
            return self._own(row)
        if op in ("stop", "winner") or graph.is_condition(row):
            return []
        found: list[Term] = []
        for slot, operand in enumerate(graph.operands[row]):
            if self._terms[operand]:
                found += self._pushed(row, slot, self._terms[operand])
        return found

    def _own(self, node: int) -> list[Term]:
        """Through a node whose derivatives the user declared."""
        graph = self.graph
        found: list[Term] = []
        for edge, source in graph.edges_of(node):
            own = graph.partials.get((node, edge))
            if own is None:
                raise too_dense(graph, node)
            places = np.arange(self.size(source))
            found += self._joined(self._terms[source], places, places, own, places)
        return found

    def _pushed(self, row: int, slot: int, terms: Sequence[Term]) -> list[Term]:
        """The terms of one operand, taken through an operation."""
        graph = self.graph
        refuse_stops(graph, [row])
        op, settings = graph.ops[row], graph.settings(row)
        operands, inner = graph.operands[row], self._shape(graph.operands[row][slot])
        size = self.size(row)
        everything = np.arange(size)
        if op == "contract":
            return self._contracted(row, slot, terms)
        if op == "reshape":
            return self._joined(terms, everything, everything)
        if op == "gather":
            numbered = np.arange(1, math.prod(inner) + 1).reshape(inner)
            places = np.ravel(gather(numbered, settings["axis"], settings["index"])) - 1
            return self._joined(terms, places, everything)
        if op == "scatter":
            numbered = np.arange(1, size + 1).reshape(self._shape(row))
            places = np.ravel(gather(numbered, settings["axis"], settings["index"])) - 1
            kept = np.flatnonzero(places >= 0)  # what belongs to the padding goes nowhere
            return self._summed(self._joined(terms, kept, places[kept]))
        if op in ("largest", "norm", "logsumexp", "det", "logdet"):
            return self._reduced(row, terms)
        if op in OPERATIONS:
            raise too_dense(graph, row)
        source = np.ravel(
            np.broadcast_to(np.arange(math.prod(inner)).reshape(inner), self._shape(row))
        )
        if op == "where":
            found = self._joined(terms, source, everything)
            gate = "taken" if slot == 1 else "untaken"
            return [self._gated(term, operands[0], gate, self._shape(row)) for term in found]
        applied = rule(op, len(operands), settings)
        partial = applied.partials[slot].run(self.rows, [*operands, row])
        return self._joined(terms, source, everything, partial, everything, self._shape(row))

    def _gated(self, term: Term, condition: int, gate: str, whole: tuple[int, ...]) -> Term:
        """A term where the condition holds (or does not) at the term's places."""
        graph = self.graph
        sides = [
            self._picked(side, self._shape(side), term.positions, whole)
            for side in graph.operands[condition]
        ]
        here = graph.operation(graph.ops[condition], tuple(sides), {})
        one = self.rows.constant(1) if term.coefficient is None else term.coefficient
        if graph.shape(here) and not graph.shape(one):
            one = self.rows.repeated(one, graph.shape(here))
        return Term(term.positions, term.columns, self.rows.apply(gate, (here, one), {}))

    def _shape(self, row: int) -> tuple[int, ...]:
        return concrete(self.graph.shape(row), "a sparse derivative")

    def _reduced(self, row: int, terms: Sequence[Term]) -> list[Term]:
        """Through a reduction: its slope is what it pulls back from ones."""
        graph, rows = self.graph, self.rows
        operand = graph.operands[row][0]
        letters = LETTERS[: len(graph.shape(row))]
        sizes = tuple(zip(letters, graph.shape(row), strict=True))
        ones = rows.constant(1)
        if letters:
            ones = rows.apply("contract", (ones,), {"spec": f"->{letters}", "sizes": sizes})
        shapes = [graph.shape(operand)]
        here = Local(rows.apply, [operand], row, shapes, graph.shape(row), graph.settings(row), ())
        slope = OPERATIONS[graph.ops[row]].pull(here, 0, ones)
        inner = self._shape(operand)
        axes = graph.settings(row).get("axes", tuple(range(-len(inner), 0)))
        kept = [1 if axis - len(inner) in axes else size for axis, size in enumerate(inner)]
        numbered = np.arange(math.prod(kept)).reshape(kept)
        source = np.arange(math.prod(inner))
        target = np.ravel(np.broadcast_to(numbered, inner))
        return self._summed(self._joined(terms, source, target, slope, source, inner))

    def _contracted(self, row: int, slot: int, terms: Sequence[Term]) -> list[Term]:
        """Through a contraction: all index tuples of its letters."""
        graph = self.graph
        words, out = split_spec(graph.settings(row)["spec"])
        operands = graph.operands[row]
        size: dict[str, int] = {}
        for word, operand in zip(words, operands, strict=True):
            size.update(zip(word, self._shape(operand), strict=True))
        size.update(zip(out, self._shape(row), strict=True))
        if math.prod(size.values()) > MOST_ENTRIES:
            raise too_dense(graph, row)
        letters = list(size)
        grid = np.indices([size[letter] for letter in letters]).reshape(len(letters), -1)
        place = dict(zip(letters, grid, strict=True))

        def flat(word: str) -> Indices:
            found = np.zeros(grid.shape[1], dtype=int)
            for letter in word:
                found = found * size[letter] + place[letter]
            return found

        found = self._joined(terms, flat(words[slot]), flat(out), index=np.arange(grid.shape[1]))
        for other, word in enumerate(words):
            if other != slot:
                found = [self._scaled(term, operands[other], flat(word)) for term in found]
        found = [Term(t.positions[0], t.columns, t.coefficient) for t in found]
        return found if set(letters) <= set(out) else self._summed(found)

    def _scaled(self, term: Term, factor: int, places: Indices) -> Term:
        """A term of a contraction (positions with their index tuples) times another operand."""
        picked = self._picked(factor, self._shape(factor), places[term.positions[1]])
        return Term(term.positions, term.columns, self._times(term.coefficient, picked))

    def _joined(
        self,
        terms: Sequence[Term],
        source: Indices,
        target: Indices,
        factor: int | None = None,
        places: Indices | None = None,
        shape: tuple[int, ...] = (),
        index: Indices | None = None,
    ) -> list[Term]:
        """The terms over (source, target) pairs, times the factor's element at each place."""
        found = []
        for term in terms:
            slots, pairs = _join(term.positions, source)
            if len(slots) > MOST_ENTRIES:
                raise GraphcError(
                    f"the sparse derivative has over {MOST_ENTRIES} entries; leave sparse=True out"
                )
            if not len(slots):
                continue
            coefficient = term.coefficient
            if coefficient is not None:
                coefficient = self._picked(coefficient, self._shape(coefficient), slots)
            if factor is not None and places is not None:
                here = self._picked(factor, self._shape(factor), places[pairs], shape)
                coefficient = self._times(coefficient, here)
            goal = target[pairs]
            if index is not None:  # remembers which pair it was, for further factors
                goal = np.stack([goal, index[pairs]])
            found.append(Term(goal, term.columns[slots], coefficient))
        return found

    def _picked(
        self, row: int, shape: tuple[int, ...], places: Indices, whole: tuple[int, ...] = ()
    ) -> int:
        """The elements of a row at these places, as a vector; a scalar stays one."""
        if not shape:
            return row
        if whole and shape != whole:  # the factor broadcasts to the result
            numbered = np.arange(math.prod(shape)).reshape(shape)
            places = np.ravel(np.broadcast_to(numbered, whole))[places]
        size = math.prod(shape)
        flat = self.rows.apply("reshape", (row,), {"shape": (size,)}) if len(shape) > 1 else row
        if len(places) == size and (places == np.arange(size)).all():
            return flat
        settings = {"axis": -1, "index": tuple(places.tolist()), "size": size}
        return self.rows.apply("gather", (flat,), settings)

    def _times(self, one: int | None, other: int) -> int:
        return other if one is None else self.rows.apply("mul", (one, other), {})

    def _summed(self, terms: list[Term]) -> list[Term]:
        """Terms of many entries on few places, after a sum, with one entry for each place.

        Otherwise what is carried grows with the number of paths.
        """
        found = []
        for term in terms:
            keys = term.positions * self.width + term.columns
            distinct, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
            if len(keys) >= 2 * len(distinct) > 0:
                own = term.coefficient
                if own is not None and self.graph.shape(own):
                    settings = {"axis": -1, "index": tuple(place.tolist()), "size": len(distinct)}
                    total = self.rows.apply("scatter", (own,), settings)
                else:
                    alike = (counts == counts[0]).all()
                    number = int(counts[0]) if alike else counts.astype(float)
                    total = self._times(own, self.rows.constant(number))
                term = Term(*np.divmod(distinct, self.width), total)
            found.append(term)
        return found

    def _merged(self, terms: list[Term]) -> list[Term]:
        """Terms at the same places as one: their coefficients added."""
        found: dict[Any, Term] = {}
        for term in terms:
            key = (term.positions.tobytes(), term.columns.tobytes())
            if key in found:
                both = [found[key].coefficient, term.coefficient]
                one, other = (self.rows.constant(1) if c is None else c for c in both)
                total = self.rows.apply("add", (one, other), {})
                term = Term(term.positions, term.columns, total)
            found[key] = term
        return list(found.values())


def too_dense(graph: Structure, row: int) -> GraphcError:
    """What to say of an operation whose derivative has no sparse form."""
    return GraphcError(
        f"{graph.ops[row]} has no sparse derivative here; leave sparse=True out, or take it from "
        "the graph"
    )


def _join(positions: Indices, source: Indices) -> tuple[Indices, Indices]:
    """(slots, pairs) such that positions[slots] == source[pairs], for all that agree."""
    order = np.argsort(positions, kind="stable")
    sorted_positions = positions[order]
    left = np.searchsorted(sorted_positions, source, "left")
    counts = np.searchsorted(sorted_positions, source, "right") - left
    pairs = np.repeat(np.arange(len(source)), counts)
    within = np.arange(len(pairs)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[np.repeat(left, counts) + within], pairs


def colours(matrix: Sparse) -> int:
    """How many groups of columns there are such that no row has two of one group (greedy)."""
    height = matrix.shape[0]
    pointers, indices = matrix.pointers, matrix.indices
    if height != len(pointers) - 1:
        raise GraphcError("the sparse matrix is not whole")
    by_column: dict[int, list[int]] = {}
    for row in range(height):
        for column in indices[pointers[row] : pointers[row + 1]].tolist():
            by_column.setdefault(column, []).append(row)
    taken: list[set[int]] = [set() for _ in range(height)]
    most = 0
    for rows in by_column.values():
        forbidden = set().union(*(taken[row] for row in rows))
        colour = next(c for c in range(len(forbidden) + 1) if c not in forbidden)
        most = max(most, colour + 1)
        for row in rows:
            taken[row].add(colour)
    return most
