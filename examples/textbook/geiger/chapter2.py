"""Geiger, lecture 2: computation graphs."""

from workbook import exercise, pick

import graphc as gc


@exercise("geiger-2.2.2")
def fine_or_coarse():
    g = gc.parse("""
        input x = 2
        input y = 1
        param w0 = 1/2
        param w1 = 3/4
        u = w1*x
        yh = w0 + u
        z = yh - y
        L = z**2
        """)
    yield g
    yield pick(g.values({}), "u yh z L")
    fine, coarse = g.reverse("L", at={}), g.collapse("u", "z").reverse("L", at={})
    yield pick(fine, "z yh u")
    assert pick(fine, "w0 w1 x y") == pick(coarse, "w0 w1 x y")
    yield pick(coarse, "w0 w1 x y")


@exercise("geiger-2.3.2")
def fan_out():
    g = gc.parse("input x = 1/2\ny = x**2\nu = sin(y)\nv = exp(y)\nL = u*v")
    yield g
    yield pick(g.reverse("L", at={}), "u v y x")


@exercise("geiger-2.3.3")
def logistic_regression():
    g = gc.parse("""
        input x = 2
        input y = 1
        param w0 = -1/2
        param w1 = 3/4
        u = w0 + w1*x
        yh = sigmoid(u)
        L = -y*log(yh) - (1 - y)*log(1 - yh)
        """)
    yield g
    slopes = g.reverse("L", at={})
    yield slopes["yh"]
    yield slopes["u"]
    yield pick(slopes, "w0 w1")


@exercise("geiger-2.2.2-mlp")
def two_sigmoid_layers():
    g = gc.parse("""
        input x = [1, 2]
        param W1 = [[1/2, -1], [1/4, 2/3]]
        param w2 = [1, -3/2]
        h = sigmoid(W1.T @ x)
        yh = sigmoid(w2 @ h)
        L = -log(1 - yh)                        # cross-entropy for y = 0
        """)
    yield g
    yield pick(g.values({}), "yh L")
    slopes = g.reverse("L", at={})
    yield slopes["W1"]
    yield pick(slopes, "w2 x")
