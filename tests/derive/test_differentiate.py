"""Derivatives as graphs, again and again; Jacobians and Hessians."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from strategies import ANALYTIC, KINKED, Case, graphs

import graphc as gc

x, y, w, g_ = sympy.symbols("x y w g")
NEURON = "input x\nparam w b\na = w*x + b\no = sigmoid(a)"


def outputs(g: gc.Graph, at) -> list:
    values = g.values(at)
    return [values[name] for name in g.output_names]


# The derivative graph.


def test_adjoints_are_named_after_their_nodes():
    g = gc.parse(NEURON)
    slope = g.differentiate()
    assert set(slope) == {"x", "w", "b", "a", "o", "o_bar", "a_bar", "w_bar", "b_bar"}
    assert slope.output_names == ["w_bar", "b_bar"]  # the params
    assert (slope.input_names, slope.param_names) == (g.input_names, g.param_names)
    assert list(g) == ["x", "w", "b", "a", "o"]  # unchanged


def test_outputs_are_in_the_order_asked_for():
    g = gc.parse(NEURON)
    assert g.differentiate("o", ["x", "b", "w"]).output_names == ["x_bar", "b_bar", "w_bar"]
    assert g.differentiate("o", "a").output_names == ["a_bar"]
    assert gc.parse("input u v\no = u*v").differentiate().output_names == ["u_bar", "v_bar"]


def test_taken_names_are_numbered():
    g = gc.parse("input x x_bar\no = x*x_bar")
    assert g.differentiate("o", ["x"]).output_names == ["x_bar_2"]
    g = gc.parse("input x\no = x**3")
    first = g.differentiate()
    second = first.differentiate(wrt="x")
    third = second.differentiate(wrt="x")
    assert first.output_names == ["x_bar"]
    assert second.output_names == ["x_bar_2"]
    assert third.output_names == ["x_bar_3"]
    assert set(g) < set(first) < set(second) < set(third)


def test_forward_mode_makes_tangents():
    g = gc.parse(NEURON)
    slope = g.differentiate("o", "w", mode="forward")
    assert slope.output_names == ["o_dot"]
    assert {"w_dot", "a_dot", "o_dot"} <= set(slope)
    two = g.differentiate("o", ["w", "x"], mode="forward")
    assert two.output_names == ["o_dot", "o_dot_2"]
    at = {"x": 2, "w": Fraction(1, 2), "b": -1}
    assert outputs(two, at) == [Fraction(1, 2), Fraction(1, 8)]


def test_seeds():
    g = gc.parse("input x\nh = x**2\no = 3*h")
    assert outputs(g.differentiate({"o": 5}, "x"), {"x": 2}) == [60]
    assert outputs(g.differentiate({"o": 5, "h": "1/2"}, "x"), {"x": 2}) == [62]
    seeded = g.differentiate({"o": "g"}, "x")
    assert seeded.input_names == ["x", "g"]
    assert outputs(seeded, {"x": 2, "g": 7}) == [84]
    assert g.reverse({"o": 5}) == {"o": 5, "h": 15, "x": 30 * x}
    assert g.reverse({"o": "g"}) == {"o": g_, "h": 3 * g_, "x": 6 * g_ * x}
    assert g.reverse({"o": 1, "h": 2}, {"x": 1}) == {"o": 1, "h": 5, "x": 10}
    assert g.forward({"x": "1/2"}, {"x": 3}) == {"x": Fraction(1, 2), "h": 3, "o": 9}


def test_seeds_on_several_inputs_add():
    g = gc.parse("input x y\no = x*y")
    assert g.forward({"x": 1, "y": 10}, {"x": 2, "y": 3}) == {"x": 1, "y": 10, "o": 23}


def test_no_path_is_a_node_that_is_0():
    g = gc.parse("input x y\na = x**2\nb = stop(a)*y")
    slope = g.differentiate("b", ["x", "y"])
    assert slope.output_names == ["x_bar", "y_bar"]
    assert slope["x_bar"].kind == "const"
    assert outputs(slope, {"x": 3, "y": 5}) == [0, 9]
    assert outputs(g.differentiate("b", "x", mode="forward"), {"x": 3, "y": 5}) == [0]


def test_the_node_itself():
    g = gc.parse("input x\ny = x**2")
    assert outputs(g.differentiate("y", "y"), {"x": 3}) == [1]
    assert outputs(g.differentiate("x", "x"), {"x": 3}) == [1]


def test_several_outputs_need_a_choice():
    with pytest.raises(gc.GraphcError, match=r"2 outputs \(a, b\)"):
        gc.parse("input x\na = x\nb = x").differentiate()
    with pytest.raises(gc.GraphcError, match="mode='sideways'"):
        gc.parse("input x\na = x").differentiate(mode="sideways")


def test_a_derivative_graph_is_extended_and_differentiated_again():
    """The gradient penalty: a loss made of a gradient, differentiated by the weights."""
    g = gc.parse("input x\nparam w\no = w*x**3")
    slope = g.differentiate("o", "x")
    slope.node("penalty", "(x_bar - 1)**2")
    slope.output("penalty")
    found = slope.derivative("penalty", "w", form="inputs")
    assert sympy.expand(found - 2 * (3 * w * x**2 - 1) * 3 * x**2) == 0
    twice = slope.differentiate("penalty", "w")
    assert outputs(twice, {"x": 1, "w": 2}) == [30]
    assert gc.parse(twice.to_text()).values({"x": 1, "w": 2}) == twice.values({"x": 1, "w": 2})


@settings(max_examples=80)
@given(graphs(functions=KINKED, most=5))
@pytest.mark.filterwarnings("ignore::graphc.KinkWarning")
def test_the_graph_of_derivatives_has_the_values_of_reverse(case: Case):
    g = case.graph
    leaves = list(case.at)
    for of in g.output_names:
        expected = [g.derivative(of, leaf, case.at) for leaf in leaves]
        for mode in ("reverse", "forward"):
            assert outputs(g.differentiate(of, leaves, mode=mode), case.at) == expected


@settings(max_examples=40)
@given(graphs(functions=ANALYTIC, most=4))
def test_the_graph_of_derivatives_in_floats(case: Case):
    g, at = case.graph, case.floats()
    of = g.output_names[0]
    expected = [float(g.derivative(of, leaf, at)) for leaf in at]
    found = [float(v) for v in outputs(g.differentiate(of, list(at)), at)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


# Second and third derivatives.

FORMULAS = [
    "x**3*y - x/y",
    "sin(x*y)",
    "exp(-x**2)*y",
    "sigmoid(x*y + 1)",
    "tanh(x)*softplus(y)",
    "log(x**2 + y**2)",
    "sqrt(1 + x**2*y**2)",
    "atan2(x, 2 + y**2)",
    "silu(x) + gelu(y)*x",
    "x**y",
    "erf(x)*atan(y)",
    "logaddexp(x, 2*y)",
    "elu(x)*y",
]
POINT = {"x": Fraction(3, 4), "y": Fraction(5, 3)}


def referee(formula: str) -> sympy.Expr:
    """The formula as SymPy has it."""
    return gc.parse(f"input x y\no = {formula}")["o"].expr


@pytest.mark.parametrize("formula", FORMULAS)
def test_second_and_third_derivatives_are_sympys(formula):
    g = gc.parse(f"input x y\nh = {formula}\no = h + x")
    expected = referee(formula) + x
    at = {x: sympy.Rational(3, 4), y: sympy.Rational(5, 3)}
    for first, second, third in (("x", "x", "x"), ("x", "y", "x"), ("y", "y", "y")):
        graph = g.differentiate("o", first).differentiate(wrt=second).differentiate(wrt=third)
        found = outputs(graph, POINT)[0]
        wanted = sympy.diff(expected, *sympy.symbols([first, second, third])).subs(at)
        assert abs(sympy.N(found - wanted, 30)) < 1e-20 * (1 + abs(sympy.N(wanted, 30)))


@pytest.mark.parametrize("formula", FORMULAS)
def test_hessian_is_sympys_and_symmetric(formula):
    g = gc.parse(f"input x y\nh = {formula}\no = h*x")
    found = g.hessian("o", ["x", "y"], POINT)
    expected = sympy.hessian(referee(formula) * x, (x, y))
    expected = expected.subs({x: sympy.Rational(3, 4), y: sympy.Rational(5, 3)})
    difference = (sympy.Matrix(found) - expected).applyfunc(lambda z: abs(sympy.N(z, 30)))
    assert max(difference) < 1e-20
    floats = g.hessian("o", ["x", "y"], {"x": 0.75, "y": 5 / 3})
    assert isinstance(floats, np.ndarray)
    np.testing.assert_allclose(floats, floats.T, rtol=1e-12)
    np.testing.assert_allclose(floats, np.array(expected.evalf(30), dtype=float), rtol=1e-11)


@settings(max_examples=60)
@given(graphs(most=4))
def test_hessians_of_rational_graphs_are_exactly_symmetric_and_sympys(case: Case):
    g = case.graph
    of, leaves = g.output_names[0], list(case.at)
    found = g.hessian(of, leaves, case.at)
    assert found == found.T
    symbols = sympy.symbols(leaves)
    expr = sympy.sympify(g.values()[of])
    at = {s: sympy.Rational(case.at[s.name]) for s in symbols}
    for i, j in product(range(len(leaves)), repeat=2):
        assert found[i, j] == sympy.diff(expr, symbols[i], symbols[j]).subs(at)


def test_symbolic_hessian():
    g = gc.parse("input x y\nh = x*y\no = h**2")
    found = g.hessian("o", ["x", "y"])
    inputs = found.subs({sympy.Symbol("h"): x * y})
    assert sympy.simplify(inputs - sympy.hessian(x**2 * y**2, (x, y))) == sympy.zeros(2, 2)
    assert g.hessian("o", "x").subs({sympy.Symbol("h"): x * y}) == 2 * y**2


def test_hessian_by_a_hidden_node_holds_it_as_an_input():
    g = gc.parse("input x y\nh = x*y\no = h**3*y")
    at = {"x": 2, "y": 3}
    assert g.hessian("o", "h", at) == 6 * 6 * 3
    assert g.hessian("o", ["h"], at) == sympy.Matrix([[108]])


def test_a_hessian_of_tensors_is_mirrored_block_by_block():
    g = gc.parse("input a[2]\ninput B[3,2]\ninput c\nL = sum(exp(B @ a)*c) + sum(B[0]*a)*c**2")
    rng = np.random.default_rng(0)
    at = {"a": rng.normal(size=2), "B": rng.normal(size=(3, 2)), "c": 0.5}
    for names in (["a", "B", "c"], ["c", "B", "a"]):
        found = g.hessian("L", names, at)
        slopes = g.differentiate("L", names)
        np.testing.assert_allclose(found, slopes.jacobian(slopes.output_names, names, at))
        assert (found == found.T).sum() >= found.size - 30  # but for the rounding inside a block


def test_a_derivative_of_ones_own_is_not_mirrored():
    g = gc.parse("input x y\nz = x*y\nd z / d x = 3*y\no = z**2")
    found = g.hessian("o", ["x", "y"], {"x": 2.0, "y": 5.0})
    assert found[0, 1] != found[1, 0]
    assert (found == g.compile("o", ["x", "y"], want="hessian")(x=2.0, y=5.0)).all()


@pytest.mark.parametrize("nothing", [[], (), set()])
def test_nothing_asked_for_is_refused_with_what_there_is(nothing):
    graph, at = gc.parse("input x[2] y\nL = sum(x*y)"), {"x": np.ones(2), "y": 2.0}
    wants = (
        "value",
        "values",
        "value_and_grad",
        "grad",
        "jacobian",
        "hessian",
        "jvp",
        "vjp",
        "hvp",
    )
    asked = [
        lambda: graph.jacobian(nothing, "x", at),
        lambda: graph.jacobian("L", nothing),
        lambda: graph.hessian("L", nothing, at),
        lambda: graph.differentiate("L", nothing),
        lambda: gc.check(graph, nothing, at),
        lambda: gc.check(graph, "L", at, wrt=nothing),
        *(lambda want=want: graph.compile(nothing, "x", want=want) for want in wants),
        *(lambda want=want: graph.emit("L", nothing, want=want) for want in wants),
    ]
    for ask in asked:
        with pytest.raises(gc.GraphcError, match=r"asks for no node; give one name .*x, y, L"):
            ask()
    for ask in (graph.differentiate, graph.reverse, graph.forward, graph.compile):
        with pytest.raises(gc.GraphcError, match="the dict of seeds is empty"):
            ask({})


def test_hessian_refuses_nodes_joined_by_a_path():
    g = gc.parse("input x y\nh = x*y\no = h**2")
    for wrt in (["x", "h"], ["h", "y"]):
        with pytest.raises(gc.GraphcError, match=r"'h' depends on '[xy]'"):
            g.hessian("o", wrt)
    with pytest.raises(gc.GraphcError, match="twice"):
        g.hessian("o", ["x", "x"])


# Jacobians.


def test_jacobian_layouts():
    g = gc.parse("input x y\na = x*y\nb = x + 2*y\nc = x**2")
    numerator = g.jacobian(["a", "b", "c"], ["x", "y"])
    assert numerator == sympy.Matrix([[y, x], [1, 2], [2 * x, 0]])
    assert g.jacobian(["a", "b", "c"], ["x", "y"], layout="denominator") == numerator.T
    at = {"x": 2, "y": 3}
    assert g.jacobian(["a", "b"], ["y", "x"], at) == sympy.Matrix([[2, 3], [2, 1]])
    floats = g.jacobian(["a", "b", "c"], ["x", "y"], {"x": 2.0, "y": 3.0})
    np.testing.assert_array_equal(floats, [[3, 2], [1, 2], [4, 0]])
    floats = g.jacobian(["a", "b", "c"], ["x", "y"], {"x": 2.0, "y": 3.0}, layout="denominator")
    assert floats.shape == (2, 3)
    with pytest.raises(gc.GraphcError, match="layout='mixed'"):
        g.jacobian("a", "x", layout="mixed")


def test_jacobian_of_names_is_one_entry():
    g = gc.parse("input x y\na = x*y")
    assert g.jacobian("a", "x") == y
    assert g.jacobian("a", "x", {"x": 2, "y": 3}) == 3
    assert g.jacobian("a", ["x", "y"], {"x": 2, "y": 3}).shape == (1, 2)
    assert g.jacobian(at={"x": 2, "y": 3}).shape == (1, 2)


def test_jacobian_over_points():
    g = gc.parse("input x y\na = x*y\nb = y**2")
    at = {"x": np.arange(5.0), "y": 2.0}
    found = g.jacobian(["a", "b"], ["x", "y"], at)
    assert found.shape == (5, 2, 2)
    np.testing.assert_array_equal(found[3], [[2, 3], [0, 4]])
    turned = g.jacobian(["a", "b"], ["x", "y"], at, layout="denominator")
    np.testing.assert_array_equal(turned[3], [[2, 0], [3, 4]])
    assert g.hessian("a", ["x", "y"], at).shape == (5, 2, 2)


@settings(max_examples=40)
@given(graphs(most=5))
def test_jacobian_entries_are_derivatives(case: Case):
    g = case.graph
    of, wrt = g.output_names, list(case.at)
    found = g.jacobian(of, wrt, case.at)
    for i, j in product(range(len(of)), range(len(wrt))):
        assert found[i, j] == g.derivative(of[i], wrt[j], case.at)


# Symbolic forms.


def test_forms():
    g = gc.parse("input x\na = x**2\nb = sin(a)\nc = a*b")
    a, b = sympy.symbols("a b")
    a_bar, b_bar, c_bar = sympy.symbols("a_bar b_bar c_bar")
    assert sympy.expand(g.reverse("c")["x"] - 2 * x * (b + a * sympy.cos(a))) == 0
    inputs = 2 * x * (sympy.sin(x**2) + x**2 * sympy.cos(x**2))
    assert sympy.expand(g.reverse("c", form="inputs")["x"] - inputs) == 0
    steps = g.reverse("c", form="steps")
    assert steps["c"] == 1
    assert steps["b"] == a * c_bar
    assert sympy.expand(steps["a"] - (b * c_bar + sympy.cos(a) * b_bar)) == 0
    assert steps["x"] == 2 * x * a_bar
    a_dot = sympy.Symbol("a_dot")
    assert g.forward("x", form="steps")["b"] == sympy.cos(a) * a_dot
    assert g.derivative("c", "x", form="steps") == 2 * x * a_bar
    with pytest.raises(gc.GraphcError, match="form='shapes'"):
        g.reverse("c", form="shapes")


def test_long_results_are_refused_with_a_hint(ladder):
    g = ladder(60)
    for form in ("nodes", "inputs"):
        with pytest.raises(gc.GraphcError, match=r"10000.*form='steps'"):
            g.reverse("o", form=form)
    steps = g.reverse("o", form="steps")
    assert len(steps) == 122
    assert max(len(str(step)) for step in steps.values()) < 100
    short = ladder(3).derivative("o", "x", form="inputs")
    assert len(str(short)) < 10_000


def test_a_symbolic_result_that_is_too_long_says_so():
    graph = gc.parse("input y[2,4,4]\nL = elu(prod(y))")
    with pytest.raises(gc.GraphcError, match=r"the symbolic result would take .*at=\{"):
        str(graph.hessian("L", "y"))


def test_a_condition_on_cases_is_one_of_logic():
    graph = gc.parse("input x\nh = minimum(x/x, relu(x))\nL = square(h)")
    found = graph.hessian("L", "x")
    for x, slope in ((0.5, 2), (2.0, 0), (-1.0, 0)):
        h = graph.values({"x": x})["h"]
        assert found.subs({"x": x, "h": h}) == slope == graph.hessian("L", "x", {"x": x})


@pytest.mark.parametrize("function", ["tanh", "sin", "identity"])
def test_a_hessian_is_the_tangents_of_the_adjoints_as_in_compiled_code(function):
    graph = gc.parse(f"input x\nh = {function}(x)\nL = h**x".replace("identity(x)", "x"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gc.NotFiniteWarning)
        assert graph.hessian("L", "x", {"x": 0.0}) == np.inf
    assert graph.compile("L", "x", want="hessian")(0.0) == np.inf
