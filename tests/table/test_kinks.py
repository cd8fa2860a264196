"""Kinks: one convention per function, the same in symbols and numbers, and told when it decided."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy

import graphc as gc
from graphc.algebra.rules import rule
from graphc.table.functions import FUNCTIONS

HALF, HUNDREDTH = Fraction(1, 2), Fraction(1, 100)


def slopes(formula: str, **at: Any) -> dict[str, Any]:
    """The partials of a formula at a point, by name; kinks are not reported."""
    g = gc.parse(f"input {' '.join(at)}\nf = {formula}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gc.KinkWarning)
        found = g.reverse("f", at)
    return {name: found[name] for name in at}


# The documented convention (design 4.2), and what every kink= makes of it.

CONVENTIONS = [
    ("relu(x)", {"x": 0}, {"x": 0}),
    ("abs(x)", {"x": 0}, {"x": 0}),
    ("sign(x)", {"x": 0}, {"x": 0}),
    ("heaviside(x)", {"x": 0}, {"x": 0}),
    ("leaky_relu(x)", {"x": 0}, {"x": HUNDREDTH}),
    ("hardtanh(x)", {"x": -1}, {"x": 1}),
    ("hardtanh(x)", {"x": 1}, {"x": 1}),
    ("clip(x, -2, 3)", {"x": -2}, {"x": 1}),
    ("clip(x, -2, 3)", {"x": 3}, {"x": 1}),
    ("clip(x, a, b)", {"x": 1, "a": 1, "b": 2}, {"x": 1, "a": 0, "b": 0}),
    ("clip(x, a, b)", {"x": 2, "a": 1, "b": 2}, {"x": 1, "a": 0, "b": 0}),
    ("max(x, y)", {"x": 5, "y": 5}, {"x": 1, "y": 0}),
    ("min(x, y)", {"x": 5, "y": 5}, {"x": 1, "y": 0}),
    ("max(x, y, z)", {"x": 1, "y": 2, "z": 2}, {"x": 0, "y": 1, "z": 0}),
    ("min(x, y, z)", {"x": 3, "y": 2, "z": 2}, {"x": 0, "y": 1, "z": 0}),
    ("max(x, y, z)", {"x": 2, "y": 2, "z": 2}, {"x": 1, "y": 0, "z": 0}),
    ("where(x > 0, 3*x, 5*x)", {"x": 0}, {"x": 5}),
    ("where(x >= 0, 3*x, 5*x)", {"x": 0}, {"x": 3}),
    ("where(x == 0, 3*x, 5*x)", {"x": 0}, {"x": 3}),
    # kink= a slope
    ("relu(x, kink=1)", {"x": 0}, {"x": 1}),
    ("relu(x, kink=0.3)", {"x": 0}, {"x": Fraction(3, 10)}),
    ("abs(x, kink=-1/3)", {"x": 0}, {"x": Fraction(-1, 3)}),
    ("abs(x, kink=0)", {"x": 0}, {"x": 0}),
    ("sign(x, kink=7)", {"x": 0}, {"x": 7}),
    ("heaviside(x, kink=7)", {"x": 0}, {"x": 7}),
    ("leaky_relu(x, kink=0)", {"x": 0}, {"x": 0}),
    ("leaky_relu(x, kink=1/2)", {"x": 0}, {"x": HALF}),
    ("selu(x, kink=0)", {"x": 0}, {"x": 0}),
    ("selu(x, kink=2)", {"x": 0}, {"x": 2}),
    ("hardtanh(x, kink=1/4)", {"x": -1}, {"x": Fraction(1, 4)}),
    ("hardtanh(x, kink=1/4)", {"x": 1}, {"x": Fraction(1, 4)}),
    ("clip(x, -2, 3, kink=0)", {"x": 3}, {"x": 0}),
    ("max(x, y, kink=1/4)", {"x": 5, "y": 5}, {"x": Fraction(1, 4), "y": Fraction(3, 4)}),
    ("min(x, y, kink=0)", {"x": 5, "y": 5}, {"x": 0, "y": 1}),
    # kink= a side
    ("relu(x, kink='left')", {"x": 0}, {"x": 0}),
    ("relu(x, kink='right')", {"x": 0}, {"x": 1}),
    ("abs(x, kink='left')", {"x": 0}, {"x": -1}),
    ("abs(x, kink='right')", {"x": 0}, {"x": 1}),
    ("leaky_relu(x, 1/3, kink='right')", {"x": 0}, {"x": 1}),
    ("leaky_relu(x, 1/3, kink='left')", {"x": 0}, {"x": Fraction(1, 3)}),
    ("hardtanh(x, kink='left')", {"x": -1}, {"x": 0}),
    ("hardtanh(x, kink='left')", {"x": 1}, {"x": 1}),
    ("hardtanh(x, kink='right')", {"x": -1}, {"x": 1}),
    ("hardtanh(x, kink='right')", {"x": 1}, {"x": 0}),
    ("sign(x, kink='left')", {"x": 0}, {"x": 0}),
    # kink= the mean of both sides
    ("relu(x, kink='share')", {"x": 0}, {"x": HALF}),
    ("abs(x, kink='share')", {"x": 0}, {"x": 0}),
    ("leaky_relu(x, 0, kink='share')", {"x": 0}, {"x": HALF}),
    ("hardtanh(x, kink='share')", {"x": -1}, {"x": HALF}),
    ("hardtanh(x, kink='share')", {"x": 1}, {"x": HALF}),
    ("max(x, y, kink='share')", {"x": 5, "y": 5}, {"x": HALF, "y": HALF}),
    ("min(x, y, kink='share')", {"x": 5, "y": 5}, {"x": HALF, "y": HALF}),
    ("max(x, y, z, kink='share')", {"x": 1, "y": 2, "z": 2}, {"x": 0, "y": HALF, "z": HALF}),
    (
        "max(x, y, z, kink='share')",
        {"x": 2, "y": 2, "z": 2},
        {"x": Fraction(1, 3), "y": Fraction(1, 3), "z": Fraction(1, 3)},
    ),
]
conventions = pytest.mark.parametrize(
    ("formula", "at", "expected"), CONVENTIONS, ids=[f"{f} {a}" for f, a, _ in CONVENTIONS]
)


@conventions
def test_convention_in_exact_numbers(formula, at, expected):
    assert slopes(formula, **at) == expected


@conventions
def test_convention_in_floats_and_arrays(formula, at, expected):
    floats = {name: float(value) for name, value in at.items()}
    assert slopes(formula, **floats) == pytest.approx(expected, rel=1e-15)
    batch = slopes(formula, **{name: np.array([value, value]) for name, value in floats.items()})
    for name, slope in expected.items():
        np.testing.assert_allclose(batch[name], [float(slope)] * 2, rtol=1e-15)


@conventions
def test_convention_in_symbols(formula, at, expected):
    g = gc.parse(f"input {' '.join(at)}\nf = {formula}")
    point = {sympy.Symbol(name): value for name, value in at.items()}
    found = g.reverse("f", form="inputs")
    assert {name: sympy.sympify(found[name]).subs(point) for name in at} == expected


@conventions
def test_convention_through_a_derivative_graph(formula, at, expected):
    g = gc.parse(f"input {' '.join(at)}\nf = {formula}")
    slope = g.differentiate("f", list(at))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gc.KinkWarning)
        values = slope.values(at)
    found = dict(zip(at, [values[name] for name in slope.output_names], strict=True))
    assert found == expected


@conventions
def test_a_kink_is_told(formula, at, expected):
    g = gc.parse(f"input {' '.join(at)}\nf = {formula}")
    with pytest.warns(gc.KinkWarning, match="node 'f'"):
        assert g.reverse("f", at).kinks == ("f",)
    with pytest.warns(gc.KinkWarning):
        assert g.forward(next(iter(at)), at).kinks == ("f",)
    with pytest.warns(gc.KinkWarning):
        assert g.all_pairs(at).kinks == ("f",)
    for call in (g.derivative, g.pathwise, g.top_paths):
        with pytest.warns(gc.KinkWarning):
            call("f", next(iter(at)), at)
    with pytest.warns(gc.KinkWarning):
        g.jacobian(["f"], list(at), at)


@conventions
@pytest.mark.filterwarnings("error")
def test_values_do_not_mention_kinks(formula, at, expected):
    gc.parse(f"input {' '.join(at)}\nf = {formula}").values(at)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("formula", "at"),
    [
        ("relu(x)", {"x": 1}),
        ("relu(x)", {"x": Fraction(-1, 10**30)}),
        ("abs(x)", {"x": -1}),
        ("hardtanh(x)", {"x": 0}),
        ("clip(x, -1, 1)", {"x": 0}),
        ("elu(x)", {"x": 0}),
        ("softplus(x)", {"x": 0}),
        ("logaddexp(x, y)", {"x": 0, "y": 0}),
        ("max(x, y)", {"x": 1, "y": 2}),
        ("max(x, y, z)", {"x": 0, "y": 1, "z": 2}),
        ("max(x, y, z)", {"x": 1, "y": 1, "z": 2}),  # the losers tie
        ("min(x, y, z)", {"x": 2, "y": 1, "z": 0}),
        ("max(x, y, z, kink='error')", {"x": 0, "y": 1, "z": 2}),
        ("where(x > 1, x, 2*x)", {"x": 0}),
    ],
)
def test_no_kink_no_warning(formula, at):
    assert gc.parse(f"input {' '.join(at)}\nf = {formula}").reverse("f", at).kinks == ()


@pytest.mark.parametrize(
    ("formula", "at"),
    [
        ("relu(x, kink='error')", {"x": 0}),
        ("abs(x, kink='error')", {"x": 0}),
        ("sign(x, kink='error')", {"x": 0}),
        ("leaky_relu(x, kink='error')", {"x": 0}),
        ("hardtanh(x, kink='error')", {"x": 1}),
        ("clip(x, -1, 1, kink='error')", {"x": -1}),
        ("max(x, y, kink='error')", {"x": 1, "y": 1}),
        ("max(x, y, z, kink='error')", {"x": 0, "y": 1, "z": 1}),
    ],
)
def test_kink_error_refuses_the_point(formula, at):
    g = gc.parse(f"input {' '.join(at)}\nh = {formula}")
    with pytest.raises(gc.GraphcError, match=r"node 'h'.*kink='error'"):
        g.reverse("h", at)
    places = list(enumerate(at.items()))
    batch = {name: np.array([2.0 + i, value]) for i, (name, value) in places}
    with pytest.raises(gc.GraphcError, match="kink='error'"):
        g.reverse("h", batch)
    assert g.values(at)
    off = {name: value + Fraction(i, 3) + Fraction(1, 7) for i, (name, value) in places}
    g.reverse("h", off)


KINKED = [name for name, record in FUNCTIONS.items() if record.kinks and not record.infix]


@pytest.mark.filterwarnings("ignore::graphc.KinkWarning")
@pytest.mark.parametrize("name", KINKED)
@pytest.mark.parametrize("kink", ["error", "left", "right", "share", None])
def test_compiled_slopes_at_a_kink_are_those_of_the_interpreter_or_refused(name, kink):
    count = max(len(FUNCTIONS[name].domain), 1)
    names = ["x", "y", "z"][:count]
    at = dict.fromkeys(names, 0.0) | ({"y": -1.0, "z": 0.0} if name == "clip" else {})
    setting = "" if kink is None else f", kink='{kink}'"
    g = gc.parse(f"input {' '.join(names)}\nh = {name}({', '.join(names)}{setting})")
    at = {key: at[key] for key in names}
    if kink == "error":
        with pytest.raises(gc.GraphcError, match="stops where the point sits on its kink"):
            g.compile("h", names)
        with pytest.raises(gc.GraphcError, match="stops where the point sits on its kink"):
            g.compile("h", names, want="jacobian", sparse=True)
        with pytest.raises(gc.GraphcError, match="stops where the point sits on its kink"):
            g.hessian("h", names, at)
        assert g.compile("h", want="value")(**at) == g.values(at)["h"]
        return
    expected = {key: float(g.derivative("h", key, at)) for key in names}
    for mode in ("reverse", "forward"):
        assert g.compile("h", names, want="grad", mode=mode)(**at) == expected


def test_selu_takes_the_left_slope():
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    assert slopes("selu(x)", x=0.0)["x"] == pytest.approx(scale * alpha, rel=1e-15)
    assert slopes("selu(x, kink='right')", x=0.0)["x"] == pytest.approx(scale, rel=1e-15)


def test_every_kinked_record_states_its_convention():
    for name, record in FUNCTIONS.items():
        if record.derivative is not None and record.kinks:
            count = len(record.domain)
            assert rule(name, count, {}).switches, name


@pytest.mark.parametrize("kink", ["up", None, [1], "1/0", float("nan"), "error "])
def test_a_bad_kink_is_refused(kink):
    g = gc.Graph()
    x = g.input("x")
    with pytest.raises(gc.GraphcError, match="kink"):
        gc.relu(x, kink=kink)


def test_a_smooth_function_has_no_kink_setting():
    with pytest.raises(gc.GraphcError, match="sin has no setting 'kink'"):
        gc.parse("input x\ny = sin(x, kink=1)")


def test_kinks_name_every_node_that_sat_on_one():
    g = gc.parse("input x y\na = relu(x)\nb = abs(y)\nc = relu(x - 1)\no = a + b + c")
    with pytest.warns(gc.KinkWarning, match="and 1 more"):
        found = g.reverse("o", {"x": 0, "y": 0})
    assert set(found.kinks) == {"a", "b"}
    with pytest.warns(gc.KinkWarning):
        assert g.reverse("o", {"x": np.array([3.0, 1.0]), "y": 1.0}).kinks == ("c",)


def test_only_nodes_on_the_way_are_told():
    g = gc.parse("input x y\na = relu(x)\nb = abs(y)\no = a + b")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert g.derivative("o", "y", {"x": 0, "y": 2}) == 1


def test_an_exact_zero_that_needs_algebra_is_a_kink():
    g = gc.parse("input x\ny = relu(sin(x)**2 + cos(x)**2 - 1)")
    with pytest.warns(gc.KinkWarning):
        g.reverse("y", {"x": "1/3"})


# Where: the branch taken, and nothing of the other.


def test_where_takes_one_branch_only():
    g = gc.parse("input x\ny = where(x > 0, log(x), 0)")
    assert g.values({"x": -1})["y"] == 0
    assert g.reverse("y", {"x": -1}) == {"y": 1, "x": 0}
    assert g.derivative("y", "x", {"x": 2}) == HALF
    assert g.derivative("y", "x", {"x": -1.0}) == 0


@pytest.mark.filterwarnings("ignore::graphc.KinkWarning", "error::graphc.NotFiniteWarning")
@pytest.mark.parametrize("branch", ["log(x)", "sqrt(x)", "1/x", "x**-2", "x**(1/2)"])
def test_the_branch_not_taken_is_silent_in_every_algebra(branch):
    g = gc.parse(f"input x\ny = where(x > 0, {branch}, 0)")
    for x in (0, -1):
        assert g.values({"x": x})["y"] == 0
        assert g.derivative("y", "x", {"x": x}) == 0
        assert g.derivative("y", "x", {"x": float(x)}) == 0
        slope = g.differentiate("y", "x")
        assert slope.values({"x": x})["x_bar"] == 0
    expected = [0.0, 0.0, float(g.derivative("y", "x", {"x": 2.0}))]
    found = g.reverse("y", {"x": np.array([0.0, -1.0, 2.0])})["x"]
    np.testing.assert_allclose(found, expected)


def test_an_edge_into_the_branch_not_taken_is_a_path_with_derivative_0():
    g = gc.parse("input c x\ny = where(c > 0, log(x), 2)")
    at = {"c": -1, "x": 1}
    assert g.reverse("y", at) == {"y": 1, "c": 0, "x": 0}
    assert g.forward("x", at) == {"x": 1, "y": 0}
    assert g.all_pairs(at)["x", "y"] == 0
    assert g.pathwise("y", "x", at).value == 0
    assert g.all_pairs(at, result="dense")[1, 2] == 0


@pytest.mark.filterwarnings("ignore::graphc.KinkWarning")
def test_symbols_show_the_condition():
    x = sympy.Symbol("x")
    g = gc.parse("input x\ny = relu(x)")
    assert str(g.derivative("y", "x")) == "[x > 0]"
    assert g.derivative("y", "x").subs(x, 2) == 1
    assert g.derivative("y", "x").subs(x, 0) == 0


# Second derivatives.


@pytest.mark.filterwarnings("ignore::graphc.KinkWarning")
@pytest.mark.parametrize(
    ("formula", "at", "second"),
    [
        ("relu(x)**2", 3, 2),
        ("relu(x)**2", -3, 0),
        ("abs(x)**3", -2, 12),
        ("x*abs(x)", -2, -2),
        ("hardtanh(x)**2", Fraction(1, 2), 2),
        ("max(x**3, x)", 2, 12),
        ("where(x > 1, x**3, x**2)", 1, 2),
        ("relu(x)", 0, 0),
        ("elu(x)", 0, 1),
        ("softplus(x)", 0, Fraction(1, 4)),
    ],
)
def test_second_derivatives_through_kinks(formula, at, second):
    g = gc.parse(f"input x\ny = {formula}")
    twice = g.differentiate("y", "x").differentiate(wrt="x")
    assert twice.values({"x": at})[twice.output_names[0]] == second
    assert g.hessian("y", "x", {"x": at}) == second


@pytest.mark.parametrize("slope", ["1e999", "-1e999"])
def test_a_slope_beyond_floats_is_refused(slope):
    with pytest.raises(gc.GraphcError, match=r"kink=.* is not allowed; give a slope"):
        gc.parse(f"input x\ny = relu(x, kink={slope})")
