"""Geiger, lectures 5 to 12: regularisation, optimisation, sequences, graphs and games."""

from sympy import Matrix, Rational, solve
from workbook import Erratum, exercise, iterate, pick

import graphc as gc


@exercise("geiger-5.5.4")
def two_classifiers():
    g = gc.parse("""
        input x = [1, 2, 1]
        param w[3]
        s = w @ x
        l = -log(sigmoid(s))
        square = sum(w**2)
        absolute = sum(abs(w))
        ridge = l + 1/20*square
        lasso = l + 1/10*absolute
        """)
    yield g
    w1, w2 = {"w": [0, "3/4", 0]}, {"w": ["1/4", "1/2", "1/4"]}
    values = [g.values(w1), g.values(w2)]
    yield [point["s"] for point in values]
    yield [point[penalty] for penalty in ("square", "absolute") for point in values]
    yield g.derivative("ridge", "w", w2)
    yield g.derivative("lasso", "w", w2)
    norms = [str(gc.sqrt(point["square"])) for point in values]
    yield Erratum("sec. 5.5.4, the norms ||w||_2", "0.5625 and 0.375", " and ".join(norms))


@exercise("geiger-5.5.2")
def shrunk_optimum():
    g = gc.parse("""
        param w = [0, 0]
        d = w - [1, -2]
        L = 1/2*(d @ ([[3, 1], [1, 2]] @ d))
        J = L + 1/4*sum(w**2)
        """)
    yield g
    yield -gc.solve(g.hessian("J", "w", at={}), g.derivative("J", "w", at={}))
    eigenvalues = sorted(Matrix(g.hessian("L", "w", at={})).eigenvals())
    yield [eigenvalues, [value / (value + Rational(1, 2)) for value in eigenvalues]]


@exercise("geiger-6.2")
def decoupled_momentum():
    for look_ahead in ("w", "w - 9/100*m"):
        bowl = gc.parse(f"param w[2]\ninput m[2]\nL = sum([1, 4]*({look_ahead})**2)")
        step = bowl.differentiate("L", "w")
        step.node("m_next", "9/10*m + 1/10*w_bar")
        step.node("w_next", "w - 1/10*m_next")
        yield step
        yield [state["w"] for state in iterate(step, {"w": [1, 1], "m": [0, 0]}, 3)]
    average = gc.parse("input m = 0\nm_next = 9/10*m + 1/10")  # of a constant 1
    biased = iterate(average, {"m": 0}, 10)
    yield [biased[t - 1]["m"] for t in (1, 2, 3, 10)]
    adam = gc.parse(
        "input g[2]\nm = 1/10*g\nv = 1/1000*g**2\nstep = -1/10*(m/(1/10))/sqrt(v/(1/1000))"
    )
    yield adam.values({"g": bowl.derivative("L", "w", {"w": [1, 1], "m": [0, 0]})})["step"]


@exercise("geiger-7.2.2")
def shared_kernel():
    g = gc.parse("""
        input h11 = 1
        input h12 = -1/2
        input h13 = 2
        param w1 = 3/4
        param w2 = -1
        h21 = w1*h11 + w2*h12
        h22 = w1*h12 + w2*h13
        L = h21**2 + 3*h22
        """)
    yield g
    yield pick(g.values({}), "h21 h22")
    slopes = g.reverse("L", at={})
    yield pick(slopes, "w1 w2")
    yield pick(slopes, "h11 h12 h13")
    yield g.count_paths("w1", "L")


@exercise("geiger-7.3.3")
def output_size():
    g = gc.parse("input x[5, 5]\nparam w[3, 3]\ny = conv2d(x, w, stride=2, padding=1)")
    yield g
    side = g["y"].shape[0]
    yield side
    yield Erratum("figure 116(a), caption", "2x2", f"{side}x{side}")


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


@exercise("geiger-9.1.3")
def bits_and_perplexity():
    g = gc.parse("""
        input p[2]
        input q = [1/10, 9/10]
        crossed = -sum(p*log(q))/log(2)
        entropy = -sum(where(p > 0, p*log(p), 0))/log(2)
        divergence = crossed - entropy
        perplexity = 2**crossed
        """)
    yield g
    third, fourth = g.values({"p": ["1/10", "9/10"]}), g.values({"p": [1, 0]})
    yield third["crossed"]
    yield pick(fourth, "crossed entropy divergence")
    yield [third["perplexity"], fourth["perplexity"]]
    split = "{:.2f} + {:.2f}".format(*map(float, pick(fourth, "entropy divergence")))
    yield Erratum("example 4, entropy and divergence", "0.47 + 2.85", split)


@exercise("geiger-10.3")
def graph_perceptron():
    g = gc.parse("""
        input S = [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
        input x = [1, 2, -1]
        param h = [1, 1/2, -1/4]
        y = h[0]*x + h[1]*(S @ x) + h[2]*(S @ (S @ x))
        o = tanh(y)
        L = sum((o - [0, 1, 0])**2)
        """)
    yield g
    yield g.values({})["o"]
    yield from pick(g.reverse("L", at={}), "h x")


@exercise("geiger-12.1.4")
def confident_discriminator():
    g = gc.parse("""
        input a = -4
        D = sigmoid(a)
        saturating = log(1 - D)
        non_saturating = -log(D)
        """)
    yield g
    slopes = g.forward("a", at={})
    yield [g.values({})["D"], *pick(slopes, "saturating non_saturating")]
    best = gc.parse("input y\nV = 3/10*log(y) + 1/10*log(1 - y)")
    yield best
    (optimum,) = solve(best.derivative("V", "y"))
    yield [optimum, best.hessian("V", "y", {"y": optimum})]
    both = gc.parse("D = 1/3\nprinted = log(1)/log(D)\nright = log(1 - D)").values({})
    yield Erratum("log(1 - D) at D = 1/3", f"log(1)/log(D) = {both['printed']}", both["right"])
