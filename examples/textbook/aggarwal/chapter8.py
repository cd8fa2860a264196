"""Aggarwal, chapter 8: recurrent networks."""

from sympy import Matrix
from workbook import Erratum, exercise, iterate, pick

import graphc as gc


@exercise("aggarwal-8.2")
def language_model():
    g = gc.parse("""
        input X = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]]   # the lion chased the
        input Y = [[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]]   # lion chased the deer
        param Wxh = [[1/2, -1/4, 1/3, 1/10], [1/5, 2/5, -1/2, 3/10]]
        param Whh = [[3/5, -1/5], [1/4, 1/2]]
        param Why = [[1, -1/2], [1/2, 1], [-1/3, 2/3], [1/4, 1/4]]
        h0 = zeros(2)
        for t in 1..4:
            h[t] = tanh(Wxh @ X[t-1] + Whh @ h[t-1])
            y[t] = Why @ h[t]
            l[t] = softmax_cross_entropy(y[t], Y[t-1])
        L = sum(l[1..4])
        """)
    yield g
    values, slopes = g.values({}), g.reverse("L", at={})
    yield values["L"]
    yield pick(values, "h1 h2 h3 h4")
    yield pick(slopes, "y1 y2 y3 y4")
    yield pick(g.untie("Whh").reverse("L", at={}), "Whh_1 Whh_2 Whh_3 Whh_4")
    yield from pick(slopes, "Whh Wxh Why")
    yield Erratum("sec. 8.2.1, the recurrent term", "W_hh h_t", "W_hh h_{t-1}")


@exercise("aggarwal-8.2-truncated")
def truncated_backpropagation():
    text = """
        input x = [1, -1/2, 2, 1/4, -1, 1/2, 3/4, -1/3, 1]
        param w = 3/4
        param u = 1/2
        h0 = 0
        for c in 0..2:                          # three chunks of three steps
            start[c] = h[3*c]
            h[3*c+1] = tanh(w*start[c] + u*x[3*c])
            h[3*c+2] = tanh(w*h[3*c+1] + u*x[3*c+1])
            h[3*c+3] = tanh(w*h[3*c+2] + u*x[3*c+2])
        for t in 1..9:
            l[t] = (h[t] - 1/2)**2
        L = sum(l[1..9])
        """
    full = gc.parse(text)
    truncated = gc.parse(text.replace("= h[3*c]", "= stop(h[3*c])"))
    yield truncated
    for g in (full, truncated):
        yield pick(g.reverse("L", at={}), "w u")


@exercise("aggarwal-8.3")
def vanishing_or_exploding():
    g = gc.parse("""
        input h0 = 1/2
        param w = 6/5
        for t in 1..5:
            h[t] = tanh(w*h[t-1])
        """)
    yield g
    slopes = g.reverse("h5", at={})
    yield pick(slopes, "h5 h4 h3 h2 h1 h0")
    yield slopes["w"]


@exercise("aggarwal-8.4")
def bound_against_truth():
    g = gc.parse("""
        input h[2]
        param Whh = [[7/2, 7/2], [7/2, 7/2]]
        h_next = sigmoid(Whh @ h)
        """)
    yield g

    def radius(matrix):
        return max(abs(value) for value in Matrix(matrix).eigenvals())

    W = Matrix(g["Whh"].value)
    yield sorted(W.eigenvals(), reverse=True)
    steepest = g.local("h", "h_next", {"h": [0, 0]}).dense()  # a sigmoid is steepest at 0
    yield radius(steepest)
    yield radius(g.jacobian("h_next", "h", {"h": ["1/2", "1/2"]}))
    fixed = iterate(g, 20, h=[0.0, 0.0])[-1]
    there = radius(g.jacobian("h_next", "h", fixed))
    yield [fixed["h"][0], there]
    yield Erratum(
        "exercise 4, the gradients", "explode (by the bound)", f"vanish, by {there:.4f} a step"
    )


@exercise("aggarwal-8.3.1")
def layer_normalisation():
    g = gc.parse("""
        input a = [1, -2, 1/2]
        input k = 1
        param gamma = [1, 3/2, 2]
        param beta = [0, 1/4, -1/2]
        c = k*a
        n = (c - mean(c))/sqrt(mean(c**2) - mean(c)**2)
        h = tanh(gamma*n + beta)
        L = dot([1, -1, 2], h)
        """)
    yield g
    yield g.values({})["h"]
    slopes = g.reverse("L", at={})
    yield slopes["a"]
    yield pick(slopes, "gamma beta")
    tangent = g.forward("k", at={})["n"]  # exactly 0: a change of k ends here
    yield [g.forward({"n": tangent}, at={})["L"]]
