"""Random models from a seed: tensors that view, broadcast, share and reduce."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

import graphc as gc

from .model import Leaf, Model, Step, operands_of, without_unused
from .oracles import NUMPY
from .vocabulary import KINKED, SMOOTH, WORDS

MOST_ELEMENTS = 48
LARGEST = 40.0
NEAR = 1e-5  # a switch this close to a kink, but not on it, is decided by rounding
TRIES = 400


class _Draft:
    """A model under construction, with the values of its steps."""

    def __init__(
        self, rng: random.Random, words: Sequence[str], largest_rank: int, tied: bool = False
    ) -> None:
        self.rng = rng
        self.words = [WORDS[name] for name in words]
        self.largest_rank = largest_rank
        self.tied = tied  # whole numbers, so that kinks are met
        self.leaves: list[Leaf] = []
        self.steps: list[Step] = []
        self.values: dict[str, np.ndarray] = {}

    def declare_leaves(self) -> None:
        rng = self.rng
        sizes = {name: rng.choice([2, 3]) for name in ("n", "m")[: rng.choice([0, 0, 1, 2])]}
        pool = [*rng.sample([2, 3, 4], 2) * 3, 1]  # few sizes, so that operands fit each other
        if rng.random() < 0.03:
            pool.append(0)
        for name in "xyABCw"[: rng.randint(1, 2) if self.tied else rng.randint(2, 5)]:
            rank = rng.choice([0, 1, 1, 1, 2, 2, 2, 2, 3]) if rng.random() < 0.97 else 4
            rank = min(rank, self.largest_rank)
            shape: list[int | str] = [rng.choice(pool) for _ in range(rank)]
            if rank == 2 and rng.random() < 0.4:
                shape[1] = shape[0]  # square, so that transposes go unnoticed by shapes
            shape = [
                rng.choice(list(sizes)) if sizes and rng.random() < 0.3 else size for size in shape
            ]
            concrete = [sizes[s] if isinstance(s, str) else s for s in shape]
            drawn = np.array([rng.gauss(0.2, 1.0) for _ in range(int(np.prod(concrete)))])
            value = np.round(drawn, 3).reshape(concrete)
            if rank == 2 and concrete[0] == concrete[1]:
                value = value + 2 * np.eye(concrete[0])
            if rng.random() < 0.3:
                value = np.abs(value) + 0.1
            if self.tied:
                value = np.round(value)
            kind = rng.choice(["input", "param"])
            self.leaves.append(Leaf(name, kind, tuple(shape), value))
            self.values[name] = value

    def pick(self) -> str:
        """An earlier value, a recent one more likely."""
        names = list(self.values)
        return self.rng.choice([*names, *names[-3:], *names[-2:]])

    def add(self, named: bool) -> bool:
        """One more step that fits; False if none was found."""
        weights = [word.weight for word in self.words]
        for _ in range(TRIES):
            word = self.rng.choices(self.words, weights)[0]
            operands = tuple(self.pick() for _ in range(word.operands))
            name = f"h{len(self.steps) + 1}"
            step = self.drawn(name, word.name, operands, named or not operands)
            if step is not None:
                return True
        return False

    def drawn(
        self, name: str, word_name: str, operands: tuple[str, ...], named: bool
    ) -> Step | None:
        word, arrays = WORDS[word_name], [self.values[o] for o in operands]
        settings = word.draw(self.rng, arrays)
        if settings is None:
            return None
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                value = np.asarray(word.mean(NUMPY, arrays, settings), dtype=float)
            except (ValueError, IndexError, np.linalg.LinAlgError):
                return None
        if value.size > MOST_ELEMENTS or (not value.size and self.rng.random() < 0.9):
            return None
        if not np.all(np.abs(value) < LARGEST):
            return None
        if word.switch is not None:
            distance = np.abs(word.switch(arrays, settings))
            if np.any((distance > 0) & (distance < NEAR)):
                return None
            if np.any(distance == 0) and not self.tied and self.rng.random() < 0.9:
                return None
        step = Step(name, word_name, operands, settings, named)
        if not self.accepted(step):
            return None
        self.steps.append(step)
        self.values[name] = value
        return step

    def accepted(self, step: Step) -> bool:
        """Whether graphc takes the declaration; what it refuses is not drawn."""
        trial = replace(step, named=True)
        model = Model(tuple(self.leaves), (*self.steps, trial), step.name, step.name, ())
        try:
            gc.parse(model.text())
        except gc.GraphcError:
            return False
        return True

    def finish(self) -> Model:
        """A loss over everything that nothing uses yet, so that no step is dead."""
        used = operands_of(self.steps)
        ends = [s.name for s in self.steps if s.name not in used] or [self.steps[-1].name]
        parts = []
        for end in ends:
            value = self.values[end]
            word = "sum" if value.ndim else "identity"
            if self.rng.random() < 0.4:
                weights = self.rng.choice(["sin", "tanh", "square"])
                step = self.drawn(f"h{len(self.steps) + 1}", weights, (end,), False)
                end = step.name if step else end
            step = Step(f"h{len(self.steps) + 1}", word, (end,), {}, False)
            self.steps.append(step)
            self.values[step.name] = np.sum(value)
            parts.append(step.name)
        while len(parts) > 1:
            one, other, *parts = parts
            step = Step(f"h{len(self.steps) + 1}", "add", (one, other), {}, False)
            self.steps.append(step)
            parts.append(step.name)
        self.steps.append(Step("L", "identity", (parts[0],), {}, True))
        inner = [s.name for s in self.steps if s.named and s.operands]
        leaves = [leaf.name for leaf in self.leaves]
        node = self.rng.choice(inner)
        wrt = [*leaves, *self.rng.sample(inner, min(len(inner), self.rng.randint(0, 2)))]
        return Model(tuple(self.leaves), tuple(self.steps), "L", node, tuple(dict.fromkeys(wrt)))


ARITHMETIC = "negative add sub mul div scaled shifted divided power raised based"
CHOICES = "maximum minimum where clip atan2 logaddexp identity"
SCALARS = [*SMOOTH, *KINKED, *ARITHMETIC.split(), *CHOICES.split()]


def smooth_model(seed: int, words: Sequence[str] = tuple(WORDS), largest_rank: int = 4) -> Model:
    """A random graph at a point where everything is finite."""
    rng = random.Random(f"{len(words)} words {seed}")
    while True:
        draft = _Draft(rng, words, largest_rank)
        draft.declare_leaves()
        for _ in range(rng.randint(3, 10)):
            if not draft.add(named=rng.random() < 0.6):
                break
        if draft.steps:
            return draft.finish()


OFTEN = {"max": 60, "min": 60, "maxpool": 60}  # in tied models; other words with kinks: 5
TIED = [
    name
    for name, word in WORDS.items()
    for _ in range(OFTEN.get(name, 1 if word.switch is None else 5))
    if name != "atan2"  # it jumps where whole numbers meet its cut
]


def tied_model(seed: int) -> Model:
    """A small random graph of tensors on its kinks: ties, zeros, borders."""
    rng = random.Random(f"ties {seed}")
    while True:
        draft = _Draft(rng, TIED, 2, tied=True)
        draft.declare_leaves()
        for _ in range(rng.randint(1, 4)):
            if not draft.add(named=rng.random() < 0.6):
                break
        if draft.steps:
            return draft.finish()


POINTS = (0.0, -0.0, 1.0, -1.0, 0.75, 2.0, -2.0, 0.25, math.inf, -math.inf, math.nan)


def edge_model(seed: int) -> Model:
    """A random graph of scalars at a point where functions end, jump or bend."""
    rng = random.Random(f"scalars {seed}")
    leaves = [
        Leaf(name, rng.choice(["input", "param"]), (), np.array(rng.choice(POINTS)))
        for name in "xyz"[: rng.randint(1, 3)]
    ]
    names = [leaf.name for leaf in leaves]
    steps: list[Step] = []
    for _ in range(rng.randint(1, 5)):
        word = WORDS[rng.choice(SCALARS)]
        operands = tuple(rng.choice([*names, *names[-2:]]) for _ in range(word.operands))
        ones = [np.array(1.0)] * word.operands  # settings as if every operand were inside
        settings = word.draw(rng, ones)
        if settings is None:
            settings = {}
        name = f"h{len(steps) + 1}"
        steps.append(Step(name, word.name, operands, settings, rng.random() < 0.7))
        names.append(name)
    steps[-1] = replace(steps[-1], named=True)
    loss = steps[-1].name
    wrt = tuple(leaf.name for leaf in leaves)
    return without_unused(Model(tuple(leaves), tuple(steps), loss, loss, wrt, edge=True))


def model_of(seed: int) -> Model:
    """The model of a seed: most have tensors; some are scalars, some at an edge, some on kinks."""
    if seed % 8 == 3:
        return edge_model(seed)
    if seed % 8 == 5:
        return tied_model(seed)
    if seed % 8 == 7:
        return smooth_model(seed, SCALARS, largest_rank=0)
    return smooth_model(seed)


def scalar_seeds(first: int) -> Iterator[int]:
    """The seeds of graphs without tensors, at edges and elsewhere."""
    return (seed for seed in itertools.count(first) if seed % 8 in (3, 7))
