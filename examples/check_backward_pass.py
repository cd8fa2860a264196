"""A backward pass by hand with a bug, and the check that finds it: from the loss backwards."""

import numpy as np

import graphc as gc

# The model, declared; the backward pass below was written by hand for the same model.
model = gc.parse("""
input X[4,3] y[4]
param W[3,5] v[5]
a = X @ W
h = tanh(a)
p = h @ v
r = p - y
L = mean(r**2)
""")


def backward(X, y, W, v):
    """The gradients of the loss by every node, by hand."""
    a = X @ W
    h = np.tanh(a)
    r = h @ v - y
    r_bar = 2 * r / len(y)
    h_bar = np.outer(r_bar, v)
    a_bar = h_bar * (1 - h)  # the bug: it should be 1 - h**2
    return {"r": r_bar, "h": h_bar, "a": a_bar, "W": X.T @ a_bar, "v": h.T @ r_bar}


rng = np.random.default_rng(0)
at = {name: rng.standard_normal(model[name].shape) for name in ("X", "y", "W", "v")}
claims = backward(**at)

# Weights alone say that something is wrong, and no more.
alone = gc.check(model, at=at, claimed={"W": claims["W"], "v": claims["v"]})
print(alone.summary())

# With the gradients in between, the check goes from the loss backwards: W only passes on what
# it was handed, the step from h to a is where it went wrong.
report = gc.check(model, at=at, claimed=claims)
print("to blame:", report.blame)
assert report.blame == [("a", "h")]
