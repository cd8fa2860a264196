"""One place: a want is added from outside by one record; compile, emit and its check know it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from engines import ENGINES

import graphc as gc
from graphc.derive.differentiate import adjoints, seed_row
from graphc.program import selfcheck
from graphc.program.question import Derived, Question, Want
from graphc.program.wants import WANTS
from graphc.structure.structure import Structure


def halved(asked: Question, graph: Structure, mode: str) -> Derived:
    """Half of the gradient, by name."""
    (end,), sources = asked.rows(graph)
    declared = len(graph.ops)
    slopes = adjoints(graph, {end: seed_row(graph, end, 1)}, sources)
    half = graph.operand(2)
    found = [graph.operation("div", (slope, half), {}) for slope in slopes]
    return Derived(graph, dict(zip(asked.wrt, found, strict=True)), declared)


@pytest.fixture
def half_grad(monkeypatch):
    record = Want(
        "half_grad",
        halved,
        returns="dict[str, A]",
        summary="Half of d {of} / d ({wrt}), by name.",
        one_element=True,
    )
    monkeypatch.setitem(WANTS, record.name, record)
    return gc.parse("input x y\na = sin(x*y)\nL = a**2 + y")


def test_a_want_is_one_record(half_grad, tmp_path):
    graph = half_grad
    right = graph.reverse("L", {"x": 0.3, "y": 0.4})
    for engine in ENGINES.values():
        f = graph.compile("L", ["x", "y"], want="half_grad", **engine)
        found = f(x=0.3, y=0.4)
        assert found == pytest.approx({"x": right["x"] / 2, "y": right["y"] / 2})
        assert f(x=np.zeros(3), y=np.ones(3))["y"].tolist() == [0.5] * 3
    text = graph.emit("L", ["x", "y"], want="half_grad")
    assert "def half_grad(" in text and "Half of d L / d (x, y), by name." in text
    (tmp_path / "module.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, tmp_path / "module.py"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("half_grad:")
    with pytest.raises(gc.GraphcError, match="needs a node of one element"):
        gc.parse("input x[2]\ny = sin(x)").compile("y", want="half_grad")


def test_its_own_check_finds_that_a_want_is_wrong(half_grad, monkeypatch, tmp_path):
    """Half a gradient, compared as if it were the whole one."""
    record = WANTS["half_grad"]
    claimed = Want(
        record.name,
        record.derive,
        returns=record.returns,
        summary=record.summary,
        companion="value",
        compare=selfcheck.gradient,
    )
    monkeypatch.setitem(WANTS, record.name, claimed)
    path = tmp_path / "module.py"
    path.write_text(half_grad.emit("L", ["x", "y"], want="half_grad"), encoding="utf-8")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert done.returncode == 1 and "disagree" in done.stderr
