"""What is printed is what is meant: every formula, read by NumPy, gives graphc's own numbers."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator

import node as javascript
import numpy as np
import pytest
from engines import ENGINES, Engine, every_engine
from layer_calls import CALLS
from numpy_text import evaluate
from random_formulas import INPUTS, SCALAR, formula
from solution_latex import plain

import graphc as gc
from graphc.table.functions import FUNCTIONS
from graphc.write.latex import formula_latex

LARGEST = 1e6  # beyond it, rounding decides what a comparison of two orders of operations gives


def point(graph: gc.Graph, seed: int = 0) -> dict[str, object]:
    """Numbers of both signs away from 0."""
    rng = np.random.default_rng(seed)
    at = {}
    for name in (*graph.input_names, *graph.param_names):
        shape = graph[name].shape
        numbers = rng.uniform(0.3, 1.7, shape) * rng.choice([-1.0, 1.0], shape)
        at[name] = numbers if shape else abs(float(numbers))
    return at


def floats(value: object) -> np.ndarray:
    return np.asarray(value, dtype=float)


def is_tame(value: object) -> bool:
    return bool(np.isfinite(floats(value)).all() and (abs(floats(value)) < LARGEST).all())


def same(text: object, wanted: object, names: dict[str, object]) -> None:
    found, wanted = floats(evaluate(str(text), names)), floats(wanted)
    assert found.shape == wanted.shape, text
    scale = 1e-9 * (1 + np.max(np.abs(wanted), initial=0))
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=scale, err_msg=str(text))


def dense(local: object) -> object:
    return local.dense() if hasattr(local, "dense") else local


def printed(graph: gc.Graph, at: dict[str, object]) -> Iterator[tuple[object, object]]:
    """Every symbolic result about node f and the number L, and the numbers it should give."""
    yield graph["f"].expr, graph.values(at)["f"]
    gradients = graph.reverse("L", at)
    for form in ("nodes", "inputs"):
        for name, symbolic in graph.reverse("L", form=form).items():
            yield symbolic, gradients[name]
    for name in graph.input_names:
        if not graph.count_paths(name, "L"):
            continue
        numbers = graph.derivative("f", name, at)
        for mode in ("reverse", "forward"):
            yield graph.derivative("f", name, mode=mode), numbers
        yield dense(graph.local(name, "f")), dense(graph.local(name, "f", at))
        if not graph[name].shape:
            for node, tangent in graph.forward(name, at).items():
                yield graph.forward(name)[node], tangent
        yield graph.hessian("L", name), graph.hessian("L", name, at)


def check(graph: gc.Graph, at: dict[str, object]) -> int:
    """How many printed formulas about a graph were evaluated."""
    count = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        names = {name: floats(value) for name, value in graph.values(at).items()}
        if not all(map(is_tame, names.values())):
            return 0
        for symbolic, wanted in printed(graph, at):
            if is_tame(wanted):
                same(symbolic, wanted, names)
                count += 1
        for name, step in graph.reverse("L", form="steps").items():
            names[f"{name}_bar"] = evaluate(str(step), names)
            same(step, graph.reverse("L", at)[name], names)
    return count


def random_graph(seed: int) -> gc.Graph:
    rng = random.Random(seed)
    kind = rng.choice("svm")
    text = formula(rng, kind, rng.randint(1, 4))
    return gc.parse(f"{INPUTS}\nf = {text}\nL = sum(sin(f))")


@pytest.mark.parametrize("seed", range(150))
def test_random_formulas(seed: int) -> None:
    graph = random_graph(seed)
    check(graph, point(graph, seed))


def near(found: object, wanted: object, what: str) -> None:
    assert np.shape(found) == np.shape(wanted), what
    np.testing.assert_allclose(floats(found), floats(wanted), rtol=1e-9, atol=1e-9, err_msg=what)


@pytest.mark.parametrize("seed", range(1000, 1050))
def test_random_formulas_as_text_and_as_code(seed: int) -> None:
    graph = random_graph(seed)
    at = point(graph, seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = graph.values(at)["f"]
        if not is_tame(wanted):
            return
        near(gc.parse(graph.to_text()).values(at)["f"], wanted, graph.to_text())
        for engine in ENGINES.values():
            value = graph.compile(of="f", want="value", **engine)
            near(value(**at), wanted, value.source)


@pytest.mark.skipif(javascript.NODE is None, reason="node is not installed")
def test_random_formulas_in_javascript() -> None:
    pieces, wanted = [], []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in range(2000, 2100):
            graph = random_graph(seed)
            at = {name: floats(value).tolist() for name, value in point(graph, seed).items()}
            value = graph.values(at)["f"]
            if is_tame(value):
                script, _ = javascript.scripts(graph, "L", "x", at)
                place = list(graph).index("f")
                pieces.append(f"{script}{javascript.SWEPT.replace('return {', 'const all = {')}")
                pieces[-1] += f"\nreturn JSON.parse(all.values[{place}]);"
                wanted.append((value, graph["f"].text))
        for found, (value, text) in zip(javascript.run(pieces), wanted, strict=True):
            near(found, value, text)
    assert len(wanted) > 50


@pytest.mark.parametrize(
    ("name", "args", "settings"),
    [pytest.param(*call[:3], id=f"{call[0]}-{i}") for i, call in enumerate(CALLS)],
)
def test_every_layer(name: str, args: tuple[object, ...], settings: dict[str, object]) -> None:
    graph, at = gc.Graph("layer"), {}

    def declared(arg: object) -> object:
        if isinstance(arg, (list, tuple)) and any(isinstance(a, np.ndarray) for a in arg):
            return [declared(part) for part in arg]
        if not isinstance(arg, np.ndarray) or arg.dtype != float:
            return arg
        at[f"x{len(at)}"] = arg
        return graph.input(f"x{len(at) - 1}", shape=arg.shape)

    scale = graph.input("a")
    layer = graph.node("f", getattr(gc, name)(*map(declared, args), **settings) * scale)
    graph.node("L", gc.sum(gc.sin(layer)))
    assert check(graph, {**at, "a": 0.75}) >= 3


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function(name: str) -> None:
    """Of vectors, with compound operands, as operand of everything that could take it apart."""
    record = FUNCTIONS[name]
    if record.infix or record.variadic or name in ("power", "pi", "stop", "identity", "taken"):
        return
    count = len(record.parameters) - len(record.defaults)
    call = f"{name}({', '.join(['x*y/5', '-x/5', 'x/(4 + y)'][:count])})"
    for text in (call, f"-{call}*y", f"y/(3 + {call})", f"({call})**2 @ x"):
        try:
            graph = gc.parse(f"input x[3] y[3]\nf = {text}\nL = sum(sin(f))")
        except gc.GraphcError:
            continue  # a function that formulas cannot mention
        check(graph, {"x": floats([0.5, 1.25, 0.75]), "y": floats([1.5, 0.5, 2.25])})


@pytest.mark.parametrize("seed", range(3000, 3040))
def test_random_formulas_in_latex(seed: int) -> None:
    """Of scalars, whose LaTeX has a reader; choices and absolute values have none."""
    rng = random.Random(seed)
    text = formula(rng, "s", rng.randint(1, 4), SCALAR).replace("pi", "a")
    at = {"a": 0.75, "b": 1.25}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            graph = gc.parse(f"input a b\nf = {text}")
            wanted = graph.values(at)["f"]
        except gc.GraphcError:
            return  # a division by 0, or not finite there
    same(plain(formula_latex(graph, graph.rows["f"])), wanted, at)


PRINTED = [
    ("input p[3] y[3]", "f = -(y @ log(p))", "hessian", "p", "diag(y/p/p)"),
    ("input p[3] y[3]", "f = p @ -(y/p)", "expr", "", "p @ (-y/p)"),
    ("input A[2,2] B[2,2] X[2,2]", "f = cos(A @ (2*(B @ X)))", "expr", "", "cos(A @ (2*B @ X))"),
    ("input A[2,2] x[2]", "f = -(A @ x)", "expr", "", "-A @ x"),
    ("input x[3]", "f = sum(2*[1, 2, 3]*x)", "reverse", "x", "2*array([1.0, 2.0, 3.0])"),
    ("input x[3] y[3]", "f = x*(y/x*y)", "expr", "", "x*(y/x*y)"),
    ("input A[2,2] x[2] y[2]", "f = y*((A @ x)/y*x)", "expr", "", "y*(A @ x/y)*x"),
    ("input x[3]", "f = sum(relu(-x) - relu(x))", "reverse", "x", ""),
    ("input x[3]", "f = sum(where(x > 0, log(x), 0))", "reverse", "x", "where(x > 0, 1/x, 0.0)"),
    ("input x[3]", "f = sin(where(x > 0, 1, 0))", "expr", "", "sin(where(x > 0, 1.0, 0.0))"),
    ("input x[2]", "f = x*full((2,), 3)**-1", "expr", "", "x*full((2,), 3.0)**-1"),
    ("input x[2]", "f = x*[2, 3]**-1", "expr", "", "x*array([2.0, 3.0])**-1"),
]


@pytest.mark.parametrize(("inputs", "formula", "verb", "wrt", "text"), PRINTED)
def test_examples(inputs: str, formula: str, verb: str, wrt: str, text: str) -> None:
    graph = gc.parse(f"{inputs}\n{formula}")
    at = {name: abs(floats(value)) for name, value in point(graph).items()}
    values = graph.values(at)
    if verb == "expr":
        found, wanted = graph["f"].expr, values["f"]
    elif verb == "reverse":
        found, wanted = graph.reverse("f")[wrt], graph.reverse("f", at)[wrt]
    else:
        found, wanted = graph.hessian("f", wrt), graph.hessian("f", wrt, at)
    assert not text or str(found) == text
    same(found, wanted, values)


def test_an_array_and_a_number_are_not_the_same_formula() -> None:
    graph = gc.parse("input x[2]\nf = sum(where(x > [1, 2], x, 0) + where(x > 0, x, 0))")
    same(graph.reverse("f")["x"], [2, 1], {"x": floats([1.5, 1.5])})


@every_engine
@pytest.mark.parametrize("inputs", ["input x", "input x[3]"])
def test_a_negative_base_keeps_its_brackets(inputs: str, engine: Engine) -> None:
    graph = gc.parse(f"{inputs}\nf = (-2)**x")
    value = graph.compile(of="f", want="value", **engine)
    assert value(np.array([1.0, 2, 3])).tolist() == [-2, 4, -8]


def test_what_is_not_real_is_no_formula() -> None:
    graph = gc.parse("input x\nf = (-2)**x")
    with pytest.raises(gc.GraphcError, match="no real number"):
        graph.derivative("f", "x")
    assert "I*pi" not in graph.emit(of="f", wrt="x", style="readable")


@every_engine
def test_code_of_a_declared_function_takes_its_operands_whole(engine: Engine) -> None:
    name = "printing_twice"
    if name not in FUNCTIONS:
        gc.declare(name, lambda x: 2 * x, code={"numpy": "2*{x}"})
    graph = gc.parse(f"input x y\nf = {name}(x + y)**2")
    value = graph.compile(of="f", want="value", **engine)
    assert value(x=np.array([1.0, 2]), y=np.array([3.0, 4])).tolist() == [64, 144]


def test_a_vector_of_one_element_is_not_printed_as_a_diagonal_matrix():
    graph = gc.parse("param b[1] y[2,2]\nh = (b**2)**y\nL = sum(h)")
    point = {"b": np.array([1.5]), "y": np.array([[1.0, 2.0], [3.0, 0.5]])}
    printed = evaluate(str(graph.reverse("L")["y"]), graph.values(point))
    assert np.allclose(printed, graph.reverse("L", point)["y"])
