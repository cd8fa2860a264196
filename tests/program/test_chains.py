"""Element-wise operations of tensor programs as native chains: which, where, and what they read."""

from __future__ import annotations

import linecache
import re
from typing import Any

import numpy as np
import pytest

import graphc as gc
from graphc.native.arrays import seen
from graphc.program.backends.native.chains import Chains


def text_of(f: Any, *given: Any, **named: Any) -> str:
    """The text that runs, after a call."""
    f(*given, **named)
    code = f._function(f._options.dtype).__code__
    return "".join(linecache.getlines(code.co_filename))


def lines_of(f: Any, **given: Any) -> list[str]:
    """The statements of the function, without those about arguments and the workspace."""
    inside = text_of(f, **given).partition("= space\n")[2].partition("results = ")[0]
    return [line.strip() for line in inside.splitlines() if line.strip()]


def both(graph: gc.Graph, at: dict[str, Any], **asked: Any) -> tuple[Any, Any]:
    """The answer of chains, at a second call, and NumPy's."""
    f, numpy = graph.compile(**asked), graph.compile(**asked, backend="numpy")
    f(**{name: np.asarray(value) + 0.25 for name, value in at.items()})
    return f(**at), numpy(**at)


def same(one: Any, other: Any, rtol: float = 1e-13) -> None:
    if isinstance(one, (tuple, dict)):
        parts = one.keys() if isinstance(one, dict) else range(len(one))
        for key in parts:
            same(one[key], other[key], rtol)
        return
    assert np.shape(one) == np.shape(other) and np.asarray(one).dtype == np.asarray(other).dtype
    np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-13)


X = np.linspace(-2, 2, 12).reshape(3, 4)


def test_a_network_is_products_and_chains():
    g = gc.parse(
        "input x[50]\nparam W[50,40] V[40,30] b[40]\n"
        "h = tanh(x @ W + b)\nL = sum(sigmoid(h @ V)**2)"
    )
    rng = np.random.default_rng(0)
    at = {"x": rng.normal(size=50), "W": rng.normal(size=(50, 40)) / 7}
    at |= {"V": rng.normal(size=(40, 30)) / 7, "b": rng.normal(size=40)}
    f = g.compile(wrt=["W", "V", "b"])
    lines = lines_of(f, **at)
    others = [line for line in lines if not re.match(r"chains?\d+\(", line)]
    assert len(lines) - len(others) <= 7 and "np.tanh" not in "".join(lines)
    assert not [line for line in others if not re.search(r"@|np\.(matmul|dot|empty|sum)", line)]
    same(*both(g, at, wrt=["W", "V", "b"]))


SMALL = """
input p[3]
param R[4,3,3] t[4,3]
x0 = p
for k in 1..4:
    x[k] = R[k-1] @ x[k-1] + t[k-1]
A = R[0] @ R[1].T
L = sum(x4**2) + sum(A*A.T) + sum(sum(R, axis=2)**2)
"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("want", ["value_and_grad", "jacobian", "hessian", "hvp"])
def test_products_of_small_matrices_are_chains(want, dtype):
    g = gc.parse(SMALL)
    rng = np.random.default_rng(1)
    at = {"p": rng.normal(size=3), "R": rng.normal(size=(4, 3, 3)), "t": rng.normal(size=(4, 3))}
    if want == "hvp":
        at |= {"R_dot": rng.normal(size=(4, 3, 3)), "t_dot": rng.normal(size=(4, 3))}
    f = g.compile(wrt=["R", "t"], want=want, dtype=dtype)
    if want == "value_and_grad":
        assert not re.search(r"matmul|np\.dot", "".join(lines_of(f, **at)))
    right = g.compile(wrt=["R", "t"], want=want, backend="numpy")(**at)
    tolerance = 1e-13 if dtype == "float64" else 2e-5
    for point in (at, {name: value + 0.5 for name, value in at.items()}, at):
        found = f(**point)
    for one, other in zip(leaves(found), leaves(right), strict=True):
        largest = np.max(np.abs(other))
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * largest)


def leaves(found: Any) -> list[Any]:
    """The arrays of a result."""
    if not isinstance(found, (tuple, dict)):
        return [found]
    parts = found.values() if isinstance(found, dict) else found
    return [array for part in parts for array in leaves(part)]


def test_slopes_of_values_are_computed_where_they_are_read():
    """1 - tanh(x)**2 needs no memory between the pass forth and the pass back."""
    g = gc.parse("param x[6] W[6,6]\nh = tanh(x)\nk = tanh(W @ h)\nL = sum(W @ k)")
    f = g.compile()
    program = f._task.program
    rows = f._task.schedule.order
    chains = list(Chains(program, rows, frozenset(f._task.rows()), lambda row: False))
    for chain in chains:
        ops = {program.ops[row] for row in chain.writes}
        assert "square" not in ops and "sub" not in ops, [program.ops[r] for r in chain.writes]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_operands_of_every_layout(dtype):
    g = gc.parse(
        """
