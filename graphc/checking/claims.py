"""Claims: somebody's adjoints, judged from the output backwards.

A node is blamed only where the claims above it (towards the output) are right: what a wrong claim
hands on is not the fault of those who received it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..algebra.arithmetic import Numbers
from ..algebra.exact import as_float
from ..derive.evaluation import Evaluation
from ..derive.hops import out_of
from ..errors import GraphcError
from ..structure.paths import reached
from ..structure.reach import origins
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from .neighbourhood import Neighbourhood
from .report import Edge
from .verdicts import FAILING, Row

SAME = 1e-6  # relative: two claims that imply the same adjoint


def as_arrays(
    graph: Structure, claimed: Mapping[str, Any], sizes: Mapping[str, int]
) -> dict[GraphRow, Any]:
    """{row: flat claim}, checked against the shapes of the nodes."""
    found: dict[GraphRow, Any] = {}
    for name, claim in claimed.items():
        row = graph.row(name)
        values = to_array(claim, f"the claim for {name!r}")
        shape = tuple(int(sizes.get(str(size), size)) for size in graph.shape(row))
        if values.shape != shape and (shape or values.size != 1):
            raise GraphcError(
                f"claimed: {name!r} has shape {shape}, but its claim has shape {values.shape}; "
                "transpose or reshape it"
            )
        found[row] = values.ravel()
    return found


def to_array(value: Any, what: str) -> Any:
    """Any array or number as a NumPy array of floats."""
    for step in ("detach", "cpu"):  # tensors of torch
        if hasattr(value, step):
            value = getattr(value, step)()
    if hasattr(value, "evalf"):
        value = float(value)
    try:
        if np.iscomplexobj(value):
            raise TypeError
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        kind = "complex" if np.iscomplexobj(value) else type(value).__name__
        raise GraphcError(f"{what} is {kind}; give a real number or an array") from None
    return array


def blamed(
    graph: Structure,
    hood: Neighbourhood,
    output: GraphRow,
    rows: Sequence[Row],
    claims: Mapping[GraphRow, Any],
) -> list[Edge]:
    """The edges over which a wrong claim came from right ones, nearest to the output first."""
    reaching = origins(graph, output)
    onward = {
        node: list(dict.fromkeys(target for target, _ in hops if target in reaching))
        for node, hops in out_of(graph, sorted(reaching)).items()
    }
    wrong = {
        graph.row(row.name) for row in rows if row.verdict in FAILING and row.index is not None
    }
    state: dict[GraphRow, bool] = {row: row in wrong for row in claims}
    implied = _implied(graph, hood, claims, state, onward, output)
    state = {**implied, **state, output: output in wrong}
    found = []
    for node in sorted((n for n, is_wrong in state.items() if is_wrong), reverse=True):
        above = onward.get(node, [])
        if node != output and _inherits(node, state, onward):
            continue
        target = above[0] if len(above) == 1 else None
        note = ""
        if target is not None and target not in state:
            note = f"{graph.names[target]} was not claimed: the fault may lie beyond it"
        first = next(
            (row for row in rows if row.name == graph.names[node] and row.verdict in FAILING), None
        )
        found.append(
            Edge(
                graph.names[node],
                None if target is None else graph.names[target],
                first.derived if first else np.nan,
                first.measured if first else np.nan,
                note=note or ("" if first else "as the claims below it imply"),
            )
        )
    return found


def _inherits(
    node: GraphRow, state: Mapping[GraphRow, bool], onward: Mapping[GraphRow, list[GraphRow]]
) -> bool:
    """Whether a wrong claim lies above a node, with nothing but unclaimed nodes between."""
    above = reached(
        onward.get(node, []), lambda here: () if here in state else onward.get(here, [])
    )
    return any(state.get(here, False) for here in above)


def _implied(
    graph: Structure,
    hood: Neighbourhood,
    claims: Mapping[GraphRow, Any],
    state: Mapping[GraphRow, bool],
    onward: Mapping[GraphRow, list[GraphRow]],
    output: GraphRow,
) -> dict[GraphRow, bool]:
    """{unclaimed node: whether the claims of its sources say that its adjoint is wrong}.

    A source whose only way on is this node and whose claim is right vouches for it; sources that
    are all wrong by the same factor accuse it.
    """
    evaluation = Evaluation(graph, Numbers(hood.sizes), dict(hood.fixed), {})
    users: dict[GraphRow, list[GraphRow]] = {}
    for source, targets in onward.items():
        if source in claims and len(targets) == 1:
            users.setdefault(targets[0], []).append(source)
    found: dict[GraphRow, bool] = {}
    for node, sources in users.items():
        if node in claims or node == output or graph.shape(node):
            continue
        ratios = []
        for source in sources:
            local = _local(graph, evaluation, source, node)
            if local is None or graph.shape(source):
                continue
            ratios.append((float(claims[source][0]) / local, state[source]))
        if any(not is_wrong for _, is_wrong in ratios):
            found[node] = False
        elif len(ratios) > 1:
            first = ratios[0][0]
            if all(abs(ratio - first) <= SAME * abs(first) for ratio, _ in ratios):
                found[node] = True
    return found


def _local(
    graph: Structure, evaluation: Evaluation, source: GraphRow, node: GraphRow
) -> float | None:
    """The local derivative of a scalar edge, if it is a number other than 0."""
    total = 0.0
    for edge, row in graph.edges_of(node):
        if row == source:
            share = evaluation.pull((node, edge), 1.0)
            total += 0.0 if share is None else float(np.sum(as_float(share)))
    return total if total and np.isfinite(total) else None
