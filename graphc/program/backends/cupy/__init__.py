"""CuPy: one kernel for graphs of scalars, written in C; everything else is NumPy's text."""

from __future__ import annotations

from ... import c_text, readable
from ...backend import Passes
from ...library import Library
from ...passes import fast, plain
from ..arrays import array_backend
from . import fused
from .device import require_device

BLOCK = '''\
def {name}(lines):
    """One matrix of lines of blocks."""
    return {np}.concatenate([{np}.concatenate(line, axis=1) for line in lines])
'''
LIBRARY = Library(
    "cupy", "cupy", "cp", like="numpy", lacks={"block": BLOCK}, beside=("cupyx.scipy.special",)
)
BODIES = {
    ("readable", True): readable.body,
    ("readable", False): readable.body,
    ("fast", True): fused.body,
    ("fast", False): readable.body,
}


def passes(style: str, points: bool) -> Passes:
    """The rewrites: a kernel has those of C."""
    if style == "readable":
        return plain()
    return c_text.passes() if points else fast(LIBRARY.has)


CUPY = array_backend(LIBRARY, BODIES, passes=passes, require=require_device, compared=("readable",))
