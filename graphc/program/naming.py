"""Identifiers of an emitted module: injective, the user's own names first."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable

# Names that an emitted function uses itself, and that a local variable would hide.
USED = {"copy", "scipy", "np", "cp", "points", "range", "min", "len", "print", "__name__"}
DISTINCT_FROM = {*keyword.kwlist, *USED}


class Naming:
    """Hands out identifiers, each once."""

    def __init__(self, names: Iterable[str], reserved: Iterable[str] = ()) -> None:
        users = list(names)
        forbidden = {*DISTINCT_FROM, *reserved}
        self._taken = {*forbidden, *users}
        self.identifiers: dict[str, str] = {}
        self._last: dict[str, int] = {}  # the number that a stem had last
        for name in users:
            found = _allowed(name)
            while found in forbidden or (found != name and found in self._taken):
                found += "_"
            self._taken.add(found)
            self.identifiers[name] = found

    def of(self, name: str) -> str:
        """The identifier of a node, seed or size."""
        if name not in self.identifiers:
            self.identifiers[name] = self.fresh(name)
        return self.identifiers[name]

    def fresh(self, stem: str) -> str:
        """An identifier that nobody has: the stem, or stem_2, stem_3, ..."""
        stem = _allowed(stem)
        name, number = stem, 2
        while name in self._taken or hasattr(builtins, name):
            name, number = f"{stem}_{number}", number + 1
        self._taken.add(name)
        return name

    def numbered(self, stem: str) -> str:
        """An identifier that nobody has: stem1, stem2, ..."""
        number = self._last.get(stem, 0) + 1
        while f"{stem}{number}" in self._taken:
            number += 1
        self._last[stem] = number
        self._taken.add(f"{stem}{number}")
        return f"{stem}{number}"


def _allowed(name: str) -> str:
    """The name; one with two leading underscores, which belong to Python, with a letter before."""
    return f"v{name}" if name.startswith("__") else name
