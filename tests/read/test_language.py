"""The text form: every rule of how a graph is written down, and that it reads back the same."""

from __future__ import annotations

import unicodedata
from fractions import Fraction
from pathlib import Path

import pytest
import sympy
from effort import calls

import graphc as gc

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.gc"))


def value(formula: str, **at: object) -> object:
    """The value of a formula at a point, exactly."""
    names = " ".join(at)
    head = f"input {names}\n" if names else ""
    return gc.parse(f"{head}result = {formula}").values(at)["result"]


def structure(g: gc.Graph) -> object:
    """What a graph is made of: nodes with kinds and formulas, edges, outputs, values."""
    nodes = [(name, g[name].kind, g[name].text, g[name].parents, g[name].value) for name in g]
    return nodes, g.edges(), g.output_names


# Lines.


def test_the_example_of_the_design():
    g = gc.parse("""
    input x1 x2                                 # comment
    param w1 w2 b
    a = w1*x1 + w2*x2 + b
    o = sigmoid(a)
    output o
    """)
    assert g.input_names == ["x1", "x2"]
    assert g.param_names == ["w1", "w2", "b"]
    assert list(g) == ["x1", "x2", "w1", "w2", "b", "a", "o"]
    assert g["a"].parents == ("w1", "x1", "w2", "x2", "b")
    assert g.output_names == ["o"]


@pytest.mark.parametrize(
    "text",
    [
        "input x y\nz = x*y\n",
        "input x y\r\nz = x*y\r\n",
        "\ufeffinput x y\nz = x*y",
        "input x,y\nz=x*y",
        "input x , y\nz = x * y",
        "input x\ninput y\nz = x*y",
        "\tinput\tx\ty\n\tz\t=\tx\t*\ty",
        "# nothing\n\n   \n\t\ninput x y # both\n#z = 3\nz = x*y # product",
        "   input x y\n   z = x*y\n # a comment may stand anywhere\n",
        "input x\u00a0y\nz = x\u00a0*\u2003y",  # what word processors call a space
    ],
    ids=ascii,
)
def test_the_same_graph_in_other_words(text):
    assert structure(gc.parse(text)) == structure(gc.parse("input x y\nz = x*y"))


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", "\ufeff"], ids=ascii)
def test_an_empty_text_is_an_empty_graph(text):
    g = gc.parse(text)
    assert (len(g), list(g), g.output_names, g.edges()) == (0, [], [], [])
    assert list(gc.parse(g.to_text())) == []


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("2", 2),
        ("0.3", Fraction(3, 10)),
        ("1e-3", Fraction(1, 1000)),
        ("1.5E+2", 150),
        (".5", Fraction(1, 2)),
        ("2.", 2),
        ("007", 7),
        ("1_000", 1000),
        ("-1/2", Fraction(-1, 2)),
        ("1/3 + 1/6", Fraction(1, 2)),
        ("(2/3)**-2", Fraction(9, 4)),
        ("2**10", 1024),
        ("pi/3", sympy.pi / 3),
        ("sqrt(2)", sympy.sqrt(2)),
        ("sin(pi/4)", sympy.sqrt(2) / 2),
        ("0.1 + 0.2", Fraction(3, 10)),
    ],
)
def test_given_values_are_exact(written, exact):
    g = gc.parse(f"input x = {written}\ny = x")
    assert g["x"].value == exact
    assert g.values({})["y"] == exact
    assert g.values({"x": 5})["y"] == 5
    assert gc.parse(g.to_text())["x"].value == exact


def test_a_value_of_a_family_belongs_to_every_member():
    g = gc.parse("param w[1..3] = 1/2\ny = sum(w[1..3])")
    assert g.values({})["y"] == Fraction(3, 2)


def test_a_value_may_use_the_loop_variable():
    g = gc.parse("for t in 1..3:\n  input x[t] = t/10\ny = sum(x[1..3])")
    assert g.values({})["y"] == Fraction(3, 5)


def test_outputs():
    text = "input x\na = x**2\nb = x + 1\nc = a*b\n"
    assert gc.parse(text).output_names == ["c"]
    assert gc.parse(text + "d = x").output_names == ["c", "d"]
    assert gc.parse(text + "output a").output_names == ["a"]
    assert gc.parse(text + "output c, a\noutput a b").output_names == ["c", "a", "b"]
    assert gc.parse("input x\nfor t in 1..3:\n  h[t] = x\noutput h[2..3]").output_names == [
        "h2",
        "h3",
    ]
    assert gc.parse("input x y\nz = x").output_names == ["z"]  # an unused input is no output


