"""Aggarwal, chapter 2: paths and node-to-node derivatives."""

from itertools import pairwise

from workbook import Erratum, exercise, pick

import graphc as gc


@gc.graph
def fig27(y1="1/2", y2="3/5", y3="7/10", *, w2="4/5", w3="-3/10"):
    y4 = y1 * y2
    y5 = y1 * y2 * y3
    y6 = w2 * y2 + w3 * y3
    y7 = gc.sin(y4)
    y8 = gc.cos(y5)
    y9 = gc.sin(y6)
    y10 = y7 * y8 * y9
    return y10


NODES = [f"y{i}" for i in range(1, 11)]


def ladder(layers, upper, lower, output):
    """Figure 2.6: x, then layers of two units that both read the layer below, then the output."""
    return gc.parse(f"""
        input x = 1
        a1 = {upper("x")}
        b1 = {lower("x")}
        for k in 2..{layers}:
            a[k] = {upper("(a[k-1] + b[k-1])")}
            b[k] = {lower("(a[k-1] + b[k-1])")}
        o = {output(f"a{layers}", f"b{layers}")}
        """)


@exercise("aggarwal-fig2.2-cos")
def cosine_of_a_square():
    g = gc.parse("input x = 2\ng = x**2\nf = cos(g)")
    yield g
    yield [g.local("x", "g", at={}), g.local("g", "f", at={})]
    yield g.derivative("f", "x", at={})
    factors = f"({g.local('g', 'f')}) ({g.local('x', 'g')})"
    yield Erratum("eq. 2.2, underbraces", "-f'(g(x)) and 2x", "f'(g(x)) g'(x), here " + factors)


@exercise("aggarwal-fig2.2-sigmoid")
def sigmoid_of_a_sigmoid():
    g = gc.parse("input x = 1\ng = sigmoid(x)\nf = sigmoid(g)")
    yield g
    yield g.values({})["f"]
    yield g.derivative("f", "x", at={})


@exercise("aggarwal-fig2.3")
def expanding_a_recursion():
    g = gc.parse("""
        input x0 y0
        for i in 1..10:
            x[i] = sin(x[i-1])*y[i-1]
            y[i] = x[i-1] + exp(y[i-1])
        """)
    yield g
    steps = range(1, 11)
    inner = [name for name in g if name not in ("x0", "y0")]

    # Fully expanded, every path from a node to x_k is one more occurrence of that node.
    def occurrences(names, k):
        return sum(g.count_paths(name, f"x{k}") for name in names)

    yield [occurrences(inner, k) for k in steps]
    yield [occurrences(["x0", "y0"], k) for k in steps]
    yield [sum(g.count_paths(name, f"x{k}") > 0 for name in inner) for k in steps]


@exercise("aggarwal-fig2.4")
def two_branches():
    g = gc.parse("input x = 3/2\ny = x**2\np = cos(y)\nq = sin(y)\no = p + q")
    yield g
    yield g.count_paths("x", "o")
    paths = g.pathwise("o", "x", at={})
    yield [product for _, product in paths.terms]
    yield paths.value


@exercise("aggarwal-fig2.5")
def products_of_products():
    g = gc.parse("""
        input x = 11/10
        one = 1
        h1_1 = x*one                 # a unit multiplies two numbers; the first layer copies
        h1_2 = x*one
        for i in 2..5:
            h[i,1] = h[i-1,1]*h[i-1,2]
            h[i,2] = h[i-1,1]*h[i-1,2]
        o = h5_1*h5_2
        """)
    yield g
    yield g.values({})["o"]
    yield g.count_paths("x", "o")
    yield g.count_paths("x", "h3_1") * g.count_paths("h3_1", "o")
    terms = g.pathwise("o", "x", at={}).terms
    yield terms[0][1]
    slopes = g.reverse("o", at={})
    yield slopes["x"]
    yield slopes["h3_1"]
    yield [sum(len(path) - 1 for path, _ in terms), len(g.edges())]
    factors = [str(g.local(*edge)) for edge in pairwise(terms[0][0])]
    yield Erratum("eq. 2.6, factors of a path", "a product each", ", ".join(factors))


