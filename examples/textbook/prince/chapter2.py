"""Prince, chapters 2 to 5: lines, shallow and deep networks, losses."""

from itertools import pairwise
from math import comb, prod

from sympy import Matrix
from workbook import Erratum, exercise, pick

import graphc as gc

line = gc.parse("""
    input x = [1, 2, 4]
    input y = [2, 3, 4]
    param phi = [1/2, 1]
    L = sum((phi[0] + phi[1]*x - y)**2)
    """)


def minimiser(g):
    """Where a quadratic loss is least: one Newton step from anywhere."""
    slope, H = g.derivative("L", "phi", at={}), g.hessian("L", "phi", at={})
    return g["phi"].value - gc.solve(H, slope)


@exercise("prince-2.1-2")
def least_squares_line():
    yield line
    yield line.derivative("L", "phi", at={})
    yield minimiser(line)
    H = line.hessian("L", "phi", at={})
    yield H
    H = Matrix(H)
    yield [H.trace(), H.det(), *sorted(H.eigenvals())]


@exercise("prince-2.3")
def generative_line():
    generative = gc.parse("""
        input x = [1, 2, 4]
        input y = [2, 3, 4]
        param phi = [0, 1]
        L = sum((phi[0] + phi[1]*y - x)**2)
        """)
    yield generative
    offset, slope = minimiser(generative)
    yield [offset, slope]
    predict = gc.parse("input x = 3\nparam a b c d\ninverse = (x - a)/b\ndirect = c + d*x")
    c, d = minimiser(line)
    yield pick(predict.values({"a": offset, "b": slope, "c": c, "d": d}), "inverse direct")


@gc.graph
def shallow(
    x="1/2",
    t=1,
    *,
    p0="1/4",
    p1=2,
    p2="-3/2",
    p3=1,
    t10="1/5",
    t11=1,
    t20="-1/3",
    t21=2,
    t30="-1/2",
    t31="1/4",
):
    a1 = t10 + t11 * x
    a2 = t20 + t21 * x
    a3 = t30 + t31 * x
    y = p0 + p1 * gc.relu(a1) + p2 * gc.relu(a2) + p3 * gc.relu(a3)
    L = (y - t) ** 2
    return L


@exercise("prince-6.6")
def shallow_network():
    yield shallow
    yield pick(shallow.values({}), "y L")
    yield pick(shallow.reverse("L", at={}), "p0 p1 p2 p3 t10 t11 t20 t21 t30 t31")


@exercise("prince-3.3")
def joints_and_slopes():
    yield shallow
    at_0 = shallow.values({"x": 0})
    joints = [-at_0[a] / shallow.derivative(a, "x", at={}) for a in ("a1", "a2", "a3")]
    yield joints
    inside = [joints[0] - 1, sum(joints[:2]) / 2, sum(joints[1:]) / 2, joints[2] + 1]
    yield [shallow.derivative("y", "x", {"x": x}) for x in inside]


@exercise("prince-3.5-6")
def homogeneity():
    g = gc.parse("""
        input x = 1
        input alpha = 1
        param phi = 2
        param theta = 1/2
        scaled_phi = phi/alpha
        scaled_theta = theta*alpha
        y = scaled_phi*relu(scaled_theta*x)
        """)
    yield g
    outputs = [g.values({"alpha": alpha})["y"] for alpha in (1, 3, -3)]
    yield outputs
    scales = [g.reverse("y", {"alpha": alpha}) for alpha in (1, 3)]
    yield [pick(slopes, "scaled_phi scaled_theta") for slopes in scales]
    broken = f"alpha: y = {outputs[2]} instead of {outputs[0]} at alpha = -3"
    yield Erratum("problem 3.5, what must not be negative", "z", broken)
    yield Erratum("eq. 4.18, indices on the left side", "1 and 2", "0 and 1, as on the right side")


@exercise("prince-4.5")
def oscillation():
    g = gc.parse("""
        input x
        param phi[4]
        y = dot(phi, stack([1, relu(x - 1/6), relu(x - 2/6), relu(4/6 - x)]))
        """)
    yield g
    breaks, heights = [0, "1/6", "2/6", "4/6"], [0, 1, 0, 1]
    features = [g.derivative("y", "phi", {"x": x, "phi": [0, 0, 0, 0]}) for x in breaks]
    phi = gc.solve(features, heights)
    yield phi
    yield [g.values({"x": x, "phi": phi})["y"] for x in (*breaks, 1)]
    inside = ["1/12", "1/4", "1/2", "5/6"]
    yield [g.derivative("y", "x", {"x": x, "phi": phi}) for x in inside]


