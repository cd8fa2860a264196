"""Spots: single derivatives in doubt, and what differences of floats tell about them.

What many of them will ask for is evaluated at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..structure.rows import GraphRow
from . import kinks
from .neighbourhood import Group, Neighbourhood
from .schemes import (
    EPSILON,
    STENCIL,
    STEP,
    extrapolated,
    five_point,
    noise_level,
    ridders_widths,
)

NOISY = np.arange(-4.0, 5.0)  # very near points, whose values tell the noise
WIDEST = 0.05  # of the scale: the first step of an extrapolation


@dataclass(eq=False, slots=True)  # not frozen: made by the thousand
class Spot:
    """One element of a leaf, one element of the outputs, and the derivative under judgement."""

    group: Group  # of leaves that are moved together
    leaf: GraphRow
    place: int  # in the flat leaf
    position: tuple[int, ...]
    output: int
    derived: float
    scale: float  # the size of the element, or what is usual for its leaf
    usual: float = 0.0  # the largest derivative by an element of the leaf, in units of this one
    even: bool = True  # whether nothing narrower than the steps of floats showed
    # the kinks within five points; None: nobody has looked
    crossings: list[kinks.Crossing] | None = None

    @property
    def element(self) -> int:
        """The place in the flat group."""
        return self.place + self.group.spans[self.group.leaves.index(self.leaf)][0]


@dataclass
class Floats:
    """Differences of floats around a point, by emitted code where there is much to do."""

    hood: Neighbourhood
    _seen: dict[Spot, Any] = field(default_factory=dict)  # values that will be asked for

    def along(self, spot: Spot, steps: Any) -> Any:
        """The values of the spot's output with its element moved by each step."""
        return self._values([spot], [steps])[:, spot.output]

    def crossings(self, spots: Sequence[Spot]) -> list[list[kinks.Crossing]]:
        """The kinks within five points along the coordinate of each spot, all of one group."""
        unseen = [spot for spot in spots if spot.crossings is None]
        found = iter(self._crossings(unseen) if unseen else ())
        return [next(found) if spot.crossings is None else spot.crossings for spot in spots]

    def _crossings(self, spots: Sequence[Spot]) -> list[list[kinks.Crossing]]:
        group = spots[0].group
        if not self.hood.batch(group.leaves).switches:
            return [[] for _ in spots]
        steps = np.outer([STEP * max(spot.scale, 1.0) for spot in spots], STENCIL)
        places = np.repeat([spot.element for spot in spots], len(STENCIL))
        sample = self.hood.sample(group, places, steps.ravel(), group.x[None, :])
        return kinks.crossings(sample.branches, steps)

    def look(self, distances: Mapping[Spot, float | None]) -> None:
        """Evaluates at once what the slopes of these spots, all of one group, will ask for."""
        self._seen = {}
        if distances:
            steps = [self._steps(spot, distance) for spot, distance in distances.items()]
            ends = np.cumsum([len(part) for part in steps])
            parts = np.split(self._values(list(distances), steps), ends[:-1])
            self._seen = dict(zip(distances, parts, strict=True))

    def slope(self, spot: Spot, distance: float | None) -> tuple[float, float, str] | None:
        """(slope, error, how it was found), within the distance to a kink if there is one."""
        base = float(self.hood.base[spot.output])
        steps, seen = self._steps(spot, distance), self._seen.get(spot)
        values = self.along(spot, steps) if seen is None else seen[:, spot.output]
        if distance is not None:
            step = self._short(spot, distance)
            slope, error = five_point(values, step, base)
            return float(slope), float(error), f"central differences within {4 * step:.0e}"
        widths = np.split(steps[len(NOISY) :], 2)[0]
        near, ahead, behind = np.split(values, (len(NOISY), len(NOISY) + len(widths)))
        noise = max(noise_level(near), EPSILON * abs(base), 1e-320)
        best = extrapolated(ahead, behind, widths, noise)
        return None if best is None else (best.value, best.error, "Ridders' extrapolation")

    @staticmethod
    def _short(spot: Spot, distance: float) -> float:
        """The step of five points before a kink: no longer than without one."""
        usual: float = STEP * spot.scale
        return min(distance / 4, usual)

    def _steps(self, spot: Spot, distance: float | None) -> Any:
        """Where a slope needs values: within the distance to a kink, or for noise and around."""
        if distance is not None:
            return self._short(spot, distance) * STENCIL
        widths = ridders_widths(WIDEST * spot.scale)
        return np.concatenate([spot.scale * 1e-9 * NOISY, widths, -widths])

    def _values(self, spots: Sequence[Spot], steps: Sequence[Any]) -> Any:
        """(neighbours, outputs) where the element of each spot is moved by each of its steps."""
        places = np.repeat([spot.element for spot in spots], [len(part) for part in steps])
        offsets = np.concatenate(steps)
        return self.hood.sample(spots[0].group, places, offsets, told=False).values
