"""Worked vector-centric examples of the textbook, and a multilayer perceptron, in matrix form."""

from __future__ import annotations

import json
import random
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy
from numpy_text import evaluate

import graphc as gc

CATALOGUE = Path(__file__).parents[2].parent / "shared" / "textbook" / "exercises.json"

NETWORK = """
input x[3] = [2, 1, 2]
param W[3,3] = [[2, -2, 0], [-1, 5, -1], [0, 3, -2]]
param W2[1,3] = [[-1, 1, -3]]
h1 = W @ x
h2 = relu(h1)
h3 = W2 @ h2
o = sigmoid(h3)
L = -log(o)
"""


@pytest.fixture
def network() -> gc.Graph:
    return gc.parse(NETWORK)


def item(name: str) -> dict[str, object]:
    if not CATALOGUE.exists():
        pytest.skip("the catalogue of exercises is not here")
    entries = json.loads(CATALOGUE.read_text(encoding="utf-8"))
    entries = entries if isinstance(entries, list) else next(iter(entries.values()))
    return next(entry for entry in entries if entry["id"] == name)


def close(result: object, digits: object) -> None:
    """Equal to every digit of the catalogue."""
    found = np.ravel(np.array(result, dtype=object))
    wanted = np.ravel(np.array(digits, dtype=object))
    assert len(found) == len(wanted)
    for value, text in zip(found, wanted, strict=True):
        with mpmath.workdps(40):
            number = mpmath.mpf(str(sympy.N(value, 40)))
            assert abs(number - mpmath.mpf(text)) <= mpmath.mpf(10) ** -28 * (1 + abs(number))


E = sympy.E
g3 = -E / (1 + E)
EXACT = {
    "h3": [g3],
    "h2": [-g3, g3, -3 * g3],
    "h1": [-g3, g3, 0],
    "x": [-3 * g3, 7 * g3, -g3],
    "W": [[-2 * g3, -g3, -2 * g3], [2 * g3, g3, 2 * g3], [0, 0, 0]],
    "W2": [[2 * g3, g3, 0]],
}


def test_values_of_the_network_are_exact(network: gc.Graph) -> None:
    values = network.values({})
    assert values["h1"].tolist() == [2, 1, -1]
    assert values["h2"].tolist() == [2, 1, 0]
    assert values["h3"].tolist() == [-1]
    assert sympy.simplify(values["o"][0] - 1 / (1 + E)) == 0
    assert sympy.simplify(values["L"][0] - sympy.log(1 + E)) == 0


@pytest.mark.parametrize("name", EXACT)
def test_gradients_of_the_network_are_exact(network: gc.Graph, name: str) -> None:
    found = network.reverse("L", {})[name]
    wanted = np.array(EXACT[name], dtype=object)
    assert found.shape == wanted.shape
    assert all(sympy.simplify(a - b) == 0 for a, b in zip(found.flat, wanted.flat, strict=True))


def test_gradients_of_the_network_as_catalogued(network: gc.Graph) -> None:
    gradients = network.reverse("L", {})
    asks = [ask for ask in item("aggarwal-2.5.3")["asks"] if ask["wrt"]]
    assert {ask["wrt"] for ask in asks} == set(EXACT)
    for ask in asks:
        close(gradients[ask["wrt"]], ask["answer_digits"])


