"""Arrays of numbers, float or exact: one implementation of each tensor operation's value.

A float array is NumPy's; an exact one is an object array whose elements the scalar algebra handles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import GraphcError
from ..shapes import Size, resolve

Scalars = Callable[[str, Sequence[Any]], Any]  # the scalar algebra: a function and its arguments
MOST_EXACT = 50_000  # exact operations on the elements of one array: about a second


def is_exact(value: Any) -> bool:
    """Whether a value is not a float or an array of floats."""
    if isinstance(value, np.ndarray):
        return bool(value.dtype == object)
    return not isinstance(value, (float, np.floating, np.bool_))


def bound_exact(op: str, count: int) -> None:
    """Refuses to compute with many exact numbers, one by one, where floats would do."""
    if count > MOST_EXACT:
        raise GraphcError(
            f"{op} on exact numbers would take {count} operations one by one, and at most "
            f"{MOST_EXACT} are allowed; give floats, such as 0.5 or np.array([...])"
        )


def elements(apply: Callable[..., Any], arrays: Sequence[Any]) -> Any:
    """A scalar function on the elements of exact arrays, broadcast."""
    parts = np.broadcast_arrays(*[boxed(array) for array in arrays])
    found = [apply(values) for values in zip(*(part.flat for part in parts), strict=True)]
    if found and all(isinstance(value, (bool, np.bool_)) for value in found):
        return np.array(found).reshape(parts[0].shape)
    result = np.empty(len(found), dtype=object)
    result[:] = found
    return unboxed(result.reshape(parts[0].shape))


def boxed(value: Any) -> Any:
    """A value as an array; a number as one without axes."""
    if isinstance(value, (np.ndarray, float)):
        return np.asarray(value)
    box = np.empty((), dtype=object)
    box[()] = value
    return box


def unboxed(array: Any) -> Any:
    """An array without axes as the number it holds."""
    return array if np.ndim(array) else array[()]


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

    A letter of the result that no operand has is broadcast to its size; a letter that stands twice
    in the result makes a diagonal.
    """
    operands, out = split_spec(spec)
    present = set("".join(operands))
    distinct = "".join(dict.fromkeys(out))
    core = "".join(letter for letter in distinct if letter in present)
    if any(is_exact(array) for array in arrays):
        inner = _exact_contract(arrays, operands, core, scalars)
    else:
        inner = np.asarray(_float_contract(arrays, operands, core))
    if distinct != core:
        size = dict(zip(core, inner.shape, strict=True))
        full = [size[x] if x in size else resolve(sizes[x], known) for x in distinct]
        narrow = inner.reshape([size.get(letter, 1) for letter in distinct])
        inner = np.broadcast_to(narrow, full).copy()
    if distinct != out:
        inner = _diagonal(inner, distinct, out)
    return unboxed(inner)


def _diagonal(array: Any, letters: str, out: str) -> Any:
    """Spreads an axis over the places where its letter stands."""
    result = np.zeros([array.shape[letters.index(letter)] for letter in out], dtype=array.dtype)
    grid = np.indices(array.shape)
    result[tuple(grid[letters.index(letter)] for letter in out)] = array
    return result


def _float_contract(arrays: Sequence[Any], operands: list[str], core: str) -> Any:
    if len(arrays) == 2:
        fast = _matmul(arrays, operands, core)
        if fast is None:
            fast = _many_matmuls(arrays, operands, core)
        if fast is not None:
            return fast
    spec = ",".join(operands) + "->" + core
    # with more axes or operands, finding a good order is worth the time that it takes
    optimize = len(arrays) > 2 or (len(arrays) == 2 and max(map(len, operands)) > 2)
    return np.einsum(spec, *arrays, optimize=optimize)


