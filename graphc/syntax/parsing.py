"""Formulas from text to a syntax tree, in one pass over the words.

The parser only knows what is right. Where it stumbles, and where a formula is long enough to meet
a limit, every word is checked against those before it (`words`), which tells the mistake.
"""

from __future__ import annotations

import keyword
from fractions import Fraction
from typing import NamedTuple, NoReturn

from .. import names as naming
from ..errors import GraphcError
from .trees import (
    Binary,
    Call,
    Chain,
    Index,
    List,
    Name,
    Number,
    Plain,
    Setting,
    Signed,
    Slice,
    Transpose,
    Tree,
    Tuple,
)
from .words import (
    DEEPEST,
    LONGEST,
    NAME,
    NUMBER,
    WORD,
    Mistake,
    check,
    has_too_many_digits,
    places,
    weight,
)

COMPARISON, SUM, PRODUCT, SIGN, POWER = 1, 2, 3, 4, 5  # how tightly an operator binds
_BINDING = {
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), COMPARISON),
    **dict.fromkeys("+-", SUM),
    **dict.fromkeys(("*", "/", "//", "%", "@"), PRODUCT),
    "**": POWER,
}
_CONSTANTS = {"True": True, "False": False, "None": None}
_KEYWORDS = frozenset(keyword.kwlist)


class _Stumble(Exception):
    """The parser cannot go on."""


class Syntax(NamedTuple):
    """A formula: its text, where it begins on its line, and its syntax tree."""

    text: str
    column: int
    tree: Tree

    def column_of(self, tree: Tree | Setting) -> int:
        """The column on the line at which a part of the formula begins."""
        return self.column + places(self.text)[tree.first][0]

    def source_of(self, tree: Tree) -> str:
        """A part of the formula as it was written."""
        where = places(self.text)
        return self.text[where[tree.first][0] : where[tree.last - 1][1]]


def read_formula(text: str, column: int, inside: str = "") -> Syntax:
    """The syntax tree of a formula that begins at this column of its line.

    The index of a name that is declared is read with inside="members": ranges and commas may stand
    in it, but no slices.
    """
    column += len(text) - len(text.lstrip())
    text = text.strip()
    if len(text) > LONGEST and weight(text) > LONGEST:
        raise Mistake(
            f"the formula has {weight(text)} characters besides its numbers, and at most {LONGEST} "
            "are allowed; name parts of it",
            column,
        )
    words = WORD.findall(text)
    try:
        if len(words) > DEEPEST:
            check(text, inside)  # as many words can be nested too deep, or be too many terms
        return Syntax(text, column, _Parser(words, inside).whole())
    except Mistake as error:
        error.column = column + (error.column or 0)
        raise
    except (_Stumble, RecursionError, MemoryError) as error:
        reason = str(error) if isinstance(error, _Stumble) else "it is too large"
    try:
        check(text, inside)
    except Mistake as error:
        error.column = column + (error.column or 0)
        raise
    raise Mistake(f"cannot read the formula: {reason}", column, caret=True)


