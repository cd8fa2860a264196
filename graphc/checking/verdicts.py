"""Rows: one derivative each, what was derived, what was measured, and the verdict."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

CORRECT, WRONG, AT_KINK, NEAR_KINK, ILL, NOISE, NOT_FINITE = (
    *("correct", "wrong", "at-kink", "near-kink", "ill-conditioned", "float-noise", "not-finite"),
)
# From the best news to the worst: the verdict of a report is the worst of its rows.
SEVERITY = (CORRECT, NEAR_KINK, AT_KINK, ILL, NOISE, NOT_FINITE, WRONG)
FAILING = (WRONG, NOT_FINITE)
SMOOTH_LIMIT, KINK_LIMIT = 1e-6, 1e-3  # the textbook's thresholds for rho


class Index(tuple[int, ...]):
    """The place of an element; with a single axis it equals its number too."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return (
            len(self) == 1 and self[0] == other
            if isinstance(other, int)
            else (tuple.__eq__(self, other) is True)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other


class Finding(NamedTuple):
    """What a closer look at one derivative found."""

    measured: float
    verdict: str
    evidence: str
    kink: str = ""
    bound: float = math.nan  # an error of the derivative below it would have passed too


class Row(NamedTuple):
    """One derivative and what is known about it."""

    name: str  # by what
    # the element of it; None: the whole argument along a direction
    index: tuple[int, ...] | None  # type: ignore[assignment]  # not the method of tuples
    derived: float
    measured: float
    verdict: str
    evidence: str
    of: str = ""
    kink: str = ""  # the node that sits on its kink, or has it nearby
    point: int = 0  # which of several points
    bound: float = math.nan  # an error below it would have passed too; nan: not known

    @property
    def rho(self) -> float:
        """The textbook's ratio of derived and measured."""
        return rho(self.derived, self.measured)

    @property
    def label(self) -> str:
        """The derivative as people write it."""
        return f"d {self.of} / d {self.element}" if self.of else self.element

    @property
    def element(self) -> str:
        """The name with its index."""
        if not self.index:
            return self.name
        return f"{self.name}[{','.join(map(str, self.index))}]"


def rho(derived: float, measured: float) -> float:
    """|Ge - Ga| / |Ge + Ga|: 0 where they are equal (0/0 too), inf for opposite numbers."""
    if not (math.isfinite(derived) and math.isfinite(measured)):
        return math.nan
    if derived == measured:
        return 0.0
    total = abs(derived / 2 + measured / 2)  # halved, so that 1e308 does not overflow
    return math.inf if total == 0 else abs(derived / 2 - measured / 2) / total


def worst(verdicts: Any) -> str:
    """The worst of the verdicts; correct if there are none."""
    return max(verdicts, key=SEVERITY.index, default=CORRECT)


def at_most(value: float) -> str:
    """A bound with two digits that is not below the value."""
    text = f"{value:.1e}"
    if float(text) < value < math.inf:
        digits, _, power = text.partition("e")
        text = f"{float(digits) + 0.1:.1f}e{power}"
    return text
