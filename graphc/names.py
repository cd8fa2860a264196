"""Names of nodes: which are allowed, and their one spelling."""

from __future__ import annotations

import keyword
import re
import unicodedata

from .errors import GraphcError, visible

RESERVED = {"input", "param", "output", "for", "pi"}
LONGEST = 200
_INDEXED = re.compile(r"(\w+)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]\Z")


def indexed(base: str, indices: tuple[int, ...]) -> str:
    """The name of a family's member: h, (2, 1) is h2_1."""
    return base + "_".join(str(index) for index in indices)


def spelling(name: str) -> str:
    """The one spelling of a name: NFKC, and h[3] written h3."""
    name = unicodedata.normalize("NFKC", name)
    match = _INDEXED.match(name)
    if match:
        return indexed(match[1], tuple(int(index) for index in match[2].split(",")))
    return name


def checked(name: str) -> str:
    """The spelling of a name that may be given to a node."""
    if not isinstance(name, str):
        raise GraphcError(f"a node's name must be a string, not {type(name).__name__}")
    if len(name) > LONGEST:
        raise GraphcError(
            f"the name {visible(name, 20)} has {len(name)} characters; at most {LONGEST} are allowed"
        )
    spelt = spelling(name)
    if not spelt.isidentifier():
        raise GraphcError(
            f"{visible(name)} is not a name: use letters, digits and _, starting with a letter"
        )
    if keyword.iskeyword(spelt) or spelt in RESERVED:
        raise GraphcError(f"the name {spelt!r} is reserved; use {spelt + '_'!r} instead")
    return spelt
