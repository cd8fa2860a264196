"""compile and emit: from a question to text, and from text to a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import GraphcError, listing, nearest
from ..exact import as_float
from ..structure import Structure
from . import c_text, fast_points, fast_tensors, fused, readable, rewrites
from .array_text import ArrayText
from .device import require_device
from .module import Body, Task, module, task
from .naming import Naming
from .program import Rule, lower
from .running import load
from .wants import MODES, TWO_WAYS, Question, derived, flat, question, sweeps

BACKENDS = ("numpy", "cupy")
STYLES = ("readable", "fast")
DTYPES = ("float32", "float64")
COMPANIONS = {  # what a module's check of itself needs besides the function
    "grad": "value",
    "jacobian": "value",
    "jvp": "value",
    "vjp": "value",
    "hessian": "grad",
    "hvp": "grad",
}
FEW_SWEEPS = 12  # up to so many, both modes are derived and their operations counted


def _fast(one: Task, text: ArrayText, naming: Naming) -> list[str]:
    if not one.has_points:
        tensors: Body = readable.body if text.backend == "cupy" else fast_tensors.body
        return tensors(one, text, naming)
    body: Body = fused.body if text.backend == "cupy" else fast_points.body
    return body(one, text, naming)


BODIES: dict[str, Body] = {"readable": readable.body, "fast": _fast}


@dataclass(frozen=True)
class Plan:
    """Why a compiled function is as it is."""

    mode: str
    operations: int
    memory: int  # bytes of intermediate values per point, or in all for tensors
    reason: str
    colours: int | None = None

    def __str__(self) -> str:
        return f"{self.mode}: {self.operations} operations; {self.reason}"


def emit(
    graph: Structure,
    of: Any = None,
    wrt: Any = None,
    want: str = "value_and_grad",
    backend: str = "numpy",
    mode: str = "auto",
    dtype: str = "float64",
    style: str = "readable",
    reduce: str | None = None,
) -> str:
    """The text of a standalone module."""
    asked = question(graph, of, wrt, want)
    tasks, _ = planned(asked, backend, mode, style, reduce)
    return written(tasks, backend, _dtype(dtype), style)


def planned(
    asked: Question, backend: str, mode: str, style: str, reduce: str | None
) -> tuple[list[Task], Plan]:
    """The function asked for, then the one that its check needs."""
    _check(backend, BACKENDS, "backend")
    _check(mode, MODES, "mode")
    _check(style, STYLES, "style")
    if reduce is not None:
        _check(reduce, ("sum", "mean"), "reduce")
        if asked.graph.has_tensors:
            raise GraphcError(
                "reduce= sums over the points of a graph of scalars; a graph with tensors sums "
                "where its formulas say so"
            )
    first, plan = _chosen(asked, mode, style, reduce, backend)
    tasks = [first]
    if asked.want in COMPANIONS and style == "readable":
        other = replace(asked, want=COMPANIONS[asked.want], weights=None)
        tasks.append(_task(other, "reverse", style, reduce, backend))
    return tasks, plan


def written(tasks: Sequence[Task], backend: str, dtype: str, style: str) -> str:
    return module(tasks, BODIES[style], backend, dtype)


def _rules(asked: Question, style: str, backend: str) -> tuple[Mapping[str, Rule], ...]:
    if style == "readable":
        return rewrites.readable()
    fuses = backend == "cupy" and not asked.graph.has_tensors
    return c_text.passes() if fuses else rewrites.fast(backend)


def _task(asked: Question, mode: str, style: str, reduce: str | None, backend: str) -> Task:
    rows = derived(asked, mode)
    rules = _rules(asked, style, backend)
    plain = style == "readable"
    program, place = lower(rows.graph, flat(rows.results), rules, keep_names=plain)
    return task(asked, rows, program, place, reduce)


def _chosen(
    asked: Question, mode: str, style: str, reduce: str | None, backend: str
) -> tuple[Task, Plan]:
    """The task in the mode asked for, or in the one with fewer operations."""
    back, forth = sweeps(asked)
    if asked.want not in TWO_WAYS or asked.weights is not None:
        only = {"jvp": "forward", "hvp": "forward over reverse", "hessian": "forward over reverse"}
        one = _task(asked, "reverse", style, reduce, backend)
        how = only.get(asked.want, "reverse")
        return one, Plan(how, one.program.operations(), 0, "the only way for this want")
    if mode != "auto":
        one = _task(asked, mode, style, reduce, backend)
        return one, Plan(mode, one.program.operations(), 0, "as asked")
    if max(back, forth) > FEW_SWEEPS:
        better = "forward" if forth < back else "reverse"
        one = _task(asked, better, style, reduce, backend)
        reason = f"{back:g} sweeps in reverse mode, {forth:g} in forward mode"
        return one, Plan(better, one.program.operations(), 0, reason)
    tasks = {way: _task(asked, way, style, reduce, backend) for way in ("reverse", "forward")}
    counts = {way: one.program.operations() for way, one in tasks.items()}
    better = min(counts, key=lambda way: (counts[way], way != "reverse"))
    other = "forward" if better == "reverse" else "reverse"
    reason = f"{counts[better]} operations; {other} mode would need {counts[other]}"
    return tasks[better], Plan(better, counts[better], 0, reason)


def _check(word: str, allowed: Sequence[str], what: str) -> None:
    if word not in allowed:
        raise GraphcError(f"{what}={word!r} is not known; use one of {listing(allowed)}")


def _dtype(dtype: Any) -> str:
    if dtype is None:
        return "float64"
    try:
        name = str(np.dtype(dtype).name)
    except TypeError:
        name = str(dtype)
    _check(name, DTYPES, "dtype")
    return name


class Compiled:
    """A compiled function: call it with the user's names."""

    def __init__(
        self, tasks: Sequence[Task], plan: Plan, dtype: Any, style: str, backend: str = "numpy"
    ) -> None:
        one = tasks[0]
        self._backend = backend
        self._tasks = tasks
        self._style = style
        self._dtype = dtype
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
        self.source = written(tasks, backend, _dtype(dtype), style)

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
        dtype = self._dtype
        if dtype is None:
            kinds = [
                arg.dtype if hasattr(arg, "dtype") else np.asarray(arg).dtype
                for arg in given
                if arg is not None
            ]
            small = bool(kinds) and all(kind in (np.float32, np.float16) for kind in kinds)
            dtype = "float32" if small else "float64"
        return self._function(dtype)(*given)

    def _function(self, dtype: Any) -> Any:
        found = self._functions.get(dtype)
        if found is None:
            name = _dtype(dtype)
            same = name == _dtype(self._dtype)
            source = self.source if same else written(self._tasks, self._backend, name, self._style)
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


def compile_graph(
    graph: Structure,
    of: Any = None,
    wrt: Any = None,
    want: str = "value_and_grad",
    backend: str = "numpy",
    mode: str = "auto",
    dtype: Any = "float64",
    style: str = "fast",
    reduce: str | None = None,
) -> Compiled:
    """A function that computes what was asked, with its text and its plan."""
    asked = question(graph, of, wrt, want)
    tasks, plan = planned(asked, backend, mode, style, reduce)
    if dtype is not None:
        _dtype(dtype)
    if backend == "cupy":
        require_device()
    return Compiled(tasks, plan, dtype, style, backend)
