"""Layers on plain numbers: arrays give arrays, lists stay exact, mistakes are told in words."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from layer_calls import CALLS, A, B

import graphc as gc
from graphc.table.functions import COMPOSED


@pytest.mark.parametrize(
    "name, args, settings, wanted", CALLS, ids=[f"{n}-{i}" for i, (n, *_) in enumerate(CALLS)]
)
def test_arrays_give_arrays(name, args, settings, wanted):
    found = getattr(gc, name)(*args, **settings)
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(np.asarray(found, dtype=float), wanted, rtol=1e-12, atol=1e-12)
    assert type(found) is float or isinstance(found, (np.ndarray, np.float64))


def test_every_layer_was_called():
    assert {name for name, *_ in CALLS} == set(COMPOSED) - {"[]"}
    assert all(callable(getattr(gc, name)) and getattr(gc, name).__doc__ for name in CALLS_BY_NAME)


CALLS_BY_NAME = sorted({name for name, *_ in CALLS})


def exactly(found, wanted):
    assert np.asarray(found, dtype=object).tolist() == np.asarray(wanted, dtype=object).tolist()
    for value in np.asarray(found, dtype=object).flat:
        assert not isinstance(value, (float, np.number))


def test_lists_stay_exact():
    third, half = Fraction(1, 3), Fraction(1, 2)
    exactly(gc.mean([1, 2, 2]), Fraction(5, 3))
    exactly(gc.matmul([[1, "1/2"], [0, third]], [2, 4]), [4, Fraction(4, 3)])
    exactly(gc.inv([[2, 0], [0, 4]]), [[half, 0], [0, Fraction(1, 4)]])
    exactly(gc.solve([[2, 1], [1, 3]], [1, 1]), [Fraction(2, 5), Fraction(1, 5)])
    exactly(gc.det([[third, 1], [1, 6]]), 1)
    exactly(gc.norm([3, 4]), 5)
    exactly(gc.var([1, 2]), Fraction(1, 4))
    exactly(gc.softmax([0, 0, 0]), [third, third, third])
    exactly(gc.conv1d([1, 2, 3], [half, 1]), [Fraction(5, 2), 4])
    exactly(gc.maxpool([1, 3, 2, third], 2), [3, 2])
    exactly(gc.avgpool([1, 2, 3, 4], 2), [Fraction(3, 2), Fraction(7, 2)])
    exactly(gc.pad([1, 2], 1), [0, 1, 2, 0])
    exactly(gc.concat([[1], [third]]), [1, third])
    exactly(gc.stack([1, third]), [1, third])
    exactly(gc.take([1, 2, 3], [2, 2]), [3, 3])
    exactly(gc.reshape([1, 2, 3, 4], (2, 2)), [[1, 2], [3, 4]])
    exactly(gc.onehot(1, 2), [0, 1])


def test_irrational_results_are_exact_too():
    assert str(gc.norm([1, 1])) == "sqrt(2)"
    assert str(gc.logsumexp([0, 0])) == "log(2)"
    assert str(gc.logdet([[2, 0], [0, 3]])) == "log(6)"
    assert [str(v) for v in gc.log_softmax([0, 0])] == ["-log(2)", "-log(2)"]


def test_digits_are_kept():
    with mpmath.workdps(40):
        found = gc.logsumexp([mpmath.mpf(1), mpmath.mpf(2)])
        assert abs(found - mpmath.log(mpmath.e + mpmath.e**2)) < mpmath.mpf(10) ** -38


def test_large_numbers_on_arrays():
    np.testing.assert_allclose(gc.softmax(np.array([1e4, -1e4])), [1, 0])
    assert gc.logsumexp(np.array([1e4, 1e4])) == pytest.approx(1e4 + math.log(2), rel=1e-15)
    assert gc.softmax_cross_entropy(np.array([1e4, -1e4]), np.array([0, 1])) == 2e4


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: gc.sum(), "sum of nothing"),
        (lambda: gc.max(), "max of nothing"),
        (lambda: gc.concat([]), r"concat takes a list of values, such as concat\(\[a, b\]\)"),
        (lambda: gc.stack(A), "stack takes a list"),
        (lambda: gc.softmax(), "softmax: missing a required argument: 'x'"),
        (lambda: gc.softmax(A, 1, 0), "softmax: the number 1 after an array is no term"),
        (lambda: gc.softmax(A, axes=1), "softmax: got an unexpected keyword argument 'axes'"),
        (lambda: gc.softmax(A, axis=0.5), "axis=0.5 is not a whole number"),
        (lambda: gc.einsum("ij,jk", A, B), "letters with an arrow"),
        (lambda: gc.einsum("ij->é", A), "letters, commas and one arrow"),
        (lambda: gc.einsum("ij->ik", A), "no operand has the axis 'k'"),
        (lambda: gc.einsum("ij->ik", A, i=2, k=2), "takes no size for 'i'"),
        (lambda: gc.scatter(A, [0, 1], 2), r"does not fit places of \(2,\)"),
        (lambda: gc.winner(A, kink=1), "kink=1 must be 'share' or 'error'"),
        (lambda: gc.einsum("->"), "names 1 operands, got 0"),
        (lambda: gc.matmul(A, A), r"inner sizes 4 and 3 differ"),
        (lambda: gc.reshape(A, 1.5), "1.5"),
        (lambda: gc.reshape(A, (-1, -1)), "-1"),
        (lambda: gc.take(A, 0.5), "an index is a number"),
        (lambda: gc.take(A, True), "an index is a number"),
        (lambda: gc.pad(A, 1.5), "pair per axis"),
        (lambda: gc.conv1d(A[0], A[0], stride=0), "stride 0"),
        (lambda: gc.conv1d(A[0], A[0], padding=(1, 1)), "padding=.*whole number"),
        (lambda: gc.maxpool(A, 0), "size=0"),
        (lambda: gc.avgpool(A, "2"), "size='2'"),
        (lambda: gc.onehot(3, 3), "index 3 is out of range for size 3"),
        (lambda: gc.onehot(0.5, 3), "whole numbers"),
        (lambda: gc.zeros(("n",)), "needs known sizes"),
        (lambda: gc.norm("abc"), "abc"),
        (lambda: gc.norm([1, [2]]), "ragged"),
        (lambda: gc.norm(None), "None"),
        (lambda: gc.norm(np.array([1.0, np.inf])), "not finite"),
    ],
)
def test_mistakes_on_numbers_are_told(call, words):
    with pytest.raises(gc.GraphcError, match=words):
        call()


# Layers on values, where numbers and lists are mixed in.


def test_lists_and_arrays_are_constants():
    @gc.graph(shapes={"x": (2,)})
    def mixed(x):
        a = gc.dot(x, [1, Fraction(1, 2)])
        b = gc.matmul(np.array([[1, 2], [3, 4]]), x)
        c = gc.concat([x, [5], b])
        return gc.sum([a, gc.sum(c)])

    assert mixed.values({"x": [1, 2]})["mixed"] == 2 + 3 + 5 + 16
    assert mixed.reverse(at={"x": [1, 2]})["x"].tolist() == [6, Fraction(15, 2)]


def test_arguments_by_name():
    @gc.graph(shapes={"x": (2, 3)})
    def named(x):
        return gc.sum(gc.reshape(x=x, shape=(3, 2)) * gc.transpose(axes=(1, 0), x=x))

    assert named.to_text() == "input x[2, 3]\nnamed = sum(reshape(x, (3, 2))*x.T)\noutput named\n"


def test_indices_as_in_numpy():
    x = np.arange(24.0).reshape(2, 3, 4)
    for index in (
        1,
        np.int64(-1),
        (slice(None), 1),
        (..., [0, 0, 3]),
        (0, slice(None, None, -2), None),
        (None, [1, 0], ..., None),
        (slice(1, 1),),
        ([],),
        np.array([[0, 1], [1, 1]]),
        (slice(None), [[0, 2]], None),
        (1, [0, 2]),
        (),
        ...,
    ):
        graph = gc.Graph()
        value = graph.input("x", shape=(2, 3, 4))
        graph.node("y", value[index])
        found = graph.values({"x": x})["y"]
        np.testing.assert_array_equal(found, x[index])
        assert np.shape(found) == x[index].shape
        seed = np.ones(x[index].shape)
        wanted = np.zeros_like(x)
        np.add.at(wanted, index, seed)
        np.testing.assert_array_equal(graph.reverse({"y": seed}, {"x": x})["x"], wanted)


@pytest.mark.parametrize(
    "index",
    [
        ([0], [1]),
        (..., 0, ...),
        ([0, 1], slice(None), 0),
        "a",
        1.0,
        slice(None, None, 0),
        slice(0.5),
    ],
)
def test_indices_that_are_refused(index):
    value = gc.Graph().input("x", shape=(2, 3, 4))
    with pytest.raises(gc.GraphcError, match=r"^x\["):
        value[index]


def test_a_layer_prints_as_it_was_called():
    text = """input x[4, 4]
