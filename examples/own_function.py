"""A function of your own: one record, and every derivative follows."""

import graphc as gc

bump = gc.declare("bump", lambda x: gc.exp(-(x**2)), doc="a bell of height 1")


@gc.graph
def mixture(x, *, centre):
    left = bump(x - centre)
    right = bump(x + centre)
    y = left + right
    return y


print(mixture.to_text())
print("d y / d x =", mixture.derivative("y", "x"))
curve = mixture.differentiate("y", "x").differentiate(wrt="x")
at = {"x": 0, "centre": 1}
print("at x = 0, centre = 1 the slope is", mixture.derivative("y", "x", at))
print("and the curvature is", curve.values(at)[curve.output_names[0]])
