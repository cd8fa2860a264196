"""C to take home: strict compilers take it, it agrees with exact evaluation, edges included."""

from __future__ import annotations

import ctypes
import itertools
import random
import re
import shutil
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from fractions import Fraction
from gc import collect
from pathlib import Path
from typing import Any

import edge_values
import numpy as np
import pytest
from c_programs import COMPILER, STRICT, Call, flat, results
from edge_graphs import cases as gates
from edge_graphs import truth
from edge_values import same_class
from random_graphs import KINKED, SMOOTH, cases
from referee.case import case_of
from referee.generator import model_of
from tensor_operations import OPERATIONS

import graphc as gc
from graphc.cli import main
from graphc.program.backends.c import building
from graphc.program.compiling import emit_files
from graphc.program.wants import WANTS
from graphc.table.tensors import define, unchanged

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
ROOT = Path(__file__).parents[2]
NEURON = """
input x1 x2
param w1 w2 b
a = w1*x1 + w2*x2 + b
o = sigmoid(a)
L = (o - 1)**2
"""
LAYER = """
input x[3] y[2]
param W[2,3] b[2]
h = tanh(W @ x + b)
L = sum((h - y)**2)
"""


def near(found: Any, expected: Any, told: str = "", rtol: float = 1e-9) -> None:
    expected = np.asarray(expected, dtype=float)
    size = 1 + np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-12 * size, err_msg=told)


def quiet(function: Any, *args: Any, **named: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args, **named)


# Random graphs, in a strict compiler, at exact points.


