"""check: verdicts on the derivatives of a graph, and the name of the culprit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..algebra.given import check_seed
from ..derive.differentiate import as_names
from ..derive.hops import the_output
from ..errors import GraphcError, listing
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from .groups import Budget
from .judging import METHODS
from .points import Point, drawn, given, is_complete
from .report import Report, merged
from .shrink import shrunk_graph
from .spread import spread
from .trial import Asked, tried
from .verdicts import WRONG

DTYPES = ("float64", "float32")
WANTS = ("grad", "hessian", "jvp")


def check(
    graph: Structure,
    of: Any = None,
    at: Mapping[str, Any] | None = None,
    wrt: Any = None,
    *,
    claimed: Mapping[str, Any] | None = None,
    points: int | None = None,
    rng: Any = 0,
    want: str = "grad",
    method: str = "auto",
    dtype: str = "float64",
    strict: bool = False,
    shrink: bool = False,
    max_evals: int | None = None,
    seconds: float | None = None,
    progress: bool = False,
    client: Any = None,
) -> Report:
    """A report on the derivatives of `of` by `wrt` (all inputs and params) at a point or points.

    Without `at` the values given at the declaration are used if they are complete, otherwise
    `points` (20) points are drawn from the domains of the functions. `want="hessian"` looks at
    second derivatives, `want="jvp"` holds tangents and adjoints to each other. With `claimed`,
    somebody's adjoints {node: array} are judged instead of graphc's own. Above 5 000 elements,
    random directions are measured and the wrong elements searched for, within `max_evals`
    evaluations and `seconds`. With a `client` of Dask many points are tried on its workers.
    """
    start = time.perf_counter()
    _checked_options(graph, want, method, str(dtype))
    check_seed(rng)  # at once, although not every check draws
    outputs = _outputs(graph, of)
    if len(outputs) != 1 and (claimed is not None or want != "grad"):
        what = "claimed=" if claimed is not None else f"want={want!r}"
        raise GraphcError(f"{what} needs one output; say which with of=")
    if claimed is not None and want != "grad":
        raise GraphcError(f"claimed= are gradients; leave out want={want!r}")
    chosen, notes = chosen_points(graph, outputs, at, points, rng, str(dtype))
    budget = Budget(max_evals, seconds, progress)
    asked = Asked(graph, tuple(outputs), wrt, claimed, want, method, str(dtype), budget)
    if client is None or claimed is not None or len(chosen) == 1:
        found = [tried(asked, point, number)[0] for number, point in enumerate(chosen)]
    else:
        found = spread(client, asked, chosen)
    report = merged(found, strict)
    report.notes = [*notes, *report.notes]
    if shrink and claimed is None and report.verdict == WRONG:
        number = next(number for number, part in enumerate(found) if part.verdict == WRONG)
        _, hood = tried(asked, chosen[number], number)
        report.shrunk = shrunk_graph(graph, hood, report, check)
    report.seconds = time.perf_counter() - start
    return report


def _checked_options(graph: Any, want: str, method: str, dtype: str) -> None:
    if not isinstance(graph, Structure):
        raise GraphcError(
            f"check takes a graph, not {type(graph).__name__}; for a function and its gradient "
            "use check_function(f, grad, at)"
        )
    for what, word, allowed in (
        ("want", want, WANTS),
        ("method", method, METHODS),
        ("dtype", dtype, DTYPES),
    ):
        if word not in allowed:
            raise GraphcError(f"{what}={word!r} is not known; use one of {listing(allowed)}")


def _outputs(graph: Structure, of: Any) -> list[GraphRow]:
    """The rows of `of`: one name, several, or all outputs."""
    if of is None:
        return graph.outputs() or [the_output(graph, None)]
    return [graph.row(name) for name in as_names(graph, of)]


def chosen_points(
    graph: Structure,
    outputs: Sequence[GraphRow] | None,
    at: Mapping[str, Any] | None,
    points: int | None,
    rng: Any,
    dtype: str = "float64",
) -> tuple[list[Point], list[str]]:
    """The points of a check of some outputs (by default all), and what there is to say of them."""
    outputs = _outputs(graph, None) if outputs is None else outputs
    if points is None and (at is not None or is_complete(graph, outputs)):
        return given(graph, at or {}, outputs), []
    count = 20 if points is None else points
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise GraphcError(f"points={points!r} must be a whole number of at least 1")
    found, refused = drawn(graph, count, rng, outputs, at, float(np.finfo(dtype).eps))
    notes = [f"{len(found)} points drawn from the domains (rng={rng!r})"]
    if refused:
        notes[0] += f"; {refused} others had no finite value"
    return found, notes
