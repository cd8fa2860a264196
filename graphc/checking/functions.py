"""check_function: verdicts on the gradient of anything that can be called."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..algebra.exact import as_float
from ..algebra.given import generator_from_user
from ..errors import GraphcError, listing
from ..structure.structure import Structure
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
    generator_from_user(rng)  # refused at once, although not every check draws
    if isinstance(function, Structure):
        options = {"strict": strict, "max_evals": max_evals, "seconds": seconds}
        return _of_graph(function, grad, at, points, rng, {**options, "progress": progress})
    if at is None:
        if points is None:
            raise GraphcError("check_function needs a point: at=array, or at={name: array}")
        at = 1.0
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
    if report.rows and all(row.index is None and row.derived != row.derived for row in report.rows):
        raise GraphcError(
            f"the budget (max_evals={max_evals}, seconds={seconds}) ended before a derivative was "
            "measured; allow more"
        )
    if points is not None:
        report.notes.append(f"{len(reports)} points drawn (rng={rng!r})")
    if budget.spent and points is not None and len(reports) < points:
        report.notes.append(f"the budget ended after {len(reports)} of {points} points")
    if shrink and not report.ok:
        from .shrink import shrunk_function

        report.shrunk = shrunk_function(function, grad, args, report)
    report.seconds = time.perf_counter() - start
    return report


def _of_graph(
    graph: Structure, grad: Any, at: Any, points: int | None, rng: Any, options: dict[str, Any]
) -> Report:
    """A graph: its values are known to 50 digits, its kinks by name."""
    from .checks import check, chosen_points

    names = [graph.names[row] for row in graph.leaves()]
    if at is not None and not isinstance(at, Mapping):
        if len(names) != 1:
            raise GraphcError("at: the graph has several inputs; give a dict of names and values")
        at = {names[0]: at}
    if points is not None and at is not None and set(names) <= set(at):
        at = None  # points are drawn instead
    if grad is None:
        return check(graph, at=at, points=points, rng=rng, **options)
    if points is None or not callable(grad):
        at = at or {graph.names[row]: as_float(value) for row, value in graph.given.items()}
        return check(graph, at=at, claimed=_claimed(grad, at), **options)
    drawn, notes = chosen_points(graph, None, at, points, rng)
    reports = []
    for number, point in enumerate(drawn):
        here = {graph.names[row]: value for row, value in point.values.items()}
        found = check(graph, at=here, claimed=_claimed(grad, here), **options)
        reports.append(replace(found, rows=found.rows.at(number)))
    report = merged(reports, bool(options["strict"]))
    report.notes = [*notes, *report.notes]
    return report


def _claimed(grad: Any, at: Mapping[str, Any]) -> Mapping[str, Any]:
    """Claims by name, from whatever the gradient is or returns."""
    claimed = grad(**at) if callable(grad) else grad
    if isinstance(claimed, Mapping):
        return claimed
    parts = claimed if isinstance(claimed, (tuple, list)) and len(at) > 1 else [claimed]
    if len(parts) != len(at):
        raise GraphcError(
            f"the gradient has {len(parts)} parts for {len(at)} arguments ({listing(at)}); "
            "return one for each, or a dict by name"
        )
    return {name: part for name, part in zip(at, parts, strict=True) if part is not None}


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
