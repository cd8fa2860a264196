"""Planted faults: each is a mistake that somebody could make, and that the referee must find.

A fault is planted for good in a process: `python -m tests.referee --fault NAME`.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from graphc.algebra import rewrites
from graphc.algebra.formulas import Formulas
from graphc.derive import differentiate
from graphc.native import memory
from graphc.native.library import native
from graphc.program import buffers, running, sparse, wants
from graphc.program.backends.native import chains, plans, tape
from graphc.program.backends.native import tensors as chained
from graphc.program.backends.native.kernels import kernels
from graphc.program.backends.native.steps import Steps
from graphc.program.backends.native.tape_cases import codes
from graphc.program.refilling import Buffers
from graphc.structure import rows
from graphc.structure.structure import Structure
from graphc.table import phrases
from graphc.table import tensors as operations
from graphc.table.functions import FUNCTIONS
from graphc.table.places import Places
from graphc.table.tensors import OPERATIONS

FAULTS: dict[str, Callable[[], None]] = {}


def fault(plant: Callable[[], None]) -> Callable[[], None]:
    FAULTS[plant.__name__] = plant
    return plant


def _everywhere(original: Any, other: Any) -> None:
    """Puts another function where modules of graphc hold this one."""
    for name, module in list(sys.modules.items()):
        if name.startswith("graphc"):
            for attribute, value in list(vars(module).items()):
                if value is original:
                    setattr(module, attribute, other)


def _record(name: str, **fields: Any) -> None:
    OPERATIONS[name] = replace(OPERATIONS[name], **fields)


def _derivative(name: str, derivative: Any) -> None:
    FUNCTIONS[name] = replace(FUNCTIONS[name], derivative=derivative)


def _emitted(pattern: str, replacement: str) -> None:
    """Changes the text that is run."""
    original = running.load

    def load(source: str, *more: Any) -> Any:
        return original(re.sub(pattern, replacement, source), *more)

    _everywhere(original, load)


# Memory.


@fault
def a_transpose_is_taken_for_a_copy() -> None:
    _record("contract", looks=lambda settings: False)


@fault
def a_slice_is_taken_for_a_copy() -> None:
    _record("gather", looks=lambda settings: False)


@fault
def a_reshaped_array_is_taken_for_a_copy() -> None:
    _record("reshape", looks=lambda settings: False)


@fault
def wanted_rows_do_not_live_to_the_end() -> None:
    original = buffers.runs

    def runs(program: Any, schedule: Any, free: Any, wanted: Any = (), *rest: Any) -> Any:
        return original(program, schedule, free, (), *rest)

    _everywhere(original, runs)


@fault
def a_buffer_is_given_back_too_early() -> None:
    original = buffers.runs

    def runs(*args: Any, **words: Any) -> Any:
        found = original(*args, **words)
        for position, run in enumerate(found):
            if position + 1 < run.last < len(found):
                run.last -= 1
        return found

    _everywhere(original, runs)


@fault
def results_are_not_copied() -> None:
    _emitted(r"(?<=[ (])\+(?=[a-zA-Z_(])", "")


# Rules of derivatives.


@fault
def a_broadcast_is_not_summed() -> None:
    original = operations.summed_to

    def summed_to(here: Any, value: Any, shape: Any, target: Any) -> Any:
        found = original(here, value, shape, target)
        if len(shape) == len(target) and 1 in target:  # an axis of size 1 gets the mean
            repeated = [s for s, t in zip(shape, target, strict=True) if s != t]
            size = next((s for s in repeated if isinstance(s, int)), 1)
            return here.apply("div", (found, here.apply("size", (), {"size": size})), {})
        return found

    _everywhere(original, summed_to)


@fault
def a_subtraction_is_pulled_as_a_sum() -> None:
    _derivative("sub", lambda a, b, o: (1, 1))


@fault
def a_quotient_loses_its_sign() -> None:
    _derivative("div", lambda a, b, o: (1 / b, o / b))


@fault
def tanh_has_a_wrong_slope() -> None:
    _derivative("tanh", lambda x, o: 1 + o**2)


@fault
def a_product_swaps_its_factors() -> None:
    _derivative("mul", lambda a, b, o: (a, b))


@fault
def softmax_forgets_the_sum() -> None:
    def carry(here: Any, k: int, value: Any) -> Any:
        return here.apply("mul", (here.own, value), {})

    _record("softmax", pull=carry, push=carry)


@fault
def softmax_is_pulled_with_half_of_the_sum() -> None:
    original = OPERATIONS["softmax"].pull

    def pull(here: Any, k: int, adjoint: Any) -> Any:
        whole = original(here, k, adjoint)
        plain = here.apply("mul", (here.own, adjoint), {})
        return here.apply("sub", (here.apply("add", (whole, whole), {}), plain), {})

    _record("softmax", pull=pull)


def _negated(name: str, way: str) -> None:
    original = getattr(OPERATIONS[name], way)

    def carry(here: Any, k: int, value: Any) -> Any:
        return here.apply("neg", (original(here, k, value),), {})

    _record(name, **{way: carry})


@fault
def an_inverse_is_pulled_with_a_wrong_sign() -> None:
    _negated("inv", "pull")


@fault
def a_solution_is_pushed_with_a_wrong_sign() -> None:
    _negated("solve", "push")


@fault
def a_determinant_forgets_to_transpose() -> None:
    def pull(here: Any, k: int, adjoint: Any) -> Any:
        inverse = here.apply("inv", here.args, {})
        slope = here.apply("mul", (here.own, inverse), {})
        return here.contract(",ab->ab", adjoint, slope)

    original = OPERATIONS["det"].pull
    _record(
        "det",
        pull=lambda here, k, g: original(here, k, g) if here.lead else pull(here, k, g),
    )


@fault
def the_smallest_wins() -> None:
    original = OPERATIONS["largest"].pull

    def pull(here: Any, k: int, adjoint: Any) -> Any:
        other = replace(here, args=[here.apply("neg", (here.args[0],), {})])
        return original(other, k, adjoint)

    _record("largest", pull=pull)


@fault
def a_gather_is_pulled_to_the_next_place() -> None:
    def moved(index: Any, size: Any) -> Any:
        shifted = (index.array + 1) % size if isinstance(size, int) else index.array
        return Places(np.where(index.array >= 0, shifted, index.array))

    def pull(here: Any, k: int, value: Any) -> Any:
        settings = dict(here.settings)
        settings["index"] = moved(settings["index"], settings["size"])
        return here.apply("scatter", (value,), settings)

    _record("gather", pull=pull)


@fault
def padding_is_scattered_to_the_last_place() -> None:
    original = OPERATIONS["scatter"].value

    def scatter(numbers: Any, args: Any, settings: Any) -> Any:
        places, size = settings["index"].array, settings["size"]
        index = Places(np.where(places < 0, size - 1, places))
        return original(numbers, args, {**settings, "index": index})

    _record("scatter", value=scatter)


@fault
def a_contraction_is_pulled_with_letters_of_one_size_swapped() -> None:
    original = OPERATIONS["contract"].pull

    def pull(here: Any, k: int, adjoint: Any) -> Any:
        found = original(here, k, adjoint)
        shape = here.shapes[k]
        if len(shape) == 2 and shape[0] == shape[1] and len(here.args) == 2 and not here.lead:
            return here.contract("ab->ba", found)
        return found

    _record("contract", pull=pull)


# Wants.


@fault
def seeds_are_ignored() -> None:
    original = differentiate.seed_row
    _everywhere(original, lambda graph, node, seed: original(graph, node, 1))


@fault
def a_jacobian_keeps_its_axes_in_the_wrong_order() -> None:
    _everywhere(wants._moved, lambda graph, row, first, last: row)


@fault
def tangents_start_twice_as_large() -> None:
    original = wants._identity

    def identity(graph: Structure, shape: Any) -> int:
        row, rows = original(graph, shape), Formulas(graph)
        return rows.apply("mul", (rows.constant(2), row), {})

    _everywhere(original, identity)


@fault
def sparse_entries_change_places() -> None:
    original = sparse._compressed

    def compressed(graph: Any, rows: Any, columns: Any, coefficients: Any, shape: Any) -> Any:
        if shape[0] == shape[1]:
            rows, columns = columns, rows
        return original(graph, rows, columns, coefficients, shape)

    _everywhere(original, compressed)


@fault
def a_source_in_the_middle_ends_the_paths() -> None:
    original = sparse._Carrier._through

    def through(carrier: Any, row: int) -> Any:
        return [] if row in carrier._seeds else original(carrier, row)

    sparse._Carrier._through = through


@fault
def a_tie_is_no_kink_of_a_slope() -> None:
    _record("winner", kink="", batch=None)


# Programs and text.


@fault
def settings_are_not_part_of_a_shared_row() -> None:
    original = rows._hashable
    _everywhere(original, lambda value: 0 if isinstance(value, tuple) else original(value))


@fault
def a_cube_is_a_fourth_power() -> None:
    rewrites.POWERS[3] = rewrites.POWERS[4]


@fault
def a_difference_is_turned_round() -> None:
    turned = lambda store, args, settings: store.shared("sub", tuple(args[::-1]), {})  # noqa: E731
    rewrites.UNITS["sub"] = (turned,)


@fault
def a_half_is_folded_to_a_quarter() -> None:
    def halved(store: Any, args: Any, settings: Any) -> int | None:
        if store.number(args[1]) != 2:
            return None
        return store.apply("div", (args[0], store.constant(4)), {})

    rewrites.STRENGTH["div"] = (halved,)


@fault
def branches_are_swapped_in_emitted_code() -> None:
    _emitted(r"np\.where\((\w+), (\w+), (\w+)\)", r"np.where(\1, \3, \2)")


@fault
def sums_run_over_the_last_axis() -> None:
    _emitted(r"axis=0", "axis=-1")


@fault
def single_precision_is_half_precision() -> None:
    _emitted(r"np\.float32", "np.float16")


@fault
def text_loses_its_brackets() -> None:
    _everywhere(phrases.bracket, lambda part, least: part)


@fault
def an_argument_is_overwritten() -> None:
    _emitted(r"np\.asarray\((\w+), (dtype=)?([\w.]+)\)", r"np.add(\1, 1e-3, out=\1)")


# The native engines: mistakes in plans, and in what is made of a plan's results.


def _plans(change: Callable[[np.ndarray, Steps], None]) -> None:
    """Changes the steps of every plan: rows of (kernel, result, operands)."""
    original = plans.steps

    def steps(*args: Any) -> Steps:
        made = original(*args)
        change(made.steps, made)
        return made

    plans.steps = steps


def _kernel(name: str) -> int:
    return list(kernels()).index(name)


@fault
def a_slot_is_given_back_too_early() -> None:
    """The last operation that wants a block of its own gets one that is still read."""

    def change(table: np.ndarray, made: Steps) -> None:
        first = len(made.arguments) + len(made.results) + len(made.numbers) + len(made.fillers)
        if made.blocks > 1:
            table[:, 1:][table[:, 1:] == first + made.blocks - 1] = first

    _plans(change)


@fault
def a_fused_kernel_has_its_operands_swapped() -> None:
    def change(table: np.ndarray, made: Steps) -> None:
        for name in ("mul_of_add", "mul_of_sub", "add_of_mul", "sub_of_mul"):
            fused = table[:, 0] == _kernel(name)
            table[fused, 3], table[fused, 4] = table[fused, 4], table[fused, 3].copy()

    _plans(change)


@fault
def a_pair_has_its_results_swapped() -> None:
    def change(table: np.ndarray, made: Steps) -> None:
        pair = table[:, 0] == _kernel("sincos")
        table[pair, 1], table[pair, 3] = table[pair, 3], table[pair, 1].copy()

    _plans(change)


@fault
def a_number_stands_on_the_other_side() -> None:
    def change(table: np.ndarray, made: Steps) -> None:
        for name in ("sub", "div", "pow"):
            for line in table[table[:, 0] == _kernel(f"{name}_at_a")]:
                place = np.flatnonzero((table == line).all(axis=1))
                table[place, 0] = _kernel(f"{name}_at_b")
                table[place, 2], table[place, 3] = line[3], line[2]

    _plans(change)


@fault
def a_gate_of_the_tape_is_always_open() -> None:
    """On the way back, relu and maximum hand on what comes, whatever their values are."""
    library, packed = native().library, tape.packed
    opened: dict[int, np.ndarray] = {}

    def with_open_gates(*args: Any) -> Any:
        found = packed(*args)
        if found is not None:
            rows = opened[found.rows.ctypes.data] = found.rows.copy()
            for closed, free in (("relu", "identity"), ("maximum", "add")):
                rows["code"][rows["code"] == codes()[closed]] = codes()[free]
        return found

    class Library:
        graphc_tape_check, graphc_tape_mark = library.graphc_tape_check, library.graphc_tape_mark
        graphc_tape_values = library.graphc_tape_values

        @staticmethod
        def graphc_tape_reverse(rows: int, *rest: Any) -> None:
            library.graphc_tape_reverse(opened[rows].ctypes.data, *rest)

    tape.packed, tape.FEW_ROWS = with_open_gates, 0
    tape.native = lambda: replace(native(), library=Library)


@fault
def the_tape_begins_with_the_adjoints_of_the_last_call() -> None:
    library = native().library

    class Library:
        graphc_tape_check, graphc_tape_mark = library.graphc_tape_check, library.graphc_tape_mark
        graphc_tape_values, graphc_tape_slopes = (
            library.graphc_tape_values,
            library.graphc_tape_slopes,
        )

        @staticmethod
        def graphc_tape_pull(rows: int, count: int, *rest: int) -> None:
            adjoints = np.ctypeslib.as_array((ctypes.c_double * count).from_address(rest[2]))
            before = adjoints.copy()
            library.graphc_tape_pull(rows, count, *rest)
            adjoints += before

    tape.native = lambda: replace(native(), library=Library)


@fault
def the_last_point_of_a_block_is_left_out() -> None:
    original = plans._flat

    def flat(array: Any, points: Any) -> Any:
        found = original(array, points)
        if found.size > 1:
            found = found.copy()
            found[511::512] = 0.5
        return found

    plans._flat = flat


@fault
def threads_leave_out_the_first_block_of_a_part() -> None:
    original = plans.Engine._run

    def run(self: Any, arrays: Any, results: Any, size: int) -> None:
        original(self, arrays, results, size)
        if self.one.options.threads > 1 and not self.one.reduce:
            for result in results:
                np.ravel(result)[self.block : 2 * self.block] = 0.0

    plans.Engine._run = run


@fault
def buffers_have_two_results_in_each_others_place() -> None:
    original = plans.Engine.buffers

    def buffers(self: Any) -> Any:
        found = original(self)
        if len(found.results) > 2:
            *_, one, other = found.results
            swapped = {one: found.results[other], other: found.results[one]}
            return Buffers(found.args, {**found.results, **swapped}, found.__call__)
        return found

    plans.Engine.buffers = buffers


@fault
def the_kernels_of_float32_are_in_another_order() -> None:
    original = plans.Plan.__init__

    def init(self: Any, made: Steps, dtype: str, block: int) -> None:
        if dtype == "float32":
            found = made.steps[:, 0].copy()
            for name, other in (("exp", "expm1"), ("sin", "cos"), ("add", "sub"), ("tanh", "erf")):
                made.steps[found == _kernel(name), 0] = _kernel(other)
        original(self, made, dtype, block)

    plans.Plan.__init__ = init


def plant(name: str) -> None:
    """Makes graphc wrong in this process, for good."""
    FAULTS[name]()


# Chains of element-wise operations.


@fault
def a_chain_writes_over_what_it_still_reads() -> None:
    def overwritten(self: Any, run: Any) -> Any:
        return run.reads

    def chain_step(self: Any, run: Any, pieces: Any) -> Any:
        known = dict(zip([piece[0] for piece in pieces], run.reads, strict=True))
        free = [b for b, name in self.buffers.items() if name in known]
        original_buffer = self._buffer_for
        self._buffer_for = lambda run, reusable: original_buffer(run, free)
        try:
            return original(self, run, pieces)
        finally:
            del self._buffer_for

    original = chained.ChainedWorkspace._chain_step
    chained.ChainedWorkspace._overwritten = overwritten  # type: ignore[method-assign]
    chained.ChainedWorkspace._chain_step = chain_step  # type: ignore[method-assign]


@fault
def a_chain_forgets_how_its_operands_are_turned() -> None:
    def inputs(self: Any, row: Any) -> Any:
        return [(operand, "") for operand in self.program.operands[row]]

    chains.Chains._inputs = inputs  # type: ignore[method-assign]


@fault
def a_part_takes_the_place_of_what_it_is_added_to() -> None:
    def adding(dtype: str) -> Any:
        return chains._link(2, (("identity", "1"),), (0,), dtype)

    _everywhere(chains.adding, adding)


@fault
def a_chain_keeps_what_the_first_call_brought() -> None:
    original = chains._link

    def link(*args: Any) -> Any:
        made = original(*args)

        def linked(shape: Any, *told: Any) -> Any:
            brought: list[Any] = []
            chain = made(shape, *told)

            def run(*given: Any) -> None:
                brought[:] = brought or [
                    one.copy() if isinstance(one, np.ndarray) and not one.flags.owndata else one
                    for one in given
                ]
                chain(*brought[: len(given)])

            return run if any(one is None or one is ... for one in told) else chain

        return linked

    _everywhere(original, link)


@fault
def a_part_is_added_to_what_it_looks_at() -> None:
    chained.ChainedWorkspace._is_among = lambda *rows: False  # type: ignore[method-assign]


@fault
def products_lose_a_factor_before_they_are_summed() -> None:
    def summing(operands: int, summed: int, dtype: str) -> Any:
        return chains._link(operands, (("identity", "0"),), (0,), dtype, summed)

    _everywhere(chains.summing, summing)


@fault
def sums_run_over_the_axes_in_another_order() -> None:
    original = OPERATIONS["contract"].factors

    def factors(site: Any) -> Any:
        found = original(site)
        if found is None or not found.summed or len(set(site.shape + found.summed)) > 1:
            return found
        whole = [text if "None" in text else "" for text in found.subscripts]
        return replace(found, subscripts=tuple(whole))

    _record("contract", factors=factors)


@fault
def results_use_memory_that_is_still_looked_at() -> None:
    memory._holders = lambda block: memory._ALONE
