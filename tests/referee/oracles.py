"""Array libraries under one set of names, and what jax and torch say of a model."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .case import Answers, second_key, slope_key, value_key
from .model import Model


class Numpy:
    """NumPy, with the few functions whose names differ between libraries."""

    linalg = np.linalg

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def erf(self, x: Any) -> Any:
        return np.vectorize(math.erf, otypes=[float])(x)

    def diagonal_matrix(self, x: Any) -> Any:
        return np.diag(x)

    def indexed(self, x: Any, index: tuple[Any, ...]) -> Any:
        return x[index]

    def padded(self, x: Any, widths: Any) -> Any:
        return np.pad(x, widths)

    def stop(self, x: Any) -> Any:
        return x


class Jax(Numpy):
    """jax.numpy."""

    def __init__(self) -> None:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_disable_most_optimizations", True)  # each function runs once
        self.jax, self.jnp, self.linalg = jax, jnp, jnp.linalg

    def __getattr__(self, name: str) -> Any:
        return getattr(self.jnp, name)

    def erf(self, x: Any) -> Any:
        return self.jax.scipy.special.erf(x)

    def diagonal_matrix(self, x: Any) -> Any:
        return self.jnp.diag(x)

    def padded(self, x: Any, widths: Any) -> Any:
        return self.jnp.pad(x, widths)

    def stop(self, x: Any) -> Any:
        return self.jax.lax.stop_gradient(x)

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """The largest elements, found by their place.

        jax finds them by comparing with the maximum, which it computes anew: rounded otherwise
        there, no element is the largest, and the slope is 0 / 0.
        """
        jnp, rank = self.jnp, x.ndim
        axes = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
        gone = sorted(each % rank for each in axes)
        kept = [each for each in range(rank) if each not in gone]
        flat = jnp.transpose(x, (*kept, *gone)).reshape(*(x.shape[each] for each in kept), -1)
        place = jnp.argmax(flat, axis=-1, keepdims=True)
        found = jnp.take_along_axis(flat, place, axis=-1)[..., 0]
        return jnp.expand_dims(found, gone) if keepdims else found

    def min(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return -self.max(-x, axis, keepdims)


class Torch:
    """torch, as far as the vocabulary needs it."""

    def __init__(self) -> None:
        import torch

        self.torch, self.linalg = torch, torch.linalg

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def array(self, value: Any) -> Any:
        return self.torch.as_tensor(np.asarray(value), dtype=self.torch.float64)

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.torch.sum(x, dim=self._axes(x, axis), keepdim=keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.torch.mean(x, dim=self._axes(x, axis), keepdim=keepdims)

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.torch.amax(x, dim=self._axes(x, axis), keepdim=keepdims)

    def min(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.torch.amin(x, dim=self._axes(x, axis), keepdim=keepdims)

    def prod(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        for place in sorted(self._axes(x, axis), reverse=True):
            x = self.torch.prod(x, dim=place, keepdim=keepdims)
        return x

    def _axes(self, x: Any, axis: Any) -> tuple[int, ...]:
        axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
        return tuple(a % x.ndim for a in axes)

    def power(self, base: Any, exponent: Any) -> Any:
        return self.torch.pow(base, exponent)

    def arcsin(self, x: Any) -> Any:
        return self.torch.asin(x)

    def arccos(self, x: Any) -> Any:
        return self.torch.acos(x)

    def arctan(self, x: Any) -> Any:
        return self.torch.atan(x)

    def arctan2(self, y: Any, x: Any) -> Any:
        return self.torch.atan2(*self.torch.broadcast_tensors(y, x))

    def transpose(self, x: Any) -> Any:
        return x.permute(*reversed(range(x.ndim)))

    def concatenate(self, parts: Sequence[Any], axis: int) -> Any:
        return self.torch.cat(list(parts), dim=axis)

    def stack(self, parts: Sequence[Any], axis: int) -> Any:
        return self.torch.stack(list(parts), dim=axis)

    def take(self, x: Any, places: Any, axis: int) -> Any:
        index: list[Any] = [slice(None)] * x.ndim
        index[axis] = self.torch.as_tensor(places)
        return x[tuple(index)]

    def indexed(self, x: Any, index: tuple[Any, ...]) -> Any:
        """Basic indexing; torch has no negative steps."""
        axis, plain = 0, []
        for part in index:
            if isinstance(part, slice) and (part.step or 1) < 0:
                x = self.torch.flip(x, dims=(axis,))
                part = slice(None)
            plain.append(part)
            axis += part is not None
        return x[tuple(plain)]

    def padded(self, x: Any, widths: Any) -> Any:
        flat = [n for pair in reversed(list(widths)) for n in pair]
        return self.torch.nn.functional.pad(x, flat)

    def diagonal_matrix(self, x: Any) -> Any:
        return self.torch.diag(x)

    def stop(self, x: Any) -> Any:
        return x.detach()


NUMPY = Numpy()


@lru_cache(1)
def _jax() -> Jax:
    return Jax()


@lru_cache(1)
def _torch() -> Torch:
    return Torch()


def installed() -> tuple[str, ...]:
    """The libraries that can give a second opinion here."""
    return tuple(name for name in ("jax", "torch") if importlib.util.find_spec(name))


def answers(library: str, model: Model, second: bool) -> Answers:
    """Values, gradients, a Jacobian, and a Hessian if it is asked for."""
    return _jax_answers(model, second) if library == "jax" else _torch_answers(model, second)


def _keyed(model: Model, values: Any, slopes: Any, matrices: Any, second: Any) -> Answers:
    leaves = model.leaf_names()
    found = {value_key(name): np.asarray(values[name]) for name in model.names()}
    found |= {slope_key(model.loss, name): np.asarray(slopes[name]) for name in model.wrt}
    found |= {slope_key(model.node, name): np.asarray(matrices[name]) for name in leaves}
    if second is not None:
        for one in leaves:
            for other in leaves:
                found[second_key(model.loss, one, other)] = np.asarray(second[one][other])
    return found


def _jax_answers(model: Model, second: bool) -> Answers:
    xp = _jax()
    jax = xp.jax
    values = {leaf.name: xp.array(leaf.value) for leaf in model.leaves}
    plain = model.run(NUMPY, {leaf.name: leaf.value for leaf in model.leaves})
    nudges = {name: xp.array(np.zeros(np.shape(plain[name]))) for name in model.wrt}

    def everything(values: Any, nudges: Any) -> Any:
        def loss(nudges: Any, values: Any) -> Any:
            found = model.run(xp, values, nudges)
            return xp.reshape(found[model.loss], ()), found

        slopes, found = jax.grad(loss, has_aux=True)(nudges, values)
        matrices = jax.jacrev(lambda v: model.run(xp, v)[model.node])(values)
        hessian = None
        if second:
            hessian = jax.hessian(lambda v: loss({}, v)[0])(values)
        return found, slopes, matrices, hessian

    return _keyed(model, *jax.jit(everything)(values, nudges))


def _torch_answers(model: Model, second: bool) -> Answers:
    xp = _torch()
    torch = xp.torch
    names = model.leaf_names()
    values = {leaf.name: xp.array(leaf.value) for leaf in model.leaves}
    plain = model.run(NUMPY, {leaf.name: leaf.value for leaf in model.leaves})
    nudges = {
        name: xp.array(np.zeros(np.shape(plain[name]))).requires_grad_() for name in model.wrt
    }
    found = model.run(xp, values, nudges)
    loss = found[model.loss].reshape(())
    slopes = dict.fromkeys(model.wrt)
    if loss.requires_grad:
        gradients = torch.autograd.grad(loss, list(nudges.values()), allow_unused=True)
        slopes = dict(zip(nudges, gradients, strict=True))
    slopes = {k: np.zeros(np.shape(plain[k])) if g is None else g for k, g in slopes.items()}

    def at(name: str) -> Any:
        return lambda *leaves: model.run(xp, dict(zip(names, leaves, strict=True)))[name]

    given = tuple(values[name] for name in names)
    if found[model.node].numel():
        matrices = torch.autograd.functional.jacobian(at(model.node), given)
    else:  # torch stacks rows, and has none to stack
        matrices = [np.zeros((*found[model.node].shape, *leaf.shape)) for leaf in given]
    hessian = None
    if second:
        blocks = torch.autograd.functional.hessian(
            lambda *leaves: at(model.loss)(*leaves).reshape(()), given
        )
        hessian = {
            one: {other: blocks[i][j] for j, other in enumerate(names)}
            for i, one in enumerate(names)
        }
    detached = {k: v.detach() for k, v in found.items()}
    return _keyed(model, detached, slopes, dict(zip(names, matrices, strict=True)), hessian)
