"""Aggarwal, chapter 6: radial basis functions."""

from workbook import exercise, pick

import graphc as gc

RADIAL = """
    input x = [1, 1/2]
    param mu = [[0, 0], [1, 2]]
    param sigma = [1, 2]
    param w = [2, -1]
    h = exp(-sum((x - mu)**2, axis=1)/(2*sigma**2))
    """


@exercise("aggarwal-6.2")
def radial_classifier():
    g = gc.parse(RADIAL + "L = log(1 + exp(w @ h))")
    yield g
    yield g.derivative("L", "w", at={})


@exercise("aggarwal-6.2.4")
def radial_regression():
    loss = "L = 1/2*(w @ h - 1)**2"
    g = gc.parse(RADIAL + loss)
    yield g
    yield from pick(g.reverse("L", at={}), "sigma mu")
    tied = gc.parse(RADIAL.replace("sigma = [1, 2]", "sigma = 3/2") + loss)
    yield tied.derivative("L", "sigma", at={})


@exercise("aggarwal-6.12")
def attention_of_prototypes():
    g = gc.parse("""
        input x = [3/5, 4/5]
        param mu = [[1, 0], [0, 1], [-4/5, 3/5]]
        h = exp(-1/2*sum((x - mu)**2, axis=1))
        a = h/sum(h)
        gap = a - softmax(mu @ x)
        """)
    yield g
    assert max(abs(float(part)) for part in g.values({})["gap"]) < 1e-25
    yield g.values({})["a"]