STEPS = {
    "o": ("-L_bar/o", r"-\bar{L} \oslash o"),
    "h3": ("o_bar*o*(1 - o)", r"\bar{o} \odot \left(o \odot \left(1 - o\right)\right)"),
    "h2": ("W2.T @ h3_bar", r"W_{2}^{\top} \bar{h}_{3}"),
    "h1": ("h2_bar*(h1 > 0)", r"\bar{h}_{2} \odot \left[h_{1} > 0\right]"),
    "W2": ("outer(h3_bar, h2)", r"\bar{h}_{3} h_{2}^{\top}"),
    "W": ("outer(h1_bar, x)", r"\bar{h}_{1} x^{\top}"),
    "x": ("W.T @ h1_bar", r"W^{\top} \bar{h}_{1}"),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_the_network_in_matrix_form(network: gc.Graph, name: str) -> None:
    step = network.reverse("L", form="steps")[name]
    assert (str(step), step.latex()) == STEPS[name]


def test_steps_are_the_gradients(network: gc.Graph) -> None:
    """Each printed step, evaluated by NumPy in reverse order, gives the gradient."""
    at = {name: np.array(network[name].value, dtype=float) for name in ("x", "W", "W2")}
    gradients = network.reverse("L", at)
    names = dict(network.values(at))
    for name, step in network.reverse("L", form="steps").items():
        names[f"{name}_bar"] = evaluate(str(step), names)
        wanted = np.asarray(gradients[name], dtype=float)
        np.testing.assert_allclose(names[f"{name}_bar"], wanted, rtol=1e-14)


SKIP = """
input x[2] = [2, 1]
param W1[3,2] = [[1, 2], [-1, 1], [1, -1]]
param W2[2,2] = [[1, -1], [0, 1]]
param W3[2,3] = [[1, 0, 1], [-2, -4, 1]]
param W4[2,2] = [[1, 3], [-2, 1]]
a1 = W1 @ x
h1 = relu(a1)
a2 = W2 @ x + W3 @ h1
h2 = relu(a2)
y = W4 @ h2
"""
JACOBIANS = {
    "h2": ("W4", r"W_{4}", [[1, 3], [-2, 1]]),
    "h1": (
        "W4 @ diag(a2 > 0) @ W3",
        r"W_{4} \operatorname{diag}\left(\left[a_{2} > 0\right]\right) W_{3}",
        [[1, 0, 1], [-2, 0, -2]],
    ),
    "x": (
        "W4 @ diag(a2 > 0) @ W2 + W4 @ diag(a2 > 0) @ W3 @ diag(a1 > 0) @ W1",
        r"W_{4} \operatorname{diag}\left(\left[a_{2} > 0\right]\right) W_{2} + "
        r"W_{4} \operatorname{diag}\left(\left[a_{2} > 0\right]\right) W_{3} "
        r"\operatorname{diag}\left(\left[a_{1} > 0\right]\right) W_{1}",
        [[3, 0], [-6, 0]],
    ),
}


@pytest.mark.parametrize("name", JACOBIANS)
def test_skip_connection(name: str) -> None:
    g = gc.parse(SKIP)
    text, latex, matrix = JACOBIANS[name]
    jacobian = g.derivative("y", name)
    assert (str(jacobian), jacobian.latex()) == (text, latex)
    at = {node: np.array(g[node].value, dtype=float) for node in (*g.input_names, *g.param_names)}
    np.testing.assert_array_equal(evaluate(text, g.values(at)), matrix)
    assert np.array(g.derivative("y", name, {})).tolist() == matrix
    assert np.array(g.derivative("y", name, {}, mode="forward")).tolist() == matrix


def test_skip_connection_as_catalogued() -> None:
    g = gc.parse(SKIP)
    for ask in item("aggarwal-2.8-ex")["asks"]:
        if ask["wrt"]:
            exact = np.array(ask["answer_exact"]).astype(int).tolist()
            assert np.array(g.derivative("y", ask["wrt"], {})).tolist() == exact
        else:
            values = [g.values({})[name].tolist() for name in ("h1", "h2", "y")]
            assert values == [[int(v) for v in row] for row in ask["answer_exact"]]


def test_skip_connection_by_differences() -> None:
    """The graph is linear around the point, so exact differences are exact derivatives."""
    g = gc.parse(SKIP)
    step = sympy.Rational(1, 1000)
    for column in range(2):
        above, below = ([2, 1], [2, 1])
        above[column] += step
        below[column] -= step
        slope = (g.values({"x": above})["y"] - g.values({"x": below})["y"]) / (2 * step)
        assert slope.tolist() == [row[column] for row in JACOBIANS["x"][2]]


PERCEPTRON = """
input X[n,784] Y[n,10]
param W1[784,128] b1[128] W2[128,64] b2[64] W3[64,10] b3[10]
H1 = relu(X @ W1 + b1)
H2 = relu(H1 @ W2 + b2)
Z = H2 @ W3 + b3
L = mean(softmax_cross_entropy(Z, Y))
"""


def backward(X, Y, W1, b1, W2, b2, W3, b3):
    """The same network and its reverse pass, written by hand."""
    A1 = X @ W1 + b1
    H1 = np.maximum(A1, 0)
    A2 = H1 @ W2 + b2
    H2 = np.maximum(A2, 0)
    Z = H2 @ W3 + b3
    shifted = Z - Z.max(axis=1, keepdims=True)
    P = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
    loss = -np.mean(np.sum(Y * np.log(P), axis=1))
    dZ = (P - Y) / len(X)
    dA2 = (dZ @ W3.T) * (A2 > 0)
    dA1 = (dA2 @ W2.T) * (A1 > 0)
    return loss, {
        "W3": H2.T @ dZ,
        "b3": dZ.sum(axis=0),
        "W2": H1.T @ dA2,
        "b2": dA2.sum(axis=0),
        "W1": X.T @ dA1,
        "b1": dA1.sum(axis=0),
        "X": dA1 @ W1.T,
    }


@pytest.mark.parametrize("n", [1, 32])
def test_perceptron_with_any_batch_size(n: int) -> None:
    assert len(PERCEPTRON.strip().splitlines()) <= 12
    g = gc.parse(PERCEPTRON)
    rng = np.random.default_rng(0)
    at = {
        name: rng.normal(size=[n if size == "n" else size for size in g[name].shape])
        / np.sqrt(g[name].shape[0] if name.startswith("W") else 1)
        for name in (*g.input_names, *g.param_names)
    }
    at["Y"] = np.eye(10)[rng.integers(10, size=n)]
    loss, wanted = backward(**at)
    np.testing.assert_allclose(g.values(at)["L"], loss, rtol=1e-12)
    gradients = g.reverse("L", at)
    for name, gradient in wanted.items():
        np.testing.assert_allclose(gradients[name], gradient, rtol=1e-12, atol=1e-14)


def test_perceptron_in_matrix_form() -> None:
    steps = gc.parse(PERCEPTRON).reverse("L", form="steps")
    assert str(steps["W3"]) == "H2.T @ Z_bar"
    assert str(steps["b3"]) == "sum(Z_bar, axis=0)"
    assert str(steps["H2"]) == "Z_bar @ W3.T"
    assert str(steps["W1"]) == "X.T @ (H1_bar*(X @ W1 + b1 > 0))"
    assert str(steps["Z"]) == "L_bar/n*diag(sum(Y, axis=1)) @ softmax(Z) - L_bar/n*Y"


def selections() -> list[tuple[str, str, str]]:
    """Formulas whose derivatives need selections, and what they are taken by."""
    return [
        ("input X[5] w[2]", "y = conv1d(X, w, stride=2, padding=1)", "X"),
        ("input X[5] w[2]", "y = conv1d(X, w, stride=2, padding=1)", "w"),
        ("input X[2,4,5] w[3,2,2,2]", "y = conv2d(X, w, stride=2)", "w"),
        ("input X[2,4,5] w[3,2,2,2]", "y = conv2d(X, w, stride=2, padding=1)", "X"),
        ("input X[7] w[3]", "y = conv1d(X, w, dilation=2)", "X"),
        ("input X[4,4]", "y = maxpool(X, 2)", "X"),
        ("input X[4,4]", "y = maxpool(X, 3, stride=1)", "X"),
        ("input X[4,4]", "y = avgpool(X, 2, stride=1)", "X"),
        ("input X[3,4]", "sum(max(X, axis=0)**2)", "X"),
        ("input X[3,4]", "sum(max(X, axis=1)**2)", "X"),
        ("input X[3,4]", "max(X)**2", "X"),
        ("input X[6]", "sum(take(X, [0, 2, 2])**2)", "X"),
        ("input X[6]", "sum(X[0:6:2]**2)", "X"),
        ("input X[4,3]", "sum(X[1:3]**2)", "X"),
        ("input X[4,3]", "sum(X[:, 1]**2)", "X"),
        ("input X[4,3]", "sum(take(X, [0, 0], axis=1)**2)", "X"),
        ("input X[2,4,3]", "sum(X[:, 1]**2)", "X"),
        ("input X[2000]", "sum(take(X, [[0, 1999], [5, 3]])**2)", "X"),
        ("input X[5]", "sum(pad(X**2, 1)[0:3]**2)", "X"),
        ("input X[5]", "sum(take(pad(X**2, 1), [0, 3, 6, 2])**3)", "X"),
        ("input X[5,2]", "sum(take(pad(X, ((2, 0), (0, 0)))**2, [[0, 3], [1, 5]])**3)", "X"),
        ("input X[5]", "sum(pad(X, (2, 0))[0:4:2]**3)", "X"),
        ("input X[5] w[2]", "y = conv1d(X, w, stride=7, padding=1)", "X"),
        ("input X[5] w[2]", "y = conv1d(X, w, stride=7, padding=1)", "w"),
        ("input X[2] w[3]", "y = conv1d(X, w, stride=4, padding=5, dilation=3)", "X"),
        ("input X[2] w[3]", "y = conv1d(X, w, stride=4, padding=5, dilation=3)", "w"),
        ("input X[n,3]", "sum(softmax(X)**2)", "X"),
        ("input X[n,3]", "sum(logsumexp(X, axis=1)**2)", "X"),
        ("input X[n,3]", "sum(norm(X, axis=1)**3)", "X"),
        ("input X[n,3] W[3,3]", "sum(log_softmax(X @ W)*X)", "X"),
        ("input X[2,3,4] W[4,2]", "sum(tanh(X @ W))", "X"),
        ("input X[2,3,4] W[4,2]", "sum(tanh(X @ W))", "W"),
        ("input X[3,3]", "sum(where(X > 1, X, 0)/X)", "X"),
        ("input X[n,3]", "sum(var(X, axis=0)*mean(X, axis=0))", "X"),
        ("input X[3]", "sum(relu(X) - relu(-X))", "X"),
        ("input X[3] a[3]", "sum(relu(X - a)*relu(X))", "X"),
    ]


@pytest.mark.parametrize(("inputs", "formula", "wrt"), selections())
def test_printed_selections_are_numpy(inputs: str, formula: str, wrt: str) -> None:
    """What is printed may be long, but NumPy takes it, and computes the derivative from it."""
    if formula.startswith("y = "):
        formula += "\nf = sum(y**3)"
    else:
        formula = f"f = {formula}"
    g = gc.parse(f"{inputs}\n{formula}")
    rng = np.random.default_rng(1)
    at = {
        name: rng.uniform(0.3, 1.7, [4 if size == "n" else size for size in g[name].shape])
        for name in g.input_names
    }
    text = str(g.reverse("f")[wrt])
    found = evaluate(text, {"n": 4, **g.values(at)})
    wanted = np.asarray(g.reverse("f", at)[wrt], dtype=float)
    assert np.shape(found) == wanted.shape, text
    np.testing.assert_allclose(np.asarray(found, float), wanted, rtol=1e-12, err_msg=text)
    assert g.reverse("f")[wrt].latex()
    if "n" not in map(str, g[wrt].shape) and np.size(at[wrt]) < 100:
        text = str(g.hessian("f", wrt))
        found = np.asarray(evaluate(text, g.values(at)), dtype=float)
        wanted = np.asarray(g.hessian("f", wrt, at), dtype=float)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, err_msg=text)


