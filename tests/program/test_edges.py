"""At the edges: branches not taken, infinities and signed zeros, the same in every engine."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import edge_values
import numpy as np
import pytest
from cupy_stand_in import COMPILER, standing_in
from edge_graphs import NODE, Case, answers, cases, in_javascript, truth
from edge_values import engines, graphs, points, same_class, slopes
from engines import ENGINES

import graphc as gc

CASES = list(cases())
GRAPHS = graphs()
every = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every
def test_a_branch_that_is_not_taken_contributes_nothing(case: Case):
    for x in case.closed:
        expected = truth(case, x)
        wrong = [
            f"x = {x}, {engine}: {found}, not {expected[order]}"
            for order, engine, found in answers(case, x)
            if found != pytest.approx(expected[order], rel=1e-14, abs=0)
        ]
        assert not wrong, "\n".join([case.text, *wrong])


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_a_page_has_no_part_of_the_branch_that_is_not_taken():
    asked = [(case, x) for case in CASES for x in case.closed]
    found = in_javascript([(gc.parse(case.text), {"x": x}) for case, x in asked])
    for (case, x), pair in zip(asked, found, strict=True):
        first = truth(case, x)[1]
        assert pair == [pytest.approx(first)] * 2, f"{case.text} at {x}"


# Values: what NumPy gives for the operations one by one, in every engine.


def told(name: str, engine: str, found: np.ndarray, right: np.ndarray, same: np.ndarray) -> str:
    """The first points at which an engine differs."""
    at = points(GRAPHS[name][1])
    lines = [
        f"{name}, {engine} at { ({key: float(column[k]) for key, column in at.items()}) }: "
        f"{found[k]}, not {right[k]}"
        for k in np.flatnonzero(~same)[:5]
    ]
    return "\n".join(lines)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_value_at_the_edges_is_of_one_kind_in_every_engine(name: str):
    graph, count = GRAPHS[name]
    (_, right), *others = engines(graph, points(count))
    for engine, found in others:
        same = same_class(found, right)
        assert same.all(), told(name, engine, found, right, same)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_derivative_at_the_edges_is_of_one_kind_in_every_engine(name: str):
    graph, count = GRAPHS[name]
    at = points(count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        undefined = np.isnan(np.broadcast_to(graph.values(at)["y"], len(at["s0"])))
    for operand in [node for node in graph if node[0] in "uab"]:
        (_, right), *others = slopes(graph, operand, at)
        for engine, found in others:  # where there is no value, a derivative means nothing
            same = same_class(found, right, zeros=False) | undefined
            assert same.all(), told(name, f"{engine} by {operand}", found, right, same)


def interpreted(name: str) -> np.ndarray:
    return next(engines(*_at_points(name)))[1]


def _at_points(name: str) -> tuple[gc.Graph, dict[str, np.ndarray]]:
    graph, count = GRAPHS[name]
    return graph, points(count)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_values_at_the_edges_in_javascript():
    found = edge_values.in_javascript([_at_points(name) for name in GRAPHS])
    for name, values in zip(GRAPHS, found, strict=True):
        right = interpreted(name)
        same = same_class(values, right)
        assert same.all(), told(name, "JavaScript", values, right, same)


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
def test_values_at_the_edges_in_kernels():
    with standing_in():
        for name, function in edge_values.kernels().items():
            right = interpreted(name)
            found = np.broadcast_to(function(**_at_points(name)[1]), right.shape)
            same = same_class(found, right)
            assert same.all(), told(name, "a kernel", found, right, same)


def test_another_kind_of_number_is_noticed():
    zero, one = np.array([0.0]), np.array([1.0])
    assert same_class(zero, zero).all()
    assert not same_class(-zero, zero).any()
    assert same_class(-zero, zero, zeros=False).all()
    with np.errstate(all="ignore"):
        for other in (one / zero, -one / zero, zero / zero, one):
            assert not same_class(zero, other).any()
            assert not same_class(other, zero, zeros=False).any()


# Elements that are only moved, repeated or multiplied keep the sign of a zero; sums start at +0.

MOVED = {
    "pad(x, 1)": lambda x: np.pad(x, 1),
    "scatter(x, [3, 0], 4)": lambda x: np.array([x[1], 0, 0, x[0]]),
    "scatter(x, [1, 1], 2)": lambda x: np.array([0, 0 + x[0] + x[1]]),
    "broadcast_to(reshape(x, (2, 1)), (2, 3))": lambda x: np.broadcast_to(x[:, None], (2, 3)),
    "broadcast_to(x[:1], 3)": lambda x: np.broadcast_to(x[:1], 3),
    "outer(x, [1, -1])": lambda x: np.outer(x, [1, -1]),
    'einsum("a,a->a", x, [1, -1])': lambda x: x * [1, -1],
    'einsum("a,->a", x, x[0]*x[0] + 1)': lambda x: x * (x[0] * x[0] + 1),
    'einsum("a,b,a->ba", x, [1, -1, 1], [1, 1])': lambda x: x * np.array([[1], [-1], [1]]),
    'einsum("a,bc->bac", x, [[1, -1]])': lambda x: np.array([[[u, -u] for u in x]]),
    "diag(x)": np.diag,
    "take(x, [[0, 0], [1, 0]])": lambda x: x[[[0, 0], [1, 0]]],
    "max(x)": np.max,
    "sum(x)": np.sum,
    "x @ [1, 1]": lambda x: x @ np.ones(2),
}


@pytest.mark.parametrize("formula", MOVED)
def test_elements_that_are_moved_keep_the_sign_of_zero(formula: str):
    graph = gc.parse(f"input x[2]\ny = {formula}")
    x = np.array([-0.0, -0.0])
    right = MOVED[formula](x)
    found = [graph.values({"x": x})["y"], graph.expand().values({"x": x})["y"]]
    found += [graph.compile("y", want="value", **engine)(x) for engine in ENGINES.values()]
    for value in found:
        assert np.shape(value) == np.shape(right)
        assert same_class(np.ravel(value), np.ravel(right)).all(), value


# Single places.


def everywhere(text: str, wrt: str, **at: Any) -> list[Any]:
    """The derivative of L in every engine."""
    graph = gc.parse(text)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = [graph.derivative("L", wrt, at=at, mode=mode) for mode in ("reverse", "forward")]
        slope = graph.differentiate("L", wrt)
        found.append(slope.values(at)[slope.output_names[0]])
        for engine in ENGINES.values():
            found.append(graph.compile("L", wrt, want="grad", **engine)(**at)[wrt])
    return [np.asarray(value, dtype=float).tolist() for value in found]


@pytest.mark.parametrize(
    ("text", "wrt", "at", "right"),
    [
        ("input x\nL = 0*sqrt(x)", "x", {"x": 0.0}, 0.0),
        ("input x\nh = sqrt(x)\nL = 0*h + 2*x", "x", {"x": 0.0}, 2.0),
        ("input x y\nL = x**y", "y", {"x": 0.0, "y": 2.0}, 0.0),
        ("input x y\nL = x**y", "y", {"x": 0.0, "y": 0.0}, -math.inf),
        ("input x y\nL = x**y", "x", {"x": 0.0, "y": 0.0}, 0.0),
        ("input x y\nL = x**y", "x", {"x": 0.0, "y": 1.0}, 1.0),
        ("input t\ny = t**[0, 1, 2]\nL = y @ [5, 7, 11]", "t", {"t": 0.0}, 7.0),
        ("input x lo hi\nL = clip(x, lo, hi)", "hi", {"x": 5.0, "lo": 2.0, "hi": 1.0}, 1.0),
        ("input x lo hi\nL = clip(x, lo, hi)", "hi", {"x": 1.5, "lo": 2.0, "hi": 1.0}, 1.0),
        ("input x lo hi\nL = clip(x, lo, hi)", "hi", {"x": 0.5, "lo": 2.0, "hi": 1.0}, 1.0),
        ("input x lo hi\nL = clip(x, lo, hi)", "lo", {"x": 0.5, "lo": 2.0, "hi": 1.0}, 0.0),
        ("input x lo hi\nL = clip(x, lo, hi)", "x", {"x": 1.5, "lo": 2.0, "hi": 1.0}, 0.0),
        ("input x lo hi\nL = clip(x, lo, hi)", "lo", {"x": 0.5, "lo": 1.0, "hi": 2.0}, 1.0),
        ("input x[2]\nL = norm(x)", "x", {"x": np.array([3e-200, 4e-200])}, [0.6, 0.8]),
        ("input x[2]\nL = norm(x)", "x", {"x": np.array([3e200, 4e200])}, [0.6, 0.8]),
        ("input x[2]\nL = norm(x)", "x", {"x": np.zeros(2)}, [0.0, 0.0]),
    ],
)
def test_slopes_at_single_places(text: str, wrt: str, at: dict[str, Any], right: Any):
    for found in everywhere(text, wrt, **at):
        assert found == pytest.approx(right, rel=1e-15, abs=0)


def test_exact_slopes_of_powers_at_0():
    graph = gc.parse("input x y\nL = x**y")
    assert graph.reverse("L", {"x": 0, "y": 2}) == {"L": 1, "y": 0, "x": 0}
    assert str(graph.derivative("L", "y")) == "L*log(x)"


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1.0])
def test_a_norm_neither_overflows_nor_vanishes(scale: float):
    graph = gc.parse("input x[2,2]\nn = norm(x, axis=1)\nL = norm(x)")
    at = {"x": scale * np.array([[3.0, 4.0], [0.0, 12.0]])}
    found = [graph.values(at)]
    found += [graph.compile(want="values", **engine)(**at) for engine in ENGINES.values()]
    for values in found:
        np.testing.assert_allclose(values["n"], [5 * scale, 12 * scale], rtol=1e-15)
        np.testing.assert_allclose(values["L"], 13 * scale, rtol=1e-15)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("u = 1*x\nh = sqrt(u)\ny = -3*h", {"x": np.array([0.0, 1.0])}),
        ("h = sqrt(x)\ny = 2*h", {"x": np.array([[0.0, 1.0], [4.0, 0.0]])}),
        ("y = x/t", {"x": np.ones(2), "t": 0.0}),
        ("u = 1/t\nh = sin(x)\ny = u*h", {"x": np.ones(2), "t": 0.0}),
        ("h = sqrt(x)\nk = h/t\ny = 2*k", {"x": np.ones((2, 2)), "t": 0.0}),
    ],
)
def test_beside_the_diagonal_of_a_jacobian_infinity_meets_nothing(
    text: str, at: dict[str, Any], mode: str
):
    size, shape = at["x"].size, list(at["x"].shape)
    graph = gc.parse(f"input x{shape}{' t' * ('t' in at)}\n{text}")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = [graph.derivative("y", "x", at=at, mode=mode)]
        for engine in ENGINES.values():
            f = graph.compile("y", "x", want="jacobian", mode=mode, **engine)
            found.append(f(**at))
    for jacobian in found:
        matrix = jacobian.reshape(size, size)
        assert (np.isinf(np.diag(matrix)) == np.isinf(np.diag(found[0].reshape(size, size)))).all()
        assert np.isinf(matrix).any()
        assert (matrix[~np.eye(size, dtype=bool)] == 0).all()


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(
    ("text", "wrt", "at", "right"),
    [
        (
            "input t X[2,3]\ns = sqrt(t)\ny = where(X > 0, s*X, 0)\nz = mean(y, 0)\nL = z @ z",
            "t",
            {"t": 0.0, "X": -np.ones((2, 3))},
            0.0,
        ),
        ("input X[3]\nh = relu(X)\nL = sqrt(h @ [1, 2, 3])", "X", {"X": -np.ones(3)}, [0, 0, 0]),
        (
            "input X[2,3]\nh = relu(X)\nn = sum(h, axis=1)\ny = sqrt(n)\nL = sum(y)",
            "X",
            {"X": np.array([[-1.0, -1.0, -1.0], [3.0, 1.0, -1.0]])},
            [[0, 0, 0], [0.25, 0.25, 0]],
        ),
        (
            "input X[4]\nh = sqrt(X)\ny = where(X > 0, h, 0)\nk = y[1:3]\nL = sum(k)",
            "X",
            {"X": np.array([0.0, -1.0, 4.0, 0.0])},
            [0, 0, 0.25, 0],
        ),
        (
            "input X[3] c\ny = where(c > 0, log(X), X)\nL = sum(y)",
            "X",
            {"X": np.array([0.0, -1.0, 2.0]), "c": -1.0},
            [1, 1, 1],
        ),
    ],
)
def test_gates_reach_through_sums_and_selections(
    text: str, wrt: str, at: dict[str, Any], right: Any, mode: str
):
    graph = gc.parse(text)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = [graph.derivative("L", wrt, at=at, mode=mode)]
        for engine in ENGINES.values():
            f = graph.compile("L", wrt, want="grad", mode=mode, **engine)
            found.append(f(**at)[wrt])
            twice = graph.compile("L", wrt, want="hessian", **engine)(**at)
            assert np.isfinite(twice).all()
    for slope in found:
        np.testing.assert_allclose(slope, right, rtol=1e-15)


CHOSEN = {  # what is chosen of sqrt(x), and its slopes at CHOSEN_AT
    "h[0, 1]": [[0, 0.5, 0], [0, 0, 0]],
    "sum(h[:, 1])": [[0, 0.5, 0], [0, 0.25, 0]],
    "sum(h[0, 1:2]*h[1, 1:2])": [[0, 1, 0], [0, 0.25, 0]],
    "sum(take(h, [1, 1], axis=1))": [[0, 1, 0], [0, 0.5, 0]],
    "trace(h[:, 1:3])": [[0, 0.5, 0], [0, 0, 0.5]],
    "max(h)": [[0, 0, 0], [0, 0.25, 0]],
    "sum(max(h, axis=1))": [[0, 0.5, 0], [0, 0.25, 0]],
    "sum(max(h, axis=1, kink='share'))": [[0, 0.5, 0], [0, 0.25, 0]],
    "sum(maxpool(h, (1, 2), stride=(1, 1)))": [[0, 1, 0], [0, 0.5, 0]],
    "sum(concat([h[:, 1:2], h[:, 1:2]])**2)": [[0, 2, 0], [0, 2, 0]],
    "sum(reshape(h, 6)[4:5])": [[0, 0, 0], [0, 0.25, 0]],
    "sum(sin(h[:, 1])**2) - sum(sin(h.T[1])**2) + h[1, 1]": [[0, 0, 0], [0, 0.25, 0]],
}
CHOSEN_AT = np.array([[0.0, 1.0, 0.0], [0.0, 4.0, 1.0]])


@pytest.mark.parametrize("formula", CHOSEN)
def test_elements_that_are_not_chosen_contribute_nothing(formula: str):
    graph, x = gc.parse(f"input x[2,3]\nh = sqrt(x)\nL = {formula}"), CHOSEN_AT
    right = np.array(CHOSEN[formula], dtype=float)
    found = [graph.jacobian("L", "x", at={"x": x})]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for form in (graph, graph.expand()):
            slope = form.differentiate("L", "x")
            found.append(slope.values({"x": x})[slope.output_names[0]])
            for mode in ("reverse", "forward"):
                found.append(form.derivative("L", "x", at={"x": x}, mode=mode))
                for engine in ENGINES.values():
                    f = form.compile("L", "x", want="grad", **engine, mode=mode)
                    found.append(f(x)["x"])
        sparse = graph.compile("L", "x", want="jacobian", sparse=True)(x)
        found.append(sparse.toarray().reshape(2, 3))
        for engine in ENGINES.values():
            twice = graph.compile("L", "x", want="hessian", **engine)(x)
            assert np.isfinite(twice[right != 0][:, right != 0]).all()
    for value in found:
        np.testing.assert_allclose(value, right, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("text", ["L = sqrt(x)[1]", "h = sqrt(x)\nL = h[1]", "L = max(sqrt(x))"])
def test_exact_elements_that_are_not_chosen_contribute_nothing(text: str):
    slopes = gc.parse(f"input x[2]\n{text}").derivative("L", "x", at={"x": [0, 4]})
    assert slopes.tolist() == [0, Fraction(1, 4)]


def test_a_border_of_zeros_has_no_slope():
    graph = gc.parse("input x[2]\nh = pad(x, 1)\ny = sqrt(h)\nL = sum(y)")
    for mode in ("reverse", "forward"):
        assert graph.derivative("L", "x", at={"x": np.ones(2)}, mode=mode).tolist() == [0.5, 0.5]
        for engine in ENGINES.values():
            f = graph.compile("L", "x", want="grad", **engine, mode=mode)
            assert f(np.ones(2))["x"].tolist() == [0.5, 0.5]


def test_a_zero_that_is_a_value_is_an_ordinary_number():
    for found in everywhere("input x\nh = sqrt(x)\nL = h**2", "x", x=0.0):
        assert math.isnan(found)


SINGULAR = [  # of rank 3, 2 and 1
    [[2, 1, 0], [1, 3, -1], [0, 1, 4]],
    [[2, 1, 0], [1, 3, -1], [4, 2, 0]],
    [[1, 2, 3], [2, 4, 6], [-1, -2, -3]],
]


@pytest.mark.parametrize("matrix", SINGULAR)
def test_a_determinant_has_slopes_at_singular_matrices(matrix: list[list[int]]):
    """Cofactors: the determinant is linear in each entry, bilinear in each pair."""
    base = np.array(matrix, dtype=float)

    def cofactor(rows: list[int], columns: list[int]) -> float:
        left = np.delete(np.delete(base, rows, 0), columns, 1)
        return float((-1) ** (sum(rows) + sum(columns)) * np.linalg.det(left))

    first = np.array([[cofactor([i], [j]) for j in range(3)] for i in range(3)])
    second = np.zeros((3, 3, 3, 3))
    for i, j, k, m in np.ndindex(3, 3, 3, 3):
        if i != k and j != m:
            order = 1 if (i < k) == (j < m) else -1
            second[i, j, k, m] = order * cofactor(sorted([i, k]), sorted([j, m]))
    graph = gc.parse("input A[3,3]\nL = det(A)")
    at, along = {"A": base}, np.cos(np.arange(9.0)).reshape(3, 3)
    slope = graph.differentiate("L", "A")
    found = [graph.derivative("L", "A", at=at, mode=mode) for mode in ("reverse", "forward")]
    found += [graph.derivative("L", "A", at={"A": matrix}), slope.values(at)["A_bar"]]
    found += [gc.parse(slope.to_text()).values(at)["A_bar"]]
    twice = [graph.hessian("L", "A", at=at), graph.hessian("L", "A", at={"A": matrix})]
    for engine in ENGINES.values():
        for mode in ("reverse", "forward"):
            f = graph.compile("L", "A", want="grad", **engine, mode=mode)
            found.append(f(**at)["A"])
        twice.append(graph.compile("L", "A", want="hessian", **engine)(**at))
        changed = graph.compile("L", "A", want="hvp", **engine)(**at, A_dot=along)["A"]
        np.testing.assert_allclose(changed, np.einsum("abcd,cd->ab", second, along), atol=1e-12)
    for value in found:
        np.testing.assert_allclose(np.asarray(value, dtype=float), first, atol=1e-12)
    for value in twice:
        np.testing.assert_allclose(np.asarray(value, dtype=float), second, atol=1e-12)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("matrix", SINGULAR)
def test_a_page_has_the_slopes_of_a_determinant(matrix: list[list[int]]):
    graph = gc.parse("input x[3,3]\nL = det(x)\noutput L")
    at = {"x": np.array(matrix, dtype=float)}
    right = graph.derivative("L", "x", at=at)
    (found,) = in_javascript([(graph, at)], "return [...point.adjoints(model.ends[0].seeds)[0]];")
    np.testing.assert_allclose(found, right.ravel(), atol=1e-12)


def test_third_derivatives_of_a_determinant():
    graph = gc.parse("input A[3,3]\nB = adjugate(A)\nL = sum(B*B)")
    at, along = {"A": np.array(SINGULAR[0], dtype=float)}, np.sin(np.arange(9.0)).reshape(3, 3)
    right = np.einsum("abcd,cd->ab", graph.hessian("L", "A", at=at), along)
    f = graph.compile("L", "A", want="grad")
    ahead, behind = (f(A=at["A"] + step * along)["A"] for step in (1e-5, -1e-5))
    np.testing.assert_allclose(right, (ahead - behind) / 2e-5, rtol=1e-6, atol=1e-5)
    found = graph.compile("L", "A", want="hvp")(**at, A_dot=along)["A"]
    np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-10)


@pytest.mark.filterwarnings("ignore::graphc.KinkWarning")
@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(
    "formula",
    ["where(c > 0, x, 0)", "maximum(c, x)", "clip(x, c, 9)", "relu(c)*x", "where(c > 0, 0, x.T)"],
)
def test_a_gate_may_be_narrower_than_what_it_lets_through(formula: str, mode: str):
    g = gc.parse(f"input x[1,2] c[2,1]\ny = {formula}")
    at = {"x": np.array([[0.5, 2.0]]), "c": np.array([[1.0], [-1.0]])}
    for name in ("x", "c"):
        right = g.jacobian("y", name, at).astype(float)
        for engine in ENGINES.values():
            f = g.compile("y", name, want="jacobian", mode=mode, **engine)
            assert np.array_equal(f(**at), right)


def test_slopes_follow_their_formulas_where_a_value_is_nan():
    graph = gc.parse("input x\nL = log(x)")
    compiled = graph.compile("L", want="grad")
    assert graph.reverse("L", {"x": -2.0})["x"] == compiled(-2.0)["x"] == -0.5


CANCELLING = [
    "h = x - x\nL = sqrt(h)",
    "L = sqrt(x - x)",
    "a = 2*x\nb = 2*x\nh = a - b\nL = sqrt(h)",
    "h = 3*x - x - 2*x\nL = sqrt(h)",
    "h = log(x - 1)\nL = h - h",
    "h = log(x - 1)\na = 2*h\nL = a - h - h",
    "L = log(x - 1) - log(x - 1)",
]


def cancelled(graph: gc.Graph, of: str, at: dict[str, Any]) -> list[tuple[str, Any]]:
    """(engine, derivative by x) in both modes."""
    slope = graph.differentiate(of, "x")
    found = [("graph", slope.values(at)[slope.output_names[0]])]
    for mode in ("reverse", "forward"):
        found.append((f"interpreter {mode}", graph.derivative(of, "x", at=at, mode=mode)))
        for engine in ENGINES.values():
            f = graph.compile(of, "x", want="grad", **engine, mode=mode)
            found.append((f"{engine} {mode}", f(**at)["x"]))
    return found


@pytest.mark.parametrize("text", CANCELLING)
def test_what_cancels_is_a_value_at_every_granularity(text: str):
    graph = gc.parse(f"input x\n{text}")
    inner = [name for name in graph if name not in ("x", "L")]
    at = {"x": 1.0}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = []
        for form in (graph, graph.expand(), graph.collapse(*inner)):
            found += cancelled(form, "L", at)
            found += [("pairs", form.all_pairs(at)["x", "L"])]
            found += [("paths", form.pathwise("L", "x", at=at).value)]
        vector = gc.parse(f"input x[2]\n{text}\nS = sum(L)")
        found += cancelled(vector, "S", {"x": np.ones(2)})
        f = vector.compile("L", "x", want="jacobian", sparse=True)
        found += [("sparse", f(x=np.ones(2)).diagonal())]
    assert [engine for engine, slope in found if not np.isnan(slope).all()] == []


@pytest.mark.parametrize("x", [1.0, 2.5])
def test_a_power_of_the_number_0_has_slope_0_in_every_engine(x: float):
    graph = gc.parse("input x\nL = 0**x")
    assert graph.reverse("L", {"x": x})["x"] == graph.compile("L", want="grad")(x)["x"] == 0
    assert graph.differentiate("L").values({"x": x})["x_bar"] == 0


@pytest.mark.parametrize(
    ("formula", "at"),
    [
        ("y**x", {"y": 0.0, "x": 0.25}),
        ("x**y", {"x": 0.0, "y": 2.0}),
        ("sqrt(x)*log(y)", {"x": 0.0, "y": 0.0}),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_hessian_is_one_symmetric_matrix_in_every_engine(formula, at):
    graph, names = gc.parse(f"input x y\nz = {formula}"), list(at)
    compiled = [
        graph.compile("z", names, want="hessian", **options)(at)
        for options in (*ENGINES.values(), {"sparse": True})
    ]
    points = {name: np.array([value, 0.5]) for name, value in at.items()}
    found = [*compiled[:-1], compiled[-1].toarray(), graph.hessian("z", names, points)[0]]
    for matrix in found:
        np.testing.assert_array_equal(matrix, found[0])
        np.testing.assert_array_equal(matrix, matrix.T)


@pytest.mark.parametrize(
    ("formula", "x", "value", "slope"),
    [
        ("0**x", 0.0, 1.0, -math.inf),
        ("0**x", -1.0, math.inf, -math.inf),
        ("0**x", 0.5, 0.0, 0.0),
        ("log(0)*x**2", 2.0, -math.inf, -math.inf),
        ("exp(log(0) + x)", 2.0, 0.0, 0.0),
        ("x**2*exp(10**6)", -1.0, math.inf, -math.inf),
        ("x + sqrt(-1)", 1.0, math.nan, 1.0),
    ],
)
@pytest.mark.filterwarnings("ignore::graphc.errors.NotFiniteWarning")
def test_an_exact_number_that_does_not_exist_is_among_floats_what_floats_make_of_it(
    formula, x, value, slope
):
    graph, at = gc.parse(f"input x\ny = {formula}"), {"x": np.array([x, x])}
    derived = graph.differentiate("y", "x")
    with np.errstate(all="ignore"):
        values = [
            graph.values(at)["y"],
            *(graph.compile("y", want="value", **engine)(at) for engine in ENGINES.values()),
        ]
        slopes = [
            graph.reverse("y", at)["x"],
            graph.derivative("y", "x", at, mode="forward"),
            derived.values(at)[derived.output_names[0]],
            *(
                graph.compile("y", "x", want="grad", **engine)(at)["x"]
                for engine in ENGINES.values()
            ),
        ]
    for found in values:
        np.testing.assert_array_equal(found, [value, value])
    for found in slopes:
        np.testing.assert_array_equal(np.broadcast_to(found, 2), [slope, slope])


def test_one_over_a_root_is_that_at_negative_zero_and_infinity_too():
    graph, x = gc.parse("input x\ny = x**(-1/2)\nz = x**(1/2)"), np.array([-0.0, -math.inf])
    with np.errstate(all="ignore"):
        found = [
            graph.compile(["y", "z"], want="value", **engine)(x) for engine in ENGINES.values()
        ]
        alone = graph.compile(["y", "z"], want="value")
        found.append({k: [float(alone(v)[k]) for v in x] for k in ("y", "z")})
    for one in found:
        np.testing.assert_array_equal(one["y"], [-math.inf, math.nan])
        np.testing.assert_array_equal(one["z"], [-0.0, math.nan])
        assert np.signbit(one["z"][0])
