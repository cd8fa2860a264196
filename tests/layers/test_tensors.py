"""Every tensor operation and every layer: values, adjointness and all derivatives, exactly.

A case is a formula with a brute-force evaluation that knows nothing of graphc. Formulas that are
polynomials are checked in fractions, where a difference formula of high enough order is exact; the
others with 60 digits.
"""

from __future__ import annotations

import itertools
import math
import random
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import graphc as gc
from graphc.table.functions import COMPOSED
from graphc.table.tensors import OPERATIONS

DIGITS = mpmath.MPContext()
DIGITS.dps = 60
STEP = DIGITS.mpf(10) ** -25


# Brute force.


def each(function: Callable[..., Any], *arrays: Any) -> Any:
    """A function on the elements of arrays, broadcast."""
    parts = np.broadcast_arrays(*(np.asarray(a, dtype=object) for a in arrays))
    result = np.empty(parts[0].shape, dtype=object)
    for index in np.ndindex(result.shape):
        result[index] = function(*(part[index] for part in parts))
    return result


def exp(x: Any) -> Any:
    return each(DIGITS.exp, x)


def log(x: Any) -> Any:
    return each(DIGITS.log, x)


def sqrt(x: Any) -> Any:
    return each(DIGITS.sqrt, x)


def reduce_(x: Any, axis: Any, keepdims: bool, function: Callable[[list[Any]], Any]) -> Any:
    """A function of each slice over the axes, by hand."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = {a % x.ndim for a in axes}
    kept = [a for a in range(x.ndim) if a not in axes]
    result = np.empty([x.shape[a] for a in kept], dtype=object)
    for index in np.ndindex(result.shape):
        place = dict(zip(kept, index, strict=True))
        ranges = [[place[a]] if a in place else range(x.shape[a]) for a in range(x.ndim)]
        result[index] = function([x[i] for i in itertools.product(*ranges)])
    if keepdims:
        result = result.reshape([1 if a in axes else x.shape[a] for a in range(x.ndim)])
    return result


def lse(values: list[Any]) -> Any:
    return DIGITS.log(sum(DIGITS.exp(v) for v in values))


def softmax(x: Any, axis: int = -1) -> Any:
    powers = exp(x)
    return powers / powers.sum(axis=axis, keepdims=True)


def determinant(a: Any) -> Any:
    """Over all permutations."""
    total: Any = 0
    for order in itertools.permutations(range(len(a))):
        sign = (-1) ** sum(i > j for k, i in enumerate(order) for j in order[k:])
        total += sign * math.prod(a[i, j] for i, j in enumerate(order))
    return total


def inverse(a: Any) -> Any:
    """By cofactors."""
    size = len(a)
    result = np.empty((size, size), dtype=object)
    for i, j in np.ndindex(size, size):
        minor = np.delete(np.delete(a, j, axis=0), i, axis=1)
        result[i, j] = (-1) ** (i + j) * determinant(minor) / determinant(a)
    return result


def conv(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, flip: bool = False) -> Any:
    """Cross-correlation of (batch, in, ...) with (out, in, ...), element by element."""
    rank = w.ndim - 2
    size = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x.shape[2:], w.shape[2:], stride, padding, dilation, strict=True)
    ]
    result = np.zeros((x.shape[0], w.shape[0], *size), dtype=object)
    for n, o, c in np.ndindex(x.shape[0], w.shape[0], x.shape[1]):
        for place in np.ndindex(*size):
            for k in np.ndindex(*w.shape[2:]):
                at = [place[a] * stride[a] - padding[a] + k[a] * dilation[a] for a in range(rank)]
                if all(0 <= at[a] < x.shape[2 + a] for a in range(rank)):
                    tap = [w.shape[2 + a] - 1 - k[a] for a in range(rank)] if flip else k
                    result[(n, o, *place)] += x[(n, c, *at)] * w[(o, c, *tap)]
    return result


def deconv(x: Any, w: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Each input element paints a kernel (in, out, ...) into the result."""
    rank = w.ndim - 2
    size = [
        (n - 1) * s + d * (k - 1) + 1 - 2 * p
        for n, k, s, p, d in zip(x.shape[2:], w.shape[2:], stride, padding, dilation, strict=True)
    ]
    result = np.zeros((x.shape[0], w.shape[1], *size), dtype=object)
    for n, c, o in np.ndindex(x.shape[0], w.shape[0], w.shape[1]):
        for place in np.ndindex(*x.shape[2:]):
            for k in np.ndindex(*w.shape[2:]):
                at = [place[a] * stride[a] - padding[a] + k[a] * dilation[a] for a in range(rank)]
                if all(0 <= at[a] < size[a] for a in range(rank)):
                    result[(n, o, *at)] += x[(n, c, *place)] * w[(c, o, *k)]
    return result


def bare(function: Callable[..., Any], x: Any, w: Any, *settings: Any) -> Any:
    """A convolution without batch and channels."""
    return function(x[None, None], w[None, None], *settings)[0, 0]


def pool(x: Any, size: Any, stride: Any, padding: Any, function: Callable[..., Any]) -> Any:
    """A function of (elements inside, number of places) of each window over the trailing axes."""
    rank = len(size)
    front = x.shape[: x.ndim - rank]
    back = x.shape[x.ndim - rank :]
    counts = [
        (n + 2 * p - k) // s + 1 for n, k, s, p in zip(back, size, stride, padding, strict=True)
    ]
    result = np.empty((*front, *counts), dtype=object)
    for index in np.ndindex(*result.shape):
        lead, place = index[: len(front)], index[len(front) :]
        inside = []
        for k in np.ndindex(*size):
            at = [place[a] * stride[a] - padding[a] + k[a] for a in range(rank)]
            if all(0 <= at[a] < back[a] for a in range(rank)):
                inside.append(x[(*lead, *at)])
        result[index] = function(inside, math.prod(size))
    return result


def average(values: list[Any], count: int | None = None) -> Any:
    return sum(values) * Fraction(1, count or len(values)) if values else 0


def variance(values: list[Any]) -> Any:
    return average([(v - average(values)) ** 2 for v in values])


def onehot(places: list[int], n: int) -> Any:
    return np.array([[int(i == p) for i in range(n)] for p in places], dtype=object)


