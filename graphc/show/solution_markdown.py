"""A solution as Markdown with LaTeX mathematics, for notebooks, wikis and repositories."""

from __future__ import annotations

import re

from .notation import in_markdown
from .solution import Equations, Grid, Prose, Solution
from .solution_latex import aligned

# what may begin markup inside a line; a colon or an @ could become a link. Every reader knows a
# backslash before the first kind; before a < some of them show it, and the tag lives.
_SPECIAL = re.compile(r"([\\`*_\[\]#|])|[<>&~$]|(?<=\w):(?=\S)|@")


def markdown(solution: Solution) -> str:
    """The whole solution."""
    parts = [f"# {words(solution.title)}"]
    for section in solution.sections:
        parts.append(f"## {escaped(section.heading)}")
        for block in section.blocks:
            if isinstance(block, Equations):
                parts.append(f"$$\n{in_markdown(aligned('aligned', block.steps))}\n$$")
            elif isinstance(block, Grid):
                parts.append(_grid(block))
            else:
                parts.append(words(block))
    return "\n\n".join(parts) + "\n"


def words(prose: Prose) -> str:
    """Words, escaped, with mathematics between dollar signs."""
    return "".join(
        escaped(part) if isinstance(part, str) else f"${in_markdown(part.latex)}$" for part in prose
    )


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    text = "".join(character if character.isprintable() else " " for character in text)
    return _SPECIAL.sub(lambda found: "\\" + found.group() if found[1] else _entity(found), text)


def _entity(found: re.Match[str]) -> str:
    return f"&#{ord(found.group())};"


def _grid(grid: Grid) -> str:
    lines = [
        [f"${in_markdown(cell.latex)}$" for cell in (grid.corner, *grid.columns)],
        ["---"] * (len(grid.columns) + 1),
        *([f"${in_markdown(cell.latex)}$" for cell in (name, *row)] for name, row in grid.rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
