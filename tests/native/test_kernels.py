"""Kernels: printed from the table, and the same numbers in blocks, at one point, on the tape."""

from __future__ import annotations

import ctypes
import random
import sys
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from engines import on_tape
from probes import PROBES, Probe, points, referee, ulps

import graphc as gc
from graphc.native import building, library
from graphc.native.library import native
from graphc.program.backends.native import kernels, missing, plans, tape_cases
from graphc.program.backends.native.kernels import FUSED, SHARING, fused_name, sharing_name
from graphc.program.backends.native.plans import Plan
from graphc.program.backends.native.steps import Steps
from graphc.program.backends.native.steps import steps as made_steps
from graphc.table.functions import FUNCTIONS

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
every_type = pytest.mark.parametrize("dtype", ["float64", "float32"])
EDGES = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, np.inf, -np.inf, np.nan),
    *(1e-30, -1e-30, 5e-324, 1e-310, 1e30, -1e30, 709.0, -745.0, 88.5, -104.0, 1e300, -1e300),
)
ALL = kernels.kernels()
CODES = {name: code for code, name in enumerate(ALL)}


@pytest.mark.parametrize("printed", [kernels, tape_cases], ids=["kernels.h", "tape_cases.h"])
def test_a_committed_header_is_what_the_table_prints(printed: Any):
    assert printed.HEADER.read_text(encoding="utf-8") == printed.text()


# One kernel at a time, in plans written by hand.


def operands(count: int, dtype: str) -> list[np.ndarray]:
    """All combinations of edges, and random numbers of all sizes; more than a block."""
    rng = random.Random(count)
    few = EDGES if count < 3 else EDGES[:10]
    table = [list(point) for point in product(few, repeat=count)]
    sizes = [10.0**k for k in range(-8, 9)] + [1.0] * 20
    table += [[rng.uniform(-3, 3) * rng.choice(sizes) for _ in range(count)] for _ in range(700)]
    with np.errstate(over="ignore"):
        return [np.array(column, dtype=dtype) for column in zip(*table, strict=True)]


def run(
    lines: list[tuple[str, int, tuple[int, ...]]],
    arguments: list[np.ndarray],
    results: int,
    numbers: tuple[float, ...] = (),
    blocks: int = 0,
) -> list[np.ndarray]:
    """The results of steps (kernel, slot of its result, slots of its operands) in blocks.

    Slots are arguments, results, numbers, blocks. The same steps at single points are compared.
    """
    engine, dtype = native().library, arguments[0].dtype
    table = [(CODES[name], out, *(*inside, 0, 0, 0)[:3]) for name, out, inside in lines]
    made = Steps(
        tuple(range(len(arguments))),
        tuple(range(results)),
        np.array(table, dtype=np.int32),
        np.array(numbers, dtype=np.float64),
        np.zeros(0, dtype=np.int32),
        blocks,
    )
    plan, size = Plan(made, dtype.name, 512), len(arguments[0])
    found = [np.empty(size, dtype) for _ in range(results)]
    addresses = [np.array([a.ctypes.data for a in arrays]) for arrays in (arguments, found)]
    strides = np.ones(len(arguments), dtype=np.int64)
    args = (addresses[0].ctypes.data, strides.ctypes.data, addresses[1].ctypes.data)
    assert engine.graphc_run(plan.address, *args, 0, 0, size) == 0
    values = np.zeros(engine.graphc_slots(plan.address), dtype)
    engine.graphc_point_start(plan.address, values.ctypes.data)
    singles, address = [], values.ctypes.data
    for point in zip(*arguments, strict=True):
        values[: len(arguments)] = point
        engine.graphc_point(plan.address, address)
        singles.append(values[len(arguments) :][:results].copy())
    for one, other in zip(np.array(singles).T, found, strict=True):
        assert same_bits(one, other), lines
    return found


def same_bits(one: Any, other: Any) -> bool:
    """Whether numbers are the same, the sign of a zero too; one NaN is as good as another."""
    one, other = np.asarray(one), np.asarray(other)
    equal = (one == other) & (np.signbit(one) == np.signbit(other))
    return bool(np.all(equal | (np.isnan(one) & np.isnan(other))))


