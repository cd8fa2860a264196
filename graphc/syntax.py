"""Formulas from text to a checked syntax tree; a mistake is told at its column.

Every word is checked before Python's parser sees it: only numbers, names, brackets and the signs of
the table below reach `ast.parse`, in an order in which they make sense, and not nested too deep.
"""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

from . import names as naming
from .errors import GraphcError, visible

LONGEST = 10_000
MOST_TERMS = 500
MOST_NUMBERS = 100_000  # in the lists of one formula
DEEPEST = 100
MOST_DIGITS = 4_000  # Python refuses to print integers of more than 4 300

_NUMERIC = dict.fromkeys(map(ord, "0123456789.,+- "))
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_TOKEN = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<ellipsis>\.\.\.)
  | (?P<attribute>\.T\b)
  | (?P<number>(?:{_DIGITS}(?:\.(?!\.)(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][-+]?{_DIGITS})?)
  | (?P<name>{naming.NAME})
  | (?P<quoted>'[^'\\]*'|"[^"\\]*")
  | (?P<opening>[(\[])
  | (?P<closing>[)\]])
  | (?P<sign>[-+])
  | (?P<operator>\*\*|//|[<>=!]=|[*/%<>@])
  | (?P<separator>\.\.|[,=:])
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENED_BY = {")": "(", "]": "["}
# where a sign may stand between two parts, and what to say elsewhere
_SEPARATORS = {
    ",": (
        ("call", "index", "members", "list", "group"),
        "a comma separates arguments; a formula has one value",
    ),
    "=": (("call",), "a comparison is written ==, and a line has one assignment"),
    "..": (("index", "members"), "a range stands in an index, as in sum(h[1..9])"),
    ":": (("index",), "a slice stands in an index, as in x[1:3]"),
}
_ADVICE = {
    ".": "the only attribute is .T, the transpose",
    "^": "a power is written **",
    ";": "write one statement per line",
    "{": "use round brackets",
    "}": "use round brackets",
    "−": "type the minus sign of the keyboard, -",
    "–": "type the minus sign of the keyboard, -",
    **dict.fromkeys("×·⋅∙", "a product is written with *"),
    "÷": "a quotient is written with /",
    "√": "write sqrt(...)",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write !=",
    "!": "the opposite of == is written !=",
    **dict.fromkeys("&|~", "nest where(cond, a, b) instead"),
    **dict.fromkeys(("and", "or", "not"), "nest where(cond, a, b) instead"),
    **dict.fromkeys(("if", "else", "?"), "write where(cond, a, b)"),
    **dict.fromkeys(("True", "False", "None"), "use a number"),
    "lambda": "functions are declared in Python with gc.declare",
    "for": "loops are lines of their own, 'for t in 1..5:'",
}
_ALLOWED = "a formula is made of numbers, names, + - * / ** and functions"


def weight(text: str) -> int:
    """The characters that count towards a limit: all but those that a list of numbers is made of.

    Numbers are limited by their own count, so that an array constant is read back.
    """
    return len(text.translate(_NUMERIC))


class Mistake(GraphcError):
    """A mistake at a column of the line being read; `told` makes a sentence with its place of it.

    The caret is for what cannot be read at all: there the place says more than the words.
    """

    def __init__(self, message: str, column: int | None = None, caret: bool = False) -> None:
        super().__init__(message)
        self.column = column
        self.caret = caret


def told(error: GraphcError, before: str, after: str, source: str) -> GraphcError:
    """The mistake with its place; in a source, a mistake of reading has a caret under it."""
    column = getattr(error, "column", None)
    if column is None:
        return GraphcError(f"{before}{after}: {error}")
    caret = _caret(source, column) if source and getattr(error, "caret", False) else ""
    return GraphcError(f"{before}, column {column + 1}{after}: {error}{caret}")


def _caret(source: str, column: int) -> str:
    """Two more lines: the source, or the part of it around the column, and the caret."""
    start = max(0, column - 60) if len(source) > 100 else 0
    dots = "..." if start else ""
    blanks = "".join(map(_blank, dots + source[start:column]))
    return f"\n    {dots}{source[start : start + 100].rstrip()}\n    {blanks}^"


def _blank(character: str) -> str:
    """White space as wide as the character."""
    if character == "\t" or unicodedata.combining(character):
        return "\t" if character == "\t" else ""
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "


@dataclass(frozen=True)
class Syntax:
    """A formula: its text, where it begins on its line, and its checked syntax tree."""

    text: str
    column: int
    tree: ast.expr
    places: dict[int, tuple[int, int]]  # offset in what Python read -> start and end in the text

    def column_of(self, tree: ast.AST) -> int:
        """The column on the line at which a part of the formula begins."""
        return self.column + self.places[getattr(tree, "col_offset", 0)][0]

    def source_of(self, tree: ast.expr) -> str:
        """A part of the formula as it was written."""
        last = max(offset for offset in self.places if offset < (tree.end_col_offset or 0))
        return self.text[self.places[tree.col_offset][0] : self.places[last][1]]


def read_formula(text: str, column: int, inside: str = "") -> Syntax:
    """The checked syntax tree of a formula that begins at this column of its line.

    The index of a name that is declared is read with inside="members": ranges and commas may stand
    in it, but no slices.
    """
    shift = len(text) - len(text.lstrip())
    text, column = text.strip(), column + shift
    if len(text) > LONGEST and weight(text) > LONGEST:
        raise Mistake(
            f"the formula has {weight(text)} characters besides its numbers, and at most {LONGEST} "
            "are allowed; name parts of it",
            column,
        )
    words: list[str] = []
    places: dict[int, tuple[int, int]] = {}
    offset = 0
    try:
        for word, start, end in _Words(inside).of(text):
            words.append(word)
            places[offset] = start, end
            offset += len(word.encode()) + 1
        tree = ast.parse(" ".join(words), mode="eval").body
    except Mistake as error:
        error.column = column + (error.column or 0)
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or "it is too large"
        raise Mistake(f"cannot read the formula: {reason}", column, caret=True) from None
    return Syntax(text, column, tree, places)


class _Level(NamedTuple):
    """An open bracket: what it holds, where it stands, and the depth outside and inside of it."""

    kind: str  # call, index, list, group; the whole formula is "" or members
    bracket: str
    place: int
    outside: int
    inside: int


class _Words:
    """The words of a formula, each checked against those before it: a method per kind of word."""

    def __init__(self, inside: str) -> None:
        self.levels = [_Level(inside, "", 0, 0, 0)]
        self.before = ("", "")  # kind and text of the last word
        self.ended = False  # whether an operand has just ended
        self.depth = 0  # brackets, signs and powers around the next operand
        self.terms = 0
        self.numbers = 0  # in lists, where they are no terms

    def of(self, text: str) -> list[tuple[str, int, int]]:
        """(word as Python shall read it, start, end)."""
        found = []
        for match in _TOKEN.finditer(text):
            kind, word = match.lastgroup or "", match[0]
            if kind == "space":
                continue
            spelt = getattr(self, kind)(word, match.start())
            self.before = kind, word
            found.append((spelt, match.start(), match.end()))
            if self.depth > DEEPEST:
                raise Mistake(f"the formula is nested over {DEEPEST} levels deep; name parts of it")
            if self.terms > MOST_TERMS:
                raise Mistake(
                    f"the formula has over {MOST_TERMS} terms; name parts of it, or use "
                    "sum(h[1..n])"
                )
            if self.numbers > MOST_NUMBERS:
                raise Mistake(f"the formula has over {MOST_NUMBERS} numbers; use fewer")
        if not self.ended:
            after = f"after {self.before[1]!r}" if found else "here"
            raise Mistake(f"a number or a name is missing {after}; add it", len(text), caret=True)
        if len(self.levels) > 1:
            level = self.levels[-1]
            raise Mistake(f"{level.bracket!r} is never closed; close it", level.place, caret=True)
        return found

    def number(self, word: str, place: int) -> str:
        self.operand(word, place)
        listed = self.levels[-1].kind == "list"
        self.numbers += listed
        self.terms += not listed
        power = word.lower().partition("e")[2]
        # the length is looked at first: int() itself refuses very long text
        if len(word) > MOST_DIGITS or (power and len(word) + abs(int(power)) > MOST_DIGITS):
            raise Mistake(
                f"{visible(word, 30)} is too large: over {MOST_DIGITS} digits; use a shorter "
                "number",
                place,
            )
        return str(int(word)) if word.isdigit() else word  # Python does not read 007

    def name(self, word: str, place: int) -> str:
        try:
            spelt = naming.identifier(word)
        except GraphcError as error:
            raise Mistake(str(error), place, caret=True) from None
        constant = spelt in ("True", "False", "None") and (
            self.before[1] == "=" or (spelt == "None" and self.levels[-1].kind == "index")
        )
        if keyword.iskeyword(spelt) and not constant:
            raise self.refusal(spelt, place)
        self.operand(word, place)
        self.terms += 1
        return spelt

    def quoted(self, word: str, place: int) -> str:
        if self.levels[-1].kind != "call":
            raise self.refusal(word, place, "text is not a number; remove the quotes")
        self.operand(word, place)
        return word

    def ellipsis(self, word: str, place: int) -> str:
        if self.levels[-1].kind != "index":
            raise self.refusal(word, place, "... stands in an index only")
        self.operand(word, place)
        return word

    def attribute(self, word: str, place: int) -> str:
        if not self.ended or self.before[0] == "number":
            raise self.refusal(word, place, ".T, the transpose, stands after a matrix")
        return word

    def opening(self, word: str, place: int) -> str:
        kind = "group" if word == "(" else "list"
        if self.before[0] == "name":
            kind = "call" if word == "(" else "index"
            self.terms -= kind == "call"  # a function is no term
        elif word == "[" and self.ended and self.before[0] in ("closing", "attribute"):
            kind = "index"
        else:
            self.operand(word, place)
        self.ended = False
        self.levels.append(_Level(kind, word, place, self.depth, self.depth + 1))
        self.depth += 1
        return word

    def closing(self, word: str, place: int) -> str:
        level = self.levels[-1]
        if level.bracket != _OPENED_BY[word]:
            reason = f"does not match {level.bracket!r}" if level.bracket else "closes nothing"
            raise Mistake(f"{word!r} {reason}; remove one or add the other", place, caret=True)
        # sin() is a call, () the shape of a scalar, [] an empty list
        empty = level.kind != "index" and self.before[0] == "opening"
        trailing = self.before[1] == "," and level.kind in ("group", "list")  # (3,) is a tuple
        if not empty and not trailing:
            self.operation(word, place)
        self.ended = True
        self.levels.pop()
        self.depth = level.outside
        return word

    def sign(self, word: str, place: int) -> str:
        if self.ended:
            self.operation(word, place)
        else:
            self.depth += 1
        return word

    def operator(self, word: str, place: int) -> str:
        depth = self.depth
        self.operation(word, place)
        if word == "**":  # nests to the right: x**x**x
            self.depth = depth + 1
        return word

    def separator(self, word: str, place: int) -> str:
        kinds, advice = _SEPARATORS[word]
        if self.levels[-1].kind not in kinds:
            raise self.refusal(word, place, advice)
        if word == ":" and self.before[1] in ("[", ",") and not self.ended:
            self.ended = True  # x[:3] begins at the beginning
        self.operation(word, place)
        return "<<" if word == ".." else word  # an operator that formulas do not have

    def other(self, word: str, place: int) -> str:
        raise self.refusal(word, place)

    def operand(self, word: str, place: int) -> None:
        """An operand begins."""
        if self.ended:
            raise Mistake(
                f"an operator is missing between {visible(self.before[1], 30)} and "
                f"{visible(word, 30)}; a product is written with *",
                place,
                caret=True,
            )
        self.ended = True

    def operation(self, word: str, place: int) -> None:
        """An operand must have ended; the end of a slice may be left out."""
        if not self.ended and not (self.before[1] == ":" and word in (",", ":", "]")):
            raise Mistake(
                f"a number or a name is missing before {word!r}; add it", place, caret=True
            )
        self.ended = False
        self.depth = self.levels[-1].inside

    def refusal(self, word: str, place: int, advice: str = "") -> Mistake:
        advice = advice or _ADVICE.get(word, _ALLOWED)
        return Mistake(f"{visible(word, 30)} is not allowed here: {advice}", place, caret=True)
