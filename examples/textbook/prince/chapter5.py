"""Prince, chapter 5: losses of distributions."""

from workbook import Erratum, exercise, pick

import graphc as gc


@exercise("prince-5.3")
def heteroscedastic():
    g = gc.parse("""
        input m = 1/2
        input q = -1/3
        input y = 2
        s2 = exp(q)
        L = 1/2*log(2*pi*s2) + (y - m)**2/(2*s2)
        """)
    yield g
    yield g.values({})["L"]
    yield pick(g.reverse("L", at={}), "m q")


@exercise("prince-5.5")
def binary_cross_entropy():
    g = gc.parse("""
        input z = 3/4
        input y = 1
        s = sigmoid(z)
        L = -(1 - y)*log(1 - s) - y*log(s)
        """)
    yield g
    losses = [g.values({"y": y})["L"] for y in (1, 0)]
    yield losses
    yield [g.derivative("L", "z", {"y": y}) for y in (1, 0)]
    yield [g.derivative("s", "z", {"z": z}) for z in ("3/4", 50, -50)]
    yield Erratum("eq. 5.34, the loss for y = 1", float(-losses[0]), float(losses[0]))
    yield Erratum("eq. 7.23, the loss l_i", "a sum over i, minus on its first term", g["L"].text)


@exercise("prince-5.6")
def von_mises():
    g = gc.parse("""
        input y = 1
        param mu = 1/2
        param k = 2
        term0 = 1
        for m in 1..30:                       # Bessel's I0 by its power series
            term[m] = term[m-1]*(k/(2*m))**2
        I0 = sum(term[0..30])
        L = -k*cos(y - mu)
        nll = L + log(2*pi*I0)
        """)
    yield g
    yield g.values({})["nll"]
    yield g.derivative("L", "mu", at={})
    yield g.derivative("nll", "k", at={})


@exercise("prince-5.8")
def mixture():
    g = gc.parse("""
        input y = 3/2
        param l = 1/3
        param m1 = 0
        param m2 = 2
        param v1 = 1
        param v2 = 1/4
        n1 = l/sqrt(2*pi*v1)*exp(-(y - m1)**2/(2*v1))
        n2 = (1 - l)/sqrt(2*pi*v2)*exp(-(y - m2)**2/(2*v2))
        L = -log(n1 + n2)
        """)
    yield g
    yield g.values({})["L"]
    yield pick(g.reverse("L", at={}), "l m1 m2 v1 v2")


@exercise("prince-5.10")
def poisson():
    g = gc.parse("input f = 1/2\ny = 3\nlam = exp(f)\nL = lam - y*log(lam) + log(6)")
    yield g
    yield g.values({})["L"]
    yield g.derivative("L", "f", at={})
