"""Aggarwal, chapter 2: layers, losses and weights."""

from sympy import Rational
from workbook import Erratum, exercise, pick, verdict

import graphc as gc

# Figure 2.14, also used to check gradients.
relu_network = gc.parse("""
    input x = [2, 1, 2]
    param W = [[2, -2, 0], [-1, 5, -1], [0, 3, -2]]
    param W2 = [-1, 1, -3]
    h1 = W @ x
    h2 = relu(h1)
    h3 = W2 @ h2
    o = sigmoid(h3)
    L = -log(o)
    """)


@exercise("aggarwal-2.4")
def before_and_after_the_activation():
    @gc.graph
    def g(x1=1, x2=2, t=1, *, w11="1/2", w12="-1/4", w21="1/3", w22="1/5", v1="3/2", v2=-1):
        a1 = w11 * x1 + w12 * x2
        h1 = gc.sigmoid(a1)
        a2 = w21 * x1 + w22 * x2
        h2 = gc.sigmoid(a2)
        a3 = v1 * h1 + v2 * h2
        o = gc.sigmoid(a3)
        L = (o - t) ** 2
        return L

    yield g
    fine, post = g.reverse(at={}), g.collapse("a1", "a2", "a3").reverse(at={})
    yield pick(fine, "a3 a1 a2")
    yield pick(post, "o h1 h2")
    assert pick(fine, "w11 v1") == pick(post, "w11 v1")
    yield pick(post, "w11 w12 w21 w22 v1 v2")


@exercise("aggarwal-2.4.1")
def activations():
    g = gc.parse("""
        input v = 7/10
        lin = v
        sig = sigmoid(v)
        tah = tanh(v)
        rel = relu(v)
        hth = hardtanh(v)
        stp = sign(v)
        """)
    yield g
    yield pick(g.forward("v", at={}), "lin sig tah rel hth")
    yield pick(g.forward("v", {"v": "-6/5"}), "rel hth")
    kinks = g.forward("v", {"v": 0})["rel"], g.forward("v", {"v": 1})["hth"]
    step = gc.parse("input v = 0\ns = sign(v, kink='error')")
    try:
        step.derivative("s", "v", at={})
    except gc.GraphcError as error:
        yield verdict(f"{kinks[0]}, {kinks[1]}, undefined", "kink" in str(error))
    yield Erratum(
        "sec. 2.4.2, not differentiable at the boundary", "ReLU and tanh", "ReLU and hard tanh"
    )


@exercise("aggarwal-table2.1")
def one_step_back():
    g = gc.parse("""
        input z = [1/2, -1/3, 3/2]
        lin = [[1, 2, -1], [0, 3, 2]] @ z
        sig = sigmoid(z)
        tah = tanh(z)
        rel = relu(z)
        hth = hardtanh(z)
        mx = max(z)
        arb = stack([z[0]*z[1], z[1] + sin(z[2])])
        """)
    yield g
    yield g.reverse({"lin": [2, -1]}, at={})["z"]
    for layer in ("sig", "tah", "rel", "hth"):
        yield g.reverse({layer: [2, -1, 3]}, at={})["z"]
    yield g.reverse({"mx": 5}, at={})["z"]
    yield g.jacobian("arb", "z", at={})
    yield g.reverse({"arb": [2, -1]}, at={})["z"]


@exercise("aggarwal-2.5.3")
def vector_centric():
    g = relu_network
    yield g
    h1, h2, h3, o, L = pick(g.values({}), "h1 h2 h3 o L")
    yield [h1, h2, [h3]]
    yield [o, L]
    yield from pick(g.reverse("L", at={}), "h3 h2 h1 x W W2")


@exercise("aggarwal-2.6.1")
def points_and_batches():
    g = gc.parse("""
        input X = [[1, 2], [2, -1], [0, 3]]
        input y = [2, 0, 2]
        param w = [1/2, 1/4]
        l = (X @ w - y)**2
        """)
    yield g
    yield g.jacobian("l", "w", at={})
    yield g.reverse({"l": [1, 1, 1]}, at={})["w"]
    yield g["w"].value - g.reverse({"l": [1, 0, 1]}, at={})["w"] / 10


@exercise("aggarwal-2.6.4")
def shrinking_weights():
    g = gc.parse("""
        input x = [1, 2]
        param w = [1/2, 1/4]
        L = (w @ x - 2)**2
        half = L + 1/10*sum(w**2)
        full = L + 1/5*sum(w**2)
        """)
    yield g
    w = g["w"].value
    step = {loss: g.derivative(loss, "w", at={}) / 10 for loss in ("L", "half", "full")}
    shrunk = w * (1 - Rational(1, 10) * Rational(1, 5)) - step["L"]
    assert all(shrunk == w - step["half"])
    yield shrunk
    yield w - step["full"]
    factor = (w - step["full"] + step["L"])[0] / w[0]
    yield Erratum(
        "sec. 5.4, shrink factor of the penalty lambda sum w^2",
        "1 - alpha lambda = 49/50",
        f"1 - 2 alpha lambda = {factor}",
    )


