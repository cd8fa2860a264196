"""Prints the page of matrix identities from tests/identities.py.

python docs/make_identities.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from identities import IDENTITIES, Identity  # noqa: E402

import graphc as gc  # noqa: E402

HEAD = """# Matrix-calculus identities

Each line was derived by graphc from the formula in the second column; nothing was typed in. Tests
check the text of every derivative, its value against 80-digit central differences, and that NumPy
computes the derivative from the printed text. A derivative of a scalar has the shape of what it is
taken by; a Jacobian has the shape of `f`, then that of the variable (numerator layout). `f` is the
value itself. Lines marked * are those for which SymPy 1.14 answers 0.
"""


def derivative(identity: Identity) -> Any:
    g = gc.parse(identity.text)
    if identity.group == "Hessians":
        return g.hessian("f", identity.wrt)
    return g.derivative("f", identity.wrt)


def line(identity: Identity) -> str:
    result = derivative(identity)
    mark = " *" if "SymPy" in identity.title else ""
    title = identity.title.partition(" (SymPy")[0]
    by = f"`{identity.wrt}`" + (" twice" if identity.group == "Hessians" else "")
    latex = result.latex().replace("|", r"\vert ")
    return f"| {title}{mark} | `{identity.formula}` | {by} | `{result}` | ${latex}$ |"


def page() -> str:
    parts = [HEAD]
    for group in dict.fromkeys(identity.group for identity in IDENTITIES):
        parts.append(f"\n## {group}\n")
        parts.append("\n| | f | by | NumPy | |\n|---|---|---|---|---|\n")
        parts += [line(identity) + "\n" for identity in IDENTITIES if identity.group == group]
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page())
