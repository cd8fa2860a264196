"""Backend: everything that the compiler knows about one library or language it writes for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..algebra.rewrites import Table

if TYPE_CHECKING:
    from .module import Task
    from .options import Options

STYLES = ("readable", "fast")
Passes = tuple[Table, ...]


def _runs_anywhere() -> None:
    """Nothing: there is nothing to refuse."""


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
    require: Callable[[], None] = _runs_anywhere  # refuses to compile where it cannot run
    compared: tuple[str, ...] = STYLES  # styles of modules that compare derivatives with values
    checkpoints: bool = False  # whether rows may run again: checkpoint=
    sparse: bool = False  # whether matrices may be scipy's: sparse=True