def test_constants_are_matrices_in_latex() -> None:
    g = gc.parse("input x[2]\nf = sum(2*[1, -2]*x + [[1, 1/3], [0.5, 2]] @ x)")
    text = g.reverse("f")["x"].latex()
    assert r"2 \begin{pmatrix} 1 \\ -2 \end{pmatrix}" in text
    assert r"\begin{pmatrix} 1 & \frac{1}{3} \\ 0.5 & 2 \end{pmatrix}^{\top}" in text
    page = g.explain("f")
    assert r"\begin{pmatrix} 1 \\ -2 \end{pmatrix}" in page.latex
    assert "pmatrix" not in page.html and "<mtable>" in page.html
    deep = gc.parse("input x[2,1,2]\nf = sum(x*[[[1, 2]], [[3, 4]]])").reverse("f")["x"].latex()
    inner = [r"\begin{pmatrix} 1 & 2 \end{pmatrix}", r"\begin{pmatrix} 3 & 4 \end{pmatrix}"]
    assert deep == rf"\left({', '.join(inner)}\right)"
    wide = gc.Graph("wide")
    x = wide.input("x", shape=(300,))
    wide.node("f", gc.sum(x * np.arange(300.0)))
    assert r"\vdots" in wide.reverse("f")["x"].latex()


