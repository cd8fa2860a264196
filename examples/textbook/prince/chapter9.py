"""Prince, chapters 9 to 11: regularisation, convolution and residual networks."""

from collections import Counter

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


@exercise("prince-10.2-3")
def stride_and_dilation():
    g = gc.parse("""
        input x = [1, 2, -1, 3, 0, 2, 1]
        param w = [1, -2, 3]
        param b = 1
        strided = conv1d(x, w, stride=2, padding=1) + b
        dilated = conv1d(x, w, dilation=2, padding=2) + b    # every second input: one gap
        """)
    yield g
    for name in ("strided", "dilated"):
        yield g.values({})[name]
        slopes = g.reverse({name: list(range(1, g[name].size + 1))}, at={})
        yield [slopes["w"], [slopes["b"]]]
        yield slopes["x"]


def residual(blocks):
    """Residual blocks h_k = h_{k-1} + f_k(h_{k-1})."""
    return gc.parse(f"""
        input h0
        for k in 1..{blocks}:
            f[k] = tanh(h[k-1])
            h[k] = h[k-1] + f[k]
        """)


@exercise("prince-11.2")
def paths_through_residual_blocks():
    yield residual(3)
    table = []
    for K in (3, 4, 5):
        paths = residual(K).paths("h0", f"h{K}")
        lengths = Counter(sum(name.startswith("f") for name in path) for path in paths)
        table.append([lengths[length] for length in range(K + 1)])
    yield table
    yield residual(4).count_paths("f1", "h4")


@exercise("prince-11.3")
def unravelled_residual_network():
    g = gc.parse("""
        input h0 = 1/2
        param w = [1/2, -1/3, 3/4, 2/5]
        for k in 1..4:
            f[k] = tanh(w[k-1]*h[k-1])
            h[k] = h[k-1] + f[k]
        """)
    yield g
    yield g.values({})["h4"]
    terms = g.pathwise("h4", "f1", at={}).terms
    blocks = [("f2" in path) + 2 * ("f3" in path) + 4 * ("f4" in path) for path, _ in terms]
    yield [product for _, (_, product) in sorted(zip(blocks, terms, strict=True))]
    slopes = g.reverse("h4", at={})
    yield slopes["f1"]
    yield slopes["h0"]
    yield [g.count_paths("f1", "h4"), g.count_paths("h0", "h4")]


@exercise("prince-11.11")
def densenet():
    g = gc.parse("""
        input x
        h1 = tanh(x)
        h2 = tanh(x + h1)
        h3 = tanh(x + h1 + h2)
        y = stack([x, h1, h2, h3])
        """)
    yield g
    yield [g.count_paths("x", name) for name in ("h1", "h2", "h3", "y")]
