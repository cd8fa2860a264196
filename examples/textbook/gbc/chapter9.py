"""Goodfellow, Bengio and Courville, chapter 9: convolution."""

from workbook import exercise, pick

import graphc as gc


@exercise("gbc-9.4-6")
def convolution_or_correlation():
    g = gc.parse("""
        input I = [[1, 2, 3], [4, 5, 6], [7, 8, 10]]
        param K = [[1, -1], [2, 3]]
        convolution = conv2d(I, K, flip=True)
        correlation = conv2d(I, K)
        """)
    yield g
    yield from pick(g.values({}), "convolution correlation")


@exercise("gbc-9.16")
def gabor_function():
    @gc.graph
    def g(x=1, y="1/2", *, al=2, bx="1/4", by="1/2", f=3, ph="1/3", x0="1/10", y0="-1/5", ta="1/2"):
        xp = (x - x0) * gc.cos(ta) + (y - y0) * gc.sin(ta)
        yp = -(x - x0) * gc.sin(ta) + (y - y0) * gc.cos(ta)
        w = al * gc.exp(-bx * xp**2 - by * yp**2) * gc.cos(f * xp + ph)
        return w

    yield g
    yield pick(g.values({}), "xp yp w")
    yield pick(g.reverse("w", at={}), "al bx by f ph x0 y0 ta")