def test_indices_keep_their_rows_in_latex() -> None:
    g = gc.parse("input x[6]\nf = sum(take(x, [[0, 5], [1, 3]])**2)")
    text = g.reverse("f")["x"].latex()
    assert r"\operatorname{take}\left(x, [[0, 5], [1, 3]]\right)" in text
    assert r"\operatorname{scatter}_{[[0, 5], [1, 3]]}" in text
    padded = gc.parse("input x[2]\nh = pad(x, 1)\nf = sum(h**2)").forward({"x": "t"})["h"]
    assert "x" not in padded.latex()


def test_names_are_escaped_in_latex() -> None:
    g = gc.parse("input weird_name_with_parts[3] y[3]\nf = weird_name_with_parts @ y**2")
    text = g.reverse("f")["y"].latex()
    assert "weird_name" not in text
    assert text.count("{") == text.count("}")


def test_a_gate_keeps_what_is_infinite_out() -> None:
    """The simplified derivative still has no NaN from the branch that is not taken."""
    g = gc.parse("input x[3]\nf = sum(where(x > 0, log(x), 0))")
    found = g.reverse("f", {"x": np.array([0.0, 1.0, 2.0])})["x"]
    np.testing.assert_array_equal(np.asarray(found, float), [0, 1, 0.5])
    slopes = g.differentiate("f", "x")
    (name,) = slopes.output_names
    with np.errstate(all="ignore"):
        again = slopes.values({"x": np.array([0.0, 1.0, 2.0])})[name]
    np.testing.assert_array_equal(np.asarray(again, float), [0, 1, 0.5])


