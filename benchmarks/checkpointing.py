"""Checkpointing: a chain of 1 000 tanh layers over 1e5 points, plain and with recomputation.

A budget shortens the blocks of points first and runs layers again only for the rest; a number of
layers does what it says, and nearly every tanh runs twice.

python benchmarks/checkpointing.py [--quick] [--json FILE]
"""

from __future__ import annotations

import measure  # first: it sets the number of threads
import numpy as np
from measure import Contender, Goal, compare

import graphc as gc


def chain(layers):
    return gc.parse(
        f"""
input x
param w
h[0] = x
for k in 1..{layers}:
    h[k] = tanh(w*h[k-1])
L = h[{layers}]**2
output L
""",
        "chain",
    )


def graphc_run(layers, points, **settings):
    f = chain(layers).compile(of="L", wrt=["w", "x"], mode="reverse", backend="numpy", **settings)
    x = np.linspace(-2, 2, points)
    f(x=x[:2], w=1.01)  # the first call loads the code

    def run():
        value, gradient = f(x=x, w=1.01)
        return value, gradient["w"], gradient["x"]

    return run


WAYS = {"graphc": {"checkpoint": "12MB"}, "plain": {}, "every 32 layers": {"checkpoint": 32}}


def main() -> None:
    chosen = measure.options(__doc__)
    layers, points = (100, 10_000) if chosen.quick else (1000, 100_000)
    if chosen.child:
        way, layers, points = chosen.child.split(",")
        run = graphc_run(int(layers), int(points), **WAYS[way])
        print(measure.extra_megabytes(run))
        return
    contenders = [
        Contender(name, lambda settings=settings: graphc_run(layers, points, **settings))
        for name, settings in WAYS.items()
    ]
    title = f"Checkpointing: {layers} tanh layers, {points:,} points"
    # the same bits, not merely close
    results = [compare(title, contenders, chosen, (Goal("plain", 1.6),), rtol=0, atol=0)]
    children = [f"{name},{layers},{points}" for name in WAYS]
    found = dict(zip(WAYS, measure.memory(__file__, children).values(), strict=True))
    for name, megabytes in found.items():
        print(f"{name:30} {megabytes:8.0f} MB extra")
    goal = measure.verdict(Goal("plain", 0.1, "memory"), found["graphc"] / found["plain"])
    results.append({"title": f"{title}, memory", "megabytes": found, "goals": [goal]})
    measure.finish(results, chosen)


if __name__ == "__main__":
    main()
