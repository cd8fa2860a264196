"""Blame: random graphs with planted wrong local derivatives; is the wrong edge named, and alone?

python benchmarks/blame.py [--graphs 1000] [--seed N]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from checker_cases import ordinary_graph

import graphc as gc

MISTAKES = ("2*({})", "-({})", "({}) + 1/10", "0", "({})*(1 + 1/1000)", "1/3")


def planted(rng: Any, count: int) -> tuple[gc.Graph, dict[str, float], list[tuple[str, str]]]:
    """A graph with `count` wrong local derivatives, a point, and the edges that are wrong.

    A right derivative is declared by hand too, so that having been declared proves nothing.
    """
    while True:
        text, at = ordinary_graph(rng)
        graph = gc.parse(text)
        needed = set(graph.reverse("y", at))
        edges = list(dict.fromkeys(e for e in graph.edges() if e[1] in needed and e[0] != e[1]))
        if len(edges) < count + 1:
            continue
        chosen = [edges[k] for k in rng.choice(len(edges), count + 1, replace=False)]
        source, target = chosen.pop()
        lines = [f"d {target} / d {source} = {graph.local(source, target)}"]
        wrong: list[tuple[str, str]] = []
        for source, target in chosen:
            right = float(graph.local(source, target, at))
            mistake = str(rng.choice(MISTAKES)).format(graph.local(source, target))
            spoilt = gc.parse(f"{text}\nd {target} / d {source} = {mistake}")
            found = float(spoilt.local(source, target, at))
            if abs(found - right) > 1e-4 * abs(right) and abs(found - right) > 1e-9:
                lines.append(f"d {target} / d {source} = {mistake}")
                wrong.append((source, target))
        if len(wrong) == count:
            return gc.parse("\n".join([text, *lines])), at, wrong


def tally(graphs: int, count: int, seed: int = 0) -> tuple[int, int, int]:
    """(graphs whose blame is exactly the planted edges, those that name all of them, all)."""
    exactly = named = 0
    for number in range(graphs):
        graph, at, wrong = planted(np.random.default_rng([seed, count, number]), count)
        blame = gc.check(graph, "y", at).blame
        exactly += sorted(blame) == sorted(wrong)
        named += set(wrong) <= set(blame)
    return exactly, named, graphs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for count in (0, 1, 2):
        start = time.perf_counter()
        exactly, named, graphs = tally(options.graphs, count, options.seed)
        seconds = time.perf_counter() - start
        print(
            f"{count} planted in each of {graphs} graphs: exactly these blamed in {exactly} "
            f"({exactly / graphs:.1%}), all of them named in {named} ({named / graphs:.1%}), "
            f"{seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
