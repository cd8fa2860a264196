"""How names are written: subscripts, accents and Greek letters, in Unicode and in LaTeX."""

from __future__ import annotations

import keyword
import re
import unicodedata

GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
GREEK = frozenset(GREEK_NAMES.split())  # that LaTeX has
_SMALL = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho - "
    "sigma tau upsilon phi chi psi omega"
)
LETTERS = {name: chr(0x3B1 + place) for place, name in enumerate(_SMALL.split()) if name != "-"}
LETTERS |= {name.capitalize(): letter.upper() for name, letter in LETTERS.items()}
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
OVER = {"bar": "\u0304", "dot": "\u0307"}
OVERLINE = "\u0305"  # a bar over a word of several letters, one letter at a time
ACCENTS = {"bar": r"\bar", "dot": r"\dot"}
_SPECIAL = {character: "\\" + character for character in "{}$&#_%"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
_WORD = re.compile(r"([^\W\d_]+)([0-9]*)\Z")
_PART = re.compile(r"[^\W\d_]*[0-9]*\Z(?<=.)")


def name_math(name: str) -> str:
    """A node's name: y10 is y₁₀, h2_1 is h₂,₁, alpha is α, h1_bar is h̄₁."""
    bare = name.removesuffix("_")
    first, *rest = (bare if keyword.iskeyword(bare) else name).split("_")  # lambda_ is λ
    word = _WORD.match(first)
    if word is None or not all(part in OVER or part.isdecimal() for part in rest):
        return name
    stem = LETTERS.get(word[1], word[1])
    subscripts = [word[2]] if word[2] else []
    for part in rest:
        if part in OVER:
            stem = _accented(stem, part)
        elif part.isascii():
            subscripts.append(part)
        else:
            return name
    return stem + ",".join(subscripts).translate(SUBSCRIPTS)


def _accented(stem: str, accent: str) -> str:
    if sum(not unicodedata.combining(letter) for letter in stem) > 1 and accent == "bar":
        return "".join(c + OVERLINE if not unicodedata.combining(c) else c for c in stem)
    return unicodedata.normalize("NFC", stem + OVER[accent])


def name_latex(name: str) -> str:
    r"""A node's name: y10 is y_{10}, h2_1 is h_{2,1}, alpha is \alpha, h1_bar is \bar{h}_{1}."""
    first, *rest = name.rstrip("_").split("_")
    word = _WORD.match(first)
    if word is None or not all(map(_PART.match, rest)):
        return rf"\mathtt{{{escaped(name)}}}"
    stem = letters(word[1])
    subscripts = [word[2]] if word[2] else []
    for part in rest:
        if part in ACCENTS:
            stem = f"{ACCENTS[part]}{{{stem}}}"
        else:
            subscripts.append(part if part.isdigit() else name_latex(part))
    return stem + (f"_{{{','.join(subscripts)}}}" if subscripts else "")


def letters(word: str) -> str:
    """A word in LaTeX: Greek ones by name, single letters as they are, others upright as text."""
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
    return rf"\mathrm{{{escaped(word)}}}" if word.isascii() else rf"\text{{{escaped(word)}}}"


def escaped(text: str) -> str:
    """Text that LaTeX shows as it is."""
    shown = (character if character.isprintable() else " " for character in text)
    return "".join(_SPECIAL.get(character, character) for character in shown)
