"""Compiled: what compile returns. It arranges arguments, and runs the emitted text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import GraphcError, listing, nearest
from ..exact import as_float
from .module import Task
from .options import Options
from .planning import Plan, written
from .running import load


class Compiled:
    """A compiled function: call it with the user's names."""

    def __init__(self, tasks: Sequence[Task], plan: Plan, chosen: Options, dtype: Any) -> None:
        one = tasks[0]
        self._tasks = tasks
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
        self._optional = {graph.names[row] for row in one.arguments if one.optional(row)}
        self._others = {graph.names[row] for row in graph.leaves()} - set(self.arguments)
        self._functions: dict[str, Any] = {}
        self.source = written(tasks, chosen)

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
        if named or len(given) != len(self.arguments):
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
        return self._function(dtype)(*given)

    def _function(self, dtype: str) -> Any:
        found = self._functions.get(dtype)
        if found is None:
            chosen = replace(self._options, dtype=dtype)
            source = self.source if chosen == self._options else written(self._tasks, chosen)
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
                ordered.append(None)
            else:
                raise GraphcError(
                    f"{self.want} needs a value for {name!r} (arguments: {listing(self.arguments)})"
                )
        return ordered
