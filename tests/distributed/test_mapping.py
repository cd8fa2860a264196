"""map: lazy arrays whose shapes are known before anything runs, equal to the function itself."""

from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc.distributed.sources import CHUNK

da = pytest.importorskip("dask.array", reason="Dask is not installed: there are no lazy arrays")

WAVE = "input x t\nparam k = 2\nu = sin(k*x)*exp(-t)\nv = where(x > 0, sqrt(x), 0)"


def compiled(of, *given, **settings):
    """What runs here is the text that is sent: the results have to have the same bits."""
    return gc.parse(WAVE).compile(of, *given, backend="numpy", **settings)


def points(count=1000):
    rng = np.random.default_rng(0)
    return {"x": rng.standard_normal((count, 3)), "t": rng.random((count, 1))}


def assert_same(found, expected):
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for name, part in expected.items():
            assert_same(found[name], part)
    elif isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        assert isinstance(found, da.Array)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(found.compute(scheduler="threads"), expected)


@pytest.mark.parametrize(
    ("of", "want"),
    [
        ("u", "value"),
        (["u", "v"], "value"),
        ("u", "grad"),
        ("u", "value_and_grad"),
        (["u", "v"], "jacobian"),
        ("u", "hessian"),
        (None, "values"),
    ],
)
@pytest.mark.parametrize("chunks", [None, 70, (100, 2)])
def test_every_want_has_its_form_and_its_numbers(of, want, chunks):
    f = compiled(of, None if want in ("value", "values") else ["k", "x"], want=want)
    at = points()
    assert_same(f.map(at, chunks=chunks), f(at))


def test_tangents_come_with_the_points():
    f = compiled("u", ["x"], want="jvp")
    at = {**points(), "x_dot": np.ones(3)}
    assert_same(f.map(at, chunks=100), f(at))


def test_nothing_is_read_before_it_is_computed():
    class Large:
        shape, dtype, ndim = (10**10,), np.dtype(float), 1

        def __getitem__(self, part):
            raise AssertionError("it was read")

    u = compiled("u", want="value").map({"x": Large(), "t": 0.5})
    assert u.shape == (10**10,) and u.dtype == float
    assert max(map(max, u.chunks)) * 16 <= CHUNK  # the points and the results


def test_single_precision_stays():
    at = {name: array.astype(np.float32) for name, array in points().items()}
    f = compiled("u", want="value", dtype=None)
    assert f.map(at).dtype == np.float64  # k is double
    at["k"] = np.float32(2)
    assert_same(f.map(at), f(at))


def test_memory_maps_zarr_and_dask_on_a_cluster(tmp_path, client):
    zarr = pytest.importorskip("zarr", reason="Zarr is not installed: nothing to read")
    f, at = compiled("u"), points()
    value, grads = f(at)
    np.save(tmp_path / "x.npy", at["x"])
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    stored = zarr.open(
        tmp_path / "x.zarr", mode="w", shape=at["x"].shape, chunks=(300, 2), dtype="f8"
    )
    stored[:] = at["x"]
    in_blocks = da.from_array(at["x"], chunks=(250, 3))
    for x in (mapped, mapped[::2], stored, in_blocks, at["x"]):
        rows = slice(None, None, 2 if x.shape[0] == 500 else 1)
        lazy = f.map({"x": x, "t": at["t"][rows]}, client=client)
        found, slope = client.gather(client.compute([lazy[0], lazy[1]["k"]]))
        np.testing.assert_array_equal(found, value[rows])
        np.testing.assert_array_equal(slope, grads["k"][rows])


def test_blocks_are_whole_stored_blocks():
    class Stored:
        shape, dtype, ndim, chunks = (10**8,), np.dtype(float), 1, (3000,)

        def __getitem__(self, part):
            raise AssertionError("it was read")

    u = compiled("u", want="value").map({"x": Stored(), "t": 0.5})
    assert {size % 3000 for size in u.chunks[0][:-1]} == {0} and len(u.chunks[0]) > 1


def test_an_error_names_the_block():
    broken = da.from_array(np.ones((100, 3)), chunks=(10, 3)).map_blocks(
        lambda block, block_id: block[:, :2] if block_id[0] == 4 else block,
        dtype=float,
        meta=np.empty((0, 0)),
    )
    u = compiled("u", want="value").map({"x": broken, "t": np.ones((100, 3))})
    with pytest.raises(gc.GraphcError, match=r"^map: chunk \(4, 0\) \(points 40 to 49, 0 to 2\): "):
        u.compute(scheduler="threads")


@pytest.mark.parametrize(
    ("text", "settings", "data", "told"),
    [
        ("input x[n]\ny = sum(x)", {}, {"x": np.ones(3)}, "map is for graphs of scalars"),
        ("input x\ny = x**2", {"reduce": "sum"}, {"x": np.ones(3)}, "use reduce"),
        ("input x\ny = x**2", {}, {"x": 3.0}, "hold no array"),
        ("input x z\ny = x*z", {}, {"x": np.ones(3), "z": np.ones(4)}, "do not broadcast"),
        ("input x\ny = x**2", {}, {"q": np.ones(3)}, "no argument 'q'"),
    ],
)
def test_a_wrong_question_is_one_sentence(text, settings, data, told):
    f = gc.parse(text).compile("y", want="value", **settings)
    with pytest.raises(gc.GraphcError, match=told):
        f.map(data)


def test_chunks_that_do_not_fit_are_refused():
    f = compiled("u", want="value")
    with pytest.raises(gc.GraphcError, match="do not fit points of shape"):
        f.map(points(), chunks=(1, 2, 3))
