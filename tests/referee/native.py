"""The native engines beside each other: blocks of points, one point, buffers, threads, the tape."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
from engines import on_tape

from .case import Answers, Case
from .laws import law
from .routes import gradients_of, hessian_of, route, values_of

OTHERS = (0.0, -0.0, 1.0, -1.0, 0.3, 2.0, -7.5, 1e-300, 1e300, math.inf, -math.inf, math.nan)
COUNTS = (1, 2, 511, 512, 513, 1100)  # of points: blocks are of at most 512


def _point(case: Case) -> dict[str, float]:
    return {name: float(value) for name, value in case.at.items()}


def _among(case: Case, rng: random.Random, count: int) -> tuple[dict[str, np.ndarray], int]:
    """The point among others, which are at edges and between them, and its place."""
    place = rng.choice([0, min(511, count - 1), min(512, count - 1), rng.randrange(count)])
    points = {}
    for name, value in _point(case).items():
        column = np.array([rng.choice(OTHERS) for _ in range(min(count, 40))])
        points[name] = np.resize(column, count)
        points[name][place] = value
    return points, place


def _at_place(found: Any, place: int) -> Any:
    """The results of one point among many."""
    if isinstance(found, dict):
        return {name: _at_place(part, place) for name, part in found.items()}
    if isinstance(found, tuple):
        return tuple(_at_place(part, place) for part in found)
    return found[place]


def _asked(case: Case, rng: random.Random, **options: Any) -> Any:
    """A compiled function, and what its results are called."""
    want = rng.choice(["value_and_grad", "value_and_grad", "values", "hessian"])
    if want == "values":
        return case.graph.compile(case.loss, want=want, **options), values_of
    if want == "hessian":
        f = case.graph.compile(case.loss, case.leaves, want=want, **options)
        return f, lambda found: hessian_of(case, found)
    f = case.graph.compile(case.loss, list(case.wrt), want=want, **options)
    return f, lambda found: gradients_of(case, found)


@route("native point", edge=True)
def native_point(case: Case, rng: random.Random) -> Answers:
    """Twice: what another point left behind must not be seen."""
    if case.graph.has_tensors:
        return {}
    f, named = _asked(case, rng)
    assert f.plan.engine == "blocks", f.plan
    f({name: rng.choice(OTHERS) for name in case.at})
    return named(f(_point(case)))


@route("native blocks", edge=True)
def native_blocks(case: Case, rng: random.Random) -> Answers:
    if case.graph.has_tensors:
        return {}
    f, named = _asked(case, rng, threads=rng.choice([1, 2]))
    points, place = _among(case, rng, rng.choice(COUNTS))
    return named(_at_place(f(points), place))


@route("native blocks, forward or checkpoints", share=0.3, edge=True)
def native_blocks_in_other_orders(case: Case, rng: random.Random) -> Answers:
    if case.graph.has_tensors:
        return {}
    checkpoint = case.edge or rng.random() < 0.5  # at edges both modes need not meet the same
    options = {"checkpoint": rng.randint(1, 3)} if checkpoint else {"mode": "forward"}
    f = case.graph.compile(case.loss, list(case.wrt), **options)
    points, place = _among(case, rng, rng.choice(COUNTS))
    return gradients_of(case, _at_place(f(points), place))


@route("native, float32", tolerance=2e-4, share=0.4)
def native_float32(case: Case, rng: random.Random) -> Answers:
    if case.graph.has_tensors:
        return {}
    f, named = _asked(case, rng, dtype="float32")
    points, place = _among(case, rng, rng.choice(COUNTS))
    return named(_at_place(f(points), place))


@route("native buffers", share=0.5, edge=True)
def native_buffers(case: Case, rng: random.Random) -> Answers:
    if case.graph.has_tensors:
        return {}
    f = case.graph.compile(case.loss, list(case.wrt))
    buffers = f.buffers()
    for at in ({name: rng.choice(OTHERS) for name in case.at}, _point(case)):
        for name, value in at.items():
            buffers.args[name][...] = value
        buffers()
    slopes = {name: float(buffers.results[name]) for name in case.wrt}
    return gradients_of(case, (float(buffers.results["value"]), slopes))


@route("tensor buffers", share=0.5)
def tensor_buffers(case: Case, rng: random.Random) -> Answers:
    """Filled with other numbers first, and results spoilt in between; sparse Hessians, too."""
    if not case.graph.has_tensors or case.graph.named_sizes():
        return {}

    def refilled(f: Any) -> dict[Any, Any]:
        buffers = f.buffers()
        for shift in (0.25, 0.0):
            for array in buffers.results.values():
                array[...] = math.nan
            for name, value in case.at.items():
                buffers.args[name][...] = value + shift
            buffers()
        return dict(buffers.results)

    wrt = list(case.wrt)
    results = refilled(case.graph.compile(case.loss, wrt))
    slopes = {name: results[name] for name in wrt}
    found = gradients_of(case, (float(results["value"]), slopes))
    if rng.random() < 0.3:
        f = case.graph.compile(case.loss, case.leaves, want="hessian", sparse=True)
        matrix = f(case.at).toarray()
        matrix[f.pattern] = refilled(f)["hessian"]
        found |= hessian_of(case, matrix)
    return found


@route("tape", edge=True)
def tape(case: Case, rng: random.Random) -> Answers:
    """Twice: what another point left behind must not be seen."""
    f = on_tape(case.graph, case.loss, list(case.wrt))
    if f is None:
        return {}
    f({name: rng.choice(OTHERS) for name in case.at})
    return gradients_of(case, f(_point(case)))


@law("native bits are the same everywhere", share=0.5, edge=True)
def bits(case: Case, rng: random.Random) -> str | None:
    """One point, among many, in threads, with checkpoints and from buffers: bit for bit."""
    if case.graph.has_tensors:
        return None
    wrt = list(case.wrt)
    f = case.graph.compile(case.loss, wrt, mode="reverse")
    points, place = _among(case, rng, 1100)
    right = _bits(f(_point(case)))
    again = {
        "among many": f(points),
        "in threads": case.graph.compile(case.loss, wrt, mode="reverse", threads=2)(points),
        "checkpoints": case.graph.compile(case.loss, wrt, checkpoint=rng.randint(1, 3))(points),
    }
    for way, found in again.items():
        if _bits(_at_place(found, place)) != right:
            return f"{way}: {_at_place(found, place)}, not {f(_point(case))}"
    return None


def _bits(found: tuple[Any, dict[str, Any]]) -> list[str]:
    """The exact numbers of a result; one NaN is as good as another."""
    value, slopes = found
    return [float(number).hex() for number in (value, *slopes.values())]


@law("float32 at edges is what NumPy gives", share=0.5, edge=True)
def float32_at_edges(case: Case, rng: random.Random) -> str | None:
    if case.graph.has_tensors or not case.edge:
        return None
    ways = [
        case.graph.compile(case.loss, list(case.wrt), dtype="float32", backend=backend)
        for backend in ("numpy", "auto")
    ]
    points, place = _among(case, rng, rng.choice(COUNTS))
    with np.errstate(all="ignore"):
        right, *others = (
            np.array([found[0], *found[1].values()])
            for found in (*(_at_place(f(points), place) for f in ways), ways[1](_point(case)))
        )
    for found in others:
        if not np.allclose(found, right, rtol=1e-3, atol=1e-3, equal_nan=True):
            return f"{found}, not {right}"
    return None
