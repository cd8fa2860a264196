"""Reductions that are not sums, and softmax: operations over axes with one slope per element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import GraphcError
from ..shapes import Shape
from .arrays import bound_exact, boxed, unboxed
from .loops import Loops, LoopWriter, Variable, axes_names, block, nested, place
from .matrix_form import Piece
from .reduction_words import winner, winner_latex
from .tensors import Arithmetic, Carry, Into, Local, Pairs, Settings, Site, define, unchanged
from .writing import ArrayWriter, axis_text


def reduced(shapes: Sequence[Shape], settings: Settings, labels: Sequence[str]) -> Shape:
    """The shape without the reduced axes."""
    gone = {axis % len(shapes[0]) for axis in settings["axes"]}
    return tuple(size for i, size in enumerate(shapes[0]) if i not in gone)


def reduced_pairs(site: Site, k: int) -> Pairs:
    """Each element goes to the one that its slice is reduced to; all axes go if none are named."""
    inner = [int(size) for size in site.shapes[0]]
    axes = site.settings.get("axes", tuple(range(-len(inner), 0)))
    kept = [1 if axis - len(inner) in axes else size for axis, size in enumerate(inner)]
    numbered = np.arange(math.prod(kept)).reshape(kept)
    return Pairs(np.arange(math.prod(inner)), np.ravel(np.broadcast_to(numbered, inner)))


def _slope_pull(slope: Callable[[Local], Any]) -> Carry:
    """A reduction with one slope per element: the adjoint, repeated, times the slope."""

    def pull(here: Local, k: int, adjoint: Any) -> Any:
        lead, full = here.letters()
        kept = here.kept(here.settings["axes"])
        return here.contract(f"{lead}{kept},{full}->{lead}{full}", adjoint, slope(here))

    return pull


def _winner_pull(here: Local, k: int, adjoint: Any) -> Any:
    """What is not the largest gets nothing, rather than 0."""
    return here.apply("alive", (_slope_pull(_winner)(here, k, adjoint), _winner(here)), {})


def _winner_push(here: Local, k: int, tangent: Any) -> Any:
    chosen = here.apply("passing", (tangent, _winner(here)), {})
    return _slope_push(_winner)(here, k, chosen)


def _slope_push(slope: Callable[[Local], Any]) -> Carry:
    def push(here: Local, k: int, tangent: Any) -> Any:
        lead, full = here.letters()
        kept = here.kept(here.settings["axes"])
        return here.contract(f"{full},{lead}{full}->{lead}{kept}", slope(here), tangent)

    return push


# Values.


def _slices(array: Any, axes: tuple[int, ...]) -> tuple[Any, Callable[[Any], Any]]:
    """The slices over the axes as the last axis of an array, and the way back from there."""
    gone = {axis % array.ndim for axis in axes}
    kept = [axis for axis in range(array.ndim) if axis not in gone]
    order = [*kept, *sorted(gone)]
    moved = array.transpose(order)
    flat = moved.reshape((*moved.shape[: len(kept)], math.prod(moved.shape[len(kept) :])))
    return flat, lambda slices: slices.reshape(moved.shape).transpose(np.argsort(order))


def _best(slices: Any, beats: Callable[[Any, Any], bool]) -> Any:
    """The place of the first largest element along the last axis."""
    if slices.shape[-1] == 0:
        raise GraphcError(
            "a maximum of nothing does not exist, and an axis is empty at this point; give at "
            "least one element"
        )
    if slices.dtype != object:
        return slices.argmax(axis=-1)
    bound_exact("max", slices.size)
    best = np.zeros(slices.shape[:-1], dtype=int)
    for index in np.ndindex(best.shape):
        values = slices[index]
        for other in range(1, len(values)):
            if beats(values[other], values[best[index]]):
                best[index] = other
    return best


def _winner_value(numbers: Arithmetic, args: Sequence[Any], settings: Settings) -> Any:
    """1 at the first largest element of each slice over the axes (or equal shares), else 0."""
    array, beats = boxed(args[0]), numbers.beats
    slices, back = _slices(array, settings["axes"])
    best = _best(slices, beats)[..., None]
    if settings.get("kink") != "share":
        result = np.zeros(slices.shape, dtype=array.dtype)
        np.put_along_axis(result, best, 1, axis=-1)
        return back(result)
    largest = np.take_along_axis(slices, best, axis=-1)
    if array.dtype != object:
        ties = slices == largest
        return back(ties / ties.sum(axis=-1, keepdims=True))
    ties = np.vectorize(lambda top, value: not beats(top, value), otypes=[bool])(largest, slices)
    counts = np.broadcast_to(ties.sum(axis=-1, keepdims=True), ties.shape)
    pairs = zip(ties.flat, counts.flat, strict=True)
    shares = np.array([Fraction(int(tie), int(count)) for tie, count in pairs], dtype=object)
    return back(shares.reshape(ties.shape))


def _largest_value(numbers: Arithmetic, args: Sequence[Any], settings: Settings) -> Any:
    slices, _ = _slices(boxed(args[0]), settings["axes"])
    best = _best(slices, numbers.beats)
    lines = slices.reshape(best.size, slices.shape[-1])
    return unboxed(lines[np.arange(best.size), best.ravel()].reshape(best.shape))


def _norm_value(numbers: Arithmetic, args: Sequence[Any], settings: Settings) -> Any:
    """The Euclidean norm; powers of two keep the squares of floats from overflow."""
    array, axes = boxed(args[0]), settings["axes"]
    if array.dtype == object:
        here = Local(settings=settings, shapes=[array.shape], shape=(), algebra=numbers, args=args)
        squares = numbers.apply("power", (array,), {"exponent": 2})
        total = here.contract(f"{here.letters()[1]}->{here.kept(axes)}", squares)
        return numbers.apply("sqrt", (total,), {})
    if not array.size:
        return np.sum(array, axis=axes)
    exponent = np.frexp(np.max(np.abs(array), axis=axes, keepdims=True))[1]
    scaled = np.ldexp(array, -exponent)
    total = np.sum(scaled * scaled, axis=axes)
    return np.ldexp(np.sqrt(total), np.squeeze(exponent, axis=axes))[()]


# Formulas, for back ends that have no better way.


def _powers(here: Local) -> tuple[Any, Any, Any]:
    """The largest element, exp(x - largest), and its sum over the axes."""
    x, axes = here.args[0], here.settings["axes"]
    top = here.apply("largest", (x,), {"axes": axes})
    shifted = here.apply("sub", (x, here.expand(top, axes, thin=True)), {})
    powers = here.apply("exp", (shifted,), {})
    return top, powers, here.contract(f"{here.letters()[1]}->{here.kept(axes)}", powers)


def _logsumexp_formula(here: Local) -> Any:
    top, _, total = _powers(here)
    return here.apply("add", (here.apply("log", (total,), {}), top), {})


def _softmax_formula(here: Local) -> Any:
    _, powers, total = _powers(here)
    return here.apply("div", (powers, here.expand(total, here.settings["axes"], thin=True)), {})


def _norm_formula(here: Local) -> Any:
    """The norm of what is divided by its largest element, which the squares do not overflow."""
    zero, one = here.algebra.constant(0), here.algebra.constant(1)

    def chosen(condition: Any, value: Any) -> Any:
        return here.apply("where", (condition, value, one), {})

    axes, full = here.settings["axes"], here.letters()[1]
    top = here.apply("largest", (here.apply("abs", here.args, {}),), {"axes": axes})
    difference = here.apply("sub", (top, top), {})  # NaN for infinity
    finite = chosen(here.apply("eq", (difference, zero), {}), top)
    scale = chosen(here.apply("gt", (top, zero), {}), finite)
    scaled = here.apply("div", (here.args[0], here.expand(scale, axes, thin=True)), {})
    total = here.contract(f"{full},{full}->{here.kept(axes)}", scaled, scaled)
    return here.apply("mul", (scale, here.apply("sqrt", (total,), {})), {})


# Slopes.


def _winner(here: Local) -> Any:
    return here.apply("winner", (here.args[0],), dict(here.settings))


def _direction(here: Local) -> Any:
    own = here.expand(here.own, here.settings["axes"])
    return here.apply("ratio_or_0", (here.args[0], own), {})


def _share(here: Local) -> Any:
    own = here.expand(here.own, here.settings["axes"])
    return here.apply("exp", (here.apply("sub", (here.args[0], own), {}),), {})


def _softmax_carry(here: Local, k: int, value: Any) -> Any:
    """s * (v - sum(s * v)): the Jacobian of softmax is symmetric, so push and pull are one."""
    lead, full = here.letters()
    kept = here.kept(here.settings["axes"])
    size = {x: here.shapes[0][i] for i, x in enumerate(full) if x not in kept}
    total = here.contract(f"{full},{lead}{full}->{lead}{kept}", here.own, value)
    spread = here.contract(f"{lead}{kept}->{lead}{full}", total, **size)
    return here.apply("mul", (here.own, here.apply("sub", (value, spread), {})), {})


def _tied(here: Local) -> bool:
    """Whether two elements of a slice are largest."""
    shares = here.apply("winner", here.args, {**here.settings, "kink": "share"})
    return any(0 < share < 1 for share in np.asarray(shares).flat)


# As array code.


def _own(name: str) -> Callable[[ArrayWriter, Site, Sequence[Piece]], Piece]:
    return lambda writer, site, pieces: writer.own(name, pieces[0][0], str(site.settings["axes"]))


def _largest_text(writer: ArrayWriter, site: Site, pieces: Sequence[Piece]) -> Piece:
    return writer.call("max", pieces[0][0], *axis_text(site.settings["axes"], site.shapes[0]))


SHORT = 64  # elements along a last axis that are brought to the front to be compared


def _largest_into(site: Site) -> Into | None:
    """Over a short last axis, which the library's own reduction does slice by slice."""
    rank, length = len(site.shapes[0]), site.shapes[0][-1]
    if site.settings["axes"] != (-1,) or rank < 2 or length not in range(1, SHORT + 1):
        return None

    def written(writer: ArrayWriter, operands: Sequence[str], target: str) -> str:
        moved = writer.call("transpose", operands[0], str((rank - 1, *range(rank - 1))))[0]
        whole = writer.call("ascontiguousarray", moved)[0]
        return writer.call("max", whole, "axis=0", f"out={target}")[0]

    return written


