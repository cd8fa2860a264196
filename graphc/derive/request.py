"""What a user asked, as an evaluation, and what comes out of it, as users get it.

A Request binds values to names, checks shapes, makes seeds, and finishes results: exact numbers,
floats, formulas. Kinks and numbers that are not finite are told here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .. import names as naming
from ..algebra.arithmetic import Numbers
from ..algebra.exact import (
    Cancelled,
    Masked,
    Undefined,
    as_float,
    brief,
    is_float,
    plain_number,
    present,
)
from ..algebra.formulas import Formulas
from ..algebra.given import from_user
from ..errors import GraphcError, KinkWarning, NotFiniteWarning, listing, one_of
from ..read.expressions import expression
from ..read.given import array, number
from ..shapes import LETTERS, Shape, check_fit, shape_text
from ..structure.constants import checked_number
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..write.formula import Expression, formula_text
from .evaluation import Edge, Evaluation

FORMS = ("nodes", "inputs", "steps")


class Derivatives(dict[Any, Any]):
    """Results by name; `.kinks` names the nodes that sat on a kink."""

    kinks: tuple[str, ...] = ()


class Request:
    """A graph at a point (or in symbols), with the shape of the points and the final touch."""

    def __init__(
        self,
        graph: Structure,
        at: Mapping[str, Any] | None,
        form: str = "nodes",
        needed: Iterable[GraphRow] | None = None,
        pinned: Iterable[GraphRow] | None = None,
        rows: bool = False,
    ) -> None:
        self.graph = graph
        self.pinned = None if pinned is None else set(pinned)
        self.declared = set(graph.names)  # the user's nodes; symbols may join them
        self.added: dict[str, GraphRow] = {}
        self.shape: tuple[int, ...] = ()
        self.symbolic = at is None
        self.floats = False  # whether all given values are floats
        self.float_arrays = False  # whether a given array is one of floats
        self.form = form
        one_of(form, FORMS, "form")
        if at is None:
            self.evaluation = self._rows(graph) if rows else self._symbols(pinned)
        else:
            self.evaluation = self._numbers(at, needed)

    def _symbols(self, pinned: Iterable[GraphRow] | None) -> Evaluation:
        from ..algebra.symbols import Symbols, symbol

        advice = (
            "give numbers with at={...}, use form='steps', or differentiate() for a graph of "
            "derivatives"
        )
        graph = self.graph
        if graph.has_tensors:
            return self._rows(graph)
        if pinned is None:
            pinned = graph.leaves() if self.form == "inputs" else graph.nodes()
        known = {row: symbol(graph.names[row]) for row in pinned}
        free = {name: symbol(name) for name in free_symbols(graph)}
        return Evaluation(graph, Symbols(advice), known, free)

    def _rows(self, graph: Structure) -> Evaluation:
        """Tensor results in symbols are formulas: rows of a copy of the graph."""
        self.graph = scratch = graph.duplicate()
        everything: dict[GraphRow, Any] = {row: row for row in scratch.in_order()}
        return Evaluation(scratch, Formulas(scratch, shown=True), everything, {})

    def _numbers(self, at: Mapping[str, Any], needed: Iterable[GraphRow] | None) -> Evaluation:
        graph = self.graph
        if not isinstance(at, Mapping):
            raise GraphcError(f"at= takes a dict of names and values, not {type(at).__name__}")
        wanted = set(free_symbols(graph))
        bare = "edges" in graph.ops
        leaves = {graph.names[row]: row for row in graph.leaves()}
        known: dict[GraphRow, Any] = {}
        free: dict[str, Any] = {}
        for row, value in graph.given.items():
            known[row] = value
        for key, value in at.items():
            name = naming.spelling(key) if isinstance(key, str) else key
            first = graph.copies.get(name, (name,))[0]
            tensor = first in leaves and leaves[first] in graph.shapes
            given = array(value, f"the value of {name!r}") if tensor else number(value, name)
            if name in wanted:  # a symbol of a local derivative may be called like a node
                free[name] = given
            elif name in leaves:
                known[leaves[name]] = given
            elif name in graph.copies:
                shared = [copy for copy in graph.copies[name] if copy not in at]
                known.update((leaves[copy], given) for copy in shared)
            elif name in graph.rows:
                raise GraphcError(
                    f"at: {name!r} is computed by the graph and cannot be given "
                    f"(inputs and params: {listing([*leaves, *wanted])})"
                )
            else:
                raise GraphcError(
                    f"at: there is no input or param {name!r} (there are: "
                    f"{listing([*leaves, *wanted])})"
                )
        self._check_missing(known, free, wanted, needed, {} if bare else leaves)
        given_values = [*known.values(), *free.values()]
        self.floats = bool(given_values) and all(map(is_float, given_values))
        sizes: dict[str, int] = {}
        if graph.has_tensors:
            self.float_arrays = any(is_float(value) and np.shape(value) for value in given_values)
            for row, value in known.items():
                check_fit(value, graph.shape(row), graph.names[row], sizes)
        else:
            self.shape = point_shape({**{graph.names[r]: v for r, v in known.items()}, **free})
        return Evaluation(graph, Numbers(sizes, self.float_arrays), known, free)

    def _check_missing(
        self,
        known: dict[GraphRow, Any],
        free: dict[str, Any],
        wanted: set[str],
        needed: Iterable[GraphRow] | None,
        leaves: dict[str, GraphRow],
    ) -> None:
        used = set(self.graph.nodes() if needed is None else needed)
        missing = [name for name, row in leaves.items() if row in used and row not in known]
        missing += [name for name in sorted(wanted) if name not in free]
        if missing:
            raise GraphcError(
                f"at: {'values are' if len(missing) > 1 else 'a value is'} missing for "
                f"{listing(missing)}; give {'them' if len(missing) > 1 else 'it'} in at={{...}} or "
                "at the declaration"
            )

    def seed(self, value: Any, what: str, shape: Shape = ()) -> Any:
        """A seed or tangent: a number, an exact string, a symbol, or an array of the shape."""
        if shape:
            return self._tensor_seed(value, what, shape)
        if isinstance(value, str):
            scratch = Structure("seed")
            root = expression(scratch, value, what, symbols=True)
            free = dict(self.evaluation.symbols)
            for name in free_symbols(scratch):
                if self.symbolic:
                    from ..algebra.symbols import symbol

                    free[name] = symbol(name)
                elif name not in free:
                    raise GraphcError(
                        f"{what} mentions the symbol {name!r}; give a number, or ask with at=None"
                    )
            return Evaluation(scratch, self.evaluation.algebra, {}, free).value(root)
        if self.symbolic and getattr(value, "free_symbols", None) and not self.graph.has_tensors:
            from ..algebra.symbols import real

            return real(value)
        if self.symbolic:
            return self.evaluation.algebra.constant(checked_number(value))
        number = from_user(value, what)
        self.shape = np.broadcast_shapes(self.shape, np.shape(number))
        return as_float(number) if self.float_arrays else number

    def _tensor_seed(self, value: Any, what: str, shape: Shape) -> Any:
        algebra = self.evaluation.algebra
        if isinstance(value, str) and value.isidentifier() and self.symbolic:
            row = self.graph.append("input")
            self.graph.shapes[row] = shape
            return self.graph.bind(value, row)
        if isinstance(value, int) and value == 1:
            if any(size != 1 for size in shape):
                raise GraphcError(
                    f"{what} is missing: the node has shape {shape_text(shape)}, and only a node "
                    "of one element needs no seed; give {name: array}, or ask for jacobian()"
                )
            letters = LETTERS[: len(shape)]
            spec = {"spec": f"->{letters}", "sizes": tuple((letter, 1) for letter in letters)}
            return algebra.apply("contract", (self.one(),), spec)
        values = array(value, what)
        check_fit(values, shape, what, dict(getattr(algebra, "sizes", {})))
        if self.symbolic:
            return algebra.constant(values)
        return as_float(values) if self.float_arrays else values

    def one(self) -> Any:
        """The seed of a number."""
        return 1.0 if self.float_arrays else self.evaluation.algebra.constant(1)

    def local_row(self, edge: Edge) -> Any:
        """The row of an edge's local derivative: its Jacobian, if there are tensors about."""
        evaluation = self.evaluation
        shape = self.graph.shape(edge[0])
        if not evaluation.is_tensor(edge[0]):
            return evaluation.local(edge[0])[edge[1]]
        evaluation.lead = shape
        seed = self.identity(shape) if shape else self.one()
        found = evaluation.pull(edge, seed)
        evaluation.lead = ()
        return found

    def symbol(self, name: str, shape: Shape) -> Any:
        """A symbol for an adjoint or tangent, made once."""
        if not isinstance(self.evaluation.algebra, Formulas):
            from ..algebra.symbols import symbol

            return symbol(name)
        if name not in self.added:
            row = self.graph.append("input")
            if shape:
                self.graph.shapes[row] = shape
            self.added[name] = self.graph.bind(self.graph.unused_name(name), row)
        return self.added[name]

    def reshaped(self, value: Any, shape: Shape) -> Any:
        """A finished result in another shape."""
        algebra, settings = self.evaluation.algebra, {"shape": shape}
        if isinstance(value, Expression):
            row = algebra.apply("reshape", (value.row,), settings)
            return Expression(self._shown(), row, self.form == "inputs")
        return algebra.apply("reshape", (value,), settings)

    def identity(self, shape: Shape) -> Any:
        """The seed of a Jacobian: shape + shape, 1 where both halves agree."""
        algebra = self.evaluation.algebra
        letters = LETTERS[: len(shape)]
        sizes = tuple(zip(letters, shape, strict=True))
        spec = {"spec": f"->{letters}{letters}", "sizes": sizes}
        whole = algebra.apply("contract", (self.one(),), spec)
        return Masked(whole, whole != 0) if isinstance(whole, np.ndarray) else whole

    def zero(self, shape: Shape) -> Any:
        """A result where no path leads."""
        algebra = self.evaluation.algebra
        if not shape:
            return algebra.constant(0)
        letters = LETTERS[: len(shape)]
        settings = {"spec": f"->{letters}", "sizes": tuple(zip(letters, shape, strict=True))}
        return algebra.apply("contract", (algebra.constant(0),), settings)

    def nothing(self, node: GraphRow) -> Any:
        """A derivative by a node over which nothing came: a float where the node is one."""
        zero = self.zero(self.graph.shape(node))
        return as_float(zero) if isinstance(self.evaluation.values.get(node), float) else zero

    def finish(self, value: Any, what: Callable[[], str]) -> Any:
        """A result as users get it; what is not finite is told."""
        if self.symbolic:
            if isinstance(self.evaluation.algebra, Formulas):
                return Expression(self._shown(), value, self.form == "inputs")
            from ..algebra.symbols import plain

            return plain(value)
        if type(value) is Masked:
            value = value.values
        if type(value) is Undefined or (
            isinstance(value, np.ndarray)
            and value.dtype == object
            and any(type(element) is Undefined for element in value.flat)
        ):
            for lost in value.flat if isinstance(value, np.ndarray) else (value,):
                if type(lost) is Undefined and lost.cancelled:
                    raise Cancelled(f"{what()} is not known: {lost.reason}")
            raise GraphcError(f"{what()} is not a finite real number: {self._culprit()}")
        result = plain_number(value) if self.floats else present(value)
        if self.shape:
            result = np.broadcast_to(as_float(value), self.shape).copy()
        if _not_finite(result):
            self._told_not_finite = what() if not hasattr(self, "_told_not_finite") else ""
            if self._told_not_finite:
                warnings.warn(
                    f"{what()} is not finite at this point: {self._culprit()}",
                    NotFiniteWarning,
                    stacklevel=5,
                )
        return result

    def _shown(self) -> Structure:
        """The graph with the names that a formula may mention: those pinned, if any were."""
        if self.pinned is None:
            return self.graph
        graph = self.graph.duplicate()
        graph.names = {row: name for row, name in graph.names.items() if row in self.pinned}
        return graph

    def _culprit(self) -> str:
        """The first node whose value or derivative is not finite, in words."""
        graph, evaluation = self.graph, self.evaluation
        for row in sorted(evaluation.values):
            if _not_finite(evaluation.values[row]):
                node = next((n for n in graph.nodes() if row in graph.formula(n).rows), row)
                arguments = [brief_value(evaluation.values[o]) for o in graph.operands[row]]
                return (
                    f"node {graph.label(node)} = {formula_text(graph, node)} needs "
                    f"{graph.ops[row]}({', '.join(arguments)})"
                )
        for node, partials in evaluation._locals.items():
            if any(_not_finite(z) for z in partials):
                return (
                    f"the derivative of node {graph.label(node)} = {formula_text(graph, node)} is "
                    "not finite there"
                )
        return "the numbers overflow"

    def tell_kinks(self, result: Derivatives | None = None) -> None:
        """Says which nodes sat on a kink, as a warning and on the result."""
        found = tuple(self.graph.names[node] for node in self.evaluation.kinks)
        if result is not None:
            result.kinks = found
        if found:
            node = self.graph.rows[found[0]]
            more = f" (and {len(found) - 1} more: {listing(found[1:])})" if len(found) > 1 else ""
            warnings.warn(
                f"node {found[0]!r} = {formula_text(self.graph, node)} sits on its kink at this "
                f"point{more}; the slope taken there is a convention, see kink=",
                KinkWarning,
                stacklevel=4,
            )


