"""Difference schemes: slopes from values, each with an estimate of its error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

EPSILON = float(np.finfo(float).eps)
STEP = EPSILON**0.2  # balances the truncation and the rounding of five points
SHORT_STEP = 2 * EPSILON ** (1 / 3)  # and of three points
PAIR = np.array([-1.0, 1.0])
STENCIL = np.array([-2.0, -1.0, 1.0, 2.0])
SHRINK = 4.0  # from one step of Ridders to the next
FACTORS = [SHRINK ** (2 * order) for order in (1, 2, 3, 4)]  # what each order of errors shrinks by


@dataclass(frozen=True)
class Slope:
    """A measured slope and how far it may be off."""

    value: float
    error: float
    step: float = 0.0
    wide: Slope | None = None  # what wider steps agreed on, if shorter ones contradict it


def three_point(values: Any, step: Any, base: Any) -> tuple[Any, Any]:
    """(slope, rounding error) from the values at -h and h along the last axis."""
    below, above = values[..., 0], values[..., 1]
    size = np.maximum(np.abs(above), np.abs(base))
    return (above - below) / (2 * step), size * (EPSILON / step)


def five_point(values: Any, step: Any, base: Any) -> tuple[Any, Any]:
    """(slope, error) from the values at -2h, -h, h, 2h along the last axis."""
    below, near_below, near_above, above = (values[..., k] for k in range(4))
    inner = (near_above - near_below) / (2 * step)
    outer = (above - below) / (4 * step)
    size = np.maximum(np.maximum(np.abs(above), np.abs(below)), np.abs(base))
    # halving the step divides the error of `inner` by 4: what is left of it after extrapolation
    # is far below a thousandth wherever the function is smooth on the scale of the step
    return (4 * inner - outer) / 3, 1e-3 * np.abs(inner - outer) + 4 * EPSILON * size / step


def one_sided(values: Any, step: Any, base: Any) -> tuple[Any, Any]:
    """(slope, error) at 0 from the values at h, 2h, 3h (h may be negative)."""
    first, second, third = values
    cubic = (-11 * base + 18 * first - 9 * second + 2 * third) / (6 * step)
    square = (-3 * base + 4 * first - second) / (2 * step)
    size = max(abs(base), abs(first), abs(third))
    return cubic, 1e-2 * abs(cubic - square) + 16 * EPSILON * size / abs(step)


def ridders_widths(widest: float, steps: int = 13) -> Any:
    """Steps that shrink by 4, for `extrapolated`."""
    return widest * SHRINK ** -np.arange(steps)


def extrapolated(ahead: Any, behind: Any, widths: Any, noise: float) -> Slope | None:
    """The slope at 0 from values at widths that shrink by 4, on both sides; None: none is finite.

    Each row of the tableau is a central difference, extrapolated against the rows above it; the
    error is what extrapolation changed plus the noise of the values over the step. Wide steps that
    agree with each other do not count where shorter ones agree on something else.
    """
    with np.errstate(all="ignore"):
        quotients = (ahead - behind) / (2 * widths)
        floors = noise / widths
    last: list[float] = []  # the row above
    found: list[tuple[float, int, float]] = []
    steps = zip(quotients.tolist(), floors.tolist(), strict=True)
    for place, (quotient, floor) in enumerate(steps):
        if not math.isfinite(quotient):
            last = []
            continue
        row = [quotient]
        for older, factor in zip(last, FACTORS, strict=False):
            row.append((factor * row[-1] - older) / (factor - 1))
            # below some step the argument cannot be told from the point: nothing is measured
            error = max(abs(row[-1] - row[-2]), abs(row[-1] - older)) + floor
            found.append((error, place, row[-1]))
        last = row
    return trusted(found, quotients, floors, widths)


def trusted(
    found: list[tuple[float, int, float]], quotients: Any, floors: Any, widths: Any
) -> Slope | None:
    """The best of slopes (error, place, slope) that no shorter step contradicts."""
    wide: Slope | None = None
    for error, place, slope in sorted(found):
        beyond = _beyond(slope, error, quotients[place:], floors[place:])
        if beyond is not None:
            return Slope(slope, error + beyond, float(widths[place]), wide)
        wide = wide or Slope(slope, error, float(widths[place]))
    return None


def _beyond(slope: float, error: float, quotients: Any, floors: Any) -> float | None:
    """What shorter steps add to the error of a slope; None if they agree on another one."""
    with np.errstate(all="ignore"):
        apart = quotients - slope
        # where the step is short enough, the next one is off by a sixteenth
        room = 3 * error + 4 * abs(apart[0]) * SHRINK ** (-2.0 * np.arange(len(apart)))
        apart, room, floors = apart[1:], room[1:], floors[1:]
        distance = np.abs(apart)
        steady = np.abs(np.diff(apart)) <= 0.1 * distance[1:]
    against = (distance > room + 4 * floors)[1:] & steady
    if (against[1:] & against[:-1]).any():
        return None
    # one step far off, or two that lean the same way: a feature that noise half hides
    far = distance[(distance > room + 3 * floors) & np.isfinite(apart)]
    lean = (distance > room + 1.5 * floors) & np.isfinite(apart)
    both = lean[1:] & lean[:-1] & (np.sign(apart[1:]) == np.sign(apart[:-1]))
    pairs = np.minimum(distance[1:], distance[:-1])[both]
    return float(max(far.max(initial=0.0), pairs.max(initial=0.0)))


def representable(at: float, steps: Any, epsilon: float) -> Any:
    """The steps as they can be added to a number and taken from it without rounding; none is 0."""
    _, exponents = np.frexp(abs(at) + steps)
    units = np.maximum(np.ldexp(epsilon, exponents), 5e-324)
    rounded = np.round(steps / units) * units
    return rounded[rounded > 0]


def noise_level(values: Any) -> float:
    """The noise of a function, from its values at equally spaced, very near points.

    High differences of a smooth function vanish, those of noise grow by a known factor (the
    difference table of Hamming, in the form of More and Wild).
    """
    table = np.asarray(values, float)
    if len(table) < 4 or not np.isfinite(table).all():
        return 0.0
    size = float(np.abs(table).max()) or 1.0
    numbers = (table / size).tolist()  # squares of 1e200 overflow
    levels, factor = [], 1.0
    for order in range(1, min(len(table), 7)):
        numbers = [b - a for a, b in pairwise(numbers)]
        factor *= order / (2.0 * (2 * order - 1))
        levels.append(math.sqrt(factor * sum(x * x for x in numbers) / len(numbers)))
    return size * min(levels[2:5] or levels)
