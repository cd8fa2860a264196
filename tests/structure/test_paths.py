"""Paths: counted without being listed, listed in order, ranked; graphs too deep to recurse over."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import networkx
import pytest
import sympy
from effort import calls
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Case, graphs, multigraphs

import graphc as gc
from graphc.structure.paths import topological


@settings(max_examples=100)
@given(multigraphs())
def test_counting_is_enumerating(edges):
    g = gc.from_edges(edges)
    for i in g:
        for j in g:
            listed = list(g.paths(i, j))
            assert g.count_paths(i, j) == len(listed)
            longest = g.longest_path(i, j)
            assert len(longest) == max(map(len, listed), default=0)
            assert longest in listed or not listed


@settings(max_examples=60)
@given(graphs())
def test_paths_are_those_of_networkx(case: Case):
    g = case.graph.expand()
    other = networkx.MultiDiGraph(g.edges())
    other.add_nodes_from(g)
    for of in g.output_names:
        for wrt in case.at:
            expected = networkx.all_simple_paths(other, wrt, of)
            assert Counter(g.paths(wrt, of)) == Counter(map(tuple, expected))


def test_the_path_from_a_node_to_itself():
    g = gc.parse("input x y\nz = x*y")
    assert list(g.paths("z", "z")) == [("z",)]
    assert g.count_paths("x", "x") == 1
    assert g.longest_path("x", "x") == ("x",)
    assert g.pathwise("z", "z").value == 1
    assert list(g.paths("z", "x")) == []
    assert g.longest_path("z", "x") == ()
    assert g.pathwise("x", "z").terms == []
    assert g.pathwise("x", "z").value == 0


def test_terms_are_paths_with_their_products(fig27):
    found = fig27.pathwise("y10", "y2")
    assert [term.path for term in found.terms] == [
        ("y2", "y4", "y7", "y10"),
        ("y2", "y5", "y8", "y10"),
        ("y2", "y6", "y9", "y10"),
    ]
    assert found.terms[0].path == found.terms[0][0]
    assert found.terms[0].product == found.terms[0][1]
    assert sympy.expand(found.value - sum(term.product for term in found.terms)) == 0
    for path, product in found.terms:
        expected = sympy.Integer(1)
        for source, target in pairwise(path):
            expected *= fig27.local(source, target)
        assert sympy.expand(product - expected) == 0


def test_terms_are_in_path_order():
    g = gc.from_edges([("x", "a", 2), ("x", "b", 3), ("a", "o", 5), ("b", "o", 7), ("x", "o", 1)])
    assert [term.path for term in g.pathwise("o", "x", {}).terms] == list(g.paths("x", "o"))


@settings(max_examples=60)
@given(multigraphs())
def test_top_paths_are_the_largest_terms(edges):
    g = gc.from_edges(edges)
    for j in g:
        for i in g:
            terms = g.pathwise(j, i, {}).terms
            ranked = sorted((abs(term.product) for term in terms), reverse=True)
            for k in (1, 3, 10):
                top = g.top_paths(j, i, {}, k=k).terms
                assert [abs(term.product) for term in top] == ranked[:k]
                assert not Counter(top) - Counter(terms)


@settings(max_examples=40)
@given(graphs(most=5), st.integers(1, 5))
def test_top_paths_of_computed_graphs(case: Case, k: int):
    g = case.graph.expand()
    for of in g.output_names:
        for wrt in case.at:
            terms = g.pathwise(of, wrt, case.at, limit=10**6).terms
            ranked = sorted((abs(term.product) for term in terms), reverse=True)
            top = g.top_paths(of, wrt, case.at, k=k).terms
            assert [abs(term.product) for term in top] == ranked[:k]


def test_top_paths_on_the_ladder_of_60(ladder):
    g = ladder(60)
    assert calls(lambda: g.top_paths("o", "x", {"x": 1}, k=10)) < 1_000_000
    top = g.top_paths("o", "x", {"x": 1}, k=10)
    sizes = [abs(float(term.product)) for term in top.terms]
    assert len(sizes) == 10
    assert sizes == sorted(sizes, reverse=True)
    small = ladder(4)
    expected = sorted(small.pathwise("o", "x", {"x": 1.0}).terms, key=lambda t: -abs(t.product))
    assert [t.path for t in small.top_paths("o", "x", {"x": 1.0}, k=3).terms] == [
        t.path for t in expected[:3]
    ]


@pytest.mark.parametrize("k", [0, -1, 1.5, "3"])
def test_top_paths_needs_a_number_of_paths(k):
    with pytest.raises(gc.GraphcError, match="k="):
        gc.parse("input x\ny = x").top_paths("y", "x", {"x": 1}, k=k)


def test_too_many_paths_are_refused_with_their_number(ladder):
    with pytest.raises(gc.GraphcError, match=rf"^{2**60} paths from 'x' to 'o' exceed limit=10000"):
        ladder(60).pathwise("o", "x", {"x": 1})
    with pytest.raises(gc.GraphcError, match=r"^32 paths .* pass limit=32"):
        ladder(5).pathwise("o", "x", {"x": 1}, limit=31)
    assert len(ladder(5).pathwise("o", "x", {"x": 1}, limit=32).terms) == 32


def test_paths_are_an_iterator(ladder):
    paths = iter(ladder(60).paths("x", "o"))
    assert len(next(paths)) == 62
    assert next(paths) != next(paths)


def test_a_shared_diamond_of_64_levels():
    lines = ["input x", "d0 = x/2"]
    for t in range(1, 65):
        lines += [f"a{t} = d{t - 1}/2", f"b{t} = d{t - 1}/3", f"d{t} = a{t} + b{t}"]
    g = gc.parse("\n".join(lines))
    assert g.count_paths("x", "d64") == 2**64
    assert len(g.longest_path("x", "d64")) == 2 + 2 * 64
    assert g.derivative("d64", "x", {"x": 1}) == Fraction(5, 6) ** 64 / 2
    assert g.forward("x", {"x": 1})["d64"] == Fraction(5, 6) ** 64 / 2
    fine = g.expand()
    assert fine.count_paths("x", "d64") == 2**64


# Deep graphs.


def chain(length: int) -> gc.Graph:
    g = gc.Graph("chain")
    value = g.input("x")
    for i in range(length):
        value = g.node(f"n{i}", value + 1 if i % 2 else value * 1)
    return g


def use(length: int, at: dict) -> None:
    """Declares a chain, evaluates it and differentiates it backwards."""
    g = chain(length)
    assert g.values(at)[f"n{length - 1}"] == length // 2 + 1
    assert g.reverse(f"n{length - 1}", at)["x"] == 1


@pytest.mark.parametrize("one", [1, 1.0], ids=["exact", "float"])
def test_a_chain_of_100_000_nodes_grows_linearly(one):
    short, long = (calls(lambda n=n: use(n, {"x": one})) for n in (10_000, 100_000))
    assert long < 11 * short


def test_every_verb_on_a_long_chain():
    g = chain(10_000)
    last = "n9999"
    assert g.derivative(last, "x", {"x": 1}) == 1
    assert g.derivative(last, "x", {"x": 1}, mode="forward") == 1
    assert g.forward("x", {"x": 1})[last] == 1
    assert g.count_paths("x", last) == 1
    assert len(next(iter(g.paths("x", last)))) == 10_001
    assert len(g.longest_path("x", last)) == 10_001
    assert g.pathwise(last, "x", {"x": 1}).value == 1
    assert len(g.top_paths(last, "x", {"x": 1}, k=1).terms[0].path) == 10_001
    slope = g.differentiate(last, "x")
    assert slope.values({"x": 1})["x_bar"] == 1
    assert len(gc.parse(g.to_text())) == len(g)
    assert len(g.expand()) >= len(g)
    assert len(g.collapse(*[f"n{i}" for i in range(0, 9_998, 2)])) == len(g) - 4_999


def test_a_deep_formula_of_one_node():
    """Collapsing a chain into one node leaves nothing to recurse over."""
    g = chain(5_000)
    whole = g.collapse()
    assert list(whole) == ["x", "n4999"]
    assert whole.derivative("n4999", "x", {"x": 1}) == 1
    assert whole.values({"x": 1})["n4999"] == 2501


def test_bare_edges_grow_linearly():
    def effort(length: int) -> int:
        g = gc.from_edges([(f"n{i}", f"n{i + 1}", "1/2") for i in range(length)])
        return calls(lambda: g.reverse(f"n{length}", {}))

    assert effort(4_000) < 9 * effort(500)


def test_memory_per_operation():
    tracemalloc.start()
    chain(20_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak / 20_000 < 1_000  # bytes per node of one operation and its constant


# Orders and cycles.


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_topological_order_or_a_cycle(edges):
    order, cycle = topological(edges, range(7))
    if cycle:
        assert not networkx.is_directed_acyclic_graph(networkx.DiGraph(edges))
        assert cycle[0] == cycle[-1]
        assert all(step in edges for step in pairwise(cycle))
    else:
        assert sorted(order) == list(range(7))
        place = {node: i for i, node in enumerate(order)}
        assert all(place[i] < place[j] for i, j in edges)
