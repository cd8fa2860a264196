"""C: a file and its header to take home, or a library that is built and loaded here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import c_text
from ...backend import Backend, Passes
from ...module import Task
from .file import header, module

if TYPE_CHECKING:
    from ...options import Options


def passes(style: str, points: bool) -> Passes:
    """The rewrites: composed functions are called where the text is read, else spread out."""
    return c_text.readable_passes() if style == "readable" else c_text.passes()


def function(one: Task, chosen: Options) -> Callable[..., Any]:
    """What a compiled function calls; ctypes, which not every Python has, is needed only here."""
    from .calling import function as calling

    return calling(one, chosen)


def require() -> None:
    """Refuses to compile where there is no compiler."""
    from .building import require_compiler

    require_compiler()


C = Backend(
    "c",
    passes,
    module=module,
    function=function,
    header=header,
    require=require,
    own_maths=True,
    sparse=True,
)
