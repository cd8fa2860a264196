"""How much work a call does, counted and not timed: a busy machine changes no test."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls(work: Callable[[], Any]) -> int:
    """The number of functions, Python's and those written in C, that the work calls."""
    count = 0

    def tell(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(tell)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
