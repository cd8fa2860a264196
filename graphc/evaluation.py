"""A graph at a point, or in symbols: values of rows and local derivatives of nodes.

Evaluation carries both in one algebra; Request makes one from what a user asked, and turns what
comes out into what users get, telling kinks and numbers that are not finite.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import names as naming
from .arithmetic import (
    Masked,
    Numbers,
    Undefined,
    array_from_user,
    as_float,
    brief,
    from_user,
    present,
    sign_of,
)
from .errors import GraphcError, KinkWarning, NotFiniteWarning, listing
from .expressions import constant, expression
from .formula import Expression, formula_text
from .operations import OPERATIONS, Local, repeated_to, summed_to
from .paths import sweep
from .rules import Algebra, Rows, rule
from .shapes import LETTERS, Shape, check_fit, shape_text
from .structure import LEAVES, Structure
from .value import Value

FORMS = ("nodes", "inputs", "steps")
Edge = tuple[int, int]  # (target node, number of the edge into it)


class Derivatives(dict[Any, Any]):
    """Results by name; `.kinks` names the nodes that sat on a kink."""

    kinks: tuple[str, ...] = ()


class Evaluation:
    """Values of rows and local derivatives of nodes, in one algebra."""

    def __init__(
        self, graph: Structure, algebra: Algebra, known: dict[int, Any], symbols: Mapping[str, Any]
    ) -> None:
        self.graph = graph
        self.algebra = algebra
        self.values = known
        self.symbols = symbols  # values of the free symbols of a from_edges graph
        self.kinks: dict[int, None] = {}  # nodes found on a kink, in order
        self.gated = False  # whether a branch not taken has cut a path
        self.lead: Shape = ()  # further leading axes of what is carried: a Jacobian's rows
        self._locals: dict[int, tuple[Any, ...]] = {}
        self._pulled: tuple[int, Any, list[Any]] | None = (
            None  # the node pulled last, and its shares
        )

    def value(self, row: int) -> Any:
        """The value of a row."""
        if row not in self.values:
            self._compute(row)
        return self.values[row]

    def _compute(self, row: int) -> None:
        graph, values = self.graph, self.values
        needed, stack = set(), [row]
        while stack:
            here = stack.pop()
            if here not in needed and here not in values:
                needed.add(here)
                stack.extend(graph.operands[here])
        for here in sorted(needed):
            op, settings = graph.ops[here], graph.settings(here)
            if op == "const":
                values[here] = self.algebra.constant(settings["value"])
            elif op == "symbol":
                values[here] = self.symbols[settings["symbol"]]
            elif op == "edges" or op in LEAVES:
                raise GraphcError(
                    f"the value of {graph.label(here)} is not known: this graph was made from "
                    "local derivatives alone; ask for derivatives, not for values"
                )
            else:
                arguments = [values[operand] for operand in graph.operands[here]]
                values[here] = self.algebra.apply(op, arguments, settings)

    def local(self, node: int) -> tuple[Any, ...]:
        """The local derivative of each edge into a node; None where no derivative passes."""
        known = self._locals.get(node)
        if known is None:
            known = self._locals[node] = self._local(node)
        return known

    def _local(self, node: int) -> tuple[Any, ...]:
        graph = self.graph
        formula = graph.formula(node)
        own = [graph.partials.get((node, edge)) for edge in range(len(formula.sources))]
        if all(row is not None for row in own):
            return tuple(self.value(row) for row in own if row is not None)
        if node in graph.split:
            named = [o in graph.names for o in graph.operands[node]]
            slots = self.partials(node, node) if formula.passes[0] else [None] * len(named)
            derived = [z for z, is_edge in zip(slots, named, strict=True) if is_edge]
        else:
            derived = self._inside(node)
        return tuple(
            derived[edge] if row is None else self.value(row) for edge, row in enumerate(own)
        )

    def _inside(self, node: int) -> list[Any]:
        """The same sweep inside the node's formula: from the node to the names it mentions."""
        graph, formula = self.graph, self.graph.formula(node)
        operands = graph.operands[node]
        if len(formula.rows) == 1 and len(set(operands)) == len(operands):
            slots = self.partials(node, node) if graph.ops[node] != "stop" else [None]
            return list(slots)
        inside = set(formula.rows)

        def hops(row: int) -> Iterable[tuple[int, Any]]:
            if row not in inside or graph.ops[row] == "stop" or not graph.operands[row]:
                return ()
            return zip(graph.operands[row], self.partials(row, node), strict=True)

        adjoints = sweep(
            reversed(formula.rows), hops, {node: self.algebra.constant(1)}, self.times, self.add
        )
        return [adjoints.get(source) for source in formula.sources]

    def partials(self, row: int, node: int) -> list[Any]:
        """The partial of one operation by each operand."""
        graph = self.graph
        operands = graph.operands[row]
        arguments = [self.value(operand) for operand in operands]
        arguments.append(self.value(row))
        applied = rule(graph.ops[row], len(operands), graph.settings(row))
        for switch in applied.switches:
            if isinstance(self.algebra, Numbers) and _is_zero(switch.run(self.algebra, arguments)):
                self._on_kink(row, node)
        found = [partial.run(self.algebra, arguments) for partial in applied.partials]
        self.gated = self.gated or any(z is None for z in found)
        return found

    def _on_kink(self, row: int, node: int) -> None:
        self.kinks[node] = None
        if self.graph.settings(row).get("kink") == "error":
            raise GraphcError(
                f"node {self.graph.names[node]!r} = {formula_text(self.graph, node)} sits on its "
                "kink and was declared with kink='error'; choose another point or another kink="
            )

    # Carrying along an edge: scalars are multiplied, tensors go through the formula's operations.

    def pull(self, edge: Edge, adjoint: Any) -> Any:
        """What an adjoint of the edge's target brings to its source; None if nothing passes."""
        node, number = edge
        if not self.is_tensor(node):
            return self.times(self.local(node)[number], adjoint)
        own = self.graph.partials.get(edge)
        if own is not None:
            return self.times(self.value(own), adjoint)
        if self._pulled is None or self._pulled[0] != node or self._pulled[1] is not adjoint:
            self._pulled = (node, adjoint, self._pull_all(node, adjoint))
        return self._pulled[2][number]

    def push(self, edge: Edge, tangent: Any) -> Any:
        """What a tangent of the edge's source brings to its target; None if nothing passes."""
        node, number = edge
        if not self.is_tensor(node):
            return self.times(self.local(node)[number], tangent)
        own = self.graph.partials.get(edge)
        if own is not None:
            return self.times(self.value(own), tangent)
        return self._push_through(node, number, tangent)

    def is_tensor(self, node: int) -> bool:
        """Whether a node's formula has anything but scalars in it."""
        shapes = self.graph.shapes
        if not shapes and not self.lead:
            return False
        formula = self.graph.formula(node)
        return bool(self.lead) or any(
            row in shapes for rows in (formula.rows, formula.sources) for row in rows
        )

    def _pull_all(self, node: int, adjoint: Any) -> list[Any]:
        """The adjoint's share for each edge: one sweep back through the node's formula."""
        graph, formula = self.graph, self.graph.formula(node)
        if node in graph.split:
            named = [slot for slot, row in enumerate(graph.operands[node]) if row in graph.names]
            return [self.pull_row((node, slot), adjoint, node) for slot in named]
        inside = set(formula.rows)

        def hops(row: int) -> list[tuple[int, Edge]]:
            operands = graph.operands[row] if row in inside else ()
            return [(operand, (row, slot)) for slot, operand in enumerate(operands)]

        shares = sweep(
            reversed(formula.rows),
            hops,
            {node: adjoint},
            lambda place, carried: self.pull_row(place, carried, node),
            self.add,
        )
        return [shares.get(source) for source in formula.sources]

    def _push_through(self, node: int, number: int, tangent: Any) -> Any:
        """The tangent's effect on the node: one sweep forward through its formula."""
        graph, formula = self.graph, self.graph.formula(node)
        if node in graph.split:
            named = [slot for slot, row in enumerate(graph.operands[node]) if row in graph.names]
            return self.push_row((node, named[number]), tangent, node)
        source = formula.sources[number]
        uses: dict[int, list[tuple[int, Edge]]] = {}
        for row in formula.rows:
            for slot, operand in enumerate(graph.operands[row]):
                uses.setdefault(operand, []).append((row, (row, slot)))
        reached = sweep(
            (source, *formula.rows),
            lambda row: uses.get(row, ()) if row != node else (),
            {source: tangent},
            lambda place, carried: self.push_row(place, carried, node),
            self.add,
        )
        return reached.get(node)

    def here(self, row: int) -> Local:
        """An operation where it stands, for its rule."""
        graph = self.graph
        operands = graph.operands[row]
        return Local(
            self.algebra.apply,
            [self.value(operand) for operand in operands],
            self.value(row),
            [graph.shape(operand) for operand in operands],
            graph.shape(row),
            graph.settings(row),
            self.lead,
        )

    def pull_row(self, place: Edge, adjoint: Any, node: int) -> Any:
        """The adjoint of one operand of one operation."""
        row, slot = place
        op = self.graph.ops[row]
        if op == "stop" or self.graph.ops[self.graph.operands[row][slot]] == "const":
            return None
        here = self.here(row)
        if op in OPERATIONS:
            self._tell_ties(here, row, node)
            return OPERATIONS[op].pull(here, slot, adjoint)
        scaled = self._scaled(here, row, slot, adjoint, node)
        return None if scaled is None else summed_to(here, scaled, here.shape, here.shapes[slot])

    def push_row(self, place: Edge, tangent: Any, node: int) -> Any:
        """The tangent of one operation from that of one operand."""
        row, slot = place
        op = self.graph.ops[row]
        if op == "stop":
            return None
        here = self.here(row)
        if op in OPERATIONS:
            self._tell_ties(here, row, node)
            return OPERATIONS[op].push(here, slot, tangent)
        widened = repeated_to(here, tangent, here.shapes[slot], here.shape)
        return self._scaled(here, row, slot, widened, node)

    def _scaled(self, here: Local, row: int, slot: int, carried: Any, node: int) -> Any:
        """A carried value of the result's shape, times an element-wise function's partial."""
        op = self.graph.ops[row]
        if op == "where" and slot:
            gate = "taken" if slot == 1 else "untaken"
            passed = self.algebra.apply(gate, (here.args[0], carried), {})
            self.gated = self.gated or passed is None
            return passed
        if op == "where" or self.graph.is_condition(row):
            self._tell_switches(row, node)
            self.gated = True  # a condition has an edge, over which nothing comes
            return None
        return self.times(self.partials(row, node)[slot], carried)

    def _tell_switches(self, row: int, node: int) -> None:
        if self.graph.operands[row] and self.graph.is_condition(row):
            self.partials(row, node)

    def _tell_ties(self, here: Local, row: int, node: int) -> None:
        if self.graph.ops[row] == "largest" and isinstance(self.algebra, Numbers):
            shares = self.algebra.apply("winner", here.args, {**here.settings, "kink": "share"})
            if any(0 < float(as_float(share)) < 1 for share in np.asarray(shares).flat):
                self._on_kink(row, node)

    def times(self, local: Any, carried: Any) -> Any:
        """A carried value times a local derivative."""
        return None if local is None else self.algebra.apply("mul", (carried, local), {})

    def add(self, old: Any, new: Any) -> Any:
        """Two values that arrived over different paths."""
        return self.algebra.apply("add", (old, new), {})


