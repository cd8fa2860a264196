"""Memory of results: nobody else's, given back at once, and used again only when it is free."""

from __future__ import annotations

import gc as collector
import signal
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import graphc as gc
from graphc.native import memory

COUNT = 150_000  # points, whose numbers are more than memory.SMALL bytes
AT = {"x": np.linspace(-2, 2, COUNT), "y": np.linspace(1, 2, COUNT)}


def compiled(**options):
    graph = gc.parse("input x y\nz = sin(x)*y + exp(x)*x\noutput z")
    return graph.compile(wrt=["x", "y"], **{"want": "value_and_grad", **options})


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(memory, "_blocks", {})


@pytest.fixture
def no_collector():
    collector.collect()
    collector.disable()
    yield
    collector.enable()


def places(array):
    start = array.ctypes.data
    return start, start + array.nbytes


def overlap(one, other):
    return places(one)[0] < places(other)[1] and places(other)[0] < places(one)[1]


def each(found):
    if isinstance(found, np.ndarray):
        return [found]
    parts = found.values() if isinstance(found, dict) else found
    return [array for part in parts for array in each(part)]


@pytest.mark.parametrize("backend", ["auto", "numpy", "c"])
@pytest.mark.parametrize("want", ["value", "value_and_grad", "hessian", "jvp", "hvp"])
def test_results_die_with_their_last_holder(no_collector, backend, want):
    f = compiled(want=want, backend=backend)
    f(**AT)
    found = each(f(**AT))
    alive = [weakref.ref(array) for array in found]
    del found
    assert alive and not any(array() is not None for array in alive)


def test_dropped_results_serve_again(built):
    f = compiled()
    first = sorted(places(array) for array in each(f(**AT)))
    assert sorted(places(array) for array in each(f(**AT))) == first
    assert len(memory._blocks) == 3


@pytest.mark.parametrize(
    "held",
    [
        lambda array: array,
        lambda array: array[5:9],
        lambda array: array.reshape(-1, 10).T[3:, ::2],
        lambda array: array.view(np.uint8)[-8:],
        lambda array: memoryview(array),
        lambda array: np.lib.stride_tricks.as_strided(array, (4,), (8,)),
        lambda array: array.flat,
    ],
    ids=["whole", "slice", "strided", "bytes", "memoryview", "as_strided", "flat"],
)
def test_whoever_looks_keeps_the_memory(held):
    f = compiled(want="value")
    value = f(**AT)
    expected = np.array(held(value.copy()), copy=True)
    kept = held(value)
    del value
    for shift in range(1, 4):
        f(x=AT["x"] + shift, y=AT["y"])
    np.testing.assert_array_equal(np.array(kept), expected)


def test_results_that_are_held_are_never_the_same_memory():
    f = compiled()
    calls = [each(f(x=AT["x"] + k, y=AT["y"])) for k in range(4)]
    arrays = [array for call in calls for array in call]
    for k, array in enumerate(arrays):
        assert not any(overlap(array, other) for other in arrays[:k])
    again = compiled(backend="numpy")(x=AT["x"] + 2, y=AT["y"])
    for array, other in zip(calls[2], each(again), strict=True):
        np.testing.assert_allclose(array, other, rtol=1e-14)


def test_what_a_user_does_to_a_result_stays_with_the_result():
    f = compiled(want="value")
    value = f(**AT)
    value.flags.writeable = False
    value.shape = (-1, 3)
    del value
    again = f(**AT)
    assert again.shape == (COUNT,) and again.flags.writeable and again.dtype == float


def test_threads_get_memory_of_their_own():
    f = compiled()
    expected = [[array.copy() for array in each(f(x=AT["x"] + k, y=AT["y"]))] for k in range(4)]

    def calls(k):
        wrong = 0
        for _ in range(30):
            found = each(f(x=AT["x"] + k, y=AT["y"]))
            wrong += any(
                (mine != right).any() for mine, right in zip(found, expected[k], strict=True)
            )
        return wrong

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(calls, range(4))) == [0] * 4


class Calling:
    """Calls a function when it is collected."""

    def __init__(self, call):
        self.call, self.self = call, self

    def __del__(self):
        self.call()


def test_a_call_may_begin_within_another():
    """In the collector, in a signal's handler: nothing waits for what cannot come."""
    f = compiled()
    expected = f(**AT)[0].copy()
    before = collector.get_threshold()
    collector.set_threshold(7, 1, 1)
    try:
        for _ in range(60):
            Calling(lambda: f(x=AT["x"] + 1, y=AT["y"]))
            np.testing.assert_array_equal(f(**AT)[0], expected)
    finally:
        collector.set_threshold(*before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_a_signal_may_call_what_it_interrupts():
    f = compiled()
    expected = f(**AT)[0].copy()
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(f(x=AT["x"] + 1, y=AT["y"])))
    try:
        for k in range(150):
            signal.setitimer(signal.ITIMER_REAL, 1e-4 + 1e-5 * k)  # once: a handler has its time
            assert (f(**AT)[0] == expected).all()
        assert calls
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_no_more_than_the_most_is_kept():
    sizes = [memory.MOST // 3 // 8, memory.MOST // 4 // 8]
    held = [memory.result((size,), float) for size in sizes * 4]
    assert sum(size for size, _ in memory._blocks) <= memory.MOST
    assert not any(overlap(a, b) for k, a in enumerate(held) for b in held[:k])
    assert memory.result((memory.MOST // 8 + 1,), float).base is None
    assert memory.result((3,), np.float32).base is None
