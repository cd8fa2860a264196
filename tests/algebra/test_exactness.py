"""Exact in, exact out within reason; floats stay floats; batches keep their shape (design 4.2)."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from effort import calls

import graphc as gc

THIRD = sympy.Rational(1, 3)


# Types.


@pytest.mark.parametrize(
    "third",
    [Fraction(1, 3), "1/3", THIRD, "2/6"],
    ids=lambda value: type(value).__name__,
)
def test_exact_input_gives_exact_sympy_numbers(third):
    g = gc.parse("input x\ny = x**2 + 1/2\nz = x*y")
    values, slopes = g.values({"x": third}), g.reverse("z", {"x": third})
    assert values == {"x": THIRD, "y": sympy.Rational(11, 18), "z": sympy.Rational(11, 54)}
    assert slopes["x"] == sympy.Rational(5, 6)
    for result in (*values.values(), *slopes.values()):
        assert isinstance(result, sympy.Rational)


@pytest.mark.parametrize("two", [2, "2", sympy.Integer(2), np.int64(2), Decimal(2), "1 + 1"])
def test_whole_numbers_are_exact(two):
    value = gc.parse("input x\ny = x/3").values({"x": two})["y"]
    assert value == sympy.Rational(2, 3)
    assert isinstance(value, sympy.Rational)


@pytest.mark.parametrize("text", ["0.3", "3e-1", "3/10", "1 - 0.7", "0.1*3"])
def test_strings_and_literals_are_exact(text):
    assert gc.parse(f"input x\ny = x + {text}").values({"x": text})["y"] == sympy.Rational(3, 5)


@pytest.mark.parametrize("half", [0.5, np.float64(0.5), np.float32(0.5), np.array(0.5)])
def test_floats_give_python_floats(half):
    g = gc.parse("input x\ny = sin(x) + x**2")
    for result in (g.values({"x": half})["y"], g.derivative("y", "x", {"x": half})):
        assert type(result) is float
    assert g.values({"x": half})["y"] == math.sin(0.5) + 0.25


def test_a_float_makes_only_what_depends_on_it_float():
    g = gc.parse("input x y\na = x/3\nb = y*2\nc = a*b")
    values = g.values({"x": 1, "y": 0.5})
    assert values["a"] == THIRD
    assert isinstance(values["a"], sympy.Rational)
    assert type(values["b"]) is float
    assert type(values["c"]) is float
    slopes = g.reverse("c", {"x": 1, "y": 0.5})
    assert slopes["y"] == sympy.Rational(2, 3)
    assert isinstance(slopes["y"], sympy.Rational)
    assert type(slopes["x"]) is float


def test_a_choice_by_a_float_is_a_float():
    g = gc.parse("input x\ny = where(x > 0, 1, 0)\nz = heaviside(x)")
    assert [type(value) for value in g.values({"x": 0.5}).values()] == [float] * 3


def test_mpmath_numbers_keep_the_current_precision():
    g = gc.parse("input x\ny = sin(x)/3")
    with mpmath.workdps(80):
        x = mpmath.mpf(1) / 7
        found, slope = g.values({"x": x})["y"], g.derivative("y", "x", {"x": x})
        assert isinstance(found, mpmath.mpf)
        assert abs(found - mpmath.sin(x) / 3) < mpmath.mpf(10) ** -79
        assert abs(slope - mpmath.cos(x) / 3) < mpmath.mpf(10) ** -79
        constants = gc.parse("input x\nc = sqrt(2)\ny = pi*c*x").derivative("y", "x", {"x": x})
        assert abs(constants - mpmath.pi * mpmath.sqrt(2)) < mpmath.mpf(10) ** -78
    with mpmath.workdps(20):
        shorter = g.values({"x": mpmath.mpf(1) / 7})["y"]
        assert shorter == mpmath.sin(mpmath.mpf(1) / 7) / 3


def test_symbolic_constants_stay():
    g = gc.parse("input x\ny = sin(x) + sqrt(2)*exp(1)\nz = x**2")
    assert g.values({"x": "pi/3"})["y"] == sympy.sqrt(3) / 2 + sympy.sqrt(2) * sympy.E
    assert g.values({"x": "pi/3"})["z"] == sympy.pi**2 / 9
    assert g.derivative("y", "x", {"x": sympy.pi / 3}) == sympy.Rational(1, 2)
    assert g.derivative("z", "x", {"x": "sqrt(2)"}) == 2 * sympy.sqrt(2)


def test_a_sympy_float_is_not_exact_but_keeps_its_digits():
    value = gc.parse("input x\ny = x/3").values({"x": sympy.Float("0.1", 30)})["y"]
    assert abs(value - sympy.Rational(1, 30)) < 1e-29


@pytest.mark.parametrize(
    "bad",
    [
        math.nan,
        math.inf,
        1j,
        True,
        None,
        "x + 1",
        "1/0",
        "",
        sympy.I,
        sympy.oo,
        sympy.Symbol("t"),
        Decimal("NaN"),
        np.array([1.0, math.nan]),
        np.array(["a"]),
        [[1], [2, 3]],
        mpmath.inf,
        object(),
    ],
    ids=lambda value: f"{type(value).__name__} {value}"[:24].split(" at ")[0],
)
def test_what_is_no_finite_real_number_is_refused(bad):
    with pytest.raises(gc.GraphcError, match="'x'"):
        gc.parse("input x\ny = x*x").values({"x": bad})


# Batches: scalars and arrays broadcast to one shape P, and every result has it.


def test_every_result_has_the_shape_of_the_points():
    g = gc.parse("input x\nparam w b\nc = 3\nu = w*2\nL = (w*x + b)**2")
    at = {"x": np.arange(4.0), "w": 2, "b": Fraction(1, 2)}
    for name, value in g.values(at).items():
        assert value.shape == (4,), name
        assert value.dtype == np.float64
    slopes = g.reverse("L", at)
    assert set(slopes) == {"L", "x", "w", "b"}
    for name, value in slopes.items():
        assert value.shape == (4,), name
    x = np.arange(4.0)
    np.testing.assert_allclose(slopes["w"], 2 * (2 * x + 0.5) * x)
    np.testing.assert_allclose(slopes["b"], 2 * (2 * x + 0.5))
    assert g.derivative("u", "w", at).shape == (4,)
    assert g.local("w", "u", at).shape == (4,)
    np.testing.assert_array_equal(g.derivative("u", "x", at), np.zeros(4))
    np.testing.assert_array_equal(g.all_pairs(at)["w", "u"], np.full(4, 2.0))
    assert g.jacobian(["L", "u"], ["x", "w"], at).shape == (4, 2, 2)
    assert g.pathwise("L", "w", at).value.shape == (4,)


def test_arrays_broadcast_against_each_other():
    g = gc.parse("input x y\nz = x*y")
    x, y = np.arange(3.0).reshape(3, 1), np.arange(5.0)
    at = {"x": x, "y": y}
    np.testing.assert_array_equal(g.values(at)["z"], x * y)
    np.testing.assert_array_equal(g.values(at)["x"], np.broadcast_to(x, (3, 5)))
    np.testing.assert_array_equal(g.reverse("z", at)["x"], np.broadcast_to(y, (3, 5)))
    with pytest.raises(gc.GraphcError, match="broadcast"):
        g.values({"x": np.zeros(3), "y": np.zeros(4)})


def test_a_seed_may_be_an_array():
    g = gc.parse("input x\ny = 3*x")
    found = g.reverse({"y": np.array([1.0, 2.0])}, {"x": 1.0})
    np.testing.assert_array_equal(found["x"], [3.0, 6.0])


def test_integer_arrays_become_floats():
    found = gc.parse("input x\ny = x/2").values({"x": np.array([1, 2, 3])})["y"]
    np.testing.assert_array_equal(found, [0.5, 1.0, 1.5])
    assert found.dtype == np.float64


def test_results_are_fresh_arrays():
    x = np.ones(3)
    found = gc.parse("input x\ny = x").values({"x": x})
    found["y"][0] = 7
    assert x.tolist() == found["x"].tolist() == [1, 1, 1]


def test_batches_are_points_one_by_one():
    g = gc.parse("input x y\na = sin(x*y)\nb = relu(a) + x**3\no = b*a")
    x, y = np.linspace(-2, 2, 7), np.linspace(1, 3, 7)
    batch = g.reverse("o", {"x": x, "y": y})
    for i in range(7):
        point = g.reverse("o", {"x": float(x[i]), "y": float(y[i])})
        for name in batch:
            np.testing.assert_allclose(batch[name][i], float(point[name]), rtol=1e-14)


def test_an_empty_batch_is_a_batch():
    g = gc.parse("input x\ny = exp(x)*erf(x)")
    assert g.reverse("y", {"x": np.zeros(0)})["x"].shape == (0,)


# Given values.


def test_given_values_are_used_and_overridden():
    g = gc.parse("input x = 1/3\nparam w = 2\ny = w*x")
    assert g.values({})["y"] == sympy.Rational(2, 3)
    assert g.values({"w": 3})["y"] == 1
    with pytest.raises(gc.GraphcError, match="there is no input or param 'v'"):
        g.values({"v": 1})
    with pytest.raises(gc.GraphcError, match="'y' is computed"):
        g.values({"y": 1})
    with pytest.raises(gc.GraphcError, match="missing for x"):
        gc.parse("input x\ny = x").values({})


# The budget: exact results stop growing.


def test_nine_steps_of_a_tanh_recurrence():
    g = gc.parse(
        "input x\nparam w u\nh0 = 0\nfor t in 1..9:\n  h[t] = tanh(w*h[t-1] + u*x)\nL = h9**2"
    )
    at = {"x": "1/2", "w": "3/4", "u": "-2/3"}
    effort = calls(lambda: g.reverse("L", at))
    found = g.reverse("L", at)
    with mpmath.workdps(40):

        def loss(w, u):
            h = mpmath.mpf(0)
            for _ in range(9):
                h = mpmath.tanh(w * h + u / 2)
            return h**2

        w, u = mpmath.mpf(3) / 4, -mpmath.mpf(2) / 3
        by_w, by_u = mpmath.diff(lambda w: loss(w, u), w), mpmath.diff(lambda u: loss(w, u), u)
        for name, expected in (("w", by_w), ("u", by_u)):
            error = abs(mpmath.mpf(found[name]._mpf_) - expected)
            assert error < mpmath.mpf(10) ** -20 * abs(expected), name
    assert effort < 200_000


def test_sixty_layers_of_the_ladder_cost_little(ladder):
    g = ladder(60)
    assert calls(lambda: g.derivative("o", "x", {"x": 1})) < 300_000
    found = g.derivative("o", "x", {"x": 1})
    assert calls(lambda: g.count_paths("x", "o")) < 10_000
    assert g.count_paths("x", "o") == 2**60
    with mpmath.workdps(40):
        s, product = mpmath.mpf(1), mpmath.mpf(1)
        for _ in range(59):
            product *= mpmath.cos(s) - mpmath.sin(s)
            s = mpmath.sin(s) + mpmath.cos(s)
        expected = product * mpmath.cos(2 * s)
        assert abs(mpmath.mpf(found._mpf_) - expected) < abs(expected) * mpmath.mpf(10) ** -20


def test_fractions_that_double_in_length_do_not_hang():
    g = gc.parse("input x\nn0 = x\nfor t in 1..40:\n  n[t] = n[t-1]*n[t-1] + 1/3")
    for x in ("1/2", "-1/3", 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                g.reverse("n40", {"x": x})
            except gc.GraphcError as error:
                assert "not a finite" in str(error)


def test_large_powers_do_not_hang():
    g = gc.parse("input x\ny = x**90000\nz = exp(exp(x))\nu = exp(z)")
    assert calls(lambda: g.derivative("y", "x", {"x": "7/3"})) < 10_000
    with pytest.raises(gc.GraphcError, match="'u'"):
        g.values({"x": 10})


def test_long_sums_of_roots_become_digits():
    roots = " + ".join(f"sqrt({n})" for n in range(2, 60))
    found = gc.parse(f"input x\ny = x*({roots})").derivative("y", "x", {"x": 1})
    with mpmath.workdps(40):
        expected = mpmath.fsum(mpmath.sqrt(n) for n in range(2, 60))
        assert abs(mpmath.mpf(found._mpf_) - expected) < 1e-27


# The textbook's numbers.


def test_item_2_10_is_exact_at_pi_third():
    g = gc.parse("input x\nf0 = x\nfor t in 1..4:\n  f[t] = sin(f[t-1]) + cos(f[t-1])")
    found = g.derivative("f4", "x", {"x": "pi/3"})
    s, expected = sympy.pi / 3, sympy.Integer(1)
    for _ in range(4):
        expected *= sympy.cos(s) - sympy.sin(s)
        s = sympy.sin(s) + sympy.cos(s)
    assert found.is_number
    assert not found.has(sympy.Float)
    assert found.evalf(40) == pytest.approx(expected.evalf(40), rel=1e-35)
    assert float(found) == 0.10888918491938174
    assert g.derivative("f4", "x", {"x": math.pi / 3}) == pytest.approx(float(found), rel=1e-14)


def test_item_2_16_with_five_layers(ladder):
    g = ladder(5)
    found = g.derivative("o", "x", {"x": 1})
    assert str(sympy.N(found, 27)).startswith("-0.06918566945763522890048939")
    by_paths = g.pathwise("o", "x", {"x": 1})
    assert len(by_paths.terms) == g.count_paths("x", "o") == 32
    assert abs(sympy.N(by_paths.value - found, 30)) < 1e-25
    assert g.derivative("o", "x", {"x": 1.0}) == pytest.approx(float(found), rel=1e-14)


def test_ladder_of_known_edges():
    """32 paths of six edges, each 3/10."""
    edges = {("x", "a1"): "3/10", ("x", "b1"): "3/10"}
    for t in range(2, 6):
        edges |= {(f"{s}{t - 1}", f"{e}{t}"): "3/10" for s in "ab" for e in "ab"}
    edges |= {("a5", "o"): "3/10", ("b5", "o"): "3/10"}
    g = gc.from_edges(edges)
    assert g.count_paths("x", "o") == 32
    for mode in ("reverse", "forward", "paths"):
        assert g.derivative("o", "x", {}, mode=mode) == sympy.Rational(729, 31250)
    assert g.derivative("o", "x") == sympy.Rational(729, 31250)


def test_derivatives_of_sigmoid_at_0():
    g = gc.parse("input x\ny = sigmoid(x)")
    found = [g.values({"x": 0})["y"]]
    for _ in range(3):
        g = g.differentiate(wrt="x")
        found.append(g.values({"x": 0})[g.output_names[0]])
    assert found == [Fraction(1, 2), Fraction(1, 4), 0, Fraction(-1, 8)]
    assert all(isinstance(value, sympy.Rational) for value in found)


# What has no value.


def test_an_exact_value_that_does_not_exist_names_the_node():
    g = gc.parse("input x\na = x - 1\nb = log(a)\nc = b + 1")
    with pytest.raises(gc.GraphcError, match=r"'b' = log\(a\)"):
        g.values({"x": 1})
    with pytest.raises(gc.GraphcError, match=r"'b' = log\(a\)"):
        g.reverse("c", {"x": 1})
    assert g.derivative("a", "x", {"x": 1}) == 1


def test_a_float_that_is_not_finite_is_told():
    g = gc.parse("input x\na = x - 1\nb = log(a)\nc = b + 1")
    with pytest.warns(gc.NotFiniteWarning, match=r"'b' = log\(a\)"):
        assert g.values({"x": 1.0})["c"] == -math.inf
    with pytest.warns(gc.NotFiniteWarning):
        assert g.derivative("c", "x", {"x": 1.0}) == math.inf
    with pytest.warns(gc.NotFiniteWarning):
        found = g.values({"x": np.array([1.0, 2.0])})["b"]
    assert found.tolist() == [-math.inf, 0.0]


@pytest.mark.parametrize(
    ("formula", "x"),
    [
        ("1/x", 0),
        ("x**-1", 0),
        ("sqrt(x)", -1),
        ("x**(1/2)", -2),
        ("asin(x)", 2),
        ("tan(x)", "pi/2"),
    ],
)
def test_exact_results_outside_the_domain_are_refused(formula, x):
    g = gc.parse(f"input x\ny = {formula}")
    with pytest.raises(gc.GraphcError, match="node 'y'"):
        g.values({"x": x})


def test_a_derivative_that_does_not_exist_is_refused():
    g = gc.parse("input x\ny = sqrt(x)")
    assert g.values({"x": 0})["y"] == 0
    with pytest.raises(gc.GraphcError, match="'y'"):
        g.derivative("y", "x", {"x": 0})
    with pytest.warns(gc.NotFiniteWarning):
        assert g.derivative("y", "x", {"x": 0.0}) == math.inf


def test_an_error_elsewhere_does_not_matter():
    g = gc.parse("input x\nbad = log(x)\ngood = x**2")
    assert g.derivative("good", "x", {"x": -1}) == -2
    assert g.reverse("good", {"x": -1}) == {"good": 1, "x": -2}


DEEP = "input x\nh = sin(sin(sin(sin(sin(sin(sin(x)))))))\n"  # nested too deep to stay exact


@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("input x\nL = (x + 1) - x", 10**3000),
        (DEEP + "L = (h + 10**60) - 10**60", 1),
        (DEEP + "L = where(h + 10**60 > 10**60, x, -x)", 1),
        (DEEP + "c = 10**60\nL = max(h + c, c)", 1),
    ],
)
def test_what_cancels_in_fifty_digits_is_refused(text, x):
    with pytest.raises(
        gc.GraphcError, match=r"'L' is not known: .* cancels more than the 50 digits"
    ):
        gc.parse(text).values({"x": x})


def test_exact_numbers_that_cancel_keep_their_digits():
    g = gc.parse("input x y\nL = (sqrt(x**2 + 1) - x)*y")
    assert g.values({"x": 10**60, "y": 1.0})["L"] == 5e-61
    irrational = gc.parse("input x y\nM = ((x + 10**60) - 10**60)*y")
    assert irrational.values({"x": sympy.sqrt(2), "y": 1.0})["M"] == 2**0.5


def test_true_zeros_of_long_numbers_are_not_refused():
    assert gc.parse(DEEP + "L = h - h").values({"x": 1})["L"] == 0
    slope = gc.parse(DEEP + "L = sigmoid(h) + sigmoid(-h)").derivative("L", "x", {"x": 1})
    assert abs(slope) < 1e-35
