"""CuPy without a GPU: the text is NumPy's, the names exist, the kernels compile and compute."""

from __future__ import annotations

import importlib.util
import inspect
import math
import os
import re
import shutil
import subprocess
import sys
from functools import cache, partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cupy_cases import (
    OPERATIONS,
    arguments,
    batch,
    point,
    questions,
    random_graph,
    tensor_graphs,
    used,
)
from cupy_signatures import ARRAYS_ONLY, CUPY, SIGNATURES
from cupy_stand_in import COMPILER, TYPES, ElementwiseKernel, signature, standing_in
from probes import PROBES, SATURATING, Probe

import graphc as gc
from graphc.algebra.exact import as_float
from graphc.program import running
from graphc.program.backends.cupy import LIBRARY
from graphc.program.c_names import RESERVED, CNames
from graphc.program.options import options
from graphc.program.planning import planned
from graphc.program.program import evaluate
from graphc.program.wants import question as asked_of
from graphc.table.functions import FUNCTIONS

NVCC = shutil.which("nvcc")
HAS_CUPY = importlib.util.find_spec("cupy") is not None
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="there is no nvcc")
needs_cupy = pytest.mark.skipif(not HAS_CUPY, reason="CuPy is not installed")
every = pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
SEEDS = range(20)
every_seed = pytest.mark.parametrize("seed", SEEDS)
TENSORS = tensor_graphs()
load = partial(running.load, packages=LIBRARY.packages)
# Functions that have a text of their own for CuPy: everything else is NumPy's with cp for np.
OWN_TEXT = [n for n, r in FUNCTIONS.items() if "cupy" in r.native or n in LIBRARY.lacks]


def chosen(name: str, graph: gc.Graph) -> list[dict[str, Any]]:
    """The questions to ask: all of an operation, one of the many identities and models."""
    found = list(questions(graph))
    if name in OPERATIONS:
        return found
    return [found[sum(map(ord, name)) % len(found)]]


def both(graph: gc.Graph, ask: dict[str, Any], **more: Any) -> tuple[str, str]:
    return tuple(graph.emit(backend=b, **ask, **more) for b in ("numpy", "cupy"))


def same(numpy: str, cupy: str) -> bool:
    """Whether two texts differ by the namespace alone, but for the functions with own texts."""
    renamed = numpy.replace("import numpy as np", "import cupy as cp")
    renamed = re.sub(r"\bnp\.", "cp.", renamed)
    if "cupyx" in cupy:
        cupy = cupy.replace("from cupyx.scipy.special import erf\n", "")
        renamed = without(renamed, "# erf(x) =", "def erf(")
    if "def block(" in cupy:
        cupy = without(cupy, "def block(").replace(" block([", " cp.block([")
    return renamed == cupy


def without(text: str, *starts: str) -> str:
    return "\n\n\n".join(part for part in text.split("\n\n\n") if not part.startswith(starts))


def test_the_table_says_which_texts_differ():
    assert OWN_TEXT == ["erf"]
    assert set(LIBRARY.lacks) == {"block"}


def test_a_different_text_is_noticed():
    numpy, cupy = both(gc.parse("input x\ny = sin(x)"), {})
    assert same(numpy, cupy)
    assert not same(numpy, cupy.replace("cp.sin(x)", "cp.sin(x) + 0"))


def bits(value: Any) -> list[tuple[Any, ...]]:
    """The arrays in a result, as shapes, dtypes and bytes."""
    if isinstance(value, dict):
        return [(name, *entry) for name, part in value.items() for entry in bits(part)]
    if isinstance(value, tuple):
        return [entry for part in value for entry in bits(part)]
    array = np.asarray(value)
    return [(array.shape, str(array.dtype), array.tobytes())]