def exact_call(number: int, case: Any) -> Call:
    want = ("value_and_grad", "hessian", "values", "jvp")[number % 4]
    at: dict[str, Any] = dict(case.floats())
    if want == "jvp":
        at |= {f"{name}_dot": float(case.tangents[name]) for name in case.wrt}
    style = ("readable", "fast")[number // 4 % 2]
    of = None if want == "values" else case.of[0]
    return Call(case.graph, of, case.wrt, at, want, style)


def exactly(call: Call, case: Any) -> list[Any]:
    """The same results in exact arithmetic, or many digits."""
    graph, at = call.graph, case.at
    if call.want == "values":
        return [graph.values(at)[name] for name in graph]
    if call.want == "hessian":
        return [np.array(graph.hessian(call.of, call.wrt, at).tolist(), dtype=float).ravel()]
    value, slopes = graph.values(at)[call.of], graph.reverse(call.of, at)
    each = [slopes.get(name, Fraction(0)) for name in call.wrt]
    if call.want == "jvp":
        tangents = [case.tangents[name] for name in call.wrt]
        return [value, sum(s * t for s, t in zip(each, tangents, strict=True))]
    return [value, *each]


SANITIZERS = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def test_random_graphs_of_scalars_agree_with_exact_evaluation(tmp_path):
    drawn = [*cases(16), *cases(16, SMOOTH + KINKED, 1000)]
    calls = [exact_call(number, case) for number, case in enumerate(drawn)]
    found = results(calls, tmp_path, flags=SANITIZERS)
    for call, case, parts in zip(calls, drawn, found, strict=True):
        expected = [np.asarray(v, dtype=float).ravel() for v in quiet(exactly, call, case)]
        near(np.concatenate(parts), np.concatenate(expected), f"{case.text}\n{call.want}")


def tensor_call(seed: int) -> Call:
    """A random model of tensors, with numbers for its named sizes."""
    model = model_of(seed)
    leaves = tuple(replace(leaf, shape=leaf.value.shape) for leaf in model.leaves)
    case, rng = case_of(replace(model, leaves=leaves)), random.Random(seed)
    of, wrt, want = rng.choice(
        [
            (case.loss, list(case.wrt), "value_and_grad"),
            (case.loss, case.leaves, "hessian"),
            (case.node, list(case.wrt), "jacobian"),
            (None, None, "values"),
            (case.loss, case.leaves, "hvp"),
            (case.node, case.leaves, "vjp"),
        ]
    )
    at = dict(case.at)
    drawn = np.random.default_rng(seed)
    others = {f"{name}_dot": name for name in case.leaves} | {f"{case.node}_bar": case.node}
    at |= {name: drawn.normal(size=case.shapes[of_node]) for name, of_node in others.items()}
    mode = rng.choice(["reverse", "forward"])
    return Call(case.graph, of, wrt, at, want, rng.choice(["readable", "fast"]), mode)


def test_random_graphs_of_tensors_agree_with_numpy(tmp_path):
    calls = [quiet(tensor_call, seed) for seed in range(32)]
    found = results(calls, tmp_path, flags=SANITIZERS)
    for seed, (call, parts) in enumerate(zip(calls, found, strict=True)):
        for part, expected in zip(parts, quiet(call.by_numpy), strict=True):
            near(part, expected, f"seed {seed}, {call.want}\n{call.graph.to_text()}")


def all_operations() -> list[Call]:
    graph = gc.parse(OPERATIONS)
    given = {name: graph.values({})[name] for name in graph.input_names + graph.param_names}
    at = {name: np.asarray(value, dtype=float) for name, value in given.items()}
    dots = {f"{name}_dot": np.cos(value) for name, value in at.items()}
    wants = [("L", "value_and_grad"), (None, "values"), ("L", "hvp")]
    wrt = ["x", "v", "s", "M"]
    return [Call(graph, of, wrt, at | dots, want) for of, want in wants]


def test_every_tensor_operation_in_valgrind(tmp_path):
    valgrind = shutil.which("valgrind")
    runner = [valgrind, "-q", "--error-exitcode=9"] if valgrind else []
    calls = [*all_operations(), *(exact_call(k, case) for k, case in enumerate(cases(8, start=50)))]
    found = results(calls, tmp_path, flags=("-O1",), runner=runner)
    for call, parts in zip(calls, found, strict=True):
        for part, expected in zip(parts, quiet(call.by_numpy), strict=True):
            near(part, expected)


@pytest.mark.skipif(shutil.which("clang") is None, reason="there is no clang")
def test_clang_takes_it_too(tmp_path):
    calls = [exact_call(k, case) for k, case in enumerate(cases(8, SMOOTH, start=70))]
    calls += [*all_operations()[:1], *(quiet(tensor_call, seed) for seed in (1, 3, 5))]
    found = results(calls, tmp_path, "clang", ("-O1", "-Wno-unused-command-line-argument"))
    for call, parts in zip(calls, found, strict=True):
        for part, expected in zip(parts, quiet(call.by_numpy), strict=True):
            near(part, expected)


ELSEWHERE = {"arm-linux-gnueabihf-gcc": "qemu-arm", "aarch64-linux-gnu-gcc": "qemu-aarch64"}


@pytest.mark.parametrize("compiler", ELSEWHERE)
def test_other_machines(compiler, tmp_path):
    """Cross compilers make it, and an emulator runs it if there is one."""
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    calls = [exact_call(k, case) for k, case in enumerate(cases(4, SMOOTH, start=90))]
    calls += all_operations()[:1]
    emulator = shutil.which(ELSEWHERE[compiler])
    runner = [emulator] if emulator else ["sh", "-c", "exit 77"]
    try:
        found = results(calls, tmp_path, compiler, ("-O1", "-static"), runner)
    except AssertionError:
        if emulator is None and (tmp_path / "program").exists():
            return
        raise
    for call, parts in zip(calls, found, strict=True):
        for part, expected in zip(parts, quiet(call.by_numpy), strict=True):
            near(part, expected)


# The edges: the law of docs/design.md for all back ends.


def batches(texts: list[str], folder: Path) -> list[Any]:
    """The functions over points of some files, all in one library."""
    for number, text in enumerate(texts):
        renamed = (
            f"#define value_and_grad_batch g{number}_batch\n#define value_and_grad g{number}\n"
        )
        (folder / f"g{number}.c").write_text(renamed + text, encoding="utf-8")
    names = [f"g{number}.c" for number in range(len(texts))]
    flags = ("-O1", "-fno-math-errno", "-shared", "-fPIC", "-o", "all.so")
    subprocess.run([str(COMPILER), *STRICT, *flags, *names, "-lm"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "all.so"))
    return [getattr(library, f"g{number}_batch") for number in range(len(texts))]


def at_points(function: Any, arguments: list[np.ndarray], count: int) -> list[np.ndarray]:
    size = len(arguments[0])
    found = [np.empty(size) for _ in range(count)]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arguments, *found)]
    function(ctypes.c_size_t(size), *pointers)
    return found


