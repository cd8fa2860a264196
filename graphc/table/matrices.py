"""Functions of square matrices: inverse, determinant, adjugate, linear equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import GraphcError
from ..shapes import LETTERS, Shape, shape_text
from .contraction_words import JUXTAPOSED, beside, inverse_latex
from .loops import LoopWriter, Variable
from .matrix_definitions import LOOPS, NUMPY
from .matrix_form import Piece
from .matrix_values import (
    adjugate,
    adjugate_change,
    determinant,
    inverse,
    log_determinant,
    solution,
)
from .phrases import Phrase, bracket_latex
from .reductions import reduced_pairs
from .tensors import Local, Looping, Settings, Shaper, Site, define
from .writing import ArrayWriter


def square(shapes: Sequence[Shape], labels: Sequence[str], name: str) -> Shape:
    """The shape of the first operand, which must be a square matrix."""
    shape = shapes[0]
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphcError(f"{name} needs a square matrix, but {labels[0]} is {shape_text(shape)}")
    return shape


def _inverse_pull(here: Local, k: int, adjoint: Any) -> Any:
    lead = LETTERS[26 : 26 + len(here.lead)]
    half = here.contract(f"{lead}kl,jl->{lead}kj", adjoint, here.own)
    whole = here.contract(f"ki,{lead}kj->{lead}ij", here.own, half)
    return here.apply("neg", (whole,), {})


def _inverse_push(here: Local, k: int, tangent: Any) -> Any:
    lead = LETTERS[26 : 26 + len(here.lead)]
    half = here.contract(f"ik,{lead}kl->{lead}il", here.own, tangent)
    return here.apply("neg", (here.contract(f"{lead}il,lj->{lead}ij", half, here.own),), {})


def _determinant_slope(here: Local) -> Any:
    return here.contract("ij->ji", here.apply("adjugate", here.args, {}))


def _logdet_slope(here: Local) -> Any:
    return here.contract("ij->ji", here.apply("inv", here.args, {}))


def _matrix_scalar(slope: Callable[[Local], Any]) -> dict[str, Any]:
    """pull and push of a scalar function of a matrix with this slope."""

    def pull(here: Local, k: int, adjoint: Any) -> Any:
        lead = LETTERS[2 : 2 + len(here.lead)]
        return here.contract(f"{lead},ab->{lead}ab", adjoint, slope(here))

    def push(here: Local, k: int, tangent: Any) -> Any:
        lead = LETTERS[2 : 2 + len(here.lead)]
        return here.contract(f"ab,{lead}ab->{lead}", slope(here), tangent)

    return {"pull": pull, "push": push}


def _scalar_of_square(name: str) -> Shaper:
    def shape(shapes: Sequence[Shape], settings: Settings, labels: Sequence[str]) -> Shape:
        square(shapes, labels, name)
        return ()

    return shape


# The adjugate is det(A) * inv(A), and a polynomial: it has values and slopes at singular matrices.


def _adjugate_pull(here: Local, k: int, adjoint: Any) -> Any:
    """tr(d adj(A)[V] W) is symmetric in V and W, so that the change pulls as it pushes."""
    return _transposed(here, _change(here, _transposed(here, adjoint)))


def _change(here: Local, value: Any) -> Any:
    return here.apply("adjugate_change", (here.args[0], value), {})


def _transposed(here: Local, value: Any) -> Any:
    lead = LETTERS[2 : 2 + len(here.lead)]
    return here.contract(f"{lead}ab->{lead}ba", value)


def _change_shape(shapes: Sequence[Shape], settings: Settings, labels: Sequence[str]) -> Shape:
    if shapes[1][-2:] != square(shapes, labels, "adjugate_change"):
        raise GraphcError(
            f"adjugate_change(A, V): {labels[0]} is {shape_text(shapes[0])} but {labels[1]} is "
            f"{shape_text(shapes[1])}; its last axes must be those of A"
        )
    return shapes[1]


def _change_letters(here: Local) -> tuple[str, str]:
    """Letters of the leading axes of what is carried, and of the second operand."""
    lead = LETTERS[4 : 4 + len(here.lead)]
    more = LETTERS[4 + len(here.lead) : 2 + len(here.lead) + len(here.shape)]
    return lead, more


def _change_pull(here: Local, k: int, adjoint: Any) -> Any:
    lead, more = _change_letters(here)
    every = lead + more
    if k == 1:
        turned = here.contract(f"{every}ij->{every}ji", adjoint)
        return here.contract(f"{every}ij->{every}ji", _change(here, turned))
    # the change is inv(A) @ (tr(adj(A) @ V) * I - V @ adj(A)) where A has an inverse
    inverse = here.apply("inv", here.args[:1], {})
    inner = here.contract(f"ki,{every}kj->{every}ij", inverse, adjoint)
    first = here.contract(f"{every}il,{more}jl->{lead}ij", inner, here.own)
    trace = here.contract(f"{every}ii->{every}", inner)
    spread = here.contract(f"{every},{more}ij->{lead}ij", trace, here.args[1])
    product = here.contract(f"{more}kj,{every}ki->{lead}ij", here.args[1], inner)
    moved = _change(here, here.apply("sub", (spread, product), {}))
    return here.apply("sub", (here.contract(f"{lead}ij->{lead}ji", moved), first), {})


def _change_push(here: Local, k: int, tangent: Any) -> Any:
    if k == 1:
        return _change(here, tangent)
    lead, more = _change_letters(here)
    every = lead + more
    inverse = here.apply("inv", here.args[:1], {})
    change = _change(here, tangent)
    half = here.contract(f"ik,{lead}kl->{lead}il", inverse, tangent)
    first = here.contract(f"{lead}il,{more}lj->{every}ij", half, here.own)
    trace = here.contract(f"{lead}ij,{more}ji->{every}", change, here.args[1])
    spread = here.contract(f"{every},ij->{every}ij", trace, inverse)
    product = here.contract(f"{more}ik,{lead}kj->{every}ij", here.args[1], change)
    second = here.contract(f"ik,{every}kj->{every}ij", inverse, product)
    return here.apply("sub", (here.apply("sub", (spread, second), {}), first), {})


def _solve_shape(shapes: Sequence[Shape], settings: Settings, labels: Sequence[str]) -> Shape:
    rows = square(shapes, labels, "solve")[0]
    if len(shapes[1]) not in (1, 2) or shapes[1][0] != rows:
        raise GraphcError(
            f"solve(A, b): {labels[0]} is {shape_text(shapes[0])} but {labels[1]} is "
            f"{shape_text(shapes[1])}; they need as many rows"
        )
    return shapes[1]


def _solve_carry(here: Local, value: Any, transposed: bool) -> Any:
    """inv(A) or its transpose applied to a right-hand side, leading axes last while solving."""
    matrix = here.contract("ij->ji", here.args[0]) if transposed else here.args[0]
    if not here.lead:
        return here.apply("solve", (matrix, value), {})
    lead, rest = LETTERS[2 : 2 + len(here.lead)], "y" * (len(here.shape) - 1)
    return here.contract(
        f"ab,{lead}b{rest}->{lead}a{rest}", here.apply("inv", (matrix,), {}), value
    )


def _solve_pull(here: Local, k: int, adjoint: Any) -> Any:
    back = _solve_carry(here, adjoint, transposed=True)
    if k == 1:
        return back
    lead, rest = LETTERS[2 : 2 + len(here.lead)], "y" * (len(here.shape) - 1)
    product = here.contract(f"{lead}a{rest},b{rest}->{lead}ab", back, here.own)
    return here.apply("neg", (product,), {})


def _solve_push(here: Local, k: int, tangent: Any) -> Any:
    if k == 1:
        return _solve_carry(here, tangent, transposed=False)
    lead, rest = LETTERS[2 : 2 + len(here.lead)], "y" * (len(here.shape) - 1)
    moved = here.contract(f"{lead}ab,b{rest}->{lead}a{rest}", tangent, here.own)
    return here.apply("neg", (_solve_carry(here, moved, transposed=False),), {})


# Records.


def _linalg(name: str) -> Callable[[ArrayWriter, Site, Sequence[Piece]], Piece]:
    return lambda writer, site, pieces: writer.call(
        f"linalg.{name}", *(piece[0] for piece in pieces)
    )


def _texts(name: str, loops: Looping, library: bool) -> dict[str, Any]:
    """What is written: a call of NumPy's linear algebra or of a definition of ours."""
    own = {} if library else {name: NUMPY[name]}
    return {
        "text": _linalg(name) if library else None,
        "loops": loops,
        "definitions": {"numpy": own, "loops": LOOPS[name]},
    }


