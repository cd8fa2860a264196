"""Sparse matrices in C: the entries and the pattern that NumPy gives, in every way to ask."""

from __future__ import annotations

import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import COMPILER, STRICT, Call, results
from referee.case import case_of
from referee.generator import model_of
from test_sparse import GRAPHS, PADDED, point

import graphc as gc
from graphc.cli import main
from graphc.program.backends.c import memory
from graphc.program.backends.c.calling import function
from graphc.program.compiling import emit_files
from graphc.program.sparse import Sparse

pytest.importorskip("scipy.sparse")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

Asked = tuple[str, Any, Any, str]  # text, of, wrt, want
ASKED: dict[str, Asked] = {name: (*graph, "jacobian") for name, graph in GRAPHS.items()}
ASKED |= {
    f"padding, {k}": (f"input x[6]\ninput k[3]\n{text}", "L", wrt, "hessian")
    for k, (text, wrt) in enumerate(PADDED.items())
}
ASKED |= {
    "no entry": ("input x[3]\ninput y[2]\nf = 2*y", "f", "x", "jacobian"),
    "no element": ("input x[0]\nf = x**2", "f", "x", "jacobian"),
    "only numbers": ("input x[4]\nf = 3*x + 1", "f", "x", "jacobian"),
    "one number": ("input x[3]\ninput a\nf = a*x", "f", ["x"], "jacobian"),
    "axes of one": ("input x[1]\ninput A[1,3]\nf = A*x", "f", ["x", "A"], "jacobian"),
    "parts of arrays": (
        "input A[4,3]\nh = sin(A[1:3])\nf = h[1]*h[0, 2] + A[3]*A[::2, 1][1]",
        ["f", "h"],
        ["A"],
        "jacobian",
    ),
    "a part of a loop": ("input x[6]\nh = exp(x)\nf = h[1:]*h[:-1] + x[1:]", "f", "x", "jacobian"),
    "steps": ("input x[7]\nh = x**3\nf = h[::3]*x[1:4]", "f", "x", "jacobian"),
    "crossed": ("input A[3,3]\nf = A*A.T", "f", "A", "jacobian"),
    "a Hessian of blocks": (
        "input x[3]\ninput A[2,3]\nf = sum(exp(A @ x)) + sum(x)*A[1, 2]",
        "f",
        ["A", "x"],
        "hessian",
    ),
    "rosenbrock, second": (GRAPHS["rosenbrock"][0], "f", "x", "hessian"),
}


@cache
def in_both(name: str) -> tuple[gc.Graph, dict[str, np.ndarray], Any, Any]:
    text, of, wrt, want = ASKED[name]
    graph = gc.parse(text)
    asked = {"want": want, "sparse": True}
    plain = graph.compile(of, wrt, backend="numpy", **asked)
    return graph, point(graph), graph.compile(of, wrt, backend="c", **asked), plain


def same_matrix(found: Any, right: Any, rtol: float = 1e-12) -> None:
    assert found.format == right.format == "csr" and found.shape == right.shape
    assert found.dtype == right.dtype
    assert np.array_equal(found.indices, right.indices)
    assert np.array_equal(found.indptr, right.indptr)
    np.testing.assert_allclose(found.data, right.data, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", ASKED)
def test_matrices_are_those_of_numpy_and_of_dense_code(name):
    text, of, wrt, want = ASKED[name]
    graph, at, f, plain = in_both(name)
    found = f(at)
    same_matrix(found, plain(at))
    same_matrix(f(at), found, rtol=0)  # a second call
    dense = np.asarray(graph.compile(of, wrt, want=want, backend="c")(at), dtype=float)
    np.testing.assert_allclose(found.toarray(), dense.reshape(found.shape), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("backend", ["c", "numpy", "auto"])
@pytest.mark.parametrize("name", ASKED)
def test_buffers_hold_the_entries_in_the_order_of_the_pattern(name, backend):
    text, of, wrt, want = ASKED[name]
    graph, at, f, plain = in_both(name)
    if backend != "c":
        f = graph.compile(of, wrt, want=want, sparse=True, backend=backend)
    buffers = f.buffers()
    call = buffers.__call__
    for scale in (0.5, 1.0):  # what another point left is not seen
        for argument, value in at.items():
            buffers.args[argument][...] = scale * value
        call()
    right = plain(at)
    rows, columns = f.pattern
    dense = np.zeros(right.shape)
    dense[rows, columns] = buffers.results[want]
    np.testing.assert_allclose(dense, right.toarray(), rtol=1e-12, atol=1e-12)
    assert list(zip(rows, columns, strict=True)) == sorted(zip(rows, columns, strict=True))
    assert right.nnz == len(rows)


def test_float32():
    graph = gc.parse(GRAPHS["rosenbrock"][0])
    asked = {"want": "hessian", "sparse": True, "dtype": "float32"}
    x = np.linspace(0.1, 0.9, 6)
    f = graph.compile("f", "x", backend="c", **asked)
    assert f(x).dtype == np.float32
    same_matrix(f(x), graph.compile("f", "x", backend="numpy", **asked)(x), rtol=1e-5)
    code = f.source[f.source.index("#include") : f.source.index("#ifdef GRAPHC_CHECK")]
    assert "float matrix[restrict 16]" in code and "double" not in code


def test_results_share_no_memory():
    _, at, f, _ = in_both("rosenbrock")
    one, other = f(at), f(at)
    for name in ("data", "indices", "indptr"):
        assert not np.shares_memory(getattr(one, name), getattr(other, name))
    kept = other.toarray()
    one.data[:] = 7
    one.indices[:] = 0
    one.eliminate_zeros()
    assert np.array_equal(other.toarray(), kept) and np.array_equal(f(at).toarray(), kept)
    f.pattern[1][:] = 0
    assert np.array_equal(f.pattern[1], other.indices)


def test_threads_may_call_one_function():
    graph = gc.parse("input x[400]\nh = sin(x)*exp(x)\nf = h[1:]*h[:-1] + x[1:]**2")
    f = graph.compile("f", "x", want="jacobian", sparse=True, backend="c")
    points = [np.full(400, 0.01 * k) for k in range(8)]
    right = [f(x).data for x in points]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: f(points[k % 8]).data, range(400)))
    assert all(np.array_equal(data, right[k % 8]) for k, data in enumerate(found))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("input x[n]\nf = x**2", "known sizes"),
        ("input x[3000]\nf = softmax(x)", "softmax"),
    ],
)
def test_what_is_refused_is_told(text, word):
    with pytest.raises(gc.GraphcError, match=word):
        gc.parse(text).compile("f", "x", want="jacobian", sparse=True, backend="c")


