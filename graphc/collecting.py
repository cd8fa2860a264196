"""Garbage collection rests while many objects are made at once, none of which is garbage yet."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_rests() -> Iterator[None]:
    """Within it nothing is collected: a collector that looks at all objects each time some more
    have been made takes as long as the work itself.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
