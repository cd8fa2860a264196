"""Wheels: with the library where there is a compiler, pure where there is none, never a failure."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from graphc.native import building

pytest.importorskip("hatchling")
ROOT = Path(__file__).parents[2]
HERE = "graphc/native/"
ASK = """
import graphc as gc
from graphc.native.library import native
print(native().reason)
f = gc.parse("input x\\ny = x*x").compile("y")
print(f.plan.engine, *f(x=3.0))
"""


@pytest.fixture
def project(tmp_path) -> Path:
    """What wheels are made from, in a directory of its own."""
    copy = tmp_path / "project"
    copy.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, copy)
    leave_out = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(ROOT / "graphc", copy / "graphc", ignore=leave_out)
    return copy


def run(command: list[str], directory: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=directory, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def wheel(project: Path, **environment: str) -> tuple[zipfile.ZipFile, str]:
    """The wheel, and what was said."""
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        str(project / "out"),
    ]
    said = run(command, project, **environment)
    (file,) = (project / "out").glob("*.whl")
    return zipfile.ZipFile(file), said


def names_in(archive: zipfile.ZipFile) -> set[str]:
    return {name.removeprefix(HERE) for name in archive.namelist() if name.startswith(HERE)}


def tag(archive: zipfile.ZipFile) -> str:
    (record,) = (name for name in archive.namelist() if name.endswith("dist-info/WHEEL"))
    text = archive.read(record).decode()
    pure = "Root-Is-Purelib: true" in text
    tagged = text.split("Tag: ")[1].strip()
    assert pure == (tagged == "py3-none-any")
    assert str(archive.filename).endswith(f"-{tagged}.whl")
    return tagged


def test_a_wheel_with_the_library(project, stand_in, tmp_path):
    """One file per variant, found where it is installed, without a compiler."""
    stand_in()
    before = sorted(project.rglob("*"))
    archive, _ = wheel(project)
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert tag(archive) == f"py3-none-{machine}"
    made = [name for name in names_in(archive) if name.endswith(".so")]
    assert {name.rsplit("-", 1)[0] for name in made} == set(map(building.stem, building.variants()))
    assert {*building.SOURCES, *building.HEADERS} <= names_in(archive)
    assert [f for f in sorted(project.rglob("*")) if "out" not in f.parts] == before
    archive.extractall(tmp_path / "site")
    said = run(
        [sys.executable, "-c", ASK],
        tmp_path,
        PYTHONPATH=str(tmp_path / "site"),
        CC="nonsense",
        GRAPHC_NATIVE="1",
    )
    assert said.split("\n")[0] == "the native library that was installed"
    assert said.split("\n")[1].startswith("blocks 9.0")


@pytest.mark.parametrize(
    ("environment", "warning"),
    [
        ({"CC": "/bin/false"}, "failed (exit status 1); NumPy runs everything"),
        ({"CC": "nonsense"}, "$CC does not name a C compiler"),
        ({"CC": "", "PATH": "/nowhere"}, "there is no C compiler"),
        ({"GRAPHC_NATIVE": "0"}, ""),
    ],
    ids=["failing", "nonsense", "none", "off"],
)
def test_a_pure_wheel(project, machine, environment, warning):
    archive, said = wheel(project, **environment)
    assert tag(archive) == "py3-none-any"
    assert warning in " ".join(said.split())
    assert not [name for name in archive.namelist() if name.endswith(".so")]
    assert {*building.SOURCES, *building.HEADERS} <= names_in(archive)


def test_one_variant_that_fails_leaves_nothing_half_done(project, stand_in):
    stand_in('case "$*" in *-mavx2*) made;; *) exit 1;; esac')
    if len(building.variants()) < 2:
        pytest.skip("there is one variant on this kind of machine")
    archive, _ = wheel(project)
    assert tag(archive) == "py3-none-any"
    assert not [name for name in archive.namelist() if name.endswith(".so")]


def test_an_editable_install(project, stand_in, calls):
    """The library stands beside its sources; one of older sources is removed."""
    stand_in()
    old = project / HERE / "engine-baseline-0-0.so"
    old.touch()
    install = "from hatchling.build import build_editable; build_editable('out')"
    run([sys.executable, "-c", install], project)
    made = {file.name for file in (project / HERE).glob("*.so")}
    assert len(made) == len(building.variants()) and old.name not in made
    said = run([sys.executable, "-c", ASK], project, PYTHONPATH=str(project), CC="nonsense")
    assert "the native library that was installed" in said
    run([sys.executable, "-c", install], project)
    assert calls() == len(building.variants())  # not once more
    shutil.rmtree(project / "out")
    archive, _ = wheel(project, CC="/bin/false")
    assert not [name for name in archive.namelist() if name.endswith(".so")]  # none is left over


def test_a_source_distribution_has_what_building_needs(project, machine):
    (project / HERE / "engine-left-over.so").touch()
    out = project / "out"
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(out)], project)
    (file,) = out.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {f"{HERE}{name}" for name in (*building.SOURCES, *building.HEADERS)} <= names
    assert {"hatch_build.py", "pyproject.toml"} <= names
    assert not [name for name in names if name.endswith(".so")]


def test_building_needs_nothing_that_is_not_installed():
    """The hook loads it before the package and what it depends on are there."""
    file = Path(building.__file__)
    code = f"import runpy; runpy.run_path({str(file)!r})['stem']('baseline')"
    run([sys.executable, "-I", "-S", "-c", code], file.parent)


def test_pip_builds_the_wheel(project, stand_in):
    stand_in()
    command = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation"]
    run([*command, "-q", "-w", "out"], project)
    (file,) = (project / "out").glob("*.whl")
    assert tag(zipfile.ZipFile(file)) != "py3-none-any"
