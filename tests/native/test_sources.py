"""The C of the engines: clean to two compilers, and to sanitizers on whatever runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphc.native import building
from graphc.native.library import native

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("sanitized.py")
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wstrict-prototypes", "-Wundef")
WATCHED = ("address", "undefined", "float-cast-overflow")


@pytest.mark.parametrize("source", building.SOURCES)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_compiler_warns(compiler, source, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    options = (*STRICT, "-O1", "-fPIC", "-ffp-contract=off")
    command = [compiler, *options, "-c", str(building.HERE / source), "-o", str(tmp_path / "o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def test_every_header_that_is_included_is_part_of_the_digest():
    """Or a library made from other sources would be taken."""
    here = {file.name for file in building.HERE.iterdir() if file.suffix in (".c", ".h")}
    assert here == {*building.SOURCES, *building.HEADERS}


# Not optimized: compiled in a third of the time, and no access is lost.


@pytest.fixture(scope="session")
def watched(tmp_path_factory) -> dict[str, str]:
    """The library under sanitizers, and the environment of a process that loads it."""
    gcc = shutil.which("gcc")
    if gcc is None or sys.platform != "linux":
        pytest.skip("sanitizers are loaded as gcc has them on Linux")
    runtimes = [
        subprocess.check_output([gcc, f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    if not all(map(os.path.isabs, runtimes)):
        pytest.skip("gcc has no sanitizers here")
    file = tmp_path_factory.mktemp("watched") / "engine.so"
    kinds = ",".join(WATCHED)
    options = (
        *building.FLAGS,
        "-O0",
        "-g",
        f"-fsanitize={kinds}",
        f"-fno-sanitize-recover={kinds}",
    )
    sources = [str(building.HERE / name) for name in building.SOURCES]
    subprocess.run([gcc, *options, *sources, "-o", str(file), "-lm"], check=True)
    return {
        "LIBRARY": str(file),
        "LD_PRELOAD": os.pathsep.join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "PYTHONMALLOC": "malloc",  # every object has its own place, with poison around it
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
    }


def under_sanitizers(watched: dict[str, str], what: str, count: int) -> tuple[int, str, str]:
    return ran(watched, SCRIPT, what, str(count))


def ran(watched: dict[str, str], script: Path, *arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, str(script), watched["LIBRARY"], *arguments]
    done = subprocess.run(
        command, env={**os.environ, **watched}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


COUNTS = {"graphs": 250, "plans": 10_000, "rows": 2_000, "chains": 1_000}


@pytest.mark.parametrize(("what", "count"), COUNTS.items())
def test_nothing_leaves_its_memory(watched, what, count):
    status, said, complaints = under_sanitizers(watched, what, count)
    assert status == 0, complaints[-4000:]
    assert said.startswith(f"{count} ")


def test_functions_of_python_leave_nothing(watched):
    """Those that the library makes: their arguments, errors and what they keep."""
    status, _, complaints = ran(watched, SCRIPT.with_name("one_python.py"))
    assert status == 0, complaints[-4000:]


def test_the_sanitizers_see_a_planted_fault(watched):
    status, _, complaints = under_sanitizers(watched, "fault", 100)
    assert status and "heap-buffer-overflow" in complaints


def test_the_vector_maths_is_inside_the_loops():
    """A function that is called from its loop keeps the loop from becoming vector code."""
    nm, file = shutil.which("nm"), native().file
    if nm is None or file is None:
        pytest.skip("there is no nm, or no library")
    names = subprocess.run([nm, str(file)], capture_output=True, text=True, check=True).stdout
    assert "block_pow_64" in names
    assert [line for line in names.splitlines() if " fast_" in line] == []
