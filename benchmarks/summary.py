"""Runs every benchmark and writes the table of docs/benchmarks.md.

    python benchmarks/summary.py [--quick] [--clock cpu]   prints the page
    python benchmarks/summary.py > docs/benchmarks.md      writes it
    python benchmarks/summary.py w3_mlp w5_all_pairs       only these

Each benchmark runs in its own process; what it prints goes to the error stream.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import shown

HERE = Path(__file__).parent
SCRIPTS = (
    *("w1_ladder", "w2_random_dag", "w3_mlp", "w4_sparse", "w5_all_pairs", "w6_checkers"),
    *("w7_import", "checkpointing", "objectives"),
)
PEERS = ("numpy", "scipy", "jax", "torch", "casadi", "autograd", "symengine", "networkx")
INTRODUCTION = """\
# Benchmarks

Every figure below comes from one run of the command beside it: graphc and its peers took turns in
the same process, on one thread, after their values were found equal. A ratio is graphc's best time
over the peer's best time: below 1, graphc is faster. Differences below a quarter are noise on a
machine that does other things too. `pip install -e '.[bench]'` installs the peers; those that are
missing are left out. `python benchmarks/summary.py > docs/benchmarks.md` writes this page anew.
"""
NOTES = """
## Where it is slow, and why

- Element-wise operations and small products of tensors are native chains; larger products,
  reductions and selections cost a call of NumPy each, a microsecond or several where axes are short
  (hand tracking).
- Built by gcc, a sparse matrix of graphc takes 60 to 95 ms of CPU time, a third of which an
  empty file takes; through `f.buffers()` it needs no compiler (W4).
- A call by keywords takes about 0.8 us besides what it computes: of 4.1 us at 100 layers (W1).
- A loop is unrolled: the set-up of an LSTM or an ODE grows with its steps, jax's `scan` does not.
- On a processor without AVX-512, C with libmvec that is compiled for one graph is up to a tenth
  faster than the block interpreter, after seconds of compiling.
- Set-up: every operation is read, derived, rewritten and planned in Python, 10 to 30 microseconds
  each.
- A check (W6) evaluates about 1 100 neighbours of 499 parameters, two or three for each, with the
  margins of all kinks, which takes a third of its time; the rest is the interpreter (the value, so
  that the emitted code has a second opinion) and Python. torch's `fast_mode` measures one random
  direction. Samples are some calls in a row; a single call right after torch's full `gradcheck`,
  whose caches `fast_mode` shares, took up to 1.3x of it.
- A graph of a million nodes that was declared by operators takes 9 bytes for each of its 1.7
  million rows (above 131 072 rows, which are kept in lists), and about 90 for each node that the
  caller holds: a third of CasADi's memory (`python benchmarks/w2_random_dag.py --only memory`).
- All pairs of 3 000 nodes into a given array are 72 MB written in less than 4 ms, which is what
  memory takes.
- In one process with the other parts of W1, C with libmvec runs two to four times slower than by
  itself; the figures over many points are from a process of their own.
- Checkpoints by a number of layers run nearly every layer a second time. In a chain of tanh nearly
  all the time is tanh, so the factor is close to 2; a budget shortens the blocks of points first.
"""


def run(script: str, chosen: argparse.Namespace, folder: Path) -> dict:
    """What a benchmark measured, as it wrote it to its JSON file, now or before."""
    file = folder / f"{script}.json"
    if file.exists():
        return json.loads(file.read_text(encoding="utf-8"))
    command = [sys.executable, str(HERE / f"{script}.py"), "--json", str(file)]
    command += ["--clock", chosen.clock] + ["--quick"] * chosen.quick
    subprocess.run(command, check=True, stdout=sys.stderr)
    return json.loads(file.read_text(encoding="utf-8"))


def rows(report: dict) -> list[str]:
    """The lines of the table that a report fills."""
    lines = []
    command = f"`{report['command']}`"
    for part in report["parts"]:
        if "megabytes" in part:
            ours = f"{part['megabytes']['graphc']:.0f} MB"
            others = "; ".join(
                f"{name} {megabytes:.0f} MB"
                for name, megabytes in part["megabytes"].items()
                if name != "graphc"
            )
        else:
            by_name = {figure["name"]: figure for figure in part["figures"]}
            mine = by_name.pop("graphc")
            ours = shown(mine["best"])
            if mine.get("setup", 0) > 0:
                ours = f"{shown(mine['setup'])} / {ours}"
            others = "; ".join(
                f"{name} {mine['best'] / figure['best']:.2f}x" for name, figure in by_name.items()
            )
        if "colours" in part:
            others += f"; {part['colours']} colours"
        goals = "; ".join(_goal(goal) for goal in part.get("goals", ()))
        lines.append(f"| {part['title']} | {ours} | {others} | {goals} | {command} |")
    return lines


def _goal(goal: dict) -> str:
    what = "" if goal["of"] == "best" else f"{goal['of']} "
    met = "met" if goal["ratio"] <= goal["limit"] else "**missed**"
    if goal.get("ours", "graphc") != "graphc":
        what = f"{goal['ours']}: {what}"
    return f"{what}≤ {goal['limit']:g}x {goal['peer']}: {goal['ratio']:.3g}x, {met}"


def machine() -> str:
    """The processor, the Python and the peers, in one sentence."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line for line in file if line.startswith("model name")).split(":")[1]
    except (OSError, StopIteration):
        pass
    versions = []
    for peer in PEERS:
        try:
            versions.append(f"{peer} {importlib.metadata.version(peer)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return f"{model.strip()}, Python {platform.python_version()}, {', '.join(versions)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scripts", nargs="*", default=SCRIPTS, metavar="SCRIPT")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--folder", help="keep the JSON files there, and use those that are there")
    chosen = parser.parse_args()
    loads = []
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        for script in chosen.scripts:
            report = run(script, chosen, Path(chosen.folder or scratch))
            loads.append(report["load"])
            lines += rows(report)
    print(INTRODUCTION)
    print(f"Measured on: {machine()}; {chosen.clock} time; load average while measuring", end=" ")
    print(f"{min(loads):.1f} to {max(loads):.1f}.\n")
    print("| workload | graphc (set-up / best) | graphc's time over the peer's | goals | command |")
    print("|---|---|---|---|---|")
    print("\n".join(lines))
    print(NOTES, end="")


if __name__ == "__main__":
    main()