input A[3,4] B[4,3] c[4] d[3] s
u = A*B.T + c - d[:, None]
v = exp(-u**2)*s + A[::-1]*A[:, :1]
w = v[1:]*v[:-1] + reshape(v, (4, 3)).T[:2]
L = sum(where(u > 0, v, u)) + sum(w)
"""
    )
    rng = np.random.default_rng(1)
    at: dict[str, Any] = {"A": rng.normal(size=(3, 4)), "B": rng.normal(size=(4, 3))}
    at |= {"c": rng.normal(size=4), "d": rng.normal(size=3), "s": 0.7}
    tolerance = 1e-13 if dtype == "float64" else 2e-5
    for want in ("value_and_grad", "values"):
        asked = {"want": want} if want == "values" else {"of": "L", "wrt": list(at), "want": want}
        found = both(g, at, dtype=dtype, **asked)
        same(*found, tolerance)
        for stood in (np.asfortranarray, lambda v: np.repeat(v, 2, axis=-1)[..., ::2]):
            other = {name: stood(v) if np.ndim(v) else v for name, v in at.items()}
            same(g.compile(dtype=dtype, **asked)(**other), found[0], tolerance)


def test_sizes_that_are_names_change_from_call_to_call():
    g = gc.parse("input X[n,m] y[n]\nz = tanh(X*y[:, None])\nL = sum(z*z)/n + sum(1/(1 + y*y))")
    f, numpy = (g.compile("L", ["X", "y"], backend=name) for name in ("auto", "numpy"))
    rng = np.random.default_rng(2)
    for n, m in ((3, 4), (1, 1), (0, 2), (2, 0), (700, 3), (3, 4), (4, 3), (5, 1)):
        at = {"X": rng.normal(size=(n, m)), "y": rng.normal(size=n)}
        with np.errstate(invalid="ignore"):
            same(f(**at), numpy(**at), 1e-11)


def test_conditions_are_numbers_only_inside():
    """Also where a product of matrices reads one, and where one is known beforehand."""
    g = gc.parse(
        """
