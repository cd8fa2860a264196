"""The routes: every way in which graphc comes to the value or a derivative of a case."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import sympy
from engines import ENGINES
from numpy_text import evaluate

import graphc as gc

from .case import DIGITS, Answers, Case, blocks, second_key, slope_key, value_key


@dataclass(frozen=True)
class Route:
    """One way, how close it must come, and how often it is taken."""

    name: str
    take: Callable[[Case, random.Random], Answers]
    tolerance: float = 1e-9
    share: float = 1.0  # of the cases: dear routes are sampled
    edge: bool = False  # whether it keeps to the order of operations: taken at edge points too


ROUTES: dict[str, Route] = {}
BACKENDS = ("auto", "numpy")


def route(name: str, **fields: Any) -> Callable[[Any], Any]:
    def register(take: Any) -> Any:
        ROUTES[name] = Route(name, take, **fields)
        return take

    return register


# The interpreter.


def values_of(values: Any) -> Answers:
    return {value_key(name): value for name, value in values.items()}


def _values(graph: gc.Graph, at: Any) -> Answers:
    return values_of(graph.values(at))


def _reverse(case: Case, graph: gc.Graph, at: Any, names: Any = None) -> Answers:
    found = graph.reverse(case.loss, at)
    shapes = case.shapes
    return {
        slope_key(case.loss, name): found.get(name, np.zeros(shapes[name]))
        for name in (case.wrt if names is None else names)
    }


def _jacobians(case: Case, of_name: Callable[[str], Any]) -> Answers:
    return {slope_key(case.node, name): of_name(name) for name in case.wrt}


def hessian_of(case: Case, matrix: Any, names: Any = None) -> Answers:
    """The blocks of one 2-D matrix."""
    names, shapes = names or case.leaves, case.shapes
    matrix = np.array(matrix.tolist())
    found: Answers = {}
    start = 0
    for one in names:
        height = int(np.prod(shapes[one]))
        for other, part in blocks(matrix[start : start + height], names, shapes):
            key = second_key(case.loss, one, other)
            found[key] = np.reshape(part, (*shapes[one], *shapes[other]))
        start += height
    return found


@route("interpreter", edge=True)
def interpreter(case: Case, rng: random.Random) -> Answers:
    graph, at = case.graph, case.at
    found = _values(graph, at) | _reverse(case, graph, at)
    return found | _jacobians(case, lambda name: graph.jacobian(case.node, name, at))


@route("interpreter, second", share=0.4, edge=True)
def interpreter_second(case: Case, rng: random.Random) -> Answers:
    return hessian_of(case, case.graph.hessian(case.loss, case.leaves, case.at))


@route("digits")
def digits(case: Case, rng: random.Random) -> Answers:
    graph = case.graph
    with mpmath.workdps(DIGITS):
        at = case.precise()
        return _values(graph, at) | _reverse(case, graph, at)


@route("digits, second", share=0.15)
def digits_second(case: Case, rng: random.Random) -> Answers:
    with mpmath.workdps(DIGITS):
        at, graph = case.precise(), case.graph
        found = _jacobians(case, lambda name: graph.jacobian(case.node, name, at))
        return found | hessian_of(case, graph.hessian(case.loss, case.leaves, at))


@route("interpreter, forward", share=0.4)
def interpreter_forward(case: Case, rng: random.Random) -> Answers:
    return {
        slope_key(case.loss, name): np.reshape(
            case.graph.derivative(case.loss, name, case.at, mode="forward"), case.shapes[name]
        )
        for name in case.wrt
    }


@route("all pairs", share=0.3)
def all_pairs(case: Case, rng: random.Random) -> Answers:
    found = case.graph.all_pairs(case.at)
    shapes = case.shapes
    keys = {(name, target) for name in case.wrt for target in (case.loss, case.node)}
    return {
        slope_key(target, source): found.get(
            (source, target),
            np.zeros((*(shapes[target] if target != case.loss else ()), *shapes[source])),
        )
        for source, target in keys
    }


@route("path by path", share=0.3)
def path_by_path(case: Case, rng: random.Random) -> Answers:
    if any(case.shapes.values()):
        return {}  # a sum over paths is of scalars
    return {
        slope_key(case.loss, name): case.graph.pathwise(case.loss, name, case.at).value
        for name in case.wrt
    }


@route("interpreter, points", share=0.5, edge=True)
def interpreter_points(case: Case, rng: random.Random) -> Answers:
    """The same point twice, as arrays: where one number is refused, many have what floats give."""
    if case.graph.has_tensors:
        return {}
    at = {name: np.array([value, value]) for name, value in case.at.items()}
    found = case.graph.values(at), case.graph.reverse(case.loss, at)
    values = {value_key(name): np.ravel(value)[0] for name, value in found[0].items()}
    return values | {
        slope_key(case.loss, name): np.ravel(found[1].get(name, 0.0))[0] for name in case.wrt
    }


# Compiled functions.


def _gradients(case: Case, **options: Any) -> Answers:
    f = case.graph.compile(case.loss, list(case.wrt), want="value_and_grad", **options)
    return gradients_of(case, f(case.at))


def gradients_of(case: Case, found: tuple[Any, dict[str, Any]]) -> Answers:
    """A value and a gradient, named."""
    value, slopes = found
    named = {slope_key(case.loss, name): slope for name, slope in slopes.items()}
    return named | {value_key(case.loss): value}


def _compiled(case: Case, **options: Any) -> Answers:
    found = _gradients(case, **options)
    return found | values_of(case.graph.compile(case.loss, want="values", **options)(case.at))


@route("fast", edge=True)
def fast(case: Case, rng: random.Random) -> Answers:
    return _compiled(case, backend="numpy")


@route("readable", edge=True)
def readable(case: Case, rng: random.Random) -> Answers:
    return _compiled(case, style="readable")


@route("C", share=0.02, edge=True)  # a compiler starts for each
def in_c(case: Case, rng: random.Random) -> Answers:
    if shutil.which("cc") is None or case.graph.named_sizes():
        return {}
    found = _gradients(case, backend="c", style=rng.choice(["fast", "readable"]))
    f = case.graph.compile(case.loss, case.leaves, want="hessian", backend="c")
    return found | hessian_of(case, f(case.at))


@route("fast, forward", share=0.5)
def fast_forward(case: Case, rng: random.Random) -> Answers:
    return _gradients(case, mode="forward", backend=rng.choice(BACKENDS))


@route("readable, forward", share=0.2)
def readable_forward(case: Case, rng: random.Random) -> Answers:
    return _gradients(case, mode="forward", style="readable")


@route("checkpoints", share=0.4, edge=True)
def checkpoints(case: Case, rng: random.Random) -> Answers:
    return _gradients(case, checkpoint=rng.randint(1, 3), backend="numpy")


@route("float32", tolerance=2e-4, share=0.3)
def float32(case: Case, rng: random.Random) -> Answers:
    return _compiled(case, dtype="float32", backend="numpy")


@route("Jacobian", share=0.6)
def jacobian(case: Case, rng: random.Random) -> Answers:
    graph, mode = case.graph, rng.choice(["auto", "reverse", "forward"])
    options = {"want": "jacobian", "mode": mode, **_engine(rng)}
    if rng.random() < 0.5:
        return _jacobians(case, lambda name: graph.compile(case.node, name, **options)(case.at))
    return _matrix(case, rng, **options)


def _engine(rng: random.Random) -> dict[str, Any]:
    return ENGINES[rng.choice(list(ENGINES))]


def _matrix(case: Case, rng: random.Random, **options: Any) -> Answers:
    """One Jacobian by everything: inner nodes stand among the leaves that they depend on."""
    of = list(dict.fromkeys([case.node, case.loss])) if rng.random() < 0.5 else case.node
    wrt = rng.sample(case.wrt, len(case.wrt))
    matrix = case.graph.compile(of, wrt, **options)(case.at)
    matrix = matrix.toarray() if options.get("sparse") else matrix
    found: Answers = {}
    start = 0
    for target in [of] if isinstance(of, str) else of:
        shape = case.shapes[target]
        rows = matrix[start : start + int(np.prod(shape))]
        start += len(rows)
        for name, part in blocks(rows, wrt, case.shapes):
            found[slope_key(target, name)] = np.reshape(part, (*shape, *case.shapes[name]))
    return found


@route("Hessian", share=0.5, edge=True)
def hessian(case: Case, rng: random.Random) -> Answers:
    f = case.graph.compile(case.loss, case.leaves, want="hessian", **_engine(rng))
    return hessian_of(case, f(case.at))


@route("sparse", share=0.4)
def sparse(case: Case, rng: random.Random) -> Answers:
    return _matrix(case, rng, want="jacobian", sparse=True)


@route("sparse, C", share=0.02)  # a compiler starts for each
def sparse_in_c(case: Case, rng: random.Random) -> Answers:
    if shutil.which("cc") is None or case.graph.named_sizes():
        return {}
    style = rng.choice(["fast", "readable"])
    found = _matrix(case, rng, want="jacobian", sparse=True, backend="c", style=style)
    f = case.graph.compile(case.loss, case.leaves, want="hessian", sparse=True, backend="c")
    return found | hessian_of(case, f(case.at).toarray())


@route("sparse, second", share=0.2)
def sparse_second(case: Case, rng: random.Random) -> Answers:
    f = case.graph.compile(case.loss, case.leaves, want="hessian", sparse=True)
    return hessian_of(case, f(case.at).toarray())


def _directions(case: Case, rng: random.Random) -> dict[str, Any]:
    return {
        name: np.array([rng.gauss(0, 1) for _ in range(int(np.prod(case.shapes[name])))]).reshape(
            case.shapes[name]
        )
        for name in [*case.leaves, case.node]
    }


@route("unit vectors", share=0.3)
def unit_vectors(case: Case, rng: random.Random) -> Answers:
    """A Jacobian row by row, or column by column, from vjp or jvp; a Hessian from hvp."""
    graph, shapes, node = case.graph, case.shapes, case.node
    engine = _engine(rng)
    found: Answers = {}
    if rng.random() < 0.5:
        f = graph.compile(node, case.leaves, want="vjp", **engine)
        rows = [f(case.at, **{f"{node}_bar": seed})[1] for seed in _units(shapes[node])]
        for name in case.leaves:
            stacked = np.reshape([row[name] for row in rows], (*shapes[node], *shapes[name]))
            found[slope_key(node, name)] = stacked
    else:
        f = graph.compile(node, case.leaves, want="jvp", **engine)
        for name in case.leaves:
            columns = [f(case.at, **{f"{name}_dot": unit})[1] for unit in _units(shapes[name])]
            stacked = np.reshape(columns, (*shapes[name], *shapes[node]))
            rank = len(shapes[name])
            found[slope_key(node, name)] = np.moveaxis(stacked, range(rank), range(-rank, 0))
    name = rng.choice(case.leaves)
    f = graph.compile(case.loss, case.leaves, want="hvp", **engine)
    parts = [f(case.at, **{f"{name}_dot": unit}) for unit in _units(shapes[name])]
    for other in case.leaves:
        stacked = np.reshape([part[other] for part in parts], (*shapes[name], *shapes[other]))
        found[second_key(case.loss, name, other)] = stacked
    return found


def _units(shape: tuple[int, ...]) -> list[Any]:
    size = int(np.prod(shape))
    return [row.reshape(shape) for row in np.eye(size)]


# Derivatives as graphs and as text.


@route("derivative graph", share=0.5, edge=True)
def derivative_graph(case: Case, rng: random.Random) -> Answers:
    derived = case.graph.differentiate(case.loss, list(case.wrt))
    names = dict(zip(case.wrt, derived.output_names, strict=True))
    if rng.random() < 0.5:
        values = derived.values(case.at)
    else:
        values = derived.compile(derived.output_names, want="value")(case.at)
    return {
        slope_key(case.loss, name): np.broadcast_to(values[bar], case.shapes[name])
        for name, bar in names.items()
    }


@route("derivative graph, second", share=0.2)
def derivative_graph_second(case: Case, rng: random.Random) -> Answers:
    derived = case.graph.differentiate(case.loss, case.leaves)
    place = rng.randrange(len(case.leaves))
    name, bar = case.leaves[place], derived.output_names[place]
    return {
        second_key(case.loss, name, other): np.reshape(
            derived.jacobian(bar, other, case.at), (*case.shapes[name], *case.shapes[other])
        )
        for other in case.leaves
    }


@route("text and back", share=0.4, edge=True)
def text_and_back(case: Case, rng: random.Random) -> Answers:
    again = gc.parse(case.graph.to_text())
    return _values(again, case.at) | _reverse(case, again, case.at)


@route("derivative graph, text and back", share=0.2, edge=True)
def derivative_text_and_back(case: Case, rng: random.Random) -> Answers:
    derived = case.graph.differentiate(case.loss, case.leaves)
    values = gc.parse(derived.to_text()).values(case.at)
    return {
        slope_key(case.loss, name): np.broadcast_to(values[bar], case.shapes[name])
        for name, bar in zip(case.leaves, derived.output_names, strict=True)
    }


@route("module", share=0.25, edge=True)
def module(case: Case, rng: random.Random) -> Answers:
    """The emitted text, run by itself, called by position."""
    style = rng.choice(["fast", "readable"])
    source = case.graph.emit(case.loss, case.leaves, want="value_and_grad", style=style)
    space: dict[str, Any] = {"__name__": "emitted"}
    exec(compile(source, "<emitted>", "exec"), space)
    return gradients_of(case, space["value_and_grad"](*(case.at[name] for name in case.leaves)))


# Other graphs with the same meaning.


@route("expanded", share=0.3)
def expanded(case: Case, rng: random.Random) -> Answers:
    graph = case.graph.expand()
    if rng.random() < 0.5:
        return _reverse(case, graph, case.at, case.leaves)
    slopes = graph.compile(case.loss, case.leaves, want="grad")(case.at)
    return {slope_key(case.loss, name): slope for name, slope in slopes.items()}


@route("collapsed", share=0.3)
def collapsed(case: Case, rng: random.Random) -> Answers:
    inner = [n for n in case.graph if n not in case.leaves and n != case.loss]
    inner = [n for n in inner if case.graph[n].kind == "compute"]
    gone = rng.sample(inner, rng.randint(0, len(inner)))
    graph = case.graph.collapse(*gone) if gone else case.graph
    if rng.random() < 0.5:
        return _reverse(case, graph, case.at, case.leaves)
    slopes = graph.compile(case.loss, case.leaves, want="grad")(case.at)
    return {slope_key(case.loss, name): slope for name, slope in slopes.items()}


@route("untied", share=0.2)
def untied(case: Case, rng: random.Random) -> Answers:
    """The derivative by a shared leaf is the sum over its copies."""
    name = rng.choice(case.leaves)
    graph = case.graph.untie(name)
    copies = [n for n in graph if n.startswith(f"{name}_")] or [name]
    at = {k: v for k, v in case.at.items() if k != name}
    at |= dict.fromkeys(copies, case.at[name])
    if name in list(graph):
        at[name] = case.at[name]
    found = graph.reverse(case.loss, at)
    parts = [found[copy] for copy in copies if copy in found]
    total = sum(parts) if parts else np.zeros(case.shapes[name])
    return {slope_key(case.loss, name): total}


# What a person reads.


def _known(case: Case) -> dict[str, Any]:
    """What the names of a printed formula stand for: nodes and sizes."""
    known: dict[str, Any] = {n: np.asarray(v, float) for n, v in case.graph.values(case.at).items()}
    for name, value in list(known.items()):
        known |= {s: n for s, n in zip(case.graph[name].shape, value.shape, strict=True) if s != n}
    return known


@route("printed", share=0.3)
def printed(case: Case, rng: random.Random) -> Answers:
    """Symbolic results, read as NumPy."""
    known = _known(case)
    found = case.graph.reverse(case.loss)
    return {
        slope_key(case.loss, name): _read(found[name], known, case.shapes[name])
        for name in case.wrt
        if name in found
    }


@route("printed steps", share=0.2)
def printed_steps(case: Case, rng: random.Random) -> Answers:
    """Each update in the adjoints of the successors, read as NumPy in reverse order."""
    known = _known(case)
    found: Answers = {}
    for name, step in case.graph.reverse(case.loss, form="steps").items():
        adjoint = _read(step, known, case.shapes[name])
        known[f"{name}_bar"] = adjoint
        found[slope_key(case.loss, name)] = adjoint
    return {key: value for key, value in found.items() if key.split()[-1] in case.wrt}


@route("printed, second", share=0.1)
def printed_second(case: Case, rng: random.Random) -> Answers:
    """A block of the Hessian in symbols, read as NumPy."""
    name = rng.choice(case.leaves)
    shape = case.shapes[name]
    matrix = case.graph.hessian(case.loss, name)
    return {second_key(case.loss, name, name): _read(matrix, _known(case), (*shape, *shape))}


def _read(formula: Any, known: dict[str, Any], shape: tuple[int, ...]) -> Any:
    if isinstance(formula, (list, sympy.MatrixBase)):
        formula = sympy.Matrix(formula)[0, 0]
    if isinstance(formula, sympy.Basic):  # in the user's plain symbols
        here = {sympy.Symbol(n): sympy.Float(float(v), DIGITS) for n, v in known.items()}
        return float(formula.subs(here))
    value = np.asarray(evaluate(str(formula), known), dtype=float)
    return np.broadcast_to(value, shape) if value.ndim <= len(shape) else value
