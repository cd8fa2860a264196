"""How a contraction is computed, planned where it is written: pair by pair, as matrix products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from ..shapes import Size

UNKNOWN = 100  # what a size that is only a name counts as


@dataclass(frozen=True)
class Product:
    """Two operands as one product of stacks of matrices: their letters in groups.

    A stack is over `many`; `rows` belong to the operand order[0], `columns` to order[1], and
    `inner` to both.
    """

    order: tuple[int, int]
    many: str
    rows: str
    inner: str
    columns: str


def as_product(a: str, b: str, out: str) -> Product | None:
    """The matrix product that a contraction of two operands is, or None where it is none."""
    if any(len(set(word)) != len(word) for word in (a, b, out)) or not set(out) <= {*a, *b}:
        return None
    inner = "".join(letter for letter in a if letter in b and letter not in out)
    many = "".join(letter for letter in out if letter in a and letter in b)
    free = [
        "".join(letter for letter in out if letter in word and letter not in many)
        for word in (a, b)
    ]
    whole = all(
        len(word) == len(many) + len(inner) + len(own)
        for word, own in zip((a, b), free, strict=True)
    )
    if not inner or not any(free) or not whole:
        return None
    if all(free):  # the last letter of the result among the columns: neighbours stay neighbours
        turned = out[-1] in free[0]
    else:  # a matrix and a vector: the matrix on the side where its inner axes are
        matrix = (a, b)[not free[0]]
        turned = bool(free[0]) != matrix.endswith(inner)
    order = (1, 0) if turned else (0, 1)
    return Product(order, many, free[order[0]], inner, free[order[1]])


def first_pair(
    operands: Sequence[str], out: str, sizes: Mapping[str, Size]
) -> tuple[int, int, str]:
    """Which two of several operands are multiplied first, and the letters of their product.

    The pair that takes fewest multiplications; of equal ones, that with the smallest product. The
    last of these: an adjoint is the first operand, and what has no part in it may be there already.
    """

    def count(letters: str) -> int:
        known = (sizes[letter] for letter in set(letters))
        return prod(size if isinstance(size, int) else UNKNOWN for size in known)

    def kept(i: int, j: int) -> str:
        beside = {*out, *(x for k, word in enumerate(operands) if k not in (i, j) for x in word)}
        return "".join(x for x in dict.fromkeys(operands[i] + operands[j]) if x in beside)

    pairs = [(i, j, kept(i, j)) for i, j in combinations(range(len(operands)), 2)]
    return min(reversed(pairs), key=lambda p: (count(operands[p[0]] + operands[p[1]]), count(p[2])))
