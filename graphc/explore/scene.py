"""The drawing of a page: places for live numbers, colours by name, and what elements stand for."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from ..derive.evaluation import Edge
from ..draw.dot import Look
from ..draw.drawing import Plan
from ..draw.outline import every_node
from ..draw.quantities import Quantities, Quantity, quantities
from ..draw.render import SECONDS, rendered
from ..draw.svg import SPACE, cleaned, tag, text_of
from ..draw.themes import FONT, THEMES, Theme, theme_named
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.phrases import leaf

MARK = "¤"  # stands in no name and no formula: here a number goes
NUMBER, LOCAL, RANGE = f"{MARK}00.0000", f"{MARK}00.000", f"{MARK}00.000, 00.000000"
WIDE = 0.6  # of a digit, in units of the type size
DRAWN = "light"  # the theme whose colours are replaced by names
SHAPES = ("path", "polygon", "ellipse")
INKS = ("ink", "local", "adjoint", "edge", "faint")


def scene(
    graph: Structure, of: Sequence[GraphRow], attributes: Mapping[str, Mapping[str, str]]
) -> str:
    """The SVG text; elements get the further attributes of their id."""
    plan = Plan(
        graph, every_node(graph), _places(graph, of), Look(theme_named(DRAWN), legend=False)
    )
    drawn = plan.sheet()
    made = rendered([drawn.dot.source], "svg", SECONDS)[0]
    root = cleaned(made, drawn.name, {}, drawn.roles)
    root.set("role", "group")
    for name in ("width", "height"):
        root.set(name, root.get(name, "").replace("pt", ""))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == tag("title"):
                parent.remove(child)
    for group in root.iter(tag("g")):
        identity = group.get("id", "")
        if identity.startswith(("node-", "edge-")):
            _prepared(group, identity.startswith("node-"))
            for key, value in attributes[identity].items():
                group.set(key, value)
    _named_colours(root, theme_named(DRAWN))
    return text_of(root)


def _places(graph: Structure, of: Sequence[GraphRow]) -> Quantities:
    """Where numbers go; the local derivative of a tensor edge is a formula."""
    bare = any(op == "edges" for op in graph.ops)
    values: dict[GraphRow, Quantity] = {}
    for node in graph.nodes():
        width = RANGE if graph.shape(node) else NUMBER
        values[node] = Quantity(leaf(width), "")
    local = dict(quantities(graph, None, None, show=("local",)).local)
    for edge in local:
        if edge in scalar_edges(graph):
            local[edge] = Quantity(leaf(LOCAL), "")
    return Quantities({} if bare else values, local, dict(values), of=dict.fromkeys(of, 1))


def scalar_edges(graph: Structure) -> set[Edge]:
    """The edges whose local derivative is a number."""
    found: set[Edge] = set()
    for node in graph.nodes():
        formula = graph.formula(node)
        if not any(row in graph.shapes for row in (*formula.rows, *formula.sources)):
            found.update((node, edge) for edge, passes in enumerate(formula.passes) if passes)
    return found


def _prepared(group: Any, is_node: bool) -> None:
    """Marks the texts that hold numbers, and gives an edge a wide path that can be pointed at."""
    middle = _middle(group) if is_node else None
    for text in group.findall(tag("text")):
        role = text.attrib.pop("class", "")
        before, found, _ = (text.text or "").replace("\u00a0", " ").partition(MARK)
        if not found:
            continue
        size = float(text.get("font-size", "14"))
        width = len(text.text) * size * WIDE
        text.set("x", f"{middle if middle is not None else float(text.get('x')) + width / 2:.2f}")
        text.set("text-anchor", "middle")
        what = role if role in ("adjoint", "local") else "value"
        text.set("class", f"live {what}")
        text.set("data-before", before)
        text.text = before
    if not is_node:
        line = group.find(tag("path"))
        wide = ElementTree.Element(tag("path"), {"class": "near", "d": line.get("d", "")})
        group.insert(0, wide)


def _middle(group: Any) -> float | None:
    """The horizontal middle of a node's shape."""
    for shape in group:
        if shape.tag == tag("ellipse"):
            return float(shape.get("cx"))
        points = shape.get("points") or shape.get("d")
        if points:
            xs = [float(x) for x in re.findall(r"(-?[\d.]+),", points)]
            return (min(xs) + max(xs)) / 2
    return None


def _named_colours(root: Any, theme: Theme) -> None:
    """Colours as classes, so that a style sheet chooses the theme."""
    inks = {getattr(theme, ink): ink for ink in INKS}
    for element in root.iter():
        words = (element.get("class") or "").split()
        if element.tag == tag("text"):
            for name in ("font-family", SPACE):  # the same everywhere: the style sheet says it
                element.attrib.pop(name, None)
            words.append(f"ink-{inks.get(element.attrib.pop('fill', ''), 'ink')}")
        elif element.tag in map(tag, SHAPES) and "near" not in words:
            fill, stroke = element.attrib.pop("fill", "none"), element.attrib.pop("stroke", "none")
            if fill == theme.background and stroke == "none":
                words.append("sheet")
            else:
                words.append("outline" if fill == "none" else "filled")
        if words:
            element.set("class", " ".join(words))


def colours() -> str:
    """The themes as style sheet: light, dark where that is preferred, and print."""
    return f"svg text {{ font-family: {FONT}; white-space: pre; }}\n" + "\n".join(
        f"{at} {{ :root {{ {' '.join(_variables(THEMES[theme]))} }} }}"
        for at, theme in (
            ("@media screen", "light"),
            ("@media screen and (prefers-color-scheme: dark)", "dark"),
            ("@media print", "print"),
        )
    )


def _variables(theme: Theme) -> Iterator[str]:
    for key in ("background", "highlight", *INKS):
        yield f"--{key}: {getattr(theme, key)};"
    for kind, pair in theme.nodes.items():
        yield f"--{kind}-fill: {pair.fill}; --{kind}-border: {pair.border};"


def escaped(text: str) -> str:
    """The text as HTML."""
    return html.escape(text, quote=True)
