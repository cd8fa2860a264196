"""Geiger, lecture 4: losses, activations and difference quotients."""

from workbook import Erratum, exercise, pick

import graphc as gc


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
        one_sided = (exp(x + h) - exp(x))/h/exp(x) - 1
        symmetric = (exp(x + h) - exp(x - h))/(2*h)/exp(x) - 1
        """)
    yield g
    steps = ("1e-3", "1e-5", "1e-8", "1e-12")
    yield [pick(g.values({"h": h}), "one_sided symmetric") for h in steps]
    yield gc.parse("h = (2**-52)**(1/3)").values({})["h"]
