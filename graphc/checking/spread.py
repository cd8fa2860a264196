"""A check at many points on the workers of Dask: the graph goes as text, reports come back.

The workers need graphc: the checker itself runs there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from ..distributed.places import Cluster
from ..errors import GraphcError
from ..structure.structure import Structure
from ..write.formula import graph_text
from .groups import Budget
from .points import Point
from .report import Report
from .trial import Asked, tried

GROUP = 8  # points of a task
Sent = tuple[int, dict[str, Any], dict[str, int]]  # the number of a point, its values and sizes


def spread(client: Any, asked: Asked, points: Sequence[Point]) -> list[Report]:
    """The reports at the points, in order; the first is made here, where its curve can be drawn."""
    cluster = Cluster(client)
    graph, budget = asked.graph, asked.budget
    share = None if budget.evaluations is None else max(budget.evaluations // len(points), 1)
    question = {
        "outputs": [graph.names[row] for row in asked.outputs],
        "wrt": asked.wrt,
        "want": asked.want,
        "method": asked.method,
        "dtype": asked.dtype,
        "budget": (share, budget.seconds),
    }
    sent: list[Sent] = [
        (number, {graph.names[row]: value for row, value in point.values.items()}, point.sizes)
        for number, point in enumerate(points)
    ][1:]
    groups = [sent[start : start + GROUP] for start in range(0, len(sent), GROUP)]
    futures = cluster.client.map(
        tried_there, groups, text=graph_text(graph), question=question, pure=False
    )
    first, _ = tried(asked, points[0], 0)
    try:
        found = [report for group in cluster.client.gather(futures) for report in group]
    except GraphcError as error:
        raise GraphcError(f"check: a worker cannot do its part: {error}") from None
    except ModuleNotFoundError as error:
        raise GraphcError(f"check: the workers need graphc ({error}); install it there") from None
    for report in found:
        report.edges = [replace(edge, line=_line(graph, edge)) for edge in report.edges]
    return [first, *found]


def tried_there(group: Sequence[Sent], text: str, question: Mapping[str, Any]) -> list[Report]:
    """The reports at a group of points, on a worker."""
    # by its public name, since a process that has only this module has not loaded all rooms
    graph = import_module("graphc").parse(text)
    evaluations, seconds = question["budget"]
    asked = Asked(
        graph,
        tuple(graph.row(name) for name in question["outputs"]),
        question["wrt"],
        None,
        *(question["want"], question["method"], question["dtype"]),
        Budget(evaluations, seconds),
    )
    reports = []
    for number, values, sizes in group:
        at = {graph.row(name): value for name, value in values.items()}
        report, _ = tried(asked, Point(at, sizes), number)
        report.curve = None  # it would carry the graph
        reports.append(report)
    return reports


def _line(graph: Structure, edge: Any) -> int:
    """The line on which the user declared an edge: that of its own derivative, if it has one."""
    node, source = graph.row(edge.target), graph.row(edge.source)
    own = [
        graph.partials[node, number]
        for number, other in graph.edges_of(node)
        if other == source and (node, number) in graph.partials
    ]
    return graph.lines.get(own[0] if own else node, 0)
