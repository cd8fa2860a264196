"""Emitted modules: golden text, the same bytes always, own checks with NumPy alone, safety."""

from __future__ import annotations

import ast
import io
import os
import shutil
import subprocess
import sys
import tokenize
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from effort import calls

import graphc as gc
from graphc.cli import main
from graphc.program.backends import arrays
from graphc.program.backends.numpy import NUMPY
from graphc.program.program import lower
from graphc.program.running import checked_code, load
from graphc.program.wants import WANTS

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "fig27_grad.py"
FIG27 = ROOT / "examples" / "fig27.gc"
FILES = sorted([*(ROOT / "examples").glob("*.gc"), *(ROOT / "examples" / "tensor").glob("*.gc")])
FAST = NUMPY.passes("fast", True)
FIVE = ["y1", "y2", "y3", "w2", "w3"]
RUFF = shutil.which("ruff") or str(Path(sys.executable).parent / "ruff")
pytestmark = pytest.mark.filterwarnings("ignore::graphc.KinkWarning")


def golden() -> str:
    graph = gc.load(FIG27)
    graph.extend("L = log(y10**2)")
    return graph.emit("L", FIVE)


def isolated(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python that has NumPy on its path and nothing else of what is installed."""
    return subprocess.run(
        [sys.executable, "-S", "-s", *arguments],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": os.environ["NUMPY_ALONE"], "PATH": os.defpath, **environment},
        cwd=os.environ["NUMPY_ALONE"],
    )


@pytest.fixture(scope="module", autouse=True)
def numpy_alone(tmp_path_factory):
    """A folder in which NumPy is all that can be imported besides the standard library."""
    folder = tmp_path_factory.mktemp("numpy_alone")
    installed = Path(np.__file__).parent
    for name in ("numpy", "numpy.libs"):
        if (installed.parent / name).exists():
            (folder / name).symlink_to(installed.parent / name)
    before = os.environ.get("NUMPY_ALONE")
    os.environ["NUMPY_ALONE"] = str(folder)
    yield folder
    os.environ.pop("NUMPY_ALONE")
    if before is not None:
        os.environ["NUMPY_ALONE"] = before


# Golden text.


def test_the_module_of_fig27_is_the_golden_file():
    assert golden() == GOLDEN.read_text(encoding="utf-8")


def test_the_golden_module_is_right():
    function = load(GOLDEN.read_text(encoding="utf-8"), "value_and_grad")
    at = {"y1": "1/2", "y2": "3/5", "y3": "7/10", "w2": "4/5", "w3": "-3/10"}
    graph = gc.load(FIG27)
    graph.extend("L = log(y10**2)")
    expected = graph.reverse("L", at)
    value, slopes = function(0.5, 0.6, 0.7, 0.8, -0.3)
    assert np.isclose(value, float(graph.values(at)["L"]), rtol=1e-15)
    for name in FIVE:
        assert np.isclose(slopes[name], float(expected[name]), rtol=1e-14), name


@pytest.mark.skipif(not Path(RUFF).exists(), reason="ruff is not installed")
def test_emitted_modules_are_clean(tmp_path):
    (tmp_path / "fig27_grad.py").write_text(golden(), encoding="utf-8")
    for number, file in enumerate(FILES):
        for want in WANTS:
            text = gc.load(file).emit(*_question(file, want), want)
            (tmp_path / f"m{number}_{want}.py").write_text(text, encoding="utf-8")
    found = subprocess.run(
        [RUFF, "check", "--isolated", "--no-cache", str(tmp_path)], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout[:3000]
    formatted = subprocess.run(
        [RUFF, "format", "--isolated", "--no-cache", "--check", str(tmp_path / "fig27_grad.py")]
    )
    assert formatted.returncode == 0


EMIT_ALL = """
import sys
import graphc as gc
for file in sys.argv[1:]:
    graph = gc.load(file)
    for style in ("readable", "fast"):
        print(graph.emit(graph.output_names[0], style=style))
"""


def test_the_bytes_do_not_depend_on_the_hash_seed():
    files = [str(FIG27), str(ROOT / "examples/tensor/softmax_regression.gc")]
    files.append(str(ROOT / "examples/xor.gc"))
    texts = {
        subprocess.run(
            [sys.executable, "-c", EMIT_ALL, *files],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(texts) == 1 and len(texts.pop()) > 3000


# Modules check themselves, with NumPy alone.

RUN_ALL = """
import runpy, sys
for path in sys.argv[1:]:
    try:
        runpy.run_path(path, run_name="__main__")
    except BaseException as error:
        raise SystemExit(f"{path}: {type(error).__name__}: {error}")
foreign = {"graphc", "sympy", "mpmath", "networkx", "scipy", "hypothesis"} & set(sys.modules)
print("foreign:", sorted(foreign))
"""


def _question(file: Path, want: str):
    """The first output; by the params, or by the inputs if there are none."""
    graph = gc.load(file)
    leaves = graph.param_names or graph.input_names
    return graph.output_names[0], leaves[:6]


@pytest.mark.parametrize("style", ["readable", "fast"])
def test_every_example_checks_itself_with_numpy_alone(tmp_path, style: str):
    modules, compared = [], 0
    for file in FILES:
        for want in WANTS:
            text = gc.load(file).emit(*_question(file, want), want, style=style)
            path = tmp_path / f"{file.stem}_{want}.py"
            path.write_text(text, encoding="utf-8")
            modules.append(str(path))
            compared += "measured" in text
            assert 'if __name__ == "__main__":' in text, path
    assert compared > len(modules) / 2
    found = isolated("-c", RUN_ALL, *modules)
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.endswith("foreign: []\n")
    assert found.stdout.count("differ by") == compared


def test_nothing_but_numpy_can_be_imported_there():
    assert isolated("-c", "import numpy").returncode == 0
    for name in ("graphc", "sympy", "scipy"):
        assert "ModuleNotFoundError" in isolated("-c", f"import {name}").stderr


def test_a_module_with_a_wrong_derivative_says_so(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(golden().replace("np.cos(y6)  #", "np.sin(y6)  #"), encoding="utf-8")
    found = isolated(str(path))
    assert found.returncode == 1
    assert "derivatives and differences disagree" in found.stderr


def test_saved_modules_run(tmp_path):
    graph = gc.parse("input x y\nparam w\nL = sin(w*x)**2 + exp(y)*w\noutput L")
    for want in WANTS:
        for style in ("readable", "fast"):
            f = graph.compile("L", ["w", "x"], want, style=style)
            path = tmp_path / f"{want}_{style}.py"
            f.save(path)
            assert path.read_text(encoding="utf-8") == f.source
            found = isolated(str(path))
            assert found.returncode == 0 and found.stdout, found.stderr


def test_the_source_computes_what_the_function_does():
    graph = gc.parse("input X[n,2]\nparam w[2]\nL = sum(tanh(X @ w)**2)")
    f, numpy = graph.compile("L", ["w"]), graph.compile("L", ["w"], backend="numpy")
    X, w = np.arange(6.0).reshape(3, 2), np.array([0.1, -0.2])
    value, slopes = load(f.source, "value_and_grad")(X, w)
    again, others = numpy(X, w)
    assert value == again and np.array_equal(slopes["w"], others["w"])
    again, others = f(X, w)
    np.testing.assert_allclose(value, again, rtol=1e-14)
    np.testing.assert_allclose(slopes["w"], others["w"], rtol=1e-14)


# The command line.


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_emit_prints_a_module(capsys):
    code, out, err = run(capsys, "emit", FIG27, "--of", "y10", "--wrt", "w2,w3")
    assert (code, err) == (0, "")
    assert out == gc.load(FIG27).emit("y10", ["w2", "w3"])


def test_emit_writes_a_file(capsys, tmp_path):
    path = tmp_path / "grads.py"
    code, out, err = run(
        capsys,
        "emit",
        FIG27,
        "--want",
        "jacobian",
        "--style",
        "fast",
        "--dtype",
        "float32",
        "-o",
        path,
    )
    assert (code, out, err) == (0, "", "")
    assert path.read_text() == gc.load(FIG27).emit(want="jacobian", style="fast", dtype="float32")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["emit", FIG27, "--of", "y99"], "y99"),
        (["emit", FIG27, "--wrt", "w2,w2"], "twice"),
        (["emit", ROOT / "examples" / "missing.gc"], "cannot read"),
        (["emit", FIG27, "-o", "/no/such/folder/grads.py"], "cannot write"),
        (["emit", FIG27, "--want", "hessian", "--wrt", "y4,y1"], "depends on"),
    ],
)
def test_emit_refuses_in_one_sentence(capsys, arguments, words):
    code, out, err = run(capsys, *arguments)
    assert code == 2 and out == ""
    assert words in err and "Traceback" not in err and err.count("\n") == 1


def test_emit_refuses_unknown_choices(capsys):
    for option, word in (("--want", "slope"), ("--backend", "torch"), ("--style", "pretty")):
        code, out, err = run(capsys, "emit", FIG27, option, word)
        assert (code, out) == (2, "") and word in err


# Safety.

HOSTILE = [
    '"""\nimport os\nos.system("x")\n"""',
    "'''; import os",
    "a\\N{BULLET}b\\",
    "x\u2028import os\r\nimport os",
    '{name} {np} {0} %s """ + __import__("os")',
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("style", ["readable", "fast"])
def test_a_hostile_graph_name_stays_in_the_docstring(name: str, style: str):
    text = "input x\nparam w\nL = sin(w*x)\noutput L"
    bodies = []
    for called in (name, "plain"):
        source = gc.parse(text, called).emit(style=style)
        checked_code(source)
        tree = ast.parse(source)
        assert isinstance(tree.body[0], ast.Expr)
        bodies.append(ast.dump(ast.Module(tree.body[1:], [])))
    assert bodies[0] == bodies[1]
    value, _ = gc.parse(text, name).compile(style=style)(0.5, 2.0)
    assert value == np.sin(1.0)


def test_user_text_stands_only_in_comments_docstrings_and_identifiers():
    """Strings of the code itself are names of the graph, or words of our own."""
    graph = gc.parse("input alpha[n] # os.system\nparam beta[2]\nL = sum(alpha)*beta[0]**2", "Q7")
    for style in ("readable", "fast"):
        source = graph.emit("L", ["beta", "alpha"], style=style)
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if "Q7" in token.string or "os.system" in token.string:
                assert token.string.startswith(('"""', "#"))
        checked_code(source)
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                assert {key.value for key in node.keys} <= {"alpha", "beta"}


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "from os import system",
        "import numpy, sys",
        "x = (1).__class__",
        "x = __builtins__",
        "f = lambda: 1",
        "class A: pass",
        "async def f(): pass",
        "def f():\n    global x\n    x = 1",
        "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n    return g",
        "def f():\n    return [x.__class__ for x in ()]",
        "def f():\n    __x = 1\n    return __x",
        "def f():\n    def g():\n        return lambda: 1\n    return g",
        "def f(x):\n    x._private = 1",
        "def f(x):\n    del x[0]",
        "from numpy import _private",
        "from . import numpy",
        "import numpy.linalg",
        "del x",
        "x = np.array._private",
        "def f(:",
        "x = 1\0",
    ],
)
def test_foreign_code_does_not_run(source: str):
    with pytest.raises(gc.GraphcError, match="emitted code"):
        load(source, "f")


