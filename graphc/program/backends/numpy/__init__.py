"""NumPy: the fast styles, for points and for tensors; the readable one is shared with CuPy."""

from __future__ import annotations

from ... import readable
from ...library import Library
from ..arrays import array_backend
from . import fast_points, fast_tensors

LIBRARY = Library("numpy", "numpy", "np")
BODIES = {
    ("readable", True): readable.body,
    ("readable", False): readable.body,
    ("fast", True): fast_points.body,
    ("fast", False): fast_tensors.body,
}
NUMPY = array_backend(LIBRARY, BODIES, checkpoints=True, sparse=True)
