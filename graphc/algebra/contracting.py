"""Contractions in their simplest form: identity matrices, scalar factors and copies dissolve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..shapes import Size, unused_letters
from ..structure.rows import GraphRow
from ..table.arrays import split_spec
from ..table.matrix_form import PAIRS, canonical
from .terms import is_diagonal, scalar_divisor, scalar_factor, scaled_term, spread, term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .formulas import Formulas


def contract(rows: Formulas, args: list[GraphRow], settings: dict[str, Any]) -> GraphRow:
    """A contraction without identity matrices, scalar factors and copies."""
    operands, out = split_spec(settings["spec"])
    return contraction(rows, args, operands, out, dict(settings["sizes"]))


def contraction(
    rows: Formulas, args: list[GraphRow], operands: list[str], out: str, sizes: dict[str, Size]
) -> GraphRow:
    factor, scalars, args, operands, out, sizes = gathered(rows, args, operands, out, sizes)
    if args:
        core: GraphRow | None = contracted(rows, args, operands, out, sizes)
    else:
        core = None
    for scalar in scalars:
        core = scalar if core is None else rows.apply("mul", (scalar, core), {})
    if not args:
        inner = scaled_term(rows, factor, core) if core is not None else rows.constant(factor)
        if not out:
            return inner
        return filled(rows, inner, canonical(f"->{out}"), [sizes[letter] for letter in out])
    assert core is not None
    return scaled_term(rows, factor, core) if factor != 1 else core


def filled(rows: Formulas, scalar: GraphRow, spec: str, shape: Sequence[Size]) -> GraphRow:
    """A scalar repeated, or times an identity matrix."""
    out = spec[2:]
    eye = is_diagonal(out)
    sizes = tuple(dict(zip(out, shape, strict=True)).items())
    row = rows.constant(1) if eye else scalar
    whole = rows.graph.operation("contract", (row,), {"spec": spec, "sizes": sizes})
    return rows.apply("mul", (scalar, whole), {}) if eye else whole


def gathered(
    rows: Formulas, args: list[GraphRow], operands: list[str], out: str, sizes: dict[str, Size]
) -> Any:
    """The operands with what repeats or spreads dissolved, and the factors they had."""
    sizes = dict(sizes)
    for arg, letters in zip(args, operands, strict=True):
        for letter, size in zip(letters, rows.graph.shape(arg), strict=True):
            sizes[letter] = size if sizes.get(letter, 1) == 1 else sizes[letter]
    factor: Any = 1
    scalars: list[GraphRow] = []
    divisors: list[GraphRow] = []
    left = list(zip(args, operands, strict=True))
    right: list[tuple[GraphRow, str]] = []
    while left:
        arg, letters = left.pop(0)
        number, rest = term(rows, arg)
        factor *= number
        if rest is None:
            continue
        if not letters:
            scalars.append(rest)
            continue
        scalar, rest = scalar_factor(rows, rest)
        if scalar is not None:
            left[:0] = [(scalar, ""), (rest, letters)]
            continue
        if divisor := scalar_divisor(rows, rest):
            divisors.append(divisor[1])
            left.insert(0, (divisor[0], letters))
            continue
        found = spread(rows, rest)
        joined = None if found is None else dissolved(found, letters, out, left + right)
        if joined is None:
            right.append((rest, letters))
            continue
        renamed, inner, missing = joined
        known = [sizes[letter] for letter in missing]
        if not all(isinstance(size, int) for size in known):
            right.append((rest, letters))  # a named size cannot become a factor
            continue
        for size in known:
            factor *= size  # a sum over what was only repeated
        assert found is not None
        out = out.translate(renamed)
        sizes = {x.translate(renamed): size for x, size in sizes.items()}
        left = [(row, word.translate(renamed)) for row, word in left]
        right = [(row, word.translate(renamed)) for row, word in right]
        left.insert(0, (found[0], inner))
    for below in divisors:
        scalars.append(rows.graph.operation("div", (rows.constant(1), below), {}))
    return factor, scalars, [row for row, _ in right], [word for _, word in right], out, sizes


def dissolved(
    found: tuple[GraphRow, str, str], letters: str, out: str, others: list[tuple[GraphRow, str]]
) -> tuple[dict[int, str], str, list[str]] | None:
    """(letters that become one, letters of the inner operand, letters nobody has any more)."""
    _, below, middle = found
    place: dict[str, str] = {}  # letter of the inner contraction -> letter here
    one: dict[str, str] = {}

    def root(letter: str) -> str:
        while letter in one:
            letter = one[letter]
        return letter

    for inner, outer in zip(middle, letters, strict=True):
        first, this = root(place.setdefault(inner, outer)), root(outer)
        if first != this:
            one[this] = first
    renamed = {ord(letter): root(letter) for letter in one}
    word = "".join(root(place[letter]) for letter in below)
    rest = "".join(other for _, other in others) + out
    used = set(rest.translate(renamed)) | set(word)
    missing = [x for x in dict.fromkeys(root(letter) for letter in letters) if x not in used]
    return renamed, word, missing


def contracted(
    rows: Formulas, args: list[GraphRow], operands: list[str], out: str, sizes: dict[str, Size]
) -> GraphRow:
    """A contraction of tensors, as an element-wise product or in its usual order."""
    graph = rows.graph
    if len(args) == 1 and (simple := unary(rows, args[0], operands[0], out, sizes)) is not None:
        return simple
    if len(args) > 1 and is_diagonal(out):  # diag(x * y)
        core = "".join(x for x in dict.fromkeys(out) if x in "".join(operands))
        inner = contraction(rows, args, operands, core, sizes)
        return contraction(rows, [inner], [core], out, sizes)
    if len(args) == 2:
        a, b = operands
        if out in (a, b) and out.endswith(a) and out.endswith(b):
            return rows.apply("mul", args, {})
        spec = canonical(f"{a},{b}->{out}")
        form = PAIRS.get(spec)
        if spec == "a,ab->b" or (form is not None and form.order == (1, 0)):
            args, operands = args[::-1], operands[::-1]  # W.T @ g, where people write x @ A
    elif len(args) == 1 and not out and len(operands[0]) == 1:
        product = rows.inside(args[0], "mul")
        if product and graph.shape(product[0]) == graph.shape(product[1]):
            args, operands = list(product), [operands[0]] * 2  # a sum of products is x @ y
    present = set("".join(operands))
    spec = ",".join(operands) + "->" + out
    letter = dict(zip(spec, canonical(spec), strict=True))
    kept = tuple((letter[x], sizes[x]) for x in dict.fromkeys(out) if x not in present)
    return graph.operation("contract", tuple(args), {"spec": canonical(spec), "sizes": kept})


def unary(
    rows: Formulas, row: GraphRow, letters: str, out: str, sizes: dict[str, Size]
) -> GraphRow | None:
    """A sum, a transpose or a repetition: the row itself, or one contraction of what it was."""
    if letters == out and not is_diagonal(out):
        return row
    if is_diagonal(out):
        if not is_diagonal(letters):
            return None
        core = "".join(x for x in dict.fromkeys(out) if x in letters)  # diag(diag(A))
        inner = contraction(rows, [row], [letters], core, sizes)
        return contraction(rows, [inner], [core], out, sizes)
    gone = [letter for letter in letters if letter not in out]
    fresh = [letter for letter in out if letter not in letters]
    if gone and fresh and not is_diagonal(letters):  # a sum that is repeated
        total = "".join(letter for letter in letters if letter in out)
        summed = contraction(rows, [row], [letters], total, sizes)
        return contraction(rows, [summed], [total], out, sizes)
    source = rows.inside(row, "contract")
    plain = not is_diagonal(letters)
    several = len(source) > 1
    if not source or (gone and fresh) or (several and plain and (gone or fresh)):
        return None
    below, middle = split_spec(rows.graph.settings(row)["spec"])
    if is_diagonal(middle) or any(map(is_diagonal, below)):
        return None
    place = dict(zip(middle, letters, strict=True))
    present = "".join(below)
    if any(x not in present and place[x] not in out for x in middle):
        return None  # a repeated axis is summed: that multiplies by its size
    hidden = [x for x in dict.fromkeys(present) if x not in place]
    if hidden and (fresh or not plain):
        return None  # diag(A @ B) is easier to read than a sum over an element-wise product
    place.update(zip(hidden, unused_letters([letters, out], len(hidden)), strict=True))
    table = str.maketrans(place)
    words = [word.translate(table) for word in below]
    return contraction(rows, list(source), words, out, sizes)
