"""Values of the functions of square matrices: floats by NumPy, exact numbers by elimination."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .arrays import bound_exact
from .tensors import Arithmetic, Settings

Value = Callable[[Arithmetic, Sequence[Any], Settings], Any]
NOTHING: dict[str, Any] = {}


def _value(floats: Callable[..., Any], exact: Callable[..., Any]) -> Value:
    """The value by NumPy, or (numbers, *matrices) -> the value of exact ones."""

    def value(numbers: Arithmetic, args: Sequence[Any], settings: Settings) -> Any:
        if args[0].dtype == object:
            return exact(numbers, *args)
        try:
            return floats(*args)
        except np.linalg.LinAlgError:  # a singular matrix gives NaN, which is told
            return np.full(np.shape(args[-1]), np.nan)

    return value


def _contract(numbers: Arithmetic, spec: str, *args: Any) -> Any:
    return numbers.apply("contract", args, {"spec": spec, "sizes": ()})


def _eliminated(numbers: Arithmetic, matrix: Any) -> tuple[Any, Any]:
    """(inverse or None, determinant) of an exact square matrix, by elimination."""

    def scalars(op: str, args: Sequence[Any]) -> Any:
        return numbers.apply(op, args, NOTHING)

    is_zero = numbers.is_zero
    size = matrix.shape[0]
    bound_exact("elimination", size**3)
    rows = [[*matrix[i], *(int(i == j) for j in range(size))] for i in range(size)]
    determinant: Any = 1
    for column in range(size):
        pivot = next((i for i in range(column, size) if not is_zero(rows[i][column])), None)
        if pivot is None:
            return None, 0
        if pivot != column:
            rows[column], rows[pivot] = rows[pivot], rows[column]
            determinant = scalars("neg", (determinant,))
        determinant = scalars("mul", (determinant, rows[column][column]))
        head = rows[column][column]
        rows[column] = [scalars("div", (value, head)) for value in rows[column]]
        for i in range(size):
            if i != column and not is_zero(rows[i][column]):
                factor = rows[i][column]
                rows[i] = [
                    scalars("sub", (value, scalars("mul", (factor, lead))))
                    for value, lead in zip(rows[i], rows[column], strict=True)
                ]
    result = np.empty((size, size), dtype=object)
    for i in range(size):
        for j in range(size):
            result[i, j] = rows[i][size + j]
    return result, determinant


def _inverse(numbers: Arithmetic, matrix: Any, name: str = "inv") -> Any:
    inverted, _ = _eliminated(numbers, matrix)
    if inverted is None:
        inverted = np.empty(np.shape(matrix), dtype=object)
        inverted.fill(numbers.undefined(f"{name} of a singular matrix"))
    return inverted


def _solution(numbers: Arithmetic, matrix: Any, right: Any) -> Any:
    inverted = _inverse(numbers, matrix, "solve")
    return _contract(numbers, "ab,b->a" if right.ndim == 1 else "ab,bc->ac", inverted, right)


def _determinant(numbers: Arithmetic, matrix: Any) -> Any:
    return _eliminated(numbers, matrix)[1]


def _log_determinant(numbers: Arithmetic, matrix: Any) -> Any:
    return numbers.apply("log", (_determinant(numbers, matrix),), NOTHING)


def _float_log_determinant(matrix: Any) -> Any:
    sign, value = np.linalg.slogdet(matrix)
    return value if sign > 0 else np.float64(np.nan)


# The adjugate: the matrix of signed minors, transposed.


def _adjugate(numbers: Arithmetic, matrix: Any) -> Any:
    result = np.empty(matrix.shape, dtype=object)
    for i, j in np.ndindex(*matrix.shape):
        minor = _determinant(numbers, _minor(matrix, j, i)) if len(matrix) > 1 else 1
        result[i, j] = minor if (i + j) % 2 == 0 else numbers.apply("neg", (minor,), NOTHING)
    return result


def _adjugate_change(numbers: Arithmetic, matrix: Any, change: Any) -> Any:
    result = np.empty(change.shape, dtype=object)
    result.fill(0)
    for *lead, i, j in np.ndindex(*change.shape):
        if len(matrix) == 1:
            continue
        slopes = _adjugate(numbers, _minor(matrix, j, i))
        along = _minor(change[tuple(lead)], j, i)
        total = _contract(numbers, "ab,ba->", slopes, along)
        result[(*lead, i, j)] = (
            total if (i + j) % 2 == 0 else numbers.apply("neg", (total,), NOTHING)
        )
    return result


def _minor(matrix: Any, row: int, column: int) -> Any:
    return np.delete(np.delete(matrix, row, axis=-2), column, axis=-1)


def _float_adjugate(matrix: Any) -> Any:
    """The adjugate, by singular values: each product leaves one of them out."""
    if not np.isfinite(matrix).all():
        return np.full(matrix.shape, np.nan)
    left, sizes, right = np.linalg.svd(matrix)
    products = np.prod(np.where(np.eye(len(sizes), dtype=bool), 1, sizes), axis=1)
    sign = np.sign(np.linalg.det(left) * np.linalg.det(right))
    return sign * (right.T * products) @ left.T


def _float_adjugate_change(matrix: Any, change: Any) -> Any:
    """How the adjugate changes along changes of the matrix: each product leaves out two."""
    if not np.isfinite(matrix).all():
        return np.full(change.shape, np.nan)
    left, sizes, right = np.linalg.svd(matrix)
    once = np.eye(len(sizes), dtype=bool)
    without = np.where(once[:, None] | once[None], 1, sizes)
    products = np.where(once, 0, np.prod(without, axis=2))
    inner = left.T @ change @ right.T
    diagonal = np.einsum("...jj,ij->...i", inner, products)
    turned = diagonal[..., None] * once - products * inner
    sign = np.sign(np.linalg.det(left) * np.linalg.det(right))
    return sign * right.T @ turned @ left.T


inverse = _value(np.linalg.inv, _inverse)
determinant = _value(np.linalg.det, _determinant)
log_determinant = _value(_float_log_determinant, _log_determinant)
adjugate = _value(_float_adjugate, _adjugate)
adjugate_change = _value(_float_adjugate_change, _adjugate_change)
solution = _value(np.linalg.solve, _solution)
