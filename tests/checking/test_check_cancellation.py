"""Checking where parts cancel: true zeros are no mistakes, and mistakes do not hide behind them."""

import math

import numpy as np
import pytest

import graphc as gc
from graphc.checking.digits import Gradients, slope
from graphc.checking.neighbourhood import Digits, Neighbourhood, to_digits
from graphc.checking.points import drawn
from graphc.checking.rounding import Errors

BATCH_NORM = """
input X[8,3]
param W[3,2] b[2]
Z = X @ W + b
mu = mean(Z, axis=0)
v = var(Z, axis=0)
H = (Z - mu)/sqrt(v + 1/100000)
L = sum(tanh(H)**2)
"""
LSTM = """
input x[2,3]
param W[8,3] U[8,2] b[8]
h0 = zeros((2,))
c0 = zeros((2,))
for t in 1..2:
    a[t] = W @ x[t-1] + U @ h[t-1] + b
    c[t] = sigmoid(a[t][2:4])*c[t-1] + sigmoid(a[t][:2])*tanh(a[t][6:])
    h[t] = sigmoid(a[t][4:6])*tanh(c[t])
L = sum(h2**2)
"""
ATTENTION = """
input X[3,4]
param A[4,4] B[4,4] C[4,4] a[4] b[4] c[4]
Q = X @ A + a
K = X @ B + b
P = softmax(Q @ K.T/2)
Y = P @ (X @ C + c)
L = sum(Y**2)
"""
RIGHT = {
    "sigmoid": "input x\ny = sigmoid(x) + sigmoid(-x)",
    "softmax": "input x[4]\ny = log(sum(softmax(x)))",
    "circle": "input x\ny = sin(x)**2 + cos(x)**2",
    "hyperbola": "input x\ny = cosh(x/9)**2 - sinh(x/9)**2",
    "ratio": "input x y\nz = x*y/(y*x) + log(exp(x/9)) - x/9",
    "norm": "input x[3]\nu = x/norm(x)\ny = sum(u**2)",
    "batch norm": BATCH_NORM,
    "lstm": LSTM,
    "attention": ATTENTION,
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_right_derivatives_that_cancel_are_correct_at_drawn_points(text):
    report = gc.check(gc.parse(text), points=8)
    assert set(report.counts()) <= {"correct", "ill-conditioned"}, str(report)
    for row in report.rows:
        if row.verdict == "correct":
            assert abs(row.derived - row.measured) <= row.bound


@pytest.mark.parametrize("wrong", [1e-3, -1e-9, 1e-12])
def test_a_wrong_number_at_a_true_zero_is_wrong(wrong):
    graph = gc.parse("input x\ny = sigmoid(x) + sigmoid(-x)")
    assert gc.check(graph, at={"x": 0.3}, claimed={"x": wrong}).verdict == "wrong"
    assert gc.check(graph, at={"x": 0.3}, claimed={"x": 1e-17}).verdict == "correct"


def test_a_bias_before_batch_normalisation_may_be_nothing_but_zero():
    graph = gc.parse(BATCH_NORM)
    rng = np.random.default_rng(0)
    at = {"X": rng.standard_normal((8, 3)), "W": rng.standard_normal((3, 2)), "b": np.ones(2)}
    assert gc.check(graph, at=at, claimed={"b": np.zeros(2)}).verdict == "correct"
    report = gc.check(graph, at=at, claimed={"b": np.array([0, 1e-11])})
    assert [row.verdict for row in report.rows] == ["correct", "wrong"]


@pytest.mark.parametrize(
    ("formula", "x", "right", "wrong"),
    [
        ("1e14 + sin(x)", 1.0, math.cos(1), -math.cos(1)),
        ("1e14 + sin(x)", 1.0, math.cos(1), 0.0),  # no neighbour in floats differs
        ("1e12 + sin(x)", 1.0, math.cos(1), 1.01 * math.cos(1)),
        ("(x + 1e60) - 1e60", 1.0, 1.0, 0.0),  # 50 digits do not see x
        ("exp(-((x - 1)/0.001)**2)", 1.003, -6000 * math.exp(-9), 0.0),
        ("sigmoid(x)", 5e-324, 0.25, 0.0),
        ("sigmoid(x)", 1e-60, 0.25, 0.0),
        ("sin(x)", 1.0, math.cos(1), math.cos(1) * (1 + 5e-8)),
    ],
)
def test_offsets_and_narrow_features_hide_nothing(formula, x, right, wrong):
    graph = gc.parse(f"input x\ny = {formula}")
    assert gc.check(graph, at={"x": x}, claimed={"x": right}).verdict == "correct"
    assert gc.check(graph, at={"x": x}, claimed={"x": wrong}).verdict == "wrong"


def test_a_small_derivative_beside_a_huge_one_is_held_to_its_own_size():
    graph = gc.parse("input t[3]\ny = sum(exp(t))")
    at = {"t": np.array([-300.0, 0.0, 300.0])}
    claim = np.exp(at["t"]) * [1, 7, 1]
    report = gc.check(graph, at=at, claimed={"t": claim})
    assert [row.verdict for row in report.rows] == ["correct", "wrong", "correct"]


@pytest.mark.parametrize(
    "formula",
    ["x*sin(x)", "sigmoid(x)", "exp(x)", "x/2", "relu(x) + x", "1/(1 + x)", "x**3", "abs(x)"],
)
def test_the_smallest_number_is_a_point_like_any_other(formula):
    report = gc.check(gc.parse(f"input x\ny = {formula}"), at={"x": 5e-324})
    assert report.ok and report.verdict in ("correct", "near-kink"), str(report)


@pytest.mark.parametrize(
    "formula", ["asin(tanh(x))", "sqrt(1 - tanh(x)**2)", "log(1 - sigmoid(x))"]
)
def test_drawn_points_lie_inside_every_domain_on_the_way(formula):
    graph = gc.parse(f"input x\na = x\ny = {formula}")
    report = gc.check(graph)
    assert report.ok and len(report.points) == 20, str(report)


def test_an_angle_is_not_taken_at_the_origin():
    with pytest.raises(gc.GraphcError, match="no point was found"):
        gc.check(gc.parse("input x\na = x - x\ny = atan2(a, a)"))


def test_points_for_float32_are_inside_in_float32():
    report = gc.check(gc.parse("input x\na = -abs(x)\ny = log(sigmoid(a))"), dtype="float32")
    assert report.ok and len(report.points) == 20, str(report)


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_tangents_and_adjoints_that_cancel_are_consistent(text):
    assert gc.check(gc.parse(text), points=3, want="jvp").ok


def test_a_graph_that_is_nowhere_inside_a_domain_says_so():
    with pytest.raises(gc.GraphcError, match="no point was found"):
        gc.check(gc.parse("input x\ny = sqrt(x - x)"))


def test_a_wrong_own_derivative_of_a_large_graph_is_blamed_quickly():
    text = ATTENTION.replace("L = sum(Y**2)", "S = tanh(Y)\nd S / d Y = 1 - S\nL = sum(S)")
    report = gc.check(gc.parse(text), points=1)
    assert report.blame == [("Y", "S")] and report.evaluations < 3_000


def test_a_wrong_function_of_a_user_is_measured_not_believed(own_functions):
    gc.declare("wave", lambda x: gc.sin(x), derivative=lambda x, o: gc.cos(x) * 1.001)
    report = gc.check(gc.parse("input x[3]\na = 2*x\nh = wave(a)\ny = sum(h)"), points=2)
    assert report.verdict == "wrong" and report.blame == [("a", "h")]
    for row in report.rows:
        assert abs(row.measured) < abs(row.derived)


# The parts.


def hood_of(text, at):
    graph = gc.parse(text)
    point = {graph.row(name): value for name, value in at.items()}
    return graph, Neighbourhood(graph, [graph.row("y")], point, {})


def test_rounding_is_that_of_the_parts_and_not_of_their_sum():
    graph, hood = hood_of("input x\ny = 1e6*(sin(x)**2 + cos(x)**2)", {"x": 0.7})
    error = Errors(hood, 2.2e-16).derivatives[graph.row("x")][0, 0]
    assert 1e-11 < error < 1e-7
    graph, hood = hood_of("input x\ny = 3*x", {"x": 0.7})
    assert Errors(hood, 2.2e-16).derivatives[graph.row("x")][0, 0] < 1e-14


def test_digits_follow_the_cancellation():
    graph, hood = hood_of("input x\ny = (x + 1e60) - 1e60 + (x + 1e25) - 1e25", {"x": 1.0})
    found, error, digits = slope(hood, graph.row("x"), (), 0, 1.0, lambda s: 1e-9 * abs(s))
    assert abs(found - 2) <= 3 * error < 1e-8 and digits > 50
    graph, hood = hood_of("input x\ny = sin(x)", {"x": 1.0})
    found, error, digits = slope(hood, graph.row("x"), (), 0, 1.0, lambda s: 1e-9 * abs(s))
    assert found == pytest.approx(math.cos(1), abs=1e-15) and error < 1e-20


def test_a_direction_does_not_confirm_a_wrong_sweep():
    graph, hood = hood_of("input x[3]\ny = sum(sin(x))", {"x": np.array([0.1, 0.2, 0.3])})
    row = graph.row("x")
    errors = {row: np.full((1, 3), 1e-15)}
    found, error = Gradients(hood, errors).at(0, row, (1,))
    assert found == pytest.approx(math.cos(0.2)) and error < 1e-15
    gradients = Gradients(hood, errors)
    gradients.sweep(0)[row][2] *= 1 + to_digits(1e-15, 50)
    assert gradients.at(0, row, (1,)) is None


@pytest.mark.parametrize(
    ("spec", "shapes", "sizes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)], ()),
        ("ij->", [(2, 3)], ()),
        ("i,j->ji", [(2,), (3,)], ()),
        ("i->ik", [(2,)], (("k", 3),)),
        ("i->ii", [(2,)], ()),
        ("ii->i", [(3, 3)], ()),
        (",i->i", [(), (3,)], ()),
        ("aij,ajk,k->ai", [(2, 2, 3), (2, 3, 2), (2,)], ()),
    ],
)
def test_contractions_in_many_digits_are_those_of_floats(spec, shapes, sizes):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    algebra = Digits({}, 50)
    digital = [to_digits(np.asarray(array), 50) for array in arrays]
    found = algebra.apply("contract", digital, {"spec": spec, "sizes": sizes})
    plain = super(Digits, algebra).apply("contract", digital, {"spec": spec, "sizes": sizes})
    assert np.shape(found) == np.shape(plain)
    for a, b in zip(np.ravel(found), np.ravel(plain), strict=True):
        assert abs(a - b) <= 1e-48


def test_points_are_reproducible_and_counted():
    graph = gc.parse("input x\ny = asin(tanh(x))")
    first, refused = drawn(graph, 5, 0, [graph.row("y")], None)
    again, _ = drawn(graph, 5, 0, [graph.row("y")], None)
    assert [p.values for p in first] == [p.values for p in again] and refused > 0


def test_a_constant_may_compete_with_inputs():
    assert gc.check(gc.parse("input x y\nL = max(pi, x, y)"), points=4).ok


def test_an_output_may_be_an_exact_number():
    text = "input x\nn0 = x**(-7/3)\nn2 = selu(x) + where(n0 == x, 2*n0, -2.5)\nL = atan(sign(n0))"
    assert gc.check(gc.parse(text), points=2).ok


def test_points_outside_the_range_of_floats_are_refused():
    with pytest.raises(gc.GraphcError, match="'x' is outside the range of floats"):
        gc.check(gc.parse("input x\nL = sin(x)"), at={"x": 10**400})


def test_dead_units_need_no_further_digits():
    text = "input X[8,20]\nparam W[20,16] V[16,3]\nh = relu(X @ W - 100)\nL = sum((h @ V)**2)"
    rng = np.random.default_rng(0)
    at = {"X": rng.normal(size=(8, 20)), "W": rng.normal(size=(20, 16)), "V": np.ones((16, 3))}
    report = gc.check(gc.parse(text), at=at)
    assert {row.evidence for row in report.rows} == {"central differences agree"}


@pytest.mark.parametrize("formula", ["det(x)", "sum(inv(x)**2)", "sum(adjugate(x))", "logdet(x)"])
def test_slopes_of_matrix_functions_that_are_0_are_right(formula: str):
    """Every element of such a slope is off by a part of the largest one."""
    x = np.array([[2.0, -1.0, 0.0], [0.0, 2.0, -0.0], [1.0, -0.0, 3.0]])
    report = gc.check(gc.parse(f"param x[3,3]\nL = {formula}"), "L", {"x": x})
    assert report.ok and {row.verdict for row in report.rows} == {"correct"}, str(report)


def test_a_tie_that_floats_do_not_leave_is_a_kink():
    """cosh(1e-9) is 1 in floats wherever one looks; its slopes on both sides are 0 and 1e-9."""
    graph = gc.parse("input c[2,1]\nL = sum(max(cosh(c), axis=0))")
    point = {"c": np.array([[1e-9], [-1e-9]])}
    with pytest.warns(gc.KinkWarning):
        right = graph.reverse("L", point)["c"]
    report = gc.check(graph, "L", point)
    assert report.ok and {row.verdict for row in report.rows} == {"at-kink"}, report
    for factor in (-1.0, 3.0):
        assert not gc.check(graph, "L", point, claimed={"c": factor * right}).ok


@pytest.mark.parametrize(
    "formula",
    [
        "where(h > leaky_relu(h), h*h, h) + sin(a)",
        "where(a > leaky_relu(a), a*a, leaky_relu(a)) + sin(a)",
        "where(h > h*1, h*h, h)",
        "where(h >= h*1, h*h, h) + a",
        "maximum(h, h*1)*a",
    ],
)
def test_a_comparison_of_a_value_with_itself_excuses_no_wrong_claim(formula):
    """Roundings decide it this way or that: what the other branch would give is no error."""
    graph = gc.parse(f"input a\nh = tanh(a)\nL = {formula}")
    right = float(graph.reverse("L", {"a": 1.27088333})["a"])
    for factor, ok in ((1.0, True), (0.9, False), (5.0, False)):
        report = gc.check(graph, "L", {"a": 1.27088333}, claimed={"a": factor * right})
        assert report.ok is ok, (factor, report.rows[0].evidence)
