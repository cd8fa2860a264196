"""Arrays for results, in memory that earlier results have left.

The system hands out fresh memory page by page, which takes longer than many a function over it. So
the memory of a large result stays here, and serves again once nobody else holds it. There is no
lock, because a call may begin anywhere within another: in a signal's handler, or in the collector.
"""

from __future__ import annotations

import math
import sys
import sysconfig
from itertools import count
from typing import Any

import numpy as np

SMALL = 1 << 20  # bytes that are cheap when they are fresh
MOST = 1 << 26  # bytes that stay here together
CACHE_LINE = 64  # bytes; at one of these a result begins

_blocks: dict[tuple[int, int], Any] = {}  # arrays of bytes by size and number, the oldest first
_numbers = count()


def _holders(block: Any) -> int:
    """How often a block is referred to: by whoever asks, and by each array that looks at it."""
    return sys.getrefcount(block)


def _alone() -> int:
    block = np.empty(0)
    return _holders(block)


# Without a count of references, nothing is used twice.
_COUNTED = hasattr(sys, "getrefcount") and not sysconfig.get_config_var("Py_GIL_DISABLED")
_ALONE = _alone() if _COUNTED else 0


def result(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array that nobody else looks at; what it holds is left over."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if not SMALL <= size <= MOST or not _COUNTED:
        return np.empty(shape, dtype)
    block = _free(size)
    if block is None:
        block = np.empty(size + CACHE_LINE, np.uint8)
    start = -block.ctypes.data % CACHE_LINE
    array = block[start : start + size].view(dtype).reshape(shape)
    _blocks[size, next(_numbers)] = block
    kept = tuple(_blocks)
    total = sum(size for size, _ in kept)
    for key in kept:
        if total <= MOST:
            break
        total -= key[0]
        _blocks.pop(key, None)
    return array


def _free(size: int) -> Any:
    """A block of that size that nothing looks at, no longer here; None if there is none."""
    for key in tuple(_blocks):
        if key[0] == size:
            block = _blocks.pop(key, None)  # whoever takes it out is the only one to have it
            if block is not None and _holders(block) == _ALONE:
                return block
            if block is not None:
                _blocks[key] = block
    return None
