"""Losses of classes: how far a distribution is from another."""

from __future__ import annotations

from ..errors import GraphcError
from ..table.functions import log
from ..table.value import Value
from .calling import layer, stated
from .reductions import log_softmax, sum_


def _checked_distribution(name: str, p: Value, y: Value) -> None:
    if p.shape[-1:] != y.shape[-1:] or not p.shape:
        raise GraphcError(
            f"{name}: {stated(p, y)}; both need the same last axis, one entry per class"
        )


@layer(2)
def cross_entropy(p: Value, y: Value) -> Value:
    """-sum(y * log(p)) over the last axis; y is a distribution."""
    _checked_distribution("cross_entropy", p, y)
    likelihood: Value = sum_(y * log(p), axis=-1)
    return -likelihood


@layer(2)
def softmax_cross_entropy(z: Value, y: Value) -> Value:
    """The cross-entropy of softmax(z), computed without overflow."""
    _checked_distribution("softmax_cross_entropy", z, y)
    likelihood: Value = sum_(y * log_softmax(z), axis=-1)
    return -likelihood
