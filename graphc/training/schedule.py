"""When and on what a step is taken: learning rates and mini-batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import exp
from typing import Any

import numpy as np

from ..distributed.sources import rows_at
from ..errors import GraphcError, listing, nearest

# how a factor follows from the step (from 0) and the numbers of the schedule, with their defaults
DECAYS: dict[str, tuple[Callable[..., float], tuple[float, ...]]] = {
    "exponential": (lambda step, speed: exp(-speed * step), (0.01,)),
    "inverse": (lambda step, speed: 1 / (1 + speed * step), (0.01,)),
    "step": (lambda step, factor, every: factor ** (step // every), (0.5, 100)),
}


def rate_of(lr: float, decay: Any) -> Callable[[int], float]:
    """The learning rate as a function of the step, counted from 0."""
    if decay is None:
        return lambda step: lr
    if callable(decay):
        return lambda step: lr * float(decay(step))
    name, *numbers = decay if isinstance(decay, (tuple, list)) and decay else (decay,)
    if not isinstance(name, str) or name not in DECAYS:
        raise GraphcError(
            f"decay={decay!r} is not known; use None, one of {listing(DECAYS)}, a pair such as "
            f"('exponential', 0.01), or a function of the step{nearest(str(name), DECAYS)}"
        )
    factor, defaults = DECAYS[name]
    if len(numbers) > len(defaults):
        raise GraphcError(f"decay={decay!r}: {name!r} takes at most {len(defaults)} numbers")
    settings = [*numbers, *defaults[len(numbers) :]]
    if not all(isinstance(number, (int, float)) and number > 0 for number in settings):
        raise GraphcError(f"decay={decay!r}: the numbers must be positive")
    return lambda step: lr * factor(step, *settings)


def batches(
    data: Mapping[str, Any],
    axes: Mapping[str, int],
    batch: int | None,
    rng: np.random.Generator,
    client: Any = None,
) -> Iterator[dict[str, Any]]:
    """Endless batches of the data: every point once per round, in a new order each round.

    `axes` tells along which axis of which array the points lie; the last batch of a round may be
    smaller. Without `batch` it is all of the data every time.
    """
    whole = dict(data)
    if batch is None:
        while True:
            yield whole
    size = next(whole[name].shape[axis] for name, axis in axes.items())
    while True:
        order = rng.permutation(size)
        for start in range(0, size, batch):
            chosen = order[start : start + batch]
            drawn = {
                name: rows_at(whole[name], chosen, axis, client) for name, axis in axes.items()
            }
            yield {**whole, **drawn}
