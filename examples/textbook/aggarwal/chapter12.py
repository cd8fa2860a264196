"""Aggarwal, chapter 12: a game."""

from workbook import exercise, iterate, pick

import graphc as gc


@exercise("aggarwal-12.6")
def game():
    g = gc.parse("input x y\nf = sin(x + y)")
    step = g.differentiate("f", ["x", "y"]).extend("""
        x_next = x - 1/10*x_bar
        y_next = y + 1/10*y_bar
        total = x_next + y_next
        """)
    yield step
    points = iterate(step, 100, x=1.0, y=0.5)
    yield [pick(points[0], "x y"), pick(points[99], "x y")]
    invariant = step.values()["total"].expand()  # x + y again, whatever x and y are
    yield gc.parse(f"input x = 1\ninput y = 1/2\ntotal = {invariant}").values({})["total"]
    x, y, points = 1.0, 0.5, []
    for _ in range(100):
        x = x - g.derivative("f", "x", {"x": x, "y": y}) / 10
        y = y + g.derivative("f", "y", {"x": x, "y": y}) / 10
        points.append([x, y])
    yield [points[0], points[99]]
