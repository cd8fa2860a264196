"""Names of traced values, one test per rule; the last one repeats them on other Python versions."""

from __future__ import annotations

import functools
import math
import os
import random
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from effort import calls

import graphc as gc
from graphc.read import tracing
from graphc.table.value import Value


def formulas(g: gc.Graph) -> list[str]:
    """The lines of the text form that declare computed and constant nodes."""
    return [line for line in g.to_text().splitlines() if "=" in line and not line.startswith(LEAF)]


LEAF = ("input ", "param ")


# Arguments.


def test_positional_arguments_are_inputs_and_keyword_only_ones_params():
    @gc.graph
    def neuron(x1, x2, *, w1, w2, b):
        a = w1 * x1 + w2 * x2 + b
        o = gc.sigmoid(a)
        return o

    assert isinstance(neuron, gc.Graph)
    assert neuron.name == "neuron"
    assert neuron.input_names == ["x1", "x2"]
    assert neuron.param_names == ["w1", "w2", "b"]
    assert neuron.output_names == ["o"]
    assert formulas(neuron) == ["a = w1*x1 + w2*x2 + b", "o = sigmoid(a)"]
    assert neuron["a"].parents == ("w1", "x1", "w2", "x2", "b")


def test_positional_only_arguments_are_inputs():
    @gc.graph
    def f(x, /, y, *, w):
        return x * y * w

    assert (f.input_names, f.param_names) == (["x", "y"], ["w"])


def test_default_values_are_given_values():
    @gc.graph
    def f(x=2, y=Fraction(1, 3), *, w="1/2", b):
        o = w * x + b + y
        return o

    assert f.values({"b": 1})["o"] == Fraction(7, 3)
    assert f.values({"b": 1, "x": 4})["o"] == Fraction(10, 3)


def test_the_decorator_takes_settings():
    @gc.graph(shapes={"x": ()})
    def f(x):
        return 2 * x

    @gc.graph()
    def g(x):
        return 2 * x

    assert f.values({"x": 3})["f"] == 6
    assert g.values({"x": 3})["g"] == 6


def test_shapes_are_handed_to_the_graph(monkeypatch):
    seen = {}

    def recorded(declare):
        def method(self, name, shape=(), value=None):
            seen[name] = shape
            return declare(self, name)

        return method

    monkeypatch.setattr(gc.Graph, "input", recorded(gc.Graph.input))
    monkeypatch.setattr(gc.Graph, "param", recorded(gc.Graph.param))

    @gc.graph(shapes={"x": (3,), "W": ("m", 3)})
    def f(x, y, *, W):
        return x * y * W

    assert seen == {"x": (3,), "y": (), "W": ("m", 3)}


def test_shapes_of_unknown_arguments_are_refused():
    with pytest.raises(gc.GraphcError, match=r"shapes= mentions 'xs'.*\(arguments: a, b\)"):
        gc.graph(shapes={"xs": (3,)})(lambda a, b: a)


def test_variable_arguments_are_refused():
    with pytest.raises(gc.GraphcError, match=r"\*xs of 'f'.*one by one"):

        @gc.graph
        def f(*xs):
            return xs[0]

    with pytest.raises(gc.GraphcError, match=r"\*\*ws of 'g'"):

        @gc.graph
        def g(x, **ws):
            return x


@pytest.mark.parametrize("wrong", [5, "x*y", math.sin, functools.partial(lambda x: x, 1)])
def test_only_python_functions_are_traced(wrong):
    with pytest.raises(gc.GraphcError, match="makes a graph of a Python function"):
        gc.graph(wrong)


def test_a_lambda_is_a_graph_called_graph():
    g = gc.graph(lambda x, y: x * y)
    assert (g.name, g.output_names) == ("graph", ["graph"])


