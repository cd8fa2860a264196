"""What may be asked of the compiler besides the question itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..errors import GraphcError, listing, nearest, one_of, switch
from .backend import STYLES, Backend
from .backends import BACKENDS, offered
from .backends.native import AUTO
from .wants import MODES

DTYPES = ("float32", "float64")
NAMES = (
    *("backend", "mode", "style", "dtype", "reduce", "sparse", "checkpoint"),
    *("threads", "maths"),
)
MATHS = ("libm", "own")
MOST_THREADS = 256
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True)
class Options:
    """How a function is to be written; checked."""

    backend: Backend = AUTO
    mode: str = "auto"
    style: str = "fast"
    dtype: str = "float64"
    reduce: str | None = None
    sparse: bool = False
    every: int | None = None  # checkpoints: keep the values of every so many layers
    budget: int | None = None  # checkpoints: bytes of intermediate values
    threads: int = 1  # that share the points
    maths: str = "libm"  # whose functions C calls: own are our vector maths


def options(**given: Any) -> Options:
    """The options, each one known."""
    for name in given:
        if name not in NAMES:
            hint = nearest(name, NAMES) or f" (there are: {listing(NAMES)})"
            raise GraphcError(f"there is no option {name!r}{hint}")
    return _checked(**given)


def _checked(
    backend: str = "auto",
    mode: str = "auto",
    style: str = "fast",
    dtype: Any = "float64",
    reduce: str | None = None,
    sparse: bool = False,
    checkpoint: Any = None,
    threads: int = 1,
    maths: str = "libm",
) -> Options:
    one_of(backend, offered(), "backend")
    chosen = BACKENDS[backend]
    one_of(mode, MODES, "mode")
    one_of(style, STYLES, "style")
    if reduce is not None:
        one_of(reduce, ("sum", "mean"), "reduce")
    every, budget = _checkpoint(checkpoint)
    if checkpoint is not None and (style != "fast" or not chosen.checkpoints):
        able = listing(repr(one.name) for one in BACKENDS.values() if one.checkpoints)
        raise GraphcError(f"checkpoint= is for style='fast' and backend={able}; ask for these")
    switch(sparse, "sparse")
    if sparse and not chosen.sparse:
        able = listing(repr(one.name) for one in BACKENDS.values() if one.sparse)
        raise GraphcError(f"sparse=True gives scipy matrices; use backend={able}")
    if sparse and find_spec("scipy") is None:
        raise GraphcError("sparse=True gives scipy matrices; install it with 'pip install scipy'")
    if type(threads) is not int or not 1 <= threads <= MOST_THREADS:
        raise GraphcError(f"threads={threads!r} is not a number from 1 to {MOST_THREADS}")
    one_of(maths, MATHS, "maths")
    if maths != "libm" and not chosen.own_maths:
        able = listing(repr(one.name) for one in BACKENDS.values() if one.own_maths)
        raise GraphcError(
            f"maths={maths!r} puts our vector maths into a file of C; use backend={able}"
        )
    name = dtype_name(dtype)
    return Options(chosen, mode, style, name, reduce, sparse, every, budget, threads, maths)


def dtype_name(dtype: Any) -> str:
    """float32 or float64; None stands for the dtype of the arguments, float64 until known."""
    if dtype is None:
        return "float64"
    try:
        name = str(np.dtype(dtype).name)
    except (TypeError, ValueError):
        name = str(dtype)
    one_of(name, DTYPES, "dtype")
    return name


def _checkpoint(checkpoint: Any) -> tuple[int | None, int | None]:
    """(layers between checkpoints, bytes): one of them, or neither."""
    if checkpoint is None:
        return None, None
    if isinstance(checkpoint, int) and not isinstance(checkpoint, bool) and checkpoint >= 1:
        return checkpoint, None
    match = re.fullmatch(r"\s*([0-9.]+)\s*([kmg]?)i?b\s*", str(checkpoint).lower())
    try:
        size = float(match[1]) * UNITS[match[2]] if match else 0
    except ValueError:
        size = 0
    if not size >= 1:
        raise GraphcError(
            f"checkpoint={checkpoint!r} is neither a number of layers, such as 10, nor a size, "
            "such as '64MB'"
        )
    return None, int(size)
