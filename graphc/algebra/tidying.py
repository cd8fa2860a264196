"""The tidier: formulas with tensors as a person would write them.

A number comes first, then scalars, then matrices. Every rule keeps the value.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..shapes import LETTERS, Shape
from ..structure.rows import GraphRow
from ..table.matrix_form import canonical
from .contracting import contract, contraction
from .rewrites import folded
from .terms import (
    is_diagonal,
    is_spread_diagonal,
    repeated,
    same,
    scalar_divisor,
    scalar_factor,
    scaled,
    scaled_term,
    spread,
    term,
)

if TYPE_CHECKING:
    from .formulas import Formulas


# Sums.


def added(rows: Formulas, old: GraphRow, new: GraphRow) -> GraphRow:
    (a, left), (b, right) = term(rows, old), term(rows, new)
    if left is None and right is None:
        return folded(rows, a + b, (a, b))
    for factor, rest, other in ((a, left, new), (b, right, old)):
        if rest is None and factor == 0:
            return other
    if left is not None and right is not None and a + b and same(rows, left, right):
        return scaled(rows, a + b, left)
    if b < 0:
        return difference(rows, old, scaled(rows, -b, right))
    if a < 0:
        return difference(rows, new, scaled(rows, -a, left))
    return plain(rows, "add", old, new)


def subtracted(rows: Formulas, left: GraphRow, right: GraphRow) -> GraphRow:
    factor, rest = term(rows, right)
    if factor < 0 or (rest is None and factor == 0):
        return added(rows, left, scaled(rows, -factor, rest))
    if term(rows, left) == (0, None):
        return scaled(rows, -factor, rest)
    return difference(rows, left, right)


def difference(rows: Formulas, left: GraphRow, right: GraphRow) -> GraphRow:
    return plain(rows, "sub", left, right)


def plain(rows: Formulas, op: str, left: GraphRow, right: GraphRow) -> GraphRow:
    """The operation on operands that NumPy would broadcast itself."""
    zero = spread(rows, left)
    left = unrepeated(rows, left, right)
    if zero is not None and rows.number(left) == 0:
        return right if op == "add" else negated(rows, right)
    right = unrepeated(rows, right, left)
    if rows.number(right) == 0:
        return left
    return rows.graph.operation(op, (left, right), {})


def negated(rows: Formulas, row: GraphRow) -> GraphRow:
    factor, rest = term(rows, row)
    return scaled(rows, -factor, rest)


# Products and quotients.


def multiplied(rows: Formulas, carried: GraphRow, local: GraphRow) -> GraphRow:
    """A product: numbers first, then scalars, then tensors."""
    (a, left), (b, right) = term(rows, carried), term(rows, local)
    shape = rows.graph.shape(carried) or rows.graph.shape(local)
    if a * b == 0:
        return repeated(rows, rows.constant(0), shape)
    if left is None or right is None:
        return scaled(rows, a * b, right if left is None else left)
    return scaled_term(rows, a * b, product(rows, left, right))


def product(rows: Formulas, left: GraphRow, right: GraphRow) -> GraphRow:
    graph = rows.graph
    if graph.shape(left) and not graph.shape(right):
        left, right = right, left
    if not graph.shape(left):
        return scalar_times(rows, left, right)
    for one, other, order in ((left, right, 1), (right, left, -1)):
        scalar, rest = scalar_factor(rows, one)
        if scalar is not None:
            pair = (rest, other)[::order]
            return rows.apply("mul", (scalar, rows.apply("mul", pair, {})), {})
        if divisor := scalar_divisor(rows, one):
            pair = (divisor[0], other)[::order]
            return divided(rows, rows.apply("mul", pair, {}), divisor[1])
        for op in ("add", "sub"):  # diag(a) - B times c: diag(a * c) - B * c
            parts = rows.inside(one, op)
            if parts and any(is_spread_diagonal(rows, part) for part in parts):
                return rows.apply(op, [rows.apply("mul", (p, other), {}) for p in parts], {})
    left = unrepeated(rows, left, right, thin=False)
    right = unrepeated(rows, right, left, thin=False)
    if not graph.shape(left) or not graph.shape(right):
        return rows.apply("mul", (left, right), {})
    for one, other in ((left, right), (right, left)):
        if fits(rows, one, other):
            return as_contraction(rows, left, right)
    for one, other in ((left, right), (right, left)):
        below = rows.inside(other, "div")
        if below and rows.number(below[0]) == 1:
            return divided(rows, one, below[1])
    return graph.operation("mul", (left, right), {})


def scalar_times(rows: Formulas, scalar: GraphRow, row: GraphRow) -> GraphRow:
    """A scalar times a scalar or a tensor."""
    graph = rows.graph
    below = rows.inside(scalar, "div")
    if below and rows.number(below[0]) == 1:
        return divided(rows, row, below[1])
    ratio = rows.inside(row, "ratio_or_0")
    if ratio and graph.ops[ratio[1]] == "norm" and graph.operands[ratio[1]][0] == ratio[0]:
        rest = without(rows, scalar, ratio[1])
        if rest is not None:  # norm(x) * (x / norm(x)) is x, also at 0
            return rows.apply("mul", (rest, ratio[0]), {})
    if not graph.shape(row):
        below = rows.inside(row, "div")
        if below and rows.number(below[0]) == 1:
            return divided(rows, scalar, below[1])
        return graph.operation("mul", (scalar, row), {})
    inner, rest = scalar_factor(rows, row)
    if inner is not None:
        return rows.apply("mul", (rows.apply("mul", (scalar, inner), {}), rest), {})
    if divisor := scalar_divisor(rows, row):
        return divided(rows, rows.apply("mul", (scalar, divisor[0]), {}), divisor[1])
    found = spread(rows, row)
    if found is not None and not found[1] and not is_diagonal(found[2]):
        whole = rows.apply("mul", (scalar, found[0]), {})
        return repeated(rows, whole, graph.shape(row), found[2])
    return on_diagonal(rows, "mul", row, scalar) or graph.operation("mul", (scalar, row), {})


def without(rows: Formulas, scalars: GraphRow, factor: GraphRow) -> GraphRow | None:
    """A product of scalars without one of its factors; None if it has it not."""
    if scalars == factor:
        return rows.constant(1)
    inner = rows.inside(scalars, "mul")
    for one, other in (inner, inner[::-1]) if inner else ():
        rest = without(rows, one, factor)
        if rest is not None:
            return rows.apply("mul", (rest, other), {})
    return None


def divided(rows: Formulas, above: GraphRow, below: GraphRow) -> GraphRow:
    graph = rows.graph
    below = unrepeated(rows, below, above)
    scalar, rest = scalar_factor(rows, above)
    if scalar == below and graph.ops[below] == "det":
        return rest  # det(A) * inv(A) / det(A): where det(A) is 0 there is no inverse either
    turned = spread(rows, above) or (above, "ab", "ab")
    if graph.ops[below] == "det" and rows.inside(turned[0], "adjugate") == graph.operands[below]:
        whole = rows.graph.operation("inv", graph.operands[below], {})
        return contraction(rows, [whole], [turned[1]], turned[2], {})
    numbers = [rows.number(above), rows.number(below)]
    if None not in numbers and numbers[1]:
        return rows.constant(Fraction(numbers[0]) / numbers[1])
    factor, core = term(rows, above)
    if core is None or factor == 1:
        factor, core = 1, above
    whole = on_diagonal(rows, "div", core, below) or graph.operation("div", (core, below), {})
    return whole if factor == 1 else scaled(rows, factor, whole)


def on_diagonal(rows: Formulas, op: str, row: GraphRow, scalar: GraphRow) -> GraphRow | None:
    """A diagonal times or by a scalar, which may be infinite: beside the diagonal it is 0."""
    graph = rows.graph
    if rows.shown or graph.shape(scalar) or not is_spread_diagonal(rows, row):
        return None
    found = spread(rows, row)
    assert found is not None
    inner, letters, out = found
    if op == "mul" and rows.number(inner) == 1:
        changed = scalar
    else:
        pair = (scalar, inner) if op == "mul" else (inner, scalar)
        changed = graph.operation(op, pair, {})
    sizes = dict(zip(out, graph.shape(row), strict=True))
    widened = tuple((letter, sizes[letter]) for letter in sizes if letter not in letters)
    return graph.operation("contract", (changed,), {"spec": f"{letters}->{out}", "sizes": widened})


def divided_or_0(rows: Formulas, above: GraphRow, below: GraphRow) -> GraphRow:
    return rows.graph.operation("ratio_or_0", (above, unrepeated(rows, below, above)), {})


def fits(rows: Formulas, one: GraphRow, other: GraphRow) -> bool:
    """Whether a row is spread, and no axis of size 1 is widened but those it only adds."""
    found = spread(rows, one)
    if found is None:
        return False
    pairs = zip(
        found[2][::-1],
        rows.graph.shape(one)[::-1],
        rows.graph.shape(other)[::-1],
        strict=False,
    )
    return all(a == b or (a == 1 and letter not in found[1]) for letter, a, b in pairs)


def as_contraction(rows: Formulas, left: GraphRow, right: GraphRow) -> GraphRow:
    """An element-wise product as a contraction, in which spread operands dissolve."""
    shapes = rows.graph.shape(left), rows.graph.shape(right)
    longer = max(shapes, key=len)
    letters = LETTERS[: len(longer)]
    operands = [letters[len(longer) - len(shape) :] for shape in shapes]
    return contraction(rows, [left, right], operands, letters, {})


def unrepeated(rows: Formulas, row: GraphRow, other: GraphRow, thin: bool = True) -> GraphRow:
    """A row without repetition along axes that the other operand has anyway."""
    found, shape = spread(rows, row), rows.graph.shape(row)
    if rows.graph.shape(other) != shape:
        return row
    if divisor := scalar_divisor(rows, row):
        inner = unrepeated(rows, divisor[0], other, thin)
        return row if inner == divisor[0] else divided(rows, inner, divisor[1])
    factor, rest = term(rows, row)
    if rest is not None and rest != row:
        inner = unrepeated(rows, rest, other, thin)
        return row if inner == rest else scaled(rows, factor, inner)
    if found is None or is_diagonal(found[2]):
        return row
    inner, letters, out = found
    if out.endswith(letters):
        return inner
    if not thin or "".join(x for x in out if x in letters) != letters:
        return row
    kept = out[out.index(letters[0]) :]  # NumPy adds leading axes itself
    return contraction(rows, [inner], [letters], kept, {x: 1 for x in kept if x not in letters})


# Functions, matrices and selections.


def power(rows: Formulas, base: GraphRow, exponent: Any) -> GraphRow:
    if exponent == 1:
        return base
    if exponent == 0:
        return repeated(rows, rows.constant(1), rows.graph.shape(base))
    return rows.graph.operation("power", (base,), {"exponent": exponent})


def exponential(rows: Formulas, row: GraphRow) -> GraphRow:
    """exp(x - logsumexp(x)) is softmax(x)."""
    graph = rows.graph
    inner = rows.inside(row, "sub")
    below = spread(rows, inner[1]) if inner else None
    total = below[0] if below is not None else inner[1] if inner else None
    if total is not None and graph.ops[total] == "logsumexp":
        axes = graph.settings(total)["axes"]
        if graph.operands[total] == inner[:1] and len(axes) == 1 and graph.shape(inner[0]):
            letters = LETTERS[: len(graph.shape(inner[0]))]
            kept = letters[: axes[0]] + letters[axes[0] :][1:]
            if below is None or canonical(f"{below[1]}->{below[2]}") == canonical(
                f"{kept}->{letters}"
            ):
                return graph.operation("softmax", inner[:1], {"axes": axes})
    return graph.operation("exp", (row,), {})


def inverse(rows: Formulas, row: GraphRow) -> GraphRow:
    """inv(A.T) is inv(A).T, whose transpose is inv(A)."""
    found = spread(rows, row)
    if found is None or set(found[1]) != set(found[2]) or is_diagonal(found[2]):
        return rows.graph.operation("inv", (row,), {})
    inner = rows.graph.operation("inv", found[:1], {})
    return contraction(rows, [inner], [found[1]], found[2], {})


def adjugate(rows: Formulas, row: GraphRow) -> GraphRow:
    graph = rows.graph
    rows_in_order = zip(graph.in_order(), graph.ops, graph.operands, strict=True)
    known = (r for r, op, operands in rows_in_order if op == "det" and operands == (row,))
    if not rows.shown or (determinant := next(known, None)) is None:
        return graph.operation("adjugate", (row,), {})
    return rows.apply("mul", (determinant, inverse(rows, row)), {})


def reshaped(rows: Formulas, row: GraphRow, shape: Shape) -> GraphRow:
    if rows.graph.shape(row) == shape:
        return row
    return selected(rows, "reshape", row, shape=shape)


def selected(rows: Formulas, op: str, row: GraphRow, **settings: Any) -> GraphRow:
    """A selection of a multiple is the multiple of the selection."""
    factor, rest = term(rows, row)
    if factor == 1 or rest is None:
        return rows.graph.operation(op, (row,), settings)
    return scaled(rows, factor, rows.graph.operation(op, (rest,), settings))


# Gates.


def gate(rows: Formulas, op: str, condition: GraphRow, carried: GraphRow) -> GraphRow:
    """where(c, g, 0), or where(c, 0, g)."""
    if rows.number(carried) == 0:
        return carried
    shape = rows.graph.shape(condition)
    diagonal = spread(rows, carried)
    if diagonal is not None and is_diagonal(diagonal[2]):  # a gate on a diagonal
        inner, letters, out = diagonal
        first = len(out) - len(shape)
        tail, wide = out[first:], rows.graph.shape(carried)[first:]
        narrow = all(here in (1, size) for here, size in zip(shape, wide, strict=True))
        if set(tail) == set(out) and len(set(tail)) == len(tail) and narrow:
            sizes = dict(zip(tail, wide, strict=True))
            gated = gate(rows, op, condition, contraction(rows, [inner], [letters], tail, sizes))
            return contraction(rows, [gated], [tail], out, sizes)
    if rows.graph.shape(carried) == shape:
        carried = unrepeated(rows, carried, condition)
    branches = (carried, rows.constant(0))
    chosen = branches if op == "taken" else branches[::-1]
    return rows.graph.fresh("where", (condition, *chosen), {})  # its mask is its own


TIDY: dict[str, Callable[..., GraphRow]] = {  # in graphs with tensors, and for their operations
    "add": added,
    "sub": subtracted,
    "mul": multiplied,
    "div": divided,
    "neg": negated,
    "power": power,
    "exp": exponential,
    "ratio_or_0": divided_or_0,
    "contract": lambda rows, *args, **settings: contract(rows, list(args), settings),
    "inv": inverse,
    "adjugate": adjugate,
    "reshape": reshaped,
    "gather": lambda rows, row, **settings: selected(rows, "gather", row, **settings),
    "scatter": lambda rows, row, **settings: selected(rows, "scatter", row, **settings),
}
