"""The tape: value and gradient at one point over the declared rows, with nothing derived.

Rows and operands are packed into columns; C runs them forth and back. Deriving and lowering a graph
of a million rows would take a hundred times as long as running it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ....algebra.exact import as_float
from ....algebra.rules import rule
from ....native.library import native
from ....structure.columns import coded, numbers_of
from ....structure.rows import LEAVES, GraphRow
from ....structure.structure import Structure
from ...module import Task
from ...program import Program
from ...question import Derived, Question, leaves
from ...refilling import Buffers, parts
from .tape_cases import BY_0, GIVEN, VALUES_OF, codes, widths

if TYPE_CHECKING:
    from ...options import Options
    from ...planning import Plan

ROW = np.dtype([("code", np.int32), ("a", np.int32), ("b", np.int32), ("c", np.int32)])
EXPONENTS: dict[Any, str] = {2: "square", 1: "identity", Fraction(1, 2): "sqrt"}
AT_ONCE = 1 << 14  # rows that are read together
FEW_ROWS = 200_000  # that are moved, and whose slopes are kept; of more, memory takes the time
NOT_A_POWER = Fraction(-1, 2)  # one over a root, in two operations


@dataclass(frozen=True)
class Packed:
    """The rows that some rows of a graph need, as columns."""

    rows: np.ndarray  # of ROW
    values: np.ndarray  # those that are known; 0 elsewhere
    place: np.ndarray  # row of the graph -> its place, or -1


def codes_of(graph: Structure) -> np.ndarray | None:
    """The code of each row, or None if one has none: a tensor, a user's function, a kink=."""
    if graph.has_tensors or graph.partials:
        return None
    known = {name: code for name, code in codes().items() if name not in (GIVEN, *VALUES_OF)}
    known |= dict.fromkeys((*LEAVES, "const", "pi"), codes()[GIVEN])
    found = coded(graph.ops, known)
    if found.min(initial=0) < 0:
        return None
    for row, settings in graph.attributes.items():
        if graph.ops[row] == "const":
            continue
        if set(settings) - {"exponent"} or settings.get("exponent") == NOT_A_POWER:
            return None
        found[row] = known[EXPONENTS.get(settings["exponent"], graph.ops[row])]
    return found


def packed(graph: Structure, needed: Sequence[GraphRow]) -> Packed | None:
    """The columns of what these rows need, or None if the tape cannot run them.

    Operands are read some rows at a time: copies of a million rows are a matter of memory.
    """
    code = codes_of(graph)
    if code is None:
        return None
    known = dict.fromkeys(np.flatnonzero(coded(graph.ops, {"pi": 0}) == 0).tolist(), math.pi)
    zero = np.zeros(len(code), dtype=bool)  # exact numbers, over which there is no path
    exponents: dict[int, float] = {}  # of rows
    for row, settings in graph.attributes.items():
        if graph.ops[row] == "const":
            known[row] = float(as_float(settings["value"]))
            zero[row] = isinstance(settings["value"], (int, Fraction)) and not settings["value"]
        elif code[row] == codes()[graph.ops[row]]:  # no exponent with a function of its own
            exponents[row] = float(as_float(settings["exponent"]))
    for first in range(0, len(code), AT_ONCE):
        here = code[first : first + AT_ONCE]
        if not _runs(here, numbers_of(graph.operands, first, first + len(here)), zero):
            return None
    alive = _alive(graph, needed)
    exponents = {row: number for row, number in exponents.items() if alive[row]}
    lead = {number: place for place, number in enumerate(dict.fromkeys(exponents.values()))}
    place = np.cumsum(alive, dtype=np.int32)  # numbers come first: every operand is an earlier row
    place += len(lead) - 1
    rows = np.zeros(len(lead) + np.count_nonzero(alive), dtype=ROW)
    for first in range(0, len(code), AT_ONCE):
        some = alive[first : first + AT_ONCE]
        numbers = numbers_of(graph.operands, first, first + len(some))[some]
        part = rows[place[first] + 1 - some[0] :][: len(numbers)]
        part["code"] = code[first : first + AT_ONCE][some]
        for name, column in zip("abc", numbers.T, strict=True):
            part[name] = np.where(column < 0, 0, place[column])
    rows["b"][place[list(exponents)]] = [lead[number] for number in exponents.values()]
    values = np.zeros(len(rows))
    values[: len(lead)] = list(lead)
    place[~alive] = -1
    read = [row for row in known if alive[row]]
    values[place[read]] = [known[row] for row in read]
    bad = native().library.graphc_tape_check(rows.ctypes.data, len(rows))
    assert bad < 0, f"row {bad} does not come after its operands"
    return Packed(rows, values, place)


