"""LaTeX: names, formulas as they were declared, and results; everything is escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.contraction_words import JUXTAPOSED, ONES, beside, transposed_latex
from ..table.functions import FUNCTIONS, Function
from ..table.letters import escaped
from ..table.phrases import (
    ATOM,
    MINUS,
    PLUS,
    POWER,
    TIMES,
    Phrase,
    bound,
    bracket_latex,
    call_latex,
    leaf,
    name_display,
    phrase,
    places,
)
from ..table.selection_words import MOST_LISTED, element_latex
from ..table.tensors import OPERATIONS, Site
from .numbers import number_line
from .rows import Part, Style, formula_phrase, gates_columns, index_text, is_mask, site_of

_NUMBER = re.compile(r"\d|\\frac\{\d+\}\{\d+\}")
_HOLE = re.compile(r"\{\{|\}\}|\\left|\\right|\{(\d)\}|\\begin|\\end")


def formula_latex(graph: Structure, node: GraphRow) -> str:
    """The formula of a node as it was declared."""
    return formula_phrase(graph, node, LATEX, {}).text


def _row(graph: Structure, row: GraphRow, parts: list[Phrase]) -> Phrase:
    """One row in LaTeX, by the form of its function or operation."""
    op, settings = graph.ops[row], graph.settings(row)
    if not parts:
        return _leaf(graph, row)
    if op in OPERATIONS:
        return OPERATIONS[op].display(site_of(graph, row), parts)
    record = FUNCTIONS[op]
    parts = [*parts, *(number_latex(settings[key]) for key in record.attributes)]
    if row in graph.shapes:
        written = _MATRICES[op](graph, row, parts) if op in _MATRICES else None
        if written is not None:
            return written
        elementwise = not record.infix or graph.shape(graph.operands[row][-1])
        if record.latex_on_tensors and elementwise:
            return _filled(record, record.latex_on_tensors, parts)
    return _function(record, parts)


def _leaf(graph: Structure, row: GraphRow) -> Phrase:
    op, settings = graph.ops[row], graph.settings(row)
    if row in graph.names:
        return name_display(graph.names[row])
    if op == "const":
        return number_latex(settings["value"])
    word = settings.get("symbol", settings.get("size"))
    return name_display(word) if word is not None else leaf(FUNCTIONS[op].latex)


def _function(record: Function, parts: list[Phrase]) -> Phrase:
    """A function by the form of its record, or by name."""
    if record.silent:
        return parts[0]
    if record.infix:
        return _filled(record, record.latex, parts)
    if record.variadic:
        parts = [phrase(places(len(parts)), *parts)]
    defaults = list(record.defaults.values())
    while defaults and parts[-1].text == number_latex(defaults.pop()).text:
        parts = parts[:-1]
    mentioned = {place for place, _ in _holes(record.latex)}
    if mentioned != set(range(len(parts))):
        return call_latex(record.name, *parts)
    return _filled(record, record.latex, parts)


@lru_cache(maxsize=1024)
def _holes(form: str) -> tuple[tuple[int, bool], ...]:
    """(part, whether it stands within braces or brackets of its own) for each place of a form."""
    depth, found = 0, []
    for token in _HOLE.finditer(form):
        depth += token[0] in ("{{", r"\left", r"\begin")
        depth -= token[0] in ("}}", r"\right", r"\end")
        if token[1]:
            found.append((int(token[1]), depth > 0))
    return tuple(found)


def _filled(record: Function, form: str, parts: list[Phrase]) -> Phrase:
    """The parts in a form; those that stand free get brackets where they bind too loosely."""
    free = {place for place, closed in _holes(form) if not closed}
    if not free or not record.infix:
        binding = ATOM if form.endswith((")", "|")) else POWER
        return phrase(form, *parts, binding=0 if record.loose else binding, word=record.name)
    least = record.grips or (record.binding, record.binding + 1)
    held = list(parts)
    for place in free:
        held[place] = (_right if place else bracket_latex)(parts[place], least[place])
    sign = record.infix if len(parts) > 1 else record.name
    if form == "{0} {1}" and _NUMBER.match(held[1].text):
        form = r"{0} \cdot {1}"  # 2 3 would read as 23
    return phrase(form, *held, binding=record.binding, word=sign)


def _right(part: Phrase, least: int) -> Phrase:
    """The right operand: a leading minus sign and an equal binding need brackets."""
    return bracket_latex(part, ATOM + 1 if part.binding == MINUS else least)


# Composed functions, as they were called.


def _call(graph: Structure, made: Any, part: Part) -> Phrase:
    name, arguments, settings = made

    def written(argument: Any) -> Phrase:
        if isinstance(argument, list):
            inside = [written(each) for each in argument]
            form = places(len(inside))
            return phrase(form if all(map(_is_row, argument)) else f"[{form}]", *inside)
        if _is_row(argument):
            return part(argument[1])
        return leaf(
            rf"\mathtt{{{escaped(argument)}}}" if isinstance(argument, str) else str(argument)
        )

    if name == "[]":
        return element_latex(part(arguments[0][1]), index_text(arguments[1]))
    if name in OPERATIONS and not settings and all(map(_is_row, arguments)):
        record, rows = OPERATIONS[name], [row for _, row in arguments]
        site = Site(settings={}, shapes=[graph.shape(row) for row in rows], shape=())
        return record.display(site, [part(row) for row in rows])
    words = [
        written(value).text
        if key == "axis"
        else rf"\mathrm{{{escaped(key)}}}={written(value).text}"
        for key, value in settings.items()
        if key != "keepdims" and value is not None
    ]
    return call_latex(name, *map(written, arguments), below=",".join(words))


def _is_row(argument: Any) -> bool:
    return isinstance(argument, tuple) and argument[:1] == ("row",)


LATEX = Style(_row, _call)


# Arithmetic with vectors and matrices, vectors being columns.


def _ranks(graph: Structure, row: GraphRow) -> list[int]:
    return [len(graph.shape(operand)) for operand in graph.operands[row]]


def _mul(graph: Structure, row: GraphRow, parts: list[Phrase]) -> Phrase | None:
    ranks = _ranks(graph, row)
    if ranks in ([1, 2], [2, 1]):  # the columns of A, scaled
        matrix, vector = parts if ranks == [2, 1] else parts[::-1]
        return beside(bracket_latex(matrix, JUXTAPOSED), call_latex("diag", vector))
    left, right = parts
    if 0 not in ranks:
        both = bracket_latex(left, TIMES), _right(right, TIMES + 1)
        return phrase(r"{0} \odot {1}", *both, binding=TIMES, word="*")
    if ranks[0]:
        return None
    loose = left.binding < TIMES or (left.word == "@" and left.binding == JUXTAPOSED)
    scalar = bracket_latex(left, ATOM) if loose else left
    plain = right.binding == TIMES and not right.signed  # 2 (s x) is 2 s x
    tensor = right if plain else _right(right, TIMES + 1)
    return phrase("{0} {1}", scalar, tensor, binding=TIMES, word="*")


def _neg(graph: Structure, row: GraphRow, parts: list[Phrase]) -> Phrase | None:
    part = parts[0]
    plain = part.binding == TIMES and not part.signed
    return phrase("-{0}", part, binding=MINUS, word="neg") if plain else None


def _sum(sign: str) -> Callable[[Structure, GraphRow, list[Phrase]], Phrase | None]:
    """A sum in which a vector is added to every row of a matrix."""

    def written(graph: Structure, row: GraphRow, parts: list[Phrase]) -> Phrase | None:
        ranks = _ranks(graph, row)
        if sorted(ranks) != [1, 2]:
            return None
        left, right = (
            beside(leaf(ONES), transposed_latex(part)) if rank == 1 else part
            for rank, part in zip(ranks, parts, strict=True)
        )
        both = bracket_latex(left, PLUS), _right(right, PLUS + 1)
        return phrase(f"{{0}} {sign} {{1}}", *both, binding=PLUS, word=sign)

    return written


def _where(graph: Structure, row: GraphRow, parts: list[Phrase]) -> Phrase | None:
    condition, chosen, other = parts
    if other.text != "0":
        return None
    mask = phrase(r"\left[{0}\right]", condition)
    if is_mask(graph, row):
        return mask
    if gates_columns(graph, row):
        return beside(bracket_latex(chosen, JUXTAPOSED), call_latex("diag", mask))
    between = r" \odot " if graph.shape(graph.operands[row][1]) else " "
    both = bracket_latex(chosen, TIMES), mask
    return phrase(f"{{0}}{between}{{1}}", *both, binding=TIMES, word="*")


_MATRICES: dict[str, Callable[[Structure, GraphRow, list[Phrase]], Phrase | None]] = {
    "add": _sum("+"),
    "sub": _sum("-"),
    "neg": _neg,
    "mul": _mul,
    "where": _where,
}


# Numbers and results.


def number_latex(value: Any) -> Phrase:
    """A number of a formula, or a constant array."""
    if getattr(value, "shape", ()):
        return leaf(matrix_latex(value))
    if not isinstance(value, (int, float, Fraction)):
        return bound(expression_display(getattr(value, "expression", value)), 0)
    number = number_line(value)
    size = number.parts[0] if number.word == "neg" else number
    if size.word == "/":
        sign = "-" * (number is not size)
        form = rf"{sign}\frac{{{{{{0}}}}}}{{{{{{1}}}}}}"
        return phrase(form, *size.parts, binding=MINUS if sign else POWER)
    if re.fullmatch(r"-?[\d.]+", number.text):
        return leaf(number.text, number.binding)
    return bound(expression_display(value), 0)


def matrix_latex(value: Any) -> str:
    """A constant array: a column, a matrix, or a list of matrices; what is long has dots."""
    if len(value.shape) > 2:
        parts = [matrix_latex(part) for part in value[:MOST_LISTED]]
        dots = [r"\ldots"] * (len(value) > MOST_LISTED)
        return rf"\left({', '.join(parts + dots)}\right)"
    rows = [[part] if len(value.shape) == 1 else part for part in value[:MOST_LISTED]]
    wide = len(value.shape) == 2 and value.shape[1] > MOST_LISTED
    lines = [
        " & ".join([number_latex(part).text for part in row[:MOST_LISTED]] + [r"\cdots"] * wide)
        for row in rows
    ]
    lines += [r"\vdots"] * (len(value) > MOST_LISTED)
    body = r" \\ ".join(lines)
    return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"


def expression_display(expression: Any) -> Phrase:
    """A SymPy result or a number, with the names of nodes written as above."""
    from .symbols import display

    return display(expression)


def expression_latex(expression: Any) -> str:
    """The same as text."""
    return expression_display(expression).text


def equations(pairs: Iterable[tuple[str, str]]) -> str:
    """Left and right sides in an align* environment."""
    lines = " \\\\\n".join(f"{left} &= {right}" for left, right in pairs)
    return f"\\begin{{align*}}\n{lines}\n\\end{{align*}}"


def fraction(mark: str, of: str, wrt: str) -> Phrase:
    r"""The sign of a derivative; the mark is d, or \partial for a local one."""
    form = rf"\frac{{{{{mark} {{0}}}}}}{{{{{mark} {{1}}}}}}"
    return phrase(form, name_display(of), name_display(wrt))
