"""Labelled cases for check_function: functions and claims whose truth is known to 50 digits.

Every function is a sum of terms A*g(k*(x - c)) with sizes A and 1/k of many orders, plus what makes
it hard: an offset, cancellation, noise, a kink, float32, other terms of other sizes, thousands of
coordinates, a claim of another shape, no time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np

# {name: (function, derivative)}; m is numpy or mpmath
SHAPES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "sin": (lambda m, u: m.sin(u), lambda m, u: m.cos(u)),
    "bump": (lambda m, u: m.exp(-u * u), lambda m, u: -2 * u * m.exp(-u * u)),
    "odd bump": (lambda m, u: u * m.exp(-u * u), lambda m, u: (1 - 2 * u * u) * m.exp(-u * u)),
    "tanh": (lambda m, u: m.tanh(u), lambda m, u: 1 - m.tanh(u) ** 2),
    "peak": (lambda m, u: 1 / (1 + u * u), lambda m, u: -2 * u / (1 + u * u) ** 2),
    "root": (lambda m, u: m.sqrt(1 + u * u), lambda m, u: u / m.sqrt(1 + u * u)),
    "square": (lambda m, u: u * u, lambda m, u: 2 * u),
    "cube": (lambda m, u: u * u * u, lambda m, u: 3 * u * u),
    "exp": (lambda m, u: m.exp(u), lambda m, u: m.exp(u)),
    "line": (lambda m, u: u, lambda m, u: 1 + 0 * u),
}
GROWING = ("square", "cube", "exp", "line")  # the others have no more than their size A to show


@dataclass(frozen=True)
class Term:
    """A*g(k*(x - c))."""

    name: str
    size: float
    rate: float
    centre: float

    def value(self, x: Any) -> Any:
        return self.size * SHAPES[self.name][0](np, self.rate * (x - self.centre))

    def slope(self, x: float) -> float:
        """The derivative, rounded once."""
        with mpmath.workdps(50):
            size, rate, centre = (mpmath.mpf(n) for n in (self.size, self.rate, self.centre))
            exact = size * rate * SHAPES[self.name][1](mpmath, rate * (mpmath.mpf(x) - centre))
            return float(exact)

    def shows(self, rounding: float) -> bool:
        """Whether it can be told from the rounding of the values at all."""
        return self.name in GROWING or abs(self.size) > 100 * rounding


@dataclass(frozen=True)
class FunctionCase:
    """A function, a claim, and the truth as the whole Jacobian."""

    family: str
    label: str  # right or wrong
    function: Callable[..., Any]
    claimed: Any  # array, {name: array}, or tuple
    true: dict[str, Any]  # {argument: array (outputs..., elements...)}
    at: Any
    options: dict[str, Any] = field(default_factory=dict)

    def gradient(self, *_: Any, **__: Any) -> Any:
        return self.claimed

    def hides(self, report: Any) -> bool:
        """Whether a number that was called correct is off by more than the bound that was given."""
        return any(
            self.error(row.name, row.index, row.derived) > row.bound * (1 + 1e-12)
            for row in report.rows
            if row.verdict in ("correct", "near-kink") and row.index is not None
        )

    def error(self, name: str, index: Any, derived: float) -> float:
        """How far a claimed number is from the truth."""
        true = np.asarray(self.true[name], float)
        place = tuple(index)
        if len(place) < true.ndim:  # one index of a claim for the diagonal of a Jacobian
            place = place + place
        return abs(derived - float(true[place]))


def term(rng: Any, calm: bool = False) -> Term:
    """A random term: calm ones have ordinary sizes."""
    name = str(rng.choice(list(SHAPES)))
    centre = float(rng.choice([0.0, 1.0, rng.normal()]))
    if calm:
        return Term(name, float(rng.choice([-1, 1])), float(rng.uniform(0.5, 2)), centre)
    size = float(rng.choice([-1, 1]) * 10.0 ** rng.choice([0, rng.uniform(-6, 6)]))
    return Term(name, size, float(10.0 ** rng.choice([0, rng.uniform(-3, 8)])), centre)


def place(rng: Any, terms: list[Term]) -> float:
    """A point where one of the terms has something to show."""
    chosen = terms[rng.integers(len(terms))]
    return float(chosen.centre + rng.choice([0.0, 1.0, 1.0, 1.0]) * rng.normal() / chosen.rate)


def spoilt(rng: Any, true: float) -> float:
    """Another number than the true one."""
    tenth = 10.0 ** -float(rng.integers(1, 8))
    options = (0.0, -true, 7 * true, true / 2, true + rng.normal(), true * (1 + tenth))
    found = float(options[rng.choice(6, p=[0.12, 0.12, 0.12, 0.12, 0.12, 0.4])])
    return found if found != true else true + 1.0


def pairs(
    rng: Any, family: str, function: Any, true: float, at: Any, kind: Any = float
) -> Iterator[FunctionCase]:
    """A right and a wrong case of a function of one number, unless it overflows there."""
    if not np.isfinite(true):
        return
    for label, claim in (("right", true), ("wrong", spoilt(rng, true))):
        yield FunctionCase(family, label, function, kind(claim), {"x": true}, at)


# The families: each yields the cases of one function.


def alone(rng: Any, calm: bool = False) -> Iterator[FunctionCase]:
    terms = [term(rng, calm) for _ in range(rng.integers(1, 4))]
    x, f = place(rng, terms), lambda x: sum(part.value(x) for part in terms)
    yield from pairs(rng, "smooth" if calm else "narrow", f, sum(t.slope(x) for t in terms), x)


def calm(rng: Any) -> Iterator[FunctionCase]:
    yield from alone(rng, calm=True)


def forgotten(rng: Any) -> Iterator[FunctionCase]:
    """A narrow feature on a smooth function, and the slope of the smooth one alone."""
    name = str(rng.choice(["bump", "odd bump", "tanh", "peak"]))
    feature = Term(name, float(10.0 ** rng.uniform(-3, 1)), float(10.0 ** rng.uniform(0, 8)), 1.0)
    x = 1 + float(rng.choice([0.3, -0.5, 1.1])) / feature.rate
    true = float(np.cos(x) + feature.slope(x))
    for label, claim in (("right", true), ("wrong", float(np.cos(x)))):
        f = lambda x: np.sin(x) + feature.value(x)  # noqa: E731
        yield FunctionCase("forgotten feature", label, f, claim, {"x": true}, x)


def offset(rng: Any) -> Iterator[FunctionCase]:
    terms = [term(rng) for _ in range(rng.integers(1, 4))]
    shift, x = float(10.0 ** rng.uniform(0, 16)), place(rng, terms)
    f = lambda x: shift + sum(part.value(x) for part in terms)  # noqa: E731
    if all(part.shows(np.spacing(abs(f(x)))) for part in terms):
        yield from pairs(rng, "offset", f, sum(part.slope(x) for part in terms), x)


def cancelling(rng: Any) -> Iterator[FunctionCase]:
    terms = [term(rng, True) for _ in range(rng.integers(1, 3))]
    shift, x = float(10.0 ** rng.uniform(3, 13)), place(rng, terms)
    f = lambda x: (shift + sum(part.value(x) for part in terms)) - shift  # noqa: E731
    if all(part.shows(np.spacing(shift)) for part in terms) and f(x + 0.05) != f(x) != f(x - 0.05):
        yield from pairs(rng, "cancelling", f, sum(part.slope(x) for part in terms), x)


def noisy(rng: Any) -> Iterator[FunctionCase]:
    terms = [term(rng, True) for _ in range(rng.integers(1, 3))]
    level, x = float(10.0 ** rng.uniform(-12, -3)), place(rng, terms)
    chance = np.random.default_rng(1)
    f = lambda x: sum(part.value(x) for part in terms) + level * chance.normal()  # noqa: E731
    yield from pairs(rng, "noisy", f, sum(part.slope(x) for part in terms), x)


def single(rng: Any) -> Iterator[FunctionCase]:
    """float32 in and out."""
    terms = [term(rng, True) for _ in range(rng.integers(1, 4))]
    x = np.float32(place(rng, terms))
    f = lambda x: np.float32(sum(part.value(float(x)) for part in terms))  # noqa: E731
    true = sum(part.slope(float(x)) for part in terms)
    yield from pairs(rng, "float32", f, true, x, lambda claim: float(np.float32(claim)))


def kinked(rng: Any) -> Iterator[FunctionCase]:
    """At some distance from a kink: the slope here, that of the other side, and another one."""
    below, above, size = float(rng.normal()), float(rng.normal()), float(10.0 ** rng.uniform(-6, 6))
    smooth, centre = term(rng, True), float(rng.choice([0.0, 1.0, rng.normal()]))
    x = centre + float(rng.choice([-1, 1])) * 10.0 ** -float(rng.integers(0, 9))

    def f(x: Any) -> Any:
        return size * (np.where(x > centre, above, below) * (x - centre) + smooth.value(x))

    here, there = (above, below) if x > centre else (below, above)
    true, other = (size * (side + smooth.slope(x)) for side in (here, there))
    yield from pairs(rng, "near a kink", f, true, x)
    yield FunctionCase("other side of a kink", "wrong", f, other, {"x": true}, x)


def apart(rng: Any) -> Iterator[FunctionCase]:
    """Elements of many sizes and scales in one sum, as an array or by name."""
    terms = [term(rng) for _ in range(rng.integers(2, 6))]
    x = np.array([place(rng, [part]) for part in terms])
    f = lambda x: sum(part.value(x[i]) for i, part in enumerate(terms))  # noqa: E731
    true = np.array([part.slope(float(here)) for part, here in zip(terms, x, strict=True)])
    if not np.isfinite(true).all() or not all(t.shows(np.spacing(abs(f(x)))) for t in terms):
        return
    wrong, k = true.copy(), int(rng.integers(len(terms)))
    wrong[k] = spoilt(rng, wrong[k])
    names = [f"v{i}" for i in range(len(terms))]
    for label, claim in (("right", true), ("wrong", wrong)):
        yield FunctionCase("scales apart", label, f, claim, {"x": true}, x)
        named = lambda **at: f([at[name] for name in names])  # noqa: E731
        truth = dict(zip(names, true, strict=True))
        at = dict(zip(names, x, strict=True))
        yield FunctionCase("by name", label, named, tuple(claim), truth, at)


def exponentials(rng: Any) -> Iterator[FunctionCase]:
    x = np.array([-1.0, 0.0, 1.0]) * rng.uniform(20, 300) + rng.normal(size=3)
    true, wrong = np.exp(x), np.exp(x)
    wrong[rng.integers(3)] *= float(rng.choice([0.0, 7.0, -1.0]))
    for label, claim in (("right", true), ("wrong", wrong)):
        yield FunctionCase("exponentials", label, lambda x: np.exp(x).sum(), claim, {"x": true}, x)


def matrices(rng: Any) -> Iterator[FunctionCase]:
    """Jacobians, and claims of the shape of the value: right where the Jacobian is diagonal."""
    n, terms = int(rng.integers(2, 5)), [term(rng, True) for _ in range(4)]
    x = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 1)
    slopes = np.array([terms[i].slope(float(x[i])) for i in range(n)])
    mixing = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-4, 4, size=(n, 1))
    each = lambda x: np.array([terms[i].value(x[i]) for i in range(n)])  # noqa: E731
    for kind, f, true in (
        ("Jacobian", lambda x: mixing @ each(x), mixing * slopes),
        ("element-wise", each, np.diag(slopes)),
        ("softmax", softmax, np.diag(softmax(x)) - np.outer(softmax(x), softmax(x))),
    ):
        yield FunctionCase(kind, "right", f, true, {"x": true}, x)
        wrong, (i, j) = true.copy(), rng.integers(n, size=2)
        wrong[i, j] = spoilt(rng, wrong[i, j])
        yield FunctionCase(kind, "wrong", f, wrong, {"x": true}, x)
        label = "right" if kind == "element-wise" else "wrong"
        yield FunctionCase(f"diagonal of a {kind}", label, f, np.diag(true), {"x": true}, x)


def softmax(x: Any) -> Any:
    raised = np.exp(x - np.max(x))
    return raised / raised.sum()


def crowds(rng: Any) -> Iterator[FunctionCase]:
    """More coordinates than are taken one by one, in float64 and float32, with an offset or not."""
    count, size = int(rng.integers(2_001, 4_000)), float(10.0 ** rng.uniform(-2, 2))
    for kind, most in ((np.float64, 12), (np.float32, 4)):
        x, weights = (rng.normal(size=count) * size).astype(kind), rng.uniform(0.5, 2, count)
        f = crowd(weights, size, float(rng.choice([0.0, 10.0 ** rng.uniform(0, most)])), kind)
        true = weights * (1 - np.tanh(x.astype(float) / size) ** 2) / size
        wrong = true.copy()
        wrong[rng.integers(count)] *= float(rng.choice([-1.4, 3.4]))
        for label, claim in (("right", true), ("wrong", wrong), ("wrong", 3.4 * true)):
            family = f"many {kind.__name__}"
            yield FunctionCase(family, label, f, claim.astype(kind), {"x": true}, x)


def crowd(weights: Any, size: float, shift: float, kind: Any) -> Callable[[Any], Any]:
    """A sum over many coordinates, in floats of a kind."""

    def f(x: Any) -> Any:
        parts = (weights * np.tanh(x / size)).astype(kind)
        return kind(parts.sum(dtype=kind) + kind(shift))

    return f


def hurried(rng: Any) -> Iterator[FunctionCase]:
    """No time, or few evaluations: the least that is measured is a direction."""
    x = rng.normal(size=5)
    options = {"seconds": 0} if rng.integers(2) else {"max_evals": 6}
    for factor in (1.0, 1.5, -1.0):
        label = "right" if factor == 1 else "wrong"
        yield FunctionCase(
            *("hurried", label, lambda x: np.sin(x).sum(), factor * np.cos(x)),
            *({"x": np.cos(x)}, x, options),
        )


FAMILIES: tuple[tuple[Callable[[Any], Iterator[FunctionCase]], int], ...] = (
    *((alone, 60), (calm, 40), (forgotten, 40), (offset, 60), (cancelling, 40), (noisy, 25)),
    *((single, 40), (kinked, 40), (apart, 30), (exponentials, 20), (matrices, 20), (crowds, 10)),
    (hurried, 10),
)


def function_cases(seed: int = 0) -> list[FunctionCase]:
    """All cases, the same for the same seed."""
    return [
        case
        for number, (family, count) in enumerate(FAMILIES)
        for turn in range(count)
        for case in family(np.random.default_rng([seed, number, turn]))
    ]