@pytest.mark.parametrize(
    ("style", "maths"), [("readable", "libm"), ("fast", "libm"), ("fast", "own")]
)
def test_every_function_at_the_edges(style, maths, tmp_path):
    graphs = edge_values.graphs()
    operands = {name: [n for n in graph if n[0] in "uab"] for name, (graph, _) in graphs.items()}
    asked = {"backend": "c", "style": style, "maths": maths}
    texts = [graph.emit("y", operands[name], **asked) for name, (graph, _) in graphs.items()]
    for (name, (graph, count)), function in zip(
        graphs.items(), batches(texts, tmp_path), strict=True
    ):
        at = edge_values.points(count)
        columns = list(at.values())
        found = at_points(function, columns, 1 + len(operands[name]))
        value, slopes = quiet(graph.compile("y", operands[name], style=style), **at)
        same = same_class(found[0], np.broadcast_to(value, found[0].shape))
        assert same.all(), (name, [column[~same][:3] for column in columns])
        for operand, slope in zip(operands[name], found[1:], strict=True):
            right = np.broadcast_to(slopes[operand], slope.shape)
            same = same_class(slope, right, zeros=False) | np.isnan(value)
            assert same.all(), (name, operand, slope[~same][:3], right[~same][:3])


def test_closed_gates_pass_nothing():
    """All gates of the edge tests in one graph, first and second derivatives."""
    asked = list(gates())
    parts, ends = [], []
    for number, case in enumerate(asked):
        body = case.text.split("\n", 1)[1]
        parts.append(re.sub(r"\b([uhkmyL])\b", rf"\1_{number}", body))
        ends.append(f"L_{number}")
    graph = gc.parse("input x\n" + "\n".join(parts))
    first = graph.compile(ends, "x", want="grad", backend="c")
    second = graph.compile(ends, "x", want="hvp", backend="c")
    for x in (-1.0, 0.0):
        slopes, curves = first(x), second(x, x_dot=1.0)
        for case, end in zip(asked, ends, strict=True):
            if x in case.closed:
                right = truth(case, x)
                told = f"{case.text} at {x}"
                assert slopes[end]["x"] == pytest.approx(right[1], rel=1e-14, abs=0), told
                assert curves[end]["x"] == pytest.approx(right[2], rel=1e-14, abs=0), told


def test_tensors_at_the_edges():
    graph = gc.parse(
        "input x[2,3] M[2,2]\nh = sqrt(x)\nt = max(x, axis=1)\nu = min(x)\nn = norm(x, axis=1)\n"
        "s = softmax(x)\nl = logsumexp(x, axis=1)\np = pad(x, 1)\nd = diag(x[0])\n"
        "w = where(x > 0, h, 0)\nc = x.T @ x\nD = det(M)\nI = inv(M)\nS = solve(M, x)\n"
        "g = logdet(M)\nk = max(x, kink='share')"
    )
    f = graph.compile(want="values", backend="c")
    g = graph.compile(want="values")
    inf, nan = np.inf, np.nan
    good = np.array([[2.0, 1.0], [1.0, 3.0]])
    points = [
        [[-0.0, 0.0, 1.0], [2.0, -3.0, 0.0]],
        [[inf, 1.0, -1.0], [-inf, -inf, -inf]],
        [[1.0, nan, 2.0], [nan, nan, 1.0]],
        [[1e300, -1e300, 1e-300], [3.0, -0.0, -0.0]],
    ]
    for x in points:
        found, right = f(x=np.array(x), M=good), quiet(g, x=np.array(x), M=good)
        for name in right:
            one, other = np.ravel(found[name]), np.ravel(right[name])
            assert same_class(one, other).all(), (x, name, one, other)
    singular = f(x=np.ones((2, 3)), M=np.ones((2, 2)))
    assert singular["D"] == 0 and np.isnan(singular["g"])
    assert np.isnan(singular["I"]).all() and np.isnan(singular["S"]).all()


# Signatures.

SIGNATURES = {
    "value": "double *restrict result",
    "grad": "double *restrict x_bar, double *restrict w_bar",
    "value_and_grad": "double *restrict value, double *restrict x_bar, double *restrict w_bar",
    "jacobian": "double matrix[restrict 2]",
    "hessian": "double matrix[restrict 4]",
    "jvp": "double x_dot, double w_dot, double *restrict value, double *restrict value_dot",
    "vjp": "double y_bar, double *restrict value, double *restrict x_bar, double *restrict w_bar",
    "hvp": "double x_dot, double w_dot, double *restrict x_bar_dot, double *restrict w_bar_dot",
    "values": "double *restrict x_value, double *restrict z_value, double *restrict w_value, "
    "double *restrict h_value, double *restrict y_value",
}