def test_what_we_write_ourselves_is_not_foreign():
    """Private names, docstrings, closures in comprehensions, imports of ours."""
    load(
        '"""Text."""\nimport numpy as np\nimport scipy.sparse\n_x = 1\n'
        "def f(a, _b=_x):\n    c = a + _b\n    return [c + d for d in (1, 2)], __name__\n",
        "f",
    )(1)


def test_emitted_code_has_few_builtins():
    with pytest.raises(NameError):
        load("def f():\n    return open('x')\n", "f")()
    with pytest.raises(NameError):
        load("def f():\n    return eval('1')\n", "f")()


# Growth.


def chain(length: int) -> gc.Graph:
    graph = gc.Graph("chain")
    h, w = graph.input("x"), graph.param("w")
    for i in range(length):
        h = graph.node(f"h{i + 1}", gc.tanh(w * h) if i % 2 else gc.sin(h) + w)
    graph.output(h)
    return graph


def summed(count: int) -> gc.Graph:
    graph = gc.Graph("summed")
    total = graph.param("w0") * 2
    for i in range(1, count):
        total = graph.node(f"s{i}", total + graph.param(f"w{i}") ** 2)
    graph.node("L", total)
    return graph


@pytest.mark.parametrize("style", ["readable", "fast"])
def test_emission_grows_linearly(style: str):
    """Five times the nodes take at most six times as much work."""
    short, long = chain(600), chain(3000)
    few, many = (
        calls(lambda g=graph: g.emit(style=style, mode="reverse")) for graph in (short, long)
    )
    assert many < 6 * few, (few, many)


