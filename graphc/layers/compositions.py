"""What people call: linear algebra, reductions, shapes, windows and losses, as compositions.

Each is made of contractions, selections, element-wise functions and the few operations with a rule
of their own; none has a derivative here.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..algebra.given import array_from_user
from ..errors import GraphcError, on_one_line, visible
from ..shapes import LETTERS, axes_of, axis_of, broadcast, checked_shape, concrete, shape_text
from ..structure.reach import expression
from ..structure.structure import Structure
from ..table.functions import COMPOSED, log, maximum, minimum
from ..table.late import LATE
from ..table.places import Index, Places, Slice, Window, chosen
from ..table.tensors import OPERATIONS, Operation
from ..table.value import Value, is_traced
from ..write.formula import expression_text

# contractions that print as they were written
NATURAL = {"matmul", "einsum", "dot", "outer", "transpose", "trace", "diag", "sum", "reshape"} | {
    "broadcast_to",
    "full",
}
LONGEST_LABEL = 40
MOST_ELEMENTS = 1_000_000  # of a constant or an index array
MOST_FACTORS = 10_000  # of a product, which is a row for each
Layer = Callable[..., Any]
AXIS_BY_POSITION: set[str] = set()  # reductions, in which a number after an array is no term


def layer(
    values: int | None = 1, *, first: int = 0, parts: bool = False, second: str = ""
) -> Callable[[Layer], Layer]:
    """Declares a function of values whose result remembers how it was called, for display.

    `values` arguments from the `first` one on (None: all) are values, the others settings; with
    `parts` the first argument is a list of values. `second` says what a whole number after an array
    is: an axis, or unclear.
    """

    def declare(function: Layer) -> Layer:
        name = function.__name__.rstrip("_")
        if second:
            AXIS_BY_POSITION.add(name)
        COMPOSED[name] = _on_values(function, name, values, first, parts, second)
        return COMPOSED[name]

    return declare


def _on_values(
    function: Layer,
    name: str,
    values: int | None,
    first: int = 0,
    parts: bool = False,
    second: str = "",
) -> Layer:
    """The function with its arguments arranged, on values or on plain numbers."""
    end = None if values is None else first + values
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **settings: Any) -> Any:
        if second and len(args) > 1:
            args, settings = _axis_by_position(name, second, args, settings)
        try:
            bound = signature.bind(*args, **settings)
        except TypeError as error:
            raise GraphcError(f"{name}: {error}") from None
        before, operands = bound.args[:first], bound.args[first:end]
        after = bound.args[first + len(operands) :]
        if parts:
            operands = _listed(name, operands[0])

        def result(*given: Any) -> Value:
            named = ([*given],) if parts else given
            return _remembered(function, name, (*before, *named, *after), bound.kwargs)

        found = is_traced(tuple(_flat(operands)))
        if found is not None:
            return result(*(_as_value(found.graph, operand) for operand in operands))
        return LATE["layer on numbers"](result, operands, f"{name}(...)")

    return call


def operation(record: Operation, operands: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A tensor operation on values or numbers, called as its record says."""
    return called(record)(*operands, **keywords)


@functools.cache
def called(record: Operation) -> Layer:
    """A tensor operation as a function of values."""
    settings_of = record.call
    if settings_of is None:
        raise GraphcError(f"the operation {record.name} cannot be called: its record has no call")

    def function(*operands: Value, **keywords: Any) -> Value:
        settings = dict(settings_of(*operands, **keywords))
        return operands[0].graph.tensor(record.name, operands, settings)

    signature = inspect.signature(settings_of)
    function.__name__ = function.__qualname__ = record.name
    function.__doc__ = record.doc
    function.__dict__["__signature__"] = signature
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    return _on_values(function, record.name, kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD))


