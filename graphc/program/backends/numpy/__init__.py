"""NumPy: the fast styles, for points and for tensors; the readable one is shared with CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import readable
from ...library import Library
from ...module import Body, Task
from ..arrays import array_backend, loaded
from . import fast_points, fast_tensors
from .by_points import by_points

if TYPE_CHECKING:
    from ...options import Options

LIBRARY = Library("numpy", "numpy", "np")
BODIES = {
    ("readable", True): readable.body,
    ("readable", False): readable.body,
    ("fast", True): fast_points.body,
    ("fast", False): fast_tensors.body,
}


def function(one: Task, chosen: Options) -> Callable[..., Any]:
    """What a compiled function calls: for points, one of two functions."""

    def load(body: Body) -> Callable[..., Any]:
        return loaded(one, body, LIBRARY, chosen.dtype)

    if chosen.style == "fast" and one.has_points and fast_points.has_statements(one):
        return by_points(one, load)
    return load(BODIES[chosen.style, one.has_points])


NUMPY = array_backend(LIBRARY, BODIES, function=function, checkpoints=True, sparse=True)
