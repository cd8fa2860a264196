"""The smallest model that still shows a difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

import graphc as gc

from .model import Leaf, Model, Step, without_unused
from .oracles import NUMPY

MOST_TRIALS = 400


def smallest(model: Model, fails: Callable[[Model], bool]) -> Model:
    """A model that fails and of which no smaller neighbour does."""
    trials = 0
    while True:
        for candidate in _smaller(model):
            trials += 1
            if trials > MOST_TRIALS:
                return model
            if _is_declarable(candidate) and fails(candidate):
                model = candidate
                break
        else:
            return model


def _smaller(model: Model) -> Iterator[Model]:
    """Models with less in them, the largest cuts first."""
    pruned = without_unused(model)
    if len(pruned.leaves) + len(pruned.steps) < len(model.leaves) + len(model.steps):
        yield pruned
    leaves = {leaf.name for leaf in model.leaves}
    for name in model.wrt:
        if len(model.wrt) > 1:
            yield replace(model, wrt=tuple(n for n in model.wrt if n != name))
    if model.node != model.loss:
        yield replace(model, node=model.loss)
    with np.errstate(all="ignore"):
        values = model.run(NUMPY, {leaf.name: leaf.value for leaf in model.leaves})
    for place in reversed(range(len(model.steps))):
        step = model.steps[place]
        for other in [*step.operands, *(leaf.name for leaf in model.leaves)]:
            if np.shape(values[other]) == np.shape(values[step.name]):
                yield from _rewired(model, place, other, leaves)
    for place, step in enumerate(model.steps):
        if not step.named:
            yield _with_step(model, place, replace(step, named=True))
    for place, leaf in enumerate(model.leaves):
        if model.edge:
            break
        whole = np.where(np.round(leaf.value) == 0, 1.0, np.round(leaf.value))
        for value in (whole, np.round(leaf.value, 1)):
            if not np.array_equal(value, leaf.value):
                yield _with_leaf(model, place, replace(leaf, value=value))
        if any(isinstance(size, str) for size in leaf.shape):
            yield _with_leaf(model, place, replace(leaf, shape=leaf.value.shape))


def _rewired(model: Model, place: int, other: str, leaves: set[str]) -> Iterator[Model]:
    """The model with a step left out and another value of its shape in its place."""
    gone = model.steps[place].name

    def renamed(name: str) -> str:
        return other if name == gone else name

    steps = tuple(
        replace(step, operands=tuple(map(renamed, step.operands)))
        for step in (*model.steps[:place], *model.steps[place + 1 :])
    )
    named = leaves | {step.name for step in steps if step.named}
    if model.loss == gone and other not in named:
        steps = tuple(replace(step, named=True) if step.name == other else step for step in steps)
        named |= {other}
    wrt = tuple(dict.fromkeys(n for n in map(renamed, model.wrt) if n in named))
    loss, node = renamed(model.loss), renamed(model.node)
    if loss in leaves or node not in named or not wrt:
        return
    node = loss if node in leaves else node
    yield replace(model, steps=steps, loss=loss, node=node, wrt=wrt)


def _with_step(model: Model, place: int, step: Step) -> Model:
    return replace(model, steps=(*model.steps[:place], step, *model.steps[place + 1 :]))


def _with_leaf(model: Model, place: int, leaf: Leaf) -> Model:
    return replace(model, leaves=(*model.leaves[:place], leaf, *model.leaves[place + 1 :]))


def _is_declarable(model: Model) -> bool:
    try:
        with np.errstate(all="ignore"):
            values = model.run(NUMPY, {leaf.name: leaf.value for leaf in model.leaves})
        gc.parse(model.text())
    except (gc.GraphcError, ValueError, IndexError, np.linalg.LinAlgError):
        return False
    return model.edge or all(np.all(np.isfinite(value)) for value in values.values())
