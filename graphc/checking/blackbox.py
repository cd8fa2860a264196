"""Judging one slope of a function that can only be called: extrapolation, noise and kinks.

A kink shows in the gap between the slopes ahead and behind: on a smooth piece it shrinks with the
step, at a kink it stays, near a kink it falls off where the step becomes shorter than the distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .schemes import (
    SHRINK,
    STEP,
    Slope,
    extrapolated,
    noise_level,
    one_sided,
    representable,
    trusted,
)
from .verdicts import (
    AT_KINK,
    CORRECT,
    KINK_LIMIT,
    NEAR_KINK,
    NOISE,
    NOT_FINITE,
    SMOOTH_LIMIT,
    WRONG,
    Finding,
)

WIDEST, SCALES = 0.1, 16  # of the argument's size, and how many steps shrink from there
FAR = 2  # so many of the widest steps may leave a flat place; a kink in reach is nearer than these
MOST_SCALES = 24  # further steps for an argument far below 1
SMALLEST = float(np.finfo(float).tiny)  # the least size of an argument, for steps that are not 0
QUIET = 1e-320  # the least noise: values below it are rounded to a few bits, or to 0
REACH = 2 * STEP  # a kink within this part of the argument's size is told
SUDDEN = 200.0  # no smooth function's gap falls so much in one step (that of x**4 falls by 64)
FLAT = 1e-10  # of the slopes nearby: a slope that is 0 up to this is known well enough
KINK = "f"  # a black box has no nodes to name
Values = Callable[[Any], Any]  # steps -> values of the function
Place = tuple[float, float]  # a number and its size


@dataclass(frozen=True)
class Slack:
    """What is forgiven: the relative tolerance, the rounding of the claims, and the noise of f."""

    tolerance: float
    rounding: float  # absolute, of the claim: within it nothing is wrong, but nothing is right
    noise: float  # absolute, of the values
    epsilon: float  # of the type the function is measured in
    unit: float  # the size of an ordinary slope

    def bound(self, claim: float, found: Slope) -> float:
        """The error of a claim that would have passed: what is forgiven, and what is not known."""
        return self.tolerance * max(abs(claim), abs(found.value)) + 10 * found.error


def limit(epsilon: float) -> float:
    """The part of a derivative that may hide behind `correct`, for claims of a type's rounding."""
    return float(epsilon**0.4)  # 5e-7 of float64, 2e-3 of float32


