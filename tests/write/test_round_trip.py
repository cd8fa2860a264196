"""What to_text prints is read back to the same graph, with the same values bit for bit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from identities import IDENTITIES

import graphc as gc
from graphc.table.functions import FUNCTIONS

SIZES = {"n": 4, "m": 2}
LAYERS = r"""
A[3,3] B[3,3]        | A @ B + A.T
A[3,3] x[3]          | A @ x - x @ A
S[2,3,4] T[2,4,2]    | S @ T
S[2,3,4] M[4,2]      | S @ M
A[3,3] B[3,3]        | einsum("ij,kj->ki", A, B)
A[3,3]               | einsum("ii->i", A)
S[2,3,4]             | einsum("abc->cab", S)
S[2,3,4] x[3]        | einsum("abc,b->ca", S, x)
x[3] y[3]            | dot(x, y)*outer(x, y)
S[2,3,4]             | transpose(S, (1, 0, 2))
A[3,3]               | trace(A) + diag(A)
x[3]                 | diag(x)
A[3,3]               | inv(A + 4*eye(3))
A[3,3]               | det(A + 4*eye(3))
A[3,3]               | logdet(A @ A.T + 4*eye(3))
A[3,3] x[3]          | solve(A + 4*eye(3), x)
A[3,3] B[3,3]        | solve(A + 4*eye(3), B)
M[2,3]               | sum(M) + sum(M, axis=0) + sum(sum(M, axis=1, keepdims=True))
S[2,3,4]             | sum(S, axis=(0, 2), keepdims=True)
M[2,3]               | mean(M) + mean(M, axis=0) + mean(mean(M, axis=1, keepdims=True))
X[n,3]               | mean(X) + mean(X, axis=0)
X[n,m]               | sum(X, axis=1)/n + m
M[2,3]               | var(M) + var(M, axis=0) + var(var(M, axis=1, keepdims=True))
M[2,3]               | prod(M) + prod(M, axis=0)
M[2,3]               | max(M) + max(M, axis=0) + max(max(M, axis=1, keepdims=True))
M[2,3]               | min(M) + min(M, axis=0)
S[2,3,4]             | max(S, axis=(0, 2))
S[2,3,4]             | max(S, axis=0) + min(S, axis=0)
M[2,3]               | max(M, axis=1, kink="share")
x[3]                 | max(x, kink="share")
X[n,3]               | max(X, axis=0)
X[n,3]               | max(X)
M[2,3]               | norm(M) + norm(M, axis=0)
X[n,3]               | norm(X, axis=1, keepdims=True)
M[2,3]               | logsumexp(M) + logsumexp(M, axis=0)
M[2,3]               | softmax(M) + softmax(M, axis=0)
M[2,3]               | log_softmax(M) + log_softmax(M, axis=0)
X[n,3]               | log_softmax(X, axis=0)
M[2,3] N[2,3]        | cross_entropy(softmax(M), softmax(N))
M[2,3] N[2,3]        | softmax_cross_entropy(M, softmax(N))
x[3]                 | broadcast_to(x, (2, 3))
x                    | full((2, 3), x)
x[n]                 | broadcast_to(x, (2, n))
M[2,3]               | reshape(M, (3, 2)) + reshape(M, (-1, 2))
u[1]                 | reshape(u, ())
x                    | reshape(x, (1, 1))
x[5]                 | x[1:4] + x[:3] + x[-3:]
x[5]                 | x[::2] + x[::-2] + x[[0, 1, 1]]
M[2,3]               | M[0] + M[:, 1][0] + M[1, 2]
M[2,3]               | M[:, None, 1:] + M[None, 0, None, :2]
M[2,3]               | M[..., [2, 0]]
x[5]                 | take(x, [[0, 1], [4, 1]])
M[2,3]               | take(M, 1, axis=1)
M[2,3]               | take(M, [2, 0, 0], axis=-1)
x[3] y[2]            | concat([x, y, [1, 1/3]])
M[2,3] N[2,2]        | concat([M, N], axis=1)
x[3] y[3]            | stack([x, y, 2*x], axis=1)
x[3]                 | pad(x, 1)
M[2,3]               | pad(M, ((1, 2), (0, 1)))
x[7] w[3]            | conv1d(x, w)
x[7] w[3]            | conv1d(x, w, stride=2, padding=1, dilation=2, flip=True)
I[2,5,5] K[3,2,3,3]  | conv2d(I, K)
I[2,5,5] K[3,2,2,3]  | conv2d(I, K, stride=(2, 1), padding=(1, 2))
H[5,5] k[2,2]        | conv2d(H, k, dilation=2)
x[4] w[3]            | conv1d_transpose(x, w, stride=2, padding=1)
I[2,3,3] K[2,3,2,2]  | conv2d_transpose(I, K, stride=2)
H[4,5]               | maxpool(H, 2)
H[5,5]               | maxpool(H, (2, 3), stride=2, padding=1)
x[6]                 | maxpool(x, 3, stride=1, kink="share")
H[4,5]               | avgpool(H, 2) + sum(avgpool(H, 3, padding=1))
x[3]                 | x*onehot(1, 3) + zeros(3) + ones((3,)) + eye(3)[0]
x[n]                 | x*zeros(n) + ones(n) + sum(eye(2))
x y                  | max(x, y) + min(x, y, 1) + sum(x, y) + mean(x, y) + prod(x, y)
x y z                | max(x, y, z) + norm(x, y) + var(x, y) + logsumexp(x, y)
x[3] y[3]            | max(x, y, 0.5) - maximum(x, y, kink="share")
x[3] y[3]            | where(x > y, x*y, where(x <= 0, exp(x), y - 1))
x[3]                 | relu(x) + relu(x, kink=1/2) + abs(x, kink="left") + clip(x, -1, 1)
x[3]                 | x**2 + x**(-1) + (x**2)**(1/3) + 2**x + (x**2)**x
x y                  | -(x - y) - (-x) - (x + y)*(x - y)/(x/y)/2
x y                  | (x + y)**2 - (-x)**2 + (-2)*x - x**(-2) + (x*y)**3
x[3] A[3,3]          | -x @ A - (A @ -x) - 2*(A @ (x*x)) + (x*x) @ A*x - x*(A @ x)/x
x[3]                 | stop(x)*x + stop(sum(x))
x                    | x*pi/3 + sqrt(2)*x - 1/3 + 0.1
x[2]                 | x*[[1, 1/3], [0.25, -2]]
"""


def layer_cases() -> Iterator[str]:
    for line in LAYERS.strip().splitlines():
        inputs, _, formula = line.partition("|")
        yield f"input {inputs.strip()}\nf = {formula.strip()}"


def function_cases() -> Iterator[str]:
    for record in FUNCTIONS.values():
        if record.infix or not record.parameters or record.name in ("taken", "untaken", "where"):
            continue
        names = record.parameters
        call = f"{record.name}({', '.join(names)})"
        yield f"input {' '.join(names)}\nf = {call}*{call}/2"
        yield f"input {' '.join(f'{name}[3]' for name in names)}\nf = {call}*{call}/2"


def point(graph: gc.Graph) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    return {
        name: rng.uniform(0.2, 0.9, [SIZES.get(size, size) for size in graph[name].shape])
        if graph[name].shape
        else float(rng.uniform(0.2, 0.9))
        for name in (*graph.input_names, *graph.param_names)
    }


def shape_of_graph(graph: gc.Graph) -> Any:
    return (
        [(name, graph[name].kind, graph[name].shape) for name in graph],
        {source + "->" + target for source, target in graph.edges()},
        graph.output_names,
    )


def bits(value: Any) -> Any:
    """A value as something that is equal only to the very same one; exact numbers as themselves."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.ndarray):
        return value.shape, [bits(part) for part in value.ravel().tolist()]
    return value


