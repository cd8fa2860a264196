"""Files that users name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .errors import GraphcError


def file_at(path: Any) -> Path:
    """The path of a file that is read or written."""
    try:
        return Path(path)
    except TypeError:
        raise GraphcError(
            f"a file is named by a string or a path, not by {type(path).__name__}"
        ) from None
