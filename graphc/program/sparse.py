"""Sparse Jacobians and Hessians: entries are carried along the paths, never a dense matrix.

What is carried is a list of terms. A term says: element `positions[k]` of this row depends on
column `columns[k]` with the coefficient of its place k. Every operation joins its (source, target)
pairs with the terms of its operand: work and memory are those of the entries that exist.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from ..algebra.formulas import Formulas
from ..algebra.rules import rule
from ..algebra.terms import repeated
from ..derive.differentiate import refuse_stops, rows_evaluation
from ..errors import GraphcError
from ..shapes import LETTERS, Shape, concrete
from ..structure.reach import ancestors
from ..structure.rows import GraphRow, Row
from ..structure.structure import Structure
from ..table.places import chosen
from ..table.tensors import OPERATIONS, Local, Operation, Site

MOST_ENTRIES = 5_000_000  # of all terms of one row
Indices = Any  # a NumPy array of places


@dataclass(frozen=True)
class Term:
    """Entries with one coefficient row: a vector, one number per entry, a scalar, or None: 1."""

    positions: Indices
    columns: Indices
    coefficient: GraphRow | None


@dataclass(frozen=True)
class Sparse(Generic[Row]):
    """A matrix in compressed rows: constant entries, and where the coefficients go."""

    parts: tuple[tuple[Row, Indices, bool], ...]  # row of coefficients, their places, all distinct
    constant: Indices
    indices: Indices
    pointers: Indices
    shape: tuple[int, int]

    @property
    def pattern(self) -> tuple[Indices, Indices]:
        """(rows, columns) of the entries, in their order: row by row, columns ascending."""
        rows = np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.pointers))
        return rows, self.indices.astype(np.int32)

    def fillings(self) -> Iterator[tuple[Row, Indices, bool, bool]]:
        """(row, its places, all distinct, whether it is added to what stands there), in order."""
        written = self.constant != 0
        for row, places, once in self.parts:
            yield row, places, once, not once or bool(written[places].any())
            written[places] = True


def assembling(matrix: Sparse[Row], dtype: Any) -> Callable[[Indices], Any]:
    """A function from the entries to scipy's matrix of them, which shares nothing with others.

    The structure is checked once; what a constructor would check again takes longer than copies.
    """
    from scipy.sparse import csr_matrix

    constant = matrix.constant.astype(dtype)
    whole = csr_matrix((constant, matrix.indices, matrix.pointers), shape=matrix.shape)

    def assembled(entries: Indices) -> Any:
        found = copy.copy(whole)
        found.data, found.indices = entries, whole.indices.copy()
        found.indptr = whole.indptr.copy()
        return found

    return assembled


def sparse_matrix(
    graph: Structure,
    targets: Sequence[GraphRow],
    sources: Sequence[GraphRow],
    symmetric: bool = False,
) -> Sparse[GraphRow]:
    """The Jacobian of the targets by the sources; appends the coefficients to the graph.

    Of a symmetric one the blocks above the diagonal are mirrored.
    """
    carried = _Carrier(graph, sources)
    offset, rows, columns, coefficients = 0, [], [], []
    for target in targets:
        end = offset + carried.size(target)
        for term in carried.terms(target):
            places = [(term.positions + offset, term.columns)]
            if symmetric and len(term.columns):
                first = term.columns[0]  # a term belongs to one source
                places = [] if first < offset else places
                places += [pair[::-1] for pair in places if first >= end]
            for positions, across in places:
                rows.append(positions)
                columns.append(across)
                coefficients.append(term.coefficient)
        offset = end
    return _compressed(graph, rows, columns, coefficients, (offset, carried.width))


def _compressed(
    graph: Structure,
    rows: list[Indices],
    columns: list[Indices],
    coefficients: list[GraphRow | None],
    shape: tuple[int, int],
) -> Sparse[GraphRow]:
    keys = [row * shape[1] + column for row, column in zip(rows, columns, strict=True)]
    entries = np.unique(np.concatenate(keys)) if keys else np.empty(0, dtype=int)
    constant = np.zeros(len(entries))
    parts: list[tuple[GraphRow, Indices, bool]] = []
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

    def __init__(self, graph: Structure, sources: Sequence[GraphRow]) -> None:
        self.graph = graph
        self.rows = Formulas(graph)
        self.evaluation = rows_evaluation(self.rows)
        self.width = 0
        self._seeds: dict[GraphRow, Term] = {}
        self._terms: dict[GraphRow, list[Term]] = {}
        for source in sources:
            size = self.size(source)
            places = np.arange(size)
            self._seeds[source] = Term(places, places + self.width, None)
            self.width += size
        self.owned = graph.partials_of

    def size(self, row: GraphRow) -> int:
        return math.prod(concrete(self.graph.shape(row), "a sparse derivative"))

    def terms(self, target: GraphRow) -> list[Term]:
        """The terms of a row."""
        for row in ancestors(self.graph, [target]):
            if row not in self._terms:
                own = [self._seeds[row]] if row in self._seeds else []
                # a source in the middle lets pass what comes from the sources before it
                self._terms[row] = self._merged([*own, *self._through(row)])
        return self._terms[target]

    def _through(self, row: GraphRow) -> list[Term]:
        graph = self.graph
        op = graph.ops[row]
        if row in self.owned:
            return self._own(row)
        if op == "stop" or graph.is_condition(row):
            return []
        found: list[Term] = []
        for slot, operand in enumerate(graph.operands[row]):
            if self._terms[operand]:
                found += self._pushed(row, slot, self._terms[operand])
        return found

    def _own(self, node: GraphRow) -> list[Term]:
        """Through a node whose derivatives the user declared."""
        graph = self.graph
        found: list[Term] = []
        for edge, source in graph.edges_of(node):
            if not self._terms[source]:
                continue
            own = graph.partials.get((node, edge))
            if own is None:
                raise too_dense(graph, node)
            places = np.arange(self.size(source))
            found += self._joined(self._terms[source], places, places, own, places)
        return found

    def _pushed(self, row: GraphRow, slot: int, terms: Sequence[Term]) -> list[Term]:
        """The terms of one operand, taken through an operation."""
        graph = self.graph
        refuse_stops(graph, [row])
        op, settings = graph.ops[row], graph.settings(row)
        if op in OPERATIONS:
            return self._operated(OPERATIONS[op], row, slot, terms)
        operands, inner = graph.operands[row], self._shape(graph.operands[row][slot])
        everything = np.arange(self.size(row))
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

    def _gated(self, term: Term, condition: GraphRow, gate: str, whole: tuple[int, ...]) -> Term:
        """A term where the condition holds (or does not) at the term's places."""
        graph = self.graph
        sides = [
            self._picked(side, self._shape(side), term.positions, whole)
            for side in graph.operands[condition]
        ]
        here = graph.operation(graph.ops[condition], tuple(sides), {})
        one = self.rows.constant(1) if term.coefficient is None else term.coefficient
        if graph.shape(here) and not graph.shape(one):
            one = repeated(self.rows, one, graph.shape(here))
        return Term(term.positions, term.columns, self.rows.apply(gate, (here, one), {}))

    def _shape(self, row: GraphRow) -> tuple[int, ...]:
        return concrete(self.graph.shape(row), "a sparse derivative")

    def _operated(
        self, operation: Operation, row: GraphRow, slot: int, terms: Sequence[Term]
    ) -> list[Term]:
        """Through a tensor operation: pairs of elements of which one depends on the other."""
        site = self._site(row)
        if math.prod(concrete(operation.work(site), "a sparse derivative")) > MOST_ENTRIES:
            raise too_dense(self.graph, row)
        if operation.pairs is None:
            return self._dense(operation, row, slot, terms)
        pairs = operation.pairs(site, slot)
        if operation.through is None:  # each element has one slope: what is pulled back from ones
            slope = operation.pull(self._local(row, ()), slot, self._ones(site.shape))
            shape = self._shape(self.graph.operands[row][slot])
            found = self._joined(terms, pairs.source, pairs.target, slope, pairs.source, shape)
        else:
            index = np.arange(len(pairs.source))
            found = self._joined(terms, pairs.source, pairs.target, index=index)
            for other, places in pairs.factors:
                factor = self.graph.operands[row][other]
                found = [self._scaled(term, factor, places) for term in found]
            found = [Term(t.positions[0], t.columns, t.coefficient) for t in found]
        once = len(np.unique(pairs.target)) == len(pairs.target)
        return found if once else self._summed(found)

    def _dense(
        self, operation: Operation, row: GraphRow, slot: int, terms: Sequence[Term]
    ) -> list[Term]:
        """Through an operation each of whose elements depends on each: a matrix is pulled back."""
        graph, rows = self.graph, self.rows
        height, width = self.size(row), self.size(graph.operands[row][slot])
        if height * width > MOST_ENTRIES:
            raise too_dense(graph, row)
        lead = graph.shape(row)
        letters = LETTERS[: len(lead)]
        spec = {"spec": f"->{letters}{letters}", "sizes": tuple(zip(letters, lead, strict=True))}
        identity = rows.apply("contract", (rows.constant(1),), spec)
        matrix = operation.pull(self._local(row, lead), slot, identity)
        if matrix is None:
            return []
        places = np.arange(height * width)
        target, source = np.divmod(places, width)
        return self._summed(self._joined(terms, source, target, matrix, places))

    def _site(self, row: GraphRow) -> Site:
        graph = self.graph
        shapes = [self._shape(operand) for operand in graph.operands[row]]
        return Site(settings=graph.settings(row), shapes=shapes, shape=self._shape(row))

    def _local(self, row: GraphRow, lead: Shape) -> Local:
        self.evaluation.lead = lead
        return self.evaluation.here(row)

    def _ones(self, shape: Shape) -> GraphRow:
        one, letters = self.rows.constant(1), LETTERS[: len(shape)]
        if not letters:
            return one
        sizes = tuple(zip(letters, shape, strict=True))
        return self.rows.apply("contract", (one,), {"spec": f"->{letters}", "sizes": sizes})

    def _scaled(self, term: Term, factor: GraphRow, places: Indices) -> Term:
        """A term of a contraction (positions with their index tuples) times another operand."""
        picked = self._picked(factor, self._shape(factor), places[term.positions[1]])
        return Term(term.positions, term.columns, self._times(term.coefficient, picked))

    def _joined(
        self,
        terms: Sequence[Term],
        source: Indices,
        target: Indices,
        factor: GraphRow | None = None,
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
        self, row: GraphRow, shape: tuple[int, ...], places: Indices, whole: tuple[int, ...] = ()
    ) -> GraphRow:
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
        settings = {"axis": -1, "index": chosen(places), "size": size}
        return self.rows.apply("gather", (flat,), settings)

    def _times(self, one: GraphRow | None, other: GraphRow) -> GraphRow:
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
                    settings = {"axis": -1, "index": chosen(place), "size": len(distinct)}
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


def too_dense(graph: Structure, row: GraphRow) -> GraphcError:
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


def colours(matrix: Sparse[Row]) -> int:
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
