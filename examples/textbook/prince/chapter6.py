"""Prince, chapters 6 and 7: fitting models and backpropagation."""

from sympy import Matrix, Rational
from workbook import Erratum, exercise, iterate, pick, verdict

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


NETWORK = """
    input x = [1, 1/2]
    input t = [1]
    param W0 = [[1, -1], [1/2, 2], [-1, 1/3]]
    param b0 = [0, 1/4, 1/2]
    param W1 = [[1, -1/2, 2], [1/3, 1, -1]]
    param b1 = [1/5, -1/5]
    param W2 = [[3/2, -1]]
    param b2 = [1/10]
    f0 = b0 + W0 @ x
    h1 = relu(f0)
    f1 = b1 + W1 @ h1
    h2 = relu(f1)
    f2 = b2 + W2 @ h2
    L = sum((f2 - t)**2)
    """


@exercise("prince-7.9")
def matrix_backpropagation():
    g = gc.parse(NETWORK)
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
    yield Erratum(
        "problem 7.8, size of dl/df_1", "D_1 x 1 = 3 x 1", f"D_2 x 1 = {g['f1'].size} x 1"
    )


@exercise("prince-7.10")
def leaky_backpropagation():
    g = gc.parse(
        NETWORK.replace("relu(f0)", "leaky_relu(f0, 1/10)").replace(
            "relu(f1)", "leaky_relu(f1, 1/10)"
        )
    )
    yield g
    yield g.values({})["L"]
    slopes = g.reverse("L", at={})
    for layer in ("b0 W0", "b1 W1", "b2 W2"):
        yield pick(slopes, layer)
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


@exercise("prince-6.4-adam")
def adam_as_printed():
    g = gc.parse("param phi[2]\ninput m[2] v[2] t\nL = sum([1, 4]*phi**2)")
    step = g.differentiate("L", "phi")
    for node, formula in {
        "t_next": "t + 1",
        "m_next": "0.9*m + 0.1*phi_bar",
        "v_next": "0.99*v + 0.01*phi_bar**2",
        "phi_next": "phi - 0.1*m_next/(1 - 0.9**t_next)/sqrt(v_next/(1 - 0.99**t_next) + 1e-8)",
        "plain": "phi - 0.1*phi_bar/sqrt(phi_bar**2)",
        "printed_v": "2*L*phi_bar",
    }.items():
        step.node(node, formula)
    start = {"phi": [1, 1], "m": [0, 0], "v": [0, 0], "t": 0}
    yield step
    yield [state["phi"] for state in iterate(step, start, 3)]
    values = step.values(start)
    yield values["plain"]
    squares = values["phi_bar"] ** 2
    yield Erratum("eq. 6.13, v at (1, 1)", f"d(L^2)/dphi = {values['printed_v']}", squares.tolist())


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
    yield verdict("jump", quotient(-eps / 4, eps / 2) == 2 * quotient(-eps / 2, eps))
