"""Aggarwal, chapter 5: penalties and codes."""

from workbook import Erratum, exercise, pick

import graphc as gc


@exercise("aggarwal-5.5")
def contractive_penalty():
    g = gc.parse("""
        input x = [1, 2]
        param W = [[1/2, -1/8], [1, -1]]
        param V = [[1, 1/2], [-1, 1/5]]
        h = relu(W @ x)
        h1 = h[0]
        h2 = h[1]
        L = sum((V @ h - x)**2)
        """)
    both = g.differentiate("h1", "x").differentiate("h2", "x")  # x_bar and x_bar_2: rows of dh/dx
    both.node("R", "1/2*(sum(x_bar**2) + sum(x_bar_2**2))")
    both.node("J", "L + 1/10*R")
    yield both
    yield both.values({})["R"]
    yield both.derivative("R", "W", at={})
    yield both.derivative("J", "W", at={})


@exercise("aggarwal-5.12")
def hinge_on_a_hidden_unit():
    g = gc.parse("""
        input x = 1
        param w = 1/2
        param u = 2
        h = w*x
        o = u*h
        J = (o - 3)**2 + 1/4*relu(1 - h)
        """)
    yield g
    yield from pick(g.reverse("J", at={}), "h w")


@exercise("aggarwal-5.4.2")
def sparse_or_small():
    g = gc.parse("""
        param w = [1/2, -1/4, 0]
        L = dot([1, -1, 0], w)             # any loss with this slope
        lasso = L + 1/5*sum(abs(w))
        ridge = L + 1/5*sum(w**2)
        """)
    yield g
    for loss in ("lasso", "ridge"):
        yield g["w"].value - g.derivative(loss, "w", at={}) / 10
    yield Erratum("sec. 5.4.2, drawn from {-1, +1} when w_i = 0", "w_i", "s_i")


@exercise("aggarwal-5.10.4")
def gaussian_code():
    @gc.graph
    def g(z1="1/3", z2="-1/2", *, mu1="1/2", mu2=-1, s1="3/4", s2=2):
        h1 = z1 * s1 + mu1
        h2 = z2 * s2 + mu2
        L = (h1 - 1) ** 2 + h1 * h2
        R = (mu1**2 + mu2**2 + s1**2 + s2**2 - 2 * gc.log(s1) - 2 * gc.log(s2) - 2) / 2
        J = L + R / 10
        return J

    yield g
    yield g.values({})["R"]
    yield pick(g.reverse("R", at={}), "mu1 mu2 s1 s2")
    yield pick(g.reverse("J", at={}), "mu1 mu2 s1 s2")
