"""Random graphs for hypothesis: as text with a point to evaluate them at, and as bare edges."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

import graphc as gc

# A formula's degree bounds the bits of its value: exact results stay fractions up to here.
HIGHEST_DEGREE = 24
ANALYTIC = ("sin", "cos", "exp", "tanh", "sigmoid", "softplus", "atan", "silu", "gelu", "erf")
KINKED = ("relu", "abs", "hardtanh", "sign", "heaviside", "leaky_relu", "max", "min", "where")


@dataclass(frozen=True)
class Case:
    """A graph as text, and a point."""

    text: str
    at: dict[str, Fraction]

    @property
    def graph(self) -> gc.Graph:
        return gc.parse(self.text)

    def formulas(self) -> dict[str, str]:
        """{node: right-hand side} of the nodes that are not leaves, in order."""
        lines = [line.split(" = ") for line in self.text.splitlines() if " = " in line]
        return dict(lines)

    def floats(self) -> dict[str, float]:
        return {name: float(value) for name, value in self.at.items()}


fractions = st.builds(Fraction, st.integers(-9, 9), st.integers(1, 5))


@st.composite
def formulas(draw, degrees: dict[str, int], functions: tuple[str, ...]) -> tuple[str, int]:
    """A formula over the names so far, fully bracketed, and its degree."""

    def leaf() -> tuple[str, int]:
        if draw(st.integers(0, 6)) == 6:
            return draw(st.sampled_from(["2", "3", "1/2", "0.3", "(-2)"])), 0
        name = draw(st.sampled_from([*names, *names[-3:], *names[-3:]]))  # deep, not only wide
        return name, degrees[name]

    names = list(degrees)
    text, degree = leaf()
    for _ in range(draw(st.integers(1, 4))):
        other, more = (text, degree) if draw(st.integers(0, 5)) == 5 else leaf()
        kind = draw(st.sampled_from([*"+-*/^n", *("fff" if functions else "")]))
        if kind == "f":
            text = _applied(draw(st.sampled_from(functions)), text, other, leaf()[0])
            degree = max(degree, more)
        elif kind == "n":
            text = f"-({text})"
        elif kind in "+-":
            text, degree = f"({text}) {kind} ({other})", max(degree, more)
        elif kind == "^" and 3 * degree <= HIGHEST_DEGREE:
            power = draw(st.sampled_from([0, 1, 2, 3, -1, -2]))
            if power < 0:  # a base that is never 0
                text, degree = f"(({text})**2 + 1)**{power}", 2 * degree
            else:
                text = f"({text})**{power}"
            degree *= max(abs(power), 1)
        elif kind == "*" and degree + more <= HIGHEST_DEGREE:
            text, degree = f"({text})*({other})", degree + more
        elif kind == "/" and degree + 2 * more <= HIGHEST_DEGREE:
            text, degree = f"({text})/(({other})**2 + 1)", degree + 2 * more
    return text, degree


def _applied(function: str, a: str, b: str, c: str) -> str:
    if function == "where":
        return f"where({c} > 0, {a}, 2*({b}))"
    if function in ("max", "min"):
        return f"{function}({a}, {b})"
    return f"{function}({a})"


@st.composite
def graphs(draw, functions: tuple[str, ...] = (), most: int = 8) -> Case:
    """A DAG with shared weights, repeated operands, constants, dead ends and several outputs."""
    inputs = [f"x{i}" for i in range(1, draw(st.integers(1, 3)) + 1)]
    params = [f"w{i}" for i in range(1, draw(st.integers(1, 2)) + 1)]
    lines = [f"input {' '.join(inputs)}", f"param {' '.join(params)}"]
    degrees = dict.fromkeys([*inputs, *params], 1)
    nodes = [f"n{i}" for i in range(1, draw(st.integers(1, most)) + 1)]
    for node in nodes:
        if draw(st.integers(0, 11)) == 11:
            formula, degree = draw(st.sampled_from([("2/3", 0), ("-5", 0), ("0", 0)]))
        else:
            formula, degree = draw(formulas(degrees, functions))
        lines.append(f"{node} = {formula}")
        degrees[node] = degree
    if draw(st.booleans()):
        chosen = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3, unique=True))
        lines.append(f"output {' '.join(chosen)}")
    at = {name: draw(fractions) for name in [*inputs, *params]}
    return Case("\n".join(lines), at)


@st.composite
def multigraphs(draw, most: int = 7) -> list[tuple[str, str, Fraction]]:
    """Edges (source, target, z) of a DAG in which parallel edges occur."""
    size = draw(st.integers(2, most))
    pairs = st.tuples(st.integers(0, size - 2), st.integers(1, size - 1)).filter(
        lambda pair: pair[0] < pair[1]
    )
    found = draw(st.lists(st.tuples(pairs, fractions), min_size=1, max_size=14))
    return [(f"v{i}", f"v{j}", z) for (i, j), z in found]
