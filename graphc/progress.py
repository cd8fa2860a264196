"""A progress bar that is there only when somebody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_bar(
    steps: int, detail: str, shown: bool | None = None, after: float = 0.0, **fields: Any
) -> Iterator[Callable[..., None]]:
    """A function to call with the steps that are done and new values of the fields of `detail`.

    None shows the bar on a terminal only, and `after` some seconds: what is done before has none.
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda done, **fields: None
        return
    start = time.monotonic()
    bar: Any = None
    task: Any = None

    def tick(done: int, **fields: Any) -> None:
        nonlocal bar, task
        if bar is None and time.monotonic() - start >= after:
            bar, task = _bar(steps, detail, shown, fields)
        if bar is not None:
            bar.update(task, completed=done, **fields)

    try:
        tick(0, **fields)
        yield tick
    finally:
        if bar is not None:
            bar.stop()


def _bar(steps: int, detail: str, shown: bool | None, fields: dict[str, Any]) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn(detail))
    console = Console(stderr=True, force_terminal=shown)
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("", total=steps, **fields)
    bar.start()
    return bar, task
