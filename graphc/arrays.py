"""Arrays of numbers, float or exact: one implementation of each tensor operation's value.

A float array is NumPy's; an exact one is an object array whose elements the scalar algebra handles.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .shapes import Size, resolve

Scalars = Callable[[str, Sequence[Any]], Any]  # the scalar algebra: a function and its arguments


def is_exact(value: Any) -> bool:
    """Whether a value is not a float or an array of floats."""
    if isinstance(value, np.ndarray):
        return value.dtype == object
    return not isinstance(value, (float, np.floating, np.bool_))


def elements(apply: Callable[..., Any], arrays: Sequence[Any]) -> Any:
    """A scalar function on the elements of exact arrays, broadcast."""
    parts = np.broadcast_arrays(*[boxed(array) for array in arrays])
    result = np.empty(parts[0].shape, dtype=object)
    for index in np.ndindex(result.shape):
        result[index] = apply([part[index] for part in parts])
    if result.size and all(isinstance(value, (bool, np.bool_)) for value in result.flat):
        return result.astype(bool)
    return result if result.shape else result[()]


def boxed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    box = np.empty((), dtype=object)
    box[()] = value
    return box


def split_spec(spec: str) -> tuple[list[str], str]:
    """The letters of each operand, and of the result."""
    left, _, right = spec.partition("->")
    return left.split(","), right


def contract(
    arrays: Sequence[Any],
    spec: str,
    sizes: Mapping[str, Size],
    known: Mapping[str, int],
    scalars: Scalars,
) -> Any:
    """Sum of products over the letters that the result lacks.

    A letter of the result that no operand has is broadcast to its size; a letter that stands twice in
    the result makes a diagonal.
    """
    operands, out = split_spec(spec)
    present = set("".join(operands))
    core = "".join(dict.fromkeys(letter for letter in out if letter in present))
    if all(not is_exact(array) for array in arrays):
        inner = _float_contract(arrays, operands, core)
    else:
        inner = _exact_contract(arrays, operands, core, scalars)
    distinct = "".join(dict.fromkeys(out))
    if distinct != core:
        shape = [
            1 if letter not in core else np.shape(inner)[core.index(letter)] for letter in distinct
        ]
        full = [
            np.shape(inner)[core.index(letter)] if letter in core else resolve(sizes[letter], known)
            for letter in distinct
        ]
        inner = np.broadcast_to(np.reshape(_as_array(inner), shape), full)
        inner = inner.copy()
    if distinct != out:
        inner = _diagonal(inner, distinct, out)
    return inner if np.ndim(inner) else (inner[()] if isinstance(inner, np.ndarray) else inner)


def _as_array(value: Any) -> Any:
    return value if isinstance(value, (np.ndarray, float, np.floating)) else boxed(value)


def _diagonal(array: Any, letters: str, out: str) -> Any:
    """Spreads an axis over the places where its letter stands."""
    shape = [array.shape[letters.index(letter)] for letter in out]
    zero = 0 if array.dtype == object else array.dtype.type(0)
    result = np.full(shape, zero, dtype=array.dtype)
    grid = np.indices(array.shape)
    result[tuple(grid[letters.index(letter)] for letter in out)] = array
    return result


def _float_contract(arrays: Sequence[Any], operands: list[str], core: str) -> Any:
    if len(arrays) == 2 and all(len(set(letters)) == len(letters) for letters in operands):
        fast = _matmul(arrays, operands, core)
        if fast is not None:
            return fast
    spec = ",".join(operands) + "->" + core
    return np.einsum(spec, *arrays, optimize=len(arrays) > 2)


def _matmul(arrays: Sequence[Any], operands: list[str], core: str) -> Any:
    """The product of two matrices or vectors through `@`, which is much faster than einsum."""
    (a, b), (left, right) = arrays, operands
    shared = [letter for letter in left if letter in right]
    if len(shared) != 1 or shared[0] in core or max(len(left), len(right)) > 2:
        return None
    if not left or not right:
        return None
    a = a if left[-1] == shared[0] else a.T
    b = b if right[0] == shared[0] else b.T
    free = left.replace(shared[0], "") + right.replace(shared[0], "")
    product = a @ b
    return product if free == core else product.T


def _exact_contract(arrays: Sequence[Any], operands: list[str], core: str, scalars: Scalars) -> Any:
    size: dict[str, int] = {}
    boxes = [boxed(array) for array in arrays]
    for box, letters in zip(boxes, operands, strict=True):
        size.update(zip(letters, box.shape, strict=True))
    summed = [letter for letter in size if letter not in core]
    result = np.empty([size[letter] for letter in core], dtype=object)
    for index in np.ndindex(result.shape):
        place = dict(zip(core, index, strict=True))
        total: Any = 0
        for inner in itertools.product(*(range(size[letter]) for letter in summed)):
            place.update(zip(summed, inner, strict=True))
            product: Any = 1
            for box, letters in zip(boxes, operands, strict=True):
                product = scalars("mul", (product, box[tuple(place[letter] for letter in letters)]))
            total = scalars("add", (total, product))
        result[index] = total
    return result if result.shape else result[()]


def gather(array: Any, axis: int, index: Any) -> Any:
    """The elements along an axis that an index array of any rank names; -1 gives 0."""
    index = np.asarray(index)
    axis = axis % array.ndim
    padded = array
    if (index < 0).any():
        zero = np.zeros_like(array.take([0], axis=axis)) if array.shape[axis] else None
        if zero is None:
            shape = list(array.shape)
            shape[axis] = 1
            zero = np.zeros(shape, dtype=array.dtype)
        padded = np.concatenate([array, zero], axis=axis)
    taken = padded.take(index, axis=axis)
    return taken if np.ndim(taken) else taken[()] if isinstance(taken, np.ndarray) else taken


def scatter(array: Any, axis: int, index: Any, size: int, scalars: Scalars) -> Any:
    """The transpose of gather: adds each element to the place its index names along an axis."""
    index = np.asarray(index)
    array = _as_array(array) if not isinstance(array, (float, np.floating)) else np.asarray(array)
    # the axes of the index stand where the one axis will stand, counted from the end
    after = -axis - 1
    lead = array.ndim - index.ndim - after
    moved = np.moveaxis(array, range(lead, lead + index.ndim), range(index.ndim))
    rest = moved.shape[index.ndim :]
    flat = moved.reshape((index.size, *rest))
    result = np.zeros((size, *rest), dtype=array.dtype)
    for position, place in enumerate(index.ravel()):
        if place >= 0:
            if array.dtype == object:
                result[place] = elements(
                    lambda pair: scalars("add", pair), (result[place], flat[position])
                )
            else:
                result[place] += flat[position]
    return np.moveaxis(result, 0, lead)


def winners(
    array: Any, axes: tuple[int, ...], share: bool, compare: Callable[[Any, Any], bool]
) -> Any:
    """1 at the first largest element of each slice over the axes (or equal shares), else 0."""
    axes = tuple(axis % array.ndim for axis in axes)
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    moved = np.moveaxis(array, kept, range(len(kept)))
    front = moved.shape[: len(kept)]
    flat = moved.reshape((*front, -1))
    exact = array.dtype == object
    result = np.zeros(flat.shape, dtype=object if exact else array.dtype)
    if not exact:
        if share:
            ties = flat == flat.max(axis=-1, keepdims=True)
            result = ties / ties.sum(axis=-1, keepdims=True)
        else:
            np.put_along_axis(result, flat.argmax(axis=-1)[..., None], 1.0, axis=-1)
        return np.moveaxis(result.reshape(moved.shape), range(len(kept)), kept)
    for index in np.ndindex(front):
        values = flat[index]
        best = 0
        for position in range(1, len(values)):
            if compare(values[position], values[best]):
                best = position
        if share:
            ties = [i for i, v in enumerate(values) if not compare(values[best], v)]
            portion = Fraction(1, len(ties)) if exact else 1.0 / len(ties)
            for position in ties:
                result[index][position] = portion
        else:
            result[index][best] = 1
    return np.moveaxis(result.reshape(moved.shape), range(len(kept)), kept)


def largest(array: Any, axes: tuple[int, ...], compare: Callable[[Any, Any], bool]) -> Any:
    """The largest element of each slice over the axes."""
    if array.dtype != object:
        return np.max(array, axis=axes)
    chosen = winners(array, axes, False, compare)
    axes = tuple(axis % array.ndim for axis in axes)
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    result = np.empty([array.shape[axis] for axis in kept], dtype=object)
    for index in np.argwhere(chosen == 1):
        result[tuple(index[axis] for axis in kept)] = array[tuple(index)]
    return result if result.shape else result[()]


def inverse(matrix: Any, scalars: Scalars, is_zero: Callable[[Any], bool]) -> tuple[Any, Any]:
    """(inverse or None, determinant) of an exact square matrix, by elimination."""
    size = matrix.shape[0]
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
