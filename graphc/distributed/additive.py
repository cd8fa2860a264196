"""Whether a loss over rows is a sum or a mean over them: chunks can be added then, or weighted.

It is a property of the formula, so it is tried at points without pattern, small and large: what all
rows give has to follow from what their parts give, at each of them. What is the same for no row at
all, such as a penalty on the parameters, is the constant part of a sum; a mean may have one too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..errors import GraphcError
from ..program.points import SIZES, candidates
from ..program.shipping import Shipment
from .worker import flattener

ROWS = 5
PARTS = (2, 1)  # rows of the first part; the rest is the second
SCALES = (1.0, 1e3, 1e6)  # of the points: a threshold in the formula may lie between them
TRIED = 3  # points of each scale
TOLERANCE = 1e-9
STEP = 1e-15  # of an argument, relatively: what it changes is rounding
ROUNDING = 1e3  # times that is forgiven
BOTH = frozenset(("sum", "mean"))
Kind = tuple[frozenset[str], bool]  # what it may be, whether it has a constant part as a sum
flat = flattener()


def combined_by(
    sent: Shipment, size: str, axes: Mapping[int, int], real: Callable[[], list[Any]]
) -> tuple[str, bool]:
    """("sum" or "mean", whether it has a constant part), or an error if it is neither.

    `axes` tells along which axis of which argument the rows lie; `real` gives arguments of a few
    rows, for formulas that tell nothing at any other point.
    """
    asked = " and ".join(sent.task.asked.of)
    found: list[Kind] = []
    for scale in SCALES:
        found += islice(_kinds(sent, axes, _points(sent, size, scale)), TRIED)
    possible = BOTH.intersection(*(kinds for kinds, _ in found))
    if possible == BOTH:
        found += _kinds(sent, axes, [real()])
        possible = possible.intersection(*(kinds for kinds, _ in found))
    if not found:
        raise GraphcError(
            f"{asked} is not finite at any point that was tried, the first rows of the data among "
            "them; give other rows or params"
        )
    if not possible:
        raise GraphcError(
            f"{asked} is neither a sum nor a mean over the rows ({size}): what chunks of rows give "
            "does not tell what all rows give; reduce needs a loss such as sum(...) or mean(...) "
            "of one term for each row"
        )
    one = sent.task
    if possible == BOTH and any(one.arguments[place] in one.needed for place in axes):
        raise GraphcError(
            f"{asked} is the same for all rows ({size}) at every point that was tried, the first "
            "rows of the data among them, so that a sum is not to be told from a mean; give other "
            "rows first, or other params"
        )
    if "sum" in possible:  # what is both has nothing but a constant part
        return "sum", any(constant for _, constant in found)
    return "mean", False


def at_no_rows(sent: Shipment, axes: Mapping[int, int], at: Sequence[Any]) -> list[Any] | None:
    """The results without any row: the constant part of a sum; None if there is no such thing."""
    return _results(sent, axes, at, slice(0, 0))


def _points(sent: Shipment, size: str, scale: float) -> Iterator[list[Any]]:
    """Arguments of a few rows, each without pattern."""
    one = sent.task
    named = sorted({s for row in one.arguments for s in one.graph.shape(row) if isinstance(s, str)})
    sizes = {name: SIZES[i % len(SIZES)] for i, name in enumerate(named)} | {size: ROWS}
    shapes = {
        row: tuple(s if isinstance(s, int) else sizes[s] for s in one.graph.shape(row))
        for row in one.arguments
    }
    for at in candidates(one.graph, one.arguments, shapes):
        yield [scale * at[row].value for row in one.arguments]


def _kinds(
    sent: Shipment, axes: Mapping[int, int], points: Iterable[Sequence[Any]]
) -> Iterator[Kind]:
    """How the results at each point may be made of those of its parts, where they are finite."""
    for at in points:
        kind = _kind(sent, axes, at)
        if kind is not None:
            yield kind


def _kind(sent: Shipment, axes: Mapping[int, int], at: Sequence[Any]) -> Kind | None:
    every = _results(sent, axes, at, slice(None))
    moved = _results(sent, axes, [(1 + STEP) * np.asarray(value) for value in at], slice(None))
    if every is None or moved is None:
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
        for whole, near, a, b, c in zip(every, moved, first, second, base, strict=True):
            size = np.abs(whole) + np.abs(a) + np.abs(b) + np.abs(c)
            close = (TOLERANCE * size + ROUNDING * np.abs(near - whole)).max(initial=0.0)
            adds = adds and bool((np.abs(a + b - c - whole) <= close).all())
            weighs = weighs and bool((np.abs(share * a + (1 - share) * b - whole) <= close).all())
    held = (("sum", adds), ("mean", weighs))
    return frozenset(kind for kind, holds in held if holds), any(part.any() for part in base)


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
