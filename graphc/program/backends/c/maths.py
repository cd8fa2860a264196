"""Our vector maths inside a file of C, for maths="own": its text, and how it is called.

A call is careful (one number: out of range it asks the careful function) or quick (within a loop:
out of range it only says so, and the points are computed again, carefully).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files

POINTS_AT_ONCE = 64  # that are computed again where one of them is out of range
PREFIXES = {"float64": ("vm", "VM", "lm"), "float32": ("vf", "VF", "lf")}
ALWAYS_INLINE = "__attribute__((always_inline))"


@cache
def _header(name: str) -> str:
    return (files("graphc.native") / name).read_text(encoding="utf-8")


class OwnMaths:
    """The functions of the vector maths in one dtype, and which of them were called."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.real = "float" if dtype == "float32" else "double"
        self.flags = "uint32_t" if dtype == "float32" else "uint64_t"
        file = "vector_maths32.h" if dtype == "float32" else "vector_maths.h"
        _, upper, _ = PREFIXES[dtype]
        found = re.findall(rf"\b{upper}_OUT_(\w+)\(([^)]*)\) \{{", _header(file))
        self.functions = {name.lower(): inside.count(",") + 1 for name, inside in found}
        self.called: dict[str, None] = {}
        self.quick = ""  # what collects who is out of range; "": calls are careful

    def words(self) -> set[str]:
        """Names that no value may have."""
        ours = {f"{kind}_{name}" for name in self.functions for kind in ("careful", "quick")}
        return ours | {"uint64_t", "uint32_t", "memcpy"}

    def call(self, op: str, texts: Sequence[str]) -> str | None:
        """A call of a function, if there is one for this operation."""
        name = "pow" if op == "power" else op
        if self.functions.get(name) != len(texts):
            return None
        self.called[name] = None
        if self.quick:
            return f"quick_{name}({', '.join([*texts, self.quick])})"
        return f"careful_{name}({', '.join(texts)})"

    def text(self, quick: bool) -> list[str]:
        """The header, and the functions that the file calls."""
        names = ["vector_maths.h"] + ["vector_maths32.h"] * (self.dtype == "float32")
        included = "".join(_header(name) for name in names)
        included = included.replace('#include "vector_maths.h"\n', "")
        # a file may call few of them, and a compiler that warns of the others is not to blame
        included = included.replace(ALWAYS_INLINE, "__attribute__((always_inline, unused))")
        return [included, *self._doors(self.called, quick)]

    def _doors(self, names: Collection[str], quick: bool) -> list[str]:
        vector, upper, careful = PREFIXES[self.dtype]
        found = []
        for name in names:
            count = self.functions[name]
            inside = ", ".join("xy"[:count])
            given = ", ".join(f"{self.real} {letter}" for letter in "xy"[:count])
            out = f"{upper}_OUT_{name.upper()}({inside})"
            top = 31 if self.dtype == "float32" else 63
            found.append(
                f"VM_INLINE {self.real} careful_{name}({given})\n{{\n"
                f"    return {out} >> {top} ? {careful}_{name}({inside})"
                f" : {vector}_{name}({inside});\n}}\n"
            )
            if quick:
                found.append(
                    f"VM_INLINE {self.real} quick_{name}({given}, {self.flags} *out)\n{{\n"
                    f"    *out |= {out};\n    return {vector}_{name}({inside});\n}}\n"
                )
        return found
