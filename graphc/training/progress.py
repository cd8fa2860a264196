"""A progress bar that is there only when somebody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(steps: int, shown: bool | None) -> Iterator[Callable[[int, float], None]]:
    """A function to call with each step and its loss; None shows the bar on a terminal only."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda step, loss: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("loss {task.fields[loss]:.6g}"))
    console = Console(stderr=True, force_terminal=shown)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("descend", total=steps, loss=float("nan"))
        yield lambda step, loss: bar.update(task, completed=step, loss=loss)