def _winner_text(writer: ArrayWriter, site: Site, pieces: Sequence[Piece]) -> Piece:
    share = ["share=True"] if site.settings.get("kink") == "share" else []
    return writer.own("winner", pieces[0][0], str(site.settings["axes"]), *share)


LOGSUMEXP = '''\
def {name}(x, axes):
    """log(sum(exp(x))) over the axes, without overflow."""
    top = {np}.max(x, axis=axes, keepdims=True)
    total = {np}.sum({np}.exp(x - top), axis=axes, keepdims=True)
    return {np}.squeeze({np}.log(total) + top, axis=axes)[()]
'''
SOFTMAX = '''\
def {name}(x, axes):
    """exp(x) / sum(exp(x)) over the axes, without overflow."""
    powers = {np}.exp(x - {np}.max(x, axis=axes, keepdims=True))
    return powers / {np}.sum(powers, axis=axes, keepdims=True)
'''
NORM = '''\
def {name}(x, axes):
    """The Euclidean norm over the axes; powers of two keep the squares from overflow."""
    if not x.size:
        return {np}.sum(x, axis=axes)
    first = tuple(range(len(axes)))
    moved = {np}.ascontiguousarray({np}.moveaxis(x, axes, first))  # short axes are slow behind
    exponent = {np}.frexp({np}.max({np}.abs(moved), axis=first))[1]
    scaled = {np}.ldexp(moved, -exponent)
    return {np}.ldexp({np}.sqrt({np}.sum(scaled * scaled, axis=first)), exponent)[()]
'''
WINNER = '''\
def {name}(x, axes, share=False):
    """1 at the first largest element over the axes (or equal shares), 0 elsewhere."""
    last = tuple(range(-len(axes), 0))
    moved = {np}.moveaxis(x, axes, last)
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    flat = moved.reshape((*moved.shape[: x.ndim - len(axes)], count))
    if share:
        ties = flat == {np}.max(flat, axis=-1, keepdims=True)
        chosen = ties / {np}.sum(ties, axis=-1, keepdims=True)
    else:
        chosen = {np}.argmax(flat, axis=-1)[..., None] == {np}.arange(flat.shape[-1])
    return {np}.moveaxis(chosen.astype(x.dtype).reshape(moved.shape), last, axes)
'''