@exercise("aggarwal-2.6.5")
def loss_on_a_hidden_node():
    @gc.graph
    def g(x="3/2", t=1, *, w="1/2", u=2):
        a = w * x
        h = gc.tanh(a)
        o = u * h
        Lo = (o - t) ** 2
        Lh = gc.abs(h) / 10
        return Lo, Lh

    yield g
    with_penalty = g.reverse({"Lo": 1, "Lh": 1}, at={})
    yield [g.derivative("Lo", "a", at={}), with_penalty["a"]]
    yield pick(with_penalty, "w u")


@exercise("aggarwal-2.6.6")
def shared_weight():
    g = gc.parse("""
        input h0 = 2
        param w = 3/4
        for t in 1..3:
            h[t] = tanh(w*h[t-1])
        L = h3**2
        """)
    yield g
    yield pick(g.untie("w").reverse("L", at={}), "w_1 w_2 w_3")
    yield g.derivative("L", "w", at={})


@exercise("aggarwal-2.8")
def saliency():
    g = gc.parse("""
        input x = [1, 1/2]
        param W = [[1, -1], [2, 1]]
        param V = [[1, 0], [0, 1], [-1, 1/2]]
        o = softmax(V @ relu(W @ x))
        """)
    yield g
    o = g.values({})["o"].tolist()
    yield o
    winner = o.index(max(o))
    yield winner
    yield g.jacobian("o", "x", at={})[winner]


@exercise("aggarwal-2.2")
def product_neuron():
    g = gc.parse("input x1 = 2\ninput x2 = 3\no = x1*x2")
    yield g
    yield pick(g.reverse({"o": 5}, at={}), "x1 x2")


PAIRS = """
    input x1 = 1
    input x2 = 2
    input x3 = 3
    input x4 = 4
    p12 = x1*x2
    p13 = x1*x3
    p14 = x1*x4
    p23 = x2*x3
    p24 = x2*x4
    p34 = x3*x4
    o = """


@exercise("aggarwal-2.3")
def sum_of_pairs():
    g = gc.parse(PAIRS + "p12 + p13 + p14 + p23 + p24 + p34")
    yield g
    yield pick(g.reverse({"o": 2}, at={}), "x1 x2 x3 x4")


@exercise("aggarwal-2.4-ex")
def largest_pair():
    g = gc.parse(PAIRS + "max(p12, p13, p14, p23, p24, p34)")
    yield g
    yield g.values({})["o"]
    yield pick(g.reverse({"o": 2}, at={}), "x1 x2 x3 x4")


@exercise("aggarwal-2.5")
def sigmoid_jacobian():
    g = gc.parse("input z[3]\ns = sigmoid(z)")
    at = {"z": [0, "log(2)", "-log(3)"]}
    yield g
    J = g.jacobian("s", "z", at)
    yield J
    yield [sum(entry != 0 for entry in J.flat), J.size]
    yield g.reverse({"s": [4, 9, 16]}, at)["z"]


@exercise("aggarwal-2.7")
def softmax_and_cross_entropy():
    g = gc.parse("input v[3]\no = softmax(v)\nL = cross_entropy(o, [0, 1, 0])")
    at = {"v": [0, "log(2)", "log(3)"]}
    yield g
    yield g.jacobian("o", "v", at)
    yield g.values(at)["L"]
    yield g.derivative("L", "v", at)


@exercise("aggarwal-2.8-ex")
def skip_connection():
    g = gc.parse("""
        input x = [2, 1]
        param W1 = [[1, 2], [-1, 1], [1, -1]]
        param W2 = [[1, -1], [0, 1]]
        param W3 = [[1, 0, 1], [-2, -4, 1]]
        param W4 = [[1, 3], [-2, 1]]
        h1 = relu(W1 @ x)
        h2 = relu(W2 @ x + W3 @ h1)
        y = W4 @ h2
        """)
    yield g
    yield pick(g.values({}), "h1 h2 y")
    for name in ("h2", "h1", "x"):
        yield g.jacobian("y", name, at={})


@exercise("aggarwal-2.11")
def gradients_of_one_sign():
    g = gc.parse("""
        input x = [1/2, 2, 3]
        param W = [[1/2, -1, 1/4], [1/3, 1/5, -2]]
        param v = [1, -3/2]
        h = sigmoid(W @ x)
        o = v @ h
        L = (o - 1)**2
        """)
    yield g
    dW, dv = pick(g.reverse("L", at={}), "W v")
    yield dW
    yield dv
    signs = [set(gc.sign(row)) for row in (*dW, dv)]
    yield [sign for row in signs for sign in row]
