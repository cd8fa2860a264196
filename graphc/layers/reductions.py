"""Sums, means, products, extremes and norms over axes or of several values, and softmax."""

from __future__ import annotations

import functools
import math
from typing import Any

from ..errors import GraphcError
from ..shapes import LETTERS, axes_of, axis_of, concrete
from ..table.functions import maximum, minimum
from ..table.places import Places
from ..table.value import Value
from .calling import layer, stated
from .linear import contract
from .selections import pick, stack

MOST_FACTORS = 10_000  # of a product, which is a row for each


def _kept(x: Value, reduced: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """The reduced value, with axes of size 1 where it was reduced if asked for."""
    if not keepdims or not axes:
        return reduced
    letters = LETTERS[: len(x.shape)]
    gone = "".join(letters[axis] for axis in axes)
    kept = "".join(letter for letter in letters if letter not in gone)
    return contract(f"{kept}->{letters}", reduced, **dict.fromkeys(gone, 1))


def _terms(name: str, terms: tuple[Any, ...], axis: Any, keepdims: bool) -> tuple[Value, ...]:
    """One array to reduce, or several values, which have no axis between them."""
    if len(terms) == 1 and isinstance(terms[0], list):
        terms = tuple(terms[0])
    if not terms:
        raise GraphcError(f"{name} of nothing: give it at least one term")
    if len(terms) > 1 and (axis is not None or keepdims):
        raise GraphcError(f"{name} of several values has no axis; stack([a, b]) makes one of them")
    return terms


def _array(name: str, terms: tuple[Any, ...], axis: Any, keepdims: bool) -> Value:
    """The one array to reduce; several scalars are its elements."""
    terms = _terms(name, terms, axis, keepdims)
    if len(terms) > 1 and any(term.shape for term in terms):
        raise GraphcError(f"{name} takes one array or several scalars, but {stated(*terms)}")
    found: Value = terms[0] if len(terms) == 1 else stack(list(terms))
    return found


def _nonempty(name: str, x: Value, axes: tuple[int, ...]) -> None:
    if any(x.shape[axis] == 0 for axis in axes):
        raise GraphcError(f"{name} of nothing: {stated(x)}")


def _sum(x: Value, axes: tuple[int, ...]) -> Value:
    letters = LETTERS[: len(x.shape)]
    gone = {letters[axis] for axis in axes}
    kept = "".join(letter for letter in letters if letter not in gone)
    return contract(f"{letters}->{kept}", x)


@layer(None, second="axis", natural=True)
def sum_(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The sum over all elements, over axes, or of several values."""
    x, *others = _terms("sum", terms, axis, keepdims)
    if others:
        return functools.reduce(lambda a, b: a + b, others, x)
    axes = axes_of(axis, x.shape, "sum")
    return _kept(x, _sum(x, axes), axes, keepdims) if axes else x


def _count(x: Value, axes: tuple[int, ...]) -> Any:
    """The number of elements a reduction runs over: a number, or a value if sizes are named."""
    total: Any = math.prod(size for axis in axes if isinstance(size := x.shape[axis], int))
    for axis in axes:
        if isinstance(x.shape[axis], str):
            named = Value(x.graph, x.graph.append("size", size=x.shape[axis]))
            total = named if isinstance(total, int) and total == 1 else named * total
    return total


@layer(None, second="axis")
def mean(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The mean over all elements, over axes, or of several values."""
    x, *others = _terms("mean", terms, axis, keepdims)
    if others:
        return functools.reduce(lambda a, b: a + b, others, x) / (1 + len(others))
    axes = axes_of(axis, x.shape, "mean")
    _nonempty("mean", x, axes)
    return _kept(x, _sum(x, axes), axes, keepdims) / _count(x, axes) if axes else x


@layer(None, second="axis")
def var(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The mean squared distance from the mean, over all elements, over axes, or of scalars."""
    x = _array("var", terms, axis, keepdims)
    centred = x - mean(x, axis=axis, keepdims=True)
    spread: Value = mean(centred**2, axis=axis, keepdims=keepdims)
    return spread


@layer(None, second="axis")
def prod(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The product over all elements, over axes, or of several values."""
    x, *others = _terms("prod", terms, axis, keepdims)
    result = functools.reduce(lambda a, b: a * b, others, x)
    axes = () if others else axes_of(axis, x.shape, "prod")
    sizes = concrete((x.shape[place] for place in axes), "prod")
    if sum(sizes) > MOST_FACTORS:
        raise GraphcError(
            f"prod: {stated(x)}; a product of {sum(sizes)} elements has over {MOST_FACTORS} "
            "factors; use exp(sum(log(x)))"
        )
    for place, size in zip(axes, sizes, strict=True):  # from the end: the others stay in place
        if size == 0:
            result = 1 + _sum(result, (place,))  # of nothing: 1, and the edge stays
        else:
            picked = [pick(result, place, Places(i)) for i in range(size)]
            result = functools.reduce(lambda a, b: a * b, picked)
    return _kept(x, result, axes, keepdims)


def _largest(name: str, terms: Any, axis: Any, keepdims: bool, kink: Any, sign: int) -> Value:
    """The largest element, or with sign -1 the smallest."""
    settings = {} if kink is None else {"kink": kink}
    x, *others = _terms(name, terms, axis, keepdims)
    if others:
        chosen: Value = (maximum if sign > 0 else minimum)(x, *others, **settings)
        return chosen
    axes = axes_of(axis, x.shape, name)
    if not axes:
        return x
    if kink not in (None, "share", "error"):
        raise GraphcError(f"{name} over axes: kink={kink!r} must be 'share' or 'error'")
    _nonempty(name, x, axes)
    found = x.graph.tensor("largest", (x if sign > 0 else -x,), {"axes": axes, **settings})
    return _kept(x, found if sign > 0 else -found, axes, keepdims)


@layer(None, second="unclear")
def max_(*terms: Any, axis: Any = None, keepdims: bool = False, kink: Any = None) -> Value:
    """The largest element over all, over axes, or of several values element by element."""
    return _largest("max", terms, axis, keepdims, kink, 1)


@layer(None, second="unclear")
def min_(*terms: Any, axis: Any = None, keepdims: bool = False, kink: Any = None) -> Value:
    """The smallest element over all, over axes, or of several values element by element."""
    return _largest("min", terms, axis, keepdims, kink, -1)


@layer()
def winner(x: Value, *, axis: Any = None, kink: Any = None) -> Value:
    """1 at the first largest element over all or over axes, 0 elsewhere; "share": equal shares."""
    axes = axes_of(axis, x.shape, "winner")
    if kink not in (None, "share", "error"):
        raise GraphcError(f"winner: kink={kink!r} must be 'share' or 'error'")
    _nonempty("winner", x, axes)
    settings = {} if kink is None else {"kink": kink}
    return x.graph.tensor("winner", (x,), {"axes": axes, **settings})


@layer(None, second="axis")
def norm(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The square root of the sum of squares; its slope at 0 is 0."""
    x = _array("norm", terms, axis, keepdims)
    axes = axes_of(axis, x.shape, "norm")
    if not axes:
        return abs(x)
    return _kept(x, x.graph.tensor("norm", (x,), {"axes": axes}), axes, keepdims)


@layer(None, second="axis")
def logsumexp(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """log(sum(exp(x))), computed without overflow."""
    x = _array("logsumexp", terms, axis, keepdims)
    axes = axes_of(axis, x.shape, "logsumexp")
    if not axes:
        return x
    _nonempty("logsumexp", x, axes)
    return _kept(x, x.graph.tensor("logsumexp", (x,), {"axes": axes}), axes, keepdims)


@layer(second="axis")
def softmax(x: Value, *, axis: int = -1) -> Value:
    """exp(x) / sum(exp(x)) along an axis."""
    axes = (axis_of(axis, x.shape, "softmax"),)
    _nonempty("softmax", x, axes)
    return x.graph.tensor("softmax", (x,), {"axes": axes})


@layer(second="axis")
def log_softmax(x: Value, *, axis: int = -1) -> Value:
    """log(softmax(x)), computed without underflow."""
    axis = axis_of(axis, x.shape, "log_softmax")
    total: Value = logsumexp(x, axis=axis, keepdims=True)
    return x - total
