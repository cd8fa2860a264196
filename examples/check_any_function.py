"""Any function and its gradient: a clamp that only the forward pass knows, found by points."""

import numpy as np

import graphc as gc


def sigmoid(x):
    return 1 / (1 + np.exp(-np.clip(x, -10, 10)))  # clamped, against overflow


def slope(x):
    s = 1 / (1 + np.exp(-x))  # not clamped
    return s * (1 - s)


print("at 1:     ", gc.check_function(sigmoid, slope, 1.0).verdict)
report = gc.check_function(sigmoid, slope, 0.0, points=20)
bad = [report.points[row.point]["x"] for row in report.rows if row.verdict == "wrong"]
print("20 points:", report.verdict, "at x =", ", ".join(f"{x:.1f}" for x in sorted(bad)))
print("simplest: ", gc.check_function(sigmoid, slope, 25.0, shrink=True).shrunk.split("\n")[-1])

# A kink is told, not raised as an alarm.
relu, step = (lambda x: np.maximum(x, 0.0)), (lambda x: float(x > 0))
for x in (0.0, 1e-7):
    row = gc.check_function(relu, step, x).rows[0]
    print(f"relu at {x:g}: {row.verdict}, {row.evidence.split(';')[0]}")