def settle(
    values: Values,
    base: float,
    claim: float,
    scale: float,
    around: float,
    slack: Slack,
    at: float = 0.0,
) -> Finding:
    """The verdict on a claimed slope at 0; kinks are told within the reach of steps of `around`.

    `at` is the number that the steps are added to, which is where they are rounded.
    """
    if not np.isfinite(base):
        return Finding(np.nan, NOT_FINITE, f"the value is {base} at this point")
    noise = max(_noise(values, base, at, scale, slack), QUIET)
    more = int(min(np.ceil(np.log(around / scale) / np.log(SHRINK)), MOST_SCALES))
    widths = WIDEST * scale * SHRINK ** (more - np.arange(SCALES + more, dtype=float))
    widths = representable(at, widths, slack.epsilon)
    ahead, behind = values(widths), values(-widths)
    noise = max(noise, _quantum(ahead - base, behind - base))
    with np.errstate(all="ignore"):
        gap = np.abs((ahead - base) - (base - behind)) / widths
        size = np.fmax(np.abs(ahead - base), np.abs(base - behind)) / widths
    if not np.isfinite(claim):
        found = extrapolated(ahead, behind, widths, noise)
        measured = np.nan if found is None else found.value
        return Finding(measured, NOT_FINITE, f"the derivative is {claim} at this point")
    flat = _flat(ahead - base, behind - base, widths)
    hidden = slack.epsilon * max(abs(base), 1.0)  # rounding inside f: 0 may be log(1 + exp(-40))
    if 0 < abs(claim) * flat < hidden:
        told = f"differences are good to {hidden / flat:.1e} only: cannot tell"
        return Finding(0.0, NOISE, told)
    if not size.any():
        steps = scale * np.array([-4.0, -1.0, 1.0, 4.0])
        moved = values(steps) - base
        if claim == 0 and not moved.any():
            return still(base, float(widths[0]), slack)
        moving, slopes = np.abs(moved[moved != 0]), (moved / steps)[moved != 0]
        if claim and len(moving) and ((slopes / claim > 1 / 8) & (slopes / claim < 8)).all():
            noise = max(noise, float(moving.min()))  # as coarse stairs as the claim would climb
    noise = max(noise, _vanished(gap, widths))
    error = 4 * noise / widths
    nearby = (size - 2 * error)[np.isfinite(size)]
    slack = replace(slack, unit=float(nearby.max(initial=0.0)))
    least = max(1e-3, 100 * slack.epsilon**0.5)  # a smaller part of a slope is curvature or noise
    stays = _stays(gap, least * size, error)
    if stays is not None:
        return _at_kink(values, base, claim, (at, scale), noise, slack)
    falls = _falls(gap, error, widths, REACH * around)
    if falls is not None:
        distance, inside = falls
        steps = representable(at, inside / 2 * SHRINK ** -np.arange(8.0), slack.epsilon)
        found = extrapolated(values(steps), values(-steps), steps, noise)
        stairs = _stairs(values, ahead, behind, widths, found)
        if stairs <= noise:
            told = f"a kink lies {distance:.0e} away, within reach; "
            result = _compared(claim, found, slack, KINK_LIMIT)
            told, verdict = told + result.evidence, result.verdict
            if verdict == CORRECT:
                told, verdict = f"{told}, to {result.bound:.0e}", NEAR_KINK
            elif abs(claim - result.measured) <= SMOOTH_LIMIT * abs(claim):
                verdict = NOISE  # so little is lost to rounding inside the function, too
            return Finding(result.measured, verdict, told, KINK, result.bound)
        noise = stairs
    found = extrapolated(ahead[more:], behind[more:], widths[more:], noise)
    if more and (found is None or found.error > 1e-6 * abs(found.value)):
        wide = extrapolated(ahead, behind, widths, noise)  # if it continues what is found near x
        if found is None or (wide and abs(wide.value - found.value) <= 3 * found.error):
            found = wide
    if found is None:
        return _at_border(values, base, claim, (at, scale), noise, slack)
    stairs = _stairs(values, ahead, behind, widths, found)
    if stairs > noise:
        noise = stairs
        found = extrapolated(ahead, behind, widths, noise) or found
    place = int(np.argmin(np.abs(widths - found.step)))
    if np.isfinite(gap[place]):  # the argument is rounded too, and its slope with it
        turn = slack.tolerance**2 * float(abs(at) / widths[place] * gap[place])
        found = replace(found, error=found.error + turn)
    result = _compared(claim, found, slack)
    broad = extrapolated(ahead, behind, widths, noise) if result.verdict == WRONG else None
    for other in (found.wide, broad, broad.wide) if broad else ():
        if other is None:
            continue
        apart = abs(other.value - found.value)
        if apart <= KINK_LIMIT * abs(found.value) and abs(claim - other.value) <= apart / 2:
            # rounding inside the function loses a small part of the slope at short steps
            told = f"short and wide steps differ by {apart:.1e}: cannot tell"
            return Finding(found.value, NOISE, told)
    with np.errstate(all="ignore"):
        most = gap[place:] + 4 * noise / widths[place:]
        # the jump of a slope is no larger; at one step, but not at two, curvature may cancel it
        jump = float(np.nanmin(np.fmax(most, np.append(most[1:], np.nan))))
    if result.verdict == WRONG and abs(claim - found.value) <= jump:
        # the mean of two slopes is no slope: what looked smooth has a kink too close to resolve
        return _at_kink(values, base, claim, (at, scale), noise, slack)
    return result


def _noise(values: Values, base: float, at: float, scale: float, slack: Slack) -> float:
    """The noise of the values, at least their rounding."""
    least = max(slack.noise, slack.epsilon * abs(base))
    found = []
    for part in (max(1e-9, 64 * slack.epsilon), 64 * slack.epsilon):
        (spacing,) = representable(at, np.array([part * scale]), slack.epsilon)
        near = values(spacing * np.arange(-8, 9))
        # a kink among the nearest values would pass for noise, but not on both sides
        level = 2 * min(noise_level(near[:9]), noise_level(near[8:]))  # a few exceed the mean
        with np.errstate(all="ignore"):
            found.append((level, float(np.abs(np.diff(near)).max()) / spacing, spacing))
        if level <= 64 * least:
            break
    (noise, _, wide), (finest, slope, _) = found[0], found[-1]
    # an oscillation is smooth at last, and its slope explains what looked like noise
    return max(finest if 4 * slope * wide > noise else noise, least)