@pytest.mark.parametrize("want", WANTS)
def test_a_want_is_a_function_of_every_argument(want):
    graph = gc.parse("input x z\nparam w\nh = w*x\ny = sin(h)")
    text = graph.emit("y" if want != "values" else None, ["x", "w"], want=want, backend="c")
    head = " ".join(re.findall(rf"^void {want}\((.*?)\)$", text, re.M | re.S)[0].split())
    assert head == f"double x, double z, double w, {SIGNATURES[want]}"
    assert ("(void)z;" in text) == (want != "values")


def test_nodes_keep_their_names():
    text = gc.parse(NEURON).emit("L", ["w1", "o"], backend="c")
    for line in (
        "const double a = w1 * x1 + w2 * x2 + b;",
        "const double o = sigmoid(a);",
        "const double a_bar = ",
        "*w1_bar = a_bar * x1; /* d a / d w1 = x1 */",
        "static double sigmoid(double x)",
        " *     a = w1*x1 + w2*x2 + b",
    ):
        assert line in text, line


def test_several_targets_are_told_apart():
    graph = gc.parse("input x\na = sin(x)\nb = cos(x)")
    text = graph.emit(["a", "b"], "x", backend="c")
    names = re.findall(r"\*restrict (\w+)", text.split("\nvoid value_and_grad(")[1].split(")")[0])
    assert names == ["a_value", "b_value", "a_x_bar", "b_x_bar"]


def test_the_same_graph_gives_the_same_bytes():
    texts = {gc.parse(LAYER).emit("L", backend="c", style=s) for s in ("readable", "fast") * 3}
    assert len(texts) == 2


HOSTILE_NAMES = "double n i work main NULL M_PI value w_bar t1 psi ψ errno sigmoid table1 value_2"
HOSTILE_NAMES += " i0 total best room1 bool L_tmpnam value_and_grad value_and_grad_part1 __x FLAT"
HOSTILE_NAMES += " eliminated solve_ inverse restrict inline INFINITY point y0 j1 gamma size_t"


def test_no_name_can_clash(tmp_path):
    names = HOSTILE_NAMES.split()
    text = f"input {' '.join(names)}\nparam w M[2,2]\n"
    text += f"A = {' + '.join(f'sigmoid({name})*{k + 1}' for k, name in enumerate(names))}\n"
    text += "B = A*w + sum(inv(M))\nv = A*[1, 2]\nL = B**2 + sum(v)"
    graph = gc.parse(text)
    at = {name: 0.1 * k for k, name in enumerate(names)} | {"w": 0.5, "M": 2 * np.eye(2)}
    wrt = ["w", "double", "value", "w_bar", "M"]
    scalars = gc.parse("\n".join([f"input {' '.join(names)}", "y = " + " * ".join(names)]))
    calls = [Call(graph, "L", wrt, at, style=style) for style in ("readable", "fast")]
    calls.append(Call(scalars, "y", ["n", "value"], {name: at[name] + 1 for name in names}))
    for call, parts in zip(calls, results(calls, tmp_path), strict=True):
        for part, expected in zip(parts, call.by_numpy(), strict=True):
            near(part, expected)


@pytest.mark.parametrize(
    "evil", ["*/ int x; /*", "a ??/", "b \\", "*??//", "*\\/", "\u202e*/", "/*"]
)
def test_a_comment_ends_where_it_should(evil, tmp_path):
    graph = gc.parse("input x\ny = sin(x)", evil)
    files = emit_files(graph, str(tmp_path / "g.c"), backend="c")
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    for name in files:
        command = [str(COMPILER), *STRICT, "-Wno-pragma-once-outside-header", "-c", name]
        subprocess.run([*command, "-o", str(tmp_path / "out")], check=True)


# What is refused.


def test_a_named_size_is_refused():
    graph = gc.parse("input x[n]\nL = sum(x**2)")
    with pytest.raises(gc.GraphcError, match="'n' is only a name; declare it with a number"):
        graph.emit(backend="c")


def test_an_operation_without_loops_is_refused(own_operations):
    define(
        "twice",
        shape=lambda shapes, settings, labels: shapes[0],
        pull=lambda here, k, adjoint: adjoint,
        push=lambda here, k, tangent: tangent,
        value=lambda numbers, args, settings: args[0] + args[0],
        batch=unchanged,
        call=lambda x: {},
    )
    with pytest.raises(gc.GraphcError, match="twice has no loops, which backend='c' needs"):
        gc.parse("input x[2]\ny = twice(x)\nL = sum(y)").emit(backend="c")


