"""Two branches that meet again: the derivative is a sum over paths."""

import graphc as gc


@gc.graph
def wave(x):
    y = x**2
    p = gc.cos(y)
    q = gc.sin(y)
    o = p + q
    return o


print(wave.to_text())
print("symbols:  d o / d x =", wave.derivative("o", "x"))
print("in x:     d o / d x =", wave.derivative("o", "x", form="inputs"))
print()
for term in wave.pathwise("o", "x", at={"x": "3/2"}).terms:
    print(" -> ".join(term.path), "contributes", term.product, "=", float(term.product))
total = wave.derivative("o", "x", at={"x": "3/2"})
print("their sum is", total, "=", float(total))