# Cases.

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A formula over leaves of these shapes, and its brute force."""

    formula: str
    shapes: dict[str, Shape]
    reference: Callable[..., Any]
    kind: str = "polynomial"  # of degree 4 at most; or "rational", "smooth", "positive", "square"
    declared: str = ""  # the shapes in text, where sizes are named

    def text(self) -> str:
        plain = " ".join(
            name + (f"[{', '.join(map(str, shape))}]" if shape else "")
            for name, shape in self.shapes.items()
        )
        return f"input {self.declared or plain}\ny = {self.formula}\n"

    def point(self) -> dict[str, Any]:
        """Fractions in general position: distinct, and none of them 0."""
        chance = random.Random(zlib.crc32(self.formula.encode()))
        count = sum(math.prod(shape) for shape in self.shapes.values())
        pool = [Fraction(n, 4) for n in range(-count - 1, count + 2) if n]
        if self.kind == "positive":
            pool = [abs(n) for n in pool]
            pool = sorted({*pool, *(n + Fraction(1, 8) for n in pool)})
        chosen = iter(chance.sample(pool, count))
        result = {}
        for name, shape in self.shapes.items():
            result[name] = np.empty(shape, dtype=object)
            for index in np.ndindex(*shape):
                result[name][index] = next(chosen)
            if self.kind == "square" and name == "x":
                result[name] = result[name] + np.diag([Fraction(5 + i) for i in range(shape[0])])
        return result


X, Y = {"x": (2, 3)}, {"x": (2, 3), "z": (2, 3)}
CUBE = {"x": (2, 3, 2)}
IMAGE = {"x": (2, 2, 3, 3), "w": (2, 2, 2, 3)}
SERIES = {"x": (2, 2, 6), "w": (3, 2, 3)}
HALF = Fraction(1, 2)


CASES = [
    # broadcasting
    Case("x*z", Y, lambda x, z: x * z),
    Case("x*z", {"x": (4, 1), "z": (3,)}, lambda x, z: x * z),
    Case("x + z", {"x": (1,), "z": (3,)}, lambda x, z: x + z),
    Case("x*z", {"x": (), "z": (2, 3)}, lambda x, z: x * z),
    Case("x - z", {"x": (2, 3), "z": ()}, lambda x, z: x - z),
    Case("x*z*x", {"x": (2, 1, 2), "z": (3, 1)}, lambda x, z: x * z * x),
    Case("x/z", {"x": (3,), "z": (2, 1)}, lambda x, z: x / z, "rational"),
    Case("x**3 - 2*x", X, lambda x: x**3 - 2 * x),
    Case("x*[1, 1/2, -1]", X, lambda x: x * np.array([1, HALF, -1], dtype=object)),
    Case("maximum(x, z)", {"x": (2, 1), "z": (3,)}, lambda x, z: each(max, x, z), "rational"),
    Case(
        "where(x > z, x*z, x**2)",
        {"x": (2, 1), "z": (3,)},
        lambda x, z: each(lambda a, b: a * b if a > b else a * a, x, z),
        "rational",
    ),
    Case("relu(x) + abs(x)", X, lambda x: each(lambda v: max(v, 0) + abs(v), x), "rational"),
    Case("tanh(x)*sin(z)", Y, lambda x, z: each(DIGITS.tanh, x) * each(DIGITS.sin, z), "smooth"),
    # sums and means
    Case("sum(x)", CUBE, lambda x: x.sum()),
    Case("sum(x, axis=1)", CUBE, lambda x: x.sum(axis=1)),
    Case("sum(x, axis=-1)", CUBE, lambda x: x.sum(axis=-1)),
    Case("sum(x, axis=(0, -1))", CUBE, lambda x: x.sum(axis=(0, -1))),
    Case("sum(x, axis=(0, 2), keepdims=True)", CUBE, lambda x: x.sum(axis=(0, 2), keepdims=True)),
    Case("sum(x**2, axis=0, keepdims=True)", X, lambda x: (x**2).sum(axis=0, keepdims=True)),
    Case("sum(x, z)", Y, lambda x, z: x + z),
    Case("mean(x)", X, lambda x: reduce_(x, None, False, average)),
    Case("mean(x, axis=0)", X, lambda x: reduce_(x, 0, False, average)),
    Case("mean(x, axis=(0, 1), keepdims=True)", CUBE, lambda x: reduce_(x, (0, 1), True, average)),
    Case("mean(x, z)", Y, lambda x, z: (x + z) * HALF),
    Case("mean(x, axis=0)", X, lambda x: reduce_(x, 0, False, average), declared="x[n, 3]"),
    Case("mean(x)", CUBE, lambda x: reduce_(x, None, False, average), declared="x[n, m, n]"),
    Case("var(x)", X, lambda x: reduce_(x, None, False, variance)),
    Case("var(x, axis=-1)", X, lambda x: reduce_(x, -1, False, variance)),
    Case("var(x, axis=0, keepdims=True)", X, lambda x: reduce_(x, 0, True, variance)),
    Case("prod(x, axis=1)", X, lambda x: reduce_(x, 1, False, math.prod)),
    Case("prod(x)", {"x": (2, 2)}, lambda x: reduce_(x, None, False, math.prod)),
    Case(
        "prod(x, axis=(0, -1))", {"x": (2, 3, 2)}, lambda x: reduce_(x, (0, -1), False, math.prod)
    ),
    Case("prod(x, axis=0, keepdims=True)", X, lambda x: reduce_(x, 0, True, math.prod)),
    # other reductions
    Case("max(x)", X, lambda x: reduce_(x, None, False, max), "rational"),
    Case("max(x, axis=-2)", CUBE, lambda x: reduce_(x, -2, False, max), "rational"),
    Case("max(x, axis=(0, 2))", CUBE, lambda x: reduce_(x, (0, 2), False, max), "rational"),
    Case("max(x, axis=1, keepdims=True)", X, lambda x: reduce_(x, 1, True, max), "rational"),
    Case("max(x, z)", Y, lambda x, z: each(max, x, z), "rational"),
    Case("min(x)", X, lambda x: reduce_(x, None, False, min), "rational"),
    Case("min(x, axis=0)", X, lambda x: reduce_(x, 0, False, min), "rational"),
    Case(
        "min(x, axis=(0, 1), keepdims=True)", X, lambda x: reduce_(x, (0, 1), True, min), "rational"
    ),
    Case("norm(x)", X, lambda x: sqrt((x**2).sum()), "smooth"),
    Case("norm(x, axis=0)", X, lambda x: sqrt((x**2).sum(axis=0)), "smooth"),
    Case(
        "norm(x, axis=(-1, 0), keepdims=True)",
        CUBE,
        lambda x: sqrt((x**2).sum(axis=(0, 2), keepdims=True)),
        "smooth",
    ),
    Case("logsumexp(x)", X, lambda x: reduce_(x, None, False, lse), "smooth"),
    Case("logsumexp(x, axis=0)", X, lambda x: reduce_(x, 0, False, lse), "smooth"),
    Case(
        "logsumexp(x, axis=(0, 2), keepdims=True)",
        CUBE,
        lambda x: reduce_(x, (0, 2), True, lse),
        "smooth",
    ),
    Case("softmax(x)", X, softmax, "smooth"),
    Case("softmax(x, axis=0)", X, lambda x: softmax(x, 0), "smooth"),
    Case("softmax(x, axis=-2)*x", CUBE, lambda x: softmax(x, 1) * x, "smooth"),
    Case("log_softmax(x)", X, lambda x: log(softmax(x)), "smooth"),
    Case("log_softmax(x, axis=0)", X, lambda x: log(softmax(x, 0)), "smooth"),
    # losses
    Case("cross_entropy(x, z)", Y, lambda x, z: -(z * log(x)).sum(axis=-1), "positive"),
    Case(
        "softmax_cross_entropy(x, z)", Y, lambda x, z: -(z * log(softmax(x))).sum(axis=-1), "smooth"
    ),
    Case(
        "softmax_cross_entropy(x, onehot([2, 0], 3))",
        X,
        lambda x: -(onehot([2, 0], 3) * log(softmax(x))).sum(axis=-1),
        "smooth",
    ),
    # linear algebra
    Case("x @ z", {"x": (2, 3), "z": (3, 4)}, lambda x, z: x @ z),
    Case("x @ z", {"x": (2, 3), "z": (3,)}, lambda x, z: x @ z),
    Case("x @ z", {"x": (3,), "z": (3, 2)}, lambda x, z: x @ z),
    Case("x @ z", {"x": (3,), "z": (3,)}, lambda x, z: (x * z).sum()),
    Case("x @ z", {"x": (2, 2, 3), "z": (3, 2)}, lambda x, z: x @ z),
    Case("x @ z", {"x": (2, 2, 3), "z": (2, 3, 2)}, lambda x, z: x @ z),
    Case("x @ z", {"x": (2, 1, 2, 3), "z": (4, 3, 1)}, lambda x, z: x @ z),
    Case("x @ z", {"x": (1, 2, 3), "z": (3,)}, lambda x, z: x @ z),
    Case("matmul(x, x)", {"x": (2, 2)}, lambda x: x @ x),
    Case("x @ z", {"x": (2, 3), "z": (3, 4)}, lambda x, z: x @ z, declared="x[n, 3] z[3, m]"),
    Case("einsum('ij,jk->ik', x, z)", {"x": (2, 3), "z": (3, 2)}, lambda x, z: x @ z),
    Case("einsum('ij,jk->ki', x, z)", {"x": (2, 3), "z": (3, 2)}, lambda x, z: (x @ z).T),
    Case("einsum('ij,jk->i', x, z)", {"x": (2, 3), "z": (3, 2)}, lambda x, z: (x @ z).sum(axis=1)),
    Case("einsum('ij,j->', x, z)", {"x": (2, 3), "z": (3,)}, lambda x, z: (x @ z).sum()),
    Case("einsum('ij,ij->j', x, z)", Y, lambda x, z: (x * z).sum(axis=0)),
    Case("einsum('ii->i', x)", {"x": (3, 3)}, lambda x: x.diagonal()),
    Case("einsum('iji->j', x)", {"x": (2, 3, 2)}, lambda x: x[0, :, 0] + x[1, :, 1]),
    Case("einsum('i,i,i->i', x, x, x)", {"x": (3,)}, lambda x: x**3),
    Case(
        "einsum('bi,ij,bj->b', x, w, z)",
        {"x": (2, 3), "w": (3, 2), "z": (2, 2)},
        lambda x, w, z: np.array([x[b] @ w @ z[b] for b in range(2)], dtype=object),
    ),
    Case("dot(x, z)", Y, lambda x, z: (x * z).sum()),
    Case("outer(x, z)", {"x": (2,), "z": (3,)}, lambda x, z: x[:, None] * z),
    Case("outer(x, x)", {"x": (3,)}, lambda x: x[:, None] * x),
    Case("transpose(x)", CUBE, lambda x: x.transpose()),
    Case("transpose(x, (1, 2, 0))", CUBE, lambda x: x.transpose(1, 2, 0)),
    Case("transpose(x, (-1, 0, 1))", CUBE, lambda x: x.transpose(2, 0, 1)),
    Case("x.T @ x", X, lambda x: x.T @ x),
    Case("trace(x @ x)", {"x": (3, 3)}, lambda x: (x @ x).trace()),
    Case("diag(x)", {"x": (3, 3)}, lambda x: x.diagonal()),
    Case("diag(x) @ diag(x)", {"x": (3,)}, lambda x: np.diag(x) @ np.diag(x)),
    Case("det(x)", {"x": (3, 3)}, lambda x: determinant(x), "square"),
    Case("logdet(x)", {"x": (3, 3)}, lambda x: log(determinant(x)), "square"),
    Case("inv(x)", {"x": (3, 3)}, lambda x: inverse(x), "square"),
    Case("adjugate(x)", {"x": (3, 3)}, lambda x: determinant(x) * inverse(x), "square"),
    Case(
        "adjugate_change(x, z)",
        {"x": (3, 3), "z": (3, 3)},
        lambda x, z: (
            inverse(x)
            @ (np.trace(inverse(x) @ z) * np.eye(3, dtype=int) - z @ inverse(x))
            * determinant(x)
        ),
        "square",
    ),
    Case("solve(x, z)", {"x": (3, 3), "z": (3,)}, lambda x, z: inverse(x) @ z, "square"),
    Case("solve(x, z)", {"x": (2, 2), "z": (2, 3)}, lambda x, z: inverse(x) @ z, "square"),
    # shapes and selections
    Case("reshape(x, (3, 2))", X, lambda x: x.reshape(3, 2)),
    Case("reshape(x, -1)**2", X, lambda x: x.reshape(-1) ** 2),
    Case("reshape(x, (2, -1))", CUBE, lambda x: x.reshape(2, 6)),
    Case("reshape(x, (n, 6))", CUBE, lambda x: x.reshape(2, 6), declared="x[n, 3, 2]"),
    Case("reshape(x, (n, -1))", CUBE, lambda x: x.reshape(2, 6), declared="x[n, 3, 2]"),
    Case("reshape(x, (3, -1))", CUBE, lambda x: x.reshape(3, 4), declared="x[2, 3, 2]"),
    Case("reshape(x, (-1, 6))", CUBE, lambda x: x.reshape(2, 6), declared="x[n, 3, 2]"),
    Case("reshape(x, (1,))", {"x": ()}, lambda x: np.reshape(x, 1)),
    Case("x[1]", X, lambda x: x[1]),
    Case("x[-1, 0]", X, lambda x: x[-1, 0]),
    Case("x[:, 1]*x[0, 1]", X, lambda x: x[:, 1] * x[0, 1]),
    Case("x[0, 1:, ::-1]", CUBE, lambda x: x[0, 1:, ::-1]),
    Case("x[..., 0]", CUBE, lambda x: x[..., 0]),
    Case("x[:, -2:]", X, lambda x: x[:, -2:], declared="x[n, 3]"),
    Case("x[[1, 0, 1]]*x[[0, 0, 1]]", X, lambda x: x[[1, 0, 1]] * x[[0, 0, 1]]),
    Case("x[:, [2, 2]]", X, lambda x: x[:, [2, 2]]),
    Case("x[:, None]*x[None]", {"x": (3,)}, lambda x: x[:, None] * x[None]),
    Case("x[1, None, :, 0:1]", CUBE, lambda x: x[1, None, :, 0:1]),
    Case("take(x, [0, 2, 0, 0], axis=1)", X, lambda x: x.take([0, 2, 0, 0], axis=1)),
    Case("take(x, 1)", X, lambda x: x.take(1, axis=0)),
    Case("take(x, [[1, 1], [0, -1]])", X, lambda x: x.take([[1, 1], [0, -1]], axis=0)),
    Case("scatter(x, [2, 0, 2], 4, axis=1)", X, lambda x: x @ onehot([2, 0, 2], 4)),
    Case("scatter(x[0], 1, 2)", X, lambda x: np.stack([0 * x[0], x[0]])),
    Case(
        "scatter(x, [[0, 3, 1], [1, 1, 0]], 4)",
        X,
        lambda x: x.reshape(6) @ onehot([0, 3, 1, 1, 1, 0], 4),
    ),
    Case("winner(x, axis=0)*x", X, lambda x: (x == x.max(axis=0)) * x, "smooth"),
    Case('einsum("ij->jik", x, k=2)', X, lambda x: np.stack([x.T, x.T], axis=2)),
    Case('einsum("i->ii", x[0])', X, lambda x: onehot([0, 1, 2], 3) * x[0]),
    Case("concat([x, z, x])", {"x": (1, 3), "z": (2, 3)}, lambda x, z: np.concatenate([x, z, x])),
    Case(
        "concat([x, z], axis=-1)",
        {"x": (2, 1), "z": (2, 3)},
        lambda x, z: np.concatenate([x, z], axis=-1),
        declared="x[n, 1] z[n, 3]",
    ),
    Case("stack([x, z])", Y, lambda x, z: np.stack([x, z])),
    Case("stack([x, z, x], axis=-1)", Y, lambda x, z: np.stack([x, z, x], axis=-1)),
    Case("stack([x, z], axis=1)", Y, lambda x, z: np.stack([x, z], axis=1)),
    Case("pad(x, ((1, 0), (0, 2)))", X, lambda x: np.pad(x, ((1, 0), (0, 2)))),
    Case("pad(x, 1)", X, lambda x: np.pad(x, 1)),
    Case(
        "broadcast_to(x, (4, 2, 3)) @ eye(3) + full((3,), 2)",
        X,
        lambda x: np.broadcast_to(x, (4, 2, 3)) + 2,
    ),
    Case("x*onehot(1, 3) + zeros((2, 3)) + 2*ones(3)", X, lambda x: x * onehot([1], 3)[0] + 2),
    # windows
    Case("conv1d(x, w)", {"x": (6,), "w": (3,)}, lambda x, w: bare(conv, x, w, [1], [0], [1])),
    Case(
        "conv1d(x, w, stride=2, padding=2, dilation=2)",
        SERIES,
        lambda x, w: conv(x, w, [2], [2], [2]),
    ),
    Case(
        "conv1d(x, w, flip=True, padding=1)",
        {"x": (2, 6), "w": (3, 2, 3)},
        lambda x, w: conv(x[None], w, [1], [1], [1], True)[0],
    ),
    Case(
        "conv2d(x, w)",
        {"x": (4, 4), "w": (2, 3)},
        lambda x, w: bare(conv, x, w, [1, 1], [0, 0], [1, 1]),
    ),
    Case(
        "conv2d(x, w)",
        {"x": (2, 3, 4), "w": (3, 2, 2, 3)},
        lambda x, w: conv(x[None], w, [1, 1], [0, 0], [1, 1])[0],
    ),
    Case(
        "conv2d(x, w, stride=(2, 1), padding=(1, 2))",
        IMAGE,
        lambda x, w: conv(x, w, [2, 1], [1, 2], [1, 1]),
    ),
    Case(
        "conv2d(x, w, padding=1, dilation=(2, 1), flip=True)",
        {"x": (1, 2, 4, 3), "w": (2, 2, 2, 3)},
        lambda x, w: conv(x, w, [1, 1], [1, 1], [2, 1], True),
        declared="x[n, 2, 4, 3] w[2, 2, 2, 3]",
    ),
    Case(
        "conv1d_transpose(x, w, stride=2)",
        {"x": (3,), "w": (2,)},
        lambda x, w: bare(deconv, x, w, [2], [0], [1]),
    ),
    Case(
        "conv1d_transpose(x, w, stride=3, padding=1, dilation=2)",
        {"x": (2, 2, 3), "w": (2, 3, 2)},
        lambda x, w: deconv(x, w, [3], [1], [2]),
    ),
    Case(
        "conv2d_transpose(x, w)",
        {"x": (2, 2), "w": (2, 3)},
        lambda x, w: bare(deconv, x, w, [1, 1], [0, 0], [1, 1]),
    ),
    Case(
        "conv2d_transpose(x, w, stride=(1, 2), padding=(0, 1))",
        {"x": (1, 2, 3, 2), "w": (2, 3, 2, 2)},
        lambda x, w: deconv(x, w, [1, 2], [0, 1], [1, 1]),
    ),
    Case(
        "maxpool(x, 2)",
        {"x": (4, 4)},
        lambda x: pool(x, [2, 2], [2, 2], [0, 0], lambda v, n: max(v)),
        "rational",
    ),
    Case(
        "maxpool(x, 3, stride=1, padding=1)",
        {"x": (2, 3, 3)},
        lambda x: pool(x, [3, 3], [1, 1], [1, 1], lambda v, n: max(v)),
        "rational",
    ),
    Case(
        "maxpool(x, (3,), stride=2)",
        {"x": (2, 7)},
        lambda x: pool(x, [3], [2], [0], lambda v, n: max(v)),
        "rational",
    ),
    Case("avgpool(x, 2)", {"x": (5,)}, lambda x: pool(x, [2], [2], [0], average)),
    Case(
        "avgpool(x, (2, 3), stride=(1, 2), padding=1)",
        {"x": (2, 3, 4)},
        lambda x: pool(x, [2, 3], [1, 2], [1, 1], average),
    ),
]


def label(case: Case) -> str:
    return f"{case.formula} {case.declared or list(case.shapes.values())}"


every_case = pytest.mark.parametrize("case", CASES, ids=label)


# Numbers of all kinds.


def listed(value: Any) -> Any:
    """An array as the nested lists that users give for exactness."""
    return value.tolist() if np.ndim(value) else value[()] if hasattr(value, "dtype") else value


def digits(value: Any) -> Any:
    """Any number or array with 60 digits."""
    if isinstance(value, np.ndarray):
        return each(digits, value)
    if hasattr(value, "_mpf_"):
        return DIGITS.mpf(value)
    if hasattr(value, "evalf"):
        return DIGITS.mpf(str(value.evalf(60)))
    exact = Fraction(int(value) if isinstance(value, np.integer) else value)
    return DIGITS.mpf(exact.numerator) / exact.denominator


def working(case: Case) -> tuple[Mapping[str, Any], bool]:
    """The point in the numbers the case is checked with, and whether these are exact."""
    exact = case.kind == "polynomial"
    return {k: v if exact else digits(v) for k, v in case.point().items()}, exact


def given(point: Mapping[str, Any]) -> dict[str, Any]:
    return {name: listed(value) for name, value in point.items()}


def same(found: Any, wanted: Any, exact: bool, within: Any = 1e-45) -> None:
    """Both arrays are equal: exactly, or to so many digits."""
    found, wanted = np.asarray(found, dtype=object), np.asarray(wanted, dtype=object)
    assert found.shape == wanted.shape
    for a, b in zip(found.flat, wanted.flat, strict=True):
        if exact:
            assert Fraction(str(a)) == b
        else:
            assert abs(digits(a) - digits(b)) <= within * (1 + abs(digits(b)))


def numbers(chance: random.Random, shape: Shape) -> Any:
    result = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        result[index] = chance.choice([-3, -2, -1, 1, 2, 3])
    return result


def inner(a: Any, b: Any) -> Any:
    return sum(
        (x * y for x, y in zip(np.asarray(a).flat, np.asarray(b).flat, strict=True)), Fraction(0)
    )


def slope(case: Case, point: Mapping[str, Any], along: Mapping[str, Any], exact: bool) -> Any:
    """The derivative of the brute force along a direction, by differences."""

    def at(step: Any) -> Any:
        return case.reference(**{k: v + step * along[k] for k, v in point.items()})

    if exact:  # this formula is exact up to degree 4
        return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) * Fraction(1, 12)
    return (at(STEP) - at(-STEP)) / (2 * STEP)


# The tests.


def test_every_operation_and_every_layer_has_a_case():
    used = {op for case in CASES for op in gc.parse(case.text()).ops}
    # of derivatives and of programs alone: tests/table/test_only_made.py
    assert used >= set(OPERATIONS) - {"winner", "accumulate"}
    text = " ".join(case.formula for case in CASES)
    assert not [name for name in COMPOSED if name != "[]" and f"{name}(" not in text]


@every_case
def test_value(case):
    graph = gc.parse(case.text())
    point = case.point()
    if case.kind in ("polynomial", "rational"):
        found = graph.values(given(point))["y"]
        same(found, case.reference(**point), exact=True)
    precise = case.reference(**{k: digits(v) for k, v in point.items()})
    same(graph.values(given({k: digits(v) for k, v in point.items()}))["y"], precise, exact=False)
    rough = graph.values({k: np.array(v, dtype=float) for k, v in point.items()})["y"]
    wanted = np.array(each(float, precise), dtype=float)
    assert np.shape(rough) == wanted.shape
    np.testing.assert_allclose(rough, wanted, rtol=1e-12, atol=1e-12)
    named = any(isinstance(size, str) for size in graph["y"].shape)
    assert named or graph["y"].shape == wanted.shape


@every_case
def test_adjointness_of_every_edge(case):
    point, exact = working(case)
    chance = random.Random(7)
    for graph in (gc.parse(case.text()), gc.parse(case.text()).expand()):
        values = graph.values(given(point))
        for source, target in set(graph.edges()):
            local = graph.local(source, target, given(point))
            v, w = (numbers(chance, np.shape(values[name])) for name in (source, target))
            if not np.ndim(values[source]) and not np.ndim(values[target]):
                continue  # a number is its own transpose
            pushed, pulled = local.push(listed(v)), local.pull(listed(w))
            assert np.shape(pushed) == np.shape(values[target])
            assert np.shape(pulled) == np.shape(values[source])
            same(inner(w, pushed), inner(pulled, v), exact)


@every_case
def test_reverse_forward_jacobian_and_differences_agree(case):
    point, exact = working(case)
    graph, at = gc.parse(case.text()), given(point)
    chance = random.Random(11)
    wanted = case.reference(**point)
    along = {name: numbers(chance, value.shape) for name, value in point.items()}
    seed = numbers(chance, np.shape(wanted))
    differences = slope(case, point, along, exact)
    within = 1e-20

    pushed = graph.forward(given(along), at)["y"]
    same(pushed, differences, exact, within)

    pulled = graph.reverse({"y": listed(seed)}, at)
    assert {name: np.shape(pulled[name]) for name in point} == {
        name: value.shape for name, value in point.items()
    }
    total = sum(inner(pulled[name], along[name]) for name in point)
    same(total, inner(seed, differences), exact, within)

    rows = np.zeros(np.shape(wanted), dtype=object)
    for name, value in point.items():
        matrix = np.asarray(graph.jacobian("y", name, at), dtype=object)
        assert matrix.shape == np.shape(wanted) + value.shape
        rows = rows + np.tensordot(matrix, along[name], axes=value.ndim)
        column = np.tensordot(seed, matrix, axes=np.ndim(wanted))
        same(column, pulled[name], exact)
    same(rows, pushed, exact)


@every_case
def test_floats_agree_and_so_does_the_derivative_as_a_graph(case):
    point = case.point()
    text = f"{case.text()}L = sum(y*y)\noutput L\n"
    graph = gc.parse(text)
    at = {name: np.array(value, dtype=float) for name, value in point.items()}
    backward = graph.reverse("L", at)
    precise = graph.reverse("L", given({k: digits(v) for k, v in point.items()}))
    slopes = graph.differentiate("L", list(point))
    values = slopes.values(at)
    for name, output in zip(point, slopes.output_names, strict=True):
        wanted = np.array(each(float, precise[name]), dtype=float)
        np.testing.assert_allclose(backward[name], wanted, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(values[output], wanted, rtol=1e-11, atol=1e-11)
        assert np.asarray(backward[name]).dtype == np.float64


@every_case
def test_reads_back(case):
    graph = gc.parse(case.text())
    again = gc.parse(graph.to_text())
    assert again.to_text() == graph.to_text()
    at = given({name: digits(value) for name, value in case.point().items()})
    same(again.values(at)["y"], graph.values(at)["y"], exact=False)


# Ties and kinks.


def gradient(text: str, at: Mapping[str, Any], wrt: str = "x") -> Any:
    return gc.parse(text).reverse("y", at)[wrt].tolist()


IN_LISTS_AND_ARRAYS = pytest.mark.parametrize("kind", [list, lambda v: np.array(v, dtype=float)])


@IN_LISTS_AND_ARRAYS
def test_the_first_largest_element_wins(kind):
    at = {"x": kind([[1, 3, 3], [3, 2, 2]])}
    with pytest.warns(gc.KinkWarning, match="'y'"):
        assert gradient("input x[2, 3]\ny = max(x)", at) == [[0, 1, 0], [0, 0, 0]]
    with pytest.warns(gc.KinkWarning):
        found = gradient("input x[2, 3]\ny = sum(max(x, axis=1))", at)
    assert found == [[0, 1, 0], [1, 0, 0]]
    with pytest.warns(gc.KinkWarning):
        found = gradient("input x[2, 3]\ny = sum(min(x, axis=1))", at)
    assert found == [[1, 0, 0], [0, 1, 0]]


@IN_LISTS_AND_ARRAYS
def test_ties_may_be_shared_or_refused(kind):
    at = {"x": kind([3, 1, 3])}
    with pytest.warns(gc.KinkWarning):
        assert gradient("input x[3]\ny = max(x, kink='share')", at) == [HALF, 0, HALF]
    with pytest.raises(gc.GraphcError, match="kink='error'"):
        gradient("input x[3]\ny = max(x, kink='error')", at)
    with pytest.raises(gc.GraphcError, match="must be 'share' or 'error'"):
        gc.parse("input x[3]\ny = max(x, kink='left')")


@IN_LISTS_AND_ARRAYS
def test_overlapping_windows_with_ties(kind):
    at = {"x": kind([[1, 1, 0], [1, 1, 0], [0, 0, 0]])}
    with pytest.warns(gc.KinkWarning):
        found = gradient("input x[3, 3]\ny = sum(maxpool(x, 2, stride=1))", at)
    assert found == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    with pytest.warns(gc.KinkWarning):
        found = gradient("input x[3, 3]\ny = sum(maxpool(x, 2, stride=1, kink='share'))", at)
    assert found == [
        [Fraction(1, 4), Fraction(3, 4), 0],
        [Fraction(3, 4), Fraction(9, 4), 0],
        [0] * 3,
    ]


@IN_LISTS_AND_ARRAYS
def test_padding_never_wins(kind):
    """Not even where every element is negative, equal and the smallest of all."""
    text = "input x[2, 2]\ny = sum(maxpool(x, 2, stride=2, padding=1))"
    at = {"x": kind([[-7, -7], [-7, -9]])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # each window holds one element: no ties
        assert gc.parse(text).values(at)["y"] == -30
        assert gradient(text, at) == [[1, 1], [1, 1]]


def test_padding_keeps_small_differences():
    text = "input x[2]\ny = sum(maxpool(x, 2, stride=1, padding=1))"
    assert gradient(text, {"x": np.array([1e-20, -1e17])}) == [2.0, 1.0]


# Where no finite derivative is, and where one is.


@IN_LISTS_AND_ARRAYS
def test_norm_at_0(kind):
    graph = gc.parse("input x[3]\ny = norm(x)")
    assert graph.values({"x": kind([0, 0, 0])})["y"] == 0
    assert graph.reverse("y", {"x": kind([0, 0, 0])})["x"].tolist() == [0, 0, 0]
    slopes = graph.differentiate("y", ["x"])
    assert slopes.values({"x": kind([0, 0, 0])})["x_bar"].tolist() == [0, 0, 0]
    with pytest.warns(gc.NotFiniteWarning):  # the naive formula
        naive = gradient("input x[3]\ny = sqrt(sum(x**2))", {"x": np.zeros(3)})
    assert np.isnan(naive).all()


def test_norm_at_0_of_some_rows():
    at = {"x": [[0, 0], [3, 4]]}
    found = gradient("input x[2, 2]\ny = sum(norm(x, axis=1))", at)
    assert found == [[0, 0], [Fraction(3, 5), Fraction(4, 5)]]


def test_sqrt_at_0_is_told():
    text = "input x[3]\ny = sum(sqrt(x))"
    with pytest.warns(gc.NotFiniteWarning, match="d y / d x"):
        assert gradient(text, {"x": np.array([0.0, 1, 4])}) == [math.inf, 0.5, 0.25]
    with pytest.raises(gc.GraphcError, match="d y / d x is not a finite real number"):
        gradient(text, {"x": [0, 1, 4]})


@pytest.mark.parametrize("formula", ["sum(inv(x))", "sum(solve(x, [1, 2]))", "logdet(x)"])
def test_a_singular_matrix_is_told(formula):
    graph = gc.parse(f"input x[2, 2]\ny = {formula}")
    with pytest.raises(gc.GraphcError, match=r"'y'.*not a finite real number"):
        graph.values({"x": [[1, 2], [2, 4]]})
    with pytest.warns(gc.NotFiniteWarning):
        assert not np.isfinite(graph.values({"x": np.array([[1.0, 2], [2, 4]])})["y"])


def test_matrix_functions_are_exact():
    at = {"A": [[2, 1], ["1/2", 3]], "b": [1, 2]}
    graph = gc.parse(
        "input A[2, 2] b[2]\nB = inv(A)\nd = det(A)\nl = logdet(A)\ns = solve(A, b)\noutput l"
    )
    values = graph.values(at)
    assert values["d"] == Fraction(11, 2)
    assert values["B"].tolist() == [
        [Fraction(6, 11), Fraction(-2, 11)],
        [Fraction(-1, 11), Fraction(4, 11)],
    ]
    assert values["s"].tolist() == [Fraction(2, 11), Fraction(7, 11)]
    assert str(values["l"]) == "log(11/2)"
    assert graph.reverse("l", at)["A"].tolist() == values["B"].T.tolist()


BRANCHES = [
    ("where(x > 0, log(x), 0)", [0, HALF, 0, 1]),
    ("where(x > 0, sqrt(x), x**2)", [-2, HALF / math.sqrt(2), -6, HALF]),
    ("where(x > 0, 1/where(x > 0, x, 0), 0)", [0, -Fraction(1, 4), 0, -1]),
    ("where(x < 0, 0, x*log(x))", [0, 1 + math.log(2), 0, 1]),
]


@IN_LISTS_AND_ARRAYS
@pytest.mark.parametrize("formula, wanted", BRANCHES)
def test_the_branch_not_taken_leaves_nothing(formula, wanted, kind):
    graph = gc.parse(f"input x[4]\ny = sum({formula})\n")
    at = {"x": kind([-1, 2, -3, 1])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isfinite(graph.values(at)["y"])
        for found in (
            graph.reverse("y", at)["x"],
            graph.jacobian("y", "x", at),
            graph.expand().reverse("y", at)["x"],
            graph.differentiate("y", ["x"]).values(at)["x_bar"],
            [graph.forward({"x": row}, at)["y"] for row in np.eye(4).astype(int).tolist()],
        ):
            np.testing.assert_allclose(np.array(found, dtype=float), np.array(wanted, dtype=float))


# Second derivatives.

SECOND = [
    ("sum(x**3)", (3,)),
    ("sum(exp(x)*x)", (2, 2)),
    ("norm(x)", (3,)),
    ("logsumexp(x)", (3,)),
    ("sum(softmax(x)**2)", (3,)),
    ("logdet(x.T @ x + diag([1, 2]))", (2, 2)),
    ("det(x)", (2, 2)),
    ("sum(inv(x))", (2, 2)),
    ("sum(solve(x, [1, 2])**2)", (2, 2)),
    ("x @ [[1, 2, 3], [4, 5, 6], [7, 8, 10]] @ x", (3,)),
    ("sum(conv1d(x, [1, 2])**2)", (3,)),
    ("softmax_cross_entropy(x @ [[1, 2], [0, 1]], [1/4, 3/4])", (2,)),
    ("sum(tanh(x[1:]*x[:-1])**2)", (3,)),
    ("var(x)*sum(sigmoid(x))", (3,)),
    ("sum(max(x, axis=1)**3)", (2, 2)),
    ("prod(x)", (3,)),
]
second = pytest.mark.parametrize("formula, shape", SECOND)


def second_point(shape: Shape) -> Any:
    numbers = iter(["7/5", "1/3", "-1/2", "9/8"])
    point = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        point[index] = digits(Fraction(next(numbers)))
    return point


@second
def test_hessian(formula, shape):
    graph = gc.parse(f"input x[{', '.join(map(str, shape))}]\ny = {formula}\n")
    point = second_point(shape)
    hessian = np.asarray(graph.hessian("y", "x", {"x": point.tolist()}), dtype=object)
    assert hessian.shape == shape + shape
    for index in np.ndindex(*shape):
        step = np.zeros(shape, dtype=object)
        step[index] = STEP
        ahead, behind = (
            graph.reverse("y", {"x": (point + s).tolist()})["x"] for s in (step, -step)
        )
        same(hessian[(..., *index)], (ahead - behind) / (2 * STEP), False, 1e-20)
    rough = graph.hessian("y", "x", {"x": point.astype(float)})
    np.testing.assert_allclose(
        np.asarray(rough, dtype=float), hessian.astype(float), rtol=1e-9, atol=1e-9
    )


@second
def test_hessian_vector_product_and_gradient_of_a_gradient_norm(formula, shape):
    graph = gc.parse(f"input x[{', '.join(map(str, shape))}]\ny = {formula}\n")
    at = {"x": second_point(shape).tolist()}
    along = numbers(random.Random(3), shape)
    hessian = np.asarray(graph.hessian("y", "x", at), dtype=object)
    slopes = graph.differentiate("y", ["x"])
    product = slopes.forward({"x": along.tolist()}, at)["x_bar"]
    same(product, np.tensordot(hessian, along, axes=len(shape)), False)
    same(slopes.reverse({"x_bar": along.tolist()}, at)["x"], product, False)
    slopes.node("s", "norm(x_bar)")
    slope = slopes.values(at)["x_bar"]
    wanted = np.tensordot(hessian, slope, axes=len(shape)) / slopes.values(at)["s"]
    same(slopes.reverse("s", at)["x"], wanted, False)


# Stable by construction; the naive formula fails beside it.


def naive_fails(text: str, at: Mapping[str, Any]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = gc.parse(text)
        results = [graph.values(at)["y"], graph.reverse("y", at)["x"]]
    return not all(np.isfinite(result).all() for result in results)


def precisely(formula: str, x: list[float], function: Callable[[Any, Any], Any]) -> None:
    """Value and gradient in floats against mpmath with enough digits for exp of all differences."""
    context = mpmath.MPContext()
    context.dps = 100 + int((max(x) - min(x)) / 2.3)
    graph = gc.parse(f"input x[{len(x)}]\ny = {formula}\n")
    at = {"x": np.array(x)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, slope = graph.values(at)["y"], graph.reverse("y", at)["x"]
        again = graph.differentiate("y", ["x"]).values(at)["x_bar"]
    exact = [context.mpf(v) for v in x]
    assert value == pytest.approx(float(function(context, exact)), rel=1e-15)
    for place in range(len(x)):
        step = [context.mpf(0)] * len(x)
        step[place] = context.mpf(10) ** -30
        ahead = function(context, [a + s for a, s in zip(exact, step, strict=True)])
        behind = function(context, [a - s for a, s in zip(exact, step, strict=True)])
        wanted = float((ahead - behind) / (2 * step[place]))
        assert slope[place] == pytest.approx(wanted, rel=1e-12, abs=1e-30)
        assert again[place] == pytest.approx(wanted, rel=1e-12, abs=1e-30)


@pytest.mark.parametrize("x", [[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4], [1e4, 1e4, 1e4]])
def test_softmax_cross_entropy_at_large_logits(x):
    def loss(context: Any, z: Any) -> Any:
        return context.log(sum(context.exp(v) for v in z)) - z[1]

    precisely("softmax_cross_entropy(x, onehot(1, 3))", x, loss)
    naive = "input x[3]\ny = -sum(onehot(1, 3)*log(exp(x)/sum(exp(x))))"
    assert naive_fails(naive, {"x": np.array(x)})


def test_logsumexp_of_large_numbers():
    def total(context: Any, z: Any) -> Any:
        return context.log(sum(context.exp(v) for v in z))

    for x in ([1e4, 1e4 - 1, -1e4], [-1e4, -1e4 - 2]):
        precisely("logsumexp(x)", x, total)
        naive = f"input x[{len(x)}]\ny = log(sum(exp(x)))"
        assert naive_fails(naive, {"x": np.array(x)})


def test_log_sigmoid_far_out():
    def total(context: Any, z: Any) -> Any:
        return sum(-context.log(1 + context.exp(-v)) for v in z)

    precisely("sum(log_sigmoid(x))", [800.0, -800.0, 0.5], total)
    naive = "input x[2]\ny = sum(log(1/(1 + exp(-x))))"
    assert naive_fails(naive, {"x": np.array([800.0, -800.0])})


def test_a_jacobian_of_one_element_by_an_array_of_two_named_sizes():
    graph = gc.parse("param B[3]\ninput y[n,m]\nh = max(B, keepdims=True)\nL = sum(h)*sum(y)")
    at = {"B": np.array([1.0, 3.0, 2.0]), "y": np.ones((2, 3))}
    none = graph.jacobian("h", "y", at)
    assert none.shape == (1, 2, 3) and not none.any()
    assert np.array_equal(graph.jacobian("h", "B", at), [[0.0, 1.0, 0.0]])


def test_the_inverse_of_a_diagonal_matrix_is_not_taken_for_that_of_a_transpose():
    graph = gc.parse("param x[3]\nL = det(diag(x))")
    x = np.array([1.0, 2.0, 3.0])
    assert np.allclose(graph.compile("L", want="grad")(x)["x"], [6, 3, 2])


def test_a_matrix_of_second_derivatives_by_an_empty_array_too():
    graph = gc.parse("input x[2]\ninput y[0,3]\nL = sum(x**2) + sum(y)")
    at = {"x": np.array([1.0, 2.0]), "y": np.zeros((0, 3))}
    assert np.array_equal(graph.hessian("L", ["x", "y"], at).astype(float), 2 * np.eye(2))


@pytest.mark.parametrize("formula", ["dot(x, y)", "outer(x, y)", "einsum(',->', x, y)", "(x*y).T"])
def test_products_of_scalars_are_products(formula):
    for more in ("", " v[2]"):
        g = gc.parse(f"input x y{more}\nL = {formula}")
        assert g.to_text().splitlines()[1].removeprefix("L = ") == "x*y"
        assert str(g.derivative("L", "x")) == "y"
        at = {"x": 2.0, "y": 3.0} | ({"v": np.ones(2)} if more else {})
        assert g.reverse("L", at)["x"] == 3
        assert g.compile("L", ["x", "y"])(**at) == (6, {"x": 3, "y": 2})


def test_three_scalars_and_the_transpose_of_one():
    g = gc.parse("input x y z\nL = einsum(',,->', x, y, z) + x.T")
    assert g.compile("L", ["x", "y", "z"])(x=2.0, y=3.0, z=4.0) == (26, {"x": 13, "y": 8, "z": 6})


@pytest.mark.parametrize("mode", ["auto", "reverse", "forward", "paths"])
def test_the_derivative_of_one_element_keeps_its_axes(mode):
    g = gc.parse("input x[3]\nh = x[0:1]**2\nL = reshape(h, (1, 1))\noutput L")
    at = {"x": [3, 1, 2]}
    assert g.derivative("h", "x", at, mode=mode).tolist() == [[6, 0, 0]]
    assert g.derivative("L", "x", at, mode=mode).tolist() == [[[6, 0, 0]]]
    assert g.derivative("L", "h", at, mode=mode).tolist() == [[[1]]]
    assert g.derivative("h", "x", mode=mode).shape == (1, 3)
    assert g.reverse("h", at)["x"].tolist() == [6, 0, 0]  # an adjoint has the shape of its node


def test_a_long_anonymous_recurrence_with_slices_is_traced():
    """A name for messages is not written out before there is a message: its text is 3**n long."""

    def heat(u, steps):
        for _ in range(steps):
            u = u + gc.pad(u[2:] - 2 * u[1:-1] + u[:-2], 1) / 4
        return u

    g = gc.graph(lambda u: gc.sum(heat(u, 40) ** 2), shapes={"u": (8,)})
    value, grads = g.compile(wrt="u")(np.eye(8)[3])
    plain = np.eye(8)
    for _ in range(40):
        plain[1:-1] += (plain[2:] - 2 * plain[1:-1] + plain[:-2]) / 4
    assert np.allclose(value, plain[:, 3] @ plain[:, 3])
    assert np.allclose(grads["u"], 2 * plain[:, 3] @ plain)
