"""The computation of a page as JavaScript: values, local derivatives, pulls and pushes.

`program.values(given)` lists the value of each node, `program.locals(v, given)` the local
derivative of each edge (null where it is no number), `program.gates(v, given)` whether anything
passes it, `program.switches(v, given)` what is 0 where the nodes `program.kinked` sit on a kink.
`program.pull[node](v, g, given)` takes an adjoint back over the edges into a tensor node,
`program.push[edge](v, t, given)` a tangent forward over one edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..derive.evaluation import Edge
from ..program.backends.javascript import JAVASCRIPT
from ..program.backends.javascript.script import Script
from ..program.edges import SYMBOL, edges
from ..program.program import lower
from ..structure.rows import GraphRow
from ..structure.structure import Structure

Leaf = Callable[[str], str]


def program_text(graph: Structure, given: Sequence[str], sizes: Mapping[str, int]) -> str:
    """The text that declares `program`; `given` are the names of what comes from outside."""
    script = Script(sizes)
    nodes = graph.nodes()
    order = [(node, edge) for node in nodes for edge in range(len(graph.formula(node).sources))]
    leaf = {name: f"given[{place}]" for place, name in enumerate(given)}
    leaf |= {SYMBOL.format(name): text for name, text in leaf.items()}
    held = leaf | {graph.names[node]: f"v[{place}]" for place, node in enumerate(nodes)}
    bare = any(op == "edges" for op in graph.ops)
    own = edges(graph)

    def function(
        head: str,
        of: Structure,
        rows: Sequence[GraphRow | None],
        names: Mapping[str, str],
        none: str,
    ) -> str:
        wanted = [row for row in rows if row is not None]
        program, place = lower(of, wanted, JAVASCRIPT.passes("fast", True))
        lines, texts = script.statements(program, [place[row] for row in wanted], names.__getitem__)
        found = iter(texts)
        listed = ", ".join(none if row is None else next(found) for row in rows)
        return "\n".join(
            [f"{head} {{", *(f"  {line}" for line in lines), f"  return [{listed}];", "}"]
        )

    def per_edge(rows: Mapping[Edge, GraphRow], head: str, none: str) -> str:
        return function(head, own.graph, [rows.get(edge) for edge in order], held, none)

    parts = [
        function("values(given)", graph, [None if bare else node for node in nodes], leaf, "null"),
        per_edge(own.local, "locals(v, given)", "null"),
        per_edge(own.gate, "gates(v, given)", "1"),
    ]
    switches = function("switches(v, given)", own.graph, [row for _, row in own.switches], held, "")
    kinked = [nodes.index(node) for node, _ in own.switches]
    parts += [switches, f"kinked: {kinked}"]
    pulls = [
        function(
            f"{place}(v, g, given)",
            own.graph,
            [own.pull.get((node, edge)) for edge in range(len(graph.formula(node).sources))],
            held | {own.adjoint[node]: "g"},
            "null",
        )
        for place, node in enumerate(nodes)
        if node in own.adjoint and graph.formula(node).sources
    ]
    pushes = [
        function(
            f"{place}(v, t, given)",
            own.graph,
            [own.push[edge]],
            held | {own.tangent[edge]: "t"},
            "",
        )
        for place, edge in enumerate(order)
        if edge in own.push
    ]
    parts.append(f"pull: {{\n{','.join(pulls)}\n}}")
    parts.append(f"push: {{\n{','.join(pushes)}\n}}")
    return "\n".join([*script.definitions.values(), f"const program = {{\n{','.join(parts)}\n}};"])