def test_a_record_from_outside_is_written_by_its_loops(own_operations):
    def loops(writer, result, operands, settings):
        writer.declare(result)
        source = operands[0].element("i0")
        writer.add(f"for ({{whole}}i0 = 0; i0 < {result.size}; i0++)")
        writer.add(f"    {result.element('i0')} = 2 * {source};")
        return result.text

    def carry(here, k, value):
        return here.apply("twice", (value,), {})

    define(
        "twice",
        shape=lambda shapes, settings, labels: shapes[0],
        pull=carry,
        push=carry,
        value=lambda numbers, args, settings: args[0] + args[0],
        batch=unchanged,
        call=lambda x: {},
        loops=loops,
    )
    graph = gc.parse("input x[2]\ny = twice(x)\nL = y @ y")
    value, slopes = graph.compile(backend="c")(np.array([1.0, 3.0]))
    assert value == 40 and slopes["x"].tolist() == [8, 24]


def test_without_a_compiler_it_says_what_to_do(monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(building.shutil, "which", lambda name: None)
    with pytest.raises(gc.GraphcError, match=r"there is no C compiler .*; use backend='numpy'"):
        gc.parse("input x\ny = sin(x)").compile(backend="c")
    assert "sin(x)" in gc.parse("input x\ny = sin(x)").emit(backend="c")


def test_a_compiler_that_fails_is_told(monkeypatch, tmp_path):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho no luck >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    f = gc.parse("input x\ny = sin(x) + 17.25").compile(backend="c")
    with pytest.raises(gc.GraphcError, match=r"failed \(no luck\); use backend='numpy'"):
        f(1.0)


def test_options_of_other_back_ends_are_refused():
    with pytest.raises(gc.GraphcError, match="checkpoint"):
        gc.parse(NEURON).compile("L", backend="c", checkpoint=3)


# Compiled functions.


@pytest.fixture(scope="module")
def neuron():
    return gc.parse(NEURON).compile("L", ["w1", "w2", "b"], backend="c")


AT = {"x1": 1.0, "x2": -2.0, "w1": 0.5, "w2": 0.25, "b": 0.0}


def test_numbers_and_points(neuron):
    numpy = gc.parse(NEURON).compile("L", ["w1", "w2", "b"])
    value, slopes = neuron(**AT)
    assert isinstance(value, np.float64) and value == 0.25
    assert {name: float(slope) for name, slope in slopes.items()} == {
        "w1": -0.25,
        "w2": 0.5,
        "b": -0.25,
    }
    for points in (np.linspace(-1, 1, 5), np.ones((2, 3)), np.zeros(0), np.ones(2, dtype=int)):
        found, right = neuron(**AT | {"x1": points}), numpy(**AT | {"x1": points})
        for one, other in zip(flat(found), flat(right), strict=True):
            near(one, other)
        assert found[0].shape == points.shape and found[1]["b"].shape == points.shape


def test_results_are_fresh_and_arguments_untouched(neuron):
    x1 = np.linspace(-1, 1, 4)
    before = x1.copy()
    first, second = neuron(**AT | {"x1": x1}), neuron(**AT | {"x1": x1})
    arrays = [x1, first[0], *first[1].values(), second[0], *second[1].values()]
    for one, other in itertools.combinations(arrays, 2):
        assert not np.shares_memory(one, other)
    assert np.array_equal(x1, before)
    first[0][:] = 7
    assert np.array_equal(neuron(**AT | {"x1": x1})[0], second[0])


def test_arguments_are_checked(neuron):
    with pytest.raises(gc.GraphcError, match="needs a value for 'x2'"):
        neuron(x1=1.0)
    with pytest.raises(gc.GraphcError, match="complex"):
        neuron(**AT | {"x1": 1j})
    with pytest.raises(gc.GraphcError, match="do not broadcast"):
        neuron(**AT | {"x1": np.ones(2), "x2": np.ones(3)})
    layer = gc.parse(LAYER).compile("L", backend="c")
    with pytest.raises((ValueError, gc.GraphcError), match=r"W has shape \(3, 2\), but \(2, 3\)"):
        layer(np.ones(3), np.ones(2), np.ones((3, 2)), np.ones(2))
    turned = layer(np.ones(3), np.ones(2), np.ones((3, 2)).T * 0.1, np.ones(2))
    near(
        turned[0],
        gc.parse(LAYER).compile("L")(np.ones(3), np.ones(2), np.full((2, 3), 0.1), np.ones(2))[0],
    )


def test_threads_may_share_a_function():
    graph = gc.parse(LAYER)
    f = graph.compile("L", backend="c")
    weights = [np.full((2, 3), 0.1 * k) for k in range(4)]
    right = [f(np.ones(3), np.ones(2), w, np.ones(2))[1]["W"] for w in weights]
    wrong = []

    def work(k: int) -> None:
        for _ in range(300):
            if not np.array_equal(
                f(np.ones(3), np.ones(2), weights[k], np.ones(2))[1]["W"], right[k]
            ):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("how", ["sum", "mean"])
def test_results_over_points(how):
    graph, x1 = gc.parse(NEURON), np.linspace(-2, 2, 1000)
    f = graph.compile("L", ["w1", "b"], backend="c", reduce=how)
    g = graph.compile("L", ["w1", "b"], reduce=how)
    for one, other in zip(flat(f(**AT | {"x1": x1})), flat(g(**AT | {"x1": x1})), strict=True):
        near(one, other, rtol=1e-13)
    near(flat(f(**AT))[0], flat(g(**AT))[0])


@pytest.mark.parametrize("text", [NEURON, LAYER])
def test_single_precision(text):
    graph = gc.parse(text)
    f, g = (graph.compile("L", backend=b, dtype="float32") for b in ("c", "numpy"))
    leaves = graph.input_names + graph.param_names
    at = {name: np.full(graph[name].shape, 0.3, dtype=np.float32)[()] for name in leaves}
    for one, other in zip(flat(f(at)), flat(g(at)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert f(at)[0].dtype == np.float32
    source = graph.emit("L", backend="c", dtype="float32")
    assert "tanhf(" in source or "expf(" in source
    assert "double" not in re.sub(r"/\*.*?\*/", "", source.split("#ifdef GRAPHC")[0], flags=re.S)


def test_a_users_function_is_its_code_or_its_formula(own_functions):
    gc.declare("cube", lambda x: x * x * x, code={"c": "{x} * {x} * {x}"})
    gc.declare("swish", lambda x: x * gc.sigmoid(x))
    graph = gc.parse("input x v[3]\ny = cube(x + 1) + swish(x)\nz = sum(cube(v*2) - swish(v)) + y")
    for style in ("readable", "fast"):
        options = {"style": style, "wrt": ["x", "v"]}
        found, right = (graph.compile("z", backend=b, **options) for b in ("c", "numpy"))
        for one, other in zip(flat(found(0.3, AT_3)), flat(right(0.3, AT_3)), strict=True):
            near(one, other)
    assert "static double swish(double x)" in graph.emit("z", backend="c")


AT_3 = np.array([0.5, -1.0, 2.0])

# Large programs.


def test_a_long_program_is_cut_into_parts(ladder):
    graph = ladder(300)
    text = graph.emit("o", "x", backend="c", style="fast")
    parts = re.split(r"^static APART void ", text, flags=re.M)[1:]
    assert len(parts) > 5
    assert all(len(part.splitlines()) < 450 for part in parts[:-1])
    f, g = (graph.compile("o", "x", backend=b) for b in ("c", "numpy"))
    for one, other in zip(flat(f(1.0)), flat(g(1.0)), strict=True):
        near(one, other)
    points = np.linspace(0, 1, 7)
    for one, other in zip(flat(f(points)), flat(g(points)), strict=True):
        near(one, other)


RECURRENT = """
input x[40,16]
param W[16,16] U[16,16]
h0 = zeros(16)
for t in 1..40:
    h[t] = tanh(W @ h[t-1] + U @ x[t-1])
L = h40 @ h40
"""


def test_large_arrays_are_asked_of_the_caller(tmp_path):
    graph = gc.parse("input x[100,100]\ny = sin(x)\nz = y @ y\nL = sum(z*y)")
    files = emit_files(graph, str(tmp_path / "large.c"), "L", backend="c")
    for name, text in files.items():
        Path(name).write_text(text)
        assert re.search(r"#define VALUE_AND_GRAD_WORK [1-9]\d+", text)
        assert "double *restrict work" in text or "double *work" in text
    command = [str(COMPILER), *STRICT, "-DGRAPHC_CHECK", "-O1", "-o", "large", "large.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run(["./large"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert re.fullmatch(r"value_and_grad: derived and measured slopes differ by .*\n", said.stdout)
    x = np.random.default_rng(0).normal(size=(100, 100))
    found, right = (flat(graph.compile("L", backend=b)(x)) for b in ("c", "numpy"))
    for one, other in zip(found, right, strict=True):
        near(one, other)


def test_a_long_program_of_tensors():
    graph = gc.parse(RECURRENT)
    drawn = np.random.default_rng(0)
    at = {name: drawn.normal(size=graph[name].shape) / 4 for name in ("x", "W", "U")}
    text = graph.emit("L", ["W", "U", "x"], backend="c")
    assert text.count("static APART void") > 2
    found, right = (
        flat(graph.compile("L", ["W", "U", "x"], backend=b)(at)) for b in ("c", "numpy")
    )
    for one, other in zip(found, right, strict=True):
        near(one, other)


# The check of a file by itself.


def checked(text: str, folder: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    (folder / "f.c").write_text(text, encoding="utf-8")
    command = [str(COMPILER), *STRICT, "-O1", "-DGRAPHC_CHECK", "-o", "f", "f.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run(["./f"], cwd=folder, capture_output=True, text=True, **more)


COMPARED = [want for want, record in WANTS.items() if record.compare is not None]


@pytest.mark.parametrize("want", COMPARED)
def test_a_file_checks_itself(want, tmp_path):
    for text in (NEURON, LAYER):
        graph = gc.parse(text)
        said = checked(graph.emit("L", want=want, backend="c"), tmp_path)
        assert said.returncode == 0
        assert re.fullmatch(rf"{want}: derived and measured slopes differ by \d.*\n", said.stdout)


def test_a_planted_fault_is_found(tmp_path):
    text = gc.parse(NEURON).emit("L", backend="c")
    said = checked(text.replace("= a_bar * x1;", "= a_bar * x2;"), tmp_path)
    assert said.returncode == 1
    text = gc.parse(LAYER).emit("L", want="hessian", backend="c")
    assert "1.0 -" in text
    assert checked(text.replace("1.0 -", "1.1 -"), tmp_path).returncode == 1


def test_what_cannot_be_compared_is_shown(tmp_path):
    said = checked(gc.parse("input x = 2\ny = x*stop(x)").emit("y", backend="c"), tmp_path)
    assert said.returncode == 0
    assert said.stdout == "value_and_grad: 4; not compared: the graph has its own slopes\n"
    said = checked(gc.parse("input x = 2\ny = x**2").emit("y", want="value", backend="c"), tmp_path)
    assert said.stdout == "value: 4\n"


# Our own vector maths.


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_vector_maths_goes_into_the_file(dtype, compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    graph = gc.parse("input x y\nL = sin(x)*exp(y) + sigmoid(x)**y + silu(y) + atan2(x, y)")
    text = graph.emit("L", backend="c", maths="own", dtype=dtype)
    code = text[text.index("\nvoid value_and_grad(") : text.index("#ifdef GRAPHC_CHECK")]
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    assert not re.search(r"\b(sin|exp|pow|atan2)f?\(", code)
    (tmp_path / "own.c").write_text(text)
    command = [compiler, *STRICT, "-O1", "-DGRAPHC_CHECK", "-o", "own", "own.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./own"], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize(("dtype", "near_enough"), [("float64", 1e-13), ("float32", 1e-5)])
def test_vector_maths_over_points(dtype, near_enough):
    """Some points are out of the range of the quick functions, and come again."""
    graph = gc.parse("input x\nh = tanh(x)\nL = sin(x)*exp(h) + log(h**2 + 1) + erf(x)")
    f, g = (graph.compile("L", backend=b, dtype=dtype, **m) for b, m in (("c", OWN), ("numpy", {})))
    x = np.linspace(-3, 3, 1000).astype(dtype)
    x[[3, 70, 71, 999]] = [1e30, np.inf, np.nan, -0.0]
    for one, other in zip(flat(f(x)), flat(quiet(g, x)), strict=True):
        np.testing.assert_allclose(one, other, rtol=near_enough, atol=near_enough)
    assert "value_and_grad_quick" in graph.emit("L", backend="c", **OWN)
    near(flat(f(0.5)), flat(g(0.5)), rtol=near_enough)


OWN = {"maths": "own"}


def test_vector_maths_is_for_c():
    with pytest.raises(gc.GraphcError, match="maths='own' puts our vector maths into a file of C"):
        gc.parse(NEURON).compile("L", maths="own")


# To take home.


def test_the_command_line_writes_a_file_and_its_header(tmp_path, capsys):
    """The robot arm of the README, as C, compiled and run."""
    arm = [str(ROOT / "examples" / "arm.gc"), "--of", "x,y", "--wrt", "q1,q2", "--want", "jacobian"]
    path = tmp_path / "arm.c"
    assert main(["emit", *arm, "--backend", "c", "-o", str(path)]) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["arm.c", "arm.h"]
    (tmp_path / "use.c").write_text(
        '#include <stdio.h>\n#include "arm.h"\nint main(void)\n{\n    double J[4];\n'
        "    jacobian(0.5, 1.0, 1.0, 0.75, J);\n"
        '    printf("%.17g %.17g %.17g %.17g\\n", J[0], J[1], J[2], J[3]);\n    return 0;\n}\n'
    )
    command = [str(COMPILER), *STRICT, "-o", "use", "use.c", "arm.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run(["./use"], cwd=tmp_path, capture_output=True, text=True, check=True)
    q1, both = 0.5, 1.5
    right = [-np.sin(q1) - 0.75 * np.sin(both), -0.75 * np.sin(both)]
    right += [np.cos(q1) + 0.75 * np.cos(both), 0.75 * np.cos(both)]
    near([float(word) for word in said.stdout.split()], right)
    assert checked(path.read_text(), tmp_path).returncode == 0
    assert main(["emit", *arm, "--backend", "c"]) == 0
    assert capsys.readouterr().out == path.read_text()


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_cpp_may_include_the_header(tmp_path):
    f = gc.parse(LAYER).compile("L", backend="c")
    f.save(tmp_path / "my layer.c")
    (tmp_path / "use.cpp").write_text(
        '#include "my layer.h"\n#include "my layer.h"\n'
        "int main() { double v, W[6] = {}, b[2] = {}, x[3] = {}, y[2] = {1, 2}, G[6], g[2];\n"
        "value_and_grad(x, y, W, b, &v, G, g); return v == 5 ? 0 : 1; }\n"
    )
    flags = ["-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["g++", *flags, "-c", "use.cpp"], cwd=tmp_path, check=True)
    subprocess.run([str(COMPILER), *STRICT, "-c", "my layer.c"], cwd=tmp_path, check=True)
    link = ["g++", "-o", "use", "use.o", "my layer.o", "-lm"]
    subprocess.run(link, cwd=tmp_path, check=True)
    subprocess.run(["./use"], cwd=tmp_path, check=True)


def test_the_library_goes_with_the_process(tmp_path):
    code = (
        "import graphc as gc\nfrom graphc.program.backends.c import building\n"
        "f = gc.parse('input x\\ny = sin(x)').compile(backend='c')\nf(1.0)\n"
        "print(building._directory())"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not Path(said.stdout.strip()).exists()


@pytest.mark.parametrize(
    "want", ["value", "value_and_grad", "hessian", "jacobian", "hvp", "values"]
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("text", [NEURON, "input x1[3]\nparam w1\nL = sum(tanh(w1*x1)*x1)"])
@pytest.mark.parametrize("library", ["1", "0"])
def test_buffers_call_c(text, dtype, want, library, monkeypatch):
    monkeypatch.setenv("GRAPHC_NATIVE", library)
    graph = gc.parse(text)
    asked = {"want": want, "dtype": dtype}
    f = graph.compile("L" if want != "values" else None, ["w1"], backend="c", **asked)
    drawn = np.random.default_rng(3)
    shapes = {name: graph[name].shape if name in graph else () for name in f.arguments}
    at = {name: drawn.normal(size=shape)[()] for name, shape in shapes.items()}
    buffers = f.buffers()
    for name, value in at.items():
        assert buffers.args[name].dtype == dtype
        buffers.args[name][...] = value
    found, call = buffers.results, buffers.__call__
    del buffers, f
    collect()
    call()
    right = flat(graph.compile("L" if want != "values" else None, ["w1"], **asked)(**at))
    near(
        np.concatenate([np.ravel(part) for part in found.values()]),
        np.concatenate(right),
        rtol=1e-12 if dtype == "float64" else 1e-5,
    )


@pytest.mark.parametrize("backend", ["auto", "numpy", "c"])
def test_a_mean_over_no_points_is_refused_by_every_back_end(backend):
    f = gc.parse("input x\ny = x**2").compile("y", "x", reduce="mean", backend=backend)
    with pytest.raises(gc.GraphcError, match="nothing does not exist"):
        f(x=np.empty(0))