class _Parser:
    """Goes through the words once; recursion is bounded by their number or their checked depth."""

    __slots__ = ("at", "inside", "words")

    def __init__(self, words: list[str], inside: str) -> None:
        self.words = [*words, "", ""]  # the end is a word that fits nowhere, nor what follows
        self.at = 0
        self.inside = inside  # what the innermost bracket holds: call, index, list, group

    def whole(self) -> Tree:
        """The tree of all words."""
        tree = self.indices() if self.inside == "members" else self.formula(COMPARISON)
        if self.words[self.at]:
            self.stumble()
        return tree

    def stumble(self, reason: str = "a part of it has no meaning") -> NoReturn:
        raise _Stumble(reason)

    def formula(self, least: int) -> Tree:
        """Operands and the operators between them that bind at least so tightly."""
        words, first = self.words, self.at
        tree: Tree
        if words[first] in ("-", "+"):
            self.at = first + 1
            operand = self.formula(SIGN)
            tree = Signed(words[first], operand, first, self.at)
        else:
            tree = self.operand()
        compared = False
        while True:
            sign = words[self.at]
            binding = _BINDING.get(sign, 0)
            if binding < least:
                return tree
            self.at += 1
            right = self.formula(SIGN if binding == POWER else binding + 1)  # x**-y**z
            if compared:
                tree = Chain(first, self.at)
            else:
                tree = Binary(sign, tree, right, first, self.at)
            compared = binding == COMPARISON

    def operand(self) -> Tree:
        """A number, a name or a bracket, with the calls and indices that follow it."""
        words, first = self.words, self.at
        word = words[first]
        self.at = first + 1
        tree: Tree
        if word.isidentifier() if word.isascii() else NAME.fullmatch(word):
            if word in _KEYWORDS:
                return self.constant(word)
            following = words[first + 1]
            spelt = self.spelling(word)
            if following == "(":
                tree = self.call(spelt)
            else:
                tree = Name(spelt, first, first + 1)
                if following not in ("[", ".T"):
                    return tree
        elif NUMBER.match(word):
            return self.number(word)
        elif word == "(":
            tree = self.group()
        elif word == "[":
            parts = self.parts("list", "]")
            tree = List(parts, first, self.at)
        elif word[:1] in ("'", '"') and len(word) > 1 and self.inside == "call":
            return Plain(word[1:-1], first, first + 1)
        elif word == "..." and self.inside == "index":
            return Plain(..., first, first + 1)
        else:
            self.stumble()
        while words[self.at] in ("[", ".T"):
            self.at += 1
            if words[self.at - 1] == ".T":
                tree = Transpose(tree, first, self.at)
            else:
                outside, self.inside = self.inside, "index"
                index = self.indices()
                self.inside = outside
                self.close("]")
                tree = Index(tree, index, first, self.at)
        return tree

    def spelling(self, word: str) -> str:
        """The one spelling of a name, which is no keyword."""
        if word.isascii() and len(word) <= naming.LONGEST:
            return word
        try:
            spelt = naming.identifier(word)
        except GraphcError:
            self.stumble()
        if spelt in _KEYWORDS:
            self.stumble()
        return spelt

    def constant(self, word: str) -> Tree:
        """True, False or None as a setting; None in an index too."""
        first = self.at - 1
        if word not in _CONSTANTS or not (
            (first and self.words[first - 1] == "=") or (word == "None" and self.inside == "index")
        ):
            self.stumble()
        return Plain(_CONSTANTS[word], first, self.at)

    def number(self, word: str) -> Tree:
        """The exact number that a literal spells."""
        first, digits = self.at - 1, word.replace("_", "")
        if has_too_many_digits(word):
            self.stumble()
        if digits.isdecimal():
            return Number(int(digits), True, first, self.at)
        value = Fraction(digits)
        exact = value.numerator if value.denominator == 1 else value
        return Number(exact, False, first, self.at)

    def group(self) -> Tree:
        """What stands in round brackets: a formula, or a tuple of them."""
        first = self.at - 1
        parts = self.parts("group", ")")
        if len(parts) == 1 and self.words[self.at - 2] != ",":
            return parts[0]
        return Tuple(parts, first, self.at)

    def parts(self, kind: str, bracket: str) -> tuple[Tree, ...]:
        """The formulas up to a closing bracket, which a comma may precede."""
        outside, self.inside = self.inside, kind
        found: list[Tree] = []
        while self.words[self.at] != bracket:
            found.append(self.formula(COMPARISON))
            if self.words[self.at] != ",":
                break
            self.at += 1
        self.inside = outside
        self.close(bracket)
        return tuple(found)

    def close(self, bracket: str) -> None:
        if self.words[self.at] != bracket:
            self.stumble()
        self.at += 1

    def call(self, function: str) -> Tree:
        """The call of a function whose name has been read."""
        words, first = self.words, self.at - 1
        outside, self.inside = self.inside, "call"
        arguments: list[Tree] = []
        settings: list[Setting] = []
        self.at += 1
        while words[self.at] != ")" or words[self.at - 1] == ",":
            place = self.at
            if words[place + 1] == "=":
                if not NAME.fullmatch(words[place]) or words[place] in _KEYWORDS:
                    self.stumble("a setting is written name=value")
                name = self.spelling(words[place])
                self.at = place + 2
                settings.append(Setting(name, self.formula(COMPARISON), place, self.at))
            elif settings:
                self.stumble("positional argument follows keyword argument")
            else:
                arguments.append(self.formula(COMPARISON))
            if words[self.at] != ",":
                break
            self.at += 1
        self.inside = outside
        self.close(")")
        return Call(function, tuple(arguments), tuple(settings), first, self.at)

    def indices(self) -> Tree:
        """One index, or a tuple of them."""
        first = self.at
        found = [self.index()]
        while self.words[self.at] == ",":
            self.at += 1
            found.append(self.index())
        return found[0] if len(found) == 1 else Tuple(tuple(found), first, self.at)

    def index(self) -> Tree:
        """One index: a formula, a range or a slice."""
        words, first = self.words, self.at
        ends: list[Tree | None] = [None]
        if words[first] != ":":
            tree = self.formula(COMPARISON)
            while words[self.at] == "..":
                self.at += 1
                tree = Binary("..", tree, self.formula(SUM), first, self.at)
            ends = [tree]
        if words[self.at] != ":" or self.inside != "index":
            return ends[0] if ends[0] is not None else self.stumble()
        while words[self.at] == ":" and len(ends) < 3:
            self.at += 1
            ended = words[self.at] in (",", ":", "]")
            ends.append(None if ended else self.formula(COMPARISON))
        lower, upper, step = (*ends, None)[:3]
        return Slice(lower, upper, step, first, self.at)