def flat(value: Any) -> np.ndarray:
    """All numbers of a result."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple):
        return np.concatenate([flat(part) for part in value])
    return np.ravel(np.asarray(value, dtype=np.float64))


def answer(function: Any, ask: dict[str, Any], graph: gc.Graph, at: dict[str, Any]) -> Any:
    """The result of an emitted function at a point, with the tangents or seeds that it takes."""
    of = ask["of"] if isinstance(ask["of"], str) else ask["of"][0]
    wrt = ask["wrt"] if isinstance(ask["wrt"], list) else [ask["wrt"]]
    given = arguments(graph, ask["want"], of, wrt, at)
    takes = inspect.signature(function).parameters
    return function(**{name: value for name, value in given.items() if name in takes})


def call(source: str, ask: dict[str, Any], graph: gc.Graph, at: dict[str, Any]) -> Any:
    return answer(load(source, ask["want"]), ask, graph, at)


@pytest.mark.parametrize("name", TENSORS)
def test_tensor_modules_agree_bit_for_bit(name: str):
    graph = TENSORS[name]
    at = point(graph)
    for ask in chosen(name, graph):
        numpy, cupy = both(graph, ask)
        assert same(numpy, cupy), ask
        expected = call(numpy, ask, graph, at)
        with standing_in():
            assert bits(call(cupy, ask, graph, at)) == bits(expected)
            if "def check" in cupy:
                load(cupy, "check")()
        assert_recorded(cupy)
        if name in OPERATIONS:
            assert_recorded(graph.emit(backend="cupy", style="fast", **ask))


def assert_recorded(text: str) -> None:
    """Every use of the namespace fits a recorded signature."""
    for name, count, words in used(text):
        assert name in SIGNATURES, name
        if count < 0:
            assert not SIGNATURES[name].startswith("("), name
        elif SIGNATURES[name].startswith("("):
            assert "None" not in words, name  # **something
            signature(name).bind(*range(count), **dict.fromkeys(words))
    for words in [words for name, _, words in used(text) if name == "einsum"]:
        assert set(words) <= {"optimize"}


@every
def test_scalar_modules_differ_by_the_namespace_and_agree_bit_for_bit(probe: Probe):
    at = batch(probe, 3)
    for ask in questions(probe.graph):
        numpy, cupy = both(probe.graph, ask)
        assert same(numpy, cupy), ask
        assert_recorded(cupy)
        expected = call(numpy, ask, probe.graph, at)
        with standing_in(), np.errstate(all="ignore"):
            found = call(cupy, ask, probe.graph, at)
            if "def check" in cupy:
                load(cupy, "check")()
        if "cupyx" in cupy:  # SciPy's erf in place of CuPy's
            np.testing.assert_allclose(flat(found), flat(expected), rtol=2e-14, atol=1e-300)
        else:
            assert bits(found) == bits(expected), ask
    assert same(*both(probe.graph, {"want": "value_and_grad"}, dtype="float32", reduce="mean"))


def test_a_number_in_the_place_of_an_array_is_refused():
    with standing_in():
        import cupy

        for name in ("sum", "reshape", "broadcast_to"):
            with pytest.raises(TypeError):
                getattr(cupy, name)(1.0, (1,))
        assert not hasattr(cupy, "block")


@needs_cupy
def test_recorded_names_are_those_of_cupy():
    import cupy
    import cupyx.scipy.special as special

    for name, recorded in SIGNATURES.items():
        *place, last = name.removeprefix("cupyx.scipy.special.").split(".")
        home = special if name.startswith("cupyx.") else reduce(getattr, place, cupy)
        found = getattr(home, last)
        if isinstance(found, cupy.ufunc):
            assert len(signature(name).parameters) == found.nin, name
        elif recorded in ("number", "type", "index"):
            assert isinstance(found, (float, type)) or name == "s_"
        elif name not in ("ElementwiseKernel", "add.at"):
            parameters = inspect.signature(found).parameters
            assert list(signature(name).parameters) == list(parameters)[: len(parameters)], name
    assert f"ElementwiseKernel{SIGNATURES['ElementwiseKernel']}" in cupy.ElementwiseKernel.__doc__
    assert "at(self, a, indices, b=None)" in cupy.add.at.__doc__
    assert not hasattr(cupy, "block"), "CuPy has block now: its library may forget it"
    assert CUPY.split(".")[0] == cupy.__version__.split(".")[0]


@needs_cupy
def test_recorded_functions_take_arrays_only():
    import cupy

    further = {"where": (1.0, 0.0), "broadcast_to": ((3,),), "reshape": ((1,),), "take": (0,)}
    further |= {"moveaxis": ((0,), (0,)), "outer": (1.0,), "tensordot": (1.0,)}
    for name in ARRAYS_ONLY:
        with pytest.raises((AttributeError, TypeError)):
            reduce(getattr, name.split("."), cupy)(1.0, *further.get(name, ()))


# Kernels.


def fused(graph: gc.Graph, ask: dict[str, Any], **more: Any) -> str:
    text = graph.emit(backend="cupy", style="fast", **ask, **more)
    assert "ElementwiseKernel" in text
    return text


GRADIENT = {"of": "y", "want": "value_and_grad"}


@cache
def kernels(dtype: str = "float64") -> dict[str, Any]:
    """{function: its value and gradient by one kernel}, all compiled together."""
    found = {}
    with standing_in():
        for probe in PROBES:
            text = probe.graph.emit("y", probe.inputs, backend="cupy", style="fast", dtype=dtype)
            found[probe.name] = load(text, "value_and_grad")
    return found


def reference(probe: Probe, dtype: str = "float64") -> Any:
    return load(probe.graph.emit("y", probe.inputs, dtype=dtype), "value_and_grad")


@needs_compiler
@every
def test_a_kernel_computes_what_numpy_does(probe: Probe):
    """To 1e-15; to 4 units in the last place where NumPy has functions of its own."""
    at = batch(probe)
    expected, found = flat(reference(probe)(**at)), flat(kernels()[probe.name](**at))
    assert_near(found, expected, scale(probe), 1e-15 if has_the_same_functions() else 4e-15)


@cache
def has_the_same_functions() -> bool:
    """Whether NumPy calls the C library, and not vector functions of its own."""
    points = np.linspace(0.1, 9, 1000)
    return all(
        np.array_equal(getattr(np, name)(points), [getattr(math, name)(x) for x in points])
        for name in ("exp", "log", "sin", "cos")
    )


def scale(probe: Probe) -> float:
    """The least size that an error is measured by: that of the operands of a difference."""
    return 1 if probe.name in SATURATING else 1e-2


def assert_near(found: np.ndarray, expected: np.ndarray, least: float, tolerance: float) -> None:
    error = np.abs(found - expected) / np.maximum(np.abs(expected), least)
    assert np.max(error, initial=0) <= tolerance, np.max(error)


@needs_compiler
@every
def test_a_kernel_in_single_precision(probe: Probe):
    """As near to double precision as NumPy in single precision is."""
    at = {name: array.astype(np.float32) for name, array in batch(probe).items()}
    value, slopes = kernels("float32")[probe.name](**at)
    assert {value.dtype, *(s.dtype for s in slopes.values())} == {np.dtype(np.float32)}
    wide = flat(reference(probe)(**{name: array.astype(float) for name, array in at.items()}))
    size = np.maximum(np.abs(wide), scale(probe))
    usual = np.max(np.abs(flat(reference(probe, "float32")(**at)) - wide) / size)
    assert_near(flat((value, slopes)), wide, scale(probe), 1e-6 + 2 * usual)


EDGES = [0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, -1e300, 30.0, -30.0, math.inf, -math.inf, math.nan]


@needs_compiler
@every
def test_a_kernel_at_edge_points(probe: Probe):
    many = np.meshgrid(*[EDGES] * len(probe.inputs))
    at = {name: array.ravel() for name, array in zip(probe.inputs, many, strict=True)}
    with np.errstate(all="ignore"):
        expected = load(probe.graph.emit("y", probe.inputs, style="fast"), "value_and_grad")(**at)
    found = kernels()[probe.name](**at)
    np.testing.assert_allclose(flat(found), flat(expected), rtol=4e-15, atol=1e-300)


class Library:
    """Floats and the functions of the C library, which Python's math module calls."""

    OWN = {  # noqa: RUF012
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "neg": lambda a: -a,
        "square": lambda a: a * a,
        "pow": math.pow,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "where": lambda c, a, b: a if c else b,
        "maximum": max,
        "minimum": min,
        "sign": lambda a: float((a > 0) - (a < 0)),
        "pi": lambda: math.pi,
    }

    def constant(self, value: Any) -> float:
        return float(as_float(value))

    def apply(self, op: str, args: Any, settings: dict[str, Any]) -> Any:
        if op == "power":
            return math.pow(args[0], float(settings["exponent"]))
        if op in self.OWN:
            return self.OWN[op](*args)
        return getattr(math, FUNCTIONS[op].native["c"])(*args)


