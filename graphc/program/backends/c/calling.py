"""What a compiled function calls: C, through pointers to arguments and to fresh results."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....native.library import native
from ...module import Task
from ...program import ProgramRow
from ...question import Matrix, Results
from ...refilling import Buffers, parts
from ...sparse import Sparse, assembling
from .building import library, require_compiler
from .file import File, Written

if TYPE_CHECKING:
    from ...options import Options

__all__ = ["function", "require_compiler"]
Unpack = Callable[[Sequence[Any]], Any]
NUMBERS = frozenset((float, int, np.float64))  # known to be one point at a glance
# What is added to the file: the function with all arguments behind one pointer, and all results.
ONE = """
void graphc_one(const {type} *in, {type} *out, {type} *work)
{{
    (void)in;
    (void)out;
    (void)work;
    {function}({passed});
}}
"""
MANY = """
void graphc_many(size_t n, const {type} *const *in, {type} *const *out, {type} *work)
{{
    (void)in;
    (void)out;
    (void)work;
    {function}_batch({passed});
}}
"""
ARRAYS = """
void graphc_arrays(const {type} *const *in, {type} *const *out, {type} *work)
{{
    (void)in;
    (void)out;
    (void)work;
    {function}({passed});
}}
"""


def function(one: Task, chosen: Options) -> Callable[..., Any]:
    """The function that a compiled one calls."""
    file = File([one], chosen)
    written = file.first
    text = file.text(check=False) + _doors(written)
    # -O2 makes vectors of few loops, and our vector maths is there for them
    made = library(text, "-O3" if chosen.maths == "own" else "-O2")
    return (_Points if one.has_points else _Arrays)(made, written, chosen)


def _doors(written: Written) -> str:
    """The functions by which Python comes in."""
    head = written.head
    work = ["work"] * written.needs_work
    if written.one.has_points:
        starts, start = [], 0
        for output in head.outputs:
            starts.append(f"out + {start}")
            start += output.size
        numbers = [f"in[{place}]" for place, _ in enumerate(head.arguments)]
        arrays = [*numbers, *(f"out[{place}]" for place, _ in enumerate(head.outputs))]
        return _door(ONE, written, [*numbers, *starts, *work]) + _door(
            MANY, written, ["n", *arrays, *work]
        )
    passed = [f"in[{k}]" if x.shape else f"*in[{k}]" for k, x in enumerate(head.arguments)]
    passed += [f"out[{place}]" for place, _ in enumerate(head.outputs)]
    return _door(ARRAYS, written, [*passed, *work])


def _door(form: str, written: Written, passed: Sequence[str]) -> str:
    head = written.head
    return form.format(type=head.type, function=head.function, passed=", ".join(passed))


class _Calls:
    """A loaded function with its arguments and results."""

    def __init__(self, made: ctypes.CDLL, written: Written, chosen: Options) -> None:
        self.library = made
        self.head = written.head
        self.dtype = np.dtype(chosen.dtype)
        self.type: Any = ctypes.c_float if chosen.dtype == "float32" else ctypes.c_double
        self.room = written.body.work
        graph, one = written.one.graph, written.one
        rows = {row for row in one.arguments if row in one.read}
        self.read = [row in rows for row in one.arguments]
        self.labels = [graph.names[row] for row in one.arguments]
        self.task = one
        self.tree = unpacking(one.results, self.dtype)

    def work(self) -> Any:
        """Room for intermediate values; each call has its own."""
        return (self.type * self.room)() if self.room else None

    def pointers(self, arrays: Sequence[Any]) -> Any:
        """Where arrays stand; None is nowhere."""
        places = [None if array is None else array.ctypes.data for array in arrays]
        return (ctypes.c_void_p * max(len(arrays), 1))(*places)

    def around(self, run: Any, places: Sequence[Any], args: Sequence[Any], results: Any) -> Buffers:
        """Buffers of these arrays, for calls that pass the same places again and again."""
        named = parts(self.task.results, self.task.asked.want.name)
        keyed = {key: array for (key, _), array in zip(named, results, strict=True)}
        work, here = self.work(), native()
        if here.is_there:
            address, owners = ctypes.cast(run, ctypes.c_void_p), (self, places, args, results, work)
            call = here.library.graphc_door(address, *places, work, owners)
        else:
            call = partial(run, *places, work)
            places[0].kept = (args, results)  # as long as there is a call
        return Buffers(dict(zip(self.labels, args, strict=True)), keyed, call)


class _Points(_Calls):
    """Calls with numbers, or with arrays of points that broadcast."""

    def __init__(self, made: ctypes.CDLL, written: Written, chosen: Options) -> None:
        super().__init__(made, written, chosen)
        self.reduce = written.one.reduce
        self.places = [place for place, read in enumerate(self.read) if read]
        self.all_read = all(self.read)
        self.shapes = [output.shape for output in self.head.outputs]
        self.has_matrices = any(self.shapes)
        self.inside = self.type * max(len(self.head.arguments), 1)
        self.outside = self.type * max(sum(output.size for output in self.head.outputs), 1)
        self.one, self.many = made.graphc_one, made.graphc_many
        self.one.restype = self.many.restype = None

    def __call__(self, *given: Any) -> Any:
        for place in self.places:
            value = given[place]
            if type(value) not in NUMBERS and np.ndim(value):
                return self._at_many(given)
        return self._at_many(given) if self.reduce else self._at_one(given)

    def _at_one(self, given: Sequence[Any]) -> Any:
        if not self.all_read:
            pairs = zip(given, self.read, strict=True)
            given = [value if read else 0.0 for value, read in pairs]
        out = self.outside()
        self.one(self.inside(*given), out, self.work())
        if not self.has_matrices:
            return self.tree(list(map(self.dtype.type, out)))
        return self.tree([part.copy()[()] for part in self._parts(out)])

    def _parts(self, out: Any) -> list[Any]:
        """The results as arrays in the memory that one point wrote them to."""
        flat = np.frombuffer(out, dtype=self.dtype)
        found, start = [], 0
        for shape in self.shapes:
            size = math.prod(shape)
            found.append(flat[start : start + size].reshape(shape))
            start += size
        return found

    def buffers(self) -> Buffers:
        """Arrays that stand where the function reads and writes."""
        inside, outside = self.inside(), self.outside()
        numbers = np.frombuffer(inside, dtype=self.dtype)
        args = [numbers[place : place + 1].reshape(()) for place, _ in enumerate(self.labels)]
        return self.around(self.one, (inside, outside), args, self._parts(outside))

    def _at_many(self, given: Sequence[Any]) -> Any:
        arrays = [
            np.asarray(value, dtype=self.dtype) if read else None
            for value, read in zip(given, self.read, strict=True)
        ]
        points = np.broadcast_shapes(*(array.shape for array in arrays if array is not None))
        count = math.prod(points)
        idle = np.zeros(0 if all(self.read) else count, dtype=self.dtype)
        lines = [
            idle if array is None else _in_order(np.broadcast_to(array, points)) for array in arrays
        ]
        if self.reduce == "mean" and not count:
            raise ZeroDivisionError("float division by zero")  # as every other back end does
        lead = () if self.reduce else points
        results = [np.empty((*lead, *shape), dtype=self.dtype) for shape in self.shapes]
        self.many(ctypes.c_size_t(count), self.pointers(lines), self.pointers(results), self.work())
        return self.tree([result[()] for result in results])


class _Arrays(_Calls):
    """Calls with tensors of known sizes."""

    def __init__(self, made: ctypes.CDLL, written: Written, chosen: Options) -> None:
        super().__init__(made, written, chosen)
        self.shapes = [one.shape for one in self.head.arguments]
        self.door = made.graphc_arrays
        self.door.restype = None
        one = written.one
        tangents, sources = set(one.derived.tangents), set(one.asked.wrt)
        self.spare = [row in tangents or row not in one.read for row in one.arguments]
        self.checked = [row in one.read or one.graph.names[row] in sources for row in one.arguments]

    def __call__(self, *given: Any) -> Any:
        arrays = [self._argument(place, value) for place, value in enumerate(given)]
        results = [np.empty(output.shape, dtype=self.dtype) for output in self.head.outputs]
        self.door(self.pointers(arrays), self.pointers(results), self.work())
        return self.tree([result[()] for result in results])

    def buffers(self) -> Buffers:
        """Arrays whose places the function is told."""
        args = [np.zeros(shape, dtype=self.dtype) for shape in self.shapes]
        results = [np.zeros(output.shape, dtype=self.dtype) for output in self.head.outputs]
        places = self.pointers(args), self.pointers(results)
        return self.around(self.door, places, args, results)

    def _argument(self, place: int, value: Any) -> Any:
        """An argument as an array of its shape; what is not needed may be absent."""
        shape = self.shapes[place]
        if not self.checked[place] or (value is None and self.spare[place]):
            return np.zeros(shape, dtype=self.dtype)
        array = np.asarray(value, dtype=self.dtype)
        if array.shape != shape:
            raise ValueError(f"{self.labels[place]} has shape {array.shape}, but {shape} is needed")
        return _in_order(array)


def _in_order(array: Any) -> Any:
    """The elements in row-major order, where a pointer may read them."""
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return np.require(array, requirements=("C_CONTIGUOUS", "ALIGNED"))


def unpacking(results: Results[ProgramRow], dtype: Any) -> Unpack:
    """How the flat results of a call become the answer: numbers, arrays, dicts by name."""
    count = 0

    def made(part: Results[ProgramRow]) -> Unpack:
        nonlocal count
        if isinstance(part, (int, Matrix)):
            place = count
            count += 1
            return lambda flat: flat[place]
        if isinstance(part, Sparse):  # the only result
            assembled = assembling(part, dtype)
            return lambda flat: assembled(flat[0])
        if isinstance(part, dict):
            inner = {name: made(value) for name, value in part.items()}
            return lambda flat: {name: take(flat) for name, take in inner.items()}
        assert isinstance(part, tuple)
        parts = [made(value) for value in part]
        return lambda flat: tuple([take(flat) for take in parts])

    return made(results)
