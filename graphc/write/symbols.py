"""SymPy expressions as phrases: its own printers say what stands where, we keep the parts."""

from __future__ import annotations

import re
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from ..table.letters import name_latex, name_math
from ..table.phrases import (
    PLUS,
    SIGNS,
    TIMES,
    Phrase,
    bracket_latex,
    leaf,
    literal,
    name_line,
    negative,
    phrase,
    power,
)
from .signs import function_sign, root

FIRST = 0xF0000  # characters that no text has stand for the parts while SymPy prints around them
OURS = {"Abs": "abs", "Max": "max", "Min": "min"}  # names that differ
_SIGN = re.compile(r"[^\W\d]\w*(?=\()|\*\*|<=|>=|!=|[*-]")


def line(expression: Any) -> Phrase:
    """The expression as str() gives it."""
    printer = _Printer()
    return printer.found(printer.doprint(expression))


class _Printer(StrPrinter):  # type: ignore[misc]
    """Prints each part into a phrase of its own, and a character for it around."""

    def __init__(self) -> None:
        super().__init__()
        self.phrases: list[Phrase] = []

    def _print(self, expr: Any, **settings: Any) -> str:
        text = super()._print(expr, **settings)
        if len(text) == 1 and ord(text) >= FIRST:
            return str(text)
        minus = "-" * text.startswith("-")  # what stands around decides about the sign
        self.phrases.append(self._phrase(expr, text.removeprefix("-")))
        return f"{minus}{chr(FIRST + len(self.phrases) - 1)}"

    def found(self, text: str) -> Phrase:
        """The phrase that a printed text stands for."""
        whole = self.phrases[ord(text[-1]) - FIRST]
        return negative(whole) if text.startswith("-") else whole

    def _phrase(self, expr: Any, text: str) -> Phrase:
        if expr.is_Symbol:
            return name_line(text)
        if expr.is_Pow and expr.exp.is_Integer and expr.exp > 1:
            base, _, exponent = text.partition("**")
            return power(self._parts(base), self._parts(exponent))
        above, slash, below = text.partition("/")
        if slash:
            return phrase(
                "{0}/{1}", self._parts(above), self._parts(below), binding=TIMES, word="/"
            )
        return self._parts(text, "+" if expr.is_Add else "")

    def _parts(self, text: str, word: str = "") -> Phrase:
        """Text with characters for parts; brackets around the whole stay brackets."""
        if len(text) == 1 and ord(text) >= FIRST:
            return self.phrases[ord(text) - FIRST]
        if text.startswith("sqrt(") and text.count("(") == 1:
            return root(self._parts(text.removeprefix("sqrt(").removesuffix(")")))
        if _is_wrapped(text) and not word:
            return phrase("({0})", self._parts(text[1:-1], "inside"), word="()")
        form, drawn = "", ""
        parts: list[Phrase] = []
        for run in re.split(f"([{chr(FIRST)}-\U0010ffff])", text):
            if run and ord(run[0]) >= FIRST:
                form, drawn = form + f"{{{len(parts)}}}", drawn + f"{{{len(parts)}}}"
                parts.append(self.phrases[ord(run) - FIRST])
            else:
                form += literal(run)
                drawn += literal(_SIGN.sub(_shown, run))
        if not parts:
            return leaf(text, drawn="π" if text == "pi" else name_math(text))
        return phrase(form, *parts, drawn=drawn, word=word)


def _is_wrapped(text: str) -> bool:
    """Whether the first bracket is closed at the very end."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return place == len(text) - 1 and place > 0
    return False


def _shown(sign: re.Match[str]) -> str:
    if sign[0] == "**":
        return "^"
    return SIGNS.get(sign[0]) or OURS.get(sign[0]) or function_sign(sign[0])


def display(expression: Any) -> Phrase:
    """The expression in LaTeX, with the names of nodes as we write them."""
    symbols = getattr(expression, "free_symbols", ())
    printer = LatexPrinter({"symbol_names": {s: name_latex(s.name) for s in symbols}})
    if not isinstance(expression, sympy.Add):
        return leaf(printer.doprint(expression))
    form, terms = "", []
    for place, term in enumerate(printer._as_ordered_terms(expression)):
        if place and term.could_extract_minus_sign():
            form, term = f"{form} - ", -term
        elif place:
            form += " + "
        form += f"{{{place}}}"
        loose = printer._needs_add_brackets(term)
        terms.append(bracket_latex(leaf(printer._print(term), 0 if loose else PLUS), PLUS))
    return phrase(form, *terms, word="+")
