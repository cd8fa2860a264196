"""Compiled: what compile returns. It arranges arguments, and runs the emitted text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from os import PathLike
from typing import Any

import numpy as np

from ..algebra.exact import as_float, brief
from ..algebra.given import check_real
from ..collecting import collection_rests
from ..errors import GraphcError, listing, nearest
from ..files import file_at, write_file
from ..table.late import LATE
from . import refilling
from .module import Task
from .options import Options
from .planning import Plan, files, written
from .refilling import Buffers
from .shipping import Shipment, in_python
from .sparse import Sparse

ABSENT = np.zeros(())  # stands for a number that is not needed and was not given
NUMBERS = frozenset((float, int, np.float64))  # plain numbers: one point
PLAIN = NUMBERS | {bool, np.float32}  # taken without a closer look


class Compiled:
    """A compiled function: call it with the user's names."""

    def __init__(self, one: Task, plan: Plan, chosen: Options, dtype: Any) -> None:
        self._task = one
        self._options = chosen
        self._dtype = dtype  # None: that of the arguments
        self.plan = plan
        self.want = one.asked.want.name
        graph = one.graph
        self.arguments = tuple(graph.names[row] for row in one.arguments)
        self._names = frozenset(self.arguments)
        self._given = {
            graph.names[row]: np.asarray(as_float(graph.given[row]), dtype=np.float64)
            for row in one.arguments
            if row in graph.given
        }
        self.needed = tuple(graph.names[row] for row in one.arguments if row in one.needed)
        self._spare = {  # what may be left out: tangents, which are 0, and what is not needed
            graph.names[row]: ABSENT if row in one.read and not graph.shape(row) else None
            for row in one.arguments
            if row not in one.needed
        }
        # a branch that is not taken may be infinite, which is nobody's concern
        quiet: Callable[[], AbstractContextManager[Any]] = partial(np.errstate, all="ignore")
        self._quiet = quiet if "where" in one.program.ops else nullcontext
        self._functions: dict[str, Any] = {}
        self._at_numbers: Callable[..., Any] | None = None  # a shorter way, where there is one

    @cached_property
    def source(self) -> str:
        """The text of the standalone module, with its check of itself."""
        with collection_rests():
            return written(self._task, self._options)

    def __repr__(self) -> str:
        return f"<compiled {self.want}({', '.join(self.arguments)})>"

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the standalone module, and the header of a file of C beside it."""
        for name, text in files(self._task, self._options, str(file_at(path))).items():
            write_file(name, text)

    def map(self, data: Mapping[str, Any], chunks: Any = None, client: Any = None) -> Any:
        """The results at all points of large arrays, lazy arrays of Dask, block by block."""
        return LATE["map"](self.shipment(), data, chunks, client)

    def reduce(
        self,
        data: Mapping[str, Any],
        params: Mapping[str, Any] | None = None,
        chunks: Any = None,
        client: Any = None,
        **settings: Any,
    ) -> Any:
        """The results over all rows of the data, chunk by chunk: `(value, grads)`.

        Settings: over (the size that counts the rows), on_error ("raise", "skip"), progress.
        """
        return LATE["reduce"](self.shipment(), data, params, chunks, client, **settings)

    def shipment(self) -> Shipment:
        """This function as it is sent to other processes."""
        task, chosen = in_python(self._task, self._options)
        return Shipment(task, chosen, self._dtype, self._arranged)

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """The result, as `want` says; arguments by position (inputs, then params) or by name."""
        given: Sequence[Any] = args
        if len(args) == 1 and type(args[0]) not in PLAIN and isinstance(args[0], Mapping):
            given, named = (), {**args[0], **named}
        if named and not given and tuple(named) == self.arguments:
            given = tuple(named.values())
        elif named or len(given) != len(self.arguments):
            given = self._arranged(given, named)
        if self._at_numbers is not None:
            for value in given:
                if type(value) not in NUMBERS:
                    break
            else:
                try:
                    return self._at_numbers(*given)
                except ArithmeticError as error:
                    raise self._told(error, given) from None
        for place, value in enumerate(given):
            if type(value) not in PLAIN and not (
                type(value) is np.ndarray and value.dtype.kind in "fiub"
            ):
                self._check(place, value)
        dtype = self._options.dtype
        if self._dtype is None:
            kinds = [
                arg.dtype if hasattr(arg, "dtype") else np.asarray(arg).dtype
                for arg in given
                if arg is not None and arg is not ABSENT
            ]
            small = bool(kinds) and all(kind in (np.float32, np.float16) for kind in kinds)
            dtype = "float32" if small else "float64"
        try:
            with self._quiet():
                return self._function(dtype)(*given)
        except (ValueError, ArithmeticError) as error:
            raise self._told(error, given) from None

    def buffers(self) -> Buffers:
        """Arrays to be filled and read, around calls that allocate nothing; each is one point."""
        if self._task.reduce:
            raise GraphcError("buffers() hold one point; leave reduce= out")
        made = self._options.backend.buffers or refilling.buffers
        return made(self._task, self._options, self._function(self._options.dtype))

    @property
    def pattern(self) -> tuple[Any, Any]:
        """(rows, columns) of the entries of a sparse matrix, in the order of its values."""
        matrix = self._task.results
        if not isinstance(matrix, Sparse):
            raise GraphcError("pattern is that of a sparse matrix; compile with sparse=True")
        return matrix.pattern

    def _check(self, place: int, value: Any) -> None:
        """Refuses an argument that is not real; what is not needed may be None."""
        name = self.arguments[place]
        if value is not None or name not in self._spare:
            check_real(value, f"{self.want}: {name}")

    def _told(self, error: Exception, given: Sequence[Any]) -> Exception:
        """A mistake in the arguments, in the user's words; other errors as they are."""
        if str(error).endswith(" is needed"):
            return GraphcError(str(error))
        if isinstance(error, np.linalg.LinAlgError):
            return GraphcError(
                f"{self.want}: a matrix that has to be inverted is singular at these arguments; "
                "give others"
            )
        for name, value in zip(self.arguments, given, strict=True):
            if isinstance(error, OverflowError):
                big = [v for v in np.ravel(np.asarray(value, dtype=object)) if _overflows(v)]
                if big:
                    return GraphcError(
                        f"{self.want}: {name} holds {brief(big[0])}, which is beyond the range of "
                        "floats; give a smaller number"
                    )
            if np.size(value) == 0 and value is not None:
                return GraphcError(
                    f"{self.want}: {name} has shape {np.shape(value)}, and a mean or a maximum of "
                    f"nothing does not exist ({error}); give at least one element"
                )
        shapes = {
            name: np.shape(value)
            for name, value in zip(self.arguments, given, strict=True)
            if np.ndim(value)
        }
        try:
            np.broadcast_shapes(*shapes.values())
        except ValueError:
            if self._task.has_points:
                listed = listing([f"{name} {shape}" for name, shape in shapes.items()])
                return GraphcError(
                    f"the arguments of {self.want} do not broadcast to one shape of points: "
                    f"{listed}; give arrays of one shape, or numbers"
                )
        return error

    def _function(self, dtype: str) -> Any:
        found = self._functions.get(dtype)
        if found is None:
            chosen = replace(self._options, dtype=dtype)
            function = chosen.backend.function
            assert function is not None, chosen.backend.name  # only such back ends are offered
            with collection_rests():
                found = self._functions[dtype] = function(self._task, chosen)
            if self._dtype is not None:
                self._at_numbers = getattr(found, "numbers", None)
        return found

    def _arranged(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        if not args and len(named) == len(self.arguments):
            try:
                return [named[name] for name in self.arguments]
            except KeyError:
                pass  # one of them is wrong, and told below
        if len(args) > len(self.arguments):
            raise GraphcError(
                f"{self.want} takes {len(self.arguments)} arguments "
                f"({listing(self.arguments)}), got {len(args)}"
            )
        found = dict(zip(self.arguments, args, strict=False))
        for name, value in named.items():
            if name in found:
                raise GraphcError(f"{name!r} is given twice; give it once")
            if name in self._names:
                found[name] = value
            else:
                hint = nearest(name, self.arguments) or f" (there are: {listing(self.arguments)})"
                raise GraphcError(f"{self.want} has no argument {name!r}{hint}")
        ordered = []
        for name in self.arguments:
            if name in found:
                ordered.append(found[name])
            elif name in self._given:
                ordered.append(self._given[name])
            elif name in self._spare:
                ordered.append(self._spare[name])
            else:
                raise GraphcError(
                    f"{self.want} needs a value for {name!r} (it needs: {listing(self.needed)})"
                )
        return ordered


def _overflows(value: Any) -> bool:
    return isinstance(value, (int, Fraction)) and not np.isfinite(as_float(value))
