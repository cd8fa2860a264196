"""The matrix form of a contraction: A @ B, outer(x, y), a sum; None where only einsum will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..shapes import LETTERS, Size, unused_letters
from .arrays import split_spec

ATOM = 9
Piece = tuple[str, int]  # text, and how tightly its outermost operator binds


def bracket(piece: Piece, least: int) -> str:
    """The text, in brackets if it binds less tightly than it must."""
    return piece[0] if piece[1] >= least else f"({piece[0]})"


@dataclass(frozen=True)
class Form:
    """How a contraction is written: a word, the operands in order, and which are transposed."""

    word: str
    order: tuple[int, ...] = (0,)
    transposed: tuple[bool, ...] = (False, False)
    axes: tuple[int, ...] = ()
    keepdims: bool = False


PAIRS: dict[str, Form] = {
    "a,a->": Form("matmul", (0, 1)),
    "ab,b->a": Form("matmul", (0, 1)),
    "a,ba->b": Form("matmul", (1, 0)),
    "ab,a->b": Form("matmul", (0, 1), (True, False)),
    "a,ab->b": Form("matmul", (0, 1)),
    "ab,bc->ac": Form("matmul", (0, 1)),
    "ab,cb->ac": Form("matmul", (0, 1), (False, True)),
    "ab,ac->bc": Form("matmul", (0, 1), (True, False)),
    "ab,ca->bc": Form("matmul", (0, 1), (True, True)),
    "ab,bc->ca": Form("matmul", (1, 0), (True, True)),
    "ab,cb->ca": Form("matmul", (1, 0), (False, True)),
    "ab,ac->cb": Form("matmul", (1, 0), (True, False)),
    "ab,ca->cb": Form("matmul", (1, 0)),
    "ab,ba->": Form("trace_of_product", (0, 1)),
    "a,b->ab": Form("outer", (0, 1)),
    "a,b->ba": Form("outer", (1, 0)),
    "a,ab->ab": Form("rows", (0, 1)),
    "ab,a->ab": Form("rows", (1, 0)),
    "ab,b->ba": Form("rows", (1, 0), (False, True)),
    "a,ba->ab": Form("rows", (0, 1), (False, True)),
    "ab,a->ba": Form("columns", (0, 1), (True, False)),
    "a,ab->ba": Form("columns", (1, 0), (True, False)),
    "ab,b->ab": Form("columns", (0, 1)),
    "a,ba->ba": Form("columns", (1, 0)),
    "ab,ba->ab": Form("product", (0, 1), (False, True)),
    "ab,ba->ba": Form("product", (1, 0), (False, True)),
}


def canonical(spec: str) -> str:
    """The contraction with its letters renamed a, b, c, ... in order of appearance."""
    names: dict[str, str] = {}
    return "".join(names.setdefault(x, LETTERS[len(names)]) if x.isalpha() else x for x in spec)


def form_of(spec: str, sizes: Mapping[str, Size]) -> Form | None:
    """The matrix form of a contraction, or None where only einsum will do."""
    operands, out = split_spec(spec)
    named = canonical(spec)
    if len(operands) == 2:
        return PAIRS.get(named) or _pair(operands[0], operands[1], out)
    if len(operands) == 1:
        return _single(operands[0], out, named, sizes)
    return None


def _pair(a: str, b: str, out: str) -> Form | None:
    """Products of stacks of matrices, and sums of element-wise products."""
    if any(len(set(word)) != len(word) for word in (a, b, out)):
        return None
    if a == b and "".join(letter for letter in a if letter in out) == out:
        gone = tuple(i for i, letter in enumerate(a) if letter not in out)
        return Form("sum_of_product" if gone else "product", (0, 1), axes=gone if out else ())
    for left, right, order in ((a, b, (0, 1)), (b, a, (1, 0))):
        row, inner = left[:-1], left[-1:]
        stacked = right[:-2] in ("", row[:-1]) and right[-2:-1] == inner
        if (
            inner
            and inner not in out
            and (
                (right == inner and out == row)
                or (stacked and len(right) > 1 and out == row + right[-1])
            )
        ):
            return Form("matmul", order)
        if len(left) == 2 < len(right) and right[-2] == left[1] and left[1] not in out:
            spread = out == right[:-2] + left[0] + right[-1]  # one matrix, and a stack
            if spread:
                return Form("matmul", order)
    return None


def _single(letters: str, out: str, named: str, sizes: Mapping[str, Size]) -> Form | None:
    words = {
        "ab->ba": "transpose",
        "aa->": "trace",
        "aa->a": "diag",
        "a->aa": "diag",
        "->aa": "eye",
    }
    if named in words:
        return Form(words[named])
    if len(set(letters)) != len(letters) or len(set(out)) != len(out):
        return None
    gone = tuple(i for i, letter in enumerate(letters) if letter not in out)
    kept = "".join(letter for letter in letters if letter in out)
    fresh = [letter for letter in out if letter not in letters]
    places = tuple(i for i, letter in enumerate(out) if letter in fresh)
    ones = all(sizes.get(letter) == 1 for letter in fresh)
    ordered = "".join(letter for letter in out if letter in letters) == kept
    if not fresh and gone and ordered:
        return Form("sum", axes=gone if out else ())
    if not fresh and not gone:
        return Form("permute", axes=tuple(letters.index(letter) for letter in out))
    if gone:
        return (
            Form("sum", axes=gone, keepdims=True) if ones and places == gone and ordered else None
        )
    if not ordered:
        return None
    if not letters:
        return Form("full")
    return Form("newaxis" if ones else "repeat", axes=places)


def new_axes(axes: Sequence[int], rank: int) -> str:
    """The index that puts axes of size 1 at these places."""
    return ", ".join("None" if axis in axes else ":" for axis in range(rank))


def einsum_parts(
    operands: Sequence[str], out: str, sizes: Mapping[str, Size]
) -> tuple[list[str], str, list[tuple[str, Size]]]:
    """An einsum in which every letter of the result stands in an operand, and once in the result.

    Gives the letters of all operands, those of the result, and the operands to add: eye or ones.
    """
    words, result = list(operands), ""
    added: list[tuple[str, Size]] = []
    for letter in out:
        twin = letter
        if letter in result:  # a diagonal: the second axis is tied to the first
            twin = unused_letters([*words, out, result], 1)
            words.append(letter + twin)
            added.append(("eye", sizes[letter]))
        result += twin
    for letter in out:
        if not any(letter in word for word in words):
            words.append(letter)
            added.append(("ones", sizes[letter]))
    return words, result, added
