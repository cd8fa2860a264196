"""A back end is one object: two of them are added here from outside, and everything works."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc as gc
from graphc.algebra.arithmetic import Numbers
from graphc.cli import main
from graphc.program.backend import Backend
from graphc.program.backends import BACKENDS, register
from graphc.program.backends.arrays import array_backend
from graphc.program.backends.numpy import BODIES, NUMPY
from graphc.program.library import Library
from graphc.program.module import Task
from graphc.program.options import Options
from graphc.program.program import evaluate
from graphc.program.question import mapped
from graphc.program.running import load
from graphc.program.wants import WANTS

# An array library with NumPy's functions, under another name, that lacks one of them.
TOY = array_backend(
    Library(
        "toy",
        "numpy",
        "xp",
        like="numpy",
        lacks={"tanh": "def {name}(x):\n    return 2 / (1 + {np}.exp(-2 * x)) - 1\n"},
    ),
    BODIES,
)


# No library at all: a module that lists its rows, and a function that interprets them.
def listed(tasks: Sequence[Task], chosen: Options, check: bool) -> str:
    return "\n".join(f"{op} {operands}" for op, operands in zip_rows(tasks[0])) + "\n"


def zip_rows(one: Task) -> list[tuple[str, tuple[int, ...]]]:
    return list(zip(one.program.ops, one.program.operands, strict=True))


def interpreted(one: Task, chosen: Options) -> Callable[..., Any]:
    names = [one.graph.names[row] for row in one.arguments]

    def function(*given: Any) -> Any:
        at = dict(zip(names, given, strict=True))
        values = evaluate(one.program, Numbers({}), at)
        return mapped(one.results, lambda row: np.asarray(values[row], chosen.dtype)[()])

    return function


ROWS = Backend("rows", NUMPY.passes, module=listed, function=interpreted)

NEURON = """
input x1 x2
param w1 w2 b
a = w1*x1 + w2*x2 + b
o = sigmoid(a)
L = (o - 1)**2 + erf(a)*exp(-a)
"""
LAYER = """
input x[3]
param W[2, 3]
h = tanh(W @ x)
L = sum(h*h) + logsumexp(h)
"""
AT = {"x1": 0.3, "x2": -0.7, "w1": 1.1, "w2": 0.4, "b": 0.2}
MATRIX = {"x": np.array([0.1, -0.4, 0.7]), "W": np.arange(6.0).reshape(2, 3) / 5}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = dict(BACKENDS)
    register(TOY)
    register(ROWS)
    yield
    BACKENDS.clear()
    BACKENDS.update(before)


def close(found: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert set(found) == set(expected)
        for name in expected:
            close(found[name], expected[name])
    elif isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            close(one, other)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("style", ["readable", "fast"])
@pytest.mark.parametrize("text, at", [(NEURON, AT), (LAYER, MATRIX)], ids=["points", "tensors"])
@pytest.mark.parametrize("want", ["value", "grad", "value_and_grad", "values", "jacobian"])
def test_a_library_is_added_by_one_object(text, at, want, style):
    graph = gc.parse(text)
    found = graph.compile("L", want=want, backend="toy", style=style)
    close(found(at), graph.compile("L", want=want)(at))
    assert "import numpy as xp\n" in found.source and "np." not in found.source
    close(load(graph.emit("L", want=want, backend="toy", style=style), want)(**at), found(at))
    assert ("tanh" in text) == ("def tanh(" in found.source)  # what it lacks, the module defines
    assert "xp.tanh(" not in found.source


@pytest.mark.parametrize("want", ["value", "grad", "value_and_grad", "values"])
@pytest.mark.parametrize("text, at", [(NEURON, AT), (LAYER, MATRIX)], ids=["points", "tensors"])
def test_a_back_end_needs_no_text_to_run(text, at, want):
    graph = gc.parse(text)
    found = graph.compile("L", want=want, backend="rows")
    close(found(at), graph.compile("L", want=want)(at))
    assert found.source == graph.emit("L", want=want, backend="rows", style="fast")
    assert found.source.startswith("input ()\n")


def test_points_go_through_a_new_back_end():
    graph = gc.parse(NEURON)
    at = AT | {"x1": np.linspace(-2, 2, 7)}
    close(graph.compile("L", backend="toy")(at), graph.compile("L")(at))


def test_an_unknown_back_end_is_refused_with_those_that_are_registered():
    graph = gc.parse(NEURON)
    for ask in (graph.compile, graph.emit):
        for name in ("torch", "javascript"):
            with pytest.raises(
                gc.GraphcError,
                match=f"backend='{name}' is not known; use one of auto, numpy, cupy, c, toy, rows$",
            ):
                ask("L", backend=name)


def test_options_that_a_back_end_does_not_have_are_refused():
    graph = gc.parse(NEURON)
    with pytest.raises(gc.GraphcError, match="and backend='auto', 'numpy'; ask for these"):
        graph.compile("L", backend="toy", checkpoint=2)
    with pytest.raises(gc.GraphcError, match="use backend='auto', 'numpy'"):
        graph.compile("L", want="jacobian", backend="toy", sparse=True)


def test_a_name_is_registered_once():
    with pytest.raises(gc.GraphcError, match="there is a back end 'toy' already"):
        register(TOY)


def test_the_command_line_offers_it(tmp_path, capsys):
    (tmp_path / "g.gc").write_text(NEURON)
    assert main(["emit", str(tmp_path / "g.gc"), "--backend", "toy"]) == 0
    assert "import numpy as xp" in capsys.readouterr().out


def test_every_want_can_be_emitted():
    for want in WANTS:
        ast.parse(gc.parse(NEURON).emit("L", want=want, backend="toy"))


def test_no_file_but_its_folder_knows_a_back_end():
    """A back end's name in a string outside its folder would be a branch on it."""
    program = Path(gc.__file__).parent / "program"
    named = {"cupy", "javascript"}
    for file in program.rglob("*.py"):
        if file.is_relative_to(program / "backends"):
            continue
        for tree in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            assert not (isinstance(tree, ast.Constant) and tree.value in named), file.name