@exercise("aggarwal-2.3.1-count")
def counting_paths():
    counts = []
    for width, layers in [(100, 3), (2, 10), (50, 30)]:
        rows = [["x"], *([f"h{k}_{i}" for i in range(width)] for k in range(layers)), ["o"]]
        edges = [(a, b, 1) for low, high in pairwise(rows) for a in low for b in high]
        counts.append(gc.from_edges(edges).count_paths("x", "o"))
    yield counts


@exercise("aggarwal-fig2.7")
def ten_nodes():
    yield fig27
    yield pick(fig27.values({}), "y4 y5 y6 y7 y8 y9 y10")
    yield from pick(fig27.reverse("y10", at={}), "y9 y8 y7 y6 y5 y4 y3 y2 y1")
    yield Erratum("list of local derivatives", "z(1,3)", f"z(1,5) = {fig27.local('y1', 'y5')}")


@exercise("aggarwal-2.3.3")
def loss_to_weights():
    g = gc.parse(fig27.to_text()).extend("L = log(y10**2)")
    yield g
    yield g.values({})["L"]
    slopes = g.reverse("L", at={})
    yield from pick(slopes, "w2 w3")
    yield [g[name].value - slopes[name] / 10 for name in ("w2", "w3")]


@exercise("aggarwal-fig2.8")
def weights_as_nodes():
    products = "m2 = w2*y2\nm3 = w3*y3\ny6 = m2 + m3"
    g = gc.parse(fig27.to_text().replace("y6 = w2*y2 + w3*y3", products)).extend("L = log(y10**2)")
    yield g
    yield pick(g.reverse("L", at={}), "w2 w3")
    yield [g.count_paths("w2", "L"), g.count_paths("y2", "L")]


@exercise("aggarwal-2.12")
def forward_mode():
    yield fig27
    yield fig27.jacobian(NODES[3:], ["y1", "y2", "y3", "w2", "w3"], at={}, layout="denominator")


@exercise("aggarwal-2.13")
def all_pairs():
    yield fig27
    S = fig27.all_pairs(at={})
    yield [[S.get((i, j), 0) for j in NODES] for i in NODES]
    terms = fig27.pathwise("y10", "y2", at={}).terms
    yield [sum(product for path, product in terms if len(path) - 1 == t) for t in range(5)]
    yield sum(i != j and i in NODES for i, j in S)


@exercise("aggarwal-2.14")
def pathwise_aggregation():
    yield fig27
    for source in ("y1", "y2", "y3"):
        yield [product for _, product in fig27.pathwise("y10", source, at={}).terms]


@exercise("aggarwal-2.15")
def slopes_of_three_tenths():
    unit = "3/10*{}".format
    graphs = [ladder(n, unit, unit, "3/10*({} + {})".format) for n in range(1, 7)]
    yield graphs[4]
    slopes = [g.derivative("o", "x") for g in graphs]
    yield slopes
    yield slopes[4]
    yield [g.count_paths("x", "o") for g in graphs]


@exercise("aggarwal-2.16")
def sines_over_cosines():
    graphs = [ladder(n, "sin({})".format, "cos({})".format, "{}*{}".format) for n in range(1, 7)]
    yield graphs[4]
    yield [g.values({})["o"] for g in graphs]
    slopes = [g.derivative("o", "x", at={}, mode="reverse") for g in graphs]
    assert slopes == [g.derivative("o", "x", at={}, mode="paths") for g in graphs]
    yield slopes
    yield slopes[4]


@exercise("aggarwal-2.1")
def coupled_recurrences():
    step = gc.from_edges(
        {("x", "x1"): "f_x", ("x", "y1"): "g_x", ("x1", "x2"): "F_x", ("y1", "x2"): "F_y"}
    )
    g = gc.parse("""
        input x0 = 2
        input y0 = 3
        for t in 1..4:
            x[t] = x[t-1]*y[t-1]
            y[t] = x[t-1] + y[t-1]**2
        """)
    yield g
    yield str(step.derivative("x2", "x"))
    yield g.derivative("x2", "x0", at={})
    yield [g.values({})["x4"], g.derivative("x4", "x0", at={})]
    yield g.count_paths("x0", "x4")


@exercise("aggarwal-2.10")
def four_times_sine_plus_cosine():
    g = gc.parse("""
        input f0 = pi/3
        for k in 1..4:
            f[k] = sin(f[k-1]) + cos(f[k-1])
        """)
    yield g
    yield pick(g.values({}), "f1 f2 f3 f4")
    yield g.derivative("f4", "f0", at={})
