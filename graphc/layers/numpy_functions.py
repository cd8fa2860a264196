"""What NumPy's functions and methods mean on values: NumPy's own number, or a refusal by name.

A meaning has the parameters of the NumPy function in their order, up to the last one that it can
honour; those of UNTOUCHED are there for their place only and must keep their defaults.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from ..errors import GraphcError
from ..shapes import LETTERS, axes_of, axis_of, concrete
from ..structure.structure import Structure
from ..table.functions import FUNCTIONS, maximum, minimum, sqrt, where
from ..table.value import Value
from . import linear, reductions, selections, shaping

Meaning = Callable[..., Any]
M = TypeVar("M", bound=Meaning)
MEANINGS: dict[Any, Meaning] = {}  # NumPy function -> what it means
METHODS: dict[str, Meaning] = {}  # the same for methods of arrays
UNTOUCHED = {"dtype", "out", "order", "casting", "subok", "mode", "device"}
MISSING = object()
ADVICE = "use the function of the same meaning in graphc (gc.sum, gc.sin, gc.stack, ...)"


def called(function: Any, arguments: Sequence[Any], settings: dict[str, Any]) -> Any:
    """The value of a NumPy function on values."""
    name = _name(function)
    if function not in MEANINGS:
        raise GraphcError(f"NumPy's {name} cannot be traced; {ADVICE}")
    return _carried_out(MEANINGS[function], f"np.{name}", arguments, settings)


def called_ufunc(
    ufunc: Any, method: str, arguments: Sequence[Any], settings: dict[str, Any]
) -> Any:
    """The value of an element-wise NumPy function on values; its methods and settings have none."""
    if method != "__call__" or ufunc not in MEANINGS:
        of = "" if method == "__call__" else f".{method}"
        raise GraphcError(f"NumPy's {ufunc.__name__}{of} cannot be traced; {ADVICE}")
    if "out" in settings:
        raise GraphcError(
            f"NumPy's {ufunc.__name__} with out= cannot be traced: an array cannot hold values of "
            "a graph; write a = a + x instead of a += x, and leave out= away"
        )
    if settings:
        raise GraphcError(
            f"NumPy's {ufunc.__name__} with {next(iter(settings))}= cannot be traced; leave it away"
        )
    return _carried_out(MEANINGS[ufunc], f"np.{ufunc.__name__}", arguments, {})


def method(value: Value, name: str) -> Meaning | None:
    """A method of arrays by its name, bound to a value; None where it has no meaning."""
    meaning = METHODS.get(name)
    if meaning is None:
        return None
    return lambda *arguments, **settings: _carried_out(
        meaning, f"the method {name}", (value, *arguments), settings
    )


def _name(function: Any) -> str:
    module = getattr(function, "__module__", None) or "numpy"
    name = getattr(function, "__name__", type(function).__name__)
    return ".".join([*module.split(".")[1:2], name]) if module.startswith("numpy.") else name


def _carried_out(
    meaning: Meaning, name: str, arguments: Sequence[Any], settings: dict[str, Any]
) -> Any:
    """The result of a meaning; whatever is wrong with foreign arguments is one sentence."""
    try:
        bound = inspect.signature(meaning).bind(*arguments, **settings)
        for key, given in bound.arguments.items():
            default = bound.signature.parameters[key].default
            if key in UNTOUCHED and given is not default and given != default:
                raise GraphcError(f"{name} of a value cannot take {key}=; leave it away")
        return meaning(*bound.args, **bound.kwargs)
    except GraphcError:
        raise
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise GraphcError(f"{name} of a value: {error}; {ADVICE}") from None


def means(*names: str, on: str = "a", method: str = "") -> Callable[[M], M]:
    """Declares what the NumPy functions of these names mean, in all versions that have them.

    The parameters listed in `on` are values by the time the meaning is called.
    """
    places = on.split()

    def declare(meaning: M) -> M:
        signature = inspect.signature(meaning)

        def of_values(*arguments: Any, **settings: Any) -> Any:
            bound = signature.bind(*arguments, **settings)
            graph = _graph((*bound.args, *bound.kwargs.values()))
            for place in places:
                if place in bound.arguments:
                    bound.arguments[place] = _value(graph, bound.arguments[place])
            return meaning(*bound.args, **bound.kwargs)

        of_values.__signature__ = signature  # type: ignore[attr-defined]  # what _carried_out binds
        for name in names:
            try:
                MEANINGS[attrgetter(name)(np)] = of_values
            except AttributeError:
                continue
        if method:
            METHODS[method] = of_values
        return meaning

    return declare


def _graph(arguments: Sequence[Any]) -> Structure:
    """The graph of the first value among the arguments."""
    stack = list(reversed(arguments))
    while stack:
        argument = stack.pop()
        if isinstance(argument, Value):
            return argument.graph
        if isinstance(argument, np.ndarray) and argument.dtype == object:
            argument = argument.tolist()
        if isinstance(argument, (list, tuple)):
            stack.extend(reversed(argument))
    raise GraphcError("no argument is a value of a graph")


def _value(graph: Structure, argument: Any) -> Value:
    """An argument as a value: arrays and lists as NumPy reads them, values in them stacked."""
    if isinstance(argument, Value):
        return argument
    if isinstance(argument, np.ndarray) and argument.dtype == object:
        argument = argument.tolist()
    if isinstance(argument, (list, tuple)):
        if _holds_values(argument):
            return Value(graph, selections.stack([_value(graph, part) for part in argument]).row)
        argument = np.asarray(argument)
    if isinstance(argument, np.ndarray) and not argument.ndim:
        argument = argument[()]
    return Value(graph, graph.constant(argument))


def _holds_values(argument: Any) -> bool:
    if isinstance(argument, (list, tuple)):
        return any(map(_holds_values, argument))
    return isinstance(argument, Value)


# Element-wise functions. A record that has a NumPy name is what the function of this name means.


def _elementwise(name: str) -> Meaning:
    count = len(FUNCTIONS[name].parameters)

    def apply(*operands: Any) -> Value:
        if len(operands) != count:
            raise GraphcError(f"{name} takes {count} operands, got {len(operands)}")
        graph = _graph(operands)
        return graph.apply(name, [_value(graph, operand) for operand in operands], {})

    return apply


_OPERATORS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "negative": "neg",
    "power": "pow",
    "float_power": "pow",
    "fabs": "abs",
    "heaviside": "heaviside",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "ne",
}
_NATIVE = {r.native["numpy"]: r.name for r in FUNCTIONS.values() if "numpy" in r.native}
for _numpy, _record in (_OPERATORS | _NATIVE).items():
    MEANINGS[getattr(np, _numpy)] = _elementwise(_record)
MEANINGS[np.positive] = lambda x: x
MEANINGS[np.reciprocal] = lambda x: 1 / x


@means("clip", method="clip")
def _clip(
    a: Value, a_min: Any = MISSING, a_max: Any = MISSING, out: Any = None, *, min: Any = None,
    max: Any = None,
) -> Value:  # fmt: skip
    if a_min is not MISSING and a_max is MISSING:
        raise GraphcError("np.clip of a value takes both ends; give None for the one that is open")
    low = min if a_min is None or a_min is MISSING else a_min
    high = max if a_max is None or a_max is MISSING else a_max
    a = a if low is None else maximum(a, _value(a.graph, low))
    return a if high is None else minimum(a, _value(a.graph, high))


@means("where", on="x y")
def _where(condition: Any, x: Any, y: Any) -> Any:
    if not isinstance(condition, Value):
        # 1 and -1: 0 would be the kink of the comparison
        signs = np.where(np.asarray(condition, dtype=bool), 1, -1)
        condition = _value(x.graph, signs) > 0
    return where(condition, x, y)


# Products.


@means("matmul", "linalg.matmul", on="a b")
def _matmul(a: Value, b: Value) -> Value:
    return a @ b


@means("dot", on="a b", method="dot")
def _dot(a: Value, b: Value, out: Any = None) -> Value:
    if not a.shape or not b.shape:
        return a * b
    return _contracted(a, b, [-1], [-2 if len(b.shape) > 1 else -1])


@means("inner", on="a b")
def _inner(a: Value, b: Value) -> Value:
    return _contracted(a, b, [-1], [-1]) if a.shape and b.shape else a * b


@means("vdot", on="a b")
def _vdot(a: Value, b: Value) -> Value:
    return _contracted(_ravel(a), _ravel(b), [0], [0])


@means("outer", on="a b")
def _outer(a: Value, b: Value, out: Any = None) -> Value:
    product: Value = linear.outer(_ravel(a), _ravel(b))
    return product


@means("linalg.outer", on="a b")
def _outer_of_vectors(a: Value, b: Value) -> Value:
    if len(a.shape) != 1 or len(b.shape) != 1:
        raise GraphcError("np.linalg.outer takes two vectors; use gc.outer for arrays")
    return _outer(a, b)


@means("kron", on="a b")
def _kron(a: Value, b: Value) -> Value:
    rank = len(a.shape)
    if rank != len(b.shape):
        raise GraphcError("np.kron of values needs two arrays of one rank; reshape one of them")
    first, second = LETTERS[:rank], LETTERS[rank : 2 * rank]
    both = "".join(map("".join, zip(first, second, strict=True)))
    sizes = concrete((*a.shape, *b.shape), "np.kron")
    product = linear.contract(f"{first},{second}->{both}", a, b)
    return _reshape(product, tuple(map(math.prod, zip(sizes[:rank], sizes[rank:], strict=True))))


@means("tensordot", "linalg.tensordot", on="a b")
def _tensordot(a: Value, b: Value, axes: Any = 2) -> Value:
    if isinstance(axes, int):
        return _contracted(a, b, range(-axes, 0), range(axes)) if axes >= 0 else _refused_axes(axes)
    first, second = (side if isinstance(side, (list, tuple)) else [side] for side in axes)
    return _contracted(a, b, first, second)


def _refused_axes(axes: int) -> Value:
    raise GraphcError(f"np.tensordot: axes={axes} is negative; give the number of axes to sum over")


def _contracted(a: Value, b: Value, first: Sequence[int], second: Sequence[int]) -> Value:
    """The sum over pairs of axes; the axes that are left keep their order."""
    if len(first) != len(second):
        raise GraphcError("np.tensordot: axes= names more axes of one array than of the other")
    left = list(LETTERS[: len(a.shape)])
    right = list(LETTERS[len(a.shape) : len(a.shape) + len(b.shape)])
    for one, other in zip(first, second, strict=True):
        right[axis_of(other, b.shape, "np.tensordot")] = left[axis_of(one, a.shape, "np.tensordot")]
    summed = set(left) & set(right)
    if len(summed) != len(first):
        raise GraphcError("np.tensordot: axes= names an axis twice")
    out = "".join(letter for letter in (*left, *right) if letter not in summed)
    return linear.contract(f"{''.join(left)},{''.join(right)}->{out}", a, b)


@means("einsum", on="")
def _einsum(subscripts: Any, *operands: Any, out: Any = None, optimize: Any = False) -> Value:
    graph = _graph(operands)
    if not isinstance(subscripts, str) or "." in subscripts:
        raise GraphcError("np.einsum of values takes letters, such as 'ij,jk->ik', and no dots")
    spec = subscripts.replace(" ", "")
    if "->" not in spec:
        letters = spec.replace(",", "")
        spec += "->" + "".join(x for x in sorted(set(letters)) if letters.count(x) == 1)
    right = spec.partition("->")[2]
    if len(set(right)) != len(right):
        raise GraphcError(f"np.einsum: {spec!r} repeats a letter in its result; use gc.einsum")
    found: Value = linear.einsum(spec, *(_value(graph, operand) for operand in operands))
    return found


@means("trace", method="trace")
def _trace(
    a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Value:
    traced: Value = linear.trace(_plane("np.trace", a, offset, axis1, axis2))
    return traced


@means("diagonal", method="diagonal")
def _diagonal(a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    diagonal: Value = linear.diag(_plane("np.diagonal", a, offset, axis1, axis2))
    return diagonal


@means("linalg.trace")
def _matrix_trace(a: Value, *, offset: int = 0, dtype: Any = None) -> Value:
    return _trace(a, offset)


@means("linalg.diagonal")
def _matrix_diagonal(a: Value, *, offset: int = 0) -> Value:
    return _diagonal(a, offset)


def _plane(name: str, a: Value, offset: int, axis1: int, axis2: int) -> Value:
    """The matrix itself, if its main diagonal is meant."""
    if len(a.shape) != 2 or offset or {axis1 % 2, axis2 % 2} != {0, 1}:
        raise GraphcError(f"{name} of a value takes a square matrix and no offset; slice it first")
    return a


@means("diag", on="v")
def _diag(v: Value, k: int = 0) -> Value:
    if k:
        raise GraphcError("np.diag of a value has the main diagonal only; leave k= away")
    diagonal: Value = linear.diag(v)
    return diagonal


@means("linalg.det")
def _det(a: Value) -> Value:
    determinant: Value = linear.det(a)
    return determinant


@means("linalg.inv")
def _inv(a: Value) -> Value:
    inverse: Value = linear.inv(a)
    return inverse


@means("linalg.solve", on="a b")
def _solve(a: Value, b: Value) -> Value:
    solution: Value = linear.solve(a, b)
    return solution


# Reductions.


def _axis(axis: Any) -> Any:
    if isinstance(axis, list):
        raise GraphcError(f"axis={axis} is a list; NumPy takes one axis or a tuple of axes")
    return axis


def _reduction(name: str, reduction: Meaning) -> None:
    @means(name, f"a{name}", method=name)
    def reduced(
        a: Value, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Value:
        found: Value = reduction(a, axis=_axis(axis), keepdims=keepdims)
        return found


for _name_of, _layer in (
    ("sum", reductions.sum_),
    ("mean", reductions.mean),
    ("prod", reductions.prod),
):
    _reduction(_name_of, _layer)


def _extremum(name: str, reduction: Meaning) -> None:
    @means(name, f"a{name}", method=name)
    def reduced(a: Value, axis: Any = None, out: Any = None, keepdims: bool = False) -> Value:
        found: Value = reduction(a, axis=_axis(axis), keepdims=keepdims)
        return found


for _name_of, _layer in (("max", reductions.max_), ("min", reductions.min_)):
    _extremum(_name_of, _layer)


@means("ptp")
def _ptp(a: Value, axis: Any = None, out: Any = None, keepdims: bool = False) -> Value:
    largest: Value = reductions.max_(a, axis=_axis(axis), keepdims=keepdims)
    smallest: Value = reductions.min_(a, axis=axis, keepdims=keepdims)
    return largest - smallest


@means("average")
def _average(
    a: Value, axis: Any = None, weights: Any = None, returned: bool = False, *,
    keepdims: bool = False,
) -> Value:  # fmt: skip
    if weights is not None or returned:
        raise GraphcError("np.average of a value has no weights=; write sum(w*x)/sum(w)")
    average: Value = reductions.mean(a, axis=_axis(axis), keepdims=keepdims)
    return average


@means("var", method="var")
def _var(
    a: Value, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: bool = False,
) -> Value:  # fmt: skip
    if ddof:
        raise GraphcError("the variance of a value divides by n: leave ddof= away, and scale it")
    variance: Value = reductions.var(a, axis=_axis(axis), keepdims=keepdims)
    return variance


@means("std", method="std")
def _std(
    a: Value, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: bool = False,
) -> Value:  # fmt: skip
    deviation: Value = sqrt(_var(a, axis, None, None, ddof, keepdims))
    return deviation


@means("linalg.norm", on="x")
def _norm(x: Value, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Value:
    count = len(axes_of(axis, x.shape, "np.linalg.norm"))
    if axis is not None and count > 2:
        raise GraphcError(f"np.linalg.norm has one axis or two, not axis={axis!r}")
    euclidean = (ord is None, ord == 2 and count == 1, ord == "fro" and count == 2)
    if not any(euclidean):
        raise GraphcError(
            f"np.linalg.norm of a value is the root of the sum of squares: ord={ord!r} of {count} "
            "axes cannot be traced; write it with gc.abs, gc.sum and gc.max"
        )
    norm: Value = reductions.norm(x, axis=axis, keepdims=keepdims)
    return norm


# Shapes.


@means("shape")
def _shape(a: Value) -> Any:
    return a.shape


@means("ndim")
def _ndim(a: Value) -> int:
    return a.ndim


@means("size")
def _size(a: Value, axis: Any = None) -> int:
    return math.prod(concrete((a.shape[i] for i in axes_of(axis, a.shape, "np.size")), "np.size"))


@means("copy", on="a", method="copy")
def _copy(a: Value, order: Any = None, subok: bool = False) -> Value:
    return a  # nothing can change it


@means("transpose", "permute_dims")
def _transpose(a: Value, axes: Any = None) -> Value:
    transposed: Value = linear.transpose(a, axes=axes)
    return transposed


def _transposed_by(a: Value, *axes: Any) -> Value:
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
    return _transpose(a, order)


METHODS["transpose"] = _transposed_by


@means("swapaxes", method="swapaxes")
def _swapaxes(a: Value, axis1: int, axis2: int) -> Value:
    order = list(range(len(a.shape)))
    one, other = (axis_of(axis, a.shape, "np.swapaxes") for axis in (axis1, axis2))
    order[one], order[other] = order[other], order[one]
    return _transpose(a, order)


@means("matrix_transpose", "linalg.matrix_transpose", on="x")
def _matrix_transpose(x: Value) -> Value:
    if len(x.shape) < 2:
        raise GraphcError("np.matrix_transpose needs at least two axes")
    return _swapaxes(x, -1, -2)


@means("moveaxis")
def _moveaxis(a: Value, source: Any, destination: Any) -> Value:
    rank = len(a.shape)
    moved, places = (
        [axis_of(i, a.shape, "np.moveaxis") % rank for i in (s if np.ndim(s) else [s])]
        for s in (source, destination)
    )
    if len(set(moved)) != len(moved) or len(set(places)) != len(places):
        raise GraphcError("np.moveaxis names an axis twice; name each once")
    order = [axis for axis in range(rank) if axis not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return _transpose(a, order)


@means("reshape")
def _reshape(a: Value, shape: Any, order: str = "C") -> Value:
    reshaped: Value = shaping.reshape(a, shape)
    return reshaped


def _reshaped_to(a: Value, *shape: Any, order: str = "C") -> Value:
    return _reshape(a, shape[0] if len(shape) == 1 else shape)


METHODS["reshape"] = _reshaped_to


@means("ravel", method="ravel")
def _ravel(a: Value, order: str = "C") -> Value:
    return a if len(a.shape) == 1 else _reshape(a, (-1,))


METHODS["flatten"] = _ravel


@means("squeeze", method="squeeze")
def _squeeze(a: Value, axis: Any = None) -> Value:
    gone = [i for i, size in enumerate(a.shape, start=-len(a.shape)) if size == 1]
    if axis is not None:
        axes = axes_of(axis, a.shape, "np.squeeze")
        if not set(axes) <= set(gone):
            raise GraphcError(f"np.squeeze: axis={axis!r} of {a.shape} has not the size 1")
        gone = list(axes)
    return _reshape(a, tuple(a.shape[i] for i in range(-len(a.shape), 0) if i not in gone))


@means("expand_dims")
def _expand_dims(a: Value, axis: Any) -> Value:
    given = axis if isinstance(axis, (list, tuple)) else (axis,)
    blank = (1,) * (len(a.shape) + len(given))
    axes = axes_of(given, blank, "np.expand_dims")
    sizes = iter(a.shape)
    return _reshape(a, tuple(1 if i in axes else next(sizes) for i in range(-len(blank), 0)))


@means("broadcast_to", on="array")
def _broadcast_to(array: Value, shape: Any, subok: bool = False) -> Value:
    repeated: Value = shaping.broadcast_to(array, shape)
    return repeated


@means("atleast_1d")
def _atleast_1d(a: Value) -> Value:
    return a if a.shape else _reshape(a, (1,))


@means("atleast_2d")
def _atleast_2d(a: Value) -> Value:
    return a if len(a.shape) > 1 else _reshape(a, (1, *(a.shape or (1,))))


@means("zeros_like")
def _zeros_like(a: Value, dtype: Any = None) -> Value:
    return _full_like(a, 0)


@means("ones_like")
def _ones_like(a: Value, dtype: Any = None) -> Value:
    return _full_like(a, 1)


@means("full_like", on="a fill_value")
def _full_like(a: Value, fill_value: Any, dtype: Any = None) -> Value:
    filled: Value = shaping.broadcast_to(_value(a.graph, fill_value), a.shape)
    return filled


# Selections.


@means("take", method="take")
def _take(a: Value, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Value:
    if axis is None:
        a, axis = _ravel(a), 0
    taken: Value = selections.take(a, indices, axis=axis)
    return taken


@means("flip", on="m")
def _flip(m: Value, axis: Any = None) -> Value:
    axes = axes_of(axis, m.shape, "np.flip")
    backwards = slice(None, None, -1)
    return m[tuple(backwards if i in axes else slice(None) for i in range(-len(m.shape), 0))]


@means("fliplr", on="m")
def _fliplr(m: Value) -> Value:
    if len(m.shape) < 2:
        raise GraphcError("np.fliplr needs at least two axes; use np.flip")
    return _flip(m, 1)


@means("flipud", on="m")
def _flipud(m: Value) -> Value:
    return _flip(m, 0)


@means("roll")
def _roll(a: Value, shift: Any, axis: Any = None) -> Value:
    if not isinstance(shift, int):
        raise GraphcError("np.roll of a value takes one shift, a whole number")
    if axis is None:
        return _reshape(_roll(_ravel(a), shift, 0), a.shape)
    place = axis_of(axis, a.shape, "np.roll")
    size = concrete((a.shape[place],), "np.roll")[0]
    rolled: Value = selections.take(a, [(i - shift) % size for i in range(size)], axis=place)
    return rolled


@means("diff")
def _diff(a: Value, n: int = 1, axis: int = -1) -> Value:
    if n != 1:
        raise GraphcError(f"np.diff of a value takes n=1, not {n!r}; call it repeatedly")
    place = axis_of(axis, a.shape, "np.diff")
    after = [slice(None)] * -(place + 1)
    return a[(..., slice(1, None), *after)] - a[(..., slice(None, -1), *after)]


@means("pad", on="array")
def _pad(array: Value, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Value:
    if constant_values != 0:
        raise GraphcError("np.pad of a value puts zeros around it; leave constant_values= away")
    padded: Value = selections.pad(array, pad_width)
    return padded


# Joining.


def _parts(arrays: Any) -> list[Value]:
    graph = _graph((arrays,))
    if isinstance(arrays, Value):
        arrays = list(arrays)
    return [_value(graph, part) for part in arrays]


@means("concatenate", "concat", on="")
def _concatenate(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Value:
    parts = _parts(arrays)
    if axis is None:
        parts, axis = [_ravel(part) for part in parts], 0
    joined: Value = selections.concat(parts, axis=axis)
    return joined


@means("stack", on="")
def _stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Value:
    joined: Value = selections.stack(_parts(arrays), axis=axis)
    return joined


@means("hstack", on="")
def _hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Value:
    parts = [_atleast_1d(part) for part in _parts(tup)]
    return _concatenate(parts, 0 if len(parts[0].shape) == 1 else 1)


@means("vstack", "row_stack", on="")
def _vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Value:
    return _concatenate([_atleast_2d(part) for part in _parts(tup)])


@means("column_stack", on="")
def _column_stack(tup: Any) -> Value:
    parts = _parts(tup)
    columns = [part if len(part.shape) > 1 else _reshape(part, (-1, 1)) for part in parts]
    return _concatenate(columns, 1)
