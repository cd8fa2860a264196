"""The rule of an edge, in words: which rules of differentiation lead from a node to its source."""

from __future__ import annotations

from ..algebra.formulas import Formulas
from ..algebra.rules import rule
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..table.phrases import phrase
from ..table.tensors import OPERATIONS
from ..write.latex import LATEX
from ..write.line import TEXT
from ..write.rows import expression_phrase, site_of
from .solution import Math, Prose


def rule_words(graph: Structure, node: GraphRow, edge: int) -> Prose:
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


def _nested(graph: Structure, node: GraphRow, parts: list[Prose]) -> bool:
    """Whether a function of something that is more than a name is among the rules."""
    return len(parts) > 1 and any(isinstance(piece, Math) for part in parts for piece in part)


def _between(graph: Structure, node: GraphRow, source: GraphRow) -> list[GraphRow]:
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


def _words(graph: Structure, row: GraphRow) -> Prose:
    op = graph.ops[row]
    if op in OPERATIONS:
        return (OPERATIONS[op].rule_words(site_of(graph, row)),)
    record = FUNCTIONS[op]
    if record.rule:
        return (record.rule,)
    if len(graph.operands[row]) != 1:
        return (f"{op}: {record.kinks}" if record.kinks else op,)
    return (_derivative_of(op, graph.settings(row)),)


def _derivative_of(op: str, settings: dict[str, object]) -> Math:
    """f(u)' = ..., from the record of the function."""
    scratch = Structure("rule")
    u = scratch.bind("u", scratch.append("input"))
    own = scratch.operation(op, (u,), dict(settings))
    partial = rule(op, 1, dict(settings)).partials[0].run(Formulas(scratch), [u, own])
    forms = (TEXT, "{0}' = {1}"), (LATEX, r"\tfrac{{d}}{{du}} {0} = {1}")
    return Math(
        *(
            phrase(form, *(expression_phrase(scratch, row, style, {}) for row in (own, partial)))
            for style, form in forms
        )
    )
