"""Notations: how names, numbers, formulas and results are written in each kind of output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..table.phrases import Phrase, name_display, name_line
from ..write import latex, line
from ..write.numbers import value_line
from ..write.rows import Style, formula_phrase


@dataclass(frozen=True)
class Notation:
    """How to write mathematics; `math` and `code` put text into its surroundings."""

    name: Callable[[str], Phrase]
    number: Callable[[Any], Phrase]
    expression: Callable[[Any], str]
    style: Style
    pi: str
    arrow: str
    math: Callable[[str], str]
    code: Callable[[str], str]

    def names(self, names: list[str]) -> str:
        """Several names, separated by commas."""
        return ", ".join(self.math(self.name(name).text) for name in names)

    def path(self, *names: str) -> str:
        """Names with arrows between them."""
        return self.math(self.arrow.join(self.name(name).text for name in names))

    def formula(self, graph: Structure, node: GraphRow) -> str:
        """The right-hand side of a node, or its given value; empty if it has neither."""
        if node in graph.given:
            return self.math(self.number(graph.given[node]).text)
        op = graph.ops[node]
        if op in ("input", "param"):
            return ""
        if op == "const":
            return self.math(self.number(graph.settings(node)["value"]).text)
        if op == "pi":
            return self.math(self.pi)
        return self.math(formula_phrase(graph, node, self.style, {}).text)


def in_markdown(text: str) -> str:
    """LaTeX in which nothing can be taken for a tag or for the end of a table's cell."""
    return text.replace("<", r"\lt ").replace(">", r"\gt ").replace("|", r"\vert ")


TEXT = Notation(name_line, value_line, str, line.TEXT, "pi", " -> ", str, str)
LATEX = Notation(
    name_display,
    latex.number_latex,
    latex.expression_latex,
    latex.LATEX,
    FUNCTIONS["pi"].latex,
    r" \to ",
    str,
    str,
)
MARKDOWN = replace(LATEX, math=lambda text: f"${in_markdown(text)}$", code=lambda text: f"`{text}`")
