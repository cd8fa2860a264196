"""JavaScript: the programs of a page; tensors are loops over flat arrays."""

from __future__ import annotations

from ... import rewrites
from ...backend import Backend, Passes


def passes(style: str, points: bool) -> Passes:
    """The rewrites: composed functions, a user's too, as what they are made of."""
    stable = rewrites.stable(lambda record: "javascript" in record.native)
    return (stable, rewrites.FOLD_ALL, rewrites.UNITS)


JAVASCRIPT = Backend("javascript", passes)
