"""Geiger, lecture 3: networks of neurons."""

from workbook import Erratum, exercise, pick

import graphc as gc


@exercise("geiger-3.1.1")
def index_loops():
    g = gc.parse("""
        input x = [1, 2, 1/2]
        param A = [[1, -1/2, 2], [1/3, 1, -1]]
        param b = [1/4, -1/4]
        y = sigmoid(A @ x + b)
        """)
    yield g
    yield g.values({})["y"]
    yield pick(g.reverse({"y": [1, -2]}, at={}), "A x b")
    yield Erratum("sec. 3.1.1, the node u of the loops", "u = Ax + b", "u = Ax; b is added later")


@exercise("geiger-3.2")
def soft_xor():
    g = gc.parse("""
        input x1 x2
        param k = 10
        h1 = sigmoid(k*(x1 + x2 - 1/2))
        h2 = sigmoid(k*(3/2 - x1 - x2))
        y = sigmoid(k*(h1 + h2 - 3/2))
        """)
    yield g
    corners = [{"x1": x1, "x2": x2} for x1 in (0, 1) for x2 in (0, 1)]
    yield [g.values(at)["y"] for at in corners]
    yield [g.derivative("y", "k", at) for at in corners]