# Nodes.


def test_every_assignment_is_a_node():
    g = gc.parse("input x\na = x\nb = a\nc = 3\nd = 2/3\ne = pi\nf = -x\ng = 1/2 + 1/4")
    assert [g[n].kind for n in g] == [
        "input",
        "compute",
        "compute",
        "const",
        "const",
        "const",
        "compute",
        "const",
    ]
    assert g.edges() == [("x", "a"), ("a", "b"), ("x", "f")]
    assert g.local("x", "a") == g.local("a", "b") == 1
    values = g.values({"x": 7})
    assert values["b"] == 7
    assert values["d"] == Fraction(2, 3)
    assert values["e"] == sympy.pi
    assert values["g"] == Fraction(3, 4)


def test_edges_come_from_the_formula_as_it_is_written():
    g = gc.parse("input x w\na = x*x\nb = w*0 + x\nc = x - x\na2 = x*x + 1")
    assert g.edges() == [("x", "a"), ("w", "b"), ("x", "b"), ("x", "c"), ("x", "a2")]
    assert g.local("w", "b") == 0


def test_functions_and_nodes_have_separate_names():
    g = gc.parse("input exp\nsin = sin(exp)\nsum = sum(sin, exp)\nmax = max(sum, sin)")
    assert g["sin"].parents == ("exp",)
    assert g["sum"].parents == ("sin", "exp")
    assert g.values({"exp": 0})["max"] == 0


def test_names_are_nfkc_and_may_be_greek():
    angstrom, ligature = "\u212b", "\ufb01"  # both are spelt otherwise in NFKC
    g = gc.parse(f"input α x₁ {angstrom}\nβ_2 = α*x₁\n{ligature}t = β_2 + {angstrom}")
    assert list(g) == ["α", "x1", "\u00c5", "β_2", "fit"]
    assert all(unicodedata.is_normalized("NFKC", name) for name in g)
    assert g["x₁"].name == "x1"
    assert g.values({"α": 2, "x₁": 3, angstrom: 1})["fit"] == 7
    assert structure(gc.parse(g.to_text())) == structure(g)


def test_own_derivatives():
    g = gc.parse("input x y\ns = x*y\nd s / d x = 3*y + s\nd s/d y=7")
    assert g.local("x", "s", {"x": 2, "y": 5}) == 25
    assert g.local("y", "s") == 7
    loop = "input x\nh0 = x\nfor t in 1..3:\n  h[t] = sin(h[t-1])\n  d h[t] / d h[t-1] = t\n"
    assert gc.parse(loop).derivative("h3", "x", {"x": 1}) == 6


# Families and loops.


def test_families():
    g = gc.parse(
        "input x[1..9]\nparam w[1..2,0..1]\ns = sum(x[1..9])\np = x[3]*w[2,1]\nq = x3*w2_1"
    )
    assert g.input_names == [f"x{i}" for i in range(1, 10)]
    assert g.param_names == ["w1_0", "w1_1", "w2_0", "w2_1"]
    assert g["p"].parents == g["q"].parents == ("x3", "w2_1")
    assert g["x[3]"].name == "x3"
    assert g["w[2, 1]"].name == "w2_1"
    point = {f"x[{i}]": i for i in range(1, 10)} | {
        f"w[{i},{j}]": 10 for i in (1, 2) for j in (0, 1)
    }
    values = g.values(point)
    assert (values["s"], values["p"]) == (45, 30)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("sum(x[1..4])", 10),
        ("prod(x[1..4])", 24),
        ("mean(x[1..4])", Fraction(5, 2)),
        ("max(x[1..4])", 4),
        ("min(x[1..4])", 1),
        ("maximum(x[1..4])", 4),
        ("sum(x[2..2])", 2),
        ("max(x[2..2])", 2),
        ("mean(x[2..2])", 2),
        ("sum(x[1..2], 10, x[3..4])", 20),
        ("max(x[1..4], 9)", 9),
        ("sum(x[1..4])**2 - 2*prod(x[1..2])", 96),
        ("atan2(x[1..2])", sympy.atan(Fraction(1, 2))),
    ],
)
def test_functions_over_families(formula, expected):
    g = gc.parse(f"for t in 1..4:\n  input x[t] = t\ny = {formula}")
    assert sympy.simplify(g.values({})["y"] - sympy.sympify(expected)) == 0


