"""Calls of native functions: any array, any number of points, threads, memory, odd arguments."""

from __future__ import annotations

import gc as collecting
import math
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from engines import on_tape

import graphc as gc
from graphc.program.backends.native import MANY_ROWS, missing
from graphc.program.compiled import Compiled

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.usefixtures("own_functions"),
]
TEXT = "input x y\nparam w\na = sin(x)*y\nb = exp(-a**2)\nc = where(x > y, a*b, x/3)\nL = c*w + b"
WRT = ["x", "y", "w"]


def parts(result: Any) -> list[Any]:
    if isinstance(result, dict):
        return [part for value in result.values() for part in parts(value)]
    if isinstance(result, tuple):
        return [part for value in result for part in parts(value)]
    return [result]


def native(text: str = TEXT, *asked: Any, **options: Any) -> Compiled:
    f = gc.parse(text).compile(*(asked or ("L", WRT)), **options)
    assert f.plan.engine == "blocks"
    return f


def bits(result: Any) -> list[bytes]:
    return [np.asarray(part).tobytes() for part in parts(result)]


def point_by_point(f: Compiled, *columns: Any) -> list[list[bytes]]:
    return [bits(f(*map(float, point))) for point in zip(*columns, strict=True)]


# Points.


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 63, 511, 512, 513, 1024, 5000])
def test_any_number_of_points_is_each_of_them(size: int, dtype: str):
    f = native(dtype=dtype)
    rng = np.random.default_rng(size)
    columns = rng.normal(size=(3, size)).astype(dtype)
    found = parts(f(*columns))
    assert all(part.shape == (size,) and part.dtype == dtype for part in found)
    alone = point_by_point(f, *columns)
    assert [[part[k].tobytes() for part in found] for k in range(size)] == alone


X = np.linspace(-2, 3, 12).reshape(3, 4)
ARRAYS = {
    "in columns": np.asfortranarray(X),
    "every other": np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": X[::-1, ::-1].copy()[::-1, ::-1],
    "broadcast": np.broadcast_to(X[:, :1], (3, 4)),
    "byte-swapped": X.astype(">f8"),
    "not aligned": np.frombuffer(b"_" + X.tobytes(), dtype=np.uint8)[1:].view("<f8").reshape(3, 4),
    "read-only": np.frombuffer(X.tobytes()).reshape(3, 4),
    "whole numbers": np.arange(12).reshape(3, 4) - 5,
    "small whole numbers": (np.arange(12).reshape(3, 4) - 5).astype(np.int8),
    "truths": X > 0,
    "single precision": X.astype(np.float32),
    "half precision": X.astype(np.float16),
    "a list": X.tolist(),
    "of size 1": X[:1, :1],
    "a line": X[0],
    "a column": X[:, :1],
    "0-d": X[1, 2, None].reshape(()),
    "a number": np.float64(0.5),
    "a whole number": 2,
    "a truth": True,
    "a longer float": np.longdouble(0.5),
}


