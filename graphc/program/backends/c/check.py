"""The program under GRAPHC_CHECK: derivatives along one direction against differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....structure.rows import GraphRow
from ... import selfcheck
from ...points import Direction, Number, Point, Wave, find_point
from ...program import ProgramRow
from ...selfcheck import STEP, is_comparable
from ...sparse import Sparse
from .signature import Argument, Output

if TYPE_CHECKING:
    from ...module import Task
    from .file import Written

LARGEST_ERROR = "1e-5"


TWICE = "2e-5"  # from one side of a step to the other
Comparing = Callable[["_Check"], tuple[list[str], int]]  # lines, and how many are compared


@dataclass(frozen=True)
class Checking:
    """Where a function is checked, and how; without a point there is no check."""

    want: str
    point: Point | None
    comparing: Comparing | None  # None: its result is only shown

    @staticmethod
    def of(first: Task, companion: Task) -> Checking:
        """How to check a task by differences of a companion, which may be itself."""
        others = dict.fromkeys((*first.derived.tangents, *first.derived.seeds))
        plain = [row for row in first.arguments if row not in others]
        programs = [first.program, companion.program]
        point = find_point(first.graph, programs, plain, list(others))
        sources = [row for row in plain if first.graph.names[row] in set(first.asked.wrt)]
        comparing = COMPARING.get(first.asked.want.compare)
        exact = first.options.dtype == "float64" and is_comparable(first, companion, sources)
        return Checking(first.asked.want.name, point, comparing if exact else None)

    @property
    def compares(self) -> bool:
        return self.point is not None and self.comparing is not None

    def program(self, first: Written, companion: Written) -> str:
        """The main function: it prints one line, and fails where derivatives are wrong."""
        if self.point is None:
            said = f'puts("{self.want}: no point was found at which it could be checked");'
            return _main([said, "return 0;"])
        if self.comparing is None:
            return _shown(first, self.point)
        return _Check(first, companion, self.point, self.comparing).text()


def _main(inside: Sequence[str]) -> str:
    lines = ["#include <stdio.h>", "", "int main(void)", "{"]
    return "\n".join([*lines, *(f"    {line}" for line in inside), "}"])


def _shown(first: Written, point: Point) -> str:
    """A program that prints a number of the result: there is nothing to compare it with."""
    head = first.head
    lines = [line for one in head.arguments for line in _argument(one, head.type, point)]
    lines += [f"static {head.type} out_{k}[{max(x.size, 1)}];" for k, x in enumerate(head.outputs)]
    lines += _work(first)
    lines.append(f"{_call(first, 'at')};")
    own = first.one.asked.graph
    why = (
        "; not compared: the graph has its own slopes" if own.partials or "stop" in own.ops else ""
    )
    lines.append(f'printf("{head.function}: %.9g{why}\\n", (double)out_0[0]);')
    return _main([*lines, "return 0;"])


def _argument(one: Argument, type_: str, point: Point) -> list[str]:
    """The declaration of an argument at the point; seeds and tangents are 1."""
    name, size = f"at_{one.name}", max(_size(one), 1)
    value = point.at.get(one.row, Number(1.0))
    if isinstance(value, Number) and not one.shape:
        return [f"static {type_} {name}[1] = {{{value.value!r}}};"]
    lines = [f"static {type_} {name}[{size}];"]
    element = "1"
    if isinstance(value, Wave):
        at = f"({{i}} + {value.place + 1.0!r})"
        element = f"sin({at} * {at})"
        if value.lifted and value.is_square:
            rows = value.shape[0]
            element += f" + ({{i}} % {rows + 1} == 0 ? {rows} : 0)"
        elif value.lifted:
            element = f"1.5 + {element}"
    return [*lines, *_over(_size(one), f"{name}[{{i}}] = ({type_})({element});")]


def _along(one: Argument, point: Point) -> list[str]:
    """The declaration of the direction of an argument."""
    name, value = f"along_{one.name}", point.along[one.row]
    if isinstance(value, Number):
        return [f"static double {name}[1] = {{{value.value!r}}};"]
    assert isinstance(value, Direction)
    moved = _over(_size(one), f"{name}[{{i}}] = cos({{i}} + {float(value.place)!r});")
    return [f"static double {name}[{max(_size(one), 1)}];", *moved]


def _size(one: Argument | Output) -> int:
    return math.prod(one.shape)


def _over(size: int, line: str) -> list[str]:
    """A line for each element, numbered {i}."""
    if size == 1:
        return [line.format(i=0)]
    return [f"for (int i = 0; i < {size}; i++)", f"    {line.format(i='i')}"]


def _work(written: Written) -> list[str]:
    return [f"static {written.head.type} room[{written.body.work}];"] * written.needs_work


def _call(written: Written, prefix: str, outputs: str = "out") -> str:
    """A call of a function with arguments of this prefix."""
    passed = [f"{prefix}_{one.name}" + "[0]" * (not one.shape) for one in written.head.arguments]
    passed += [f"{outputs}_{place}" for place, _ in enumerate(written.head.outputs)]
    passed += ["room"] * written.needs_work
    return f"{written.head.function}({', '.join(passed)})"


@dataclass(frozen=True)
class _Check:
    first: Written
    companion: Written
    point: Point
    comparing: Comparing

    def text(self) -> str:
        """The program: `derived` from the function, `measured` from values on both sides."""
        first, companion = self.first, self.companion
        head, arguments = first.head, first.head.arguments
        names = {argument.row: argument for argument in arguments}
        moved = self._sources()
        lines = [line for one in arguments for line in _argument(one, "double", self.point)]
        lines += [line for row in moved for line in _along(names[row], self.point)]
        lines += [f"static double out_{k}[{max(x.size, 1)}];" for k, x in enumerate(head.outputs)]
        for side in ("ahead", "behind"):
            lines += [
                f"static double {side}_{k}[{max(x.size, 1)}];"
                for k, x in enumerate(companion.head.outputs)
            ]
        lines += _work(first if first.body.work >= companion.body.work else companion)
        steps, count = self.comparing(self)
        lines += [
            f"static double derived[{count}], measured[{count}];",
            "double error = 0, size = 0;",
        ]
        lines += ["int k = 0, m = 0;", *self._tangents(), f"{_call(first, 'at')};"]
        lines += self._side("ahead", "+", STEP, moved) + self._side("behind", "-", TWICE, moved)
        lines += [*steps, *JUDGING]
        said = f"{head.function}: derived and measured slopes differ by %.1e\\n"
        lines.append(f'printf("{said}", error / (1 + size));')
        lines.append(f"return error / (1 + size) < {LARGEST_ERROR} ? 0 : 1;")
        return _main(lines)

    def _sources(self) -> list[GraphRow]:
        graph = self.first.one.graph
        return [graph.row(name) for name in self.first.one.asked.wrt]

    def argument(self, row: GraphRow) -> Argument:
        return next(one for one in self.first.head.arguments if one.row == row)

    def _tangents(self) -> list[str]:
        """The tangents are the direction."""
        pairs = zip(self.first.one.derived.tangents, self._sources(), strict=False)
        lines = []
        for dot, row in pairs:
            here, along = self.argument(dot), self.argument(row)
            lines += _over(_size(here), f"at_{here.name}[{{i}}] = along_{along.name}[{{i}}];")
        return lines

    def _side(self, side: str, sign: str, step: str, moved: Sequence[GraphRow]) -> list[str]:
        """The companion's values a step further on, or behind."""
        lines = []
        for row in moved:
            one = self.argument(row)
            line = f"at_{one.name}[{{i}}] {sign}= {step} * along_{one.name}[{{i}}];"
            lines += _over(_size(one), line)
        return [*lines, f"{_call(self.companion, 'at', side)};"]

    # What the comparisons need.

    def product(self, outputs: Sequence[int]) -> list[str]:
        """Slopes by each of wrt, times the direction, are the next of `derived`."""
        lines = []
        for place, row in zip(outputs, self._sources(), strict=True):
            one = self.argument(row)
            line = f"derived[k] += out_{place}[{{i}}] * along_{one.name}[{{i}}];"
            lines += _over(_size(one), line)
        return [*lines, "k++;"]

    def elements(self, outputs: Sequence[int]) -> tuple[list[str], int]:
        """Each element is the next of `derived`."""
        lines, count = [], 0
        for place in outputs:
            size = self.first.head.outputs[place].size
            lines += _over(size, f"derived[k++] = out_{place}[{{i}}];")
            count += size
        return lines, count

    def differences(self, outputs: Sequence[int], together: bool = False) -> tuple[list[str], int]:
        """Differences of the companion's results are `measured`, or one sum of them is."""
        lines, count = [], 0
        for place in outputs:
            size = self.companion.head.outputs[place].size
            target = "measured[m] +=" if together else "measured[m++] ="
            line = f"{target} (ahead_{place}[{{i}}] - behind_{place}[{{i}}]) / {TWICE};"
            lines += _over(size, line)
            count += size
        return ([*lines, "m++;"], 1) if together else (lines, count)

    @property
    def all_measured(self) -> range:
        """The results of the companion that are compared: values, if it gives slopes beside."""
        count = len(self.companion.head.outputs)
        return range(self.targets if self.companion is self.first else count)

    @property
    def targets(self) -> int:
        asked = self.first.one.asked
        return len(asked.of) if asked.of_listed else 1

    def slopes(self, start: int) -> list[range]:
        """The results that are slopes, for each target."""
        count = len(self.first.one.asked.wrt)
        end = len(self.first.head.outputs)
        return [range(place, place + count) for place in range(start, end, count)]