@cache
def random_kernels() -> list[tuple[gc.Graph, Any]]:
    with standing_in():
        graphs = [random_graph(seed) for seed in SEEDS]
        return [(g, load(g.emit(backend="cupy", style="fast"), "value_and_grad")) for g in graphs]


def batch_of(graph: gc.Graph, function: Any, seed: int, count: int) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(seed)
    return {n: chance.uniform(-2, 2, count) for n in inspect.signature(function).parameters}


@needs_compiler
@every_seed
def test_random_kernels_are_their_programs_bit_for_bit(seed: int):
    """The text means what the program says: the same operations on the same C library."""
    graph, function = random_kernels()[seed]
    asked = asked_of(graph, None, None, "value_and_grad")
    task, _ = planned(asked, options(backend="cupy"))
    at = batch_of(graph, function, seed, 20)
    found = flat(function(**at)).reshape(-1, 20)
    for number in range(20):
        values = evaluate(task.program, Library(), {n: float(v[number]) for n, v in at.items()})
        assert [values[row] for row in task.rows()] == list(found[:, number])


@needs_compiler
@every_seed
def test_random_kernels_are_near_numpy(seed: int):
    """As near as NumPy is to itself when its inputs move by one unit in the last place."""
    graph, function = random_kernels()[seed]
    at = batch_of(graph, function, seed, 500)
    numpy = load(graph.emit(style="fast"), "value_and_grad")
    expected = flat(numpy(**at))
    moved = [flat(numpy(**{n: np.nextafter(v, e) for n, v in at.items()})) for e in (-9, 9)]
    spread = np.maximum(*(np.abs(other - expected) for other in moved))
    error = np.abs(flat(function(**at)) - expected)
    size = np.maximum(np.abs(expected), 1)
    assert np.quantile(error / size, 0.9) < 1e-15
    assert np.all(error <= 1e-14 * size + 16 * spread)