UNARY = [
    "sigmoid({0})",
    "tanh({0})",
    "exp(0.1*{0})",
    "({0})**2",
    "-{0}",
    "relu({0})",
    "2*{0}",
    "{0}/3",
    "softmax({0})",
    "0*{0}+1",
    "log_softmax({0})",
    "where({0}>0.5,{0},0)",
]
CHOICES = {  # kind of the result, the formula, kinds of its operands
    "matrix @ vector": ("v", ("{0} @ {1}", "{1} @ {0}"), "mv"),
    "matrix @ matrix": ("m", ("{0} @ {1}.T", "{0} @ {1}", "{0}.T @ {1}"), "mm"),
    "outer": ("m", ("outer({0}, {1})",), "vv"),
    "inner": ("s", ("{0} @ {1}",), "vv"),
    "scalar": (
        "s",
        (
            *("sum({0})", "norm({0})", "trace({0})", "mean({0})", "logsumexp({0})", "max({0})"),
            *("{0}[0, 1]", "logdet({0} @ {0}.T + E)", "det({0} @ {0}.T + E)"),
        ),
        "m",
    ),
    "elements": ("m", ("{0}*{1}", "{0} + {1}", "{0} - {1}", "{0}/(1 + {1}**2)"), "mm"),
    "rows": ("m", ("{0}*{1}", "{0} + {1}", "{1} - {0}"), "mv"),
    "multiple": ("m", ("{1}*{0}", "{0}/(1 + {1}**2)"), "ms"),
    "reduced": (
        "v",
        (
            *("sum({0}, axis=0)", "sum({0}, axis=1)", "diag({0})", "{0}[1]", "{0}[:, 2]"),
            *("logsumexp({0}, axis=1)", "norm({0}, axis=0)", "max({0}, axis=1)"),
            "mean({0}, axis=1)",
        ),
        "m",
    ),
    "matrix": (
        "m",
        ("inv({0} @ {0}.T + E)", "{0}.T", "{0} - mean({0}, axis=1, keepdims=True)", "diag({0}[0])"),
        "m",
    ),
    "number": ("s", ("{0}*{0}/2 + 1/(1 + {0}**2)",), "s"),
    "vector": ("v", UNARY, "v"),
    "every element": ("m", UNARY, "m"),
}


