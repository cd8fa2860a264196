"""Tables: one layout for terminals, one for pipes and files, one for Markdown."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

WIDTH = 80  # of everything that does not go to a terminal
GAP = "  "
# before the sign of a term, after a space, after a single *: the first that is enough
_BREAKS = tuple(map(re.compile, (r"(?= [+-] )", r"(?<= )(?! )", r"(?<=(?<!\*)\*)(?!\*)")))


@dataclass(frozen=True)
class Table:
    """Columns of text; the title may be empty."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


Block = Table | str  # a page is a sequence of tables and paragraphs


def page_text(blocks: Iterable[Block], width: int = WIDTH) -> str:
    """The page as plain, aligned lines, none longer than the width."""
    texts = []
    for block in blocks:
        if isinstance(block, Table):
            title = wrapped(block.title, width) if block.title else []
            texts.append("\n".join([*title, *_lines(block, width)]))
        else:
            texts.append(
                "\n".join(line for text in block.split("\n") for line in wrapped(text, width))
            )
    return "\n\n".join(texts) + "\n"


def page_markdown(blocks: Iterable[Block], written: Callable[[str], str] = str) -> str:
    """The page as Markdown; cells and lines are Markdown already, or `written` makes them so."""
    texts = []
    for block in blocks:
        if isinstance(block, Table):
            cells = [[written(cell) for cell in row] for row in block.rows]
            lines = [block.columns, ("---",) * len(block.columns), *cells]
            rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
            texts.append(f"**{written(block.title)}**\n\n{rows}" if block.title else rows)
        else:
            texts.append("\n".join(map(written, block.split("\n"))))
    return "\n\n".join(texts) + "\n"


def print_page(blocks: Iterable[Block]) -> None:
    """Prints the page: coloured on a terminal, plain elsewhere."""
    if not sys.stdout.isatty():
        sys.stdout.write(page_text(blocks))
        return
    from rich import box, console, table, text

    terminal = console.Console(highlight=False)
    for number, block in enumerate(blocks):
        if number:
            terminal.print()
        if not isinstance(block, Table):
            terminal.print(text.Text(block))
            continue
        widths = _widths(block, terminal.width - len(block.columns))  # rich wants a little more
        drawn = table.Table(
            box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False, show_edge=False
        )
        drawn.title = text.Text(block.title, style="bold") if block.title else None
        for place, column in enumerate(block.columns):
            drawn.add_column(text.Text(column), style="cyan" if place == 0 else "")
        for row in block.rows:
            cells = zip(row, widths, strict=True)
            drawn.add_row(*(text.Text("\n".join(wrapped(cell, room))) for cell, room in cells))
        terminal.print(drawn)


def _lines(table: Table, width: int) -> list[str]:
    """The header, a rule and the rows; a cell that is too long continues on the next line."""
    widths = _widths(table, width)
    rule = tuple("-" * room for room in widths)
    lines = []
    for row in (table.columns, rule, *table.rows):
        cells = [wrapped(cell, room) for cell, room in zip(row, widths, strict=True)]
        for line in range(max(map(len, cells))):
            parts = [cell[line] if line < len(cell) else "" for cell in cells]
            padded = (
                part + " " * (room - cell_len(part))
                for part, room in zip(parts, widths, strict=True)
            )
            lines.append(GAP.join(padded).rstrip())
    return lines


def _widths(table: Table, width: int) -> list[int]:
    """The width of each column; the widest give way until the table fits."""
    widths = [max(map(cell_len, cells)) for cells in zip(table.columns, *table.rows, strict=True)]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - width
    while excess > 0:
        ranked = sorted(widths, reverse=True)
        runner_up = ranked[1] if len(ranked) > 1 else 0
        widest = widths.index(ranked[0])
        step = min(excess, max(ranked[0] - runner_up, 1))
        widths[widest] -= step
        excess -= step
    return widths


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most this width, broken between terms, words or factors."""
    if cell_len(text) <= width:
        return [text]
    lines, line = [], ""
    for piece in _pieces(text, width):
        if line and cell_len(line) + cell_len(piece.rstrip()) > width:
            lines.append(line.rstrip())
            line, piece = "", piece.lstrip()
        line += piece
    return [*lines, line.rstrip()]


def _pieces(text: str, width: int) -> list[str]:
    """The text cut where it may be broken, no finer than needed."""
    pieces = [text]
    for pattern in _BREAKS:
        pieces = [
            part
            for piece in pieces
            for part in (pattern.split(piece) if cell_len(piece) > width else [piece])
        ]
    return [part for piece in pieces for part in _chopped(piece, width)]


def _chopped(word: str, width: int) -> list[str]:
    """A word that cannot be broken, in parts that fit."""
    parts = []
    while cell_len(word.rstrip()) > width:
        cut = max(width // 2, 1) if not word.isascii() else width  # a character may be two wide
        parts.append(word[:cut])
        word = word[cut:]
    return [*parts, word]
