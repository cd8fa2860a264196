"""check_function: verdicts on the gradient of anything that can be called."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import GraphcError
from ..structure import Structure
from .arguments import Arguments, arguments, derived_by_library
from .case import Case
from .groups import Budget
from .points import draw, scale_of
from .report import Report, merged


def check_function(
    function: Any,
    grad: Any = None,
    at: Any = None,
    *,
    points: int | None = None,
    rng: Any = 0,
    strict: bool = False,
    max_evals: int | None = None,
    seconds: float | None = None,
    progress: bool = False,
    shrink: bool = False,
) -> Report:
    """A report on a claimed gradient of a function: `grad` is a callable like `function`.

    at: an array for f(at), a dict for f(**at), a list of arrays for f(*at); NumPy, torch or jax.
    With `points`, that many points of the shape of `at` are drawn instead. A graph as `function`
    gets the full treatment of check. Above 2 000 coordinates, or beyond `max_evals`, random
    directions are measured and the wrong coordinates are searched for.
    """
    start = time.perf_counter()
    if at is None:
        if points is None:
            raise GraphcError("check_function needs a point: at=array, or at={name: array}")
        at = 1.0
    if isinstance(function, Structure):
        report = _of_graph(function, grad, at, points, rng)
        report.strict = strict
        return report
    if not callable(function):
        raise GraphcError(f"check_function takes a function, not {type(function).__name__}")
    args = arguments(function, at)
    grad = derived_by_library(function, args) if grad is None else grad
    if grad is None:
        raise GraphcError("check_function needs the claimed gradient: grad=function or array")
    budget = Budget(max_evals, seconds, progress)
    reports: list[Report] = []
    for arrays in _points(args, points, rng):
        case = Case(function, grad, args, arrays, budget, rng)
        reports.append(case.report(len(reports)))
        if budget.spent:
            break
    report = merged(reports, strict)
    if points is not None:
        report.notes.append(f"{len(reports)} points drawn (rng={rng!r})")
    if budget.spent and points is not None and len(reports) < points:
        report.notes.append(f"the budget ended after {len(reports)} of {points} points")
    if shrink and not report.ok:
        from .shrink import shrunk_function

        report.shrunk = shrunk_function(function, grad, args, report)
    report.seconds = time.perf_counter() - start
    return report


def _of_graph(graph: Structure, grad: Any, at: Any, points: int | None, rng: Any) -> Report:
    """A graph: its values are known to 50 digits, its kinks by name."""
    from .checks import check

    if not isinstance(at, Mapping):
        leaves = [graph.names[row] for row in graph.leaves()]
        if len(leaves) != 1:
            raise GraphcError("at: the graph has several inputs; give a dict of names and values")
        at = {leaves[0]: at}
    if grad is None:
        return check(graph, at=at, points=points, rng=rng)
    claimed = grad(**at) if callable(grad) else grad
    if not isinstance(claimed, Mapping):
        names = list(at)
        parts = claimed if isinstance(claimed, (tuple, list)) and len(names) > 1 else [claimed]
        claimed = dict(zip(names, parts, strict=False))
    return check(graph, at=at, claimed=claimed)


def _points(args: Arguments, points: int | None, rng: Any) -> list[dict[str, Any]]:
    here = args.arrays()
    if points is None:
        return [here]
    if isinstance(points, bool) or not isinstance(points, int) or points < 1:
        raise GraphcError(f"points={points!r} must be a whole number of at least 1")
    generator = np.random.default_rng(rng)
    everywhere = (-np.inf, np.inf)
    return [
        {
            name: np.asarray(draw(generator, array.shape, scale_of(generator, k), everywhere))
            for name, array in here.items()
        }
        for k in range(points)
    ]