def _not_finite(value: Any) -> bool:
    if type(value) is Undefined:
        return True
    if type(value) is Masked:
        value = value.values
    if isinstance(value, np.ndarray) and value.dtype == object:
        return any(type(element) is Undefined for element in value.flat)
    if isinstance(value, (float, np.ndarray)) and not isinstance(value, bool):
        return not np.isfinite(value).all()
    return False


def brief_value(value: Any) -> str:
    """A number in a few characters, whatever it is."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    return value.reason if type(value) is Undefined else brief(value)


def free_symbols(graph: Structure) -> list[str]:
    """The names of the free symbols, in order of appearance."""
    return list(
        dict.fromkeys(
            graph.attributes[row]["symbol"]
            for row in graph.attributes
            if graph.ops[row] == "symbol"
        )
    )


def point_shape(values: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape that the arrays among the values broadcast to."""
    shape: tuple[int, ...] = ()
    names: list[str] = []
    for name, value in values.items():
        try:
            shape = np.broadcast_shapes(
                shape, np.shape(value) if isinstance(value, np.ndarray) else ()
            )
        except ValueError:
            raise GraphcError(
                f"at: {name!r} has shape {np.shape(value)}, which does not broadcast with "
                f"{shape} of {listing(names)}"
            ) from None
        if isinstance(value, np.ndarray):
            names.append(name)
    return shape
