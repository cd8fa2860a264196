"""Writes examples/tour.ipynb, the tour as a notebook, from the text below."""

from __future__ import annotations

import json
from pathlib import Path

NOTEBOOK = Path(__file__).parent.parent / "examples" / "tour.ipynb"
# Cells are separated by lines of %%: prose where a line begins with "%% prose".
TOUR = '''%% prose
# A tour of graphc

Run the cells in order. A graph shows itself as a picture, a solution as a page of mathematics.
%%
import graphc as gc

g = gc.parse("""
input x = 1/2
param w = 2
param b = -1/4
a = w*x + b
o = sigmoid(a)
L = (o - 1)**2
""")
g
%% prose
The derivative of `L` by every node, in symbols, then exactly at the given values:
%%
for name, slope in g.reverse("L").items():
    print(f"d L / d {name} = {slope}")
%%
g.reverse("L", at={})
%% prose
The working, as a book would print it:
%%
g.explain("L", wrt="w", at={})
%% prose
The derivative is a graph again, so there is a second one:
%%
slope = g.differentiate("L", "w")
print(slope.to_text())
slope.derivative(slope.output_names[0], "w", at={})
%% prose
Now as fast code, for a thousand points at once, and the module that can be committed:
%%
import numpy as np

f = g.compile(of="L", wrt=["w", "b"], reduce="mean")
value, slopes = f(x=np.linspace(-1, 1, 1000))
print(value, slopes)

text = g.emit(of="L", wrt=["w", "b"], reduce="mean")
print(text[text.index("    # Values.") : text.index("    return")])
%% prose
Is it right? Differences say so, and they see through two claims that are not:
%%
print(gc.check(g, at={}))
print(gc.check(g, at={}, claimed={"w": -0.1, "b": 0.3}))
%% prose
A network with matrices, trained on compiled gradients, learns exclusive or:
%%
mlp = gc.parse("""
input X[n,2] y[n]
param W1[2,8] b1[8] w2[8] b2
h = tanh(X @ W1 + b1)
z = h @ w2 + b2
L = mean(softplus(z) - y*z)
""")
X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
rng = np.random.default_rng(1)
start = {"W1": rng.normal(size=(2, 8)), "b1": np.zeros(8), "w2": rng.normal(size=8), "b2": 0.0}
run = gc.descend(mlp, data={"X": X, "y": y}, params=start, method="adam", lr=0.1, steps=200)
print(run.message)
mlp
%% prose
`g.draw("neuron.svg", at={})` writes the picture with its numbers,
`g.explore("neuron.html", at={})` an interactive page. The tutorial in `docs/` goes on from here.
'''


def cell(number: int, text: str) -> dict[str, object]:
    """One cell, without outputs: whoever runs it makes them."""
    mark, _, body = text.partition("\n")
    kind: dict[str, object] = {"cell_type": "markdown"}
    if mark != " prose":
        kind = {"cell_type": "code", "execution_count": None, "outputs": []}
    source = body.rstrip("\n").splitlines(keepends=True)
    return {**kind, "id": f"cell-{number}", "metadata": {}, "source": source}


def notebook() -> str:
    """The text of the notebook."""
    parts = f"\n{TOUR}".split("\n%%")[1:]
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return (
        json.dumps(
            {
                "cells": [cell(number, part) for number, part in enumerate(parts)],
                "metadata": {"kernelspec": python, "language_info": {"name": "python"}},
                "nbformat": 4,
                "nbformat_minor": 5,
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(), encoding="utf-8")
