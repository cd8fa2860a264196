"""Prince, chapter 3: shallow networks."""

from itertools import pairwise
from math import comb, prod

from workbook import Erratum, exercise, pick

import graphc as gc

shallow = gc.parse("""
    input x = 1/2
    param phi = [1/4, 2, -3/2, 1]
    param theta = [[1/5, 1], [-1/3, 2], [-1/2, 1/4]]
    a = theta @ stack([1, x])
    y = phi @ concat([[1], relu(a)])
    L = (y - 1)**2
    """)


@exercise("prince-6.6")
def shallow_network():
    yield shallow
    yield pick(shallow.values({}), "y L")
    phi, theta = pick(shallow.reverse("L", at={}), "phi theta")
    yield [*phi, *theta.flat]


@exercise("prince-3.3")
def joints_and_slopes():
    yield shallow
    joints = -shallow.values({"x": 0})["a"] / shallow.jacobian("a", "x", at={})
    yield joints
    first, second, third = joints
    inside = [first - 1, (first + second) / 2, (second + third) / 2, third + 1]
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
