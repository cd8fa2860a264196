"""Windows: convolutions, their transposes and pooling, as selections and contractions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import GraphcError
from ..shapes import concrete
from ..table.places import Index, Window
from ..table.value import Value
from .calling import layer, stated
from .constants import small_shape
from .linear import contract
from .reductions import max_, mean, min_
from .selections import pick, range_of


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
    small_shape(found.shape, what)
    return found


def _window_indices(
    name: str, x: Value, widths: Sequence[int], stride: Any, padding: Any, dilation: Any = 1
) -> list[Window]:
    """The windows along each of the trailing axes."""
    what = f"{name}: {stated(x)}"
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
        result = pick(result, axis, index)  # axes already split stand in front of this one
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
            f"{name}: {stated(x, w)}; give (batch, channels, {', '.join('HW'[-rank:])}) with a "
            f"kernel {kernel}{', '.join(('kh', 'kw')[-rank:])}), or both without channels"
        )
    if not bare and x.shape[-rank - 1] != w.shape[channels]:
        raise GraphcError(
            f"{name}: {stated(x, w)}; the input has {x.shape[-rank - 1]} channels but the kernel "
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
            w = pick(w, axis, range_of(range(widths[axis])[::-1], lambda: name))
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
            raise GraphcError(f"{name}: {stated(x, w)}; padding {borders[axis]} leaves nothing")
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
        raise GraphcError(f"{name}: size={size!r} does not fit; {stated(x)}")
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
            f"maxpool: {stated(x)}; with size={size} and padding={padding} a window is padding only"
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
