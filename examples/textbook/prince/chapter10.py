"""Prince, chapter 10: convolution."""

from workbook import exercise

import graphc as gc


@exercise("prince-10.2-3")
def stride_and_dilation():
    g = gc.parse("""
        input x = [1, 2, -1, 3, 0, 2, 1]
        param w = [1, -2, 3]
        param b = 1
        strided = conv1d(x, w, stride=2, padding=1) + b
        dilated = conv1d(x, w, dilation=2, padding=2) + b    # every second input: one gap
        """)
    yield g
    for name in ("strided", "dilated"):
        yield g.values({})[name]
        slopes = g.reverse({name: list(range(1, g[name].size + 1))}, at={})
        yield [slopes["w"], [slopes["b"]]]
        yield slopes["x"]
