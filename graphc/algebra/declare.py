"""A user's own function: the same record as ours, traced once so that a mistake shows at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from ..errors import GraphcError
from ..names import checked
from ..table.functions import ALIASES, COMPOSED, FUNCTIONS, REAL, Function, Interval
from .rules import check_record


def declare(
    name: str,
    formula: Callable[..., Any],
    *,
    derivative: Callable[..., Any] | tuple[Callable[..., Any], ...] | None = None,
    kinks: Any = (),
    domain: Any = None,
    code: Mapping[str, str] | None = None,
    latex: str = "",
    stable: Callable[..., Any] | None = None,
    mark: str = "",
    doc: str = "",
) -> Function:
    """A user's function, with the same record as ours; text may use it by name."""
    if not isinstance(name, str) or not name.isascii():
        raise GraphcError(f"function name {name!r} must be a plain identifier such as 'swish'")
    checked(name)
    old = FUNCTIONS.get(name)
    if (old is not None and old.origin != "user") or name in ALIASES or name in COMPOSED:
        raise GraphcError(f"graphc has a function {name!r} already; choose another name")
    if code is not None and not isinstance(code, Mapping):
        raise GraphcError(f"code= of {name!r} takes a dict of back ends and texts")
    parameters = _parameters(name, "formula", formula)
    if any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters):
        raise GraphcError(f"the formula of {name!r} must take plain positional arguments")
    names = tuple(p.name for p in parameters)
    if not names:
        raise GraphcError(f"the formula of {name!r} takes no argument; give it at least one")
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    record = Function(
        name,
        parameters=names,
        defaults=defaults,
        formula=formula,
        stable=stable,
        derivative=None if derivative is None else _own_derivative(name, derivative, len(names)),
        switches=_switches(name, kinks, len(names)),
        domain=_domains(domain, len(names)),
        code=dict(code or {}),
        latex=latex,
        mark=mark,
        looks=True,  # nobody knows what the user's code does
        origin="user",
        doc=doc,
    )
    check_record(record)
    FUNCTIONS[name] = record
    return record


def _parameters(name: str, what: str, function: Any) -> tuple[inspect.Parameter, ...]:
    """The parameters of a function that a user gave."""
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise GraphcError(
            f"the {what} of {name!r} must be a Python function, such as lambda x: x*gc.sigmoid(x)"
        ) from None


def _domains(domain: Any, count: int) -> tuple[Interval, ...]:
    if domain is None:
        return (REAL,) * count
    if not isinstance(domain, (tuple, list)):
        raise GraphcError(f"domain={domain!r} must be a (low, high) pair per argument")
    given = (
        [domain]
        if count == 1 and len(domain) == 2 and not hasattr(domain[0], "__len__")
        else domain
    )
    if len(given) != count or any(len(interval) != 2 for interval in given):
        raise GraphcError(f"domain= wants one (low, high) pair per argument, {count} in all")
    return tuple((float(low), float(high)) for low, high in given)


def _switches(name: str, kinks: Any, count: int) -> Callable[..., Any] | None:
    """The user's kinks as expressions that are 0 there: a callable, or places on the real line."""
    if callable(kinks) or not kinks:
        return kinks or None
    if count != 1:
        raise GraphcError(
            f"{name!r} has {count} arguments: give kinks= as a function that is 0 on the kink"
        )
    try:
        places = tuple(Fraction(place) for place in kinks)
    except (TypeError, ValueError, OverflowError):
        raise GraphcError(
            f"kinks={kinks!r} of {name!r} must be a list of the places where the slope jumps"
        ) from None
    return lambda x: tuple(x - place for place in places)


def _own_derivative(name: str, derivative: Any, count: int) -> Callable[..., Any]:
    """The user's derivative(s) in the calling form of a record: (*operands, o) -> partials."""
    pieces = derivative if isinstance(derivative, (tuple, list)) else (derivative,)
    takes = [len(_parameters(name, "derivative", piece)) for piece in pieces]
    if any(take not in (count, count + 1) for take in takes) or len(pieces) not in (1, count):
        raise GraphcError(
            f"the derivative of {name!r} must take its {count} argument(s), optionally followed by "
            "the function's own value"
        )

    def partials(*operands_and_own: Any) -> Any:
        results = tuple(
            piece(*operands_and_own[:take]) for piece, take in zip(pieces, takes, strict=True)
        )
        return results[0] if len(results) == 1 else results

    return partials
