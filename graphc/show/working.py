"""Working: the lines of a worked solution, written from what an evaluation did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..derive.evaluation import Edge
from ..derive.modes import Trace
from ..derive.request import Request
from ..errors import GraphcError
from ..shapes import Shape
from ..structure.reach import mentioned
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..table.phrases import ATOM, Phrase, bound, bracket, bracket_latex, leaf, name_line, phrase
from ..write import latex, line
from ..write.formula import Expression
from ..write.rows import Known, expression_phrase, formula_phrase
from .notation import LATEX, TEXT, Notation
from .numbers import ALONE, Sides, fits, following, number_inside, presented, sides
from .rule_words import rule_words
from .solution import ABOUT, EQUAL, Equation, Math, Prose, formed, sign, written

LONGEST = 600  # characters of one side of an equation
MOST_TERMS = 24  # of a sum that is written out
Term = tuple[Math, Math, Any, Any]  # two factors of a product, and their numbers


class Working:
    """How the values and formulas of one graph are written, at a point or in symbols."""

    def __init__(self, graph: Structure, at: Any, needed: Iterable[GraphRow], digits: int) -> None:
        self.graph = graph
        self.digits = digits
        self.numeric = at is not None
        self.point = Request(graph, at, needed=needed) if at is not None else None
        if self.point is not None and self.point.shape:
            raise GraphcError(
                f"a worked solution is about one point, and at= holds {self.point.shape} of them; "
                "give one number for each name"
            )
        self.formulas = Request(graph, None, rows=True)
        # presenting an exact number can take a while
        self._numbers: dict[GraphRow | Edge, Any] = {}
        self.has_values = not any(op == "edges" for op in graph.ops)

    # Signs.

    def name(self, node: GraphRow) -> Math:
        return written(lambda notation: notation.name(self.graph.names[node]))

    def total(self, source: GraphRow, target: GraphRow) -> Math:
        """S(i, t), the derivative of t by i over all paths."""
        return formed("S({0}, {1})", self.name(source), self.name(target))

    def local(self, edge: Edge) -> Math:
        """z(i, j), the local derivative of one edge; parallel edges are numbered."""
        node, number = edge
        formula = self.graph.formula(node)
        source = formula.sources[number]
        place = formula.sources[: number + 1].count(source)
        twin = f", {place}" if formula.sources.count(source) > 1 else ""
        return formed(f"z({{0}}, {{1}}{twin})", self.name(source), self.name(node))

    def derivative(self, of: GraphRow, wrt: GraphRow) -> Math:
        names = self.graph.names
        both = name_line(names[of]), name_line(names[wrt])
        return Math(phrase("d {0} / d {1}", *both), latex.fraction("d", names[of], names[wrt]))

    def shape(self, row: GraphRow) -> Prose:
        """The shape of a tensor in words; nothing for a scalar."""
        return (shape_words(self.graph.shape(row)),) if self.graph.shape(row) else ()

    # Numbers.

    def number(self, node: GraphRow) -> Any:
        """The value of a node as users get it; None in symbols and where there is none."""
        if self.point is None or not self.has_values:
            return None
        if node not in self._numbers:
            self._numbers[node] = presented(self.point.evaluation.value(node))
        return self._numbers[node]

    def edge_number(self, edge: Edge) -> Any:
        """The local derivative of an edge as users get it; None in symbols."""
        if self.point is None:
            return None
        if edge not in self._numbers:
            found = self.point.local_row(edge)
            self._numbers[edge] = presented(0 if found is None else found)
        return self._numbers[edge]

    def known(
        self, nodes: Iterable[GraphRow], notation: Notation
    ) -> tuple[dict[GraphRow, Phrase], bool]:
        """Numbers instead of names, and whether any was rounded."""
        found, rounded = {}, False
        for node in nodes:
            found[node], cut = number_inside(self.number(node), self.digits, notation)
            rounded = rounded or cut
        return found, rounded

    # Equations.

    def value(self, node: GraphRow) -> Equation:
        """name = formula = the formula with numbers = the value."""
        found: Sides = []
        formula = self.graph.formula(node)
        if formula.sources or self.graph.ops[node] != "const":
            found.append((EQUAL, self._formula(node, {}, {})))
        value = self.number(node)
        if self.numeric:
            found += self._with_numbers(formula.sources, lambda t, x: self._formula(node, t, x))
            found += following(found, sides(value, self.digits))
        elif not found:
            found += sides(presented(self.graph.settings(node)["value"]), self.digits)
        return self.equation(self.name(node), found, value, self.shape(node))

    def _formula(self, node: GraphRow, text: Known, tex: Known) -> Math:
        graph = self.graph
        if graph.ops[node] == "pi":
            return sign("pi", r"\pi")
        return Math(
            formula_phrase(graph, node, line.TEXT, text),
            formula_phrase(graph, node, latex.LATEX, tex),
        )

    def _with_numbers(self, sources: Iterable[GraphRow], write: Any) -> Sides:
        """A formula with numbers instead of names, if they all fit in."""
        nodes = list(sources)
        if not self.has_values or not nodes or not all(fits(self.number(n)) for n in nodes):
            return []
        text, rounded = self.known(nodes, TEXT)
        tex, _ = self.known(nodes, LATEX)
        return [(ABOUT if rounded else EQUAL, write(text, tex))]

    def slope(self, edge: Edge) -> Equation | None:
        """z(i, j) = partial = number, and its rule; None for a Jacobian of more than two axes."""
        node, number = edge
        graph, request = self.graph, self.formulas
        source = graph.formula(node).sources[number]
        if len(graph.shape(node)) + len(graph.shape(source)) > 2:
            return None
        row = request.local_row(edge)
        value = self.edge_number(edge)
        note = rule_words(graph, node, number)
        if row is None:
            return self.equation(self.local(edge), [(EQUAL, sign("0"))], value, note)
        row = _in_order(request, row)
        found: Sides = [(EQUAL, self.expression(request.graph, row))]
        if self.numeric:
            found += self._with_numbers(
                mentioned(request.graph, row),
                lambda t, x: self.expression(request.graph, row, t, x),
            )
            found += following(found, sides(value, self.digits))
        return self.equation(self.local(edge), found, value, note)

    def expression(
        self, graph: Structure, row: GraphRow, text: Known | None = None, tex: Known | None = None
    ) -> Math:
        """A row in both notations."""
        style = line.NUMPY if graph.has_tensors else line.TEXT
        return Math(
            expression_phrase(graph, row, style, text or {}),
            expression_phrase(graph, row, latex.LATEX, tex or {}),
        )

    def update(
        self, left: Math, terms: Sequence[Term], value: Any, extra: Sides, note: Prose = ()
    ) -> Equation:
        """left = a sum of products of two factors = the same in numbers = the value."""
        found: Sides = []
        if 0 < len(terms) <= MOST_TERMS:
            found.append((EQUAL, joined([product(term[:2]) for term in terms])))
            if self.numeric:
                found.append(self.products([term[2:] for term in terms]))
        elif terms:
            note = (*note, f"a sum over {len(terms)} edges")
        found += extra
        if self.numeric:
            found += following(found, sides(value, self.digits))
        return self.equation(left, found, value, note)

    def products(self, factors: Sequence[Sequence[Any]]) -> tuple[str, Math]:
        """A sum of products of numbers."""
        cut = False
        written_terms = []
        for term in factors:
            factor_signs = []
            for place, factor in enumerate(term):
                least = 3 if place else 2
                text, rounded = number_inside(factor, self.digits, TEXT)
                tex, _ = number_inside(factor, self.digits, LATEX)
                cut = cut or rounded
                factor_signs.append(Math(bracket(text, least), bracket_latex(tex, least)))
            written_terms.append(between(factor_signs, "*", r" \cdot "))
        return ABOUT if cut else EQUAL, joined(written_terms)

    def step(
        self, left: Math, trace: Trace, node: GraphRow, value: Any, signs: dict[GraphRow, Math]
    ) -> Any:
        """left = one update in matrix form = the same in numbers = the value."""
        graph, row = trace.request.graph, trace.sums[node]
        text = {row: bound(math.line, ATOM) for row, math in signs.items()}
        tex = {row: bound(math.display, ATOM) for row, math in signs.items()}
        found: Sides = [(EQUAL, self.expression(graph, row, text, tex))]
        if self.numeric:
            found += following(found, sides(value, self.digits))
        return self.equation(left, found, value, self.shape(node))

    def result(self, left: Math, total: Math | None, value: Any, note: Prose = ()) -> Equation:
        """The derivative that was asked for."""
        found: Sides = [] if total is None else [(EQUAL, total)]
        return self.equation(left, found + self.told(value, 200), value, note)

    def told(self, value: Any, longest: int = ALONE) -> Sides:
        """A finished result: a number, or a formula in the names of nodes."""
        if self.numeric or isinstance(value, int):
            return sides(value, self.digits, longest)
        if isinstance(value, Expression):
            return [(EQUAL, Math(value.phrase(line.NUMPY), value.phrase(latex.LATEX)))]
        return [(EQUAL, Math(leaf(str(value)), latex.expression_display(value)))]

    def equation(self, left: Math, found: Sides, value: Any, note: Prose = ()) -> Equation:
        """The sides one after another, none twice, none longer than can be read."""
        kept: Sides = []
        for relation, side in found:
            if len(side.text) > LONGEST:
                words = f"a formula of {len(side.text)} characters is left out"
                note = (*note, "; " if note else "", words)
            elif side.text not in [left.text, *(other.text for _, other in kept)]:
                kept.append((relation, side))
        return Equation(left, tuple(kept), value, note)

    def kink(self, node: GraphRow) -> Prose:
        """A sentence about a node that sits on its kink."""
        graph = self.graph
        rules = []
        for row in graph.formula(node).rows:
            op, chosen = graph.ops[row], graph.settings(row).get("kink")
            if op in FUNCTIONS and FUNCTIONS[op].kinks:
                own = FUNCTIONS[op].kinks if chosen is None else f"kink={chosen}, as declared"
                rules.append(f"{op}: {own}")
        formula = self._formula(node, {}, {})
        equation = formed("{0} = {1}", self.name(node), formula)
        convention = f" ({'; '.join(dict.fromkeys(rules))})" if rules else ""
        return (
            "Mind the kink: at this point ",
            equation,
            " has no single slope; the one taken is a convention" + convention + ".",
        )


def shape_words(shape: Shape) -> str:
    """vector of 3, 2 x 3 matrix, ..."""
    if len(shape) == 1:
        return f"vector of {shape[0]}"
    return f"{' x '.join(map(str, shape))} {'matrix' if len(shape) == 2 else 'tensor'}"


def product(factors: Sequence[Math]) -> Math:
    """A product of signs."""
    return between(factors, "*", r" \, ")


def joined(terms: Sequence[Math]) -> Math:
    """A sum."""
    return between(terms, " + ", " + ", word="+")


def between(parts: Sequence[Math], text: str, tex: str, word: str = "") -> Math:
    """Mathematics with a sign between its parts."""
    holes = [f"{{{place}}}" for place in range(len(parts))]
    return formed(text.join(holes), *parts, latex=tex.join(holes), word=word)


def _in_order(request: Request, row: GraphRow) -> GraphRow:
    """A product of names with its factors in the order of declaration; any other row as it is."""
    graph = request.graph
    factors, stack = [], [row]
    while stack:
        here = stack.pop()
        if here in graph.names or graph.ops[here] == "const":
            factors.append(here)
        elif graph.ops[here] == "mul" and not graph.has_tensors:
            stack.extend(graph.operands[here])
        else:
            return row
    first, *rest = sorted(factors, key=lambda factor: (graph.ops[factor] != "const", factor))
    for factor in rest:
        first = graph.append("mul", (first, factor))
    return first
