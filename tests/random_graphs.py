"""Random graphs from a seed: rational formulas with kinks, choices, stops and own derivatives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import graphc as gc

POINTS = [Fraction(n, d) for n in range(-3, 4) for d in (1, 2)]  # 0 and 1 are likely: kinks
KINKED = ("relu", "abs", "hardtanh", "sign", "heaviside", "leaky_relu", "square")
SMOOTH = ("sin", "cos", "exp", "tanh", "sigmoid", "softplus", "atan", "silu", "gelu", "erf")
MOST_FACTORS = 12  # degree of a formula: exact values stay fractions


@dataclass(frozen=True)
class Case:
    """A graph as text, what to ask of it, and a point."""

    text: str
    of: list[str]
    wrt: list[str]
    at: dict[str, Fraction]
    tangents: dict[str, Fraction] = field(default_factory=dict)

    @property
    def graph(self) -> gc.Graph:
        return gc.parse(self.text)

    def floats(self) -> dict[str, float]:
        return {name: float(value) for name, value in self.at.items()}


class Formulas:
    """Writes formulas over the names so far, of bounded degree."""

    def __init__(self, rng: random.Random, functions: tuple[str, ...]) -> None:
        self.rng = rng
        self.functions = functions
        self.degrees: dict[str, int] = {}

    def leaf(self) -> tuple[str, int]:
        if self.rng.random() < 0.15:
            return self.rng.choice(["2", "3", "1/2", "0.3", "(-2)", "0", "1", "(-1)"]), 0
        names = list(self.degrees)
        name = self.rng.choice([*names, *names[-3:], *names[-3:]])  # deep, not only wide
        return name, self.degrees[name]

    def formula(self) -> tuple[str, int]:
        text, degree = self.leaf()
        for _ in range(self.rng.randint(1, 4)):
            text, degree = self.step(text, degree)
        return text, degree

    def step(self, a: str, degree: int) -> tuple[str, int]:
        """A longer formula around this one."""
        rng = self.rng
        b, more = (a, degree) if rng.random() < 0.15 else self.leaf()
        kind = rng.choice(["+", "-", "*", "/", "power", "-x", "f", "f", "max", "where", "stop"])
        if kind in "+-":
            return f"({a}) {kind} ({b})", max(degree, more)
        if kind == "*" and degree + more <= MOST_FACTORS:
            return f"({a})*({b})", degree + more
        if kind == "/" and degree + 2 * more <= MOST_FACTORS:
            return f"({a})/(({b})**2 + 1)", degree + 2 * more
        if kind == "power" and 3 * degree <= MOST_FACTORS:
            power = rng.choice([0, 1, 2, 3, -1, -2])
            base = f"({a})" if power >= 0 else f"(({a})**2 + 1)"  # a base that is never 0
            return f"{base}**{power}", degree * max(abs(power), 1) * (2 if power < 0 else 1)
        if kind == "f":
            return f"{rng.choice(self.functions)}({a})", 2 * degree
        if kind == "max":
            return f"{rng.choice(['max', 'min'])}({a}, {b})", max(degree, more)
        if kind == "where":
            sign = rng.choice(["<", "<=", ">", ">=", "==", "!="])
            return f"where({self.leaf()[0]} {sign} {self.leaf()[0]}, {a}, 2*({b}))", max(
                degree, more
            )
        if kind == "stop":
            return f"({a}) + stop({b})", max(degree, more)
        return f"-({a})", degree


def case(seed: int, functions: tuple[str, ...] = KINKED, most: int = 7) -> Case:
    """A DAG with shared weights, constants, dead ends, own derivatives and several outputs."""
    rng = random.Random(seed)
    inputs = [f"x{i}" for i in range(1, rng.randint(1, 3) + 1)]
    params = [f"w{i}" for i in range(1, rng.randint(1, 2) + 1)]
    lines = [f"input {' '.join(inputs)}", f"param {' '.join(params)}"]
    formulas = Formulas(rng, functions)
    formulas.degrees = dict.fromkeys([*inputs, *params], 1)
    nodes = [f"n{i}" for i in range(1, rng.randint(2, most) + 1)]
    for node in nodes:
        if rng.random() < 0.08:
            lines.append(f"{node} = {rng.choice(['2/3', '-5', '0'])}")
            formulas.degrees[node] = 0
            continue
        text, degree = formulas.formula()
        lines.append(f"{node} = {text}")
        if rng.random() < 0.1:
            sources = gc.parse("\n".join(lines))[node].parents
            if sources:
                lines.append(f"d {node} / d {rng.choice(sources)} = {formulas.leaf()[0]}*2 + 1")
        formulas.degrees[node] = degree
    leaves = [*inputs, *params]
    at = {name: rng.choice(POINTS) for name in leaves}
    tangents = {name: rng.choice(POINTS) for name in leaves}
    of = list(dict.fromkeys([nodes[-1], rng.choice(nodes)]))
    wrt = rng.sample(leaves, rng.randint(1, len(leaves)))
    return Case("\n".join(lines), of, wrt, at, tangents)


def cases(count: int, functions: tuple[str, ...] = KINKED, start: int = 0) -> Iterator[Case]:
    """So many random graphs."""
    return (case(seed, functions) for seed in range(start, start + count))
