"""Graphs to and from text, networkx, SymPy and bare edges."""

from __future__ import annotations

from fractions import Fraction

import networkx
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from strategies import ANALYTIC, KINKED, Case, graphs, multigraphs

import graphc as gc
from graphc.algebra.symbols import plain, real

x, y, w = sympy.symbols("x y w")


def assert_same(first: gc.Graph, second: gc.Graph, at: dict) -> None:
    """The same nodes, values and derivatives, exactly."""
    assert list(first) == list(second)
    assert first.output_names == second.output_names
    assert [first[n].kind for n in first] == [second[n].kind for n in second]
    assert sorted(first.edges()) == sorted(second.edges())
    assert first.values(at) == second.values(at)
    assert first.all_pairs(at) == second.all_pairs(at)


# Text.


@settings(max_examples=150)
@given(graphs(functions=KINKED))
@pytest.mark.filterwarnings("ignore::graphc.KinkWarning")
def test_text_round_trip(case: Case):
    g = case.graph
    text = g.to_text()
    assert_same(g, gc.parse(text), case.at)
    assert gc.parse(text).to_text() == text


@settings(max_examples=60)
@given(graphs(functions=KINKED, most=5))
@pytest.mark.filterwarnings("ignore::graphc.KinkWarning")
def test_text_round_trip_of_other_granularities(case: Case):
    for g in (case.graph.expand(), case.graph.expand().collapse()):
        back = gc.parse(g.to_text())
        assert list(back) == list(g)
        assert back.values(case.at) == g.values(case.at)
        assert back.all_pairs(case.at) == g.all_pairs(case.at)


@settings(max_examples=40)
@given(graphs(functions=ANALYTIC, most=4))
def test_text_round_trip_of_derivative_graphs(case: Case):
    g = case.graph.differentiate(case.graph.output_names[0], list(case.at))
    back = gc.parse(g.to_text())
    assert back.values(case.at) == g.values(case.at)
    assert back.output_names == g.output_names


@pytest.mark.parametrize(
    "formula",
    [
        "-x**2",
        "(-x)**2",
        "2**-x",
        "2**(-x)",
        "(2**x)**y",
        "2**x**y",
        "x - (y - 1)",
        "x/(y/2)",
        "x/y/2",
        "x*(y/2)",
        "-(x*y)",
        "-x*y",
        "--x",
        "x - -1",
        "x*-1",
        "(x + y)*(x - y)",
        "1/3*x",
        "x**(1/3)",
        "x**-2",
        "x**0.5",
        "0.1*x + 1e-3",
        "-2/3",
        "(-3)**2*x",
        "relu(x, kink=1/2)",
        "max(x, y, kink='share')",
        "leaky_relu(x, 0.2)",
        "leaky_relu(x)",
        "heaviside(x, 1)",
        "where(x >= y, x, -y)",
        "where(x != y, 1, 2)",
        "stop(x)*y",
        "pi*x",
        "atan2(y, x)",
        "max(x, y, 2, 3)",
        "x**pi",
        "3",
        "x",
        "+x",
    ],
)
def test_formulas_read_back(formula):
    g = gc.parse(f"input x y\nz = {formula}")
    back = gc.parse(g.to_text())
    at = {"x": Fraction(4, 3), "y": Fraction(1, 2)}
    assert back.to_text() == g.to_text()
    assert back.values(at) == g.values(at)
    assert back.reverse("z", at) == g.reverse("z", at)
    expected = sympy.sympify(back["z"].expr - g["z"].expr)
    assert sympy.simplify(expected) == 0


def test_text_keeps_values_partials_and_outputs():
    g = gc.parse(
        "input x = 1/3\ninput y\nparam w = -0.25\ns = w*x + y\nd s / d x = 2*w\no = s\noutput s o"
    )
    back = gc.parse(g.to_text())
    assert_same(g, back, {"y": 1})
    assert back.local("x", "s") == 2 * w
    assert back["w"].value == Fraction(-1, 4)
    assert g.to_text() == back.to_text()


