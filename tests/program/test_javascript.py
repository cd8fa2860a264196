"""The JavaScript back end, run by node: the same numbers as NumPy, whatever the names are."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from node import MLP, NODE, SWEPT, close, numbers, run, scripts
from probes import EXTREMES, PROBES, points
from strategies import ANALYTIC, KINKED, graphs
from tensor_operations import OPERATIONS

import graphc as gc
from graphc.explore.script import program_text

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
EXAMPLES = Path(__file__).parents[2] / "examples"


def compare(graph: gc.Graph, found: Any, point: Any, of: Any, wrt: str) -> None:
    """The numbers of node against values, reverse, forward and pathwise of the graph."""
    names, at = list(graph), point.given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values, adjoints = graph.values(at), graph.reverse(of, at)
        for name, value in zip(names, numbers(found["values"]), strict=True):
            close(value, values[name], name)
        got = dict(zip(names, numbers(found["adjoints"]), strict=True))
        assert {name for name, value in got.items() if value is not None} == set(adjoints)
        for name, value in adjoints.items():
            close(got[name], value, f"adjoint of {name}")
        shape = np.shape(at.get(wrt, values[wrt]))
        unit = np.zeros(shape)
        unit[(0,) * len(shape)] = 1
        tangents = graph.forward({wrt: unit if shape else 1.0}, at)
        got = dict(zip(names, numbers(found["tangents"]), strict=True))
        assert {name for name, value in got.items() if value is not None} == set(tangents)
        for name, value in tangents.items():
            close(got[name], value, f"tangent of {name}")
    if found["total"] <= 200:
        assert found["total"] == graph.count_paths(wrt, of)
        if found["paths"]:
            close(sum(numbers(found["paths"])), adjoints[wrt], "sum over paths")


@settings(max_examples=4)
@given(st.lists(graphs(ANALYTIC + KINKED), min_size=12, max_size=12))
def test_random_graphs_in_every_mode(cases):
    ready = []
    for case in cases:
        graph, at = case.graph, case.floats()
        of, wrt = list(graph)[-1], next(iter(at))
        ready.append((graph, of, wrt, *scripts(graph, of, wrt, at)))
    results = run([script + SWEPT for *_, script, _ in ready])
    for (graph, of, wrt, _, point), found in zip(ready, results, strict=True):
        compare(graph, found, point, of, wrt)


# The table of functions.


def test_every_function_is_what_numpy_computes():
    chosen = [probe for probe in PROBES if probe.record.domain]
    extreme = {
        name: [tuple(map(float, p)) for n, p in EXTREMES if n == name] for name, _ in EXTREMES
    }
    asked = {p.name: [*points(p), *extreme.get(p.name, [])] for p in chosen}
    pieces = []
    for probe in chosen:
        program = program_text(probe.graph, probe.inputs, {})
        listed = json.dumps(asked[probe.name])
        pieces.append(
            f"{program}\nreturn {listed}.map((given) => {{ const v = program.values(given); "
            "return [v[v.length - 1], ...program.locals(v, given)].map(String); });"
        )
    seen = 0
    for probe, rows in zip(chosen, run(pieces), strict=True):
        compiled = probe.graph.compile("y", probe.inputs, backend="numpy")
        for point, row in zip(asked[probe.name], rows, strict=True):
            with np.errstate(all="ignore"):
                value, grads = compiled(**probe.at(point))
            expected = [value, *(grads[name] for name in probe.inputs)]
            for text, number in zip(row, expected, strict=True):
                np.testing.assert_allclose(
                    float(text), number, rtol=1e-12, atol=1e-300, err_msg=f"{probe.name} {point}"
                )
                seen += 1
    assert seen > 1000


def test_comparisons_and_kinks():
    kinds = ["left", "right", "share", "1/3"]
    text = "input x y\n" + "\n".join(
        f"a{i} = where(x {sign} y, x**2, y**3)"
        for i, sign in enumerate(("<", "<=", ">", ">=", "==", "!="))
    )
    for i, kind in enumerate(kinds):
        given = kind if "/" in kind else f'"{kind}"'
        text += f"\nr{i} = relu(x - y, kink={given})"
        text += f"\nm{i} = max(x, y, kink={given})"
    graph = gc.parse(text)
    everything = " + ".join(name for name in graph if name not in ("x", "y"))
    graph.node("L", everything)
    graph.output("L")
    for at in ({"x": 1.0, "y": 1.0}, {"x": 2.0, "y": 1.0}, {"x": -1.0, "y": 0.5}):
        script, point = scripts(graph, "L", "x", at)
        compare(graph, run([script + SWEPT])[0], point, "L", "x")


# Graphs.

SCALAR = ["fig27", "ladder5", "neuron", "logistic", "xor", "recurrence", "huber", "kinks", "stop"]
SCALAR += ["own_derivative", "hidden_loss", "fourfold", "families", "unreached"]
TENSOR = ["dense_layer", "convolution", "least_squares", "log_determinant", "shared_matrix"]
TENSOR += ["softmax_regression"]


def test_examples_in_every_mode():
    graphs = [gc.load(EXAMPLES / f"{name}.gc") for name in SCALAR]
    graphs += [gc.load(EXAMPLES / "tensor" / f"{name}.gc") for name in TENSOR]
    graphs += [gc.parse(MLP, "mlp")]
    ready = []
    for graph in graphs:
        of = graph.output_names[0]
        for wrt in (graph.param_names + graph.input_names)[:3]:
            ready.append((graph, of, wrt, *scripts(graph, of, wrt)))
    results = run([script + SWEPT for *_, script, _ in ready])
    for (graph, of, wrt, _, point), found in zip(ready, results, strict=True):
        compare(graph, found, point, of, wrt)


def test_every_tensor_operation():
    graph = gc.parse(OPERATIONS)
    ready = [(wrt, *scripts(graph, "L", wrt)) for wrt in ("x", "v", "s", "M")]
    for (wrt, _, point), found in zip(ready, run([s + SWEPT for _, s, _ in ready]), strict=True):
        compare(graph, found, point, "L", wrt)


def test_seeds_and_matrix_right_hand_sides():
    graph = gc.parse(
        "input A[2,2] = [[2, 1], [0.5, 3]]\ninput B[2,2] = [[1, 2], [3, 4]]\nX = solve(A, B)"
    )
    seed = {"X": np.array([[1.0, -2.0], [0.5, 3.0]])}
    script, point = scripts(graph, seed, "A")
    found = run([script + SWEPT])[0]
    expected = graph.reverse(seed, point.given)
    got = dict(zip(graph, numbers(found["adjoints"]), strict=True))
    for name, value in expected.items():
        close(got[name], value, name)


def test_only_local_derivatives():
    graph = gc.from_edges(
        {("x", "a"): "3/10", ("x", "b"): "z2", ("a", "o"): 2, ("b", "o"): "z2*z2"}
    )
    script, point = scripts(graph, "o", "x", {"z2": "1/2"})
    found = run([script + SWEPT])[0]
    adjoints = dict(zip(graph, found["adjoints"], strict=True))
    assert float(adjoints["x"]) == pytest.approx(float(graph.derivative("o", "x", {"z2": 0.5})))
    assert found["values"] == [None] * 4
    assert found["total"] == 2 and point.given == {"z2": 0.5}


def test_a_branch_not_taken_passes_nothing():
    graph = gc.parse("input x = 0\na = log(x)\ny = where(x > 0, a, x**2)\nz = y + 2*x")
    script, point = scripts(graph, "z", "x")
    found = run([script + SWEPT])[0]
    adjoints = dict(zip(graph, found["adjoints"], strict=True))
    assert adjoints == {"x": "2", "a": "0", "y": "1", "z": "1"}


def test_many_paths_give_the_largest(ladder):
    graph = ladder(12)
    script, point = scripts(graph, "o", "x", {"x": 1.0})
    found = run([script + SWEPT])[0]
    assert found["total"] == graph.count_paths("x", "o") == 2**12
    best = graph.top_paths("o", "x", {"x": 1.0}, k=50)
    got = sorted((abs(float(text)) for text in found["paths"]), reverse=True)
    close(got, [abs(float(term[1])) for term in best.terms])


HOSTILE = ["np", "out", "constructor", "__proto__", "let", "ψ", "v0", "given", "program", "model"]
HOSTILE += ["Math", "this_", "toString", "hasOwnProperty", "arguments", "eval", "undefined"]


def test_no_name_can_clash():
    text = "".join(f"input {name}\n" for name in HOSTILE)
    text += f"total = {' + '.join(f'sin({name})*{i + 1}' for i, name in enumerate(HOSTILE))}\n"
    graph = gc.parse(text + "NaN = total**2\nInfinity = NaN + 1")
    at = {name: 0.1 * i for i, name in enumerate(HOSTILE)}
    program = program_text(graph, HOSTILE, {})
    assert not any(f"{name} " in program for name in ("np", "constructor", "__proto__", "ψ"))
    script, point = scripts(graph, "Infinity", "__proto__", at)
    compare(graph, run([script + SWEPT])[0], point, "Infinity", "__proto__")


def test_a_users_function_is_its_formula(own_functions):
    gc.declare(
        "swish", lambda x: x * gc.sigmoid(x), code={"javascript": "process.exit(1)", "numpy": "{x}"}
    )
    graph = gc.parse("input x = 0.7\ny = swish(x)")
    script, point = scripts(graph, "y", "x")
    assert "process" not in script
    found = run([script + SWEPT])[0]
    assert float(found["values"][1]) == pytest.approx(0.7 / (1 + math.exp(-0.7)), rel=1e-15)


def test_the_same_graph_gives_the_same_text(fig27):
    first, second = (program_text(fig27, list(fig27)[:5], {}) for _ in range(2))
    assert first == second
