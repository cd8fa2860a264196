"""The table of tensor operations: a closed set, each with its shape, value, push and pull.

Everything linear is a contraction (einsum with one open slot) or a selection (gather and its
transpose, scatter). Layers and losses are compositions of these and have no rule of their own.
A carried value may have further leading axes (`lead`): that is how Jacobians are carried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import GraphcError
from ..shapes import LETTERS, Shape, Size, shape_text, unused_letters

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Local:
    """One operation where it stands: its operands, its own value, and how to apply others."""

    apply: Callable[[str, Sequence[Any], dict[str, Any]], Any]
    args: Sequence[Any]
    own: Any
    shapes: Sequence[Shape]  # of the operands
    shape: Shape  # of the result
    settings: Settings
    lead: Shape = ()

    def contract(self, spec: str, *operands: Any, **sizes: Size) -> Any:
        """A contraction; `sizes` are those of the letters that only the result has."""
        return self.apply("contract", operands, {"spec": spec, "sizes": tuple(sizes.items())})

    def letters(self) -> tuple[str, str]:
        """Letters for the leading axes and for the first operand's axes."""
        rank = len(self.shapes[0])
        return LETTERS[rank : rank + len(self.lead)], LETTERS[:rank]

    def kept(self, axes: Sequence[int]) -> str:
        """The letters of the first operand that a reduction over the axes leaves."""
        full = self.letters()[1]
        gone = {axis % len(full) for axis in axes}
        return "".join(letter for i, letter in enumerate(full) if i not in gone)

    def expand(self, value: Any, axes: Sequence[int]) -> Any:
        """A reduced value, repeated along the axes it was reduced over."""
        full, kept = self.letters()[1], self.kept(axes)
        sizes = {x: self.shapes[0][i] for i, x in enumerate(full) if x not in kept}
        return self.contract(f"{kept}->{full}", value, **sizes)


@dataclass(frozen=True)
class Operation:
    """One record: how a tensor operation is shaped, pulled back and pushed forward."""

    name: str
    shape: Callable[[Sequence[Shape], Settings, Sequence[str]], Shape]
    pull: Callable[[Local, int, Any], Any]  # (where, operand, adjoint) -> adjoint of the operand
    push: Callable[[Local, int, Any], Any]
    linear: bool = False  # in each operand: pushing is applying it to the tangent
    looks: Callable[[Settings], bool] = lambda settings: False  # may be a view of the first operand
    word: str = ""  # that calls it, where this is not its name


OPERATIONS: dict[str, Operation] = {}
SELECTIONS = ("gather", "scatter", "reshape")  # each element is one of the operand's, or 0


def define(name: str, **fields: Any) -> None:
    OPERATIONS[name] = Operation(name, **fields)


# Contraction.


def contract_shape(shapes: Sequence[Shape], settings: Settings, labels: Sequence[str]) -> Shape:
    """The shape of a contraction; a letter has one size wherever it stands."""
    left, _, out = settings["spec"].partition("->")
    sizes: dict[str, tuple[Size, str]] = {}
    for letters, shape, label in zip(left.split(","), shapes, labels, strict=True):
        if len(letters) != len(shape):
            raise GraphcError(
                f"{label} has shape {shape_text(shape)}, but {letters!r} in {settings['spec']!r} "
                f"names {len(letters)} axes"
            )
        for letter, size in zip(letters, shape, strict=True):
            known, other = sizes.setdefault(letter, (size, label))
            if known != size:
                raise GraphcError(
                    f"{settings['spec']!r}: the axis {letter!r} has size {known} in {other} but "
                    f"size {size} in {label}, which is {shape_text(shape)}"
                )
    for letter, size in settings["sizes"]:
        sizes.setdefault(letter, (size, ""))
    missing = [letter for letter in out if letter not in sizes]
    if missing:
        raise GraphcError(f"{settings['spec']!r}: no operand has the axis {missing[0]!r}")
    return tuple(sizes[letter][0] for letter in out)


def _contract_pull(here: Local, k: int, adjoint: Any) -> Any:
    left, _, out = here.settings["spec"].partition("->")
    letters = left.split(",")
    lead = unused_letters([left, out], len(here.lead))
    others = [i for i in range(len(letters)) if i != k]
    present = out + "".join(letters[i] for i in others)
    sizes = {
        letter: size
        for letter, size in zip(letters[k], here.shapes[k], strict=True)
        if letter not in present
    }
    spec = ",".join([lead + out, *(letters[i] for i in others)]) + "->" + lead + letters[k]
    return here.contract(spec, adjoint, *(here.args[i] for i in others), **sizes)


