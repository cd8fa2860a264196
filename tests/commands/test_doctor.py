"""graphc doctor: what it tells is what is there, on a machine that has everything or nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphc as gc
from graphc.cli import main
from graphc.commands import doctor
from graphc.native.library import native

ROOT = Path(__file__).parents[2]


def told(*arguments: str, **environment: str) -> str:
    """What a fresh process prints into a pipe; it succeeds and complains of nothing."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, "-m", "graphc.cli", "doctor", *arguments],
        env=env,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_tells_what_compile_does(capsys):
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    scalars = gc.parse("input x\ny = x*x").compile("y")
    tensors = gc.parse("input x[3]\ny = sum(x*x)").compile("y")
    assert found["engines"]["scalars"]["engine"] == scalars.plan.engine
    assert found["engines"]["tensors"]["engine"] == tensors.plan.engine
    here = native()
    assert found["library"]["reason"] == here.reason
    assert found["library"]["file"] == (str(here.file) if here.is_there else None)
    assert found["packages"]["numpy"] == np.__version__
    assert found["graphc"] == gc.__version__
    assert found["processors"] >= 1


@pytest.mark.parametrize(
    "environment",
    [{}, {"GRAPHC_NATIVE": "0"}, {"PATH": "/nowhere"}, {"CC": "nonsense"}, {"CC": "/bin/false"}],
    ids=lambda environment: "".join(environment.values()) or "as it is",
)
def test_it_is_readable_in_a_pipe(environment, tmp_path):
    file = native().file
    page = told(GRAPHC_CACHE=str(file.parent if file else tmp_path), **environment)
    assert page.startswith("graphc ")
    assert max(map(len, page.splitlines())) <= 80
    for word in ("engines of compile()", "C compiler", "library", "cache", "drawing", "numpy"):
        assert word in page
    if environment.get("GRAPHC_NATIVE") == "0":
        assert "GRAPHC_NATIVE=0 turns the native engines off" in " ".join(page.split())
    if environment.get("CC") == "nonsense":
        assert "$CC does not name a C compiler that can be run" in " ".join(page.split())
    if environment.get("CC") == "/bin/false":
        assert "/bin/false: it does not say its version" in page


def test_a_cache_that_is_not_used_is_told(tmp_path):
    tmp_path.chmod(0o777)
    page = " ".join(told(GRAPHC_CACHE=str(tmp_path), GRAPHC_NATIVE="0").split())
    assert "not used: others can write to it" in page


def test_nothing_to_draw_with(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    versions = {"pygraphviz": None}
    monkeypatch.setattr(doctor, "_version", lambda name: versions.get(name, "1.0"))
    rows = dict(doctor._parts(doctor.facts()))
    assert rows["drawing"] == "DOT text only; pip install pygraphviz, or install Graphviz"


def test_a_system_dot_is_told(monkeypatch, tmp_path):
    dot = tmp_path / "dot"
    dot.write_text("#!/bin/sh\necho 'dot - graphviz version 9' >&2\n")
    dot.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert ("drawing", f"{dot}: dot - graphviz version 9") in doctor._parts(doctor.facts())


def test_a_program_that_does_not_answer(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "SECONDS", 0.2)
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 20\n")
    slow.chmod(0o755)
    assert doctor._said([str(slow)]) == "it does not say its version"
    assert doctor._said(["/nowhere/cc"]) == "it does not say its version"


def test_cupy_without_a_device_is_a_problem(monkeypatch):
    monkeypatch.setattr(doctor, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert "CuPy, which cannot be imported here" in doctor._extra("cupy")["problem"]


def test_without_ctypes(monkeypatch):
    real = doctor.find_spec
    for module in (doctor, sys.modules[doctor.missing.__module__]):
        monkeypatch.setattr(
            module, "find_spec", lambda name: None if name == "_ctypes" else real(name)
        )
    found = doctor.facts()
    assert found["library"]["reason"] == "this Python was built without ctypes"
    assert {one["engine"] for one in found["engines"].values()} == {"numpy"}
