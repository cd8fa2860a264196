"""The vector maths: bounds on its errors, its edges, and that compilers make vectors of it."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphc.native import coefficients

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import accuracy  # noqa: E402
import accuracy_points  # noqa: E402

POINTS = 100_000
HEADERS = ("vector_maths.h", "vector_maths32.h")
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
KINDS = [pytest.param(np.float64, id="float64"), pytest.param(np.float32, id="float32")]

needs_compiler = pytest.mark.skipif(
    accuracy.compiler() is None, reason="there is no C compiler here: cc, gcc or clang"
)
needs_long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= np.finfo(float).nmant,
    reason="long double is no wider than double here: nothing can be measured against it",
)


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    return accuracy.libraries(tmp_path_factory.mktemp("vector_maths"))


@pytest.fixture(params=list(accuracy.BUILDS))
def library(request, builds):
    if request.param not in builds:
        pytest.skip(f"this machine does not run the build {request.param!r}")
    return builds[request.param]


@needs_compiler
@needs_long_double
@pytest.mark.parametrize("kind", KINDS)
def test_errors_stay_within_the_bounds(library, kind):
    rows = list(accuracy.measured(library, "", kind, POINTS, accuracy.FUNCTIONS))
    assert {row.function for row in rows} == set(accuracy.FUNCTIONS)
    assert not [row for row in rows if row.ulps > accuracy.bound(row.function)]


@needs_compiler
@pytest.mark.parametrize("function", accuracy.FUNCTIONS)
def test_exact_values_of_many_digits_agree(library, function):
    """A second opinion, by mpmath: libm's long double functions are not exact themselves."""
    for place, draw in enumerate(accuracy_points.ranges(function).values()):
        rng = np.random.default_rng(place)
        arguments = draw(rng, 120, np.float64)
        values = library.run(function, *arguments)
        far = accuracy.exact_ulps(function, values, *arguments)
        assert np.nanmax(far, initial=0.0) <= accuracy.bound(function)


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
def test_edge_points_are_those_of_numpy(library, kind):
    assert accuracy.edge_faults(library, kind, accuracy.FUNCTIONS) == []


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
def test_one_number_has_the_bits_that_it_has_in_a_vector(library, kind):
    for function in accuracy.FUNCTIONS:
        for draw in accuracy_points.ranges(function).values():
            arguments = draw(np.random.default_rng(3), 203, kind)  # 203: a rest of any vector
            together, alone = library.run(function, *arguments), library.once(function, *arguments)
            np.testing.assert_array_equal(together, alone, err_msg=function)
            assert (np.signbit(together) == np.signbit(alone))[~np.isnan(alone)].all()


@needs_compiler
def test_tan_in_single_precision_where_it_is_worst(library):
    x = np.array([3.9216556549072266, -3.9216556549072266, 2.3579741, 1.5707964], np.float32)
    assert max(accuracy.exact_ulps("tan", library.run("tan", x), x)) <= accuracy.bound("tan")


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_has_the_bits_of_sine_and_cosine(library, kind):
    for draw in accuracy_points.ranges("sin").values():
        (x,) = draw(np.random.default_rng(4), 20_000, kind)
        sine, cosine = library.pair(x)
        np.testing.assert_array_equal(sine, library.run("sin", x))
        np.testing.assert_array_equal(cosine, library.run("cos", x))


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
def test_ordinary_numbers_are_left_to_nobody_else(library, kind):
    outside = {
        function: library.outside(function, *accuracy.timing_arguments(function, kind))
        for function in accuracy.FUNCTIONS
    }
    assert not any(outside.values()), outside


@needs_compiler
def test_whole_powers_are_exact(library):
    base, exponent = (
        column.ravel() for column in np.meshgrid(np.arange(-30.0, 31), np.arange(-3.0, 10))
    )
    keep = (base != 0) & ((exponent >= 0) | (np.abs(base) == 1))
    base, exponent = np.ascontiguousarray(base[keep]), np.ascontiguousarray(exponent[keep])
    exact = [int(b) ** int(abs(e)) for b, e in zip(base, exponent, strict=True)]
    assert library.run("pow", base, exponent).tolist() == exact
    single = np.array(exact, np.float32)
    has = single == np.array(exact)  # the others lie between two numbers
    powers = library.run("pow", base[has].astype(np.float32), exponent[has].astype(np.float32))
    np.testing.assert_array_equal(powers, single[has])


@needs_compiler
@needs_long_double
def test_a_wrong_coefficient_is_found(tmp_path):
    text = (accuracy.HEADERS / "vector_maths.h").read_text(encoding="utf-8")
    right = coefficients.written(coefficients.POLYNOMIALS[0]).splitlines()[-3]
    digits = re.search(r"0x1\.(\w+)p", right).group(1)
    wrong = right.replace(digits, digits[:-2] + ("0" if digits[-2] != "0" else "8") + digits[-1])
    (tmp_path / "vector_maths.h").write_text(text.replace(right, wrong), encoding="utf-8")
    for name in ("vector_maths32.h",):
        shutil.copy(accuracy.HEADERS / name, tmp_path)
    flags = ["-std=c99", "-O1", f"-I{tmp_path}"]
    loops = accuracy.compiled("accuracy_loops.c", tmp_path / "wrong.so", *flags)
    references = accuracy.compiled("accuracy_references.c", tmp_path / "references.so", "-O2")
    library = accuracy.Library(ctypes.CDLL(str(loops)), ctypes.CDLL(str(references)))
    worst = {
        function: max(
            row.ulps for row in accuracy.measured(library, "", np.float64, 2000, (function,))
        )
        for function in ("sin", "cos", "exp")
    }
    assert worst["sin"] > accuracy.bound("sin")
    assert worst["cos"] > accuracy.bound("cos")
    assert worst["exp"] <= accuracy.bound("exp")