input x[4] y[4] W[4,4]
d = where(x > y, x, y)*where([1, 2, 3, 4] > 2, y, 1)
m = where(x > y, 1, 0)
L = sum(d) + sum(W @ m) + sum(relu(W @ x)*relu(y)) + sum(x**[0, 1, 2, 3])
"""
    )
    at: dict[str, Any] = {"x": np.array([1.0, -1.0, 0.0, 2.0]), "y": np.array([0.0, 0, 0, 3])}
    at["W"] = np.arange(16.0).reshape(4, 4) - 7
    for dtype in ("float64", "float32"):
        same(*both(g, at, want="values", dtype=dtype))
        same(*both(g, at, of="L", wrt=["x", "y", "W"], dtype=dtype))


SHIFTS = ("pad(z[:-1], ((1, 0),))", "pad(z[1:], ((0, 1),))", "pad(z[::-1][1:], ((0, 1),))")
SHIFTS += ("pad(reshape(reshape(z, (2, 350)).T, (700,))[1:], ((1, 0),))",)


@pytest.mark.parametrize("shift", SHIFTS)
def test_a_part_that_looks_at_what_it_is_added_to(shift):
    """What a block reads, another block must not have written."""
    g = gc.parse(f"input x[350]\nz = concat([sin(x), cos(x)])\ny = z + {shift}\nL = sum(cos(y))")
    at = {"x": np.linspace(0, 5, 350)}
    same(*both(g, at, of="y", want="value"))
    same(*both(g, at, of="L", wrt=["x"]), 1e-11)
    for refilled in (g.compile("y", want="value"), g.compile("L", ["x"])):
        buffers = refilled.buffers()
        buffers.args["x"][...] = at["x"]
        buffers()
        right = refilled(**at)
        right = right[1]["x"] if isinstance(right, tuple) else right
        np.testing.assert_allclose(list(buffers.results.values())[-1], right, rtol=1e-11)


def test_arrays_of_bare_numbers_are_floats():
    g = gc.parse("input A B[n]\nu = tanh(reshape(A, (1, 1)))\nL = sum(u*reshape(1/n, (1, 1)))")
    for mode in ("forward", "reverse"):
        same(*both(g, {"A": -1.0, "B": np.ones(3)}, of="L", wrt=["A"], mode=mode))


def test_arrays_of_many_axes():
    """A second derivative has the axes three times."""
    sizes = ",".join("1" * 5 + "23" + "1" * 5)
    g = gc.parse(f"input x[{sizes}]\nL = sum(exp(x)*x + sin(x))**2")
    at = {"x": X[:2, :3].reshape([int(size) for size in sizes.split(",")])}
    for want in ("value_and_grad", "hessian"):
        same(*both(g, at, of="L", wrt=["x"], want=want), 1e-11)


def test_results_are_nobodys_memory():
    g = gc.parse("param x[3]\ny = exp(x)\nz = y[1:]\nL = sum(y)")
    f = g.compile(want="values")
    first = f(x=np.zeros(3))
    kept = {name: np.array(value) for name, value in first.items()}
    f(x=np.ones(3))
    for name, value in first.items():
        np.testing.assert_array_equal(value, kept[name])


def test_a_view_that_is_a_copy_is_told():
    x = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(seen(x[:, 1], x), x)
    seen(x[:0], x)
    with pytest.raises(ValueError, match="copy"):
        seen(np.reshape(x.T, -1), x)


def test_rows_that_run_twice_are_not_chained():
    g = gc.parse("param h0[50]\nfor t in 1..8:\n    h[t] = tanh(h[t-1])\nL = sum(h[8])")
    plain, spaced = g.compile(), g.compile(checkpoint=3)
    at = np.linspace(-1, 1, 50)
    same(spaced(h0=at), plain(h0=at))
    assert "np.tanh" in text_of(spaced, h0=at) and "np.tanh" not in text_of(plain, h0=at)


def test_many_threads_share_a_function():
    from concurrent.futures import ThreadPoolExecutor

    g = gc.parse("param x[40,30]\nL = sum(sin(x)*tanh(x.T @ x)[:1, :] + x[:, :1])")
    f = g.compile()
    points = [np.random.default_rng(k).normal(size=(40, 30)) for k in range(8)]
    right = [f(x=point) for point in points]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            for one, other in zip(pool.map(lambda p: f(x=p), points), right, strict=True):
                assert one[0] == other[0]
                np.testing.assert_array_equal(one[1]["x"], other[1]["x"])


def test_the_plan_says_so():
    g = gc.parse("param x[3]\nL = sum(exp(x))")
    assert "chains" in str(g.compile().plan)
