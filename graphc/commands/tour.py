"""The tour of `graphc demo`: one graph of ten nodes, its derivatives, four ways to find them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from ..graphs import Graph, parse
from ..show.derivatives import decimal, reaching
from ..write.tables import Block, Table

FILE = "examples/fig27.gc"
OUTPUT = "y10"
POINT = {"y1": "1/2", "y2": "3/5", "y3": "7/10", "w2": "4/5", "w3": "-3/10"}
MANY = "y2"  # the node with the most paths to the output


def text() -> str:
    """The text of the graph, the same as in examples/."""
    return files(__package__).joinpath("fig27.gc").read_text(encoding="utf-8")


def tour() -> list[Block]:
    """The pages of the tour."""
    graph = parse(text(), "fig27")
    reached = reaching(graph, OUTPUT)
    return [
        "graphc: ten nodes, y1 to y10, two weights, and every derivative of y10",
        *_declared(graph),
        *_symbols(graph, reached),
        *_point(graph, reached),
        *_modes(graph, reached),
        *_next(),
    ]


def _declared(graph: Graph) -> list[Block]:
    lines = [line for line in text().splitlines() if not line.startswith("#")]
    edges = [(f"{s} -> {t}", str(graph.local(s, t))) for s, t in graph.edges()]
    half = (len(edges) + 1) // 2
    beside = [*edges[half:], *[("", "")] * (2 * half - len(edges))]
    rows = [left + right for left, right in zip(edges[:half], beside, strict=True)]
    columns = ("edge", "local derivative") * 2
    return [
        f"1. THE GRAPH. Every assignment is a node ({FILE}):",
        "\n".join(f"    {line}" for line in lines),
        "2. LOCAL DERIVATIVES. Every name that a formula mentions is an edge. Its local derivative "
        "is the partial of that one formula, everything else held:",
        Table("", columns, rows),
    ]


def _symbols(graph: Graph, reached: list[str]) -> list[Block]:
    found = graph.reverse(OUTPUT)
    terms = graph.pathwise(OUTPUT, MANY).terms
    return [
        f"3. TOTAL DERIVATIVES IN SYMBOLS. S(i, 10) = d {OUTPUT} / d i counts every path from i to "
        f"{OUTPUT}. The reverse mode finds all of them in one sweep from {OUTPUT} backwards:",
        Table("", ("i", "S(i, 10)"), [(name, str(found[name])) for name in reached]),
        f"The terms of S(2, 10) are the paths from {MANY}, each the product of its edges:",
        Table("", ("path", "product"), [(" -> ".join(t.path), str(t.product)) for t in terms]),
    ]


def _point(graph: Graph, reached: list[str]) -> list[Block]:
    values, found = graph.values(POINT), graph.reverse(OUTPUT, POINT)
    where = ", ".join(f"{name} = {value}" for name, value in POINT.items())
    computed = [name for name in graph if graph[name].kind == "compute"]
    return [
        "4. AT A POINT. Numbers stay exact; decimals are only for reading. Take",
        f"    {where}",
        "The values are",
        _exact("node", "value", {name: values[name] for name in computed}),
        "and the derivatives are",
        _exact("i", "S(i, 10)", {name: found[name] for name in reached}),
    ]


def _exact(name: str, what: str, results: Mapping[str, Any]) -> Table:
    rows = [(node, str(value), decimal(value)) for node, value in results.items()]
    return Table("", (name, what, "decimal"), rows)


def _modes(graph: Graph, reached: list[str]) -> list[Block]:
    backward, pairs = graph.reverse(OUTPUT, POINT), graph.all_pairs(POINT)
    rows, equal = [], True
    for name in reached:
        results: list[Any] = [
            backward[name],
            graph.forward(name, POINT)[OUTPUT],
            pairs[name, OUTPUT],
            graph.pathwise(OUTPUT, name, POINT).value,
        ]
        same = all(result == results[0] for result in results)
        equal = equal and same
        count = str(graph.count_paths(name, OUTPUT))
        decimals = (decimal(result, 9) for result in results)
        rows.append((name, *decimals, count, "equal" if same else "DIFFERENT"))
    columns = ("i", "reverse", "forward", "all pairs", "path sum", "paths", "exactly")
    verdict = "agree" if equal else "DO NOT agree"
    return [
        "5. FOUR MODES, one answer. Reverse: one sweep back from the output. Forward: one sweep "
        "for each i. All pairs: every S(i, j) at once. Path sum: one product per path.",
        Table("", columns, rows),
        f"All {4 * len(rows)} results {verdict}. They are compared as exact numbers, with ==.",
    ]


def _next() -> list[Block]:
    return [
        "6. YOUR TURN. Write a graph like the one above into a file, or take one of examples/:",
        "\n".join(
            f"    {line}"
            for line in (
                f"graphc show {FILE}",
                f"graphc derive {FILE} --wrt y1,y2 --format latex",
                f"graphc derive {FILE} --wrt y2 --mode paths \\",
                "    --at y1=1/2,y2=3/5,y3=7/10,w2=4/5,w3=-3/10",
                "graphc derive --help",
            )
        ),
        f'In Python: import graphc as gc; print(gc.load("{FILE}").reverse())',
    ]