@pytest.mark.parametrize("record", coefficients.POLYNOMIALS, ids=lambda record: record.name)
def test_the_headers_hold_the_polynomials_that_the_script_finds(record):
    header = HEADERS[record.name.startswith("vf")]
    text = (accuracy.HEADERS / header).read_text(encoding="utf-8")
    assert coefficients.written(record) in text


@pytest.mark.parametrize("record", coefficients.CONSTANTS, ids=lambda record: record.names[0])
def test_the_headers_hold_the_constants_that_the_script_finds(record):
    header = HEADERS[record.kind == "float"]
    lines = (accuracy.HEADERS / header).read_text(encoding="utf-8").splitlines()
    assert not set(coefficients.defined(record)) - set(lines)


def test_the_headers_hold_no_other_polynomial():
    text = "".join((accuracy.HEADERS / name).read_text(encoding="utf-8") for name in HEADERS)
    named = re.findall(r"^VM_INLINE \w+ (\w+)_polynomial\(", text, re.MULTILINE)
    assert sorted(named) == sorted(record.name for record in coefficients.POLYNOMIALS)


COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


@needs_compiler
@pytest.mark.parametrize("build", accuracy.BUILDS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_compilers_have_nothing_to_say(compiler, build, tmp_path):
    accuracy.compiled(
        "accuracy_loops.c",
        tmp_path / "strict.so",
        *STRICT,
        "-O1",
        *accuracy.BUILDS[build],
        command=compiler,
    )


def vector_loops(kind: str) -> str:
    """A file of plain loops, one function per line."""
    prefix, real = ("vm", "double") if kind == "float64" else ("vf", "float")
    lines = ['#include "vector_maths.h"', '#include "vector_maths32.h"']
    for function in accuracy.FUNCTIONS:
        two = function in accuracy_points.RANGES_OF_TWO
        given = f", const {real} *restrict b" if two else ""
        call = f"{prefix}_{function}(a[i]{', b[i]' if two else ''})"
        lines.append(
            f"void {function}_loop({real} *restrict o, const {real} *restrict a{given}, long n)"
            f" {{ for (long i = 0; i < n; i++) o[i] = {call}; }}"
        )
    return "\n".join(lines) + "\n"


@needs_compiler
@pytest.mark.parametrize("kind", accuracy.KINDS)
@pytest.mark.parametrize("build", accuracy.BUILDS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_compilers_make_vectors_of_plain_loops(compiler, build, kind, tmp_path):
    source = tmp_path / "loops.c"
    source.write_text(vector_loops(kind), encoding="utf-8")
    told = {"gcc": ["-fopt-info-vec-optimized"], "clang": ["-Rpass=loop-vectorize"]}[compiler]
    flags = [*accuracy.FLAGS, *accuracy.BUILDS[build], *told, f"-I{accuracy.HEADERS}"]
    done = subprocess.run(
        [compiler, *flags, "-c", str(source), "-o", str(tmp_path / "loops.o")],
        capture_output=True,
        text=True,
        check=True,
    )
    found = {int(line) for line in re.findall(r"loops\.c:(\d+):.*vectorized", done.stderr)}
    missing = {name for line, name in enumerate(accuracy.FUNCTIONS, 3) if line not in found}
    assert missing <= ({"pow"} if build == "baseline" else set())  # there it is libm's


@needs_compiler
@pytest.mark.parametrize("build", accuracy.BUILDS)
def test_nothing_is_left_undefined(build, tmp_path):
    """The sanitizer watches how any bits and the edges go through every function."""
    if not accuracy.runs(build):
        pytest.skip(f"this machine does not run the build {build!r}")
    flags = ["-O1", "-fsanitize=undefined", *accuracy.BUILDS[build]]
    try:
        file = accuracy.compiled("accuracy_loops.c", tmp_path / "watched.so", *flags)
    except RuntimeError:
        pytest.skip("the compiler has no sanitizer of undefined behaviour")
    script = tmp_path / "watch.py"
    script.write_text(
        f"""
import ctypes, sys
sys.path.insert(0, {str(BENCHMARKS)!r})
import numpy as np, accuracy, accuracy_points
library = accuracy.Library(ctypes.CDLL({str(file)!r}), None)
for kind in (np.float64, np.float32):
    accuracy.edge_faults(library, kind, accuracy.FUNCTIONS)
    for function in accuracy.FUNCTIONS:
        for draw in accuracy_points.ranges(function).values():
            library.run(function, *draw(np.random.default_rng(0), 2000, kind))
print("done")
""",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr
    assert "runtime error" not in done.stderr
