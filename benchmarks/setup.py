"""Set-up: what declaring costs by text, by operators and by a traced function; and all of it, from
text to the first result, per operation of the program that is run.

python benchmarks/setup.py [--quick] [--json FILE]

Processor time, best of several; text is timed at several lengths, which tells how it grows.
"""

from __future__ import annotations

import gc as collector
import math
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import measure  # first: it sets the number of threads
import random_dag

import graphc as gc
from graphc.program import running

ROUNDS = 5
GROWTH = 1.05  # largest exponent of the time in the length of a text
GOALS = {"text": 25e-6, "operators": 2.5e-6, "traced": 30e-6, "whole": 25e-6, "hessian": 0.3}
MOST_BYTES = 160  # per row


def seconds(run: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """The processor time of one run, best of several."""
    found = []
    for _ in range(rounds):
        collector.collect()
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


# What is declared.


def dag_text(lines: int) -> str:
    return random_dag.text_of(random_dag.random_dag(lines))


def ladder_text(lines: int) -> str:
    """A ladder of two lines per layer."""
    rungs = ["input x y", "a0 = sin(x*y)", "b0 = cos(x + y)"]
    for k in range(1, lines // 2):
        rungs += [f"a{k} = sin(a{k - 1}*b{k - 1})", f"b{k} = cos(a{k - 1} + b{k - 1})"]
    last = lines // 2 - 1
    return "\n".join([*rungs, f"o = a{last}*b{last}", "output o"])


def by_operators(nodes: int) -> gc.Graph:
    """A chain in which no node has a name."""
    graph = gc.Graph("chain")
    x, w = graph.inputs("x w")
    z = x
    for _ in range(nodes // 3):
        z = z * w + x
        z = gc.sin(z)
    return graph


def function_of(names: int) -> Callable[..., Any]:
    """The ladder as a Python function of so many names, two operations each."""
    lines = ["def ladder(x, y):", "    a0 = gc.sin(x*y)", "    b0 = gc.cos(x + y)"]
    for k in range(1, names // 2):
        lines.append(f"    a{k} = gc.sin(a{k - 1}*b{k - 1})")
        lines.append(f"    b{k} = gc.cos(a{k - 1} + b{k - 1})")
    last = names // 2 - 1
    scope = {"gc": gc}
    exec("\n".join([*lines, f"    return a{last}*b{last}"]), scope)
    return scope["ladder"]


def chain_text(params: int) -> str:
    """A chain of tanh with a parameter each: its Hessian has as many rows and columns."""
    lines = ["input h0", *(f"param w{k}" for k in range(1, params + 1))]
    lines += [f"h{k} = tanh(w{k}*h{k - 1})" for k in range(1, params + 1)]
    return "\n".join([*lines, f"L = h{params}**2", "output L"])


# The same in CasADi.


def casadi_chain(nodes: int) -> Any:
    import casadi

    x, w = casadi.SX.sym("x"), casadi.SX.sym("w")
    z = x
    for _ in range(nodes // 3):
        z = z * w + x
        z = casadi.sin(z)
    return z


def casadi_ladder(operations: int) -> Any:
    import casadi

    x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    a, b = casadi.sin(x * y), casadi.cos(x + y)
    for _ in range(operations // 4 - 1):
        a, b = casadi.sin(a * b), casadi.cos(a + b)
    return a * b


def casadi_whole(lines: int) -> Any:
    """The ladder, its gradient and the first result."""
    import casadi

    x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    a, b = casadi.sin(x * y), casadi.cos(x + y)
    for _ in range(lines // 2 - 1):
        a, b = casadi.sin(a * b), casadi.cos(a + b)
    both = casadi.vertcat(x, y)
    f = casadi.Function("f", [both], [a * b, casadi.gradient(a * b, both)])
    return f([0.3, 0.4])


# Parts.


def part(
    title: str, runs: dict[str, tuple[Callable[[], Any], int]], goal: float, chosen: Any
) -> Any:
    """Prints and returns the time per piece of each contender."""
    if chosen.only and chosen.only not in title:
        return {}
    print(f"\n{title}")
    figures = []
    for name, (run, count) in runs.items():
        each = seconds(run, 2 if chosen.quick else ROUNDS) / count
        figures.append({"name": name, "best": each})
        print(f"{name:30} {measure.shown(each):>9}")
    verdict(figures[0]["best"], goal, measure.shown(goal))
    return {"title": title, "figures": figures}


def verdict(found: float, goal: float, words: str) -> None:
    print(f"  goal: at most {words}: {'met' if found <= goal else 'MISSED'}")


def text_part(name: str, text_of: Callable[[int], str], sizes: list[int], chosen: Any) -> Any:
    """The time per line at several lengths, and the exponent with which the whole grows."""
    title = f"text: {name}, per line"
    if chosen.only and chosen.only not in title:
        return {}
    print(f"\n{title}")
    times = []
    for lines in sizes:
        text = text_of(lines)
        times.append(seconds(lambda text=text: gc.parse(text), 2 if chosen.quick else ROUNDS))
        print(f"{f'graphc, {lines:,} lines':30} {measure.shown(times[-1] / lines):>9}")
    exponent = math.log(times[-1] / times[0]) / math.log(sizes[-1] / sizes[0])
    verdict(max(t / n for t, n in zip(times, sizes, strict=True)), GOALS["text"], "25 us")
    print(f"  growth exponent {exponent:.3f}")
    verdict(exponent, GROWTH, f"exponent {GROWTH}")
    return {
        "title": title,
        "figures": [
            {"name": "graphc", "lines": n, "best": t / n} for t, n in zip(times, sizes, strict=True)
        ],
        "exponent": exponent,
    }


class PythonsOwn:
    """Python's compilation of emitted text, timed apart from ours."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, *given: Any, **settings: Any) -> Any:
        start = time.process_time()
        try:
            return compile(*given, **settings)
        finally:
            self.seconds += time.process_time() - start


def first_result(text: str) -> tuple[float, float, int]:
    """(all, of it Python's own compilation, operations) of text to value and gradient."""
    collector.collect()
    running.compile = own = PythonsOwn()
    try:
        start = time.process_time()
        graph = gc.parse(text)
        f = graph.compile()
        f(**{name: 0.3 + 0.01 * k for k, name in enumerate(graph.input_names)})
        return time.process_time() - start, own.seconds, f.plan.operations
    finally:
        del running.compile


def whole_part(name: str, text_of: Callable[[int], str], sizes: list[int], chosen: Any) -> Any:
    """Parse, compile and first call per operation, with and without Python's own compilation."""
    title = f"whole: {name}, parse + compile + first call, per operation"
    if chosen.only and chosen.only not in title:
        return {}
    print(f"\n{title}")
    figures, ours = [], []
    for lines in sizes:
        text = text_of(lines)
        rounds = 2 if chosen.quick or lines > 20_000 else ROUNDS
        spent, own, count = min(first_result(text) for _ in range(rounds))
        figures.append({"name": "graphc", "operations": count, "best": spent / count})
        figures[-1]["ours"] = (spent - own) / count
        ours.append((spent - own, count))
        label = f"graphc, {count:,} operations"
        print(f"{label:30} {measure.shown(spent / count):>9}", end="")
        print(f", of it Python's compile {measure.shown(own / count)}")
    if name == "ladder" and measure.installed("casadi"):
        each = seconds(lambda: casadi_whole(sizes[0]), 2) / figures[0]["operations"]
        print(f"{'casadi SX, per our operation':30} {measure.shown(each):>9}")
    middle = figures[min(1, len(figures) - 1)]
    verdict(middle["ours"], GOALS["whole"], "25 us without Python's compile")
    exponent = math.log(ours[-1][0] / ours[0][0]) / math.log(ours[-1][1] / ours[0][1])
    print(f"  growth exponent without Python's compile {exponent:.3f}")
    verdict(exponent, GROWTH, f"exponent {GROWTH}")
    return {"title": title, "figures": figures, "exponent": exponent}


def hessian_part(params: int, chosen: Any) -> Any:
    """The time to derive and plan a dense Hessian."""
    title = f"hessian: a chain of {params} parameters, compiled"
    graph = gc.parse(chain_text(params))
    runs = {"graphc": (lambda: graph.compile(want="hessian"), 1)}
    return part(title, runs, GOALS["hessian"], chosen)


def memory_part(nodes: int, chosen: Any) -> Any:
    """The bytes that a row takes when all values but the last are gone."""
    title = "operators: bytes per row"
    if chosen.only and chosen.only not in title:
        return {}
    collector.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    graph = by_operators(nodes)
    size = (tracemalloc.get_traced_memory()[0] - before) / len(graph.ops)
    tracemalloc.stop()
    print(f"\n{title}\n{'graphc':30} {size:6.0f} bytes")
    verdict(size, MOST_BYTES, f"{MOST_BYTES} bytes")
    return {"title": title, "figures": [{"name": "graphc", "bytes": size}]}


def main() -> None:
    chosen = measure.options(__doc__)
    chosen.clock = "cpu"
    sizes = [300, 1_000] if chosen.quick else [1_000, 10_000, 100_000]
    nodes = 30_000 if chosen.quick else 1_000_000
    names = 300 if chosen.quick else 2_000
    gc.parse(dag_text(20))  # loads what is loaded late
    results = [
        text_part("random DAG", dag_text, sizes, chosen),
        text_part("ladder", ladder_text, sizes, chosen),
    ]
    chains = {"graphc": (lambda: by_operators(nodes), nodes)}
    function = function_of(names)
    ladders = {"graphc": (lambda: gc.graph(function), 2 * names)}
    if measure.installed("casadi"):
        chains["casadi SX"] = (lambda: casadi_chain(nodes), nodes)
        ladders["casadi SX, not named"] = (lambda: casadi_ladder(2 * names), 2 * names)
    title = f"operators: {nodes:,} nodes without names, each"
    results.append(part(title, chains, GOALS["operators"], chosen))
    results.append(memory_part(nodes, chosen))
    title = f"traced: a function of {names:,} names, per operation"
    results.append(part(title, ladders, GOALS["traced"], chosen))
    rungs = [sizes[0], 2_000, sizes[-1]] if not chosen.quick else sizes
    results.append(whole_part("random DAG", dag_text, sizes, chosen))
    results.append(whole_part("ladder", ladder_text, rungs, chosen))
    results.append(hessian_part(20 if chosen.quick else 80, chosen))
    measure.finish(results, chosen)


if __name__ == "__main__":
    main()
