"""Comments in C: whatever they say, they end where they should."""

from __future__ import annotations

from collections.abc import Sequence


def safe(text: str) -> str:
    """Text that can neither end a comment nor continue a line, in any C."""
    shown = "".join(c if c.isprintable() else " " for c in text).replace("\\", "|")
    for pair in ("*/", "/*", "??"):  # ??/ is another backslash
        while pair in shown:
            shown = shown.replace(pair, f"{pair[0]} {pair[1]}")
    return shown


def comment(text: str) -> str:
    """A comment on one line."""
    return f"/* {safe(text)} */"


def comment_block(lines: Sequence[str]) -> list[str]:
    """A comment of several lines."""
    return ["/*", *(f" * {safe(line)}".rstrip() for line in lines), " */"]
