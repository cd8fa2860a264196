"""The words of a formula: what may stand where, and what is wrong, told at its column.

Only numbers, names, brackets and the signs of the table below are allowed, in an order in which
they make sense, not too many and not nested too deep.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from typing import NamedTuple

from .. import names as naming
from ..errors import GraphcError, visible

LONGEST = 10_000
MOST_TERMS = 500
MOST_NUMBERS = 100_000  # in the lists of one formula
DEEPEST = 100
MOST_DIGITS = 4_000  # Python refuses to print integers of more than 4 300

_NUMERIC = dict.fromkeys(map(ord, "0123456789.,+- "))
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_KINDS = {
    "name": naming.NAME,
    "ellipsis": r"\.\.\.",
    "attribute": r"\.T\b",
    "number": rf"(?:{_DIGITS}(?:\.(?!\.)(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][-+]?{_DIGITS})?",
    "quoted": r"""'[^'\\]*'|"[^"\\]*\"""",
    "opening": r"[(\[]",
    "closing": r"[)\]]",
    "sign": "[-+]",
    "operator": r"\*\*|//|[<>=!]=|[*/%<>@]",
    "separator": r"\.\.|[,=:]",
    "other": ".",
}
WORD = re.compile(rf"\s*({'|'.join(_KINDS.values())})", re.DOTALL)
_KIND = re.compile("|".join(f"(?P<{k}>{p})" for k, p in _KINDS.items()), re.DOTALL)
NUMBER = re.compile(_KINDS["number"])
NAME = re.compile(_KINDS["name"])
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


def places(text: str) -> list[tuple[int, int]]:
    """Start and end of each word."""
    return [match.span(1) for match in WORD.finditer(text)]


def has_too_many_digits(word: str) -> bool:
    """Whether a number is too large to be written out."""
    power = word.lower().partition("e")[2]
    # the length is looked at first: int() itself refuses very long text
    return len(word) > MOST_DIGITS or bool(power and len(word) + abs(int(power)) > MOST_DIGITS)


def check(text: str, inside: str = "") -> None:
    """Refuses a formula with a word that may not stand where it stands, or with too many."""
    _Words(inside).check(text)


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

    def check(self, text: str) -> None:
        for match in WORD.finditer(text):
            word, place = match[1], match.start(1)
            kind = (_KIND.match(text, place) or match).lastgroup or ""
            getattr(self, kind)(word, place)
            self.before = kind, word
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
            after = f"after {self.before[1]!r}" if text else "here"
            raise Mistake(f"a number or a name is missing {after}; add it", len(text), caret=True)
        if len(self.levels) > 1:
            level = self.levels[-1]
            raise Mistake(f"{level.bracket!r} is never closed; close it", level.place, caret=True)

    def number(self, word: str, place: int) -> None:
        self.operand(word, place)
        listed = self.levels[-1].kind == "list"
        self.numbers += listed
        self.terms += not listed
        if has_too_many_digits(word):
            raise Mistake(
                f"{visible(word, 30)} is too large: over {MOST_DIGITS} digits; use a shorter "
                "number",
                place,
            )

    def name(self, word: str, place: int) -> None:
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

    def quoted(self, word: str, place: int) -> None:
        if self.levels[-1].kind != "call":
            raise self.refusal(word, place, "text is not a number; remove the quotes")
        self.operand(word, place)

    def ellipsis(self, word: str, place: int) -> None:
        if self.levels[-1].kind != "index":
            raise self.refusal(word, place, "... stands in an index only")
        self.operand(word, place)

    def attribute(self, word: str, place: int) -> None:
        if not self.ended or self.before[0] == "number":
            raise self.refusal(word, place, ".T, the transpose, stands after a matrix")

    def opening(self, word: str, place: int) -> None:
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

    def closing(self, word: str, place: int) -> None:
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

    def sign(self, word: str, place: int) -> None:
        if self.ended:
            self.operation(word, place)
        else:
            self.depth += 1

    def operator(self, word: str, place: int) -> None:
        depth = self.depth
        self.operation(word, place)
        if word == "**":  # nests to the right: x**x**x
            self.depth = depth + 1

    def separator(self, word: str, place: int) -> None:
        kinds, advice = _SEPARATORS[word]
        if self.levels[-1].kind not in kinds:
            raise self.refusal(word, place, advice)
        if word == ":" and self.before[1] in ("[", ",") and not self.ended:
            self.ended = True  # x[:3] begins at the beginning
        self.operation(word, place)

    def other(self, word: str, place: int) -> None:
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