def _contract_push(here: Local, k: int, tangent: Any) -> Any:
    left, _, out = here.settings["spec"].partition("->")
    letters = left.split(",")
    lead = unused_letters([left, out], len(here.lead))
    letters[k] = lead + letters[k]
    args = [tangent if i == k else arg for i, arg in enumerate(here.args)]
    return here.contract(f"{','.join(letters)}->{lead}{out}", *args, **dict(here.settings["sizes"]))


def _contract_looks(settings: Settings) -> bool:
    """Whether nothing is multiplied, summed or spread over a diagonal: axes are only arranged."""
    left, _, out = settings["spec"].partition("->")
    return left.isalpha() and set(left) <= set(out) and len(set(out)) == len(out)


define(
    "contract",
    shape=contract_shape,
    pull=_contract_pull,
    push=_contract_push,
    linear=True,
    looks=_contract_looks,
)


# Selections.


def _index_rank(index: Any) -> tuple[int, ...]:
    shape = []
    while isinstance(index, tuple):
        shape.append(len(index))
        index = index[0] if index else 0
    return tuple(shape)


def _gather_shape(shapes: Sequence[Shape], settings: Settings, labels: Sequence[str]) -> Shape:
    shape, axis = shapes[0], settings["axis"] % len(shapes[0])
    return (*shape[:axis], *_index_rank(settings["index"]), *shape[axis + 1 :])


def _scatter_shape(shapes: Sequence[Shape], settings: Settings, labels: Sequence[str]) -> Shape:
    rank = len(_index_rank(settings["index"]))
    after = -settings["axis"] - 1
    lead = len(shapes[0]) - rank - after
    return (*shapes[0][:lead], settings["size"], *shapes[0][lead + rank :])


def _selection(name: str) -> Callable[[Local, int, Any], Any]:
    return lambda here, k, value: here.apply(name, (value,), dict(here.settings))


define(
    "gather",
    shape=_gather_shape,
    pull=_selection("scatter"),
    push=_selection("gather"),
    linear=True,
    looks=lambda settings: len(_index_rank(settings["index"])) < 2,  # it may be a slice
)
define(
    "scatter",
    shape=_scatter_shape,
    pull=_selection("gather"),
    push=_selection("scatter"),
    linear=True,
)


def _reshape(shape_of: Callable[[Local], Shape]) -> Callable[[Local, int, Any], Any]:
    return lambda here, k, value: here.apply(
        "reshape", (value,), {"shape": (*here.lead, *shape_of(here))}
    )


define(
    "reshape",
    shape=lambda shapes, settings, labels: tuple(settings["shape"]),
    pull=_reshape(lambda here: here.shapes[0]),
    push=_reshape(lambda here: here.shape),
    linear=True,
    looks=lambda settings: True,
)


# Reductions that are not sums.


def reduced(shapes: Sequence[Shape], settings: Settings, labels: Sequence[str]) -> Shape:
    """The shape without the reduced axes."""
    gone = {axis % len(shapes[0]) for axis in settings["axes"]}
    return tuple(size for i, size in enumerate(shapes[0]) if i not in gone)


def _slope_pull(slope: Callable[[Local], Any]) -> Callable[[Local, int, Any], Any]:
    """A reduction with one slope per element: the adjoint, repeated, times the slope."""

    def pull(here: Local, k: int, adjoint: Any) -> Any:
        lead, full = here.letters()
        kept = here.kept(here.settings["axes"])
        return here.contract(f"{lead}{kept},{full}->{lead}{full}", adjoint, slope(here))

    return pull


def _slope_push(slope: Callable[[Local], Any]) -> Callable[[Local, int, Any], Any]:
    def push(here: Local, k: int, tangent: Any) -> Any:
        lead, full = here.letters()
        kept = here.kept(here.settings["axes"])
        return here.contract(f"{full},{lead}{full}->{lead}{kept}", slope(here), tangent)

    return push


def _winner(here: Local) -> Any:
    return here.apply("winner", (here.args[0],), dict(here.settings))


def _direction(here: Local) -> Any:
    own = here.expand(here.own, here.settings["axes"])
    return here.apply("ratio_or_0", (here.args[0], own), {})


def _share(here: Local) -> Any:
    own = here.expand(here.own, here.settings["axes"])
    return here.apply("exp", (here.apply("sub", (here.args[0], own), {}),), {})


