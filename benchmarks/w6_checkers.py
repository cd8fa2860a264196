"""W6: networks of 499 and 109 386 parameters, checked whole; false alarms, and planted bugs.

    python benchmarks/w6_checkers.py [--quick] [--clock cpu] [--only smooth]

The first network is 20-16-8-3 with a batch of 8; one pre-activation is put at a distance from its
ReLU kink. The second is 784-128-64-10 with 3 wrong coordinates.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import pairwise
from typing import Any

import measure  # noqa: F401  # first: it sets the number of threads
import numpy as np
from measure import Contender, Goal, finish, made, options, shown, timed, verdict

import graphc as gc

warnings.filterwarnings("ignore")
BATCH = 8
NAMES = ("W1", "W2", "W3", "b1", "b2", "b3")
DISTANCES = (None, 0.0, 1e-7, 1e-5, 1e-3)


def network(
    sizes: tuple[int, ...], kink: float | None = None, batch: int = BATCH
) -> dict[str, Any]:
    """Random weights, inputs and labels; one pre-activation of the first layer near its kink."""
    rng = np.random.default_rng(0)
    at: dict[str, Any] = {}
    for k, (rows, columns) in enumerate(pairwise(sizes), 1):
        at[f"W{k}"] = rng.standard_normal((rows, columns)) / np.sqrt(rows)
    for k, size in enumerate(sizes[1:], 1):
        at[f"b{k}"] = 0.1 * rng.standard_normal(size)
    at["X"] = rng.standard_normal((batch, sizes[0]))
    at["Y"] = np.eye(sizes[-1])[rng.integers(0, sizes[-1], batch)]
    if kink is not None:
        at["b1"][3] += kink - (at["X"][0] @ at["W1"] + at["b1"])[3]
    return at


def graph_of(sizes: tuple[int, ...], batch: int = BATCH) -> gc.Graph:
    a, b, c, d = sizes
    return gc.parse(
        f"""
