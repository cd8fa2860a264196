"""The one family of errors and the two warnings that graphc raises."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable


class GraphcError(ValueError):
    """Something the user declared or asked for cannot be done; the message says what to do next."""


class KinkWarning(UserWarning):
    """A derivative was taken exactly on a kink, where the function's convention decided it."""


class NotFiniteWarning(UserWarning):
    """A float computation gave infinity or NaN."""


def listing(names: Iterable[str], limit: int = 12) -> str:
    """The names joined by commas, cut after `limit` of them."""
    names = list(names)
    more = f", ... ({len(names)} in all)" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more if names else "none"


def nearest(name: str, names: Iterable[str]) -> str:
    """'; did you mean 'x'?' for the closest of the names, or nothing."""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def one_of(word: object, allowed: Collection[str], what: str) -> None:
    """Refuses a setting that is not one of the allowed words."""
    if not isinstance(word, str) or word not in allowed:
        raise GraphcError(f"{what}={on_one_line(word)} is not known; use one of {listing(allowed)}")


def switch(value: object, what: str) -> None:
    """Refuses a setting that is neither True nor False."""
    if not isinstance(value, bool):
        raise GraphcError(f"{what}={on_one_line(value)} is neither True nor False")


def on_one_line(value: object, limit: int = 60) -> str:
    """A value as Python shows it, cut to a length; an array would take several lines."""
    return " ".join(repr(value).split())[:limit]


def visible(text: str, limit: int = 60) -> str:
    """The text in quotes with control characters escaped and its length bounded."""
    return repr(text if len(text) <= limit else text[:limit] + "...")
