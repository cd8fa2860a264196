"""What a page knows of a graph: its nodes and edges, their formulas, and where it starts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from ..algebra.exact import as_float
from ..derive.evaluation import Edge
from ..derive.hops import seeds_of
from ..derive.request import Request, free_symbols
from ..draw.mathematics import ELLIPSIS, plain
from ..draw.quantities import Quantity, formula, quantities, result_line
from ..draw.themes import KINDS
from ..errors import GraphcError, one_of
from ..structure.reach import origins
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.letters import name_math
from ..table.phrases import drawn, tokens
from .start import Start

MODES = ("reverse", "forward", "paths")
NAME, LONGEST = 80, 2000  # characters that are shown
MOST_ELEMENTS = 64  # of a tensor that can each be derived


def model(
    graph: Structure, point: Start, of: Any = None, wrt: Any = None, mode: str = "reverse"
) -> dict[str, Any]:
    """The data of a page."""
    one_of(mode, MODES, "mode")
    nodes = graph.nodes()
    place = {node: number for number, node in enumerate(nodes)}
    ends, chosen = _ends(graph, of, point)
    source = graph.row(wrt) if wrt is not None else _first_wrt(graph, chosen)
    return {
        "name": plain(graph.name),
        "nodes": [_node(graph, node, place, point) for node in nodes],
        "edges": _edges(graph, place),
        "given": _given(graph, place, point),
        "ends": [
            {"label": label, "seeds": [[place[row], seed] for row, seed in seeds.items()]}
            for label, seeds in ends
        ],
        "wrt": place[source],
        "mode": mode,
        "bare": any(op == "edges" for op in graph.ops),
    }


def _node(
    graph: Structure, node: GraphRow, place: Mapping[GraphRow, int], point: Start
) -> dict[str, Any]:
    name, declared = graph.names[node], formula(graph, node)
    return {
        "name": plain(name),
        "math": plain(name_math(name), NAME),
        "bar": plain(name_math(f"{name}_bar"), NAME),
        "dot": plain(name_math(f"{name}_dot"), NAME),
        "kind": KINDS[graph.kind(node)],
        "shape": _sizes(graph, node, point),
        "formula": plain(declared.drawn, LONGEST) if declared else "",
        "text": plain(declared.full, LONGEST) if declared else "",
        "parts": _parts(graph, node, declared, place) if declared else [],
    }


def _parts(
    graph: Structure, node: GraphRow, declared: Quantity, place: Mapping[GraphRow, int]
) -> list[str | int]:
    """The formula of a scalar node, cut where names stand: numbers can be put there."""
    formula = graph.formula(node)
    if any(row in graph.shapes for row in (*formula.rows, *formula.sources)):
        return []
    sources = {graph.names[row]: place[row] for row in formula.sources}
    if len(declared.full) > LONGEST:
        return []
    parts: list[str | int] = []
    run = ""
    for token in tokens(declared.shown):
        if isinstance(token, str):
            run += token
        elif token.word == "name" and token.text in sources:
            parts += [run, sources[token.text]]
            run = ""
        else:
            run += token.drawn
    return [*parts, run]


def _edges(graph: Structure, place: Mapping[GraphRow, int]) -> list[dict[str, Any]]:
    local = quantities(graph, None, None, show=("local",)).local
    request = Request(graph, None, "steps")
    found = []
    for node in graph.nodes():
        inside = graph.formula(node)
        for edge, source in enumerate(inside.sources):
            passes = inside.passes[edge]
            here = local.get((node, edge))
            found.append(
                {
                    "source": place[source],
                    "target": place[node],
                    "passes": passes,
                    "local": plain(here.full, LONGEST) if here else "",
                    "back": _carried(request, (node, edge), "bar") if passes else "",
                    "forth": _carried(request, (node, edge), "dot") if passes else "",
                }
            )
    return found


def _carried(request: Request, edge: Edge, suffix: str) -> str:
    """What an edge carries back (or forward), in symbols."""
    graph, evaluation = request.graph, request.evaluation
    near = edge[0] if suffix == "bar" else graph.formula(edge[0]).sources[edge[1]]
    carry = evaluation.pull if suffix == "bar" else evaluation.push
    try:
        found = carry(edge, request.symbol(f"{graph.names[near]}_{suffix}", graph.shape(near)))
        if found is None:
            return "0"
        return plain(drawn(result_line(request.finish(found, lambda: "a derivative"))), LONGEST)
    except GraphcError:  # too long to be written down
        return ELLIPSIS


def _given(graph: Structure, place: Mapping[GraphRow, int], point: Start) -> list[dict[str, Any]]:
    """What comes from outside, in the order in which the program takes it."""
    kinds = {graph.names[row]: (graph.ops[row], place[row]) for row in graph.leaves()}
    return [
        {
            "name": plain(name),
            "math": plain(name_math(name), NAME),
            "kind": KINDS.get(kinds[name][0], "") if name not in free_symbols(graph) else "symbol",
            "node": -1 if name in free_symbols(graph) else kinds[name][1],
            "shape": list(np.shape(value)),
            "value": value if isinstance(value, float) else value.ravel().tolist(),
        }
        for name, value in point.given.items()
    ]


def _ends(
    graph: Structure, of: Any, point: Start
) -> tuple[list[tuple[str, dict[GraphRow, Any]]], dict[GraphRow, Any]]:
    """What can be derived, with its seeds, the one to start with first; and that one's seeds.

    Nodes of one element, and the elements of outputs and of what was asked for.
    """
    asked = [] if of is None else list(seeds_of(graph, of))
    outputs = graph.outputs()
    choices: list[tuple[str, dict[GraphRow, Any]]] = []
    for node in reversed(graph.nodes()):
        shape = _sizes(graph, node, point)
        name, count = plain(graph.names[node]), math.prod(shape)
        if count == 1:
            choices.append((name, {node: [1.0] if shape else 1.0}))
        elif node in asked or node in outputs:
            places = islice(np.ndindex(*shape), MOST_ELEMENTS)
            units = np.eye(min(count, MOST_ELEMENTS), count).tolist()
            choices += [
                (f"{name}[{','.join(map(str, place))}]", {node: unit})
                for place, unit in zip(places, units, strict=True)
            ]
    if isinstance(of, Mapping):
        request = Request(graph, point.given)
        chosen = {
            row: _flat(request.seed(seed, f"the seed of {graph.names[row]!r}", graph.shape(row)))
            for row, seed in seeds_of(graph, of).items()
        }
        label = " + ".join(f"{seed}·{name}" for name, seed in of.items())
        return [(plain(label, NAME), chosen), *choices], chosen
    if not choices:
        raise GraphcError("no node has an element, so there is nothing to derive")
    wanted = asked or [row for row in outputs if math.prod(_sizes(graph, row, point)) == 1]
    first = next((c for c in choices if [*c[1]] == (wanted or outputs)[:1]), choices[0])
    return [first, *(choice for choice in choices if choice is not first)], first[1]


def _sizes(graph: Structure, node: GraphRow, point: Start) -> list[int]:
    return [size if isinstance(size, int) else point.sizes[size] for size in graph.shape(node)]


def _flat(value: Any) -> Any:
    array = np.asarray(as_float(value), dtype=np.float64)
    return array.ravel().tolist() if array.shape else float(array)


def _first_wrt(graph: Structure, ends: Mapping[GraphRow, Any]) -> GraphRow:
    """The first param, or input, that has a path to what is derived."""
    above = {node for end in ends for node in origins(graph, end)}
    leaves = [row for row in graph.leaves() if row in above]
    params = [row for row in leaves if graph.ops[row] == "param"]
    leaves = params or leaves
    return leaves[0] if leaves else min(above)
