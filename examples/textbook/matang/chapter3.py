"""Ma and Tang, chapter 3: foundations."""

from workbook import Erratum, exercise, pick

import graphc as gc


@exercise("matang-3.16")
def paths_to_the_first_layer():
    @gc.graph
    def g(x1=1, x2="1/2", *, w11="1/2", w12=-1, w21="1/3", w22="2/3",
          v11=1, v12="-1/2", v21="1/4", v22="3/2", o1=2, o2=-1):  # fmt: skip
        h11 = gc.tanh(w11 * x1 + w21 * x2)
        h12 = gc.tanh(w12 * x1 + w22 * x2)
        h21 = gc.tanh(v11 * h11 + v21 * h12)
        h22 = gc.tanh(v12 * h11 + v22 * h12)
        o = gc.tanh(o1 * h21 + o2 * h22)
        L = (o - 1) ** 2
        return L

    yield g
    slopes = g.reverse("L", at={})
    yield pick(slopes, "h11 h12")
    yield [product for _, product in g.pathwise("L", "h11", at={}).terms]
    yield slopes["w11"]
    yield pick(slopes, " ".join(g.param_names))
    yield Erratum("sentence before eq. 3.21, refers to", "eq. 3.17", "eq. 3.16")
    yield Erratum("eq. 3.19, first equality, derivative by", "a", "h^r")
    yield Erratum("eq. 3.11, the average over m examples", "sum", "1/m sum")
    yield Erratum("the recurrent network, input of step i", "x^(i-1)", "x^(i)")


@exercise("matang-ex3.1")
def true_convolution():
    g = gc.parse("""
        input f = [1, 2, 3, 4, 5]
        param w = [1, 0, -2]                    # w(-1), w(0), w(1)
        convolution = conv1d(f, w, padding=1, flip=True)
        correlation = conv1d(f, w, padding=1)
        strided = conv1d(f, w, padding=1, flip=True, stride=2)
        """)
    yield g
    convolution, correlation, strided = pick(g.values({}), "convolution correlation strided")
    yield convolution
    yield correlation
    yield strided
    assert all(strided == convolution[::2])
    yield Erratum(
        "the strided formula, window of the sum at output i",
        "tau = i-n .. i+n",
        "centred at (i-1)s+1, so that the outputs are every s-th of the convolution",
    )
