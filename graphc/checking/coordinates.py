"""One coordinate of a case: what the values beside it say of the derivatives claimed there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import blackbox
from .judging import scales
from .schemes import EPSILON, representable, three_point
from .verdicts import CORRECT, Finding

if TYPE_CHECKING:
    from .case import Case


@dataclass(frozen=True, eq=False)
class Coordinate:
    """One element of an argument, which is moved while the others stay."""

    case: Case
    name: str
    place: int
    measured: dict[bytes, Any] = field(default_factory=dict)

    @property
    def array(self) -> Any:
        return self.case.arrays[self.name]

    @property
    def scale(self) -> float:
        """The size of the element itself; where it is 0, what is usual for its array."""
        array = self.array.ravel()
        own = abs(float(array[self.place])) or float(scales(array)[self.place])
        return max(own, blackbox.SMALLEST)

    def values(self, steps: Any) -> Any:
        """The values (steps, outputs) with the element moved, each measured once."""
        steps = np.atleast_1d(np.asarray(steps, float))
        key = steps.tobytes()
        if key not in self.measured:
            rows = []
            for step in steps:
                moved = self.array.copy()
                moved.flat[self.place] = float(self.array.flat[self.place]) + float(step)
                rows.append(self.case.values({self.name: moved}))
            self.measured[key] = np.array(rows)
        return self.measured[key]

    def judged(self, outputs: list[int], column: Any) -> list[Finding]:
        """A verdict for each output: five points where they settle it, else a closer look."""
        scale = self.scale
        quick = self._quick(outputs, column)

        def of(output_place: int) -> Callable[[Any], Any]:
            return lambda steps: self.values(steps)[:, output_place]

        return [
            quick[k]
            or blackbox.settle(
                *(of(o), float(self.case.base[o]), float(mine), scale, max(scale, 1.0)),
                *(self._slack(o, scale), float(self.array.flat[self.place])),
            )
            for k, (o, mine) in enumerate(zip(outputs, column, strict=True))
        ]

    def _slack(self, output_place: int, scale: float) -> blackbox.Slack:
        case = self.case
        claim = case.claims[self.name]
        claim = claim if claim.ndim == 1 else claim[output_place]
        with np.errstate(all="ignore"):
            moves = np.abs(claim) * np.abs(self.array.ravel())
            moves = moves[np.isfinite(moves) & (moves > 0)]
            # sizes of many orders: their typical one is that of their logarithms
            usual = float(np.exp(np.mean(np.log(moves)))) if len(moves) else None
        base = abs(float(case.base[output_place]))
        return blackbox.Slack(
            float(np.sqrt(case.epsilon)),
            64 * case.epsilon * float(moves.max(initial=0.0)) / scale + case.spread,
            case.noise,
            case.measured_in,
            (base if usual is None else usual) / scale,
        )

    def steps(self) -> Any:
        """The steps of a first look: there and back, to where kinks are told, and very short."""
        measured_in = self.case.measured_in
        usual = max(float(scales(self.array.ravel())[self.place]), blackbox.SMALLEST)
        step = measured_in ** (1 / 3) * usual
        reach = blackbox.REACH * max(usual, 1.0) * (measured_in / EPSILON) ** 0.2
        short = 1e-3 * min(step, self.scale)  # what is narrower than the step shows
        at = float(self.array.flat[self.place])
        steps = representable(at, np.array([step, reach, short]), measured_in)
        step, reach, short = steps if len(steps) == 3 else (step, reach, step)
        return np.array([-step, step, -reach, reach, short])

    def _quick(self, outputs: list[int], column: Any) -> list[Finding | None]:
        """Verdicts from five neighbours; None where they leave a doubt."""
        case = self.case
        if case.noise:
            return [None] * len(outputs)
        steps = self.steps()
        _, step, _, reach, short = steps.tolist()
        found = self.values(steps)[:, outputs]
        base = case.base[outputs]
        verdicts: list[Finding | None] = []
        with np.errstate(all="ignore"):
            slopes, errors = three_point(found[:2].T, step, base)
            errors = errors * (case.measured_in / EPSILON)
            wide = (found[3] - found[2]) / (2 * reach)
            ahead = (found[4] - base) / short
            bends = np.abs(found[0] + found[1] - 2 * base) / step
            wide_bends = np.abs(found[2] + found[3] - 2 * base) / reach
            errors = errors + np.abs(wide - slopes) * (step / reach) ** 2
            tolerance = np.sqrt(case.epsilon)
            for k, mine in enumerate(column):
                size, error = abs(float(mine)), float(errors[k])
                gap, bound = abs(float(mine) - float(slopes[k])), tolerance * size + 6 * error
                smooth = (
                    abs(wide[k] - slopes[k]) <= 1e-3 * size
                    and abs(ahead[k] - slopes[k]) <= 1e-3 * size + 8 * error * step / short
                    and bends[k] <= 1e-3 * size + 4 * error
                    and wide_bends[k] <= 0.1 * size
                )
                fine = 0 < size < np.inf and bound <= blackbox.limit(case.epsilon) * size
                if fine and smooth and gap <= tolerance * size + 3 * error:
                    told = "central differences agree"
                    verdicts.append(Finding(float(slopes[k]), CORRECT, told, bound=bound))
                elif size == 0 and (found[:, k] == base[k]).all():
                    scale = self.scale
                    wider = self.values(scale * np.array([-1.0, -0.1, 0.1, 1.0]))[:, outputs[k]]
                    moves = not (wider == base[k]).all()
                    slack = self._slack(outputs[k], scale)
                    verdicts.append(
                        None if moves else blackbox.still(float(base[k]), 0.1 * scale, slack)
                    )
                else:
                    verdicts.append(None)
        return verdicts