def test_only_a_sparse_matrix_has_a_pattern():
    f = gc.parse("input x[3]\nf = x**2").compile("f", "x", want="jacobian")
    with pytest.raises(gc.GraphcError, match="compile with sparse=True"):
        f.pattern  # noqa: B018


def test_a_wrong_shape_is_told():
    _, _, f, _ = in_both("rosenbrock")
    with pytest.raises(gc.GraphcError, match=r"x has shape \(5,\), but \(6,\) is needed"):
        f(np.ones(5))


def test_entries_that_several_parts_fill_are_filled_in_their_order():
    """Parts of one size do not share a loop where one adds to what another has yet to write."""
    f = gc.parse("input x[3]\na = 2*x\nb = x**2\nf = a*b").compile(
        "f", "x", want="jacobian", sparse=True, backend="c"
    )
    one = f._task
    matrix = one.results
    assert isinstance(matrix, Sparse)
    ((row, _, _),) = matrix.parts
    x = next(r for r in one.program.in_order() if one.program.is_leaf(r))
    parts = ((row, np.array([0, 1, 2]), True), (x, np.array([2, 1, 0]), True))
    crossed = replace(one, results=replace(matrix, parts=parts))
    at = np.array([0.5, 2.0, -3.0])
    found = function(crossed, f._options)(at)
    assert found.data.tolist() == (6 * at**2 + at[::-1]).tolist()
    twice = replace(matrix, parts=((x, np.array([1, 1, 0]), False),))
    assert function(replace(one, results=twice), f._options)(at).data.tolist() == [-3.0, 2.5, 0.0]


# Files.


