"""Operands as columns of numbers are the list of tuples that they stand for."""

import numpy as np
import pytest

import graphc as gc
from graphc.structure.columns import AT_ONCE, OperandColumns, numbers_of

BEFORE = [(), (), (0, 1)]
PAIRS = np.array([[0, -1], [1, 2], [3, 3], [4, -1]])


def both():
    listed = [*BEFORE, (0,), (1, 2), (3, 3), (4,)]
    return OperandColumns(list(BEFORE), PAIRS), listed


def test_it_reads_like_the_list():
    columns, listed = both()
    for made in (columns, listed):
        made.append((5, 6))
        made.extend([(7,), (0, 1, 2)])
    assert list(columns) == listed
    assert [columns[row] for row in range(len(listed))] == listed
    assert all(type(number) is int for operands in columns for number in operands)
    assert len(columns) == len(listed)
    for row in (-1, len(listed)):
        with pytest.raises(IndexError):
            columns[row]
    np.testing.assert_array_equal(numbers_of(columns), numbers_of(listed))


def test_a_copy_is_independent():
    columns, listed = both()
    other = columns.copy()
    other[4], other[1] = (), (0,)
    other.append((1,))
    assert list(columns) == listed
    changed = [*listed, (1,)]
    changed[4], changed[1] = (), (0,)
    assert list(other) == changed
    assert other[4] == () and columns[4] == (1, 2)
    np.testing.assert_array_equal(numbers_of(other), numbers_of(changed))
    with pytest.raises(IndexError):
        other[99] = ()


def test_many_rows_come_in_several_pieces():
    count = 2 * AT_ONCE + 3
    pairs = np.stack([np.arange(count), np.where(np.arange(count) % 3, -1, 0)], axis=1)
    listed = [(a,) if k % 3 else (a, 0) for k, a in enumerate(range(count))]
    assert list(OperandColumns([], pairs)) == listed


def test_a_graph_from_arrays_is_the_graph_from_text():
    operands = [[0, 1], [2, -1], [3, 2], [4, 0]]
    arrays = gc.from_arrays(2, ["mul", "sin", "sub", "add"], operands)
    text = gc.parse("input x0 x1\nn2 = x0*x1\nn3 = sin(n2)\nn4 = n3 - n2\nn5 = n4 + x0")
    assert arrays.to_text() == text.to_text()
    at = {"x0": 0.5, "x1": 2}
    assert arrays.reverse("n5", at) == text.reverse("n5", at)
    assert arrays.all_pairs(at) == text.all_pairs(at)
    for graph in (arrays, text):
        graph.node("z", "n5*where(n3 > 0, x0, x1)")
    assert arrays.expand().reverse("z", at) == text.expand().reverse("z", at)
    points = {"x0": np.linspace(0, 1, 5), "x1": 2.0}
    found, expected = (g.compile("z", ["x0"])(**points) for g in (arrays, text))
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1]["x0"], expected[1]["x0"])
    assert arrays.collapse("n3").to_text() == text.collapse("n3").to_text()
    assert arrays.untie("x0").to_text() == text.untie("x0").to_text()
