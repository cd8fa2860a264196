"""Second derivatives, and tangents against adjoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..derive.differentiate import differentiate
from ..program.compiling import compile_graph
from ..structure.rows import GraphRow
from . import blackbox
from .judging import Judge
from .neighbourhood import Neighbourhood
from .rows import Block
from .settling import Court
from .verdicts import CORRECT, NOT_FINITE, WRONG, Row


def curvature(court: Court, leaves: Sequence[GraphRow], dtype: str) -> list[Block]:
    """Rows on the Hessian: the emitted one against differences of the gradient's graph."""
    graph, hood = court.graph, court.hood
    if not leaves:  # a number has no derivatives
        return []
    names = [graph.names[leaf] for leaf in leaves]
    of = graph.names[hood.outputs[0]]
    compiled = compile_graph(graph, of, names, "hessian", dtype=dtype)
    matrix = np.asarray(compiled(**_arguments(court, compiled)), float)
    other = differentiate(graph, of, names)  # the rows of the graph keep their numbers
    point = {row: value for row, value in hood.fixed.items() if graph.ops[row] != "stop"}
    around = Neighbourhood(other, other.declared_outputs, point, hood.sizes)
    first = [
        f"(d {of} / d {name}{_index(place)})"
        for name, leaf in zip(names, leaves, strict=True)
        for place in np.ndindex(hood.point[leaf].shape)
    ]
    judge = Judge(Court(other, around, court.epsilon, court.method), dict(enumerate(first)))
    sizes = [hood.point[leaf].size for leaf in leaves]
    parts = np.split(matrix, np.cumsum(sizes)[:-1], axis=1)
    blocks = judge.judge(leaves, dict(zip(leaves, parts, strict=True)))
    hood.evaluations += around.evaluations
    return blocks


def _index(place: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, place))}]" if place else ""


def _arguments(court: Court, compiled: Any) -> dict[str, Any]:
    """The point, as far as a compiled function asks for it."""
    graph, hood = court.graph, court.hood
    at = {
        name: np.zeros(hood.shape(graph.row(name)))  # asked for its sizes, if the point has none
        for name in compiled.needed
        if name in graph.rows
    }
    at |= {graph.names[row]: value for row, value in hood.fixed.items() if row in graph.names}
    return {name: at[name] for name in compiled.arguments if name in at}


def consistency(court: Court, leaves: Sequence[GraphRow], dtype: str) -> list[Row]:
    """<w, Jv> by the emitted jvp against <v, Jᵀw> by the emitted vjp, and against a difference."""
    graph, hood = court.graph, court.hood
    names = [graph.names[leaf] for leaf in leaves]
    row = hood.outputs[0]
    of = graph.names[row]
    generator = np.random.default_rng(0)
    tangents = {
        n: generator.standard_normal(hood.point[k].shape)
        for n, k in zip(names, leaves, strict=True)
    }
    weights = generator.standard_normal(hood.shape(row))
    push = compile_graph(graph, of, names, "jvp", dtype=dtype)
    pull = compile_graph(graph, of, names, "vjp", dtype=dtype)
    with np.errstate(all="ignore"):
        dots = {f"{name}_dot": tangent for name, tangent in tangents.items()}
        _, pushed = push(**_arguments(court, push), **dots)
        _, pulled = pull(**_arguments(court, pull), **{f"{of}_bar": weights})
        along = float(np.sum(weights * pushed))
        parts = [float(np.sum(pulled[name] * tangents[name])) for name in names]
        rounding = sum(
            float(
                np.abs(weights.ravel()) @ court.errors.derivatives[k] @ np.abs(tangents[n].ravel())
            )
            for n, k in zip(names, leaves, strict=True)
        )
    back, size = sum(parts), sum(map(abs, parts))
    close = abs(along - back) <= 1e3 * court.epsilon * size + rounding
    finite = np.isfinite(along) and np.isfinite(back)
    verdict = NOT_FINITE if not finite else CORRECT if close else WRONG
    rows = [Row("all", None, along, back, verdict, "<w, Jv> and <v, JTw>", of)]
    offsets = {leaf: tangents[name] for name, leaf in zip(names, leaves, strict=True)}

    def on_line(steps: Any) -> Any:
        moved = ({leaf: step * offset for leaf, offset in offsets.items()} for step in steps)
        return np.array([float(np.sum(weights.ravel() * hood.jointly(one))) for one in moved])

    base = float(np.sum(weights.ravel() * hood.base))
    slack = blackbox.Slack(
        court.tolerance, 64 * court.epsilon * size + rounding, 0.0, float(np.finfo(float).eps), size
    )
    found = blackbox.settle(on_line, base, along, 1.0, 1.0, slack)
    rows.append(Row("all", None, along, found.measured, found.verdict, found.evidence, of))
    return rows
