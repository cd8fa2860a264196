"""What records and values ask of later rooms; graphs.py, which loads all of them, fills it in.

Imports go one way, but NumPy may be called on a value, and a function on plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LATE: dict[str, Callable[..., Any]] = {}
