"""Every example runs: graphs read back and agree in every mode, programs say what they should."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from sympy import Rational

import graphc as gc
from graphc.commands import tour as demo

EXAMPLES = Path(__file__).parent.parent / "examples"
GRAPHS = sorted(EXAMPLES.glob("*.gc"))
EXPECTED = {
    "check_any_function.py": "20 points: wrong",
    "check_backward_pass.py": "to blame: [('a', 'h')]",
    "chain_rule.py": "their sum is -3*sin(9/4) + 3*cos(9/4)",
    "emit_module.py": "spring_grad.py checks itself: value_and_grad: derived and measured",
    "figure.py": "highlighted: y2 -> y6 -> y9 -> y10 contributes 0.2228",
    "fit_scipy.py": "omega = 2.0",
    "gradient_descent.py": "'w1': '-1/4', 'w2': '1/2', 'b': '-1/4'",
    "ladder.py": "1152921504606846976 paths from x to o",
    "models.py": "graph_convolution",
    "newton.py": "step 4: x = 0.695884386, y = -1.347942193",
    "own_function.py": "the curvature is 4*exp(-1)",
    "pendulum.py": "106 nodes; 5.731e+20 paths",
    "saliency.py": "the network looks at pixels [5, 6]",
    "same_model_on_cupy.py": "the two modules agree",
    "shared_weight.py": "their sum:   +0.131854975157939",
    "train_moons.py": "of new points right",
    "worked_solution.py": "the path y2 -> y5 -> y8 -> y10 is missing",
}


def by_name(path):
    return path.name


def test_there_are_enough_of_them():
    assert len(GRAPHS) >= 10
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


def test_the_demo_ships_the_same_graph():
    assert demo.text() == (EXAMPLES / "fig27.gc").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", GRAPHS, ids=by_name)
def test_a_graph_says_what_it_shows_and_reads_back(path):
    assert path.read_text(encoding="utf-8").startswith("# ")
    graph = gc.load(path)
    again = gc.parse(graph.to_text(), graph.name)
    assert again.to_text() == graph.to_text()
    assert list(again) == list(graph)
    assert again.edges() == graph.edges()


def point(graph):
    """The given values, and halves and thirds for the rest."""
    names = graph.input_names + graph.param_names
    return {
        name: f"{number + 1}/{number % 3 + 2}"
        for number, name in enumerate(names)
        if graph[name].value is None
    }


@pytest.mark.parametrize("path", GRAPHS, ids=by_name)
def test_the_modes_agree_exactly(path):
    graph = gc.load(path)
    at = point(graph)
    values = graph.values(at)
    assert list(values) == list(graph)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gc.KinkWarning)
        for output in graph.output_names:
            backward = graph.reverse(output, at)
            for name in graph.input_names + graph.param_names:
                forward = graph.forward(name, at)
                assert backward.get(name) == forward.get(output)
                assert graph.derivative(output, name, at, mode="paths") == backward.get(name, 0)


def derivative(name, of, wrt):
    return gc.load(EXAMPLES / name).derivative(of, wrt, at={})


def test_known_answers():
    assert float(derivative("ladder5.gc", "o", "x")) == pytest.approx(
        -0.0691856694576352, rel=1e-14
    )
    assert float(derivative("fourfold.gc", "f4", "x")) == pytest.approx(
        0.108889184919382, rel=1e-14
    )
    assert derivative("neuron.gc", "L", "w1") == Rational(-1, 4)
    assert derivative("stop.gc", "L", "w") == -4
    assert derivative("own_derivative.gc", "L", "x") == 3
    assert derivative("huber.gc", "L", "prediction") == 1
    assert derivative("unreached.gc", "y", "b") == 0
    with pytest.warns(gc.KinkWarning, match="'m'.*half, r"):
        assert derivative("kinks.gc", "o", "x") == 1


@pytest.mark.parametrize("name", EXPECTED)
def test_a_program_runs(name):
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert EXPECTED[name] in done.stdout
