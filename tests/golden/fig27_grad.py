"""value_and_grad of the graph fig27.

Arguments are numbers or arrays of points, which broadcast.

The graph:

    input y1 y2 y3
    param w2 w3
    y4 = y1*y2
    y5 = y1*y2*y3
    y6 = w2*y2 + w3*y3
    y7 = sin(y4)
    y8 = cos(y5)
    y9 = sin(y6)
    y10 = y7*y8*y9
    L = log(y10**2)
    output y10
"""

import numpy as np
from numpy.typing import ArrayLike


def value_and_grad(
    y1: ArrayLike,
    y2: ArrayLike,
    y3: ArrayLike,
    w2: ArrayLike,
    w3: ArrayLike,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(L, its gradient by name): d L / d (y1, y2, y3, w2, w3)."""
    y1 = np.asarray(y1, dtype=np.float64)
    y2 = np.asarray(y2, dtype=np.float64)
    y3 = np.asarray(y3, dtype=np.float64)
    w2 = np.asarray(w2, dtype=np.float64)
    w3 = np.asarray(w3, dtype=np.float64)
    # Values.
    y4 = y1 * y2
    y5 = y4 * y3
    y6 = w2 * y2 + w3 * y3
    y7 = np.sin(y4)
    y8 = np.cos(y5)
    y9 = np.sin(y6)
    t1 = y7 * y8
    y10 = t1 * y9
    t2 = y10**2
    L = np.log(t2)
    # Backward: v_bar is d L / d v.
    y10_bar = 2 * y10 / t2  # d L / d y10 = 2/y10
    y7_bar = y10_bar * (y9 * y8)  # d y10 / d y7 = y8*y9
    y8_bar = y10_bar * (y9 * y7)  # d y10 / d y8 = y7*y9
    y9_bar = y10_bar * t1  # d y10 / d y9 = y7*y8
    y6_bar = y9_bar * np.cos(y6)  # d y9 / d y6 = cos(y6)
    y5_bar = -(y8_bar * np.sin(y5))  # d y8 / d y5 = -sin(y5)
    y4_bar = y7_bar * np.cos(y4)  # d y7 / d y4 = cos(y4)
    w2_bar = y6_bar * y2  # d y6 / d w2 = y2
    w3_bar = y6_bar * y3  # d y6 / d w3 = y3
    y3_bar = y6_bar * w3 + y5_bar * y4  # d y5 / d y3 = y1*y2, d y6 / d y3 = w3
    y1_bar = y5_bar * (y3 * y2) + y4_bar * y2  # d y4 / d y1 = y2, d y5 / d y1 = y2*y3
    # d y4 / d y2 = y1, d y5 / d y2 = y1*y3, d y6 / d y2 = w2
    y2_bar = y6_bar * w2 + y5_bar * (y3 * y1) + y4_bar * y1
    return L, {"y1": y1_bar, "y2": y2_bar, "y3": y3_bar, "w2": w2_bar, "w3": w3_bar}


def check():
    """Compares the derivatives along a direction with differences."""
    at = {
        "y1": 0.3,
        "y2": 0.4,
        "y3": 0.5,
        "w2": 0.6,
        "w3": 0.7,
    }
    along = {
        "y1": 1.0,
        "y2": 0.54,
        "y3": -0.42,
        "w2": -0.99,
        "w3": -0.65,
    }

    def moved(step):
        point = {name: at[name] + step * along.get(name, 0) for name in at}
        found = value_and_grad(**point)[0]
        return found

    def slope(step):
        return (moved(step) - moved(-step)) / (2 * step)

    slopes = value_and_grad(**at)[1]
    derived = sum(np.sum(slopes[name] * along[name]) for name in along)
    measured = slope(1e-5)
    doubt = np.max(np.abs(slope(2e-5) - measured) + np.abs(slope(3e-5) - measured))
    doubt = doubt + 1e-10 * np.max(np.abs(moved(0)))  # by rounding
    error = np.abs(derived - measured)
    told = f"differ by {np.max(error):.1e}, measured to {doubt:.1e}"
    print("value_and_grad: derived and measured slopes", told)
    if not np.all(error <= 1e-5 * np.abs(measured) + 10 * doubt):
        raise SystemExit("value_and_grad: derivatives and differences disagree")


if __name__ == "__main__":
    check()
