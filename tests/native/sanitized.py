"""Random graphs, random plans and random tapes on a library that sanitizers watch.

python sanitized.py LIBRARY (graphs|plans|rows|chains|fault) COUNT runs in a process of its own,
into which the sanitizers' own library was loaded first: it dies at the first access outside of its
memory.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import random_chains
import random_graphs
from referee.generator import edge_model

import graphc as gc
from graphc.native import library
from graphc.program.backends.native.kernels import kernels
from graphc.program.backends.native.plans import Engine
from graphc.program.backends.native.steps import Steps, steps
from graphc.program.backends.native.tape import ROW, Packed, packed
from graphc.program.backends.native.tape_cases import codes, widths

SIZES = (0, 1, 2, 63, 64, 65, 511, 512, 513, 1100)
UNWRITTEN = 12345.678  # nothing comes to be this number
EDGES = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-300, 1e300, -745.2, 709.8, 3e9, 1e22)
FUNCTIONS = (
    *random_graphs.KINKED,
    *random_graphs.SMOOTH,
    *("log", "sqrt", "tan", "asin", "acos", "log1p", "expm1", "sinh", "cosh", "log_sigmoid"),
    *("elu", "selu"),
)
MOST = 1 << 28  # no size of a plan is larger


def load(file: str) -> Any:
    """The library that graphc uses in this process."""
    loaded = ctypes.PyDLL(file)
    library._declare(loaded)
    found = library.Native(loaded, "a test's", "baseline", Path(file))
    mock.patch.object(library, "_found", lambda: found).start()
    return loaded


# Graphs that the planner plans.


def graph_of(seed: int) -> tuple[gc.Graph, str, list[str]]:
    """A graph of scalars, the node that is derived and by which."""
    if seed % 4 == 3:
        model = edge_model(seed)
        graph = gc.parse(model.text())
        return graph, list(graph)[-1], [*graph.input_names, *graph.param_names]
    case = random_graphs.case(seed, FUNCTIONS, most=12)
    return case.graph, case.of[0], case.wrt


def on_graphs(loaded: Any, count: int) -> None:
    """Blocks, one point, buffers, tape and pairs of random graphs, sizes and edge points."""
    taped = 0
    for seed in range(count):
        graph, of, wrt = graph_of(seed)
        rng = np.random.default_rng(seed)
        dtype = ("float64", "float32")[seed % 2]
        reduce = ("sum", "mean", None, None)[rng.integers(4)]
        want = ("value_and_grad", "hessian")[int(seed % 5 == 0 and reduce is None)]
        made = graph.compile(of, wrt, want, dtype=dtype, threads=1 + seed % 3, reduce=reduce)
        assert made.plan.engine == "blocks", made.plan
        engine = Engine(made._task, dtype)
        leaves = len(engine.one.arguments)
        for size in rng.choice(SIZES, 3, replace=False):
            if size or reduce != "mean":
                engine.many([points(rng, int(size), dtype) for _ in range(leaves)])
        point = [float(number) for number in rng.choice([*EDGES, 0.3, 2.5], leaves)]
        if reduce is None:
            engine(*point)
            buffers = engine.buffers()
            for array, number in zip(buffers.args.values(), point, strict=True):
                array[...] = number
            buffers()
        tape = packed(graph, [graph.row(of)])
        if tape is not None:
            taped += 1
            on_tape(loaded, tape, rng)
    assert taped > count // 4
    print(f"{count} graphs, {taped} of them on the tape")


def points(rng: np.random.Generator, size: int, dtype: str) -> Any:
    """One number for all points, or an array with edge points among others."""
    if rng.random() < 0.2:
        return np.asarray(rng.normal(), dtype=dtype)
    array = rng.normal(scale=3, size=size)
    places = rng.integers(0, max(size, 1), size=min(size, 5))
    array[places] = rng.choice(EDGES, len(places))
    array = array.astype(dtype)
    return array if rng.random() < 0.7 else np.repeat(array, 2)[::2]


def on_tape(loaded: Any, tape: Packed, rng: np.random.Generator) -> None:
    """Values, adjoints, slopes, and all pairs of some of the rows."""
    rows, count = tape.rows, len(tape.rows)
    free = rows["code"] == codes()["given"]
    values = np.where(free, rng.choice([*EDGES, 0.3, 2.5], count), 0.0)
    loaded.graphc_tape_values(rows.ctypes.data, count, values.ctypes.data)
    adjoints, alive = np.zeros(count), np.zeros(count, dtype=np.uint8)
    loaded.graphc_tape_reverse(
        rows.ctypes.data, count, values.ctypes.data, adjoints.ctypes.data, alive.ctypes.data
    )
    slopes, passes = np.zeros((count, 3)), np.zeros((count, 3), dtype=np.uint8)
    loaded.graphc_tape_slopes(
        rows.ctypes.data, count, values.ctypes.data, slopes.ctypes.data, passes.ctypes.data
    )
    pulled, reached = np.zeros(count + 1), np.zeros(count + 1, dtype=np.uint8)
    arrays = (slopes, passes, pulled, reached)
    loaded.graphc_tape_pull(rows.ctypes.data, count, *(array.ctypes.data for array in arrays))
    np.testing.assert_array_equal(pulled[:-1], adjoints)
    np.testing.assert_array_equal(reached[:-1], alive)
    order, work = np.empty(count, dtype=np.int32), np.empty(6 * count + 1, dtype=np.int32)
    loaded.graphc_tape_group(rows.ctypes.data, count, order.ctypes.data, work.ctypes.data)
    moved = np.full(count, -1)
    moved[order] = np.arange(count)
    assert (moved >= 0).all()
    operands = np.array(list(widths().values()))[rows["code"]]
    for k, name in enumerate("abc"):
        has = operands > k
        assert (moved[rows[name][has]] < moved[has]).all()
    named = rng.random(count) < 0.7
    nodes = int(named.sum())
    shared = ~named & (rng.random(count) < 0.5)
    line = np.full(count, -1, dtype=np.int32)
    line[named], line[shared] = np.arange(nodes), nodes + np.arange(shared.sum())
    most = np.count_nonzero(passes)
    owner, factor = np.empty(count, dtype=np.int32), np.empty(count)
    origin, end = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    slope = np.empty(most)
    work = (slopes, passes, line, owner, factor, origin, end, slope)
    edges = loaded.graphc_tape_edges(rows.ctypes.data, count, *(a.ctypes.data for a in work))
    assert 0 <= edges <= most
    along = (origin[:edges], end[:edges], slope[:edges])
    all_pairs(loaded, along, nodes, int(shared.sum()), rng)
    backwards = tuple(np.ascontiguousarray(along[k][::-1]) for k in (1, 0, 2))
    all_pairs(loaded, backwards, nodes, int(shared.sum()), rng)


def all_pairs(
    loaded: Any, along: tuple[Any, ...], nodes: int, spares: int, rng: np.random.Generator
) -> None:
    """Every column, in blocks, in place or apart and then put into the whole."""
    width = int(rng.integers(1, max(nodes, 1) + 2))
    whole = np.full((nodes, nodes), UNWRITTEN)
    counts = (nodes, spares)
    for first in range(0, nodes, width):
        last, low = min(first + width, nodes), max(0, first - 8)
        start = rng.integers(0, nodes + 2, nodes + spares, dtype=np.int32)
        lines = whole[:, first:last]
        assert not pairs(loaded, along, start, *counts, first, last, lines)[0]
        lines = np.empty((nodes, last - low))
        start[:] = 0
        failed, reached = pairs(loaded, along, start, *counts, low, last, lines)
        assert not failed
        loaded.graphc_pairs_put(
            *(lines.ctypes.data, reached.ctypes.data, nodes, first, last), whole.ctypes.data
        )
        reach = np.empty(nodes, dtype=np.uint64)
        loaded.graphc_pairs_reach(
            *(along[0].ctypes.data, along[1].ctypes.data, len(along[0]), nodes),
            *(first, min(last, first + 64), reach.ctypes.data),
        )
    assert not (whole == UNWRITTEN).any()


def pairs(
    loaded: Any, along: tuple[Any, ...], start: Any, nodes: int, spares: int, *block: Any
) -> tuple[int, Any]:
    """Whether it was refused, and what lines hold."""
    first, last, lines = block
    spare = np.empty((spares, max(last - first, 0)))
    reached = np.empty(nodes + spares, dtype=np.uint8)
    failed = loaded.graphc_pairs(
        *(*(column.ctypes.data for column in along), len(along[0]), start.ctypes.data),
        *(nodes, spares, first, last, lines.ctypes.data, lines.strides[0] // 8),
        *(spare.ctypes.data, reached.ctypes.data),
    )
    return failed, reached


# Plans that nobody planned.


def real_steps(count: int) -> list[Steps]:
    """What the planner makes of random graphs."""
    found = []
    for seed in range(count):
        graph, of, wrt = graph_of(seed)
        one = graph.compile(of, wrt)._task
        found.append(steps(one.program, one.schedule.order, tuple(dict.fromkeys(one.rows()))))
    return found


def changed(made: Steps, rng: np.random.Generator) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Sizes, steps and fillers of a real plan with a few numbers changed."""
    counts = [len(made.steps), len(made.arguments), len(made.results), len(made.numbers)]
    sizes = [*counts, len(made.fillers), made.blocks]
    table, fillers = made.steps.copy(), made.fillers.copy()
    slots = sum(sizes[1:])
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.integers(10)
        if kind == 0 and sizes[0]:
            place = int(rng.integers(sizes[0]))
            table[[place, rng.integers(sizes[0])]] = table[[rng.integers(sizes[0]), place]]
        elif kind == 1 and len(fillers):
            fillers[rng.integers(len(fillers))] = any_slot(rng, counts[3])
        elif kind == 2:  # fewer of something than the steps were made for
            place = int(rng.integers(1, 6))
            sizes[place] = max(0, sizes[place] - 1)
            fillers = fillers[: sizes[4]]
        elif kind == 3 and sizes[0]:
            table[rng.integers(sizes[0]), 0] = any_slot(rng, len(kernels()))
        elif sizes[0]:
            table[rng.integers(sizes[0]), rng.integers(1, 5)] = any_slot(rng, slots)
    return sizes, table, fillers


