"""Back ends for array libraries: their modules are NumPy's text in another namespace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..backend import Backend, Passes
from ..library import Library
from ..module import Body, Task, Writer, function_text, module
from ..passes import fast, plain
from ..running import load

if TYPE_CHECKING:
    from ..options import Options

Bodies = Mapping[tuple[str, bool], Body]  # by style, and whether it maps over points


def array_backend(library: Library, bodies: Bodies, **more: Any) -> Backend:
    """The back end of an array library; `more` are fields of the record that differ."""

    def passes(style: str, points: bool) -> Passes:
        return plain() if style == "readable" else fast(library.has)

    def written(tasks: Sequence[Task], chosen: Options, check: bool) -> str:
        def written_as(one: Task) -> Writer:
            return function_text(bodies[chosen.style, one.has_points])

        return module(tasks, written_as, library, chosen.dtype, check)

    def function(one: Task, chosen: Options) -> Callable[..., Any]:
        return loaded(one, bodies[chosen.style, one.has_points], library, chosen.dtype)

    usual: dict[str, Any] = {"passes": passes, "module": written, "function": function}
    usual["packages"] = library.packages
    return Backend(library.name, **(usual | more))


def loaded(one: Task, body: Body, library: Library, dtype: str) -> Callable[..., Any]:
    """The function that a body makes."""
    given: dict[str, Any] = {}
    text = module([one], lambda _: function_text(body), library, dtype, check=False, given=given)
    return load(text, one.asked.want.name, library.packages, given)
