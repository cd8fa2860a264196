"""Geiger, lecture 8: recurrent networks."""

from workbook import exercise, pick

import graphc as gc


@exercise("geiger-8.3")
def linear_recurrence():
    g = gc.parse("""
        input h0 = 1
        param a
        for t in 1..100:
            h[t] = a*h[t-1]
        """)
    yield g
    yield [g.derivative("h100", "h0", {"a": a}) for a in ("11/10", "9/10")]
    matrix = gc.parse("""
        input h0 = [1, 1]
        param A = [[1, 1/2], [0, 1/2]]
        for t in 1..10:
            h[t] = A @ h[t-1]
        """)
    yield matrix
    yield matrix.jacobian("h10", "h0", at={})


@exercise("geiger-8.3.2-gru")
def gated_unit():
    @gc.graph
    def g(h0="1/2", x=1, *, wr="1/3", ur="2/3", br="1/10", wu="1/2", uu="-1/4", bu=0,
          ws="3/4", us="-1/2", bs="-1/5"):  # fmt: skip
        r = gc.sigmoid(ur * h0 + wr * x + br)
        u = gc.sigmoid(uu * h0 + wu * x + bu)
        s = gc.tanh(us * r * h0 + ws * x + bs)
        h1 = (1 - u) * h0 + u * s
        L = h1**2
        return L

    yield g
    yield g.values({})["h1"]
    slopes = g.reverse("L", at={})
    yield pick(slopes, " ".join(g.param_names))
    yield slopes["h0"]
