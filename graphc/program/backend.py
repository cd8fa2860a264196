"""Backend: everything that the compiler knows about one library or language it writes for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..algebra.rewrites import Table

if TYPE_CHECKING:
    from .module import Task
    from .options import Options
    from .planning import Plan
    from .question import Question
    from .refilling import Buffers

STYLES = ("readable", "fast")
Passes = tuple[Table, ...]


def _runs_anywhere() -> None:
    """Nothing: there is nothing to refuse."""


@dataclass(frozen=True)
class Blocks:
    """How many points an engine takes at a time, so that all temporaries stay in cache."""

    lengths: tuple[int, ...] = (16384, 8192, 4096, 2048, 1024, 512, 256)  # with a budget
    shortest: int = 8192  # without one
    nearest: int = 0  # bytes of the cache that is best to stay in, if any block fits it
    cache: int = 1 << 20  # bytes that a block may take, if that leaves it long enough
    hopeless: int = 1 << 25  # with more than these bytes no block fits any cache

    def length(self, each: int) -> int:
        """The points of a block, if each takes so many bytes."""
        if self.shortest * each > self.hopeless:
            return self.lengths[0]
        for limit in (self.nearest, self.cache):
            fitting = [length for length in self.lengths if length * each <= limit]
            if fitting and fitting[0] >= self.shortest:
                return fitting[0]
        return self.shortest


@dataclass(frozen=True)
class Backend:
    """One back end: what is rewritten for it, how it is written, and how it is run.

    `module(tasks, options, check)` is the text of a standalone module whose first task is what was
    asked for; the others serve its check of itself. `function(task, options)` is what a compiled
    function calls: it takes the values of `task.arguments` by position, each an array, a number, or
    None where it is not needed. A back end without these two writes programs for pages only.
    """

    name: str
    passes: Callable[[str, bool], Passes]  # of a style, and whether it maps over points
    module: Callable[[Sequence[Task], Options, bool], str] | None = None
    function: Callable[[Task, Options], Callable[..., Any]] | None = None
    # (tasks, options, path of the module) -> the text of a header beside it
    header: Callable[[Sequence[Task], Options, str], str] | None = None
    require: Callable[[], None] = _runs_anywhere  # refuses to compile where it cannot run
    compared: tuple[str, ...] = STYLES  # styles of modules that compare derivatives with values
    engine: Callable[[Task, Options], tuple[str, str]] | None = None  # what runs a task, and why
    # (task, options, function) -> arrays that are filled and read around calls; None: the usual
    buffers: Callable[[Task, Options, Callable[..., Any]], Buffers] | None = None
    short: Callable[[Question, Options], tuple[Task, Plan] | None] | None = None  # a way that
    # derives nothing, for questions that it can answer
    writes: Backend | None = None  # another back end whose modules stand for this one's
    blocks: Blocks = Blocks()
    checkpoints: bool = False  # whether rows may run again: checkpoint=
    sparse: bool = False  # whether matrices may be scipy's: sparse=True
    packages: frozenset[str] = frozenset()  # what its modules may import besides NumPy
    own_maths: bool = False  # whether it can call our vector maths: maths="own"
