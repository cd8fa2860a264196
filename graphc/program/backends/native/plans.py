"""Running plans: blocks of points, or one point, for a function of scalars."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ....native import memory
from ....native.library import native
from ...module import Task
from ...program import ProgramRow
from ...question import Matrix, Results
from ...refilling import Buffers, copying, parts
from ...sparse import Sparse, assembling
from .kernels import kernels
from .steps import Steps, steps

Values = Sequence[Any]
Places = dict[ProgramRow, int]  # of the distinct rows among the results


class Plan:
    """A checked plan of the library; it is freed with this object."""

    def __init__(self, made: Steps, dtype: str, block: int) -> None:
        library = native().library
        counts = (len(made.steps), len(made.arguments), len(made.results), len(made.numbers))
        sizes = np.array([*counts, len(made.fillers), made.blocks, block], dtype=np.int64)
        bad = ctypes.c_int64(-1)
        address = library.graphc_plan(
            int(dtype == "float64"),
            sizes.ctypes.data,
            made.steps.ctypes.data,
            made.numbers.ctypes.data,
            made.fillers.ctypes.data,
            ctypes.addressof(bad),
        )
        if not address:
            if bad.value < 0:
                raise MemoryError("there is no memory for a plan")
            raise ValueError(f"step {bad.value} of a plan does not fit its slots")
        self.address = address
        self.block = block
        release = weakref.finalize(self, library.graphc_plan_free, address)
        release.atexit = False  # what is called at exit still has its plan


class Engine:
    """A function of points: takes the values of a task's arguments by position."""

    def __init__(self, one: Task, dtype: str) -> None:
        self.one = one
        self.dtype = np.dtype(dtype)
        self.library = native().library
        made = steps(one.program, one.schedule.order, tuple(dict.fromkeys(one.rows())))
        self.block = one.schedule.block or 1
        self.plan = Plan(made, dtype, self.block)
        place = {one.graph.names[row]: k for k, row in enumerate(one.arguments)}
        self.taken = [place[one.program.settings(row)["name"]] for row in made.arguments]
        self.read = [place[one.graph.names[row]] for row in one.read]
        self.position = {row: k for k, row in enumerate(made.results)}
        self.tree = _tree(one.results, self.position, self.dtype)
        self.numbers = self._one_point()

    def _one_point(self) -> Callable[..., Any] | None:
        """The function of plain numbers, if each of them is one point."""
        if self.one.reduce:
            return None
        form, names = _form(self.one.results, self.position)
        about = (self.plan, self.dtype.type, form, names)
        call: Callable[..., Any] = self.library.graphc_callable(self.plan.address, about)
        tree, taken = self.tree, self.taken
        if taken != list(range(len(self.one.arguments))):
            every = call
            call = lambda *given: every(*[given[k] for k in taken])  # noqa: E731
        return call if form else lambda *given: tree(call(*given))

    def __call__(self, *given: Any) -> Any:
        if self.numbers is not None and not any(np.ndim(given[place]) for place in self.read):
            return self.numbers(*given)
        return self.many(given)

    def buffers(self) -> Buffers:
        """Arrays that stand where the plan reads and writes."""
        one = self.one
        if isinstance(one.results, Sparse):
            return copying(one, self, self.dtype.name)
        made = steps(one.program, one.schedule.order, one.rows())
        plan = Plan(made, self.dtype.name, 1)
        values = np.zeros(self.library.graphc_slots(plan.address), dtype=self.dtype)
        names = [one.program.settings(row)["name"] for row in made.arguments]
        args = {one.graph.names[row]: np.zeros((), self.dtype) for row in one.arguments}
        args |= {name: values[k : k + 1].reshape(()) for k, name in enumerate(names)}
        results, at = {}, len(names)
        for key, part in parts(one.results, one.asked.want.name):
            shape = (len(part.entries), len(part.entries[0])) if isinstance(part, Matrix) else ()
            size = math.prod(shape)
            results[key] = values[at : at + size].reshape(shape)
            at += size
        run = self.library.graphc_buffers(plan.address, values.ctypes.data, (plan, values))
        return Buffers(args, results, run)

    def many(self, given: Sequence[Any]) -> Any:
        """The results over arrays of points."""
        dtype = self.dtype
        if isinstance(self.one.results, Sparse):
            name, shape = next(
                (self.one.graph.names[self.one.arguments[place]], np.shape(given[place]))
                for place in self.read
                if np.ndim(given[place])
            )
            raise ValueError(f"{name} has shape {shape}, but () is needed")  # as NumPy's text says
        read = {place: np.asarray(given[place], dtype=dtype) for place in self.read}
        points = np.broadcast_shapes(*(array.shape for array in read.values()))
        size = math.prod(points)
        arrays = [_flat(read[place], points) for place in self.taken]
        reduce = self.one.reduce
        if reduce:
            length = -(-size // self.block)
            results = [np.empty(length) for _ in self.position]
        else:
            results = [memory.result(points, dtype) for _ in self.position]
        self._run(arrays, results, size)
        if not reduce:
            rows = {row: results[place] for row, place in self.position.items()}
            return _over_points(self.one.results, rows, set())
        divisor = size if reduce == "mean" else 1
        sums = [self.library.graphc_sum(r.ctypes.data, r.size) / divisor for r in results]
        return self.tree(list(map(dtype.type, sums)))

    def _run(self, arrays: Sequence[Any], results: Sequence[Any], size: int) -> None:
        addresses = _pointers(arrays)
        strides = (ctypes.c_int64 * (len(arrays) + 1))(*(a.ndim for a in arrays))
        outputs = _pointers(results)
        sums = int(self.one.reduce is not None)

        def part(first: int, last: int) -> int:
            return int(
                self.library.graphc_run(
                    self.plan.address, addresses, strides, outputs, sums, first, last
                )
            )

        blocks = -(-size // self.block)
        parts = min(self.one.options.threads, blocks)
        if parts <= 1:
            failed = part(0, size)
        else:
            cuts = [blocks * k // parts * self.block for k in range(parts)]
            with ThreadPoolExecutor(parts) as pool:
                failed = sum(pool.map(part, cuts, [*cuts[1:], size]))
        if failed:
            raise MemoryError("there is no memory for the blocks of a plan")


def _pointers(arrays: Sequence[Any]) -> Any:
    return (ctypes.c_void_p * (len(arrays) + 1))(*(array.ctypes.data for array in arrays))


def _flat(array: Any, points: tuple[int, ...]) -> Any:
    """An argument as one number, or as one line of memory with a number for each point."""
    if array.size == 1:
        return np.array(array.item(), dtype=array.dtype)
    if array.shape != points:
        array = np.broadcast_to(array, points)
    return np.require(array, requirements=("C", "A")).reshape(-1)


# Results.


ALL_NUMBERS, ONE_NUMBER, NAMED_NUMBERS, ONE_AND_NAMED = range(4)  # as native/callable.c has them


def _form(results: Results[ProgramRow], position: Places) -> tuple[int, tuple[Any, ...]]:
    """What the library returns by itself: the form of the results, and the names in it."""
    first: tuple[Any, ...] = (results,) if isinstance(results, int) else ()
    rest: Results[ProgramRow] = results
    if isinstance(results, tuple) and isinstance(results[0], int):
        first, rest = results[:1], results[1]
    slopes = rest if isinstance(rest, dict) else {}
    if (*first, *slopes.values()) != tuple(position):
        return ALL_NUMBERS, ()
    form = ONE_NUMBER * bool(first) + NAMED_NUMBERS * isinstance(rest, dict)
    return form, tuple(slopes)


def _tree(results: Results[ProgramRow], position: Places, dtype: Any) -> Callable[[Values], Any]:
    """A function from the numbers of the distinct rows to what is returned."""
    if isinstance(results, int):
        place = position[results]
        return lambda values: values[place]
    if isinstance(results, Matrix):
        places = np.array([[position[row] for row in line] for line in results.entries])
        return lambda values: np.array(values)[places]
    if isinstance(results, Sparse):
        return _sparse(results, position, dtype)
    if isinstance(results, dict):
        parts = {name: _tree(part, position, dtype) for name, part in results.items()}
        return lambda values: {name: part(values) for name, part in parts.items()}
    first, second = (_tree(part, position, dtype) for part in results)
    return lambda values: (first(values), second(values))


def _sparse(matrix: Sparse[ProgramRow], position: Places, dtype: Any) -> Callable[[Values], Any]:
    """A function from numbers to the matrix; its structure is made once."""
    assembled, constant = assembling(matrix, dtype), matrix.constant.astype(dtype)
    places = np.concatenate([np.ravel(at) for _, at, _ in matrix.parts] or [np.zeros(0, int)])
    sources = [np.full(np.size(at), position[row]) for row, at, _ in matrix.parts]
    source = np.concatenate(sources or [np.zeros(0, int)])

    def built(values: Values) -> Any:
        entries = constant.copy()
        np.add.at(entries, places, np.asarray(values, dtype=dtype)[source])
        return assembled(entries)

    return built


def _over_points(
    part: Results[ProgramRow], arrays: dict[ProgramRow, Any], handed: set[ProgramRow]
) -> Any:
    """What is returned; a row that is asked for twice is copied.

    No function within this one: it would hold the arrays, and itself, until the next collection.
    """
    if isinstance(part, int):
        array = arrays[part]
        if part in handed:
            array = array.copy()
        handed.add(part)
        return array if array.ndim else array[()]
    if isinstance(part, Matrix):
        lines = [[arrays[row] for row in line] for line in part.entries]
        first = lines[0][0]
        matrix = memory.result((*first.shape, len(lines), len(lines[0])), first.dtype)
        for i, line in enumerate(lines):
            for j, array in enumerate(line):
                matrix[..., i, j] = array
        return matrix
    if isinstance(part, dict):
        return {name: _over_points(inner, arrays, handed) for name, inner in part.items()}
    assert isinstance(part, tuple), "a sparse matrix is that of one point"
    return tuple(_over_points(inner, arrays, handed) for inner in part)


def fits() -> str:
    """Nothing if the library's kernels are those of the table, else why it cannot be used."""
    here = native()
    if not here.is_there:
        return here.reason
    names = here.library.graphc_names().decode()
    if names.split() != list(kernels()):
        return "the native library was made from another table of functions"
    return ""
