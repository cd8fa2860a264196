"""Prince, chapter 4: deep networks."""

from workbook import exercise

import graphc as gc


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
