"""What people call: linear algebra, reductions, shapes, windows and losses, as compositions.

Each is made of contractions, selections, element-wise functions and the few operations with a rule of
their own; none has a derivative here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .errors import GraphcError
from .functions import COMPOSED, log, maximum, minimum
from .shapes import LETTERS, Shape, axes_of, axis_of, checked_shape, concrete, shape_text
from .structure import Structure
from .value import Value, is_traced

# contractions that print as they were written
NATURAL = {"matmul", "einsum", "dot", "outer", "transpose", "trace", "diag", "sum"}


def layer(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of values whose result remembers how it was called, for display."""
    name = function.__name__.rstrip("_")

    @functools.wraps(function)
    def call(*args: Any, **settings: Any) -> Any:
        flat = [v for arg in args for v in (arg if isinstance(arg, (list, tuple)) else [arg])]
        traced = is_traced(tuple(flat))
        if traced is None:
            return _on_numbers(name, call, args, settings)
        graph = traced.graph
        before = len(graph.ops)
        try:
            result = function(*[_as_value(graph, arg) for arg in args], **settings)
        except TypeError as error:
            raise GraphcError(f"{name}: {_plain(error)}") from None
        if name not in NATURAL and result.row >= before:
            graph.calls[result.row] = (name, tuple(map(_shown, args)), settings)
        return result

    COMPOSED[name] = call
    return call


def _plain(error: TypeError) -> str:
    return str(error).partition("() ")[2] or str(error)


def _shown(arg: Any) -> Any:
    if isinstance(arg, Value):
        return ("row", arg.row)
    if isinstance(arg, (list, tuple)) and any(isinstance(a, Value) for a in arg):
        return [_shown(a) for a in arg]
    return arg


def _as_value(graph: Structure, arg: Any) -> Any:
    """Numbers and arrays as constants of the graph; lists of values stay lists."""
    if isinstance(arg, np.ndarray):
        return Value(graph, graph.constant(arg))
    return arg


def _on_numbers(name: str, call: Callable[..., Any], args: Any, settings: Any) -> Any:
    """The function on plain arrays: through a graph of constants."""
    from .request import on_numbers

    return on_numbers(call, args, settings, name)


def _value(graph: Structure, operand: Any) -> Value:
    return operand if isinstance(operand, Value) else Value(graph, graph.lift(operand))


def _both(a: Any, b: Any) -> tuple[Value, Value]:
    traced = is_traced((a, b))
    assert traced is not None
    return _value(traced.graph, a), _value(traced.graph, b)


def _name(value: Value) -> str:
    return value.graph.names.get(value.row, f"the {value.graph.ops[value.row]}")


def contract(spec: str, *operands: Value, **sizes: Any) -> Value:
    """A contraction of values."""
    return operands[0].graph.tensor(
        "contract", operands, {"spec": spec, "sizes": tuple(sizes.items())}
    )


# Linear algebra.


@layer
def matmul(a: Any, b: Any) -> Value:
    """a @ b for vectors, matrices, and stacks of matrices."""
    a, b = _both(a, b)
    if not a.shape or not b.shape:
        raise GraphcError("@ needs vectors or matrices; use * for scalars")
    inner, first = a.shape[-1], b.shape[-2] if len(b.shape) > 1 else b.shape[0]
    if inner != first:
        raise GraphcError(
            f"{_name(a)} @ {_name(b)}: {_name(a)} is {shape_text(a.shape)} but {_name(b)} is "
            f"{shape_text(b.shape)}; inner sizes {inner} and {first} differ"
        )
    stack = max(len(a.shape), len(b.shape), 2) - 2
    lead = LETTERS[:stack]
    left = (lead[stack - (len(a.shape) - 2) :] + "IK") if len(a.shape) > 1 else "K"
    right = (lead[stack - (len(b.shape) - 2) :] + "KJ") if len(b.shape) > 1 else "K"
    out = lead + ("I" if len(a.shape) > 1 else "") + ("J" if len(b.shape) > 1 else "")
    for axis in range(-stack - 2, -2):
        sizes = {s.shape[axis] for s in (a, b) if len(s.shape) >= -axis}
        if len(sizes) > 1:
            raise GraphcError(
                f"{_name(a)} @ {_name(b)}: stacks {shape_text(a.shape)} and {shape_text(b.shape)} "
                "have different leading sizes"
            )
    return contract(f"{left},{right}->{out}", a, b)


