"""The words that models are made of: how each is written in a graph, and what it means.

A meaning is stated in the functions that NumPy, jax.numpy and `oracles.Torch` share, and shares
nothing with graphc.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Settings = dict[str, Any]
Arrays = Sequence[np.ndarray]


@dataclass(frozen=True)
class Word:
    """One operation: its text, its meaning, where it may be used."""

    name: str
    operands: int
    write: Callable[[Sequence[str], Settings], str]
    mean: Callable[[Any, Sequence[Any], Settings], Any]
    draw: Callable[[random.Random, Arrays], Settings | None]  # None: not for these operands
    switch: Callable[[Arrays, Settings], np.ndarray] | None = None  # 0 at a kink
    weight: float = 1.0


WORDS: dict[str, Word] = {}


def word(name: str, operands: int, write: Any, mean: Any, **more: Any) -> None:
    more.setdefault("draw", lambda rng, arrays: {})
    assert name not in WORDS, name
    WORDS[name] = Word(name, operands, write, mean, **more)


def call(name: str) -> Callable[[Sequence[str], Settings], str]:
    """How a function is written whose settings are keyword arguments."""

    def write(texts: Sequence[str], settings: Settings) -> str:
        words = [f"{key}={value}" for key, value in settings.items()]
        return f"{name}({', '.join([*texts, *words])})"

    return write


def among(low: float, high: float) -> Callable[[random.Random, Arrays], Settings | None]:
    """No settings; only for operands within bounds."""

    def draw(rng: random.Random, arrays: Arrays) -> Settings | None:
        inside = all(np.all((low < array) & (array < high)) for array in arrays)
        return {} if inside else None

    return draw


# Element-wise functions of one operand.

SELU_SCALE, SELU_ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
SMOOTH: dict[str, tuple[Callable[[Any, Any], Any], float, float]] = {  # meaning, low, high
    "exp": (lambda xp, x: xp.exp(x), -4, 3),
    "log": (lambda xp, x: xp.log(x), 0.05, 1e3),
    "log1p": (lambda xp, x: xp.log1p(x), -0.9, 1e3),
    "expm1": (lambda xp, x: xp.expm1(x), -4, 3),
    "sqrt": (lambda xp, x: xp.sqrt(x), 0.05, 1e3),
    "square": (lambda xp, x: x * x, -5, 5),
    "sin": (lambda xp, x: xp.sin(x), -30, 30),
    "cos": (lambda xp, x: xp.cos(x), -30, 30),
    "tan": (lambda xp, x: xp.tan(x), -1.3, 1.3),
    "asin": (lambda xp, x: xp.arcsin(x), -0.9, 0.9),
    "acos": (lambda xp, x: xp.arccos(x), -0.9, 0.9),
    "atan": (lambda xp, x: xp.arctan(x), -30, 30),
    "sinh": (lambda xp, x: xp.sinh(x), -3, 3),
    "cosh": (lambda xp, x: xp.cosh(x), -3, 3),
    "tanh": (lambda xp, x: xp.tanh(x), -5, 5),
    "sigmoid": (lambda xp, x: 1 / (1 + xp.exp(-x)), -9, 9),
    "softplus": (lambda xp, x: xp.log1p(xp.exp(x)), -9, 9),
    "log_sigmoid": (lambda xp, x: -xp.log1p(xp.exp(-x)), -9, 9),
    "silu": (lambda xp, x: x / (1 + xp.exp(-x)), -9, 9),
    "erf": (lambda xp, x: xp.erf(x), -3, 3),
    "gelu": (lambda xp, x: x * (1 + xp.erf(x * 0.5**0.5)) / 2, -5, 5),
}
for _name, (_mean, _low, _high) in SMOOTH.items():
    word(
        _name,
        1,
        call(_name),
        lambda xp, args, settings, _mean=_mean: _mean(xp, args[0]),
        draw=among(_low, _high),
        weight=0.3,
    )

KINKED: dict[str, tuple[Callable[[Any, Any], Any], tuple[float, ...]]] = {  # meaning, kinks
    "abs": (lambda xp, x: xp.abs(x), (0,)),
    "sign": (lambda xp, x: xp.sign(x), (0,)),
    "relu": (lambda xp, x: xp.where(x > 0, x, 0 * x), (0,)),
    "elu": (lambda xp, x: xp.where(x > 0, x, xp.expm1(xp.where(x > 0, 0 * x, x))), (0,)),
    "selu": (
        lambda xp, x: (
            SELU_SCALE * xp.where(x > 0, x, SELU_ALPHA * xp.expm1(xp.where(x > 0, 0 * x, x)))
        ),
        (0,),
    ),
    "leaky_relu": (lambda xp, x: xp.where(x > 0, x, 0.01 * x), (0,)),
    "hardtanh": (lambda xp, x: xp.where(x > 1, 0 * x + 1, xp.where(x < -1, 0 * x - 1, x)), (-1, 1)),
}
for _name, (_kinked, _kinks) in KINKED.items():
    word(
        _name,
        1,
        call(_name),
        lambda xp, args, settings, _mean=_kinked: _mean(xp, args[0]),
        switch=lambda arrays, settings, _kinks=_kinks: np.concatenate(
            [np.ravel(arrays[0] - kink) for kink in _kinks]
        ),
        weight=0.5,
    )
word(
    "clip",
    1,
    lambda texts, settings: f"clip({texts[0]}, -1/2, 3/4)",
    lambda xp, args, settings: xp.where(
        args[0] > 0.75, 0 * args[0] + 0.75, xp.where(args[0] < -0.5, 0 * args[0] - 0.5, args[0])
    ),
    switch=lambda arrays, settings: np.concatenate(
        [np.ravel(arrays[0] + 0.5), np.ravel(arrays[0] - 0.75)]
    ),
    weight=0.5,
)

# Arithmetic.

word("negative", 1, lambda t, s: f"-{t[0]}", lambda xp, a, s: -a[0])
word("add", 2, lambda t, s: f"{t[0]} + {t[1]}", lambda xp, a, s: a[0] + a[1], weight=3)
word("sub", 2, lambda t, s: f"{t[0]} - {t[1]}", lambda xp, a, s: a[0] - a[1], weight=2)
word("mul", 2, lambda t, s: f"{t[0]}*{t[1]}", lambda xp, a, s: a[0] * a[1], weight=3)
word(
    "div",
    2,
    lambda t, s: f"{t[0]}/{t[1]}",
    lambda xp, a, s: a[0] / a[1],
    draw=lambda rng, arrays: {} if np.all(np.abs(arrays[1]) > 0.2) else None,
    weight=1.5,
)
NUMBERS = {"2": 2.0, "3": 3.0, "1/2": 0.5, "0.3": 0.3, "(-2)": -2.0, "(-1)": -1.0, "1": 1.0, "0": 0}


def _number(rng: random.Random, arrays: Arrays) -> Settings:
    return {"number": rng.choice(list(NUMBERS))}


word(
    "scaled",
    1,
    lambda t, s: f"{s['number']}*{t[0]}",
    lambda xp, a, s: NUMBERS[s["number"]] * a[0],
    draw=_number,
    weight=1.5,
)
word(
    "shifted",
    1,
    lambda t, s: f"{t[0]} + {s['number']}",
    lambda xp, a, s: a[0] + NUMBERS[s["number"]],
    draw=_number,
)
word(
    "divided",
    1,
    lambda t, s: f"{s['number']}/{t[0]}",
    lambda xp, a, s: NUMBERS[s["number"]] / a[0],
    draw=lambda rng, arrays: _number(rng, arrays) if np.all(np.abs(arrays[0]) > 0.2) else None,
)


def _exponent(rng: random.Random, arrays: Arrays) -> Settings | None:
    positive, away = np.all(arrays[0] > 0.05), np.all(np.abs(arrays[0]) > 0.2)
    exponents = ["2", "3", "4", "1", "0"]
    exponents += ["(-1)", "(-2)"] if away else []
    exponents += ["(1/2)", "(3/2)", "(-1/2)", "(5/3)"] if positive else []
    return {"exponent": rng.choice(exponents)}


EXPONENTS = {"(1/2)": 0.5, "(3/2)": 1.5, "(-1/2)": -0.5, "(5/3)": 5 / 3}
word(
    "power",
    1,
    lambda t, s: f"{t[0]}**{s['exponent']}",
    # a whole exponent as such: libraries have no second slope of x**1.0 at 0
    lambda xp, a, s: a[0] ** (EXPONENTS.get(s["exponent"]) or int(s["exponent"].strip("()"))),
    draw=_exponent,
    weight=1.5,
)
word(
    "raised",
    2,
    lambda t, s: f"{t[0]}**{t[1]}",
    lambda xp, a, s: xp.power(a[0], a[1]),
    draw=lambda rng, arrays: {} if np.all(arrays[0] > 0.1) else None,
)
word(
    "based",
    1,
    lambda t, s: f"2**{t[0]}",
    lambda xp, a, s: xp.power(0 * a[0] + 2, a[0]),
    draw=among(-6, 4),
    weight=0.5,
)


def _difference(arrays: Arrays, settings: Settings) -> np.ndarray:
    return np.ravel(arrays[0] - arrays[1])


for _name, _sign in (("maximum", ">"), ("minimum", "<")):
    word(
        _name,
        2,
        call(_name),
        lambda xp, a, s, _sign=_sign: xp.where(
            a[0] >= a[1] if _sign == ">" else a[0] <= a[1], a[0] + 0 * a[1], a[1] + 0 * a[0]
        ),
        switch=_difference,
        weight=0.5,
    )
word(
    "where",
    4,
    lambda t, s: f"where({t[0]} {s['sign']} {t[1]}, {t[2]}, {t[3]})",
    lambda xp, a, s: xp.where(
        {"<": a[0] < a[1], ">=": a[0] >= a[1], ">": a[0] > a[1]}[s["sign"]],
        a[2] + 0 * a[3],
        a[3] + 0 * a[2],
    ),
    draw=lambda rng, arrays: {"sign": rng.choice(["<", ">", ">="])},
    switch=_difference,
)
word(
    "atan2",
    2,
    call("atan2"),
    lambda xp, a, s: xp.arctan2(a[0], a[1]),
    draw=lambda rng, arrays: {} if np.all(np.abs(arrays[1]) > 0.1) else None,
    switch=lambda arrays, s: np.ravel(arrays[0]),
    weight=0.3,
)
word(
    "logaddexp",
    2,
    call("logaddexp"),
    lambda xp, a, s: xp.log(xp.exp(a[0]) + xp.exp(a[1])),
    draw=among(-9, 9),
    weight=0.3,
)
word("identity", 1, lambda t, s: t[0], lambda xp, a, s: a[0], weight=0.3)
word("stop", 1, call("stop"), lambda xp, a, s: xp.stop(a[0]), weight=0.3)


# Reductions.


def _axes(rng: random.Random, rank: int) -> Settings | None:
    """axis= and keepdims=, as they are written."""
    if not rank:
        return None
    settings: Settings = {}
    if rng.random() < 0.7:
        axes = rng.sample(range(-rank, rank), 1)
        if rank > 1 and rng.random() < 0.3:
            axes = [axis - rank * rng.randint(0, 1) for axis in rng.sample(range(rank), 2)]
        settings["axis"] = axes[0] if len(axes) == 1 else tuple(axes)
    if rng.random() < 0.3:
        settings["keepdims"] = True
    return settings


def _reduction(name: str, mean: Any, rest: Any = None, weight: float = 1.0) -> None:
    def draw(rng: random.Random, arrays: Arrays) -> Settings | None:
        settings = _axes(rng, arrays[0].ndim)
        if settings is None or not arrays[0].size or (rest and not rest(arrays[0])):
            return None
        return settings

    def switch(arrays: Arrays, settings: Settings) -> np.ndarray:
        """The distance of the winner to the next."""
        axis = settings.get("axis")
        axes = tuple(range(arrays[0].ndim)) if axis is None else np.atleast_1d(axis)
        axes = tuple(int(a) % arrays[0].ndim for a in axes)
        moved = np.moveaxis(arrays[0], axes, range(len(axes)))
        flat = np.sort(moved.reshape(-1, *moved.shape[len(axes) :]), axis=0)
        if len(flat) < 2:
            return np.ones(1)
        return np.ravel(flat[-1] - flat[-2] if name == "max" else flat[1] - flat[0])

    word(
        name,
        1,
        call(name),
        lambda xp, a, s: mean(xp, a[0], s.get("axis"), s.get("keepdims", False)),
        draw=draw,
        switch=switch if name in ("max", "min") else None,
        weight=weight,
    )


def _var(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    centre = xp.mean(x, axis=axis, keepdims=True)
    return xp.mean((x - centre) ** 2, axis=axis, keepdims=keepdims)


_reduction("sum", lambda xp, x, axis, k: xp.sum(x, axis=axis, keepdims=k), weight=3)
_reduction("mean", lambda xp, x, axis, k: xp.mean(x, axis=axis, keepdims=k), weight=1.5)
_reduction("prod", lambda xp, x, axis, k: xp.prod(x, axis=axis, keepdims=k))
_reduction("max", lambda xp, x, axis, k: xp.max(x, axis=axis, keepdims=k))
_reduction("min", lambda xp, x, axis, k: xp.min(x, axis=axis, keepdims=k), weight=0.5)
_reduction("var", _var)
_reduction(
    "norm",
    lambda xp, x, axis, k: xp.sqrt(xp.sum(x * x, axis=axis, keepdims=k)),
    rest=lambda x: np.all(np.abs(x) > 0.05),
)
_reduction("logsumexp", lambda xp, x, axis, k: xp.log(xp.sum(xp.exp(x), axis=axis, keepdims=k)))


def _axis(rng: random.Random, arrays: Arrays) -> Settings | None:
    rank = arrays[0].ndim
    if not rank or not arrays[0].size:
        return None
    return {"axis": rng.randrange(-rank, rank)} if rng.random() < 0.7 else {}


def _softmax(xp: Any, x: Any, axis: int) -> Any:
    powers = xp.exp(x)
    return powers / xp.sum(powers, axis=axis, keepdims=True)


word(
    "softmax",
    1,
    call("softmax"),
    lambda xp, a, s: _softmax(xp, a[0], s.get("axis", -1)),
    draw=_axis,
)
word(
    "log_softmax",
    1,
    call("log_softmax"),
    lambda xp, a, s: xp.log(_softmax(xp, a[0], s.get("axis", -1))),
    draw=_axis,
)
word(
    "cross_entropy",
    2,
    lambda t, s: f"cross_entropy(softmax({t[0]}), softmax({t[1]}))",
    lambda xp, a, s: -xp.sum(_softmax(xp, a[1], -1) * xp.log(_softmax(xp, a[0], -1))),
    draw=lambda rng, arrays: (
        {} if arrays[0].shape == arrays[1].shape and arrays[0].ndim == 1 else None
    ),
    weight=0.5,
)
word(
    "softmax_cross_entropy",
    2,
    lambda t, s: f"softmax_cross_entropy({t[0]}, softmax({t[1]}))",
    lambda xp, a, s: -xp.sum(_softmax(xp, a[1], -1) * xp.log(_softmax(xp, a[0], -1))),
    draw=lambda rng, arrays: (
        {} if arrays[0].shape == arrays[1].shape and arrays[0].ndim == 1 else None
    ),
    weight=0.5,
)


# Linear algebra.


def _matmul(rng: random.Random, arrays: Arrays) -> Settings | None:
    a, b = arrays
    fits = a.ndim in (1, 2) and b.ndim in (1, 2) and a.shape[-1] == b.shape[0]
    return {} if fits else None


word(
    "matmul",
    2,
    lambda t, s: f"{t[0]} @ {t[1]}",
    lambda xp, a, s: a[0] @ a[1],
    draw=_matmul,
    weight=5,
)
word(
    "outer",
    2,
    call("outer"),
    lambda xp, a, s: xp.einsum("i,j->ij", a[0], a[1]),
    draw=lambda rng, arrays: {} if all(a.ndim == 1 for a in arrays) else None,
)
word(
    "dot",
    2,
    call("dot"),
    lambda xp, a, s: xp.sum(a[0] * a[1]),
    draw=lambda rng, arrays: (
        {} if arrays[0].ndim == 1 and arrays[0].shape == arrays[1].shape else None
    ),
)
word(
    "turned",
    1,
    lambda t, s: f"{t[0]}.T",
    lambda xp, a, s: xp.transpose(a[0]),
    draw=lambda rng, arrays: {} if arrays[0].ndim > 1 else None,
    weight=3,
)


def _letters(rng: random.Random, arrays: Arrays) -> Settings | None:
    """An einsum that fits: letters shared where sizes agree, some repeated, some summed."""
    known: dict[str, int] = {}
    words = []
    for array in arrays:
        letters = ""
        for size in array.shape:
            same = [x for x, known_size in known.items() if known_size == size]
            if same and rng.random() < 0.6:
                letters += rng.choice(same)
            else:
                fresh = "ijklmnpqrs"[len(known)]
                known[fresh] = size
                letters += fresh
        words.append(letters)
    if not known or len(known) > 6:
        return None
    out = [x for x in known if rng.random() < 0.6]
    rng.shuffle(out)
    return {"spec": f"{','.join(words)}->{''.join(out)}"}


for _count in (1, 2, 3):
    word(
        f"einsum{_count}",
        _count,
        lambda t, s: f'einsum("{s["spec"]}", {", ".join(t)})',
        lambda xp, a, s: xp.einsum(s["spec"], *a),
        draw=_letters,
        weight=2.0 if _count < 3 else 0.7,
    )


def _is_matrix(array: np.ndarray) -> bool:
    return array.ndim == 2 and array.shape[0] == array.shape[1] and array.shape[0] > 0


def _well_conditioned(array: np.ndarray) -> bool:
    return _is_matrix(array) and bool(np.linalg.cond(array) < 30)


word(
    "trace",
    1,
    call("trace"),
    lambda xp, a, s: xp.einsum("ii->", a[0]),
    draw=lambda rng, arrays: {} if _is_matrix(arrays[0]) else None,
)
word(
    "diag",
    1,
    call("diag"),
    lambda xp, a, s: xp.einsum("ii->i", a[0]) if a[0].ndim == 2 else xp.diagonal_matrix(a[0]),
    draw=lambda rng, arrays: {} if _is_matrix(arrays[0]) or arrays[0].ndim == 1 else None,
    weight=2,
)
for _name, _matrix in (
    ("det", lambda xp, x: xp.linalg.det(x)),
    ("logdet", lambda xp, x: xp.linalg.slogdet(x)[1]),
    ("inv", lambda xp, x: xp.linalg.inv(x)),
):
    word(
        _name,
        1,
        call(_name),
        lambda xp, a, s, _matrix=_matrix: _matrix(xp, a[0]),
        draw=lambda rng, arrays, _name=_name: (
            {}
            if _well_conditioned(arrays[0])
            and (_name != "logdet" or np.linalg.det(arrays[0]) > 0.01)
            else None
        ),
        weight=3,  # few matrices are fit for it
    )
word(
    "solve",
    2,
    call("solve"),
    lambda xp, a, s: xp.linalg.solve(a[0], a[1]),
    draw=lambda rng, arrays: (
        {}
        if _well_conditioned(arrays[0])
        and arrays[1].ndim in (1, 2)
        and arrays[1].shape[0] == arrays[0].shape[0]
        else None
    ),
    weight=2,
)


# Shapes.


def _reshape(rng: random.Random, arrays: Arrays) -> Settings | None:
    size = arrays[0].size
    shapes = [(size,), (1, size), (size, 1), (-1,)]
    shapes += [(k, size // k) for k in range(2, size) if size % k == 0]
    shapes += [(k, -1) for k in range(2, size) if size % k == 0]
    if size % 4 == 0:
        shapes.append((2, size // 4, 2))
    if size == 1:
        shapes.append(())
    return {"shape": rng.choice(shapes)} if size else None


word(
    "reshape",
    1,
    lambda t, s: f"reshape({t[0]}, {s['shape']})",
    lambda xp, a, s: xp.reshape(a[0], s["shape"]),
    draw=_reshape,
    weight=3,
)


def _index(rng: random.Random, arrays: Arrays) -> Settings | None:
    """A basic index: numbers, slices, new axes."""
    parts: list[str] = []
    for size in arrays[0].shape:
        if rng.random() < 0.15:
            parts.append("None")
        low = rng.randrange(size) if size else 0
        high = (
            rng.randint(low, size) if rng.random() < 0.1 else rng.randint(min(low + 1, size), size)
        )
        choices = [":", f"{low}:", f":{high}", f"{low}:{high}", "::2", "::-1", "-1:"]
        if size:
            choices += [str(low), str(low - size), str(low)]
        parts.append(rng.choice(choices))
    if not arrays[0].ndim:
        return None
    return {"index": ", ".join(parts[: rng.randint(1, len(parts))])}


def parsed_index(text: str) -> tuple[Any, ...]:
    """The index that a text of numbers, slices and None stands for."""
    parts: list[Any] = []
    for part in text.split(", "):
        if ":" in part:
            parts.append(slice(*(int(p) if p else None for p in part.split(":"))))
        else:
            parts.append(None if part == "None" else int(part))
    return tuple(parts)


word(
    "indexed",
    1,
    lambda t, s: f"{t[0]}[{s['index']}]",
    lambda xp, a, s: xp.indexed(a[0], parsed_index(s["index"])),
    draw=_index,
    weight=5,
)


def _in_parts(xp: Any, a: Arrays, s: Settings) -> Any:
    first, second, both = (xp.indexed(a[0], parsed_index(text)) for text in (":1", "1:2", ":2"))
    return first * xp.sin(second) + both


# What is read in parts that overlap: its slope is a sum of parts, each added in its place.
word(
    "in parts",
    1,
    lambda t, s: f"({t[0]}[:1]*sin({t[0]}[1:2]) + {t[0]}[:2])",
    _in_parts,
    draw=lambda rng, arrays: {} if arrays[0].ndim and arrays[0].shape[0] > 1 else None,
    weight=2,
)


def _overlap(rng: random.Random, arrays: Arrays) -> Settings | None:
    (a,) = arrays
    return {"widths": ((1, 0), *((0, 0),) * (a.ndim - 1))} if a.ndim and a.shape[0] else None


def _overlap_text(texts: Sequence[str], settings: Settings) -> str:
    joined = f"concat([{texts[0]}, {texts[0]}])"
    return f"({joined} + pad({joined}[:-1], {settings['widths']}))"


def _overlapping(xp: Any, a: Arrays, s: Settings) -> Any:
    joined = xp.concatenate([a[0], a[0]], axis=0)
    return joined + xp.padded(xp.indexed(joined, parsed_index(":-1")), s["widths"])


# A joined array to which a part of itself is added: both are parts of one memory.
word("overlapping", 1, _overlap_text, _overlapping, draw=_overlap, weight=1.5)


def _take(rng: random.Random, arrays: Arrays) -> Settings | None:
    if not arrays[0].ndim or not arrays[0].size:
        return None
    axis = rng.randrange(-arrays[0].ndim, arrays[0].ndim)
    size = arrays[0].shape[axis]
    places: Any = [rng.randrange(size) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.3:
        places = [places, [rng.randrange(size) for _ in places]]
    return {"places": places, "axis": axis}


word(
    "take",
    1,
    lambda t, s: f"take({t[0]}, {s['places']}, axis={s['axis']})",
    lambda xp, a, s: xp.take(a[0], np.array(s["places"]), axis=s["axis"]),
    draw=_take,
    weight=2,
)


def _joined(stacked: bool) -> Callable[[random.Random, Arrays], Settings | None]:
    def draw(rng: random.Random, arrays: Arrays) -> Settings | None:
        a, b = arrays
        if a.ndim != b.ndim or (not a.ndim and not stacked):
            return None
        axis = rng.randrange(-a.ndim - stacked, a.ndim + stacked) if a.ndim + stacked else 0
        place = axis % (a.ndim + stacked)
        for i in range(a.ndim):
            if a.shape[i] != b.shape[i] and (stacked or i != place):
                return None
        return {"axis": axis}

    return draw


for _name, _function, _stacked in (("concat", "concatenate", False), ("stack", "stack", True)):
    word(
        _name,
        2,
        lambda t, s, _name=_name: f"{_name}([{t[0]}, {t[1]}], axis={s['axis']})",
        lambda xp, a, s, _function=_function: getattr(xp, _function)([a[0], a[1]], axis=s["axis"]),
        draw=_joined(_stacked),
        weight=1.5,
    )


def _pad(rng: random.Random, arrays: Arrays) -> Settings | None:
    if not arrays[0].ndim:
        return None
    return {"widths": tuple((rng.randint(0, 2), rng.randint(0, 1)) for _ in arrays[0].shape)}


word(
    "pad",
    1,
    lambda t, s: f"pad({t[0]}, {s['widths']})",
    lambda xp, a, s: xp.padded(a[0], s["widths"]),
    draw=_pad,
    weight=1.5,
)


# Windows.


def _windows(xp: Any, x: Any, sizes: Sequence[int], stride: int, dilation: int) -> list[Any]:
    """The elements under each place of a window that moves over the trailing axes."""
    shape = x.shape[len(x.shape) - len(sizes) :]
    counts = [(n - (k - 1) * dilation - 1) // stride + 1 for n, k in zip(shape, sizes, strict=True)]
    found = []
    for place in itertools.product(*(range(k) for k in sizes)):
        starts = [p * dilation for p in place]
        index = tuple(
            slice(start, start + (count - 1) * stride + 1, stride)
            for start, count in zip(starts, counts, strict=True)
        )
        found.append(x[(..., *index)])
    return found


def _convolution(rank: int) -> None:
    def draw(rng: random.Random, arrays: Arrays) -> Settings | None:
        x, w = arrays
        batched = w.ndim == rank + 2
        fits = (x.ndim == rank and w.ndim == rank) or (
            batched and x.ndim in (rank + 1, rank + 2) and x.shape[-rank - 1] == w.shape[1]
        )
        if not fits or not x.size or not w.size:
            return None
        stride, padding, dilation = (
            rng.choice([1, 1, 2]),
            rng.choice([0, 0, 1]),
            rng.choice([1, 1, 2]),
        )
        for n, k in zip(x.shape[-rank:], w.shape[-rank:], strict=True):
            if n + 2 * padding < (k - 1) * dilation + 1:
                return None
        return {"stride": stride, "padding": padding, "dilation": dilation}

    def mean(xp: Any, args: Sequence[Any], s: Settings) -> Any:
        x, w = args
        lead = len(x.shape) - rank
        widths = ((0, 0),) * lead + ((s["padding"],) * 2,) * rank
        parts = _windows(xp, xp.padded(x, widths), w.shape[-rank:], s["stride"], s["dilation"])
        places = itertools.product(*(range(k) for k in w.shape[-rank:]))
        total: Any = 0
        for part, place in zip(parts, places, strict=True):
            weight = w[(..., *place)]
            if len(w.shape) == rank:
                total = total + weight * part
            else:
                letters = "xy"[:rank]
                batch = "b" * (lead - 1)
                total = total + xp.einsum(f"oi,{batch}i{letters}->{batch}o{letters}", weight, part)
        return total

    word(f"conv{rank}d", 2, call(f"conv{rank}d"), mean, draw=draw, weight=3)


_convolution(1)
_convolution(2)


def _pooling(name: str) -> None:
    def draw(rng: random.Random, arrays: Arrays) -> Settings | None:
        if arrays[0].ndim < 1 or not arrays[0].size:
            return None
        size = rng.choice([2, (2,) * min(arrays[0].ndim, 2)])
        if isinstance(size, int):
            size = (size,)
        if any(n < k for n, k in zip(arrays[0].shape[-len(size) :], size, strict=True)):
            return None
        return {"size": size, "stride": rng.choice([None, 1, 2])}

    def settings_of(s: Settings) -> tuple[Any, int]:
        return s["size"], s["stride"] or 2

    def write(t: Sequence[str], s: Settings) -> str:
        stride = f", stride={s['stride']}" if s["stride"] else ""
        return f"{name}({t[0]}, {s['size']}{stride})"

    def mean(xp: Any, args: Sequence[Any], s: Settings) -> Any:
        size, stride = settings_of(s)
        parts = xp.stack(_windows(xp, args[0], size, stride, 1), axis=0)
        return xp.max(parts, axis=0) if name == "maxpool" else xp.mean(parts, axis=0)

    def switch(arrays: Arrays, s: Settings) -> np.ndarray:
        size, stride = settings_of(s)
        parts = np.sort(np.stack(_windows(np, arrays[0], size, stride, 1)), axis=0)
        return np.ravel(parts[-1] - parts[-2])

    word(name, 1, write, mean, draw=draw, switch=switch if name == "maxpool" else None)


_pooling("maxpool")
_pooling("avgpool")


# Constants.


def _matrix(rng: random.Random, arrays: Arrays) -> Settings:
    shape = rng.choice([(2,), (3,), (2, 2), (3, 2), (1, 3), (3, 1)])
    entries = [rng.choice(["1", "2", "0", "1/2", "-3", "-1/4", "0.3"]) for _ in range(6)]
    if len(shape) == 1:
        return {"entries": entries[: shape[0]]}
    rows, columns = shape
    return {"entries": [entries[columns * i : columns * (i + 1)] for i in range(rows)]}


def _entries_text(entries: Any) -> str:
    if isinstance(entries, str):
        return entries
    return f"[{', '.join(map(_entries_text, entries))}]"


def _entries_value(entries: Any) -> Any:
    if isinstance(entries, str):
        above, _, below = entries.partition("/")
        return float(above) / float(below or 1)
    return [_entries_value(part) for part in entries]


word(
    "constant",
    0,
    lambda t, s: _entries_text(s["entries"]),
    lambda xp, a, s: xp.array(_entries_value(s["entries"])),
    draw=_matrix,
    weight=0.7,
)
for _name in ("zeros", "ones"):
    word(
        _name,
        0,
        lambda t, s, _name=_name: f"{_name}({s['shape']})",
        lambda xp, a, s, _name=_name: xp.array(
            np.full(s["shape"], 0.0 if _name == "zeros" else 1.0)
        ),
        draw=lambda rng, arrays: {"shape": rng.choice([(2,), (2, 3), (1, 2), (0, 2)])},
        weight=0.15,
    )
