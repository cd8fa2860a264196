"""Themes: the colours of a drawing. Shapes and line styles are the same in all of them.

What is said by colour is always said a second time: kinds of nodes by their shape, values by their
place, local derivatives by italics on an edge, adjoints by bold type and a bar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import one_of

# The layout measures with the first font that is installed; the later ones are not wider.
FONT = "DejaVu Sans,Verdana,Helvetica,Arial,sans-serif"

# Kind of node -> how DOT draws it.
SHAPES: Mapping[str, Mapping[str, str]] = {
    "input": {"shape": "ellipse", "style": "filled"},
    "param": {"shape": "box", "style": "filled"},
    "const": {"shape": "box", "style": "filled,dashed"},
    "compute": {"shape": "box", "style": "filled,rounded"},
}
KINDS = {"input": "input", "param": "parameter", "const": "constant", "compute": "computation"}


@dataclass(frozen=True)
class Colours:
    """Fill and border of a kind of node."""

    fill: str
    border: str


@dataclass(frozen=True)
class Theme:
    """The colours of one theme."""

    background: str
    ink: str  # names, formulas, values
    local: str
    adjoint: str
    edge: str
    faint: str  # edges of less importance, frames of clusters
    highlight: str
    nodes: Mapping[str, Colours]


THEMES: Mapping[str, Theme] = {
    "light": Theme(
        background="#ffffff",
        ink="#111111",
        local="#1546c0",
        adjoint="#b00020",
        edge="#555555",
        faint="#8a8a8a",
        highlight="#7b1fa2",
        nodes={
            "input": Colours("#dcf2d8", "#2e7d32"),
            "param": Colours("#ffe6c4", "#c66900"),
            "const": Colours("#eeeeee", "#666666"),
            "compute": Colours("#fde4e1", "#b3403a"),
        },
    ),
    "dark": Theme(
        background="#15171c",
        ink="#f2f2f2",
        local="#8ab4ff",
        adjoint="#ff9a9a",
        edge="#b0b0b0",
        faint="#808080",
        highlight="#e0a3ff",
        nodes={
            "input": Colours("#17391b", "#66bb6a"),
            "param": Colours("#4a2f08", "#ffb74d"),
            "const": Colours("#2b2e35", "#a0a0a0"),
            "compute": Colours("#44211f", "#e57373"),
        },
    ),
    "print": Theme(
        background="#ffffff",
        ink="#000000",
        local="#000000",
        adjoint="#000000",
        edge="#000000",
        faint="#777777",
        highlight="#000000",
        nodes={
            "input": Colours("#ffffff", "#000000"),
            "param": Colours("#ffffff", "#000000"),
            "const": Colours("#ffffff", "#000000"),
            "compute": Colours("#ffffff", "#000000"),
        },
    ),
}


def theme_named(name: str) -> Theme:
    """The theme of that name."""
    one_of(name, THEMES, "theme")
    return THEMES[name]
