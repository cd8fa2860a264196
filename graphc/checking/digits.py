"""References of 50 digits: slopes of the graph itself, and its derivatives without rounding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..derive import into, upstream
from ..errors import GraphcError
from ..evaluation import Evaluation
from ..exact import WORKING, Masked, Undefined
from ..paths import sweep
from ..structure import Structure
from .neighbourhood import Digits, Neighbourhood, flat, to_digits

AT_BORDER = WORKING.mpf(10) ** -15  # of the step: one-sided slopes need much shorter ones
NEAR = WORKING.mpf(10) ** -13  # of the scale: four of its powers are below 50 digits


def slope(
    hood: Neighbourhood, leaf: int, place: tuple[int, ...], output: int, step: Any, shift: Any = 0
) -> tuple[Any, float]:
    """(the slope of an output along one element, its error); (None, 0) where there is none.

    At the end of a domain it is the slope from the side that has values.
    """
    step, shift = WORKING.mpf(step), WORKING.mpf(shift)
    central = [shift + k * step for k in (-2, -1, 1, 2)]
    found = _output(hood.digits(leaf, place, central), output)
    if found is not None:
        return (8 * (found[2] - found[1]) - (found[3] - found[0])) / (12 * step), 0.0
    for side in (step, -step):
        slopes = []
        for part in (side * AT_BORDER, side * AT_BORDER / 4**4):
            found = _output(hood.digits(leaf, place, [shift + k * part for k in range(4)]), output)
            if found is not None:
                base, first, second, third = found
                slopes.append((-11 * base + 18 * first - 9 * second + 2 * third) / (6 * part))
        if len(slopes) == 2:  # where a root ends, the slope is reached as slowly as a root
            return slopes[1], float(abs(slopes[1] - slopes[0]))
    return None, 0.0


def _output(results: list[Any], output: int) -> list[Any] | None:
    return None if any(r is None for r in results) else [r[output] for r in results]


def value(hood: Neighbourhood, output: int) -> float | None:
    """An output element to 50 digits, as a float; None where it has no value."""
    evaluation = Evaluation(hood.graph, Digits(hood.sizes), dict(hood.exact), {})
    found = [part for row in hood.outputs for part in flat(evaluation.value(row))][output]
    return None if type(found) is Undefined else float(found)


def adjoints(graph: Structure, evaluation: Evaluation, seeds: Mapping[int, Any]) -> dict[int, Any]:
    """{row: adjoint} of every node with a path to a seed, in the evaluation's algebra."""
    order = sorted(upstream(graph, seeds), reverse=True)
    return sweep(
        order, lambda node: into(graph, node), dict(seeds), evaluation.pull, evaluation.add
    )


def seed_of(hood: Neighbourhood, output: int) -> dict[int, Any]:
    """The seed that picks one element of the outputs."""
    for row in hood.outputs:
        shape = hood.shape(row)
        size = math.prod(shape)
        if output < size:
            if not shape:
                return {row: 1}
            seed = np.zeros(shape)
            seed.flat[output] = 1.0
            return {row: seed}
        output -= size
    raise IndexError(output)


def derived(graph: Structure, hood: Neighbourhood, output: int, exact: bool) -> dict[int, Any]:
    """{leaf: adjoint} of one output element by the graph's own rules: 50 digits, or floats."""
    from ..arithmetic import Numbers

    seeds = seed_of(hood, output)
    known, algebra = dict(hood.fixed), Numbers(hood.sizes)
    if exact:
        known, algebra = dict(hood.exact), Digits(hood.sizes)
        seeds = {row: to_digits(seed) for row, seed in seeds.items()}
    try:
        with np.errstate(all="ignore"):
            found = adjoints(graph, Evaluation(graph, algebra, known, {}), seeds)
    except GraphcError:  # a node with kink='error' sits on its kink
        return {}
    return {row: _plain(found[row]) for row in hood.point if row in found}


def _plain(value: Any) -> Any:
    return value.values if type(value) is Masked else value


def element(value: Any, place: tuple[int, ...]) -> Any:
    """One element as a number; None where there is none."""
    found = value[place] if isinstance(value, np.ndarray) and value.ndim else value
    if isinstance(found, np.ndarray):
        found = found[()]
    return None if found is None or type(found) is Undefined else found
