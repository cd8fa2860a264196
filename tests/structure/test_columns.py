"""Columns of very many rows are the lists that they stand for."""

import random
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphc as gc
from graphc.structure import columns
from graphc.structure.columns import NameColumn, OperandColumns, coded, numbers_of

NAMES = ("add", "mul", "sin", "input", "const", "where", "pow")
ROWS = st.lists(st.integers(0, 2**31 - 1), max_size=5).map(tuple)
KINDS = {NameColumn: st.sampled_from(NAMES), OperandColumns: ROWS}


def shorten(patch):
    """Graphs of nine rows are packed into blocks of four, which are read three at a time."""
    for name, rows in (("MANY", 9), ("BLOCK", 4), ("AT_ONCE", 3)):
        patch.setattr(columns, name, rows)


@pytest.fixture
def short(monkeypatch):
    shorten(monkeypatch)


def assert_same(found, listed):
    assert len(found) == len(listed)
    assert list(found) == listed
    assert [found[row] for row in range(len(listed))] == listed
    assert [found[row] for row in range(-len(listed), 0)] == listed
    assert list(reversed(found)) == listed[::-1]
    for row in (len(listed), len(listed) + 9, -len(listed) - 1):
        with pytest.raises(IndexError):
            found[row]
        with pytest.raises(IndexError):
            found[row] = listed[0] if listed else ()
    if isinstance(found, NameColumn):
        known = {"add": 3, "where": 0, "sin": 7}
        np.testing.assert_array_equal(coded(found, known), coded(listed, known))
        assert [name in found for name in NAMES] == [name in listed for name in NAMES]
    else:
        assert all(type(row) is int for operands in found for row in operands)
        for first in range(0, len(listed) + 1, 3):
            for last in range(first, len(listed) + 1):
                expected = numbers_of(listed, first, last)
                np.testing.assert_array_equal(numbers_of(found, first, last), expected)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_it_does_what_a_list_does(kind, data):
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        items = KINDS[kind]
        listed = data.draw(st.lists(items, max_size=9))
        pairs = [(kind(listed), listed)]  # of a column and the list that it stands for
        for _ in range(data.draw(st.integers(0, 12))):
            found, listed = data.draw(st.sampled_from(pairs))
            step = data.draw(st.sampled_from(("append", "extend", "set", "pack", "copy", "read")))
            if step == "append":
                item = data.draw(items)
                found.append(item)
                listed.append(item)
            elif step == "extend":
                more = data.draw(st.lists(items, max_size=9))
                found.extend(iter(more))
                listed.extend(more)
            elif step == "set" and listed:
                row = data.draw(st.integers(-len(listed), len(listed) - 1))
                found[row] = listed[row] = data.draw(items)
            elif step == "pack":
                found.pack()
            elif step == "copy":
                pairs.append((found.copy(), listed.copy()))
        for found, listed in pairs:
            assert_same(found, listed)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_where_they_were_when_they_are_packed_under_a_reader(kind, short):
    listed = [(0,), (1, 2), (3,)] if kind is OperandColumns else ["a", "b", "c"]
    found, expected = kind(listed), listed * 9
    reader = iter(found)
    seen = list(islice(reader, 2))
    for item in expected[3:]:  # more than a block, and nobody packs
        found.append(item)
    seen += list(islice(reader, 2))
    found.pack()
    assert seen + list(reader) == expected


def test_more_names_than_a_byte_has(short):
    listed = [f"name{k % 300}" for k in range(1000)]
    assert_same(NameColumn(listed), listed)


def test_pairs_are_appended_as_they_are(short):
    for before in range(6):
        for count in range(12):
            pairs = np.array([[k, -1 if k % 3 else k + 1] for k in range(count)]).reshape(-1, 2)
            listed = [()] * before
            found = OperandColumns(listed)
            found.extend_pairs(pairs)
            found.append((7,))
            assert_same(found, [*listed, *((a,) if b < 0 else (a, b) for a, b in pairs), (7,)])


def test_blocks_are_shared_by_copies(short):
    found = OperandColumns([(k,) for k in range(9)])
    other = found.copy()
    other[0] = (5, 6, 7)
    assert other.blocks[0] is found.blocks[0]
    assert (found[0], other[0]) == ((0,), (5, 6, 7))


# Graphs.

