"""The V-curve: the error of central differences over their step, drawn as SVG."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

from ..errors import GraphcError
from ..files import write_file

if TYPE_CHECKING:
    from .report import Report

WIDTH, HEIGHT, EDGE = 520, 340, 56


def draw_curve(report: Report, file: str, row: Any = None) -> None:
    """Writes the curve of one row, by default the worst."""
    if not report.rows or report.curve is None:
        raise GraphcError("there is no derivative to draw a curve of")
    if not str(file).endswith(".svg"):
        raise GraphcError(f"the curve is drawn as SVG; give a name such as curve.svg, not {file!r}")
    chosen = row or next((row for row in report.worst_rows() if row.index is not None), None)
    if chosen is None or chosen.index is None:
        raise GraphcError(
            "a curve is drawn of one derivative; this one is along a direction of many"
        )
    points = [(h, e) for h, e in report.curve(chosen) if e > 0]
    write_file(file, curve_svg(points, chosen.label))


def curve_svg(points: list[tuple[float, float]], label: str) -> str:
    """Error over step on logarithmic axes."""
    logs = [(math.log10(h), math.log10(e)) for h, e in points] or [(0.0, 0.0)]
    left, right = (f(x for x, _ in logs) for f in (min, max))
    low, high = math.floor(min(y for _, y in logs)), math.ceil(max(y for _, y in logs))
    high += high == low
    right += right == left

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            EDGE + (x - left) / (right - left) * (WIDTH - 2 * EDGE),
            HEIGHT - EDGE - (y - low) / (high - low) * (HEIGHT - 2 * EDGE),
        )

    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in (place(x, y) for x, y in logs))
    marks = []
    for tick in range(math.ceil(left), math.floor(right) + 1, 2):
        px, py = place(tick, low)
        marks.append(f'<text x="{px:.1f}" y="{py + 16:.1f}" text-anchor="middle">1e{tick}</text>')
    for tick in range(low, high + 1, max(1, (high - low) // 6)):
        px, py = place(left, tick)
        marks.append(f'<text x="{px - 6:.1f}" y="{py + 4:.1f}" text-anchor="end">1e{tick}</text>')
        marks.append(
            f'<line x1="{px:.1f}" y1="{py:.1f}" x2="{WIDTH - EDGE}" y2="{py:.1f}" stroke="#ddd"/>'
        )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{WIDTH / 2}" y="24" text-anchor="middle" font-size="13">{escape(label)}</text>',
        *marks,
        f'<polyline points="{path}" fill="none" stroke="#1f5fa8" stroke-width="1.6"/>',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 14}" text-anchor="middle">step</text>',
        f'<text x="16" y="{HEIGHT / 2}" text-anchor="middle" '
        f'transform="rotate(-90 16 {HEIGHT / 2})">error of the central difference</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
