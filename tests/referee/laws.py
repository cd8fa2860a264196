"""Laws that a graph obeys whatever its numbers are: no second opinion is needed."""

from __future__ import annotations

import math
import random
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from engines import ENGINES

import graphc as gc

from .case import Case

STRANGE = ("lambda_", "np", "t1", "space", "b2", "λ", "out", "sum_", "value", "x_bar", "self", "e")


@dataclass(frozen=True)
class Law:
    """A law, and how often it is tried."""

    name: str
    broken: Callable[[Case, random.Random], str | None]  # how it was broken, or None
    share: float
    edge: bool = False  # whether it holds at edge points, too


LAWS: dict[str, Law] = {}


def law(name: str, share: float, edge: bool = False) -> Callable[[Any], Any]:
    def register(broken: Any) -> Any:
        LAWS[name] = Law(name, broken, share, edge)
        return broken

    return register


def _arrays(result: Any) -> Iterator[np.ndarray]:
    """The arrays of a tree of results."""
    if isinstance(result, dict):
        for part in result.values():
            yield from _arrays(part)
    elif isinstance(result, tuple):
        for part in result:
            yield from _arrays(part)
    elif isinstance(result, np.ndarray):
        yield result


def _copies(result: Any) -> list[np.ndarray]:
    return [array.copy() for array in _arrays(result)]


def _same(one: Any, other: Any) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


def _arguments(case: Case) -> dict[str, Any]:
    return {name: np.array(value, dtype=float) for name, value in case.at.items()}


def _elsewhere(case: Case) -> dict[str, Any]:
    """Another point; positive values stay positive."""
    return {name: value * 1.0625 for name, value in _arguments(case).items()}


def _function(case: Case, rng: random.Random) -> Any:
    want = rng.choice(["value_and_grad", "values", "value_and_grad", "jacobian", "hessian"])
    options: dict[str, Any] = dict(ENGINES[rng.choice(list(ENGINES))])
    if want == "value_and_grad" and options["style"] == "fast" and rng.random() < 0.2:
        options["checkpoint"] = rng.randint(1, 3)
    if want == "jacobian":
        return case.graph.compile(case.node, case.leaves[0], want=want, **options)
    if want == "values":
        return case.graph.compile(case.loss, want=want, **options)
    wrt = case.leaves if want == "hessian" else list(case.wrt)
    return case.graph.compile(case.loss, wrt, want=want, **options)


@law("results are fresh", share=0.6)
def results_are_fresh(case: Case, rng: random.Random) -> str | None:
    """No result shares memory with an argument, another result or a later call."""
    f = _function(case, rng)
    arguments = _arguments(case)
    before = {name: value.copy() for name, value in arguments.items()}
    with np.errstate(all="ignore"):
        first = f(arguments)
        kept = _copies(first)
        second = f(_elsewhere(case))
        again = f(arguments)
    if any(not np.array_equal(arguments[name], before[name]) for name in before):
        return f"{f!r} changed an argument"
    if not _same(_arrays(first), kept):
        return f"a second call of {f!r} changed the results of the first"
    if not _same(_arrays(again), kept):
        return f"{f!r} gives other results on the third call"
    everything = [*arguments.values(), *_arrays(first), *_arrays(second)]
    for place, one in enumerate(everything):
        for other in everything[place + 1 :]:
            if one.size and other.size and np.shares_memory(one, other):
                return f"results of {f!r} share memory"
    return None


@law("threads", share=0.1)
def threads(case: Case, rng: random.Random) -> str | None:
    """Four threads that call one function do not meet."""
    f = _function(case, rng)
    points = [{k: v * (1 + place / 64) for k, v in _arguments(case).items()} for place in range(4)]
    with np.errstate(all="ignore"):
        expected = [_copies(f(point)) for point in points]
    wrong: list[int] = []

    def work(place: int) -> None:
        with np.errstate(all="ignore"):
            for _ in range(8):
                if not _same(_arrays(f(points[place])), expected[place]):
                    wrong.append(place)

    workers = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return f"{f!r} mixed the results of threads {sorted(set(wrong))}" if wrong else None