TEXT = """
input x y
param w = 3/2
k = 2
a = x*y + w
b = where(a > x, a**3, maximum(x, y, w, k))
c = sqrt(a**2 + 1) + b**(1/3)*k
q = exp(-c)
d q / d c = -q
h = sin(a)*relu(b - c) + pi*k**2 + 0*x
e = maximum(h, a) + minimum(q, w) + 7/3
"""
AT = {"x": 0.5, "y": 2.0}
EXACT = """
input x y
param w = 3/2
a = x*y + w
b = where(a > x, a**3, maximum(x, y, w, 2))
c = (a**2 + 1)/b + 0*x
d = relu(b - c) + c**2*7/3
e = maximum(d, a) - minimum(b, w)
"""


def both(make, monkeypatch):
    """A graph whose rows are packed, and the same in lists."""
    plain = make()
    with monkeypatch.context() as patch:
        shorten(patch)
        packed = make()
    assert isinstance(plain.ops, list) and isinstance(packed.ops, NameColumn)
    assert packed.ops.blocks
    return packed, plain


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


def test_every_verb_reads_packed_rows(monkeypatch):
    packed, plain = both(lambda: gc.parse(TEXT), monkeypatch)
    assert list(packed.ops) == plain.ops
    assert list(packed.operands) == plain.operands
    assert packed.to_text() == plain.to_text()
    assert gc.parse(packed.to_text()).to_text() == plain.to_text()
    assert packed.values(AT) == plain.values(AT)
    assert packed.reverse("e", AT) == plain.reverse("e", AT)
    assert packed.forward("x", AT) == plain.forward("x", AT)
    assert packed.all_pairs(AT) == plain.all_pairs(AT)
    assert packed.expand().to_text() == plain.expand().to_text()
    assert packed.expand().reverse("e", AT) == plain.expand().reverse("e", AT)
    assert packed.collapse("a").to_text() == plain.collapse("a").to_text()
    assert packed.untie("x").to_text() == plain.untie("x").to_text()
    assert packed.differentiate("e").to_text() == plain.differentiate("e").to_text()
    points = {"x": np.linspace(0.1, 2, 7), "y": 2.0, "w": 1.5}
    for at in ({**AT, "w": 1.5}, points):
        found, expected = (
            g.compile("e", ["x", "w"], "value_and_grad")(**at) for g in (packed, plain)
        )
        np.testing.assert_array_equal(found[0], expected[0])
        assert_equal(found[1], expected[1])


def test_exact_numbers_and_their_derivatives(monkeypatch):
    packed, plain = both(lambda: gc.parse(EXACT), monkeypatch)
    at = {"x": Fraction(1, 3), "y": Fraction(5, 2)}
    assert packed.values(at) == plain.values(at)
    assert packed.reverse("e", at) == plain.reverse("e", at)
    assert packed.forward("y", at) == plain.forward("y", at)
    for graph in (packed, plain):
        graph.node("f", "e*where(b > 0, x, y) + 2**x")
    assert packed.reverse("f", at) == plain.reverse("f", at)


def test_a_copy_of_a_packed_graph_is_independent(monkeypatch):
    packed, plain = both(lambda: gc.parse(EXACT), monkeypatch)
    other = packed.duplicate()
    other.node("f", "e + x*y*where(e > 0, x, y)")
    packed.node("f", "e - 1")
    plain.node("f", "e - 1")
    at = {"x": 2, "y": 3}
    assert packed.reverse("f", at) == plain.reverse("f", at)
    assert packed.to_text() == plain.to_text()
    assert other.to_text() != plain.to_text()
    assert other.values(at)["f"] == plain.values(at)["e"] + 12


def test_a_condition_is_refused_as_a_number_in_packed_rows(short):
    graph = gc.Graph("g")
    x, y = graph.inputs("x y")
    condition = x > y
    total = x
    for _ in range(20):
        total = total * y
    for wrong in (
        lambda: total + condition,
        lambda: gc.where(total, x, y),
        lambda: gc.sin(condition),
    ):
        with pytest.raises(gc.GraphcError, match="condition"):
            wrong()
    graph.node("z", gc.where(condition, total, x))
    assert graph.values({"x": 1, "y": 2})["z"] == 1


