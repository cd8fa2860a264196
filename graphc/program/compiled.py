"""Compiled: what compile returns. It arranges arguments, and runs the emitted text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import GraphcError, listing, nearest
from ..exact import as_float
from ..structure import LEAVES, ancestors
from .module import Task
from .options import Options
from .planning import Plan, companions, written
from .running import load


class Compiled:
    """A compiled function: call it with the user's names."""

    def __init__(self, one: Task, plan: Plan, chosen: Options, dtype: Any) -> None:
        self._task = one
        self._options = chosen
        self._dtype = dtype  # None: that of the arguments
        self.plan = plan
        self.want = one.asked.want
        graph = one.graph
        self.arguments = tuple(graph.names[row] for row in one.arguments)
        self._given = {
            graph.names[row]: np.asarray(as_float(graph.given[row]), dtype=np.float64)
            for row in one.arguments
            if row in graph.given
        }
        self._optional = {  # tangents that may be left out
            graph.names[row]: None if graph.shape(row) else 0.0
            for row in one.arguments
            if one.optional(row)
        }
        self._others = {graph.names[row] for row in graph.leaves()} - set(self.arguments)
        self._around = _surrounding(one) - set(self.arguments)
        # a branch that is not taken may be infinite, which is nobody's concern
        quiet: Callable[[], AbstractContextManager[Any]] = partial(np.errstate, all="ignore")
        self._quiet = quiet if "where" in one.program.ops else nullcontext
        self._functions: dict[str, Any] = {}

    @cached_property
    def source(self) -> str:
        """The text of the standalone module, with its check of itself."""
        one, chosen = self._task, self._options
        return written([one, *companions(one.asked, chosen)], chosen)

    def __repr__(self) -> str:
        return f"<compiled {self.want}({', '.join(self.arguments)})>"

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the standalone module."""
        Path(path).write_text(self.source, encoding="utf-8")

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The result, as `want` says; arguments by position (inputs, then params) or by name."""
        given: Sequence[Any] = list(args)
        if len(given) == 1 and isinstance(given[0], Mapping):
            given, named = [], {**given[0], **named}
        wider: list[Any] = []
        if named or len(given) != len(self.arguments):
            wider = [named[name] for name in self._around if name in named]
            given = self._arranged(given, named)
        dtype = self._options.dtype
        if self._dtype is None:
            kinds = [
                arg.dtype if hasattr(arg, "dtype") else np.asarray(arg).dtype
                for arg in given
                if arg is not None
            ]
            small = bool(kinds) and all(kind in (np.float32, np.float16) for kind in kinds)
            dtype = "float32" if small else "float64"
        try:
            with self._quiet():
                found = self._function(dtype)(*given)
        except ValueError as error:
            raise self._told(error, given) from None
        if any(np.ndim(value) for value in wider):
            here = np.broadcast_shapes(*map(np.shape, given))
            return _stretched(found, np.broadcast_shapes(here, *map(np.shape, wider)), len(here))
        return found

    def _told(self, error: ValueError, given: Sequence[Any]) -> ValueError:
        """A mistake in the shapes of arguments, in the user's words; other errors as they are."""
        if str(error).endswith(" is needed"):
            return GraphcError(str(error))
        for name, value in zip(self.arguments, given, strict=True):
            if isinstance(value, str):
                return GraphcError(
                    f"{self.want}: {name}={value!r} is text, and compiled code takes floats; "
                    "give a number"
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
            source = written([self._task], chosen, check=False)
            found = self._functions[dtype] = load(source, self.want)
        return found

    def _arranged(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        if len(args) > len(self.arguments):
            raise GraphcError(
                f"{self.want} takes {len(self.arguments)} arguments "
                f"({listing(self.arguments)}), got {len(args)}"
            )
        found = dict(zip(self.arguments, args, strict=False))
        for name, value in named.items():
            if name in found:
                raise GraphcError(f"{name!r} is given twice; give it once")
            if name in self.arguments:
                found[name] = value
            elif name not in self._others:
                known = [*self.arguments, *sorted(self._others)]
                hint = nearest(name, known) or f" (there are: {listing(self.arguments)})"
                raise GraphcError(f"{self.want} has no argument {name!r}{hint}")
        ordered = []
        for name in self.arguments:
            if name in found:
                ordered.append(found[name])
            elif name in self._given:
                ordered.append(self._given[name])
            elif name in self._optional:
                ordered.append(self._optional[name])
            else:
                raise GraphcError(
                    f"{self.want} needs a value for {name!r} (arguments: {listing(self.arguments)})"
                )
        return ordered


def _surrounding(one: Task) -> set[str]:
    """The arguments that are not needed, but say over which points a derivative is wanted."""
    if not one.has_points or one.reduce or one.asked.want == "values":
        return set()
    graph = one.asked.graph
    above = ancestors(graph, [graph.row(name) for name in one.asked.of])
    return {graph.names[row] for row in above if graph.ops[row] in LEAVES}


def _stretched(result: Any, points: tuple[int, ...], rank: int) -> Any:
    """A result over more points, on which it does not depend."""
    if isinstance(result, dict):
        return {name: _stretched(part, points, rank) for name, part in result.items()}
    if isinstance(result, tuple):
        return tuple(_stretched(part, points, rank) for part in result)
    inner = np.shape(result)[rank:]
    thin = np.reshape(result, (1,) * (len(points) - rank) + np.shape(result))
    return np.broadcast_to(thin, (*points, *inner)).copy()