def dense(*widths):
    """A fully connected ReLU network with biases."""
    lines = [f"input h0[{widths[0]}]"]
    for k, (below, above) in enumerate(pairwise(widths), 1):
        lines += [f"param W{k}[{above}, {below}] b{k}[{above}]"]
        lines += [f"h{k} = relu(W{k} @ h{k - 1} + b{k})"]
    return gc.parse("\n".join(lines))


def parameters(g):
    return sum(g[name].size for name in g.param_names)


@exercise("prince-counts")
def counts():
    shallow, deep = dense(1, 286, 1), dense(1, *[5] * 10, 1)
    yield deep
    # Along a line each unit adds one joint; a layer folds the regions of the next one.
    hidden = [[g[f"h{k}"].size for k in range(1, len(g.param_names) // 2)] for g in (shallow, deep)]
    regions = [prod(units + 1 for units in widths) for widths in hidden]
    yield [parameters(shallow), parameters(deep), *regions]
    planes = [dense(2, 3, 1)["h1"].size, dense(2, 5, 1)["h1"].size]
    yield [sum(comb(units, j) for j in range(3)) for units in planes]
    yield parameters(dense(5, 20, 10, 7, 4))
    filters = gc.parse("param w1[4, 1, 3] b1[4] w2[10, 4, 5] b2[10]\ny = sum(w1)")
    yield [filters[name].size for name in filters.param_names]
    plain = dense(1, *[20] * 10, 1)
    units = sum(plain[f"h{k}"].size for k in range(1, 11))
    yield [parameters(plain), parameters(plain) + 2 * units]

    def block(*kernels):
        lines = [
            f"param W{k}[{out}, {into}, {side}, {side}] b{k}[{out}] scale{k}[{out}] shift{k}[{out}]"
            for k, (out, into, side) in enumerate(kernels)
        ]
        return parameters(gc.parse("\n".join([*lines, "y = sum(b0)"])))

    yield [block((512, 512, 3)), block((128, 512, 1), (128, 128, 3), (512, 128, 1))]


@exercise("prince-5.3")
def heteroscedastic():
    g = gc.parse("""
        input m = 1/2
        input q = -1/3
        input y = 2
        s2 = exp(q)
        L = 1/2*log(2*pi*s2) + (y - m)**2/(2*s2)
        """)
    yield g
    yield g.values({})["L"]
    yield pick(g.reverse("L", at={}), "m q")


@exercise("prince-5.5")
def binary_cross_entropy():
    g = gc.parse("""
        input z = 3/4
        input y = 1
        s = sigmoid(z)
        L = -(1 - y)*log(1 - s) - y*log(s)
        """)
    yield g
    losses = [g.values({"y": y})["L"] for y in (1, 0)]
    yield losses
    yield [g.derivative("L", "z", {"y": y}) for y in (1, 0)]
    yield [g.derivative("s", "z", {"z": z}) for z in ("3/4", 50, -50)]
    yield Erratum("eq. 5.34, the loss for y = 1", float(-losses[0]), float(losses[0]))
    yield Erratum("eq. 7.23, the loss l_i", "a sum over i, minus on its first term", g["L"].text)


@exercise("prince-5.6")
def von_mises():
    g = gc.parse("""
        input y = 1
        param mu = 1/2
        param k = 2
        term0 = 1
        for m in 1..30:                       # Bessel's I0 by its power series
            term[m] = term[m-1]*(k/(2*m))**2
        I0 = sum(term[0..30])
        L = -k*cos(y - mu)
        nll = L + log(2*pi*I0)
        """)
    yield g
    yield g.values({})["nll"]
    yield g.derivative("L", "mu", at={})
    yield g.derivative("nll", "k", at={})


@exercise("prince-5.8")
def mixture():
    g = gc.parse("""
        input y = 3/2
        param l = 1/3
        param m1 = 0
        param m2 = 2
        param v1 = 1
        param v2 = 1/4
        n1 = l/sqrt(2*pi*v1)*exp(-(y - m1)**2/(2*v1))
        n2 = (1 - l)/sqrt(2*pi*v2)*exp(-(y - m2)**2/(2*v2))
        L = -log(n1 + n2)
        """)
    yield g
    yield g.values({})["L"]
    yield pick(g.reverse("L", at={}), "l m1 m2 v1 v2")


@exercise("prince-5.10")
def poisson():
    g = gc.parse("input f = 1/2\ny = 3\nlam = exp(f)\nL = lam - y*log(lam) + log(6)")
    yield g
    yield g.values({})["L"]
    yield g.derivative("L", "f", at={})
