"""Rows in chunks: 20 million rows on threads, clusters, failures, overhead, sizes, latency.

python benchmarks/dask_rows.py [--quick] [--only PART] [--json FILE]

Parts: rows, cluster, failures, overhead, sizes, latency. Values are compared as they are timed.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial

import measure  # first: it sets the number of threads
import numpy as np
from distributed import Client, LocalCluster
from distributed.comm import CommClosedError
from distributed.comm.tcp import TCP

import graphc as gc
from graphc.distributed.reducing import Rows

FEATURES = 20
PARAMS = {"w": np.linspace(-1, 1, FEATURES), "b": 0.1}
LOGISTIC = gc.parse(
    f"input X[n,{FEATURES}] y[n]\nparam w[{FEATURES}] b\nz = X @ w + b\nL = sum(softplus(z) - y*z)",
    "logistic",
)
MLP = gc.parse(
    """
input X[n,784] Y[n,10]
param W1[784,128] b1[128] W2[128,10] b2[10]
h = relu(X @ W1 + b1)
L = mean(softmax_cross_entropy(h @ W2 + b2, Y))
""",
    "mlp",
)
CURVE = gc.parse("input x y\nparam a k\nL = (a*exp(-k*x) - y)**2", "curve")
CHEAP = gc.parse("input x[n]\nparam w\nL = sum((w*x)**2)", "cheap")


class Generated:
    """Rows that are made when they are read, each from its own number: chunks do not matter."""

    def __init__(self, rows, width=0):
        self.shape = (rows, width) if width else (rows,)
        self.ndim, self.dtype, self.seconds = len(self.shape), np.dtype(float), 0.0

    def __getitem__(self, part):
        start, stop, _ = part[0].indices(self.shape[0])
        time.sleep(self.seconds)
        width = self.shape[1] if self.ndim == 2 else 1
        first = start * width // 4  # one step of the counter gives four numbers
        stream = np.random.Generator(np.random.Philox(7 + width).advance(first))
        numbers = stream.random(stop * width - 4 * first)[start * width - 4 * first :]
        numbers -= 0.5
        return numbers.reshape(-1, width) if self.ndim == 2 else (numbers > 0).astype(float)


def generated(count):
    return {"X": Generated(count, FEATURES), "y": Generated(count)}


def peak():
    """The most memory that this process ever held, in megabytes."""
    return measure._status("VmHWM")


def difference(found, expected):
    """The largest difference of value and gradients, in parts of the largest of them."""
    pairs = [(found[0], expected[0]), *((found[1][k], v) for k, v in expected[1].items())]
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in pairs)


def timed(run):
    start = time.perf_counter()
    found = run()
    return found, time.perf_counter() - start


@contextmanager
def cluster(workers, **settings):
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=50,
            **settings,
        ) as local,
        Client(local, set_as_default=False) as client,
    ):
        client.wait_for_workers(workers)
        yield client


def rows_part(quick):
    """Loss and gradient over generated rows on threads, in several chunkings."""
    count = 400_000 if quick else 20_000_000
    f, data, sample = LOGISTIC.compile("L", backend="numpy"), generated(count), 100_000
    few = {name: array[slice(0, sample),] for name, array in data.items()}
    small = {name: Generated(sample, *array.shape[1:]) for name, array in data.items()}
    apart = difference(f.reduce(small, PARAMS, chunks=7777), f(**few, **PARAMS))
    print(f"  {sample:,} rows, one array against chunks of 7,777: {apart:.1e}")
    assert apart <= 1e-10
    figures = {"sample": apart, "rows": count}
    whole = None
    for chunks in (None, count // 7, 123_457):
        found, seconds = timed(lambda chunks=chunks: f.reduce(data, PARAMS, chunks=chunks))
        name = "by default" if chunks is None else f"of {chunks:,}"
        whole = whole or found
        apart = difference(found, whole)
        print(
            f"  {count:,} rows in chunks {name}: {seconds:.1f} s, {count / seconds / 1e6:.2f} M/s"
        )
        print(f"    differs by {apart:.1e}; peak {peak():.0f} MB", flush=True)
        assert apart <= 1e-9 and found.rows == count
        figures[name] = {"seconds": seconds, "difference": apart}
    assert peak() < 2000
    return {**figures, "peak_megabytes": peak()}


def cluster_part(quick):
    """One worker process against two, in turn; the memory of each."""
    count = 1_000_000 if quick else 20_000_000
    f, figures, speed = LOGISTIC.compile("L", backend="numpy"), {}, {}
    with cluster(1) as one, cluster(2) as two:
        for client in (one, two):
            f.reduce(generated(1000), PARAMS, client=client, chunks=100)  # everything is loaded
        for waiting in (0.0, 0.25):  # computing alone; then as if each chunk had to be fetched
            data = generated(count // 10 if waiting else count)
            data["X"].seconds = waiting
            best, found = {}, {}
            for _ in range(1 if quick or waiting else 3):
                for name, client in (("1", one), ("2", two)):
                    rows = data["y"].shape[0] // 40
                    run = partial(f.reduce, data, PARAMS, chunks=rows, client=client)
                    found[name], seconds = timed(run)
                    best[name] = min(seconds, best.get(name, seconds))
            apart = difference(found["1"], found["2"])
            assert apart <= 1e-13
            what = "fetched in 0.25 s" if waiting else "computed"
            speed[what] = best["1"] / best["2"]
            print(f"  40 chunks, {what}: {best['1']:.1f} s on one worker,", end=" ")
            print(f"{best['2']:.1f} s on two: speed-up {speed[what]:.2f}, differs by {apart:.0e}")
        for name, client in (("1", one), ("2", two)):
            figures[name] = sorted(client.run(worker_peak).values())
    whole = count * (FEATURES + 1) * 8 / 1e6
    for name, peaks in figures.items():
        listed = ", ".join(f"{megabytes:.0f}" for megabytes in peaks)
        print(f"  {name} worker(s): peak of each {listed} MB; all data are {whole:,.0f} MB")
    return {"peaks": figures, "speed_up": speed}


def worker_peak():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def failures_part(quick):
    """A worker killed in mid-run; a poisoned chunk."""
    count = 1_000_000 if quick else 5_000_000
    f, data = LOGISTIC.compile("L", backend="numpy"), generated(count)
    expected = f.reduce(data, PARAMS)
    data["X"].seconds = 0.05
    with cluster(2) as client:
        victim = min(client.run(os.getpid).values())
        killer = threading.Timer(1.0, os.kill, (victim, 9))
        killer.start()
        found, seconds = timed(lambda: f.reduce(data, PARAMS, client=client, chunks=count // 40))
        killer.join()
        print(f"  worker {victim} killed after 1 s: all rows in {seconds:.1f} s,", end=" ")
        print(f"differs by {difference(found, expected):.1e}")
        assert difference(found, expected) <= 1e-10 and found.rows == count
        data["y"] = Poisoned(count)
        try:
            f.reduce(data, PARAMS, client=client, chunks=count // 10)
        except gc.GraphcError as error:
            print(f"  {error}"[:160])
        found = f.reduce(data, PARAMS, client=client, chunks=count // 10, on_error="skip")
        print(
            f"  skipped {[one.chunk for one in found.skipped]}; {found.rows:,} rows are in the sum"
        )
        assert found.rows == count - count // 10
    return {"killed_seconds": seconds}


class Poisoned(Generated):
    """A NaN in the middle."""

    def __getitem__(self, part):
        start, stop, _ = part[0].indices(self.shape[0])
        numbers = super().__getitem__(part)
        middle = self.shape[0] // 2 + 1
        if start <= middle < stop:
            numbers[middle - start] = np.nan
        return numbers


def overhead_part(quick):
    """What a chunk costs beside its rows, in processor time: chunks of one row."""
    count = 300 if quick else 1000
    start, reduced = time.process_time(), in_single_rows(None, count)
    reduced(w=1.0)
    figures = {"threads": (time.process_time() - start) / count}
    with cluster(1) as client:
        figures["worker"], figures["scheduler and client"] = cost_of_chunk(client, count)
    for name, seconds in figures.items():
        print(f"  {name}: {measure.shown(seconds)} per chunk")
    return figures


def in_single_rows(client, count):
    f = CHEAP.compile("L", backend="numpy")
    return Rows(f.shipment(), {"x": Generated(count)}, 1, client, progress=False)


def cost_of_chunk(client, count):
    """Processor seconds per chunk of one row, of the worker and of this process."""
    reduced = in_single_rows(client, count)
    reduced(w=1.0)  # everything is loaded

    def used(run):
        before = np.array([sum(client.run(processor_seconds).values()), time.process_time()])
        _, seconds = timed(run)
        after = np.array([sum(client.run(processor_seconds).values()), time.process_time()])
        return after - before, seconds

    idle, seconds = used(lambda: time.sleep(2))
    found = []
    for _ in range(3):
        busy, passed = used(lambda: reduced(w=2.0))
        found.append((busy - idle / seconds * passed) / count)
    return min(worker for worker, _ in found), min(here for _, here in found)


def processor_seconds():
    return time.process_time()


def sizes_part(quick):
    """Default chunks, read from a memory map and computed: processor time on one core."""
    with cluster(1) as client:
        cost, _ = cost_of_chunk(client, 300)
    rng, figures = np.random.default_rng(0), {}
    normal = rng.standard_normal
    weights = {"W1": normal((784, 128)) / 28, "W2": normal((128, 10))}
    cases = {
        "logistic, 20 features": (
            LOGISTIC.compile("L", backend="numpy"),
            {"X": (FEATURES,), "y": ()},
            PARAMS,
        ),
        "MLP 784-128-10": (
            MLP.compile("L", backend="numpy"),
            {"X": (784,), "Y": (10,)},
            {**weights, "b1": np.zeros(128), "b2": np.zeros(10)},
        ),
        "curve, scalars": (
            CURVE.compile("L", reduce="sum", backend="numpy"),
            {"x": (), "y": ()},
            {"a": 1, "k": 2},
        ),
    }
    words = ("bytes/row", "rows/chunk", "ms/chunk", "rows/s/core", "overhead")
    print(f"  {'':22}" + "".join(f"{word:>11}" for word in words))
    with tempfile.TemporaryDirectory() as folder:
        for name, (f, widths, params) in cases.items():
            large = {key: Shape(10**9, *width) for key, width in widths.items()}
            rows = Rows(f.shipment(), large, progress=False).starts[1]
            for key, width in widths.items():
                np.save(f"{folder}/{key}.npy", np.abs(normal((rows, *width))))
            used = []
            data = {key: np.load(f"{folder}/{key}.npy", mmap_mode="r") for key in widths}
            reduced = Rows(f.shipment(), data, rows, progress=False)  # one chunk
            for _ in range(3 if quick else 6):  # the first finds out what is added
                start = time.process_time()
                reduced(**params)
                used.append(time.process_time() - start)
            width, seconds = sum(array.nbytes for array in data.values()) // rows, min(used)
            share = cost / (seconds + cost)
            print(
                f"  {name:22}{width:>11,}{rows:>11,}{seconds * 1e3:>11.0f}{rows / seconds:>11.3g}"
                f"{share:>11.1%}"
            )
            figures[name] = {"bytes": width, "rows": rows, "seconds": seconds, "share": share}
    return figures


class Shape:
    """An array of which only the shape is asked for."""

    def __init__(self, *shape):
        self.shape, self.ndim, self.dtype = shape, len(shape), np.dtype(float)

    def __getitem__(self, part):
        raise NotImplementedError


def make_late(seconds):
    """From now on every message of this process takes so long to leave."""
    import asyncio

    plain, locks = TCP.write, {}

    async def late(self, *given, **named):
        lock = locks.setdefault(id(self), asyncio.Lock())

        async def leave():
            await asyncio.sleep(seconds)
            with suppress(CommClosedError):  # nobody waits for the last ones
                async with lock:  # in their order
                    await plain(self, *given, **named)

        locks[id(self), "last"] = asyncio.ensure_future(leave())  # the sender does not wait
        return 0

    TCP.write = late
    return plain


def latency_part(quick):
    """Late messages, and chunks that wait instead of computing: the estimate against runs.

    A worker of one thread holds two chunks, so a round trip is hidden behind a chunk that takes as
    long: a worker ends a chunk every max(chunk, (chunk + round trip)/2). What a run costs once is
    the same for few chunks and for many.
    """
    counts, figures = ((10, 30) if quick else (20, 100)), {}
    delay = 0.05
    with cluster(2) as client:
        client.run(make_late, delay)
        plain = make_late(delay)
        for chunk in (0.02, 0.1, 0.4):
            seconds = []
            for count in counts:
                x = Generated(count)
                x.seconds = chunk
                reduced = Rows(
                    CHEAP.compile("L", backend="numpy").shipment(),
                    {"x": x},
                    1,
                    client,
                    progress=False,
                )
                seconds.append(timed(lambda reduced=reduced: reduced(w=1.0))[1])
            each = 2 * (seconds[1] - seconds[0]) / (counts[1] - counts[0])
            estimate = max(chunk, (chunk + 2 * delay) / 2)
            print(
                f"  round trip {2 * delay * 1e3:.0f} ms, chunks of {chunk * 1e3:.0f} ms: one every "
                f"{each * 1e3:.0f} ms, estimated {estimate * 1e3:.0f} ms"
            )
            figures[chunk] = {"seconds": each, "estimate": estimate}
        TCP.write = plain
    return figures


PARTS = {
    "rows": rows_part,
    "cluster": cluster_part,
    "failures": failures_part,
    "overhead": overhead_part,
    "sizes": sizes_part,
    "latency": latency_part,
}


def main() -> None:
    chosen = measure.options(__doc__)
    results = []
    for name, part in PARTS.items():
        if not chosen.only or chosen.only in name:
            print(f"\n{name}: {part.__doc__.splitlines()[0]}", flush=True)
            found = part(chosen.quick)
            results.append({"title": name, **{str(key): value for key, value in found.items()}})
    measure.finish(results, chosen)


if __name__ == "__main__":
    main()