def _runs(code: np.ndarray, numbers: np.ndarray, zero: np.ndarray) -> bool:
    """Whether the tape can run rows with these operands; products with 0 get their own code."""
    counts = (numbers >= 0).sum(axis=1, dtype=np.int8)
    counts += code == codes()["power"]  # an exponent is a setting
    if not np.array_equal(np.array(list(widths().values()), dtype=np.int8)[code], counts):
        return False  # a maximum of three or more
    if not zero.any():
        return True
    by_0 = zero[numbers] & (numbers >= 0)
    if _chooses_0(code, by_0):
        return False
    code[(code == codes()["mul"]) & by_0.any(axis=1)] = codes()[BY_0]
    return True


def _chooses_0(code: np.ndarray, by_0: np.ndarray) -> bool:
    """Whether a slope may be an operand that is the number 0: a gate that no case has."""
    width, names = widths(), list(codes())
    for k, is_0 in enumerate(by_0.T):
        found = np.unique(code[is_0 & (code != codes()["power"])])
        if any(k in rule(name, width[name], {}).branches for name in (names[c] for c in found)):
            return True
    return False


def _alive(graph: Structure, needed: Sequence[GraphRow]) -> np.ndarray:
    """Of each row, whether one of these needs it."""
    alive = np.zeros(len(graph.ops), dtype=bool)
    alive[list(needed)] = True
    for first in reversed(range(0, len(alive), AT_ONCE)):
        numbers = numbers_of(graph.operands, first, min(first + AT_ONCE, len(alive)))
        bad = native().library.graphc_tape_mark(
            numbers.ctypes.data, first, len(numbers), alive.ctypes.data
        )
        assert bad < 0, f"row {bad} does not come after its operands"
    return alive


def grouped(tape: Packed) -> Packed:
    """The same rows in another order: those of one function stand together where they can."""
    count = len(tape.rows)
    order, work = np.empty(count, dtype=np.int32), np.empty(6 * count + 1, dtype=np.int32)
    native().library.graphc_tape_group(
        tape.rows.ctypes.data, count, order.ctypes.data, work.ctypes.data
    )
    del work
    moved = np.empty(count, dtype=np.int32)
    moved[order] = np.arange(count, dtype=np.int32)
    rows = tape.rows[order]
    for name in "abc":
        rows[name] = moved[rows[name]]
    return Packed(rows, tape.values[order], np.where(tape.place < 0, -1, moved[tape.place]))


def taped(asked: Question, chosen: Options) -> tuple[Task, Plan] | None:
    """A task whose rows run as they were declared; None if the tape cannot run one of them."""
    from ...planning import Plan

    graph = asked.graph
    tape = packed(graph, [graph.row(name) for name in asked.of])
    if tape is None:
        return None
    if len(tape.rows) <= FEW_ROWS:
        tape = grouped(tape)
    arguments = tuple(leaves(graph))
    needed = [row for row in arguments if tape.place[row] >= 0]
    derived = Derived(graph, (), GraphRow(len(graph.ops)))
    read = dict.fromkeys(needed)
    one = Task(asked, derived, Program(), (), arguments, frozenset(needed), read, chosen, tape=tape)
    operations = int(np.count_nonzero(tape.rows["code"]))
    kept = 3 * (tape.values.itemsize + 1) if len(tape.rows) <= FEW_ROWS else 0
    memory = len(tape.rows) * (2 * tape.values.itemsize + 1 + kept)
    reason = "one point of a large graph runs on the tape; arrays of points are derived for blocks"
    return one, Plan("reverse", operations, memory, reason, engine="tape")