def _matmul(arrays: Sequence[Any], operands: list[str], core: str) -> Any:
    """The product of two matrices or vectors through `@`, which is much faster than einsum."""
    (a, b), (left, right) = arrays, operands
    shared = [letter for letter in left if letter in right]
    if len(shared) != 1 or max(len(left), len(right)) > 2:
        return None
    free = (left + right).replace(shared[0], "")
    if sorted(free) != sorted(core) or len(left + right) != len(free) + 2:
        return None
    a = a if left[-1] == shared[0] else a.T
    b = b if right[0] == shared[0] else b.T
    return a @ b if free == core else (a @ b).T


def _many_matmuls(arrays: Sequence[Any], operands: list[str], core: str) -> Any:
    """Matrix products with one further leading axis, in one operand or in both."""
    a, b = arrays
    many = core[:1]
    matrices = [letters[letters[:1] == many :] for letters in operands]
    if not many or len(core) != 3 or any(len(m) != 2 or many in m for m in matrices):
        return None
    left, right = matrices
    if left[1] != right[0] or core != many + left[0] + right[1] or len({*left, *right}) != 3:
        return None
    if b.ndim == 3:
        return a @ b
    rows = a.reshape(-1, a.shape[-1]) @ b  # one product instead of many small ones
    return rows.reshape(*a.shape[:2], b.shape[-1])


def _exact_contract(arrays: Sequence[Any], operands: list[str], core: str, scalars: Scalars) -> Any:
    size: dict[str, int] = {}
    boxes = [boxed(array) for array in arrays]
    for box, letters in zip(boxes, operands, strict=True):
        size.update(zip(letters, box.shape, strict=True))
    bound_exact("a sum of products", math.prod(size.values()))
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
    return result


def gather(array: Any, axis: int, index: Any) -> Any:
    """The elements along an axis that an index array of any rank names; -1 gives 0."""
    places = np.asarray(index, dtype=int)
    if (places < 0).any():  # one more element, a 0, for -1 to name
        border = list(array.shape)
        border[axis] = 1
        array = np.concatenate([array, np.zeros(border, dtype=array.dtype)], axis=axis)
    return unboxed(np.asarray(array.take(places, axis=axis), dtype=array.dtype))


def scatter(array: Any, axis: int, index: Any, size: int, scalars: Scalars) -> Any:
    """The transpose of gather: adds each element to the place its index names along an axis."""
    places = np.asarray(index, dtype=int)
    # the axes of the index stand where the one axis will stand, counted from the end
    lead = array.ndim - places.ndim + axis + 1
    moved = np.moveaxis(array, range(lead, lead + places.ndim), range(places.ndim))
    rest = moved.shape[places.ndim :]
    flat, inside = moved.reshape((places.size, *rest)), places.ravel() >= 0
    result = np.zeros((size, *rest), dtype=array.dtype)
    if array.dtype != object:
        np.add.at(result, places.ravel()[inside], flat[inside])
    else:
        bound_exact("scatter", flat.size)
        for place, part in zip(places.ravel()[inside], flat[inside], strict=True):
            result[place] = elements(lambda pair: scalars("add", pair), (result[place], part))
    return np.moveaxis(result, 0, lead)


def _slices(array: Any, axes: tuple[int, ...]) -> tuple[Any, Callable[[Any], Any]]:
    """The slices over the axes as the last axis of an array, and the way back from there."""
    gone = {axis % array.ndim for axis in axes}
    kept = [axis for axis in range(array.ndim) if axis not in gone]
    moved = np.moveaxis(array, kept, range(len(kept)))
    flat = moved.reshape((*moved.shape[: len(kept)], math.prod(moved.shape[len(kept) :])))
    return flat, lambda slices: np.moveaxis(slices.reshape(moved.shape), range(len(kept)), kept)