LADDER = gc.parse("input x\nparam w b\na = w*x + b\ny = tanh(a)**2 + x*3", "ladder")


@needs_compiler
@pytest.mark.parametrize("how", ["sum", "mean"])
def test_results_are_reduced_over_the_points(how: str):
    x = np.linspace(-1, 1, 7)
    text = fused(LADDER, GRADIENT, reduce=how)
    assert f"cp.{how}(y)" in text
    with standing_in():
        value, slopes = load(text, "value_and_grad")(x, 0.5, -0.25)
    expected, wanted = load(LADDER.emit("y", reduce=how), "value_and_grad")(x, 0.5, -0.25)
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    np.testing.assert_allclose(list(slopes.values()), list(wanted.values()), rtol=1e-14)


@needs_compiler
def test_every_want_has_a_kernel():
    at = {"x": np.linspace(-1, 1, 6).reshape(2, 3), "w": np.linspace(0.1, 1, 3), "b": 0.25}
    asked = list(questions(LADDER))
    with standing_in():
        functions = [load(fused(LADDER, ask), ask["want"]) for ask in asked]
    for ask, function in zip(asked, functions, strict=True):
        found = answer(function, ask, LADDER, at)
        numpy = call(LADDER.emit(**ask), ask, LADDER, at)
        assert [b[:-1] for b in bits(found)] == [b[:-1] for b in bits(numpy)]  # shapes, dtypes
        np.testing.assert_allclose(flat(found), flat(numpy), rtol=1e-14)


