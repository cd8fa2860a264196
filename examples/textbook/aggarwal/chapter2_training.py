"""Aggarwal, chapter 2: steepest descent and gradient checking."""

from aggarwal.chapter2_networks import relu_network
from sympy import Rational
from workbook import exercise, iterate, pick, verdict

import graphc as gc


@exercise("aggarwal-2.6")
def flat_inside_and_steep_outside():
    g = gc.parse("param x y\nL = x**2 + y**10")
    yield g

    def after(steps, start, lr):
        run = gc.descend(g, params={"x": start, "y": start}, lr=lr, steps=max(steps), record=True)
        return [pick(run.iterates[k], "x y") for k in steps]

    yield after([1, 2, 10, 100, 1000], start=0.5, lr=0.01)
    exact = g.differentiate("L", ["x", "y"]).extend("""
        x_next = x - 1/100*x_bar
        y_next = y - 1/100*y_bar
        """)
    assert not gc.descend(g, params={"x": 2.0, "y": 2.0}, lr=0.01).ok  # it diverges
    yield [pick(point, "x y") for point in iterate(exact, 2, x=2, y=2)]
    yield after([1, 10, 1000], start=2.0, lr=0.0001)
    y = 2
    yield 2 * y / g.derivative("L", "y", {"x": 0, "y": y})  # the step that leads to -y


ratio = gc.parse("input exact measured\nrho = abs(exact - measured)/abs(exact + measured)")


def rho(exact, measured):
    """The book's relative error of a measured derivative, eq. 2.32."""
    return ratio.values({"exact": exact, "measured": measured})["rho"]


def differences(f, w, eps):
    """The forward and the central difference of f at w."""
    return (f(w + eps) - f(w)) / eps, (f(w + eps) - f(w - eps)) / (2 * eps)


@exercise("aggarwal-2.6.3-smooth")
def checking_a_smooth_loss():
    g = relu_network
    yield g
    slope = g.reverse("L", at={})["W"][0, 0]
    yield slope

    def loss(w):
        W = g["W"].value
        W[0, 0] = w
        return g.values({"W": W})["L"]

    steps = [Rational(1, 10**digits) for digits in (2, 4, 6)]
    yield [[rho(slope, measured) for measured in differences(loss, 2, eps)] for eps in steps]


@exercise("aggarwal-2.6.3-kink")
def checking_across_a_kink():
    g = gc.parse("input w\nf = relu(w)")
    yield g
    for w in (Rational(1, 4), Rational(-1, 4)):
        slope = g.derivative("f", "w", {"w": w})
        measured = differences(lambda w: g.values({"w": w})["f"], w, 1)
        yield [slope, *measured, *(rho(slope, m) for m in measured)]


@exercise("aggarwal-2.6.3-edge")
def edge_cases_of_the_ratio():
    yield ratio

    def refusal(exact, measured):
        try:
            return str(rho(exact, measured))
        except gc.GraphcError as error:
            return str(error)

    yield verdict("undefined 0/0", "div(0, 0)" in refusal(0, 0))
    yield [rho(k, 1) for k in (2, "1/2", 10)]
    yield verdict("infinite", "div(2, 0)" in refusal(-1, 1))
    # A checker must pass the first, as for dL/dW[2] of a dead unit, and fail the last.
    W = relu_network.reverse("L", at={})["W"]
    dead = gc.check(relu_network, "L", {}, "W").rows[6:]
    assert {(row.derived, row.verdict) for row in dead} == {(0, "correct")}
    assert gc.check(relu_network, "L", {}, "W", claimed={"W": -W}).verdict == "wrong"
