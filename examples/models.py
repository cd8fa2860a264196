"""Seven layers people build models from; each gradient against 50-digit finite differences."""

import random
from fractions import Fraction

import mpmath
import numpy as np

import graphc as gc

STEPS, HIDDEN = 5, 3


@gc.graph(shapes={"x": (STEPS, 2), "y": (), "W": (3, 3), "U": (3, 2), "b": (3,), "v": (3,)})
def rnn(x, y, *, W, U, b, v):
    """A vanilla recurrent network; W, U and b are shared by its five steps."""
    h = gc.tanh(U @ x[0] + b)
    for t in range(1, STEPS):
        h = gc.tanh(W @ h + U @ x[t] + b)
    L = (v @ h - y) ** 2
    return L


@gc.graph(shapes={"x": (2, 3), "y": (2,), "W": (8, 3), "U": (8, 2), "b": (8,)})
def lstm(x, y, *, W, U, b):
    """Two steps of an LSTM cell with two units; the four gates are stacked in W, U and b."""
    a = W @ x[0] + b
    c = gc.sigmoid(a[0:2]) * gc.tanh(a[6:8])
    h = gc.sigmoid(a[4:6]) * gc.tanh(c)
    a = W @ x[1] + U @ h + b
    c = gc.sigmoid(a[2:4]) * c + gc.sigmoid(a[0:2]) * gc.tanh(a[6:8])
    h = gc.sigmoid(a[4:6]) * gc.tanh(c)
    L = gc.sum((h - y) ** 2)
    return L


gru = gc.parse(
    """
    input x[2, 3] y[2]
    param Wz[2, 3] Uz[2, 2] Wr[2, 3] Ur[2, 2] Wh[2, 3] Uh[2, 2] b[2]
    h0 = 0*y                                  # two steps of a GRU cell with two units
    for t in 1..2:
        z[t] = sigmoid(Wz @ x[t-1] + Uz @ h[t-1])
        r[t] = sigmoid(Wr @ x[t-1] + Ur @ h[t-1])
        c[t] = tanh(Wh @ x[t-1] + Uh @ (r[t]*h[t-1]) + b)
        h[t] = (1 - z[t])*h[t-1] + z[t]*c[t]
    L = sum((h2 - y)**2)
    output L
    """.replace("\n    ", "\n"),
    "gru",
)


@gc.graph(shapes={"X": ("n", 3), "Y": ("n", 3), "gamma": (3,), "beta": (3,), "W": (3, 3)})
def batch_norm(X, Y, *, W, gamma, beta):
    """Batch normalisation: every column of X @ W over the batch."""
    A = X @ W
    centred = A - gc.mean(A, axis=0)
    scaled = centred / gc.sqrt(gc.var(A, axis=0) + Fraction(1, 100))
    L = gc.mean((gamma * scaled + beta - Y) ** 2)
    return L


@gc.graph(shapes={"X": ("n", 4), "Y": ("n", 3), "gamma": (3,), "beta": (3,), "W": (4, 3)})
def layer_norm(X, Y, *, W, gamma, beta):
    """Layer normalisation: every row of X @ W by itself."""
    A = X @ W
    centred = A - gc.mean(A, axis=-1, keepdims=True)
    scaled = centred / gc.sqrt(gc.var(A, axis=-1, keepdims=True) + Fraction(1, 100))
    L = gc.mean((gamma * scaled + beta - Y) ** 2)
    return L


@gc.graph(shapes={"X": (4, 3), "Y": (4, 2), "Wq": (3, 2), "Wk": (3, 2), "Wv": (3, 2)})
def attention(X, Y, *, Wq, Wk, Wv):
    """Single-head attention over four tokens."""
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    scores = gc.softmax(Q @ K.T / gc.sqrt(2))
    L = gc.sum((scores @ V - Y) ** 2)
    return L


@gc.graph(shapes={"X": (5, 3), "Y": (5,), "W": (3, 2), "v": (2,)})
def graph_convolution(X, Y, *, W, v):
    """A graph-convolution layer; node 0 has four neighbours, node 4 has one."""
    edges = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2)]
    links = np.eye(5, dtype=int)
    for i, j in edges:
        links[i, j] = links[j, i] = 1
    degrees = links.sum(axis=1)
    normal = links / gc.sqrt(gc.const(np.outer(degrees, degrees), "degrees"))
    H = gc.relu(normal @ X @ W)
    L = gc.mean((H @ v - Y) ** 2)
    return L


MODELS = (rnn, lstm, gru, batch_norm, layer_norm, attention, graph_convolution)


def point(graph, rows=4):
    """Values for every input and parameter: multiples of 1/16 with all digits of mpmath."""
    chance = random.Random(graph.name)
    at = {}
    for name in [*graph.input_names, *graph.param_names]:
        value = np.empty([rows if s == "n" else s for s in graph[name].shape], dtype=object)
        for index in np.ndindex(value.shape):
            value[index] = mpmath.mpf(chance.choice([-1, 1]) * chance.randint(1, 24)) / 16
        at[name] = value
    return at


def lists(at):
    """The point in nested lists, which keep their digits."""
    return {name: value.tolist() for name, value in at.items()}


def largest_difference(graph, at, name):
    """Between the derived gradient by one parameter and central differences of the same graph."""
    gradient = np.asarray(graph.reverse("L", lists(at))[name], dtype=object)
    step = mpmath.mpf(10) ** -25
    largest = mpmath.mpf(0)
    for index in np.ndindex(at[name].shape):
        ends = []
        for sign in (1, -1):
            moved = {**at, name: at[name].copy()}
            moved[name][index] += sign * step
            ends.append(graph.values(lists(moved))["L"])
        measured = (ends[0] - ends[1]) / (2 * step)
        largest = max(largest, abs(mpmath.mpf(str(gradient[index])) - measured))
    return largest


def main():
    print(f"{'model':<19}{'parameter':<11}{'shape':<9}largest difference")
    with mpmath.workdps(80):
        for graph in MODELS:
            at = point(graph)
            for name in graph.param_names:
                shape = "x".join(map(str, graph[name].shape))
                difference = largest_difference(graph, at, name)
                print(f"{graph.name:<19}{name:<11}{shape:<9}{mpmath.nstr(difference, 2)}")


if __name__ == "__main__":
    main()