JUDGING = [
    "for (int i = 0; i < k && i < m; i++) {",
    "    const double off = fabs(derived[i] - measured[i]);",
    "    if (!(off <= error) && error == error) /* NaN stays */",
    "        error = off;",
    "    if (fabs(measured[i]) > size)",
    "        size = fabs(measured[i]);",
    "}",
]


# How each want is compared, by what compares it in a module of Python.


def _gradient(check: _Check) -> tuple[list[str], int]:
    slopes = check.slopes(len(check.first.head.outputs) - check.targets * _wrt(check))
    lines, count = check.differences(check.all_measured)
    return [line for outputs in slopes for line in check.product(outputs)] + lines, count


def _wrt(check: _Check) -> int:
    return len(check.first.one.asked.wrt)


def _pulled(check: _Check) -> tuple[list[str], int]:
    (outputs,) = check.slopes(check.targets)
    lines, count = check.differences(check.all_measured, together=True)
    return check.product(outputs) + lines, count


def _change(check: _Check) -> tuple[list[str], int]:
    every = range(len(check.first.head.outputs))
    lines, count = check.elements(every[check.targets :])
    return lines + check.differences(check.all_measured)[0], count


def _change_of_slopes(check: _Check) -> tuple[list[str], int]:
    lines, count = check.elements(range(len(check.first.head.outputs)))
    return lines + check.differences(check.all_measured)[0], count


