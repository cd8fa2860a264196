"""Shapes: mistakes are refused where they are declared, with both shapes; batches, named sizes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sympy import Rational

import graphc as gc

# declarations, a formula over them, and what the message must name
MISTAKES = [
    ("x[3] z[4]", "x + z", ["x is (3,)", "z is (4,)", "3 and 4"]),
    ("x[2, 3] z[2]", "x*z", ["x is (2, 3)", "z is (2,)", "3 and 2"]),
    ("x[n] z[m]", "x - z", ["x is (n,)", "z is (m,)", "n and m"]),
    ("x[n] z[3]", "x/z", ["x is (n,)", "z is (3,)", "n and 3"]),
    ("x[2, 3] z[4]", "maximum(x, z)", ["x is (2, 3)", "z is (4,)", "3 and 4"]),
    ("x[3] z[4]", "where(x > 0, x, z)", ["(3,)", "(4,)", "3 and 4"]),
    ("W[4, 3] x[5]", "W @ x", ["W is (4, 3)", "x is (5,)", "inner sizes 3 and 5 differ"]),
    ("W[4, 3] x[n]", "W @ x", ["W is (4, 3)", "x is (n,)", "inner sizes 3 and n differ"]),
    ("x[3] W[4, 3]", "x @ W", ["x is (3,)", "W is (4, 3)", "inner sizes 3 and 4 differ"]),
    ("A[2, 3, 4] B[5, 4, 2]", "A @ B", ["A is (2, 3, 4)", "B is (5, 4, 2)", "2 and 5 differ"]),
    ("W[2, 2] x[2] u[3]", "W @ x @ u", ["W @ x is (2,)", "u is (3,)", "2 and 3 differ"]),
    ("x[3] s", "x @ s", ["x is (3,)", "s is ()", "use * for scalars"]),
    ("x[3] z[4]", "dot(x, z)", ["x is (3,)", "z is (4,)"]),
    ("A[2, 3] B[4, 5]", "einsum('ij,jk->ik', A, B)", ["'j'", "size 3 in A", "size 4 in B"]),
    ("A[2, 3]", "einsum('ijk->ik', A)", ["(2, 3)", "3 axes"]),
    ("A[2, 3]", "einsum('ii->', A)", ["'i'", "size 2", "size 3", "(2, 3)"]),
    ("A[2, 3]", "einsum('ij->ik', A)", ["'k'", "ij->ik"]),
    ("A[2, 3]", "einsum('ij,jk->ik', A)", ["names 2 operands, got 1"]),
    ("A[2, 3]", "trace(A)", ["square", "A is (2, 3)"]),
    ("A[2, 3, 3]", "diag(A)", ["square", "A is (2, 3, 3)"]),
    ("A[2, 3]", "inv(A)", ["square", "A is (2, 3)"]),
    ("A[n, m]", "det(A)", ["square", "A is (n, m)"]),
    ("A[4]", "logdet(A)", ["square", "A is (4,)"]),
    ("A[3, 3] b[4]", "solve(A, b)", ["A is (3, 3)", "b is (4,)"]),
    ("x[2, 3]", "sum(x, axis=2)", ["axis 2", "2 axes", "(2, 3)"]),
    ("x[2, 3]", "max(x, axis=(0, 0))", ["(0, 0)", "twice"]),
    ("x[2, 3]", "softmax(x, axis=-3)", ["axis -3", "2 axes", "(2, 3)"]),
    ("s", "softmax(s)", ["axis -1", "0 axes", "()"]),
    ("x[2, 0]", "max(x, axis=1)", ["max of nothing", "(2, 0)"]),
    ("x[2, 3]", "transpose(x, (0, 0))", ["(0, 0)", "x is (2, 3)"]),
    ("x[2, 3]", "transpose(x, (0, 2))", ["axis 2", "2 axes", "(2, 3)"]),
    ("x[2, 3]", "reshape(x, (4, 2))", ["x is (2, 3)", "(4, 2)"]),
    ("x[2, 3]", "reshape(x, (4, -1))", ["x is (2, 3)", "(4, -1)"]),
    ("x[n, 3]", "reshape(x, (6,))", ["x is (n, 3)", "(6,)"]),
    ("x[n, m]", "reshape(x, (n, n))", ["x is (n, m)", "(n, n)"]),
    ("x[2, 3]", "x[2]", ["x is (2, 3)", "index 2", "size 2"]),
    ("x[2, 3]", "x[0, 0, 0]", ["x is (2, 3)", "3 indices"]),
    ("x[n, 3]", "x[0]", ["(n, 3)", "n is only a name"]),
    ("s", "softmax_cross_entropy(s, [1])", ["s is ()", "(1,)"]),
    ("x[2, 3] t[2]", "softmax_cross_entropy(x, t)", ["x is (2, 3)", "t is (2,)"]),
    ("p[2, 3] t[3, 1]", "cross_entropy(p, t)", ["p is (2, 3)", "t is (3, 1)"]),
    ("x[2, 3]", "take(x, [0, 5], axis=1)", ["x is (2, 3)", "[0, 5]", "size 3"]),
    ("x[2, 3] z[3, 3]", "concat([x, z], axis=1)", ["x is (2, 3)", "z is (3, 3)", "axis 1"]),
    ("x[2, 3] z[3]", "concat([x, z])", ["x is (2, 3)", "z is (3,)"]),
    ("x[2, 3] z[2, 4]", "stack([x, z])", ["x is (2, 3)", "z is (2, 4)"]),
    ("x[2, 3]", "pad(x, ((1, 1), (0, 0), (1, 0)))", ["x is (2, 3)", "(1, 0)"]),
    ("x[2, 3]", "pad(x, -1)", ["x is (2, 3)", "-1"]),
    (
        "x[1, 2, 5, 5] w[3, 4, 2, 2]",
        "conv2d(x, w)",
        ["(1, 2, 5, 5)", "(3, 4, 2, 2)", "2 channels", "4"],
    ),
    ("x[5, 5] w[3]", "conv2d(x, w)", ["x is (5, 5)", "w is (3,)"]),
    ("x[2] w[3]", "conv1d(x, w)", ["x is (2,)", "window of 3", "size 2"]),
    ("x[2, 4] w[3, 1, 2]", "conv1d_transpose(x, w)", ["(2, 4)", "(3, 1, 2)", "2 channels", "3"]),
    ("x[2, 3]", "maxpool(x, (2, 4))", ["x is (2, 3)", "window of 4", "size 3"]),
    ("x[3]", "maxpool(x, (2, 2))", ["(2, 2)", "x is (3,)"]),
    ("x[3]", "maxpool(x, 2, padding=2)", ["x is (3,)", "padding only"]),
    ("x[3] a b", "norm(x, a, b)", ["x is (3,)", "a is ()"]),
    ("a b", "sum(a, b, axis=0)", ["several values", "stack"]),
]


@pytest.mark.parametrize("declared, formula, words", MISTAKES, ids=lambda v: str(v)[:40])
def test_a_mistake_is_refused_at_its_declaration(declared, formula, words):
    with pytest.raises(gc.GraphcError) as caught:
        gc.parse(f"input {declared}\na_node = 1\ny = {formula}\n")
    message = str(caught.value)
    assert message.startswith("line 3") and "node 'y'" in message
    assert "\n" not in message
    for word in words:
        assert word in message, message


SHAPES = re.compile(r"(\w+)(?:\[([^\]]*)\])?")


@pytest.mark.parametrize("declared, formula, words", MISTAKES, ids=lambda v: str(v)[:40])
def test_the_same_as_a_string_in_python(declared, formula, words):
    graph = gc.Graph()
    for name, sizes in SHAPES.findall(declared):
        parts = [part.strip() for part in sizes.split(",") if part.strip()]
        graph.input(name, shape=tuple(int(p) if p.isdigit() else p for p in parts))
    with pytest.raises(gc.GraphcError) as caught:
        graph.node("y", formula)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_the_same_in_traced_functions():
    with pytest.raises(gc.GraphcError, match=r"W is \(4, 3\).*x is \(5,\).*3 and 5"):

        @gc.graph(shapes={"x": (5,), "W": (4, 3)})
        def product(x, *, W):
            return W @ x

    with pytest.raises(gc.GraphcError, match=r"x is \(3,\).*b is \(4,\).*3 and 4"):

        @gc.graph(shapes={"x": (3,), "b": (4,)})
        def total(x, *, b):
            return x + b

    with pytest.raises(gc.GraphcError, match=r"x is \(n,\).*\(3,\).*n and 3"):

        @gc.graph(shapes={"x": ("n",)})
        def constant(x):
            return x * np.array([1.0, 2.0, 3.0])

    with pytest.raises(gc.GraphcError, match=r"x is \(2, 3\).*too many"):

        @gc.graph(shapes={"x": (2, 3)})
        def element(x):
            return x[0, 0, 0]

    with pytest.raises(gc.GraphcError, match="one list of places"):

        @gc.graph(shapes={"x": (2, 3)})
        def pairs(x):
            return x[[0, 1], [0, 1]]


@pytest.mark.parametrize(
    "shape, words",
    [((-1,), "-1"), ((2.5,), "2.5"), (("for",), "for"), ((True,), "True"), (1.5, "1.5")],
)
def test_sizes_are_numbers_or_names(shape, words):
    with pytest.raises(gc.GraphcError, match=words):
        gc.Graph().input("x", shape=shape)


# Values.


@pytest.mark.parametrize(
    "value, words",
    [
        (np.zeros((3, 2)), ["(2, 3)", "(3, 2)", "2 and 3"]),
        (np.zeros(3), ["(2, 3)", "(3,)"]),
        ([[1, 2], [3, 4]], ["(2, 3)", "(2, 2)", "3 and 2"]),
        (1, ["(2, 3)", "()"]),
        ([[1, 2, 3], [4, 5]], ["ragged"]),
    ],
)
def test_a_value_names_the_declared_and_the_given_shape(value, words):
    graph = gc.parse("input x[2, 3]\ny = sum(x)")
    for verb in (graph.values, lambda at: graph.reverse("y", at)):
        with pytest.raises(gc.GraphcError) as caught:
            verb({"x": value})
        assert "x" in str(caught.value)
        assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_given_value_is_checked_where_it_is_declared():
    with pytest.raises(gc.GraphcError, match=r"line 1.*\(2,\).*\(3,\)"):
        gc.parse("param w[2] = [1, 2, 3]\ny = sum(w)")
    with pytest.raises(gc.GraphcError, match=r"\(2,\).*\(3,\)"):
        gc.Graph().param("w", shape=(2,), value=[1, 2, 3])


def test_a_list_says_its_own_shape():
    def layer(x=(1, 2), *, W=((1, -1), (2, "1/3"))):
        h = W @ x
        return h

    written = gc.parse("input x = [1, 2]\nparam W = [[1, -1], [2, 1/3]]\nh = W @ x")
    by_hand = gc.Graph()
    x, W = by_hand.input("x", value=[1, 2]), by_hand.param("W", value=[[1, -1], [2, "1/3"]])
    by_hand.node("h", W @ x)
    for graph in (written, by_hand, gc.graph(layer)):
        assert graph["W"].shape == (2, 2)
        assert graph["W"].size == 4
        assert graph.values({})["h"].tolist() == [-1, Rational(8, 3)]
        assert gc.parse(graph.to_text()).to_text() == graph.to_text()
    with pytest.raises(gc.GraphcError, match=r"'x1' was declared \(\).*\(2,\)"):
        gc.parse("input x[1..2] = [1, 2]\ny = x1 + x2")


def test_the_size_of_a_node_that_only_a_point_knows_is_refused():
    graph = gc.parse("input X[n, 3]\ny = sum(X)")
    assert graph["y"].size == 1
    with pytest.raises(gc.GraphcError, match=r"'X'.*\(n, 3\).*n"):
        _ = graph["X"].size


def test_a_scalar_of_a_tensor_graph_takes_no_array():
    graph = gc.parse("input x[2] s\ny = sum(s*x)")
    with pytest.raises(gc.GraphcError, match=r"'s' was declared \(\).*\(2,\)"):
        graph.values({"x": [1, 2], "s": np.zeros(2)})


def test_named_sizes_are_bound_once():
    graph = gc.parse("input X[n, 3] y[n]\nparam w[3]\nL = sum((X @ w - y)**2)")
    at = {"X": np.ones((4, 3)), "y": np.ones(4), "w": np.ones(3)}
    assert graph.values(at)["L"] == 16.0
    with pytest.raises(gc.GraphcError, match=r"'y'.*\(n,\).*\(5,\).*n = 4 and 5"):
        graph.values({**at, "y": np.ones(5)})
    with pytest.raises(gc.GraphcError, match=r"'X'.*\(n, 3\).*\(4, 2\).*3 and 2"):
        graph.values({**at, "X": np.ones((4, 2))})
    square = gc.parse("input A[n, n]\nt = trace(A)")
    with pytest.raises(gc.GraphcError, match=r"\(n, n\).*\(2, 3\).*n = 2 and 3"):
        square.values({"A": np.ones((2, 3))})


def test_a_value_may_bring_another_size_than_the_given_one():
    graph = gc.parse("input x[n] = [1, 2]\ny = sum(x)")
    assert graph.values({})["y"] == 3
    assert graph.values({"x": [1, 2, 3]})["y"] == 6


def test_a_named_size_may_be_1_or_0():
    graph = gc.parse("input X[n, 2]\nparam b[2]\ny = X + b\nL = sum(y)\noutput L")
    for n in (0, 1, 3):
        at = {"X": np.ones((n, 2)), "b": np.ones(2)}
        assert graph.values(at)["L"] == 4.0 * n
        assert graph.reverse("L", at)["b"].tolist() == [n, n]


def test_sizes_in_formulas():
    graph = gc.parse("input x[n]\ny = sum(x)/n\nz = mean(x)\noutput y z")
    values = graph.values({"x": [1, 2, 6]})
    assert values["y"] == values["z"] == 3
    with pytest.raises(gc.GraphcError, match="'m' is not declared"):
        gc.parse("input x[n]\ny = sum(x)/m")


def test_seeds_have_the_shape_of_their_node():
    graph = gc.parse("input x[2]\ny = 2*x")
    at = {"x": [1, 2]}
    with pytest.raises(gc.GraphcError, match=r"'y'.*\(2,\)"):
        graph.reverse("y", at)
    with pytest.raises(gc.GraphcError, match=r"\(2,\).*\(3,\)"):
        graph.reverse({"y": [1, 2, 3]}, at)
    with pytest.raises(gc.GraphcError, match=r"\(2,\).*\(1,\)"):
        graph.local("x", "y", at).pull([1])


# The batch rule of the design, with both examples.


def test_a_graph_of_scalars_is_a_map_over_points():
    graph = gc.parse("input x\nparam w b\nL = (w*x + b)**2")
    x = np.array([1.0, 2, 3, 4])
    slopes = graph.reverse("L", {"x": x, "w": 0.5, "b": -1.0})
    assert slopes["w"].shape == slopes["b"].shape == (4,)
    np.testing.assert_allclose(slopes["w"], 2 * (0.5 * x - 1) * x)
    np.testing.assert_allclose(slopes["b"], 2 * (0.5 * x - 1))


def test_a_tensor_graph_sums_where_its_formulas_sum():
    graph = gc.parse("input x[n]\nparam w b\nL = sum((w*x + b)**2)")
    x = np.array([1.0, 2, 3, 4])
    slopes = graph.reverse("L", {"x": x, "w": 0.5, "b": -1.0})
    assert np.shape(slopes["w"]) == np.shape(slopes["b"]) == ()
    assert slopes["w"] == pytest.approx(sum(2 * (0.5 * x - 1) * x))
    assert slopes["b"] == pytest.approx(sum(2 * (0.5 * x - 1)))
    np.testing.assert_allclose(slopes["x"], 2 * (0.5 * x - 1) * 0.5)
