"""Reverse, forward, all pairs and the path sum are one derivative, exactly, at any granularity."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import ANALYTIC, KINKED, Case, graphs, multigraphs

import graphc as gc

pytestmark = pytest.mark.filterwarnings("ignore::graphc.KinkWarning")


def assert_modes_agree(g: gc.Graph, at: dict, same=lambda a, b: a == b) -> None:
    """The four algorithms on every pair of nodes; a pair without a path is in none of them."""
    pairs = g.all_pairs(at)
    reverse = {of: g.reverse(of, at) for of in g}
    forward = {wrt: g.forward(wrt, at) for wrt in g}
    for i, j in product(g, g):
        if g.count_paths(i, j) == 0:
            assert (i, j) not in pairs
            assert i not in reverse[j]
            assert j not in forward[i]
            assert g.derivative(j, i, at) == 0
        else:
            by_paths = g.pathwise(j, i, at)
            assert same(pairs[i, j], by_paths.value), (i, j)
            assert same(reverse[j][i], by_paths.value), (i, j)
            assert same(forward[i][j], by_paths.value), (i, j)


# Four modes.


@settings(max_examples=1000)
@given(graphs())
def test_modes_agree_exactly_on_random_graphs(case: Case):
    assert_modes_agree(case.graph, case.at)


@settings(max_examples=100)
@given(graphs(most=3))
def test_modes_agree_exactly_over_parallel_edges(case: Case):
    assert_modes_agree(case.graph.expand(), case.at)


@settings(max_examples=100)
@given(graphs(functions=KINKED))
def test_modes_agree_exactly_with_kinks(case: Case):
    assert_modes_agree(case.graph, case.at)


@settings(max_examples=60)
@given(graphs(functions=ANALYTIC, most=5))
def test_modes_agree_in_floats_with_analytic_functions(case: Case):
    values = case.graph.values(case.floats()).values()
    assume(all(abs(value) < 1e6 for value in values))

    def close(a, b):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6)

    assert_modes_agree(case.graph, case.floats(), close)


@settings(max_examples=150)
@given(multigraphs())
def test_modes_agree_exactly_on_bare_edges(edges):
    g = gc.from_edges(edges)
    assert_modes_agree(g, {})
    assert sorted(g.edges()) == sorted((i, j) for i, j, _ in edges)


@settings(max_examples=60)
@given(graphs(most=5), st.sampled_from(["auto", "reverse", "forward", "paths"]))
def test_mode_never_changes_a_derivative(case: Case, mode: str):
    g = case.graph
    for of, wrt in product(g.output_names, [*g.input_names, *g.param_names]):
        expected = g.reverse(of, case.at).get(wrt, 0)
        assert g.derivative(of, wrt, case.at, mode=mode) == expected


def test_fig27_agrees_through_symbols(fig27):
    y = {name: sympy.Symbol(name) for name in fig27}
    expected = (
        y["y1"] * y["y8"] * y["y9"] * sympy.cos(y["y4"])
        - y["y1"] * y["y3"] * y["y7"] * y["y9"] * sympy.sin(y["y5"])
        + y["w2"] * y["y7"] * y["y8"] * sympy.cos(y["y6"])
    )
    found = fig27.reverse("y10")["y2"]
    assert sympy.simplify(found - expected) == 0
    assert len(found.args) == 3
    pairs = fig27.all_pairs()
    for i, j in product(fig27, fig27):
        if (i, j) in pairs:
            terms = fig27.pathwise(j, i)
            assert sympy.expand(pairs[i, j] - fig27.reverse(j)[i]) == 0
            assert sympy.expand(pairs[i, j] - fig27.forward(i)[j]) == 0
            assert sympy.expand(pairs[i, j] - terms.value) == 0
            assert len(terms.terms) == fig27.count_paths(i, j)
        else:
            assert fig27.count_paths(i, j) == 0


# SymPy as referee.


def substituted(case: Case) -> dict[str, sympy.Expr]:
    """Each node as a SymPy expression of the leaves, read by SymPy itself."""
    known = {name: sympy.Symbol(name) for name in case.at}
    for node, formula in case.formulas().items():
        known[node] = sympy.sympify(formula, locals=known, rational=True)
    return known


@settings(max_examples=150)
@given(graphs(most=4))
def test_derivatives_are_those_of_the_substituted_form(case: Case):
    g, known = case.graph, substituted(case)
    point = {known[name]: sympy.Rational(value) for name, value in case.at.items()}
    for of, wrt in product(g.output_names, case.at):
        expected = sympy.diff(known[of], known[wrt])
        found = g.derivative(of, wrt, form="inputs")
        assert sympy.cancel(found - expected) == 0
        assert g.derivative(of, wrt, case.at) == expected.subs(point)


@settings(max_examples=60)
@given(graphs(functions=("sin", "exp", "tanh", "sigmoid"), most=3))
def test_symbols_and_numbers_are_one_derivative(case: Case):
    g = case.graph
    of = g.output_names[-1]
    at = {sympy.Symbol(name): sympy.Rational(value) for name, value in case.at.items()}
    try:
        numbers = g.reverse(of, case.at)
    except gc.GraphcError as error:
        assume("e+" not in str(error))  # exp(1.6e+175) has no digits
        raise
    for wrt, derivative in g.reverse(of, form="inputs").items():
        difference = sympy.sympify(derivative).subs(at) - numbers[wrt]
        scale = 1 + abs(sympy.N(numbers[wrt], 30))
        assert abs(sympy.N(difference, 30)) < 1e-20 * scale, wrt


# Granularity.


@settings(max_examples=100)
@given(graphs(functions=KINKED))
def test_expanding_changes_no_derivative(case: Case):
    g = case.graph
    whole, parts = g.all_pairs(case.at), g.expand().all_pairs(case.at)
    assert {pair: parts[pair] for pair in whole} == whole
    assert {pair for pair in parts if set(pair) <= set(g)} == set(whole)


@settings(max_examples=100)
@given(graphs(functions=KINKED), st.data())
def test_collapsing_changes_no_derivative(case: Case, data):
    g = case.graph
    used = {source for source, _ in g.edges()}
    hidden = [n for n in g if g[n].kind in ("compute", "const") and n in used]
    hidden = [n for n in hidden if n not in g.output_names]
    chosen = data.draw(st.lists(st.sampled_from(hidden), unique=True)) if hidden else []
    whole = g.all_pairs(case.at)
    for coarse in (g.collapse(*chosen) if chosen else g, g.collapse(), g.expand().collapse()):
        pairs = coarse.all_pairs(case.at)
        assert pairs == {pair: z for pair, z in whole.items() if set(pair) <= set(coarse)}


def test_a_square_has_two_paths_once_expanded():
    g = gc.parse("input x\ny = x*x + 1")
    assert g.edges() == [("x", "y")]
    assert g.local("x", "y") == 2 * sympy.Symbol("x")
    fine = g.expand()
    assert fine.edges() == [("x", "y_1"), ("x", "y_1"), ("y_1", "y")]
    assert (g.count_paths("x", "y"), fine.count_paths("x", "y")) == (1, 2)
    assert fine.derivative("y", "x") == g.derivative("y", "x")


# Shared weights, and where derivatives stop.


@settings(max_examples=100)
@given(graphs())
def test_copies_of_a_shared_weight_sum_to_its_derivative(case: Case):
    g = case.graph
    used = {source for source, _ in g.edges()}
    for weight in [name for name in case.at if name in used]:
        loose = g.untie(weight)
        copies = loose.copies[weight]
        assert weight not in loose
        assert loose.values(case.at)[g.output_names[0]] == g.values(case.at)[g.output_names[0]]
        for of in g.output_names:
            shared = g.derivative(of, weight, case.at)
            reverse = loose.reverse(of, case.at)
            assert sum(reverse.get(copy, 0) for copy in copies) == shared


@settings(max_examples=100)
@given(graphs(), st.data())
def test_stop_holds_a_node_constant(case: Case, data):
    node = data.draw(st.sampled_from(sorted(case.formulas())))
    stopped = gc.parse(
        case.text.replace(f"\n{node} = ", f"\n{node}_raw = ").replace(
            f"\n{node}_raw = {case.formulas()[node]}",
            f"\n{node}_raw = {case.formulas()[node]}\n{node} = stop({node}_raw)",
            1,
        )
    )
    held = gc.parse(case.text.replace(f"\n{node} = {case.formulas()[node]}", f"\ninput {node}", 1))
    value = case.graph.values(case.at)[node]
    assert stopped.values(case.at)[node] == value
    assert stopped.count_paths(f"{node}_raw", node) == 0
    assert f"{node}_raw" not in stopped.reverse(node, case.at)
    assert stopped.derivative(node, f"{node}_raw", case.at) == 0
    for of in [n for n in case.formulas() if n != node]:
        expected = held.reverse(of, {**case.at, node: value})
        found = stopped.reverse(of, case.at)
        assert {n: found[n] for n in expected if n in stopped} == expected


def test_local_is_partial_and_everything_else_is_total():
    g = gc.parse("input x\ny = x**2\nL = x*y")
    x, y = sympy.symbols("x y")
    assert g.local("x", "L") == y
    assert sympy.expand(g.derivative("L", "x", form="inputs") - 3 * x**2) == 0
    assert g.derivative("L", "x", {"x": Fraction(1, 3)}) == Fraction(1, 3)


def test_an_edge_may_carry_0_which_is_not_no_path():
    g = gc.parse("input x w v\ny = w*0 + x")
    assert g.reverse("y") == {"y": 1, "w": 0, "x": 1}
    assert g.derivative("y", "v") == 0
    assert ("v", "y") not in g.all_pairs()


def test_terms_come_in_the_order_of_the_paths():
    graph = gc.load(Path(__file__).parents[2] / "examples" / "families.gc")
    terms = graph.pathwise("variance", "x1").terms
    assert [path for path, _ in terms] == list(graph.paths("x1", "variance"))
