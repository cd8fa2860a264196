"""MathML: the display style of pages, from the same phrases as LaTeX.

The forms of records and writers are LaTeX; each is read once, where its parts stand their elements
are put. What is not known stays visible as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from ..table.letters import GREEK, LETTERS
from ..table.phrases import Phrase, literal

DEEPEST = 60  # groups within groups; deeper formulas are shown as LaTeX
_TOKEN = re.compile(
    r"\\[A-Za-z]+\*?|\\(?:\{\{|\}\}|.)|\{\{|\}\}|\{[0-9]+\}|[0-9]+(?:\.[0-9]+)?|\s+|.",
    re.DOTALL,
)
SIGNS = {**{name: LETTERS[name] for name in GREEK}, "partial": "∂", "infty": "∞", "omicron": "ο"}
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


@dataclass(frozen=True)
class Element:
    """One element: its name, attributes, and what it holds."""

    tag: str
    children: tuple[str, ...]
    attributes: str = ""

    def __str__(self) -> str:
        return f"<{self.tag}{self.attributes}>{''.join(self.children)}</{self.tag}>"


Elements = list[Element]


def mathml(whole: Phrase, after: bool = False) -> str:
    """A <math> element; a sign that it begins with belongs to what stands before it if `after`."""
    try:
        found = _elements(whole)
    except (Unknown, IndexError):
        return f"<code>{escape(whole.text)}</code>"
    if after and found and found[0].tag == "mo":
        found = [Element("mo", found[0].children, ' form="infix"'), *found[1:]]
    return f"<math>{_row(found)}</math>"


def _elements(whole: Phrase) -> Elements:
    """The elements of a phrase, its parts first."""
    made: dict[int, Elements] = {}
    stack = [whole]
    while stack:
        here = stack[-1]
        missing = [part for part in here.parts if id(part) not in made]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        form = here.form or literal(here.text)
        made[id(here)] = _Reader(form, [made[id(part)] for part in here.parts]).row(())
    return made[id(whole)]


def _row(elements: Elements) -> Element:
    return Element("mrow", tuple(map(str, elements)))


def _text(tag: str, text: str, attributes: str = "") -> Element:
    return Element(tag, (escape(text),), attributes)


def _fence(sign: str) -> Element:
    return _text("mo", sign, ' stretchy="true"')


APPLY = Element("mo", ("&#x2061;",))  # invisible, between a function and its argument


class _Reader:
    """Reads tokens of a form from left to right, one group at a time."""

    def __init__(self, form: str, parts: Sequence[Elements]) -> None:
        self.tokens = [_single(token) for token in _TOKEN.findall(form)]
        self.parts = parts
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

    def row(self, ends: tuple[str, ...]) -> Elements:
        """Elements up to one of the ends, which is left for the caller."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unknown
        found: Elements = []
        while (token := self.peek()) not in ends:
            if not token:
                if ends:
                    raise Unknown
                break
            if token in ("_", "^", "'"):
                self.script(found)
            else:
                found += self.elements()
        self.depth -= 1
        return found

    def script(self, found: Elements) -> None:
        """Puts a subscript or superscript to the last element."""
        sign = self.next()
        raised = Element("mo", ("′",)) if sign == "'" else self.argument()
        applied = bool(found) and found[-1] is APPLY  # it goes behind the script
        if applied:
            found.pop()
        if not found:
            raise Unknown
        base, below, above = found.pop(), "", ""
        if base.tag == "msub":
            base_text, below = base.children
        elif base.tag == "msup" and sign != "^":
            base_text, above = base.children
        else:
            base_text = str(base)
        if sign == "_":
            below = str(raised)
        else:
            above = str(raised)
        tag = "msubsup" if below and above else "msub" if below else "msup"
        found.append(Element(tag, tuple(text for text in (base_text, below, above) if text)))
        if applied:
            found.append(APPLY)

    def argument(self) -> Element:
        """A group in braces, or one element."""
        if self.peek() != "{":
            return _single_of(self.elements())
        self.next()
        inside = self.row(("}",))
        self.next()
        return _row(inside)

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

    def elements(self) -> Elements:
        """The next element, or those of the part that stands here."""
        token = self.next()
        if token.startswith("{") and len(token) > 1:
            return list(self.parts[int(token[1:-1])])
        if token.startswith("\\") and len(token) > 1:
            return self.command(token[1:])
        if token == "{":
            self.place -= 1
            return [self.argument()]
        if token in ("", "}", "&"):
            raise Unknown
        if token[0].isdigit():
            return [_text("mn", token)]
        if token.isalpha():
            return [_text("mi", token)]
        if token in "()[]|":
            return [_text("mo", token, ' stretchy="false"')]
        return [_text("mo", "−" if token == "-" else token)]

    def command(self, name: str) -> Elements:
        if name in SIGNS:
            return [_text("mi", SIGNS[name])]
        if name in OPERATORS:
            return [_text("mo", OPERATORS[name])]
        if name in WORDS:
            return [_text("mi", name), APPLY] if self.peek() != "^" else [_text("mi", name)]
        if name in SPACES:
            return [Element("mspace", (), f' width="{SPACES[name]}"')]
        if name in FONTS:
            return _font(name, self.raw())
        if name in COMMANDS:
            return COMMANDS[name](self)
        if name in "{}$&#_%":
            return [_text("mo", name)]
        if name in ACCENTS:
            over = str(Element("mo", (ACCENTS[name],)))
            return [Element("mover", (str(self.argument()), over))]
        raise Unknown

    def fraction(self) -> Elements:
        above = self.argument()
        return [Element("mfrac", (str(above), str(self.argument())))]

    def root(self) -> Elements:
        if self.peek() == "[":
            self.next()
            index = self.row(("]",))
            self.next()
            return [Element("mroot", (str(self.argument()), str(_row(index))))]
        return [Element("msqrt", (str(self.argument()),))]

    def fence(self) -> Elements:
        opening = self.delimiter()
        inside = self.row((r"\right",))
        self.next()
        return [_row([*opening, *inside, *self.delimiter()])]

    def delimiter(self) -> Elements:
        token = self.next()
        if token == ".":
            return []
        sign = OPERATORS.get(token[1:], token[1:]) if token.startswith("\\") else token
        if len(sign) != 1:
            raise Unknown
        return [_fence(sign)]

    def environment(self) -> Elements:
        name = self.raw()
        if name == "array":
            self.raw()
        if name not in ("bmatrix", "pmatrix", "matrix", "cases", "array", "aligned"):
            raise Unknown
        rows: list[list[Elements]] = [[]]
        while True:
            rows[-1].append(self.row(("&", "\\\\", r"\end")))
            end = self.next()
            if end == "\\\\":
                rows.append([])
            elif end != "&":
                break
        if self.raw() != name:
            raise Unknown
        cells = (
            Element("mtr", tuple(str(Element("mtd", tuple(map(str, cell)))) for cell in row))
            for row in rows
            if any(row)
        )
        table = Element("mtable", tuple(map(str, cells)))
        fences = {"bmatrix": ("[", "]"), "pmatrix": ("(", ")"), "cases": ("{", "")}
        left, right = ([_fence(sign)] if sign else [] for sign in fences.get(name, ("", "")))
        return [_row([*left, table, *right])]


def _single(token: str) -> str:
    """A token of a form, in which braces stand twice."""
    return token.replace("{{", "{").replace("}}", "}")


def _single_of(elements: Elements) -> Element:
    return elements[0] if len(elements) == 1 else _row(elements)


COMMANDS: dict[str, Callable[[_Reader], Elements]] = {
    "frac": _Reader.fraction,
    "tfrac": _Reader.fraction,
    "sqrt": _Reader.root,
    "left": _Reader.fence,
    "begin": _Reader.environment,
    "limits": lambda reader: [],
}


def _font(font: str, text: str) -> Elements:
    if font == "mathbf":
        return [_text("mi", text, ' style="font-weight: bold"')]
    if font == "operatorname":
        return [_text("mi", text), APPLY]
    if font == "mathtt":
        return [_text("mtext", text, ' style="font-family: monospace"')]
    if font == "mathrm":
        return [_text("mi", text, ' mathvariant="normal"')]
    return [_text("mtext", text)]
