"""A solution as plain text, at most 80 columns wide."""

from __future__ import annotations

from rich.cells import cell_len

from ..write.tables import WIDTH, Table, page_text, wrapped
from .solution import Equation, Equations, Grid, Prose, Solution

INDENT, SIDE, REST = "  ", "    ", "      "  # an equation, its further sides, what continues one
NOTE = " " * 9


def text(solution: Solution) -> str:
    """The whole solution."""
    title = words(solution.title)
    parts = ["\n".join([*wrapped(title, WIDTH), "=" * min(cell_len(title), WIDTH)])]
    for section in solution.sections:
        heading = wrapped(section.heading, WIDTH)
        parts.append("\n".join([*heading, "-" * min(cell_len(section.heading), WIDTH)]))
        for block in section.blocks:
            if isinstance(block, Equations):
                lines = [line for step in block.steps for line in equation_lines(step)]
                parts.append("\n".join(lines))
            elif isinstance(block, Grid):
                parts += [page_text([table]).rstrip("\n") for table in grid_tables(block)]
            else:
                parts.append("\n".join(wrapped(words(block), WIDTH)))
    return "\n\n".join(parts) + "\n"


def words(prose: Prose) -> str:
    """Words and mathematics in one line."""
    return "".join(part if isinstance(part, str) else part.text for part in prose)


def equation_lines(step: Equation) -> list[str]:
    """An equation on one line if it fits, else one line for each side."""
    sides = [f"{relation} {side.text}" for relation, side in step.sides]
    note = f"   ({words(step.note)})" if step.note else ""
    whole = " ".join([INDENT + step.left.text, *sides])
    if cell_len(whole + note) <= WIDTH:
        return [whole + note]
    first = f"{INDENT}{step.left.text} {sides[0]}" if sides else INDENT + step.left.text
    lines = _broken(first)
    for side in sides[1:]:
        lines += _broken(SIDE + side)
    if cell_len(lines[-1] + note) <= WIDTH:
        return [*lines[:-1], lines[-1] + note]
    return [*lines, *(NOTE + part for part in wrapped(note.strip(), WIDTH - len(NOTE)))]


def _broken(line: str) -> list[str]:
    """One line, what does not fit indented below it."""
    if cell_len(line) <= WIDTH:
        return [line]
    start = line[: len(line) - len(line.lstrip())]
    first, *rest = wrapped(line.lstrip(), WIDTH - len(REST))
    return [start + first, *(REST + part for part in rest)]


def grid_tables(grid: Grid) -> list[Table]:
    """The grid as tables that fit, some columns at a time."""
    names = [name.text for name, _ in grid.rows]
    first = max(map(cell_len, [grid.corner.text, *names]))
    tables: list[Table] = []
    start = 0
    while start < len(grid.columns):
        room, end = WIDTH - first, start
        while end < len(grid.columns) and (room > 0 or end == start):
            cells = [grid.columns[end].text, *(row[end].text for _, row in grid.rows)]
            room -= max(map(cell_len, cells)) + 2
            end += room >= 0 or end == start
        columns = (grid.corner.text, *(column.text for column in grid.columns[start:end]))
        rows = [(name.text, *(cell.text for cell in row[start:end])) for name, row in grid.rows]
        tables.append(Table("", columns, rows))
        start = end
    return tables
