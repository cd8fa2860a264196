"""LaTeX: names, formulas as they were declared, and results; everything is escaped."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from ..shapes import Shape, Size
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS
from ..table.matrix_form import (
    ATOM,
    Form,
    Piece,
    chosen_axes,
    einsum_parts,
    form_of,
    gather_text,
)
from ..table.tensors import OPERATIONS
from .formula import CALLS, formula_text, gates_columns, index_text, is_mask, number_text

GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
GREEK = frozenset(GREEK_NAMES.split())
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
_NUMBER = re.compile(r"\d|\\frac\{\d+\}\{\d+\}")
MOST_LISTED = 12  # rows, columns and places that are written before the dots
JUXTAPOSED = 4  # how tightly a product of matrices binds: more than a scalar factor or \odot
POWER_BASE = 5  # what binds less tightly is put in brackets before it gets an exponent


# Names.


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
    """A word of letters: Greek ones by name, single ones as they are, others upright as text."""
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


# Formulas.


def formula_latex(graph: Structure, node: int) -> str:
    """The formula of a node as it was declared."""
    return formula_text(graph, node, style)


def style(graph: Structure, row: int, operands: list[Piece]) -> Piece:
    """One row in LaTeX, by the template of its function."""
    op, settings = graph.ops[row], graph.settings(row)
    if not operands:
        if row in graph.names:
            return name_latex(graph.names[row]), ATOM
        if op == "const":
            return number_latex(settings["value"])
        word = settings.get("symbol", settings.get("size"))
        return name_latex(word) if word is not None else FUNCTIONS[op].latex, ATOM
    if op in OPERATIONS:
        return _operation(graph, row, operands)
    record = FUNCTIONS[op]
    if row in graph.shapes and op in _ON_TENSORS:
        written = _ON_TENSORS[op](graph, row, operands)
        if written is not None:
            return written
    texts = [piece[0] for piece in operands]
    if op in ("power", "pow"):
        exponent = number_latex(settings["exponent"])[0] if op == "power" else texts[1]
        return record.latex.format(bracket_latex(operands[0], POWER_BASE), exponent), 4
    if op in ("div", "ratio_or_0"):
        return record.latex.format(*texts), 4
    if op == "neg":
        return record.latex.format(bracket_latex(operands[0], 3)), 3
    if record.infix:
        left, right = (
            bracket_latex(operands[0], record.binding),
            _right(operands[1], record.binding),
        )
        if op == "mul" and _NUMBER.match(right):
            right = rf"\cdot {right}"  # 2 3 would read as 23
        return record.latex.format(left, right), record.binding
    if op == "identity":
        return operands[0]
    if record.variadic:
        texts = [", ".join(texts)]
    defaults = list(record.defaults.values())
    while defaults and texts[-1] == number_latex(defaults.pop())[0]:
        texts.pop()
    call = r"\operatorname{{{}}}\left({}\right)"
    if (
        not record.latex
        or f"{{{len(texts)}}}" in record.latex
        or f"{{{len(texts) - 1}}}" not in record.latex
    ):
        return call.format(escaped(op), ", ".join(texts)), ATOM
    binding = ATOM if record.latex.endswith((")", "|")) else 4
    return record.latex.format(*texts), 0 if op == "where" else binding


# Tensors.


def _call(name: str, *texts: str, below: str = "") -> Piece:
    r"""\operatorname{name}_{below}(...)."""
    mark = f"_{{{below}}}" if below else ""
    return rf"\operatorname{{{escaped(name)}}}{mark}\left({', '.join(texts)}\right)", ATOM


def _size(size: Size) -> str:
    return str(size) if isinstance(size, int) else name_latex(size)


def _sizes(shape: Shape) -> str:
    return r" \times ".join(map(_size, shape))


def _transposed(piece: Piece) -> str:
    text = piece[0]
    if text.endswith("^{-1}") and piece[1] == JUXTAPOSED:
        return text[: -len("{-1}")] + r"{-\top}"
    if text.endswith(r"^{\top}") and piece[1] == 8:
        return text[: -len(r"^{\top}")]
    return bracket_latex(piece, ATOM) + r"^{\top}"


def _inverse(piece: Piece) -> Piece:
    if piece[0].endswith(r"^{\top}") and piece[1] == 8:
        return piece[0][: -len(r"{\top}")] + r"{-\top}", JUXTAPOSED
    return bracket_latex(piece, ATOM) + "^{-1}", JUXTAPOSED


NAMED: dict[str, Callable[..., Piece]] = {  # matrix functions with a sign of their own
    "inv": lambda a: _inverse(a),
    "det": lambda a: (rf"\det\left({a[0]}\right)", ATOM),
    "logdet": lambda a: (rf"\log\det\left({a[0]}\right)", ATOM),
    "adjugate": lambda a: (rf"\operatorname{{adj}}\left({a[0]}\right)", ATOM),
    "norm": lambda *parts: (
        rf"\left\lVert {', '.join(part[0] for part in parts)} \right\rVert",
        ATOM,
    ),
    "solve": lambda a, b: (f"{_inverse(a)[0]} {bracket_latex(b, JUXTAPOSED)}", JUXTAPOSED),
}


def call_latex(graph: Structure, call: Any, piece: Callable[[int], Piece]) -> Piece:
    """A composed function as it was called."""
    name, arguments, settings = call

    def text(argument: Any) -> str:
        if isinstance(argument, list):
            parts = ", ".join(text(part) for part in argument)
            return f"[{parts}]" if name == "take" else parts  # places, or values
        if isinstance(argument, tuple) and argument and argument[0] == "row":
            return str(piece(argument[1])[0])
        return (
            rf"\mathtt{{{escaped(str(argument))}}}" if isinstance(argument, str) else str(argument)
        )

    if name == "[]":
        return _element(piece(arguments[0][1]), index_text(arguments[1]))
    if name in NAMED and not settings:
        return NAMED[name](*(piece(argument[1]) for argument in arguments))
    words = [
        text(value) if key == "axis" else rf"\mathrm{{{escaped(key)}}}={text(value)}"
        for key, value in settings.items()
        if key != "keepdims" and value is not None
    ]
    return _call(name, *map(text, arguments), below=",".join(words))


def _element(piece: Piece, index: str) -> Piece:
    plain = piece[1] == ATOM and "_" not in piece[0]
    return (piece[0] if plain else rf"\left({piece[0]}\right)") + f"_{{{index}}}", 8


def _operation(graph: Structure, row: int, operands: list[Piece]) -> Piece:
    """A tensor operation: a contraction by its matrix form, others by name."""
    op, settings = graph.ops[row], graph.settings(row)
    shape, inner = graph.shape(row), graph.shape(graph.operands[row][0])
    texts = [piece[0] for piece in operands]
    if op == "contract":
        spec = settings["spec"]
        form = form_of(spec, dict(zip(spec.partition("->")[2], shape, strict=True)))
        ranks = [len(graph.shape(operand)) for operand in graph.operands[row]]
        written = None if form is None else _contraction(form, ranks, shape, operands)
        return written or _einsum(spec, shape, texts)
    if op in NAMED and chosen_axes(op, settings, len(inner)) is None:
        return NAMED[op](*operands)
    if op == "gather":
        if len(shape) > len(inner):
            return _call("windows", *texts)
        if settings["index"].has_gaps:
            return _call("gather", *texts, below=_listed(settings["index"].array.tolist()))
        return _element(operands[0], gather_text(("x", ATOM), inner, settings)[0][2:-1])
    if op == "scatter" and not settings["index"].shape and len(shape) < 3:
        unit: Piece = (f"e_{{{settings['index'].subscript}}}", ATOM)
        if len(shape) == 1:
            return unit if texts[0] == "1" else (f"{bracket_latex(operands[0], 2)} {unit[0]}", 2)
        left, right = (operands[0], unit) if settings["axis"] == -1 else (unit, operands[0])
        return f"{bracket_latex(left, JUXTAPOSED)} {_transposed(right)}", JUXTAPOSED
    below = _listed(settings["index"].array.tolist()) if op == "scatter" else ""
    if op == "reshape":
        below = _sizes(settings["shape"])
    elif (axes := chosen_axes(op, settings, len(inner))) is not None:
        below = ",".join(str(axis + len(inner)) for axis in axes)
    if op == "winner":
        return _call("onehot", _call("argmax", *texts, below=below)[0])
    return _call(OPERATIONS[op].word or op, *texts, below=below)


def _listed(index: Any) -> str:
    """Places along an axis, the first of them if there are many."""
    if isinstance(index, int):
        return str(index)
    parts = [_listed(part) for part in index[:MOST_LISTED]]
    parts += [r"\ldots"] * (len(index) > MOST_LISTED)
    return f"[{', '.join(parts)}]"


def _einsum(spec: str, shape: Shape, texts: list[str]) -> Piece:
    operands, out = spec.split("->")
    words, result, added = einsum_parts(
        operands.split(","), out, dict(zip(out, shape, strict=True))
    )
    signs = {"eye": "I", "ones": r"\mathbf{1}"}
    texts = texts + [f"{signs[name]}_{{{_size(size)}}}" for name, size in added]
    if texts[0] == "1" and not words[0] and len(words) > 1:
        words, texts = words[1:], texts[1:]
    return _call("einsum", *texts, below=rf"{','.join(words)} \to {result}")


def _contraction(form: Form, ranks: list[int], shape: Shape, operands: list[Piece]) -> Piece | None:
    """A contraction in matrix notation, vectors being columns."""

    def part(place: int, flip: bool = False) -> str:
        piece = operands[form.order[place]]
        if form.transposed[place] != flip:
            return _transposed(piece)
        return bracket_latex(piece, JUXTAPOSED)

    word = form.word
    if word == "matmul" and max(ranks) <= 2:
        if ranks[form.order[0]] == 1 and ranks[form.order[1]] == 2:  # x @ A
            return f"{part(1, flip=True)} {part(0)}", JUXTAPOSED
        if ranks == [1, 1] and operands[0][1] < ATOM <= operands[1][1]:  # x^T (A x)
            return f"{part(1, flip=True)} {part(0)}", JUXTAPOSED
        return f"{part(0, flip=ranks[form.order[0]] == 1)} {part(1)}", JUXTAPOSED
    if word == "outer":
        return f"{part(0)} {part(1, flip=True)}", JUXTAPOSED
    if word == "product" and ranks[0] == ranks[1]:
        return rf"{part(0)} \odot {part(1)}", 2
    if word == "columns":
        return rf"{part(0)} {_call('diag', operands[form.order[1]][0])[0]}", JUXTAPOSED
    if word == "rows":
        return rf"{_call('diag', operands[form.order[0]][0])[0]} {part(1)}", JUXTAPOSED
    if word in ("trace_of_product", "trace"):
        inner = f"{part(0)} {part(1)}" if word != "trace" else operands[0][0]
        return rf"\operatorname{{tr}}\left({inner}\right)", ATOM
    if word == "sum_of_product" and not form.axes and ranks == [2, 2]:
        return rf"\operatorname{{tr}}\left({part(0, flip=True)} {part(1)}\right)", ATOM
    if len(operands) == 1:
        return _single(form, ranks[0], shape, operands[0])
    return None


def _single(form: Form, rank: int, shape: Shape, piece: Piece) -> Piece | None:
    word, tight, ones = form.word, bracket_latex(piece, JUXTAPOSED), r"\mathbf{1}"
    if word == "transpose":
        return _transposed(piece), 8
    if word == "diag":
        return _call("diag", piece[0])
    if word in ("eye", "full"):
        unit = f"I_{{{_size(shape[0])}}}" if word == "eye" else f"{ones}_{{{_sizes(shape)}}}"
        return (unit, ATOM) if piece[0] == "1" else (f"{bracket_latex(piece, 2)} {unit}", 2)
    if word in ("newaxis", "repeat") and (rank, len(shape)) == (1, 2):  # in every row, or column
        if form.axes == (0,):
            return rf"{ones} {_transposed(piece)}", JUXTAPOSED
        return rf"{tight} {ones}^{{\top}}", JUXTAPOSED
    if word == "sum" and not form.keepdims and rank <= 2:
        if rank == 1:
            return rf"{ones}^{{\top}} {tight}", JUXTAPOSED
        if not form.axes:
            return rf"{ones}^{{\top}} {tight} {ones}", JUXTAPOSED
        return f"{_transposed(piece) if form.axes == (0,) else tight} {ones}", JUXTAPOSED
    if word in ("sum", "permute"):
        return _call("sum" if word == "sum" else "transpose", piece[0], below=str(form.axes)[1:-1])
    return None


def _mul(graph: Structure, row: int, operands: list[Piece]) -> Piece | None:
    ranks = [len(graph.shape(operand)) for operand in graph.operands[row]]
    if ranks in ([1, 2], [2, 1]):  # the columns of A, scaled
        matrix, vector = operands if ranks == [2, 1] else operands[::-1]
        return rf"{bracket_latex(matrix, JUXTAPOSED)} {_call('diag', vector[0])[0]}", JUXTAPOSED
    if 0 not in ranks:
        return rf"{bracket_latex(operands[0], 2)} \odot {_right(operands[1], 2)}", 2
    if ranks[0]:
        return None
    left, right = operands
    scalar = rf"\left({left[0]}\right)" if left[1] == JUXTAPOSED and " " in left[0] else left[0]
    if left[1] < 2 or r"\frac" in left[0]:
        scalar = bracket_latex(left, 2)
    plain = right[1] == 2 and not right[0].startswith("-")  # 2 (s x) is 2 s x
    return f"{scalar} {right[0] if plain else _right(right, 2)}", 2


def _neg(graph: Structure, row: int, operands: list[Piece]) -> Piece | None:
    text, binding = operands[0]
    return (f"-{text}", 3) if binding == 2 and not text.startswith("-") else None


def _sum(sign: str) -> Callable[[Structure, int, list[Piece]], Piece | None]:
    """A sum in which a vector is added to every row of a matrix."""

    def written(graph: Structure, row: int, operands: list[Piece]) -> Piece | None:
        ranks = [len(graph.shape(operand)) for operand in graph.operands[row]]
        if sorted(ranks) != [1, 2]:
            return None
        left, right = (
            (rf"\mathbf{{1}} {_transposed(piece)}", JUXTAPOSED) if rank == 1 else piece
            for rank, piece in zip(ranks, operands, strict=True)
        )
        return f"{bracket_latex(left, 1)} {sign} {_right(right, 1)}", 1

    return written


def _div(graph: Structure, row: int, operands: list[Piece]) -> Piece | None:
    if not graph.shape(graph.operands[row][1]):
        return None
    return rf"{bracket_latex(operands[0], 2)} \oslash {_right(operands[1], 2)}", 2


def _power(graph: Structure, row: int, operands: list[Piece]) -> Piece | None:
    exponent = number_latex(graph.settings(row)["exponent"])[0]
    return rf"{bracket_latex(operands[0], POWER_BASE)}^{{\odot {exponent}}}", 4


def _exp(graph: Structure, row: int, operands: list[Piece]) -> Piece | None:
    return rf"\exp\left({operands[0][0]}\right)", ATOM  # e^A would be the matrix exponential


def _where(graph: Structure, row: int, operands: list[Piece]) -> Piece | None:
    if operands[2][0] != "0":
        return None
    mask = rf"\left[{operands[0][0]}\right]"
    if is_mask(graph, row):
        return mask, ATOM
    if gates_columns(graph, row):
        return rf"{bracket_latex(operands[1], JUXTAPOSED)} {_call('diag', mask)[0]}", JUXTAPOSED
    between = r" \odot " if graph.shape(graph.operands[row][1]) else " "
    return f"{bracket_latex(operands[1], 2)}{between}{mask}", 2


# element-wise functions that are written differently where they act on tensors
_ON_TENSORS: dict[str, Callable[[Structure, int, list[Piece]], Piece | None]] = {
    "add": _sum("+"),
    "sub": _sum("-"),
    "neg": _neg,
    "mul": _mul,
    "div": _div,
    "ratio_or_0": _div,
    "power": _power,
    "exp": _exp,
    "where": _where,
}


def _right(piece: Piece, binding: int) -> str:
    """The right operand: a leading minus sign and an equal binding need brackets."""
    return bracket_latex((piece[0], 0) if piece[1] == 3 else piece, binding + 1)


def bracket_latex(piece: Piece, least: int) -> str:
    """The text, in brackets if it binds less tightly than it must."""
    return piece[0] if piece[1] >= least else rf"\left({piece[0]}\right)"


def number_latex(value: Any) -> Piece:
    """A number of a formula, or a constant array."""
    if getattr(value, "shape", ()):
        return matrix_latex(value), ATOM
    text, binding = number_text(value)
    fraction = re.fullmatch(r"(-?)(\d+)/(\d+)", text)
    if fraction:
        sign, above, below = fraction.groups()
        return rf"{sign}\frac{{{above}}}{{{below}}}", 3 if sign else 4
    if not re.fullmatch(r"-?[\d.]+", text):
        return expression_latex(getattr(value, "expression", value)), 0
    return text, binding


def matrix_latex(value: Any) -> str:
    """A constant array: a column, a matrix, or a list of matrices; what is long has dots."""
    if len(value.shape) > 2:
        parts = [matrix_latex(part) for part in value[:MOST_LISTED]]
        dots = [r"\ldots"] * (len(value) > MOST_LISTED)
        return rf"\left({', '.join(parts + dots)}\right)"
    rows = [[part] if len(value.shape) == 1 else part for part in value[:MOST_LISTED]]
    wide = len(value.shape) == 2 and value.shape[1] > MOST_LISTED
    lines = [
        " & ".join([number_latex(part)[0] for part in row[:MOST_LISTED]] + [r"\cdots"] * wide)
        for row in rows
    ]
    lines += [r"\vdots"] * (len(value) > MOST_LISTED)
    body = r" \\ ".join(lines)
    return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"


CALLS[style] = call_latex


# Results.


def expression_latex(expression: Any) -> str:
    """A SymPy result, with the names of nodes written as above."""
    import sympy

    symbols = getattr(expression, "free_symbols", ())
    return str(sympy.latex(expression, symbol_names={s: name_latex(s.name) for s in symbols}))


def equations(pairs: Iterable[tuple[str, str]]) -> str:
    """Left and right sides in an align* environment."""
    lines = " \\\\\n".join(f"{left} &= {right}" for left, right in pairs)
    return f"\\begin{{align*}}\n{lines}\n\\end{{align*}}"


def fraction(mark: str, of: str, wrt: str) -> str:
    r"""The sign of a derivative; the mark is d, or \partial for a local one."""
    return rf"\frac{{{mark} {name_latex(of)}}}{{{mark} {name_latex(wrt)}}}"
