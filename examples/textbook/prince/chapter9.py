"""Prince, chapter 9: regularisation."""

from sympy import Rational
from workbook import exercise, pick

import graphc as gc


@exercise("prince-9.2")
def penalty_or_decay():
    @gc.graph
    def g(x=2, t=3, lam="1/10", *, w="1/2", b="1/4"):
        L = (w * x + b - t) ** 2
        J = L + lam * (w**2 + b**2)
        return J

    yield g
    slopes = [pick(g.reverse(loss, at={}), "w b") for loss in ("L", "J")]
    yield slopes
    phi, alpha, decay = pick(g.values({}), "w b"), Rational(1, 10), Rational(1, 50)
    decayed = [(1 - decay) * p - alpha * s for p, s in zip(phi, slopes[0], strict=True)]
    penalised = g.reverse("J", {"lam": decay / (2 * alpha)})
    assert decayed == [g[name].value - alpha * penalised[name] for name in ("w", "b")]
    yield decayed


@exercise("prince-9.3")
def noisy_inputs():
    g = gc.parse("""
        input x = [1, 2, 4]
        input y = [2, 3, 4]
        input s2 = 1/4
        param phi = [1/2, 1]
        EL = sum((phi[0] + phi[1]*x - y)**2 + phi[1]**2*s2)
        """)
    yield g
    yield g.derivative("EL", "phi", at={})


@exercise("prince-9.4")
def label_smoothing():
    g = gc.parse("input z = [1, 2, 1/2]\nL = softmax_cross_entropy(z, [1/20, 9/10, 1/20])")
    yield g
    yield g.values({})["L"]
    yield g.derivative("L", "z", at={})


@exercise("prince-9.8")
def implicit_regularisation():
    g = gc.parse("param phi0 = 1\nparam phi1 = 1/2\nL = phi0**2*phi1 + phi0*sin(phi1)")
    smooth = g.differentiate("L", ["phi0", "phi1"])
    smooth.node("M", "L + 1/40*(phi0_bar**2 + phi1_bar**2)")
    yield smooth
    yield pick(smooth.values({}), "phi0_bar phi1_bar")
    yield smooth.values({})["M"]
    yield pick(smooth.reverse("M", at={}), "phi0 phi1")
