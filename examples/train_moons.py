"""Two moons: logistic regression and a two-layer network, trained on compiled gradients.

python train_moons.py             the accuracies and the loss curves as text
python train_moons.py curves.png  the loss curves as a picture too (needs matplotlib)
"""

import sys

import numpy as np

import graphc as gc


@gc.graph(shapes={"X": ("n", 9), "y": ("n",), "w": (9,)})
def logistic(X, y, *, w, b):
    z = X @ w + b
    L = gc.mean(gc.softplus(z) - y * z)  # minus the log-likelihood of the labels
    return L


@gc.graph(shapes={"X": ("n", 2), "y": ("n",), "W1": (2, 16), "b1": (16,), "w2": (16,)})
def network(X, y, *, W1, b1, w2, b2):
    h = gc.tanh(X @ W1 + b1)
    z = h @ w2 + b2
    L = gc.mean(gc.softplus(z) - y * z)
    return L


def moons(points, rng, noise=0.1):
    """Two interleaved half circles, and which of them each point belongs to."""
    labels = rng.integers(0, 2, points)
    angle = rng.uniform(0, np.pi, points)
    x = np.where(labels == 0, np.cos(angle), 1 - np.cos(angle))
    y = np.where(labels == 0, np.sin(angle), 0.5 - np.sin(angle))
    return np.stack([x, y], axis=1) + noise * rng.normal(size=(points, 2)), labels.astype(float)


def cubic(X):
    """The monomials of two coordinates up to the third degree: what a straight line needs here."""
    x, y = X.T
    return np.stack([x, y, x * x, x * y, y * y, x**3, x * x * y, x * y * y, y**3], axis=1)


def accuracy(graph, params, X, y):
    scores = graph.compile(of="z", want="value")(X=X, **params)
    return np.mean((scores > 0) == (y == 1))


def curve(history, columns=64, rows=8):
    """The loss over the steps, on a logarithmic scale, as text."""
    logs = np.log10([part.mean() for part in np.array_split(history, columns)])
    level = np.rint((logs - logs.min()) / max(np.ptp(logs), 1e-12) * (rows - 1)).astype(int)
    lines = ["".join("*" if at == row else " " for at in level) for row in reversed(range(rows))]
    labels = [f"{10 ** logs.max():8.4f}", *[" " * 8] * (rows - 2), f"{10 ** logs.min():8.4f}"]
    return "\n".join(f"{label} | {line}" for label, line in zip(labels, lines, strict=True))


rng = np.random.default_rng(0)
X, y = moons(1000, rng)
test_X, test_y = moons(1000, rng)
runs = {
    "logistic regression, cubic features": (
        logistic,
        gc.descend(
            logistic,
            data={"X": cubic(X), "y": y},
            params={"w": np.zeros(9), "b": 0.0},
            method="adam",
            lr=0.1,
            steps=600,
            batch=100,
            decay=("inverse", 0.01),
        ),
        cubic(test_X),
    ),
    "network, 2-16-1": (
        network,
        gc.descend(
            network,
            data={"X": X, "y": y},
            params={
                "W1": rng.normal(size=(2, 16)),
                "b1": np.zeros(16),
                "w2": rng.normal(size=16) / 4,
                "b2": 0.0,
            },
            method="adam",
            lr=0.03,
            steps=600,
            batch=100,
        ),
        test_X,
    ),
}
for title, (graph, run, features) in runs.items():
    share = accuracy(graph, run.params, features, test_y)
    print(f"{title}: {run.message}; {share:.1%} of new points right")
    print(curve(run.history))
    assert run.ok and share > 0.97

if len(sys.argv) > 1:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    for title, (_, run, _) in runs.items():
        pyplot.semilogy(run.history, label=title)
    pyplot.xlabel("step")
    pyplot.ylabel("loss on the mini-batch")
    pyplot.legend()
    pyplot.savefig(sys.argv[1], dpi=150)
    print(f"wrote {sys.argv[1]}")
