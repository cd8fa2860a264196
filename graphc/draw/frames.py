"""Frames: the forward and the backward pass step by step, as numbered files or one animated SVG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ..errors import GraphcError
from ..structure.rows import GraphRow
from .dot import Reveal, Sheet
from .drawing import Plan, planned
from .render import rendered
from .svg import cleaned, tag, text_of

KINDS = ("numbered", "animated")
MOST = 200
SECONDS_EACH = 1.2
LAST = 3  # the last frame stays as long as this many


def steps(plan: Plan) -> list[Reveal]:
    """What each frame shows: first the leaves, then one value at a time, then one adjoint."""
    graph, known = plan.graph, plan.known
    nodes = graph.nodes()
    values = frozenset(node for node in nodes if not graph.formula(node).sources)
    adjoints: frozenset[GraphRow] = frozenset()
    edges = frozenset(edge for edge in known.local if not known.adjoint)
    found = [Reveal(values, adjoints, edges)]
    for node in nodes:
        if node not in values:
            values |= {node}
            found.append(Reveal(values, adjoints, edges, node))
    for node in sorted(known.adjoint, reverse=True):
        # the step sums over the edges that leave the node towards what is derived
        used = {
            (target, place)
            for target, place in known.local
            if target in adjoints and graph.formula(target).sources[place] == node
        }
        adjoints, edges = adjoints | {node}, edges | used
        found.append(Reveal(values, adjoints, edges, node))
    return [*found, Reveal(values, adjoints, frozenset(known.local))]


def frames_of(
    graph: Any, file: Path, form: str, kind: bool | str, **settings: Any
) -> Iterator[tuple[str, bytes]]:
    """(file name, content) of each frame, or of the one animated file."""
    kind = "numbered" if kind is True else kind
    if kind not in KINDS:
        raise GraphcError(f"frames={kind!r} is not known; use 'numbered' or 'animated'")
    if kind == "animated" and form != "svg":
        raise GraphcError(f"an animated file is an SVG; call it {file.with_suffix('.svg').name}")
    plan = planned(graph, **settings)
    if plan.outline.folded:
        raise GraphcError("frames show every node, and this graph is folded; draw a part of it")
    reveals = steps(plan)
    if len(reveals) > MOST:
        raise GraphcError(f"{len(reveals)} frames exceed the limit of {MOST}; draw a part of it")
    sheets = [replace(plan, look=replace(plan.look, reveal=each)).sheet() for each in reveals]
    if kind == "animated":
        yield file.name, animated(sheets).encode()
        return
    width = max(2, len(str(len(sheets))))
    for number, content in enumerate(_contents(sheets, form), 1):
        yield f"{file.stem}-{number:0{width}d}{file.suffix}", content


def _contents(sheets: list[Sheet], form: str) -> list[bytes]:
    if form == "svg":
        return [text_of(root).encode() for root in _trees(sheets)]
    sources = [sheet.dot.source for sheet in sheets]
    return [source.encode() for source in sources] if form == "dot" else rendered(sources, form)


def _trees(sheets: list[Sheet]) -> list[Any]:
    pictures = rendered([sheet.dot.source for sheet in sheets], "svg")
    return [
        cleaned(picture, sheet.name, sheet.titles, sheet.roles)
        for picture, sheet in zip(pictures, sheets, strict=True)
    ]


def animated(sheets: list[Sheet]) -> str:
    """One SVG that shows the frames in turn; without animation it shows the last one."""
    trees = _trees(sheets)
    root = trees[-1]
    length = len(trees) - 1 + LAST  # in frames
    groups = [tree.find(tag("g")) for tree in trees]
    root[:] = []
    for number, group in enumerate(groups):
        start = number / length
        end = (number + 1) / length if number < len(groups) - 1 else 1.0
        for part in group.iter():
            if "id" in part.attrib:
                part.set("id", f"frame-{number + 1}-{part.get('id')}")
        group.set("visibility", "visible" if end == 1.0 else "hidden")
        times = [(0.0, "hidden"), (start, "visible"), (end, "hidden")]
        times = [time for time in times if time[0] < 1 and (time[0] > 0 or time[1] == "visible")]
        if times[0][0] > 0:
            times.insert(0, (0.0, "hidden"))
        ElementTree.SubElement(
            group,
            tag("animate"),
            attributeName="visibility",
            calcMode="discrete",
            dur=f"{length * SECONDS_EACH:.1f}s",
            repeatCount="indefinite",
            keyTimes=";".join(f"{time:.5f}".rstrip("0").rstrip(".") for time, _ in times),
            values=";".join(state for _, state in times),
        )
        root.append(group)
    return text_of(root)
