"""What records and values ask of later rooms; graphs.py, which loads all of them, fills it in.

Imports go one way, but NumPy may be called on a value, a function on plain numbers, and a compiled
function on more data than one machine holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LATE: dict[str, Callable[..., Any]] = {}
