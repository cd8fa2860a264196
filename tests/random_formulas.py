"""Random formulas of scalars, vectors and matrices, bracketed so that they mean one thing only."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

INPUTS = "input a b x[3] y[3] A[3,3] B[3,3]"
SHAPES: dict[str, tuple[int, ...]] = {
    "a": (),
    "b": (),
    "x": (3,),
    "y": (3,),
    "A": (3, 3),
    "B": (3, 3),
}
ATOMS = {
    "s": ["a", "b", "2", "3/7", "-2", "-0.5", "-1/3", "pi"],
    "v": ["x", "y", "x", "y", "[1, -2, 3]", "[0.5, 2, -1]"],
    "m": ["A", "B", "A", "B", "[[1, -2, 0.5], [-3, 3, 1], [2, 1, -1]]"],
}
# kinds of operands, and formulas of them: a bare operand that is not an atom is bracketed
RULES: dict[str, list[tuple[str, str]]] = {
    "s": [
        *(("ss", f"{{0}} {operator} {{1}}") for operator in "+-*/"),
        *(("s", text) for text in ("-{0}", "-{0}", "{0}**2", "{0}**-1", "sin({0})", "tanh({0})")),
        ("s", "2**{0}"),
        ("ss", "abs({0})**tanh({1})"),
        ("vv", "{0} @ {1}"),
        *(("v", text) for text in ("sum({0})", "{0}[1]", "norm({0})")),
        *(("m", text) for text in ("sum({0})", "trace({0})", "{0}[1, 2]", "mean({0})")),
        ("ssss", "where({0} > {1}, {2}, {3})"),
        ("ss", "where({0} > {1}, 1, 0)"),
    ],
    "v": [
        *(("vv", f"{{0}} {operator} {{1}}") for operator in "+-*/"),
        *(("sv", f"{{0}} {operator} {{1}}") for operator in "+-*/"),
        *(("vs", f"{{0}} {operator} {{1}}") for operator in "*/"),
        *(("v", text) for text in ("-{0}", "-{0}", "{0}**2", "{0}**-1", "sin({0})", "tanh({0})")),
        ("v", "{0}*(-2)**[1, 2, 3]"),
        *(("mv", "{0} @ {1}") for _ in range(4)),
        *(("vm", "{0} @ {1}") for _ in range(2)),
        *(("m", text) for text in ("{0}[1]", "{0}[:, 0]", "sum({0}, axis=0)", "diag({0})")),
        ("vvvv", "where({0} > {1}, {2}, {3})"),
        ("vvv", "where({0} > {1}, {2}, 0)"),
        ("vv", "where({0} > {1}, 1, 0)"),
        ("v", "relu({0})"),
        ("v", "softmax({0})"),
    ],
    "m": [
        *(("mm", f"{{0}} {operator} {{1}}") for operator in "+-*/@@@@"),
        *(("sm", "{0} * {1}") for _ in range(3)),
        *(("ms", f"{{0}} {operator} {{1}}") for operator in "*/"),
        *(("mv", f"{{0}} {operator} {{1}}") for operator in "*+"),
        *(("vm", f"{{0}} {operator} {{1}}") for operator in "*-"),
        *(("m", text) for text in ("-{0}", "-{0}", "{0}**2", "{0}**-1", "sin({0})", "tanh({0})")),
        *(("m", "{0}.T") for _ in range(3)),
        ("vv", "outer({0}, {1})"),
        ("v", "diag({0})"),
        ("mm", "where({0} > {1}, 1, 0)"),
        ("mmm", "where({0} > {1}, {2}, 0)"),
        ("m", "relu({0})"),
    ],
}


Rules = Mapping[str, Sequence[tuple[str, str]]]
SCALAR = {  # what the reader of LaTeX knows
    "s": [
        (operands, text)
        for operands, text in RULES["s"]
        if set(operands) == {"s"} and "where" not in text and "abs" not in text
    ]
}


def formula(rng: random.Random, kind: str, depth: int, rules: Rules = RULES) -> str:
    """A formula of a kind: s, v or m for a scalar, a vector, a matrix."""
    if not depth or rng.random() < 0.15:
        atom = rng.choice(ATOMS[kind])
        return f"({atom})" if atom[0] == "-" or "/" in atom else atom
    operands, text = rng.choice(rules[kind])
    parts = [formula(rng, operand, depth - 1, rules) for operand in operands]
    return "(" + text.format(*parts) + ")"
