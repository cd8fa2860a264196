"""Somebody else's optimiser: a curve fitted by scipy's L-BFGS on compiled gradients."""

import numpy as np
from scipy.optimize import minimize

import graphc as gc


@gc.graph(shapes={"t": ("n",), "y": ("n",), "c": (2,)})
def decaying_wave(t, y, *, c, rate, omega):
    fit = gc.exp(-rate * t) * (c[0] * gc.cos(omega * t) + c[1] * gc.sin(omega * t))
    L = gc.mean((fit - y) ** 2)
    return L


rng = np.random.default_rng(0)
t = np.linspace(0, 6, 200)
y = np.exp(-0.3 * t) * (1.5 * np.cos(2 * t) - 0.5 * np.sin(2 * t)) + 0.01 * rng.normal(size=200)

f = decaying_wave.compile(of="L", wrt=["c", "rate", "omega"], want="value_and_grad")
start = {"c": [1, 0], "rate": 0.1, "omega": 1.7}
fun = gc.flat(f, params=start, data={"t": t, "y": y})
result = minimize(fun, fun.start, jac=True, method="L-BFGS-B")

print(f"{result.nfev} evaluations, mean squared error {result.fun:.6f}")
for name, value in fun.unflatten(result.x).items():
    print(f"{name} = {np.round(value, 2)}")
assert result.success