def same(graph: gc.Graph, at: dict[str, Any] | None = None) -> gc.Graph:
    """The graph read back from its text, after it was found to be the same."""
    text = graph.to_text()
    back = gc.parse(text, graph.name)
    assert shape_of_graph(back) == shape_of_graph(graph), text
    assert back.to_text() == text
    at = point(graph) if at is None else at
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = graph.values(at), back.values(at)
    for name in graph:
        assert bits(ours[name]) == bits(theirs[name]), f"{name} in\n{text}"
    return back


CASES = [*layer_cases(), *function_cases(), *dict.fromkeys(case.text for case in IDENTITIES)]


@pytest.mark.parametrize("text", CASES)
def test_a_graph_at_every_granularity(text):
    graph = gc.parse(text)
    for other in (graph, graph.expand(), graph.expand().collapse()):
        same(other)


@pytest.mark.parametrize("text", CASES)
def test_derivative_graphs(text):
    graph = gc.parse(f"{text}\nL = sum(f*f)")
    wrt = graph.input_names
    reverse = graph.differentiate("L", wrt)
    derivatives = [reverse]
    if not graph[wrt[0]].shape:
        derivatives.append(graph.differentiate("L", wrt[0], mode="forward"))
    for derivative in derivatives:
        same(derivative)
        same(derivative.expand())
        same(derivative.collapse())


@pytest.mark.parametrize("text", CASES[::3])
def test_second_derivative_graphs(text):
    graph = gc.parse(f"{text}\nL = sum(f*f)")
    first = graph.differentiate("L", graph.input_names[0])
    total = first.extend(f"Q = sum({first.output_names[0]}**2)")
    same(total.differentiate("Q", graph.input_names[0]))


def test_a_transposed_factor_rounds_as_it_did():
    """A product with a transposed copy may be added up in another order."""
    g = gc.parse('input A[4,4] x[4]\ny = einsum("ab,a->b", A, x)\nz = A.T @ x')
    assert 'y = einsum("ab,a->b", A, x)' in same(g).to_text()


