"""Tensor operations as JavaScript: loops over flat arrays in row-major order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ....shapes import Size
from ....table.arrays import split_spec

Loops = Sequence[tuple[str, int]]  # variables and how far they run


@dataclass(frozen=True)
class Variable:
    """A value in the text: its name and its shape."""

    text: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Writer(Protocol):
    """What an operation may ask for: sizes, and functions of ours."""

    functions: set[str]

    def size(self, size: Size) -> int: ...


Operation = Callable[[Writer, list[str], Variable, Sequence[Variable], Mapping[str, Any]], str]


def nested(loops: Loops, body: str) -> str:
    """The body in loops, the first outermost."""
    heads = [f"for (let {name} = 0; {name} < {size}; {name}++)" for name, size in loops]
    return " ".join([*heads, body])


def place(names: Sequence[str], shape: Sequence[int], broadcast: bool = False) -> str:
    """The flat place of an element; a broadcast axis of size 1 stays at 0."""
    terms, stride = [], 1
    for name, size in zip(reversed(names), reversed(shape), strict=True):
        if not (broadcast and size == 1):
            terms.append(name if stride == 1 else f"{stride} * {name}")
        stride *= size
    return " + ".join(reversed(terms)) or "0"


def element(value: Variable, at: str) -> str:
    """An element of a tensor; a number is itself."""
    return f"{value.text}[{at}]" if value.shape else value.text


def _target(result: Variable, at: str) -> str:
    return f"{result.text}[{at}]" if result.shape else result.text


def _declared(result: Variable) -> str:
    """The declaration of a result that loops will fill."""
    if result.shape:
        return f"const {result.text} = new Float64Array({result.size});"
    return f"let {result.text} = 0;"


# Contraction.


def _contract(
    writer: Writer,
    lines: list[str],
    result: Variable,
    operands: Sequence[Variable],
    settings: Mapping[str, Any],
) -> str:
    """Sums of products over the letters that the result lacks."""
    words, out = split_spec(settings["spec"])
    sizes = dict(zip(out, result.shape, strict=True))
    for word, operand in zip(words, operands, strict=True):
        sizes.update(zip(word, operand.shape, strict=True))
    kept = [(f"i_{x}", sizes[x]) for x in dict.fromkeys(out)]
    summed = [(f"i_{x}", sizes[x]) for x in dict.fromkeys("".join(words)) if x not in out]
    factors = [
        element(operand, place([f"i_{x}" for x in word], operand.shape))
        for word, operand in zip(words, operands, strict=True)
    ]
    target = _target(result, place([f"i_{x}" for x in out], result.shape))
    lines.append(_declared(result))
    lines.append(nested([*kept, *summed], f"{target} += {' * '.join(factors)};"))
    return result.text


# Selections.


def _flat_index(index: Any) -> list[int]:
    return [int(place) for place in np.asarray(index, dtype=int).ravel()]


def _table(lines: list[str], result: Variable, index: Sequence[int]) -> str:
    """The name of an index array."""
    lines.append(f"const {result.text}i = Int32Array.of({', '.join(map(str, index))});")
    return f"{result.text}i"


def _around(shape: Sequence[int], lead: int, width: int) -> tuple[int, int]:
    """The number of elements before and after some axes."""
    return math.prod(shape[:lead]), math.prod(shape[lead + width :])


def _gather(
    writer: Writer,
    lines: list[str],
    result: Variable,
    operands: Sequence[Variable],
    settings: Mapping[str, Any],
) -> str:
    """Elements along an axis; -1 gives 0."""
    (x,) = operands
    axis = settings["axis"] % len(x.shape)
    before, after = _around(x.shape, axis, 1)
    index = _flat_index(settings["index"])
    name = _table(lines, result, index)
    lines.append(_declared(result))
    source = f"{x.text}[(p * {x.shape[axis]} + {name}[k]) * {after} + q]"
    target = _target(result, f"(p * {len(index)} + k) * {after} + q")
    loops = [("p", before), ("k", len(index)), ("q", after)]
    lines.append(nested(loops, f"if ({name}[k] >= 0) {target} = {source};"))
    return result.text


def _scatter(
    writer: Writer,
    lines: list[str],
    result: Variable,
    operands: Sequence[Variable],
    settings: Mapping[str, Any],
) -> str:
    """The transpose of gather: adds each element to the place that its index names."""
    (x,) = operands
    rank = np.ndim(np.asarray(settings["index"], dtype=int))
    lead = len(x.shape) - rank + settings["axis"] + 1
    before, after = _around(x.shape, lead, rank)
    index = _flat_index(settings["index"])
    name = _table(lines, result, index)
    lines.append(_declared(result))
    source = element(x, f"(p * {len(index)} + k) * {after} + q")
    target = f"{result.text}[(p * {result.shape[lead]} + {name}[k]) * {after} + q]"
    loops = [("p", before), ("k", len(index)), ("q", after)]
    lines.append(nested(loops, f"if ({name}[k] >= 0) {target} += {source};"))
    return result.text


def _reshape(
    writer: Writer,
    lines: list[str],
    result: Variable,
    operands: Sequence[Variable],
    settings: Mapping[str, Any],
) -> str:
    """The same elements: the array itself, as arrays are never changed once they are filled."""
    (x,) = operands
    if bool(x.shape) == bool(result.shape):
        return x.text
    return f"Float64Array.of({x.text})" if result.shape else f"{x.text}[0]"


# Reductions: {x} an element, {o} the place it is reduced to, {y} its own place in a result of the
# same shape, {in} the loops over what is reduced. The others are made of these by rewrites.py.

REDUCTIONS = {
    "largest": "{o} = -Infinity; {in} {o} = Math.max({o}, {x});",
    "winner": (
        "let m = -Infinity, n = 0; {in} m = Math.max(m, {x}); "
        "{in} if ({x} === m && n++ === 0) {y} = 1;"
    ),
    "winners": (
        "let m = -Infinity, n = 0; {in} m = Math.max(m, {x}); "
        "{in} if ({x} === m) n++; {in} if ({x} === m) {y} = 1 / n;"
    ),
}


def _reduction(form: str) -> Operation:
    def written(
        writer: Writer,
        lines: list[str],
        result: Variable,
        operands: Sequence[Variable],
        settings: Mapping[str, Any],
    ) -> str:
        (x,) = operands
        gone = [axis % len(x.shape) for axis in settings["axes"]]
        kept = [axis for axis in range(len(x.shape)) if axis not in gone]
        names = [f"i{axis}" for axis in range(len(x.shape))]
        at = place(names, x.shape)
        shared = settings.get("kink") == "share" and form == "winner"
        body = REDUCTIONS["winners" if shared else form]
        inner = nested([(names[axis], x.shape[axis]) for axis in gone], "")
        out = place([names[axis] for axis in kept], [x.shape[axis] for axis in kept])
        for mark, text in (
            ("{in} ", inner),
            ("{x}", element(x, at)),
            ("{y}", _target(result, at)),
            ("{o}", _target(result, out)),
        ):
            body = body.replace(mark, text)
        lines.append(_declared(result))
        lines.append(nested([(names[axis], x.shape[axis]) for axis in kept], f"{{ {body} }}"))
        return result.text

    return written


# Matrix functions, which definitions.py writes.


def _matrix(name: str) -> Operation:
    def written(
        writer: Writer,
        lines: list[str],
        result: Variable,
        operands: Sequence[Variable],
        settings: Mapping[str, Any],
    ) -> str:
        writer.functions.add(name)
        texts = [operand.text for operand in operands]
        return f"{name}({', '.join(texts)}, {operands[0].shape[0]})"

    return written


TENSORS: Mapping[str, Operation] = {
    "contract": _contract,
    "gather": _gather,
    "scatter": _scatter,
    "reshape": _reshape,
    **{name: _reduction(name) for name in ("largest", "winner")},
    "inv": _matrix("inverse"),
    "det": _matrix("determinant"),
    "logdet": _matrix("logdet"),
    "adjugate": _matrix("adjugate"),
    "adjugate_change": _matrix("adjugateChange"),
    "solve": _matrix("solve"),
}
