"""Geiger, lectures 2 to 4: computation graphs, networks, losses and activations."""

from sympy import Rational
from workbook import Erratum, exercise, pick

import graphc as gc


@exercise("geiger-2.2.2")
def fine_or_coarse():
    g = gc.parse("""
        input x = 2
        input y = 1
        param w0 = 1/2
        param w1 = 3/4
        u = w1*x
        yh = w0 + u
        z = yh - y
        L = z**2
        """)
    yield g
    yield pick(g.values({}), "u yh z L")
    fine, coarse = g.reverse("L", at={}), g.collapse("u", "z").reverse("L", at={})
    yield pick(fine, "z yh u")
    assert pick(fine, "w0 w1 x y") == pick(coarse, "w0 w1 x y")
    yield pick(coarse, "w0 w1 x y")


@exercise("geiger-2.3.2")
def fan_out():
    g = gc.parse("input x = 1/2\ny = x**2\nu = sin(y)\nv = exp(y)\nL = u*v")
    yield g
    yield pick(g.reverse("L", at={}), "u v y x")


@exercise("geiger-2.3.3")
def logistic_regression():
    g = gc.parse("""
        input x = 2
        input y = 1
        param w0 = -1/2
        param w1 = 3/4
        u = w0 + w1*x
        yh = sigmoid(u)
        L = -y*log(yh) - (1 - y)*log(1 - yh)
        """)
    yield g
    slopes = g.reverse("L", at={})
    yield slopes["yh"]
    yield slopes["u"]
    yield pick(slopes, "w0 w1")


@exercise("geiger-2.2.2-mlp")
def two_sigmoid_layers():
    g = gc.parse("""
        input x = [1, 2]
        param W1 = [[1/2, -1], [1/4, 2/3]]
        param w2 = [1, -3/2]
        h = sigmoid(W1.T @ x)
        yh = sigmoid(w2 @ h)
        L = -log(1 - yh)                        # cross-entropy for y = 0
        """)
    yield g
    yield pick(g.values({}), "yh L")
    slopes = g.reverse("L", at={})
    yield slopes["W1"]
    yield pick(slopes, "w2 x")


@exercise("geiger-3.1.1")
def index_loops():
    g = gc.parse("""
        input x = [1, 2, 1/2]
        param A = [[1, -1/2, 2], [1/3, 1, -1]]
        param b = [1/4, -1/4]
        u = A @ x
        y = sigmoid(u + b)
        """)
    yield g
    yield g.values({})["y"]
    yield pick(g.reverse({"y": [1, -2]}, at={}), "A x b")
    yield Erratum("sec. 3.1.1, the node u of the loops", "u = Ax + b", f"u = {g['u'].text}")


@exercise("geiger-3.2")
def soft_xor():
    g = gc.parse("""
        input x1 x2
        param k = 10
        h1 = sigmoid(k*(x1 + x2 - 1/2))
        h2 = sigmoid(k*(3/2 - x1 - x2))
        y = sigmoid(k*(h1 + h2 - 3/2))
        """)
    yield g
    corners = [{"x1": x1, "x2": x2} for x1 in (0, 1) for x2 in (0, 1)]
    yield [g.values(at)["y"] for at in corners]
    yield [g.derivative("y", "k", at) for at in corners]


@exercise("geiger-4.1.2")
def laplace():
    g = gc.parse("input y = 3\nparam f = 1\nparam b = 1/2\nL = log(2*b) + abs(y - f)/b")
    yield g
    yield g.values({})["L"]
    yield pick(g.reverse("L", at={}), "f b")


@exercise("geiger-4.1.3")
def table_of_softmax():
    g = gc.parse("""
        input s = [[3, 1, -1, -1], [3, 3, 1, 0], [1, 1, 1, 1], [3, 2, 3, -1]]
        p = softmax(s)
        l = -diag(log(p))                       # the label of row i is i
        """)
    yield g
    p, losses = pick(g.values({}), "p l")
    yield p
    yield losses
    yield g.reverse({"l": [1, 1, 1, 1]}, at={})["s"]
    yield Erratum("table, last row, second probability", "0.16", f"{float(p[3, 1]):.2f}")
    yield Erratum("table, third loss", "1.38", f"{float(losses[2]):.2f}")
    yield Erratum(
        "text, the loss from the first to the second example",
        "decreases",
        f"rises from {float(losses[0]):.2f} to {float(losses[1]):.2f}",
    )


@exercise("geiger-4.2")
def activations():
    g = gc.parse("""
        input x = -1/2
        param a = 1/5
        lrelu = leaky_relu(x)
        prelu = leaky_relu(x, a)
        elu = elu(x)
        softplus = softplus(x)
        printed = exp(x - 1)                    # ELU as Ma and Tang print it
        s = sigmoid(x)
        """)
    yield g
    values, slopes = g.values({}), g.forward("x", at={})
    yield pick(values, "lrelu prelu elu softplus")
    yield pick(slopes, "lrelu prelu elu softplus")
    yield g.derivative("prelu", "a", at={})
    yield [values["printed"], slopes["printed"]]
    yield g.derivative("s", "x", {"x": 10})
    yield Erratum("Ma and Tang, ELU at -1/2", values["printed"], values["elu"])
    capped = [x for x in (-1, 1) if gc.relu(x) != x]
    yield Erratum("Geiger, the values that a ReLU caps", "x > 0", f"x < 0, such as {capped[0]}")


@exercise("geiger-4.2-fd")
def truncation_errors():
    g = gc.parse("""
        input x = 1
        input h
        slope = exp(x)
        one_sided = ((exp(x + h) - exp(x))/h - slope)/slope
        symmetric = ((exp(x + h) - exp(x - h))/(2*h) - slope)/slope
        """)
    yield g
    steps = [Rational(1, 10**digits) for digits in (3, 5, 8, 12)]
    yield [pick(g.values({"h": h}), "one_sided symmetric") for h in steps]
    yield gc.parse("h = (2**-52)**(1/3)").values({})["h"]