def test_lowering_grows_linearly():
    short, long = chain(1000), chain(10_000)
    few, many = (
        calls(lambda g=graph: lower(g, [len(g.ops) - 1], NUMPY.passes("fast", True)))
        for graph in (short, long)
    )
    assert many < 11 * few, (few, many)


@pytest.mark.parametrize("x", [0.3, np.array([0.3, 0.4])], ids=["one", "many"])
def test_the_first_call_is_bounded_and_grows_linearly(x):
    """Counted in calls of functions, what Python's own compiler does left out."""
    short, long = (chain(length).compile(mode="reverse") for length in (300, 3000))
    few, many = (calls(lambda f=f: f(x, 0.5)) for f in (short, long))
    assert many < 11 * few, (few, many)
    assert many < 30 * long.plan.operations


def peak(work: Callable[[], object]) -> int:
    """Bytes at most that a piece of work held at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_many_arguments_take_memory_in_proportion():
    """Which of them a result depends on is not kept for every row."""
    few, many = (summed(length).compile("L") for length in (300, 1200))
    small, large = (peak(lambda f=f: f(*[1.0] * len(f.arguments))) for f in (few, many))
    assert large < 5 * small, (small, large)


def test_a_function_is_written_for_one_point_or_for_many_when_it_is_called_so(monkeypatch):
    texts = []
    monkeypatch.setattr(arrays, "load", lambda text, *more: texts.append(text) or load(text, *more))
    graph = chain(1000)
    function = graph.compile(mode="reverse", backend="numpy")
    assert not texts
    alone = function(0.3, 0.5)
    assert len(texts) == 1 and "for start" not in texts[0] and '"""' not in texts[0][:3]
    function(0.2, np.float64(0.1)), function(np.array(0.3), 1)
    assert len(texts) == 1
    several = function([0.3, 0.4], 0.5)
    assert len(texts) == 2 and "for start" in texts[1] and "points = ()" not in texts[1]
    np.testing.assert_allclose(alone[0], several[0][0], rtol=1e-12)
    np.testing.assert_allclose(alone[1]["w"], several[1]["w"][0], rtol=1e-12)
    emitted = load(function.source, "value_and_grad")
    assert emitted(0.3, 0.5)[0] == alone[0]