def _number(function: str) -> Looping:
    """A number that a function returns, which works on a copy of the matrix."""

    def loops(
        writer: LoopWriter, result: Variable, operands: Sequence[Variable], settings: Settings
    ) -> str:
        (matrix,) = operands
        n = matrix.shape[0]
        return f"{function}({matrix.text}, {n}, {writer.scratch(n * n)})"

    return loops


def _filled(function: str, *smaller: int) -> Looping:
    """An array that a function fills; to work in it has matrices smaller by so much."""

    def loops(
        writer: LoopWriter, result: Variable, operands: Sequence[Variable], settings: Settings
    ) -> str:
        n = operands[0].shape[0]
        sizes = [n]
        if len(operands) == 2:  # columns of a right-hand side, or several changes of a matrix
            sizes.append(result.size // n if function == "solve" else result.size // (n * n or 1))
        texts = [*(operand.text for operand in operands), *map(str, sizes)]
        writer.declare(result)
        texts += [writer.scratch(max(n - less, 0) ** 2) for less in smaller]
        writer.add(f"{function}({', '.join([*texts, result.text])});")
        return result.text

    return loops


def _largest_element(value: Any, args: Sequence[Any]) -> Any:
    """Every element is made of all of them, and off by a part of the largest."""
    return len(args[0]) * np.max(np.abs(value), axis=(-1, -2), keepdims=True, initial=0.0)


def _by_condition(value: Any, args: Sequence[Any]) -> Any:
    """What elimination does: a part of the largest element, times the condition of the matrix."""
    largest = len(args[0]) * np.max(np.abs(value), initial=0.0)
    return np.minimum(largest * np.linalg.cond(args[0]), np.finfo(float).max)


def _product_of_rows(value: Any, args: Sequence[Any]) -> Any:
    """The largest that a determinant of such rows can be: its terms may cancel."""
    return np.prod(np.linalg.norm(args[0], axis=-1))


define(
    "inv",
    shape=lambda shapes, settings, labels: square(shapes, labels, "inv"),
    pull=_inverse_pull,
    push=_inverse_push,
    latex=lambda site, parts: inverse_latex(parts[0]),
    value=inverse,
    rounded_like=_by_condition,
    call=lambda x: {},
    doc="The inverse of a square matrix.",
    **_texts("inv", _filled("inverse", 0), library=True),
)
define(
    "det",
    shape=_scalar_of_square("det"),
    **_matrix_scalar(_determinant_slope),
    latex=r"\det\left({0}\right)",
    value=determinant,
    rounded_like=_product_of_rows,
    call=lambda x: {},
    doc="The determinant of a square matrix.",
    pairs=reduced_pairs,
    **_texts("det", _number("determinant"), library=True),
)
define(
    "logdet",
    shape=_scalar_of_square("logdet"),
    **_matrix_scalar(_logdet_slope),
    latex=r"\log\det\left({0}\right)",
    value=log_determinant,
    call=lambda x: {},
    doc="The logarithm of a positive determinant.",
    pairs=reduced_pairs,
    **_texts("logdet", _number("log_determinant"), library=False),
)
define(
    "adjugate",
    shape=lambda shapes, settings, labels: square(shapes, labels, "adjugate"),
    pull=_adjugate_pull,
    push=lambda here, k, tangent: _change(here, tangent),
    latex=r"\operatorname{{adj}}\left({0}\right)",
    value=adjugate,
    rounded_like=_largest_element,
    call=lambda x: {},
    doc="The adjugate of a square matrix: det(x) * inv(x), also where x has no inverse.",
    **_texts("adjugate", _filled("adjugate", 1, 1), library=False),
)
define(
    "adjugate_change",
    shape=_change_shape,
    pull=_change_pull,
    push=_change_push,
    value=adjugate_change,
    rounded_like=_largest_element,
    call=lambda x, v: {},
    doc="The change of adjugate(x) along v, a change of x.",
    **_texts("adjugate_change", _filled("adjugate_change", 1, 1, 1, 2, 2), library=False),
)


def _solve_latex(site: Site, parts: Sequence[Phrase]) -> Phrase:
    return beside(inverse_latex(parts[0]), bracket_latex(parts[1], JUXTAPOSED))


define(
    "solve",
    shape=_solve_shape,
    pull=_solve_pull,
    push=_solve_push,
    latex=_solve_latex,
    value=solution,
    rounded_like=_by_condition,
    call=lambda a, b: {},
    doc="The x with a @ x = b.",
    **_texts("solve", _filled("solve", 0), library=True),
)