def still(base: float, step: float, slack: Slack) -> Finding:
    """The verdict on a claimed 0 where no step so wide changes the value by a single bit."""
    bound = slack.epsilon * abs(base) / step
    if bound <= limit(slack.tolerance**2) * slack.unit:
        return Finding(0.0, CORRECT, "the value does not change", bound=bound)
    return Finding(0.0, NOISE, f"differences are good to {bound:.1e} only: cannot tell")


def _stairs(values: Values, ahead: Any, behind: Any, widths: Any, found: Slope | None) -> float:
    """The noise of values that are smooth only between the steps of a staircase, else 0.

    Rounding inside a function ((1e9 + x) - 1e9) makes stairs: short steps stay on one of them and
    agree on its slope, wide ones on another. At a distance from the point the slopes of short
    steps are the same on stairs, not so beside a narrow feature or in a fast oscillation.
    """
    if found is None:
        return 0.0
    with np.errstate(all="ignore"):
        quotients = (ahead - behind) / (2 * widths)
        apart = np.abs(quotients - found.value)
        same = np.abs(np.diff(quotients)) <= 0.05 * np.abs(quotients[1:])
    other = (apart > 0.1 * abs(found.value) + 10 * found.error) & (widths > found.step)
    run = np.flatnonzero(same[1:] & same[:-1] & other[2:])
    if not len(run):
        return 0.0
    width, gap = float(widths[run[-1] + 1]), float(apart[run[-1] + 2])
    far, short = width * (0.5 + np.arange(9) / 16), found.step / SHRINK**2
    places = np.concatenate([-far[:3], far[:3]])
    local = (values(places + short) - values(places - short)) / (2 * short)
    if np.sum(np.abs(local - found.value) <= 0.5 * gap) < len(places) - 1:
        return 0.0
    return 4 * min(noise_level(values(far)), noise_level(values(-far)))


def _quantum(ahead: Any, behind: Any) -> float:
    """The smallest change that values make at all, if short steps change nothing on either side."""
    found = []
    for changes in (np.abs(ahead), np.abs(behind)):
        moved = np.flatnonzero(changes)  # the widest steps come first
        if not len(moved) or moved[-1] == len(changes) - 1 or not np.isfinite(changes).all():
            return 0.0
        found.append(float(changes[moved[-1]]))
    return min(found)


def _flat(ahead: Any, behind: Any, widths: Any) -> float:
    """The widest step up to which nothing changes; 0 if that is far below the widest of all."""
    moved = np.flatnonzero((ahead != 0) | (behind != 0))  # the widest steps come first
    first = int(moved[-1]) + 1 if len(moved) else 0
    return float(widths[first]) if first <= FAR and first < len(widths) else 0.0


def _vanished(gap: Any, widths: Any) -> float:
    """The noise of values whose curvature is seen by wide steps and suddenly by no shorter ones."""
    for k in range(2, len(gap) - 1):
        if not np.isfinite(gap[k - 2 : k + 2]).all() or SUDDEN * gap[k + 1] >= gap[k]:
            continue
        if all(3 * gap[j] < gap[j - 1] < 5 * gap[j] for j in (k - 1, k)):
            return float(gap[k] * widths[k] / SHRINK**2)
    return 0.0


def _stays(gap: Any, least: Any, error: Any) -> float | None:
    """The jump of the slope, if the gap stays the same over the smallest steps that can tell."""
    telling = np.flatnonzero(np.isfinite(gap) & (gap > 20 * error) & (gap > least))
    if len(telling) < 4:
        return None
    last = telling[-4:]
    if not (np.diff(last) == 1).all():
        return None
    values = gap[last]
    steady = np.abs(np.diff(values)) <= 0.2 * values[1:] + 2 * error[last][1:]
    # a gap that is told by the smallest telling step must not be followed by silence
    beyond = gap[last[-1] + 1 :]
    silent = (beyond + 20 * error[last[-1] + 1 :] < 0.5 * values[-1]).any()
    return float(values[-1]) if steady.all() and not silent else None


