"""The rule of an edge, in words: which rules of differentiation lead from a node to its source."""

from __future__ import annotations

from ..algebra.rules import Rows, rule
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..table.matrix_form import form_of
from ..table.tensors import OPERATIONS
from ..write import latex
from ..write.formula import as_text, expression_text
from .solution import Math, Prose

WORDS = {
    "add": "sum rule",
    "sub": "sum rule",
    "neg": "constant factor",
    "mul": "product rule",
    "div": "quotient rule",
    "ratio_or_0": "quotient rule",
    "product_or_0": "product rule",
    "power": "power rule",
    "pow": "power rule",
    "identity": "copy",
    "where": "the branch taken",
    "gather": "selection",
    "scatter": "selection",
    "reshape": "the same elements",
    "largest": "all to the largest",
}
CONTRACTIONS = {
    "matmul": "matrix product",
    "outer": "outer product",
    "product": "element-wise product",
    "sum": "sum rule",
    "transpose": "transpose",
}


def rule_words(graph: Structure, node: int, edge: int) -> Prose:
    """The rules between a node and the source of one of its edges."""
    if (node, edge) in graph.partials:
        given = graph.ops[node] == "edges"
        return ("given" if given else "as declared",)
    parts: list[Prose] = []
    for row in _between(graph, node, graph.formula(node).sources[edge]):
        words = _words(graph, row)
        if words not in parts:
            parts.append(words)
    found: list[str | Math] = ["chain rule: "] if _nested(graph, node, parts) else []
    for number, part in enumerate(parts):
        found += [", "] if number else []
        found += part
    return tuple(found)


def _nested(graph: Structure, node: int, parts: list[Prose]) -> bool:
    """Whether a function of something that is more than a name is among the rules."""
    return len(parts) > 1 and any(isinstance(piece, Math) for part in parts for piece in part)


def _between(graph: Structure, node: int, source: int) -> list[int]:
    """The rows of a node's formula that the source enters, the outermost first."""
    reached = {source}
    for row in graph.formula(node).rows:
        if any(operand in reached for operand in graph.operands[row]):
            reached.add(row)
    return [
        row
        for row in reversed(graph.formula(node).rows)
        if row in reached and row != source and not graph.is_condition(row)
    ]


def _words(graph: Structure, row: int) -> Prose:
    op = graph.ops[row]
    if op == "contract":
        form = form_of(graph.settings(row)["spec"], {})
        return (CONTRACTIONS.get(form.word if form is not None else "", "linear"),)
    if op in WORDS:
        return (WORDS[op],)
    if op in OPERATIONS or len(graph.operands[row]) != 1:
        return (f"{op}: {FUNCTIONS[op].kinks}" if op in FUNCTIONS and FUNCTIONS[op].kinks else op,)
    return (_derivative_of(op, graph.settings(row)),)


def _derivative_of(op: str, settings: dict[str, object]) -> Math:
    """f(u)' = ..., from the record of the function."""
    scratch = Structure("rule")
    u = scratch.bind("u", scratch.append("input"))
    own = scratch.operation(op, (u,), dict(settings))
    partial = rule(op, 1, dict(settings)).partials[0].run(Rows(scratch), [u, own])
    return Math(
        f"{expression_text(scratch, own, as_text)}' = {expression_text(scratch, partial, as_text)}",
        rf"\tfrac{{d}}{{du}} {latex_of(scratch, own)} = {latex_of(scratch, partial)}",
    )


def latex_of(graph: Structure, row: int) -> str:
    """A row in LaTeX."""
    return expression_text(graph, row, latex.style)