@needs_compiler
def test_results_share_no_memory():
    graph = gc.parse("input x\nparam a b\ny = (a + b)*x + 2*a")
    with standing_in():
        _, slopes = load(fused(graph, GRADIENT), "value_and_grad")(np.ones(3), 1.0, np.ones(3))
        both_ways = load(
            graph.emit("y", ["a", "b"], "jacobian", backend="cupy", style="fast"), "jacobian"
        )
        assert both_ways(np.ones(3)).shape == (3, 1, 2) or both_ways(np.ones(3)).shape == (3, 2)
    assert not np.shares_memory(slopes["a"], slopes["b"])
    assert slopes["b"].shape == (3,)


@needs_compiler
def test_functions_of_a_user(own_functions):
    """By their formula, or by their own code in C, whatever stands in it."""
    gc.declare("swish", lambda x: x * gc.sigmoid(x))
    gc.declare("cube", lambda x: x**3, code={"numpy": "np.power({x}, 3)"})
    own = {"c": '{x} * {x} * {x} /* "own" \\ """ */'}
    gc.declare("power_3", lambda x: x**3, code=own)
    graph = gc.parse("input x\ny = 2*swish(x) + cube(x) - 1/power_3(x + 2)")
    text = fused(graph, GRADIENT)
    assert "/*" in text
    x = np.linspace(-1, 1, 5)
    with standing_in():
        found = load(text, "value_and_grad")(x)
    np.testing.assert_allclose(flat(found), flat(graph.compile("y")(x)), rtol=1e-14)


@needs_compiler
def test_compile_runs_on_the_device():
    x = np.linspace(-1, 1, 5)
    with standing_in():
        f = LADDER.compile("y", backend="cupy")
        assert "ElementwiseKernel" in f.source
        value, slopes = f(x=x, w=0.5, b=np.float32(0.25))
        plain = LADDER.compile("y", backend="cupy", style="readable")
        assert "ElementwiseKernel" not in plain.source
        free = LADDER.compile("y", backend="cupy", dtype=None)
        assert free(*(np.float32(v) for v in (1, 2, 3)))[0].dtype == np.float32
        assert free(1.0, 2.0, 3.0)[0].dtype == np.float64
    expected, wanted = LADDER.compile("y")(x=x, w=0.5, b=0.25)
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    np.testing.assert_allclose(slopes["w"], wanted["w"], rtol=1e-14)


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(gc.GraphcError, match=r"needs CuPy, which cannot be imported here.*emit"):
        LADDER.compile("y", backend="cupy")
    with standing_in():
        import cupy

        def none() -> int:
            raise cupy.cuda.runtime.CUDARuntimeError("no driver")

        cupy.__version__ = "14"
        cupy.cuda.runtime.getDeviceCount = none
        with pytest.raises(gc.GraphcError, match=r"CuPy 14 finds none here \(no driver\)"):
            LADDER.compile("y", backend="cupy")
        cupy.cuda.runtime.getDeviceCount = lambda: 0
        with pytest.raises(gc.GraphcError, match="finds none here; use"):
            LADDER.compile("y", backend="cupy")
    with pytest.raises(gc.GraphcError, match="backend='cuda' is not known"):
        LADDER.compile("y", backend="cuda")


