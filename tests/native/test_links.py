"""Chains: what they compute of arrays of every kind, and what they refuse."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
import random_chains

from graphc.program.backends.native.chains import (
    ARRAY,
    NUMBER,
    _link,
    adding,
    copying,
    filling,
    summing,
    together,
)

MESSAGE = "does not fit the chain"


@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_random_chains_have_the_bits_of_numpy(first):
    for seed in range(first, first + 100):
        random_chains.check(seed)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(4),
        np.zeros((2, 3, 1)),
        np.zeros((3, 3), np.float32),
        np.zeros((3, 3), np.int64),
        np.zeros((3, 3), bool),
        np.zeros((3, 3), ">f8"),
        np.zeros((3, 3), complex),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_what_does_not_fit_is_refused_when_told_and_when_brought(array):
    right, out = np.ones((3, 3)), np.ones((3, 3))
    with pytest.raises(TypeError, match=MESSAGE):
        adding("float64")((3, 3), array, right, out)
    with pytest.raises(TypeError, match=MESSAGE):
        adding("float64")((3, 3), ARRAY, right, out)(array)
    with pytest.raises(TypeError, match=MESSAGE):
        adding("float64")((3, 3), right, right, ARRAY)(array)
    assert (out == 1).all()


def test_sums_have_the_axes_that_are_left():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    product, wrong = np.empty((2, 4)), np.empty((2, 4, 3))
    link = summing(2, 1, "float64")
    link((2, 4, 3), x[:, None, :], y.T, product)()
    np.testing.assert_array_equal(product, x @ y)
    with pytest.raises(TypeError, match=MESSAGE):
        link((2, 4, 3), x[:, None, :], y.T, wrong)
    with pytest.raises(TypeError, match=MESSAGE):
        link((2, 4, 3), x[:, None, :], y.T, ARRAY)(np.empty((4, 2)))
    total = np.empty(())
    summing(1, 2, "float64")((2, 3), x, total)()
    assert total == 15
    for shape in ((2, 0), (1, 10_000)):  # sums of nothing, and of more than a block holds
        with pytest.raises(MemoryError):
            summing(1, 1, "float64")(shape, np.ones(shape), np.ones(shape[:1]))


def test_sums_of_negative_zeros_are_positive_as_those_of_matrices():
    found = np.ones(2)
    summing(1, 1, "float64")((2, 3), np.full((2, 3), -0.0), found)()
    assert not np.signbit(found).any()


def test_a_result_is_as_large_as_the_chain_and_may_be_written():
    one = np.ones((3, 3))
    for result in (np.ones(3), np.ones((1, 3)), np.ones(()), np.ones((3, 3, 1))):
        with pytest.raises(TypeError, match=MESSAGE):
            adding("float64")((3, 3), one, one, result)
    fixed = np.ones((3, 3))
    fixed.flags.writeable = False
    adding("float64")((3, 3), fixed, fixed, one)()
    assert (one == 2).all()
    with pytest.raises((ValueError, BufferError)):
        adding("float64")((3, 3), one, one, fixed)
    with pytest.raises((ValueError, BufferError)):
        adding("float64")((3, 3), one, one, np.broadcast_to(np.ones(3), (3, 3)))


def test_arguments_of_a_call_are_counted_and_numbers_are_numbers():
    one = np.ones(3)
    chain = _link(2, (("mul", "0", "1"),), (0,), "float64")((3,), one, NUMBER, ARRAY)
    out = np.empty(3)
    chain(np.float32(2.5), out)
    assert out.tolist() == [2.5, 2.5, 2.5]
    for wrong in ((), (2.5,), (2.5, out, out)):
        with pytest.raises(TypeError, match="number of arrays"):
            chain(*wrong)
    with pytest.raises(TypeError):
        chain("2.5", out)
    with pytest.raises(TypeError):
        chain(2.5, None)
    with pytest.raises(TypeError, match="operands of its plan"):
        adding("float64")((3,), one, one)
    with pytest.raises(TypeError, match="not told all"):
        together(chain)


def test_a_chain_keeps_its_arrays():
    """Whoever made it may forget them."""
    out = np.empty((2, 300))
    chain = adding("float64")((2, 300), np.arange(300.0), np.full((2, 1), 0.5), out)
    before = sys.getrefcount(out)
    chain()
    assert out.tolist() == [[k + 0.5 for k in range(300)]] * 2
    del chain
    assert sys.getrefcount(out) < before


def test_a_part_is_added_in_place():
    whole = np.arange(12.0).reshape(3, 4)
    view = whole[:, 1:3]
    copied = np.empty((3, 4))
    run = together(
        copying("float64")((3, 4), whole, copied),
        adding("float64")((3, 2), view, np.full((3, 2), 100.0), view),
        filling(-0.0, "float64")((4,), whole[2]),
    )
    run()
    assert copied.tolist() == np.arange(12.0).reshape(3, 4).tolist()
    assert whole.tolist() == [[0, 101, 102, 3], [4, 105, 106, 7], [0, 0, 0, 0]]
    assert np.signbit(whole[2]).all()


def test_other_threads_run_while_a_long_chain_does():
    size = 4_000_000
    x, out = np.linspace(0, 1, size), np.empty(size)
    moves = (("sin", "0"), *(("sin", str(k)) for k in range(1, 12)))
    chain = _link(1, moves, (len(moves) - 1,), "float64")((size,), x, out)
    ticks, done = [], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(done.wait(0.001))

    other = threading.Thread(target=tick)
    other.start()
    before = len(ticks)
    chain()
    during = len(ticks) - before
    done.set()
    other.join()
    assert during > 3
