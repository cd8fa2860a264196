"""Reductions over short axes: the bits of NumPy's."""

import numpy as np
import pytest

from graphc.native import arrays


def awkward(shape, kind):
    """Numbers with zeros of both signs, infinities and NaN among them."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(shape)
    for value in (0.0, -0.0, np.inf, -np.inf, np.nan):
        values[rng.random(shape) < 0.08] = value
    values[0] = -0.0
    return values.astype(kind)


@pytest.mark.parametrize("name", ["sum", "max"])
@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9])
def test_a_reduction_has_the_bits_of_numpy(name, kind, size):
    x = awkward((60, 5, size), kind)
    ours, theirs = getattr(arrays, name), getattr(np, name)
    for array in (x, x.transpose(1, 0, 2), x[::2], x[0]):
        for axis in (-1, array.ndim - 1, 0, None):
            with np.errstate(all="ignore"):
                found, expected = ours(array, axis=axis), theirs(array, axis=axis)
            assert found.dtype == expected.dtype and found.shape == expected.shape
            np.testing.assert_array_equal(found, expected)
            signs = np.signbit(found) == np.signbit(expected)
            assert (signs | np.isnan(expected)).all()
    out = np.empty((60, 5), kind)
    with np.errstate(all="ignore"):
        assert ours(x, axis=2, out=out) is out
        np.testing.assert_array_equal(out, theirs(x, axis=2))


def test_other_reductions_are_left_to_numpy():
    assert arrays.sum(np.array([[True, True]]), axis=-1).tolist() == [2]
    assert arrays.sum([[1.0, 2.0]], axis=-1).tolist() == [3.0]
    assert arrays.max(np.ones((2, 3)), axis=-1, keepdims=True).shape == (2, 1)
    assert arrays.sum(np.ones((2, 0)), axis=-1).tolist() == [0.0, 0.0]