@every_type
@pytest.mark.parametrize("name", [k.name for k in ALL.values() if not k.of and not k.pair])
def test_blocks_have_the_bits_of_one_point(name: str, dtype: str):
    count = ALL[name].operands
    run([(name, count, tuple(range(count)))], operands(count, dtype), 1)


@every_type
@pytest.mark.parametrize("name", [k.name for k in ALL.values() if k.of])
def test_a_number_for_all_points_is_an_operand_like_others(name: str, dtype: str):
    kernel = ALL[name]
    columns, alike = operands(2, dtype), kernel.alike
    for number in EDGES:
        with np.errstate(over="ignore"):
            columns[alike] = np.full_like(columns[alike], number)
        (plain,) = run([(kernel.of, 2, (0, 1))], columns, 1)
        inside = (2, 0) if alike == 0 else (0, 2)
        (variant,) = run([(name, 1, inside)], [columns[1 - alike]], 1, (number,))
        assert same_bits(variant, plain), (name, number)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory) -> library.Native:
    """The library in vectors half as wide as those that this processor has at most."""
    if native().variant != "avx512":
        pytest.skip("this processor has no wider vectors than AVX2's")
    file, reason = building.build(tmp_path_factory.mktemp("narrow"), "avx2")
    assert file is not None, reason
    found = ctypes.PyDLL(str(file))
    library._declare(found)
    return library.Native(found, "", "avx2", file)


@every_type
@pytest.mark.parametrize("name", [k.name for k in ALL.values() if not k.of and not k.pair])
def test_wide_vectors_give_the_bits_of_narrow_ones(name: str, dtype: str, narrow, monkeypatch):
    count = ALL[name].operands
    lines, columns = [(name, count, tuple(range(count)))], operands(count, dtype)
    (wide,) = run(lines, columns, 1)
    for module in (plans, sys.modules[__name__]):
        monkeypatch.setattr(module, "native", lambda: narrow)
    assert same_bits(wide, run(lines, columns, 1)[0])


@every_type
@pytest.mark.parametrize("fused", FUSED, ids=lambda one: fused_name(*one))
def test_two_operations_at_once_have_the_bits_of_both(fused: tuple[str, int, str], dtype: str):
    outer, place, inner = fused
    name = fused_name(*fused)
    count = ALL[name].operands
    columns = operands(count, dtype)
    (once,) = run([(name, count, tuple(range(count)))], columns, 1)
    rest = [2] if count == 3 else []
    rest.insert(place, count + 1)
    steps = [(inner, count + 1, (0, 1)), (outer, count, tuple(rest))]
    (twice,) = run(steps, columns, 1, blocks=1)
    assert same_bits(once, twice)


@every_type
@pytest.mark.parametrize("outer", SHARING)
def test_products_that_share_a_factor_have_the_bits_of_each(outer: str, dtype: str):
    columns = operands(3, dtype)
    (once,) = run([(sharing_name(outer), 3, (0, 1, 2))], columns, 1)
    steps = [("mul", 4, (0, 1)), ("mul", 5, (0, 2)), (outer, 3, (4, 5))]
    (thrice,) = run(steps, columns, 1, blocks=2)
    assert same_bits(once, thrice)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("o = x*y - x*z", ["sub_of_muls"]),
        ("o = y*x + z*x", ["add_of_muls"]),
        ("o = x*y + z*y", ["add_of_muls"]),
        ("o = x*y - 2*x", ["mul_at_a", "sub_of_mul"]),
        ("h = x*y\no = (h - x*z)*h", ["mul", "sub_by_mul", "mul"]),
    ],
)
def test_a_shared_factor_is_read_once(text: str, expected: list[str]):
    graph = gc.parse(f"input x y z\n{text}")
    f = graph.compile("o", want="value")
    program = f._task.program
    made = made_steps(program, f._task.schedule.order, tuple(f._task.rows()))
    names = list(ALL)
    assert sorted(names[code] for code in made.steps[:, 0]) == sorted(expected)
    at = {name: np.linspace(-3, 3, 100) + k for k, name in enumerate("xyz")}
    np.testing.assert_allclose(f(**at), graph.compile("o", want="value", backend="numpy")(**at))


PAIRS = [
    (kernel, name, other)
    for name, record in FUNCTIONS.items()
    for other, kernel in record.together.items()
]


