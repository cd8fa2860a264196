"""python -m tests.referee: random graphs through every route, as many as you like."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from . import oracles
from .generator import model_of, scalar_seeds
from .judge import Record, judged
from .report import found, summary

CHUNK = 25


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.referee", description=__doc__)
    parser.add_argument("--graphs", type=int, default=300, help="how many graphs (default 300)")
    parser.add_argument("--seed", type=int, default=None, help="first seed (default: a new one)")
    parser.add_argument("--scalars", action="store_true", help="only graphs without tensors")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument(
        "--oracle",
        action="append",
        choices=[*oracles.installed(), "none"],
        help="libraries to ask (default: those that are installed)",
    )
    parser.add_argument(
        "--fault", help="a mistake to plant first; then the first find ends the run"
    )
    chosen = parser.parse_args()
    if chosen.fault is not None:
        return _search(chosen.fault, chosen.graphs, chosen.seed or 0)
    seed = time.time_ns() // 1_000_000 % 10**9 if chosen.seed is None else chosen.seed
    libraries = tuple(chosen.oracle or oracles.installed())
    libraries = tuple(name for name in libraries if name != "none")
    print(f"{chosen.graphs} graphs from seed {seed}, oracles: {', '.join(libraries) or 'none'}")
    record, failures, done = Record(), 0, 0
    try:
        first = scalar_seeds(seed) if chosen.scalars else itertools.count(seed)
        every = list(itertools.islice(first, chosen.graphs))
        for seeds, texts, part in _chunks(every, libraries, chosen.jobs):
            record.add(part)
            failures += len(texts)
            done += seeds
            for text in texts:
                print(text, flush=True)
            if sys.stderr.isatty():
                print(f"\r{done} graphs, {failures} differ", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"interrupted after {done} of {chosen.graphs} graphs")
    print(summary(record, done, failures))
    return 1 if failures else 0


def _search(name: str, graphs: int, seed: int) -> int:
    """0 if the referee finds a planted fault among so many graphs."""
    from .faults import plant

    plant(name)
    for place in range(graphs):
        libraries = () if place % 3 else oracles.installed()[-1:]  # most of the time is theirs
        found = judged(model_of(seed + place), libraries, seed + place)
        if found:
            print(f"{name}: found in graph {place + 1}, seed {seed + place}: {found[0]}")
            return 0
    print(f"{name}: not found in {graphs} graphs")
    return 1


def _chunks(
    seeds: list[int], libraries: tuple[str, ...], jobs: int
) -> Iterator[tuple[int, list[str], Record]]:
    chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
    if jobs <= 1:
        for chunk in chunks:
            yield len(chunk), *found(chunk, libraries)
        return
    pool = ProcessPoolExecutor(jobs)
    try:
        work = {pool.submit(found, chunk, libraries): len(chunk) for chunk in chunks}
        for future in as_completed(work):
            yield work[future], *future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


if __name__ == "__main__":
    raise SystemExit(main())