# As loops. The first NaN is the largest of all, as for NumPy.

LARGER = "{x} > total || ({x} != {x} && total == total)"


def _largest_loops(
    writer: LoopWriter, result: Variable, operands: Sequence[Variable], settings: Settings
) -> str:
    (x,) = operands
    kept, gone, at, out = _axes(x, settings)
    larger = LARGER.replace("{x}", x.element(at))
    body = [
        "{real}total = -{infinity};",
        nested(gone, f"if ({larger})\n    total = {x.element(at)};"),
        f"{result.element(out)} = total;",
    ]
    writer.declare(result)
    writer.add(nested(kept, block(*body)))
    return result.text


def _winner_loops(
    writer: LoopWriter, result: Variable, operands: Sequence[Variable], settings: Settings
) -> str:
    (x,) = operands
    kept, gone, at, _ = _axes(x, settings)
    element, share = x.element(at), settings.get("kink") == "share"
    larger = f"best < 0 || {LARGER.replace('{x}', element)}"
    choose = block(f"total = {element};", f"best = {at};")
    body = [
        "{real}total = -{infinity};",
        "{whole}best = -1;",
        nested(gone, f"if ({larger}) {choose}"),
    ]
    if share:
        tied = nested(gone, f"if ({element} == total)\n    ties++;")
        shared = nested(gone, f"{result.element(at)} = ({element} == total ? 1.0 : 0.0) / ties;")
        body += ["{whole}ties = 0;", tied, shared]
    else:
        body.append(f"{result.element('best')} = 1;")
    writer.declare(result, zero=True)
    writer.add(nested(kept, block(*body)))
    return result.text


