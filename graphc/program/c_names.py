"""Identifiers for the C family: ASCII, injective, and never a word of C, C++ or CUDA."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from ..table.functions import FUNCTIONS
from .naming import Naming

KEYWORDS = """
alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool
break case catch char char16_t char32_t char8_t class co_await co_return co_yield compl concept
const const_cast consteval constexpr constinit continue decltype default delete do double
dynamic_cast else enum explicit export extern false float for friend goto if inline int long
mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
reflexpr register reinterpret_cast requires restrict return short signed sizeof static
static_assert static_cast struct switch synchronized template this thread_local throw true try
typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
# Words of CUDA, and words that headers may define as macros.
TAKEN = """
threadIdx blockIdx blockDim gridDim warpSize std complex imaginary noreturn unix linux i386
size_t errno stdin stdout stderr math_errhandling sched_priority assert offsetof signbit isnan isinf
isfinite isnormal fpclassify
"""
FUNCTIONS_OF_C = {record.native["c"] for record in FUNCTIONS.values() if "c" in record.native}
CALLED = {f"{name}{end}" for name in (*FUNCTIONS_OF_C, "pow") for end in ("", "f")}
MACRO = re.compile(
    r"[A-Z0-9_]{2,}$|[LMP]_[A-Z\dct]|cuda|I$|\d"
)  # what headers may define: L_tmpnam
RESERVED = frozenset({*KEYWORDS.split(), *TAKEN.split(), *CALLED})


class CNames:
    """Hands out identifiers, each once; a name that is safe is kept."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._naming = Naming((), (*RESERVED, *reserved))
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The identifier of a node."""
        if name not in self._known:
            self._known[name] = self.fresh(name)
        return self._known[name]

    def fresh(self, stem: str) -> str:
        """An identifier that nobody has."""
        return self._naming.fresh(plain(stem))

    def numbered(self, stem: str) -> str:
        return self._naming.numbered(stem)


def plain(name: str) -> str:
    """The name in letters that every compiler knows: ψ is psi."""
    spelt = "".join(c if c.isascii() else _spelt(c) for c in name)
    while "__" in spelt:  # belongs to the compiler, as does a leading underscore
        spelt = spelt.replace("__", "_")
    spelt = spelt.strip("_") or "v"
    return f"v_{spelt}" if MACRO.match(spelt) else spelt


def _spelt(letter: str) -> str:
    """The last word of a letter's Unicode name, or its number."""
    word = unicodedata.name(letter, "").rpartition(" ")[2].lower()
    return word if word.isascii() and word.isalpha() else f"u{ord(letter):x}"
