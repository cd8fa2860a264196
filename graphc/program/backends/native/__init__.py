"""auto: the fastest engine that is there. Native blocks, points and the tape for graphs of scalars,
NumPy with native chains of element-wise operations for tensors, NumPy alone without the library;
modules are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ....native import arrays
from ... import refilling
from ...backend import Backend, Blocks, Passes
from ...library import Library
from ...module import Task
from ...passes import fast
from ..arrays import loaded
from ..numpy import NUMPY

if TYPE_CHECKING:
    from ...options import Options
    from ...planning import Plan
    from ...question import Question
    from ...refilling import Buffers

LIBRARY = Library("numpy", arrays.__name__, "np", vector=True)
BLOCKS = Blocks((512, 256, 128, 64), shortest=64, nearest=3 << 12, cache=1 << 18, hopeless=1 << 62)
MANY_ROWS = 10_000  # of a graph that is not derived for one point


def missing() -> str:
    """Nothing, or why there are no native engines here."""
    if find_spec("_ctypes") is None:
        return "this Python was built without ctypes"
    from .plans import fits

    return fits()


def passes(style: str, points: bool) -> Passes:
    """The rewrites: those of what will run."""
    if style != "fast" or missing():
        return NUMPY.passes(style, points)
    from .kernels import AS_NUMBERS
    from .kernels import passes as of_kernels

    return of_kernels() if points else (*fast(LIBRARY.has), AS_NUMBERS)


def engine(one: Task, chosen: Options) -> tuple[str, str]:
    """The name of the engine that runs a task, and why it does."""
    if chosen.style != "fast":
        return "numpy", "readable code is NumPy's"
    if why := missing():
        return "numpy", why
    if one.asked.graph.has_tensors:
        return "numpy", "tensors are NumPy's, element-wise operations native chains"
    return "blocks", "native blocks of points; one point is a call of C"


def function(one: Task, chosen: Options) -> Callable[..., Any]:
    """What a compiled function calls."""
    if chosen.style != "fast" or missing():
        assert NUMPY.function is not None
        return NUMPY.function(one, chosen)
    if one.tape is not None:
        from .tape import Tape

        return Tape(one, one.tape, lambda: _over_points(one.asked, chosen))
    if one.asked.graph.has_tensors:
        from .kernels import offer
        from .tensors import body

        offer(arrays)
        return loaded(one, body, LIBRARY, chosen.dtype)
    from .plans import Engine

    return Engine(one, chosen.dtype)


def buffers(one: Task, chosen: Options, made: Callable[..., Any]) -> Buffers:
    """The buffers of a function."""
    if chosen.style != "fast" or missing() or not one.asked.graph.has_tensors:
        return refilling.buffers(one, chosen, made)
    from .tensor_buffers import buffers as of_tensors

    return of_tensors(one, chosen, made, LIBRARY)


def _over_points(asked: Question, chosen: Options) -> Callable[..., Any]:
    """The function of many points of a graph that runs on the tape at one."""
    from ...planning import lowered

    one, _ = lowered(asked, chosen)
    return function(one, chosen)


def short(asked: Question, chosen: Options) -> tuple[Task, Plan] | None:
    """The tape, for a large graph of scalars and what one sweep back answers."""
    if len(asked.graph.ops) < MANY_ROWS or asked.want.by_tape is None or missing():
        return None
    if chosen.style != "fast" or chosen.dtype != "float64" or chosen.mode == "forward":
        return None
    apart = chosen.reduce or chosen.sparse or chosen.every or chosen.budget
    if apart or asked.of_listed or asked.weights is not None:
        return None
    from .tape import taped

    return taped(asked, chosen)


AUTO = Backend(
    "auto",
    passes=passes,
    module=NUMPY.module,
    function=function,
    engine=engine,
    buffers=buffers,
    short=short,
    writes=NUMPY,
    blocks=BLOCKS,
    checkpoints=True,
    sparse=True,
)
