"""HTML-like labels of DOT: lines of mathematics, with fractions as fractions; all is escaped."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from .mathematics import visible

TABLE = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{padding}">{rows}</TABLE>'
WIDE, BOLD, NARROW = 0.66, 0.74, 0.34  # width of a character and a space, in units of the type size
HIDDEN = "transparent"  # keeps its place in the layout


@dataclass(frozen=True)
class Line:
    """One line of a label: text in a colour, perhaps bold (B) or italic (I)."""

    text: str
    colour: str
    tag: str = ""
    size: int = 14  # points


def escaped(text: str) -> str:
    """The text for an HTML-like label, where a backslash would begin an escape, too."""
    return html.escape(visible(text), quote=True).replace("\\", "\\\\")


def label(lines: Iterable[Line]) -> str:
    """The label of several lines, one below the other."""
    rows = "".join(f"<TR><TD>{_line(line)}</TD></TR>" for line in lines)
    return f"<{TABLE.format(padding=1, rows=rows)}>"


def _line(line: Line) -> str:
    cells = list(_cells(line.text))
    if len(cells) == 1 and isinstance(cells[0], str):
        return _run(cells[0], line)
    row = "".join(
        f"<TD>{_run(cell, line) if isinstance(cell, str) else _fraction(*cell, line)}</TD>"
        for cell in cells
    )
    table = TABLE.format(padding=0, rows=f"<TR>{row}</TR>")
    # a table would be stretched to the widest line of the label, and the fraction with it
    wide = sum(_width(cell, line) for cell in cells) + 2
    fixed = f'<TABLE FIXEDSIZE="TRUE" WIDTH="{wide:.0f}" HEIGHT="{3 * line.size}" '
    return table.replace("<TABLE ", fixed, 1)


def _width(cell: str | tuple[str, str], line: Line) -> float:
    """How wide a cell is at most, in points."""
    if not isinstance(cell, str):
        return max(_width(part, line) for part in cell) + 3
    spaces = cell.count(" ")
    letters = sum(not unicodedata.combining(character) for character in cell) - spaces
    return line.size * (letters * (BOLD if line.tag == "B" else WIDE) + spaces * NARROW)


def _run(text: str, line: Line) -> str:
    # ordinary spaces at the ends of a cell would be lost
    kept = escaped(text.replace(" ", "\u00a0"))
    run = f'<FONT COLOR="{line.colour}" POINT-SIZE="{line.size}">{kept}</FONT>'
    return f"<{line.tag}>{run}</{line.tag}>" if line.tag else run


def _fraction(above: str, below: str, line: Line) -> str:
    rule = f'<TD BORDER="1" SIDES="B" COLOR="{line.colour}">{_run(above, line)}</TD>'
    return TABLE.format(padding=1, rows=f"<TR>{rule}</TR><TR><TD>{_run(below, line)}</TD></TR>")


def _cells(text: str) -> Iterable[str | tuple[str, str]]:
    """The text, cut into runs and the fractions (above, below) that stand on their own."""
    run = ""
    for term in _terms(text):
        parts = _divided(term)
        if parts is None:
            run += term
            continue
        lead, above, below = parts
        if run + lead:
            yield run + lead
        yield above, below
        run = ""
    if run:
        yield run


def _terms(text: str) -> Iterable[str]:
    """The parts of a sum or an equation, each with the sign and spaces before it."""
    start, depth = 0, 0
    for place, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if (
            depth == 0
            and place > start
            and character == " "
            and text[place + 1 : place + 3]
            in (
                "+ ",
                "− ",
                "= ",
            )
        ):
            yield text[start:place]
            start = place
    yield text[start:]


def _divided(term: str) -> tuple[str, str, str] | None:
    """(what comes before, numerator, denominator) of a term that is one quotient."""
    body = term.lstrip(" +−=")
    lead = term[: len(term) - len(body)]
    depth, slashes = 0, []
    for place, character in enumerate(body):
        depth += (character in "([") - (character in ")]")
        if depth == 0 and character == "/":
            slashes.append(place)
        elif depth == 0 and (character in "<>≤≥≠," or (slashes and character in "· ^")):
            return None  # not a quotient, or a product that goes on after it
    if len(slashes) != 1 or depth:
        return None
    return lead, _unwrapped(body[: slashes[0]]), _unwrapped(body[slashes[0] + 1 :])


def _unwrapped(text: str) -> str:
    """The text without brackets around the whole of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text
