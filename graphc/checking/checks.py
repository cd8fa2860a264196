"""check: verdicts on the derivatives of a graph, and the name of the culprit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..derive import the_output, upstream
from ..errors import GraphcError, listing
from ..exact import as_float
from ..structure import Structure
from . import claims as claiming
from . import edges as edging
from .emitted import derivatives
from .groups import Budget
from .judging import METHODS, Judge
from .many import Layout, searched
from .neighbourhood import Neighbourhood
from .points import Point, drawn, given, is_complete
from .report import Report, merged
from .settling import Court
from .shrink import shrunk_graph
from .verdicts import WRONG, Row

DTYPES = ("float64", "float32")
MOST_SINGLY = 5_000  # elements that are measured one by one
MOST_SHOWN = 1_000  # elements of an array that a report keeps
MANY = 200  # elements for which it pays to compile the measurement too


def check(
    graph: Structure,
    of: Any = None,
    at: Mapping[str, Any] | None = None,
    wrt: Any = None,
    *,
    claimed: Mapping[str, Any] | None = None,
    points: int | None = None,
    rng: Any = 0,
    method: str = "auto",
    dtype: str = "float64",
    strict: bool = False,
    shrink: bool = False,
    max_evals: int | None = None,
    seconds: float | None = None,
    progress: bool = False,
) -> Report:
    """A report on the derivatives of `of` by `wrt` (all inputs and params) at a point or points.

    Without `at` the values given at the declaration are used if they are complete, otherwise
    `points` (20) points are drawn from the domains of the functions. With `claimed`, somebody's
    adjoints {node: array} are judged instead of graphc's own. Above 5 000 elements, random
    directions are measured and the wrong elements searched for, within `max_evals` evaluations
    and `seconds`.
    """
    start = time.perf_counter()
    _checked_options(graph, method, dtype)
    outputs = _outputs(graph, of)
    chosen, notes = _points(graph, outputs, at, points, rng)
    if claimed is not None and len(outputs) != 1:
        raise GraphcError("claimed= needs one output; say which with of=")
    budget = Budget(max_evals, seconds, progress)
    found = [
        _at_point(graph, outputs, wrt, point, claimed, method, dtype, number, budget)
        for number, point in enumerate(chosen)
    ]
    report = merged([part for part, _ in found], strict)
    report.notes = [*notes, *report.notes]
    if shrink and claimed is None and report.verdict == WRONG:
        hood = next(hood for part, hood in found if part.verdict == WRONG)
        report.shrunk = shrunk_graph(graph, hood, report, check)
    report.seconds = time.perf_counter() - start
    return report


def _checked_options(graph: Any, method: str, dtype: str) -> None:
    if not isinstance(graph, Structure):
        raise GraphcError(
            f"check takes a graph, not {type(graph).__name__}; for a function and its gradient "
            "use check_function(f, grad, at)"
        )
    if method not in METHODS:
        raise GraphcError(f"method={method!r} is not known; use one of {listing(METHODS)}")
    if str(dtype) not in DTYPES:
        raise GraphcError(f"dtype={dtype!r} is not known; use one of {listing(DTYPES)}")


def _outputs(graph: Structure, of: Any) -> list[int]:
    """The rows of `of`: one name, several, or all outputs."""
    if of is None:
        return graph.outputs() or [the_output(graph, None)]
    if isinstance(of, (list, tuple)):
        return [graph.row(name) for name in of]
    return [graph.row(of)]


def _points(
    graph: Structure,
    outputs: Sequence[int],
    at: Mapping[str, Any] | None,
    points: int | None,
    rng: Any,
) -> tuple[list[Point], list[str]]:
    if points is None and (at is not None or is_complete(graph, outputs)):
        return given(graph, at or {}, outputs), []
    count = 20 if points is None else points
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise GraphcError(f"points={points!r} must be a whole number of at least 1")
    found, refused = drawn(graph, count, rng, outputs, at)
    notes = [f"{len(found)} points drawn from the domains (rng={rng!r})"]
    if refused:
        notes[0] += f"; {refused} others had no finite value"
    return found, notes


def _at_point(
    graph: Structure,
    outputs: Sequence[int],
    wrt: Any,
    point: Point,
    claimed: Mapping[str, Any] | None,
    method: str,
    dtype: str,
    number: int,
    budget: Budget,
) -> tuple[Report, Neighbourhood]:
    values = {
        row: np.asarray(as_float(v)).astype(dtype).astype(float) for row, v in point.values.items()
    }
    values = {row: value if value.shape else value[()] for row, value in values.items()}
    claims = None if claimed is None else claiming.as_arrays(graph, claimed, point.sizes)
    leaves = _moving(graph, outputs, wrt) if claims is None else list(claims)
    interior = [row for row in leaves if row not in values]
    hood = Neighbourhood(graph, outputs, values, point.sizes, interior)
    hood.emitted = sum(hood.point[leaf].size for leaf in leaves) >= MANY
    court = Court(graph, hood, float(np.finfo(dtype).eps), method)
    judge = Judge(court, _element_names(graph, hood))
    rows: list[Row] = []
    notes: list[str] = []
    if claims is None:
        derived, rows, notes = derivatives(graph, hood, leaves, dtype)
    else:
        derived = {row: claim[None, :] for row, claim in claims.items()}
    total = sum(hood.point[leaf].size for leaf in leaves)
    if total > MOST_SINGLY and len(hood.base) == 1:
        found, covered = _searched(judge, leaves, derived, budget)
        rows, notes = rows + found, [*notes, covered]
    else:
        rows += [row for leaf in leaves for row in judge.judge(leaf, derived[leaf])]
    for row in rows if number else ():
        row.point = number
    failing = WRONG in {row.verdict for row in rows}
    if claims is not None:
        edges = claiming.blamed(graph, hood, outputs[0], rows, claims) if failing else []
    else:
        nodes = upstream(graph, outputs) if failing else edging.suspects(graph, outputs)
        edges = edging.wrong_edges(graph, hood, nodes)
    shown = {
        graph.names[row]: np.asarray(value).tolist()
        for row, value in values.items()
        if row in graph.names and np.size(value) <= MOST_SHOWN
    }
    report = Report(
        rows,
        edges,
        [(edge.source, edge.target) for edge in edges],
        notes,
        points=[shown],
        evaluations=hood.evaluations,
        curve=judge.curve,
    )
    return report, hood


def _searched(
    judge: Judge, leaves: Sequence[int], derived: Mapping[int, Any], budget: Budget
) -> tuple[list[Row], str]:
    """Directions and groups, where there are too many elements to take them singly."""
    hood, graph = judge.court.hood, judge.court.graph
    names = {graph.names[leaf]: leaf for leaf in leaves}

    def value(offsets: Mapping[str, Any]) -> float:
        return float(hood.jointly({names[n]: part for n, part in offsets.items()})[0])

    def single(name: str, place: int) -> Row:
        before = hood.evaluations
        row = judge.single(names[name], derived[names[name]], place)
        budget.spend(hood.evaluations - before)
        return row

    layout = Layout({name: hood.point[leaf] for name, leaf in names.items()})
    claims = {name: derived[leaf] for name, leaf in names.items()}
    return searched(
        *(layout, claims, value, single, budget),
        of=judge.names.get(0, ""),
        epsilon=judge.court.epsilon,
    )


def _moving(graph: Structure, outputs: Sequence[int], wrt: Any) -> list[int]:
    """The rows of `wrt`; by default every input and param that the outputs need."""
    if wrt is None:
        needed = upstream(graph, outputs)
        return [row for row in graph.leaves() if row in needed]
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    return [graph.row(name) for name in names]


def _element_names(graph: Structure, hood: Neighbourhood) -> dict[int, str]:
    """A name for each output element."""
    found: dict[int, str] = {}
    for row in hood.outputs:
        shape = tuple(int(hood.sizes.get(str(size), size)) for size in graph.shape(row))
        for place in np.ndindex(shape):
            index = f"[{','.join(map(str, place))}]" if int(np.prod(shape)) > 1 else ""
            found[len(found)] = graph.names[row] + index
    return found