def test_a_scalar_in_the_shape_of_a_scalar():
    g = gc.parse("input x y[1]\nz = reshape(x, ())\nL = z*x + reshape(y, ())")
    assert g.derivative("L", "x", {"x": 3, "y": [1]}) == 6
    same(g)
    assert gc.parse("input x\ny = reshape(x, ())*x").derivative("y", "x", {"x": 3}) == 6


# Numbers.

FLOATS = [0.1, 0.5, -0.1, 1e-300, 5e-324, 1.7976931348623157e308, 2.0, -0.0, 1 / 3, 1e22]


@pytest.mark.parametrize("number", [*FLOATS, 3, -7, Fraction(1, 3), Fraction(-1, 10), 10**40])
def test_a_given_number_keeps_its_bits_and_its_kind(number):
    g = gc.Graph()
    x, y = g.input("x", value=number), g.input("y", value=[number, number])
    g.node("z", x * y[0] + number)
    g.node("c", number)
    back = same(g, {})
    assert bits(back["x"].value) == bits(g["x"].value)
    assert type(back["x"].value) is type(g["x"].value)
    assert math.copysign(1, back["x"].value) == math.copysign(1, number)


@pytest.mark.parametrize("number", FLOATS)
def test_a_float_in_a_formula_stays_a_float(number):
    @gc.graph
    def f(x):
        return number * x + gc.leaky_relu(x, abs(number)) + x ** (number % 3)

    back = same(f)
    assert type(back.values({"x": 1})["f"]) is type(f.values({"x": 1})["f"])


def test_an_exact_literal_stays_exact():
    g = gc.parse("input x = 0.1\ny = x*0.3 + 1/7")
    assert same(g, {}).values({})["y"] == Fraction(3, 100) + Fraction(1, 7)
    assert "float" not in g.to_text()


def test_floats_as_text():
    g = gc.parse("input x = float(0.1)\ny = x + float([0.1, -0.0, 1/3]) + float(2)")
    value = g.values({})["y"]
    assert value.dtype == np.float64
    assert value.tolist() == [0.1 + 0.1 + 2, 0.1 + 2, 0.1 + 1 / 3 + 2]
    for wrong in ("float()", "float(x)", "float(1, 2)", "float([1, x])", "float([1, [2]])"):
        with pytest.raises(gc.GraphcError, match="line 2"):
            gc.parse(f"input x\ny = {wrong}")


@pytest.mark.parametrize(
    "text", ["E", "E**2/3", "sqrt(2)/2", "pi/4", "sin(1) + log(2)", "2**(1/3)", "-pi*E", "atan(3)"]
)
def test_exact_numbers_of_sympy(text):
    sympy = pytest.importorskip("sympy")
    number = sympy.sympify(text)
    g = gc.Graph()
    x = g.input("x", value=number)
    g.node("y", x * number + 1)
    back = same(g, {"x": 0.5})
    assert sympy.simplify(back["x"].value - number) == 0


def test_numbers_without_a_text_form_are_refused():
    sympy = pytest.importorskip("sympy")
    g = gc.Graph()
    g.input("x", value=sympy.EulerGamma)
    with pytest.raises(gc.GraphcError, match="EulerGamma has no text form"):
        g.to_text()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, int, bool])
@pytest.mark.parametrize("shape", [(3000,), (60, 70), (0,), (2, 0), (1, 1, 2)])
def test_constant_arrays_of_any_length(shape, dtype):
    array = np.random.default_rng(0).normal(size=shape).astype(dtype)
    g = gc.Graph()
    x = g.input("x", shape=shape, value=None if dtype is bool else array)
    g.node("y", x * array)
    g.node("c", array)
    at = {"x": np.ones(shape)}
    back = same(g, at)
    if dtype is not bool and dtype is not int:
        assert bits(np.asarray(back["x"].value, dtype=float)) == bits(array.astype(float))


def test_what_is_too_long_to_be_read_is_not_printed():
    text = "input x\nf0 = x + 1\n" + "\n".join(
        f"f{i} = f{i - 1}*f{i - 1} + x" for i in range(1, 12)
    )
    with pytest.raises(gc.GraphcError, match="cannot be written as text"):
        gc.parse(text).collapse().to_text()


def test_reductions_of_an_expanded_graph_are_not_written_twice():
    g = gc.parse("input X[2,3]\nm = mean(X)\nv = var(X, axis=0)\ns = log_softmax(X)").expand()
    assert "mean(" not in g.to_text()
    assert "var(" not in g.to_text()
    assert "m = m_1/6" in g.to_text()


def test_networkx_keeps_floats():
    pytest.importorskip("networkx")

    @gc.graph
    def f(x=0.1):
        return 0.3 * x

    back = gc.from_networkx(f.to_networkx())
    assert bits(back.values({})["f"]) == bits(f.values({})["f"])
    assert back.values({"x": 1})["f"] == 0.3