@pytest.mark.parametrize("reduce", [None, "sum"])
@pytest.mark.parametrize("kind", ARRAYS)
def test_any_kind_of_array_is_its_numbers(kind: str, reduce: str | None):
    given = ARRAYS[kind]
    f = native(reduce=reduce)
    plain = np.array(np.asarray(given), dtype=np.float64)
    for others in ((0.5, 1.5), (np.linspace(1, 2, 4), 1.5), (X, X[:, :1])):
        right = f(plain.copy(), *others)
        found = f(given, *others)
        assert bits(found) == bits(right)
        assert [np.shape(part) for part in parts(found)] == [np.shape(p) for p in parts(right)]
        numpy = gc.parse(TEXT).compile("L", WRT, backend="numpy", reduce=reduce)(plain, *others)
        for one, other in zip(parts(found), parts(numpy), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
            assert type(one) is type(other) and one.dtype == other.dtype


def test_arguments_that_do_not_broadcast_are_told():
    with pytest.raises(gc.GraphcError, match="do not broadcast"):
        native()(np.zeros(3), np.zeros(4), 1.0)


# Results.


@pytest.mark.parametrize("want", ["value_and_grad", "values", "jacobian", "hessian"])
def test_results_that_are_arguments_numbers_or_stand_twice(want: str):
    graph = gc.parse("input x y\nu = x\nv = x + y\nk = 3\nn = k*k\nw = y + x\nL = v + w + 2*y")
    wrt = ["x", "y", "v"] if want != "hessian" else ["x", "y"]
    of = "L" if want != "jacobian" else ["u", "v", "n", "w", "L"]
    ask = {"want": want} if want == "values" else {"of": of, "wrt": wrt, "want": want}
    f, numpy = graph.compile(**ask), graph.compile(**ask, backend="numpy")
    assert f.plan.engine == "blocks"
    for at in ((0.5, 2.0), (np.linspace(0, 1, 600), np.linspace(1, 3, 600)), (np.ones(2), 4.0)):
        found = parts(f(*at))
        for one, other in zip(found, parts(numpy(*at)), strict=True):
            np.testing.assert_array_equal(one, other)
        everything = [part for part in (*found, *at) if isinstance(part, np.ndarray)]
        for k, one in enumerate(everything):
            assert one.flags.writeable
            assert not any(np.shares_memory(one, other) for other in everything[k + 1 :])


@pytest.mark.parametrize("want", ["value", "grad", "value_and_grad", "values", "hessian", "jvp"])
def test_buffers_hold_what_a_call_returns(want: str):
    graph = gc.parse(TEXT)
    ask = {"want": want} if want == "values" else {"of": "L", "wrt": WRT, "want": want}
    for dtype in ("float64", "float32"):
        f = graph.compile(**ask, dtype=dtype)
        buffers = f.buffers()
        for at in ((0.3, 0.2, 1.5, 1.0, 0.5, -1.0), (0.1, 0.2, -1.5, 0.0, 0.0, 1.0)):
            given = at[: len(f.arguments)]
            for name, number in zip(f.arguments, given, strict=True):
                buffers.args[name][...] = number
            buffers()
            assert bits(dict(buffers.results)) == bits(f(*given))


def test_buffers_of_the_tape():
    graph = gc.parse(TEXT)
    for want in ("value", "grad", "value_and_grad"):
        f = on_tape(graph, "L", [*WRT, "a"], want)
        buffers = f.buffers()
        for at in ((0.3, 0.2, 1.5), (0.1, 0.2, -1.5)):
            for name, number in zip(f.arguments, at, strict=True):
                buffers.args[name][...] = number
            buffers()
            assert bits(dict(buffers.results)) == bits(f(*at))
            result = buffers.results.get("value", buffers.results.get("x"))
            assert not any(np.shares_memory(result, given) for given in buffers.args.values())


def test_a_node_called_value_cannot_stand_beside_the_value():
    f = gc.parse("input value\nL = value**2").compile()
    assert f(3.0) == (9.0, {"value": 6.0})
    with pytest.raises(gc.GraphcError, match="give the node another name"):
        f.buffers()


# Bits.


def test_checkpoints_do_not_change_bits():
    lines = ["input x w", "h0 = x"]
    for k in range(1, 12):
        lines += [f"s{k} = sin(h{k - 1}*w)", f"h{k} = s{k} + cos(h{k - 1})*w"]
    text = "\n".join([*lines, "L = h11"])
    x, w = np.linspace(-2, 2, 700), np.linspace(0.5, 1, 700)
    right = bits(native(text, "L", ["x", "w"], mode="reverse")(x, w))
    for checkpoint in (1, 2, 3, 5):
        f = native(text, "L", ["x", "w"], checkpoint=checkpoint)
        assert bits(f(x, w)) == right
        assert bits(f(0.3, 0.9)) == bits(native(text, "L", ["x", "w"], mode="reverse")(0.3, 0.9))
    assert native(text, "L", ["x", "w"], checkpoint=1).plan.recomputed


@pytest.mark.parametrize("size", [1, 100, 512, 513, 3000, 40_001])
@pytest.mark.parametrize("reduce", ["sum", "mean", None])
def test_threads_do_not_change_bits(size: int, reduce: str | None):
    x = np.random.default_rng(size).normal(size=size) * 10.0 ** np.arange(size).__mod__(7)
    right = native(reduce=reduce)(x, 0.5, 2.0)
    for threads in (2, 3, 4, 64):
        assert bits(native(reduce=reduce, threads=threads)(x, 0.5, 2.0)) == bits(right)
    if reduce:
        plain = native()(x, 0.5, 2.0)
        for total, column in zip(parts(right), parts(plain), strict=True):
            exact = math.fsum(column) / (size if reduce == "mean" else 1)
            scale = math.fsum(np.abs(column)) / (size if reduce == "mean" else 1)
            assert abs(total - exact) <= 1e-12 * scale


def test_four_threads_may_call_one_function():
    functions = [native(), on_tape(gc.parse(TEXT), "L", WRT), native(threads=2)]
    columns = np.random.default_rng(1).normal(size=(3, 300))
    many = np.random.default_rng(2).normal(size=(3, 3000))
    for f in functions:
        alone = point_by_point(f, *columns)
        right = bits(f(*many))
        wrong: list[str] = []

        def work(f: Compiled = f, alone: Any = alone, right: Any = right, to: Any = wrong) -> None:
            try:
                for _ in range(4):
                    if point_by_point(f, *columns) != alone or bits(f(*many)) != right:
                        to.append("other bits")
            except Exception as error:
                to.append(repr(error))

        threads = [threading.Thread(target=work) for _ in range(4)]
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(before)
        assert not wrong


# Functions and kinks of the user.


def test_a_users_function_runs_in_blocks():
    gc.declare("bump", lambda u, v: gc.exp(-(u**2)) * v, derivative=None)
    text = "input x y\nL = bump(x, y)*bump(y, x)"
    f, x = native(text, "L", ["x", "y"]), np.linspace(-1, 1, 600)
    plain = gc.parse("input x y\nL = exp(-x**2)*y*(exp(-y**2)*x)").compile(backend="numpy")
    for at in ((x, x[::-1]), (0.3, 0.4)):
        for one, other in zip(parts(f(*at)), parts(plain(*at)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::graphc.KinkWarning")
@pytest.mark.parametrize("kink", ["0.25", "left", "right", "1"])
def test_kinks_have_the_slope_that_was_asked_for(kink: str):
    said = kink if kink[0].isdigit() else f"'{kink}'"
    graph = gc.parse(f"input x\ny = relu(x, kink={said})\nz = abs(x - 1, kink={said})\nL = y + 2*z")
    f = graph.compile()
    assert f.plan.engine == "blocks"
    places = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    _, slopes = f(places)
    right = [float(graph.reverse("L", {"x": x})["x"]) for x in places]
    assert slopes["x"].tolist() == right == [float(f(x)[1]["x"]) for x in places]
    assert on_tape(graph, "L", "x") is None


# Odd arguments, and functions that outlive what made them.


class Nested:
    """A number that calls the function again when it is asked for its value."""

    def __init__(self, number: float, work: Any) -> None:
        self.number, self.work = number, work

    def __float__(self) -> float:
        self.work()
        return self.number


@pytest.mark.parametrize("made", [native, lambda: on_tape(gc.parse(TEXT), "L", WRT)])
def test_a_number_may_call_the_function_that_takes_it(made: Any):
    f = made()
    right = f(0.3, 0.2, 1.5)
    numbers = f._function("float64").numbers
    nested = Nested(0.2, lambda: numbers(7.0, 8.0, 9.0))
    assert bits(numbers(0.3, nested, 1.5)) == bits(right)
    with pytest.raises(ZeroDivisionError):
        numbers(0.3, Nested(0.2, lambda: 1 / 0), 1.5)
    with pytest.raises((TypeError, ValueError)):
        numbers(0.3, "text", 1.5)
    assert bits(f(0.3, 0.2, 1.5)) == bits(right)


def test_a_wrong_number_of_arguments_is_refused():
    numbers = native()._function("float64").numbers
    for given in ((), (1.0, 2.0), (1.0,) * 4):
        with pytest.raises(TypeError, match="the number of arguments"):
            numbers(*given)


def test_many_arguments_and_many_results():
    names = [f"x{k}" for k in range(100)]
    text = "\n".join([f"input {' '.join(names)}", f"L = {' + '.join(f'{n}**3' for n in names)}"])
    f = native(text, "L", names)
    at = np.linspace(-1, 1, 100)
    value, slopes = f(*at)
    assert value == pytest.approx(np.sum(at**3))
    np.testing.assert_allclose(list(slopes.values()), 3 * at**2, rtol=1e-15)
    assert list(slopes) == names


def test_a_function_lives_as_long_as_it_is_held():
    f = native()
    call, buffers = f._function("float64").numbers, f.buffers()
    right = bits(f(0.3, 0.2, 1.5))
    del f
    collecting.collect()
    assert bits(call(0.3, 0.2, 1.5)) == right
    buffers()


AT_EXIT = f"""
import atexit
f = []
atexit.register(lambda: print(f[0](0.3, 0.2, 1.5)[0], f[0]([0.3, 0.4], 0.2, 1.5)[0]))
import graphc as gc
f.append(gc.parse({TEXT!r}).compile("L", {WRT!r}))
f[0](0.1, 0.2, 0.3)
"""


def test_a_function_may_be_called_at_exit():
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    value = float(native()(0.3, 0.2, 1.5)[0])
    assert done.stdout.split()[0] == repr(value)


def test_numbers_beyond_floats_are_told():
    with pytest.raises(gc.GraphcError, match="beyond the range of floats"):
        native()(10**400, 1.0, 1.0)


# The tape, through compile.


def long(count: int) -> gc.Graph:
    lines = ["input x", "param w", "h0 = x"]
    lines += [f"h{k} = sin(h{k - 1})*w + x" for k in range(1, count)]
    return gc.parse("\n".join([*lines, f"L = h{count - 1}"]))


def test_a_large_graph_runs_on_the_tape_and_its_arrays_in_blocks():
    graph = long(MANY_ROWS // 3 + 1)
    f = graph.compile("L", ["x", "w"], "value_and_grad")
    assert f.plan.engine == "tape"
    x = np.array([0.3, 0.7])
    value, slopes = f(0.3, 0.9)
    values, many = f(x, 0.9)
    np.testing.assert_allclose(values[0], value, rtol=1e-12)
    for name in ("x", "w"):
        np.testing.assert_allclose(many[name][0], slopes[name], rtol=1e-10)
    buffers = f.buffers()
    buffers.args["x"][...], buffers.args["w"][...] = 0.3, 0.9
    buffers()
    assert float(buffers.results["x"]) == slopes["x"]
