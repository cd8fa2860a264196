"""A ladder of sixty layers: 2**60 paths, and one sweep that never walks a single one."""

import graphc as gc

LAYERS = 60


@gc.graph
def ladder(x):
    a, b = gc.sin(x), gc.cos(x)
    for _ in range(LAYERS - 1):
        a, b = gc.sin(a + b), gc.cos(a + b)
    o = a * b
    return o


print(f"{len(ladder)} nodes, {ladder.count_paths('x', 'o')} paths from x to o")
print("d o / d x at 1.0 =", ladder.reverse("o", at={"x": 1.0})["x"])
try:
    ladder.pathwise("o", "x", at={"x": 1.0})
except gc.GraphcError as error:
    print("path by path:", error)
for term in ladder.top_paths("o", "x", at={"x": 1.0}, k=3).terms:
    print(f"one of the largest terms: {term.product:.3e}")