def test_loops():
    g = gc.parse("""
input x[1..3]
param w = 1/2
h0 = 0
for t in 1..3:
    z[t] = w*h[t-1] + x[t]   # a comment
    h[t] = z[t]**2

o = h3
""")
    assert list(g)[5:] == ["z1", "h1", "z2", "h2", "z3", "h3", "o"]
    assert g["z2"].parents == ("w", "h1", "x2")


def test_loops_within_loops():
    g = gc.parse("""
input x
for i in 1..2:
  a[i] = i*x
  for j in i..3:
    b[i,j] = a[i]**j + i - j
  c[i] = b[i,3]
d = c1
""")
    assert [name for name in g if name.startswith("b")] == ["b1_1", "b1_2", "b1_3", "b2_2", "b2_3"]
    values = g.values({"x": 3})
    assert values["b2_3"] == 6**3 - 1
    assert values["c1"] == 3**3 - 2
    assert values["d"] == 25


def test_loops_with_tabs():
    text = "input x\nfor t in 1..2:\n\ty[t] = x\n\tz[t] = y[t]\no = z2"
    assert list(gc.parse(text)) == ["x", "y1", "z1", "y2", "z2", "o"]
    assert structure(gc.parse(text.replace("\n", "\r\n"))) == structure(gc.parse(text))


@pytest.mark.parametrize(
    ("bounds", "values"),
    [
        ("1..3", [1, 2, 3]),
        ("1 .. 3", [1, 2, 3]),
        ("3..3", [3]),
        ("3..2", []),
        ("0..2*2-1", [0, 1, 2, 3]),
        ("7//2..7%4+1", [3, 4]),
        ("2**3..(1+2)*3", [8, 9]),
        ("-(-2)..+3", [2, 3]),
    ],
)
def test_bounds_are_integer_expressions(bounds, values):
    g = gc.parse(f"input x\nfor t in {bounds}:\n    y[t] = x")
    assert list(g) == ["x", *(f"y{t}" for t in values)]


@pytest.mark.parametrize(
    ("index", "name"),
    [
        ("t", "x4"),
        ("t-1", "x3"),
        ("2*t", "x8"),
        ("t//3", "x1"),
        ("t%3+1", "x2"),
        ("2**(t-1)", "x8"),
    ],
)
def test_indices_are_integer_expressions(index, name):
    g = gc.parse(f"input x[0..9]\nfor t in 4..4:\n    y = x[{index}]")
    assert g["y"].parents == (name,)


def test_a_loop_variable_is_a_number():
    g = gc.parse("input x\nfor t in 2..3:\n  y[t] = t*x**t/t**2 + x**(1/t)")
    assert g["y2"].parents == ("x",)
    assert g["y3"].kind == "compute"
    assert g.values({"x": 64})["y3"] == Fraction(64**3, 3) + 4
    assert list(gc.parse("for t in 1..2:\n  c[t] = t\ninput t")) == ["c1", "c2", "t"]


# Formulas.


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("-a**2", -4),
        ("(-a)**2", 4),
        ("2**-1", Fraction(1, 2)),
        ("a**-b", Fraction(1, 8)),
        ("a/b*c", Fraction(10, 3)),
        ("a/(b*c)", Fraction(2, 15)),
        ("a - (b - c)", 4),
        ("a - b - c", -6),
        ("a**b**a", 2**9),
        ("(a**b)**a", 2**6),
        ("b**(1/2)", sympy.sqrt(3)),
        ("4**(1/2)", 2),
        ("-a*-b", 6),
        ("a - -b", 5),
        ("--a", 2),
        ("+a", 2),
        ("2*a + 3*b*c", 49),
        ("a*b/c*a", Fraction(12, 5)),
        ("1 - a/b", Fraction(1, 3)),
        ("a\t+\tb", 5),
        ("((a))", 2),
        ("sin ( 0 ) + a", 2),
        ("0.1*a", Fraction(1, 5)),
        ("1e-3 + a", Fraction(2001, 1000)),
        ("where(a < b, a, b)", 2),
        ("where(a >= b, a, b)", 3),
        ("where(a == 2, 1, 0) + where(a != 2, 10, 20)", 21),
        ("where(a <= b, where(a > c, 1, 2), 3)", 2),
    ],
)
def test_operators_bind_as_in_mathematics(formula, expected):
    assert value(formula, a=2, b=3, c=5) == expected


