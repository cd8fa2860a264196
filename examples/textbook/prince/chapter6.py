"""Prince, chapter 6: fitting models."""

from sympy import Matrix
from workbook import Erratum, exercise, pick

import graphc as gc


@exercise("prince-6.3")
def gabor_model():
    g = gc.parse("""
        input x = [-2, 1, 3]
        input y = [1/4, -1/2, 1/3]
        param p0 = 1/2
        param p1 = 5
        u = p0 + 0.06*p1*x
        f = sin(u)*exp(-u**2/8)
        L = sum((f - y)**2)
        """)
    yield g
    yield g.values({})["L"]
    yield pick(g.reverse("L", at={}), "p0 p1")


@exercise("prince-6.5")
def logistic_regression():
    g = gc.parse("""
        input x = [-1, -2, 1, 3]
        input sign = [1, 1, -1, -1]           # -1 for the points of class 1
        param phi = [1/4, 1/2]
        z = phi[0] + phi[1]*x
        L = sum(log(1 + exp(sign*z)))
        """)
    yield g
    yield g.values({})["L"]
    yield g.derivative("L", "phi", at={})
    H = g.hessian("L", "phi", at={})
    yield H
    yield Matrix(H).evalf(30).det()


@exercise("prince-6.8")
def momentum_unrolled():
    g = gc.parse("""
        input g[0..9] = 1
        param beta = 9/10
        m0 = 0
        for t in 0..9:
            m[t+1] = beta*m[t] + (1 - beta)*g[t]
        """)
    yield g
    weights = [g.derivative("m10", f"g{9 - k}", at={}) for k in range(10)]
    yield weights[:5]
    ratio = weights[1] / weights[0]
    yield [weights[0] / (1 - ratio), sum(weights)]  # a geometric series


@exercise("prince-6.4-adam")
def adam_as_printed():
    g = gc.parse("param phi = [1, 1]\nL = sum([1, 4]*phi**2)\nsquare = L**2")
    yield g
    run = gc.descend(g, "L", method="adam", lr=0.1, beta2=0.99, steps=3, eps_inside=True)
    yield [point["phi"] for point in run.iterates[1:]]
    plain = g.differentiate("L", "phi").extend("next = phi - 1/10*phi_bar/sqrt(phi_bar**2)")
    yield plain.values({})["next"]
    printed, slope = (g.derivative(name, "phi", at={}) for name in ("square", "L"))
    yield Erratum("eq. 6.13, v at (1, 1)", f"d(L^2)/dphi = {printed}", f"(dL/dphi)^2 = {slope**2}")
