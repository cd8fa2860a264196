"""Which program answers a question: the mode with fewer operations, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath

from ..errors import GraphcError
from .module import Task, task
from .options import Options
from .program import lower
from .question import Question, flat
from .sparse import Sparse, colours
from .wants import WANTS, crossed, derived, sweeps

MANY_ROWS = 200  # of a graph that is derived in one mode only
FEW_SWEEPS = 12  # up to so many, both modes are derived and their operations counted


@dataclass(frozen=True)
class Plan:
    """Why a compiled function is as it is."""

    mode: str
    operations: int
    memory: int  # bytes of intermediate values; a size that is only a name counts as 1
    reason: str
    recomputed: int = 0  # operations that run a second time, because of checkpoints
    colours: int | None = None  # groups of columns that a sparse matrix has
    engine: str = "numpy"  # what runs it

    def __str__(self) -> str:
        parts = [f"{self.mode}: {self.operations} operations", f"{self.memory} bytes"]
        parts.append(f"engine {self.engine}")
        if self.recomputed:
            parts.append(f"{self.recomputed} operations run twice")
        if self.colours is not None:
            parts.append(f"{self.colours} colours")
        return f"{', '.join(parts)}; {self.reason}"


def planned(asked: Question, chosen: Options) -> tuple[Task, Plan]:
    """The function asked for, and why it is as it is."""
    if chosen.reduce and asked.graph.has_tensors:
        raise GraphcError(
            "reduce= sums over the points of a graph of scalars; a graph with tensors sums where "
            "its formulas say so"
        )
    if chosen.reduce and chosen.sparse:
        raise GraphcError("sparse=True takes one point; leave reduce= out")
    short = chosen.backend.short
    found = short(asked, chosen) if short is not None else None
    return lowered(asked, chosen) if found is None else found


def companions(asked: Question, chosen: Options) -> list[Task]:
    """The function that a module's check of itself needs, if it is another one."""
    compared = chosen.style in chosen.backend.compared
    if not asked.want.companion or not compared:
        return []
    other = replace(asked, want=WANTS[asked.want.companion])
    return [_task(other, "reverse", replace(chosen, every=None, budget=None, sparse=False))]


def in_words(one: Task, chosen: Options) -> tuple[Task, Options]:
    """The task and the options as they are written: lowered for the back end that writes them."""
    if chosen.backend.writes is None:
        return one, chosen
    chosen = replace(chosen, backend=chosen.backend.writes)
    return planned(one.asked, chosen)[0], chosen


def written(one: Task, chosen: Options) -> str:
    """The text of the module: the function asked for, then its companion."""
    one, chosen = in_words(one, chosen)
    module = chosen.backend.module
    assert module is not None, chosen.backend.name  # only such back ends are offered
    return module([one, *companions(one.asked, chosen)], chosen, True)


def files(one: Task, chosen: Options, path: str) -> dict[str, str]:
    """{path: text}: the module, and the header beside it if the back end has one."""
    found = {path: written(one, chosen)}
    header = chosen.backend.header
    if header is not None:
        found[str(PurePath(path).with_suffix(".h"))] = header([one], chosen, path)
    return found


def _task(asked: Question, mode: str, chosen: Options) -> Task:
    rows = derived(asked, mode, chosen.sparse)
    plain = chosen.style == "readable"
    rules = chosen.backend.passes(chosen.style, not asked.graph.has_tensors)
    program, place = lower(rows.graph, flat(rows.results), rules, keep_names=plain)
    return task(asked, rows, program, place, chosen)


def _plan(one: Task, mode: str, reason: str) -> Plan:
    made = one.schedule
    found = colours(one.results) if isinstance(one.results, Sparse) else None
    backend = one.options.backend
    engine, why = backend.engine(one, one.options) if backend.engine else (backend.name, "")
    reason = f"{reason}; {why}" if why else reason
    return Plan(mode, one.program.operations(), made.memory, reason, made.recomputed, found, engine)


def lowered(asked: Question, chosen: Options) -> tuple[Task, Plan]:
    """The task in the mode asked for, or in the one with fewer operations."""
    back, forth = sweeps(asked)
    if chosen.sparse:
        one = _task(asked, "forward", chosen)
        return one, _plan(one, "forward along entries", "only entries that exist are derived")
    if not asked.want.two_ways or asked.weights is not None:
        one = _task(asked, "reverse", chosen)
        return one, _plan(one, asked.want.mode, "the only way for this want")
    if chosen.mode != "auto":
        one = _task(asked, chosen.mode, chosen)
        return one, _plan(one, chosen.mode, "as asked")
    if chosen.every is not None or chosen.budget is not None:
        one = _task(asked, "reverse", chosen)
        return one, _plan(one, "reverse", "checkpoints are for the backward pass")
    if max(back, forth) > FEW_SWEEPS or len(asked.graph.ops) > MANY_ROWS:
        few = back > 1 and max(back, forth) <= FEW_SWEEPS  # one sweep back crosses no edge twice
        edges = crossed(asked) if few else (back, forth)
        better = "forward" if edges[1] < edges[0] else "reverse"
        one = _task(asked, better, chosen)
        reason = f"{back:g} sweeps in reverse mode, {forth:g} in forward mode"
        return one, _plan(one, better, reason)
    tasks = {way: _task(asked, way, chosen) for way in ("reverse", "forward")}
    counts = {way: one.program.operations() for way, one in tasks.items()}
    better = min(counts, key=lambda way: (counts[way], way != "reverse"))
    other = "forward" if better == "reverse" else "reverse"
    reason = f"{other} mode would need {counts[other]} operations"
    return tasks[better], _plan(tasks[better], better, reason)