def _gradient(graph: gc.Graph, loss: str, names: Any, at: Any) -> dict[str, Any]:
    return graph.compile(loss, list(names), want="grad")(at)


def _difference(one: Any, other: Any) -> float:
    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    scale = 1 + np.max(np.abs(a), initial=0.0)
    return float(np.max(np.abs(a - b), initial=0.0) / scale)


@law("renamed", share=0.15)
def renamed(case: Case, rng: random.Random) -> str | None:
    """Names do not matter."""
    names = list(case.graph)
    fresh = dict(zip(names, [*STRANGE, *(f"q{i}" for i in range(len(names)))], strict=False))
    pattern = re.compile(r'"[^"]*"|\b(' + "|".join(map(re.escape, names)) + r")\b(?!\()")
    text = pattern.sub(lambda m: fresh[m[1]] if m[1] else m[0], case.text)
    graph = gc.parse(text)
    at = {fresh[name]: value for name, value in case.at.items()}
    one = _gradient(case.graph, case.loss, case.leaves, case.at)
    other = _gradient(graph, fresh[case.loss], [fresh[n] for n in case.leaves], at)
    for name in case.leaves:
        if _difference(one[name], other[fresh[name]]) > 1e-9:
            return f"d {case.loss} / d {name} depends on names: {text!r}"
    return None


@law("reordered", share=0.15)
def reordered(case: Case, rng: random.Random) -> str | None:
    """The order of independent statements does not matter."""
    lines = case.text.splitlines()
    head = [line for line in lines if line.split()[0] in ("input", "param")]
    body = {line.split(" = ")[0]: line for line in lines if " = " in line}
    parents = {name: set(case.graph[name].parents) & set(body) for name in body}
    done: list[str] = []
    while len(done) < len(body):
        ready = [n for n in body if n not in done and parents[n] <= set(done)]
        done.append(rng.choice(ready))
    rng.shuffle(head)
    tail = [line for line in lines if line.startswith("output")]
    graph = gc.parse("\n".join([*head, *(body[n] for n in done), *tail]))
    one = _gradient(case.graph, case.loss, case.leaves, case.at)
    other = _gradient(graph, case.loss, case.leaves, case.at)
    for name in case.leaves:
        if _difference(one[name], other[name]) > 1e-9:
            return f"d {case.loss} / d {name} depends on the order of statements"
    return None


@law("adjoint", share=0.3)
def adjoint(case: Case, rng: random.Random) -> str | None:
    """<w, J v> = <J^T w, v>."""
    graph, node, shapes = case.graph, case.node, case.shapes
    name = rng.choice(case.leaves)
    draw = np.random.default_rng(rng.randrange(1 << 30))
    v, w = draw.normal(size=shapes[name]), draw.normal(size=shapes[node])
    tangent = graph.compile(node, [name], want="jvp")(case.at, **{f"{name}_dot": v})[1]
    pulled = graph.compile(node, [name], want="vjp")(case.at, **{f"{node}_bar": w})[1][name]
    if np.shape(tangent) != shapes[node] or np.shape(pulled) != shapes[name]:
        return f"jvp has shape {np.shape(tangent)}, vjp {np.shape(pulled)}"
    one, other = float(np.sum(w * tangent)), float(np.sum(pulled * v))
    size = float(np.sum(np.abs(w * tangent)) + np.sum(np.abs(pulled * v)))
    if abs(one - other) > 1e-9 * (1 + size):
        return f"<w, J v> = {one!r} but <J^T w, v> = {other!r} for d {node} / d {name}"
    return None


@law("seeds are linear", share=0.3)
def seeds_are_linear(case: Case, rng: random.Random) -> str | None:
    """The gradient of a weighted sum is the weighted sum of gradients, by every verb."""
    graph, shapes = case.graph, case.shapes
    names = [case.loss]
    if case.node != case.loss and not any(isinstance(n, str) for n in graph[case.node].shape):
        names.append(case.node)  # the seed of an array of unknown size is not known before the call
    draw = np.random.default_rng(rng.randrange(1 << 30))
    seeds = {name: np.round(draw.normal(size=shapes[name]), 3) for name in names}
    seeds = {name: seed if seed.ndim else float(seed) for name, seed in seeds.items()}
    together = graph.compile(seeds, case.leaves, want="grad")(case.at)
    swept = graph.reverse(seeds, case.at)
    parts = [
        graph.compile(name, case.leaves, want="vjp")(case.at, **{f"{name}_bar": seed})[1]
        for name, seed in seeds.items()
    ]
    for name in case.leaves:
        total = sum(part[name] for part in parts)
        for verb, found in (("grad", together), ("reverse", swept)):
            if _difference(total, found.get(name, np.zeros(shapes[name]))) > 1e-9:
                return f"{verb} of seeds {seeds} by {name} is not the sum of its parts"
    return None


