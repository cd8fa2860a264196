"""Group testing: random directions judge all coordinates at once, halving finds the wrong ones.

Along a direction of +-1 every coordinate counts fully, so no single error can hide. The residual of
a group is the sum of those of its halves: one measurement splits it.
"""

from __future__ import annotations

import heapq
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .schemes import EPSILON, SHORT_STEP

DIRECTIONS = 4  # before, and after the last finding
ROUNDS = 8
WIDE_STEP = 0.03  # where the noise of the values hides more than SEEN at an ordinary step
SEEN = 1e-2  # of a usual derivative: a single error that has to be seen
CLAIMS = 16.0  # roundings of a claim that are no error


@dataclass
class Budget:
    """What a search may cost, and what it has cost."""

    evaluations: int | None = None
    seconds: float | None = None
    progress: bool = False
    used: int = 0
    start: float = field(default_factory=time.perf_counter)

    def spend(self, count: int) -> None:
        """Counts evaluations."""
        self.used += count

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        late = self.seconds is not None and time.perf_counter() - self.start > self.seconds
        return late or (self.evaluations is not None and self.used >= self.evaluations)

    def tell(self, text: str) -> None:
        """Shows progress, if it was asked for."""
        if self.progress:
            print(f"check: {text} ({self.used} evaluations)", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Direction:
    """The slope along one direction, claimed and measured."""

    direction: Any
    claimed: float
    measured: float
    error: float

    @property
    def is_clean(self) -> bool:
        """Whether both agree."""
        return abs(self.claimed - self.measured) <= 10 * self.error

    @property
    def bound(self) -> float:
        """The part of a single coordinate in this slope that could hide."""
        return 11 * self.error


@dataclass(frozen=True)
class Finding:
    """The outcome of a search."""

    wrong: list[int]
    directions: list[Direction]  # of the last round
    complete: bool
    usual: float  # the part of an ordinary coordinate in the slope along a direction


def search(
    value: Callable[[Any], float],
    claimed: Any,
    scale: Any,
    confirm: Callable[[int], float | None],
    budget: Budget,
    rng: Any = 0,
    noise: float = 0.0,
    epsilon: float = EPSILON,
    rounding: float = EPSILON,
    most: int = 16,
) -> Finding:
    """The wrong coordinates of a gradient.

    `value(offset)` is the function at the point plus an offset; `confirm(i)` returns the measured
    slope of a coordinate if its claim is wrong, else None. `epsilon` is the rounding of the values,
    `rounding` that of the claims.
    """
    generator = np.random.default_rng(rng)
    gradient = np.array(claimed, float)
    wrong: list[int] = []
    base = value(np.zeros_like(gradient))
    budget.spend(1)
    floor = max(noise, epsilon * abs(base))
    measured: list[Direction] = []
    parts = np.abs(gradient) * scale
    usual = float(np.sqrt(np.mean(parts**2))) or abs(base)

    def residual(direction: Any, step: float) -> tuple[float, float, float, float]:
        slope, error = central(direction, step), 4 * floor / step
        budget.spend(2)
        if step >= WIDE_STEP:
            wide = central(direction, 2 * step)
            budget.spend(2)
            slope, error = (4 * slope - wide) / 3, 2 * error + 1e-2 * abs(slope - wide)
        expected = float(gradient @ direction)
        error += 1e-7 * abs(expected)
        error += CLAIMS * rounding * float(np.linalg.norm(gradient * direction))
        return expected - slope, error, expected, slope

    def central(direction: Any, step: float) -> float:
        return (value(step * direction) - value(-step * direction)) / (2 * step)

    start = SHORT_STEP * (epsilon / EPSILON) ** (1 / 3)
    if 44 * floor / start > SEEN * usual:
        start = WIDE_STEP
    for _ in range(ROUNDS):
        measured, suspect = [], None
        for _ in range(DIRECTIONS):
            direction = generator.choice([-1.0, 1.0], gradient.size) * scale
            step = start
            off, error, expected, slope = residual(direction, step)
            for _ in range(3):  # a step across a kink measures another slope: shorten it
                if abs(off) <= 10 * error:
                    break
                shorter = residual(direction, step / 8)
                if 10 * shorter[1] >= abs(off):  # too short to tell
                    break
                step /= 8
                off, error, expected, slope = shorter
            measured.append(Direction(direction, expected, slope, error))
            if not abs(off) <= 10 * error:
                suspect = (off, error, direction, step)
                break
            if budget.spent:
                break
        if suspect is None or budget.spent or len(wrong) >= most:
            break
        found = _halve(residual, suspect, confirm, budget, most - len(wrong))
        if not found:
            break
        for place, slope in found:
            gradient[place] = slope
            wrong.append(place)
        budget.tell(f"{len(wrong)} wrong coordinates so far")
    clean = all(direction.is_clean for direction in measured)
    return Finding(sorted(wrong), measured, clean and not budget.spent, usual)


def _halve(
    residual: Callable[[Any, float], tuple[float, float, float, float]],
    suspect: tuple[float, float, Any, float],
    confirm: Callable[[int], float | None],
    budget: Budget,
    most: int,
) -> list[tuple[int, float]]:
    """[(coordinate, its measured slope)] of the wrong ones, largest residual first."""
    off, error, direction, step = suspect
    heap = [(-abs(off), 0, direction.size, off)]
    found: list[tuple[int, float]] = []
    tested = 0
    while heap and not budget.spent and len(found) < most:
        _, low, high, off = heapq.heappop(heap)
        if high - low == 1:
            slope = confirm(low)
            if slope is not None:
                found.append((low, slope))
            tested += 1
            if tested >= 3 and not found:
                break
            continue
        middle = (low + high) // 2
        half = np.zeros_like(direction)
        half[low:middle] = direction[low:middle]
        left, left_error, _, _ = residual(half, step)
        right = off - left
        limit = 10 * max(error, left_error)
        for part, start, stop in ((left, low, middle), (right, middle, high)):
            if abs(part) > limit:
                heapq.heappush(heap, (-abs(part), start, stop, part))
        budget.tell(f"looking among {high - low} coordinates")
    return found