def _best(slices: Any, beats: Callable[[Any, Any], bool]) -> Any:
    """The place of the first largest element along the last axis."""
    if slices.shape[-1] == 0:
        raise GraphcError(
            "a maximum of nothing does not exist, and an axis is empty at this point; give at "
            "least one element"
        )
    if slices.dtype != object:
        return slices.argmax(axis=-1)
    bound_exact("max", slices.size)
    best = np.zeros(slices.shape[:-1], dtype=int)
    for index in np.ndindex(best.shape):
        values = slices[index]
        for place in range(1, len(values)):
            if beats(values[place], values[best[index]]):
                best[index] = place
    return best


def winners(
    array: Any, axes: tuple[int, ...], share: bool, beats: Callable[[Any, Any], bool]
) -> Any:
    """1 at the first largest element of each slice over the axes (or equal shares), else 0."""
    slices, back = _slices(array, axes)
    best = _best(slices, beats)[..., None]
    if not share:
        result = np.zeros(slices.shape, dtype=array.dtype)
        np.put_along_axis(result, best, 1, axis=-1)
        return back(result)
    largest = np.take_along_axis(slices, best, axis=-1)
    if array.dtype != object:
        ties = slices == largest
        return back(ties / ties.sum(axis=-1, keepdims=True))
    ties = np.vectorize(lambda top, value: not beats(top, value), otypes=[bool])(largest, slices)
    counts = np.broadcast_to(ties.sum(axis=-1, keepdims=True), ties.shape)
    pairs = zip(ties.flat, counts.flat, strict=True)
    shares = np.array([Fraction(int(tie), int(count)) for tie, count in pairs], dtype=object)
    return back(shares.reshape(ties.shape))


def largest(array: Any, axes: tuple[int, ...], beats: Callable[[Any, Any], bool]) -> Any:
    """The largest element of each slice over the axes."""
    slices, _ = _slices(array, axes)
    best = _best(slices, beats)[..., None]
    return unboxed(np.take_along_axis(slices, best, axis=-1)[..., 0])


def inverse(matrix: Any, scalars: Scalars, is_zero: Callable[[Any], bool]) -> tuple[Any, Any]:
    """(inverse or None, determinant) of an exact square matrix, by elimination."""
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


# The adjugate: the matrix of signed minors, transposed.


def adjugate(matrix: Any, determinant: Callable[[Any], Any], scalars: Scalars) -> Any:
    """The adjugate of an exact matrix."""
    result = np.empty(matrix.shape, dtype=object)
    for i, j in np.ndindex(*matrix.shape):
        minor = determinant(_minor(matrix, j, i)) if len(matrix) > 1 else 1
        result[i, j] = minor if (i + j) % 2 == 0 else scalars("neg", (minor,))
    return result


def adjugate_change(
    matrix: Any, change: Any, determinant: Callable[[Any], Any], scalars: Scalars
) -> Any:
    """How the adjugate of an exact matrix changes along changes of the matrix."""
    result = np.empty(change.shape, dtype=object)
    result.fill(0)
    for *lead, i, j in np.ndindex(*change.shape):
        if len(matrix) == 1:
            continue
        slopes = adjugate(_minor(matrix, j, i), determinant, scalars)
        along = _minor(change[tuple(lead)], j, i)
        total = contract((slopes, along), "ab,ba->", {}, {}, scalars)
        result[(*lead, i, j)] = total if (i + j) % 2 == 0 else scalars("neg", (total,))
    return result


def _minor(matrix: Any, row: int, column: int) -> Any:
    return np.delete(np.delete(matrix, row, axis=-2), column, axis=-1)


def float_adjugate(matrix: Any) -> Any:
    """The adjugate, by singular values: each product leaves one of them out."""
    if not np.isfinite(matrix).all():
        return np.full(matrix.shape, np.nan)
    left, sizes, right = np.linalg.svd(matrix)
    products = np.prod(np.where(np.eye(len(sizes), dtype=bool), 1, sizes), axis=1)
    sign = np.sign(np.linalg.det(left) * np.linalg.det(right))
    return sign * (right.T * products) @ left.T


def float_adjugate_change(matrix: Any, change: Any) -> Any:
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