def random_graph(seed: int) -> tuple[gc.Graph, list[str]]:
    """A graph of vectors, matrices and scalars, and the names of those that are not scalars."""
    rng = random.Random(seed)
    known = {"v": ["x", "y"], "m": ["A", "B"], "s": ["c"]}
    lines, arrays = ["input x[3] y[3] A[3,3] B[3,3] E[3,3] c"], []
    for number in range(rng.randint(3, 7)):
        kind, formulas, operands = CHOICES[rng.choice(list(CHOICES))]
        name = f"n{number}"
        chosen = [rng.choice(known[operand]) for operand in operands]
        lines.append(f"{name} = {rng.choice(formulas).format(*chosen)}")
        known[kind].append(name)
        arrays += [name] * (kind != "s")
    last = [name for names in known.values() for name in names if name.startswith("n")]
    lines.append(f"f = {' + '.join(f'sum({name})' for name in last[-3:])}")
    return gc.parse("\n".join(lines)), arrays


@pytest.mark.parametrize("seed", range(80))
def test_printed_derivatives_of_random_graphs(seed: int) -> None:
    """Gradients and Jacobians in symbols, evaluated by NumPy, are those computed with numbers."""
    g, arrays = random_graph(seed)
    rng = np.random.default_rng(seed)
    at = {name: rng.uniform(0.2, 1.3, g[name].shape) for name in g.input_names}
    at |= {"E": 4 * np.eye(3), "c": float(at["c"])}
    values = g.values(at)

    def same(symbolic: object, wanted: object) -> None:
        found = np.asarray(evaluate(str(symbolic), values), dtype=float)
        wanted = np.asarray(wanted, dtype=float)
        assert found.shape == wanted.shape, symbolic
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10, err_msg=str(symbolic))
        assert symbolic.latex()

    symbolic = g.reverse("f")
    for name, gradient in g.reverse("f", at).items():
        if name in g.input_names:
            same(symbolic[name], gradient)
    for node in arrays[-2:]:
        for name in ("x", "A", "c"):
            if g.count_paths(name, node):
                jacobian = g.derivative(node, name, at)
                for mode in ("reverse", "forward"):
                    same(g.derivative(node, name, mode=mode), jacobian)


def test_hessians_are_written_in_the_names_of_the_graph() -> None:
    g = gc.parse("param y[1]\nh = y @ y\nL = sin(h)")  # a derivative by one element keeps its axes
    matrix = g.hessian("L", "y")
    assert str(matrix) == "reshape(2*cos(h) - 4*sum(y)*sin(h)*y, (1, 1))"
    known = {"y": np.array([0.5]), "h": 0.25}
    assert np.allclose(evaluate(str(matrix), known), g.hessian("L", "y", {"y": [0.5]}))
