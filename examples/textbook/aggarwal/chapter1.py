"""Aggarwal, chapter 1: neurons, activations and the perceptron."""

from workbook import Erratum, exercise, pick

import graphc as gc


@exercise("aggarwal-1.1")
def xor():
    g = gc.parse("""
        input x1 x2
        s = x1 + x2
        h1 = relu(s)
        h2 = relu(s - 1)
        o = h1 - 2*h2
        """)
    yield g
    corners = [(0, 0), (0, 1), (1, 0), (1, 1)]
    yield [g.values({"x1": x1, "x2": x2})["o"] for x1, x2 in corners]


@exercise("aggarwal-1.2")
def sigmoid_and_its_derivatives():
    g = gc.parse("input v = 0\no = sigmoid(v)")
    first = g.differentiate("o", "v")
    second = first.differentiate(None, "v")
    third = second.differentiate(None, "v")
    yield g
    at_0 = [d.values({})[d.output_names[0]] for d in (g, first, second, third)]
    yield at_0
    parity = gc.parse("""
        input v = 7/10
        s = sigmoid(-v) - (1 - sigmoid(v))
        t = tanh(-v) + tanh(v)
        h = hardtanh(-v) + hardtanh(v)
        """)
    yield pick(parity.values({}), "s t h")
    yield Erratum("second derivative of the sigmoid at 0", "-0.0625", at_0[2])
    yield Erratum("third derivative of the sigmoid at 0", "0.015625", at_0[3])


@exercise("aggarwal-1.3")
def tanh_is_a_stretched_sigmoid():
    g = gc.parse("input v = 7/10\na = tanh(v)\nb = 2*sigmoid(2*v) - 1")
    yield g
    yield pick(g.values({}), "a b")
    slopes = g.forward("v", at={})
    assert abs(slopes["a"] - slopes["b"]) < 1e-25
    yield slopes["a"]


@exercise("aggarwal-1.4")
def perceptron_that_never_converges():
    g = gc.parse("""
        input x[2] y
        param W[2]
        slack = -y*dot(W, x)
        cautious = relu(slack)             # at a score of 0: no update
        eager = relu(slack, kink=1)        # at a score of 0: update
        """)
    yield g
    points = [([-1, -1], 1), ([1, 1], 1), ([1, -1], -1), ([-1, 1], -1)]
    for loss, steps in (("eager", 8), ("cautious", 4)):
        W = [0, 0]
        iterates = [W]
        for step in range(steps):
            x, y = points[step % 4]
            W = W - g.reverse(loss, {"x": x, "y": y, "W": W})["W"]
            iterates.append(W)
        yield iterates


@exercise("aggarwal-1.7")
def steepest_points():
    g = gc.parse("input v = 0\ns = sigmoid(v)\nt = tanh(v)")
    yield g
    for name in ("s", "t"):
        slope = g.differentiate(name, "v")
        steepness = slope.output_names[0]
        curvature = slope.hessian(steepness, "v", at={})
        assert slope.derivative(steepness, "v", at={}) == 0 > curvature
        yield [slope.values({})[steepness], slope.values({})["v"]]
    far = gc.parse("input v = 100\ns = sigmoid(v)").reverse("s", at={})["v"] > 0  # still rising
    yield Erratum("exercises 7 and 8, what has a maximum", "the function", far and "its derivative")


@exercise("aggarwal-1.9")
def sigmoid_and_tanh_pairs():
    g = gc.parse("""
        input x1 = 1/2
        input x2 = -1/4
        s1 = sigmoid(x1 + x2)
        t1 = tanh(x1 + x2)
        s2 = sigmoid(s1 + t1)
        t2 = tanh(s1 + t1)
        o = relu(s2 + t2)
        """)
    yield g
    yield g.values({})["o"]
    yield g.derivative("o", "x1", at={})
    asleep = {"x1": -2, "x2": -1}
    yield [g.values(asleep)["o"], g.derivative("o", "x1", asleep)]


@exercise("aggarwal-1.5.1")
def absolute_value_of_two_relus():
    g = gc.parse("input x1\nh1 = relu(x1)\nh2 = relu(-x1)\nO = h1 + h2")
    yield g
    points = [{"x1": 1}, {"x1": -1}, {"x1": 0}]
    yield [g.values(at)["O"] for at in points]
    yield [g.derivative("O", "x1", at) for at in points]
