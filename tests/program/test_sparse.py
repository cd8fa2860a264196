"""Sparse Jacobians and Hessians: the same numbers as dense ones, only where a path leads."""

from __future__ import annotations

import numpy as np
import pytest
from engines import every_engine

import graphc as gc
from graphc.program.sparse import _join, colours

scipy_sparse = pytest.importorskip("scipy.sparse")

GRAPHS = {
    "rosenbrock": ("input x[6]\nf = sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)", "f", "x"),
    "stencil": ("input x[5]\nf = x[2:]*x[:-2] + sin(x[1:-1])", "f", "x"),
    "padded": ("input x[4]\nf = exp(pad(x, ((1, 1)))[2:]) - x", "f", "x"),
    "product": ("input A[3,4]\ninput x[4]\nf = A @ tanh(x)", "f", ["x", "A"]),
    "broadcast": ("input A[2,3]\ninput b[3]\nf = A*b + A.T[1, 0]", "f", ["A", "b"]),
    "reductions": ("input A[2,3]\nf = log(sum(A**2, axis=1)) + max(A, axis=1)", "f", "A"),
    "logsumexp": ("input A[2,3]\nf = logsumexp(A, axis=1)*norm(A, axis=1)", "f", "A"),
    "gates": ("input x[4]\nf = where(x > 0.5, log(x), x**2)", "f", "x"),
    "scalars": ("input a b c\nu = a*b\nv = sin(b) + c", ["u", "v"], ["a", "b", "c"]),
    "windows": ("input x[6]\nf = conv1d(x, [1, 2, 1])", "f", "x"),
    "a source behind another": ("input x\ny = x**2\nz = y*x", ["z", "y"], ["x", "y"]),
    "a row of sources": (
        "input x[3]\nh = sin(x)*sum(x)\nu = h[1:]*x[0]\nf = u*x[:2] + sum(h)",
        ["f", "h", "x"],
        ["u", "x", "h"],
    ),
    "stopped": ("input x[3]\nf = stop(x)*x + relu(x - 0.3)", "f", "x"),
}


def point(graph: gc.Graph) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {name: rng.uniform(0.2, 0.9, graph[name].shape)[()] for name in graph.input_names}


@every_engine
@pytest.mark.parametrize("name", GRAPHS)
def test_jacobians_are_those_of_the_graph(name, engine):
    text, of, wrt = GRAPHS[name]
    graph = gc.parse(text)
    at = point(graph)
    found = graph.compile(of, wrt, want="jacobian", sparse=True, **engine)(at)
    assert scipy_sparse.issparse(found) and found.format == "csr"
    dense = np.array(graph.compile(of, wrt, want="jacobian")(at), dtype=float)
    np.testing.assert_allclose(found.toarray(), dense.reshape(found.shape), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    "text", [GRAPHS["rosenbrock"][0], "input x[4]\nf = sum(sin(x[1:]*x[:-1]))"]
)
def test_hessians_are_those_of_the_graph(text):
    graph = gc.parse(text)
    at = point(graph)
    found = graph.compile("f", "x", want="hessian", sparse=True)(at)
    dense = graph.compile("f", "x", want="hessian")(at)
    np.testing.assert_allclose(found.toarray(), dense, rtol=1e-13, atol=1e-12)


def test_only_entries_with_a_path_are_stored():
    size = 50
    graph = gc.parse(f"input x[{size}]\nf = sum((x[1:] - x[:-1]**2)**2)")
    compiled = graph.compile("f", "x", want="hessian", sparse=True)
    assert compiled(np.linspace(0, 1, size)).nnz == 3 * size - 2
    assert compiled.plan.colours == 3 and "3 colours" in str(compiled.plan)


def test_results_are_fresh():
    graph = gc.parse("input x[3]\nf = x**2")
    compiled = graph.compile("f", "x", want="jacobian", sparse=True)
    first = compiled([1.0, 2.0, 3.0])
    first.data[:] = 7
    first.eliminate_zeros()
    assert compiled([1.0, 2.0, 3.0]).toarray().diagonal().tolist() == [2, 4, 6]


def test_colours_separate_columns_of_a_row():
    graph = gc.parse("input x[4]\nf = x*sum(x)")
    assert graph.compile("f", "x", want="jacobian", sparse=True).plan.colours == 4
    graph = gc.parse("input x[4]\nf = x**2")
    assert graph.compile("f", "x", want="jacobian", sparse=True).plan.colours == 1
    assert callable(colours)


def test_join_finds_all_pairs():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 5, 12), rng.integers(-1, 5, 9)
    slots, pairs = _join(one, other)
    wanted = {(i, j) for i, a in enumerate(one) for j, b in enumerate(other) if a == b}
    assert set(zip(slots.tolist(), pairs.tolist(), strict=True)) == wanted


