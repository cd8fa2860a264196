"""Linear algebra: products, transposes and traces are contractions; inverses are records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import GraphcError
from ..shapes import LETTERS, axis_of, checked_shape
from ..table.tensors import OPERATIONS
from ..table.value import Value
from .calling import called, flattened, label, layer, stated


def contract(spec: str, *operands: Value, **sizes: Any) -> Value:
    """A contraction of values."""
    settings = {"spec": spec, "sizes": tuple(sizes.items())}
    return operands[0].graph.tensor("contract", operands, settings)


@layer(2, natural=True)
def matmul(a: Value, b: Value) -> Value:
    """a @ b for vectors, matrices, and stacks of matrices."""
    if not a.shape or not b.shape:
        raise GraphcError(f"@ needs vectors or matrices, but {stated(a, b)}; use * for scalars")
    inner, first = a.shape[-1], b.shape[-2] if len(b.shape) > 1 else b.shape[0]
    if inner != first:
        raise GraphcError(
            f"{label(a)} @ {label(b)}: {stated(a, b)}; inner sizes {inner} and {first} differ"
        )
    rank = max(len(a.shape), len(b.shape), 2) - 2
    left, right = (_stack_letters(value, other, rank) for value, other in ((a, b), (b, a)))
    rows, columns = "I" * (len(a.shape) > 1), "J" * (len(b.shape) > 1)
    return contract(f"{left}{rows}K,{right}K{columns}->{LETTERS[:rank]}{rows}{columns}", a, b)


def _stack_letters(value: Value, other: Value, rank: int) -> str:
    """Letters of the axes in front of the matrices; one of size 1 is summed away: it broadcasts."""
    letters = ""
    for axis in range(-len(value.shape), -2):
        size = value.shape[axis]
        wanted = other.shape[axis] if len(other.shape) >= -axis else size
        if size != wanted and 1 not in (size, wanted):
            raise GraphcError(
                f"{label(value)} @ {label(other)}: {stated(value, other)}; leading sizes {size} "
                f"and {wanted} differ"
            )
        place = axis + rank + 2
        letters += LETTERS[place if size == wanted or size != 1 else place + rank]
    return letters


@layer(None, first=1, natural=True)
def einsum(spec: str, *operands: Value, **sizes: Any) -> Value:
    """NumPy's einsum with letters and ->; a letter that only the result has takes its size here."""
    if not isinstance(spec, str) or "->" not in spec:
        raise GraphcError("einsum takes letters with an arrow first, such as 'ij,jk->ik'")
    spec = spec.replace(" ", "")
    left, _, right = spec.partition("->")
    if not set(left.replace(",", "") + right) <= set(LETTERS):
        raise GraphcError(f"einsum: {spec!r} may hold letters, commas and one arrow only")
    count = left.count(",") + 1
    if count != len(operands):
        raise GraphcError(f"einsum: {spec!r} names {count} operands, got {len(operands)}")
    for letter in sizes:
        if letter not in right or letter in left:
            raise GraphcError(f"einsum: {spec!r} takes no size for {letter!r}")
    checked_shape(sizes.values())
    return contract(spec, *operands, **sizes)


@layer(2, natural=True)
def dot(a: Value, b: Value) -> Value:
    """The inner product of two vectors (matrices: of all their elements)."""
    if a.shape != b.shape:
        raise GraphcError(f"dot: {stated(a, b)}; they need one shape")
    letters = LETTERS[: len(a.shape)]
    return contract(f"{letters},{letters}->", a, b)


@layer(2, natural=True)
def outer(a: Value, b: Value) -> Value:
    """All products of elements: shape a.shape + b.shape."""
    left, right = LETTERS[: len(a.shape)], LETTERS[len(a.shape) : len(a.shape) + len(b.shape)]
    return contract(f"{left},{right}->{left}{right}", a, b)


@layer(natural=True)
def transpose(x: Value, axes: Sequence[int] | None = None) -> Value:
    """The axes reversed, or in the order given."""
    rank = len(x.shape)
    order = list(range(rank))[::-1]
    if axes is not None:
        order = [axis_of(axis, x.shape, "transpose") for axis in flattened([axes])]
        if sorted(order) != list(range(-rank, 0)):
            raise GraphcError(f"transpose: axes={axes} is not an order of the axes; {stated(x)}")
    letters = LETTERS[:rank]
    return contract(f"{letters}->{''.join(letters[axis] for axis in order)}", x)


@layer(natural=True)
def trace(x: Value) -> Value:
    """The sum of the diagonal."""
    if len(x.shape) != 2 or x.shape[0] != x.shape[1]:
        raise GraphcError(f"trace needs a square matrix, but {stated(x)}")
    return contract("aa->", x)


@layer(natural=True)
def diag(x: Value) -> Value:
    """The diagonal of a matrix, or the matrix with this diagonal."""
    if len(x.shape) == 1:
        return contract("a->aa", x)
    if len(x.shape) != 2 or x.shape[0] != x.shape[1]:
        raise GraphcError(f"diag needs a vector or a square matrix, but {stated(x)}")
    return contract("aa->a", x)


inv, det, logdet, adjugate, adjugate_change, solve = (
    called(OPERATIONS[name])
    for name in ("inv", "det", "logdet", "adjugate", "adjugate_change", "solve")
)
