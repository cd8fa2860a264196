"""All pairs as arrays: in blocks of sources, dense, sparse or streamed, by C and by NumPy."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import graphc as gc
from graphc.derive import pair_arrays
from graphc.errors import NotFiniteWarning
from graphc.program.backends.native import missing
from graphc.program.backends.native import pairs as native_pairs

RULES = ("{a}*{b}", "({a} + {b})/2", "sin({a})", "exp(-{a}**2)", "{a}*{a} - {b}", "stop({a})*{b}")
KINKED = ("relu({a})", "maximum({a}, {b})", "where({a} > 0, {b}, 2)", "0*{a} + {b}")
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(params=["native", "numpy"])
def small_blocks(request, monkeypatch):
    """Blocks so narrow that every graph has several."""
    if request.param == "numpy":
        monkeypatch.setenv("GRAPHC_NATIVE", "0")
    elif missing():
        pytest.skip(missing())
    monkeypatch.setattr(pair_arrays, "BLOCK", 8 * 50 * 7)
    monkeypatch.setattr(native_pairs, "WORD", 5)
    monkeypatch.setattr(native_pairs, "COLUMNS", 9)
    monkeypatch.setattr(native_pairs, "FRESH_COLUMNS", 11)
    return request.param


def random_graph(seed, rules=RULES, nodes=47):
    rng = np.random.default_rng(seed)
    names = ["x0", "x1", "x2"]
    lines = ["input x0 x1 x2"]
    for k in range(nodes):
        near = names[-6:] if rng.random() < 0.8 else names
        a, b = rng.choice(near), rng.choice(near)
        lines.append(f"n{k} = {rules[rng.integers(len(rules))].format(a=a, b=b)}")
        names.append(f"n{k}")
    at = {f"x{k}": float(value) for k, value in enumerate(rng.uniform(0.2, 0.9, 3))}
    return gc.parse("\n".join(lines)), at


def shared_rows():
    """A graph of which unnamed rows are used by several nodes."""
    g = gc.Graph("shared")
    x, y = g.inputs("x y")
    common = gc.sin(x * y)
    twice = common * common + x
    for k in range(12):
        x = g.node(f"a{k}", twice * x + common)
        twice = gc.cos(twice * y) + twice
    return g, {"x": 0.3, "y": 0.7}


def expected(graph, at):
    """The dict as an array, and where it has entries."""
    pairs, place = graph.all_pairs(at), {name: k for k, name in enumerate(graph)}
    dense = np.zeros((len(place),) * 2)
    entries = np.zeros_like(dense, dtype=bool)
    for (source, target), value in pairs.items():
        dense[place[source], place[target]] = value
        entries[place[source], place[target]] = True
    return dense, entries


GRAPHS = {
    **{f"smooth {seed}": lambda seed=seed: random_graph(seed) for seed in range(6)},
    **{f"kinked {seed}": lambda s=seed: random_graph(s, RULES + KINKED) for seed in range(6)},
    "shared": shared_rows,
    "one node": lambda: (gc.parse("input x"), {"x": 1.5}),
}


@pytest.mark.filterwarnings("ignore::graphc.KinkWarning")
@pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS)
def test_every_array_is_the_dict(make, small_blocks, tmp_path):
    graph, at = make()
    dense, entries = expected(graph, at)
    close = {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(graph.all_pairs(at, result="dense"), dense, **close)
    for order in "CF":
        array = np.full(dense.shape, np.nan, order=order)
        assert graph.all_pairs(at, result="dense", out=array) is array
        np.testing.assert_allclose(array, dense, **close)
    single = np.full(dense.shape, 7, dtype=np.float32)
    graph.all_pairs(at, result="dense", out=single)
    np.testing.assert_allclose(single, dense, rtol=1e-6, atol=1e-7)
    odd = np.full(dense.size + 1, np.nan)[1:].reshape(dense.shape)  # in the middle of a cache line
    graph.all_pairs(at, result="dense", out=odd)
    np.testing.assert_allclose(odd, dense, **close)
    file = tmp_path / "s.npy"
    np.testing.assert_allclose(graph.all_pairs(at, result="dense", out=file), dense, **close)
    np.testing.assert_allclose(np.load(file), dense, **close)
    assert [path.name for path in tmp_path.iterdir()] == ["s.npy"]
    sparse = graph.all_pairs(at, result="sparse")
    np.testing.assert_allclose(sparse.toarray(), dense, **close)
    stored = sparse.copy()
    stored.data[:] = 1
    np.testing.assert_array_equal(stored.toarray() != 0, entries)  # a derivative 0 is an entry


def test_kinks_are_told(small_blocks):
    graph = gc.parse("input x\ny = relu(x)\nz = y*x")
    for result in ("dense", "sparse"):
        with pytest.warns(gc.KinkWarning, match="node 'y'"):
            graph.all_pairs({"x": 0.0}, result=result)


def test_an_infinite_slope_meets_only_what_it_leads_to(small_blocks, tmp_path):
    graph = gc.parse("input x y\nr = sqrt(x)\ns = r*y\nt = y*y")
    at = {"x": 0.0, "y": 2.0}
    dense = np.eye(5)
    dense[0, 2:4] = np.inf
    dense[2, 3], dense[1, 3], dense[1, 4] = 2, 0, 4
    for settings in ({}, {"out": tmp_path / "s.npy"}):
        with pytest.warns(NotFiniteWarning, match="node 'r'"):
            np.testing.assert_array_equal(graph.all_pairs(at, result="dense", **settings), dense)
    with pytest.warns(NotFiniteWarning):
        np.testing.assert_array_equal(graph.all_pairs(at, result="sparse").toarray(), dense)


def test_an_overflow_is_told_and_met_only_where_it_is(small_blocks, tmp_path):
    """d a39 / d a0 overflows; d a39 / d x, in which a0 is a factor, does not."""
    steps = "\n".join(f"a{k} = a{k - 1}*x" for k in range(1, 40))
    graph = gc.parse(f"input x\na0 = x/1e200\n{steps}")
    with pytest.warns(NotFiniteWarning, match="overflow"):
        assert np.isinf(graph.all_pairs({"x": 1e10})["a0", "a39"])
    for settings in ({}, {"out": np.empty((41, 41))}, {"out": tmp_path / "s.npy"}):
        with pytest.warns(NotFiniteWarning, match="overflow"):
            found = graph.all_pairs({"x": 1e10}, result="dense", **settings)
        assert np.isinf(found[1, 40])
        assert found[0, 40] == pytest.approx(4e191)
    with pytest.warns(NotFiniteWarning, match="overflow"):
        graph.all_pairs({"x": 1e10}, result="sparse")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph.all_pairs({"x": 1.5}, result="dense")


# Where it does not fit.


def test_a_result_that_does_not_fit_is_refused_before_it_starts(
    small_blocks, monkeypatch, tmp_path
):
    graph, at = random_graph(1)
    monkeypatch.setattr(pair_arrays, "free_memory", lambda: 1000)
    with pytest.raises(gc.GraphcError) as told:
        graph.all_pairs(at, result="dense")
    for word in ("50 nodes", "2e-05 GB", "1e-06 GB", 'out="s.npy"', 'result="sparse"'):
        assert word in str(told.value)
    with pytest.raises(gc.GraphcError, match=r'entries and take .*out="s.npy"'):
        graph.all_pairs(at, result="sparse")
    graph.all_pairs(at, result="dense", out=np.empty((50, 50)))
    graph.all_pairs(at, result="dense", out=tmp_path / "s.npy")


def test_a_disk_that_is_too_small_is_told(monkeypatch, tmp_path):
    graph, at = random_graph(1)
    usage = pair_arrays.shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(pair_arrays.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(gc.GraphcError, match=r'another disk, or write result="sparse"'):
        graph.all_pairs(at, result="dense", out=tmp_path / "s.npy")
    assert not list(tmp_path.iterdir())


def test_a_million_nodes_are_refused_at_once():
    graph = gc.from_arrays(
        1, ["sin"] * 1_000_000, np.stack([np.arange(10**6), -np.ones(10**6)], 1).astype(int)
    )
    with pytest.raises(gc.GraphcError, match=r"1,000,001 nodes take 8,000 GB"):
        graph.all_pairs({"x0": 0.5}, result="dense")


def test_out_belongs_to_dense():
    graph, at = random_graph(1)
    for result in ("sparse", "dict"):
        with pytest.raises(gc.GraphcError, match="out= takes the array of"):
            graph.all_pairs(at, result=result, out="s.npy")


def test_a_file_is_whole_or_as_it_was(small_blocks, monkeypatch, tmp_path):
    graph, at = random_graph(2)
    file = tmp_path / "s.npy"
    file.write_text("before")
    sweep = native_pairs.Sweep if small_blocks == "native" else pair_arrays.Sweep
    rows, seen = sweep.rows, []

    def fails(self, first, last):
        seen.append(first)
        if first:
            raise OSError(28, "No space left on device")
        return rows(self, first, last)

    monkeypatch.setattr(sweep, "rows", fails)
    with pytest.raises(gc.GraphcError, match=r"cannot write .*no space left"):
        graph.all_pairs(at, result="dense", out=file)
    assert len(seen) == 2
    assert file.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["s.npy"]
    with pytest.raises(gc.GraphcError, match=r"cannot write .*folder that exists"):
        graph.all_pairs(at, result="dense", out=tmp_path / "no" / "s.npy")


PEAK = """
import resource, sys
import numpy as np, graphc as gc
n = 6000
rng = np.random.default_rng(0)
before = np.maximum(np.arange(n)[:, None] + 1 - rng.integers(1, 40, (n, 2)), 0)
before[:, 1] = np.where(np.arange(n) % 2, before[:, 1], -1)
graph = gc.from_arrays(1, np.where(np.arange(n) % 2, "mul", "sin").tolist(), before)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
small = gc.parse("input x\\ny = sin(x)")
small.all_pairs({"x": 0.5}, result="dense", out=sys.argv[1])
start = peak()
found = graph.all_pairs({"x0": 0.5}, result="dense", out=sys.argv[1])
print(found.shape[0], peak() - start)
"""


@pytest.mark.parametrize("native", ["1", "0"])
def test_a_file_is_streamed_with_bounded_memory(native, tmp_path):
    """288 MB, of which a block is in memory at a time."""
    command = [sys.executable, "-c", PEAK, str(tmp_path / "s.npy")]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "GRAPHC_NATIVE": native}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    nodes, megabytes = done.stdout.split()
    assert int(nodes) == 6001
    assert (tmp_path / "s.npy").stat().st_size > 288e6
    assert float(megabytes) < (60 if native == "1" and not missing() else 200)


SPARSE_PEAK = """
import resource
import numpy as np, graphc as gc
lines = ["input x"] + [f"a{k} = sin(x)\\nb{k} = a{k}*x\\nc{k} = b{k} + a{k}" for k in range(3000)]
graph = gc.parse("\\n".join(lines))
gc.parse("input x\\ny = sin(x)").all_pairs({"x": 0.5}, result="sparse")
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = graph.all_pairs({"x": 0.5}, result="sparse")
print(found.nnz, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) / 1024)
"""


def test_sparse_never_holds_the_dense_matrix():
    """Dense it would be 648 MB."""
    pytest.importorskip("scipy")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", SPARSE_PEAK], capture_output=True, text=True, env=env, check=True
    )
    entries, megabytes = done.stdout.split()
    assert int(entries) == 1 + 3000 * (3 + 3 + 3)
    assert float(megabytes) < 200


# Watching.


class Terminal:
    """A stream that says it is a terminal."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return True


@pytest.mark.parametrize(("seconds", "shown"), [(0.0, False), (3.0, True)])
def test_work_over_two_seconds_shows_a_bar(seconds, shown, monkeypatch, tmp_path):
    from graphc import progress

    terminal, now = Terminal(), [100.0]

    def later():
        now[0] += seconds
        return now[0]

    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress.time, "monotonic", later)
    monkeypatch.setattr(native_pairs, "WORD", 5)
    monkeypatch.setattr(pair_arrays, "BLOCK", 8 * 50 * 7)
    graph, at = random_graph(3)
    graph.all_pairs(at, result="dense", out=tmp_path / "s.npy")
    assert ("all pairs" in terminal.text) == shown
