"""reduce: one array or a thousand chunks, threads or a cluster, the same sums; bad chunks named."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

import graphc as gc

da = pytest.importorskip("dask.array", reason="Dask is not installed: nothing to run chunks on")

LOGISTIC = """
input X[n,5] y[n]
param w[5] b
z = X @ w + b
L = {how}(softplus(z) - y*z){penalty}
"""
PARAMS = {"w": [0.5, -0.25, 0.125, 1, -1], "b": 0.3}


def logistic(how="sum", penalty=""):
    return gc.parse(LOGISTIC.format(how=how, penalty=penalty)).compile("L")


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((count, 5))
    return {"X": X, "y": (rng.random(count) < 0.5).astype(float)}


def assert_same(found, expected, rtol=1e-10):
    assert found[0] == pytest.approx(expected[0], rel=rtol)
    for name, part in expected[1].items():
        scale = np.abs(expected[0])
        np.testing.assert_allclose(found[1][name], part, rtol=rtol, atol=rtol * scale)


@pytest.mark.parametrize("chunks", [None, 1, 7, 100, 999, 1000, 10**6, [1, 999], (400, 600)])
@pytest.mark.parametrize(("how", "penalty"), [("sum", ""), ("mean", ""), ("mean", " + w @ w")])
def test_the_chunks_do_not_matter(how, penalty, chunks):
    f, data = logistic(how, penalty), rows(1000)
    assert_same(f.reduce(data, PARAMS, chunks=chunks), f(**data, **PARAMS), 1e-12)


def test_a_penalty_beside_a_sum_counts_once():
    f, data = logistic("sum", " + 3*w @ w"), rows(100)
    assert_same(f.reduce(data, PARAMS, chunks=9), f(**data, **PARAMS), 1e-12)


@pytest.mark.parametrize(
    "loss", ["max(z)", "sum(z)**2", "var(z)", "norm(z - y)", "logsumexp(z)", "log(mean(z**2))"]
)
def test_what_chunks_cannot_tell_is_refused(loss):
    f = gc.parse(f"input X[n,5] y[n]\nparam w[5] b\nz = X @ w + b\nL = {loss}").compile("L")
    with pytest.raises(gc.GraphcError, match=r"^L is neither a sum nor a mean over the rows \(n\)"):
        f.reduce(rows(100), PARAMS, chunks=10)


@pytest.mark.parametrize("threshold", [0, 1, 2, 5, 100, 30_000])
@pytest.mark.parametrize("loss", ["mean({})", "sum({})", "sum({})/n + w**2", "sum({}) + w**2"])
def test_thresholds_hide_neither_a_sum_nor_a_mean(loss, threshold):
    """Below its threshold a mean is 0 over any rows, as a sum is."""
    formula = loss.format(f"relu(w*y - {threshold})")
    f = gc.parse(f"input y[n]\nparam w\nL = {formula}").compile("L")
    data = {"y": threshold + np.linspace(-3, 5, 40)}
    assert_same(f.reduce(data, {"w": 1.25}, chunks=7), f(**data, w=1.25), 1e-12)


def test_thresholds_do_not_hide_what_chunks_cannot_tell():
    f = gc.parse("input y[n]\nparam w\nL = mean(w*y) + relu(var(w*y) - 1000)").compile("L")
    with pytest.raises(gc.GraphcError, match="L is neither a sum nor a mean"):
        f.reduce({"y": np.linspace(-99, 99, 40)}, {"w": 1.25}, chunks=7)


def test_rows_that_never_matter_are_told():
    graph = gc.parse("input y[n]\nparam w\nL = mean(relu(w*y - 1e20))\nP = w**2")
    with pytest.raises(gc.GraphcError, match="a sum is not to be told from a mean; give other"):
        graph.compile("L").reduce({"y": np.arange(9.0)}, {"w": 1.25}, chunks=2)
    found = graph.compile("P").reduce({"y": np.arange(9.0)}, {"w": 1.25}, chunks=2)
    assert found[0] == 1.25**2  # a penalty alone depends on no row, whatever the data


def test_a_loss_that_is_finite_at_the_data_alone_is_tried_there():
    text = "input X[n,2]\nparam w[2]\nL = sum(asin((X @ w)/1000)*log(X @ w - 900))"
    f = gc.parse(text).compile("L")
    data = {"X": np.linspace(910, 990, 20).reshape(10, 2)}
    at = {"w": [0.5, 0.5]}
    assert_same(f.reduce(data, at, chunks=3), f(**data, **at), 1e-12)


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_a_graph_of_scalars_is_reduced_over_its_points(reduce):
    f = gc.parse("input x y\nparam w\nL = (tanh(w*x) - y)**2").compile("L", reduce=reduce)
    x = np.random.default_rng(0).standard_normal((300, 4))
    data = {"x": x, "y": x[:, :1] * 0.5}  # y broadcasts within a row
    assert_same(f.reduce(data, {"w": 2}, chunks=7), f(**data, w=2), 1e-12)
    with_number = {"x": x, "y": 0.25}
    assert_same(f.reduce(with_number, {"w": 2}, chunks=7), f(**with_number, w=2), 1e-12)


def test_rows_may_lie_along_any_axis_and_beside_what_is_whole():
    g = gc.parse("input X[4,m] A[4,4]\nparam w[4]\nL = sum((w @ (A @ X))**2)")
    f, rng = g.compile("L"), np.random.default_rng(0)
    data = {"X": rng.standard_normal((4, 50)), "A": rng.standard_normal((4, 4))}
    at = {"w": [1, 2, 3, 4]}
    assert_same(f.reduce(data, at, chunks=8), f(**data, **at), 1e-12)


def test_a_hessian_is_a_sum_too():
    g = gc.parse(LOGISTIC.format(how="mean", penalty=""))
    f, data = g.compile("L", want="hessian"), rows(200)
    found = f.reduce(data, PARAMS, chunks=17)
    np.testing.assert_allclose(found, f(**data, **PARAMS), rtol=1e-12, atol=1e-14)


def test_single_precision_is_added_in_double():
    f = gc.parse(LOGISTIC.format(how="sum", penalty="")).compile("L", dtype="float32")
    data = rows(5000)
    value, grads = f.reduce(data, PARAMS, chunks=10)
    assert value.dtype == grads["w"].dtype == np.float32
    assert value == pytest.approx(logistic()(**data, **PARAMS)[0], rel=1e-6)


@pytest.mark.parametrize("backend", ["auto", "numpy", "c"])
def test_workers_run_the_numpy_text_whatever_runs_here(backend):
    g = gc.parse("input x y\nparam w\nL = (tanh(w*x) - y)**2")
    try:
        f = g.compile("L", backend=backend, reduce="mean")
    except gc.GraphcError as error:
        pytest.skip(str(error))  # no compiler
    assert "import numpy as np" in f.shipment().text("float64")
    data = {"x": np.linspace(-1, 2, 100), "y": np.linspace(0, 1, 100)}
    assert_same(f.reduce(data, {"w": 2}, chunks=30), f(**data, w=2), 1e-12)


# Where the data are.


def test_dask_zarr_and_memory_maps_are_read_in_chunks(tmp_path, client):
    zarr = pytest.importorskip("zarr", reason="Zarr is not installed: nothing to read")
    f, data = logistic(), rows(1000)
    expected = f(**data, **PARAMS)
    file = tmp_path / "X.npy"
    np.save(file, data["X"])
    mapped = np.load(file, mmap_mode="r")
    wide = np.lib.format.open_memmap(
        tmp_path / "wide.npy", mode="w+", dtype=np.float32, shape=(8, 1000)
    )
    wide[1:6] = data["X"].T
    stored = zarr.open(
        tmp_path / "X.zarr", mode="w", shape=data["X"].shape, chunks=(30, 5), dtype="f8"
    )
    stored[:] = data["X"]
    in_blocks = da.from_array(data["X"], chunks=(90, 2))
    for connected in (None, client):
        for X in (mapped, stored, in_blocks, data["X"], data["X"].tolist()):
            found = f.reduce({"X": X, "y": data["y"]}, PARAMS, chunks=70, client=connected)
            assert_same(found, expected, 1e-12)
        found = f.reduce({"X": wide[1:6].T, "y": data["y"]}, PARAMS, chunks=70, client=connected)
        assert_same(found, expected, 1e-6)


def test_default_chunks_follow_the_blocks_and_the_bytes():
    from graphc.distributed.sources import CHUNK, starts_of

    assert starts_of(10, 4, 8, {}) == [0, 4, 8, 10]
    many = da.zeros((10**6, 4), chunks=(1000, 4))
    joined = starts_of(10**6, None, CHUNK // 2500, {0: (many, 0)})
    assert set(np.diff(joined)) == {2000}
    large = da.zeros((10**6, 4), chunks=(10**5, 4))
    assert set(np.diff(starts_of(10**6, None, CHUNK // 2500, {0: (large, 0)}))) == {10**5}
    assert max(np.diff(starts_of(10**7, None, 100, {}))) * 100 <= CHUNK


def test_the_same_sums_on_threads_and_on_any_cluster(client):
    """In the same order; a matrix product may round differently where an array lies elsewhere."""
    f, data = logistic("mean"), rows(3000)
    here, there = (f.reduce(data, PARAMS, chunks=100, client=c) for c in (None, client))
    assert_same(here, there, 1e-14)


# When something is wrong with some rows.


def poisoned(what):
    data = rows(1000)
    if what == "nan":
        data["X"][333, 2] = np.nan
        return data, "X holds nan in row 333"
    if what == "infinity":
        data["y"][301] = np.inf
        return data, "y holds inf in row 301"
    X = da.from_array(data["X"], chunks=(100, 5))

    def spoiled(block, block_id):
        if block_id[0] != 3:
            return block
        if what == "width":
            return block[:, :4]
        if what == "length":
            return block[:50]
        raise OSError("the disk is gone")

    data["X"] = X.map_blocks(spoiled, dtype=float, meta=np.empty((0, 0)))
    told = {"width": r"X .*\(100, 4\)", "length": r"X has shape \(50, 5\), not 100 rows"}
    return data, told.get(what, "OSError: the disk is gone")


@pytest.mark.parametrize("cluster", [False, True])
@pytest.mark.parametrize("what", ["nan", "infinity", "width", "length", "error"])
def test_a_bad_chunk_is_named_and_the_others_are_not_lost(what, cluster, request):
    client = request.getfixturevalue("client") if cluster else None
    f, (data, reason) = logistic(), poisoned(what)
    with pytest.raises(gc.GraphcError) as raised:
        f.reduce(data, PARAMS, chunks=100, client=client)
    sentence = str(raised.value)
    assert sentence.startswith("reduce: chunk 3 (rows 300 to 399): ") and "\n" not in sentence
    assert raised.match(reason)

    found = f.reduce(data, PARAMS, chunks=100, client=client, on_error="skip")
    good = rows(1000)
    kept = np.r_[0:300, 400:1000]
    assert_same(found, f(X=good["X"][kept], y=good["y"][kept], **PARAMS), 1e-12)
    assert found.rows == 900
    (skipped,) = found.skipped
    assert (skipped.chunk, skipped.start, skipped.stop) == (3, 300, 400)


def test_each_good_chunk_is_computed_once_where_one_fails():
    seen = []
    X = da.from_array(rows(1000)["X"], chunks=(100, 5))

    def counted(block, block_id):
        seen.append(block_id[0])
        if block_id[0] == 3:
            raise OSError("the disk is gone")
        return block

    data = {"X": X.map_blocks(counted, dtype=float, meta=np.empty((0, 0))), "y": rows(1000)["y"]}
    logistic().reduce(data, PARAMS, chunks=100, on_error="skip")
    assert sorted(set(seen)) == list(range(10))
    # what was under way in other threads when the chunk failed may be computed again
    assert len(seen) <= 10 + 1 + (os.cpu_count() or 1)


def test_where_every_chunk_is_bad_there_is_no_result():
    data = rows(20)
    data["y"][:] = np.nan
    with pytest.raises(gc.GraphcError, match=r"no chunk could be computed; chunk 0 .*and 1 more"):
        logistic().reduce(data, PARAMS, chunks=10, on_error="skip")


@pytest.mark.parametrize("kind", ["memory", "dask"])
def test_a_chunk_is_read_and_computed_in_pieces(kind, monkeypatch):
    from graphc.distributed import reducing

    monkeypatch.setattr(reducing, "piece_of", lambda width, arrays: 30)
    f, data = logistic("sum", " + w @ w"), rows(1000)
    expected = f(**data, **PARAMS)
    if kind == "dask":
        data = {name: da.from_array(array, chunks=100) for name, array in data.items()}
    assert_same(f.reduce(data, PARAMS, chunks=100), expected, 1e-12)
    data, reason = poisoned("nan")
    with pytest.raises(gc.GraphcError, match=rf"chunk 3 \(rows 300 to 399\): {reason}"):
        f.reduce(data, PARAMS, chunks=100)


def test_what_overflows_in_the_formula_is_a_value():
    f = gc.parse("input x[n]\nparam w\nL = sum(exp(w*x))").compile("L")
    value, grads = f.reduce({"x": np.ones(10)}, {"w": 1e4}, chunks=3)
    assert value == grads["w"] == np.inf


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_a_worker_that_is_killed_is_not_missed(kind, client, tmp_path):
    f, data = logistic(), rows(400)
    expected = f(**data, **PARAMS)
    X = data["X"]
    if kind == "file":
        np.save(tmp_path / "X.npy", X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    slow = da.from_array(data["y"], chunks=10).map_blocks(
        lambda block: (time.sleep(0.1), block)[1], dtype=float, meta=np.empty(0)
    )
    victim = min(client.run(os.getpid).values())
    killer = threading.Timer(0.7, os.kill, (victim, 9))
    killer.start()
    found = f.reduce({"X": X, "y": slow}, PARAMS, chunks=10, client=client)
    killer.join()
    assert_same(found, expected, 1e-12)
    assert found.rows == 400
    client.wait_for_workers(2)
    assert victim not in client.run(os.getpid).values()


# A worker without graphc.

BLOCK = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "graphc":
            raise ModuleNotFoundError("graphc is not here", name="graphc")

sys.meta_path.insert(0, Absent())
"""