def any_slot(rng: np.random.Generator, count: int) -> int:
    """A number in range, just outside, or far from it."""
    if rng.random() < 0.6:
        return int(rng.integers(max(count, 1)))
    return int(rng.choice([-1, count, count + 1, -(2**31), 2**31 - 1, 2**30, -count]))


def invented(rng: np.random.Generator) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Sizes, steps and fillers without any sense."""
    sizes = [int(number) for number in rng.integers(0, 5, 6)]
    table = np.array(
        [
            [any_slot(rng, count) for count in (len(kernels()), *(sum(sizes[1:]),) * 4)]
            for _ in range(sizes[0])
        ],
        dtype=np.int32,
    )
    fillers = [any_slot(rng, sizes[3]) for _ in range(sizes[4])]
    return sizes, table.reshape(-1, 5), np.array(fillers, dtype=np.int32)


def on_plans(loaded: Any, count: int) -> None:
    """A plan is refused, or stays inside its memory."""
    rng = np.random.default_rng(1)
    real = real_steps(60)
    accepted = refused = 0
    for number in range(count):
        if number % 3:
            sizes, table, fillers = changed(real[number % len(real)], rng)
        else:
            sizes, table, fillers = invented(rng)
        wide = number % 2
        block = int(rng.choice([1, 7, 64]))
        numbers = rng.normal(size=sizes[3])
        bad = ctypes.c_int64(-1)
        every = np.array([*sizes, block], dtype=np.int64)
        # exact copies: what lies behind them is poisoned
        table = np.ascontiguousarray(table[: sizes[0]], dtype=np.int32).copy()
        arrays = (every, table, numbers, fillers[: sizes[4]].copy())
        address = loaded.graphc_plan(
            wide, *(array.ctypes.data for array in arrays), ctypes.addressof(bad)
        )
        if not address:
            assert bad.value >= 0
            refused += 1
            continue
        accepted += 1
        run(loaded, address, sizes, block, ("float32", "float64")[wide], rng)
        loaded.graphc_plan_free(address)
    assert accepted > count // 50 and refused > count // 2
    print(f"{count} plans, {refused} refused, {accepted} ran")


def run(loaded: Any, address: int, sizes: list[int], block: int, dtype: str, rng: Any) -> None:
    """A plan over blocks and at one point, in arrays that are not longer than they must be."""
    _, arguments, results, *_ = sizes
    size = int(rng.choice([0, 1, block, block + 1, 3 * block]))
    sums = int(rng.integers(2))
    given = [points(rng, size, dtype) for _ in range(arguments)]
    given = [np.ascontiguousarray(array).reshape(array.shape) for array in given]
    lengths = -(-size // block) if sums else size
    taken = [np.zeros(lengths, "float64" if sums else dtype) for _ in range(results)]
    strides = np.array([array.ndim for array in given], dtype=np.int64)
    inputs = np.array([array.ctypes.data for array in given], dtype=np.uintp)
    outputs = np.array([array.ctypes.data for array in taken], dtype=np.uintp)
    addresses = (inputs.ctypes.data, strides.ctypes.data, outputs.ctypes.data)
    assert loaded.graphc_run(address, *addresses, sums, 0, size) == 0
    for first, last in ((-1, size), (size, -1), (1, 0), (-(2**63), 2**63 - 1)):
        assert loaded.graphc_run(address, *addresses, sums, first, last) == 1
    if block > 1:
        assert loaded.graphc_run(address, *addresses, 1, 1, size + 1) == 1
    values = np.zeros(loaded.graphc_slots(address), dtype=dtype)
    values[:arguments] = rng.choice(EDGES[:8], arguments)
    loaded.graphc_point_start(address, values.ctypes.data)
    loaded.graphc_point(address, values.ctypes.data)


def on_arrays(loaded: Any) -> None:
    """Every function of one operand over arrays, in place and apart, edge points among others."""
    rng = np.random.default_rng(3)
    for code, kernel in enumerate(kernels().values()):
        for size in SIZES:
            wide = int(rng.integers(2))
            array = np.array(points(rng, size, ("float32", "float64")[wide]), ndmin=1)
            result = array if rng.random() < 0.5 else np.empty_like(array)
            if kernel.operands == 1:
                addresses = (result.ctypes.data, array.ctypes.data)
                loaded.graphc_vector(code, wide, *addresses, array.size)


def on_sizes(loaded: Any) -> None:
    """Sizes that are negative, or of which no memory is large enough."""
    nothing = np.zeros(1, dtype=np.int32).ctypes.data
    for place in range(7):
        for wrong in (-1, MOST, 2**31, 2**62, -(2**63), 2**63 - 1):
            sizes = np.array([0, 0, 0, 0, 0, 0, 1], dtype=np.int64)
            sizes[place] = wrong
            bad = ctypes.c_int64(-1)
            address = loaded.graphc_plan(
                1, sizes.ctypes.data, nothing, nothing, nothing, ctypes.addressof(bad)
            )
            assert not address and bad.value >= 0, (place, wrong)
    huge = np.array([0, 0, 0, 0, 0, MOST // 2, MOST // 2], dtype=np.int64)
    bad = ctypes.c_int64(-1)
    address = loaded.graphc_plan(
        1, huge.ctypes.data, nothing, nothing, nothing, ctypes.addressof(bad)
    )
    assert address
    assert loaded.graphc_run(address, nothing, nothing, nothing, 0, 0, 1) == 1  # no memory
    loaded.graphc_plan_free(address)
    loaded.graphc_plan_free(None)
    assert loaded.graphc_sum(nothing, -5) == 0 and loaded.graphc_sum(nothing, 0) == 0
    for code in (-1, 0, len(kernels()), 2**31 - 1):
        for wide in (0, 1):
            loaded.graphc_vector(code, wide, nothing, nothing, -1 if code == 0 else 1)
    loaded.graphc_vector(list(kernels()).index("exp"), 1, nothing, nothing, -(2**63))


# Tapes that nobody packed.


def on_rows(loaded: Any, count: int) -> None:
    """Rows are refused, or stay inside their memory; so are lengths that make no sense."""
    rng = np.random.default_rng(2)
    operands = list(widths().values())
    accepted = 0
    for _ in range(count):
        length = int(rng.integers(0, 12))
        rows = np.zeros(length, dtype=ROW)
        for place in range(length):
            wild = rng.random() < 0.02
            code = any_slot(rng, len(operands)) if wild else int(rng.integers(len(operands)))
            if not place and not wild:
                code = codes()["given"]
            rows[place] = (code, *(any_slot(rng, place) for _ in "abc"))
            if rng.random() < 0.9:  # mostly right, or hardly any would run
                rows[place] = (code, *(int(rng.integers(max(place, 1))) for _ in "abc"))
        bad = loaded.graphc_tape_check(rows.ctypes.data, length)
        assert bad == first_bad(rows, operands)
        if bad < 0 and length:
            accepted += 1
            marked = np.zeros(length, dtype=np.uint8)
            marked[-1] = 1
            many = np.array(operands)[rows["code"]]
            numbers = np.stack([rows[name] for name in "abc"], axis=1)
            numbers[np.arange(3) >= many[:, None]] = -1
            where = numbers.ctypes.data
            assert loaded.graphc_tape_mark(where, 0, length, marked.ctypes.data) == -1
            numbers[-1, rng.integers(3)] = rng.choice([length - 1, length, 2**31 - 1])
            assert loaded.graphc_tape_mark(where, 0, length, marked.ctypes.data) == length - 1
            on_tape(loaded, Packed(rows, np.zeros(length), np.zeros(0)), rng)
    rows = np.zeros(1, dtype=ROW)
    where = rows.ctypes.data
    assert loaded.graphc_tape_check(where, -1) == -1
    loaded.graphc_tape_values(where, -1, where)
    assert loaded.graphc_tape_mark(where, 0, -(2**63), where) == -1
    loaded.graphc_tape_group(where, -(2**63), where, where)
    loaded.graphc_tape_reverse(where, -7, where, where, where)
    loaded.graphc_tape_slopes(where, -7, where, where, where)
    loaded.graphc_tape_pull(where, -7, where, where, where, where)
    refused_pairs(loaded)
    assert accepted > count // 20
    print(f"{count} tapes, {accepted} ran")


def refused_pairs(loaded: Any) -> None:
    """Edges, columns and counts that are not there."""
    slope, start = np.ones(1), np.zeros(4, dtype=np.int32)
    lines = np.empty((3, 3))

    def refuses(origin: int, end: int, *sizes: int, first_start: int = 0) -> bool:
        nodes, spares, first, last, stride = sizes
        ends = np.array([origin], dtype=np.int32), np.array([end], dtype=np.int32)
        start[0] = first_start
        work = np.empty(64), np.empty(64, dtype=np.uint8)
        return bool(
            loaded.graphc_pairs(
                *(ends[0].ctypes.data, ends[1].ctypes.data, slope.ctypes.data, 1),
                *(start.ctypes.data, nodes, spares, first, last, lines.ctypes.data, stride),
                *(array.ctypes.data for array in work),
            )
        )

    assert not refuses(0, 1, 3, 1, 0, 3, 3)
    for origin, end in ((-1, 0), (0, -1), (4, 0), (0, 4), (2, 2), (0, 2**31 - 1), (-(2**31), 0)):
        assert refuses(origin, end, 3, 1, 0, 3, 3)
    for sizes in (
        *((-1, 1, 0, 0, 3), (3, -1, 0, 3, 3), (2**40, 1, 0, 3, 3), (3, 2**40, 0, 3, 3)),
        *((3, 1, -1, 3, 3), (3, 1, 2, 1, 3), (3, 1, 0, 4, 4), (3, 1, 0, 3, 2)),
    ):
        assert refuses(0, 1, *sizes)
    assert refuses(0, 1, 3, 1, 0, 3, 3, first_start=-1)
    reach, edge = np.zeros(3, dtype=np.uint64), np.zeros(1, dtype=np.int32)
    bad = np.array([3], dtype=np.int32)
    for origin, end, first, last in ((edge, bad, 0, 3), (bad, edge, 0, 3), (edge, edge, 2, 1)):
        assert loaded.graphc_pairs_reach(
            *(origin.ctypes.data, end.ctypes.data, 1, 3, first, last, reach.ctypes.data)
        )


def first_bad(rows: np.ndarray, operands: list[int]) -> int:
    for place, (code, *others) in enumerate(rows.tolist()):
        if not 0 <= code < len(operands):
            return place
        if any(not 0 <= other < place for other in others[: operands[code]]):
            return place
    return -1


def main(file: str, what: str, count: str) -> None:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    loaded = load(file)
    if what == "graphs":
        on_graphs(loaded, int(count))
    elif what == "plans":
        on_sizes(loaded)
        on_arrays(loaded)
        on_plans(loaded, int(count))
    elif what == "rows":
        on_rows(loaded, int(count))
    elif what == "chains":
        for seed in range(int(count)):
            random_chains.check(seed)
        print(f"{count} chains")
    else:  # one number too many, which must be seen
        loaded.graphc_sum(np.ones(int(count)).ctypes.data, int(count) + 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
