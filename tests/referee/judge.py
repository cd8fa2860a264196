"""The judgement: every route and oracle beside the 50-digit values of the interpreter."""

from __future__ import annotations

import random
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

import graphc as gc
from graphc.errors import KinkWarning
from graphc.native import memory

from . import native, oracles  # noqa: F401 - native adds its routes and laws
from .case import Answers, Case, case_of
from .laws import LAWS
from .model import Model
from .routes import ROUTES, Route

REFERENCES = {  # what the others are compared with, the best first
    "digits": 0,
    "digits, second": 1,
    "interpreter": 2,
    "interpreter, second": 3,
}
SECOND_OPINIONS = 0.3  # of the cases: libraries give second derivatives too
REFUSALS = (  # sentences with which a route may refuse a graph that was declared
    "sparse derivative",
    "nothing to untie",
    "cannot both be held as inputs",
    "holds a value that is not finite",
    "the symbolic result would take",  # more characters than can be read
    "cannot be written as text",
)


@dataclass(frozen=True)
class Difference:
    """What two opinions differ in."""

    route: str
    what: str
    found: str
    expected: str

    @property
    def kind(self) -> tuple[str, str]:
        """What stays the same while a case is made smaller."""
        return self.route, self.what if self.what in ("crash", "refusal") else "number"

    def __str__(self) -> str:
        if self.what in ("crash", "refusal", "broken"):
            return f"{self.route}, {self.what}: {self.found}"
        return f"{self.route}, {self.what}:\n  found    {self.found}\n  expected {self.expected}"


@dataclass
class Record:
    """How much was compared, and what was refused."""

    numbers: Counter[str] = field(default_factory=Counter)  # by route
    refused: Counter[str] = field(default_factory=Counter)  # by route and sentence
    kinks: int = 0  # cases on a kink, where libraries have other conventions

    def add(self, other: Record) -> None:
        self.numbers.update(other.numbers)
        self.refused.update(other.refused)
        self.kinks += other.kinks


def differences(
    case: Case,
    model: Model | None = None,
    libraries: tuple[str, ...] = (),
    seed: int | None = None,
    record: Record | None = None,
    only: str | None = None,
) -> Iterator[Difference]:
    """Where the routes of a case disagree; without a seed every route is taken.

    With `only` that route, law or library is compared with the interpreter, and no other.
    """
    record = Record() if record is None else record
    rng = random.Random(f"routes {seed}")
    noise = _Noise(case)

    def is_taken(name: str, share: float) -> bool:
        drawn = seed is None or rng.random() < share
        return (name == only or name in REFERENCES) if only else drawn

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        expected: Answers = {}
        slack: dict[str, float] = {}  # the tolerance of the route that said so first
        routes = [route for route in ROUTES.values() if route.edge or not case.edge]
        taken = [route for route in routes if is_taken(route.name, route.share)]
        for route in sorted(taken, key=lambda route: REFERENCES.get(route.name, len(REFERENCES))):
            found = _answers(route, case, random.Random(f"{route.name} {seed}"), record)
            if isinstance(found, Difference):
                yield found
                continue
            record.numbers[route.name] += sum(np.size(v) for v in found.values())
            for what, number in found.items():
                if what not in expected:
                    # 50 digits where they were taken, which come first
                    expected[what], slack[what] = number, route.tolerance
                elif not noise.close(
                    what, number, expected[what], max(route.tolerance, slack[what])
                ):
                    yield Difference(route.name, what, _text(number), _text(expected[what]))
        on_kink = any(issubclass(w.category, KinkWarning) for w in told)
        record.kinks += on_kink
        for law in LAWS.values():
            if (case.edge and not law.edge) or not is_taken(law.name, law.share):
                continue
            try:
                broken = law.broken(case, random.Random(f"{law.name} {seed}"))
            except gc.GraphcError as error:
                if refusal := _refusal(law.name, error, record):
                    yield refusal
            except Exception:
                yield _crash(law.name)
            else:
                record.numbers[law.name] += 1
                if broken is not None:
                    yield Difference(law.name, "broken", broken, "")
        if model is not None and all(leaf.value.size for leaf in model.leaves):
            for library in libraries:
                if case.edge or (only is not None and only != library):
                    continue
                second = seed is None or rng.random() < SECOND_OPINIONS
                opinion = oracles.answers(library, model, second)
                for what, number in opinion.items():
                    if what not in expected or (on_kink and not what.startswith("value")):
                        continue
                    record.numbers[library] += np.size(number)
                    if not noise.close(what, number, expected[what], max(1e-8, slack[what])):
                        yield Difference(library, what, _text(expected[what]), _text(number))


