"""The DOT text of an outline: labels, shapes, layers, legend, and the ids that SVG elements get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..derive.evaluation import Edge
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.letters import name_math
from ..table.phrases import Phrase, leaf, phrase
from .highlight import Highlight
from .labels import HIDDEN, Line, label, roles
from .legend import legend
from .mathematics import ELLIPSIS, EQUALS, plain, shape_math, shortened
from .outline import Arrow, Box, Outline
from .quantities import STOPPED, Quantities, Quantity, formula
from .themes import FONT, SHAPES, Theme

NAME, FORMULA, ADJOINT, ON_EDGE = 24, 40, 40, 22  # characters of a line
TOOLTIP = 1000
TANGLED = 400  # layers that all arrows cross together; above, the layout takes fewer rounds
QUICK = {"nslimit": "2", "nslimit1": "2", "mclimit": "0.3"}
DIRECTIONS = {"right": "LR", "down": "TB"}


@dataclass(frozen=True)
class Reveal:
    """What a frame shows already, and the node it is about."""

    values: frozenset[GraphRow]
    adjoints: frozenset[GraphRow]
    edges: frozenset[Edge]
    current: GraphRow | None = None


@dataclass(frozen=True)
class Look:
    """How a drawing looks, apart from what it says."""

    theme: Theme
    direction: str = "right"
    legend: bool = True
    weights: Mapping[GraphRow, tuple[Edge, ...]] = field(default_factory=dict)  # those on edges
    highlight: Highlight = field(default_factory=Highlight)
    reveal: Reveal | None = None


@dataclass(frozen=True)
class Sheet:
    """A drawing as DOT, and which SVG element is which node or edge."""

    dot: Any  # graphviz.Digraph
    name: str
    nodes: Mapping[str, str]  # node -> id
    edges: Mapping[tuple[str, str, int], str]  # (source, target, number among parallels) -> id
    titles: Mapping[str, str]  # id -> full text
    roles: Mapping[str, tuple[str, ...]]  # id -> what its texts are, in their order


def sheet(graph: Structure, outline: Outline, known: Quantities, look: Look) -> Sheet:
    """The DOT text of an outline."""
    return _Writer(graph, outline, known, look).written()


class _Writer:
    """Collects nodes, edges and titles while one DOT text is written."""

    def __init__(self, graph: Structure, outline: Outline, known: Quantities, look: Look) -> None:
        self.graph, self.outline, self.known, self.look = graph, outline, known, look
        self.boxes = {box.key: box for box in outline.boxes}
        self.marked = set(known.of) or set(graph.outputs())
        self.position = {row: place for place, row in enumerate(graph.nodes())}
        self.on_edge: dict[Edge, list[GraphRow]] = {}
        for weight, edges in look.weights.items():
            for edge in edges:
                self.on_edge.setdefault(edge, []).append(weight)
        self.nodes: dict[str, str] = {}
        self.edges: dict[tuple[str, str, int], str] = {}
        self.parallels: Counter[tuple[str, str]] = Counter()
        self.titles: dict[str, str] = {}
        self.roles: dict[str, tuple[str, ...]] = {}

    def written(self) -> Sheet:
        import graphviz

        look, theme = self.look, self.look.theme
        name = plain(self.graph.name)
        dot = graphviz.Digraph(
            graphviz.escape(name),
            graph_attr={
                "bgcolor": theme.background,
                "fontname": FONT,
                "rankdir": DIRECTIONS[look.direction],
                "ranksep": "0.5",
                "nodesep": "0.3",
                "newrank": "true",  # layers go across clusters
                "labelloc": "b",
                **(QUICK if self._is_tangled() else {}),
            },
            node_attr={"fontname": FONT, "fontsize": "14", "margin": "0.08,0.04"},
            edge_attr={"fontname": FONT, "fontsize": "12", "color": theme.edge, "arrowsize": "0.7"},
        )
        for key in ("", *self.outline.clusters):
            self._cluster(dot, key)
        for layer in sorted({box.layer for box in self.outline.boxes}):
            keys = [box.key for box in self.outline.boxes if box.layer == layer]
            if len(keys) > 1:
                with dot.subgraph(graph_attr={"rank": "same"}) as same:
                    for key in keys:
                        same.node(key)
        for number, arrow in enumerate(self.outline.arrows):
            self._arrow(dot, number, arrow)
        if look.legend:
            dot.attr(label=legend(self.graph, self.outline, self.known, look.theme))
        return Sheet(dot, name, self.nodes, self.edges, self.titles, self.roles)

    def _is_tangled(self) -> bool:
        layer = {box.key: box.layer for box in self.outline.boxes}
        arrows = self.outline.arrows
        return sum(abs(layer[a.target] - layer[a.source]) for a in arrows) > TANGLED

    # Boxes.

    def _cluster(self, dot: Any, key: str) -> None:
        inside = [box for box in self.outline.boxes if box.cluster == key]
        if not key:
            for box in inside:
                self._box(dot, box)
            return
        theme = self.look.theme
        title = label([Line(leaf(plain(self.outline.clusters[key])), theme.ink, size=12)])
        attributes = {"label": title, "color": theme.faint, "style": "rounded", "labelloc": "t"}
        with dot.subgraph(name=f"cluster_{key}", graph_attr=attributes) as cluster:
            for box in inside:
                self._box(cluster, box)

    def _box(self, dot: Any, box: Box) -> None:
        import graphviz

        graph, theme = self.graph, self.look.theme
        single = len(box.rows) == 1
        identity = f"{'node' if single else 'group'}-{self.position[box.rows[0]]}"
        for row in box.rows:
            self.nodes[graph.names[row]] = identity
        self._identified(box.inner, identity)
        lines = list(self._node_lines(box.rows[0]) if single else self._group_lines(box))
        title = self._node_title(box.rows[0]) if single else self._group_title(box)
        self.titles[identity] = title
        self.roles[identity] = roles(lines)
        colours = theme.nodes[box.kind]
        border, width = colours.border, 1.2
        marked = bool(self.marked.intersection(box.rows))
        thick = max((self.look.highlight.nodes.get(row, 0.0) for row in box.rows), default=0.0)
        if self.look.reveal is not None and self.look.reveal.current in box.rows:
            thick = 3.0
        if thick:
            border, width = theme.highlight, thick
        dot.node(
            box.key,
            label=label(lines),
            id=identity,
            tooltip=graphviz.escape(title),
            fillcolor=colours.fill,
            color=border,
            penwidth=f"{width:.3g}",
            peripheries="2" if marked else "1",
            **{"class": " ".join([box.kind, *(["loss"] if marked else [])])},
            **SHAPES[box.kind],
        )

    def _node_lines(self, row: GraphRow) -> Iterator[Line]:
        graph, theme, known = self.graph, self.look.theme, self.known
        shape = graph.shape(row)
        name = shortened(name_math(graph.names[row]), NAME)
        head = f"{name} ({shape_math(shape)})" if shape else name
        declared, value = formula(graph, row), known.values.get(row)
        ink = theme.ink if self._shows("values", row) else HIDDEN
        if declared is not None and graph.kind(row) != "const":
            yield Line(_equation(head, declared), theme.ink, longest=FORMULA)
            if value is not None:
                yield Line(_equation("", value), ink, "value", longest=FORMULA)
        elif value is not None:
            yield Line(_equation(head, value), theme.ink, longest=FORMULA)
        elif declared is not None:
            yield Line(_equation(head, declared), theme.ink, longest=FORMULA)
        else:
            yield Line(leaf(head), theme.ink)
        yield from self._adjoint_line(row)

    def _adjoint_line(self, row: GraphRow, size: int = 14) -> Iterator[Line]:
        adjoint = self.known.adjoint.get(row)
        if adjoint is not None:
            colour = self.look.theme.adjoint if self._shows("adjoints", row) else HIDDEN
            yield Line(_equation(self._bar(row), adjoint), colour, "adjoint", size, ADJOINT)

    def _share_line(self, weight: GraphRow, node: GraphRow) -> Iterator[Line]:
        """What a weight on an edge gets back from there: its adjoint, or a part of it."""
        place = self.graph.formula(node).sources.index(weight)
        share = self.known.share.get((node, place))
        if share is None:
            yield from self._adjoint_line(weight, 12)
        else:
            colour = self.look.theme.adjoint if self._shows("adjoints", weight) else HIDDEN
            added = _equation(self._bar(weight), share, "+=")
            yield Line(added, colour, "adjoint", 12, ADJOINT)

    def _bar(self, row: GraphRow) -> str:
        return shortened(name_math(f"{self.graph.names[row]}_bar"), 2 * NAME)

    def _shows(self, what: str, member: Any) -> bool:
        return self.look.reveal is None or member in getattr(self.look.reveal, what)

    def _node_title(self, row: GraphRow) -> str:
        graph, known = self.graph, self.known
        shape = graph.shape(row)
        parts = [graph.names[row] + (f" ({shape_math(shape)})" if shape else "")]
        for what, quantity in (
            ("", formula(graph, row)),
            ("value", known.values.get(row) if self._shows("values", row) else None),
            ("adjoint", known.adjoint.get(row) if self._shows("adjoints", row) else None),
        ):
            if quantity is not None:
                parts.append(f"{what} = {quantity.full}".lstrip())
        return plain(", ".join(parts) if len(parts) > 2 else " ".join(parts), TOOLTIP)

    def _group_lines(self, box: Box) -> Iterator[Line]:
        graph, theme = self.graph, self.look.theme
        names = [shortened(name_math(graph.names[row]), NAME) for row in box.rows]
        between = f" {ELLIPSIS} " if len(names) > 2 else ", "
        yield Line(leaf(f"{names[0]}{between}{names[-1]}"), theme.ink)
        shape = graph.shape(box.rows[0])
        of = f" of {shape_math(shape)}" if shape else ""
        yield Line(leaf(f"{len(names)} nodes{of}"), theme.ink, "count", 12)
        operations = {graph.ops[row] for row in box.rows if box.kind == "compute"}
        if operations:
            yield Line(leaf(", ".join(sorted(operations))), theme.ink, "note", 11, FORMULA)
        if box.inner:
            yield Line(leaf(f"{len(box.inner)} edges inside"), theme.ink, "note", 11)

    def _group_title(self, box: Box) -> str:
        names = [self.graph.names[row] for row in box.rows[:100]]
        return plain(f"{len(box.rows)} nodes: {', '.join(names)}", TOOLTIP)

    # Arrows.

    def _arrow(self, dot: Any, number: int, arrow: Arrow) -> None:
        import graphviz

        theme, known = self.look.theme, self.known
        source, target = self.boxes[arrow.source], self.boxes[arrow.target]
        single = len(arrow.edges) == 1 and not self.outline.folded
        identity = f"{'edge' if single else 'arrow'}-{number}"
        aside = source.cluster != target.cluster and not self.outline.folded
        attributes = {"id": identity}
        self._identified(arrow.edges, identity)
        lines = list(self._edge_lines(arrow.edges[0])) if single else self._count_lines(arrow)
        title = self._edge_title(arrow.edges[0]) if single else f"{len(arrow.edges)} edges"
        self.titles[identity] = title
        self.roles[identity] = roles(lines if not aside else [])
        attributes["tooltip"] = attributes["labeltooltip"] = graphviz.escape(title)
        if lines and not aside:
            attributes["label"] = label(lines)
        thick = self._thickness(arrow)
        local = known.local.get(arrow.edges[0]) if single else None
        if local is STOPPED:
            attributes["style"] = "dashed"
        if aside:
            attributes |= {"style": "dotted", "color": theme.faint, "constraint": "false"}
        if thick:
            attributes |= {"color": theme.highlight, "penwidth": f"{thick:.3g}"}
        first, second = arrow.source, arrow.target
        if source.layer > target.layer:  # drawn against the layers: the layout sees it reversed
            first, second = second, first
            attributes["dir"] = "back"
        if source.layer == target.layer:
            attributes["constraint"] = "false"
        dot.edge(first, second, **attributes)

    def _identified(self, edges: Iterable[Edge], identity: str) -> None:
        """Notes under which id edges are drawn."""
        for node, place in edges:
            source = self.graph.formula(node).sources[place]
            pair = self.graph.names[source], self.graph.names[node]
            self.edges[(*pair, self.parallels[pair])] = identity
            self.parallels[pair] += 1

    def _edge_lines(self, edge: Edge) -> Iterator[Line]:
        theme, known = self.look.theme, self.known
        passed = self._shows("edges", edge)
        for weight in self.on_edge.get(edge, ()):
            value = known.values.get(weight)
            name = shortened(name_math(self.graph.names[weight]), NAME)
            shown = _equation(name, value) if value is not None else leaf(name)
            yield Line(shown, theme.ink, "name", 12, ON_EDGE)
        if edge in known.local:
            colour = theme.local if passed else HIDDEN
            yield Line(known.local[edge].shown, colour, "local", 12, ON_EDGE)
        for weight in self.on_edge.get(edge, ()):
            yield from self._share_line(weight, edge[0])

    def _edge_title(self, edge: Edge) -> str:
        node, place = edge
        names = self.graph.names
        source = names[self.graph.formula(node).sources[place]]
        local = self.known.local.get(edge) if self._shows("edges", edge) else None
        end = f" = {local.full}" if local is not None else ""
        return plain(f"d {names[node]} / d {source}{end}", TOOLTIP)

    def _count_lines(self, arrow: Arrow) -> list[Line]:
        if len(arrow.edges) == 1:
            return []
        return [Line(leaf(f"× {len(arrow.edges)}"), self.look.theme.ink, "note", 11)]

    def _thickness(self, arrow: Arrow) -> float:
        widths = self.look.highlight.edges
        if not widths:
            return 0.0
        pairs = ((self.graph.formula(node).sources[place], node) for node, place in arrow.edges)
        return max(widths.get(pair, 0.0) for pair in pairs)


def _equation(head: str, quantity: Quantity, sign: str = "") -> Phrase:
    """head = quantity, or head within a range, or another sign."""
    form = f"{{0}} {sign or quantity.relation} {{1}}" if head else f"{quantity.relation} {{1}}"
    return phrase(form, leaf(head), quantity.shown, word=EQUALS)
