"""buffers() of functions of tensors: the same numbers, in arrays that stay where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc as gc

TEXT = """
input X[4,3] s
param W[3,2] b[2]
h = tanh(X @ W + b)*s
z = h[1:] + h[:-1]
L = sum(relu(z)**2) + sum(W[0]*b) + s
"""
RNG = np.random.default_rng(5)
AT: dict[str, Any] = {"X": RNG.normal(size=(4, 3)), "s": 0.7, "W": RNG.normal(size=(3, 2))}
AT["b"] = RNG.normal(size=2)
WANTS = {
    "value": {"of": "L"},
    "grad": {"of": "L", "wrt": ["W", "b", "s"]},
    "value_and_grad": {"of": "L", "wrt": ["W", "b", "X"]},
    "values": {},
    "jacobian": {"of": "z", "wrt": ["W", "b"]},
    "hessian": {"of": "L", "wrt": ["W", "b"]},
}


def refilled(f: Any, at: dict[str, Any]) -> dict[Any, Any]:
    """The results after a second call; those of the first were other ones, and were spoilt."""
    buffers = f.buffers()
    for change in (0.3, 0.0):
        for array in buffers.results.values():
            array[...] = np.nan
        for name, value in at.items():
            buffers.args[name][...] = value + change
        buffers()
    return dict(buffers.results)


def named(result: Any, want: str) -> dict[str, Any]:
    if isinstance(result, tuple):
        return {"value": result[0], **result[1]}
    return result if isinstance(result, dict) else {want: result}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("want", WANTS)
def test_buffers_hold_what_a_call_returns(want, dtype):
    f = gc.parse(TEXT).compile(**WANTS[want], want=want, dtype=dtype)
    found, right = refilled(f, AT), named(f(**AT), want)
    assert found.keys() == right.keys()
    for key, value in right.items():
        assert found[key].shape == np.shape(value) and found[key].dtype == dtype
        np.testing.assert_allclose(found[key], value, rtol=1e-5 if dtype == "float32" else 1e-13)


SPARSE = {
    "a band": ("input x[50]\nf = sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)", "hessian"),
    "a stencil": ("input x[30]\nf = concat([x[:1], x[2:]*x[:-2] - 2*x[1:-1], x[-1:]])", "jacobian"),
    "constants": ("input x[12]\nf = x[:6]*3 + x[6:]", "jacobian"),
    "a place twice": ("input x[9]\nf = sum((x*x[::-1])**2) + sum(x**3)", "hessian"),
    "scattered": ("input x[9]\nf = take(x, [0, 3, 4, 8, 1, 0])*x[:6]", "jacobian"),
    "one number": ("input x[3] y\nf = x*y", "jacobian"),
    "two arrays": (
        "input x[4] A[2,2]\nf = sum(sin(A @ A)) + sum(x[:2]*A[0]) + sum(x**2)",
        "hessian",
    ),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", SPARSE)
def test_entries_of_sparse_matrices(kind, dtype):
    text, want = SPARSE[kind]
    graph = gc.parse(text)
    wrt = list(graph.input_names)
    f = graph.compile("f", wrt, want=want, sparse=True, dtype=dtype)
    at = {name: RNG.normal(size=graph[name].shape) for name in wrt}
    (entries,) = refilled(f, at).values()
    matrix = np.zeros(f(**at).shape, dtype)
    matrix[f.pattern] = entries
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    right = graph.compile("f", wrt, want=want, dtype="float64")(**at)
    np.testing.assert_allclose(matrix, right, rtol=tolerance, atol=tolerance)


def test_a_call_is_a_function_of_c_where_all_is_native():
    f = gc.parse(SPARSE["a band"][0]).compile("f", "x", want="hessian", sparse=True)
    assert type(f.buffers().__call__).__name__ == "builtin_function_or_method"


def test_buffers_of_one_function_do_not_share():
    f = gc.parse(TEXT).compile("L", ["W"])
    one, other = f.buffers(), f.buffers()
    for buffers, scale in ((one, 1.0), (other, 2.0)):
        for name, value in AT.items():
            buffers.args[name][...] = value * scale
    one()
    kept = one.results["W"].copy()
    other()
    np.testing.assert_array_equal(one.results["W"], kept)
    assert not np.array_equal(other.results["W"], kept)


def test_sizes_have_to_be_known():
    f = gc.parse("input x[n]\nL = sum(x*x)").compile("L", "x")
    with pytest.raises(gc.GraphcError, match="known sizes"):
        f.buffers()


def test_checkpoints_and_arguments_that_are_not_read():
    text = "input q[3]\nparam h0[5]\nfor t in 1..6:\n    h[t] = tanh(h[t-1])\nL = sum(h[6])"
    graph = gc.parse(text)
    right = graph.compile("L", ["h0"])(h0=np.ones(5) / 2, q=np.zeros(3))
    for options in ({}, {"checkpoint": 2}):
        buffers = graph.compile("L", ["h0"], **options).buffers()
        buffers.args["h0"][...] = 0.5
        buffers()
        np.testing.assert_allclose(buffers.results["h0"], right[1]["h0"], rtol=1e-14)
        assert buffers.args["q"].shape == (3,)


@pytest.mark.parametrize("backend", ["auto", "numpy", "c"])
@pytest.mark.parametrize("shape", ["", "[2]"])
def test_what_is_computed_and_its_slopes_have_names_of_their_own(shape, backend):
    graph = gc.parse(f"input x{shape}\nh = x**2\nk = sin(h)*x")
    at = {"x": np.full((2,) if shape else (), 1.5), "x_dot": np.full((2,) if shape else (), 0.5)}
    f = graph.compile(["h", "k"], "x", want="jvp", backend=backend)
    values, tangents = f(**at)
    found = refilled(f, at)
    for name in ("h", "k"):
        np.testing.assert_allclose(found["value", name], values[name], rtol=1e-14)
        np.testing.assert_allclose(found["tangent", name], tangents[name], rtol=1e-14)
    f = graph.compile(["h", "x"], "x", want="vjp", backend=backend)
    at = {"x": at["x"], "h_bar": at["x"] * 2, "x_bar": at["x"] * 3}
    values, adjoints = f(**at)
    found = refilled(f, at)
    np.testing.assert_allclose(found["value", "x"], values["x"], rtol=1e-14)
    np.testing.assert_allclose(found["adjoint", "x"], adjoints["x"], rtol=1e-14)