def test_strict_compilers_take_the_files(tmp_path):
    calls = []
    for number, (text, of, wrt, want) in enumerate(ASKED.values()):
        graph = gc.parse(text)
        style = ("readable", "fast")[number % 2]
        calls.append(Call(graph, of, wrt, point(graph), want, style, sparse=True))
    sanitizers = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    for call, (part,) in zip(calls, results(calls, tmp_path, flags=sanitizers), strict=True):
        np.testing.assert_allclose(part, call.by_numpy()[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("maths", ["libm", "own"])
@pytest.mark.parametrize("stack", [0, 1 << 16])
def test_long_functions_are_cut_into_parts(stack, maths, monkeypatch):
    monkeypatch.setattr(memory, "LONGEST_WHOLE", 3)
    monkeypatch.setattr(memory, "LONGEST_PART", 4)
    monkeypatch.setattr(memory, "STACK", stack)
    for name in ("a part of a loop", "padding, 1", "a Hessian of blocks", "reductions"):
        text, of, wrt, want = ASKED[name]
        graph, at, _, plain = in_both(name)
        asked = {"want": want, "sparse": True, "backend": "c", "maths": maths}
        f = graph.compile(of, wrt, **asked)
        assert f"static APART void {want}_part2(" in f.source
        assert ("_WORK" in f.source) == (not stack)
        same_matrix(f(at), plain(at))
        buffers = f.buffers()
        for argument, value in at.items():
            buffers.args[argument][...] = value
        buffers()
        assert np.array_equal(buffers.results[want], f(at).data)


def random_call(seed: int) -> Call | None:
    model = model_of(seed)
    leaves = tuple(replace(leaf, shape=leaf.value.shape) for leaf in model.leaves)
    case, rng = case_of(replace(model, leaves=leaves)), random.Random(seed)
    asked = [(case.node, list(case.wrt), "jacobian"), (case.loss, case.leaves, "hessian")]
    of, wrt, want = rng.choice(asked)
    style = rng.choice(["readable", "fast"])
    call = Call(case.graph, of, wrt, dict(case.at), want, style, sparse=True)
    try:
        call.by_numpy()
    except gc.GraphcError as error:
        assert "sparse" in str(error)
        return None
    return call


def test_random_graphs_agree_with_numpy(tmp_path):
    calls = [call for call in map(random_call, range(700, 724)) if call is not None]
    assert len(calls) > 12
    for call, (part,) in zip(calls, results(calls, tmp_path), strict=True):
        right = call.by_numpy()[0]
        scale = 1e-9 * max(1.0, np.abs(right[np.isfinite(right)]).max(initial=0.0))
        np.testing.assert_allclose(part, right, rtol=1e-9, atol=scale)


def checked(text: str, of: Any, wrt: Any, want: str, folder: Path) -> tuple[int, str]:
    """How the program under GRAPHC_CHECK ends, and what it says."""
    found = emit_files(
        gc.parse(text), str(folder / "f.c"), of, wrt, want=want, backend="c", sparse=True
    )
    for name, content in found.items():
        Path(name).write_text(content, encoding="utf-8")
    command = [str(COMPILER), *STRICT, "-O1", "-DGRAPHC_CHECK", "-o", "f", "f.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./f"], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.mark.parametrize("name", ["product", "padding, 0", "a Hessian of blocks", "no entry"])
def test_a_file_checks_itself(name, tmp_path):
    text, of, wrt, want = ASKED[name]
    status, said = checked(text, of, wrt, want, tmp_path)
    assert status == 0 and "derived and measured slopes differ by" in said


def test_the_check_finds_entries_in_wrong_places(tmp_path):
    text, of, wrt, want = ASKED["rosenbrock, second"]
    assert checked(text, of, wrt, want, tmp_path)[0] == 0
    source = (tmp_path / "f.c").read_text(encoding="utf-8")
    wrong = source.replace("matrix[1 + 3 * i] =", "matrix[1 + 3 * i] = 0.5 +")
    assert wrong != source
    (tmp_path / "f.c").write_text(wrong, encoding="utf-8")
    command = [str(COMPILER), *STRICT, "-O1", "-DGRAPHC_CHECK", "-o", "f", "f.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run(["./f"], cwd=tmp_path, capture_output=True).returncode == 1


def test_the_header_has_the_pattern(tmp_path):
    graph = gc.parse("input x[4]\ninput hessian_rows\nf = sum(x[1:]**2*x[:-1])*hessian_rows")
    asked = {"want": "hessian", "sparse": True}
    for name, text in emit_files(
        graph, str(tmp_path / "f.c"), "f", "x", backend="c", **asked
    ).items():
        Path(name).write_text(text, encoding="utf-8")
    rows, columns = graph.compile("f", "x", **asked).pattern
    use = [
        "#include <stdio.h>",
        '#include "f.h"',
        "int main(void)\n{",
        "    const double x[4] = {1, 2, 3, 4};",
        "    double entries[sizeof hessian_rows / sizeof hessian_rows[0]];",
        "    hessian(x, 2.0, entries);",
        f"    for (int k = 0; k < {len(rows)}; k++)",
        '        printf("%d %d %g\\n", hessian_rows[k], hessian_columns[k], entries[k]);',
        "    return 0;\n}\n",
    ]
    (tmp_path / "use.c").write_text("\n".join(use), encoding="utf-8")
    command = [str(COMPILER), *STRICT, "-o", "use", "use.c", "f.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(["./use"], cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [int(line[0]) for line in lines] == rows.tolist()
    assert [int(line[1]) for line in lines] == columns.tolist()
    right = graph.compile("f", "x", **asked)(x=[1, 2, 3, 4], hessian_rows=2.0)
    assert [float(line[2]) for line in lines] == right.data.tolist()
    told = (tmp_path / "f.h").read_text(encoding="utf-8")
    assert "(4, 4), row by row" in told and "hessian_rows[k] and column hessian_columns[k]" in told


def test_the_command_writes_them_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("r.gc").write_text(GRAPHS["rosenbrock"][0], encoding="utf-8")
    words = "emit r.gc --want hessian --of f --wrt x --sparse --backend c -o r.c"
    assert main(words.split()) == 0
    assert "extern const int hessian_columns[16];" in Path("r.h").read_text(encoding="utf-8")


def test_rows_of_one_size_share_a_loop():
    text = "input x[8]\nh = sin(x)*x\nf = h*exp(h) + x"
    f = gc.parse(text).compile("f", "x", want="jacobian", sparse=True, backend="c")
    body = f.source[f.source.index("void jacobian(") : f.source.index("#ifdef GRAPHC_CHECK")]
    assert body.count("for (") == 1 and "double t" in body and "[8];" not in body
