"""Many calls of one compiled function from several threads: how many gave another call's numbers.

python benchmarks/threads.py [--calls 100000] [--threads 4]
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import measure  # noqa: F401  # first: it sets the number of threads
import numpy as np

import graphc as gc

# Arrays of over 500 elements: NumPy lets other threads run while it copies them.
VIEWS = """
input A[32,32] B[32,32]
C = reshape(A + B, (16, 64))
D = (A*B)[:, ::2]
E = einsum("ab->ba", A - B)
F = einsum("aa->a", A*A + B)
L = sum(C*C) + sum(D) + sum(E @ E) + sum(F)
"""


def wrong_calls(calls: int, threads: int, want: str) -> int:
    """The number of calls whose results are not those of the same point alone."""
    f = gc.parse(VIEWS).compile("L", ["A", "B"], want)
    rng = np.random.default_rng(0)
    points = [{name: rng.random((32, 32)) for name in "AB"} for _ in range(threads)]
    expected = [arrays(f(**at)) for at in points]

    def wrong(number: int) -> int:
        at, right = points[number], expected[number]
        count = 0
        for _ in range(calls // threads):
            found = arrays(f(**at))
            count += not all(map(np.array_equal, found, right))
        return count

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(wrong, range(threads)))


def arrays(result):
    """The arrays of a dict, or of a value and a dict."""
    if isinstance(result, tuple):
        return [result[0], *result[1].values()]
    return list(result.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=4)
    told = parser.parse_args()
    sys.setswitchinterval(1e-6)  # threads take turns as often as they can
    total = 0
    for want in ("values", "value_and_grad"):
        start = time.perf_counter()
        found = wrong_calls(told.calls, told.threads, want)
        seconds = time.perf_counter() - start
        print(f"{want}: {told.calls} calls, {told.threads} threads, {seconds:.1f} s: {found} mixed")
        total += found
    return int(total > 0)


if __name__ == "__main__":
    raise SystemExit(main())
