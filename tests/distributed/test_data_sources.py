"""Data of any kind, without Dask where it is not needed."""

from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc.distributed import sources


def test_without_dask_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    f = gc.parse("input x[n]\nparam w\nL = sum(w*x)").compile("L")
    with pytest.raises(gc.GraphcError, match=r"pip install 'graphc\[dask\]'"):
        f.reduce({"x": np.ones(3)}, {"w": 1})
    with pytest.raises(gc.GraphcError, match=r"pip install 'graphc\[dask\]'"):
        gc.parse("input x\ny = x**2").compile("y").map({"x": np.ones(3)})


def test_arrays_of_other_libraries_are_taken_as_arrays():
    class Tensor:
        shape, dtype = (3,), "theirs"

        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

        def __getitem__(self, part):
            raise AssertionError("it was sliced")

    assert not sources.is_remote(Tensor())
    assert not sources.is_remote(np.arange(3.0)) and not sources.is_remote(2.0)


def test_memory_maps_are_found_again_in_their_file(tmp_path):
    whole = np.arange(60.0).reshape(6, 10)
    np.save(tmp_path / "whole.npy", whole)
    mapped = np.load(tmp_path / "whole.npy", mmap_mode="r")
    for view, expected in (
        (mapped, whole),
        (mapped[1:4], whole[1:4]),
        (mapped[::2, 3:], whole[::2, 3:]),
        (mapped.T, whole.T),
        (mapped[:, ::-1], whole[:, ::-1]),
    ):
        assert sources.is_remote(view)
        part = sources.reader(view, abroad=True)((slice(1, 3),))
        np.testing.assert_array_equal(part, expected[1:3])
    assert not sources.is_remote(mapped + 1)  # computed: in memory


def test_rows_are_drawn_in_the_order_asked_for():
    class Stored:
        shape, dtype, ndim, chunks = (6, 2), np.dtype(float), 2, (2, 2)

        def __getitem__(self, part):
            assert list(part[0]) == sorted(part[0])
            return np.arange(12.0).reshape(6, 2)[part]

    assert sources.rows_at(Stored(), np.array([4, 0, 5]), 0)[:, 0].tolist() == [8, 0, 10]