def _falls(gap: Any, error: Any, widths: Any, reach: float) -> tuple[float, float] | None:
    """(distance, a step short of it) of a kink nearby, if the gap falls off suddenly."""
    for k in range(len(widths) - 1):
        if widths[k] > SHRINK * reach or not np.isfinite(gap[k : k + 2]).all():
            continue
        if gap[k] > SUDDEN * gap[k + 1] and gap[k] > 20 * error[k] + 20 * error[k + 1]:
            # beyond the kink the gap is jump*(1 - distance/step): two steps tell both
            before = gap[k - 1] if k else gap[k]
            jump = (SHRINK * before - gap[k]) / (SHRINK - 1)
            distance = widths[k] * (1 - gap[k] / jump) if jump > gap[k] else widths[k]
            return float(np.clip(distance, widths[k + 1], widths[k])), float(widths[k + 1])
    return None


def _at_kink(
    values: Values, base: float, claim: float, place: Place, noise: float, slack: Slack
) -> Finding:
    """The verdict between one-sided slopes."""
    sides = [_one_sided(values, base, place, sign, noise, slack.epsilon) for sign in (-1.0, 1.0)]
    if sides[0] is None or sides[1] is None:
        return Finding(np.nan, NOT_FINITE, "no finite values on one side of a kink", KINK)
    left, right = sides[0].value, sides[1].value
    left_error, right_error = sides[0].error, sides[1].error
    left, right = left + 0.0, right + 0.0  # -0 is 0
    room = slack.tolerance * max(abs(left), abs(right)) + slack.rounding
    room += 3 * (left_error + right_error)
    middle = float(left / 2 + right / 2)
    within = min(left, right) - room <= claim <= max(left, right) + room
    if abs(left - right) <= room:  # no kink after all: both sides agree
        result = _compared(claim, Slope(middle, left_error + right_error), slack)
        verdict = result.verdict if within else WRONG
        told = f"the slopes of both sides are {middle:.10g}"
        return Finding(middle, verdict, told, bound=result.bound)
    told = f"on a kink: one-sided slopes {left:.6g} and {right:.6g}"
    if within:
        return Finding(middle, AT_KINK, told, KINK)
    return Finding(middle, WRONG, f"{told}, and {claim:.6g} is outside", KINK)


def _one_sided(
    values: Values,
    base: float,
    place: Place,
    side: float,
    noise: float,
    epsilon: float,
    tenths: int = 10,
) -> Slope | None:
    """The slope on one side from steps that shrink by 10: what they change is error."""
    at, scale = place
    widths = scale * 10.0 ** -np.arange(2.0, 2.0 + tenths)
    widths = side * representable(at, widths, epsilon)
    slopes = np.array([one_sided(values(w * np.arange(1, 4)), w, base)[0] for w in widths])
    floors = 16 * noise / np.abs(widths)
    with np.errstate(all="ignore"):
        errors = np.abs(np.diff(slopes)) + floors[1:]
    found = [
        (float(error), place, float(slopes[place]))
        for place, error in enumerate(errors, 1)
        if np.isfinite(error)
    ]
    return trusted(found, slopes, floors, widths)


def _at_border(
    values: Values, base: float, claim: float, place: Place, noise: float, slack: Slack
) -> Finding:
    """The verdict where only one side has values."""
    sides = [
        _one_sided(values, base, place, side, noise, slack.epsilon, 24) for side in (1.0, -1.0)
    ]
    options = [slope for slope in sides if slope is not None]
    if not options:
        return Finding(np.nan, NOT_FINITE, "no neighbour has a finite value to measure with")
    result = _compared(claim, min(options, key=lambda slope: slope.error), slack)
    told = f"{result.evidence} (from the side that has values)"
    return Finding(result.measured, result.verdict, told, bound=result.bound)


def _compared(claim: float, found: Slope | None, slack: Slack, least: float = 0.0) -> Finding:
    """The verdict on a claim; `least` is a part of a derivative that may hide in any case."""
    if found is None:
        return Finding(np.nan, NOT_FINITE, "no neighbour has a finite value to measure with")
    measured, error = found.value, found.error
    gap, size = abs(claim - measured), max(abs(claim), abs(measured))
    bound = slack.bound(claim, found)
    known = max(limit(slack.tolerance**2) * size, least * size, max(FLAT, least) * slack.unit)
    if gap <= slack.tolerance * size + 3 * error and bound <= known:
        return Finding(measured, CORRECT, "Ridders' extrapolation agrees", bound=bound)
    if gap <= max(slack.tolerance * size + slack.rounding + 3 * error, 10 * error):
        return Finding(measured, NOISE, f"differences are good to {error:.1e} only: cannot tell")
    return Finding(measured, WRONG, f"Ridders' extrapolation gives {measured:.10g}")