def test_load_reads_a_file(tmp_path):
    file = tmp_path / "neuron.gc"
    file.write_text("input x  # a comment\n\nparam w\no = w*x\n", encoding="utf-8")
    g = gc.load(file)
    assert (g.name, list(g)) == ("neuron", ["x", "w", "o"])
    assert gc.load(str(file)).to_text() == g.to_text()
    with pytest.raises(gc.GraphcError, match=r"neuron\.gc, line 1"):
        file.write_text("nonsense", encoding="utf-8")
        gc.load(file)
    with pytest.raises(gc.GraphcError, match="cannot read"):
        gc.load(tmp_path / "missing.gc")
    file.write_bytes(b"input x\xff")
    with pytest.raises(gc.GraphcError, match="UTF-8"):
        gc.load(file)


# networkx.


@settings(max_examples=80)
@given(graphs(functions=KINKED))
@pytest.mark.filterwarnings("ignore::graphc.KinkWarning")
def test_networkx_round_trip(case: Case):
    g = case.graph
    other = g.to_networkx()
    assert isinstance(other, networkx.MultiDiGraph)
    assert sorted(other.edges()) == sorted(g.edges())
    back = gc.from_networkx(other)
    assert set(back) == set(g)
    assert back.output_names == g.output_names
    assert back.values(case.at) == g.values(case.at)
    assert back.all_pairs(case.at) == g.all_pairs(case.at)


@settings(max_examples=60)
@given(multigraphs())
def test_networkx_round_trip_of_bare_edges(edges):
    g = gc.from_edges(edges)
    back = gc.from_networkx(g.to_networkx())
    assert sorted(back.edges()) == sorted(g.edges())
    assert back.all_pairs({}) == g.all_pairs({})


def test_networkx_with_labelled_edges():
    for label in ("local", "z", "weight"):
        other = networkx.MultiDiGraph()
        other.add_edge("x", "a", **{label: "1/2"})
        other.add_edge("x", "a", **{label: 3})
        other.add_edge("a", "o", **{label: "z2"})
        g = gc.from_networkx(other)
        assert g.derivative("o", "x") == sympy.Rational(7, 2) * sympy.Symbol("z2")
        assert g.count_paths("x", "o") == 2


def test_networkx_keeps_given_values():
    g = gc.parse("input x = 1/3\nparam w = 2\ny = w*x")
    assert gc.from_networkx(g.to_networkx()).values({})["y"] == Fraction(2, 3)


def test_networkx_that_is_no_graph_of_ours():
    with pytest.raises(gc.GraphcError, match="DiGraph"):
        gc.from_networkx(networkx.Graph([(1, 2)]))
    with pytest.raises(gc.GraphcError, match="edge x -> y has no local derivative"):
        gc.from_networkx(networkx.DiGraph([("x", "y")]))
    with pytest.raises(gc.GraphcError, match="not a name"):
        gc.from_networkx(networkx.DiGraph([("x y", "y")]))
    with pytest.raises(gc.GraphcError, match=r"a -> b -> a|b -> a -> b"):
        gc.from_networkx(networkx.DiGraph([("a", "b"), ("b", "a")]))


# Bare edges.


def test_symbols_on_edges():
    g = gc.from_edges({("x", "a"): "z1", ("x", "b"): "2*z2", ("a", "o"): "z3", ("b", "o"): "z1"})
    z1, z2, z3 = sympy.symbols("z1 z2 z3")
    assert sympy.expand(g.derivative("o", "x") - (z1 * z3 + 2 * z1 * z2)) == 0
    assert g.derivative("o", "x", {"z1": 2, "z2": "1/2", "z3": 5}) == 12
    with pytest.raises(gc.GraphcError, match="missing for z3"):
        g.derivative("o", "x", {"z1": 2, "z2": 1})
    with pytest.raises(gc.GraphcError, match="'z9'"):
        g.derivative("o", "x", {"z9": 2})


def test_sympy_and_floats_on_edges():
    t = sympy.Symbol("t")
    g = gc.from_edges([("x", "y", sympy.sin(t)), ("y", "z", 0.5), ("x", "z", Fraction(1, 3))])
    assert sympy.simplify(g.derivative("z", "x") - (sympy.sin(t) / 2 + sympy.Rational(1, 3))) == 0
    found = g.derivative("z", "x", {"t": 0})
    assert type(found) is float