@layer
def einsum(spec: str, *operands: Any) -> Value:
    """NumPy's einsum with letters and ->."""
    if not isinstance(spec, str) or "->" not in spec:
        raise GraphcError("einsum takes letters with an arrow, such as 'ij,jk->ik'")
    spec = spec.replace(" ", "")
    left, _, right = spec.partition("->")
    if not (left.replace(",", "") + right).isalpha() and left.replace(",", "") + right:
        raise GraphcError(f"einsum: {spec!r} may hold letters, commas and one arrow only")
    if left.count(",") + 1 != len(operands):
        raise GraphcError(
            f"einsum: {spec!r} names {left.count(',') + 1} operands, got {len(operands)}"
        )
    if len(set(right)) != len(right):
        raise GraphcError(f"einsum: {spec!r} repeats a letter in its result")
    traced = is_traced(operands)
    assert traced is not None
    return contract(spec, *[_value(traced.graph, operand) for operand in operands])


@layer
def dot(a: Any, b: Any) -> Value:
    """The inner product of two vectors (matrices: of all their elements)."""
    a, b = _both(a, b)
    letters = LETTERS[: len(a.shape)]
    if a.shape != b.shape:
        raise GraphcError(
            f"dot: {_name(a)} is {shape_text(a.shape)} but {_name(b)} is {shape_text(b.shape)}"
        )
    return contract(f"{letters},{letters}->", a, b)


@layer
def outer(a: Any, b: Any) -> Value:
    """All products of elements: shape a.shape + b.shape."""
    a, b = _both(a, b)
    left, right = LETTERS[: len(a.shape)], LETTERS[len(a.shape) : len(a.shape) + len(b.shape)]
    return contract(f"{left},{right}->{left}{right}", a, b)


@layer
def transpose(x: Value, axes: Sequence[int] | None = None) -> Value:
    """The axes reversed, or in the order given."""
    rank = len(x.shape)
    order = list(axes) if axes is not None else list(range(rank))[::-1]
    if sorted(axis % max(rank, 1) for axis in order) != list(range(rank)):
        raise GraphcError(f"transpose: axes={axes} is not an order of {rank} axes")
    letters = LETTERS[:rank]
    return contract(f"{letters}->{''.join(letters[axis] for axis in order)}", x)


@layer
def trace(x: Value) -> Value:
    """The sum of the diagonal."""
    if len(x.shape) != 2 or x.shape[0] != x.shape[1]:
        raise GraphcError(f"trace needs a square matrix, but {_name(x)} is {shape_text(x.shape)}")
    return contract("aa->", x)


@layer
def diag(x: Value) -> Value:
    """The diagonal of a matrix, or the matrix with this diagonal."""
    if len(x.shape) == 1:
        return contract("a->aa", x)
    if len(x.shape) != 2 or x.shape[0] != x.shape[1]:
        raise GraphcError(
            f"diag needs a vector or a square matrix, but {_name(x)} is {shape_text(x.shape)}"
        )
    return contract("aa->a", x)


def _matrix_function(name: str) -> Callable[..., Any]:
    def function(x: Value) -> Value:
        return x.graph.tensor(name, (x,), {})

    function.__name__ = name
    function.__doc__ = f"The {name} of a square matrix."
    return layer(function)


inv, det, logdet = (_matrix_function(name) for name in ("inv", "det", "logdet"))


@layer
def solve(a: Any, b: Any) -> Value:
    """The x with a @ x = b."""
    a, b = _both(a, b)
    return a.graph.tensor("solve", (a, b), {})


# Reductions.


