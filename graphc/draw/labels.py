"""HTML-like labels of DOT: lines of phrases, with quotients as fractions; all is escaped."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..table.phrases import Phrase, drawn, operators, pieces
from .mathematics import ELLIPSIS, shortened, visible

TABLE = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{padding}">{rows}</TABLE>'
WIDE, BOLD, NARROW = 0.66, 0.74, 0.34  # width of a character and a space, in units of the type size
HIDDEN = "transparent"  # keeps its place in the layout


TAGS = {"adjoint": "B", "count": "B", "local": "I"}  # type faces of roles; others are upright
OPEN = {"=", "+", "-", "neg"}  # between the terms of sums and equations a fraction may stand


@dataclass(frozen=True)
class Quotient:
    """A quotient that is drawn as a fraction, and how it is written on one line."""

    above: str
    below: str
    line: str


@dataclass(frozen=True)
class Line:
    """One line of a label: mathematics in a colour, and what it is, which the type face shows."""

    shown: Phrase
    colour: str
    role: str = "name"  # name, value, local, adjoint, count or note
    size: int = 14  # points
    longest: int = 200  # characters; the rest is an ellipsis

    @property
    def tag(self) -> str:
        return TAGS.get(self.role, "")

    def cells(self) -> list[str | Quotient]:
        """Runs of text, and the fractions between them."""
        return _shortened(_cells(self.shown), self.longest)


def roles(lines: Iterable[Line]) -> tuple[str, ...]:
    """The role of each run of text that is to be seen, in the order in which they are written."""
    return tuple(
        line.role
        for line in lines
        if line.colour != HIDDEN
        for cell in line.cells()
        for _ in range(1 if isinstance(cell, str) else 2)
    )


def escaped(text: str) -> str:
    """The text for an HTML-like label, where a backslash would begin an escape, too."""
    return html.escape(visible(text), quote=True).replace("\\", "\\\\")


def label(lines: Iterable[Line]) -> str:
    """The label of several lines, one below the other."""
    rows = "".join(f"<TR><TD>{_line(line)}</TD></TR>" for line in lines)
    return f"<{TABLE.format(padding=1, rows=rows)}>"


def _line(line: Line) -> str:
    cells = line.cells()
    if len(cells) == 1 and isinstance(cells[0], str):
        return _run(cells[0], line)
    row = "".join(
        f"<TD>{_run(cell, line) if isinstance(cell, str) else _fraction(cell, line)}</TD>"
        for cell in cells
    )
    table = TABLE.format(padding=0, rows=f"<TR>{row}</TR>")
    # a table would be stretched to the widest line of the label, and the fraction with it
    wide = sum(_width(cell, line) for cell in cells) + 2
    fixed = f'<TABLE FIXEDSIZE="TRUE" WIDTH="{wide:.0f}" HEIGHT="{3 * line.size}" '
    return table.replace("<TABLE ", fixed, 1)


def _width(cell: str | Quotient, line: Line) -> float:
    """How wide a cell is at most, in points."""
    if not isinstance(cell, str):
        return max(_width(part, line) for part in (cell.above, cell.below)) + 3
    spaces = cell.count(" ")
    letters = sum(not unicodedata.combining(character) for character in cell) - spaces
    return line.size * (letters * (BOLD if line.tag == "B" else WIDE) + spaces * NARROW)


def _run(text: str, line: Line) -> str:
    # ordinary spaces at the ends of a cell would be lost
    kept = escaped(text.replace(" ", "\u00a0"))
    run = f'<FONT COLOR="{line.colour}" POINT-SIZE="{line.size}">{kept}</FONT>'
    return f"<{line.tag}>{run}</{line.tag}>" if line.tag else run


def _fraction(cell: Quotient, line: Line) -> str:
    rule = f'<TD BORDER="1" SIDES="B" COLOR="{line.colour}">{_run(cell.above, line)}</TD>'
    below = f"<TR><TD>{_run(cell.below, line)}</TD></TR>"
    return TABLE.format(padding=1, rows=f"<TR>{rule}</TR>{below}")


def _cells(whole: Phrase) -> list[str | Quotient]:
    """The phrase, cut into runs and the quotients that stand on their own."""
    found: list[str | Quotient] = []
    run = ""
    stack: list[str | Phrase] = [whole]
    while stack:
        here = stack.pop()
        if isinstance(here, str):
            run += here
        elif here.word in OPEN and here.form:
            stack.extend(reversed(pieces(here)))
        elif (quotient := _quotient(here)) is not None:
            sign = quotient.above[: quotient.above.startswith("−")]
            found += [run + sign] if run + sign else []
            found.append(replace(quotient, above=quotient.above.removeprefix(sign)))
            run = ""
        else:
            run += drawn(here)
    return [*found, run] if run or not found else found


def _quotient(whole: Phrase) -> Quotient | None:
    """A product that ends with a quotient, all of it above the line; None for what is another."""
    factors, here = "", whole
    while here.word in ("*", "@") and len(here.parts) == 2:
        if "/" in operators(here.parts[0]):
            return None
        sign = next(part for part in pieces(here) if isinstance(part, str))
        factors += f"{drawn(here.parts[0])}{sign}"
        here = here.parts[1]
    if here.word != "/" or "/" in operators(here.parts[0]):
        return None
    above, below = here.parts
    over = f"{factors}{drawn(above)}" if factors else drawn(_unwrapped(above))
    return Quotient(over, drawn(_unwrapped(below)), drawn(whole).removeprefix("−"))


def _unwrapped(part: Phrase) -> Phrase:
    return part.parts[0] if part.word == "()" else part


def _shortened(cells: list[str | Quotient], longest: int) -> list[str | Quotient]:
    """The cells, or the first of them and an ellipsis."""
    left = longest
    if sum(len(cell if isinstance(cell, str) else cell.line) for cell in cells) <= left:
        return cells
    found: list[str | Quotient] = []
    for cell in cells:
        text = cell if isinstance(cell, str) else cell.line
        if len(text) >= left:
            before = found.pop() if found and isinstance(found[-1], str) else ""
            return [*found, shortened(f"{before}{text}{ELLIPSIS}", len(str(before)) + left)]
        found.append(cell)
        left -= len(text)
    return found
