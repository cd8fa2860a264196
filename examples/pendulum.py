"""A pendulum: the gradient of where it swings to, through fifty steps of the integrator."""

import numpy as np
from scipy.optimize import minimize

import graphc as gc

pendulum = gc.parse(
    """
    input theta0 omega0 target
    param length damping
    for t in 1..50:
        omega[t] = omega[t-1] - 0.04*(9.81/length*sin(theta[t-1]) + damping*omega[t-1])
        theta[t] = theta[t-1] + 0.04*omega[t]
    miss = (theta50 - target)**2
    output miss
    """.replace("\n    ", "\n"),
    "pendulum",
)
paths = pendulum.count_paths("length", "miss")
print(f"{len(pendulum)} nodes; {paths:.3e} paths from the length to the miss")

at = {"theta0": 0.5, "omega0": 0.0, "target": 0.3}
start = {"length": 1.0, "damping": 0.1}
angle = pendulum.compile(of="theta50", wrt=["length", "damping", "theta0"])
value, slopes = angle(**{k: v for k, v in at.items() if k != "target"}, **start)
print(f"after 2 s the angle is {value:+.4f}; it changes by")
for name, slope in slopes.items():
    print(f"  {slope:+.4f} per unit of {name}")

# The length and damping that make it arrive at the target, by an optimiser on the same gradient.
f = pendulum.compile(of="miss", wrt=["length", "damping"])
fun = gc.flat(f, params=start, data=at)
bounds = [(0.5, 2), (0, 1)]
result = minimize(fun, fun.start, jac=True, method="L-BFGS-B", bounds=bounds)
found = {name: float(np.round(value, 4)) for name, value in fun.unflatten(result.x).items()}
print(f"{result.nfev} simulations find {found}; the miss is {np.sqrt(result.fun):.1e}")
assert result.fun < 1e-8