def test_settings():
    g = gc.parse(
        "input x y\na = relu(x, kink=1)\nb = max(x, y, kink='share')\nc = abs(x, kink=-1/2)"
    )
    at = {"x": 0, "y": 0}
    with pytest.warns(gc.KinkWarning):
        assert g.local("x", "a", at) == 1
    with pytest.warns(gc.KinkWarning):
        assert g.local("x", "b", at) == Fraction(1, 2)
    with pytest.warns(gc.KinkWarning):
        assert g.local("x", "c", at) == Fraction(-1, 2)
    assert value("leaky_relu(x, slope=0.1)", x=-3) == Fraction(-3, 10)
    assert value('max(x, y, kink="right")', x=1, y=2) == 2
    assert value("clip(x, hi=2, lo=1)", x=5) == 2


def test_long_sums_and_deep_nesting_up_to_the_limits():
    assert value("+".join(["x"] * 500), x=1) == 500
    assert value("+".join(["x**2"] * 250), x=3) == 2250
    assert value("+".join(["abs(x)"] * 500), x=-3) == 1500
    assert value("(" * 99 + "x" + ")" * 99, x=5) == 5
    assert value("-" * 100 + "x", x=5) == 5
    assert value("sum(" * 99 + "x" + ")" * 99, x=5) == 5
    assert value("*".join(["(x + 1)"] * 200), x=1) == 2**200


def test_a_user_s_function_by_name(own_functions):
    gc.declare("swish", lambda x: x * gc.sigmoid(x))
    assert value("swish(x)", x=0) == 0


# Reading back.

ROUND = [
    "input x y\nparam w\nz = w*x + y\no = sin(z)",
    "input x = 0.3\nparam w = -1/7\nz = w*x\noutput z x",
    "input x[1..12] y\nparam v\ns = sum(x[1..12])*v + y",
    "input x\na = x\nb = 3\nc = 1/3\nd = 2*pi\ne = -2",
    "input x y\ns = x*y\nd s / d x = y + 1\no = s**2",
    "input x y\na = -x**2\nb = (-x)**2\nc = x - (y - 1)\nd = x/(y*2)\ne = (x**y)**2\nf = x**y**2",
    "input x y\na = where(x > y, x, -y)\nb = relu(x, kink=1/2)\nc = max(x, y, kink='share')",
    "input α β\nγ = α*β\nδ = stop(γ)*α",
    "input x\nh0 = x\nfor t in 1..4:\n  h[t] = tanh(h[t-1]) + t*x**t",
    "input x\na = 0.1*x\nb = 1e-9*x\nc = 1e12*x\nd = x**0.5\ne = x**(1/3)\nf = 2**-x",
]


@pytest.mark.parametrize("text", ROUND, ids=range(len(ROUND)))
def test_text_round_trip(text):
    first = gc.parse(text)
    once = first.to_text()
    second = gc.parse(once)
    assert second.to_text() == once
    assert structure(second) == structure(first)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_text_round_trip_of_the_examples(path):
    first = gc.load(path)
    once = first.to_text()
    second = gc.parse(once)
    assert second.to_text() == once
    assert structure(second) == structure(first)


def test_reading_grows_linearly():
    def effort(size: int) -> int:
        text = "input x\nh0 = x\n" + "".join(f"h{i} = sin(h{i - 1}) + x\n" for i in range(1, size))
        return calls(lambda: gc.parse(text))

    assert effort(5_000) < 12 * effort(500)


def test_a_graph_is_extended_by_text():
    bowl = gc.parse("param w = 2\nJ = 4*w**2")
    step = bowl.differentiate("J", "w").extend(
        "input v = 1\nv_next = v/2 - w_bar\nw_next = w + v_next"
    )
    assert step.values({})["w_next"] == sympy.Rational(-27, 2)
    assert step.output_names == ["w_bar"]
    assert "v" not in bowl
    assert bowl.extend("L = J + 1") is bowl
    assert bowl.output_names == ["L"]
    assert bowl.derivative("L", "w", at={}) == 16
    with pytest.raises(gc.GraphcError, match=r"line 1.*'J'"):
        bowl.extend("J = 3")
    with pytest.raises(gc.GraphcError, match=r"line 2.*'q' is not declared"):
        bowl.extend("a = 1\nb = q")
    assert "a" in bowl
    assert "b" not in bowl
