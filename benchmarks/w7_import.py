"""W7: what importing costs, in a fresh process each time.

python benchmarks/w7_import.py [--quick] [--json FILE]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import measure
from measure import Figure

MODULES = (
    *("graphc", "numpy", "sympy", "symengine", "casadi", "autograd", "numba", "networkx", "jax"),
    "torch",
)


def seconds(statement: str) -> float:
    """The wall time of a process that runs one statement."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    chosen = measure.options(__doc__)
    modules = [module for module in MODULES if measure.installed(module)]
    figures = {module: Figure(module, 0.0) for module in ("", *modules)}
    for name in figures:
        seconds(f"import {name or 'sys'}")  # compiles to bytecode, warms the file cache
    for _ in range(3 if chosen.quick else 7):
        for name, figure in figures.items():
            figure.samples.append(seconds(f"import {name or 'sys'}"))
    bare = figures.pop("")
    print("W7: import, wall time above that of a bare Python")
    print(f"{'':30} {'best':>9} {'median':>9} {'graphc/it':>10}")
    ours = figures["graphc"].best - bare.best
    rows = []
    for figure in figures.values():
        best = figure.best - bare.best
        median = statistics.median(figure.samples) - bare.median
        times = " ".join(f"{measure.shown(t):>9}" for t in (best, median))
        print(f"{figure.name:30} {times} {ours / best:>9.2f}x")
        rows.append({"name": figure.name, "best": best, "median": median})
    measure.finish([{"title": "W7: import", "figures": rows}], chosen)


if __name__ == "__main__":
    main()
