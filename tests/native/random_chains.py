"""Random chains over arrays of every kind, beside what NumPy gives for the same operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.program.backends.native.chains import (
    ARRAY,
    MOST_SUMMED,
    NUMBER,
    _link,
    _number,
    together,
)

SIZES = (0, 1, 1, 2, 3, 5, 8, 9, 64, 513)
MOST = 6000  # elements
GUARD = 12345.0  # what stands beside a result
OPERATIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "square": np.square,
    "lt": np.less,
    "where": np.where,
}


def shape_of(rng: np.random.Generator) -> tuple[int, ...]:
    while True:
        shape = tuple(int(size) for size in rng.choice(SIZES, rng.integers(1, 5)))
        if np.prod(shape) <= MOST:
            return shape


def stood(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """An array of this shape that stands somewhere: in one piece, or turned, or in steps."""
    kind = rng.integers(5) if shape else 4
    if kind == 0:
        order = rng.permutation(len(shape))
        turned = np.empty([shape[k] for k in order], dtype)
        array = np.transpose(turned, np.argsort(order))
    elif kind == 1:
        steps = [int(step) for step in rng.choice([1, 2, -1, -3], len(shape))]
        room = [size * abs(step) + 1 for size, step in zip(shape, steps, strict=True)]
        whole = np.full(room, GUARD, dtype)
        cut = [slice(None, None, step) for step in steps]
        array = whole[tuple(cut)][tuple(slice(0, size) for size in shape)]
    elif kind == 2:  # not where a number of this size would begin
        width = np.dtype(dtype).itemsize
        raw = np.empty(int(np.prod(shape)) * width + 1, np.uint8)
        array = raw[1:].view(dtype).reshape(shape) if raw.size > 1 else np.empty(shape, dtype)
    else:
        array = np.empty(shape, dtype)
    assert array.shape == shape
    array[...] = GUARD
    return array


def read(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """An operand that broadcasts to a shape, or a plain number."""
    if rng.random() < 0.15:
        return float(rng.normal())
    own = [1 if rng.random() < 0.25 else size for size in shape][rng.integers(len(shape) + 1) :]
    array = stood(rng, tuple(own), dtype)
    array[...] = rng.normal(size=own)
    if array.size and rng.random() < 0.3:
        array.reshape(-1)[:1] = rng.choice([0.0, -0.0, np.inf, np.nan])
    return array


def check(seed: int) -> None:
    """One chain, or several after each other, twice: with other numbers the second time."""
    rng = np.random.default_rng(seed)
    dtype = ("float64", "float32")[seed % 2]
    shape = shape_of(rng)
    count = int(rng.integers(1, 5))
    inputs = [read(rng, shape, dtype) for _ in range(count)]
    moves: list[tuple[str, ...]] = []
    for k in range(count, count + int(rng.integers(1, 9))):
        op = str(rng.choice(list(OPERATIONS)))
        operands = 3 if op == "where" else 1 if op in ("neg", "square") else 2
        known = [*map(str, range(k)), _number(-0.5), _number(2)]
        inside = [str(rng.choice(known)) for _ in range(operands)]
        if all(text[0] == "." for text in inside):
            inside[0] = "0"
        moves.append((op, *inside))
    writes = tuple(sorted({len(moves) - 1, int(rng.integers(len(moves)))}))
    summed = summed_axes(rng, shape)
    own = shape[: len(shape) - summed]
    link = _link(count, tuple(moves), writes, dtype, summed)
    results = [stood(rng, own, dtype) for _ in writes]
    numbers = [isinstance(one, float) for one in inputs]
    brought = [is_number or rng.random() < 0.3 for is_number in numbers]
    brought += [rng.random() < 0.3 for _ in writes]
    operands = [*inputs, *results]
    marks = [NUMBER if is_number else ARRAY for is_number in (*numbers, *[False] * len(writes))]
    told = [
        mark if is_brought else one
        for one, mark, is_brought in zip(operands, marks, brought, strict=True)
    ]
    chain = link(shape, *told)
    run = chain if any(brought) else together(chain, chain)
    for _ in range(2):
        run(*[one for one, is_brought in zip(operands, brought, strict=True) if is_brought])
        for result, right in zip(results, expected(inputs, moves, writes, dtype), strict=True):
            whole = added_up(np.broadcast_to(right, shape), len(own))
            np.testing.assert_array_equal(result, whole, strict=False)
            if result.base is not None and result.dtype == result.base.dtype:
                missed = result.base.size - np.count_nonzero(result.base == GUARD)
                assert missed <= result.size, "something beside the result was written"
        for one in inputs:
            if not isinstance(one, float):
                one += 1


def summed_axes(rng: np.random.Generator, shape: tuple[int, ...]) -> int:
    """How many last axes a chain sums over: often none."""
    summed = int(rng.integers(len(shape) + 1)) if rng.random() < 0.4 else 0
    return summed if 0 < np.prod(shape[len(shape) - summed :], dtype=int) <= MOST_SUMMED else 0


def added_up(array: Any, axes: int) -> Any:
    """The sums over all but the first axes, from the first element to the last, added to 0."""
    if axes == array.ndim:
        return array
    own, summed = array.shape[:axes], array.shape[axes:]
    total = np.zeros(own, array.dtype)
    with np.errstate(all="ignore"):
        for place in np.ndindex(summed):
            total = total + array[(..., *place)]
    return total


def expected(inputs: Any, moves: Any, writes: Any, dtype: str) -> list[Any]:
    values: list[Any] = [np.asarray(one, dtype) for one in inputs]
    with np.errstate(all="ignore"):
        for op, *operands in moves:
            inside = [
                np.asarray(float(text[1:]), dtype) if text[0] == "." else values[int(text)]
                for text in operands
            ]
            if op == "where":
                inside[0] = inside[0] != 0
            values.append(np.asarray(OPERATIONS[op](*inside), dtype))
    return [values[len(inputs) + k] for k in writes]
