"""NumPy, with the functions of our vector maths in the place of its own: for code that is run.

A function takes an array and out=, as NumPy's do. Short arrays go to NumPy where it has the
function: the call of C would cost more than the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SHORT = 300  # elements below which NumPy's own function is called
FEW = 8  # elements of an axis below which NumPy, too, takes them one after the other
WIDE = {np.dtype(np.float64): 1, np.dtype(np.float32): 0}


def array_function(code: int, plain: Callable[..., Any] | None) -> Callable[..., Any]:
    """The function of arrays that a kernel computes; `plain` is NumPy's, if it has one."""
    from .library import address, native  # ctypes, which not every Python has, is needed only here

    library = native().library

    def function(x: Any, out: Any = None) -> Any:
        array = np.asarray(x)
        if plain is not None and array.size < SHORT:
            return plain(x) if out is None else plain(x, out=out)
        wide = WIDE.get(array.dtype)
        if wide is None:
            array = array.astype(np.float64)
            wide = 1
        if not (array.flags.c_contiguous and array.flags.aligned):
            array = np.require(array, requirements=("C", "A"))
        source = address(array)
        fits = out is not None and out.dtype == array.dtype and out.flags.c_contiguous
        fits = fits and out.shape == array.shape
        target = address(out) if fits else source
        if not fits or 0 < abs(target - source) < array.nbytes:  # they overlap
            result = np.empty(array.shape, array.dtype)
            target = address(result)
        else:
            result = out
        library.graphc_vector(code, wide, target, source, array.size)
        if out is not None and result is not out:
            out[...] = result
            return out
        return result if result.ndim else result[()]

    return function


def several(count: int, shape: tuple[int, ...], dtype: Any) -> list[Any]:
    """Arrays of one kind, one after the other in memory."""
    return list(np.empty((count, *shape), dtype))


def seen(view: Any, whole: Any) -> Any:
    """A view, of which it is certain that it shows what stands in an array now and later."""
    if view.size and not np.may_share_memory(view, whole):
        raise ValueError("a view of an array is a copy of it")
    return view


def reduction(step: Any, start: float) -> Callable[..., Any]:
    """NumPy's reduction, which takes a short last axis slice by slice: the same steps, faster.

    NumPy begins anew for each result, however few numbers there are for it.
    """
    plain = step.reduce

    def function(x: Any, axis: Any = None, out: Any = None, **more: Any) -> Any:
        if more or type(x) is not np.ndarray or x.ndim < 2 or x.dtype not in WIDE:
            return plain(x, axis=axis, out=out, **more)
        if axis not in (-1, x.ndim - 1) or not 0 < x.shape[-1] < FEW:
            return plain(x, axis=axis, out=out)
        result = step(x[..., 0], start, out=out)
        for place in range(1, x.shape[-1]):
            step(result, x[..., place], out=result)
        return result

    return function


sum = reduction(np.add, 0.0)
max = reduction(np.maximum, -np.inf)


def __getattr__(name: str) -> Any:
    """Everything else is NumPy's, and stays here once it was asked for."""
    found = globals()[name] = getattr(np, name)
    return found
