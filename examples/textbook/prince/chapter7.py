"""Prince, chapter 7: backpropagation."""

from sympy import Rational
from workbook import Erratum, exercise, pick, verdict

import graphc as gc


@exercise("prince-7.1")
def thirteen_parameters():
    @gc.graph
    def g(x=1, *, f0="1/2", f1=2, f2=-1, s01="1/4", s11=1, s21="-1/2", s02="-1/3", s12="2/3",
          s22="3/2", th01="1/5", th11="1/2", th02="-1/2", th12=1):  # fmt: skip
        h1 = gc.relu(th01 + th11 * x)
        h2 = gc.relu(th02 + th12 * x)
        k1 = gc.relu(s01 + s11 * h1 + s21 * h2)
        k2 = gc.relu(s02 + s12 * h1 + s22 * h2)
        y = f0 + f1 * k1 + f2 * k2
        return y

    yield g
    yield len(g.param_names)
    yield pick(g.reverse("y", at={}), " ".join(g.param_names))
    yield Erratum("problem 7.1, number of parameters", 15, len(g.param_names))


def network(activation):
    """Two hidden layers of three and two units, with the activation as text."""
    return gc.parse(f"""
        input x = [1, 1/2]
        input t = [1]
        param W0 = [[1, -1], [1/2, 2], [-1, 1/3]]
        param b0 = [0, 1/4, 1/2]
        param W1 = [[1, -1/2, 2], [1/3, 1, -1]]
        param b1 = [1/5, -1/5]
        param W2 = [[3/2, -1]]
        param b2 = [1/10]
        f0 = b0 + W0 @ x
        h1 = {activation("f0")}
        f1 = b1 + W1 @ h1
        h2 = {activation("f1")}
        f2 = b2 + W2 @ h2
        L = sum((f2 - t)**2)
        """)


@exercise("prince-7.9")
def matrix_backpropagation():
    g = network("relu({})".format)
    yield g
    values, slopes = g.values({}), g.reverse("L", at={})
    yield [values["f2"][0], values["L"]]
    yield pick(slopes, "b0 W0")
    yield pick(slopes, "b1 W1")
    yield pick(slopes, "b2 W2")
    yield slopes["x"]
    edges = [("f0", "h1"), ("h1", "f1"), ("f1", "h2"), ("h2", "f2")]
    factors = [g.local(source, target, at={}).dense().T for source, target in edges]
    yield [*(factor.shape for factor in factors), [slopes["f2"].size, g["L"].size]]
    assert gc.check(g, "L", at={}).verdict == "correct"  # the test that problem 7.9 asks for
    yield Erratum(
        "problem 7.8, size of dl/df_1", "D_1 x 1 = 3 x 1", f"D_2 x 1 = {g['f1'].size} x 1"
    )


@exercise("prince-7.10")
def leaky_backpropagation():
    g = network("leaky_relu({}, 1/10)".format)
    yield g
    yield g.values({})["L"]
    slopes = g.reverse("L", at={})
    yield from (pick(slopes, layer) for layer in ("b0 W0", "b1 W1", "b2 W2"))
    yield Erratum("eq. 7.29, name of the function", "ReLU", "leaky ReLU")


SIX_NODES = """
    input x = 1/2
    f1 = exp(x)
    f2 = f1**2
    f3 = f1 + f2
    f4 = exp(f3)
    f5 = sin(f3)
    y = f4 + f5
    """


@exercise("prince-7.12")
def six_nodes_backwards():
    g = gc.parse(SIX_NODES)
    yield g
    yield pick(g.values({}), "f1 f2 f3 f4 f5 y")
    yield pick(g.reverse("y", at={}), "f5 f4 f3 f2 f1 x")


@exercise("prince-7.13")
def six_nodes_forwards():
    g = gc.parse(SIX_NODES)
    yield g
    yield pick(g.forward("x", at={}), "f1 f2 f3 f4 f5 y")


@exercise("prince-7.15")
def moments_after_a_relu():
    g = gc.parse("""
        input z = 0
        param a = 1
        density = exp(-a*z**2/2)/sqrt(2*pi)           # the normal density at a = 1
        half = sqrt(pi/(2*a))/sqrt(2*pi)              # its integral over z > 0
        """)
    yield g
    # Under the integral: d density / da = -z^2/2 density, and -d density / dz = z density at a = 1.
    second = -2 * g.derivative("half", "a", at={})
    first = g.values({})["density"]
    yield [second, first, second - first**2]
    compromise = gc.parse("D1 = 100\nD2 = 50\nvariance = 2/((D1 + D2)/2)").values({})["variance"]
    yield compromise
    yield Erratum("problem 7.15, variance after the ReLU", "sigma^2/2", second - first**2)
    yield Erratum("eq. 7.20, variance for D = 100 and 50", "1/150", compromise)


@exercise("prince-7.7")
def heaviside_activation():
    g = gc.parse("input x = 1\nparam theta\nparam w = 2\ny = w*heaviside(theta*x)")
    yield g
    yield g.derivative("y", "theta", {"theta": 1})

    def quotient(theta, eps):
        y = [g.values({"theta": end})["y"] for end in (theta, theta + eps)]
        return (y[1] - y[0]) / eps

    eps = Rational(1, 10**4)
    yield quotient(-eps / 2, eps)
    (row,) = gc.check(g, "y", {"theta": 0}, "theta").rows
    yield verdict("jump", row.verdict == "at-kink" and "the value jumps" in row.evidence)