def test_too_much_for_one_kernel_is_array_code():
    many = gc.parse("input x\n" + "\n".join(f"v{i} = sin({i}*x)" for i in range(80)))
    text = many.emit(want="values", backend="cupy", style="fast")
    assert "ElementwiseKernel" not in text
    assert "cp.sin" in text
    constant = gc.parse("input x\ny = 2*x + 1")
    assert "ElementwiseKernel" not in constant.emit(want="grad", backend="cupy", style="fast")


# Names.

HOSTILE = [
    *("int", "double", "threadIdx", "n", "i", "ψ", "psi", "psi_2", "Ψ_2", "float4", "min", "max"),
    *("x0", "t1", "t2", "y_out", "out", "kernel", "cp", "np", "points", "unix", "linux", "NULL"),
    *("I", "M_PI", "M_PIf", "INFINITY", "NAN", "EOF", "sinf", "pow", "powf", "erf", "a__b", "a_b"),
    *("CUPY_FOR", "T", "CArray", "__CUDA_ARCH__", "_ind", "_raw_x", "cudaStreamLegacy", "bool"),
]


@needs_compiler
def test_hostile_names_stay_apart():
    names = [name for name in HOSTILE if not name.startswith("_")]
    total = " + ".join(f"{k + 2}*sin({name})" for k, name in enumerate(names))
    graph = gc.parse(f"input {' '.join(names)}\ny = {total}\nz = y*max(int, double)\noutput z")
    with standing_in():
        function = load(fused(graph, {"wrt": names[:5], "want": "grad"}), "grad")
        at = {name: 0.1 + k / 50 for k, name in enumerate(names)}
        found = function(*at.values())  # inputs in order of declaration
    expected = graph.reverse("z", at)
    for name in names[:5]:
        assert found[name] == pytest.approx(expected[name], rel=1e-13)


def test_identifiers_are_injective_and_plain():
    names = CNames()
    found = [names.of(name) for name in [*HOSTILE, *RESERVED]]
    assert len(set(found)) == len({*HOSTILE, *RESERVED})
    for name in found:
        assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]*", name), name
        assert name not in RESERVED
        assert "__" not in name
    assert names.of("ψ") == "psi"
    assert CNames().of("h1_bar") == "h1_bar"


@pytest.mark.parametrize("command", ["g++ -E -dM", "nvcc -E -Xcompiler -dM"])
def test_no_identifier_is_a_macro(command: str, tmp_path):
    compiler, *options = command.split()
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    file = tmp_path / ("all.cu" if compiler == "nvcc" else "all.cpp")
    headers = ("math.h", "stdint.h", "stdio.h", "complex")
    file.write_text("".join(f"#include <{header}>\n" for header in headers))
    done = subprocess.run(
        [compiler, *options, str(file)], capture_output=True, text=True, check=True
    )
    macros = set(re.findall(r"^#define (\w+)(?: |$)", done.stdout, re.MULTILINE))
    assert len(macros) > 300
    assert {"M_PI", "INFINITY"} < macros
    assert not [name for name in macros if CNames().of(name) in macros]


# Compilers for the device.

GLOBAL = """
extern "C" __global__ void {symbol}(long _size, const {type} *const *_in, {type} *const *_out) {{
  const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < _size) {{
{bindings}
{body}
  }}
}}
"""


def all_kernels() -> list[ElementwiseKernel]:
    """The kernels of the whole table in both precisions, and of random graphs."""
    functions = [*kernels().values(), *kernels("float32").values()]
    functions += [function for _, function in random_kernels()]
    held = [function.__globals__.get("kernel") for function in functions]
    return [kernel for kernel in held if kernel is not None]


