"""Contractions as people write them: A @ B, outer(x, y), sum(X, axis=0), and einsum for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .arrays import split_spec
from .shapes import Size


@dataclass(frozen=True)
class Form:
    """How a contraction is written: a word, the operands in order, and which are transposed."""

    word: str
    order: tuple[int, ...] = (0,)
    transposed: tuple[bool, ...] = (False, False)
    axes: tuple[int, ...] = ()
    keepdims: bool = False


PAIRS: dict[str, Form] = {
    "a,a->": Form("matmul", (0, 1)),
    "ab,b->a": Form("matmul", (0, 1)),
    "a,ba->b": Form("matmul", (1, 0)),
    "ab,a->b": Form("matmul", (0, 1), (True, False)),
    "a,ab->b": Form("matmul", (1, 0), (True, False)),
    "ab,bc->ac": Form("matmul", (0, 1)),
    "ab,cb->ac": Form("matmul", (0, 1), (False, True)),
    "ab,ac->bc": Form("matmul", (0, 1), (True, False)),
    "ab,ca->bc": Form("matmul", (0, 1), (True, True)),
    "ab,bc->ca": Form("matmul", (1, 0), (True, True)),
    "ab,cb->ca": Form("matmul", (1, 0), (False, True)),
    "ab,ac->cb": Form("matmul", (1, 0), (True, False)),
    "ab,ca->cb": Form("matmul", (1, 0)),
    "a,b->ab": Form("outer", (0, 1)),
    "a,b->ba": Form("outer", (1, 0)),
    "a,ab->ab": Form("rows", (0, 1)),
    "ab,a->ab": Form("rows", (1, 0)),
    "ab,b->ab": Form("product", (0, 1)),
    "a,ba->ba": Form("product", (1, 0)),
}


def canonical(spec: str) -> str:
    """The contraction with its letters renamed a, b, c, ... in order of appearance."""
    names: dict[str, str] = {}
    return "".join(
        names.setdefault(x, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(names)])
        if x.isalpha()
        else x
        for x in spec
    )


def form_of(spec: str, sizes: Sequence[tuple[str, Size]]) -> Form | None:
    """The matrix form of a contraction, or None where only einsum will do."""
    operands, out = split_spec(spec)
    named = canonical(spec)
    if len(operands) == 2:
        if named in PAIRS:
            return PAIRS[named]
        a, b = operands
        if a == b and len(set(a)) == len(a) and out in ("", a):
            return Form("product" if out else "frobenius", (0, 1))
        return None
    if len(operands) != 1:
        return None
    return _single(operands[0], out, named, dict(sizes))


def _single(letters: str, out: str, named: str, sizes: dict[str, Size]) -> Form | None:
    words = {"ab->ba": "transpose", "aa->": "trace", "aa->a": "diag", "a->aa": "diag"}
    if named in words:
        return Form(words[named])
    if len(set(letters)) != len(letters) or len(set(out)) != len(out):
        return None
    gone = tuple(i for i, letter in enumerate(letters) if letter not in out)
    kept = "".join(letter for letter in letters if letter in out)
    fresh = [letter for letter in out if letter not in letters]
    if not fresh and kept == out and gone:
        return Form("sum", axes=() if not out else gone)
    if not fresh and not gone:
        return Form("permute", axes=tuple(letters.index(letter) for letter in out))
    ones = all(sizes.get(letter) == 1 for letter in fresh)
    if ones and len(fresh) == len(gone) and len(out) == len(letters):
        places = tuple(i for i, letter in enumerate(out) if letter in fresh)
        rest = "".join(letter for letter in out if letter not in fresh)
        if places == gone and rest == kept:
            return Form("sum", axes=gone, keepdims=True)
    if gone:
        return None
    if ones and "".join(x for x in out if x in letters) == letters:
        return Form("newaxis", axes=tuple(i for i, letter in enumerate(out) if letter in fresh))
    return Form("repeat") if kept == letters and out.endswith(letters) else None


def contract_text(settings: Any, pieces: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """A contraction as NumPy text and how tightly it binds."""
    spec = settings["spec"]
    form = form_of(spec, settings["sizes"])
    texts = [piece[0] for piece in pieces]
    if form is None:
        return f'einsum("{spec}", {", ".join(texts)})', 9

    def tight(place: int, least: int, transposed: bool = False) -> str:
        text, binding = pieces[place]
        wanted = 8 if transposed else least
        text = text if binding >= wanted else f"({text})"
        return text + ".T" * transposed

    if form.word == "matmul":
        left = tight(form.order[0], 2, form.transposed[0])
        right = tight(form.order[1], 3, form.transposed[1])
        return f"{left} @ {right}", 2
    if form.word == "product":
        return f"{tight(form.order[0], 2)}*{tight(form.order[1], 3)}", 2
    if form.word == "frobenius":
        return f"sum({tight(0, 2)}*{tight(1, 3)})", 9
    if form.word == "rows":
        return f"diag({texts[form.order[0]]}) @ {tight(form.order[1], 3)}", 2
    if form.word == "outer":
        return f"outer({texts[form.order[0]]}, {texts[form.order[1]]})", 9
    return _single_text(form, settings, texts[0], tight(0, 8))


def _single_text(form: Form, settings: Any, text: str, tight: str) -> tuple[str, int]:
    if form.word == "transpose":
        return f"{tight}.T", 8
    if form.word == "sum":
        axis = form.axes[0] if len(form.axes) == 1 else form.axes
        extra = f", axis={axis}" if form.axes else ""
        return f"sum({text}{extra}{', keepdims=True' * form.keepdims})", 9
    if form.word == "permute":
        return f"transpose({text}, {form.axes})", 9
    if form.word == "newaxis":
        rank = len(settings["spec"].partition("->")[2])
        marks = ["None" if i in form.axes else ":" for i in range(rank)]
        return f"{tight}[{', '.join(marks)}]", 8
    if form.word == "repeat":
        operand, out = settings["spec"].split("->")
        sizes = dict(settings["sizes"])
        lead = [str(sizes[letter]) for letter in out[: len(out) - len(operand)]]
        if not operand:
            return f"full(({', '.join(lead)}{',' * (len(lead) == 1)}), {text})", 9
        return f"repeat_rows({text}, {', '.join(lead)})", 9
    return f"{form.word}({text})", 9
