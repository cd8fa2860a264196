"""Aggarwal, chapter 3: linear models, their losses and factorisations."""

from sympy import Rational
from workbook import Erratum, exercise, pick

import graphc as gc


@exercise("aggarwal-3.13")
def five_losses():
    g = gc.parse("""
        input X = [2, 1]
        input y
        param W = [1/2, -1/3]
        s = W @ X
        perceptron = relu(-y*s)
        widrow_hoff = (y - s)**2
        svm = relu(1 - y*s)
        l2_svm = relu(1 - y*s)**2
        logistic = log(1 + exp(-y*s))
        """)
    losses = g.output_names
    yield g
    for y in (1, -1):
        yield [g.derivative(loss, "W", {"y": y}) for loss in losses]
    scales = [1, 2, 1, 2, 1]  # the book drops the factor 2 of a square
    slopes = [g.derivative(loss, "s", {"y": 1}) for loss in losses]
    yield [-slope / scale for slope, scale in zip(slopes, scales, strict=True)]
    e, X = 1 - g.values({"y": 1})["s"], g["X"].value
    right = g.derivative("widrow_hoff", "W", {"y": 1})
    yield Erratum(
        "eq. 3.8, derivative of e^2 by W", f"-e X, here {-e * X}", f"-2 e X, here {right}"
    )


@exercise("aggarwal-3.1")
def wider_margin():
    g = gc.parse("""
        input X = [2, 1]
        input a
        param W = [1/4, -1/4]
        L = relu(a - W @ X)
        J = L + 1/20*sum(W**2)
        """)
    yield g
    points = [{"a": 1}, {"a": 3, "W": 3 * g["W"].value}]
    yield [g.values(at)["L"] for at in points]
    for loss in ("L", "J"):
        yield [g.derivative(loss, "W", at) for at in points]


@exercise("aggarwal-3.3")
def halved_learning_rate():
    g = gc.parse("""
        input x[2] y shrinkage
        param W[2]
        L = relu(-y*(W @ x), kink=1)           # at a score of 0: update
        J = L + shrinkage/2*sum(W**2)
        """)
    yield g
    points = [([1, 2], 1), ([2, -1], -1), ([-1, 1], 1), ([1, -3], -1)]
    for shrinkage in (0, "1/4"):
        finals = []
        for alpha in (1, Rational(1, 2)):
            W = [0, 0]
            for x, y in points * 2:
                at = {"x": x, "y": y, "shrinkage": shrinkage, "W": W}
                W = W - alpha * g.derivative("J", "W", at)
            finals.append(W)
        yield finals


@exercise("aggarwal-3.3.x")
def three_classes():
    g = gc.parse("""
        input X = [2, 1]
        param W = [[1/2, -1/3], [1/4, 1/5], [1/3, 1/2]]
        v = W @ X
        perceptron = max(v[0] - v[1], v[2] - v[1], 0)
        weston_watkins = relu(v[0] - v[1] + 1) + relu(v[2] - v[1] + 1)
        softmax = logsumexp(v) - v[1]
        """)
    yield g
    yield g.values({})["v"]
    for loss in g.output_names:
        yield g.derivative(loss, "W", at={})


@exercise("aggarwal-3.4-5")
def two_classes():
    g = gc.parse("""
        input X = [2, 1]
        param W = [[1/2, -1/3], [1/4, 1/5]]
        v = W @ X
        weston_watkins = relu(v[1] - v[0] + 1)
        softmax = logsumexp(v) - v[0]
        """)
    yield g
    for loss in g.output_names:
        yield g.derivative(loss, "W", at={})


@exercise("aggarwal-3.8")
def logistic_factorisation():
    g = gc.parse("""
        input B = [[1, 0], [0, 1]]
        input C = [[2, 1], [1, 3]]
        param U = [[1/2, 1], [-1, 1/3]]
        param V = [[1, -1/2], [1/4, 2]]
        P = sigmoid(U @ V.T)
        J = -sum(C*log(B*P + (1 - B)*(1 - P)))
        """)
    yield g
    yield g.values({})["J"]
    yield from pick(g.reverse("J", at={}), "U V")


@exercise("aggarwal-3.14")
def linear_autoencoder():
    g = gc.parse("""
        input D = [[1, 0], [2, 1], [0, 3]]
        param V = [[1], [2]]
        param W = [[1, 1/2]]
        L = sum((D @ W.T @ V.T - D)**2)
        """)
    yield g
    yield g.derivative("L", "W", at={})
    V = g["V"].value
    yield g.derivative("L", "W", {"W": gc.solve(V.T @ V, V.T)})
    tied = gc.parse("input D = [[3, 0], [0, 1]]\nparam V[2, 1]\nL = sum((D @ V @ V.T - D)**2)")
    yield tied
    yield tied.derivative("L", "V", {"V": [["3/5"], ["4/5"]]})
    yield tied.derivative("L", "V", {"V": [[1], [0]]})
