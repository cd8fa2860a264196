"""Every function of the table at infinities, NaN, signed zeros, tiny and huge numbers."""

from __future__ import annotations

import json
import subprocess
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from cupy_stand_in import COMPILER, standing_in
from edge_graphs import NODE
from engines import ENGINES, on_tape
from probes import PROBES, Probe

import graphc as gc
from graphc.explore.script import program_text
from graphc.program.backends.cupy import LIBRARY
from graphc.program.running import load

# An operand is a quotient, as no engine takes infinities or NaN from outside: (above, below).
ORDINARY = [(0.5, 1.0), (1.0, 1.0), (-1.0, 1.0), (2.0, 1.0)]
EDGES = [
    *((0.0, 1.0), (-0.0, 1.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 0.0)),
    *((1e-300, 1.0), (-1e-300, 1.0), (1e300, 1.0), (-1e300, 1.0), (800.0, 1.0), (-800.0, 1.0)),
]
FEW = [*ORDINARY[1:3], *EDGES[:5]]
EXPRESSIONS = {  # what a rewrite may not touch
    "difference": "1/(-(a - b))",
    "sum with 0": "1/(a + 0)",
    "0 minus": "1/(0 - a)",
    "minus a sum": "1/(-a + b)",
    "product with 0": "0*a",
    "product with a choice": "a*where(b > 0, 1, 0)",
    "root": "1/a**(1/2)",
    "reciprocal root": "a**(-1/2)",
    "3/2": "a**(3/2)",
    "-3/2": "a**(-3/2)",
    "1/3": "a**(1/3)",
    "cube": "1/a**3",
    "quotient of signs": "(-a)/(-b)",
    "half": "1/(a/2)",
    "square": "1/(a*a)",
    "twice minus": "1/(-(-a))",
}


def graphs() -> dict[str, tuple[gc.Graph, int]]:
    """Each function of quotients, and how many operands it has."""
    found = {}
    for probe in PROBES:
        if probe.record.domain:
            found[probe.name] = (_of_probe(probe), len(probe.record.domain))
    for name, formula in EXPRESSIONS.items():
        text = f"input s0 t0 s1 t1\na = s0/t0\nb = s1/t1\ny = {formula}\noutput y"
        found[name] = (gc.parse(text), 2)
    return found


def _of_probe(probe: Probe) -> gc.Graph:
    graph, operands = gc.Graph(probe.name), []
    for i in range(len(probe.record.domain)):
        above, below = graph.input(f"s{i}"), graph.input(f"t{i}")
        operands.append(graph.node(f"u{i}", above / below))
    graph.output(graph.node("y", probe.build(*operands)))
    return graph


def points(count: int) -> dict[str, np.ndarray]:
    """All combinations of edges, by input."""
    choices = [[*EDGES, *ORDINARY], [*EDGES, *ORDINARY], FEW][min(count, 3) - 1]
    table = np.array([list(sum(point, ())) for point in product(choices, repeat=count)])
    columns = [name for i in range(count) for name in (f"s{i}", f"t{i}")]
    return {name: table[:, k].copy() for k, name in enumerate(columns)}


def engines(graph: gc.Graph, at: dict[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """(engine, values of y at all points), NumPy's operations one by one first."""
    size = len(next(iter(at.values())))
    singles = [{name: float(column[k]) for name, column in at.items()} for k in range(size)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield "interpreter", np.array([float(graph.values(single)["y"]) for single in singles])
        yield "points", np.broadcast_to(graph.values(at)["y"], (size,))
        for kind, engine in ENGINES.items():
            f = graph.compile("y", want="value", **engine)
            yield f"{kind} points", np.broadcast_to(f(**at), (size,))
            yield kind, np.array([float(f(**single)) for single in singles])
        if (tape := on_tape(graph, "y", None, "value")) is not None:
            yield "tape", np.array([float(tape(**single)) for single in singles])


def slopes(
    graph: gc.Graph, operand: str, at: dict[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """(engine, derivatives of y by an operand at all points)."""
    size = len(next(iter(at.values())))
    singles = [{name: float(column[k]) for name, column in at.items()} for k in range(size)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = [float(graph.derivative("y", operand, at=single)) for single in singles]
        yield "interpreter", np.array(found)
        for mode in ("reverse", "forward"):
            slope = graph.derivative("y", operand, at=at, mode=mode)
            yield f"points {mode}", np.broadcast_to(slope, (size,))
        graph_of_slopes = graph.differentiate("y", operand)
        (name,) = graph_of_slopes.output_names
        yield "graph", np.broadcast_to(np.float64(graph_of_slopes.values(at)[name]), (size,))
        for kind, engine in ENGINES.items():
            f = graph.compile("y", operand, want="grad", **engine)
            yield f"{kind} points", np.broadcast_to(f(**at)[operand], (size,))
            yield kind, np.array([float(f(**single)[operand]) for single in singles])
        if (tape := on_tape(graph, "y", operand, "grad")) is not None:
            yield "tape", np.array([float(tape(**single)[operand]) for single in singles])


def in_javascript(cases: list[tuple[gc.Graph, dict[str, np.ndarray]]]) -> list[np.ndarray]:
    """The values of y as a page computes them."""
    pieces = []
    for graph, at in cases:
        program = program_text(graph, list(at), {})
        listed = json.dumps(np.array(list(at.values())).T.tolist())
        place = list(graph).index("y")
        body = f"{program}\nreturn {listed}.map((p) => String(show(program.values(p)[{place}])));"
        pieces.append(f"console.log(((() => {{\n{body}\n}})()).join(' '));")
    head = '"use strict";\nconst show = (x) => (Object.is(x, -0) ? "-0" : x);\n'
    done = subprocess.run(
        [str(NODE), "-"], input=head + "\n".join(pieces), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.replace("Infinity", "inf").splitlines()
    return [np.array([float(word) for word in line.split()]) for line in lines]


@cache
def kernels() -> dict[str, Any]:
    """The function of each graph as a fused kernel, all compiled together."""
    assert COMPILER is not None
    asked = {"want": "value", "backend": "cupy", "style": "fast"}
    with standing_in():
        return {
            name: load(
                graph.emit("y", want="value", backend="cupy", style="fast"),
                "value",
                LIBRARY.packages,
            )
            for name, (graph, _) in graphs().items()
        }


def same_class(found: np.ndarray, expected: np.ndarray, zeros: bool = True) -> np.ndarray:
    """Whether each value is of the same kind (NaN, infinity, zero, their signs) and near."""
    with np.errstate(all="ignore"):
        signs = (np.signbit(found) == np.signbit(expected)) | np.isnan(expected)
        near = np.abs(found - expected) <= 1e-12 * np.abs(expected)
    equal = (found == expected) | (np.isnan(found) & np.isnan(expected)) | near
    kinds = (found == 0) == (expected == 0)
    return equal & kinds & (signs | (expected == 0) if not zeros else signs)
