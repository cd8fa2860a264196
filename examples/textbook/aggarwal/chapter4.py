"""Aggarwal, chapter 4: descent, curvature and the ways to use it."""

from sympy import Matrix, symbols
from workbook import Erratum, exercise, iterate, newton, pick, verdict

import graphc as gc


@exercise("aggarwal-4.3")
def newton_on_a_parabola():
    g = gc.parse("input x\nparam a b c\nf = a*x**2 + b*x + c")
    yield g
    slope, curvature = g.derivative("f", "x", form="inputs"), g.hessian("f", "x")
    yield str((symbols("x") - slope / curvature).simplify())
    at = {"x": 10, "a": -2, "b": 3, "c": 1}
    yield at["x"] - g.derivative("f", "x", at) / g.hessian("f", "x", at)
    yield verdict("maximum", g.hessian("f", "x", at) < 0)


@exercise("aggarwal-4.4")
def newton_uphill():
    g = gc.parse("input x = 1\nf = (x*(x - 2))**2 + x**2")
    yield g
    slope, curvature = g.derivative("f", "x", at={}), g.hessian("f", "x", at={})
    yield [slope, curvature]
    there = 1 - slope / curvature
    yield there
    yield [g.values({"x": x})["f"] for x in (1, there, 0)]


@exercise("aggarwal-4.6.1")
def elliptical_bowl():
    g = gc.parse("param w[2]\nJ = sum([1, 4]*w**2)")
    yield g
    at = {"w": [1, 1]}
    slope, H = g.derivative("J", "w", at), g.hessian("J", "w", at)
    yield [slope, H]
    yield newton(g, "J", "w", at)
    descent = g.differentiate("J", "w").extend("w_next = w - 1/5*w_bar")
    yield [point["w"] for point in iterate(descent, 4, **at)]


@exercise("aggarwal-4.6.3")
def newton_near_saddles():
    f = gc.parse("input x[1]\nf = sum(x**3)")
    h = gc.parse("input x[2]\nh = sum(x**3)")
    g = gc.parse("input x[2]\ng = x[0]**2 - x[1]**2")
    yield from (f, h, g)
    points = [[1]]
    for _ in range(4):
        points.append(newton(f, "f", "x", {"x": points[-1]}))
    yield [point[0] for point in points[1:]]
    try:
        newton(f, "f", "x", {"x": [0]})
    except gc.GraphcError as error:
        yield verdict("singular Hessian", "singular" in str(error))
    yield h.hessian("h", "x", {"x": [0, 0]})
    yield newton(g, "g", "x", {"x": [3, -2]})
    descent = g.differentiate("g", "x").extend("x_next = x - 1/10*x_bar")
    yield iterate(descent, 50, x=[1, "1/100"])[-1]["x"]


@exercise("aggarwal-4.3.5")
def convex_bowl():
    g = gc.parse("input x[2]\ng = sum(x**2 - 2*x) + 6")
    yield g
    at = {"x": [5, -3]}
    lowest = newton(g, "g", "x", at)
    yield lowest
    curvature = Matrix(g.hessian("g", "x", at))
    yield [g.values({"x": lowest})["g"], *curvature.eigenvals(multiple=True)]


@exercise("aggarwal-4.7.1")
def conjugate_gradients():
    g = gc.parse("""
        input w[2] q[2]
        input a = 0
        J = sum([1, 4]*(w + a*q)**2)       # the bowl, on a line through w in the direction q
        """)
    yield g

    def gradient(w):
        return g.derivative("J", "w", {"w": w, "q": [0, 0]})

    def exact_step(w, q):
        at = {"w": w, "q": q}
        return -g.derivative("J", "a", at) / g.hessian("J", "a", at)

    w0 = [1, 1]
    H = g.hessian("J", "w", {"w": w0, "q": [0, 0]})
    q0 = -gradient(w0)
    w1 = w0 + exact_step(w0, q0) * q0
    beta = (q0 @ H @ gradient(w1)) / (q0 @ H @ q0)
    q1 = -gradient(w1) + beta * q0
    w2 = w1 + exact_step(w1, q1) * q1
    yield [exact_step(w0, q0), exact_step(w1, q1)]
    yield beta
    yield [q0, q1]
    yield [w0, w1, w2]
    yield q0 @ H @ q1
    yield gradient([2, -1]) - gradient(w0)  # d = 1 from (1, 1) in the direction (1, -2)


