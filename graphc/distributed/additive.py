"""Whether a loss over rows is a sum or a mean over them: chunks can be added then, or weighted.

It is a property of the formula, so it is tried at points without pattern: what all rows give has to
follow from what their parts give. What is the same for no row at all, such as a penalty on the
parameters, is the constant part of a sum; a mean may have one too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from ..errors import GraphcError
from ..program.points import SIZES, candidates
from ..program.shipping import Shipment
from .worker import flattener

ROWS = 5
PARTS = (2, 1)  # rows of the first part; the rest is the second
TRIED = 3  # points
TOLERANCE = 1e-9
flat = flattener()


def combined_by(
    sent: Shipment, size: str, axes: Mapping[int, int], real: Callable[[], list[Any]]
) -> tuple[str, bool]:
    """("sum" or "mean", whether it has a constant part), or an error if it is neither.

    `axes` tells along which axis of which argument the rows lie; `real` gives arguments of a few
    rows, for formulas that are not finite at any other point.
    """
    found: set[tuple[str, bool]] = set()
    tried = (_kind(sent, axes, at) for at in chain(_points(sent, size), (real() for _ in "1")))
    for kind in islice((kind for kind in tried if kind is not None), TRIED):
        if not kind[0]:
            raise GraphcError(
                f"{' and '.join(sent.task.asked.of)} is neither a sum nor a mean over the rows "
                f"({size}): what chunks of rows give does not tell what all rows give; reduce "
                "needs a loss such as sum(...) or mean(...) of one term for each row"
            )
        found.add(kind)
    if not found:
        raise GraphcError(
            f"{' and '.join(sent.task.asked.of)} is not finite at any point that was tried, the "
            "first rows of the data among them; give other rows or params"
        )
    kinds = {kind for kind, _ in found}
    return kinds.pop(), any(constant for _, constant in found)


def at_no_rows(sent: Shipment, axes: Mapping[int, int], at: Sequence[Any]) -> list[Any] | None:
    """The results without any row: the constant part of a sum; None if there is no such thing."""
    return _results(sent, axes, at, slice(0, 0))


def _points(sent: Shipment, size: str) -> Iterator[list[Any]]:
    """Arguments of a few rows, each without pattern."""
    one = sent.task
    named = sorted({s for row in one.arguments for s in one.graph.shape(row) if isinstance(s, str)})
    sizes = {name: SIZES[i % len(SIZES)] for i, name in enumerate(named)} | {size: ROWS}
    shapes = {
        row: tuple(s if isinstance(s, int) else sizes[s] for s in one.graph.shape(row))
        for row in one.arguments
    }
    for at in candidates(one.graph, one.arguments, shapes):
        yield [at[row].value for row in one.arguments]


def _kind(sent: Shipment, axes: Mapping[int, int], at: Sequence[Any]) -> tuple[str, bool] | None:
    """How the results at a point are made of those of its parts; None if they are not finite."""
    every = _results(sent, axes, at, slice(None))
    if every is None:
        return None
    nothing = at_no_rows(sent, axes, at)
    base = [np.zeros(())] * len(every) if nothing is None else nothing
    rows = next(np.shape(at[place])[axis] for place, axis in axes.items())
    adds, weighs = True, True
    for count in PARTS:
        first = _results(sent, axes, at, slice(0, count))
        second = _results(sent, axes, at, slice(count, None))
        if first is None or second is None:
            return None
        share = count / rows
        for whole, a, b, c in zip(every, first, second, base, strict=True):
            close = TOLERANCE * (np.abs(whole) + np.abs(a) + np.abs(b) + np.abs(c)).max(initial=0.0)
            adds = adds and bool((np.abs(a + b - c - whole) <= close).all())
            weighs = weighs and bool((np.abs(share * a + (1 - share) * b - whole) <= close).all())
    if adds:  # what is both does not depend on the rows: a sum with nothing but a constant part
        return "sum", any(part.any() for part in base)
    return ("mean", False) if weighs else ("", False)


def _results(
    sent: Shipment, axes: Mapping[int, int], at: Sequence[Any], rows: slice
) -> list[Any] | None:
    """The results at some of the rows; None if they are not finite."""
    given = list(at)
    for place, axis in axes.items():
        given[place] = np.asarray(at[place])[(slice(None),) * axis + (rows,)]
    try:
        with np.errstate(all="ignore"):
            found = [np.asarray(part, dtype=float) for part in flat(sent.function(*given))]
    except (ValueError, ArithmeticError):
        return None
    return found if all(np.isfinite(part).all() for part in found) else None
