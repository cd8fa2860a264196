"""Names of nodes: which are allowed, and their one spelling."""

from __future__ import annotations

import keyword
import re
import unicodedata

from .errors import GraphcError, visible

RESERVED = {"input", "param", "output", "for", "pi", "__debug__"}
_TAKEN = RESERVED.union(keyword.kwlist)
LONGEST = 200
NAME = r"[^\W\d][\w\u0300-\u036f]*"  # as it may be written; \w has no accents of their own
_INDEXED = re.compile(r"(\w+)\[\s*([0-9]+(?:\s*,\s*[0-9]+)*)\s*\]\Z")


def indexed(base: str, indices: tuple[int, ...]) -> str:
    """The name of a family's member: h, (2, 1) is h2_1."""
    return base + "_".join(str(index) for index in indices)


def spelling(name: str) -> str:
    """The one spelling of a name: NFKC, and h[3] written h3."""
    if name.isascii() and not name.endswith("]"):
        return name
    name = unicodedata.normalize("NFKC", name)
    match = _INDEXED.match(name)
    if match:
        # without int(), which refuses very long text
        return match[1] + "_".join(i.strip().lstrip("0") or "0" for i in match[2].split(","))
    return name


def identifier(name: str) -> str:
    """The spelling of a name, if it is one; reserved words included."""
    if name.isascii() and name.isidentifier() and len(name) <= LONGEST:
        return name
    if len(name) > LONGEST:
        raise GraphcError(
            f"the name {visible(name, 20)} has {len(name)} characters, and at most {LONGEST} are "
            "allowed; choose a shorter one"
        )
    spelt = spelling(name)
    if not spelt.isidentifier() or len(spelt) > LONGEST:
        raise GraphcError(
            f"{visible(name)} is not a name: use letters, digits and _, starting with a letter"
        )
    if not name.isascii() and any("<super>" in unicodedata.decomposition(c) for c in name):
        # NFKC would read x² as the name x2
        raise GraphcError(f"{visible(name)} has a raised character; a power is written **")
    return spelt


def checked(name: str) -> str:
    """The spelling of a name that may be given to a node."""
    if not isinstance(name, str):
        raise GraphcError(f"a node's name must be a string, not {type(name).__name__}")
    spelt = identifier(name)
    if spelt in _TAKEN:
        raise GraphcError(f"the name {spelt!r} is reserved; use {spelt + '_'!r} instead")
    return spelt
