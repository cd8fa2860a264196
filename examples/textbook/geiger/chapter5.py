"""Geiger, lecture 5: regularisation."""

from sympy import Matrix, Rational
from workbook import Erratum, exercise, newton

import graphc as gc


@exercise("geiger-5.5.4")
def two_classifiers():
    g = gc.parse("""
        input x = [1, 2, 1]
        param w[3]
        s = w @ x
        l = -log(sigmoid(s))
        square = sum(w**2)
        absolute = sum(abs(w))
        ridge = l + 1/20*square
        lasso = l + 1/10*absolute
        """)
    yield g
    w1, w2 = {"w": [0, "3/4", 0]}, {"w": ["1/4", "1/2", "1/4"]}
    values = [g.values(w1), g.values(w2)]
    yield [point["s"] for point in values]
    yield [point[penalty] for penalty in ("square", "absolute") for point in values]
    yield g.derivative("ridge", "w", w2)
    yield g.derivative("lasso", "w", w2)
    norms = [str(gc.sqrt(point["square"])) for point in values]
    yield Erratum("sec. 5.5.4, the norms ||w||_2", "0.5625 and 0.375", " and ".join(norms))


@exercise("geiger-5.5.2")
def shrunk_optimum():
    g = gc.parse("""
        param w = [0, 0]
        d = w - [1, -2]
        L = 1/2*(d @ ([[3, 1], [1, 2]] @ d))
        J = L + 1/4*sum(w**2)
        """)
    yield g
    yield newton(g, "J", "w", at={})
    eigenvalues = sorted(Matrix(g.hessian("L", "w", at={})).eigenvals())
    yield [eigenvalues, [value / (value + Rational(1, 2)) for value in eigenvalues]]