param w[2, 2]
a = conv2d(x, w, stride=2, padding=1)
b = maxpool(relu(a), 2, stride=1)
c = softmax(b, axis=0) + log_softmax(b)
d = norm(c, axis=1)
e = mean(stack([d, d])) + var(concat([d, d]), axis=-1)
output e
"""
    assert gc.parse(text).to_text() == text


def test_functions_of_the_table_keep_lists_exact():
    assert gc.sign([Fraction(-1, 3), 0, 2]).tolist() == [-1, 0, 1]
    assert gc.clip([3, -4, 12], -5, 5).tolist() == [3, -4, 5]
    halves = gc.sigmoid([[0, 0]])
    assert halves.dtype == object
    assert halves.tolist() == [[Fraction(1, 2)] * 2]
    assert gc.relu(halves).tolist() == halves.tolist()  # a result may be an argument
    assert gc.relu(np.array([1, -2])).dtype == float
    with pytest.raises(gc.GraphcError, match="an argument of relu"):
        gc.relu(["a", "b"])


# An axis by position.

REDUCTIONS = ("sum", "mean", "prod", "norm", "var", "logsumexp", "softmax", "log_softmax")
MATRIX = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_whole_number_after_an_array_is_an_axis(name, axis):
    expected = gc.parse(f"input X[2,3]\ny = {name}(X, axis={axis})").values({"X": MATRIX})["y"]
    function = getattr(gc, name)

    @gc.graph(shapes={"X": (2, 3)})
    def f(X):
        return function(X, np.int64(axis))

    text = f"for k in {axis + 2}..{axis + 2}:\n  y = {name}(X, k - 2)"
    for graph in (
        gc.parse(f"input X[2,3]\ny = {name}(X, {axis})"),
        gc.parse(f"input X[2,3]\n{text}"),
        gc.graph(lambda X: function(X, axis), shapes={"X": (2, 3)}),
        f,
    ):
        (found,) = (graph.values({"X": MATRIX})[name] for name in graph.output_names)
        assert np.array_equal(found, expected)
    assert np.array_equal(function(MATRIX, axis), expected)
    assert np.array_equal(function(MATRIX.tolist(), axis), function(MATRIX.tolist(), axis=axis))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "norm", "var", "logsumexp"])
def test_several_axes_by_position(name):
    g = gc.parse(f"input X[2,3]\ny = {name}(X, (0, 1))\nz = {name}(X)")
    values = g.values({"X": MATRIX})
    assert values["y"] == values["z"] == getattr(gc, name)(MATRIX, (0, 1))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_an_axis_by_position_that_is_not_there_is_refused(name):
    with pytest.raises(gc.GraphcError, match="axis 2 is out of range"):
        gc.parse(f"input X[2,3]\ny = {name}(X, 2)")


@pytest.mark.parametrize("number", [0, 1, -1, 5])
@pytest.mark.parametrize("name", ["max", "min"])
def test_the_largest_of_an_array_and_a_whole_number_is_asked_back(name, number):
    words = rf"write {name}imum\(x, {number}\) .*, or {name}\(x, axis={number}\)"
    with pytest.raises(gc.GraphcError, match=words):
        gc.parse(f"input X[2,3]\ny = {name}(X, {number})")
    with pytest.raises(gc.GraphcError, match=words):
        gc.graph(lambda X: getattr(gc, name)(X, number), shapes={"X": (2, 3)})
    with pytest.raises(gc.GraphcError, match=words):
        getattr(gc, name)(MATRIX, number)


def test_values_and_numbers_after_a_scalar_are_terms():
    text = """
    input X[2] a h1[2] h2[2]
    c = 1
    m1 = max(a, 1)
    m2 = max(X, 0.5)
    m3 = max(1, X)
    s1 = sum(a, 1, 1.0)
    s2 = sum(X, c, 2*a)
    s3 = sum(h[1..2], c)
    s4 = mean(a, 2)
    s5 = sum(X, a)
    """
    values = gc.parse(text).values({"X": [0, 3], "a": 4, "h1": [1, 2], "h2": [3, 4]})
    found = {name: np.asarray(values[name]).tolist() for name in values if name[0] in "ms"}
    assert found == {
        **{"m1": 4, "m2": [Fraction(1, 2), 3], "m3": [1, 3], "s1": 6, "s2": [9, 12], "s3": [5, 7]},
        **{"s4": 3, "s5": [4, 7]},
    }


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_number_after_an_array_that_is_no_axis_is_refused(name):
    function = getattr(gc, name)

    def with_numbers(given):
        return lambda X: function(X, *given)

    advice = rf"after an array is no term.* {name}\(x, axis=0\), or .*x \+ "
    for numbers in ("1.0", "0.5", "2.0 - 1", "1, 0", "a, 1", "1, a", "n", "n - 1", "pi", "10**60"):
        with pytest.raises(gc.GraphcError, match=advice):
            gc.parse(f"input X[n,3] a\ny = {name}(X, {numbers})")
    with pytest.raises(gc.GraphcError, match=advice):
        gc.parse(f"input h1[2]\ny = {name}(h[1..1], 0)")
    for given in ((1.0,), (0.5,), (1, 0), (True,), (np.float64(1),), (Fraction(1),), ((0, 1.0),)):
        with pytest.raises(gc.GraphcError, match=advice):
            function(MATRIX, *given)
        with pytest.raises(gc.GraphcError, match=advice):
            gc.graph(with_numbers(given), shapes={"X": (2, 3)})


@pytest.mark.parametrize("name", [*REDUCTIONS[:6], "max", "min"])
def test_no_axis_by_position_and_an_axis_given_twice(name):
    function = getattr(gc, name)
    assert np.array_equal(function(MATRIX, None), function(MATRIX))
    with pytest.raises(gc.GraphcError, match="the axis is given twice"):
        function(MATRIX, 0, axis=1)


def test_a_number_that_is_too_large_for_an_axis_is_a_number():
    graph = gc.parse("input x\nL = max(x, 10**60)")
    exactly(graph.values({"x": 1})["L"], 10**60)


@pytest.mark.parametrize("call", ["eye()", "eye(axis=0)", "eye(2, 3)", "zeros()", "onehot(1)"])
def test_constants_called_in_another_way_are_refused(call):
    with pytest.raises(gc.GraphcError, match=r"(eye|zeros|onehot): (missing|too many)"):
        gc.parse(f"y = {call}")
    with pytest.raises(gc.GraphcError, match="eye: missing"):
        gc.eye()
