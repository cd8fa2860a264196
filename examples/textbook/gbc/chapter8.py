"""Goodfellow, Bengio and Courville, chapter 8: optimisation."""

from sympy import Matrix, Rational
from workbook import Erratum, exercise, iterate

import graphc as gc


@exercise("gbc-8.34")
def deep_linear_chain():
    g = gc.parse("""
        input x = 1
        param w = [2, 1/2, 3, 1]
        yhat = x*prod(w)
        """)
    yield g
    w, yhat = g["w"].value, g.values({})["yhat"]
    slope = g.derivative("yhat", "w", at={})
    square = slope @ slope
    yield [[yhat], slope, [square]]
    eps = Rational(1, 10) / square
    yield eps
    yield [yhat - eps * square, g.values({"w": w - eps * slope})["yhat"]]
    curvature = g.hessian("yhat", "w", at={})[0, 1]  # x w3 w4
    yield eps**2 * slope[0] * slope[1] * curvature
    yield Erratum("eq. 8.34, a second-order term", "eps^2 g1 g2 w3 w4", "x eps^2 g1 g2 w3 w4")


@exercise("gbc-8.35")
def batch_normalisation():
    g = gc.parse("""
        input H = [[1, 2], [3, 1/2], [-1, 1]]
        N = (H - mean(H, axis=0))/sqrt(1/100 + var(H, axis=0))
        """)
    yield g
    yield g.values({})["N"]
    upstream = [[1, -1], [2, "1/2"], ["1/2", 3]]
    dH = g.reverse({"N": upstream}, at={})["H"]
    yield dH
    yield sum(dH)


@exercise("gbc-8.17")
def terminal_speed():
    g = gc.parse("""
        input v[2]
        v_next = 9/10*v - 1/100*[3, -4]
        speed = norm(v_next)
        """)
    yield g
    plain = g.values({"v": [0, 0]})["speed"]
    ninth = iterate(g, 9, v=[0, 0])[-1]
    gain = 1 / (1 - g.jacobian("v_next", "v", ninth)[0, 0])  # a geometric series
    yield [gain * plain, g.values(ninth)["speed"], gain]


@exercise("gbc-8.28")
def damped_newton():
    g = gc.parse("input w[2]\nf = w[0]**2 - w[1]**2")
    yield g
    at = {"w": [1, 1]}
    slope, H = g.derivative("f", "w", at), g.hessian("f", "w", at)

    def damped(alpha):
        return at["w"] - gc.solve(H + alpha * gc.eye(2), slope)

    yield damped(0)
    yield [damped(4), [g.values({"w": damped(4)})["f"]]]
    yield damped(1)
    yield Erratum("eq. 8.29, conjugate direction", "+gradient + beta d", "-gradient + beta d")


@exercise("gbc-8.11")
def repeated_multiplication():
    g = gc.parse("""
        input h0 = [1, 1]
        param W = [[1/2, 1], [0, 6/5]]
        for t in 1..20:
            h[t] = W @ h[t-1]
        """)
    yield g
    yield sorted(Matrix(g["W"].value).eigenvals())
    yield g.jacobian("h20", "h0", at={})
