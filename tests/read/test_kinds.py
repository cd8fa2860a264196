"""Arguments of the wrong kind: a sentence, whatever is given for whatever argument."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphc as gc

SCALARS = "input x = 2\nparam w = 3\ny = w*x\nL = sin(y)*w"
TENSORS = "input x[3]\nparam W[2,3]\nh = tanh(W @ x)\nL = sum(h*h)"
POINTS = {SCALARS: {"x": 1, "w": 2}, TENSORS: {"x": np.ones(3), "W": np.ones((2, 3))}}
STRANGER = gc.Graph("other").input("s")
ODD: dict[str, Any] = {
    **{
        "None": None,
        "a number": 5,
        "a float": 2.5,
        "minus one": -1,
        "no name": "nope",
        "empty": "",
    },
    **{"half a name": "x[", "a list": [], "a dict": {}, "a tuple": (), "an object": object()},
    **{
        "a value": STRANGER,
        "bytes": b"x",
        "a truth value": True,
        "complex": 1j,
        "nan": float("nan"),
    },
    **{"an array": np.array([1.0, 2.0]), "a generator": np.random.default_rng(0), "a type": type},
    **{"a mixed list": ["L", 3], "a dict of None": {"L": None}, "a dict of no name": {"nope": 1}},
    **{"a dict by number": {3: 4}, "a value in a dict": {"x": STRANGER}, "a module": gc},
    **{"a generator in a dict": {"x": np.random.default_rng(0)}, "words": {"x": "a b"}},
    **{"a ragged list": {"x": [1, [2]]}, "an array of words": {"x": np.array(["a"])}},
    **{
        "a name twice": ["x", "x"],
        "nested names": [["x"]],
        "a set": {"x"},
        "an iterator": iter("x"),
    },
    **{"a range": range(3), "another graph": gc.parse("input q\nr = q"), "a function": lambda: 1},
}
USUAL = {
    **{"of": "L", "wrt": "x", "source": "x", "target": "L", "name": "z9", "formula": "x"},
    **{"text": "z9 = 1", "names": "a9", "value": 2, "answer": {"values": {}}},
}
SETTINGS = {
    "compile": ("backend", "mode", "dtype", "style", "reduce", "sparse", "checkpoint", "nonsense"),
    "emit": ("backend", "mode", "dtype", "style", "nonsense"),
    "to_dot": ("at", "of", "show", "weights", "highlight", "theme", "direction", "legend", "fold"),
}
OWN = {name for name, member in vars(gc.Graph).items() if inspect.isfunction(member)}
PUBLIC = {name for name in OWN if not name.startswith("_")} | {"collapse", "expand", "untie"}
METHODS = sorted(PUBLIC - {"draw", "explore"})  # which run Graphviz: to_dot has their settings


def is_one_sentence(call: Callable[[], Any], what: str) -> None:
    """Runs a call, which gives something or a GraphcError, and nothing else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except gc.GraphcError as error:
        assert "\n" not in str(error).partition("\n    ")[0], what  # but for a caret
    except Exception as error:
        pytest.fail(f"{what}: {type(error).__name__}: {error}")


@pytest.mark.parametrize("text", [SCALARS, TENSORS], ids=["scalars", "tensors"])
@pytest.mark.parametrize("name", METHODS)
def test_a_method_with_an_argument_of_any_kind(name, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a name of a file is one of the things that are given
    parameters = list(inspect.signature(getattr(gc.Graph, name)).parameters.values())[1:]
    plain = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    usual = {p.name: USUAL[p.name] for p in plain if p.default is p.empty}
    for key in (*(p.name for p in plain), *SETTINGS.get(name, ())):
        for word, odd in ODD.items():
            graph = gc.parse(text)
            is_one_sentence(
                lambda g=graph, k=key, o=odd: getattr(g, name)(**{**usual, k: o}),
                f"{name}({key}={word})",
            )
    if name in ("collapse", "output"):  # which take any number of names
        for word, odd in ODD.items():
            graph = gc.parse(text)
            is_one_sentence(lambda g=graph, o=odd: getattr(g, name)(o), f"{name}({word})")


@pytest.mark.parametrize("want", ["value", "grad", "value_and_grad", "hessian", "values"])
@pytest.mark.parametrize("text", [SCALARS, TENSORS], ids=["scalars", "tensors"])
def test_a_compiled_function_of_values_is_refused(text, want):
    graph = gc.parse(text)
    function = graph.compile("L", want=want) if want != "values" else graph.compile(want=want)
    other = gc.Graph("other")
    shapes = {name: graph[name].shape for name in POINTS[text]}
    values = {name: other.input(name, shape=shape) for name, shape in shapes.items()}
    for arguments in (values, {**POINTS[text], "x": values["x"]}):
        with pytest.raises(gc.GraphcError):
            function(**arguments)
        with pytest.raises(gc.GraphcError):
            function(*arguments.values())
    with pytest.raises(gc.GraphcError):
        function(**{**POINTS[text], "x": np.random.default_rng(0)})


def test_a_graph_is_not_called():
    inner = gc.parse(SCALARS)
    with pytest.raises(gc.GraphcError, match=r"is not a function; g\.values"):
        gc.graph(lambda x, w: inner(x, w))


@pytest.mark.parametrize("path", [None, 5, b"x", ["a.svg"], STRANGER])
def test_a_file_is_named_by_a_string_or_a_path(path, tmp_path):
    graph = gc.parse(SCALARS)
    function = graph.compile("L")
    for call in (graph.draw, graph.explore, gc.load, function.save):
        with pytest.raises(gc.GraphcError, match="a file is named by a string or a path"):
            call(path)


OTHERS: dict[str, Callable[[], Any]] = {
    "gc.graph of a graph": lambda: gc.graph(gc.parse(SCALARS)),
    "gc.graph, shapes=5": lambda: gc.graph(lambda x: x, shapes=5),
    "gc.graph, a shape": lambda: gc.graph(lambda x: x, shapes={"x": STRANGER}),
    "gc.graph, a default": lambda: gc.graph(lambda x=STRANGER: x),
    "gc.parse": lambda: gc.parse(STRANGER),
    "gc.Graph": lambda: gc.Graph(5),
    "gc.name": lambda: gc.name(STRANGER, 3),
    "gc.from_edges": lambda: gc.from_edges({("x", "y"): STRANGER}),
    "a time": lambda: STRANGER * np.timedelta64(3),
    "an array of times": lambda: STRANGER * np.array(["2020-01-01"], dtype="M8[D]"),
    "an array of complex numbers": lambda: STRANGER * np.array([1j]),
    "an array of words": lambda: STRANGER * np.array(["a"]),
    "an array of None": lambda: STRANGER * np.array([None]),
    "a masked array": lambda: STRANGER * np.ma.array([1.0, 2.0], mask=[0, 1]),
    "explore": lambda: gc.parse(SCALARS).explore("page.html", colour="red"),
    "points from a generator": lambda: gc.parse(SCALARS).values(np.random.default_rng(0)),
}


@pytest.mark.parametrize("text", OTHERS)
def test_what_else_is_refused(text):
    with pytest.raises(gc.GraphcError) as error:
        OTHERS[text]()
    assert "\n" not in str(error.value)
