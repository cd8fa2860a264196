"""JavaScript: the programs of a page; tensors are loops over flat arrays."""

from __future__ import annotations

from ....algebra.rewrites import UNITS
from ...backend import Backend, Passes
from ...passes import FOLD_ALL, stable


def passes(style: str, points: bool) -> Passes:
    """The rewrites: composed functions, a user's too, as what they are made of."""
    return (stable(lambda record: "javascript" in record.native), FOLD_ALL, UNITS)


JAVASCRIPT = Backend("javascript", passes)
