"""The table of functions: every record goes through the same tests, over its own domain."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from probes import (
    EXTREMES,
    INTERNAL,
    PROBES,
    SATURATING,
    Probe,
    points,
    referee,
)

import graphc as gc
from graphc.table.functions import FUNCTIONS

every = pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)


def assert_close(found: float, expected: Any, probe: Probe, point: Any, tolerance=1e-12) -> None:
    floor = 4 * np.finfo(float).eps if probe.name in SATURATING else 1e-300
    error = abs(mpmath.mpf(found) - expected)
    assert error <= tolerance * abs(expected) + floor, (
        f"{probe.name} at {point}: {found} instead of {mpmath.nstr(expected, 20)}"
    )


# Value and derivative.


@every
@pytest.mark.filterwarnings("error")
def test_the_code_is_the_formula(probe: Probe):
    for point in points(probe):
        expected = referee(probe.value, point)
        if expected is not None:
            assert_close(probe.graph.values(probe.at(point))["y"], expected, probe, point)


@every
def test_floats_in_floats_out(probe: Probe):
    for point in points(probe)[:6]:
        assert type(probe.graph.values(probe.at(point))["y"]) is float


@every
@pytest.mark.filterwarnings("ignore::graphc.KinkWarning", "error::RuntimeWarning")
def test_the_derivative_is_that_of_the_formula(probe: Probe):
    for point in points(probe):
        found = probe.graph.reverse("y", probe.at(point))
        for name, slope in zip(probe.inputs, probe.slopes, strict=True):
            expected = None if found.kinks else referee(slope, point)
            if expected is not None:
                assert_close(found[name], expected, probe, point)


@every
@pytest.mark.filterwarnings("ignore::graphc.KinkWarning")
def test_the_derivative_in_50_digits_is_the_central_difference(probe: Probe):
    h = mpmath.mpf(10) ** -20
    for point in points(probe)[:6]:
        with mpmath.workdps(60):
            exact = tuple(map(mpmath.mpf, point))
            found = probe.graph.reverse("y", probe.at(exact))
            assert not found.kinks
            for place, name in enumerate(probe.inputs):
                up = (*exact[:place], exact[place] + h, *exact[place + 1 :])
                down = (*exact[:place], exact[place] - h, *exact[place + 1 :])
                slope = (probe.value(*up) - probe.value(*down)) / (2 * h)
                assert abs(found[name] - slope) < mpmath.mpf(10) ** -30 * (1 + abs(slope)), name


@every
@pytest.mark.filterwarnings("ignore::graphc.KinkWarning")
def test_symbols_give_the_same_derivative(probe: Probe):
    symbolic = probe.graph.reverse("y", form="inputs")
    for point in points(probe)[:6]:
        at = {
            sympy.Symbol(name): sympy.Rational(*p.as_integer_ratio())
            for name, p in zip(probe.inputs, point, strict=True)
        }
        numbers = probe.graph.reverse("y", probe.at(point))
        for name in probe.inputs:
            found = sympy.N(sympy.sympify(symbolic[name]).subs(at), 30)
            assert_close(numbers[name], mpmath.mpf(found._mpf_ if found else 0), probe, point)


@every
@pytest.mark.filterwarnings("ignore")
def test_arrays_are_scalars_element_by_element(probe: Probe):
    columns = [np.array(column) for column in zip(*points(probe), strict=True)]
    batch_at = dict(zip(probe.inputs, columns, strict=True))
    values = probe.graph.values(batch_at)["y"]
    slopes = probe.graph.reverse("y", batch_at)
    assert values.shape == columns[0].shape
    for i, point in enumerate(points(probe)):
        scalar = probe.graph.values(probe.at(point))["y"]
        np.testing.assert_allclose(values[i], float(scalar), rtol=1e-15)
        for name, slope in probe.graph.reverse("y", probe.at(point)).items():
            np.testing.assert_allclose(
                slopes[name][i], float(slope), rtol=1e-14, err_msg=f"{name} at {point}"
            )


# Text.


@every
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "surround",
    [lambda f: 1 / f, lambda f: -(f**2), lambda f: 2**f, lambda f: (1 - f) * 3 - f / f],
    ids=["1/f", "-f**2", "2**f", "mixed"],
)
def test_text_keeps_the_precedence(probe: Probe, surround):
    g = gc.Graph()
    g.node("y", surround(probe.build(*(g.input(name) for name in probe.inputs))))
    read_back = gc.parse(g.to_text())
    assert read_back.to_text() == g.to_text()
    for point in points(probe)[:3]:
        value = probe.graph.values(probe.at(point))["y"]
        if value:  # 1/f
            assert g.values(probe.at(point))["y"] == pytest.approx(surround(value), rel=1e-12)
            assert read_back.values(probe.at(point)) == g.values(probe.at(point))
            assert read_back.reverse("y", probe.at(point)) == g.reverse("y", probe.at(point))


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in INTERNAL])
def test_functions_are_called_by_name_in_text(name: str):
    record = FUNCTIONS[name]
    if record.infix or name in ("where", "identity"):
        pytest.skip("written as an operator, or not a function of numbers alone")
    arguments = [f"u{i}" for i in range(len(record.domain))]
    g = gc.parse(f"input {' '.join(arguments)}\ny = {name}({', '.join(arguments)})")
    assert g["y"].text == f"{name}({', '.join(arguments)})"
    assert getattr(gc, name) is record


@every
def test_latex_takes_the_operands(probe: Probe):
    operands = [rf"\alpha_{i}" for i in range(len(probe.record.domain))]
    settings = ["2"] * len(probe.record.attributes)
    shown = probe.record.latex.format(*operands, *settings)
    assert shown.count("{") == shown.count("}")
    assert probe.name == "pi" or r"\alpha_0" in shown


# Extremes that the plain formula does not survive.


@pytest.mark.parametrize(("name", "point"), EXTREMES, ids=lambda v: str(v))
@pytest.mark.filterwarnings("error")
def test_stable_forms_at_extremes(name: str, point: tuple[float, ...]):
    probe = next(probe for probe in PROBES if probe.name == name)
    at = probe.at(tuple(map(float, point)))
    for found in (probe.graph.values(at)["y"], *probe.graph.reverse("y", at).values()):
        assert math.isfinite(found)
    with mpmath.workdps(9000 if abs(point[0]) > 1000 else 800):
        expected = probe.value(*map(mpmath.mpf, point))
    assert_close(probe.graph.values(at)["y"], expected, probe, point)
    batch = probe.graph.values({name: np.array([u, u]) for name, u in at.items()})["y"]
    np.testing.assert_allclose(batch, float(probe.graph.values(at)["y"]), rtol=1e-15)


def test_a_function_of_the_table_takes_plain_numbers():
    assert gc.sigmoid(0) == sympy.Rational(1, 2)
    assert gc.sin(sympy.pi / 6) == sympy.Rational(1, 2)
    assert gc.relu(-2.5) == 0
    assert gc.maximum(1, Fraction(3, 2), -1) == sympy.Rational(3, 2)
    np.testing.assert_array_equal(gc.relu(np.array([-1.0, 2.0])), [0.0, 2.0])


# Functions of the user.


pytestmark = pytest.mark.usefixtures("own_functions")
x, y = sympy.symbols("x y")


def test_declare_needs_only_a_formula():
    swish = gc.declare("swish", lambda u: u * gc.sigmoid(u))
    g = gc.parse("input x\ny = swish(x)")
    assert g.values({"x": 0})["y"] == 0
    assert g.derivative("y", "x", {"x": 0}) == sympy.Rational(1, 2)
    assert g.derivative("y", "x", {"x": 1.5}) == pytest.approx(
        gc.parse("input x\ny = silu(x)").derivative("y", "x", {"x": 1.5}), rel=1e-15
    )
    assert swish(0) == 0
    assert gc.parse(g.to_text()).to_text() == g.to_text()


def test_declare_with_the_derivative_by_the_argument():
    gc.declare("cube", lambda u: u**3, derivative=lambda u: 3 * u**2)
    g = gc.parse("input x\ny = cube(2*x)")
    assert sympy.expand(g.derivative("y", "x") - 24 * x**2) == 0
    assert g.derivative("y", "x", {"x": Fraction(1, 2)}) == 6


def test_declare_with_the_derivative_by_the_own_value():
    gc.declare("logistic", lambda u: 1 / (1 + gc.exp(-u)), derivative=lambda u, o: o * (1 - o))
    g = gc.parse("input x\ny = logistic(x)")
    assert g.derivative("y", "x", {"x": 0}) == sympy.Rational(1, 4)
    third = g.differentiate("y", "x").differentiate(wrt="x").differentiate(wrt="x")
    assert third.values({"x": 0})[third.output_names[0]] == sympy.Rational(-1, 8)


def test_a_declared_derivative_is_used_and_not_the_formula():
    gc.declare("straight_through", lambda u: gc.heaviside(u), derivative=lambda u: 1)
    g = gc.parse("input x\ny = straight_through(x)")
    assert g.derivative("y", "x", {"x": -3}) == 1
    assert g.derivative("y", "x") == 1


def test_declare_with_two_arguments():
    gc.declare("ratio", lambda u, v: u / v, derivative=(lambda u, v: 1 / v, lambda u, v, o: -o / v))
    g = gc.parse("input x y\nz = ratio(x, y)")
    assert g.derivative("z", "x") == 1 / y
    assert sympy.simplify(g.derivative("z", "y", form="inputs") + x / y**2) == 0
    assert g.reverse("z", {"x": 1, "y": 2}) == {"z": 1, "y": Fraction(-1, 4), "x": Fraction(1, 2)}


def test_declare_with_one_function_of_both_derivatives():
    gc.declare("product", lambda u, v: u * v, derivative=lambda u, v: (v, u))
    g = gc.parse("input x y\nz = product(x, y)")
    assert g.reverse("z", {"x": 3, "y": 5}) == {"z": 1, "y": 3, "x": 5}


def test_declare_with_a_default_argument():
    gc.declare("scaled", lambda u, k=Fraction(1, 2): k * u)
    g = gc.parse("input x\na = scaled(x)\nb = scaled(x, 3)\nc = scaled(x, k=4)")
    assert g.values({"x": 2}) == {"x": 2, "a": 1, "b": 6, "c": 8}
    assert gc.parse(g.to_text()).values({"x": 2}) == g.values({"x": 2})


def test_declare_with_kinks_tells_them():
    gc.declare("bend", lambda u: gc.maximum(u, 2 * u), kinks=[0], derivative=lambda u: 2)
    g = gc.parse("input x\ny = bend(x)")
    with pytest.warns(gc.KinkWarning, match="'y'"):
        assert g.reverse("y", {"x": 0}).kinks == ("y",)
    assert g.reverse("y", {"x": 1}).kinks == ()


def test_the_kinks_of_a_formula_are_told_without_declaring_them():
    gc.declare("tent", lambda u: 1 - gc.abs(u))
    g = gc.parse("input x\ny = tent(x)")
    with pytest.warns(gc.KinkWarning):
        assert g.derivative("y", "x", {"x": 0}) == 0
    assert g.derivative("y", "x", {"x": 2}) == -1


def test_redeclaring_changes_what_is_declared_next():
    gc.declare("mine", lambda u: u + 1)
    first = gc.parse("input x\ny = mine(x)")
    assert first.values({"x": 1})["y"] == 2
    gc.declare("mine", lambda u: 3 * u)
    second = gc.parse("input x\ny = mine(x)")
    assert second.values({"x": 1})["y"] == 3
    assert second.derivative("y", "x", {"x": 1}) == 3


def test_a_declared_function_may_use_another():
    double = gc.declare("double", lambda u: 2 * u)
    gc.declare("fourfold", lambda u: double(double(u)))
    assert gc.parse("input x\ny = fourfold(x)").derivative("y", "x") == 4


GOOD = lambda u: u * u  # noqa: E731
BAD_DECLARATIONS = {
    "a name of ours": ("sin", GOOD, {}),
    "an alias of ours": ("max", GOOD, {}),
    "a family function": ("sum", GOOD, {}),
    "no identifier": ("two words", GOOD, {}),
    "a keyword": ("lambda", GOOD, {}),
    "a reserved word": ("input", GOOD, {}),
    "not a string": (3, GOOD, {}),
    "not a function": ("f", 3, {}),
    "a builtin without signature": ("f", max, {}),
    "no arguments": ("f", lambda: 1, {}),
    "any number of arguments": ("f", lambda *u: u[0], {}),
    "keyword-only arguments": ("f", lambda u, *, k: u, {}),
    "no result": ("f", lambda u: None, {}),
    "a result that is text": ("f", lambda u: "u", {}),
    "an if": ("f", lambda u: u if u > 0 else -u, {}),
    "math instead of gc": ("f", lambda u: math.sin(u), {}),
    "a Python error": ("f", lambda u: 1 / 0, {}),
    "a wrong call": ("f", lambda u: gc.sin(u, u), {}),
    "a derivative that is a number": ("f", GOOD, {"derivative": 3}),
    "a derivative of too few arguments": ("f", GOOD, {"derivative": lambda: 1}),
    "a derivative of too many arguments": ("f", GOOD, {"derivative": lambda u, o, k: 1}),
    "a derivative of too many results": ("f", GOOD, {"derivative": lambda u: (1, 2)}),
    "a derivative without result": ("f", GOOD, {"derivative": lambda u: None}),
    "too few derivatives": ("f", lambda u, v: u * v, {"derivative": (lambda u, v: v,)}),
    "a kink that is text": ("f", GOOD, {"kinks": ["a"]}),
    "a kink that is no list": ("f", GOOD, {"kinks": 3}),
    "a kink that is not finite": ("f", GOOD, {"kinks": [math.nan]}),
    "places of kinks in the plane": ("f", lambda u, v: u * v, {"kinks": [0]}),
    "a domain that is a number": ("f", GOOD, {"domain": 3}),
    "a domain of three ends": ("f", GOOD, {"domain": (0, 1, 2)}),
    "a domain of text": ("f", GOOD, {"domain": ("a", "b")}),
    "code that is no dict": ("f", GOOD, {"code": 3}),
}


@pytest.mark.parametrize("bad", BAD_DECLARATIONS)
def test_a_bad_declaration_is_one_sentence(bad: str):
    name, formula, more = BAD_DECLARATIONS[bad]
    before = dict(FUNCTIONS)
    with pytest.raises(gc.GraphcError) as error:
        gc.declare(name, formula, **more)
    assert re.match(r"^\S.*\S$", str(error.value))  # one line
    assert before == FUNCTIONS
