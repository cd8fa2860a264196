"""Where does a trained network look? The derivative of its output by its input says it."""

import numpy as np

import graphc as gc


@gc.graph(shapes={"X": ("n", 16), "y": ("n",), "W1": (16, 8), "b1": (8,), "w2": (8,)})
def network(X, y, *, W1, b1, w2, b2):
    h = gc.tanh(X @ W1 + b1)
    z = h @ w2 + b2
    L = gc.mean(gc.softplus(z) - y * z)
    return L


# Images of 4 x 4 pixels; the label depends on the two pixels in the middle of the second row.
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 16))
y = (X[:, 5] + X[:, 6] > 0).astype(float)
start = {"W1": rng.normal(size=(16, 8)) / 4, "b1": np.zeros(8), "w2": rng.normal(size=8), "b2": 0.0}
run = gc.descend(
    network, data={"X": X, "y": y}, params=start, method="adam", lr=0.02, steps=300, batch=100
)
print(run.message)

# The sum of the outputs has as its derivative by X, row by row, the derivative of each output.
pull = network.compile(of="z", wrt="X", want="vjp")
z, slopes = pull(X=X, z_bar=np.ones(len(X)), **run.params)
saliency = np.mean(np.abs(slopes["X"]), axis=0).reshape(4, 4)
print(f"{np.mean((z > 0) == (y == 1)):.1%} right; mean |d z / d x| per pixel:")
for row in saliency / saliency.max():
    print("  " + " ".join(f"{share:4.0%}" for share in row))
seen = sorted(int(pixel) for pixel in np.argsort(saliency.ravel())[-2:])
print("the network looks at pixels", seen)