@dataclass(frozen=True)
class Work:
    """The memory of one call, and what is called with it, row by row."""

    values: np.ndarray
    adjoints: np.ndarray
    calls: tuple[tuple[Any, tuple[int, ...]], ...]  # functions of C, and addresses for them
    owned: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, known: np.ndarray, back: bool) -> Work:
        """Room for the values of all rows, and for what the way back needs."""
        library, count = native().library, len(known) if back else 0
        values, adjoints = known.copy(), np.zeros(count + 1)  # the last is for what goes nowhere
        alive = np.zeros(count + 1, dtype=np.uint8)
        kept = count if count <= FEW_ROWS else 0
        slopes, passes = np.zeros((kept, 3)), np.zeros((kept, 3), dtype=np.uint8)
        calls: list[tuple[Any, tuple[np.ndarray, ...]]]
        if kept:
            calls = [
                (library.graphc_tape_slopes, (values, slopes, passes)),
                (library.graphc_tape_pull, (slopes, passes, adjoints, alive)),
            ]
        else:
            calls = [(library.graphc_tape_values, (values,))]
            if back:
                calls.append((library.graphc_tape_reverse, (values, adjoints, alive)))
        # asking an array for its address takes a microsecond
        addressed = [(run, tuple(array.ctypes.data for array in arrays)) for run, arrays in calls]
        return cls(values, adjoints, tuple(addressed), (alive, slopes, passes))


class Tape:
    """A function of one point; points of arrays go another way."""

    def __init__(self, one: Task, tape: Packed, many: Callable[[], Callable[..., Any]]) -> None:
        asked, graph = one.asked, one.graph
        self.tape = tape
        self.rows = tape.rows.ctypes.data
        self.of = int(tape.place[graph.row(asked.of[0])])
        self.want = asked.want.name
        self.names = asked.wrt
        self.wrt = tape.place[[graph.row(name) for name in asked.wrt]]
        self.back = bool(asked.want.order)
        assert asked.want.by_tape is not None
        self.answer = asked.want.by_tape
        self.arguments = [graph.names[row] for row in one.arguments]
        place = tape.place[list(one.arguments)]
        self.given = [(k, int(p)) for k, p in enumerate(place) if p >= 0]
        self.read = [k for k, row in enumerate(one.arguments) if row in one.read]
        self._many = many
        self._made: Callable[..., Any] | None = None
        self._idle: list[Work] = []  # memory of calls that have ended

    def __call__(self, *given: Any) -> Any:
        if any(np.ndim(given[place]) for place in self.read):
            if self._made is None:
                self._made = self._many()
            return self._made(*given)
        return self.numbers(*given)

    def numbers(self, *given: Any) -> Any:
        """The answer at one point."""
        try:
            work = self._idle.pop()
        except IndexError:  # also where another thread was faster
            work = Work.of(self.tape.values, self.back)
        for k, place in self.given:
            work.values[place] = given[k]
        slopes = dict(zip(self.names, self._swept(work), strict=True))
        answer = self.answer(np.float64(work.values[self.of]), slopes)
        self._idle.append(work)
        return answer

    def buffers(self) -> Buffers:
        """Arrays for the arguments, which stand where the tape reads them, and for the results."""
        work = Work.of(self.tape.values, self.back)
        args = {name: np.zeros(()) for name in self.arguments}
        for k, place in self.given:
            args[self.arguments[k]] = work.values[place : place + 1].reshape(())
        value, slopes = np.zeros(()), np.zeros(len(self.names))
        views = {name: slopes[k : k + 1].reshape(()) for k, name in enumerate(self.names)}
        results = dict(parts(self.answer(value, views), self.want))

        def run() -> None:
            slopes[...] = self._swept(work)
            value[...] = work.values[self.of]

        return Buffers(args, results, run)

    def _swept(self, work: Work) -> np.ndarray:
        """The slopes, after a run forth and back; 0 where only the value is asked for."""
        for run, addresses in work.calls:
            run(self.rows, self.of + 1, *addresses)
        if not self.back:
            return np.zeros(len(self.names))
        return np.where(self.wrt >= 0, work.adjoints[self.wrt], 0.0)
