"""Files that users name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .errors import GraphcError, visible


def file_at(path: Any) -> Path:
    """The path of a file that is read or written."""
    try:
        return Path(path)
    except TypeError:
        raise GraphcError(
            f"a file is named by a string or a path, not by {type(path).__name__}"
        ) from None


def write_file(path: Any, content: str | bytes) -> Path:
    """The path of the file, after it was written: bytes, or text in UTF-8."""
    file = file_at(path)
    try:
        file.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    except (OSError, ValueError) as error:
        raise cannot_write(file, error) from None
    return file


def cannot_write(file: Path, error: Exception) -> GraphcError:
    """Why a file was not written, and what to do."""
    reason = (getattr(error, "strerror", None) or str(error)).lower()
    return GraphcError(
        f"cannot write {visible(str(file))}: {reason}; name a file in a folder that exists and "
        "can be written to"
    )
