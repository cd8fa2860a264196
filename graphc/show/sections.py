"""What every solution begins with: the given values, the forward pass, the local derivatives."""

from __future__ import annotations

from collections.abc import Sequence

from ..structure.rows import GraphRow
from .numbers import sides
from .solution import Equation, Equations, Math, Prose, Section, sign
from .working import Working, shape_words

MOST = 100  # equations of one section
Block = Prose | Equations


def given(working: Working, needed: set[GraphRow]) -> Section:
    graph = working.graph
    leaves = [row for row in graph.leaves() if row in needed]
    blocks: list[Block] = []
    if working.numeric and working.has_values:
        values = [
            working.equation(
                working.name(row),
                sides(working.number(row), working.digits),
                working.number(row),
                working.shape(row),
            )
            for row in leaves
        ]
        blocks += limited(values, "values")
        blocks.append(
            (
                f"The arithmetic is exact where the given numbers are; decimals (≈) are rounded to "
                f"{working.digits} significant digits only to be read.",
            )
        )
    elif working.numeric and working.point is not None:
        blocks.append(("The local derivatives alone are given.",))
    elif graph.has_tensors:
        shapes: list[str | Math] = []
        for row in leaves[:MOST]:
            size = graph.shape(row)
            shapes += [", " if shapes else "", working.name(row)]
            shapes.append(f" a {shape_words(size)}" if size else " a number")
        blocks.append(tuple(shapes[1:]))
    return Section("Given", tuple(blocks))


def values(working: Working, needed: set[GraphRow]) -> Section:
    graph = working.graph
    if not working.has_values:
        return Section("", ())
    leaves = set(graph.leaves())
    computed = [node for node in sorted(needed) if node not in leaves]
    steps = [working.value(node) for node in computed[:MOST]]
    heading = "Forward pass" if working.numeric else "The graph"
    return Section(heading, tuple(limited(steps, "nodes", len(computed))))


def local_derivatives(working: Working, shown: set[GraphRow]) -> Section:
    graph = working.graph
    edges = [
        (node, edge)
        for node in sorted(shown)
        for edge, source in graph.edges_of(node)
        if source in shown
    ]
    found = [working.slope(edge) for edge in edges[:MOST]]
    steps = [step for step in found if step is not None]
    prose: Prose = (
        sign("z(i, j)"),
        " is the local derivative of node ",
        sign("j"),
        " by the node ",
        sign("i"),
        " that its formula mentions, everything else held.",
    )
    blocks: list[Block] = [prose, *limited(steps, "edges", len(edges) - len(found) + len(steps))]
    blocks += [working.kink(node) for node in kinks(working)[:MOST]]
    return Section("Local derivatives", tuple(blocks) if steps else ())


def kinks(working: Working) -> list[GraphRow]:
    return [] if working.point is None else list(working.point.evaluation.kinks)


def limited(steps: Sequence[Equation], what: str, total: int | None = None) -> list[Block]:
    """The first equations, and how many were left out."""
    total = len(steps) if total is None else total
    blocks: list[Block] = [Equations(tuple(steps[:MOST]))] if steps else []
    if total > len(steps[:MOST]):
        blocks.append(
            (
                f"{total - len(steps[:MOST])} of {total} {what} are left out here; they are "
                "computed in the same way. Ask with wrt=, or collapse nodes, for a shorter "
                "solution.",
            )
        )
    return blocks
