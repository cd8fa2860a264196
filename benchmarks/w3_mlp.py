"""W3: one training step of an MLP 784-128-64-10 on a batch of 128: loss and all gradients.

python benchmarks/w3_mlp.py [--quick] [--json FILE]
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import measure  # first: it sets the number of threads
import numpy as np
from measure import Contender, Goal, compare

import graphc as gc

SIZES = (784, 128, 64, 10)
BATCH = 128
PARAMS = ("W1", "W2", "W3", "b1", "b2", "b3")

mlp = gc.parse(
    """
input X[128,784] Y[128,10]
param W1[784,128] W2[128,64] W3[64,10] b1[128] b2[64] b3[10]
h1 = relu(X @ W1 + b1)
h2 = relu(h1 @ W2 + b2)
z = h2 @ W3 + b3
L = mean(softmax_cross_entropy(z, Y))
""",
    "mlp",
)


def numbers(dtype):
    """Weights, biases, a batch of images and its labels as classes and as rows of 0 and 1."""
    rng = np.random.default_rng(0)
    pairs = list(pairwise(SIZES))
    weights = [(rng.standard_normal(pair) / np.sqrt(pair[0])).astype(dtype) for pair in pairs]
    biases = [(0.1 * rng.standard_normal(size)).astype(dtype) for size in SIZES[1:]]
    images = rng.standard_normal((BATCH, SIZES[0])).astype(dtype)
    labels = rng.integers(0, SIZES[-1], BATCH)
    return weights, biases, images, labels, np.eye(SIZES[-1], dtype=dtype)[labels]


def graphc_run(dtype):
    weights, biases, images, _, rows = numbers(dtype)
    f = mlp.compile(of="L", wrt=list(PARAMS), want="value_and_grad", dtype=np.dtype(dtype).name)
    at = dict(zip(PARAMS, weights + biases, strict=True))

    def run():
        value, gradient = f(X=images, Y=rows, **at)
        return (value, *(gradient[name] for name in PARAMS))

    return run


def by_hand(dtype):
    """The step one writes first."""
    (w1, w2, w3), (b1, b2, b3), images, labels, _ = numbers(dtype)
    every = np.arange(BATCH)

    def run():
        h1 = np.maximum(images @ w1 + b1, 0)
        h2 = np.maximum(h1 @ w2 + b2, 0)
        z = h2 @ w3 + b3
        z -= z.max(axis=1, keepdims=True)
        powers = np.exp(z)
        sums = powers.sum(axis=1, keepdims=True)
        loss = (np.log(sums[:, 0]) - z[every, labels]).mean()
        d3 = powers / sums
        d3[every, labels] -= 1
        d3 /= BATCH
        d2 = (d3 @ w3.T) * (h2 > 0)
        d1 = (d2 @ w2.T) * (h1 > 0)
        gradients = (images.T @ d1, h1.T @ d2, h2.T @ d3, d1.sum(0), d2.sum(0), d3.sum(0))
        return (loss, *gradients)

    return run


def by_hand_preallocated(dtype):
    """The step one writes last: every array is there before, every result is written in place."""
    (w1, w2, w3), (b1, b2, b3), images, labels, _ = numbers(dtype)
    every = np.arange(BATCH)
    h1, h2, z, column, d2, d1 = (
        np.empty((BATCH, size), dtype) for size in (128, 64, 10, 1, 64, 128)
    )
    on1, on2 = np.empty((BATCH, 128), bool), np.empty((BATCH, 64), bool)
    g1, g2, g3 = (np.empty(pair, dtype) for pair in pairwise(SIZES))
    c1, c2, c3 = (np.empty(size, dtype) for size in SIZES[1:])
    share = dtype(1 / BATCH)

    def run():
        np.matmul(images, w1, out=h1)
        np.add(h1, b1, out=h1)
        np.maximum(h1, 0, out=h1)
        np.matmul(h1, w2, out=h2)
        np.add(h2, b2, out=h2)
        np.maximum(h2, 0, out=h2)
        np.matmul(h2, w3, out=z)
        np.add(z, b3, out=z)
        np.max(z, axis=1, keepdims=True, out=column)
        np.subtract(z, column, out=z)
        chosen = z[every, labels]
        np.exp(z, out=z)
        np.sum(z, axis=1, keepdims=True, out=column)
        loss = (np.log(column[:, 0]) - chosen).mean()
        np.divide(z, column, out=z)
        z[every, labels] -= 1
        np.multiply(z, share, out=z)
        np.matmul(h2.T, z, out=g3)
        np.sum(z, axis=0, out=c3)
        np.matmul(z, w3.T, out=d2)
        np.greater(h2, 0, out=on2)
        np.multiply(d2, on2, out=d2)
        np.matmul(h1.T, d2, out=g2)
        np.sum(d2, axis=0, out=c2)
        np.matmul(d2, w2.T, out=d1)
        np.greater(h1, 0, out=on1)
        np.multiply(d1, on1, out=d1)
        np.matmul(images.T, d1, out=g1)
        np.sum(d1, axis=0, out=c1)
        return loss, g1, g2, g3, c1, c2, c3

    return run


def torch_run(dtype):
    import torch
    import torch.nn.functional as functional

    torch.set_num_threads(1)
    weights, biases, images, labels, _ = numbers(dtype)
    params = [torch.tensor(array, requires_grad=True) for array in weights + biases]
    w1, w2, w3, b1, b2, b3 = params
    inputs, classes = torch.tensor(images), torch.tensor(labels)

    def run():
        h1 = torch.relu(torch.addmm(b1, inputs, w1))
        h2 = torch.relu(torch.addmm(b2, h1, w2))
        loss = functional.cross_entropy(torch.addmm(b3, h2, w3), classes)
        return (loss.item(), *torch.autograd.grad(loss, params))

    return run


def jax_run(dtype):
    import jax
    import jax.numpy as jnp

    weights, biases, images, _, rows = numbers(dtype)

    def loss(params, inputs, targets):
        w1, w2, w3, b1, b2, b3 = params
        h1 = jnp.maximum(inputs @ w1 + b1, 0)
        h2 = jnp.maximum(h1 @ w2 + b2, 0)
        z = h2 @ w3 + b3
        return (jax.scipy.special.logsumexp(z, axis=1) - (z * targets).sum(1)).mean()

    params = [jnp.asarray(array) for array in weights + biases]
    inputs, targets = jnp.asarray(images), jnp.asarray(rows)
    f = jax.jit(jax.value_and_grad(loss))
    jax.block_until_ready(f(params, inputs, targets))  # compiles
    return lambda: jax.block_until_ready(f(params, inputs, targets))


def autograd_run(dtype):
    import autograd.numpy as anp
    from autograd import value_and_grad

    weights, biases, images, _, rows = numbers(dtype)

    def loss(params):
        w1, w2, w3, b1, b2, b3 = params
        h1 = anp.maximum(anp.dot(images, w1) + b1, 0)
        h2 = anp.maximum(anp.dot(h1, w2) + b2, 0)
        z = anp.dot(h2, w3) + b3
        top = anp.max(z, axis=1, keepdims=True)
        logs = anp.log(anp.sum(anp.exp(z - top), axis=1)) + top[:, 0]
        return anp.mean(logs - anp.sum(z * rows, axis=1))

    f = value_and_grad(loss)
    return lambda: f(weights + biases)


MAKERS = {
    "graphc": (graphc_run, "numpy"),
    "NumPy by hand": (by_hand, "numpy"),
    "NumPy preallocated": (by_hand_preallocated, "numpy"),
    "torch eager": (torch_run, "torch"),
    "jax.jit": (jax_run, "jax"),
    "autograd": (autograd_run, "autograd"),
}
GOALS = (Goal("NumPy preallocated", 1.08), Goal("torch eager", 1.0), Goal("jax.jit", 1.0))


def main() -> None:
    chosen = measure.options(__doc__)
    results = []
    for dtype, tolerance in ((np.float32, 2e-4), (np.float64, 1e-9)):
        contenders = [
            Contender(name, partial(make, dtype), needs) for name, (make, needs) in MAKERS.items()
        ]
        title = f"W3: MLP 784-128-64-10, batch 128, {np.dtype(dtype).name}"
        results.append(compare(title, contenders, chosen, GOALS, tolerance, tolerance))
    measure.finish(results, chosen)


if __name__ == "__main__":
    main()
