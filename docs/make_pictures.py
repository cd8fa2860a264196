"""Makes the pictures of drawing.md, as DOT and SVG; the tests compare the DOT texts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import graphc as gc

HERE = Path(__file__).parent
PICTURES = HERE / "pictures"
EXAMPLES = HERE.parent / "examples"
POINT = {"y1": "1/2", "y2": "3/5", "y3": "7/10", "w2": "4/5", "w3": "-3/10"}

LOGISTIC = """
input x1 = 1
input x2 = -2
input x3 = 1/2
input t = 1
param w1 = 1/2
param w2 = 1/4
param w3 = -1
param b = 1/3
z = w1*x1 + w2*x2 + w3*x3 + b
p = sigmoid(z)
L = -t*log(p) - (1 - t)*log(1 - p)
"""
MLP = """
input x[3] y[2]
param W1[4,3] b1[4] W2[2,4] b2[2]
a = W1 @ x + b1
h = tanh(a)
o = W2 @ h + b2
L = sum((o - y)**2)/2
"""
RNN = """
param w = 1/2
param u = 1
param v = 2
input h0 = 0
input x[1..5]
for t in 1..5:
    h[t] = tanh(w*h[t-1] + u*x[t])
    y[t] = v*h[t]
L = sum(y[1..5])
output L
"""
QUOTIENT = """
input alpha = 2
param beta_1 = 3
s = alpha**2/(1 + beta_1)
r = sqrt(s) + 1/s
"""


def large(nodes: int = 2000, seed: int = 1) -> gc.Graph:
    """A graph of many nodes without any order in it."""
    choose = random.Random(seed).choice
    lines, names = ["input x[1..10]"], [f"x{number}" for number in range(1, 11)]
    formulas = ("sin({})*{}", "{} + {}", "tanh({} - {})", "{}*{}")
    for number in range(nodes):
        formula = choose(formulas).format(choose(names), choose(names[-40:]))
        lines.append(f"n{number} = {formula}")
        names.append(f"n{number}")
    return gc.parse("\n".join(lines), "large")


def pictures() -> dict[str, tuple[gc.Graph, dict[str, Any]]]:
    """{name of the picture: (graph, settings)}."""
    fig27 = gc.load(EXAMPLES / "fig27.gc")
    neuron = gc.load(EXAMPLES / "neuron.gc")
    inputs = {f"x{number}": f"{number}/10" for number in range(1, 6)}
    largest = fig27.top_paths("y10", "y2", POINT, k=2)
    repeated = gc.parse(RNN.replace("5", "500"), "rnn500")
    return {
        "fig27": (fig27, {"at": POINT, "of": "y10"}),
        "neuron": (neuron, {"at": {}}),
        "fig27-symbols": (fig27, {"of": "y10"}),
        "fig27-paths": (fig27, {"at": POINT, "of": "y10", "highlight": largest}),
        "fig27-dark": (fig27, {"at": POINT, "of": "y10", "theme": "dark"}),
        "fig27-print": (fig27, {"at": POINT, "of": "y10", "theme": "print"}),
        "ladder": (gc.load(EXAMPLES / "ladder5.gc"), {"at": {}}),
        "logistic": (gc.parse(LOGISTIC, "logistic"), {"at": {}, "weights": "edges"}),
        "mlp": (gc.parse(MLP, "mlp"), {}),
        "quotient": (gc.parse(QUOTIENT, "quotient"), {"of": "r"}),
        "rnn": (gc.parse(RNN, "rnn"), {"at": inputs, "weights": "edges"}),
        "rnn500": (repeated, {}),
        "large": (large(), {}),
        "backward": (neuron.differentiate("L"), {}),
    }


def main() -> None:
    """Writes all pictures, and the frames of one graph."""
    PICTURES.mkdir(exist_ok=True)
    for name, (graph, settings) in pictures().items():
        for suffix in ("dot", "svg"):
            graph.draw(PICTURES / f"{name}.{suffix}", **settings)
    neuron = gc.load(EXAMPLES / "neuron.gc")
    neuron.draw(PICTURES / "neuron-passes.svg", frames="animated", at={}, weights="edges")


if __name__ == "__main__":
    main()
