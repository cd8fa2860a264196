"""What the tape takes of a graph: the rows that are needed, from lists and columns alike."""

import math
import tracemalloc

import numpy as np
import pytest

import graphc as gc
from graphc.program.backends.native import tape
from graphc.program.backends.native.tape_cases import codes
from graphc.structure import columns

NAMES = list(codes())
TAPED = """
input x y
a = x*y + 0.5
dead = sin(a)**5 + y
b = where(a > x, a**3, maximum(x, pi))
c = 0*a + b**2 + b**2.5 + sqrt(b) + x**3
o = c - a**2.5*y
"""
REFUSED = {
    "a maximum of three": "o = maximum(x, y, x*y)",
    "a maximum of five, which nobody needs": "z = maximum(x, y, x*y, 1, 2)\no = x",
    "one over a root": "o = x**(-1/2)",
    "a choice of the number 0": "o = leaky_relu(x, 0)",
    "a kink that was chosen": "o = relu(x, kink=1/2)",
    "a slope of the user's own": "q = x*y\nd q / d x = 3\no = q + 1",
    "a tensor": "input v[3]\no = x*sum(v)",
}


def shorten(patch):
    for name, rows in (("MANY", 5), ("BLOCK", 4), ("AT_ONCE", 3)):
        patch.setattr(columns, name, rows)
    patch.setattr(tape, "AT_ONCE", 3)


def both(text, monkeypatch, of="o"):
    """The tape of a graph in lists, and of the same in columns."""
    plain = gc.parse(text)
    found = [tape.packed(plain, [plain.row(of)])]
    with monkeypatch.context() as patch:
        shorten(patch)
        graph = gc.parse(text)
        found.append(tape.packed(graph, [graph.row(of)]))
    return plain, *found


def test_rows_of_lists_and_of_columns(monkeypatch):
    graph, listed, packed = both(TAPED, monkeypatch)
    for part in ("rows", "values", "place"):
        np.testing.assert_array_equal(getattr(packed, part), getattr(listed, part))
    read = {NAMES[code] for code in packed.rows["code"]}
    assert {"where", "gt", "power", "square", "sqrt", "product_with_0", "maximum"} <= read
    assert "sin" not in read  # nobody needs it
    assert packed.place[graph.row("dead")] == -1
    assert sorted(packed.values[: packed.place[0]]) == [2.5, 3]  # 5 is of a row that is left out
    assert {0, 0.5, math.pi} <= set(packed.values.tolist())


def test_a_row_and_its_operands_are_those_of_the_graph(monkeypatch):
    graph, _, packed = both(TAPED, monkeypatch)
    for row, place in enumerate(packed.place.tolist()):
        if place < 0:
            continue
        operands = [packed.place[operand] for operand in graph.operands[row]]
        found = [packed.rows[name][place] for name in "abc"]
        assert found[: len(operands)] == operands
        assert all(operand < place for operand in found[: len(operands)])


@pytest.mark.parametrize("why", REFUSED)
def test_what_the_tape_cannot_run_is_refused(why, monkeypatch):
    text = f"input x y\n{REFUSED[why]}"
    _, listed, packed = both(text, monkeypatch)
    assert listed is None and packed is None


def test_packing_makes_few_copies(monkeypatch):
    count = 1 << 17
    operands = np.stack([np.arange(count), np.where(np.arange(count) % 2, -1, 0)], axis=1)
    names = ["sin" if k % 2 else "add" for k in range(count)]
    graph = gc.from_arrays(1, names, operands)
    assert isinstance(graph.ops, columns.NameColumn)
    tracemalloc.start()
    try:
        made = tape.packed(graph, [graph.row(f"n{count}")])
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(made.rows) == count + 1
    # 16 bytes for a row of the tape, 8 for its value, 4 for its place
    assert kept < 29 * count
    assert most < 45 * count
