"""descend, the scipy adapter and check run on a cluster as they run without one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import graphc as gc

da = pytest.importorskip("dask.array", reason="Dask is not installed: there is no cluster")

TEXT = "input X[n,3] y[n]\nparam w[3] b\nz = X @ w + b\nL = mean(softplus(z) - y*z)"
ADAM = {"method": "adam", "steps": 6}
NEWTON = {"method": "newton", "lr": 1, "steps": 3}
BATCHES = {"method": "sgd", "batch": 32, "steps": 6}
START = {"w": [0, 0, 0], "b": 0}


def data(count=200):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((count, 3))
    return {"X": X, "y": (X @ [1, -2, 0.5] + rng.standard_normal(count) > 0).astype(float)}


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("memory", ADAM),
        ("memory", BATCHES),
        ("dask", NEWTON),
        ("dask", BATCHES),
        ("zarr", ADAM),
        ("zarr", BATCHES),
        ("mapped", ADAM),
    ],
)
def test_descend_takes_the_same_steps(kind, settings, client, tmp_path):
    g, rows = gc.parse(TEXT), data()
    X = rows["X"]
    if kind == "dask":
        X = da.from_array(X, chunks=(50, 2))
    elif kind == "zarr":
        zarr = pytest.importorskip("zarr", reason="Zarr is not installed: nothing to read")
        X = zarr.open(tmp_path / "X.zarr", mode="w", shape=X.shape, chunks=(30, 3), dtype="f8")
        X[:] = rows["X"]
    elif kind == "mapped":
        np.save(tmp_path / "X.npy", X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = gc.descend(g, data=rows, params=START, **settings)
    found = gc.descend(
        g, data={"X": X, "y": rows["y"]}, params=START, client=client, chunks=60, **settings
    )
    assert found.ok and found.message == expected.message
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-10)
    np.testing.assert_allclose(found.params["w"], expected.params["w"], rtol=1e-9)


def test_descend_on_arrays_of_dask_needs_no_client():
    g, rows = gc.parse(TEXT), data()
    lazy = {name: da.from_array(array, chunks=70) for name, array in rows.items()}
    found, expected = (gc.descend(g, data=d, params=START, steps=5) for d in (lazy, rows))
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-12)


def test_descend_says_that_it_diverged(client):
    g = gc.parse("input x\nparam y = 2\nL = x*y**10")
    run = gc.descend(g, data={"x": np.ones(10)}, lr=0.01, client=client, chunks=5)
    assert run.message == gc.descend(g, data={"x": np.ones(10)}, lr=0.01).message
    assert run.message.startswith("diverged at step 4")


def test_scipy_fits_on_a_cluster(client):
    f, rows = gc.parse(TEXT).compile("L"), data()
    here = gc.flat(f, START, rows)
    there = gc.flat(f, START, rows, client=client, chunks=60)
    one, other = (minimize(fun, fun.start, jac=True, method="L-BFGS-B") for fun in (here, there))
    np.testing.assert_allclose(one.x, other.x, rtol=1e-6)
    with pytest.raises(gc.GraphcError, match=r"that g.compile\(...\) made"):
        gc.flat(lambda **at: (0.0, {}), START, rows, client=client)


WRONG = """
input x y
a = x*y

h = tanh(a)
d h / d a = 1 - h
o = h*x + relu(y)
"""


@pytest.mark.parametrize("text", [WRONG, WRONG.replace("d h / d a = 1 - h\n", "")])
def test_check_reports_the_same(text, client):
    g = gc.parse(text)
    here, there = (gc.check(g, points=10, client=c) for c in (None, client))
    here.seconds = there.seconds = 0
    assert there.to_json() == here.to_json()
    assert there.verdict == ("wrong" if "d h" in text else "correct")


def test_check_shrinks_what_a_worker_found(client):
    here, there = (
        gc.check(gc.parse(WRONG), points=10, shrink=True, client=c) for c in (None, client)
    )
    assert there.shrunk and there.shrunk == here.shrunk


def test_a_check_with_functions_that_workers_lack_is_refused(client, own_functions):
    gc.declare("half_tanh", lambda x: gc.tanh(x) / 2)
    g = gc.parse("input x\ny = half_tanh(x)")
    with pytest.raises(gc.GraphcError, match=r"^check: a worker cannot do its part: .*half_tanh"):
        gc.check(g, points=10, client=client)
