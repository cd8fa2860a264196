"""Timing in one place: every contender in the same run, in turn, on one thread, values first.

Import this module before NumPy: it limits every library to one thread.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

os.environ.update(
    OMP_NUM_THREADS="1",
    OPENBLAS_NUM_THREADS="1",
    MKL_NUM_THREADS="1",
    NUMEXPR_NUM_THREADS="1",
    NUMBA_NUM_THREADS="1",
    XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    JAX_ENABLE_X64="1",
    JAX_PLATFORMS="cpu",
)

Run = Callable[[], Any]
WIDTH = 80


@dataclass(frozen=True)
class Contender:
    """One way to do the work: `make` returns the callable to time, and may take long."""

    name: str
    make: Callable[[], Run]
    needs: str = "numpy"  # the module without which it is left out


@dataclass
class Figure:
    """What was measured of one contender."""

    name: str
    setup: float
    samples: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        return min(self.samples)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


@dataclass(frozen=True)
class Goal:
    """graphc takes at most `limit` times what `peer` takes; `of` is best or setup."""

    peer: str
    limit: float
    of: str = "best"
    ours: str = "graphc"  # which contender of ours


def options(description: str) -> argparse.Namespace:
    """The options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer repetitions")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu counts processor time: steadier when other programs run",
    )
    parser.add_argument("--only", metavar="PART", help="run only the parts whose title has this")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help="per contender; 4, or 0.5 with --quick")
    chosen = parser.parse_args()
    if chosen.seconds is None:
        chosen.seconds = 0.5 if chosen.quick else 4.0
    return chosen


def installed(module: str) -> bool:
    """Whether a peer can be imported here."""
    return importlib.util.find_spec(module) is not None


def _spent(clock: str) -> float:
    """The time so far: by the wall, or of the processor, compilers that were called included."""
    if clock == "wall":
        return time.perf_counter()
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def made(
    contenders: list[Contender], clock: str = "wall"
) -> tuple[dict[str, Run], dict[str, Figure]]:
    """The callables of all contenders that are installed, with the time that making them took."""
    runs: dict[str, Run] = {}
    figures: dict[str, Figure] = {}
    for contender in contenders:
        if not installed(contender.needs):
            continue
        importlib.import_module(contender.needs)  # importing is not part of the set-up
        setup = 0.0
        for _ in range(2):  # the first may load modules; a second is not worth waiting for
            start = _spent(clock)
            runs[contender.name] = contender.make()
            setup = min(setup or 1e9, _spent(clock) - start)
            if setup > 5:
                break
        figures[contender.name] = Figure(contender.name, setup)
    return runs, figures


def assert_equal(runs: dict[str, Run], rtol: float = 1e-9, atol: float = 1e-12) -> None:
    """Every contender returns what the first returns: nested tuples, lists, dicts of arrays."""
    import numpy as np

    (first, expected), *others = ((name, leaves(run())) for name, run in runs.items())
    for name, found in others:
        assert len(found) == len(expected), f"{name} and {first} return different things"
        for a, b in zip(found, expected, strict=True):
            scale = atol * max(1.0, float(np.abs(b).max(initial=0.0)))
            np.testing.assert_allclose(a, b, rtol=rtol, atol=scale, err_msg=f"{name} / {first}")


def leaves(result: Any) -> list[Any]:
    """The arrays of a nested result, in order."""
    import numpy as np

    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    if hasattr(result, "toarray"):
        result = result.toarray()
    return [np.asarray(result.detach() if hasattr(result, "detach") else result, dtype=float)]


def timed(runs: dict[str, Run], figures: dict[str, Figure], chosen: argparse.Namespace) -> None:
    """Fills in samples: the contenders take turns until the time is used up, five rounds at least.

    A sample of a fast contender is the mean over as many calls as make 10 ms: the first of them
    finds the caches full of what another contender left there, the others find its own.
    """
    clock = time.perf_counter if chosen.clock == "wall" else time.process_time
    calls: dict[str, int] = {}
    for name, run in runs.items():
        start = time.perf_counter()
        run()
        calls[name] = max(1, int(1e-2 / max(time.perf_counter() - start, 1e-7)))
    gc.collect()
    gc.disable()
    end = time.perf_counter() + chosen.seconds * len(runs)
    order = list(runs)
    least = 3 if chosen.quick else 5
    rounds = 0
    while rounds < least or time.perf_counter() < end:
        for name in order:
            run, count = runs[name], calls[name]
            start = clock()
            for _ in range(count):
                run()
            figures[name].samples.append((clock() - start) / count)
        order = order[1:] + order[:1]  # nobody always follows the same neighbour
        rounds += 1
        if rounds >= 200:
            break
    gc.enable()