def test_a_worker_without_graphc_runs_the_text(tmp_path):
    distributed = pytest.importorskip("distributed")
    preload = tmp_path / "block.py"
    preload.write_text(BLOCK, encoding="utf-8")
    f, data = logistic(), rows(300)
    mapped = gc.parse("input x\nparam w\ny = tanh(w*x)").compile("y", backend="numpy")

    def absent():
        try:
            import graphc
        except ImportError:
            return True
        return graphc is None

    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", preload=[str(preload)]
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as alone,
    ):
        assert list(alone.run(absent).values()) == [True]
        found = f.reduce(data, PARAMS, chunks=50, client=alone)
        value, grads = mapped.map({"x": data["X"], "w": 2.0}, chunks=100, client=alone)
        value, slope = alone.gather(alone.compute([value, grads["w"]]))
    assert_same(found, f(**data, **PARAMS), 1e-12)
    np.testing.assert_array_equal(value, mapped(x=data["X"], w=2.0)[0])


# What is asked for.

UNKNOWN = da.ones((4, 5), chunks=2)
UNKNOWN = UNKNOWN[UNKNOWN[:, 0] > 0]


@pytest.mark.parametrize(
    ("data", "settings", "told"),
    [
        ({"X": np.ones((4, 6)), "y": np.ones(4)}, {}, "sizes 5 and 6 differ"),
        ({"X": np.ones((4, 5)), "y": np.ones(3)}, {}, "sizes n = 4 and 3 differ"),
        ({"X": np.ones((0, 5)), "y": np.ones(0)}, {}, "no rows"),
        ({"X": np.ones((4, 5))}, {}, "y has a row for each n; give it in data"),
        ({"Z": np.ones((4, 5))}, {}, "no argument 'Z'"),
        ({"X": np.ones((4, 5)), "y": np.ones(4)}, {"chunks": 0}, "chunks=0"),
        ({"X": np.ones((4, 5)), "y": np.ones(4)}, {"chunks": [3]}, "3 rows in all"),
        ({"X": np.ones((4, 5)), "y": np.ones(4)}, {"over": "k"}, "over='k'"),
        ({"X": np.ones((4, 5)), "y": np.ones(4)}, {"client": "there"}, "no client of Dask"),
        ({"X": np.ones((4, 5)), "y": np.ones(4)}, {"on_error": "hope"}, "on_error='hope'"),
        ({"X": np.array([["a"] * 5] * 4), "y": np.ones(4)}, {}, "X"),
        ({"X": UNKNOWN, "y": np.ones(4)}, {}, "X has blocks of unknown size"),
    ],
)
def test_a_wrong_question_is_one_sentence(data, settings, told):
    with pytest.raises(gc.GraphcError, match=told):
        logistic().reduce(data, PARAMS, **settings)


def test_what_has_an_element_for_each_row_cannot_be_summed():
    g = gc.parse(LOGISTIC.format(how="sum", penalty=""))
    with pytest.raises(gc.GraphcError, match="leave X out of wrt="):
        g.compile("L", wrt=["X", "w"]).reduce(rows(4), PARAMS)
    with pytest.raises(gc.GraphcError, match="z has an element for each"):
        g.compile("z", want="value").reduce(rows(4), PARAMS)
    with pytest.raises(gc.GraphcError, match="compile with reduce='sum'"):
        gc.parse("input x\nparam w\nL = w*x").compile("L").reduce({"x": [1.0, 2.0]}, {"w": 1})
