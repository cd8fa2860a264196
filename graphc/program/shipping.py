"""A compiled function as it is sent to other processes: text that runs without graphc."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..collecting import collection_rests
from .backends.numpy import NUMPY
from .module import Task
from .options import Options
from .planning import in_words, planned
from .program import ProgramRow
from .question import Results
from .running import checked_code, load


@dataclass(frozen=True)
class Shipment:
    """What was asked, how it is written, and how values are put in the order of the call."""

    task: Task
    options: Options
    dtype: Any  # None: that of the arguments
    arranged: Callable[[Sequence[Any], Mapping[str, Any]], list[Any]]

    @property
    def want(self) -> str:
        return self.task.asked.want.name

    @property
    def arguments(self) -> list[str]:
        """The names of the arguments, in the order of the call."""
        return [self.task.graph.names[row] for row in self.task.arguments]

    def text(self, dtype: str) -> str:
        """The module that computes in a dtype, checked, without its check of itself."""
        module = self.options.backend.module
        assert module is not None, self.options.backend.name
        with collection_rests():
            text = module([self.task], replace(self.options, dtype=dtype), False)
        checked_code(text, packages=self.options.backend.packages)
        return text

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The same text in double precision, run here."""
        return load(self.text("float64"), self.want, self.options.backend.packages)

    def rebuilt(self, arrays: Iterator[Any]) -> Any:
        """The arrays, in order, as the want hands them over."""
        return _rebuilt(self.task.results, arrays)


def in_python(one: Task, chosen: Options) -> tuple[Task, Options]:
    """The task and the options as a module in Python is written: NumPy's, if they have none."""
    one, chosen = in_words(one, chosen)
    if chosen.backend.packages:
        return one, chosen
    chosen = replace(chosen, backend=NUMPY)
    return planned(one.asked, chosen)[0], chosen


def _rebuilt(results: Results[ProgramRow], arrays: Iterator[Any]) -> Any:
    if isinstance(results, dict):
        return {name: _rebuilt(part, arrays) for name, part in results.items()}
    if isinstance(results, tuple):
        return tuple(_rebuilt(part, arrays) for part in results)
    return next(arrays)
