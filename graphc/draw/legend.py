"""The legend: what shapes, colours and type mean, for what is in the drawing."""

from __future__ import annotations

from collections.abc import Iterator

from ..structure.structure import Structure
from ..table.letters import name_math
from .labels import TABLE, escaped
from .mathematics import plain, shortened
from .outline import Outline
from .quantities import Quantities
from .themes import KINDS, Theme

SWATCH = (
    '<TD><TABLE BORDER="0" CELLBORDER="1" CELLSPACING="{spacing}" CELLPADDING="0"{outer}><TR>'
    '<TD WIDTH="20" HEIGHT="12" FIXEDSIZE="TRUE" BGCOLOR="{fill}" COLOR="{border}"{style}></TD>'
    "</TR></TABLE></TD>"
)
ROW = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="2" CELLPADDING="1"><TR>{cells}</TR></TABLE>'
SPACE = '<TD WIDTH="8"></TD>'
STYLES = {"input": ' STYLE="ROUNDED"', "compute": ' STYLE="ROUNDED"', "const": ' STYLE="DASHED"'}
WORDS = {"input": "ellipse", "param": "box", "const": "dashed", "compute": "rounded"}
WORD = '<TD ALIGN="LEFT"><FONT COLOR="{colour}" POINT-SIZE="11">{text}</FONT></TD>'
SIGN = (
    '<TD><{tag}><FONT COLOR="{colour}" POINT-SIZE="11">{sign}</FONT></{tag}>'
    '<FONT COLOR="{ink}" POINT-SIZE="11">&#160;{text}</FONT></TD>'
)


def legend(graph: Structure, outline: Outline, known: Quantities, theme: Theme) -> str:
    """The legend as an HTML-like label."""
    kinds = [kind for kind in KINDS if any(box.kind == kind for box in outline.boxes)]
    plain_fills = len({colours.fill for colours in theme.nodes.values()}) == 1
    cells = [_kind(kind, theme, f" ({WORDS[kind]})" if plain_fills else "") for kind in kinds]
    cells.append(_double(theme))
    signs = [_sign(*sign, theme) for sign in _signs(graph, known, theme)]
    if outline.note:
        signs.append(WORD.format(colour=theme.ink, text=escaped(outline.note)))
    rows = "".join(
        f"<TR><TD>{ROW.format(cells=SPACE.join(line))}</TD></TR>" for line in (cells, signs) if line
    )
    return f"<{TABLE.format(padding=0, rows=rows)}>"


def _kind(kind: str, theme: Theme, word: str) -> str:
    colours = theme.nodes[kind]
    style = STYLES.get(kind, "")
    swatch = SWATCH.format(
        fill=colours.fill, border=colours.border, style=style, spacing=0, outer=""
    )
    return swatch + WORD.format(colour=theme.ink, text=KINDS[kind] + word)


def _double(theme: Theme) -> str:
    """The double line of what is derived."""
    swatch = SWATCH.format(
        fill=theme.background,
        border=theme.ink,
        style="",
        spacing=1,
        outer=f' BORDER="1" COLOR="{theme.ink}"',
    ).replace('BORDER="0" ', "", 1)
    return swatch + WORD.format(colour=theme.ink, text="output")


def _sign(tag: str, sign: str, text: str, colour: str, theme: Theme) -> str:
    return SIGN.format(
        tag=tag, colour=colour, sign=escaped(sign), ink=theme.ink, text=escaped(text)
    )


def _signs(
    graph: Structure, known: Quantities, theme: Theme
) -> Iterator[tuple[str, str, str, str]]:
    """(type, sign, meaning, colour) of what is written at nodes and edges."""
    ends = [shortened(name_math(plain(graph.names[row])), 12) for row in known.of]
    of = ends[0] if len(ends) == 1 else "the outputs"
    if known.values:
        yield "B", "=", "value", theme.ink
    if known.local:
        yield "I", "∂", "local derivative", theme.local
    if known.adjoint:
        yield "B", "x̄", f"adjoint, the derivative of {of}", theme.adjoint
