"""Solution: a worked solution as plain data, which each kind of output renders in its own way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..table.phrases import Phrase, leaf, phrase
from .notation import LATEX, TEXT, Notation

EQUAL, ABOUT = "=", "≈"


@dataclass(frozen=True)
class Math:
    """A piece of mathematics: a line of text, and how LaTeX and pages display it."""

    line: Phrase
    display: Phrase

    @property
    def text(self) -> str:
        return self.line.text

    @property
    def latex(self) -> str:
        return self.display.text


def sign(text: str, latex: str = "") -> Math:
    """A sign, and what it is in LaTeX, if that is another."""
    return Math(leaf(text), leaf(latex or text))


def formed(form: str, *parts: Math, latex: str = "", word: str = "") -> Math:
    """Mathematics put into a form; in LaTeX perhaps into another."""
    return Math(
        phrase(form, *(part.line for part in parts), word=word),
        phrase(latex or form, *(part.display for part in parts), word=word),
    )


def written(write: Callable[[Notation], Phrase]) -> Math:
    """The mathematics that a function writes in each notation."""
    return Math(write(TEXT), write(LATEX))


def label(text: str, longest: int = 60) -> str:
    """A title that somebody chose: printable, on one line, bounded."""
    shown = "".join(character if character.isprintable() else " " for character in text[:longest])
    return shown + "..." * (len(text) > longest)


Prose = tuple[str | Math, ...]  # words with mathematics between them


@dataclass(frozen=True)
class Equation:
    """Sides that all have one value, exactly (=) or rounded (≈), and the rule in words."""

    left: Math
    sides: tuple[tuple[str, Math], ...]  # (relation to the left, side)
    value: Any = None  # the number, array or formula that every side stands for
    note: Prose = ()


@dataclass(frozen=True)
class Equations:
    """Equations in the order of working."""

    steps: tuple[Equation, ...]


@dataclass(frozen=True)
class Grid:
    """A table with a name for each row and column."""

    corner: Math
    columns: tuple[Math, ...]
    rows: tuple[tuple[Math, tuple[Math, ...]], ...]


@dataclass(frozen=True)
class Section:
    """A heading, and what stands below it."""

    heading: str
    blocks: tuple[Prose | Equations | Grid, ...]


@dataclass(frozen=True)
class Solution:
    """A worked solution: `.text`, `.markdown`, `.latex` (a document), `.html` (a page)."""

    title: Prose
    sections: tuple[Section, ...]
    results: dict[Any, Any]  # {wrt: derivative} (None if too long), or {(i, j): ...} of all pairs
    kinks: tuple[str, ...] = ()  # nodes that sat on a kink

    @property
    def equations(self) -> tuple[Equation, ...]:
        """Every equation, in the order of working."""
        return tuple(
            step
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Equations)
            for step in block.steps
        )

    @property
    def text(self) -> str:
        """Plain lines of at most 80 columns."""
        from .solution_text import text

        return text(self)

    @property
    def markdown(self) -> str:
        """Markdown with LaTeX mathematics."""
        from .solution_markdown import markdown

        return markdown(self)

    @property
    def latex(self) -> str:
        """A complete LaTeX document; `.latex_body` is what stands between begin and end."""
        from .solution_latex import document

        return document(self)

    @property
    def latex_body(self) -> str:
        """The LaTeX to put into a document of your own that loads amsmath."""
        from .solution_latex import body

        return body(self)

    @property
    def html(self) -> str:
        """A self-contained page; mathematics is MathML."""
        from .solution_html import page

        return page(self)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return self.markdown

    def _repr_html_(self) -> str:
        from .solution_html import fragment

        return fragment(self)