def test_bare_edges_have_no_values():
    g = gc.from_edges({("x", "y"): 2})
    with pytest.raises(gc.GraphcError, match="local derivatives alone"):
        g.values({})
    with pytest.raises(gc.GraphcError, match="no text form"):
        g.to_text()
    assert g.output_names == ["y"]
    assert g["y"].kind == "compute"
    assert g.reverse("y", {}) == {"y": 1, "x": 2}


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "b", 1), ("b", "c", 1), ("c", "a", 1)], "a -> b -> c -> a|b -> c -> a|c -> a -> b"),
        ([("x", "a", 1), ("a", "b", 1), ("b", "a", 1), ("b", "y", 1)], "a -> b -> a|b -> a -> b"),
        ([("a", "a", 1)], "a -> a"),
        ([], "no edges"),
        ({}, "no edges"),
        ([("a", "b")], "source, target, z"),
        ({"ab": 1}, "pair of names"),
        (5, "source, target, z"),
        ([("a", "b", None)], "edge a -> b"),
        ([("a", "b", "1 +")], "edge a -> b"),
        ([("a", "b", float("inf"))], "edge a -> b"),
        ([("a", "1b", 1)], "not a name"),
        ([(1, 2, 3)], "must be a string"),
    ],
    ids=str,
)
def test_bad_edges_are_refused(edges, message):
    with pytest.raises(gc.GraphcError, match=message):
        gc.from_edges(edges)


# SymPy.

EXPRESSIONS = [
    x * y + sympy.sin(x) ** 2,
    x - y,
    -x - y,
    -x,
    x / y,
    1 / (x * y),
    1 / x,
    x**-2,
    x ** sympy.Rational(3, 2),
    x ** -sympy.Rational(1, 2),
    x**y,
    sympy.sqrt(x * y),
    sympy.exp(-(x**2) / 2),
    sympy.exp(1) * x,
    sympy.pi * x,
    sympy.Rational(2, 3) * x - sympy.Rational(1, 7),
    sympy.log(x) / (1 + sympy.exp(-x * y)),
    sympy.tanh(x) * sympy.atan2(y, x),
    sympy.Max(x, y, 3),
    sympy.Min(x, y),
    sympy.Abs(x - y),
    sympy.sign(x - y) * x,
    sympy.Heaviside(x) * y,
    sympy.erf(x) - sympy.acos(y / 4),
    sympy.Piecewise((x**2, x > y), (y, True)),
    sympy.Piecewise((x, x > 3), (y, x > 2), (x * y, True)),
    y * sympy.Piecewise((1, x > 0), (0, x > -1), (2, True)),  # 1 and 0 equal True and False
    (x + y + 1) ** 3 * (x - y),
    sympy.Integer(3),
    x,
    sympy.sqrt(2) * x / 2,
    (x + 1) / (x * (y + 1) ** 2),
    x * y * 2 / (3 * sympy.sqrt(x)),
]


@pytest.mark.parametrize("expr", EXPRESSIONS, ids=str)
def test_from_sympy_is_the_expression(expr):
    g = gc.from_sympy({"o": expr}, inputs="x y")
    at = {"x": Fraction(4, 3), "y": Fraction(3, 5)}
    point = {x: sympy.Rational(4, 3), y: sympy.Rational(3, 5)}
    assert abs(sympy.N(g.values(at)["o"] - expr.subs(point), 30)) < 1e-25
    for name in ("x", "y"):
        symbol = sympy.Symbol(name, real=True)  # SymPy differentiates Abs of real symbols only
        slope = sympy.diff(real(expr).rewrite(sympy.Piecewise), symbol)
        expected = plain(slope).subs(point)
        assert abs(sympy.N(g.derivative("o", name, at) - expected, 30)) < 1e-25
    assert g.output_names == ["o"]
    assert g.input_names == ["x", "y"]
    assert gc.parse(g.to_text()).values(at) == g.values(at)


def test_from_sympy_makes_one_node_per_operation():
    g = gc.from_sympy({"o": sympy.sin(x * y) + x * y}, inputs="x")
    assert (g.input_names, g.param_names) == (["x"], ["y"])
    assert len([n for n in g if g[n].kind == "compute"]) == 3
    assert g.count_paths("x", "o") == 2


def test_from_sympy_shares_between_outputs():
    g = gc.from_sympy({"a": (x + y) ** 2, "b": sympy.exp(x + y)})
    assert g.output_names == ["a", "b"]
    assert g.input_names == ["x", "y"]
    assert len([n for n in g if g[n].kind == "compute"]) == 3


@settings(max_examples=60)
@given(graphs(most=4))
def test_from_sympy_on_random_graphs(case: Case):
    g = case.graph
    of = g.output_names[0]
    expr = sympy.sympify(g.values()[of])
    other = gc.from_sympy({"out": expr}, inputs=list(case.at))
    assert other.values(case.at)["out"] == g.values(case.at)[of]
    for leaf in case.at:
        assert other.derivative("out", leaf, case.at) == g.derivative(of, leaf, case.at)