input X[{batch},{a}] Y[{batch},{d}]
param W1[{a},{b}] W2[{b},{c}] W3[{c},{d}] b1[{b}] b2[{c}] b3[{d}]
a1 = X @ W1 + b1
h1 = relu(a1)
a2 = h1 @ W2 + b2
h2 = relu(a2)
z = h2 @ W3 + b3
L = mean(logsumexp(z, axis=1) - sum(z*Y, axis=1))
"""
    )


def loss(at: dict[str, Any]) -> float:
    h1 = np.maximum(at["X"] @ at["W1"] + at["b1"], 0)
    h2 = np.maximum(h1 @ at["W2"] + at["b2"], 0)
    z = h2 @ at["W3"] + at["b3"]
    top = z.max(axis=1)
    return float(np.mean(np.log(np.exp(z - top[:, None]).sum(1)) + top - (z * at["Y"]).sum(1)))


def gradient(at: dict[str, Any]) -> dict[str, Any]:
    """The backward pass by hand."""
    h1 = np.maximum(at["X"] @ at["W1"] + at["b1"], 0)
    h2 = np.maximum(h1 @ at["W2"] + at["b2"], 0)
    z = h2 @ at["W3"] + at["b3"]
    e = np.exp(z - z.max(axis=1, keepdims=True))
    d3 = (e / e.sum(1, keepdims=True) - at["Y"]) / len(z)
    d2 = (d3 @ at["W3"].T) * (h2 > 0)
    d1 = (d2 @ at["W2"].T) * (h1 > 0)
    weights = {"W1": at["X"].T @ d1, "W2": h1.T @ d2, "W3": h2.T @ d3}
    return {**weights, "b1": d1.sum(0), "b2": d2.sum(0), "b3": d3.sum(0)}


def torch_check(at: dict[str, Any], fast: bool) -> Any:
    import torch
    import torch.nn.functional as functional

    torch.set_num_threads(1)
    x, labels = torch.tensor(at["X"]), torch.tensor(at["Y"].argmax(1))
    params = tuple(torch.tensor(at[name], requires_grad=True) for name in NAMES)

    def f(w1, w2, w3, b1, b2, b3):
        h = torch.relu(torch.addmm(b1, x, w1))
        h = torch.relu(torch.addmm(b2, h, w2))
        return functional.cross_entropy(torch.addmm(b3, h, w3), labels)

    return lambda: torch.autograd.gradcheck(f, params, fast_mode=fast, raise_exception=False)


def ours(at: dict[str, Any]) -> Any:
    """The check, after the first: that one is the set-up."""
    graph = graph_of((20, 16, 8, 3))
    gc.check(graph, "L", at, NAMES)
    return lambda: gc.check(graph, "L", at, NAMES)


def small(distance: float | None, chosen: argparse.Namespace) -> dict[str, Any]:
    """Times and verdicts at one distance from a kink."""
    where = "smooth" if distance is None else f"a kink at distance {distance:g}"
    title = f"W6: a check of 499 parameters, {where}"
    if chosen.only and chosen.only not in title:
        return {}
    at = network((20, 16, 8, 3), distance)
    contenders = [
        Contender("graphc", lambda: ours(at)),
        Contender("torch fast_mode", lambda: torch_check(at, True), needs="torch"),
        Contender("torch gradcheck", lambda: torch_check(at, False), needs="torch"),
    ]
    runs, figures = made(contenders, chosen.clock)
    timed(runs, figures, chosen)
    print(f"\n{title}\n{'':16} {'set-up':>9} {'best':>9} {'median':>9}")
    for name, figure in figures.items():
        told = runs[name]()
        if name == "graphc":
            told = f"{told.summary()}  kinks: {told.kinks}"
        else:
            told = "pass" if told else "ALARM"
        times = (shown(t) for t in (figure.setup, figure.best, figure.median))
        print(f"{name:16} {' '.join(f'{t:>9}' for t in times)}\n  {told}")
    best, goals = figures["graphc"].best, []
    if "torch fast_mode" in figures:
        goal = Goal("torch fast_mode", 1.2)
        goals.append(verdict(goal, best / figures[goal.peer].best))
    return {
        "title": title,
        "figures": [
            {"name": f.name, "setup": f.setup, "best": f.best, "median": f.median}
            for f in figures.values()
        ],
        "goals": goals,
    }


def planted(graph: gc.Graph, every: int) -> str:
    """How many of the wrong claims, each in a single coordinate, were found and named."""
    at = network((20, 16, 8, 3))
    right = gradient(at)
    found = named = total = 0
    for name in NAMES:
        for place in range(0, right[name].size, every):
            wrong = right[name].copy()
            value = wrong.flat[place]
            wrong.flat[place] = value * 1.01 if value else 1e-4
            report = gc.check(graph, "L", at, claimed={**right, name: wrong})
            total += 1
            found += not report.ok
            index = np.unravel_index(place, wrong.shape)
            bad = [(row.name, row.index) for row in report.rows if row.verdict == "wrong"]
            named += bad == [(name, tuple(int(i) for i in index))]
    return f"{found} of {total}, the coordinate named alone in {named}"


def large() -> None:
    sizes = (784, 128, 64, 10)
    at = network(sizes, batch=64)
    calls = 0
    wrong = (("W1", 12_345), ("W1", 99_999), ("W2", 4_321))

    def f(**weights: Any) -> float:
        nonlocal calls
        calls += 1
        return loss({**at, **weights})

    def grad(**weights: Any) -> dict[str, Any]:
        found = gradient({**at, **weights})
        for name, place in wrong:
            found[name].flat[place] += 0.1 * np.abs(found[name]).max()
        return found

    weights = {name: at[name] for name in NAMES}
    total = sum(value.size for value in weights.values())
    start = time.perf_counter()
    report = gc.check_function(f, grad, weights)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(10):
        loss(at)
    each = (time.perf_counter() - start) / 10
    print(f"{total} parameters, 3 wrong: blame {report.blame}")
    print(
        f"  {calls} forward evaluations, {seconds:.2f} s; one by one it would be "
        f"{2 * total} evaluations, {2 * total * each:.0f} s"
    )
    print(f"  {report.notes[-1]}")


def main() -> None:
    chosen = options(__doc__.splitlines()[0])
    results = [small(distance, chosen) for distance in DISTANCES]
    if not chosen.only:
        every = 10 if chosen.quick else 1
        print(f"\nplanted bugs found: {planted(graph_of((20, 16, 8, 3)), every)}\n")
        large()
    finish(results, chosen)


if __name__ == "__main__":
    main()