@needs_nvcc
def test_nvcc_compiles_every_kernel(tmp_path):
    found = all_kernels()
    assert len(found) > 100
    file = tmp_path / "kernels.cu"
    file.write_text("".join(kernel.text(GLOBAL) for kernel in found))
    done = subprocess.run(
        [NVCC, "--ptx", "--fmad=false", "-o", str(tmp_path / "kernels.ptx"), str(file)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    ptx = (tmp_path / "kernels.ptx").read_text()
    assert ptx.count(".visible .entry") == len(found)
    assert "error" not in done.stderr


def includes() -> list[str]:
    """The folders of headers: CuPy's own, and those of a CUDA toolkit or its wheel."""
    from cupy._core import core

    own = Path(core._get_header_dir_path())
    found = [own, *(own / "cupy" / "_cccl" / part for part in ("thrust", "libcudacxx", "cub"))]
    toolkits = [Path(os.environ.get("CUDA_PATH", "/usr/local/cuda")) / "include"]
    toolkits += [Path(place) / "nvidia/cuda_runtime/include" for place in sys.path]
    found += [place for place in toolkits if (place / "cuda_fp16.h").exists()][:1]
    return [f"-I{place}" for place in found]


@needs_cupy
def test_nvrtc_compiles_what_cupy_makes_of_every_kernel():
    """The very text that CuPy compiles: its own frame around each kernel, and its own headers."""
    import cupy
    from cupy._core import _carray, _kernel, core
    from cupy_backends.cuda.libs import nvrtc

    try:
        nvrtc.getVersion()
    except Exception as error:  # a wheel without the library: whatever it says
        pytest.skip(f"NVRTC does not run: {error}")
    codes = [f"#include <{header}>\n" for header in core._cupy_header_list]
    for dtype in TYPES:
        for probe in PROBES:
            text = probe.graph.emit("y", probe.inputs, backend="cupy", style="fast", dtype=dtype)
            kernel = load(text, "value_and_grad").__globals__.get("kernel")
            if kernel is not None:
                assert isinstance(kernel, cupy.ElementwiseKernel)
                array = _kernel._ArgInfo(1, cupy.ndarray, np.dtype(dtype), 1, True, True)
                indexer = _kernel._ArgInfo(2, _carray.Indexer, None, 1, True, True)
                codes.append(
                    _kernel._get_elementwise_kernel_code(
                        (*[array] * kernel.nargs, indexer),
                        _kernel._TypeMap(()),
                        kernel.params,
                        kernel.operation,
                        f"kernel_{len(codes)}",
                        "",
                    )
                )
    program = nvrtc.createProgram("\n".join(codes), "kernels.cu", (), ())
    options = ("--gpu-architecture=compute_80", "--std=c++17", "--fmad=false", "-ftz=true")
    try:
        nvrtc.compileProgram(program, (*options, *includes()))
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))
    assert len(codes) > 90
    assert nvrtc.getPTX(program).count(b".visible .entry") == len(codes) - 4


# On a device.


def device() -> bool:
    if not HAS_CUPY:
        return False
    import cupy

    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


needs_device = pytest.mark.skipif(not device(), reason="there is no CUDA device")


@pytest.mark.gpu
@needs_device
@every
def test_kernels_on_the_device(probe: Probe):
    import cupy

    at = batch(probe)
    f = probe.graph.compile("y", probe.inputs, backend="cupy")
    found = f(**{name: cupy.asarray(array) for name, array in at.items()})
    assert isinstance(found[0], cupy.ndarray)
    numbers = (found[0].get(), {name: slope.get() for name, slope in found[1].items()})
    assert_near(flat(numbers), flat(reference(probe)(**at)), scale(probe), 1e-14)


@pytest.mark.gpu
@needs_device
@pytest.mark.parametrize("name", TENSORS)
def test_tensors_on_the_device(name: str):
    import cupy

    def fetched(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: fetched(part) for key, part in value.items()}
        return tuple(map(fetched, value)) if isinstance(value, tuple) else cupy.asnumpy(value)

    graph = TENSORS[name]
    at = point(graph)
    for ask in chosen(name, graph):
        numpy, cupy_text = both(graph, ask)
        found = fetched(call(cupy_text, ask, graph, at))
        np.testing.assert_allclose(
            flat(found), flat(call(numpy, ask, graph, at)), rtol=1e-11, atol=1e-11
        )