@law("seeds of second derivatives", share=0.15)
def seeds_of_second_derivatives(case: Case, rng: random.Random) -> str | None:
    """The Hessian of a weighted sum is the weighted sum of Hessians; hvp is its product."""
    graph, shapes = case.graph, case.shapes
    scalars = [n for n in graph if shapes[n] == () and graph[n].kind == "compute"]
    names = rng.sample(scalars, min(len(scalars), 2))
    name = rng.choice(case.leaves)
    seeds = {node: rng.choice([2.0, -3.0, 0.5]) for node in names}
    if not seeds:
        return None
    whole = graph.compile(seeds, name, want="hessian")(case.at)
    parts = [w * graph.compile(n, name, want="hessian")(case.at) for n, w in seeds.items()]
    if _difference(sum(parts), whole) > 1e-8:
        return f"the Hessian of {seeds} by {name} is not the sum of its parts"
    draw = np.random.default_rng(rng.randrange(1 << 30))
    v = draw.normal(size=shapes[name])
    product = graph.compile(seeds, [name], want="hvp")(case.at, **{f"{name}_dot": v})[name]
    if _difference(np.tensordot(whole, v, axes=np.ndim(v)), product) > 1e-8:
        return f"hvp of {seeds} by {name} is not the Hessian times the direction"
    return None


@law("points", share=0.5, edge=True)
def points(case: Case, rng: random.Random) -> str | None:
    """A graph of scalars is a map over points: what it gives for one it gives for many."""
    if case.graph.has_tensors:
        return None
    f = case.graph.compile(case.loss, list(case.leaves), want="value_and_grad")
    others = [0.0, -0.0, 1.0, -2.0, 0.75, math.inf, math.nan, 3.0]
    table = [
        {
            name: float(value) if place == 0 else rng.choice(others)
            for name, value in case.at.items()
        }
        for place in range(7)
    ]
    together = f({name: np.array([point[name] for point in table]) for name in case.at})
    for place, point in enumerate(table):
        value, slopes = f(point)
        pairs = [(value, together[0]), *((slopes[n], together[1][n]) for n in slopes)]
        for alone, among in pairs:
            if not np.allclose(alone, among[place], rtol=1e-9, atol=1e-12, equal_nan=True):
                return f"at {point} alone {alone!r}, among other points {among[place]!r}"
    total = case.graph.compile(case.loss, list(case.leaves), reduce="sum")
    finite = [p for p in table if np.all(np.isfinite([f(p)[0], *f(p)[1].values()]))]
    if finite:
        stacked = {name: np.array([point[name] for point in finite]) for name in case.at}
        value, slopes = total(stacked)
        for name in slopes:
            parts = [float(f(point)[1][name]) for point in finite]
            if abs(slopes[name] - sum(parts)) > 1e-9 * (1 + sum(map(abs, parts))):
                return f"reduce='sum' by {name} gives {slopes[name]!r} for parts {parts}"
    return None


@law("the checker", share=0.8)
def the_checker(case: Case, rng: random.Random) -> str | None:
    """Emitted derivatives are right, and no verdict says otherwise; second ones of a few leaves."""
    few = sum(int(np.prod(case.shapes[name])) for name in case.leaves) <= 12
    for want in ("grad", "hessian") if few else ("grad",):
        for row in gc.check(case.graph, case.loss, dict(case.at), want=want).rows:
            if row.verdict in ("wrong", "float-noise"):
                told = f"{row.verdict}, {row.evidence}"
                return f"check(want={want!r}) of {row.of} by {row.name}{row.index}: {told}"
    return None
