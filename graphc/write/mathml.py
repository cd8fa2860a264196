"""MathML from the LaTeX that graphc writes; what it does not know stays visible as plain text."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

from .latex import GREEK_NAMES

DEEPEST = 60  # groups within groups; deeper formulas are shown as LaTeX
_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[0-9]+(?:\.[0-9]+)?|\s+|.", re.DOTALL)
LETTERS = dict(zip(GREEK_NAMES.split(), "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", strict=True))
SIGNS = {**LETTERS, "partial": "∂", "infty": "∞", "omicron": "ο"}
OPERATORS = {
    "cdot": "·",
    "times": "×",
    "odot": "⊙",
    "oslash": "⊘",
    "to": "→",
    "approx": "≈",
    "le": "≤",
    "leq": "≤",
    "ge": "≥",
    "geq": "≥",
    "ne": "≠",
    "neq": "≠",
    "neg": "¬",
    "lnot": "¬",
    "wedge": "∧",
    "vee": "∨",
    "sum": "∑",
    "top": "⊤",
    "lVert": "‖",
    "rVert": "‖",
    "vert": "|",
    "lt": "<",
    "gt": ">",
    "mid": "|",
}
WORDS = frozenset(
    (
        *("sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan"),
        *("sinh", "cosh", "tanh", "exp", "log", "ln", "det", "max", "min", "arg"),
    )
)
SPACES = {",": "0.17em", ";": "0.28em", ":": "0.22em", "quad": "1em", "qquad": "2em", " ": "0.25em"}
ACCENTS = {"bar": "¯", "dot": "˙", "hat": "^", "tilde": "~", "overline": "¯"}
FONTS = {"mathrm": "mi", "mathtt": "mtext", "text": "mtext", "operatorname": "mi", "mathbf": "mi"}
PLAIN = {"textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~"}


class Unknown(ValueError):
    """LaTeX that this small reader does not read."""


def mathml(latex: str) -> str:
    """A <math> element; a sign that it begins with belongs to what stands before it."""
    try:
        inside = _Reader(latex).row(())
    except (Unknown, IndexError):
        return f"<code>{escape(latex)}</code>"
    if latex.startswith(("+ ", "- ")):
        inside = inside.replace("<mo>", '<mo form="infix">', 1)
    return f"<math><mrow>{inside}</mrow></math>"


class _Reader:
    """Reads tokens from left to right, one group at a time."""

    def __init__(self, latex: str) -> None:
        self.tokens = _TOKEN.findall(latex)
        self.place = 0
        self.depth = 0

    def peek(self) -> str:
        while self.place < len(self.tokens) and self.tokens[self.place].isspace():
            self.place += 1
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.place += 1
        return token

    def row(self, ends: tuple[str, ...]) -> str:
        """Elements up to one of the ends, which is left for the caller."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unknown
        parts: list[str] = []
        while (token := self.peek()) not in ends:
            if not token:
                if ends:
                    raise Unknown
                break
            parts.append(self.scripted())
        self.depth -= 1
        return "".join(parts)

    def scripted(self) -> str:
        """One element with its subscript and superscript."""
        base = self.element()
        below = above = ""
        while self.peek() in ("_", "^", "'"):
            sign = self.next()
            if sign == "'":
                above = "<mo>′</mo>"
            elif sign == "_":
                below = self.argument()
            else:
                above = self.argument()
        if below and above:
            return f"<msubsup>{base}{below}{above}</msubsup>"
        if below:
            return f"<msub>{base}{below}</msub>"
        return f"<msup>{base}{above}</msup>" if above else base

    def argument(self) -> str:
        """A group in braces, or one element."""
        if self.peek() != "{":
            return self.element()
        self.next()
        inside = self.row(("}",))
        self.next()
        return f"<mrow>{inside}</mrow>"

    def raw(self) -> str:
        """The plain text of a group in braces."""
        if self.next() != "{":
            raise Unknown
        depth, text = 1, ""
        while True:
            token = self.tokens[self.place]
            self.place += 1
            depth += (token == "{") - (token == "}")
            if not depth:
                return text
            if token.startswith("\\"):
                name = token[1:]
                if name in PLAIN:
                    text += PLAIN[name]
                    continue
                if len(name) != 1 or name.isalnum():
                    raise Unknown
                text += name
            elif token not in "{}":
                text += token

    def element(self) -> str:
        token = self.next()
        if token.startswith("\\") and len(token) > 1:
            return self.command(token[1:])
        if token == "{":
            self.place -= 1
            return self.argument()
        if token in ("", "}", "&"):
            raise Unknown
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{escape(token)}</mi>"
        if token in "()[]|":
            return f'<mo stretchy="false">{token}</mo>'
        return _operator("−" if token == "-" else token)

    def command(self, name: str) -> str:
        if name in SIGNS:
            return f"<mi>{SIGNS[name]}</mi>"
        if name in OPERATORS:
            return _operator(OPERATORS[name])
        if name in WORDS:
            return f"<mi>{name}</mi><mo>&#x2061;</mo>" if self.peek() != "^" else f"<mi>{name}</mi>"
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}"></mspace>'
        if name in FONTS:
            return _font(name, self.raw())
        if name in COMMANDS:
            return COMMANDS[name](self)
        if name in "{}$&#_%":
            return _operator(name)
        if name in ACCENTS:
            return f"<mover>{self.argument()}<mo>{ACCENTS[name]}</mo></mover>"
        raise Unknown

    def fraction(self) -> str:
        above = self.argument()
        return f"<mfrac>{above}{self.argument()}</mfrac>"

    def root(self) -> str:
        if self.peek() == "[":
            self.next()
            index = self.row(("]",))
            self.next()
            return f"<mroot>{self.argument()}<mrow>{index}</mrow></mroot>"
        return f"<msqrt>{self.argument()}</msqrt>"

    def fence(self) -> str:
        opening = self.delimiter()
        inside = self.row((r"\right",))
        self.next()
        closing = self.delimiter()
        return f"<mrow>{opening}{inside}{closing}</mrow>"

    def delimiter(self) -> str:
        token = self.next()
        if token == ".":
            return ""
        sign = OPERATORS.get(token[1:], token[1:]) if token.startswith("\\") else token
        if len(sign) != 1:
            raise Unknown
        return f'<mo stretchy="true">{escape(sign)}</mo>'

    def environment(self) -> str:
        name = self.raw()
        if name == "array":
            self.raw()
        if name not in ("bmatrix", "pmatrix", "matrix", "cases", "array", "aligned"):
            raise Unknown
        rows: list[list[str]] = [[]]
        while True:
            rows[-1].append(self.row(("&", "\\\\", r"\end")))
            end = self.next()
            if end == "\\\\":
                rows.append([])
            elif end != "&":
                break
        if self.raw() != name:
            raise Unknown
        cells = "".join(
            f"<mtr>{''.join(f'<mtd>{cell}</mtd>' for cell in row)}</mtr>"
            for row in rows
            if any(row)
        )
        table = f"<mtable>{cells}</mtable>"
        fences = {"bmatrix": ("[", "]"), "pmatrix": ("(", ")"), "cases": ("{", "")}
        left, right = fences.get(name, ("", ""))
        marks = [f'<mo stretchy="true">{m}</mo>' if m else "" for m in (left, right)]
        return f"<mrow>{marks[0]}{table}{marks[1]}</mrow>"


COMMANDS: dict[str, Callable[[_Reader], str]] = {
    "frac": _Reader.fraction,
    "tfrac": _Reader.fraction,
    "sqrt": _Reader.root,
    "left": _Reader.fence,
    "begin": _Reader.environment,
    "limits": lambda reader: "",
}


def _operator(sign: str) -> str:
    return f"<mo>{escape(sign)}</mo>"


def _font(font: str, text: str) -> str:
    shown = escape(text)
    if font == "mathbf":
        return f'<mi style="font-weight: bold">{shown}</mi>'
    if font == "operatorname":
        return f"<mi>{shown}</mi><mo>&#x2061;</mo>"
    if font == "mathtt":
        return f'<mtext style="font-family: monospace">{shown}</mtext>'
    if font == "mathrm":
        return f'<mi mathvariant="normal">{shown}</mi>'
    return f"<mtext>{shown}</mtext>"
