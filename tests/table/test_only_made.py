"""Operations that nobody can declare: only derivatives and programs have them."""

from fractions import Fraction

import numpy as np
import pytest

from graphc.algebra.arithmetic import NUMBERS
from graphc.table.places import Places, Slice
from graphc.table.tensors import OPERATIONS, Local

PARTS = [  # the shape of the part, and where it goes in a whole of (3, 4)
    ((2, 4), {"index": Slice(1, 2), "axis": -2, "size": 3}),
    ((3, 2), {"index": Places((3, 0)), "axis": -1, "size": 4}),
    ((4,), {"index": Places(2), "axis": -2, "size": 3}),
]


def exact(shape):
    chance = np.random.default_rng(0)
    numbers = [Fraction(int(n), 3) for n in chance.integers(-9, 9, int(np.prod(shape)))]
    return np.array(numbers, dtype=object).reshape(shape)


@pytest.mark.parametrize("whole", [(3, 4), ()])
@pytest.mark.parametrize(("shape", "settings"), PARTS)
def test_accumulate_is_the_sum_with_a_scattered_part(shape, settings, whole):
    """Its value, and <w, push v> = <pull w, v> for each operand."""
    args = [exact(whole) if whole else Fraction(2, 3), exact(shape)]
    placed = NUMBERS.apply("scatter", (args[1],), settings)
    value = NUMBERS.apply("accumulate", args, settings)
    assert (value == args[0] + placed).all()
    record, adjoint = OPERATIONS["accumulate"], exact((3, 4))[::-1]
    here = Local(settings=settings, shapes=[whole, shape], shape=(3, 4), algebra=NUMBERS, args=args)
    for k, tangent in enumerate(args):
        pushed, pulled = record.push(here, k, tangent), record.pull(here, k, adjoint)
        pushed, pulled = (getattr(found, "values", found) for found in (pushed, pulled))
        assert (adjoint * pushed).sum() == np.sum(pulled * tangent)
