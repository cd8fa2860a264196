"""Many coordinates: rows for what a search among them found, and what it covered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from . import blackbox
from .groups import SEEN, Budget, Direction, Finding, search
from .schemes import EPSILON
from .verdicts import CORRECT, FAILING, NOISE, Row, at_most

EVERYTHING = "all"  # the name of a row that judges all coordinates along a direction


@dataclass(frozen=True)
class Layout:
    """Arrays as one flat vector."""

    arrays: dict[str, Any]

    @property
    def ends(self) -> Any:
        return np.cumsum([array.size for array in self.arrays.values()])

    def split(self, flat: Any) -> dict[str, Any]:
        """The parts of a flat vector, by name and in their shapes."""
        parts = np.split(flat, self.ends[:-1])
        pairs = zip(self.arrays.items(), parts, strict=True)
        return {name: part.reshape(array.shape) for (name, array), part in pairs}

    def locate(self, place: int) -> tuple[str, int]:
        """The name of the array that holds a place, and the place in it."""
        which = int(np.searchsorted(self.ends, place, side="right"))
        return list(self.arrays)[which], place - int(self.ends[which - 1] if which else 0)

    def scale(self) -> Any:
        """What is usual for each array, at every place."""
        found = []
        for array in self.arrays.values():
            usual = float(np.sqrt(np.mean(array**2))) if array.size else 1.0
            found.append(np.full(array.size, usual or 1.0))
        return np.concatenate(found)


def searched(
    layout: Layout,
    claims: Mapping[str, Any],
    value: Callable[[dict[str, Any]], float],
    judge: Callable[[str, int], Row],
    budget: Budget,
    *,
    of: str,
    rng: Any = 0,
    noise: float = 0.0,
    epsilon: float = EPSILON,
    rounding: float = EPSILON,
) -> tuple[list[Row], str]:
    """Rows of the wrong coordinates and of the directions, and a statement of what was covered.

    `value` is the function at the point plus offsets; `judge` gives the row of one coordinate.
    `epsilon` is the rounding of the values, `rounding` that of the claims.
    """
    claimed = np.concatenate([np.ravel(claims[name]) for name in layout.arrays])
    bad = np.flatnonzero(~np.isfinite(claimed))
    base = value({})
    if len(bad) or not np.isfinite(base):
        row = judge(*layout.locate(int(bad[0]) if len(bad) else 0))
        return [row], f"{len(bad)} of {claimed.size} claimed derivatives are not finite"
    rows: list[Row] = []

    def along(offset: Any) -> float:
        return value(layout.split(offset))

    def confirm(place: int) -> float | None:
        row = judge(*layout.locate(place))
        if row.verdict not in FAILING:
            return None
        rows.append(row)
        return row.measured

    scale = layout.scale()
    finding = search(along, claimed, scale, confirm, budget, rng, noise, epsilon, rounding)
    spread = 64 * rounding * float(np.linalg.norm(claimed * scale))
    slack = blackbox.Slack(float(np.sqrt(rounding)), spread, noise, epsilon, abs(base))
    hurried = bool(rows) and budget.spent
    directions = [
        _judged(direction, finding, along, base, slack, of, hurried)
        for direction in finding.directions
    ]
    hidden = min((row.bound for row in directions), default=np.inf) / float(scale.min())
    return rows + directions, _coverage(finding, hidden, claimed.size, budget)


def _judged(
    direction: Direction,
    finding: Finding,
    along: Callable[[Any], float],
    base: float,
    slack: blackbox.Slack,
    of: str,
    hurried: bool,
) -> Row:
    """The row of a direction; its bound is what could hide of one coordinate."""
    told = "a random direction over all coordinates"
    row = Row(
        *(EVERYTHING, None, direction.claimed, direction.measured, CORRECT, told, of),
        bound=direction.bound,
    )
    most = SEEN * finding.usual
    if direction.is_clean and direction.bound <= most:
        return row
    if hurried:
        told = f"{told}: the budget ended before a closer look"
        return row._replace(verdict=NOISE, evidence=told)
    line = partial(_on_line, along, direction.direction)
    found = blackbox.settle(line, base, direction.claimed, 1.0, 1.0, slack)
    verdict, bound = found.verdict, row.bound
    if verdict == CORRECT:
        bound = max(found.bound, 11 * slack.rounding)
        verdict = CORRECT if bound <= most else NOISE
    told = f"{told}: {found.evidence}"
    return row._replace(measured=found.measured, verdict=verdict, evidence=told, bound=bound)


def _on_line(along: Callable[[Any], float], direction: Any, steps: Any) -> Any:
    return np.array([along(step * direction) for step in steps])


def _coverage(finding: Finding, hidden: float, total: int, budget: Budget) -> str:
    """An honest statement of what was covered."""
    text = (
        f"{total} coordinates were judged together along {len(finding.directions)} random "
        f"directions; {len(finding.wrong)} wrong ones were found by halving, with "
        f"{budget.used} evaluations instead of {2 * total}"
    )
    if finding.complete:
        return f"{text}; a single error above {at_most(hidden)} would have been seen"
    return f"{text}; the search is not complete: more may be wrong"
