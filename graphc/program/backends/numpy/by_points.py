"""A compiled function of points: statements for one point, blocks for many, each when needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....collecting import collection_rests
from ...module import Body, Task
from .fast_points import many_points, one_point

NUMBERS = frozenset((float, int, np.float64))  # known to be one point at a glance


def by_points(one: Task, load: Callable[[Body], Callable[..., Any]]) -> Callable[..., Any]:
    """The function; `load` gives the one that a body makes."""
    places = {row: place for place, row in enumerate(one.arguments)}
    read = [places[row] for row in one.read]
    at_one_point = at_many = None

    def function(*given: Any) -> Any:
        nonlocal at_one_point, at_many
        for place in read:
            value = given[place]
            if type(value) not in NUMBERS and np.ndim(value):
                if at_many is None:
                    with collection_rests():
                        at_many = load(many_points)
                return at_many(*given)
        if at_one_point is None:
            with collection_rests():
                at_one_point = load(one_point)
        return at_one_point(*given)

    return function
