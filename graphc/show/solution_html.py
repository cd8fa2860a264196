"""A solution as a self-contained HTML page: MathML, no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

from html import escape

from ..table.phrases import leaf, terms
from ..write.mathml import mathml
from .solution import Equation, Equations, Grid, Math, Prose, Solution
from .solution_latex import RELATIONS, WIDTH, fits

STYLE = """\
.graphc-solution { max-width: 50rem; margin: 0 auto; padding: 1rem; line-height: 1.5;
  font-family: Georgia, 'Times New Roman', serif; color-scheme: light dark; }
.graphc-solution h1 { font-size: 1.5rem; }
.graphc-solution h2 { font-size: 1.2rem; border-bottom: 1px solid #8886; }
.graphc-solution .scroll { overflow-x: auto; }
.graphc-solution table { border-collapse: collapse; }
.graphc-solution .equations td { padding: 0.2rem 0.35rem; vertical-align: baseline; }
.graphc-solution .equations .left { text-align: right; white-space: nowrap; }
.graphc-solution .equations .note { padding-left: 1.5rem; opacity: 0.75; font-size: 0.9em; }
.graphc-solution .grid td, .graphc-solution .grid th { border: 1px solid #8888;
  padding: 0.25rem 0.5rem; font-weight: normal; }
"""
WIDE = 84  # characters of an equation that stands on one line
POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # no script runs, nothing is fetched


def page(solution: Solution) -> str:
    """A whole page."""
    title = _shown("".join(p if isinstance(p, str) else p.text for p in solution.title))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n</head>\n<body>\n{fragment(solution)}</body>\n</html>\n"
    )


def fragment(solution: Solution) -> str:
    """What a notebook shows."""
    parts = [f"<h1>{words(solution.title)}</h1>"]
    for section in solution.sections:
        parts.append(f"<h2>{_shown(section.heading)}</h2>")
        for block in section.blocks:
            if isinstance(block, Equations):
                rows = "\n".join(_rows(step) for step in block.steps)
                parts.append(_scroll(f'<table class="equations">\n{rows}\n</table>'))
            elif isinstance(block, Grid):
                parts.append(_scroll(_grid(block)))
            else:
                parts.append(f"<p>{words(block)}</p>")
    inside = "\n".join(parts)
    return f'<style>\n{STYLE}</style>\n<div class="graphc-solution">\n{inside}\n</div>\n'


def words(prose: Prose) -> str:
    """Words, escaped, with mathematics between them."""
    return "".join(_shown(p) if isinstance(p, str) else mathml(p.display) for p in prose)


def _shown(text: str) -> str:
    """Text as it is; what cannot be printed, such as a change of direction, becomes a space."""
    return escape("".join(character if character.isprintable() else " " for character in text))


def _rows(step: Equation) -> str:
    """One table row if the equation is short, else one for each side."""
    note = f'<td class="note">({words(step.note)})</td>' if step.note else "<td></td>"
    sides = [(mathml(leaf(RELATIONS[relation])), _side(side)) for relation, side in step.sides]
    if fits(step, WIDE) and sides:
        more = "".join(f" {relation} {side}" for relation, side in sides[1:])
        sides = [(sides[0][0], sides[0][1] + more)]
    rows = []
    for place, (relation, side) in enumerate(sides or [(mathml(leaf("")), "")]):
        left = mathml(step.left.display) if not place else ""
        rows.append(
            f'<tr><td class="left">{left}</td><td>{relation}</td>'
            f"<td>{side}</td>{note if not place else '<td></td>'}</tr>"
        )
    return "\n".join(rows)


def _side(side: Math) -> str:
    """A side, a long one in pieces between which the browser may break the line."""
    if len(side.text) <= WIDTH:
        return mathml(side.display)
    first, *more = terms(side.display)
    return " ".join([mathml(first), *(mathml(term, after=True) for term in more)])


def _grid(grid: Grid) -> str:
    head = "".join(f"<th>{mathml(cell.display)}</th>" for cell in (grid.corner, *grid.columns))
    rows = "\n".join(
        f"<tr><th>{mathml(name.display)}</th>"
        + "".join(f"<td>{mathml(cell.display)}</td>" for cell in row)
        + "</tr>"
        for name, row in grid.rows
    )
    return f'<table class="grid">\n<tr>{head}</tr>\n{rows}\n</table>'


def _scroll(table: str) -> str:
    return f'<div class="scroll">{table}</div>'