def random_graph(seed, rows=60):
    """A graph by operators that has everything a tape runs; and its node to derive."""
    rng = random.Random(seed)
    graph = gc.Graph("g")
    known = list(graph.inputs("x y z"))
    steps = (
        *(lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - 3 * b, lambda a, b: a / 2),
        *(lambda a, b: gc.sin(a), lambda a, b: gc.tanh(a) ** 3, lambda a, b: gc.cos(a) ** 2),
        *(
            lambda a, b: gc.maximum(a, b),
            lambda a, b: gc.where(a < b, a, gc.cos(b)),
            lambda a, b: 0 * a + b,
        ),
        *(lambda a, b: gc.exp(-a * a) ** Fraction(1, 3), lambda a, b: gc.relu(a) + 0.25),
    )
    for k in range(rows):
        known.append(gc.tanh(rng.choice(steps)(rng.choice(known), rng.choice(known[-5:]))))
        if rng.random() < 0.2:
            graph.node(f"n{k}", known[-1])
    graph.node("L", known[-1] + known[-2])
    return graph


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_that_cross_blocks(seed, monkeypatch):
    packed, plain = both(lambda: random_graph(seed), monkeypatch)
    at, wrt = {"x": 0.3, "y": -0.7, "z": 1.1}, ["x", "y", "z"]
    assert packed.to_text() == plain.to_text()
    assert packed.reverse("L", at) == plain.reverse("L", at)
    for point in (at, {**at, "x": np.linspace(-1, 1, 9)}):
        found, expected = (g.compile("L", wrt, "value_and_grad")(**point) for g in (packed, plain))
        np.testing.assert_array_equal(found[0], expected[0])
        assert_equal(found[1], expected[1])


def test_a_graph_from_arrays_is_the_graph_from_text(monkeypatch):
    operands = [[0, 1], [2, -1], [3, 2], [4, 0], *[[5, 1]] * 5]
    names = ["mul", "sin", "sub", "add", *["mul"] * 5]

    def from_arrays():
        return gc.from_arrays(2, names, operands)

    packed, plain = both(from_arrays, monkeypatch)
    lines = ["n2 = x0*x1", "n3 = sin(n2)", "n4 = n3 - n2", "n5 = n4 + x0"]
    lines += [f"n{k} = n5*x1" for k in range(6, 11)]
    text = gc.parse("\n".join(["input x0 x1", *lines]))
    at = {"x0": 0.5, "x1": 2}
    for arrays in (packed, plain):
        assert arrays.to_text() == text.to_text()
        assert arrays.reverse("n5", at) == text.reverse("n5", at)
        assert arrays.all_pairs(at) == text.all_pairs(at)
    graphs = (packed, plain, text)
    for graph in graphs:
        graph.node("z", "n5*where(n3 > 0, x0, x1)")
    points = {"x0": np.linspace(0, 1, 5), "x1": 2.0}
    expected = text.compile("z", ["x0"])(**points)
    for arrays in (packed, plain):
        assert arrays.expand().reverse("z", at) == text.expand().reverse("z", at)
        found = arrays.compile("z", ["x0"])(**points)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1]["x0"], expected[1]["x0"])
        assert arrays.collapse("n3").to_text() == text.collapse("n3").to_text()
        assert arrays.untie("x0").to_text() == text.untie("x0").to_text()


def test_arrays_of_every_length_and_rows_behind_them(short):
    for inputs in (1, 3, 4, 5):
        for count in range(1, 12):
            operands = np.array([[k, -1] if k % 2 else [k, 0] for k in range(count)])
            names = ["sin" if k % 2 else "add" for k in range(count)]
            graph = gc.from_arrays(inputs, names, operands)
            assert list(graph.ops) == ["input"] * inputs + names
            assert list(graph.operands) == [()] * inputs + [
                (a,) if b < 0 else (a, b) for a, b in operands
            ]
            for k in range(9):
                graph.node(f"more{k}", f"x0 + n{inputs}*{k}")
            assert graph.values(dict.fromkeys((f"x{k}" for k in range(inputs)), 0))["more3"] == 0


def test_comparisons_of_arrays_are_known():
    graph = gc.from_arrays(2, ["sin", "add"], [[0, -1], [1, 2]])
    with pytest.raises(gc.GraphcError):
        graph.node("z", "where(n3, x0, x1)")