def test_a_wrapped_function_gives_its_own_names():
    def loud(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            result = function(*args, **kwargs)
            return result

        return wrapper

    @gc.graph
    @loud
    def f(x, *, w):
        a = w * x
        return a + 1

    assert (f.input_names, f.param_names) == (["x"], ["w"])
    assert formulas(f) == ["a = w*x", "f = a + 1"]


# Plain names.


def test_the_first_name_counts_and_a_second_one_is_an_alias():
    @gc.graph
    def f(x, y):
        a = x * y
        b = a
        c = x
        d = b + c
        o = d
        return o

    assert formulas(f) == ["a = x*y", "d = a + x"]
    assert f.output_names == ["d"]


def test_names_bound_just_before_the_return():
    @gc.graph
    def f(x, y):
        a = x * y
        o = a
        return o

    assert formulas(f) == ["a = x*y"]


def test_no_operation_at_all():
    @gc.graph
    def f(x, y):
        z = y
        return z

    assert (list(f), f.output_names) == (["x", "y"], ["y"])


def test_a_name_bound_again():
    @gc.graph
    def f(x):
        h = x * 2
        h = h + 1
        h = gc.sin(h)
        return h

    assert formulas(f) == ["h = x*2", "h_2 = h + 1", "h_3 = sin(h_2)"]


def test_an_argument_bound_again():
    @gc.graph
    def f(x):
        x = x * 2
        return x

    assert formulas(f) == ["x_2 = x*2"]


def test_numbers_go_past_names_that_are_taken():
    @gc.graph
    def f(x):
        h_2 = x * 2
        h = x * 3
        h = h * h_2
        h_3 = x * 4
        return h + h_3

    assert formulas(f) == ["h_2 = x*2", "h = x*3", "h_3 = h*h_2", "h_3_2 = x*4", "f = h_3 + h_3_2"]


def test_augmented_assignment():
    @gc.graph
    def f(x):
        s = 0
        for k in range(1, 4):
            s += x**k
        return s

    assert formulas(f) == ["s = 0 + x**1", "s_2 = s + x**2", "s_3 = s_2 + x**3"]


def test_loops():
    @gc.graph
    def rnn(x, *, w, h0=0):
        h = h0
        for _ in range(3):
            h = gc.tanh(w * h + x)
        return h

    assert formulas(rnn) == [
        "h = tanh(w*h0 + x)",
        "h_2 = tanh(w*h + x)",
        "h_3 = tanh(w*h_2 + x)",
    ]


def test_the_first_name_counts_also_where_an_older_name_is_bound_again():
    @gc.graph
    def f(x, *, w):
        previous = x
        total = 0
        for _ in range(2):
            h = gc.tanh(w * previous)
            previous = h
            y = h * h
            total = y
        o = h + y
        return o

    assert formulas(f) == [
        "h = tanh(w*x)",
        "y = h*h",
        "h_2 = tanh(w*h)",
        "y_2 = h_2*h_2",
        "o = h_2 + y_2",
    ]


def test_one_statement_with_two_targets():
    @gc.graph
    def f(x):
        b = None
        a = b = x * 2
        return a + b

    assert formulas(f) == ["a = x*2", "f = a + a"]


def test_tuple_assignment_and_swaps():
    @gc.graph
    def fibonacci(a, b):
        a, b = b, a + b
        a, b = b, a + b
        b, a = a, b
        p, q = a * b, a - b
        q, p = p, q
        return p, q

    assert formulas(fibonacci) == ["b_2 = a + b", "b_3 = b + b_2", "p = b_3*b_2", "q = b_3 - b_2"]
    assert fibonacci.output_names == ["q", "p"]


def test_swaps_before_the_next_operation():
    @gc.graph
    def f(x, y):
        a = x * y
        b = x + y
        a, b = b, a
        c = x - y
        a, b, c = c, a, b
        d, (e, _) = c, (a, b)
        return d / e

    @gc.graph
    def g(x, y):
        a, b, c, d = x * 1, x * 2, x * 3, x * 4
        k = 2 + len("ab")
        d, c, b, a = a, b, c, d
        return a

    assert formulas(f) == ["a = x*y", "b = x + y", "c = x - y", "f = a/c"]
    assert formulas(g) == ["a = x*1", "b = x*2", "c = x*3", "d = x*4"]
    assert g.output_names == ["d"]


def test_branches():
    @gc.graph
    def f(x):
        last = None
        for k in range(3):
            h = gc.sin(x) if k else gc.cos(x)
            if k != 1:
                last = h
            else:
                pass
            x = last
        return h

    assert formulas(f) == ["h = cos(x)", "h_2 = sin(h)", "h_3 = sin(h)"]


def test_walrus():
    @gc.graph
    def f(x):
        o = (a := x * 2) * a
        ys = [(last := a * k) for k in (3, 4)]
        return o + last

    assert formulas(f) == ["a = x*2", "o = a*a", "last = a*3", "last_2 = a*4", "f = o + last_2"]


def test_walrus_in_a_comprehension():
    @gc.graph
    def f(x, y):
        total = x
        partial = [(total := total * v) for v in (x, y, x)]
        return partial[0] + total

    assert formulas(f) == [
        "total = x*x",
        "total_2 = total*y",
        "total_3 = total_2*x",
        "f = total + total_3",
    ]


def test_names_with_an_underscore_are_ignored():
    @gc.graph
    def f(x):
        _t = x * 2
        _ = [x * 5]
        a = _t + 1
        __u = [_t * 3]
        b = a * __u[0]
        return b

    assert formulas(f) == ["v1 = x*2", "a = v1 + 1", "b = a*(v1*3)"]


def test_for_targets_are_local_names():
    @gc.graph
    def f(x):
        s = 0
        for term in (x * 2, x * 3):
            s = s + term
        return s

    assert formulas(f) == ["term = x*2", "term_2 = x*3", "s = 0 + term", "s_2 = s + term_2"]


def test_greek_names():
    @gc.graph
    def f(θ):
        φ = gc.sin(θ)
        return φ

    assert list(f) == ["θ", "φ"]


# Lists and tuples.


def test_elements_of_lists_and_tuples():
    @gc.graph
    def f(x):
        hs = [x * 2, x * 3]
        pair = (hs[0] + 1, x, hs[1])
        return pair[0] * hs[1]

    assert formulas(f) == ["hs_0 = x*2", "hs_1 = x*3", "pair_0 = hs_0 + 1", "f = pair_0*hs_1"]


def test_appended_elements():
    @gc.graph
    def f(x):
        hs = [x]
        for _ in range(3):
            hs.append(hs[-1] * x)
        return hs[-1]

    assert formulas(f) == ["hs_1 = x*x", "hs_2 = hs_1*x", "hs_3 = hs_2*x"]


def test_a_name_comes_before_the_list_it_is_appended_to():
    @gc.graph
    def f(x):
        hs = []
        h = x
        for _ in range(2):
            h = gc.sin(h)
            hs.append(h)
        return hs

    assert formulas(f) == ["h = sin(x)", "h_2 = sin(h)"]
    assert f.output_names == ["h", "h_2"]


def test_a_list_comes_before_the_name_of_its_element():
    @gc.graph
    def f(x):
        a = None
        hs = [x * 2, x * 3]
        a = hs[0]
        return a

    assert f.output_names == ["hs_0"]


def test_nested_lists():
    @gc.graph
    def f(x):
        hs = [[x * 1, x * 2], (x * 3, [x * 4])]
        hs.append([])
        hs[-1].append(x * 5)
        hs[-1].append(x * 6)
        return hs[0][1]

    names = ["x", "hs_0_0", "hs_0_1", "hs_1_0", "hs_1_1_0", "hs_2_0", "hs_2_1"]
    assert list(f) == names
    assert f.output_names == ["hs_0_1"]


def test_elements_replaced_in_place():
    @gc.graph
    def f(x, y):
        u = [x, y]
        for _ in range(2):
            u[0] = u[0] + u[1]
            u[1] = u[0] * u[1]
        return u

    assert formulas(f) == [
        "u_0 = x + y",
        "u_1 = u_0*y",
        "u_0_2 = u_0 + u_1",
        "u_1_2 = u_0_2*u_1",
    ]


def test_a_list_bound_again():
    @gc.graph
    def f(x, y):
        hs = [x, y]
        hs = [h * 2 for h in hs]
        hs = [h * 3 for h in hs] + hs[:1]
        return hs

    assert formulas(f) == ["hs_0 = x*2", "hs_1 = y*2", "hs_0_2 = hs_0*3", "hs_1_2 = hs_1*3"]
    assert f.output_names == ["hs_0_2", "hs_1_2", "hs_0"]


def test_a_preallocated_list():
    @gc.graph
    def f(x):
        hs = [None] * 200
        for k in range(200):
            hs[k] = x * k
        return hs[7]

    assert list(f) == ["x", *(f"hs_{k}" for k in range(200))]


def test_a_list_that_holds_itself():
    @gc.graph
    def f(x):
        hs = []
        hs.append(hs)
        hs.append(x * 2)
        return hs[1]

    assert f.output_names == ["hs_1"]


# Whose locals count.


def test_locals_of_called_functions_do_not_count():
    def cell(h, x, w):
        inner = w * h + x
        twice = inner + inner
        return gc.tanh(twice)

    @gc.graph
    def f(x, *, w):
        h = cell(x, x, w)
        h = cell(h, x, w)
        return h

    assert formulas(f) == [
        "v1 = w*x + x",
        "h = tanh(v1 + v1)",
        "v2 = w*h + x",
        "h_2 = tanh(v2 + v2)",
    ]


def test_closures():
    outside = []
    k = 3

    @gc.graph
    def f(x):
        h = x

        def step(by):
            nonlocal h
            local = h * by
            h = local + k
            outside.append(h * 5)

        step(2)
        step(4)
        return h

    assert formulas(f) == ["h = x*2 + 3", "h_2 = h*4 + 3"]


def test_generator_expressions_and_lambdas():
    @gc.graph
    def f(x, y):
        s = sum(t * t for t in (x + 1, y))
        o = (lambda u: u * 2)(s)
        return o

    assert formulas(f) == ["v1 = x + 1", "s = 0 + v1*v1 + y*y", "o = s*2"]


def test_variables_of_comprehensions_do_not_count():
    @gc.graph
    def f(x, y):
        hs = [t * t + t for t in [x * 2, y * 3]]
        pairs = {k: t * 5 for k, t in enumerate([x * 7])}
        return hs[0] + hs[1] + pairs[0]

    assert formulas(f) == [
        "v1 = x*2",
        "v2 = y*3",
        "hs_0 = v1*v1 + v1",
        "hs_1 = v2*v2 + v2",
        "f = hs_0 + hs_1 + x*7*5",
    ]


def test_comprehension_variable_with_the_name_of_a_local():
    @gc.graph
    def f(x, y):
        t = x * y
        s = t + 1
        hs = [t * t for t in (x + 2, y + 3)]
        o = t * hs[0] * hs[1]
        return o

    assert formulas(f) == [
        "t = x*y",
        "s = t + 1",
        "v1 = x + 2",
        "v2 = y + 3",
        "hs_0 = v1*v1",
        "hs_1 = v2*v2",
        "o = t*hs_0*hs_1",
    ]


def test_comprehension_variable_with_the_name_of_a_local_bound_just_before():
    @gc.graph
    def f(x):
        hs = []
        for _ in range(2):
            h = gc.sin(x)
            hs.append(h)
        squares = [h * h for h in hs]
        return h

    @gc.graph
    def g(x, y):
        t = x * y
        u = t
        hs = [t * t for t in (x + 2, u)]
        return u

    assert formulas(f) == ["h = sin(x)", "h_2 = sin(x)", "squares_0 = h*h", "squares_1 = h_2*h_2"]
    assert formulas(g) == ["t = x*y", "v1 = x + 2", "hs_0 = v1*v1", "hs_1 = t*t"]


def test_nested_comprehensions():
    @gc.graph
    def f(x, y):
        grid = [[a * b for b in (x + a, y + a)] for a in (x - 1, y - 2)]
        flat = [a * b for a in (x - 5,) for b in (y - 6, a) if b is not a]
        captured = [(lambda: a)() * 2 for a in (x - 3,)]
        return grid[0][0]

    assert formulas(f) == [
        "v1 = x - 1",
        "v2 = y - 2",
        "grid_0_0 = v1*(x + v1)",
        "grid_0_1 = v1*(y + v1)",
        "grid_1_0 = v2*(x + v2)",
        "grid_1_1 = v2*(y + v2)",
        "flat_0 = (x - 5)*(y - 6)",
        "captured_0 = (x - 3)*2",
    ]


# Anonymous values.


def test_an_anonymous_value_with_one_use_belongs_to_its_user():
    @gc.graph
    def f(x, y):
        o = gc.sin(x * y) + 1
        return o

    assert formulas(f) == ["o = sin(x*y) + 1"]
    assert f.edges() == [("x", "o"), ("y", "o")]


def test_an_anonymous_value_with_several_uses_is_a_node():
    def square(t):
        return t * t

    @gc.graph
    def f(x, v1):
        o = square(x + 1) + square(v1 + 2)
        return o

    assert formulas(f) == ["v2 = x + 1", "v3 = v1 + 2", "o = v2*v2 + v3*v3"]


def test_a_use_that_nothing_needs_does_not_count():
    def cell(t):
        return t * 2, t * 3

    @gc.graph
    def f(x):
        o, _ = cell(x + 1)
        return o

    assert formulas(f) == ["o = (x + 1)*2"]


# Returned values.


def test_an_unnamed_returned_value_takes_the_name_of_the_function():
    @gc.graph
    def area(r):
        return 3 * r**2

    assert formulas(area) == ["area = 3*r**2"]
    assert area.output_names == ["area"]


def test_the_name_of_the_function_is_numbered_if_it_is_taken():
    @gc.graph
    def f(x):
        f = x * 2
        return f + 1

    assert f.output_names == ["f_2"]


def test_several_returned_values():
    @gc.graph
    def f(x, y):
        a = x * y
        return a, x + y, [x - y, a], x

    assert formulas(f) == ["a = x*y", "f_1 = x + y", "f_2_0 = x - y"]
    assert f.output_names == ["a", "f_1", "f_2_0", "x"]


def test_the_keys_of_a_returned_dict_are_names():
    @gc.graph
    def f(x, y):
        a = x * y
        return {"a": a, "loss": a - 1, "copy": a, "h[3]": x + y}

    assert formulas(f) == ["a = x*y", "loss = a - 1", "h3 = x + y", "copy = a"]
    assert f.output_names == ["a", "loss", "copy", "h3"]


def test_keys_that_are_no_names_are_refused():
    with pytest.raises(gc.GraphcError, match="must be a string, not int"):
        gc.graph(lambda x: {1: x * 2})
    with pytest.raises(gc.GraphcError, match="'x' is declared already"):
        gc.graph(lambda x: {"x": x * 2})


def test_returned_numbers_are_constants():
    @gc.graph
    def f(x):
        return 3

    @gc.graph
    def g(x):
        return x * 2, Fraction(1, 3)

    assert f["f"].kind == "const"
    assert f.values({"x": 0})["f"] == 3
    assert (g.output_names, g["g_1"].kind) == (["g_0", "g_1"], "const")
    assert g.values({"x": 1})["g_1"] == Fraction(1, 3)


@pytest.mark.parametrize("nothing", [None, (), [], {}, ([],)])
def test_returning_nothing_is_refused(nothing):
    with pytest.raises(
        gc.GraphcError, match=r"'graph' returns (None|no value); end it with 'return'"
    ):
        gc.graph(lambda x: nothing)


def test_returning_something_else_is_refused():
    with pytest.raises(gc.GraphcError, match="object is not a number"):
        gc.graph(lambda x: object())
    with pytest.raises(gc.GraphcError, match="not a number"):
        gc.graph(lambda x: (x, None))


# gc.name and gc.const.


def test_an_explicit_name_comes_before_later_local_names():
    @gc.graph
    def f(x):
        a = gc.name(x * 2, "h1")
        return a + 1

    assert formulas(f) == ["h1 = x*2", "f = h1 + 1"]


def test_an_explicit_name_of_a_named_value_is_an_identity_node():
    @gc.graph
    def f(x):
        a = x * 2
        b = gc.name(a, "h1")
        gc.name(b, "h1")
        c = gc.name(x, "copy")
        return b + c

    assert formulas(f) == ["a = x*2", "h1 = a", "copy = x", "f = h1 + copy"]
    assert f["h1"].parents == ("a",)


def test_explicit_names_in_called_functions():
    def layer(x, k):
        return gc.name(x * k, f"h{k}")

    @gc.graph
    def f(x):
        o = layer(layer(x, 1), 2)
        return o

    assert formulas(f) == ["h1 = x*1", "h2 = h1*2"]


def test_explicit_names_outside_of_a_trace():
    g = gc.Graph("g")
    x = g.input("x")
    assert repr(gc.name(x * 2, "a")) == "<value 'a'>"
    gc.name(x, "b")
    assert list(g) == ["x", "a", "b"]


def test_explicit_names_are_checked():
    def named(text):
        return gc.graph(lambda x: gc.name(x * 2, text))

    for text, message in (("x", "declared already"), ("a b", "not a name"), ("pi", "reserved")):
        with pytest.raises(gc.GraphcError, match=message):
            named(text)
    with pytest.raises(gc.GraphcError, match=r"not float; a number becomes a node with gc\.const"):
        gc.name(2.0, "a")


def test_constants():
    @gc.graph
    def f(x):
        third = gc.const("1/3")
        turn = gc.const("pi/3", "angle")
        half = gc.const(Fraction(1, 2))
        return x * third + gc.cos(turn) * half * gc.const(2)

    assert formulas(f) == [
        "third = 1/3",
        "angle = pi/3",
        "half = 0.5",
        "f = x*third + cos(angle)*half*2",
    ]
    assert [f[name].kind for name in ("third", "angle", "half")] == ["const"] * 3
    assert f.values({"x": 1})["f"] == Fraction(5, 6)


def test_a_constant_is_a_returned_value():
    @gc.graph
    def f(x):
        c = gc.const(4)
        return c

    assert f.output_names == ["c"]


def test_constants_are_checked():
    with pytest.raises(gc.GraphcError, match=r"use g.node\(name, number\)"):
        gc.const(3, "c")
    with pytest.raises(gc.GraphcError, match="'x' is not declared as a number"):
        gc.graph(lambda x: gc.const("x + 1"))
    with pytest.raises(gc.GraphcError, match="takes a number, not the value 'x'"):
        gc.graph(lambda x: gc.const(x))
    with pytest.raises(gc.GraphcError, match="not finite"):
        gc.graph(lambda x: gc.const(math.inf))


# NumPy.


def test_numpy_functions():
    @gc.graph
    def f(x, y):
        a = np.sin(x)
        b = np.float64(2) * x
        c = np.maximum(a, y)
        d = np.exp(-b) / np.sqrt(c) - np.float64(0.5)
        return np.add(d, np.int64(1))

    assert formulas(f) == [
        "a = sin(x)",
        "b = float(2.0)*x",
        "c = maximum(a, y)",
        "d = exp(-b)/sqrt(c) - float(0.5)",
        "f = d + float(1.0)",
    ]


def _calling(call):
    return lambda x: call(x)


def test_numpy_functions_without_a_counterpart_are_refused():
    for call in (np.floor, np.add.reduce, lambda x: np.add(x, 1, where=True)):
        with pytest.raises(gc.GraphcError, match="cannot be traced"):
            gc.graph(_calling(call))


# Errors.


@pytest.mark.parametrize("wrong", [bool, float, int, lambda x: 1 if x > 0 else 2, range, math.sin])
def test_values_decide_nothing(wrong):
    with pytest.raises(gc.GraphcError, match=r"use gc\.where"):
        gc.graph(_calling(wrong))


def test_values_are_not_iterated_over():
    with pytest.raises(gc.GraphcError, match="cannot be iterated over"):
        gc.graph(lambda x: [t * 2 for t in x])


def test_reserved_names_are_refused():
    with pytest.raises(gc.GraphcError, match="the name 'output' is reserved; use 'output_'"):

        @gc.graph
        def f(x):
            output = x * 2
            return output + 1

    with pytest.raises(gc.GraphcError, match="the name 'pi' is reserved"):

        @gc.graph
        def g(x):
            pi = x * 2
            return pi

    with pytest.raises(gc.GraphcError, match="the name 'input' is reserved"):

        @gc.graph
        def h(input):
            return input * 2


def test_reserved_names_may_be_aliases():
    @gc.graph
    def f(x):
        o = x * 2
        output = o
        return output

    assert f.output_names == ["o"]


def test_names_that_only_look_different_are_one():
    @gc.graph
    def f(x):
        ℎ = x * 2  # Python itself reads it as h
        h = ℎ * 3
        return h

    assert list(f) == ["x", "h", "h_2"]
    with pytest.raises(gc.GraphcError, match="'h' is declared already"):

        @gc.graph
        def g(x):
            h = x * 2
            return gc.name(h + 1, "ℎ")


def test_values_of_another_graph_are_refused():
    stranger = gc.Graph("other").input("s")

    with pytest.raises(gc.GraphcError, match="'s' belongs to the graph 'other'"):
        gc.graph(lambda x: x * stranger)
    with pytest.raises(gc.GraphcError, match="'s' belongs to the graph 'other'"):
        gc.graph(lambda x: stranger)


def test_an_error_in_the_function_is_passed_on_and_ends_the_trace():
    kept = []

    with pytest.raises(ZeroDivisionError):

        @gc.graph
        def f(x):
            kept.append(x)
            a = x * 2
            return a / (1 // 0)

    assert kept[0].graph.observer is None
    with pytest.raises(gc.GraphcError, match="outside of a traced function"):
        gc.const(1, "c")


def test_a_finished_trace_leaves_no_observer():
    @gc.graph
    def f(x):
        return x * 2

    assert f.observer is None
    g = f.duplicate()
    late = gc.name(gc.sin(Value(g, g.row("f"))), "late")
    assert list(g) == ["x", "f", "late"]


def test_a_graph_declared_inside_of_a_traced_function():
    @gc.graph
    def outer(x):
        a = x * 2

        @gc.graph
        def inner(y):
            b = y * gc.const(3)
            return b

        c = gc.const(inner.values({"y": 2})["b"])
        return a + c

    assert formulas(outer) == ["a = x*2", "c = 6", "outer = a + c"]


# Cost.


def traced(function):
    """The number of calls that tracing makes, and the graph."""
    found = []
    return calls(lambda: found.append(gc.graph(function))), found[0]


def test_a_long_loop_costs_little():
    def f(x, *, w):
        h = x
        for _ in range(10_000):
            h = w * h
        return h

    effort, g = traced(f)
    assert (len(list(g)), g.output_names) == (10_002, ["h_10000"])
    assert effort < 10_000_000


def test_a_long_list_costs_little():
    def appended(x):
        hs = [x]
        for _ in range(10_000):
            hs.append(hs[-1] * x)
        return hs[-1]

    def comprehended(x):
        hs = [x * k for k in range(5_000)]
        return sum(hs)

    def ignored(x):
        _hs = [x * k for k in range(5_000)]
        return sum(_hs)

    for function, nodes in ((appended, 10_001), (comprehended, 5_002), (ignored, 2)):
        effort, g = traced(function)
        assert len(list(g)) == nodes
        assert effort < 10_000_000


def test_a_long_function_is_traced_in_linear_time():
    def written(names):
        lines = [f"    a{k} = gc.sin(a{k - 1}*x) - a{k - 1}" for k in range(1, names)]
        text = "\n".join(["def f(x):", "    a0 = x + 1", *lines, f"    return a{names - 1}"])
        scope = {"gc": gc}
        exec(text, scope)
        return scope["f"]

    traced(written(5))  # what is made once
    efforts = [traced(written(names))[0] for names in (600, 1_200)]
    assert efforts[1] < 2.1 * efforts[0]


STATEMENTS = (
    *("{a} = {b}*{c}", "{a} = gc.sin({b})", "{a} = sin({b}) + {c}", "{a} = -{b}") * 3,
    *("{a} = {b}", "{a}, {b} = {b}, {a}", "{a} = {d} = {b} - {c}", "{a} += {b}", "{a} = abs({b})"),
    *("hs = [{a}, {b}*{c}]", "hs.append({a}*2)", "hs += [gc.cos({a})]", "hs[0] = {a} + 1"),
    *("hs = list(map(gc.sin, [{a}, {b}]))", "hs = [gc.sin({a})]", "hs = list(map(sin, [{a}]))"),
    *("{a} = sum([{b}, {c}])", "{a} = helper({b}, {c})", "{a} = inner({b})", "_t = {b}*{c}"),
    *(
        "{a} = (_t := {b} + 1)*2",
        "{a} = ({d} := {b}/2) + {c}",
        "{a} = hs[-1]*{b}",
        "{a} = np.exp({b})",
    ),
    *("hs = [{a}*k for k in range(2)]", "{a} = gc.where({b} > {c}, {b}, {c})", "{a} = 3"),
    *("{a} = gc.name({b}*{c}, 'n{number}')", "{a} = gc.const(2)*{b}", "hs.append({a}); hs.pop()"),
    *(
        "for {a} in hs: {b} = {a} + {b}",
        "for k in range(2): {a} = {a}*{b}",
        "del {a}; {a} = hs[0]*2",
    ),
    *("if True: {a} = {b}*{c}", "{a} = np.exp({b})"),
)


def told(function):
    """The text of a traced function, or the error that it ends with."""
    try:
        return gc.graph(function).to_text()
    except gc.GraphcError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(60))
def test_names_are_those_that_reading_all_locals_gives(seed, monkeypatch):
    """Most looks do not read the locals; random functions get the same names as if all did."""
    draw = random.Random(seed)
    lines = ["def f(x, y, z):", "    u, v, w, t = x, y, z, x + y", "    hs = [x]"]
    lines.append("    def inner(q):\n        nonlocal t\n        t = q*3\n        return t + q")
    for number in range(draw.randrange(5, 25)):
        a, b, c, d = (draw.choice("uvwtxyz") for _ in range(4))
        line = draw.choice(STATEMENTS).format(a=a, b=b, c=c, d=d, number=number)
        lines.append(f"    {line}")
    lines.append("    return u*v, w + t")
    scope = {"gc": gc, "sin": gc.sin, "np": np, "helper": lambda p, q: gc.tanh(p * q)}
    exec("\n".join(lines), scope)
    found = told(scope["f"])
    monkeypatch.setattr(tracing.Trace, "observe", tracing.Trace.look)
    assert found == told(scope["f"]), "\n".join(lines)


# Every version of Python must give the same names.

OTHERS = [f"3.{minor}" for minor in range(10, 14) if minor != sys.version_info.minor]


@pytest.mark.parametrize("version", OTHERS)
def test_other_python(version):
    python = shutil.which(f"python{version}")
    if python is None:
        pytest.skip(f"there is no python{version} here")
    root = Path(gc.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    packages = "import mpmath, numpy, pytest, sympy"
    check = subprocess.run([python, "-c", packages], capture_output=True, env=environment)
    if check.returncode:
        pytest.skip(f"python{version} cannot {packages}")
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not other_python"]
    run = subprocess.run(
        [*command, __file__], capture_output=True, text=True, env=environment, cwd=root
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    "index", [lambda x: x > 0, lambda x: x, lambda x: [x[0]], lambda x: slice(x[0], None)]
)
def test_a_value_is_no_index(index):
    with pytest.raises(gc.GraphcError, match=r"cannot be an index.*where\(cond, a, b\)"):
        gc.graph(lambda x: x[index(x)], shapes={"x": (3,)})


@pytest.mark.parametrize(
    "call",
    [
        lambda g, x: g.compile(want="value")(x),
        lambda g, x: g.compile(want="value")(x=[x, 1]),
        lambda g, x: g.values({"x": x}),
    ],
)
def test_a_graph_of_numbers_takes_no_value_of_another(call):
    g = gc.parse("input x\ny = x**2")
    with pytest.raises(gc.GraphcError, match=r"the value 'x'.* is not a number while the graph"):
        gc.graph(lambda x: call(g, x))
