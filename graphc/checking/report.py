"""The report of a check: verdicts, blame, and how it is printed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import GraphcError
from .rows import Rows
from .verdicts import (
    CORRECT,
    FAILING,
    KINK_LIMIT,
    SEVERITY,
    SMOOTH_LIMIT,
    WRONG,
    Row,
    at_most,
    worst,
)

MOST_SHOWN, MOST_GOOD = 20, 5  # rows of a printed table; fewer if all of them are correct


class CheckFailed(GraphcError, AssertionError):
    """A check that was not passed; test runners show its report."""


@dataclass(frozen=True)
class Edge:
    """A local derivative that is wrong: what was found and what was expected."""

    source: str
    target: str | None
    derived: float
    measured: float
    found: str = ""  # formula
    expected: str = ""  # formula
    line: int = 0  # of the text that declared it
    note: str = ""

    def told(self) -> str:
        """The edge, what was found and what it should be, in three lines."""
        what = (
            f"d {self.target} / d {self.source}" if self.target else f"the claim for {self.source}"
        )
        where = f" (line {self.line})" if self.line else ""
        note = f"; {self.note}" if self.note else ""
        if math.isnan(self.derived):
            return f"to blame: {what}{where}{note}"
        found, expected = (f"{text} = " if text else "" for text in (self.found, self.expected))
        return (
            f"to blame: {what}{where}{note}\n"
            f"  found:    {found}{self.derived:.10g}\n"
            f"  expected: {expected}{self.measured:.10g}"
        )


@dataclass
class Report:
    """What was checked, what came out, and who is to blame."""

    rows: Rows
    edges: list[Edge] = field(default_factory=list)  # wrong local derivatives or claims
    blame: list[tuple[Any, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # coverage, and what was not checked
    strict: bool = False
    points: list[dict[str, Any]] = field(default_factory=list)
    evaluations: int = 0
    seconds: float = 0.0
    shrunk: str = ""  # the smallest failing graph and point, as a test
    curve: Any = None  # (row) -> [(step, error)], for plot()

    @property
    def verdict(self) -> str:
        """The worst verdict of the rows; a wrong local derivative is wrong too."""
        return worst(self.rows.verdicts | {WRONG for _ in self.edges})

    @property
    def ok(self) -> bool:
        """No row is wrong or not finite; strict: every row is correct."""
        return self.verdict == CORRECT if self.strict else self.verdict not in FAILING

    @property
    def kinks(self) -> list[str]:
        """The nodes found on or near a kink."""
        return list(dict.fromkeys(row.kink for row in self.rows if row.kink))

    def counts(self) -> dict[str, int]:
        """{verdict: number of rows}, from the best to the worst."""
        found = dict.fromkeys(SEVERITY, 0)
        for row in self.rows:
            found[row.verdict] += 1
        return {verdict: count for verdict, count in found.items() if count}

    def worst_rows(self) -> list[Row]:
        """The rows with the worst news first."""
        return sorted(
            self.rows,
            key=lambda row: (-SEVERITY.index(row.verdict), -_size(row.rho)),
        )

    def raise_if_failed(self) -> Report:
        """This report, or an error that shows it."""
        if not self.ok:
            raise CheckFailed(str(self))
        return self

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        from ..write.tables import page_text

        return page_text(self.page()).rstrip("\n")

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def to_markdown(self) -> str:
        """The report as Markdown."""
        from ..write.tables import page_markdown

        return page_markdown(self.page())

    def page(self) -> list[Any]:
        """The report as paragraphs and a table."""
        from ..write.tables import Table

        blocks: list[Any] = [self.summary()]
        shown = self.worst_rows()[: MOST_SHOWN if self.verdict != CORRECT else MOST_GOOD]
        if shown:
            columns = ("derivative", "derived", "measured", "rho", "verdict")
            lines = [
                (
                    self._labelled(row),
                    f"{row.derived:.8g}",
                    f"{row.measured:.8g}",
                    rho_text(row),
                    row.verdict,
                )
                for row in shown
            ]
            blocks.append(Table("", columns, lines))
        if len(self.rows) > len(shown):
            blocks.append(f"... and {len(self.rows) - len(shown)} more, none of them worse")
        hidden = self.hidden()
        if hidden:
            blocks.append(hidden)
        told = [f"{self._labelled(row)}: {row.evidence}" for row in shown if row.verdict != CORRECT]
        if told:
            blocks.append("\n".join(told))
        if self.edges:
            blocks.append("\n".join(edge.told() for edge in self.edges))
        elif self.blame:
            blocks.append(
                "\n".join(f"to blame: {blamed_text(pair)}" for pair in self.blame[:MOST_SHOWN])
            )
        if self.notes:
            blocks.append("\n".join(self.notes))
        if self.shrunk:
            blocks.append(self.shrunk)
        return blocks

    def _labelled(self, row: Row) -> str:
        return row.label + (f" (point {row.point + 1})" if len(self.points) > 1 else "")

    def summary(self) -> str:
        """One line: the verdict and the counts."""
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.counts().items())
        where = f" at {len(self.points)} points" if len(self.points) > 1 else ""
        state = "ok" if self.ok else "NOT OK"
        plural = "" if len(self.rows) == 1 else "s"
        return (
            f"{state}: {len(self.rows)} derivative{plural}{where} ({counts or 'nothing to check'})"
        )

    def hidden(self) -> str:
        """One line: the error that could hide behind `correct`; empty if that is not known."""
        known = [
            (row.bound / abs(row.derived) if row.derived else math.inf, row.bound)
            for row in self.rows
            if row.verdict == CORRECT and row.index is not None and row.bound == row.bound
        ]
        parts = [relative for relative, _ in known if relative <= KINK_LIMIT]
        rest = [bound for relative, bound in known if relative > KINK_LIMIT]
        told = [f"{at_most(max(parts))} of a derivative"] if parts else []
        told += [f"{at_most(max(rest))} where it is nearly 0"] if rest else []
        return f"correct up to {', '.join(told)}: a smaller error would pass" if told else ""

    def to_json(self) -> str:
        """The report as JSON; numbers that are not finite are text."""
        data = {
            "ok": self.ok,
            "verdict": self.verdict,
            "strict": self.strict,
            "counts": self.counts(),
            "blame": [[_plain(part) for part in pair] for pair in self.blame],
            "edges": [
                {
                    "source": edge.source,
                    "target": edge.target,
                    "line": edge.line or None,
                    "derived": _number(edge.derived),
                    "measured": _number(edge.measured),
                    "found": edge.found or None,
                    "expected": edge.expected or None,
                }
                for edge in self.edges
            ],
            "kinks": self.kinks,
            "rows": [
                {
                    "of": row.of,
                    "name": row.name,
                    "index": None if row.index is None else list(row.index),
                    "point": row.point,
                    "derived": _number(row.derived),
                    "measured": _number(row.measured),
                    "rho": _number(row.rho),
                    "verdict": row.verdict,
                    "evidence": row.evidence,
                    "bound": _number(row.bound),
                    "kink": row.kink or None,
                }
                for row in self.rows
            ],
            "points": self.points,
            "evaluations": self.evaluations,
            "seconds": self.seconds,
            "notes": self.notes,
            "shrunk": self.shrunk or None,
        }
        return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)

    def plot(self, file: str, row: Row | None = None) -> None:
        """Draws the error of central differences over their step, for the worst row, as SVG."""
        from .curve import draw_curve

        draw_curve(self, file, row)


def rho_text(row: Row) -> str:
    """rho, marked where the textbook's threshold is exceeded."""
    limit = KINK_LIMIT if row.kink else SMOOTH_LIMIT
    within = abs(row.derived - row.measured) <= row.bound  # what is 0 has no ratio
    return f"{row.rho:.1e}" + ("!" if row.rho > limit and not within else "")


def blamed_text(pair: tuple[Any, Any]) -> str:
    """(argument, index) as people write it."""
    name, index = pair
    inner = ",".join(map(str, index)) if isinstance(index, tuple) else ""
    return f"{name}[{inner}]" if inner else str(name)


def merged(reports: Sequence[Report], strict: bool = False) -> Report:
    """Several reports as one."""
    edges = {(edge.source, edge.target): edge for report in reports for edge in report.edges}
    blame = list(dict.fromkeys(pair for report in reports for pair in report.blame))
    return Report(
        Rows(part for report in reports for part in report.rows.parts),
        list(edges.values()),
        blame,
        list(dict.fromkeys(note for report in reports for note in report.notes)),
        strict,
        [point for report in reports for point in report.points],
        sum(report.evaluations for report in reports),
        sum(report.seconds for report in reports),
        curve=next((report.curve for report in reports if report.curve), None),
    )


def _size(value: float) -> float:
    return -1.0 if math.isnan(value) else value


def _number(value: float) -> float | str:
    return float(value) if math.isfinite(value) else str(float(value))


def _plain(part: Any) -> Any:
    return list(part) if isinstance(part, tuple) else part
