"""The signs of functions in a drawing: a mark where it can stand before its argument."""

from __future__ import annotations

from ..table.functions import FUNCTIONS
from ..table.phrases import Phrase, phrase


def function_sign(name: str) -> str:
    """What a drawing writes before the brackets of a call."""
    mark = FUNCTIONS[name].mark if name in FUNCTIONS else ""
    return mark if mark.replace(" ", "").isalpha() else name


def root(part: Phrase) -> Phrase:
    """sqrt(part), in a drawing a root sign."""
    shown = "√{0}" if part.is_plain else "√({0})"
    return phrase("sqrt({0})", part, drawn=shown, word="sqrt")
