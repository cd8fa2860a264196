"""The methods of descent: one small function each, and the table of them.

A method turns a gradient into a change of the parameters. Both are vectors; what a method remembers
from step to step is in its memory, zero at the start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Vector = Any
Memory = dict[str, Vector]


@dataclass(frozen=True)
class Settings:
    """The numbers and conventions of a method, called as in the books."""

    momentum: float = 0.9
    rho: float = 0.9
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    eps_inside: bool = False
    momentum_average: bool = False


def sgd(gradient: Vector, rate: float, step: int, memory: Memory, use: Settings) -> Vector:
    """Against the gradient."""
    return -rate * gradient


def momentum(gradient: Vector, rate: float, step: int, memory: Memory, use: Settings) -> Vector:
    """A velocity that friction slows; or, as an average, the mean of past gradients."""
    old = memory.get("velocity", 0.0)
    if use.momentum_average:
        memory["velocity"] = use.momentum * old + (1 - use.momentum) * gradient
        return -rate * memory["velocity"]
    memory["velocity"] = use.momentum * old - rate * gradient
    return memory["velocity"]


def ahead(rate: float, memory: Memory, use: Settings) -> Vector:
    """Where Nesterov looks: the change that the velocity alone would make."""
    velocity = memory.get("velocity", 0.0)
    return (-rate if use.momentum_average else 1.0) * use.momentum * velocity


def adagrad(gradient: Vector, rate: float, step: int, memory: Memory, use: Settings) -> Vector:
    """Each parameter has its own rate, from the sum of its squared gradients."""
    memory["squares"] = memory.get("squares", 0.0) + gradient**2
    return -rate * _over_root(gradient, memory["squares"], use)


def rmsprop(gradient: Vector, rate: float, step: int, memory: Memory, use: Settings) -> Vector:
    """AdaGrad that forgets: an average of squared gradients."""
    memory["squares"] = use.rho * memory.get("squares", 0.0) + (1 - use.rho) * gradient**2
    return -rate * _over_root(gradient, memory["squares"], use)


def adam(gradient: Vector, rate: float, step: int, memory: Memory, use: Settings) -> Vector:
    """Averages of the gradient and of its square, both corrected for their start at zero."""
    memory["mean"] = use.beta1 * memory.get("mean", 0.0) + (1 - use.beta1) * gradient
    memory["squares"] = use.beta2 * memory.get("squares", 0.0) + (1 - use.beta2) * gradient**2
    mean = memory["mean"] / (1 - use.beta1**step)
    squares = memory["squares"] / (1 - use.beta2**step)
    return -rate * _over_root(mean, squares, use)


def _over_root(top: Vector, squares: Vector, use: Settings) -> Vector:
    root = np.sqrt(squares + use.eps) if use.eps_inside else np.sqrt(squares) + use.eps
    if use.eps:
        return top / root
    # a gradient that was always 0 gives 0/0: such a parameter stays where it is
    return np.divide(top, root, out=np.zeros_like(top), where=root != 0)


Method = Callable[[Vector, float, int, Memory, Settings], Vector]

METHODS: dict[str, Method] = {
    "sgd": sgd,
    "momentum": momentum,
    "nesterov": momentum,  # with the gradient taken ahead
    "adagrad": adagrad,
    "rmsprop": rmsprop,
    "adam": adam,
    "newton": sgd,  # with the gradient replaced by the solution of H s = gradient
}