def _answers(route: Route, case: Case, rng: random.Random, record: Record) -> Answers | Difference:
    try:
        return route.take(case, rng)
    except gc.GraphcError as error:
        return _refusal(route.name, error, record) or {}
    except Exception:
        return _crash(route.name)


def _refusal(name: str, error: gc.GraphcError, record: Record) -> Difference | None:
    """A refusal counts as a difference, unless it is one of the known limits."""
    record.refused[f"{name}: {error}"] += 1
    if any(sentence in str(error) for sentence in REFUSALS):
        return None
    return Difference(name, "refusal", str(error), "no refusal")


def _crash(name: str) -> Difference:
    lines = traceback.format_exc(limit=-2).strip().splitlines()
    return Difference(name, "crash", "\n    ".join(lines[-5:]), "no exception")


def _text(value: Any) -> str:
    return np.array2string(np.asarray(value, dtype=float), precision=8, threshold=40).replace(
        "\n", ""
    )


class _Noise:
    """How far rounding may move the answers of a case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._moved: Answers | None = None
        self._plain: Answers = {}

    def close(self, what: str, found: Any, expected: Any, tolerance: float) -> bool:
        """Whether two numbers are one, but for rounding."""
        a, b = _floats(found), _floats(expected)
        if a.shape != b.shape:
            return False
        if not a.size:
            return True
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        finite = np.isfinite(a) & np.isfinite(b)
        if np.any(~finite & ~same):
            return False
        scale = 1 + np.max(np.abs(b[finite]), initial=0.0)
        error = np.max(np.abs(a - b)[finite], initial=0.0)
        if self.case.edge and what.startswith("value") and error == 0:
            return bool(np.all(np.isnan(a) | (np.signbit(a) == np.signbit(b))))
        if error <= tolerance * scale:
            return True
        return bool(error <= tolerance * scale + tolerance * 1e3 * self.sensitivity(what))

    def sensitivity(self, what: str) -> float:
        """How fast an answer changes with the point, measured by the interpreter."""
        if self._moved is None:
            route, rng = ROUTES["interpreter"], random.Random(0)
            step = 1e-6
            moved = {
                name: value * (1 + step) if np.ndim(value) else float(value) * (1 + step)
                for name, value in self.case.at.items()
            }
            other = Case(self.case.text, moved, self.case.loss, self.case.node, self.case.wrt)
            try:
                self._plain = route.take(self.case, rng)
                self._moved = route.take(other, rng)
            except gc.GraphcError:
                self._moved = {}
        if what not in self._moved or what not in self._plain:
            return 0.0
        change = np.abs(_floats(self._moved[what]) - _floats(self._plain[what])) / 1e-6
        return float(np.max(change, initial=0.0))


def _floats(value: Any) -> np.ndarray:
    return np.asarray(value, dtype=float)


def judged(
    model: Model, libraries: tuple[str, ...], seed: int | None, record: Record | None = None
) -> list[Difference]:
    """Every difference that a model shows."""
    with patch.object(memory, "SMALL", 1):  # memory that is left serves results of any size
        return list(differences(case_of(model), model, libraries, seed, record))
