"""A solution as LaTeX: a document that pdflatex compiles, or the body of one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from ..table.letters import GREEK, escaped, letters
from .solution import ABOUT, Equation, Equations, Grid, Math, Prose, Solution

WIDTH = 64  # characters of plain text that one line of mathematics may stand for
RELATIONS = {"=": "=", ABOUT: r"\approx"}
PREAMBLE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{amsmath}
\usepackage[margin=2.5cm]{geometry}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5em}
\setcounter{MaxMatrixCols}{20}
\emergencystretch=3em
"""
COLUMNS = 6  # of a grid


def document(solution: Solution) -> str:
    """A complete document."""
    inside = body(solution)
    return f"{PREAMBLE}{declarations(inside)}\\begin{{document}}\n{inside}\\end{{document}}\n"


def body(solution: Solution) -> str:
    """What stands between begin and end of a document that loads amsmath."""
    parts = [rf"\section*{{{words(solution.title)}}}"]
    for section in solution.sections:
        parts.append(rf"\subsection*{{{escaped(section.heading)}}}")
        for block in section.blocks:
            if isinstance(block, Equations):
                parts.append(aligned("align*", block.steps))
            elif isinstance(block, Grid):
                parts += _grids(block)
            else:
                parts.append(words(block))
    return "\n\n".join(parts) + "\n"


def words(prose: Prose) -> str:
    """Words, escaped, with mathematics between dollar signs."""
    return "".join(escaped(part) if isinstance(part, str) else f"${part.latex}$" for part in prose)


def aligned(environment: str, steps: Iterable[Equation]) -> str:
    """Equations below each other, long ones broken between their sides and terms."""
    lines = [line for step in steps for line in equation_lines(step)]
    inside = " \\\\\n".join(lines)
    return f"\\begin{{{environment}}}\n{inside}\n\\end{{{environment}}}"


def equation_lines(step: Equation, width: int = WIDTH) -> list[str]:
    """left &= side = side, or one line for each side."""
    note = f" && {_note(step.note)}" if step.note else ""
    sides = [(RELATIONS[relation], side) for relation, side in step.sides]
    if not sides:
        return [step.left.latex + note]
    if fits(step, width):
        rest = " ".join(f"{relation} {side.latex}" for relation, side in sides[1:])
        relation, side = sides[0]
        return [f"{step.left.latex} &{relation} {side.latex} {rest}".rstrip() + note]
    lines = []
    for place, (relation, side) in enumerate(sides):
        left = step.left.latex if not place else ""
        first, *more = terms(side, width)
        lines.append(f"{left} &{relation} {first}".lstrip())
        lines += [rf"&\quad {part}" for part in more]
    return [*lines[:-1], lines[-1] + note]  # the last line is the shortest


def fits(step: Equation, width: int = WIDTH) -> bool:
    """Whether an equation can stand on one line."""
    length = len(step.left.text) + sum(len(side.text) + 3 for _, side in step.sides)
    return length + sum(len(p if isinstance(p, str) else p.text) for p in step.note) <= width


def _note(prose: Prose) -> str:
    """Words and mathematics in brackets, inside mathematics."""
    parts: list[str] = [r"\text{("]
    for part in prose:
        parts.append(escaped(part) if isinstance(part, str) else rf"}} {part.latex} \text{{")
    return "".join([*parts, ")}"]).replace(r"\text{}", "")


def terms(side: Math, width: int) -> list[str]:
    """A side cut before a plus or minus sign of its outermost sum, where it is too long."""
    if len(side.text) <= width:
        return [side.latex]
    scale = len(side.latex) / len(side.text)  # how much longer LaTeX is than what it shows
    room = width * scale
    lines = [""]
    for term in summands(side.latex):
        for part in summands(term, signs=" ") if len(term) > room else [term]:
            if lines[-1].strip() and len(lines[-1]) + len(part) > room:
                lines.append("")
            lines[-1] += part
    return [line.strip() for line in lines]


def summands(text: str, signs: str = "+-") -> list[str]:
    """The terms of the outermost sum, each with its sign; or its factors, for a space as sign."""
    depth, start, parts = 0, 0, []
    for token in re.finditer(r"\\left|\\right|\\begin|\\end|\\.|[{}]|(?<= )[+-](?= )| ", text):
        sign = token.group()
        if sign in signs and depth == 0:
            parts.append(text[start : token.start()])
            start = token.start()
        depth += sign in ("{", r"\left", r"\begin")
        depth -= sign in ("}", r"\right", r"\end")
    return [*parts, text[start:]]


def _grids(grid: Grid) -> list[str]:
    """The grid some columns at a time."""
    tables = []
    for start in range(0, len(grid.columns), COLUMNS):
        columns = grid.columns[start : start + COLUMNS]
        lines = [" & ".join(f"${cell.latex}$" for cell in (grid.corner, *columns)) + r" \\ \hline"]
        for name, row in grid.rows:
            cells = (name, *row[start : start + COLUMNS])
            lines.append(" & ".join(f"${cell.latex}$" for cell in cells) + r" \\")
        inside = "\n".join(lines)
        tables.append(f"\\begin{{tabular}}{{l|{'l' * len(columns)}}}\n{inside}\n\\end{{tabular}}")
    return tables


ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0308": '"',
    "\u030a": "r ",
    "\u030b": "H ",
    "\u030c": "v ",
    "\u0327": "c ",
}


def declarations(text: str) -> str:
    """What pdflatex is to print for each character that is not plain ASCII."""
    found = sorted({character for character in text if not character.isascii()})
    return "".join(
        rf"\DeclareUnicodeCharacter{{{ord(character):04X}}}{{{_replacement(character)}}}" + "\n"
        for character in found
    )


def _replacement(character: str) -> str:
    """A sign that every TeX has: a Greek or accented letter, else the number of the sign."""
    kind, _, letter = (
        unicodedata.name(character, "").replace("LAMDA", "LAMBDA").rpartition(" LETTER ")
    )
    letter = letter.lower() if kind == "GREEK SMALL" else letter.capitalize()
    if kind.startswith("GREEK") and letter in GREEK:
        return rf"\ensuremath{{{letters(letter)}}}"
    if character == ABOUT:
        return r"\ensuremath{\approx}"
    parts = unicodedata.normalize("NFKD", character)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in ACCENTS:
        return rf"\text{{\{ACCENTS[parts[1]]}{parts[0]}}}"
    return rf"\text{{\texttt{{[{ord(character):04X}]}}}}"