for _name, _slope, _word in (
    ("largest", _winner, "max"),
    ("norm", _direction, ""),
    ("logsumexp", _share, ""),
):
    define(_name, shape=reduced, pull=_slope_pull(_slope), push=_slope_push(_slope), word=_word)
define(
    "winner",
    shape=lambda shapes, settings, labels: shapes[0],
    pull=lambda here, k, adjoint: None,
    push=lambda here, k, tangent: None,
)


def _softmax_carry(here: Local, k: int, value: Any) -> Any:
    """s * (v - sum(s * v)): the Jacobian of softmax is symmetric, so push and pull are one."""
    lead, full = here.letters()
    kept = here.kept(here.settings["axes"])
    size = {x: here.shapes[0][i] for i, x in enumerate(full) if x not in kept}
    total = here.contract(f"{full},{lead}{full}->{lead}{kept}", here.own, value)
    spread = here.contract(f"{lead}{kept}->{lead}{full}", total, **size)
    return here.apply("mul", (here.own, here.apply("sub", (value, spread), {})), {})


define(
    "softmax",
    shape=lambda shapes, settings, labels: shapes[0],
    pull=_softmax_carry,
    push=_softmax_carry,
)


# Matrix functions.


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


define(
    "inv",
    shape=lambda shapes, settings, labels: square(shapes, labels, "inv"),
    pull=_inverse_pull,
    push=_inverse_push,
)


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


def _scalar_of_square(name: str) -> Callable[[Sequence[Shape], Settings, Sequence[str]], Shape]:
    def shape(shapes: Sequence[Shape], settings: Settings, labels: Sequence[str]) -> Shape:
        square(shapes, labels, name)
        return ()

    return shape


define("det", shape=_scalar_of_square("det"), **_matrix_scalar(_determinant_slope))
define("logdet", shape=_scalar_of_square("logdet"), **_matrix_scalar(_logdet_slope))


# The adjugate is det(A) * inv(A), and a polynomial: it has values and slopes at singular matrices.


def _adjugate_pull(here: Local, k: int, adjoint: Any) -> Any:
    """tr(d adj(A)[V] W) is symmetric in V and W, so that the change pulls as it pushes."""
    return _transposed(here, _change(here, _transposed(here, adjoint)))


def _change(here: Local, value: Any) -> Any:
    return here.apply("adjugate_change", (here.args[0], value), {})


def _transposed(here: Local, value: Any) -> Any:
    lead = LETTERS[2 : 2 + len(here.lead)]
    return here.contract(f"{lead}ab->{lead}ba", value)


define(
    "adjugate",
    shape=lambda shapes, settings, labels: square(shapes, labels, "adjugate"),
    pull=_adjugate_pull,
    push=lambda here, k, tangent: _change(here, tangent),
)


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


define("adjugate_change", shape=_change_shape, pull=_change_pull, push=_change_push)


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


define("solve", shape=_solve_shape, pull=_solve_pull, push=_solve_push)


# Element-wise functions broadcast: what was repeated on the way out is summed on the way back.


def summed_to(here: Local, value: Any, shape: Shape, target: Shape) -> Any:
    """The transpose of broadcasting `target` to `shape`: sums over the repeated axes."""
    if shape == target:
        return value
    letters = LETTERS[: len(shape)]
    lead = LETTERS[len(shape) : len(shape) + len(here.lead)]
    ones = iter(LETTERS[len(shape) + len(here.lead) :])
    out, sizes = "", {}
    for axis in range(-len(target), 0):
        if target[axis] == shape[axis]:
            out += letters[axis]
        else:
            fresh = next(ones)
            out, sizes[fresh] = out + fresh, 1
    return here.contract(f"{lead}{letters}->{lead}{out}", value, **sizes)


def repeated_to(here: Local, value: Any, shape: Shape, target: Shape) -> Any:
    """A value of `shape` broadcast to `target`."""
    if shape == target:
        return value
    letters = LETTERS[: len(target)]
    lead = LETTERS[len(target) : len(target) + len(here.lead)]
    ones = iter(LETTERS[len(target) + len(here.lead) :])
    source, sizes = "", {}
    for axis in range(-len(target), 0):
        if len(shape) < -axis:
            sizes[letters[axis]] = target[axis]
        elif shape[axis] == target[axis]:
            source += letters[axis]
        else:
            source += next(ones)
            sizes[letters[axis]] = target[axis]
    return here.contract(f"{lead}{source}->{lead}{letters}", value, **sizes)
