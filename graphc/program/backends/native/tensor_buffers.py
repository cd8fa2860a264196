"""buffers() of a function of tensors: arguments and results stay where they are, as all else does.

Nothing is left to be told at a call, so that one whose operations are all native is one call of C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ....shapes import Shape
from ....table.places import Slice, chosen
from ... import refilling
from ...array_text import ArrayText
from ...library import Library
from ...module import Task, module
from ...naming import Naming
from ...program import ProgramRow
from ...question import Matrix
from ...refilling import Buffers, parts, standing
from ...running import load
from ...sparse import Sparse
from .chains import adding, copying
from .tensors import ChainedWorkspace

if TYPE_CHECKING:
    from ...options import Options

MOST_SLICES = 4  # into which places of a sparse matrix are divided


def buffers(one: Task, chosen: Options, function: Callable[..., Any], library: Library) -> Buffers:
    """Arrays for the arguments and the results, and what fills these.

    Blocks of a matrix, and rows that run twice, are left to the function.
    """
    found = [part for _, part in parts(one.results, one.asked.want.name)]
    if one.schedule.recomputed or any(isinstance(part, Matrix) for part in found):
        return refilling.copying(one, function, chosen.dtype)
    args, results = standing(one, chosen.dtype)
    given: dict[str, Any] = {}
    inside: list[str] = []

    def written(one: Task, text: ArrayText, naming: Naming) -> str:
        inside.extend(Refilled(one, text, naming, args, list(results.values())).lines())
        return "\n    ".join([f"def {one.asked.want.name}():", *inside, "return"]) + "\n"

    text = module([one], lambda _: written, library, chosen.dtype, check=False, given=given)
    run = load(text, one.asked.want.name, library.packages, given)
    if len(inside) == 1 and inside[0].endswith("()"):
        run = run.__globals__[inside[0][:-2]]  # nothing between: it is a function of C
    return Buffers(args, results, run)


class Refilled(ChainedWorkspace):
    """The text of a function of nothing, whose arguments and results are arrays by name."""

    def __init__(
        self,
        one: Task,
        text: ArrayText,
        naming: Naming,
        args: dict[str, Any],
        results: list[Any],
    ) -> None:
        super().__init__(one, text, naming)
        for row in one.arguments:
            name = naming.of(one.graph.names[row])
            self.fixed[name] = True
            text.given[name] = args[one.graph.names[row]]
        self.results = [naming.numbered("result") for _ in results]
        for name, array in zip(self.results, results, strict=True):
            self.fixed[name] = True
            text.given[name] = array

    def _is_fresh(self, row: ProgramRow) -> bool:
        """All values are the workspace's, and copied to the results at the end."""
        return False

    def lines(self) -> list[str]:
        order = [row for row in self.one.schedule.order if row not in self.free]
        names = {row: piece[0] for row, piece in self.free.items()}
        lines = self._single_steps(order, names)
        if isinstance(self.one.results, Sparse):
            lines += self._entries(self.one.results, names)
        else:
            found = parts(self.one.results, self.one.asked.want.name)
            for (_, row), result in zip(found, self.results, strict=True):
                lines.append(self._copied(names[row], result, self.program.shape(row)))
        lines = self._together(lines)
        self.text.preamble += self._making()
        return lines

    def _copied(self, name: str, target: str, shape: Shape) -> str:
        if not shape:
            return f"{target}[...] = {name}"
        return self._linked(copying(self.text.dtype), shape, [name], [target])

    def _entries(self, matrix: Sparse[ProgramRow], names: dict[ProgramRow, str]) -> Iterator[str]:
        """The lines that put entries in their places; what never changes is written each time, too.

        Where a part is the first to come to its places, it is added to the constants there.
        """
        (data,) = self.results
        constant = self._constant(matrix.constant.astype(self.text.dtype))
        fillings = list(matrix.fillings())
        left = np.ones(len(matrix.constant), dtype=bool)  # what nothing has come to
        firsts = []
        for _, places, once, _ in fillings:
            firsts.append(once and bool(left[places].all()))
            left[places] = False
        known = np.flatnonzero(left)
        few = 8 * known.size < left.size and bool(_slices(known))
        if not (all(firsts) and (few or not known.size)):  # elements in one piece are copied faster
            known = np.arange(left.size)
        for piece in _slices(known):
            source, target = self._at(constant, piece), self._at(data, piece)
            yield self._copied(source, target, (piece.count,))
        for (row, places, once, adds), first in zip(fillings, firsts, strict=True):
            whole = constant if first else data
            yield from self._filled(names[row], places, once, [whole] * adds, row)

    def _filled(
        self, name: str, places: Any, once: bool, whole: list[str], row: ProgramRow
    ) -> Iterator[str]:
        """The lines that put one part in its places, or add it to what stands there in a whole."""
        (data,) = self.results
        slices = _slices(places) if once else []
        if self.program.shape(row) != (len(places),) or not slices:
            where = self._given("places", np.asarray(places))
            if not once:
                yield f"{self.np}.add.at({data}, {where}, {name})"
            else:
                yield f"{data}[{where}] = {''.join(f'{w}[{where}] + ' for w in whole)}{name}"
            return
        at = 0
        link = (adding if whole else copying)(self.text.dtype)
        for piece in slices:
            read = [self._at(one, piece) for one in whole]
            read.append(self._seen(name, f"[{at}:{at + piece.count}]"))
            at += piece.count
            yield self._linked(link, (piece.count,), read, [self._at(data, piece)])

    def _constant(self, numbers: Any) -> str:
        """The name of an array that never changes."""
        name = self._given("constant", numbers)
        self.constants.add(name)
        return name

    def _at(self, whole: str, piece: Slice) -> str:
        """Some places of an array; of one that never changes, one after the other in memory."""
        if whole in self.constants:
            return self._constant(self.text.given[whole][piece.array])
        return self._seen(whole, f"[{piece.subscript}]")


def _slices(places: Any) -> list[Slice]:
    """Places as a few slices; none if they would be many."""
    array, cuts = np.asarray(places), [0]
    if not array.size:
        return []
    for _ in range(MOST_SLICES):
        rest = array[cuts[-1] :]
        steps = np.diff(rest)
        if not steps.size:
            break
        change = np.flatnonzero(steps != steps[0])
        if not change.size:
            break
        cuts.append(cuts[-1] + int(change[0]) + 1)
    else:
        return []
    found = [chosen(part) for part in np.split(array, cuts[1:])]
    slices = [part for part in found if isinstance(part, Slice)]
    return slices if len(slices) == len(found) else []