def _axes(x: Variable, settings: Settings) -> tuple[Loops, Loops, str, str]:
    """Loops over what stays and what is reduced, the place of an element, and where it goes."""
    names = axes_names(len(x.shape))
    gone = [axis % len(x.shape) for axis in settings["axes"]]
    kept = [axis for axis in range(len(x.shape)) if axis not in gone]
    loops = [[(names[axis], x.shape[axis]) for axis in axes] for axes in (kept, gone)]
    out = place([names[axis] for axis in kept], [x.shape[axis] for axis in kept])
    return loops[0], loops[1], place(names, x.shape), out


define(
    "largest",
    shape=reduced,
    pull=_winner_pull,
    push=_winner_push,
    value=_largest_value,
    rounds=False,
    kink="tie",
    on_kink=_tied,
    batch=unchanged,
    pairs=reduced_pairs,
    word="max",
    rule="all to the largest",
    text=_largest_text,
    into=_largest_into,
    loops=_largest_loops,
)
define(
    "winner",
    shape=lambda shapes, settings, labels: shapes[0],
    pull=lambda here, k, adjoint: None,
    push=lambda here, k, tangent: None,
    value=_winner_value,
    rounds=False,
    kink="tie",
    batch=unchanged,
    line=winner,
    latex=winner_latex,
    text=_winner_text,
    loops=_winner_loops,
    definitions={"numpy": {"winner": WINNER}},
    finite=True,
)
define(
    "norm",
    shape=reduced,
    pull=_slope_pull(_direction),
    push=_slope_push(_direction),
    formula=_norm_formula,
    value=_norm_value,
    kink="zero",
    batch=unchanged,
    pairs=reduced_pairs,
    latex=r"\left\lVert {0} \right\rVert",
    text=_own("norm"),
    definitions={"numpy": {"norm": NORM}},
    native=("numpy",),
)
define(
    "logsumexp",
    shape=reduced,
    pull=_slope_pull(_share),
    push=_slope_push(_share),
    formula=_logsumexp_formula,
    analytic=True,
    batch=unchanged,
    pairs=reduced_pairs,
    text=_own("logsumexp"),
    definitions={"numpy": {"logsumexp": LOGSUMEXP}},
)
define(
    "softmax",
    shape=lambda shapes, settings, labels: shapes[0],
    pull=_softmax_carry,
    push=_softmax_carry,
    formula=_softmax_formula,
    analytic=True,
    batch=unchanged,
    last=True,
    text=_own("softmax"),
    definitions={"numpy": {"softmax": SOFTMAX}},
    finite=True,
)
