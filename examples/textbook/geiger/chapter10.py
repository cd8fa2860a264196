"""Geiger, lecture 10: graphs as data."""

from workbook import exercise, pick

import graphc as gc


@exercise("geiger-10.3")
def graph_perceptron():
    g = gc.parse("""
        input S = [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
        input x = [1, 2, -1]
        param h = [1, 1/2, -1/4]
        o = tanh(h[0]*x + h[1]*(S @ x) + h[2]*(S @ S @ x))
        L = sum((o - [0, 1, 0])**2)
        """)
    yield g
    yield g.values({})["o"]
    yield from pick(g.reverse("L", at={}), "h x")
