"""Geiger, lecture 12: a game."""

from sympy import solve
from workbook import Erratum, exercise, pick

import graphc as gc


@exercise("geiger-12.1.4")
def confident_discriminator():
    g = gc.parse("""
        input a = -4
        D = sigmoid(a)
        saturating = log(1 - D)
        non_saturating = -log(D)
        """)
    yield g
    slopes = g.forward("a", at={})
    yield [g.values({})["D"], *pick(slopes, "saturating non_saturating")]
    best = gc.parse("input y\nV = 3/10*log(y) + 1/10*log(1 - y)")
    yield best
    (optimum,) = solve(best.derivative("V", "y"))
    yield [optimum, best.hessian("V", "y", {"y": optimum})]
    both = gc.parse("D = 1/3\nprinted = log(1)/log(D)\nright = log(1 - D)").values({})
    yield Erratum("log(1 - D) at D = 1/3", f"log(1)/log(D) = {both['printed']}", both["right"])
