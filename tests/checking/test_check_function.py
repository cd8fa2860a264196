"""Checking any function: arrays, dicts, lists, element-wise and vector functions, noise, kinks."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

import graphc as gc


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def verdict(f, grad, at, **options):
    return gc.check_function(f, grad, at, **options).verdict


def test_arrays_dicts_lists_and_numbers():
    x = np.array([1.0, 2.0, 3.0])
    assert verdict(lambda x: np.sum(np.sin(x)), np.cos, x) == "correct"
    assert verdict(lambda x: x**3, lambda x: 3 * x**2, 2) == "correct"
    assert verdict(lambda x: np.sum(x**2), lambda x: 2 * x, [1.0, 2.0]) == "correct"
    at = {"a": x, "b": 2 * x}
    assert verdict(lambda a, b: a @ b, lambda a, b: {"a": b, "b": a}, at) == "correct"
    assert verdict(lambda a, b: a @ b, lambda a, b: (b, a), [x, 2 * x]) == "correct"
    report = gc.check_function(lambda a, b: a @ b, lambda a, b: {"a": b}, at)
    assert report.ok and "leaves them out: b" in report.notes[0]


def test_the_wrong_coordinate_is_blamed():
    x = np.arange(6.0).reshape(2, 3)

    def grad(x):
        found = 2 * x
        found[1, 2] += 1e-3
        return found

    report = gc.check_function(lambda x: np.sum(x**2), grad, x)
    assert report.blame == [("x", (1, 2))] and report.verdict == "wrong"
    report = gc.check_function(lambda w: np.sum(w**2), lambda w: w, {"w": np.ones(2)})
    assert report.blame == [("w", 0), ("w", 1)]
    report = gc.check_function(lambda u, v: u * v, lambda u, v: (v, v), {"u": 2.0, "v": 3.0})
    assert report.blame == [("v", ())]


@pytest.mark.parametrize("power", range(1, 7))
def test_factors_are_told_apart(power):
    x = np.array([0.5, 1.5])
    f, grad = lambda x: np.sum(np.exp(x) * x), lambda x: np.exp(x) * (1 + x)
    assert verdict(f, grad, x) == "correct"
    assert verdict(f, lambda x: grad(x) * (1 + 10.0**-power), x) == "wrong"


def test_jacobians_and_element_wise_functions():
    matrix = np.arange(6.0).reshape(2, 3)
    x = np.ones(3)
    assert verdict(lambda x: matrix @ x, lambda x: matrix, x) == "correct"
    wrong = matrix.copy()
    wrong[1, 0] = 0
    report = gc.check_function(lambda x: matrix @ x, lambda x: wrong, x)
    assert report.blame == [("x", (1, 0))]
    assert verdict(np.tanh, lambda x: 1 - np.tanh(x) ** 2, x) == "correct"
    with pytest.raises(gc.GraphcError, match=r"shape \(2,\), but the argument has shape \(3,\)"):
        gc.check_function(lambda x: np.sum(x), lambda x: np.ones(2), x)


@pytest.mark.parametrize("distance", [10.0**-k for k in range(1, 10)])
def test_kinks_of_black_boxes(distance):
    f, grad = lambda x: np.abs(x) * 2 + np.sin(x), lambda x: 2 * np.sign(x) + np.cos(x)
    expected = "near-kink" if distance < 2e-3 else "correct"
    assert verdict(f, grad, distance) == verdict(f, grad, -distance) == expected
    assert verdict(f, lambda x: np.cos(x) - 2 * np.sign(x), distance) == "wrong"


def test_on_a_kink_a_slope_between_the_sides_is_a_convention():
    for slope in (-1.0, 0.0, 0.3, 1.0):
        assert verdict(np.abs, lambda x: slope, 0.0) == "at-kink"  # noqa: B023
    assert verdict(np.abs, lambda x: 1.5, 0.0) == "wrong"
    shifted = verdict(lambda x: np.maximum(x, 1.0) + x**2, lambda x: 2.0, 1.0)
    assert shifted == "at-kink"


def test_a_clamped_forward_pass_is_found_where_points_reach_it():
    def clamped(x):
        return sigmoid(np.clip(x, -10, 10))

    def grad(x):
        return sigmoid(x) * (1 - sigmoid(x))

    assert gc.check_function(clamped, grad, 1.0).ok
    assert not gc.check_function(clamped, grad, 12.0).ok
    for rng in range(5):
        report = gc.check_function(clamped, grad, 0.0, points=20, rng=rng)
        assert report.verdict == "wrong" and ("x", ()) in report.blame
        assert all(
            abs(report.points[row.point]["x"]) > 10 for row in report.rows if row.verdict == "wrong"
        )


@pytest.mark.parametrize(
    ("f", "grad", "x", "expected"),
    [
        (lambda x: 3.0, lambda x: 0.0, 1.0, "correct"),
        (lambda x: 3.0, lambda x: 1e-3, 1.0, "wrong"),
        (lambda x: x, lambda x: 1.0, 1e300, "correct"),
        (lambda x: x * x, lambda x: 2 * x, 1e300, "not-finite"),
        (lambda x: x * x, lambda x: 2 * x, 0.0, "correct"),
        (lambda x: 1 + x * x, lambda x: 2 * x, 0.0, "correct"),
        (np.sqrt, lambda x: 0.5 / np.sqrt(x), 0.0, "not-finite"),
        (math.log, lambda x: 1 / x, -1.0, "not-finite"),
        (lambda x: float("nan"), lambda x: 0.0, 1.0, "not-finite"),
        (lambda x: x, lambda x: float("inf"), 1.0, "not-finite"),
        (lambda x: x**1.5, lambda x: 1.5 * x**0.5, 0.0, "correct"),
        (lambda x: np.sin(1e5 * x), lambda x: 1e5 * np.cos(1e5 * x), 0.0, "correct"),
        (lambda x: 1e-200 * x**2, lambda x: 2e-200 * x, 3.0, "correct"),
        (lambda x: 1e200 * x**2, lambda x: 2e200 * x, 3.0, "correct"),
        (np.log, lambda x: 1 / x, 1e-12, "correct"),
        (np.log, lambda x: 1 / x, np.nan, "not-finite"),
    ],
)
def test_odd_values_get_verdicts(f, grad, x, expected):
    assert verdict(f, grad, x) == expected


def test_empty_arrays_have_nothing_to_check():
    for shape in ((0,), (3, 0)):
        report = gc.check_function(lambda x: np.sum(x), np.ones_like, np.zeros(shape))
        assert report.ok and report.rows == [] and "nothing to check" in str(report)


def test_float32_is_measured_in_float64_where_the_function_can():
    x = np.array([1, 2, 3], dtype=np.float32)
    assert verdict(lambda x: np.sum(np.exp(x)), np.exp, x) == "correct"
    assert (
        verdict(lambda x: np.sum(np.exp(x)), lambda x: np.exp(x) * np.float32(1.001), x) == "wrong"
    )
    single = lambda x: np.sum(np.exp(x.astype(np.float32)))  # noqa: E731
    assert gc.check_function(single, np.exp, x).ok
    assert not gc.check_function(single, lambda x: np.exp(x) * 2, x).ok


def test_noise_and_chance_are_detected():
    rng = np.random.default_rng(0)
    report = gc.check_function(
        lambda x: np.sum(x**2) + 1e-6 * rng.standard_normal(), lambda x: 2 * x, np.ones(2)
    )
    assert report.ok and report.verdict == "float-noise"
    assert "not deterministic" in report.notes[0]
    report = gc.check_function(
        lambda x: np.sum(x**2), lambda x: 2 * x + 1e-9 * rng.standard_normal(2), np.ones(2)
    )
    assert report.ok and "the gradient is not deterministic" in report.notes[0]


def test_cancellation_is_noise_and_not_wrong():
    f, grad = lambda x: (1e9 + x) - 1e9, lambda x: 1.0
    assert gc.check_function(f, grad, 0.1).ok
    assert not gc.check_function(f, lambda x: 2.0, 0.1).ok


def test_a_graph_gets_the_full_treatment():
    graph = gc.parse("input x\nh = relu(x)\ny = h*x")
    report = gc.check_function(graph, lambda x: {"x": 2 * x}, 1e-6)
    assert report.verdict == "near-kink" and report.kinks == ["h"]
    assert gc.check_function(graph, lambda x: 3 * x, 2.0).blame == [("x", None)]


def test_mistakes_are_explained():
    with pytest.raises(gc.GraphcError, match="needs a point"):
        gc.check_function(np.sin, np.cos)
    with pytest.raises(gc.GraphcError, match="needs the claimed gradient"):
        gc.check_function(np.sin, None, 1.0)
    with pytest.raises(gc.GraphcError, match="takes a function, not float"):
        gc.check_function(1.0, np.cos, 1.0)
    with pytest.raises(gc.GraphcError, match="the function raised TypeError"):
        gc.check_function(lambda x, y: x, np.cos, 1.0)
    with pytest.raises(gc.GraphcError, match="no argument of real numbers"):
        gc.check_function(np.sin, np.cos, "one")
    with pytest.raises(gc.GraphcError, match="one float for 2 arguments"):
        gc.check_function(lambda a, b: a * b, lambda a, b: 1.0, {"a": 1.0, "b": 2.0})
    with pytest.raises(gc.GraphcError, match="the gradient has c, which at= has not"):
        gc.check_function(lambda a: a, lambda a: {"c": 1.0}, {"a": 1.0})


def test_arguments_that_are_not_real_are_passed_along():
    def loss(w, rows, mean):
        return np.sum(w[rows] ** 2) / (2 if mean else 1)

    def grad(w, rows, mean):
        return {"w": np.where(rows, w, 0)}

    at = {"w": np.array([1.0, 2.0, 3.0]), "rows": np.array([True, False, True]), "mean": True}
    assert gc.check_function(loss, grad, at).ok
    assert gc.check_function(loss, grad, {**at, "mean": False}).blame == [("w", 0), ("w", 2)]


def test_assert_grad_shows_the_report():
    gc.testing.assert_grad(np.sin, np.cos, np.float64(1.0))
    gc.testing.assert_grad(gc.parse("input x = 2\ny = x**2"))
    with pytest.raises(AssertionError, match="to blame: x"):
        gc.testing.assert_grad(np.sin, np.sin, 1.0)
    with pytest.raises(AssertionError, match="wrong"):
        gc.testing.assert_grad(gc.parse("input x = 2\ny = x**2"), {"x": 5.0})


def test_a_failing_point_is_simplified():
    at = {"a": np.array([0.37, 1.9]), "b": np.array([3.1, 4.2])}
    report = gc.check_function(lambda a, b: a @ b, lambda a, b: (b, b), at, shrink=True)
    assert "{'a': [0.0, 0.0], 'b': [0.0, 1.0]}" in report.shrunk


# Many coordinates.


def many(count, wrong):
    """A quadratic with a gradient that is wrong in some coordinates."""
    rng = np.random.default_rng(5)
    weights = rng.uniform(0.5, 2, count)
    x = rng.standard_normal(count)

    def f(x):
        f.calls += 1
        return float(np.sum(weights * np.tanh(x)))

    def grad(x):
        found = weights * (1 - np.tanh(x) ** 2)
        for place, error in wrong.items():
            found[place] += error
        return found

    f.calls = 0
    return f, grad, x


def test_a_right_gradient_of_many_coordinates_costs_a_few_evaluations():
    f, grad, x = many(50_000, {})
    report = gc.check_function(f, grad, x)
    assert report.ok and f.calls < 20 and "50000 coordinates" in report.notes[0]
    assert "with 12 evaluations" in report.notes[0]


@pytest.mark.parametrize(
    "wrong", [{7: 0.1}, {0: 1e-3, 49_999: -0.2}, {5: 1, 6: -1, 30_000: 0.01, 30_001: 0.01}]
)
def test_wrong_coordinates_are_found_by_halving(wrong):
    f, grad, x = many(50_000, wrong)
    report = gc.check_function(f, grad, x)
    assert sorted(index[0] for _, index in report.blame) == sorted(wrong)
    assert f.calls < 150 * len(wrong)
    assert not report.ok and "would have been seen" in report.notes[0]


def test_a_budget_is_kept_and_told():
    f, grad, x = many(50_000, {5: 1, 600: 1, 7_000: 1})
    report = gc.check_function(f, grad, x, max_evals=60)
    assert f.calls < 160 and "not complete" in report.notes[-1]
    report = gc.check_function(f, grad, x, seconds=0.0)
    assert "not complete" in report.notes[-1]


def test_progress_is_shown(capsys):
    f, grad, x = many(5_000, {5: 1})
    gc.check_function(f, grad, x, progress=True)
    assert "looking among 5000 coordinates" in capsys.readouterr().err


def test_checking_functions_brings_no_sympy():
    code = (
        "import sys, graphc as gc\n"
        "assert gc.check_function(lambda x: x**2, lambda x: 2*x, 3.0).ok\n"
        "assert 'sympy' not in sys.modules and 'rich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_wrong_slope_of_a_smooth_function_is_no_kink():
    for function, slope, at in (
        (lambda x: x**2, lambda x: 3 * x, 3.0),
        (lambda x: float(np.sum(x**3)), lambda x: 2.9 * x**2, np.array([0.5, 2.0])),
    ):
        report = gc.check_function(function, slope, at)
        assert report.verdict == "wrong" and not list(report.kinks)
        assert all("kink" not in row.evidence for row in report.rows)


# A verdict is never better than its evidence.


def softmax(x):
    raised = np.exp(x - x.max())
    return raised / raised.sum()


def test_a_claim_of_the_functions_own_shape_is_a_diagonal_only_if_the_rest_is_zero():
    x = np.array([0.1, 0.2, 0.3])
    report = gc.check_function(softmax, lambda x: softmax(x) * (1 - softmax(x)), x)
    assert report.verdict == "wrong" and all(len(index) == 2 for _, index in report.blame)
    assert "give all of it, of shape (3, 3)" in str(report).replace("\n", " ")
    s = softmax(x)
    assert verdict(softmax, lambda x: np.diag(s) - np.outer(s, s), x) == "correct"
    assert verdict(np.tanh, lambda x: 1 - np.tanh(x) ** 2, np.ones((2, 2))) == "correct"
    assert verdict(lambda x: x[::-1] * 1.0, lambda x: np.zeros(2), np.array([1.0, 2.0])) == "wrong"


def added(f, g):
    return lambda x: f(x) + g(x)


@pytest.mark.parametrize("place", [0.5, 1.0, -2.0])
@pytest.mark.parametrize("width", [10.0**-k for k in range(1, 9)])
def test_narrow_features_are_seen(width, place):
    def bump(x):
        return np.exp(-(((x - 1) / width) ** 2))

    def slope(x):
        return -2 * (x - 1) / width**2 * bump(x)

    def odd(x):
        return (x - 1) / width * bump(x)

    def odd_slope(x):
        return bump(x) * (1 - 2 * ((x - 1) / width) ** 2) / width

    at = 1 + width * place
    for f, grad in ((bump, slope), (odd, odd_slope)):
        both, slopes = added(np.sin, f), added(np.cos, grad)
        assert gc.check_function(both, slopes, at).ok
        assert verdict(f, lambda x: 0.0, at) != "correct"
        assert verdict(both, np.cos, at) != "correct"
    assert verdict(lambda x: np.sin(x) + odd(x), np.cos, 1.0) != "correct"


@pytest.mark.parametrize("offset", [10.0**k for k in range(0, 18, 2)])
@pytest.mark.parametrize("factor", [-1, 0, 0.99, 1.01, 7])
def test_what_an_offset_hides_is_not_correct(offset, factor):
    f = lambda x: offset + np.sin(x)  # noqa: E731
    report = gc.check_function(f, lambda x: factor * np.cos(x), 1.0)
    (row,) = report.rows
    assert row.verdict != "correct" or abs(1 - factor) * np.cos(1.0) <= row.bound
    strictly = gc.check_function(f, lambda x: factor * np.cos(x), 1.0, strict=True)
    assert factor == 0 or not strictly.ok
    assert gc.check_function(f, np.cos, 1.0).ok


def test_what_other_scales_hide_is_not_correct():
    t = np.array([-300.0, 0.0, 300.0])
    for factor in (7, 1, 0):
        report = gc.check_function(lambda t: np.sum(np.exp(t)), np.exp(t) * [1, factor, 1], t)
        assert [row.verdict for row in report.rows][1:] == ["float-noise", "correct"]
        assert report.ok


def test_the_bound_of_a_correct_verdict_is_printed():
    report = gc.check_function(np.sin, np.cos, 1.0)
    assert "correct up to 1.6e-08 of a derivative" in str(report)
    assert json.loads(report.to_json())["rows"][0]["bound"] == report.rows[0].bound < 1e-8
    report = gc.check_function(lambda x: 1 + x * x, lambda x: 2 * x, 0.0)
    assert report.verdict == "correct" and "where it is nearly 0" in str(report)


def test_float32_above_2000_coordinates():
    x = np.random.default_rng(0).standard_normal(3_000).astype(np.float32)

    def narrow(x):
        return np.sum(np.exp(x.astype(np.float32)), dtype=np.float32)

    def wrong(x, factor):
        found = np.exp(x)
        found[7] *= np.float32(factor)
        return found

    for factor in (3.4, -1.4):
        report = gc.check_function(narrow, lambda x: wrong(x, factor), x)  # noqa: B023
        assert report.verdict == "wrong" and report.blame == [("x", (7,))]
    for f in (narrow, lambda x: np.sum(np.exp(x))):
        report = gc.check_function(f, np.exp, x)
        assert report.ok and "!" not in str(report)
        assert not gc.check_function(f, lambda x: 3.4 * np.exp(x), x).ok


def test_without_time_a_direction_is_measured_all_the_same():
    x = np.array([1.0, 2.0, 3.0])
    assert not gc.check_function(lambda x: np.sum(x**2), lambda x: 3 * x, x, seconds=0).ok
    assert gc.check_function(lambda x: np.sum(x**2), lambda x: 2 * x, x, seconds=0).ok
    at_kink = gc.check_function(
        lambda x: np.sum(np.maximum(x, 0)), lambda x: 1.0 * (x > 0), 0 * x, seconds=0
    )
    assert at_kink.ok
    with pytest.raises(gc.GraphcError, match="ended before a derivative was measured"):
        gc.check_function(lambda x: x**2, lambda x: 3 * x, x, seconds=0)


def test_a_gradient_with_too_few_parts_is_refused():
    at = {"a": np.ones(2), "b": np.ones(2)}
    with pytest.raises(gc.GraphcError, match=r"1 parts for 2 arguments \(a, b\)"):
        gc.check_function(lambda a, b: a @ b, lambda a, b: (b,), at)
    report = gc.check_function(lambda a, b: a @ b, lambda a, b: (b, None), at)
    assert "leaves them out: b" in report.notes[0]
    at = {"a": np.ones(2), "rows": np.array([True, False])}
    assert gc.check_function(lambda a, rows: a[rows].sum(), lambda a, rows: (1.0 * rows,), at).ok
    graph = gc.parse("input a b\ny = a*b")
    with pytest.raises(gc.GraphcError, match=r"1 parts for 2 arguments \(a, b\)"):
        gc.check_function(graph, lambda a, b: (b,), {"a": 1.0, "b": 2.0})


def test_points_are_drawn_for_graphs_too():
    graph = gc.parse("input x\ny = abs(x)*x")
    report = gc.check_function(graph, lambda x: 2 * x, 1.0, points=8)
    assert len(report.points) == 8 and report.verdict == "wrong"
    assert {row.point for row in report.rows} == set(range(8))
    assert gc.check_function(graph, lambda x: 2 * abs(x), points=8).ok
    assert gc.check_function(graph, points=8).ok


def test_the_smallest_numbers_there_are():
    assert verdict(lambda x: x, lambda x: 1.0, 5e-324) == "correct"
    assert verdict(lambda x: x, lambda x: 2.0, 5e-324) == "wrong"
    assert gc.check_function(lambda x: x * x, lambda x: 2 * x, 5e-324).ok
    assert verdict(np.log, lambda x: 1 / x, 1e-305) == "correct"


def test_stairs_of_rounding_are_no_slopes():
    stairs = lambda x: ((1e9 + x) - 1e9) + x * x  # noqa: E731
    assert gc.check_function(stairs, lambda x: 1 + 2 * x, 0.1).ok
    assert not gc.check_function(stairs, lambda x: 2 * x, 0.1).ok


@pytest.mark.parametrize(
    ("f", "grad", "x"),
    [
        (lambda x: np.log(sigmoid(x)), lambda x: 1 / (1 + np.exp(x)), 40.0),
        (lambda x: np.log(sigmoid(x)), lambda x: 1 / (1 + np.exp(x)), 37.0),
        (lambda x: np.log(1 + np.exp(-x)), lambda x: -1 / (1 + np.exp(x)), 40.0),
        (lambda x: np.tanh(x) - 1, lambda x: 1 / np.cosh(x) ** 2, 30.0),
        (lambda x: np.tanh(50 * x) - 1, lambda x: 50 / np.cosh(50 * x) ** 2, 0.45),
        (lambda x: np.sum(np.tanh(x)), lambda x: 1 / np.cosh(x) ** 2, np.array([30.0, -40.0])),
        (
            lambda x: np.sum(np.tanh(50 * x)),
            lambda x: 50 / np.cosh(50 * x) ** 2,
            np.array([3.44971989, -2.52497346, 4.38157, -1.02479669]),
        ),
    ],
)
def test_what_a_flat_place_hides_is_noise_and_not_wrong(f, grad, x):
    assert {row.verdict for row in gc.check_function(f, grad, x).rows} == {"float-noise"}
    assert verdict(f, lambda x: grad(x) + 1e-3, x) == "wrong"


def test_a_flat_function_has_no_slope_that_would_show():
    assert verdict(lambda x: 0 * x, lambda x: 1.0, 2.0) == "wrong"
    assert verdict(lambda x: 0 * x, lambda x: 1e-12, 2.0) == "wrong"
    assert verdict(lambda x: 0 * x, lambda x: 1e-17, 2.0) == "float-noise"
    assert verdict(lambda x: 0 * x, lambda x: 0.0, 2.0) == "correct"
    assert verdict(lambda x: np.maximum(x - 1, 0), lambda x: 1e-17, 0.95) == "float-noise"
    assert verdict(lambda x: 1e-30 * x, lambda x: 2e-30, 2.0) == "wrong"


def test_complex_values_and_claims_are_refused():
    x = np.array([1.0, 2.0])
    with pytest.raises(gc.GraphcError, match="the gradient by 'x' is complex"):
        gc.check_function(lambda x: np.sum(x**2), lambda x: 2 * x + 3j, x)
    with pytest.raises(gc.GraphcError, match="the value of the function is complex"):
        gc.check_function(lambda x: np.sum(x * 1j), lambda x: 0 * x, x)


def test_a_curve_needs_one_derivative(tmp_path):
    f, grad, x = many(3_000, {})
    with pytest.raises(gc.GraphcError, match="along a direction of many"):
        gc.check_function(f, grad, x).plot(str(tmp_path / "curve.svg"))
    f, grad, x = many(3_000, {7: 1.0})
    gc.check_function(f, grad, x).plot(str(tmp_path / "curve.svg"))
