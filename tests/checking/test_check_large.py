"""The network of 499 parameters near its kinks, and 109 386 parameters with three wrong ones."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import graphc as gc
from graphc.checking import batches, neighbourhood
from graphc.program.compiling import compile_graph

FOLDER = Path(__file__).parents[2] / "benchmarks"
SIZES = (20, 16, 8, 3)


@pytest.fixture(scope="module")
def w6():
    """The benchmark's network, loss and backward pass by hand."""
    sys.path.insert(0, str(FOLDER))  # it imports its neighbours
    try:
        spec = importlib.util.spec_from_file_location("w6_checkers", FOLDER / "w6_checkers.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FOLDER))
    return module


@pytest.fixture(scope="module")
def graph(w6):
    return w6.graph_of(SIZES)


@pytest.mark.parametrize("distance", [None, 0.0, 1e-7, 1e-5, 1e-3])
def test_no_alarm_at_any_distance_from_a_kink(w6, graph, distance):
    at = w6.network(SIZES, distance)
    report = gc.check(graph, "L", at, w6.NAMES)
    assert len(report.rows) == 499 and report.ok, str(report)
    assert report.kinks == ([] if distance is None else ["h1"])
    found = {row.verdict for row in report.rows} - {"correct"}
    expected = {None: set(), 0.0: {"at-kink"}}.get(distance, {"near-kink"})
    assert found == expected
    if distance is not None:
        (row,) = (row for row in report.rows if row.name == "b1" and row.index == (3,))
        assert row.verdict in expected and "h1 = relu(a1), element 3" in row.evidence
        claimed = gc.check(graph, "L", at, claimed=w6.gradient(at))
        assert claimed.ok, str(claimed)


def test_single_wrong_coordinates_are_found_and_named(w6, graph):
    at = w6.network(SIZES)
    right = w6.gradient(at)
    places = [(name, k) for name in w6.NAMES for k in range(0, right[name].size, 17)]
    assert len(places) > 30
    for name, place in places:
        wrong = right[name].copy()
        value = wrong.flat[place]
        wrong.flat[place] = value * 1.01 if value else 1e-4
        report = gc.check(graph, "L", at, claimed={**right, name: wrong})
        bad = [(row.name, row.index) for row in report.rows if row.verdict == "wrong"]
        assert bad == [(name, np.unravel_index(place, wrong.shape))]
        assert [source for source, _ in report.blame] == [name]


def test_three_wrong_of_109386_are_found_with_few_evaluations(w6):
    sizes = (784, 128, 64, 10)
    at = w6.network(sizes, batch=16)
    weights = {name: at[name] for name in w6.NAMES}
    assert sum(value.size for value in weights.values()) == 109_386
    spoilt = {("W1", (15, 77)), ("W2", (100, 3)), ("b3", (4,))}
    calls = []

    def f(**weights):
        calls.append(1)
        return w6.loss({**at, **weights})

    def grad(**weights):
        found = w6.gradient({**at, **weights})
        for name, place in spoilt:
            found[name][place] += 0.1 * np.abs(found[name]).max()
        return found

    report = gc.check_function(f, grad, weights)
    assert set(report.blame) == spoilt
    assert len(calls) < 400
    right = gc.check_function(f, lambda **weights: w6.gradient({**at, **weights}), weights)
    assert right.ok, str(right)


def test_a_large_graph_is_searched_too(w6):
    sizes = (60, 100, 20, 4)
    graph, at = w6.graph_of(sizes), w6.network(sizes)
    report = gc.check(graph, "L", at, w6.NAMES)
    assert report.ok and "judged together" in report.notes[-1]
    wrong = w6.gradient(at)
    wrong["W2"][3, 7] += 0.01
    report = gc.check(graph, "L", at, claimed=wrong)
    assert [(row.name, row.index) for row in report.rows if row.verdict == "wrong"] == [
        ("W2", (3, 7))
    ]
    assert report.blame == [("W2", "a2")] and report.evaluations < 300


def test_more_wrong_claims_than_are_searched_for_blame_no_node_called_all():
    graph = gc.parse("param W[80,80] x[80]\ny = sum(tanh(W @ x))")
    rng = np.random.default_rng(0)
    at = {"W": rng.standard_normal((80, 80)) / 9, "x": np.ones(80)}
    right = {name: np.asarray(found, float) for name, found in graph.reverse("y", at).items()}
    report = gc.check(graph, at=at, claimed={"W": 1.3 * right["W"], "x": 0.5 * right["x"]})
    assert not report.ok and {source for source, _ in report.blame} <= {"W", "x"}


def told(report):
    """What a report says of each derivative."""
    return [(row.name, row.index, row.of, row.verdict, row.kink) for row in report.rows]


@pytest.mark.parametrize("distance", [None, 1e-5])
def test_leaves_checked_together_are_told_as_if_each_were_alone(w6, graph, distance, monkeypatch):
    at = w6.network(SIZES, distance)
    together = gc.check(graph, "L", at, w6.NAMES)
    monkeypatch.setattr(neighbourhood, "LARGEST_GROUP", 0)
    alone = gc.check(graph, "L", at, w6.NAMES)
    assert told(together) == told(alone)
    bounds = [[row.bound / abs(row.derived or 1) for row in r.rows] for r in (together, alone)]
    assert np.max(bounds[0]) == pytest.approx(np.max(bounds[1]), rel=0.5)
    found = [[row.measured for row in report.rows] for report in (together, alone)]
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize(
    "text",
    [
        "input x[30]\ny = relu(x)",  # the output and the switch are views of the neighbours
        "input x[12] y[12]\nL = max(x*y)",
        "input A[3,3]\nL = sum(inv(A + 9*eye(3)))",
        "input x[40]\ny = x",
    ],
)
def test_a_few_neighbours_at_a_time_tell_the_same(text, monkeypatch):
    graph = gc.parse(text)
    whole = gc.check(graph, points=2)
    monkeypatch.setattr(neighbourhood, "LARGEST_BATCH", 100)
    parts = gc.check(graph, points=2)
    assert told(whole) == told(parts) and whole.ok
    assert [row.measured for row in whole.rows] == [row.measured for row in parts.rows]


def test_inner_nodes_are_moved_in_emitted_code(w6, graph):
    at = w6.network(SIZES)
    report = gc.check(graph, "L", at, ["W1", "h1", "a2"])
    assert report.ok and len(report.rows) == 320 + 8 * 16 + 8 * 8, str(report)


def test_a_leaf_named_twice_is_told_once():
    report = gc.check(gc.parse("input x[2] = [1, 2]\nL = sum(x**2)"), "L", {}, ["x", "x"])
    assert [row.derived for row in report.rows] == [2, 4] and report.ok


def test_neighbours_of_scalars_are_points_of_the_native_engine(monkeypatch):
    engines = []

    def compiled(*args, **settings):
        found = compile_graph(*args, **settings)
        engines.append(found.plan.engine)
        return found

    monkeypatch.setattr(batches, "compile_graph", compiled)
    many = range(210)
    at = {f"w{k}": 0.1 * k - 7 for k in many}
    formula = " + ".join(f"sin(w{k})*w{k}" for k in many)
    report = gc.check(gc.parse(f"param w[0..209]\nh = {formula}\nL = relu(h)*tanh(h/100)"), "L", at)
    assert report.ok and len(report.rows) == 210, str(report)
    expected = gc.parse("param w\ny = sin(w)").compile(want="value").plan.engine
    assert engines and set(engines) == {expected}
