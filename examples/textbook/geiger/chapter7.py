"""Geiger, lecture 7: convolution."""

from workbook import Erratum, exercise, pick

import graphc as gc


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
