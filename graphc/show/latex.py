"""LaTeX: names, formulas as they were declared, and results; everything is escaped."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from ..formula import ATOM, Piece, formula_text, number_text
from ..functions import FUNCTIONS
from ..structure import Structure

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
GREEK = frozenset(_GREEK.split())
ACCENTS = {"bar": r"\bar", "dot": r"\dot"}
_SPECIAL = {character: "\\" + character for character in "{}$&#_%"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}
_WORD = re.compile(r"([^\W\d_]+)([0-9]*)\Z")
_PART = re.compile(r"[^\W\d_]*[0-9]*\Z(?<=.)")
POWER_BASE = 5  # what binds less tightly is put in brackets before it gets an exponent


# Names.


def name_latex(name: str) -> str:
    r"""A node's name: y10 is y_{10}, h2_1 is h_{2,1}, alpha is \alpha, h1_bar is \bar{h}_{1}."""
    first, *rest = name.rstrip("_").split("_")
    word = _WORD.match(first)
    if word is None or not all(map(_PART.match, rest)):
        return rf"\mathtt{{{_text(name)}}}"
    letters = _letters(word[1])
    subscripts = [word[2]] if word[2] else []
    for part in rest:
        if part in ACCENTS:
            letters = f"{ACCENTS[part]}{{{letters}}}"
        else:
            subscripts.append(part if part.isdigit() else name_latex(part))
    return letters + (f"_{{{','.join(subscripts)}}}" if subscripts else "")


def _letters(word: str) -> str:
    """A word of letters: Greek ones by name, single ones as they are, others upright as text."""
    if word in GREEK:
        return f"\\{word}"
    if len(word) == 1:
        if word.isascii():
            return word
        kind, _, letter = (
            unicodedata.name(word, "").replace("LAMDA", "LAMBDA").rpartition(" LETTER ")
        )
        letter = letter.lower() if kind == "GREEK SMALL" else letter.capitalize()
        if kind.startswith("GREEK") and letter in GREEK:
            return f"\\{letter}"
    return rf"\mathrm{{{_text(word)}}}" if word.isascii() else rf"\text{{{_text(word)}}}"


def _text(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)


# Formulas.


def formula_latex(graph: Structure, node: int) -> str:
    """The formula of a node as it was declared."""
    return formula_text(graph, node, style)


def style(graph: Structure, row: int, operands: list[Piece]) -> Piece:
    """One row in LaTeX, by the template of its function."""
    op, settings = graph.ops[row], graph.settings(row)
    if not operands:
        if row in graph.names:
            return name_latex(graph.names[row]), ATOM
        if op == "const":
            return number_latex(settings["value"])
        return FUNCTIONS[op].latex if op in FUNCTIONS else name_latex(settings["symbol"]), ATOM
    record = FUNCTIONS[op]
    texts = [piece[0] for piece in operands]
    if op in ("power", "pow"):
        exponent = number_latex(settings["exponent"])[0] if op == "power" else texts[1]
        return record.latex.format(_bracket(operands[0], POWER_BASE), exponent), 4
    if op == "div":
        return record.latex.format(*texts), 4
    if op == "neg":
        return record.latex.format(_bracket(operands[0], 3)), 3
    if record.infix:
        left, right = _bracket(operands[0], record.binding), _right(operands[1], record.binding)
        if op == "mul" and right[0].isdigit():
            right = rf"\cdot {right}"  # 2 3 would read as 23
        return record.latex.format(left, right), record.binding
    if op == "identity":
        return operands[0]
    if record.variadic:
        texts = [", ".join(texts)]
    defaults = list(record.defaults.values())
    while defaults and texts[-1] == number_latex(defaults.pop())[0]:
        texts.pop()
    call = r"\operatorname{{{}}}\left({}\right)"
    if (
        not record.latex
        or f"{{{len(texts)}}}" in record.latex
        or f"{{{len(texts) - 1}}}" not in record.latex
    ):
        return call.format(_text(op), ", ".join(texts)), ATOM
    binding = ATOM if record.latex.endswith((")", "|")) else 4
    return record.latex.format(*texts), 0 if op == "where" else binding


def _right(piece: Piece, binding: int) -> str:
    """The right operand: a leading minus sign and an equal binding need brackets."""
    return _bracket((piece[0], 0) if piece[1] == 3 else piece, binding + 1)


def _bracket(piece: Piece, least: int) -> str:
    return piece[0] if piece[1] >= least else rf"\left({piece[0]}\right)"


def number_latex(value: Any) -> Piece:
    """A number of a formula."""
    text, binding = number_text(value)
    fraction = re.fullmatch(r"(-?)(\d+)/(\d+)", text)
    if fraction:
        sign, above, below = fraction.groups()
        return rf"{sign}\frac{{{above}}}{{{below}}}", 3 if sign else 4
    if not re.fullmatch(r"-?[\d.]+", text):
        return expression_latex(getattr(value, "expression", value)), 0
    return text, binding


# Results.


def expression_latex(expression: Any) -> str:
    """A SymPy result, with the names of nodes written as above."""
    import sympy

    symbols = getattr(expression, "free_symbols", ())
    return str(sympy.latex(expression, symbol_names={s: name_latex(s.name) for s in symbols}))


def equations(pairs: Iterable[tuple[str, str]]) -> str:
    """Left and right sides in an align* environment."""
    lines = " \\\\\n".join(f"{left} &= {right}" for left, right in pairs)
    return f"\\begin{{align*}}\n{lines}\n\\end{{align*}}"


def fraction(mark: str, of: str, wrt: str) -> str:
    r"""The sign of a derivative; the mark is d, or \partial for a local one."""
    return rf"\frac{{{mark} {name_latex(of)}}}{{{mark} {name_latex(wrt)}}}"
