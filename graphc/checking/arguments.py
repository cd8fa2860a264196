"""Arguments of any function: a bare array, a dict, or a list, as flat floats and back again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import GraphcError, listing
from .claims import to_array

BARE = "x"  # the name of the argument if a bare array was given


@dataclass(frozen=True)
class Arguments:
    """How a point is handed to a function: the names, the originals, and the way to call."""

    kind: str  # bare, dict or list
    originals: dict[str, Any]
    moving: tuple[str, ...]  # those that are real numbers

    @property
    def dtype(self) -> Any:
        """The coarsest float type among the arguments."""
        kinds = [np.dtype(_dtype_name(self.originals[name])) for name in self.moving]
        return max(kinds, key=lambda d: np.finfo(d).eps, default=np.dtype("float64"))

    def arrays(self) -> dict[str, Any]:
        """{name: array of float64} of the arguments that can be moved."""
        return {name: to_array(self.originals[name], f"at: {name!r}") for name in self.moving}

    def call(self, function: Callable[..., Any], arrays: Mapping[str, Any], wide: bool) -> Any:
        """The function at a point; `wide` hands over float64 whatever the original type."""
        values = {
            name: _like(original, arrays[name], wide) if name in arrays else original
            for name, original in self.originals.items()
        }
        if self.kind == "bare":
            return function(values[BARE])
        return function(**values) if self.kind == "dict" else function(*values.values())


def arguments(function: Any, at: Any) -> Arguments:
    """The arguments that a user's `at` stands for."""
    if isinstance(at, Mapping):
        originals = {str(name): value for name, value in at.items()}
        kind = "dict"
    elif isinstance(at, (list, tuple)) and not all(_is_number(part) for part in at):
        kind = "list"
        originals = dict(zip(_parameter_names(function, len(at)), at, strict=True))
    else:
        kind = "bare"
        originals = {BARE: np.asarray(at, float) if isinstance(at, (list, tuple)) else at}
    moving = tuple(name for name, value in originals.items() if _is_real(value))
    if not moving:
        raise GraphcError(
            "at: there is no argument of real numbers to move; give an array, or a dict of arrays"
        )
    return Arguments(kind, originals, moving)


def _parameter_names(function: Any, count: int) -> list[str]:
    try:
        found = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        found = []
    return found[:count] if len(found) >= count else [f"x{i}" for i in range(count)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    """Whether an argument is made of real numbers (whole ones given as plain numbers too)."""
    if _is_number(value):
        return True
    if isinstance(value, (bool, str, bytes)) or value is None or callable(value):
        return False
    name = _dtype_name(value)
    return name.startswith("float") or name == "bfloat16" or name.startswith("int")


def _dtype_name(value: Any) -> str:
    """The name of an element's type, also for tensors of torch and jax."""
    if isinstance(value, (list, tuple)):
        return "float64"
    name = str(getattr(value, "dtype", "float64")).rpartition(".")[2]
    if name.startswith(("int", "uint", "bool")):
        return "float64" if not name.startswith("bool") else "bool"
    return "float16" if name == "bfloat16" else name


def _like(original: Any, values: Any, wide: bool) -> Any:
    """Values in the type of the original; `wide`: in float64."""
    module = type(original).__module__.partition(".")[0]
    if module == "torch":
        import torch

        chosen = torch.float64 if wide or not original.dtype.is_floating_point else original.dtype
        return torch.tensor(np.array(values), dtype=chosen, device=original.device)
    if module in ("jax", "jaxlib"):
        import jax.numpy

        return jax.numpy.asarray(values, dtype=None if wide else original.dtype)
    if not getattr(original, "shape", ()) and not isinstance(original, (np.ndarray, list, tuple)):
        exact = type(original) if isinstance(original, np.floating) and not wide else float
        return exact(values)
    dtype = getattr(original, "dtype", np.dtype(float))
    chosen = dtype if np.issubdtype(dtype, np.floating) and not wide else np.dtype(float)
    return np.array(values, dtype=chosen)


def output(value: Any) -> Any:
    """What a function returned, as an array of floats."""
    if isinstance(value, (tuple, list)) and any(np.ndim(part) for part in value):
        return np.concatenate([np.ravel(to_array(part, "an output")) for part in value])
    return to_array(value, "the value of the function")


def claims(args: Arguments, grad: Any, notes: list[str]) -> dict[str, Any]:
    """{argument: claimed derivative} from whatever the gradient returned."""
    if isinstance(grad, Mapping):
        unknown = [str(name) for name in grad if str(name) not in args.originals]
        if unknown:
            raise GraphcError(
                f"the gradient has {listing(unknown)}, which at= has not "
                f"(arguments: {listing(args.originals)})"
            )
        found = {str(name): value for name, value in grad.items() if str(name) in args.moving}
    elif isinstance(grad, (tuple, list)) and len(args.originals) > 1:
        names = args.originals if len(grad) == len(args.originals) else args.moving
        if len(grad) != len(names):
            raise GraphcError(
                f"the gradient has {len(grad)} parts for {len(args.originals)} arguments "
                f"({listing(args.originals)}); return one for each, None for those without"
            )
        pairs = zip(names, grad, strict=True)
        found = {name: part for name, part in pairs if name in args.moving and part is not None}
    elif len(args.moving) == 1:
        alone = isinstance(grad, (tuple, list)) and len(grad) == 1 and args.kind != "bare"
        found = {args.moving[0]: grad[0] if alone else grad}
    else:
        raise GraphcError(
            f"the gradient returned one {type(grad).__name__} for {len(args.moving)} arguments; "
            "return a dict by name, or a tuple in their order"
        )
    left = [name for name in args.moving if name not in found]
    if left:
        notes.append(f"not checked, because the gradient leaves them out: {listing(left)}")
    return {name: to_array(value, f"the gradient by {name!r}") for name, value in found.items()}


def derived_by_library(function: Callable[..., Any], args: Arguments) -> Callable[..., Any] | None:
    """The gradient that torch or jax derives by itself, if the arguments are theirs."""
    modules = {type(args.originals[n]).__module__.partition(".")[0] for n in args.moving}
    if modules == {"torch"}:
        import torch

        def gradient(*values: Any, **named: Any) -> Any:
            everything = [v.requires_grad_() for v in (*values, *named.values())]
            value = function(*values, **named)
            found = torch.autograd.grad(value, everything, allow_unused=True)
            pairs = zip(found, everything, strict=True)
            parts = [torch.zeros_like(v) if g is None else g for g, v in pairs]
            if named:
                return dict(zip(named, parts, strict=True))
            return parts if len(parts) > 1 else parts[0]

        return gradient
    if modules <= {"jax", "jaxlib"}:
        import jax

        if args.kind == "dict":
            return lambda **named: jax.grad(lambda d: function(**d))(named)
        places = tuple(range(len(args.originals)))
        derived: Callable[..., Any] = jax.grad(function, places if len(places) > 1 else 0)
        return derived
    return None
