"""Models of tensor nodes: every gradient against differences; shared weights and truncation."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from example_models import EXAMPLES, GRAPHS, models

import graphc as gc


@pytest.fixture(scope="module")
def table():
    """{(model, parameter): (shape, largest difference)} as the example prints it."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "models.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    return {(model, name): (shape, float(worst)) for model, name, shape, worst in rows}


def test_every_gradient_equals_its_differences(table):
    wanted = {(model.name, name) for model in models.MODELS for name in model.param_names}
    assert set(table) == wanted
    assert len(models.MODELS) == 7
    assert all(worst < 1e-20 for _, worst in table.values())


@pytest.mark.parametrize("model", models.MODELS, ids=lambda model: model.name)
def test_in_floats_in_both_modes_and_as_a_graph(model):
    at = models.point(model)
    rough = {name: np.array(value, dtype=float) for name, value in at.items()}
    precise = model.reverse("L", models.lists(at))
    found = model.reverse("L", rough)
    slopes = model.differentiate("L")
    values = slopes.values(rough)
    chance = np.random.default_rng(2)
    for name, output in zip(model.param_names, slopes.output_names, strict=True):
        wanted = np.array(precise[name], dtype=float)
        assert np.abs(wanted).max() > 1e-6  # there is something to compare
        np.testing.assert_allclose(found[name], wanted, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(values[output], wanted, rtol=1e-11, atol=1e-13)
        along = chance.normal(size=wanted.shape)
        pushed = model.forward({name: along}, rough)["L"]
        assert float(pushed) == pytest.approx(np.sum(wanted * along), rel=1e-10)


@pytest.mark.parametrize("model", models.MODELS, ids=lambda model: model.name)
def test_a_model_reads_back(model):
    again = gc.parse(model.to_text(), model.name)
    assert gc.parse(again.to_text()).to_text() == again.to_text()
    at = {name: np.array(value, dtype=float) for name, value in models.point(model).items()}
    assert float(again.values(at)["L"]) == float(model.values(at)["L"])


@pytest.mark.parametrize("name", ["batch_norm", "layer_norm"])
def test_any_batch_size(name):
    model = getattr(models, name)
    for rows in (1, 2, 7):
        at = {n: np.array(v, dtype=float) for n, v in models.point(model, rows).items()}
        found = model.reverse("L", at)
        assert {n: found[n].shape for n in at} == {n: at[n].shape for n in at}


# Shared weights.


def close(found, wanted):
    difference = np.abs(np.asarray(found, dtype=object) - np.asarray(wanted, dtype=object))
    return difference.max() < mpmath.mpf(10) ** -45


@pytest.fixture
def digits():
    with mpmath.workdps(60):
        yield


def test_copies_of_a_shared_matrix_add_up(digits):
    at = models.lists(models.point(models.rnn))
    shared = models.rnn.reverse("L", at)["W"]
    untied = models.rnn.untie("W")
    assert untied.param_names[:4] == ["W_1", "W_2", "W_3", "W_4"]
    each = [untied.reverse("L", at)[f"W_{t}"] for t in range(1, 5)]
    assert all(np.abs(part).max() > 1e-6 for part in each)
    assert close(sum(each), shared)


def test_local_and_total_derivatives_differ(digits):
    at = models.lists(models.point(models.rnn))
    slopes = models.rnn.reverse("L", at)
    assert [name for name in models.rnn if name[0] == "h"] == ["h", "h_2", "h_3", "h_4", "h_5"]
    local = models.rnn.local("W", "h_5", at)
    last = local.pull(slopes["h_5"].tolist())
    assert close(last, models.rnn.untie("W").reverse("L", at)["W_4"])
    total = models.rnn.reverse({"h_5": slopes["h_5"].tolist()}, at)["W"]
    assert close(total, slopes["W"])
    assert not close(last, total)
    jacobian = models.rnn.jacobian("h_5", "W", at)
    assert np.shape(jacobian) == np.shape(local.dense()) == (3, 3, 3)
    assert close(np.tensordot(slopes["h_5"], jacobian, axes=1), total)
    assert close(np.tensordot(slopes["h_5"], local.dense(), axes=1), last)


def truncated(keep):
    """The same network, whose derivative sees the last steps only."""

    @gc.graph(shapes={"x": (5, 2), "y": (), "W": (3, 3), "U": (3, 2), "b": (3,), "v": (3,)})
    def rnn(x, y, *, W, U, b, v):
        h = gc.tanh(U @ x[0] + b)
        for t in range(1, 5):
            h = gc.tanh(W @ (gc.stop(h) if t == 5 - keep else h) + U @ x[t] + b)
        L = (v @ h - y) ** 2
        return L

    return rnn


@pytest.mark.parametrize("keep", [1, 2, 4])
def test_truncation(keep, digits):
    at = models.lists(models.point(models.rnn))
    short = truncated(keep)
    assert short.values(at)["L"] == models.rnn.values(at)["L"]
    parts = models.rnn.untie("W").reverse("L", at)
    wanted = sum(parts[f"W_{t}"] for t in range(5 - keep, 5))
    assert close(short.reverse("L", at)["W"], wanted)
    assert "h" not in short.reverse("L", at)  # no path, which is not a derivative of 0


# The small graphs.


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_a_small_graph_reads_back_and_its_modes_agree(path):
    assert path.read_text(encoding="utf-8").startswith("# ")
    graph = gc.load(path)
    again = gc.parse(graph.to_text(), graph.name)
    assert again.to_text() == graph.to_text()
    assert again.edges() == graph.edges()
    backward = graph.reverse("L", at={})
    slopes = graph.differentiate("L")
    values = slopes.values({})
    for name, output in zip(graph.param_names, slopes.output_names, strict=True):
        wanted = np.asarray(backward[name], dtype=object)
        for mode in ("forward", "paths"):
            found = np.asarray(graph.derivative("L", name, {}, mode=mode), dtype=object)
            np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=1e-14)
        found = np.asarray(values[output], dtype=object)
        np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=1e-14)


def test_known_answers_of_the_small_graphs():
    def slope(name, wrt):
        return gc.load(EXAMPLES / "tensor" / f"{name}.gc").reverse("L", {})[wrt].tolist()

    assert len(GRAPHS) >= 5
    # a = (5/2, 2), so that h - y = (3/2, 2)
    assert slope("dense_layer", "W") == [[3, Fraction(3, 2), 3], [4, 2, 4]]
    # r = (-1/2, -5/4, -3/4)
    assert slope("least_squares", "w") == [-5, -7]
    # W @ W is the identity, so that L is the square of W @ x = (2, -2)
    assert slope("shared_matrix", "x") == [4, 6]