def test_a_long_chain_compiles_and_runs():
    graph = chain(3000)
    value, slopes = graph.compile(want="value_and_grad", mode="reverse")(0.3, 0.5)
    assert np.isfinite(value) and np.isfinite(slopes["w"])


SEVERAL = "input x unused y\nparam w v\na = w*x**2 + v*y\nb = v**3*x*w\noutput a b"


@pytest.mark.parametrize("want", ["grad", "value_and_grad", "jvp", "hvp", "hessian", "jacobian"])
def test_the_self_check_tests_every_name(want):
    """A fault in any slope, of any output, by any name, is found by the module's own check."""
    graph = gc.parse(SEVERAL)
    of = "b" if want in ("hvp", "hessian") else ["a", "b"]
    text = graph.emit(of, ["w", "v", "x"], want)
    source, _, own = text.partition("def check():")
    head, _, body = source.partition(f"def {want}(")
    for line in [line for line in body.splitlines() if line.lstrip().startswith(FAULTS[want])]:
        name, _, expression = line.partition(" = ")
        faulty = body.replace(
            line, f"{name} = 1.125 * ({expression.partition('#')[0]}) + 0.0625", 1
        )
        with pytest.raises(SystemExit, match="disagree"):
            load(f"{head}def {want}({faulty}def check():{own}", "check")()
    load(text, "check")()


FAULTS = {
    "grad": ("w_bar", "v_bar", "x_bar"),
    "value_and_grad": ("w_bar", "v_bar", "x_bar"),
    "jvp": ("a_dot", "b_dot"),
    "hvp": ("w_bar_dot", "v_bar_dot", "x_bar_dot"),
    "hessian": ("matrix[",),
    "jacobian": ("matrix[",),
}


@pytest.mark.parametrize("factor", ["1e-9", "1", "1e9"])
@pytest.mark.parametrize("want", ["grad", "value_and_grad", "jvp", "vjp", "hvp", "hessian"])
def test_the_self_check_is_relative_to_the_size_of_the_slopes(want, factor):
    """A slope of any size that is a thousandth off is found."""
    text = gc.parse(f"input x\nL = {factor}*sin(x)*exp(2*x)").emit("L", "x", want)
    load(text, "check")()
    source, _, own = text.partition("def check():")
    wrong = own.replace("derived = ", "derived = 1.001 * ")
    with pytest.raises(SystemExit, match="disagree"):
        load(f"{source}def check():{wrong}", "check")()