def compare(
    title: str,
    contenders: list[Contender],
    chosen: argparse.Namespace,
    goals: tuple[Goal, ...] = (),
    rtol: float = 1e-9,
    atol: float = 1e-12,
) -> dict[str, Any]:
    """Makes, checks, times and prints; returns the figures as plain data."""
    if chosen.only and chosen.only not in title:
        return {}
    runs, figures = made(contenders, chosen.clock)
    assert_equal(runs, rtol, atol)
    timed(runs, figures, chosen)
    ours = figures["graphc"]
    print(f"\n{title}")
    print(f"{'':30} {'set-up':>9} {'best':>9} {'median':>9} {'graphc/it':>10}")
    for figure in figures.values():
        ratio = "" if figure is ours else f"{ours.best / figure.best:.2f}x"
        times = " ".join(f"{shown(t):>9}" for t in (figure.setup, figure.best, figure.median))
        print(f"{figure.name:30.30} {times} {ratio:>10}")
    results = []
    for goal in goals:
        if goal.peer in figures and goal.ours in figures:
            ratio = getattr(figures[goal.ours], goal.of) / getattr(figures[goal.peer], goal.of)
            results.append(verdict(goal, ratio))
    return {
        "title": title,
        "figures": [
            {"name": f.name, "setup": f.setup, "best": f.best, "median": f.median}
            for f in figures.values()
        ],
        "goals": results,
    }


def verdict(goal: Goal, ratio: float) -> dict[str, Any]:
    """Prints a goal and whether it was met; the same as plain data."""
    what = {"best": "", "setup": "set-up "}.get(goal.of, f"{goal.of} ")
    who = "" if goal.ours == "graphc" else f"{goal.ours}: "
    word = "met" if ratio <= goal.limit else "MISSED"
    print(f"  goal: {who}{what}at most {goal.limit:g}x {goal.peer}: {ratio:.3g}x, {word}")
    return {
        **{"peer": goal.peer, "of": goal.of, "limit": goal.limit},
        **{"ratio": ratio, "ours": goal.ours},
    }


def shown(seconds: float) -> str:
    """A duration with three digits and its unit."""
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def finish(results: list[dict[str, Any]], chosen: argparse.Namespace) -> None:
    """Says under which conditions it was measured; writes the JSON file if one was asked for."""
    load = os.getloadavg()[0]
    print(f"\n{chosen.clock} time, one thread, load average {load:.1f}, {os.cpu_count()} cores")
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            parts = [part for part in results if part]  # --only leaves some out
            report = {"command": _command(), "load": load, "clock": chosen.clock, "parts": parts}
            json.dump(report, file, indent=1)


def _command() -> str:
    """The command line that is running, without the place of the JSON file."""
    name, *words = sys.argv
    if "--json" in words:
        place = words.index("--json")
        del words[place : place + 2]
    return " ".join(["python", f"benchmarks/{os.path.basename(name)}", *words])


# Memory: each contender in a process of its own.


def memory(script: str, names: list[str]) -> dict[str, float]:
    """Extra megabytes of the first run of each contender: its peak minus what it began with."""
    found = {}
    for name in names:
        command = [sys.executable, script, "--child", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[name] = float(done.stdout.split()[-1])
    return found


def extra_megabytes(run: Run) -> float:
    """The peak of the resident memory while `run` runs, above what there was before (Linux).

    Memory that is free is given back first: `run` would use it again and nobody would count it.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)
    before = _status("VmRSS")
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # resets the peak
    run()
    return _status("VmHWM") - before


def _status(field_name: str) -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith(field_name))
    return int(line.split()[1]) / 1024