def _axis_by_position(
    name: str, second: str, args: tuple[Any, ...], settings: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with an axis after the first as a setting; other numbers are no terms of it."""
    x, *others = args
    is_array = isinstance(x, (list, tuple)) or bool(getattr(x, "shape", ()))
    given = others[0]
    if len(others) == 1 and (given is None or _is_axis(given, is_array)):
        if "axis" in settings:
            raise GraphcError(f"{name}: the axis is given twice, {given} and by name; keep one")
        if second == "unclear" and given is not None:
            raise GraphcError(
                f"{name}(x, {given}) of an array is not clear: write {name}imum(x, {given}) "
                f"element by element, or {name}(x, axis={given})"
            )
        return (x,), {"axis": given, **settings}
    alone = is_array and second != "unclear"  # the largest of several is element by element
    found = next((other for other in others if _is_number(other)), None) if alone else None
    if found is not None:
        text = _name(found) if isinstance(found, Value) else on_one_line(found)
        raise GraphcError(
            f"{name}: the number {text} after an array is no term, and an axis is one whole number "
            f"or tuple alone: write an axis by name, such as {name}(x, axis=0), or a formula of "
            f"the elements, such as x + {text}"
        )
    return args, settings


def _is_axis(given: Any, is_array: bool) -> bool:
    """Whether what is given after a value names axes of it: numbers do if it is an array."""
    if isinstance(given, tuple):
        return all(_is_axis(part, True) for part in given)
    return is_array and isinstance(given, (int, np.integer)) and not isinstance(given, bool)


def _is_number(given: Any) -> bool:
    """Whether this is a number, or a tuple of them, and not a value with a shape or a name."""
    if isinstance(given, tuple):
        return all(map(_is_number, given))
    if not isinstance(given, Value):
        return given is not None and not isinstance(given, list) and not np.shape(given)
    graph = given.graph
    return all(
        (graph.operands[row] or graph.ops[row] in ("const", "size", "pi"))
        and row not in graph.names
        and not graph.shape(row)
        for row in expression(graph, given.row)
    )


def _remembered(function: Layer, name: str, args: Sequence[Any], settings: dict[str, Any]) -> Value:
    """The function's result, whose row knows the call that made it."""
    value: Value = function(*args, **settings)
    before = max((part.row for part in _flat(args) if isinstance(part, Value)), default=-1)
    plain = value.graph.ops[value.row] in ("maximum", "minimum")  # print as they were written
    if name not in NATURAL and not plain and value.row > before:
        shown = {key: _shown(setting) for key, setting in settings.items()}
        value.graph.calls[value.row] = (name, tuple(map(_shown, args)), shown)
    return value


def _flat(args: Sequence[Any]) -> Iterator[Any]:
    """The arguments, with the members of lists in their place."""
    for arg in args:
        yield from arg if isinstance(arg, (list, tuple)) else (arg,)


def _listed(name: str, given: Any) -> tuple[Any, ...]:
    if not isinstance(given, (list, tuple)) or not given:
        raise GraphcError(f"{name} takes a list of values, such as {name}([a, b])")
    return tuple(given)


def _shown(arg: Any) -> Any:
    """An argument as the text form writes it: Python's own numbers, and rows for values."""
    if isinstance(arg, Value):
        return ("row", arg.row)
    if isinstance(arg, (np.ndarray, np.generic)):
        arg = arg.tolist()
    if isinstance(arg, (list, tuple)):
        return type(arg)(map(_shown, arg))
    return arg


def _as_value(graph: Structure, arg: Any) -> Any:
    """Numbers and arrays as constants of the graph; a list of values stays a list."""
    if isinstance(arg, Value):
        return arg
    if isinstance(arg, (list, tuple)):
        if any(isinstance(part, Value) for part in arg):
            return [_as_value(graph, part) for part in arg]
        arg = array_from_user(arg, "a list")
    return Value(graph, graph.constant(arg))


def _name(value: Value) -> str:
    """What to call a value in a message: its name, or its formula if that is short."""
    text = expression_text(value.graph, value.row)
    return text if len(text) <= LONGEST_LABEL else f"the {value.graph.ops[value.row]}"


def _is(*values: Value) -> str:
    """'a is (3,) and b is (4,)'."""
    return " and ".join(f"{_name(value)} is {shape_text(value.shape)}" for value in values)


def contract(spec: str, *operands: Value, **sizes: Any) -> Value:
    """A contraction of values."""
    settings = {"spec": spec, "sizes": tuple(sizes.items())}
    return operands[0].graph.tensor("contract", operands, settings)


# Linear algebra.


@layer(2)
def matmul(a: Value, b: Value) -> Value:
    """a @ b for vectors, matrices, and stacks of matrices."""
    if not a.shape or not b.shape:
        raise GraphcError(f"@ needs vectors or matrices, but {_is(a, b)}; use * for scalars")
    inner, first = a.shape[-1], b.shape[-2] if len(b.shape) > 1 else b.shape[0]
    if inner != first:
        raise GraphcError(
            f"{_name(a)} @ {_name(b)}: {_is(a, b)}; inner sizes {inner} and {first} differ"
        )
    rank = max(len(a.shape), len(b.shape), 2) - 2
    left, right = (_stack_letters(value, other, rank) for value, other in ((a, b), (b, a)))
    rows, columns = "I" * (len(a.shape) > 1), "J" * (len(b.shape) > 1)
    return contract(f"{left}{rows}K,{right}K{columns}->{LETTERS[:rank]}{rows}{columns}", a, b)


def _stack_letters(value: Value, other: Value, rank: int) -> str:
    """Letters of the axes in front of the matrices; one of size 1 is summed away: it broadcasts."""
    letters = ""
    for axis in range(-len(value.shape), -2):
        size = value.shape[axis]
        wanted = other.shape[axis] if len(other.shape) >= -axis else size
        if size != wanted and 1 not in (size, wanted):
            raise GraphcError(
                f"{_name(value)} @ {_name(other)}: {_is(value, other)}; leading sizes {size} and "
                f"{wanted} differ"
            )
        place = axis + rank + 2
        letters += LETTERS[place if size == wanted or size != 1 else place + rank]
    return letters


@layer(None, first=1)
def einsum(spec: str, *operands: Value, **sizes: Any) -> Value:
    """NumPy's einsum with letters and ->; a letter that only the result has takes its size here."""
    if not isinstance(spec, str) or "->" not in spec:
        raise GraphcError("einsum takes letters with an arrow first, such as 'ij,jk->ik'")
    spec = spec.replace(" ", "")
    left, _, right = spec.partition("->")
    if not set(left.replace(",", "") + right) <= set(LETTERS):
        raise GraphcError(f"einsum: {spec!r} may hold letters, commas and one arrow only")
    count = left.count(",") + 1
    if count != len(operands):
        raise GraphcError(f"einsum: {spec!r} names {count} operands, got {len(operands)}")
    for letter in sizes:
        if letter not in right or letter in left:
            raise GraphcError(f"einsum: {spec!r} takes no size for {letter!r}")
    checked_shape(sizes.values())
    return contract(spec, *operands, **sizes)


@layer(2)
def dot(a: Value, b: Value) -> Value:
    """The inner product of two vectors (matrices: of all their elements)."""
    if a.shape != b.shape:
        raise GraphcError(f"dot: {_is(a, b)}; they need one shape")
    letters = LETTERS[: len(a.shape)]
    return contract(f"{letters},{letters}->", a, b)


@layer(2)
def outer(a: Value, b: Value) -> Value:
    """All products of elements: shape a.shape + b.shape."""
    left, right = LETTERS[: len(a.shape)], LETTERS[len(a.shape) : len(a.shape) + len(b.shape)]
    return contract(f"{left},{right}->{left}{right}", a, b)


@layer()
def transpose(x: Value, axes: Sequence[int] | None = None) -> Value:
    """The axes reversed, or in the order given."""
    rank = len(x.shape)
    order = list(range(rank))[::-1]
    if axes is not None:
        order = [axis_of(axis, x.shape, "transpose") for axis in _flat([axes])]
        if sorted(order) != list(range(-rank, 0)):
            raise GraphcError(f"transpose: axes={axes} is not an order of the axes; {_is(x)}")
    letters = LETTERS[:rank]
    return contract(f"{letters}->{''.join(letters[axis] for axis in order)}", x)


@layer()
def trace(x: Value) -> Value:
    """The sum of the diagonal."""
    if len(x.shape) != 2 or x.shape[0] != x.shape[1]:
        raise GraphcError(f"trace needs a square matrix, but {_is(x)}")
    return contract("aa->", x)


@layer()
def diag(x: Value) -> Value:
    """The diagonal of a matrix, or the matrix with this diagonal."""
    if len(x.shape) == 1:
        return contract("a->aa", x)
    if len(x.shape) != 2 or x.shape[0] != x.shape[1]:
        raise GraphcError(f"diag needs a vector or a square matrix, but {_is(x)}")
    return contract("aa->a", x)


inv, det, logdet, adjugate, adjugate_change, solve = (
    called(OPERATIONS[name])
    for name in ("inv", "det", "logdet", "adjugate", "adjugate_change", "solve")
)


# Reductions.


def _kept(x: Value, reduced: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """The reduced value, with axes of size 1 where it was reduced if asked for."""
    if not keepdims or not axes:
        return reduced
    letters = LETTERS[: len(x.shape)]
    gone = "".join(letters[axis] for axis in axes)
    kept = "".join(letter for letter in letters if letter not in gone)
    return contract(f"{kept}->{letters}", reduced, **dict.fromkeys(gone, 1))


def _terms(name: str, terms: tuple[Any, ...], axis: Any, keepdims: bool) -> tuple[Value, ...]:
    """One array to reduce, or several values, which have no axis between them."""
    if len(terms) == 1 and isinstance(terms[0], list):
        terms = tuple(terms[0])
    if not terms:
        raise GraphcError(f"{name} of nothing: give it at least one term")
    if len(terms) > 1 and (axis is not None or keepdims):
        raise GraphcError(f"{name} of several values has no axis; stack([a, b]) makes one of them")
    return terms


def _array(name: str, terms: tuple[Any, ...], axis: Any, keepdims: bool) -> Value:
    """The one array to reduce; several scalars are its elements."""
    terms = _terms(name, terms, axis, keepdims)
    if len(terms) > 1 and any(term.shape for term in terms):
        raise GraphcError(f"{name} takes one array or several scalars, but {_is(*terms)}")
    found: Value = terms[0] if len(terms) == 1 else stack(list(terms))
    return found


def _nonempty(name: str, x: Value, axes: tuple[int, ...]) -> None:
    if any(x.shape[axis] == 0 for axis in axes):
        raise GraphcError(f"{name} of nothing: {_is(x)}")


def _sum(x: Value, axes: tuple[int, ...]) -> Value:
    letters = LETTERS[: len(x.shape)]
    gone = {letters[axis] for axis in axes}
    kept = "".join(letter for letter in letters if letter not in gone)
    return contract(f"{letters}->{kept}", x)


@layer(None, second="axis")
def sum_(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The sum over all elements, over axes, or of several values."""
    x, *others = _terms("sum", terms, axis, keepdims)
    if others:
        return functools.reduce(lambda a, b: a + b, others, x)
    axes = axes_of(axis, x.shape, "sum")
    return _kept(x, _sum(x, axes), axes, keepdims) if axes else x


def _count(x: Value, axes: tuple[int, ...]) -> Any:
    """The number of elements a reduction runs over: a number, or a value if sizes are named."""
    total: Any = math.prod(size for axis in axes if isinstance(size := x.shape[axis], int))
    for axis in axes:
        if isinstance(x.shape[axis], str):
            named = Value(x.graph, x.graph.append("size", size=x.shape[axis]))
            total = named if isinstance(total, int) and total == 1 else named * total
    return total


@layer(None, second="axis")
def mean(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The mean over all elements, over axes, or of several values."""
    x, *others = _terms("mean", terms, axis, keepdims)
    if others:
        return functools.reduce(lambda a, b: a + b, others, x) / (1 + len(others))
    axes = axes_of(axis, x.shape, "mean")
    _nonempty("mean", x, axes)
    return _kept(x, _sum(x, axes), axes, keepdims) / _count(x, axes) if axes else x


@layer(None, second="axis")
def var(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The mean squared distance from the mean, over all elements, over axes, or of scalars."""
    x = _array("var", terms, axis, keepdims)
    centred = x - mean(x, axis=axis, keepdims=True)
    spread: Value = mean(centred**2, axis=axis, keepdims=keepdims)
    return spread


@layer(None, second="axis")
def prod(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The product over all elements, over axes, or of several values."""
    x, *others = _terms("prod", terms, axis, keepdims)
    result = functools.reduce(lambda a, b: a * b, others, x)
    axes = () if others else axes_of(axis, x.shape, "prod")
    sizes = concrete((x.shape[place] for place in axes), "prod")
    if sum(sizes) > MOST_FACTORS:
        raise GraphcError(
            f"prod: {_is(x)}; a product of {sum(sizes)} elements has over {MOST_FACTORS} factors; "
            "use exp(sum(log(x)))"
        )
    for place, size in zip(axes, sizes, strict=True):  # from the end: the others stay in place
        if size == 0:
            result = 1 + _sum(result, (place,))  # of nothing: 1, and the edge stays
        else:
            picked = [_pick(result, place, Places(i)) for i in range(size)]
            result = functools.reduce(lambda a, b: a * b, picked)
    return _kept(x, result, axes, keepdims)


def _pick(x: Value, axis: int, index: Index) -> Value:
    return x.graph.tensor("gather", (x,), {"axis": axis, "index": index, "size": x.shape[axis]})


def _largest(name: str, terms: Any, axis: Any, keepdims: bool, kink: Any, sign: int) -> Value:
    """The largest element, or with sign -1 the smallest."""
    settings = {} if kink is None else {"kink": kink}
    x, *others = _terms(name, terms, axis, keepdims)
    if others:
        chosen: Value = (maximum if sign > 0 else minimum)(x, *others, **settings)
        return chosen
    axes = axes_of(axis, x.shape, name)
    if not axes:
        return x
    if kink not in (None, "share", "error"):
        raise GraphcError(f"{name} over axes: kink={kink!r} must be 'share' or 'error'")
    _nonempty(name, x, axes)
    found = x.graph.tensor("largest", (x if sign > 0 else -x,), {"axes": axes, **settings})
    return _kept(x, found if sign > 0 else -found, axes, keepdims)


@layer(None, second="unclear")
def max_(*terms: Any, axis: Any = None, keepdims: bool = False, kink: Any = None) -> Value:
    """The largest element over all, over axes, or of several values element by element."""
    return _largest("max", terms, axis, keepdims, kink, 1)


@layer(None, second="unclear")
def min_(*terms: Any, axis: Any = None, keepdims: bool = False, kink: Any = None) -> Value:
    """The smallest element over all, over axes, or of several values element by element."""
    return _largest("min", terms, axis, keepdims, kink, -1)


@layer()
def winner(x: Value, *, axis: Any = None, kink: Any = None) -> Value:
    """1 at the first largest element over all or over axes, 0 elsewhere; "share": equal shares."""
    axes = axes_of(axis, x.shape, "winner")
    if kink not in (None, "share", "error"):
        raise GraphcError(f"winner: kink={kink!r} must be 'share' or 'error'")
    _nonempty("winner", x, axes)
    settings = {} if kink is None else {"kink": kink}
    return x.graph.tensor("winner", (x,), {"axes": axes, **settings})


@layer(None, second="axis")
def norm(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The square root of the sum of squares; its slope at 0 is 0."""
    x = _array("norm", terms, axis, keepdims)
    axes = axes_of(axis, x.shape, "norm")
    if not axes:
        return abs(x)
    return _kept(x, x.graph.tensor("norm", (x,), {"axes": axes}), axes, keepdims)


@layer(None, second="axis")
def logsumexp(*terms: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """log(sum(exp(x))), computed without overflow."""
    x = _array("logsumexp", terms, axis, keepdims)
    axes = axes_of(axis, x.shape, "logsumexp")
    if not axes:
        return x
    _nonempty("logsumexp", x, axes)
    return _kept(x, x.graph.tensor("logsumexp", (x,), {"axes": axes}), axes, keepdims)


@layer(second="axis")
def softmax(x: Value, *, axis: int = -1) -> Value:
    """exp(x) / sum(exp(x)) along an axis."""
    axes = (axis_of(axis, x.shape, "softmax"),)
    _nonempty("softmax", x, axes)
    return x.graph.tensor("softmax", (x,), {"axes": axes})


@layer(second="axis")
def log_softmax(x: Value, *, axis: int = -1) -> Value:
    """log(softmax(x)), computed without underflow."""
    axis = axis_of(axis, x.shape, "log_softmax")
    total: Value = logsumexp(x, axis=axis, keepdims=True)
    return x - total


# Losses.


def _checked_distribution(name: str, p: Value, y: Value) -> None:
    if p.shape[-1:] != y.shape[-1:] or not p.shape:
        raise GraphcError(f"{name}: {_is(p, y)}; both need the same last axis, one entry per class")


@layer(2)
def cross_entropy(p: Value, y: Value) -> Value:
    """-sum(y * log(p)) over the last axis; y is a distribution."""
    _checked_distribution("cross_entropy", p, y)
    likelihood: Value = sum_(y * log(p), axis=-1)
    return -likelihood


@layer(2)
def softmax_cross_entropy(z: Value, y: Value) -> Value:
    """The cross-entropy of softmax(z), computed without overflow."""
    _checked_distribution("softmax_cross_entropy", z, y)
    likelihood: Value = sum_(y * log_softmax(z), axis=-1)
    return -likelihood


# Shapes and selections.


@layer()
def broadcast_to(x: Value, shape: Any) -> Value:
    """The array repeated to a shape, by NumPy's rule."""
    wanted = checked_shape(tuple(_flat([shape])))
    if broadcast([x.shape, wanted], "broadcast_to", [_name(x), "the shape"]) != wanted:
        raise GraphcError(
            f"broadcast_to: {_name(x)} is {shape_text(x.shape)}, which does not fit "
            f"{shape_text(wanted)}"
        )
    own = [axis for axis in range(-len(x.shape), 0) if x.shape[axis] == wanted[axis]]
    if len(own) < len(x.shape):  # no sum over an axis of size 1: it would take the sign of -0
        x = reshape(x, tuple(x.shape[axis] for axis in own))
    letters = LETTERS[: len(wanted)]
    source = "".join(letters[axis] for axis in own)
    sizes = {a: size for a, size in zip(letters, wanted, strict=True) if a not in source}
    return contract(f"{source}->{letters}", x, **sizes)


@layer(first=1)
def full(shape: Any, x: Value) -> Value:
    """An array of this shape that holds one value everywhere."""
    if x.shape:
        raise GraphcError(f"full: {_name(x)} is {shape_text(x.shape)}; give one number")
    value: Value = broadcast_to(x, shape)
    return value


@layer()
def reshape(x: Value, shape: Any) -> Value:
    """The same elements in another shape; one size may be -1."""
    wanted = tuple(_flat([shape]))
    if wanted.count(-1) == 1:
        wanted = _filled(x, wanted)
    wanted = checked_shape(wanted)
    if _volume(wanted) != _volume(x.shape):
        raise GraphcError(f"reshape: {_is(x)}, which does not fit {shape_text(wanted)}")
    if not wanted and not x.shape:
        return x
    return x.graph.tensor("reshape", (x,), {"shape": wanted})


def _filled(x: Value, wanted: tuple[Any, ...]) -> tuple[Any, ...]:
    """The wanted shape with the size that fits in place of -1: what the others leave over."""
    (number, names), (rest, gone) = _volume(x.shape), _volume([s for s in wanted if s != -1])
    for name in gone:
        if name in names:
            names.remove(name)
    if len(names) > 1 or (names and number != rest) or not rest or number % rest:
        raise GraphcError(f"reshape: {_is(x)}, which does not fit {shape_text(wanted)}")
    missing = names[0] if names else number // rest
    return tuple(missing if size == -1 else size for size in wanted)


def _volume(shape: Sequence[Any]) -> tuple[int, list[str]]:
    """The product of the known sizes, and the named ones."""
    known = math.prod(size for size in shape if isinstance(size, int))
    return known, sorted(size for size in shape if isinstance(size, str))


def element(x: Value, index: Any) -> Value:
    """x[...] with numbers, slices, a list of numbers, None and ..., as in NumPy."""
    given = tuple(map(_plain_index, index if isinstance(index, tuple) else (index,)))
    if not x.shape and given:
        raise GraphcError(f"{_name(x)} is a scalar and has no elements")
    parts = _full_index(x, given)
    result, axis = x, -len(x.shape)
    for part in parts:
        if part is not None:
            if part != slice(None):
                result = _pick(result, axis, _places(part, result.shape[axis], x))
            axis += 1
    if None in parts:
        result = _with_new_axes(result, parts)
    if result is not x:
        x.graph.calls[result.row] = ("[]", (("row", x.row), given), {})
    return result


def _plain_index(part: Any) -> Any:
    """One part of an index with Python's own numbers and lists."""
    ends = (part.start, part.stop, part.step) if isinstance(part, slice) else _flat([part])
    for end in ends:
        if isinstance(end, Value):
            raise GraphcError(
                f"{_name(end)} is a value of the graph and cannot be an index: places are known "
                "when the graph is declared; choose elements with where(cond, a, b)"
            )
    if isinstance(part, (np.ndarray, np.integer)):
        return part.tolist()
    return list(part) if isinstance(part, tuple) else part


def _full_index(x: Value, given: tuple[Any, ...]) -> list[Any]:
    """One part per axis, and None for each new one."""
    explicit = sum(part is not None and part is not Ellipsis for part in given)
    if explicit > len(x.shape):
        raise GraphcError(f"{_is(x)}: {explicit} indices are too many for {len(x.shape)} axes")
    whole = [slice(None)] * (len(x.shape) - explicit)
    parts: list[Any] = []
    for part in given:
        parts += whole if part is Ellipsis else [part]
    if Ellipsis not in given:
        parts += whole
    lists = sum(isinstance(part, list) for part in parts)
    if lists > 1 or given.count(Ellipsis) > 1:
        raise GraphcError(
            f"{_name(x)}[...] takes one list of places and one '...' at most; take them one by one"
        )
    picking = [place for place, part in enumerate(parts) if isinstance(part, (int, list))]
    if lists and picking[-1] - picking[0] >= len(picking):
        raise GraphcError(  # NumPy moves the picked axes to the front here, which surprises people
            f"{_name(x)}[...]: a slice stands between a list and a number; take them one by one"
        )
    return parts


def _with_new_axes(x: Value, parts: list[Any]) -> Value:
    """The picked value with an axis of size 1 for each None."""
    letters = iter(LETTERS)
    source, out, sizes = "", "", {}
    for part in parts:
        rank = np.ndim(part) if isinstance(part, (int, list)) else 1
        fresh = "".join(next(letters) for _ in range(rank))
        out += fresh
        if part is None:
            sizes[fresh] = 1
        else:
            source += fresh
    return contract(f"{source}->{out}", x, **sizes)


def _places(part: Any, size: Any, x: Value) -> Index:
    """The places along an axis that an index names."""
    known = concrete((size,), f"indexing {_name(x)}, which is {shape_text(x.shape)},")[0]
    if isinstance(part, slice):
        try:
            picked = range(known)[part]
        except (TypeError, ValueError) as error:  # ends that are not whole numbers, or a step of 0
            raise GraphcError(f"{_name(x)}[...]: {error}") from None
        return _range(picked, f"{_name(x)}[...]")
    places = np.asarray(part)
    if places.dtype.kind not in "iu" and part != []:
        raise GraphcError(
            f"{_name(x)}[{part!r}]: an index is a number, a slice or a list of numbers"
        )
    if places.size and (places.min() < -known or places.max() >= known):
        raise GraphcError(f"{_is(x)}: the index {part} is out of range for size {known}")
    return chosen(np.where(places < 0, places + known, places))


def _range(places: range, what: str) -> Index:
    """A range of places, if it is short enough to be held."""
    _small(len(places), what)
    if places and places.step > 0:
        return Slice(places.start, len(places), places.step if len(places) > 1 else 1)
    return chosen(places)


@layer()
def take(x: Value, i: Any, *, axis: int = 0) -> Value:
    """The elements at the places i along an axis."""
    place = axis_of(axis, x.shape, "take")
    return _pick(x, place, _places(_plain_index(i), x.shape[place], x))


@layer()
def scatter(x: Value, i: Any, n: int, *, axis: int = 0) -> Value:
    """The transpose of take: each element is added at its place i of n along an axis."""
    rank = np.ndim(_plain_index(i))
    shape = (*x.shape[: max(len(x.shape) - rank, 0)], n)
    if rank > len(x.shape):
        raise GraphcError(f"scatter: {_is(x)}, which has fewer axes than the places")
    place = axis_of(axis, shape, "scatter")
    index = _places(_plain_index(i), n, x)
    first = len(shape) + place
    if x.shape[first : first + rank] != index.shape:
        raise GraphcError(f"scatter: {_is(x)}, which does not fit places of {index.shape}")
    return x.graph.tensor("scatter", (x,), {"axis": place, "index": index, "size": n})


def _placed(x: Value, axis: int, before: int, total: int) -> Value:
    """The value with zeros around it along an axis."""
    size = concrete((x.shape[axis],), "joining or padding")[0]
    index = _range(range(before, before + size), f"joining or padding {_name(x)}")
    return x.graph.tensor("scatter", (x,), {"axis": axis, "index": index, "size": total})


@layer(parts=True)
def concat(values: list[Value], *, axis: int = 0) -> Value:
    """Arrays joined along an axis."""
    first, *others = values
    rank = len(first.shape)
    place = axis_of(axis, first.shape, "concat")
    for other in others:
        if len(other.shape) != rank or any(
            first.shape[i] != other.shape[i] for i in range(-rank, 0) if i != place
        ):
            raise GraphcError(
                f"concat: {_is(first, other)}; they may differ along axis {axis} only"
            )
    sizes = concrete([value.shape[place] for value in values], "concat")
    ends = np.cumsum(sizes).tolist()
    placed = [
        _placed(value, place, end - size, ends[-1])
        for value, size, end in zip(values, sizes, ends, strict=True)
    ]
    return functools.reduce(lambda a, b: a + b, placed) if others else first


@layer(parts=True)
def stack(values: list[Value], *, axis: int = 0) -> Value:
    """Arrays of one shape along a new axis."""
    rank = len(values[0].shape)
    for value in values:
        if value.shape != values[0].shape:
            raise GraphcError(f"stack: {_is(values[0], value)}; they need one shape")
    place = axis_of(axis, (len(values), *values[0].shape), "stack")
    letters = LETTERS[:rank]
    at = place + rank + 1
    spec = f"{letters}->{letters[:at]}Z{letters[at:]}"
    joined: Value = concat([contract(spec, value, Z=1) for value in values], axis=place)
    return joined


@layer()
def pad(x: Value, widths: Any) -> Value:
    """Zeros around an array: ((before, after), ...) per axis, or one pair or number for all."""
    rank = len(x.shape)
    given = np.asarray(widths)
    if given.dtype.kind not in "iu" or given.shape not in ((), (2,), (1, 2), (rank, 2)):
        raise GraphcError(
            f"pad: {_is(x)}; give one (before, after) pair per axis, not {visible(str(widths))}"
        )
    if given.min() < 0:
        raise GraphcError(f"pad: {_is(x)}; the widths {widths!r} must be 0 or more")
    result = x
    for axis, (before, after) in enumerate(np.broadcast_to(given, (rank, 2)).tolist(), start=-rank):
        if before or after:
            size = concrete((x.shape[axis],), "pad")[0]
            result = _placed(result, axis, before, before + size + after)
    return result


# Windows.


def _each(value: Any, count: int, name: str) -> tuple[int, ...]:
    """One whole number per axis."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,) * count
    if len(given) != count or any(isinstance(v, bool) or not isinstance(v, int) for v in given):
        raise GraphcError(f"{name}={value!r}: give a whole number or {count} of them")
    return given


def _window(what: str, size: int, width: int, stride: int, padding: int, dilation: int) -> Window:
    """The windows along an axis, if they fit."""
    found = Window(size, width, stride, padding, dilation)
    if stride < 1 or dilation < 1 or padding < 0 or size + 2 * padding < found.reach:
        raise GraphcError(
            f"{what}; a window of {found.reach} with stride {stride} and padding {padding} does "
            f"not fit size {size}"
        )
    _small(found.shape, what)
    return found


def _window_indices(
    name: str, x: Value, widths: Sequence[int], stride: Any, padding: Any, dilation: Any = 1
) -> list[Window]:
    """The windows along each of the trailing axes."""
    what = f"{name}: {_is(x)}"
    count = len(widths)
    each = [
        _each(value, count, name)
        for value, name in ((stride, "stride"), (padding, "padding"), (dilation, "dilation"))
    ]
    sizes = concrete(x.shape[len(x.shape) - count :], name)
    return [_window(what, *numbers) for numbers in zip(sizes, widths, *each, strict=True)]


def _windows(x: Value, indices: Sequence[Index]) -> Value:
    """The windows over the trailing axes: each such axis becomes (windows, width)."""
    result = x
    for axis, index in enumerate(indices, start=-len(indices)):
        result = _pick(result, axis, index)  # axes already split stand in front of this one
    return result


def _layout(rank: int, name: str, x: Value, w: Value, channels: int) -> tuple[str, str, str]:
    """Letters of the batch, of space and of the kernel.

    `channels` is the kernel's axis that meets the input's channels; without channels there is no
    batch either.
    """
    bare = len(w.shape) == rank
    fits = len(x.shape) == rank if bare else len(x.shape) in (rank + 1, rank + 2)
    if not fits or len(w.shape) not in (rank, rank + 2):
        kernel = "(in, out, " if channels == 0 else "(out, in, "
        raise GraphcError(
            f"{name}: {_is(x, w)}; give (batch, channels, {', '.join('HW'[-rank:])}) with a kernel "
            f"{kernel}{', '.join(('kh', 'kw')[-rank:])}), or both without channels"
        )
    if not bare and x.shape[-rank - 1] != w.shape[channels]:
        raise GraphcError(
            f"{name}: {_is(x, w)}; the input has {x.shape[-rank - 1]} channels but the kernel "
            f"takes {w.shape[channels]}"
        )
    return "n" * (len(x.shape) - rank - 1), "HV"[:rank], "hv"[:rank]


def _convolve(
    rank: int, name: str, x: Value, w: Value, stride: Any, padding: Any, dilation: Any, flip: bool
) -> Value:
    batch, space, kernel = _layout(rank, name, x, w, channels=1)
    widths = concrete(w.shape[-rank:], name)
    if flip:
        for axis in range(-rank, 0):
            w = _pick(w, axis, _range(range(widths[axis])[::-1], name))
    windows = _windows(x, _window_indices(name, x, widths, stride, padding, dilation))
    split = "".join(map("".join, zip(space, kernel, strict=True)))
    if len(w.shape) == rank:
        return contract(f"{split},{kernel}->{space}", windows, w)
    return contract(f"{batch}c{split},oc{kernel}->{batch}o{space}", windows, w)


@layer(2)
def conv1d(
    x: Value, w: Value, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1, flip: bool = False
) -> Value:
    """Cross-correlation over one axis; flip=True for convolution."""
    return _convolve(1, "conv1d", x, w, stride, padding, dilation, flip)


@layer(2)
def conv2d(
    x: Value, w: Value, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1, flip: bool = False
) -> Value:
    """Cross-correlation over two axes; flip=True for convolution."""
    return _convolve(2, "conv2d", x, w, stride, padding, dilation, flip)


def _transposed(
    rank: int, name: str, x: Value, w: Value, stride: Any, padding: Any, dilation: Any
) -> Value:
    """The pull-back of a convolution by its input: kernel (in, out, ...)."""
    batch, space, kernel = _layout(rank, name, x, w, channels=0)
    split = "".join(map("".join, zip(space, kernel, strict=True)))
    if len(w.shape) == rank:
        result = contract(f"{space},{kernel}->{split}", x, w)
    else:
        result = contract(f"{batch}c{space},co{kernel}->{batch}o{split}", x, w)
    steps = _each(stride, rank, "stride")
    borders = _each(padding, rank, "padding")
    spreads = _each(dilation, rank, "dilation")
    for axis in range(-1, -rank - 1, -1):  # the last first: what stands behind an axis has one axis
        count, width = concrete((x.shape[axis], w.shape[axis]), name)
        size = (count - 1) * steps[axis] + spreads[axis] * (width - 1) + 1 - 2 * borders[axis]
        if size < 1:
            raise GraphcError(f"{name}: {_is(x, w)}; padding {borders[axis]} leaves nothing")
        index = _window(name, size, width, steps[axis], borders[axis], spreads[axis])
        setting = {"axis": axis, "index": index, "size": size}
        result = result.graph.tensor("scatter", (result,), setting)
    return result


@layer(2)
def conv1d_transpose(
    x: Value, w: Value, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1
) -> Value:
    """The transpose of conv1d."""
    return _transposed(1, "conv1d_transpose", x, w, stride, padding, dilation)


@layer(2)
def conv2d_transpose(
    x: Value, w: Value, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1
) -> Value:
    """The transpose of conv2d."""
    return _transposed(2, "conv2d_transpose", x, w, stride, padding, dilation)


def _pool_widths(name: str, x: Value, size: Any) -> tuple[int, ...]:
    """The size of the windows over the trailing axes; one number means up to two axes."""
    widths = tuple(size) if isinstance(size, (tuple, list)) else (size,) * min(2, len(x.shape))
    fits = 0 < len(widths) <= len(x.shape)
    if not fits or any(isinstance(v, bool) or not isinstance(v, int) or v < 1 for v in widths):
        raise GraphcError(f"{name}: size={size!r} does not fit; {_is(x)}")
    return widths


def _within(rank: int) -> tuple[int, ...]:
    """The axes inside the windows, when each of the trailing axes was split."""
    return tuple(range(1 - 2 * rank, 0, 2))


@layer()
def maxpool(
    x: Value, size: Any, *, stride: Any = None, padding: Any = 0, kink: Any = None
) -> Value:
    """The largest element of each window over the trailing axes; stride defaults to the size."""
    widths = _pool_widths("maxpool", x, size)
    indices = _window_indices("maxpool", x, widths, widths if stride is None else stride, padding)
    windows = _windows(x, indices)
    inside = functools.reduce(np.logical_and.outer, [i.array >= 0 for i in indices])
    if not inside.any(axis=_within(len(widths))).all():
        raise GraphcError(
            f"maxpool: {_is(x)}; with size={size} and padding={padding} a window is padding only"
        )
    if not inside.all():
        # Padding must never win. The mask is 1 and -1: 0 would be the kink of its comparison.
        mask = Value(x.graph, x.graph.constant(np.where(inside, 1, -1)))
        least = min_(x)
        floor = x.graph.apply("stop", (least - abs(least) - 1,), {})
        windows = x.graph.apply("where", (mask > 0, windows, floor), {})
    largest: Value = max_(windows, axis=_within(len(widths)), kink=kink)
    return largest


@layer()
def avgpool(x: Value, size: Any, *, stride: Any = None, padding: Any = 0) -> Value:
    """The mean of each window over the trailing axes (padding counts as 0)."""
    widths = _pool_widths("avgpool", x, size)
    indices = _window_indices("avgpool", x, widths, widths if stride is None else stride, padding)
    average: Value = mean(_windows(x, indices), axis=_within(len(widths)))
    return average


# Constants.


def onehot(i: Any, n: int) -> Any:
    """The vector (or rows) with 1 at the place i of n."""
    places = np.asarray(i)
    if places.dtype.kind not in "iu" or not isinstance(n, int) or n < 1:
        raise GraphcError(f"onehot(i, n): i={i!r} and n={n!r} must be whole numbers")
    if places.size and (places.min() < 0 or places.max() >= n):
        raise GraphcError(f"onehot: the index {i} is out of range for size {n}")
    _small((*places.shape, n), "onehot")
    return (np.arange(n) == places[..., None]).astype(int).astype(object)


def zeros(shape: Any) -> Any:
    """An array of zeros."""
    return np.zeros(_small(shape, "zeros"), dtype=int).astype(object)


def ones(shape: Any) -> Any:
    """An array of ones."""
    return np.ones(_small(shape, "ones"), dtype=int).astype(object)


def _small(shape: Any, name: str) -> tuple[int, ...]:
    """A shape of known sizes that may be held as a constant."""
    sizes = concrete(checked_shape(shape), name)
    if math.prod(sizes) > MOST_ELEMENTS:
        raise GraphcError(
            f"{name}: {shape_text(sizes)} has over {MOST_ELEMENTS} elements; use a smaller shape"
        )
    return sizes


def eye(n: int) -> Any:
    """The identity matrix."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise GraphcError(f"eye(n): n={n!r} must be a whole number")
    _small((n, n), "eye")
    return np.eye(n, dtype=int).astype(object)


COMPOSED.update({"onehot": onehot, "zeros": zeros, "ones": ones, "eye": eye})

COMPOSED["[]"] = element  # not a word, so that no text can call it