def _kept(x: Value, reduced: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """The reduced value, with axes of size 1 where it was reduced if asked for."""
    if not keepdims:
        return reduced
    rank = len(x.shape)
    gone = {axis % rank for axis in axes}
    letters = LETTERS[:rank]
    kept = "".join(letters[i] for i in range(rank) if i not in gone)
    return contract(f"{kept}->{letters}", reduced, **{letters[i]: 1 for i in sorted(gone)})


def _several_or_axes(name: str, terms: tuple[Any, ...], axis: Any) -> tuple[Value, tuple[int, ...]]:
    if len(terms) == 1 and isinstance(terms[0], (list, tuple)):
        terms = tuple(terms[0])
    if not terms:
        raise GraphcError(f"{name} of nothing: give it at least one term")
    x = terms[0] if len(terms) == 1 else stack(list(terms))
    return x, axes_of(axis, len(x.shape), name)


def _sum(x: Value, axes: tuple[int, ...]) -> Value:
    letters = LETTERS[: len(x.shape)]
    gone = {axis % max(len(letters), 1) for axis in axes}
    kept = "".join(letter for i, letter in enumerate(letters) if i not in gone)
    return contract(f"{letters}->{kept}", x)


@layer
def sum_(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The sum over all elements, over axes, or of several scalars."""
    terms = tuple(terms[0]) if len(terms) == 1 and isinstance(terms[0], (list, tuple)) else terms
    if len(terms) != 1:
        if not terms:
            raise GraphcError("sum of nothing: give it at least one term")
        return functools.reduce(lambda a, b: a + b, terms)
    x = terms[0]
    if not x.shape:
        return x if axis is None else _sum(x, axes_of(axis, 0, "sum"))
    axes = axes_of(axis, len(x.shape), "sum")
    return _kept(x, _sum(x, axes), axes, keepdims)


def _count(x: Value, axes: tuple[int, ...]) -> Any:
    """The number of elements a reduction runs over: a number, or a value if sizes are named."""
    sizes = [x.shape[axis] for axis in axes]
    known = math.prod(size for size in sizes if isinstance(size, int))
    total: Any = known
    for size in sizes:
        if not isinstance(size, int):
            value = Value(x.graph, x.graph.append("size", size=size))
            total = value if isinstance(total, int) and total == 1 else value * total
    return total


@layer
def mean(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The mean over all elements, over axes, or of several scalars."""
    terms = tuple(terms[0]) if len(terms) == 1 and isinstance(terms[0], (list, tuple)) else terms
    if len(terms) != 1:
        return sum_(*terms) / len(terms)
    x = terms[0]
    axes = axes_of(axis, len(x.shape), "mean")
    count = _count(x, axes)
    if isinstance(count, int) and count == 0:
        raise GraphcError(f"mean of nothing: {_name(x)} is {shape_text(x.shape)}")
    return _kept(x, _sum(x, axes), axes, keepdims) / count


@layer
def var(x: Value, *, axis: Any = None, keepdims: bool = False) -> Value:
    """The mean squared distance from the mean."""
    centred = x - mean(x, axis=axis, keepdims=True)
    return mean(centred**2, axis=axis, keepdims=keepdims)


@layer
def prod(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The product over all elements, over one axis, or of several scalars."""
    terms = tuple(terms[0]) if len(terms) == 1 and isinstance(terms[0], (list, tuple)) else terms
    if len(terms) != 1:
        return functools.reduce(lambda a, b: a * b, terms)
    x = terms[0]
    if not x.shape:
        return x
    axes = axes_of(axis, len(x.shape), "prod")
    result = x
    for place in axes:  # counted from the end, an axis stays where it is when earlier ones go
        size = concrete((result.shape[place],), "prod")[0]
        if size == 0:
            raise GraphcError(f"prod of nothing: {_name(x)} is {shape_text(x.shape)}")
        result = functools.reduce(
            lambda a, b: a * b, [_pick(result, place, i) for i in range(size)]
        )
    return _kept(x, result, axes, keepdims)


def _pick(x: Value, axis: int, index: Any) -> Value:
    return x.graph.tensor("gather", (x,), {"axis": axis, "index": index, "size": x.shape[axis]})


def _extreme(name: str, sign: int) -> Callable[..., Any]:
    def reduce_(*terms: Any, axis: Any = None, keepdims: bool = False, kink: Any = None) -> Value:
        extra = {} if kink is None else {"kink": kink}
        if len(terms) > 1:
            return (maximum if sign > 0 else minimum)(*terms, **extra)
        x, axes = _several_or_axes(name, terms, axis)
        if not x.shape:
            return x
        if kink not in (None, "share", "error"):
            raise GraphcError(f"{name} over axes: kink={kink!r} must be 'share' or 'error'")
        inner = x if sign > 0 else -x
        found = x.graph.tensor("largest", (inner,), {"axes": axes, **extra})
        return _kept(x, found if sign > 0 else -found, axes, keepdims)

    reduce_.__name__ = name
    reduce_.__doc__ = f"The {name} over all elements, over axes, or of several values."
    return layer(reduce_)


max_, min_ = _extreme("max", 1), _extreme("min", -1)


def _reduction(name: str, doc: str) -> Callable[..., Any]:
    def function(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
        x, axes = _several_or_axes(name, terms, axis)
        if not x.shape:
            return abs(x) if name == "norm" else x
        found = x.graph.tensor(name, (x,), {"axes": axes})
        return _kept(x, found, axes, keepdims)

    function.__name__, function.__doc__ = name, doc
    return layer(function)


norm = _reduction("norm", "The square root of the sum of squares; its slope at 0 is 0.")
logsumexp = _reduction("logsumexp", "log(sum(exp(x))), computed without overflow.")


@layer
def softmax(x: Value, *, axis: int = -1) -> Value:
    """exp(x) / sum(exp(x)) along an axis."""
    if not x.shape:
        raise GraphcError("softmax needs a vector; a scalar's softmax is 1")
    return x.graph.tensor("softmax", (x,), {"axes": (axis_of(axis, len(x.shape), "softmax"),)})


@layer
def log_softmax(x: Value, *, axis: int = -1) -> Value:
    """log(softmax(x)), computed without underflow."""
    return x - logsumexp(x, axis=axis, keepdims=True)


# Losses.


@layer
def cross_entropy(p: Any, y: Any) -> Value:
    """-sum(y * log(p)) over the last axis; y is a distribution."""
    p, y = _both(p, y)
    return -sum_(y * log(p), axis=-1)


@layer
def softmax_cross_entropy(z: Any, y: Any) -> Value:
    """The cross-entropy of softmax(z), computed without overflow."""
    z, y = _both(z, y)
    return -sum_(y * log_softmax(z), axis=-1)


# Shapes and selections.


@layer
def reshape(x: Value, shape: Any) -> Value:
    """The same elements in another shape; one size may be -1."""
    wanted = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    sizes = [size for size in x.shape]
    if -1 in wanted:
        rest = [size for size in wanted if size != -1]
        left = list(sizes)
        for size in list(rest):
            if not isinstance(size, int) and size in left:
                left.remove(size)
                rest.remove(size)
        known = math.prod(concrete(left, "reshape"))
        other = math.prod(concrete(rest, "reshape"))
        if not other or known % other:
            raise GraphcError(f"reshape: {shape_text(x.shape)} does not fit {shape_text(wanted)}")
        wanted = tuple(known // other if size == -1 else size for size in wanted)
    wanted = checked_shape(wanted)
    if _volume(wanted) != _volume(x.shape):
        raise GraphcError(
            f"reshape: {_name(x)} is {shape_text(x.shape)}, which does not fit {shape_text(wanted)}"
        )
    return x.graph.tensor("reshape", (x,), {"shape": wanted})


def _volume(shape: Shape) -> Any:
    return math.prod(s for s in shape if isinstance(s, int)), sorted(
        s for s in shape if isinstance(s, str)
    )


def element(x: Value, index: Any) -> Value:
    """x[...] with numbers, slices, lists of numbers, None and ..., as in NumPy."""
    if not x.shape and index != ():
        raise GraphcError(f"{_name(x)} is a scalar and has no elements")
    parts = list(index) if isinstance(index, tuple) else [index]
    explicit = sum(part is not None and part is not Ellipsis for part in parts)
    if explicit > len(x.shape):
        raise GraphcError(f"{_name(x)} is {shape_text(x.shape)}: too many indices")
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        parts[at : at + 1] = [slice(None)] * (len(x.shape) - explicit)
    parts += [slice(None)] * (len(x.shape) - sum(part is not None for part in parts))
    result, axis = x, -len(x.shape)
    for part in [part for part in parts if part is not None]:
        if part != slice(None):
            result = _pick(result, axis, _index(part, result.shape[axis], x))
        axis += 1
    result = _with_new_axes(result, parts)
    if result is not x:
        x.graph.calls[result.row] = ("[]", (("row", x.row), index), {})
    return result


def _with_new_axes(x: Value, parts: list[Any]) -> Value:
    if None not in parts:
        return x
    letters = iter(LETTERS)
    source, out, sizes = "", "", {}
    for part in parts:
        if part is None:
            fresh = next(letters)
            out, sizes[fresh] = out + fresh, 1
        elif not isinstance(part, int):
            fresh = next(letters)
            source, out = source + fresh, out + fresh
    return contract(f"{source}->{out}", x, **sizes)


def _index(part: Any, size: Any, x: Value) -> Any:
    """The places along an axis that an index names: a number, or a tuple of numbers."""
    known = concrete((size,), f"indexing {_name(x)}")[0]
    if isinstance(part, slice):
        return tuple(range(known)[part])
    places = np.asarray(part)
    if places.dtype.kind not in "iu":
        raise GraphcError(
            f"{_name(x)}[{part!r}]: an index is a number, a slice or a list of numbers"
        )
    if places.size and (places.min() < -known or places.max() >= known):
        raise GraphcError(
            f"{_name(x)} is {shape_text(x.shape)}: the index {part} is out of range for size {known}"
        )
    return _nested(np.where(places < 0, places + known, places))


def _nested(array: Any) -> Any:
    return int(array) if np.ndim(array) == 0 else tuple(_nested(part) for part in array)


@layer
def take(x: Value, i: Any, *, axis: int = 0) -> Value:
    """The elements at the places i along an axis."""
    place = axis_of(axis, len(x.shape), "take")
    return _pick(x, place, _index(i, x.shape[place], x))


@layer
def concat(parts: Sequence[Any], *, axis: int = 0) -> Value:
    """Arrays joined along an axis."""
    values = _values(parts, "concat")
    place = axis_of(axis, len(values[0].shape), "concat")
    for value in values:
        here, first = value.shape, values[0].shape
        if len(here) != len(first) or any(
            a != b
            for i, (a, b) in enumerate(zip(here, first, strict=True))
            if i - len(here) != place
        ):
            raise GraphcError(
                f"concat: {_name(values[0])} is {shape_text(first)} but {_name(value)} is "
                f"{shape_text(here)}; they may differ along axis {axis} only"
            )
    sizes = concrete([value.shape[place] for value in values], "concat")
    total, offset, result = sum(sizes), 0, None
    for value, size in zip(values, sizes, strict=True):
        index = tuple(range(offset, offset + size))
        part = value.graph.tensor(
            "scatter", (value,), {"axis": place, "index": index, "size": total}
        )
        result, offset = part if result is None else result + part, offset + size
    assert result is not None
    return result


def _values(parts: Any, name: str) -> list[Value]:
    if not isinstance(parts, (list, tuple)) or not parts:
        raise GraphcError(f"{name} takes a list of values, such as {name}([a, b])")
    traced = is_traced(tuple(parts))
    assert traced is not None
    return [_value(traced.graph, part) for part in parts]


@layer
def stack(parts: Sequence[Any], *, axis: int = 0) -> Value:
    """Arrays of one shape along a new axis."""
    values = _values(parts, "stack")
    rank = len(values[0].shape)
    for value in values:
        if value.shape != values[0].shape:
            raise GraphcError(
                f"stack: {_name(values[0])} is {shape_text(values[0].shape)} but {_name(value)} is "
                f"{shape_text(value.shape)}"
            )
    place = axis_of(axis, rank + 1, "stack")
    letters = LETTERS[:rank]
    at = place + rank + 1
    widened = [
        contract(f"{letters}->{letters[:at]}Z{letters[at:]}", value, Z=1) for value in values
    ]
    return concat(widened, axis=place) if len(widened) > 1 else widened[0]


@layer
def pad(x: Value, widths: Any) -> Value:
    """Zeros around an array: ((before, after), ...) per axis."""
    given = np.asarray(widths)
    if given.ndim == 0:
        given = np.full((len(x.shape), 2), int(given))
    if given.shape != (len(x.shape), 2) or given.dtype.kind not in "iu" or given.min() < 0:
        raise GraphcError(
            f"pad: {_name(x)} is {shape_text(x.shape)}; give one (before, after) pair per axis"
        )
    result = x
    for axis, (before, after) in enumerate(given.tolist()):
        if before or after:
            place = axis - len(x.shape)
            size = concrete((x.shape[place],), "pad")[0]
            index = tuple(range(before, before + size))
            setting = {"axis": place, "index": index, "size": before + size + after}
            result = x.graph.tensor("scatter", (result,), setting)
    return result


# Windows.


def _pairs(value: Any, count: int, name: str) -> tuple[int, ...]:
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,) * count
    if len(given) != count or any(isinstance(v, bool) or not isinstance(v, int) for v in given):
        raise GraphcError(f"{name}={value!r}: give a whole number or {count} of them")
    return given


def window_index(size: int, width: int, stride: int, padding: int, dilation: int) -> Any:
    """The places of each window along an axis, as (windows, width); -1 is padding."""
    reach = dilation * (width - 1) + 1
    count = (size + 2 * padding - reach) // stride + 1
    if count < 1 or stride < 1 or dilation < 1 or padding < 0:
        raise GraphcError(
            f"a window of {reach} with stride {stride} and padding {padding} does not fit size {size}"
        )
    starts = np.arange(count)[:, None] * stride - padding + np.arange(width)[None, :] * dilation
    return _nested(np.where((starts < 0) | (starts >= size), -1, starts))


def _windows(x: Value, widths: Sequence[int], stride: Any, padding: Any, dilation: Any) -> Value:
    """The windows over the trailing axes: each such axis becomes (windows, width)."""
    count = len(widths)
    strides, paddings = _pairs(stride, count, "stride"), _pairs(padding, count, "padding")
    dilations = _pairs(dilation, count, "dilation")
    result = x
    for number in range(count):
        axis = number - count  # axes already split stand in front and do not move it
        size = concrete((result.shape[axis],), "a window")[0]
        index = window_index(
            size, widths[number], strides[number], paddings[number], dilations[number]
        )
        result = result.graph.tensor(
            "gather", (result,), {"axis": axis, "index": index, "size": size}
        )
    return result


def _convolve(
    rank: int, name: str, x: Any, w: Any, stride: Any, padding: Any, dilation: Any, flip: bool
) -> Value:
    x, w = _both(x, w)
    bare = len(w.shape) == rank
    if len(w.shape) not in (rank, rank + 2) or len(x.shape) not in (
        (rank,) if bare else (rank + 1, rank + 2)
    ):
        raise GraphcError(
            f"{name}: {_name(x)} is {shape_text(x.shape)} and {_name(w)} is {shape_text(w.shape)}; give "
            f"(batch, channels, {'H, W' if rank == 2 else 'T'}) with a kernel (out, in, "
            f"{'kh, kw' if rank == 2 else 'k'}), or both without channels"
        )
    if not bare and x.shape[-rank - 1] != w.shape[1]:
        raise GraphcError(
            f"{name}: {_name(x)} is {shape_text(x.shape)} with {x.shape[-rank - 1]} channels, but "
            f"{_name(w)} is {shape_text(w.shape)} and takes {w.shape[1]}"
        )
    widths = concrete(w.shape[-rank:], name)
    if flip:
        for axis in range(-rank, 0):
            w = _pick(w, axis, tuple(range(widths[axis]))[::-1])
    windows = _windows(x, widths, stride, padding, dilation)
    spatial, kernel = "HVD"[:rank], "hvd"[:rank]
    split = "".join(a + b for a, b in zip(spatial, kernel, strict=True))
    if bare:
        return contract(f"{split},{kernel}->{spatial}", windows, w)
    batch = "n" * (len(x.shape) - rank - 1)
    return contract(f"{batch}c{split},oc{kernel}->{batch}o{spatial}", windows, w)


@layer
def conv1d(
    x: Any, w: Any, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1, flip: bool = False
) -> Value:
    """Cross-correlation over one axis; flip=True for convolution."""
    return _convolve(1, "conv1d", x, w, stride, padding, dilation, flip)


@layer
def conv2d(
    x: Any, w: Any, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1, flip: bool = False
) -> Value:
    """Cross-correlation over two axes; flip=True for convolution."""
    return _convolve(2, "conv2d", x, w, stride, padding, dilation, flip)


def _transposed(
    rank: int, name: str, x: Any, w: Any, stride: Any, padding: Any, dilation: Any
) -> Value:
    """The pull-back of a convolution by its input: kernel (in, out, ...)."""
    x, w = _both(x, w)
    bare = len(w.shape) == rank
    if len(x.shape) not in ((rank,) if bare else (rank + 1, rank + 2)) or (
        not bare and (len(w.shape) != rank + 2 or x.shape[-rank - 1] != w.shape[0])
    ):
        raise GraphcError(
            f"{name}: {_name(x)} is {shape_text(x.shape)} and {_name(w)} is {shape_text(w.shape)}; the "
            "channels of the input must be the first axis of the kernel"
        )
    widths = concrete(w.shape[-rank:], name)
    strides, paddings = _pairs(stride, rank, "stride"), _pairs(padding, rank, "padding")
    dilations = _pairs(dilation, rank, "dilation")
    spatial, kernel = "HVD"[:rank], "hvd"[:rank]
    split = "".join(a + b for a, b in zip(spatial, kernel, strict=True))
    batch = "n" * (len(x.shape) - rank - 1)
    if bare:
        result = contract(f"{spatial},{kernel}->{split}", x, w)
    else:
        result = contract(f"{batch}c{spatial},co{kernel}->{batch}o{split}", x, w)
    for number in range(rank - 1, -1, -1):
        count = concrete((x.shape[number - rank],), name)[0]
        reach = dilations[number] * (widths[number] - 1) + 1
        size = (count - 1) * strides[number] + reach - 2 * paddings[number]
        if size < 1:
            raise GraphcError(f"{name}: padding {paddings[number]} leaves nothing")
        index = window_index(
            size, widths[number], strides[number], paddings[number], dilations[number]
        )
        axis = -(rank - number)
        result = result.graph.tensor(
            "scatter", (result,), {"axis": axis, "index": index, "size": size}
        )
    return result


@layer
def conv1d_transpose(
    x: Any, w: Any, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1
) -> Value:
    """The transpose of conv1d."""
    return _transposed(1, "conv1d_transpose", x, w, stride, padding, dilation)


@layer
def conv2d_transpose(
    x: Any, w: Any, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1
) -> Value:
    """The transpose of conv2d."""
    return _transposed(2, "conv2d_transpose", x, w, stride, padding, dilation)


def _pool_windows(name: str, x: Value, size: Any, stride: Any, padding: Any) -> tuple[Value, int]:
    widths = tuple(size) if isinstance(size, (tuple, list)) else None
    if widths is None:
        widths = (size,) * min(2, max(len(x.shape), 1))
    if len(widths) > len(x.shape) or any(not isinstance(v, int) or v < 1 for v in widths):
        raise GraphcError(
            f"{name}: size={size!r} does not fit {_name(x)}, which is {shape_text(x.shape)}"
        )
    step = widths if stride is None else stride
    return _windows(x, widths, step, padding, 1), len(widths)


@layer
def maxpool(
    x: Value, size: Any, *, stride: Any = None, padding: Any = 0, kink: Any = None
) -> Value:
    """The largest element of each window over the trailing axes; stride defaults to the size."""
    # padding must never win: with the smallest element at 0, a padded 0 only ties and comes later
    floor = x.graph.apply("stop", (min_(x),), {}) if padding not in (0, (0, 0)) else None
    windows, rank = _pool_windows(
        "maxpool", x if floor is None else x - floor, size, stride, padding
    )
    extra = {} if kink is None else {"kink": kink}
    best = max_(windows, axis=tuple(range(-1, -2 * rank, -2)), **extra)
    return best if floor is None else best + floor


@layer
def avgpool(x: Value, size: Any, *, stride: Any = None, padding: Any = 0) -> Value:
    """The mean of each window over the trailing axes (padding counts as 0)."""
    windows, rank = _pool_windows("avgpool", x, size, stride, padding)
    return mean(windows, axis=tuple(range(-1, -2 * rank, -2)))


# Constants.


def onehot(i: Any, n: int) -> Any:
    """The vector (or rows) with 1 at the place i of n."""
    places = np.asarray(i)
    if places.dtype.kind not in "iu" or not isinstance(n, int) or n < 1:
        raise GraphcError(f"onehot(i, n): i={i!r} and n={n!r} must be whole numbers")
    if places.size and (places.min() < 0 or places.max() >= n):
        raise GraphcError(f"onehot: the index {i} is out of range for size {n}")
    return np.eye(n, dtype=int)[places].astype(object)


def zeros(shape: Any) -> Any:
    """An array of zeros."""
    return np.zeros(concrete(checked_shape(shape), "zeros"), dtype=int).astype(object)


def ones(shape: Any) -> Any:
    """An array of ones."""
    return np.ones(concrete(checked_shape(shape), "ones"), dtype=int).astype(object)


COMPOSED.update({"onehot": onehot, "zeros": zeros, "ones": ones})

COMPOSED["[]"] = element  # not a word, so that no text can call it
