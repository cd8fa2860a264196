"""Every record of the table as a graph of one node, and the points where it is tried."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from typing import Any

import mpmath
import sympy

import graphc as gc
from graphc.algebra.symbols import Bracket, real
from graphc.table.functions import FUNCTIONS, Function

CONDITIONS = [name for name, record in FUNCTIONS.items() if record.binding == 0]


INTERNAL = ["pi", "stop", "taken", "untaken", *CONDITIONS]  # not functions of numbers alone


TINY, HUGE = 1e-20, 1e8


# o*(1 - o), 1 - o**2 and 1 + erf(x): their tails vanish against 1, an error of an ulp of 1
SATURATING = ("sigmoid", "tanh", "gelu")


@dataclass(frozen=True)
class Probe:
    """One record applied to as many inputs as its domain has intervals."""

    name: str
    record: Function
    build: Callable[..., Any]

    @property
    def inputs(self) -> list[str]:
        return [f"u{i}" for i in range(len(self.record.domain))]

    @cached_property
    def graph(self) -> gc.Graph:
        g = gc.Graph(self.name)
        g.node("y", self.build(*(g.input(name) for name in self.inputs)))
        return g

    @cached_property
    def formula(self) -> Any:
        """The record's formula for SymPy, with every choice written as a Piecewise."""
        expr = real(self.graph["y"].expr)
        for kind in (Bracket, sympy.Max, sympy.Min, sympy.Abs, sympy.sign):
            expr = expr.replace(kind, lambda *args, kind=kind: kind(*args).rewrite(sympy.Piecewise))
        return expr

    @cached_property
    def symbols(self) -> list[Any]:
        return [sympy.Symbol(name, real=True) for name in self.inputs]

    @cached_property
    def value(self) -> Callable[..., Any]:
        return sympy.lambdify(self.symbols, self.formula, "mpmath")

    @cached_property
    def slopes(self) -> list[Callable[..., Any]]:
        found = [sympy.diff(self.formula, symbol) for symbol in self.symbols]
        return [sympy.lambdify(self.symbols, slope, "mpmath") for slope in found]

    def at(self, point: tuple[float, ...]) -> dict[str, float]:
        return dict(zip(self.inputs, point, strict=True))

    def kinks(self, point: tuple[float, ...]) -> tuple[str, ...]:
        """The nodes on a kink there."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.graph.reverse("y", self.at(point)).kinks


def probes() -> list[Probe]:
    found = []
    for name, record in FUNCTIONS.items():
        if name in INTERNAL or record.origin == "user":
            continue
        if name == "power":
            for exponent in (0, 1, 2, 3, -1, -2, Fraction(1, 2), Fraction(5, 2)):
                found.append(Probe(f"power {exponent}", record, lambda x, n=exponent: x**n))
        elif name == "where":
            found.append(Probe(name, record, lambda c, a, b: gc.where(c > 0, a, b)))
        else:
            found.append(Probe(name, record, record))
    return found


PROBES = probes()


def inside(interval: tuple[float, float], seed: int) -> list[float]:
    """Ordinary points of an interval, always the same ones."""
    rng = random.Random(seed)
    low, high = (max(interval[0], -4.0), min(interval[1], 4.0))
    return [rng.uniform(low, high) for _ in range(6)]


def edges(interval: tuple[float, float]) -> list[float]:
    """Points where formulas break: the ends, 0, tiny and huge."""
    low, high = interval
    candidates = [0.0, TINY, -TINY, 1e-100, -1e-100, 1.0, -1.0, 30.0, -30.0, HUGE, -HUGE]
    for end in (low, high):
        if math.isfinite(end):
            candidates += [math.nextafter(end, 0.5 * (low + high) if high < math.inf else end + 1)]
            candidates += [end + 1e-10 if end == low else end - 1e-10]
    return [c for c in candidates if low < c < high]


@cache
def points(probe: Probe) -> tuple[tuple[float, ...], ...]:
    """Ordinary points, then edge points of one operand with ordinary others, then corners."""
    domain = probe.record.domain
    ordinary = list(zip(*(inside(interval, i) for i, interval in enumerate(domain)), strict=True))
    found = list(ordinary)
    for place, interval in enumerate(domain):
        for edge in edges(interval):
            found += [(*p[:place], edge, *p[place + 1 :]) for p in ordinary[:1]]
    if len(domain) == 2:
        found += list(product(*(edges(d)[:4] for d in domain)))
    return tuple(dict.fromkeys(found))


def referee(function: Callable[..., Any], point: tuple[float, ...]) -> Any:
    """The function at the exact value of the floats; None where it is not a finite real number."""
    with mpmath.workdps(700):  # the plain formulas cancel: 1 + 1e-300, 1 + erf(-30)
        try:
            value = function(*map(mpmath.mpf, point))
        except (ZeroDivisionError, ValueError, OverflowError):
            return None
        value = mpmath.mpmathify(value)
        if isinstance(value, mpmath.mpc) or not mpmath.isfinite(value):
            return None
        return +value if abs(value) < 1e300 else None


def ulps(found: float, truth: Any, least: float = 0.0) -> float:
    """The error in units of the last place of the true value."""
    unit = math.ulp(max(abs(float(truth)), least, 2.3e-308))
    return float(abs(mpmath.mpf(float(found)) - truth) / mpmath.mpf(float(unit)))


EXTREMES = [
    ("softplus", (800,)),
    ("softplus", (-800,)),
    ("softplus", (-40,)),
    ("log_sigmoid", (800,)),
    ("log_sigmoid", (-800,)),
    ("log_sigmoid", (40,)),
    ("logaddexp", (1e4, -1e4)),
    ("logaddexp", (-1e4, -1e4)),
    ("sigmoid", (800,)),
    ("sigmoid", (-800,)),
    ("sigmoid", (-700,)),
    ("silu", (-800,)),
    ("silu", (800,)),
    ("elu", (-1e4,)),
    ("elu", (1e4,)),
    ("elu", (-1e-20,)),
    ("selu", (-1e4,)),
    ("selu", (1e4,)),
    ("gelu", (-1e4,)),
    ("gelu", (1e4,)),
    ("expm1", (1e-20,)),
    ("log1p", (1e-20,)),
    ("tanh", (800,)),
    ("erf", (1e4,)),
]
