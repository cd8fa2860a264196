"""A function declared anew: nothing that was made from the old record is used again."""

import numpy as np
import pytest

import graphc as gc

pytestmark = pytest.mark.usefixtures("own_functions")


def declare_twice(first, second, use):
    """What `use` gives on one graph with the first and the second record, and on a fresh graph."""
    gc.declare("twice", *first)
    graph = gc.parse("input x[2]\ny = sum(twice(x)*x)")
    found = [use(graph)]
    gc.declare("twice", *second)
    found.append(use(graph))
    found.append(use(gc.parse("input x[2]\ny = sum(twice(x)*x)")))
    return found


POINT = {"x": np.array([0.3, -0.7])}


@pytest.mark.parametrize(
    "use",
    [
        lambda graph: graph.values(POINT)["y"],
        lambda graph: graph.derivative("y", "x", POINT).tolist(),
        lambda graph: graph.compile()(**POINT)[1]["x"].tolist(),
        lambda graph: graph.emit(),
        lambda graph: str(graph.derivative("y", "x")),
        lambda graph: [row.measured for row in gc.check(graph, at=POINT).rows],
        lambda graph: gc.check(graph, at=POINT).verdict,
    ],
)
def test_every_verb_follows_the_new_record(use):
    old, again, fresh = declare_twice((lambda x: x**2,), (lambda x: gc.sin(3 * x),), use)
    assert again == fresh
    assert old != fresh or old == "correct"


def test_a_rule_follows_the_functions_in_its_formula():
    inner = gc.declare("inner", lambda x: x**2)
    gc.declare("around", lambda x: 1 + inner(x))
    graph = gc.parse("input x\ny = around(x)")
    assert graph.derivative("y", "x", {"x": 3}) == 6
    gc.declare("inner", lambda x: x**3)
    assert graph.values({"x": 3})["y"] == 28
    assert graph.derivative("y", "x", {"x": 3}) == 27
    assert gc.check(graph, at={"x": 3.0}).verdict == "correct"


def test_a_kink_that_a_new_record_has_is_named():
    gc.declare("bend", lambda x: x)
    graph = gc.parse("input x\ny = bend(x)")
    assert gc.check(graph, at={"x": 0.0}).verdict == "correct"
    gc.declare("bend", lambda x: gc.relu(x))
    assert gc.check(graph, at={"x": 0.0}).verdict == "at-kink"


def test_functions_do_not_use_each_other():
    inner = gc.declare("inner", lambda x: x**2)
    around = gc.declare("around", lambda x: inner(x))
    with pytest.raises(gc.GraphcError, match="itself"):
        gc.declare("inner", lambda x: around(x) + 1)