@pytest.mark.parametrize(
    ("expressions", "message"),
    [
        ({"o": "x + 1"}, "not a SymPy expression"),
        ({"o": sympy.gamma(x)}, "gamma is not in the function table"),
        ({"o": sympy.Piecewise((x, x > 0))}, "no value outside"),
        ({"o": x * sympy.I}, "not in the function table|real"),
        ({"o": sympy.oo * x}, "finite|not a"),
        ({"lambda": x}, "reserved"),
        ({"x": x**2}, "'x' is declared already"),
        ({"o": sympy.Function("f")(x)}, "not in the function table"),
    ],
    ids=str,
)
def test_bad_expressions_are_refused(expressions, message):
    with pytest.raises(gc.GraphcError, match=message):
        gc.from_sympy(expressions)


# The user's own symbols.


def test_results_are_in_plain_symbols():
    g = gc.parse("input x w\nh = x**3*w\no = sin(h)*relu(x)")
    x, w, h = sympy.symbols("x w h")
    found = g.derivative("o", "x", form="inputs")
    assert found.free_symbols == {x, w}
    assert found.subs("x", 2).subs({w: 0}) == 0
    assert sympy.diff(g.derivative("h", "x"), x) == 6 * w * x
    assert sympy.solve(g.derivative("h", "w") - 8, x)[0] == 2
    results = [
        g["o"].expr,
        g["x"].expr,
        g.local("h", "o"),
        *g.reverse("o").values(),
        *g.forward("x", form="steps").values(),
        *g.all_pairs().values(),
        *g.jacobian(["h", "o"], ["x", "w"]),
        *g.hessian("o", ["x", "w"]),
        g.hessian("h", "x"),
        g.pathwise("o", "x").value,
        *(term.product for term in g.pathwise("o", "x").terms),
    ]
    for result in results:
        for symbol in result.free_symbols:
            assert symbol == sympy.Symbol(symbol.name), result
    assert {s for result in results for s in result.free_symbols} >= {x, w, h}


def test_a_mask_can_be_differentiated_evaluated_and_compiled_by_sympy():
    x = sympy.Symbol("x")
    slope = gc.parse("input x\no = x*relu(x)").derivative("o", "x", form="inputs")
    assert [slope.subs(x, value) for value in (-3, 2)] == [0, 4]
    assert sympy.diff(slope, x).subs(x, 2) == 2
    for modules in ("numpy", "math"):
        assert sympy.lambdify(x, slope, modules)(2.0) == 4
    assert sympy.lambdify(x, slope, "numpy")(np.array([-3.0, 2.0])).tolist() == [0, 4]


def test_symbols_that_users_give():
    x, strict = sympy.Symbol("x"), sympy.Symbol("x", positive=True)
    for symbol in (x, strict):
        g = gc.from_sympy({"o": sympy.exp(symbol)})
        assert g.derivative("o", "x", form="inputs") == sympy.exp(x)
    with pytest.raises(gc.GraphcError, match="two symbols"):
        gc.from_sympy({"o": x + sympy.exp(strict)})
    seed = sympy.Symbol("t") * sympy.Symbol("x", real=True)
    assert g.reverse({"o": seed})["x"] == sympy.Symbol("t") * x * sympy.Symbol("o")
    g = gc.from_edges({("a", "b"): strict**2})
    assert g.derivative("b", "a") == x**2
    assert g.derivative("b", "a", {"x": 3}) == 9
    with pytest.raises(gc.GraphcError, match="not a real number"):
        gc.parse("input x\no = x**2").values({"x": sympy.Symbol("a")})


def test_an_operand_that_stands_twice_beside_a_formula_is_no_expanded_node():
    """einsum(y, sin(x), y) has two edges, one of them from inside its formula."""
    graph = gc.parse(
        """
input x[2] y[2]
h = einsum("i,i,i->", y, sin(x), y)
"""
    )
    at = {"x": [0.3, 0.7], "y": [1.5, -2.0]}
    again = gc.from_networkx(graph.to_networkx())
    assert list(again.edges()) == list(graph.edges())
    for name in ("x", "y"):
        assert (again.reverse("h", at)[name] == graph.reverse("h", at)[name]).all()