def _matrix(check: _Check) -> tuple[list[str], int]:
    """The matrix times the direction."""
    arguments = [check.argument(row) for row in check._sources()]
    results = check.first.one.results
    if isinstance(results, Sparse):
        return _entries(check, results, arguments)
    width = sum(map(_size, arguments))
    height = check.first.head.outputs[0].size // width if width else 0
    lines, left = [f"for (k = 0; k < {height}; k++) {{"], 0
    for one in arguments:
        line = f"derived[k] += out_0[k * {width} + {left} + {{i}}] * along_{one.name}[{{i}}];"
        lines += [f"    {part}" for part in _over(_size(one), line)]
        left += _size(one)
    return [*lines, "}", *check.differences(check.all_measured)[0]], max(height, 1)


def _entries(
    check: _Check, matrix: Sparse[ProgramRow], arguments: Sequence[Argument]
) -> tuple[list[str], int]:
    """The sparse matrix times the direction."""
    rows, columns = check.first.pattern
    lines, left = [f"for (int i = 0; i < {len(matrix.indices)}; i++) {{"], 0
    for one in arguments:
        right = left + _size(one)
        lines += [
            f"    if ({columns}[i] >= {left} && {columns}[i] < {right})",
            f"        derived[{rows}[i]] += out_0[i] * along_{one.name}[{columns}[i] - {left}];",
        ]
        left = right
    height = matrix.shape[0]
    return [*lines, "}", f"k = {height};", *check.differences(check.all_measured)[0]], max(
        height, 1
    )


COMPARING: dict[object, Comparing] = {
    selfcheck.gradient: _gradient,
    selfcheck.second_part: _gradient,
    selfcheck.pulled: _pulled,
    selfcheck.change: _change,
    selfcheck.change_of_slopes: _change_of_slopes,
    selfcheck.matrix: _matrix,
}
