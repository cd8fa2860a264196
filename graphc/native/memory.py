"""Arrays for results, in memory that earlier results have left.

The system hands out fresh memory page by page, which takes longer than many a function over it. So
the memory of a large result stays here, and serves again once nobody else holds it.
"""

from __future__ import annotations

import math
import sys
import sysconfig
from threading import Lock
from typing import Any

import numpy as np

SMALL = 1 << 20  # bytes that are cheap when they are fresh
MOST = 1 << 26  # bytes that stay here together

_blocks: list[Any] = []  # arrays of bytes, the oldest first
_lock = Lock()


def _holders(blocks: list[Any], place: int) -> int:
    """How often a block is referred to: by the list, and by each array that looks at it."""
    return sys.getrefcount(blocks[place])


# Without a count of references, nothing is used twice.
_COUNTED = hasattr(sys, "getrefcount") and not sysconfig.get_config_var("Py_GIL_DISABLED")
_ALONE = _holders([np.empty(0)], 0) if _COUNTED else 0


def result(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array that nobody else looks at; what it holds is left over."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if not SMALL <= size <= MOST or not _COUNTED:
        return np.empty(shape, dtype)
    with _lock:
        block = _free(size)
        if block is None:
            block = np.empty(size, np.uint8)
        _blocks.append(block)
        array = block.view(dtype).reshape(shape)
        while sum(kept.size for kept in _blocks) > MOST:
            del _blocks[0]
    return array


def _free(size: int) -> Any:
    """A block of that size that nothing looks at, taken out of the list; None if there is none."""
    for place in range(len(_blocks)):
        if _blocks[place].size == size and _holders(_blocks, place) == _ALONE:
            return _blocks.pop(place)
    return None