@every_type
@pytest.mark.parametrize(("kernel", "first", "second"), PAIRS)
def test_a_pair_has_the_bits_of_each_alone(kernel: str, first: str, second: str, dtype: str):
    columns = operands(1, dtype)
    both = run([(kernel, 1, (0, 2))], columns, 2)
    alone = run([(first, 1, (0,)), (second, 2, (0,))], columns, 2)
    for one, other in zip(both, alone, strict=True):
        assert same_bits(one, other)


@pytest.mark.parametrize("name", [k.name for k in ALL.values() if not k.own and not k.of])
def test_a_plain_kernel_may_write_over_its_operands(name: str):
    count = ALL[name].operands
    columns = operands(count, "float64")
    (right,) = run([(name, count, tuple(range(count)))], columns, 1)
    for place in range(count):
        inside = [count + 1 if k == place else k for k in range(count)]
        block = count + 1
        steps = [("identity", block, (place,)), (name, block, tuple(inside))]
        (found,) = run([*steps, ("identity", count, (block,))], columns, 1, blocks=1)
        assert same_bits(found, right)


# Steps that must not run.


def test_random_steps_run_or_are_refused():
    """Slots: arguments 0 and 1, results 2 and 3, numbers 4 and 5, blocks 6 to 8; 9 is outside."""
    rng = random.Random(0)
    refused = 0
    columns = [np.linspace(-2, 2, 70) for _ in range(2)]
    start = [("identity", place, (k % 2, 0, 0)) for k, place in enumerate((2, 3, 6))]
    for _ in range(2000):
        lines = [
            (rng.choice(list(ALL)), rng.randint(-1, 9), tuple(rng.randint(-1, 9) for _ in range(3)))
            for _ in range(rng.randint(1, 2))
        ]
        try:
            Plan(_steps([*start, *lines]), "float64", 64)
        except ValueError as error:
            refused += 1
            assert "does not fit its slots" in str(error)
        else:
            run([*start, *lines], columns, 2, (0.5, 2.0), blocks=3)
    assert 1000 < refused < 1990


def _steps(lines: list[tuple[str, int, tuple[int, ...]]]) -> Steps:
    table = [(CODES[name], out, *inside) for name, out, inside in lines]
    numbers = np.array([0.5, 2.0])
    steps = np.array(table, dtype=np.int32)
    return Steps((0, 1), (0, 1), steps, numbers, np.zeros(0, dtype=np.int32), 3)


@pytest.mark.parametrize("code", [-1, len(ALL), 2**31 - 1])
def test_an_unknown_kernel_is_refused(code: int):
    made = _steps([("identity", 2, (0, 0, 0)), ("identity", 3, (0, 0, 0))])
    Plan(made, "float64", 64)
    made.steps[0, 0] = code
    with pytest.raises(ValueError, match="step 0 of a plan"):
        Plan(made, "float64", 64)


# Functions of the table.


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
@pytest.mark.filterwarnings("ignore")
def test_blocks_points_and_tape_are_one_function(probe: Probe):
    places = points(probe)
    columns = {
        name: np.resize(column, 600)
        for name, column in zip(probe.inputs, zip(*places, strict=True), strict=True)
    }
    f = probe.graph.compile("y", probe.inputs)
    assert f.plan.engine == "blocks"
    values, slopes = f(columns)
    tape = on_tape(probe.graph, "y", probe.inputs)
    for k, place in enumerate(places):
        at = probe.at(place)
        value, gradient = f(at)
        assert same_bits(value, np.broadcast_to(values, 600)[k]), place
        for name in probe.inputs:
            assert same_bits(gradient[name], np.broadcast_to(slopes[name], 600)[k]), place
        truth = referee(probe.value, place)
        if truth is not None:
            least = 1.0 if probe.name == "gelu" else 0.0
            assert ulps(value, truth, least) <= 4, place
        if tape is not None:
            other, others = tape(at)
            assert same_bits(other, value) or ulps(other, float(value)) <= 4, place
            for name in probe.inputs:
                np.testing.assert_allclose(
                    others[name], gradient[name], rtol=1e-13, atol=1e-15, err_msg=f"{name} {place}"
                )


def test_the_tape_has_every_function_of_the_table():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        without = {p.name for p in PROBES if on_tape(p.graph, "y", p.inputs) is None}
    assert without == set()