@exercise("aggarwal-4.7.2")
def bfgs():
    bowl = gc.parse("param w[2]\nJ = sum([1, 4]*w**2)")
    update = gc.parse("""
        input q[2] v[2]
        input G = [[1, 0], [0, 1]]
        E = eye(2) - outer(q, v)/dot(q, v)
        G1 = E @ G @ E.T + outer(q, q)/dot(q, v)
        secant = G1 @ v
        """)
    yield from (bowl, update)
    slope = bowl.derivative("J", "w", {"w": [1, 1]})
    q = -slope / 10
    v = bowl.derivative("J", "w", {"w": 1 + q}) - slope
    yield from pick(update.values({"q": q, "v": v}), "G1 secant")


@exercise("aggarwal-4.5")
def five_optimisers():
    bowl = gc.parse("param w = [1, 1]\nJ = sum([1, 4]*w**2)")
    yield bowl
    for slope_at in ("w", "w + 9/10*V"):  # Nesterov's where the momentum will lead
        g = gc.parse(f"param w = [1, 1]\ninput V = [0, 0]\nJ = sum([1, 4]*({slope_at})**2)")
        step = g.differentiate("J", "w").extend("""
            V_next = 9/10*V - 1/10*w_bar
            w_next = w + V_next
            """)
        yield [point["w"] for point in iterate(step, 3)]
    for method, lr in (("adagrad", 0.5), ("rmsprop", 0.1), ("adam", 0.1)):
        run = gc.descend(bowl, method=method, lr=lr, steps=3, eps=0)
        yield [point["w"] for point in run.iterates[1:]]


@exercise("aggarwal-4.5.6")
def clipping():
    g = gc.parse("input g = [3, -4, 12]\nby_value = clip(g, -5, 5)\nby_norm = g*min(1, 6/norm(g))")
    yield g
    yield from pick(g.values({}), "by_value by_norm")


@exercise("aggarwal-4.2")
def badly_scaled_features():
    g = gc.parse("""
        input X = [[8, 8000], [17/2, 8400], [9, 9000]]
        input y[3]
        param w[2]
        L = sum((X @ w - y)**2)
        Z = (X - mean(X, axis=0))/sqrt(var(X, axis=0))
        standard = sum((Z @ w - y)**2)
        """)
    yield g

    def condition(H):
        eigenvalues = [value.evalf(30) for value in Matrix(H).eigenvals(multiple=True)]
        return max(eigenvalues) / min(eigenvalues)

    at = {"w": [0, 0], "y": [0, 0, 0]}
    H = g.hessian("L", "w", at)
    yield H
    yield condition(H)
    yield condition(g.hessian("standard", "w", at))


@exercise("aggarwal-4.3.2")
def ten_sigmoids():
    g = gc.parse("input h0 = 1/2\nfor k in 1..10:\n    h[k] = sigmoid(h[k-1])")
    yield g
    yield g.derivative("h10", "h0", at={})
    yield g.derivative("h1", "h0", {"h0": 0}) ** 10  # a sigmoid is steepest at 0
    first = gc.parse("change = 0.2/10**6").values({})["change"]
    yield Erratum("sec. 4.3.1, change in the first layer", "2e-6", float(first))


@exercise("aggarwal-4.4.2")
def leaky_and_maxout():
    leaky = gc.parse("input v = [-2, 3]\nparam alpha = 1/10\nl = leaky_relu(v, alpha)")
    yield leaky
    yield [leaky.values({})["l"], leaky.reverse({"l": [1, 1]}, at={})["v"]]
    yield leaky.jacobian("l", "alpha", at={})
    maxout = gc.parse("""
        input x = [1, -2]
        param w1 = [1, 1]
        param w2 = [3, 1]
        m = max(w1 @ x, w2 @ x)
        """)
    yield maxout
    yield [[maxout.values({})["m"]], *pick(maxout.reverse("m", at={}), "x w1 w2")]
