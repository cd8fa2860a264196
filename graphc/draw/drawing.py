"""The verbs: a graph as a DOT text, as SVG with its ids, as a file, and in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import GraphcError, listing, nearest, one_of, switch, visible
from ..files import file_at, write_file
from ..structure.reach import upstream
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from .dot import DIRECTIONS, Look, Sheet, sheet
from .fold import folded, is_large
from .highlight import highlighted
from .outline import Outline, every_node, key_of
from .quantities import Quantities, marked, quantities
from .render import FORMATS, SECONDS, rendered
from .svg import cleaned, text_of
from .themes import theme_named
from .weights import on_edges

SUFFIXES = (*FORMATS, "dot")
WEIGHTS = ("nodes", "edges")
LARGEST = 2000  # nodes that are drawn one by one if that is asked for
NOTEBOOK_SECONDS = 8.0


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG text, and the ids of its elements."""

    svg: str
    nodes: Mapping[str, str]  # node -> id; in a folded drawing several nodes share one
    edges: Mapping[tuple[str, str, int], str]  # (source, target, number among parallels) -> id


@dataclass(frozen=True)
class Plan:
    """What is drawn, what is written on it, and how it looks."""

    graph: Structure
    outline: Outline
    known: Quantities
    look: Look

    def sheet(self) -> Sheet:
        """The drawing as DOT."""
        return sheet(self.graph, self.outline, self.known, self.look)


SETTINGS = ("at", "of", "show", "weights", "highlight", "theme", "direction", "legend", "fold")


def planned(
    graph: Structure,
    at: Mapping[str, Any] | None = None,
    of: Any = None,
    show: Any = None,
    weights: str = "nodes",
    highlight: Any = None,
    theme: str = "light",
    direction: str = "right",
    legend: bool = True,
    fold: bool | None = None,
    **unknown: Any,
) -> Plan:
    """What a drawing with these settings consists of; wrong settings are refused."""
    for name in unknown:
        hint = nearest(name, SETTINGS) or f" (there are: {listing(SETTINGS)})"
        raise GraphcError(f"a drawing has no setting {name!r}{hint}")
    for key, value, allowed in (
        ("weights", weights, WEIGHTS),
        ("direction", direction, tuple(DIRECTIONS)),
    ):
        one_of(value, allowed, key)
    switch(legend, "legend")
    if fold is not None:
        switch(fold, "fold")
    if not graph.names:
        raise GraphcError(f"the graph {visible(graph.name)} has no nodes; there is nothing to draw")
    look = Look(
        theme_named(theme),
        direction=direction,
        legend=legend,
        highlight=highlighted(graph, highlight),
    )
    if fold is False and len(graph.names) > LARGEST:
        raise GraphcError(
            f"the graph has {len(graph.names)} nodes, and at most {LARGEST} are drawn one by one; "
            "leave fold=False out"
        )
    if fold or (fold is None and is_large(graph)):
        return Plan(graph, folded(graph), Quantities(of=marked(graph, of)), look)
    known = quantities(graph, at, of, show)
    outline = every_node(graph)
    if weights == "edges":
        look = replace(look, weights=on_edges(graph))
        outline = _without(graph, outline, set(look.weights))
    return Plan(graph, outline, known, look)


def _without(graph: Structure, outline: Outline, hidden: set[GraphRow]) -> Outline:
    """The outline without some nodes and their edges."""
    keys = {key_of(graph, row) for row in hidden}
    boxes = tuple(box for box in outline.boxes if box.key not in keys)
    arrows = tuple(arrow for arrow in outline.arrows if arrow.source not in keys)
    return replace(outline, boxes=boxes, arrows=arrows)


def to_dot(graph: Structure, **settings: Any) -> Any:
    """The drawing as a graphviz.Digraph."""
    return planned(graph, **settings).sheet().dot


def picture(graph: Structure, seconds: float = SECONDS, **settings: Any) -> Picture:
    """The drawing as SVG text with the ids of its nodes and edges."""
    drawn = planned(graph, **settings).sheet()
    made = rendered([drawn.dot.source], "svg", seconds)[0]
    root = cleaned(made, drawn.name, drawn.titles, drawn.roles)
    return Picture(text_of(root), drawn.nodes, drawn.edges)


def drawn(graph: Structure, form: str, **settings: Any) -> bytes:
    """The content of a file of that format."""
    if form == "dot":
        return str(to_dot(graph, **settings).source).encode()
    if form == "svg":
        return picture(graph, **settings).svg.encode()
    return rendered([to_dot(graph, **settings).source], form)[0]


def draw(
    graph: Structure, path: str | PathLike[str], frames: bool | str = False, **settings: Any
) -> Path | list[Path]:
    """Writes the drawing; returns the path, or the paths of numbered frames."""
    file = file_at(path)
    form = format_of(file)
    if not isinstance(frames, str):
        switch(frames, "frames")
    if frames:
        from .frames import frames_of

        return [
            write_file(file.with_name(name), content)
            for name, content in frames_of(graph, file, form, frames, **settings)
        ]
    return write_file(file, drawn(graph, form, **settings))


def format_of(file: Path) -> str:
    """The format that a file's suffix asks for."""
    form = file.suffix.lower().removeprefix(".")
    if form not in SUFFIXES:
        raise GraphcError(
            f"{visible(str(file))}: the suffix says the format, one of "
            f"{listing('.' + suffix for suffix in SUFFIXES)}"
        )
    return form


def complete_point(graph: Structure, of: Any = None) -> Mapping[str, Any] | None:
    """{} if the values that came with the graph are enough to evaluate it, None for symbols."""
    rows = list(marked(graph, of)) or graph.nodes()
    leaves = set(graph.leaves()) & upstream(graph, rows)
    return {} if graph.given and leaves <= set(graph.given) else None


def mimebundle(graph: Structure) -> dict[str, str]:
    """What a notebook shows: a line of text, and the drawing if it can be made in time."""
    bundle = {"text/plain": repr(graph)}
    try:
        found = picture(graph, NOTEBOOK_SECONDS, at=complete_point(graph))
        bundle["image/svg+xml"] = found.svg
    except Exception:  # a display must never stand in the way of a result
        pass
    return bundle