@pytest.mark.parametrize(
    ("text", "settings", "word"),
    [
        ("input x[3000]\nf = softmax(x)", {}, "softmax"),
        ("input x[n]\nf = x**2", {}, "known sizes"),
        ("input x[3]\nf = x**2", {"want": "vjp"}, "jacobian"),
        ("input x[3]\nf = x**2", {"backend": "cupy"}, "scipy"),
    ],
)
def test_what_is_not_sparse_is_told(text, settings, word):
    graph = gc.parse(text)
    with pytest.raises(gc.GraphcError, match=word):
        graph.compile("f", "x", **{"want": "jacobian", "sparse": True, **settings})


@pytest.mark.parametrize(
    "text",
    [
        "input x[2, 3]\nf = softmax(x**2, axis=0)*x",
        "input x[3, 3]\nf = inv(x + 3*eye(3)) @ x",
        "input x[2, 2]\nf = solve(x + 3*eye(2), x[0]**2)",
    ],
)
def test_where_each_element_depends_on_each(text):
    graph = gc.parse(text)
    at = {"x": np.random.default_rng(0).uniform(0.2, 1, graph["x"].shape)}
    dense = graph.compile("f", "x", want="jacobian")(**at)
    sparse = graph.compile("f", "x", want="jacobian", sparse=True)(**at)
    np.testing.assert_allclose(sparse.toarray(), dense.reshape(sparse.shape), rtol=1e-12)


def test_what_hangs_together_has_no_hessian_dense_or_sparse():
    graph = gc.parse("input x\ny = x**2\nz = y*x")
    for sparse in (False, True):
        with pytest.raises(gc.GraphcError, match="cannot both be held as inputs"):
            graph.compile("z", ["x", "y"], want="hessian", sparse=sparse)


def test_what_no_path_meets_needs_no_sparse_form():
    text = "input x y\nz = x*y\nd z / d x = y\nw = z**2\noutput w"
    graph, at = gc.parse(text), {"x": 2.0, "y": 3.0}
    assert graph.compile("w", ["z"], want="jacobian", sparse=True)(at).toarray() == [[12.0]]
    assert graph.compile("w", ["x"], want="jacobian", sparse=True)(at).toarray() == [[36.0]]
    with pytest.raises(gc.GraphcError, match="sparse derivative"):
        graph.compile("w", ["x", "y"], want="jacobian", sparse=True)


PADDED = {
    "y = conv1d(x, k, padding=1)\nL = sum(y**3)": ["k", "x"],
    "y = sin(conv1d(x, k, padding=1))\nL = sum(y)": ["x", "k"],
    "y = maxpool(x, 2, padding=1)\nL = sum(exp(y))": ["x"],
    "L = sum(tanh(conv1d(x, k, padding=1)))": ["k", "x"],
}


@pytest.mark.parametrize("formulas", PADDED)
def test_padding_has_no_entries(formulas):
    graph, wrt = gc.parse(f"input x[6]\nparam k[3]\n{formulas}"), PADDED[formulas]
    at = {"x": np.linspace(0.5, 1.5, 6), "k": np.array([1.0, -2.0, 0.5])}
    found = graph.compile("L", wrt, want="hessian", sparse=True)(**at).toarray()
    assert np.allclose(found, graph.compile("L", wrt, want="hessian")(**at), rtol=1e-12)
    assert np.allclose(found, found.T, rtol=1e-12)


def test_entries_are_as_many_as_places_not_paths():
    g = gc.parse("input b[12]\ns = sum(b)\nh = sin(s)/(2 + b**2)\nv = var(h)\nL = sum(sin(h*v))")
    at = {"b": np.linspace(-1, 1.2, 12)}
    f = g.compile("L", "b", want="hessian", sparse=True)
    assert np.allclose(f(**at).toarray(), g.hessian("L", "b", at), rtol=1e-12, atol=1e-14)
    assert len(f.source) < 50_000  # 39 million characters when every path had an entry


def test_sums_over_equal_and_unequal_numbers_of_entries():
    g = gc.parse(
        "input x[3]\ny = take(x, [0, 0, 1, 2, 2, 2])\nL = sum(y)*sum(y**2) + sum(x*sum(x))"
    )
    at = {"x": np.array([0.5, -1.0, 2.0])}
    for want in ("jacobian", "hessian"):
        dense = g.compile("L", "x", want=want)(**at).reshape(-1, 3)
        assert np.allclose(g.compile("L", "x", want=want, sparse=True)(**at).toarray(), dense)


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_a_sparse_matrix_of_scalars_is_that_of_one_point(backend):
    graph = gc.parse("input x y\nz = x*y\nw = sin(x)")
    f = graph.compile(["z", "w"], ["x", "y"], want="jacobian", sparse=True, backend=backend)
    assert f(x=0.0, y=2.0).toarray().tolist() == [[2, 0], [1, 0]]
    with pytest.raises(gc.GraphcError, match=r"x has shape \(3,\), but \(\) is needed"):
        f(x=np.ones(3), y=2.0)
