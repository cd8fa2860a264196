"""Nodes, edges and names: what a declaration means, and how granularity changes."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

import graphc as gc

x, y = sympy.symbols("x y")
LAYER = """
input x1 x2
param w = 1/2
c = 3
a = w*x1 + c*x2 + x1
b = sin(a)*2
copy = b
unused = x1*x2
output copy
"""


# Nodes.


def test_a_node_describes_itself():
    g = gc.parse(LAYER)
    assert [(n, g[n].kind) for n in g] == [
        ("x1", "input"),
        ("x2", "input"),
        ("w", "param"),
        ("c", "const"),
        ("a", "compute"),
        ("b", "compute"),
        ("copy", "compute"),
        ("unused", "compute"),
    ]
    a = g["a"]
    assert (a.name, a.shape, a.parents) == ("a", (), ("w", "x1", "c", "x2"))
    w, x1, c, x2 = sympy.symbols("w x1 c x2")
    assert a.expr == w * x1 + c * x2 + x1
    assert (g["x1"].expr, g["x1"].parents) == (x1, ())
    assert (g["c"].expr, g["c"].parents) == (3, ())
    assert g["copy"].expr == sympy.Symbol("b")
    assert g["w"].value == Fraction(1, 2)
    assert g["x1"].value is None
    assert (g.input_names, g.param_names, g.output_names) == (["x1", "x2"], ["w"], ["copy"])
    assert len(g) == 8


def test_edges_are_one_per_name_mentioned():
    g = gc.parse(LAYER)
    assert g.edges() == [
        ("w", "a"),
        ("x1", "a"),
        ("c", "a"),
        ("x2", "a"),
        ("a", "b"),
        ("b", "copy"),
        ("x1", "unused"),
        ("x2", "unused"),
    ]


def test_outputs_default_to_the_nodes_nothing_uses():
    assert gc.parse("input x z\na = x\nb = a\nc = x").output_names == ["b", "c"]
    assert gc.parse("input x\na = x\nb = a\noutput a b").output_names == ["a", "b"]
    assert gc.parse("input x\nh = x**2\ns = stop(h)\noutput h").output_names == ["h"]


def test_declarations_are_kept_as_written():
    g = gc.parse("input x y\na = x*y\nb = x*y + 1\nz = 0*x + y - y")
    assert ("a", "b") not in g.edges()
    assert g["z"].parents == ("x", "y")
    assert g.local("x", "z") == 0
    assert g.reverse("z")["y"] == 0


def test_lists_are_in_topological_order():
    g = gc.parse("input x\nb = x\nparam w\na = w*b\ninput v\nc = v*a")
    place = {name: i for i, name in enumerate(g)}
    assert all(place[source] < place[target] for source, target in g.edges())


def test_an_unknown_node_is_named_with_the_nearest():
    g = gc.parse("input alpha\nbeta = alpha**2")
    with pytest.raises(gc.GraphcError, match="no node 'alhpa'; did you mean 'alpha'"):
        g["alhpa"]
    with pytest.raises(gc.GraphcError, match="no node 'q'"):
        g.derivative("q", "alpha")
    assert "alpha" in g
    assert "q" not in g


# Families and loops.


def test_families_and_their_two_spellings():
    g = gc.parse(
        "input x[1..3]\nfor t in 1..3:\n  h[t] = x[t]**t\ns = sum(h[1..3])\nm = mean(h[1..3])"
    )
    assert g.input_names == ["x1", "x2", "x3"]
    assert g["h[3]"].name == g["h3"].name == "h3"
    assert "h[3]" in g
    assert "h3" in g.to_text()
    assert "[" not in g.to_text()
    at = {"x[1]": 1, "x[2]": 2, "x3": 3}
    assert g.values(at)["s"] == 1 + 4 + 27
    assert g.values(at)["m"] == Fraction(32, 3)
    assert g.derivative("s", "x[3]", at) == g.reverse("s", at)["x3"] == 27
    assert g.count_paths("x[2]", "s") == 1
    assert g.local("h[2]", "s") == 1
    assert list(g.paths("x[1]", "h[1]")) == [("x1", "h1")]


def test_two_indices():
    g = gc.parse("param w[1..2,1..3]\nfor i in 1..2:\n  r[i] = prod(w[i,1..3])\no = r1 + r2")
    assert g.param_names == ["w1_1", "w1_2", "w1_3", "w2_1", "w2_2", "w2_3"]
    assert g["w[2,1]"].name == "w2_1"
    assert g["r2"].parents == ("w2_1", "w2_2", "w2_3")


def test_loops_unroll_with_integer_expressions():
    g = gc.parse(
        """
        input x
        f0 = x
        for i in 0..1:
            for j in 1..2:
                f[2*i + j] = f[2*i + j - 1]*(i + j)
        """.replace("\n        ", "\n")
    )
    assert g.output_names == ["f4"]
    assert g.values({"x": 1})["f4"] == 1 * 2 * 2 * 3
    assert g["f4"].parents == ("f3",)


def test_an_empty_loop_declares_nothing():
    assert list(gc.parse("input x\nfor t in 2..1:\n  h[t] = x\ny = x")) == ["x", "y"]


def test_names_are_normalised_and_may_be_greek():
    g = gc.parse("input α\nβ = 2*α")
    assert g.derivative("β", "α") == 2
    assert gc.parse("input ﬁ\ny = fi")["fi"].kind == "input"  # NFKC


# By hand.


def test_the_same_graph_by_hand():
    g = gc.Graph("neuron")
    x1, x2 = g.inputs("x1 x2")
    w1, w2, b = g.params("w1 w2 b")
    a = g.node("a", w1 * x1 + w2 * x2 + b)
    o = g.node("o", gc.sigmoid(a))
    g.output(o)
    text = gc.parse(
        "input x1 x2\nparam w1 w2 b\na = w1*x1 + w2*x2 + b\no = sigmoid(a)\noutput o", "neuron"
    )
    assert g.to_text() == text.to_text()
    assert g.reverse("o") == text.reverse("o")
    mixed = gc.Graph()
    mixed.inputs("x1 x2")
    mixed.params("w1 w2 b")
    mixed.node("a", "w1*x1 + w2*x2 + b")
    mixed.node("o", gc.sigmoid(mixed.node("a2", "a")))
    assert mixed["o"].parents == ("a2",)


def test_unnamed_values_belong_to_the_nodes_that_use_them():
    g = gc.Graph()
    u = g.input("u")
    shared = u * u
    g.node("a", shared + 1)
    g.node("b", shared * 2)
    assert g.edges() == [("u", "a"), ("u", "b")]
    assert g.reverse("b", {"u": 3}) == {"b": 1, "u": 12}
    assert gc.parse(g.to_text()).values({"u": 3}) == g.values({"u": 3})
    assert g.expand().count_paths("u", "b") == 2


def test_constants():
    g = gc.Graph()
    u = g.input("u", value="1/3")
    k = g.const("pi/3", "k")
    g.node("y", u * k)
    assert g["k"].kind == "const"
    assert g.values({})["y"] == sympy.pi / 9
    assert g.derivative("y", "k", {}) == Fraction(1, 3)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda g: g.input("x"), "'x' is declared already"),
        (lambda g: g.node("x", 3), "'x' is declared already"),
        (lambda g: g.input("lambda"), "reserved"),
        (lambda g: g.input("output"), "reserved"),
        (lambda g: g.input("a b"), "not a name"),
        (lambda g: g.input(3), "must be a string"),
        (lambda g: g.node("y", "x + z"), "'z' is not declared"),
        (lambda g: g.node("y", gc.Graph().input("x")), "belongs to the graph"),
        (lambda g: g.node("y", object()), "not a number"),
        (lambda g: g.node("y", float("nan")), "not finite"),
        (lambda g: g.node("y", gc.sin(g.input("u") > 0)), "comparison"),
        (lambda g: g.node("y", gc.where(g.input("u"), 1, 2)), "comparison"),
        (lambda g: g.output("nobody"), "no node 'nobody'"),
    ],
)
def test_bad_declarations_are_refused_where_they_are_made(declare, message):
    g = gc.Graph()
    g.input("x")
    with pytest.raises(gc.GraphcError, match=message):
        declare(g)


# Granularity.


def test_expand_names_operations_after_their_node():
    g = gc.parse("input x y\nz = sin(x*y) + x**2")
    fine = g.expand()
    assert list(fine) == ["x", "y", "z_1", "z_2", "z_3", "z"]
    assert [fine[n].text for n in ("z_1", "z_2", "z_3", "z")] == [
        "x*y",
        "sin(z_1)",
        "x**2",
        "z_2 + z_3",
    ]
    assert list(g) == ["x", "y", "z"]
    assert fine.count_paths("x", "z") == 2
    assert list(fine.expand()) == list(fine)


def test_expand_leaves_taken_names_alone():
    g = gc.parse("input x\nz_1 = 5*x\nz = x*x + z_1")
    assert list(g.expand()) == ["x", "z_1", "z_2", "z"]


def test_collapse_inlines():
    g = gc.parse("input x\nu = x + 1\nv = u*u\no = sin(v)*u")
    coarse = g.collapse("v")
    assert list(coarse) == ["x", "u", "o"]
    assert coarse["o"].text == "sin(u*u)*u"
    assert list(g.collapse()) == ["x", "o"]
    assert list(g.collapse("u", "v")) == ["x", "o"]
    assert list(g) == ["x", "u", "v", "o"]


def test_collapse_keeps_dead_ends_and_several_outputs():
    g = gc.parse("input x\nh = x**2\na = h + 1\ndead = 3*h\noutput a")
    assert set(g.collapse()) >= {"x", "a"}
    assert g.collapse().derivative("a", "x", {"x": 2}) == 4


@pytest.mark.parametrize("name", ["x", "o", "nobody"])
def test_what_cannot_be_collapsed(name):
    g = gc.parse("input x\nu = x + 1\no = u*u")
    with pytest.raises(gc.GraphcError, match=f"'{name}'"):
        g.collapse(name)


def test_untie_gives_each_occurrence_a_copy():
    g = gc.parse("input x\nparam w\na = w*x\nb = w*a + w\no = b*2")
    loose = g.untie("w")
    assert loose.param_names == ["w_1", "w_2", "w_3"]
    assert loose["b"].parents == ("w_2", "a", "w_3")
    at = {"x": 3, "w": 5}
    assert loose.values(at)["o"] == g.values(at)["o"]
    found = loose.reverse("o", at)
    assert (found["w_1"], found["w_2"], found["w_3"]) == (30, 30, 2)
    assert g.derivative("o", "w", at) == 62
    own = {"x": 3, "w": 5, "w_2": 7}
    assert loose.values(own)["o"] == (7 * 15 + 5) * 2


def test_a_value_overrides_the_given_one_of_every_copy():
    g = gc.parse("input x\nparam w = 2\no = w*x + w").untie("w")
    assert g.values({"x": 1})["o"] == 4
    assert g.values({"x": 1, "w": 5})["o"] == 10


def test_what_cannot_be_untied():
    g = gc.parse("input x z\ny = x*x\nd y / d x = 2*x")
    with pytest.raises(gc.GraphcError, match="'y' is computed"):
        g.untie("y")
    with pytest.raises(gc.GraphcError, match="nothing uses 'z'"):
        g.untie("z")
    with pytest.raises(gc.GraphcError, match="'x' cannot be untied"):
        g.untie("x")


# Own partials win in every mode.


OWN = {
    "text": lambda: gc.parse("input x y\ns = x*y + x\nd s / d x = 10*y\no = s**2"),
    "by hand": lambda: _by_hand(),
}


def _by_hand() -> gc.Graph:
    g = gc.Graph()
    g.inputs("x y")
    s = g.node("s", "x*y + x", partials={"x": "10*y"})
    g.node("o", s**2)
    return g


@pytest.mark.parametrize("declared", OWN)
def test_own_partials_win_in_every_mode(declared):
    g = OWN[declared]()
    at = {"x": 2, "y": 3}
    assert g.values(at)["o"] == 64
    assert g.local("x", "s") == 10 * y
    assert g.local("y", "s") == x
    expected = 2 * 8 * 30
    assert g.reverse("o", at)["x"] == expected
    assert g.forward("x", at)["o"] == expected
    assert g.all_pairs(at)["x", "o"] == expected
    assert g.all_pairs(at, result="dense")[0, 3] == expected
    assert g.pathwise("o", "x", at).value == expected
    assert g.top_paths("o", "x", at).terms[0].product == expected
    assert g.jacobian(["o"], ["x"], at)[0, 0] == expected
    slope = g.differentiate("o", "x")
    assert slope.values(at)["x_bar"] == expected
    forward = g.differentiate("o", "x", mode="forward")
    assert forward.values(at)["o_dot"] == expected
    assert g.expand().derivative("o", "x", at) == expected
    assert gc.parse(g.to_text()).derivative("o", "x", at) == expected
    assert gc.from_networkx(g.to_networkx()).derivative("o", "x", at) == expected


def test_own_partials_may_mention_the_node_and_numbers():
    g = gc.parse("input x\ns = 1/(1 + exp(-x))\nd s / d x = s*(1 - s)")
    assert g.derivative("s", "x", {"x": 0}) == Fraction(1, 4)
    third = g.differentiate("s", "x").differentiate(wrt="x").differentiate(wrt="x")
    assert third.values({"x": 0})[third.output_names[0]] == Fraction(-1, 8)
    constant = gc.Graph()
    u = constant.input("u")
    constant.node("v", u**2, partials={"u": 7})
    assert constant.derivative("v", "u", {"u": 1}) == 7


def test_own_partials_survive_untying_another_name():
    g = gc.parse("input x y\nparam w\ns = w*x + w*y\nd s / d y = 7")
    found = g.untie("w").reverse("s", {"x": 2, "y": 3, "w": 5})
    assert found == {"s": 1, "y": 7, "x": 5, "w_1": 2, "w_2": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input x y\ns = x\nd s / d y = 1", "does not mention 'y'"),
        ("input x\ns = x\nd s / d x = 1\nd s / d x = 2", "declared twice"),
        ("input x\nd s / d x = 1", "'s' is not declared"),
        ("input x\ns = x\nd s / d x = q", "'q' is not declared"),
    ],
)
def test_bad_partials_are_refused(text, message):
    with pytest.raises(gc.GraphcError, match=message):
        gc.parse(text)


def test_nodes_with_own_partials_are_not_collapsed():
    g = gc.parse("input x\nh = 2*x\ns = h*h\nd s / d h = 3\no = s + 1")
    for name in ("s", "h"):
        with pytest.raises(gc.GraphcError, match="cannot be collapsed"):
            g.collapse(name)
    assert g.collapse().derivative("o", "x", {"x": 1}) == g.derivative("o", "x", {"x": 1}) == 6


# All pairs as arrays.


@pytest.mark.parametrize("at", [{"x": 1, "y": 2}, {"x": 1.0, "y": 2}, {"x": "1/3", "y": "pi"}])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_all_pairs_as_arrays(at, form, tmp_path):
    g = gc.parse("input x y\na = sin(x)\nb = a*y\nc = b + a*x")
    found = g.all_pairs(at, result=form)
    pairs, names = g.all_pairs(at), list(g)
    dense = found if form == "dense" else found.toarray()
    for i, source in enumerate(names):
        for j, target in enumerate(names):
            expected = float(pairs.get((source, target), 0))
            assert float(dense[i, j]) == pytest.approx(expected, rel=1e-14)


def test_all_pairs_into_a_file(tmp_path):
    import numpy as np

    g = gc.parse("input x y\na = x*y")
    file = tmp_path / "pairs.npy"
    g.all_pairs({"x": 2, "y": 3}, result="dense", out=file)
    np.testing.assert_array_equal(np.load(file), [[1, 0, 3], [0, 1, 2], [0, 0, 1]])
    array = np.empty((3, 3))
    assert g.all_pairs({"x": 2, "y": 3}, result="dense", out=array) is array
    np.testing.assert_array_equal(array, [[1, 0, 3], [0, 1, 2], [0, 0, 1]])
    with pytest.raises(gc.GraphcError, match=r"out has shape \(2, 2\)"):
        g.all_pairs({"x": 2, "y": 3}, result="dense", out=np.empty((2, 2)))


@pytest.mark.parametrize("form", ["dense", "sparse", "square"])
def test_arrays_of_all_pairs_need_a_point(form):
    with pytest.raises(gc.GraphcError, match=f"result='{form}'"):
        gc.parse("input x\ny = x**2").all_pairs(result=form)


# One name for one thing: a node, a size and a family never share it.

SHARED = {
    "input n\ninput x[n]\nL = n*sum(x)": "'n' is the name of a node",
    "input x[n]\ninput n\nL = n*sum(x)": "'n' is the name of a size",
    "input x[n]\nn = 2*sum(x)": "'n' is the name of a size",
    "input x[x]": "'x' is the name of a node",
    "input x[3]\nfor t in 1..2:\n  x[t] = t": "'x' is the name of a node",
    "input x[3]\nx[7] = 2": "'x' is the name of a node",
    "for t in 1..2:\n  x[t] = t\ninput x[3]": "'x' is the name of a family",
    "input x[1..3]\nx = 2": "'x' is the name of a family",
    "input x[1..3]\ninput y[x]": "'x' is the name of a family",
    "input y[x]\ninput x[1..3]": "'x' is the name of a size",
    "input x[n]\nfor n in 1..2:\n  y[n] = n": "'n' is also the name of a size",
}


@pytest.mark.parametrize("text", SHARED)
def test_one_name_for_two_things_is_refused_in_text(text):
    with pytest.raises(gc.GraphcError, match=SHARED[text]) as error:
        gc.parse(text)
    assert str(error.value).startswith("line ")


def test_one_name_for_two_things_is_refused_by_hand():
    g = gc.Graph()
    g.input("n")
    with pytest.raises(gc.GraphcError, match="'n' is the name of a node"):
        g.input("x", shape=("n",))
    assert list(g) == ["n"]
    with pytest.raises(gc.GraphcError, match="'y' is the name of a node"):
        g.param("y", shape=("y",))
    g.input("x", shape=("m", 3))
    for declare in (g.input, g.param, lambda name: g.node(name, 1), lambda name: g.const(1, name)):
        with pytest.raises(gc.GraphcError, match="'m' is the name of a size"):
            declare("m")
        with pytest.raises(gc.GraphcError, match="'x' is the name of a node"):
            declare("x[1]")
    g.input("h[1]")
    with pytest.raises(gc.GraphcError, match="'h' is the name of a family"):
        g.input("h", shape=(2,))


def test_one_name_for_two_things_is_refused_in_a_traced_function():
    with pytest.raises(gc.GraphcError, match="'n' is the name of a size"):
        gc.graph(lambda x, n: n * gc.sum(x), shapes={"x": ("n",)})
    with pytest.raises(gc.GraphcError, match="'n' is the name of a node"):
        gc.graph(lambda n, x: n * gc.sum(x), shapes={"x": ("n",)})
    with pytest.raises(gc.GraphcError, match="'x' is the name of a node"):
        gc.graph(lambda x: gc.sum(x), shapes={"x": ("x",)})
    with pytest.raises(gc.GraphcError, match="'n' is the name of a size"):

        @gc.graph(shapes={"x": ("n",)})
        def f(x):
            n = gc.sum(x)
            return n * 2


def test_an_element_is_not_looked_up_as_another_node():
    g = gc.parse("input x[3] x1\ny = x[1] + x1")
    assert g["x1"].shape == ()
    with pytest.raises(gc.GraphcError, match=r"'x\[1\]' is an element of the tensor 'x'"):
        g["x[1]"]


def test_copies_know_which_names_are_sizes():
    g = gc.parse("input x[n]\nparam w\ny = w*sum(x)/n + w")
    for graph in (g.untie("w"), g.expand(), g.collapse(), g.differentiate("y", "w")):
        with pytest.raises(gc.GraphcError, match="'n' is the name of a size"):
            graph.node("n", 1)
        assert graph.node("z", "n + 1").row
