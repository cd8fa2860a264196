"""Formulas as text: what a node was declared as, printed so that it can be read back."""

from __future__ import annotations

from ..errors import GraphcError
from ..shapes import Shape
from ..structure.rows import LEAVES, GraphRow
from ..structure.structure import Structure
from ..syntax.parsing import read_formula
from ..table.phrases import Phrase
from .line import NUMPY, SOURCE, TEXT, constant
from .numbers import value_source
from .rows import Known, Style, expression_phrase, formula_phrase

SURELY_SHORT = 150  # characters, in which a formula cannot exceed the limits of the reader


def formula_line(graph: Structure, node: GraphRow) -> Phrase:
    """The right-hand side of a node's declaration, for people."""
    if not graph.operands[node] and graph.ops[node] not in LEAVES:
        return constant(graph, node, source=False)  # its name is not its formula
    return formula_phrase(graph, node, TEXT, {})


def formula_text(graph: Structure, node: GraphRow) -> str:
    """The same as text."""
    return formula_line(graph, node).text


def source_text(graph: Structure, node: GraphRow) -> str:
    """The right-hand side of a node's declaration as the text form has it."""
    if graph.operands[node]:
        written = formula_phrase(graph, node, SOURCE, {})
    else:
        written = constant(graph, node, source=True)
    return _readable(written.text, graph.label(node))


def _readable(text: str, label: str) -> str:
    """The text, if the reader would not refuse it for its length."""
    if len(text) > SURELY_SHORT:
        try:
            read_formula(text, 0)
        except GraphcError as error:
            raise GraphcError(f"{label} cannot be written as text: {error}") from None
    return text


def expression_text(
    graph: Structure, row: GraphRow, style: Style = TEXT, known: Known | None = None
) -> str:
    """An unnamed expression, such as the user's own partial."""
    return expression_phrase(graph, row, style, known or {}).text


class Expression:
    """A symbolic result of a graph with tensors: prints as valid NumPy."""

    def __init__(self, graph: Structure, row: GraphRow, whole: bool, named: bool = True) -> None:
        self.graph = graph
        self.row = row
        self._whole = whole  # written out down to the inputs, or in the names of nodes
        self._named = named  # a node is written by its name, or by its formula

    @property
    def shape(self) -> Shape:
        return self.graph.shape(self.row)

    def __str__(self) -> str:
        return self.phrase(NUMPY).text

    def __repr__(self) -> str:
        return str(self)

    def latex(self) -> str:
        """The formula in LaTeX, in matrix form."""
        from .latex import LATEX

        return self.phrase(LATEX).text

    def phrase(self, style: Style) -> Phrase:
        """The formula in a style."""
        graph = self.graph
        if self._whole:
            graph = graph.duplicate()
            graph.names = {row: n for row, n in graph.names.items() if graph.ops[row] in LEAVES}
        if not self._named and graph.ops[self.row] not in LEAVES:
            return formula_phrase(graph, self.row, style, {})
        return expression_phrase(graph, self.row, style, {})


def graph_text(graph: Structure) -> str:
    """The whole graph in the text form."""
    if any(op == "edges" for op in graph.ops):
        raise GraphcError(
            "a graph of which only local derivatives are known has no text form; keep its edges"
        )
    lines = []
    run: list[str] = []  # consecutive inputs or parameters without values share a line
    run_kind = ""

    def close() -> None:
        if run:
            lines.append(f"{run_kind} {' '.join(run)}")
            run.clear()

    for row in graph.nodes():
        op, name = graph.ops[row], graph.names[row]
        if op in ("input", "param"):
            shape = graph.shape(row)
            name += f"[{', '.join(map(str, shape))}]" if shape else ""
            if row in graph.given:
                close()
                value = _readable(value_source(graph.given[row]), graph.label(row))
                lines.append(f"{op} {name} = {value}")
            else:
                if op != run_kind or len(run) == 10:
                    close()
                run_kind = op
                run.append(name)
            continue
        close()
        lines.append(f"{name} = {source_text(graph, row)}")
    close()
    for (target, edge), row in graph.partials.items():
        source = graph.formula(target).sources[edge]
        what = f"d {graph.names[target]} / d {graph.names[source]}"
        lines.append(f"{what} = {_readable(expression_text(graph, row, SOURCE), what)}")
    if graph.declared_outputs:
        lines.append("output " + " ".join(graph.names[row] for row in graph.declared_outputs))
    return "\n".join(lines) + "\n"