def _is_zero(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return any(_is_zero(element) for element in value.flat)
        return bool((value == 0).any())
    return type(value) is not Undefined and not isinstance(value, bool) and sign_of(value) == 0


# From a request to an evaluation.


class Request:
    """A graph at a point (or in symbols), with the shape of the points and the final touch."""

    def __init__(
        self,
        graph: Structure,
        at: Mapping[str, Any] | None,
        form: str = "nodes",
        needed: Iterable[int] | None = None,
        pinned: Iterable[int] | None = None,
    ) -> None:
        self.graph = graph
        self.declared = set(graph.names)  # the user's nodes; symbols may join them
        self._added: dict[str, int] = {}
        self.shape: tuple[int, ...] = ()
        self.symbolic = at is None
        self.form = form
        if form not in FORMS:
            raise GraphcError(f"form={form!r} is not known; use one of {listing(FORMS)}")
        if at is None:
            self.evaluation = self._symbols(pinned)
        else:
            self.evaluation = self._numbers(at, needed)

    def _symbols(self, pinned: Iterable[int] | None) -> Evaluation:
        from .symbols import Symbols, symbol

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
        everything: dict[int, Any] = {row: row for row in range(len(scratch.ops))}
        return Evaluation(scratch, Rows(scratch), everything, {})

    def _numbers(self, at: Mapping[str, Any], needed: Iterable[int] | None) -> Evaluation:
        graph = self.graph
        if not isinstance(at, Mapping):
            raise GraphcError(f"at= takes a dict of names and values, not {type(at).__name__}")
        wanted = set(free_symbols(graph))
        bare = any(op == "edges" for op in graph.ops)
        leaves = {graph.names[row]: row for row in graph.leaves()}
        known: dict[int, Any] = {}
        free: dict[str, Any] = {}
        for row, value in graph.given.items():
            known[row] = value
        sizes: dict[str, int] = {}
        for row, value in known.items():
            check_fit(value, graph.shape(row), graph.names[row], sizes)
        for key, value in at.items():
            name = naming.spelling(key) if isinstance(key, str) else key
            tensor = name in leaves and leaves[name] in graph.shapes
            given = array_from_user(value, name) if tensor else number(value, name)
            if name in leaves and graph.has_tensors:
                check_fit(given, graph.shape(leaves[name]), name, sizes)
            if name in leaves:
                known[leaves[name]] = given
            elif name in wanted:
                free[name] = given
            elif name in graph.copies:
                for copy in graph.copies[name]:
                    known.setdefault(leaves[copy], given)
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
        if not graph.has_tensors:
            self.shape = _point_shape({**{graph.names[r]: v for r, v in known.items()}, **free})
        return Evaluation(graph, Numbers(sizes), known, free)

    def _check_missing(
        self,
        known: dict[int, Any],
        free: dict[str, Any],
        wanted: set[str],
        needed: Iterable[int] | None,
        leaves: dict[str, int],
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
                    from .symbols import symbol

                    free[name] = symbol(name)
                elif name not in free:
                    raise GraphcError(
                        f"{what} mentions the symbol {name!r}; give a number, or ask with at=None"
                    )
            return Evaluation(scratch, self.evaluation.algebra, {}, free).value(root)
        if self.symbolic:
            return self.evaluation.algebra.constant(value)
        number = from_user(value, what)
        self.shape = np.broadcast_shapes(self.shape, np.shape(number))
        return number

    def _tensor_seed(self, value: Any, what: str, shape: Shape) -> Any:
        algebra = self.evaluation.algebra
        if isinstance(value, str) and value.isidentifier() and self.symbolic:
            row = self.graph.append("input")
            self.graph.shapes[row] = shape
            return self.graph.bind(value, row)
        if isinstance(value, int) and value == 1:
            if any(size != 1 for size in shape):
                raise GraphcError(
                    f"{what} is missing: the node has shape {shape_text(shape)}, and only a node of one "
                    "element needs no seed; give {name: array}, or ask for jacobian()"
                )
            letters = LETTERS[: len(shape)]
            spec = {"spec": f"->{letters}", "sizes": tuple((letter, 1) for letter in letters)}
            return algebra.apply("contract", (algebra.constant(1),), spec)
        array = array_from_user(value, what)
        check_fit(array, shape, what, dict(getattr(algebra, "sizes", {})))
        return algebra.constant(array) if self.symbolic else array

    def symbol(self, name: str, shape: Shape) -> Any:
        """A symbol for an adjoint or tangent, made once."""
        if not isinstance(self.evaluation.algebra, Rows):
            from .symbols import symbol

            return symbol(name)
        if name not in self._added:
            row = self.graph.append("input")
            if shape:
                self.graph.shapes[row] = shape
            self._added[name] = self.graph.bind(self.graph.unused_name(name), row)
        return self._added[name]

    def reshaped(self, value: Any, shape: Shape) -> Any:
        """A finished result in another shape."""
        if isinstance(value, Expression):
            settings = {"shape": shape}
            row = self.evaluation.algebra.apply("reshape", (value.row,), settings)
            return Expression(self.graph, row, self.form == "inputs")
        return (
            np.reshape(value, np.shape(value) and (1,) * 0 or ())
            if False
            else np.reshape(value, [s if isinstance(s, int) else -1 for s in shape])
        )

    def identity(self, shape: Shape) -> Any:
        """The seed of a Jacobian: shape + shape, 1 where both halves agree."""
        algebra = self.evaluation.algebra
        letters = LETTERS[: len(shape)]
        sizes = tuple(zip(letters, shape, strict=True))
        one = algebra.constant(1)
        return algebra.apply("contract", (one,), {"spec": f"->{letters}{letters}", "sizes": sizes})

    def zero(self, shape: Shape) -> Any:
        """A result where no path leads."""
        algebra = self.evaluation.algebra
        if not shape:
            return algebra.constant(0)
        letters = LETTERS[: len(shape)]
        settings = {"spec": f"->{letters}", "sizes": tuple(zip(letters, shape, strict=True))}
        return algebra.apply("contract", (algebra.constant(0),), settings)

    def finish(self, value: Any, what: Callable[[], str]) -> Any:
        """A result as users get it; what is not finite is told."""
        if self.symbolic:
            if isinstance(self.evaluation.algebra, Rows):
                return Expression(self.graph, value, self.form == "inputs")
            return value
        if type(value) is Masked:
            value = value.values
        if type(value) is Undefined or (
            isinstance(value, np.ndarray)
            and value.dtype == object
            and any(type(element) is Undefined for element in value.flat)
        ):
            raise GraphcError(f"{what()} is not a finite real number: {self._culprit()}")
        result = present(value)
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


def given(value: Any, shape: Shape, name: str) -> Any:
    """A value that came with the declaration, checked against the shape."""
    if not shape:
        return number(value, name)
    array = array_from_user(value, f"the value of {name!r}")
    checkcheck_fit(array, shape, name)
    return array


def number(value: Any, name: str) -> Any:
    return (
        constant(value, f"the value of {name!r}")
        if isinstance(value, str)
        else from_user(value, f"the value of {name!r}")
    )


def _point_shape(values: Mapping[str, Any]) -> tuple[int, ...]:
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


def on_numbers(call: Any, args: Any, settings: Any, name: str) -> Any:
    """A composed function on plain numbers and arrays, through a graph of constants."""
    graph = Structure(name)

    def constants(arg: Any) -> Any:
        if isinstance(arg, (list, tuple)) and name in ("concat", "stack"):
            return [constants(part) for part in arg]
        if isinstance(arg, (str, int, tuple)) and name in ("einsum", "reshape", "take"):
            return arg
        return Value(graph, graph.constant(array_from_user(arg, f"an argument of {name}")))

    result = call(*[constants(arg) for arg in args], **settings)
    return present(Evaluation(graph, Numbers(), {}, {}).value(result.row))
