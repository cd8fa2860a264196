"""Phrases: written mathematics that still knows what it is made of.

A phrase is a form with places for its parts, in one of two dialects: a line of NumPy, which
drawings show in Unicode, or LaTeX, which pages show as MathML. Both are styles of the same parts,
so nothing that was written is ever read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from string import Formatter

from .letters import SUPERSCRIPTS, escaped, name_latex, name_math

ATOM = 9  # binds as tightly as a name
PLUS, TIMES, MINUS, POWER, ITEM = 1, 2, 3, 4, 8  # how tightly operators bind
SIGNS = {"*": "·", "-": "−", "<=": "≤", ">=": "≥", "!=": "≠"}  # an operator in a drawing


@dataclass(frozen=True, slots=True)
class Phrase:
    """Mathematics as it is written, and how tightly its outermost operator binds."""

    text: str
    binding: int = ATOM
    # the text, with {0}, {1}, ... where the parts stand; empty: it has none
    form: str = field(default="", compare=False)
    parts: tuple[Phrase, ...] = field(default=(), compare=False, repr=False)
    drawn: str = field(default="", compare=False)  # the form in a drawing, where that is another
    # the operator or function that is applied; "name" for a name
    word: str = field(default="", compare=False)

    @property
    def signed(self) -> bool:
        """Whether it begins with a minus sign."""
        return self.text.startswith("-")

    @property
    def is_plain(self) -> bool:
        """Whether it is one sign, perhaps with something raised."""
        base = self.parts[0] if self.word in ("**", ".T") and len(self.parts) == 1 else self
        return not base.parts and base.binding == ATOM


def phrase(
    form: str, *parts: Phrase, binding: int = ATOM, drawn: str = "", word: str = ""
) -> Phrase:
    """Parts put into a form."""
    text = form.format(*(part.text for part in parts))
    return Phrase(text, binding, form, parts, drawn, word)


def leaf(text: str, binding: int = ATOM, drawn: str = "", word: str = "") -> Phrase:
    """Text without parts."""
    return Phrase(text, binding, drawn=drawn or text, word=word)


def name_line(name: str) -> Phrase:
    """A name in a line of text."""
    return leaf(name, drawn=name_math(name), word="name")


def name_display(name: str) -> Phrase:
    """A name in LaTeX."""
    return leaf(name_latex(name), word="name")


def literal(text: str) -> str:
    """Text as a part of a form."""
    return text.replace("{", "{{").replace("}", "}}")


def bound(part: Phrase, binding: int) -> Phrase:
    """The same phrase, taken to bind otherwise."""
    return replace(part, binding=binding)


def bracket(part: Phrase, least: int) -> Phrase:
    """The phrase, in brackets if it binds less tightly than it must."""
    return part if part.binding >= least else phrase("({0})", part, word="()")


def bracket_latex(part: Phrase, least: int) -> Phrase:
    """The same in LaTeX."""
    return part if part.binding >= least else phrase(r"\left({0}\right)", part, word="()")


def places(count: int, first: int = 0) -> str:
    """The places of so many parts, separated by commas."""
    return ", ".join(f"{{{place}}}" for place in range(first, first + count))


def call(name: str, *parts: Phrase, more: Sequence[str] = (), drawn: str = "") -> Phrase:
    """name(parts, more): a function as NumPy calls it; `drawn` is its sign in a drawing."""
    inside = places(len(parts))
    for text in more:
        inside += ", " * bool(inside) + literal(text)
    shown = f"{literal(drawn or name)}({_shown(inside)})"
    return phrase(f"{name}({inside})", *parts, drawn=shown, word=name)


def call_latex(name: str, *parts: Phrase, below: str = "") -> Phrase:
    r"""\operatorname{name}_{below}(...)."""
    mark = rf"_{{{{{literal(below)}}}}}" if below else ""
    inside = places(len(parts))
    form = rf"\operatorname{{{{{literal(escaped(name))}}}}}{mark}\left({inside}\right)"
    return phrase(form, *parts, word=name)


def _shown(text: str) -> str:
    """Arithmetic between brackets, with the signs of a drawing."""
    return text.replace("-", SIGNS["-"]).replace("*", SIGNS["*"])


def infix(sign: str, left: Phrase, right: Phrase, binding: int) -> Phrase:
    """left sign right: products and powers stand close together."""
    if sign == "**":
        return power(left, right)
    space = "" if binding in (TIMES, POWER) else " "
    shown = SIGNS.get(sign, sign)
    return phrase(
        f"{{0}}{space}{sign}{space}{{1}}",
        left,
        right,
        binding=binding,
        drawn=f"{{0}}{space}{shown}{space}{{1}}",
        word=sign,
    )


def power(base: Phrase, exponent: Phrase) -> Phrase:
    """base**exponent; a drawing raises a whole exponent."""
    whole = exponent.text
    if whole.lstrip("-").isdecimal():
        raised = "" if whole == "1" else whole.translate(SUPERSCRIPTS)
        form, drawn = f"{{0}}**{whole}", f"{{0}}{raised}"
        return phrase(form, base, binding=POWER, drawn=drawn, word="**")
    return phrase("{0}**{1}", base, exponent, binding=POWER, drawn="{0}^{1}", word="**")


def negative(part: Phrase, binding: int = MINUS) -> Phrase:
    """Minus something."""
    return phrase("-{0}", part, binding=binding, drawn="−{0}", word="neg")


def item(part: Phrase, index: str) -> Phrase:
    """part[index]."""
    inside = literal(index)
    return phrase(f"{{0}}[{inside}]", part, binding=ITEM, drawn=f"{{0}}[{_shown(inside)}]")


def listed(*parts: Phrase) -> Phrase:
    """[parts], as NumPy and people write lists."""
    return phrase(f"[{places(len(parts))}]", *parts)


def operators(whole: Phrase) -> set[str]:
    """The operators * / @ that stand outside all brackets."""
    found, stack = set(), [whole]
    while stack:
        here = stack.pop()
        if here.binding < POWER:
            found.add(here.word)
            stack.extend(here.parts)
    return found & {"*", "/", "@"}


def words(whole: Phrase) -> set[str]:
    """Every operator and function that a phrase applies."""
    found: set[str] = set()
    seen: set[int] = set()
    stack = [whole]
    while stack:
        here = stack.pop()
        if id(here) not in seen:
            seen.add(id(here))
            found.add(here.word)
            stack.extend(here.parts)
    return found


def terms(whole: Phrase) -> list[Phrase]:
    """The terms of the outermost sum, each with the sign before it."""
    found: list[Phrase] = []
    stack: list[tuple[str, Phrase]] = [("", whole)]
    while stack:
        sign, here = stack.pop()
        if here.word in ("+", "-") and len(here.parts) > 1 and not sign.strip():
            cut = [
                (text, here.parts[place]) for text, place in _cut(here.form) if place is not None
            ]
            stack.extend(reversed(cut))
        else:
            found.append(phrase(f"{literal(sign)}{{0}}", here) if sign else here)
    return found


@lru_cache(maxsize=4096)
def _cut(form: str) -> tuple[tuple[str, int | None], ...]:
    """(text, place of the part after it) of a form."""
    return tuple(
        (text, None if field is None else int(field))
        for text, field, _, _ in Formatter().parse(form)
    )


def pieces(whole: Phrase) -> list[str | Phrase]:
    """The signs and parts of a phrase in a drawing, from left to right."""
    found: list[str | Phrase] = []
    for text, place in _cut(whole.drawn or whole.form):
        found += [text] if text else []
        found += [whole.parts[place]] if place is not None else []
    return found


def tokens(whole: Phrase) -> Iterator[str | Phrase]:
    """What a drawing shows, from left to right: signs, and the phrases that have no parts."""
    stack: list[str | Phrase] = [whole]
    while stack:
        here = stack.pop()
        if isinstance(here, str) or not here.form:
            yield here
        else:
            stack.extend(reversed(pieces(here)))


def drawn(whole: Phrase) -> str:
    """The phrase in Unicode, as drawings show it."""
    return "".join(part if isinstance(part, str) else part.drawn for part in tokens(whole))
